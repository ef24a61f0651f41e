"""Instances without labels, the exceedance, and the guaranteed error: on laws whose truth is known."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import poisson, t
from sklearn.model_selection import StratifiedKFold

import reference
from minimaxrisk import MinimaxRiskClassifier, verify, worst_case
from minimaxrisk._utils.rounding import at_most
from minimaxrisk.datasets import make_expression
from minimaxrisk.exceptions import CoverageWarning
from minimaxrisk.guarantees.covering_radii import mean_excess
from minimaxrisk.guarantees.posed_fit import PosedFit
from minimaxrisk.guarantees.worst_case import worst_case_of_rule
from minimaxrisk.solvers import ConstraintGeneration
from problems import by_radii, distinct_instances, excess_on, features_in

# Training pairs (1, "a") and (-1, "b"), but in truth x is 2 or 0 in class a and -2 or 0 in class b: the same
# moments, and an error that R* = 0 knows nothing of.
TWO_POINTS = np.array([[1.0]] * 10 + [[-1.0]] * 10)
TWO_LABELS = np.array(["a"] * 10 + ["b"] * 10)
BEYOND = np.array([[2.0], [0.0], [-2.0], [0.0]])
BEYOND_LABELS = np.array(["a", "a", "b", "b"])


@pytest.fixture
def two_points():
    return MinimaxRiskClassifier(radius=0.01, standardize=False, fit_intercept=False).fit(
        TWO_POINTS, TWO_LABELS
    )


def randomized_error(model, X, y):
    right = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return 1.0 - right.mean()


def test_exceedance_is_what_the_bound_misses(two_points):
    """The law has the moments of the sample: R* plus the exceedance bounds its error, R* alone does not."""
    error = randomized_error(two_points, BEYOND, BEYOND_LABELS)
    assert error == pytest.approx(0.25)
    assert two_points.worst_case_error_ < 1e-6
    assert excess_on(two_points, TWO_POINTS) < 1e-9
    assert error <= two_points.worst_case_error_ + excess_on(two_points, BEYOND) + 1e-9


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
def test_exceedance_from_the_definition(cancer, coding):
    X, y = cancer
    model = MinimaxRiskClassifier(coding=coding).fit(X[:100], y[:100])
    scores = X @ model.coef_.T + model.intercept_
    if coding == "signed":
        scores = np.hstack([-scores, scores])
    d_x = np.maximum(scores - model.threshold_, 0.0).sum(axis=1)
    assert excess_on(model, X) == pytest.approx(np.maximum(d_x - 1.0, 0.0).mean(), rel=1e-9)
    assert excess_on(model, X) > 0.0
    assert excess_on(model, sparse.csr_array(X)) == pytest.approx(excess_on(model, X))
    assert excess_on(model, X[:100]) < 1e-12


def test_unlabelled_instances_close_the_gap_for_them(two_points):
    model = MinimaxRiskClassifier(radius=0.01, standardize=False, fit_intercept=False)
    model.fit(TWO_POINTS, TWO_LABELS, X_unlabeled=BEYOND)
    assert excess_on(model, BEYOND) < 1e-12
    assert model.worst_case_error_ >= randomized_error(model, BEYOND, BEYOND_LABELS) - 1e-9
    assert model.worst_case_distribution_.shape == (24, 2)
    assert model.worst_case_distribution_[20:].sum() > 0.4


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
@pytest.mark.parametrize("solver", ["interior-point", ConstraintGeneration(epsilon=1e-8), "full-lp"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_unlabelled_instances_against_the_full_program(coding, solver, container):
    rng = np.random.default_rng(3)
    X, labels = reference.random_problem(rng, 18, 6, 2)
    X = np.where(np.abs(X) < 0.4, 0.0, X)
    X[:, 4], X_new = 0.0, rng.standard_normal((9, 6)) * 2.0
    X_new[:, 4] = 50.0  # in a column that says nothing where there are labels
    X_new[0] = X[0]  # one that has a label already
    model = MinimaxRiskClassifier(solver, coding=coding, radius=0.7)
    model.fit(container(X), labels, X_unlabeled=container(X_new))

    mean, sd = X.mean(axis=0), X.std(axis=0)
    inside = np.where(sd > 0, (np.vstack([X, X_new]) - mean) / np.where(sd > 0, sd, 1.0), 0.0)
    Phi = reference.phi_vectors(np.column_stack([np.ones(27), inside]), 2, coding)
    tau, lam = reference.tau_and_lambda(Phi[:18], labels, 0.7)
    value, _ = reference.minimax_risk(Phi, tau, lam)
    assert model.worst_case_error_ == pytest.approx(value, abs=1e-7)
    assert (
        model.worst_case_error_ >= MinimaxRiskClassifier(radius=0.7).fit(X, labels).worst_case_error_ - 1e-9
    )
    assert model.optimality_gap_ < 1e-6
    assert excess_on(model, X_new) < 1e-9
    certificate = verify(model, X, labels, X_unlabeled=X_new)
    assert certificate.valid, certificate.problems
    assert not verify(model, X, labels).valid


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("standardize", [True, False])
def test_a_column_without_information_on_labels_is_none_elsewhere(container, standardize):
    X = container([[0.0, 1.0], [0.0, 2.0], [0.0, 4.0], [50.0, 3.0]])
    instances = distinct_instances(
        X, np.array([0, 1, 0, 0]), np.array([1.0, 1.0, 1.0, 0.0]), 2, n_unlabeled=1
    )
    features, _, scale = features_in(X, instances, standardize=standardize, fit_intercept=False)
    values = features.columns(np.arange(2))
    assert (values[:, 0] == 0.0).all()
    labelled = np.array([1.0, 2.0, 4.0])
    assert scale.scale[1] == pytest.approx(labelled.std() if standardize else np.sqrt(np.mean(labelled**2)))


def test_unlabelled_instances_do_not_change_the_estimates(wide):
    X, y = wide
    alone = MinimaxRiskClassifier().fit(X, y)
    joined = MinimaxRiskClassifier().fit(X, y, X_unlabeled=3.0 * X[::-1] + 1.0)
    assert np.allclose(alone.tau_, joined.tau_, atol=1e-12)
    assert np.allclose(alone.lambda_, joined.lambda_, atol=1e-12)
    same = MinimaxRiskClassifier().fit(X, y, X_unlabeled=X)
    assert same.worst_case_error_ == alone.worst_case_error_
    bounds = worst_case(joined, X, y, X_unlabeled=3.0 * X[::-1] + 1.0, rule="randomized")
    assert bounds.upper == pytest.approx(joined.worst_case_error_, abs=1e-6)


def test_unlabelled_instances_must_have_the_same_columns(wide):
    X, y = wide
    with pytest.raises(ValueError, match="X_unlabeled does not match X: X has 299 features"):
        MinimaxRiskClassifier().fit(X, y, X_unlabeled=X[:, :-1])
    with pytest.raises(ValueError, match=r"X_unlabeled does not match X: Input X contains NaN"):
        MinimaxRiskClassifier().fit(X, y, X_unlabeled=np.full((1, 300), np.nan))


@pytest.fixture(scope="module")
def study():
    return make_expression(80, 300, n_informative=20, effect=1.2, random_state=4)


@pytest.fixture(scope="module")
def fitted(study):
    return MinimaxRiskClassifier(radius="bootstrap").fit(study.data, study.target)


def test_guaranteed_error_on_new_instances(study, fitted):
    X_new, y_new = study.law.sample(3000, random_state=1)
    bound = by_radii(fitted, X_new)
    excess = bound.exceedance
    assert excess.mean == pytest.approx(excess_on(fitted, X_new))
    assert (excess.n_instances, excess.source) == (3000, "new instances")
    # For a sum with this mean and variance Student's limit would be nearly right; the Gamma law's is a little
    # larger, since the sum is skewed.
    student = excess.mean + t.ppf(0.95, 2999) * excess.standard_error
    assert student < excess.upper < 1.2 * student
    assert bound.worst_case_error == fitted.worst_case_error_
    assert bound.value == float(bound) == pytest.approx(fitted.worst_case_error_ + excess.upper)
    assert bound.confidence == pytest.approx(0.9)
    assert bound.value > randomized_error(fitted, X_new, y_new)
    stricter = by_radii(fitted, X_new, confidence=0.99)
    assert stricter.value > bound.value
    assert stricter.confidence == pytest.approx(0.94)


def test_guaranteed_error_in_words(study, fitted):
    X_new, _ = study.law.sample(200, random_state=1)
    bound = by_radii(fitted, X_new)
    assert str(bound) == bound.statement
    start = "With probability at least 0.9, the error of labels drawn from predict_proba of this model is"
    assert bound.statement.startswith(start)
    for part in (
        f"at most {at_most(bound.value)}",
        "judged by 200 new ones",
        "probability 0.95 if the assumptions",
    ):
        assert part in bound.statement
    assert (bound.method, bound.rule, bound.marginal, bound.n_train) == ("radii", "randomized", "free", None)
    score = by_radii(MinimaxRiskClassifier(radius=1.0).fit(study.data, study.target), X_new)
    assert score.confidence is None
    assert score.statement.startswith(
        "If the true means lie within the radii, and the samples are as assumed, "
    )
    assert "It has no probability: the radius was chosen without one" in score.statement
    given = MinimaxRiskClassifier(radius=fitted.lambda_).fit(study.data, study.target)
    assert "in the worst case within the given radii" in by_radii(given, X_new).statement


def test_cross_fitting_is_models_on_the_other_folds(study, fitted):
    X, y = study.data, study.target
    bound = by_radii(fitted, data=(X, y), n_folds=5)
    means = np.empty(len(y))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        part = MinimaxRiskClassifier(radius="bootstrap").fit(X[train], y[train])
        means[test] = [excess_on(part, X[i : i + 1]) for i in test]
    assert bound.exceedance.mean == pytest.approx(means.mean(), abs=1e-12)
    assert bound.exceedance.n_instances == 80
    assert "judged by 80 left out in cross-fitting" in bound.statement
    assert bound.confidence is None
    assert "models fitted on parts of the data behave like this one" in bound.reason


def test_cross_fitting_lets_unlabelled_instances_take_part(study):
    X, y = study.data, study.target
    X_new, _ = study.law.sample(60, random_state=3)
    model = MinimaxRiskClassifier(radius=2.0).fit(X, y, X_unlabeled=X_new)
    bound = by_radii(model, data=(X, y, None, X_new), n_folds=4)
    excess = np.empty(len(y))
    for train, test in StratifiedKFold(4, shuffle=True, random_state=0).split(X, y):
        part = MinimaxRiskClassifier(radius=2.0).fit(X[train], y[train], X_unlabeled=X_new)
        excess[test] = [excess_on(part, X[i : i + 1]) for i in test]
    assert bound.exceedance.mean == pytest.approx(excess.mean(), abs=1e-12)


def test_no_probability_where_no_excess_was_seen(study, fitted):
    bound = by_radii(fitted, study.data)
    assert (bound.exceedance.upper, bound.exceedance.n_exceeding, bound.confidence) == (0.0, 0, None)
    assert "so at most 3.68% of all are not covered" in bound.statement


def test_no_probability_where_the_sample_breaks_an_assumption(study):
    X, y = np.exp(2.0 * (study.data - study.data.mean(axis=0))), study.target
    X_new, _ = study.law.sample(500, random_state=3)
    with pytest.warns(CoverageWarning):
        model = MinimaxRiskClassifier(radius="bootstrap").fit(X, y)
    bound = by_radii(model, np.exp(2.0 * (X_new - study.data.mean(axis=0))))
    assert bound.exceedance.n_exceeding > 0
    assert bound.confidence is None
    assert f"the sample breaks what the radii assume: {model.coverage_remarks_[0]}" in bound.statement


def test_a_bound_that_says_nothing_says_so(study, fitted):
    X_new, _ = study.law.sample(50, random_state=1)
    assert "Guessing" not in by_radii(fitted, X_new).statement
    far = by_radii(fitted, fitted.n_features_in_ * X_new)
    assert far.value == 1.0
    assert "Guessing one of 2 classes is as good as this bound" in far.statement


def test_other_data_than_those_of_the_fit_are_noticed(study, fitted):
    X, y = study.data, study.target
    for data in ((X[:60], y[:60]), (X, y[::-1]), (X[::-1], y[::-1]), (X, y, 1.0 + y)):
        with pytest.raises(ValueError, match="X and y must be the data that the model was fitted on"):
            by_radii(fitted, data=data)


def test_limits_of_the_exceedance_hold_as_often_as_they_say():
    """Half normal excesses on a twentieth of the instances; 2000 samples of 300."""
    rng = np.random.default_rng(0)
    excess = np.where(rng.random((2000, 300)) < 0.05, np.abs(rng.standard_normal((2000, 300))), 0.0)
    weights = np.ones(300)
    uppers = np.array([mean_excess(row, weights, 0.95, "new instances").upper for row in excess])
    truth = 0.05 * np.sqrt(2.0 / np.pi)
    assert 0.94 <= np.mean(uppers >= truth) <= 0.99
    one = mean_excess(excess[0], weights, 0.95, "new instances")
    assert one.standard_error == pytest.approx(excess[0].std(ddof=1) / np.sqrt(300))


@pytest.mark.parametrize(("X", "n_exceeding"), [(BEYOND, 2), (BEYOND[:2], 1), (BEYOND[[0, 2, 0, 2, 1]], 4)])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_limit_where_all_excesses_are_equal(two_points, X, n_exceeding, confidence):
    """A sum of k equal terms of Gamma's law of shape k; that law's tail is Poisson's."""
    excess = by_radii(two_points, X, confidence=confidence).exceedance
    assert (excess.n_exceeding, excess.n_instances) == (n_exceeding, len(X))
    tail = poisson.sf(n_exceeding - 1, n_exceeding * excess.mean / excess.upper)
    assert tail == pytest.approx(1.0 - confidence, rel=1e-9)


