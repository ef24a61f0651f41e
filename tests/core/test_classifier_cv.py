"""The chosen radius: against fits one by one, both criteria, folds and groups, weights, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    minimax_risk_path,
    verify,
)
from minimaxrisk.datasets import make_expression
from minimaxrisk.estimators.classifier_cv import last_smallest, within_one_standard_error
from minimaxrisk.exceptions import TooFewSamplesError
from minimaxrisk.guarantees.calibrated_decision import CalibratedDecision
from minimaxrisk.guarantees.certified import Certified
from minimaxrisk.samples.folds import dealt_folds
from tests.folds import folds_of

RADII = [0.4, 1.7, 5.0]


def shuffled(n_folds):
    """What a number of folds stands for, by scikit-learn."""
    return StratifiedKFold(n_folds, shuffle=True, random_state=0)


# Where it is not about the choice.
TWO_RADII = [1.7, 4.0]


@pytest.fixture(scope="module")
def study():
    found = make_expression(60, 40, n_informative=6, effect=1.2, random_state=1)
    return found.data, np.where(found.target, "ill", "well")


@pytest.fixture(scope="module")
def three_classes():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.standard_normal((60, 12))
    X[:, :3] += 1.2 * np.eye(3)[y]
    return X, y


def one_by_one(estimator, X, y, folds, weights=None, scoring=None, radii=RADII):
    """Losses and numbers of features of separate fits, folds x radii."""
    losses, counts = np.empty((len(folds), len(radii))), np.empty((len(folds), len(radii)))
    for i, (train, test) in enumerate(folds):
        for j, radius in enumerate(radii):
            w = None if weights is None else weights[train]
            model = clone(estimator).set_params(radius=radius).fit(X[train], y[train], sample_weight=w)
            v = None if weights is None else weights[test]
            if scoring is None:
                losses[i, j] = np.average(model.predict(X[test]) != y[test], weights=v)
            else:
                losses[i, j] = -get_scorer(scoring)(model, X[test], y[test], sample_weight=v)
            counts[i, j] = model.n_features_selected_
    return losses, counts


@pytest.mark.parametrize(
    ("options", "weighted"),
    [
        ({}, False),
        ({}, True),
        ({"standardize": False, "fit_intercept": False}, True),
        ({"coding": "one-hot"}, True),
        ({"marginal": "empirical"}, True),
        ({"class_weight": "balanced"}, True),
        # Weights of the classes alone.
        ({"class_weight": "balanced"}, False),
        ({"solver": "constraint-generation", "weight_kind": "importance"}, True),
    ],
)
def test_losses_are_those_of_fits_one_by_one(study, options, weighted):
    X, y = study
    weights = 1.0 + np.arange(60) % 3 if weighted else None
    estimator = MinimaxRiskClassifier(**options)
    found = MinimaxRiskClassifierCV(estimator, radii=RADII, cv=2).fit(X, y, sample_weight=weights)
    folds = list(shuffled(2).split(X, y))
    losses, counts = one_by_one(estimator, X, y, folds, weights)
    results = found.cv_results_
    np.testing.assert_allclose(results["fold_losses"], losses, atol=1e-12)
    assert np.array_equal(results["n_features"], counts)
    assert np.ptp(losses.mean(axis=0)) > 0.05
    np.testing.assert_allclose(results["mean_loss"], losses.mean(axis=0))
    np.testing.assert_allclose(results["std_loss"], losses.std(axis=0, ddof=1), atol=1e-12)
    np.testing.assert_allclose(results["standard_error"], losses.std(axis=0, ddof=1) / 2**0.5, atol=1e-12)
    alone = clone(estimator).set_params(radius=found.radius_).fit(X, y, sample_weight=weights)
    assert np.array_equal(found.coef_, alone.coef_)
    assert verify(found.estimator_, X, y, sample_weight=weights).valid


@pytest.fixture(scope="module", params=[None, "balanced_accuracy"])
def thin_classes(three_classes, request):
    """Three classes with zeros among the values, a score, and its losses one by one."""
    X, y = three_classes
    X = np.where(np.abs(X) > 0.6, X, 0.0)
    folds = list(shuffled(2).split(X, y))
    losses, _ = one_by_one(MinimaxRiskClassifier(), X, y, folds, scoring=request.param)
    return X, y, request.param, losses


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_three_classes_dense_and_sparse(thin_classes, container):
    X, y, scoring, losses = thin_classes
    model = MinimaxRiskClassifierCV(radii=RADII, cv=2, scoring=scoring).fit(container(X), y)
    np.testing.assert_allclose(model.cv_results_["fold_losses"], losses, atol=1e-6)


@pytest.mark.parametrize("scoring", ["roc_auc", "balanced_accuracy", "neg_log_loss"])
def test_scores(study, scoring):
    X, y = study
    weights = 1.0 + np.arange(60) % 2
    model = MinimaxRiskClassifierCV(radii=RADII, cv=2, scoring=scoring).fit(X, y, sample_weight=weights)
    folds = list(shuffled(2).split(X, y))
    losses, _ = one_by_one(MinimaxRiskClassifier(), X, y, folds, weights, scoring)
    np.testing.assert_allclose(model.cv_results_["fold_losses"], losses, rtol=1e-6)

    def own_scorer(estimator, X, y):
        return float(estimator.decision_function(X).mean())

    model = MinimaxRiskClassifierCV(radii=RADII, cv=2, scoring=own_scorer, rule="best").fit(X, y)
    assert model.radius_ == RADII[int(np.argmin(model.cv_results_["mean_loss"]))]


def test_the_two_rules():
    mean, error = np.array([0.30, 0.20, 0.20, 0.24, 0.26, 0.4]), np.full(6, 0.05)
    error[2] = 0.04  # the one that counts: of equal means that of the larger radius
    assert last_smallest(mean) == 2
    assert within_one_standard_error(mean, error) == 3
    assert within_one_standard_error(mean, np.zeros(6)) == 2
    # A larger radius may be within again, after one that is not.
    assert within_one_standard_error(np.array([0.2, 0.3, 0.21]), np.full(3, 0.02)) == 2


def test_the_chosen_radius_is_that_of_the_rule(study):
    X, y = study
    radii = np.array([0.4, 1.0, 1.7, 2.6, 4.0])
    best = MinimaxRiskClassifierCV(radii=radii, cv=3, rule="best", random_state=4).fit(X, y)
    simple = MinimaxRiskClassifierCV(radii=radii, cv=3, random_state=4).fit(X, y)
    mean, error = best.cv_results_["mean_loss"], best.cv_results_["standard_error"]
    i = last_smallest(mean)
    assert best.radius_ == radii[i]
    assert simple.radius_ == max(radii[mean <= mean[i] + error[i]])
    assert simple.radius_ > best.radius_
    assert simple.n_features_selected_ < best.n_features_selected_


@pytest.mark.parametrize("rule", ["best", 8])
def test_the_decision_is_calibrated_by_the_folds_at_the_chosen_radius(study, rule):
    """Fits without each fold, and the calibrated decision of their scores."""
    X, y = study
    model = MinimaxRiskClassifierCV(radii=[0.5, 2.0], cv=3, rule=rule).fit(X, y)
    fold, own = dealt_folds(np.searchsorted(model.classes_, y), np.arange(len(y)), 3), model.classes_
    scores = np.zeros((len(y), 2))
    for f in range(3):
        fitted = MinimaxRiskClassifier(radius=model.radius_).fit(X[fold != f], y[fold != f])
        decision = fitted.decision_function(X[fold == f])
        scores[fold == f] = np.column_stack([-decision, decision])
    expected = CalibratedDecision.fit(scores, np.searchsorted(own, y))
    np.testing.assert_allclose(model.decision_.slopes, expected.slopes, rtol=1e-3)
    np.testing.assert_allclose(model.decision_.offsets, expected.offsets, atol=1e-3)


# ---- the grid


@pytest.mark.parametrize("balanced", [True, False])
def test_the_default_grid_ends_where_nothing_is_learned(study, balanced):
    X, y = study if balanced else (study[0][:45], study[1][:45])
    radii = MinimaxRiskClassifierCV(cv=2).fit(X, y).cv_results_["radii"]
    path = minimax_risk_path(X, y, [radii[0], 0.98 * radii[-1], radii[-1]])
    assert len(radii) == 20
    assert radii[0] == pytest.approx(radii[-1] / 100)
    assert path.worst_case_error[2] == pytest.approx(0.5)
    assert path.n_features[2] == 0
    assert path.worst_case_error[1] < 0.5 - 1e-4
    assert path.n_features[0] > 10


@pytest.mark.parametrize("column", [np.zeros(20), np.arange(20) % 2 - 0.5])
def test_the_default_grid_where_nothing_varies(column):
    """No column at all to learn from, and one that is the label itself, whose radius never grows."""
    X, y = column[:, None], np.arange(20) % 2
    model = MinimaxRiskClassifierCV(MinimaxRiskClassifier(fit_intercept=False), cv=2).fit(X, y)
    assert model.cv_results_["radii"][-1] == 1.0


# ---- folds


def test_groups_stay_together(study):
    X, y = study
    y, groups = y[np.arange(60) // 4 * 4], np.arange(60) // 4
    names = [f"patient {g}" for g in groups]
    found = MinimaxRiskClassifierCV(radii=TWO_RADII, cv=3).fit(X, y, groups=names)
    of_groups = shuffled(3).split(np.zeros(15), y[::4])
    folds = [(np.flatnonzero(np.isin(groups, a)), np.flatnonzero(np.isin(groups, b))) for a, b in of_groups]
    same = MinimaxRiskClassifierCV(radii=TWO_RADII, cv=folds).fit(X, y, groups=groups)
    assert np.array_equal(found.cv_results_["fold_losses"], same.cv_results_["fold_losses"])
    splitter = StratifiedGroupKFold(3)
    for cv in (splitter, list(splitter.split(X, y, groups))):
        given = MinimaxRiskClassifierCV(radii=TWO_RADII, cv=cv).fit(X, y, groups=groups)
        assert not np.array_equal(found.cv_results_["fold_losses"], given.cv_results_["fold_losses"])
    plain = MinimaxRiskClassifierCV(radii=TWO_RADII, cv=3).fit(X, y)
    assert not np.array_equal(found.cv_results_["fold_losses"], plain.cv_results_["fold_losses"])


def test_the_radii_of_all_fits_count_groups(study):
    """Copies of samples, as groups, are worth one each: on the way to the radius, and in the last fit."""
    X, y = study
    folds = list(shuffled(3).split(X, y))
    of_copies = [
        tuple(np.repeat(3 * rows, 3) + np.tile(np.arange(3), len(rows)) for rows in each) for each in folds
    ]
    once = MinimaxRiskClassifierCV(cv=folds).fit(X, y)
    X_thrice, y_thrice, groups = np.repeat(X, 3, axis=0), np.repeat(y, 3), np.repeat(np.arange(60), 3)
    thrice = MinimaxRiskClassifierCV(cv=of_copies).fit(X_thrice, y_thrice, groups=groups)
    unaware = MinimaxRiskClassifierCV(cv=of_copies).fit(X_thrice, y_thrice)
    assert thrice.radius_ == pytest.approx(once.radius_)
    np.testing.assert_allclose(thrice.estimator_.lambda_, once.estimator_.lambda_, atol=1e-12)
    assert thrice.worst_case_error_ == pytest.approx(once.worst_case_error_, abs=1e-6)
    assert verify(thrice.estimator_, X_thrice, y_thrice, groups=groups).valid
    assert not verify(thrice.estimator_, X_thrice, y_thrice).valid
    found, expected = (each.cv_results_["fold_losses"] for each in (thrice, once))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (
        unaware.estimator_.lambda_.max() < thrice.estimator_.lambda_.max() * unaware.radius_ / thrice.radius_
    )


def test_groups_are_routed(study):
    X, y = study
    y, groups = y[np.arange(60) // 4 * 4], np.arange(60) // 4
    with config_context(enable_metadata_routing=True):
        model = MinimaxRiskClassifierCV(radii=TWO_RADII, cv=3).set_fit_request(groups=True)
        routed = make_pipeline(StandardScaler(), model).fit(X, y, groups=groups)
    scaled = StandardScaler().fit_transform(X)
    plain = MinimaxRiskClassifierCV(radii=TWO_RADII, cv=3).fit(scaled, y, groups=groups)
    np.testing.assert_array_equal(routed[-1].estimator_.lambda_, plain.estimator_.lambda_)


def test_folds_of_any_kind(study):
    X, y = study
    splitter = KFold(2, shuffle=True, random_state=0)
    folds = list(splitter.split(X))
    masks = [(np.isin(np.arange(60), a), np.isin(np.arange(60), b)) for a, b in folds]
    results = [
        MinimaxRiskClassifierCV(radii=[1.7], cv=cv).fit(X, y).cv_results_["fold_losses"]
        for cv in (splitter, folds, iter(folds), masks)
    ]
    assert all(np.array_equal(results[0], other) for other in results)
    default = [MinimaxRiskClassifierCV(radii=[1.7], cv=cv).fit(X, y).cv_results_ for cv in (None, 5)]
    assert np.array_equal(default[0]["fold_losses"], default[1]["fold_losses"])
    one = ShuffleSplit(1, random_state=0)
    single = MinimaxRiskClassifierCV(radii=TWO_RADII, cv=one, rule="best").fit(X, y)
    assert np.isnan(single.cv_results_["standard_error"]).all()


@pytest.mark.filterwarnings("error:The least populated class:UserWarning")
@pytest.mark.parametrize("n_rare", [1, 2])
def test_a_class_with_fewer_samples_than_folds(study, n_rare):
    """It is tested in as many folds as it has samples, and a single one is learned from in all."""
    X, y = study
    few = np.where(np.arange(60) < n_rare, "rare", y)
    found = MinimaxRiskClassifierCV(radii=TWO_RADII, cv=3).fit(X, few)
    fold = folds_of(few, 3).test_fold
    assert len(set(fold[:n_rare])) == n_rare
    assert (fold[:n_rare] < 0).all() == (n_rare == 1)
    folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    losses, _ = one_by_one(MinimaxRiskClassifier(), X, few, folds, radii=TWO_RADII)
    np.testing.assert_allclose(found.cv_results_["fold_losses"], losses, atol=1e-12)
    assert found.classes_.tolist() == ["ill", "rare", "well"]


def test_folds_are_shuffled_by_the_seed(study):
    """Samples in an order that carries structure mislead folds that follow it."""
    X, y = study
    losses = [
        MinimaxRiskClassifierCV(radii=RADII, random_state=seed).fit(X, y).cv_results_["fold_losses"]
        for seed in (None, 0, 1)
    ]
    assert np.array_equal(losses[0], losses[1])
    assert not np.array_equal(losses[0], losses[2])


def test_samples_of_no_weight_take_no_part(study):
    X, y = study
    more, labels = np.vstack([X, 50.0 + X[:7]]), np.append(y, y[:7])
    weights = np.append(np.ones(60), np.zeros(7))
    without = MinimaxRiskClassifierCV(radii=TWO_RADII, cv=3).fit(X, y, sample_weight=np.ones(60))
    with_them = MinimaxRiskClassifierCV(radii=TWO_RADII, cv=3).fit(more, labels, sample_weight=weights)
    assert np.array_equal(without.cv_results_["fold_losses"], with_them.cv_results_["fold_losses"])
    assert with_them.worst_case_error_ == pytest.approx(without.worst_case_error_, abs=1e-6)
    folds = [(np.append(a, [60, 61]), np.append(b, 66)) for a, b in shuffled(3).split(X, y)]
    given = MinimaxRiskClassifierCV(radii=TWO_RADII, cv=folds).fit(more, labels, sample_weight=weights)
    assert np.array_equal(without.cv_results_["fold_losses"], given.cv_results_["fold_losses"])
    # Groups of weight zero may mix labels.
    groups = np.append(np.arange(60), np.full(7, 99))
    grouped = MinimaxRiskClassifierCV(radii=TWO_RADII, cv=GroupKFold(3)).fit(more, labels, weights, groups)
    assert grouped.cv_results_["fold_losses"].shape == (3, 2)


# ---- as an estimator


@pytest.mark.usefixtures("eager_processes")
def test_the_number_of_processes_does_not_matter(study):
    X, y = study
    one, two = (MinimaxRiskClassifierCV(radii=RADII, n_jobs=n).fit(X, y) for n in (1, 2))
    for key, value in one.cv_results_.items():
        assert np.array_equal(value, two.cv_results_[key]), key
    assert np.array_equal(one.coef_, two.coef_)


def test_what_every_certified_fit_stores_is_there(study):
    model = MinimaxRiskClassifierCV(radii=[1.0, 2.0], cv=2).fit(*study)
    stored = set(Certified.__annotations__) - {"_set_kind"}
    assert "coverage_" in stored
    for name in stored:
        np.testing.assert_equal(getattr(model, name), getattr(model.estimator_, name))


# ---- so many columns


def test_the_columns_of_all_samples_at_every_radius(study):
    X, y = study
    model = MinimaxRiskClassifierCV(radii=RADII, rule=5).fit(X, y)
    alone = [MinimaxRiskClassifier(radius=s).fit(X, y).n_features_selected_ for s in RADII]
    assert model.cv_results_["n_features_of_fit"].tolist() == alone


@pytest.mark.parametrize("n_wanted", [1, 3, 4, 100])
def test_at_most_so_many_columns(study, n_wanted):
    """Of radii tried one by one none has more of the columns that are allowed."""
    X, y = study
    model = MinimaxRiskClassifierCV(rule=n_wanted).fit(X, y)
    path = minimax_risk_path(X, y, np.linspace(model.radius_, model.cv_results_["radii"][-1], 100))
    within = path.n_features[path.n_features <= n_wanted]
    assert within.max() <= model.n_features_selected_ <= n_wanted
    assert "mean_loss" not in model.cv_results_  # nothing was left out


# ---- bad input


@pytest.mark.parametrize(
    "changes",
    [
        {"radii": []},
        {"radii": [[1.0, 2.0]]},
        {"radii": ["a", "b"]},
        {"radii": [0.0, 1.0]},
        {"radii": [1.0, np.nan]},
        {"radii": [1.0, 2.0, 0.5]},
        {"radii": [1.0, 1.0]},
        {"cv": [([0.5], [1])]},
        {"cv": [([0, 1, 60], [2])]},
        {"cv": [([0, 1, -1], [2])]},
        {"cv": [(np.arange(40), np.arange(0))]},
        {"rule": 1, "radii": [0.5, 1.0]},
        {"estimator": LogisticRegression()},
        {"estimator": MinimaxRiskClassifier(coding="both")},
    ],
)
def test_bad_parameters(study, changes):
    """The message names the parameter, or that of the estimator."""
    X, y = study
    with pytest.raises(ValueError, match="coding" if "both" in str(changes) else next(iter(changes))):
        MinimaxRiskClassifierCV(**{"radii": RADII, **changes}).fit(X, y)


def test_bad_data(study):
    X, y = study
    with pytest.raises(ValueError, match="cv must"):
        MinimaxRiskClassifierCV(radii=RADII, cv=[(y != "well", y == "well")] * 2).fit(X, y)
    with pytest.raises(ValueError, match="needs at least 2 folds"):
        MinimaxRiskClassifierCV(radii=RADII, cv=ShuffleSplit(1)).fit(X, y)
    model = MinimaxRiskClassifierCV(radii=TWO_RADII, cv=3)
    with pytest.raises(TooFewSamplesError):
        model.fit(X, np.where(np.arange(60) < 1, "rare", "common"))
    with pytest.raises(TooFewSamplesError):
        model.fit(X, np.where(np.arange(60) < 9, "rare", "common"), groups=np.maximum(np.arange(60), 9))
