"""The ensemble: its parts, its rule, its certified bound, its out-of-bag error, and what files keep of it."""

from __future__ import annotations

import pickle
import warnings
from copy import copy

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import beta
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import reference
from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskEnsembleClassifier,
    evaluate,
    verify,
    worst_case,
)
from minimaxrisk.datasets import make_expression
from minimaxrisk.exceptions import CoverageWarning
from minimaxrisk.guarantees.calibrated_decision import CalibratedDecision
from minimaxrisk.inspection import ErrorComparisonDisplay, SelectedFeaturesDisplay
from minimaxrisk.samples.folds import dealt_folds
from minimaxrisk.solvers import ConstraintGeneration, FirstOrder, InteriorPoint
from problems import changed_a_little

# So many that each sample is out of bag at some time.
PARTS = {"subsample": 0.4, "n_estimators": 8}


def ensemble(estimator=None, **parameters):
    """Small, of parts that leave each sample out of bag, with a certificate."""
    options = {"random_state": 0, "certify": True, **PARTS, **parameters}
    return MinimaxRiskEnsembleClassifier(estimator, **options)


def study(n_samples=60, n_features=100, **parameters):
    return make_expression(n_samples, n_features, **{"effect": 1.2, "random_state": 0, **parameters})


@pytest.fixture
def three_classes():
    X, labels = reference.random_problem(np.random.default_rng(1), 30, 8, 3)
    return X, np.array(["a", "b", "c"])[labels]