def test_limit_counts_what_an_instance_adds_to_the_mean():
    """Excesses of 4, 2 and 1 with weights of 1, 2 and 4 are three equal terms."""
    equal = mean_excess(np.array([1.0, 1.0, 1.0, 0.0]), np.ones(4), 0.95, "new instances")
    weighted = mean_excess(
        np.array([4.0, 2.0, 1.0, 0.0]), np.array([1.0, 2.0, 4.0, 3.0]), 0.95, "cross-fitting"
    )
    assert weighted.mean == pytest.approx(1.2)
    assert weighted.upper / weighted.mean == pytest.approx(equal.upper / equal.mean)


def test_standard_error_of_a_weighted_mean():
    """Of independent numbers of variance 1 it is the root of the sum of squared shares."""
    rng = np.random.default_rng(1)
    weights = np.repeat([1.0, 10.0], [150, 50])
    found = [mean_excess(rng.exponential(size=200), weights, 0.95, "").standard_error for _ in range(400)]
    share = weights / weights.sum()
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(np.sqrt(np.sum(share**2)), rel=0.03)


def test_half_of_the_cases_is_guessing_already(cancer):
    X, y = cancer
    with pytest.warns(CoverageWarning):
        model = MinimaxRiskClassifier(radius=100.0).fit(X, y)
    bound = by_radii(model, X)
    assert bound.value == 0.5
    assert "Guessing one of 2 classes" in bound.statement


