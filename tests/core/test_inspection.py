"""The displays show the numbers that they were made from."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.stats import beta, binom
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskSelector,
)
from minimaxrisk.analysis import PermutationTestResult
from minimaxrisk.analysis.cross_validation import CrossValidatedError, cross_validated_error
from minimaxrisk.guarantees import FittedProblem
from minimaxrisk.guarantees.calibrated_decision import CalibratedDecision
from minimaxrisk.guarantees.left_out import LeftOutScores
from minimaxrisk.inspection import (
    BoundPathDisplay,
    ErrorComparisonDisplay,
    FeatureCountDisplay,
    PermutationTestDisplay,
    SelectedFeaturesDisplay,
    SelectedValuesDisplay,
    StabilityDisplay,
    WorstCaseDistributionDisplay,
)
from tests.folds import folds_of

NULL = np.random.default_rng(0).normal(0.4, 0.02, size=400)
FROM_ESTIMATOR = [
    BoundPathDisplay.from_estimator,
    FeatureCountDisplay.from_estimator,
    SelectedFeaturesDisplay.from_estimator,
    StabilityDisplay.from_estimator,
    lambda model: WorstCaseDistributionDisplay.from_estimator(model, [0, 1]),
    lambda model: SelectedValuesDisplay.from_estimator(model, np.eye(2), [0, 1]),
    lambda model: ErrorComparisonDisplay.from_estimator(model, np.eye(2), [0, 1]),
]


@pytest.fixture
def selector():
    """With frequencies that are easy to recognise."""
    labels = np.arange(20) % 2
    selector = MinimaxRiskSelector(stability=True, n_subsamples=10, random_state=0)
    selector.fit(np.random.default_rng(0).standard_normal((20, 6)) + labels[:, None], labels)
    selector.selection_frequencies_ = np.array([0.1, 0.9, 0.0, 0.6, 0.3, 1.0])
    return selector


@pytest.fixture
def permutations():
    floor = {0.01: 0.355, 0.05: 0.365}
    return PermutationTestResult(
        0.3,
        0.0025,
        n_permutations=399,
        n_no_larger=0,
        null_distribution=NULL,
        noise_floor=floor,
        gap_tol=1e-3,
    )


@pytest.fixture
def path():
    return SimpleNamespace(
        radii=np.array([2.0, 0.5, 1.0]),
        worst_case_error=np.array([0.4, 0.1, 0.2]),
        lower=np.array([0.39, 0.09, 0.19]),
        n_features=np.array([3, 30, 12]),
    )


def widths(bars):
    return np.array([bar.get_width() for bar in bars])


def heights(bars):
    return np.array([bar.get_height() for bar in bars])


def row_names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_permutation_test(pyplot, permutations):
    display = PermutationTestDisplay.from_result(permutations).plot()
    bars, floor = display.artists_["permutations"], display.artists_["noise floor"]
    counts, edges = display.histogram()
    np.testing.assert_array_equal(heights(bars), counts)
    assert counts.sum() == len(NULL)
    assert edges[0] == NULL.min()
    first = bars[0]
    assert first.get_x() == pytest.approx(NULL.min())
    inside = first.get_x() + first.get_width() > NULL
    assert first.get_height() == inside.sum()
    np.testing.assert_array_equal(display.artists_["observed"].get_xdata(), [0.3, 0.3])
    np.testing.assert_array_equal(floor.get_xdata(), [0.365, 0.365])
    assert floor.get_linestyle() == "--"


def test_path_over_radii_is_sorted(pyplot, path):
    display = BoundPathDisplay.from_result(path).plot()
    upper, lower, features = (display.artists_[name] for name in ("upper bound", "lower bound", "features"))
    np.testing.assert_array_equal(upper.get_xydata(), [[0.5, 0.1], [1.0, 0.2], [2.0, 0.4]])
    np.testing.assert_array_equal(lower.get_ydata(), [0.09, 0.19, 0.39])
    np.testing.assert_array_equal(features.get_xydata(), [[0.5, 30], [1.0, 12], [2.0, 3]])
    assert features.axes is not display.ax_


def test_errors_over_the_number_of_features(pyplot):
    results = {
        "radii": np.array([0.5, 1.0, 1.5, 2.0, 4.0]),
        "mean_loss": np.array([0.3, 0.2, 0.2, 0.24, 0.5]),
        "standard_error": np.array([0.02, 0.01, 0.05, 0.03, 0.04]),
    }
    display = FeatureCountDisplay.from_results(results, np.array([21, 11, 10, 4, 0])).plot()
    drawn = display.artists_
    np.testing.assert_allclose(
        drawn["loss"].get_xydata(), [[0, 0.5], [4, 0.24], [10, 0.2], [11, 0.2], [21, 0.3]]
    )
    np.testing.assert_allclose(drawn["spread"].get_segments()[1], [[4, 0.21], [4, 0.27]])
    # Of two smallest ones that of the larger radius counts, as for the rule.
    assert drawn["smallest"].get_offsets().tolist() == [[10, 0.2]]
    assert drawn["fewest"].get_offsets().tolist() == [[4, 0.24]]
    np.testing.assert_allclose(drawn["limit"].get_ydata(), 0.25)
    assert display.ax_.get_ylim()[0] == 0.0
    display.figure_.canvas.draw()


@pytest.mark.parametrize("scoring", [None, "roc_auc_ovr"])
def test_the_choice_of_a_radius_by_one_fold(pyplot, wide, scoring):
    """Without a standard error, and of scores, which are negative as losses."""
    splitter = StratifiedShuffleSplit(1, test_size=0.5, random_state=0)
    model = MinimaxRiskClassifierCV(radii=[0.5, 1.0], cv=splitter, rule="best", scoring=scoring).fit(*wide)
    display = FeatureCountDisplay.from_estimator(model, *wide).plot()
    display.figure_.canvas.draw()
    assert np.isnan(display.standard_error).all()
    assert display.few == display.best
    model.set_params(rule=100).fit(*wide)
    with pytest.raises(ValueError, match="rule='one-se' or 'best'"):
        FeatureCountDisplay.from_estimator(model, *wide)


def test_features_are_counted_on_all_samples(wide):
    """At every radius those of a fit there; in a pipeline as its last step saw the samples."""
    X, y = wide
    radii = [0.5, 1.0, 2.0]
    weight = np.arange(len(y)) % 3 + 1.0
    weight[0] = 0.0
    model = MinimaxRiskClassifierCV(radii=radii, cv=2).fit(X, y, sample_weight=weight)
    alone = [
        MinimaxRiskClassifier(radius=s).fit(X, y, sample_weight=weight).n_features_selected_ for s in radii
    ]
    display = FeatureCountDisplay.from_estimator(model, X, y, sample_weight=weight)
    assert display.n_features.tolist() == alone[::-1]
    display = FeatureCountDisplay.from_estimator(FittedProblem(model, X, y, sample_weight=weight))
    assert display.n_features.tolist() == alone[::-1]
    behind = make_pipeline(StandardScaler(), MinimaxRiskClassifierCV(radii=radii, cv=2)).fit(X, y)
    plain = MinimaxRiskClassifierCV(radii=radii, cv=2).fit(X, y)
    np.testing.assert_array_equal(
        FeatureCountDisplay.from_estimator(behind, X, y).n_features,
        FeatureCountDisplay.from_estimator(plain, X, y).n_features,
    )
    with pytest.raises(ValueError, match="X and y must be passed"):
        FeatureCountDisplay.from_estimator(plain)


def test_selection_frequencies(pyplot, selector):
    display = StabilityDisplay.from_estimator(selector).plot()
    # Column 2 was never selected.
    reached, missed = display.artists_["reached"], display.artists_["missed"]
    np.testing.assert_array_equal(widths(reached), [1.0, 0.9, 0.6])
    np.testing.assert_array_equal(widths(missed), [0.3, 0.1])
    assert [round(bar.get_center()[1], 9) for bar in missed] == [3, 4]
    assert reached[0].get_facecolor() != missed[0].get_facecolor()
    assert row_names(display.ax_) == ["column 5", "column 1", "column 3", "column 4", "column 0"]
    np.testing.assert_array_equal(display.artists_["threshold"].get_xdata(), [0.6, 0.6])


def test_coefficients_of_two_classes(pyplot, cancer):
    X, y = cancer
    model = MinimaxRiskClassifier().fit(X, y)
    display = SelectedFeaturesDisplay.from_estimator(model, max_features=8).plot()
    top = np.argsort(-model.feature_importances_, kind="stable")[:8]
    standardised = model.coef_[0, top] * X[:, top].std(axis=0)
    left, right = widths(display.artists_["0"]), widths(display.artists_["1"])
    np.testing.assert_allclose(left + right, standardised, rtol=1e-9)
    assert (left <= 0).all()
    assert (right >= 0).all()
    assert (left * right == 0).all()
    assert row_names(display.ax_) == [f"column {j}" for j in top]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["0", "1"]


def test_coefficients_of_more_classes_fill_the_bar(pyplot, wide):
    X, y = wide
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(300)])
    model = MinimaxRiskClassifier().fit(frame, y)
    display = SelectedFeaturesDisplay.from_estimator(model, max_features=5).plot()
    top = np.argsort(-model.feature_importances_, kind="stable")[:5]
    bars_of_classes = [display.artists_[name] for name in ("alpha", "beta", "gamma")]
    drawn = np.array([widths(bars) for bars in bars_of_classes])
    np.testing.assert_allclose(drawn, model.coef_[:, top] * X[:, top].std(axis=0), rtol=1e-9)
    assert row_names(display.ax_) == [f"gene {j}" for j in top]
    ends = np.array(
        [[[bar.get_x(), bar.get_x() + bar.get_width()] for bar in bars] for bars in bars_of_classes]
    )
    length = ends.max(axis=(0, 2)) - ends.min(axis=(0, 2))
    # No piece hides another one.
    np.testing.assert_allclose(length, model.feature_importances_[top], rtol=1e-9)
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["alpha", "beta", "gamma"]


def test_worst_case_of_each_sample(pyplot, wide):
    X, y = wide
    model = MinimaxRiskClassifier().fit(X, y)
    display = WorstCaseDistributionDisplay.from_estimator(model, y, max_samples=10).plot()
    mass = model.worst_case_distribution_
    own = mass[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    other = mass.sum(axis=1) - own
    rows = [int(name.removeprefix("row ")) for name in row_names(display.ax_)]
    other_bars, own_bars = display.artists_["other"], display.artists_["own"]
    np.testing.assert_allclose(widths(other_bars), other[rows], atol=1e-15)
    np.testing.assert_allclose(widths(own_bars), own[rows], atol=1e-15)
    np.testing.assert_allclose([bar.get_x() for bar in own_bars], other[rows], atol=1e-15)
    assert len(rows) == 10
    in_doubt = other >= own - 1e-9
    assert 0 < in_doubt.sum() == display.n_ambiguous < 10
    # Those in doubt first, and the most mass on other labels first in each part.
    assert (np.diff(in_doubt[rows].astype(int)) <= 0).all()
    assert in_doubt[rows].sum() == in_doubt.sum()
    assert (np.diff(other[rows])[np.diff(in_doubt[rows].astype(int)) == 0] <= 1e-9).all()
    assert other[rows][~in_doubt[rows]].min() >= np.delete(other, rows).max() - 1e-9


def test_values_of_selected_features(pyplot, wide):
    X, y = wide
    shuffled = np.random.default_rng(0).permutation(40)
    X, y = X[shuffled], y[shuffled]
    model = MinimaxRiskClassifier().fit(X, y)
    display = SelectedValuesDisplay.from_estimator(model, X, y, max_features=7).plot()
    top = np.argsort(-model.feature_importances_, kind="stable")[:7]
    order = np.argsort(y, kind="stable")
    expected = ((X - X.mean(axis=0)) / X.std(axis=0))[order][:, top].T
    np.testing.assert_allclose(display.artists_["values"].get_array(), expected, atol=1e-12)
    assert row_names(display.ax_) == [f"column {j}" for j in top]
    assert display.sample_names[0] == f"row {order[0]}"
    assert [line.get_xdata()[0] for line in display.artists_["borders"]] == [13.5, 26.5]
    classes = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert classes == ["alpha", "beta", "gamma"]


def test_names_that_are_given(wide):
    X, y = wide
    model = MinimaxRiskClassifier().fit(X, y)
    genes, patients = [f"g{j}" for j in range(300)], [f"p{i}" for i in range(40)]
    display = SelectedFeaturesDisplay.from_estimator(model, max_features=3, feature_names=genes)
    assert display.names == [f"g{j}" for j in np.argsort(-model.feature_importances_, kind="stable")[:3]]
    worst = WorstCaseDistributionDisplay.from_estimator(model, y, max_samples=5, sample_names=patients)
    assert worst.names == [f"p{i}" for i in worst.samples]
    with pytest.raises(ValueError, match="feature_names must hold 300 names, got 40"):
        SelectedFeaturesDisplay.from_estimator(model, feature_names=patients)
    with pytest.raises(ValueError, match="sample_names must hold 40 names, got 300"):
        WorstCaseDistributionDisplay.from_estimator(model, y, sample_names=genes)


@pytest.mark.filterwarnings("ignore::minimaxrisk.exceptions.CoverageWarning")  # it would cover
def test_values_where_nothing_is_selected(pyplot, cancer):
    model = MinimaxRiskClassifier(radius=100.0).fit(*cancer)
    display = SelectedValuesDisplay.from_estimator(model, *cancer)
    assert display.values.shape == (0, 200)
    display.plot()
    assert SelectedFeaturesDisplay.from_estimator(model).plot().ax_.get_legend() is None


@pytest.mark.usefixtures("eager_processes")
def test_cross_validated_error_by_hand(wide):
    X, y = wide
    model = MinimaxRiskClassifier(radius=2.0, deterministic=False).fit(X, y)
    result = cross_validated_error(model, X, y, n_folds=4, random_state=1)
    for k, (train, test) in enumerate(folds_of(y, 4, 1).split()):
        fresh = MinimaxRiskClassifier(radius=2.0).fit(X[train], y[train])
        own = np.searchsorted(fresh.classes_, y[test])
        assert result.fold_errors[1, k] == np.mean(fresh.predict(X[test]) != y[test])
        probability = fresh.predict_proba(X[test])[np.arange(len(test)), own]
        assert result.fold_errors[0, k] == pytest.approx(1 - probability.mean())
        np.testing.assert_array_equal(fresh.classes_[result.predicted[test]], fresh.predict(X[test]))
        np.testing.assert_array_equal(result.scores[test], fresh.decision_function(X[test]))
    assert result.n_wrong == np.sum(model.classes_[result.predicted] != y)
    assert result.per_class(3)[1].sensitivity.value == np.mean(result.predicted[y == "beta"] == 1)
    uneven = cross_validated_error(model, X, y, n_folds=3)
    assert uneven.errors[0] == pytest.approx(1 - uneven.own_probability.mean())
    assert uneven.errors[1] == uneven.n_wrong / 40 != uneven.fold_errors[1].mean()
    with parallel_config("threading"):  # processes, which take seconds to start, do it in tests of the report
        again = cross_validated_error(model, X, y, n_folds=4, random_state=1, n_jobs=2)
    np.testing.assert_array_equal(again.fold_errors, result.fold_errors)


@pytest.mark.parametrize(("n_wrong", "n_groups"), [(0, 20), (10, 20), (20, 20), (10, 10)])
def test_a_cross_validated_sample_is_worth_seven_tenths_of_one(n_wrong, n_groups):
    """At the ends of the interval so many mistakes or more, or fewer, have half of what is left."""
    own, predicted = np.zeros(20, dtype=int), (np.arange(20) < n_wrong).astype(int)
    left_out = LeftOutScores(np.zeros((20, 2)), own, np.full(20, n_groups / 20), own)
    result = CrossValidatedError(left_out, np.zeros(20), np.ones(20), predicted, predicted)
    error, n = result.error(0.9), 7 * n_groups // 10
    n_wrong = n_wrong * n // 20
    assert ((error.low == 0.0), (error.high == 1.0)) == ((n_wrong == 0), (n_wrong == n))
    if n_groups == 20 and n_wrong > 0:
        assert binom.sf(n_wrong - 1, n, error.low) == pytest.approx(0.05)
    if n_groups == 20 and n_wrong < n:
        assert binom.cdf(n_wrong, n, error.high) == pytest.approx(0.05)
    if n_groups == 10:  # half as many independent samples
        assert error.low == pytest.approx(beta.ppf(0.05, 3.5, 4.5))


def test_predictions_by_their_calibrated_probability():
    """Scores that are right in 19 of 20, in 4 of 5, or half of the time."""
    scores = np.repeat([-3.0, -1.4, 0.0, 1.4, 3.0], 40)
    own = (np.tile(np.arange(40), 5) < np.repeat([2, 8, 20, 32, 38], 40)).astype(int)
    predicted, nothing = (scores > 0).astype(int), np.zeros(200)
    left_out = LeftOutScores(np.column_stack([-scores, scores]), own, np.ones(200), np.arange(200) % 10)
    result = CrossValidatedError(left_out, scores, nothing, predicted, nothing.astype(int))
    bands = result.by_probability()
    assert [(one.low, one.high) for one in bands] == [(0.9, None), (0.75, 0.9), (0.5, 0.75), (0, 0.5)]
    assert [(one.n_samples, one.n_right) for one in bands[:2]] == [(80, 76), (80, 64)]
    np.testing.assert_allclose([one.mean_stated for one in bands[:2]], [0.95, 0.8], atol=0.015)


def test_a_class_of_three_is_left_out_in_three_of_ten_folds(wide):
    X, y = wide
    keep = np.concatenate([np.arange(27), [30, 31, 32]])
    model = MinimaxRiskClassifier(radius=2.0).fit(X[keep], y[keep])
    found = cross_validated_error(model, X[keep], y[keep])
    rare = found.own == found.own[-1]
    assert (found.n_folds, rare.sum(), len(set(found.left_out.fold[rare]))) == (10, 3, 3)
    with pytest.raises(ValueError, match="n_folds must be an integer of at least 2, got 1"):
        cross_validated_error(model, X[keep], y[keep], n_folds=1)
    keep = keep[:-2]
    model.fit(X[keep], y[keep])
    found = cross_validated_error(model, X[keep], y[keep])
    assert (found.n_judged, found.is_judged[-1], found.left_out.fold[-1]) == (27, False, -1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_calibrated_decision_is_cross_validated_without_its_own_labels(wide, n_classes):
    X, y = wide
    keep = np.isin(y, np.unique(y)[:n_classes])
    X, y = X[keep], y[keep]
    model = MinimaxRiskClassifier(radius=2.0).fit(X, y)
    found = cross_validated_error(model, X, y, n_folds=4, calibrated=True)
    plain = cross_validated_error(model, X, y, n_folds=4)
    np.testing.assert_array_equal(found.left_out.scores, plain.left_out.scores)
    for f in range(4):
        inside = found.left_out.fold == f
        decision = CalibratedDecision.fit(found.left_out.scores[~inside], found.own[~inside])
        predicted = decision.predict(found.left_out.scores[inside])
        np.testing.assert_array_equal(found.predicted[inside], predicted)
        assert found.fold_errors[1, f] == np.mean(predicted != found.own[inside])
    np.testing.assert_array_equal(found.predicted, np.argmax(found.calibrated, axis=1))
    np.testing.assert_allclose(found.fold_errors[0], plain.fold_errors[0])


def test_an_ensemble_is_cross_validated_out_of_bag_without_another_fit(wide, monkeypatch):
    X, y = wide
    model = MinimaxRiskEnsembleClassifier(n_estimators=40, random_state=0).fit(X, y)
    monkeypatch.setattr(MinimaxRiskEnsembleClassifier, "fit", None)
    found = cross_validated_error(model, X, y, calibrated=True)
    assert found.is_out_of_bag
    np.testing.assert_allclose(np.exp(found.left_out.scores), model.oob_proba_)
    assert np.isnan(found.own_probability).all()  # they are not those of the randomized rule
    np.testing.assert_array_equal(found.predicted, found.left_out.predicted)


def test_errors_beside_the_worst_case(pyplot, wide):
    X, y = wide
    model = MinimaxRiskClassifier(radius=2.0).fit(X, y)
    display = ErrorComparisonDisplay.from_estimator(model, X, y, n_folds=4).plot()
    result = cross_validated_error(model, X, y, n_folds=4)
    np.testing.assert_array_equal(display.fold_errors, result.fold_errors)
    drawn = display.artists_
    np.testing.assert_allclose(drawn["R*"].get_offsets(), [[model.worst_case_error_, 0.0]])
    largest = np.unique(y, return_counts=True)[1].max()
    np.testing.assert_allclose(drawn["most common class"].get_xdata(), 1 - largest / len(y))
    np.testing.assert_allclose(drawn["errors"].get_offsets(), np.c_[result.errors, [1, 2]])
    spread = [segment[:, 0] for segment in drawn["deviations"].get_segments()]
    deviations = result.fold_errors.std(axis=1, ddof=1)
    low, high = np.maximum(result.errors - deviations, 0), result.errors + deviations
    np.testing.assert_allclose(spread, np.c_[low, high])
    # Folds that agree share a point, which is as many times as large.
    of_predict = drawn["folds"].get_offsets()[:, 1] == 2
    values, counts = np.unique(result.fold_errors[1].round(9), return_counts=True)
    np.testing.assert_allclose(drawn["folds"].get_offsets()[of_predict, 0], values)
    np.testing.assert_allclose(drawn["folds"].get_sizes()[of_predict], 42 * counts)


def test_given_axes_are_drawn_on(pyplot, cancer, selector, permutations, path):
    X, y = cancer
    model = MinimaxRiskClassifier().fit(X, y)
    displays = [
        PermutationTestDisplay.from_result(permutations),
        BoundPathDisplay.from_result(path),
        StabilityDisplay.from_estimator(selector),
        SelectedFeaturesDisplay.from_estimator(model),
        WorstCaseDistributionDisplay.from_estimator(model, y),
        SelectedValuesDisplay.from_estimator(model, X, y),
        ErrorComparisonDisplay.from_estimator(model, X, y, n_folds=2),
    ]
    figure, axes = pyplot.subplots(1, len(displays))
    for display, ax in zip(displays, axes, strict=True):
        assert display.plot(ax) is display
        assert display.ax_ is ax
        assert display.figure_ is figure
    assert len(pyplot.get_fignums()) == 1
    assert displays[0].plot().figure_ is not figure


@pytest.mark.parametrize("make", FROM_ESTIMATOR)
def test_models_must_be_fitted(make):
    unfitted = {FeatureCountDisplay: MinimaxRiskClassifierCV(), StabilityDisplay: MinimaxRiskSelector()}
    with pytest.raises(NotFittedError, match="instance is not fitted yet"):
        make(unfitted.get(getattr(make, "__self__", None), MinimaxRiskClassifier()))


@pytest.mark.parametrize("make", FROM_ESTIMATOR)
def test_models_of_another_kind_are_refused(make, cancer):
    other = LogisticRegression(max_iter=10_000).fit(cancer[0][:, :2], cancer[1])
    with pytest.raises(ValueError, match="Display is not supported for LogisticRegression; "):
        make(other)


def test_labels_must_be_those_of_the_fit(wide):
    X, y = wide
    model = MinimaxRiskClassifier().fit(X, y)
    for labels in (np.append(y, "beta"), [], np.where(y == "alpha", "delta", y), np.ones(40, dtype=int)):
        with pytest.raises(ValueError, match="y must hold"):
            WorstCaseDistributionDisplay.from_estimator(model, labels)
    for display in (SelectedValuesDisplay, ErrorComparisonDisplay):
        with pytest.raises(ValueError, match=r"y must hold.*at position 0"):
            display.from_estimator(model, X, np.where(y == "alpha", "delta", y))


def test_without_matplotlib(monkeypatch, path):
    display = BoundPathDisplay.from_result(path)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'matplotlib.*pip install "minimaxrisk\[plot\]"'):
        display.plot()