def same_bits(a, b):
    assert len(a.members_) == len(b.members_)
    for one, other in zip(a.members_, b.members_, strict=True):
        np.testing.assert_array_equal(one.columns, other.columns)
        np.testing.assert_array_equal(one.coef, other.coef)
        np.testing.assert_array_equal(one.intercept, other.intercept)
        assert one.threshold == other.threshold
    for name in ("worst_case_error_", "worst_case_error_lower_", "oob_error_", "oob_error_interval_"):
        assert getattr(a, name) == getattr(b, name), name
    for name in ("in_bag_", "oob_proba_", "selection_frequencies_", "worst_case_distribution_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def interval(model, n, rows=slice(None)):
    """Clopper and Pearson's, for n reduced by the correction of Nadeau and Bengio and by experience."""
    share = model.in_bag_[:, rows].mean()
    n = 0.7 * n / (1 / (len(model.members_) * (1 - share)) + 1 / share)
    k = model.oob_error_ * n
    return beta.ppf(0.025, k, n - k + 1), beta.ppf(0.975, k + 1, n - k)


# ---- the rule


@pytest.mark.parametrize("marginal", ["free", "empirical"])
def test_members_are_classifiers_on_their_parts(wide, marginal):
    """At a vertex, but for coefficients that are cleared: the rules of the classifier itself."""
    X, y = wide
    estimator = MinimaxRiskClassifier(solver="full-lp", radius=2.0, marginal=marginal)
    model = ensemble(estimator).fit(X, y)
    for seen, member in zip(model.in_bag_, model.members_, strict=True):
        fitted = clone(estimator).fit(X[seen], y[seen])
        size = np.abs(fitted.coef_) * X[seen].std(axis=0)
        small = size < 0.1 * size.max(axis=1, keepdims=True)
        np.testing.assert_allclose(member.full_coef, np.where(small, 0.0, fitted.coef_), atol=1e-9)
        if not fitted.coef_[small].any():
            np.testing.assert_allclose(member.probabilities(X).T, fitted.predict_proba(X), atol=1e-9)


def test_the_mean_rule_is_that_of_members_and_linear_ball(three_classes):
    X, y = three_classes
    model = ensemble().fit(X, y)
    mean = np.mean([member.probabilities(X).T for member in model.members_], axis=0)
    share = model.ball_weight_
    assert 0.0 < share < 1.0
    mean = (1.0 - share) * mean + share * model.ball_.probabilities(X).T
    np.testing.assert_allclose(model._fitted_rule().probabilities(X).T, mean, atol=1e-15)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_calibrated_decision_by_hand(n_classes):
    """Weights of the scores and an offset for each class; all methods of prediction agree."""
    X, y = reference.random_problem(np.random.default_rng(1), 40, 8, n_classes)
    model = ensemble().fit(X, y)
    scores = np.stack(
        [
            np.mean([member.scores(X).T for member in model.members_], axis=0),
            model.ball_.scores(X).T,
            model.rbf_ball_.scores(X).T,
        ]
    )
    below = np.maximum(scores - scores.max(axis=2, keepdims=True), -model.decision_.limits[:, None, None])
    odds = np.exp(np.einsum("m,mik->ik", model.decision_.slopes, below) + model.decision_.offsets)
    found = model.predict_proba(X)
    np.testing.assert_allclose(found, odds / odds.sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[np.argmax(found, axis=1)])
    decision, logarithms = model.decision_function(X), np.log(found)
    if n_classes == 2:
        np.testing.assert_allclose(decision, logarithms[:, 1] - logarithms[:, 0], atol=1e-9)
    else:
        constant = decision - logarithms
        np.testing.assert_allclose(constant, np.tile(constant[:, :1], n_classes), atol=1e-9)


# ---- the parts


@pytest.mark.parametrize(("subsample", "expected"), [(0.5, [7, 6, 6]), (0.6, [8, 7, 7])])
def test_parts_keep_the_shares_of_the_classes(wide, subsample, expected):
    X, y = wide  # 14, 13 and 13 samples
    model = ensemble(subsample=subsample, n_estimators=16).fit(X, y)
    for seen in model.in_bag_:
        assert [int((y[seen] == label).sum()) for label in model.classes_] == expected


def test_groups_stay_together_and_count_as_one(cancer):
    X, y = cancer[0][:90], cancer[1][:90]
    groups = np.empty(90, dtype=object)
    for label in (0, 1):  # groups of different sizes, not side by side
        rows = np.flatnonzero(y == label)
        groups[rows] = [f"{label}-{i % 12 if i % 3 else 0}" for i in range(len(rows))]
    model = ensemble().fit(X, y, groups=groups)
    for name in set(groups):
        seen = model.in_bag_[:, groups == name]
        assert (seen == seen[:, :1]).all(), name
    weight = pd.Series(np.ones(90)).groupby(groups).sum().to_numpy()
    n = weight.sum() ** 2 / (weight**2).sum()
    assert n < 45
    expected = interval(model, n, np.unique(groups, return_index=True)[1])
    np.testing.assert_allclose(model.oob_error_interval_, expected, rtol=1e-9, atol=1e-12)
    assert verify(model, X, y, groups=groups).valid
    assert any("lambda_" in problem for problem in verify(model, X, y).problems)


# ---- the bound


@pytest.mark.parametrize(("n_classes", "coding"), [(2, "signed"), (2, "one-hot"), (3, "one-hot")])
@pytest.mark.parametrize("marginal", ["free", "empirical"])
@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_the_bound_is_that_of_the_full_program(n_classes, coding, marginal, radius):
    X, labels = reference.random_problem(np.random.default_rng(n_classes), 24, 6, n_classes)
    estimator = MinimaxRiskClassifier(coding=coding, marginal=marginal, radius=0.7, moderation=0)
    model = ensemble(estimator, radius=radius).fit(X, labels)
    Phi = reference.phi_vectors(reference.scaled_columns(X), n_classes, coding)
    tau, lam = reference.tau_and_lambda(Phi, labels, radius)
    mean = model._fitted_rule().probabilities(X).T
    masses = np.full(24, 1 / 24) if marginal == "empirical" else None
    largest = reference.largest_loss(1.0 - mean, Phi, tau, lam, masses)
    assert model.worst_case_error_ == pytest.approx(largest, abs=1e-7)
    assert model.worst_case_error_lower_ == pytest.approx(largest, abs=1e-7)
    bounds = worst_case(model, X, labels, rule="randomized")
    assert bounds.upper == pytest.approx(largest, abs=1e-7)
    smallest = -reference.largest_loss(mean - 1.0, Phi, tau, lam, masses)
    assert bounds.lower == pytest.approx(smallest, abs=1e-7)
    wrong = (np.argmax(mean, axis=1)[:, None] != np.arange(n_classes)).astype(float)
    of_predict = worst_case(model, X, labels, rule="predict")
    assert of_predict.upper == pytest.approx(reference.largest_loss(wrong, Phi, tau, lam, masses), abs=1e-7)
    assert of_predict.upper <= 2.0 * model.worst_case_error_ + 1e-7

    members = [
        reference.largest_loss(1.0 - member.probabilities(X).T, Phi, tau, lam, masses)
        for member in model.members_
    ]
    assert model.worst_case_error_ <= np.mean(members) + 1e-7
    assert (
        model.worst_case_error_
        >= clone(estimator).set_params(radius=radius).fit(X, labels).worst_case_error_lower_ - 1e-9
    )


def test_the_radius_of_the_set_is_not_that_of_the_members():
    data = study(60, 80)
    model = ensemble(MinimaxRiskClassifier(radius=1.0), radius="bootstrap").fit(data.data, data.target)
    plain = ensemble(MinimaxRiskClassifier(radius=1.0)).fit(data.data, data.target)
    for one, other in zip(model.members_, plain.members_, strict=True):
        np.testing.assert_array_equal(one.coef, other.coef)
    classifier = MinimaxRiskClassifier(radius="bootstrap").fit(data.data, data.target)
    for name in ("radius_", "coverage_", "coverage_remarks_", "coding_"):
        assert getattr(model, name) == getattr(classifier, name), name
    np.testing.assert_array_equal(model.tau_, classifier.tau_)
    np.testing.assert_array_equal(model.lambda_, classifier.lambda_)
    assert plain.worst_case_error_ < classifier.worst_case_error_ <= model.worst_case_error_ + 1e-9
    assert plain.coverage_ is None
    given = ensemble(radius=classifier.lambda_).fit(data.data, data.target)
    assert given.radius_ is None
    assert given.worst_case_error_ == pytest.approx(model.worst_case_error_, abs=1e-6)
    assert verify(given, data.data, data.target).valid


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
def test_the_estimator_says_how_columns_enter(three_classes, standardize, fit_intercept):
    X, y = three_classes
    estimator = MinimaxRiskClassifier(standardize=standardize, fit_intercept=fit_intercept)
    model = ensemble(estimator).fit(X, y)
    assert model.lambda_.shape == (3, 8 + fit_intercept)
    certificate = verify(model, X, y)
    assert certificate.valid, certificate.problems
    assert certificate.upper - certificate.lower < 1e-3


def test_no_certificate_unless_asked_for(wide):
    X, y = wide
    model = ensemble().fit(X, y)
    probabilities = model.predict_proba(X)
    model.set_params(certify=False).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), probabilities)
    assert not [name for name in vars(model) if "worst_case" in name or name in ("lambda_", "coverage_")]
    for function in (verify, worst_case):
        with pytest.raises(ValueError, match="certify=True"):
            function(model, X, y)