def test_cross_fitting_with_weights_and_class_weights(study):
    X, y = study.data, study.target
    weights = 1.0 + np.arange(80) % 2
    model = MinimaxRiskClassifier(class_weight="balanced").fit(X, y, sample_weight=weights)
    weights[::7] = 0.0
    model.fit(X, y, sample_weight=weights)
    bound = by_radii(model, data=(X, y, weights), n_folds=3)
    used = weights > 0
    X, y, weights = X[used], y[used], weights[used]
    # The weights that the model had: balanced over all of the data, not over each part.
    share = np.array([weights[y == k].sum() for k in (0, 1)]) / weights.sum()
    balanced = weights * (0.5 / share)[y]
    excess = np.empty(len(y))
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        part = MinimaxRiskClassifier().fit(X[train], y[train], sample_weight=balanced[train])
        excess[test] = [excess_on(part, X[i : i + 1]) for i in test]
    assert bound.exceedance.n_instances == used.sum()
    assert bound.exceedance.mean == pytest.approx(np.average(excess, weights=balanced), abs=1e-12)
    assert 0.0 < bound.exceedance.mean < bound.exceedance.upper


@pytest.mark.parametrize(
    "options", [{}, {"coding": "one-hot"}, {"standardize": False, "fit_intercept": False}]
)
def test_arg_max_rule_has_a_proof_that_holds_beyond_the_training_data(study, options):
    """On the training instances nothing exceeds; on others the function and its excess bound the loss."""
    X, y = study.data, study.target
    model = MinimaxRiskClassifier(radius=3.0, **options).fit(X, y)
    on_training = by_radii(model, X, rule="predict", data=(X, y))
    bounds = worst_case(model, X, y, rule="predict")
    assert on_training.worst_case_error == pytest.approx(bounds.upper, abs=1e-9)
    assert on_training.exceedance.mean == 0.0
    # The function touches the loss somewhere: a larger constant would make the excess too small.
    fit = PosedFit(model, X, y)
    affine = worst_case_of_rule(model, fit.data, "predict", fit.posed_by_stored_radius).affine
    loss = 1.0 - np.eye(2)[np.searchsorted(model.classes_, model.predict(X))].T
    assert np.max(loss - affine.threshold - affine.scores(X)) == pytest.approx(0.0, abs=1e-9)
    assert on_training.worst_case_error <= 2.0 * model.worst_case_error_ + 1e-6
    X_new, y_new = study.law.sample(2000, random_state=2)
    bound = by_radii(model, X_new, rule="predict", data=(X, y))
    # The law of the new sample is its own empirical one: its moments are as far from tau as they are.
    assert bound.value >= 1.0 - model.score(X_new, y_new)
    assert bound.exceedance.mean > 0.0
    crossed = by_radii(model, rule="predict", data=(X, y), n_folds=3)
    assert crossed.exceedance.n_instances == 80
    assert "the error of predict of this model" in crossed.statement