# ---- verification

OF_THE_COLUMNS = {"feature_names_in_", "n_features_in_"}
# What is said of the others begins with their names.
FOUND_BY = {
    "ball_": "worst_case_error_",
    "ball_weight_": "worst_case_error_",
    "classes_": "the labels are",
    "estimator_": "worst_case_error_",
    "members_": "feature_importances_",
    "radius_seed_": "worst_case_error_",
    "worst_case_proof_": "worst_case_error_",
}
# The certificate is about the mean rule, not about samples out of bag and the decision that they calibrate.
OF_THE_DECISION = {"decision_", "in_bag_", "oob_error_", "oob_error_interval_", "oob_proba_", "rbf_ball_"}


@pytest.mark.parametrize("radius", [None, "bootstrap"])
@pytest.mark.parametrize("marginal", ["free", "empirical"])
def test_every_attribute_that_was_changed_by_hand_is_found(radius, marginal):
    data = make_expression(40, 60, n_informative=5, effect=2.0, correlation=0.9, random_state=0)
    X, y = data.data, data.target
    estimator = MinimaxRiskClassifier(marginal=marginal, random_state=3)
    model = ensemble(estimator, radius=radius)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        model.fit(X, y)
    certificate = verify(model, X, y)
    assert certificate.valid, certificate.problems
    assert (certificate.lower, certificate.upper) == pytest.approx(
        (model.worst_case_error_lower_, model.worst_case_error_), abs=1e-9
    )
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert {"members_", "oob_error_", "coverage_", "worst_case_proof_", "estimator_"} <= fitted
    # The seed matters to the draws of a bootstrap alone.
    for name in sorted(
        fitted - OF_THE_COLUMNS - OF_THE_DECISION - ({"radius_seed_"} if radius is None else set())
    ):
        other = copy(model)
        setattr(other, name, changed_a_little(getattr(model, name)))
        certificate = verify(other, X, y)
        assert not certificate.valid, name
        begins = f"{FOUND_BY.get(name, name)} "
        assert any(problem.startswith(begins) for problem in certificate.problems), certificate.problems


# ---- out of bag


def test_out_of_bag_by_brute_force(wide):
    """Mean scores of members that have not seen the sample, by the decision of the other folds."""
    X, y = wide
    model = ensemble(ball=False).fit(X, y)
    assert (model.ball_, model.rbf_ball_, model.ball_weight_) == (None, None, 0.0)
    each = np.array([member.scores(X).T for member in model.members_])
    scores = np.array([each[~model.in_bag_[:, i], i].mean(axis=0) for i in range(40)])
    own = np.searchsorted(model.classes_, y)
    fold = dealt_folds(own, np.arange(40), 10)
    for f in range(10):
        decision = CalibratedDecision.fit(scores[fold != f], own[fold != f])
        expected = decision.probabilities(scores[fold == f])
        np.testing.assert_allclose(model.oob_proba_[fold == f], expected, atol=1e-9)
    np.testing.assert_allclose(model.decision_.slopes, CalibratedDecision.fit(scores, own).slopes)
    wrong = model.classes_[np.argmax(model.oob_proba_, axis=1)] != y
    assert model.oob_error_ == pytest.approx(wrong.mean())
    np.testing.assert_allclose(model.oob_error_interval_, interval(model, 40), rtol=1e-9)
    assert model.oob_error_interval_[0] < model.oob_error_ < model.oob_error_interval_[1]


def test_samples_that_all_members_have_seen(wide):
    X, y = wide
    with pytest.warns(UserWarning, match=r"\d+ samples were seen by all members, .* not in oob_error_"):
        model = ensemble(n_estimators=2, subsample=0.9).fit(X, y)
    unjudged = np.isnan(model.oob_proba_).all(axis=1)
    np.testing.assert_array_equal(unjudged, model.in_bag_.all(axis=0))
    judged = ~unjudged
    wrong = model.classes_[np.argmax(model.oob_proba_[judged], axis=1)] != y[judged]
    assert 0 < judged.sum() < 40
    assert model.oob_error_ == pytest.approx(wrong.mean())
    assert verify(model, X, y).valid