def test_arg_max_excess_is_needed_and_enough():
    """All laws on instances beyond the training ones that have moments in the set, by linear programming."""
    missing = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, labels = reference.random_problem(rng, 20, 4, 2)
        X_new = 4.0 * rng.standard_normal((15, 4))
        model = MinimaxRiskClassifier(radius=0.3).fit(X, labels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the instances are of another law, on purpose
            bound = by_radii(model, X_new, rule="predict", data=(X, labels))
        inside = (X_new - X.mean(axis=0)) / X.std(axis=0)
        Phi = reference.phi_vectors(np.column_stack([np.ones(15), inside]), 2, "signed")
        predicted = np.searchsorted(model.classes_, model.predict(X_new))
        # Each new instance has mass 1/15, whatever its label.
        worst = reference.largest_loss(
            1.0 - np.eye(2)[predicted], Phi, model.tau_[0], model.lambda_[0], np.full(15, 1 / 15)
        )
        if worst is not None:  # else no such law has moments in the set
            assert worst <= bound.worst_case_error + bound.exceedance.mean + 1e-9
            missing.append(worst - bound.worst_case_error)
    assert len(missing) >= 10
    assert max(missing) > 0.1


def test_there_are_no_more_folds_than_the_smallest_class_has_samples(study):
    rows = np.concatenate([np.flatnonzero(study.target == 0), np.flatnonzero(study.target == 1)[:3]])
    X, y = study.data[rows], study.target[rows]
    model = MinimaxRiskClassifier().fit(X, y)
    many, three = (by_radii(model, data=(X, y), n_folds=n) for n in (10, 3))
    assert many == three


def test_a_class_of_one_cannot_be_left_out():
    X, y = TWO_POINTS[:11], TWO_LABELS[:11]
    model = MinimaxRiskClassifier().fit(X, y)
    with pytest.raises(
        ValueError, match="at least 2 samples of every class, got 1 of 'b'; pass new instances"
    ):
        by_radii(model, data=(X, y))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "method='radii' needs the data .* without X_new: pass X and y"),
        ({"X_new": BEYOND, "rule": "predict"}, "needs the data .* rule='predict': pass X and y"),
        ({"X_new": BEYOND, "rule": "best"}, "rule must be 'predict' or 'randomized', got 'best'"),
        ({"X_new": BEYOND, "confidence": "0.9"}, "confidence must lie strictly between 0 and 1, got '0.9'"),
        ({"X_new": BEYOND, "confidence": 1.0}, "confidence must lie strictly between 0 and 1, got 1.0"),
        ({"X_new": BEYOND[:1]}, "at least 2 instances"),
        ({"X_new": np.ones((3, 2))}, "X has 2 features"),
        ({"data": (TWO_POINTS,)}, "X and y must be passed"),
        (
            {"data": (TWO_POINTS, TWO_LABELS), "n_folds": 1},
            "n_folds must be an integer of at least 2 or None",
        ),
        ({"data": (TWO_POINTS, TWO_LABELS), "n_folds": None}, "needs X_new, or folds of cross-fitting"),
        (
            {"data": (TWO_POINTS, np.char.upper(TWO_LABELS)), "rule": "predict"},
            "fitted on, .* checked against them, the labels are",
        ),
        ({"data": (TWO_POINTS, np.arange(20) % 3)}, "checked against them, the labels are"),
    ],
)
def test_bad_input(two_points, arguments, message):
    with pytest.raises(ValueError, match=message):
        by_radii(two_points, **arguments)