def test_the_out_of_bag_error_is_near_the_true_one():
    """Over studies: nearly always within two standard errors, and not systematically below."""
    differences, near = [], 0
    for seed in range(12):
        data = study(50, 60, effect=1.0, n_informative=8, random_state=seed)
        parts = {"subsample": 0.7, "n_estimators": 30}
        model = ensemble(**parts, certify=False).fit(data.data, data.target)
        X_new, y_new = data.law.sample(1000, random_state=seed + 500)
        truth = np.mean(model.predict(X_new) != y_new)
        differences.append(model.oob_error_ - truth)
        near += abs(differences[-1]) <= 2 * np.sqrt(truth * (1 - truth) / 50)
    assert near >= 10
    assert -0.03 < np.mean(differences) < 0.05


# ---- selections


def test_frequencies_are_those_of_the_members(wide):
    X, y = wide
    model = ensemble(n_estimators=10).fit(X, y)
    uses = np.array([member.full_coef.any(axis=0) for member in model.members_])
    np.testing.assert_allclose(model.selection_frequencies_, uses.mean(axis=0))
    np.testing.assert_array_equal(model.selected_features_, np.flatnonzero(uses.any(axis=0)))
    importance = np.mean([np.abs(member.full_coef).sum(axis=0) for member in model.members_], axis=0)
    np.testing.assert_allclose(model.feature_importances_, importance * X.std(axis=0), rtol=1e-9)


# ---- input


def test_weights_of_zero_are_no_rows(wide):
    X, y = wide
    weights = np.where(np.arange(40) % 4 == 0, 0.0, 1.0 + np.arange(40) % 3)
    used = weights > 0
    model = ensemble().fit(X, y, sample_weight=weights)
    alone = ensemble().fit(X[used], y[used], sample_weight=weights[used])
    for one, other in zip(model.members_, alone.members_, strict=True):
        np.testing.assert_array_equal(one.coef, other.coef)
    assert model.oob_error_ == alone.oob_error_
    assert model.worst_case_error_ == pytest.approx(alone.worst_case_error_, abs=1e-9)
    assert not model.in_bag_[:, ~used].any()
    assert verify(model, X, y, sample_weight=weights).valid


def test_a_weight_of_two_is_the_row_twice_in_one_group(wide):
    X, y = wide
    counts = 1 + np.arange(40) % 3
    weighted = ensemble().fit(X, y, sample_weight=counts, groups=np.arange(40))
    rows = np.repeat(np.arange(40), counts)
    repeated = ensemble().fit(X[rows], y[rows], groups=rows)
    for one, other in zip(weighted.members_, repeated.members_, strict=True):
        np.testing.assert_allclose(one.coef, other.coef, atol=1e-8)
    assert weighted.worst_case_error_ == pytest.approx(repeated.worst_case_error_, abs=1e-8)
    assert weighted.oob_error_ == pytest.approx(repeated.oob_error_)
    np.testing.assert_allclose(weighted.oob_error_interval_, repeated.oob_error_interval_)


def test_class_weights_are_those_of_the_estimator(wide):
    X, y = wide
    rare = np.concatenate([np.flatnonzero(y != "gamma"), np.flatnonzero(y == "gamma")[:4]])
    X, y = X[rare], y[rare]
    balanced = ensemble(MinimaxRiskClassifier(class_weight="balanced")).fit(X, y)
    plain = ensemble().fit(X, y)
    assert (balanced.predict_proba(X) != plain.predict_proba(X)).any()
    wrong = balanced.classes_[np.argmax(balanced.oob_proba_, axis=1)] != y
    per_class = [wrong[y == label].mean() for label in balanced.classes_]
    assert balanced.oob_error_ == pytest.approx(np.mean(per_class))
    assert verify(balanced, X, y).valid


@pytest.mark.parametrize("ball", [True, False])
def test_a_class_with_one_sample_is_in_every_part(wide, ball):
    X, y = wide
    rows = [*np.flatnonzero(y != "gamma"), 39]
    X, y = X[rows], y[rows]
    with pytest.warns(UserWarning, match="'gamma': every member sees the single sample of such a class"):
        model = ensemble(ball=ball).fit(X, y)
    assert model.in_bag_[:, -1].all()
    assert np.isnan(model.oob_proba_[-1]).all()
    assert not np.isnan(model.oob_proba_[:-1]).any()
    assert model.oob_error_ == np.mean(model.classes_[model.oob_proba_[:-1].argmax(axis=1)] != y[:-1])
    assert "gamma" in model.classes_
    assert verify(model, X, y).valid


# ---- as an estimator


@pytest.mark.usefixtures("eager_processes")
def test_same_seed_same_bits_whatever_the_number_of_processes(wide):
    X, y = wide
    one = ensemble(n_jobs=1).fit(X, y)
    same_bits(one, ensemble(n_jobs=2).fit(X, y))
    same_bits(one, clone(one).fit(X, y))
    other = ensemble(random_state=1).fit(X, y)
    assert (one.in_bag_ != other.in_bag_).any()


def test_pickles_are_small_and_whole():
    data = study(60, 3000)
    X, y = data.data, data.target
    model = ensemble(n_estimators=20).fit(X, y)
    content = pickle.dumps(model)
    assert len(content) < X.nbytes / 4
    same_bits(model, pickle.loads(content))
    assert verify(pickle.loads(content), X, y).valid


# ---- where the solver has trouble


@pytest.mark.parametrize(
    "solver",
    [
        InteriorPoint(max_iter=1),
        InteriorPoint(max_seconds=1e-9),
        FirstOrder(max_iter=3),
        ConstraintGeneration(k_max=2),
    ],
    ids=lambda solver: next(f"{name}={value}" for name, value in vars(solver).items() if "max_" in name),
)
@pytest.mark.parametrize("certify", [True, False])
def test_members_that_a_limit_ended_are_told(wide, solver, certify):
    X, y = wide
    with pytest.warns(
        ConvergenceWarning, match="6 of 6 members ended at a limit of estimator's solver, with"
    ):
        model = ensemble(
            estimator=MinimaxRiskClassifier(solver=solver), certify=certify, n_estimators=6, subsample=0.5
        ).fit(X, y)
    if certify:
        assert verify(model, X, y).valid


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_rare_columns_are_constant_on_many_parts(coding, container):
    """They are zero there and no second intercept, whatever they are elsewhere."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = np.column_stack([(rng.random((40, 30)) < 0.05).astype(float), y + rng.standard_normal(40)])
    model = ensemble(MinimaxRiskClassifier(coding=coding)).fit(container(X), y)
    for seen, member in zip(model.in_bag_, model.members_, strict=True):
        assert not set(np.flatnonzero(X[seen].std(axis=0) == 0.0)) & set(member.columns)
    assert verify(model, container(X), y).valid
    assert model.oob_error_ < 0.5


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_training_data_are_recognised_without_a_certificate(class_weight):
    made, other = study(), study(random_state=3)
    members = MinimaxRiskClassifier(class_weight=class_weight)
    model = make_pipeline(StandardScaler(), ensemble(members, certify=False)).fit(made.data, made.target)
    with pytest.raises(ValueError, match="training data"):
        evaluate(model, made.data, made.target)
    assert evaluate(model, other.data, other.target).error.n == 60
    assert evaluate(model, made.data, np.roll(made.target, 1)).error.n == 60  # other labels
    assert evaluate(model, made.data[1:], made.target[1:]).error.n == 59


def test_r_star_is_not_set_beside_calibrated_probabilities():
    """The out-of-bag probabilities are not those of the mean rule that R* is about."""
    made = study()
    model = ensemble().fit(made.data, made.target)
    shown = ErrorComparisonDisplay.from_estimator(model, made.data, made.target, n_folds=3)
    assert np.isnan(shown.errors[0])
    assert shown.errors[1] == np.mean(shown.fold_errors[1])  # folds of equal size
    assert len(shown.chart().y.rows) == 2
    assert SelectedFeaturesDisplay.from_estimator(model).n_selected == np.sum(
        model.selection_frequencies_ >= 0.5
    )
