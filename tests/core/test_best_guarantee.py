"""All statements about the error on new samples at once, and the smallest of them."""

from __future__ import annotations

import re
import warnings
from functools import cache

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import reference
from minimaxrisk import ClippedScaler, MinimaxRiskClassifier, error_bound, verify, worst_case
from minimaxrisk._utils.rounding import at_most
from minimaxrisk.datasets import make_expression
from minimaxrisk.exceptions import UninformativeRadiusWarning
from minimaxrisk.guarantees.counting import limit_of_rarer_classes
from minimaxrisk.guarantees.covering_radii import judged_by_program
from minimaxrisk.guarantees.error_bound import EXCESS, SHARES, _levels
from minimaxrisk.guarantees.posed_fit import PosedFit, pose_with, training_data_of
from minimaxrisk.guarantees.statement import AGREEMENT, HOLDOUT, MAJORITY, NONE, RADII
from minimaxrisk.guarantees.worst_case import worst_case_of_rule
from minimaxrisk.problem import pose
from minimaxrisk.uncertainty.rules import Multiple, MultiplierBootstrap
from problems import by_radii

RULES, MARGINALS = ("randomized", "predict"), ("free", "empirical")


def loss_of(model, X, rule):
    """1 - h(y|x), with a row for every instance."""
    h = model.predict_proba(X)
    if rule == "predict":
        h = np.eye(len(model.classes_))[np.searchsorted(model.classes_, model.predict(X))]
    return 1.0 - h


@cache
def small_problem(seed, n_classes, **options):
    """Training data, a model of them, and instances beside them."""
    rng = np.random.default_rng(seed)
    X, labels = reference.random_problem(rng, 20, 4, n_classes)
    model = MinimaxRiskClassifier(**options).fit(X, labels)
    return X, labels, model, X[:12] + rng.standard_normal((12, 4))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("marginal", MARGINALS)
@pytest.mark.parametrize("fitted_with", MARGINALS)
@pytest.mark.parametrize(("n_classes", "coding"), [(2, "signed"), (2, "one-hot"), (3, "one-hot")])
def test_worst_case_over_another_set_and_what_new_instances_add(
    rule, marginal, fitted_with, n_classes, coding
):
    """The program against SciPy's; then every law on other instances with moments in the set."""
    missing = []
    for seed in range(4):
        X, labels, model, X_new = small_problem(seed, n_classes, coding=coding, marginal=fitted_with)
        data = training_data_of(model, X, labels)
        posed = pose_with(model, data, Multiple(4.0))
        if marginal == "empirical":
            posed = posed.with_known_marginal()
        worst = worst_case_of_rule(model, data, rule, posed)
        Psi = reference.scaled_columns(X)
        Phi = reference.phi_vectors(Psi, n_classes, coding)
        tau, lam = reference.tau_and_lambda(Phi, labels, 4.0)
        masses = np.full(20, 1 / 20) if marginal == "empirical" else None
        exact = reference.largest_loss(loss_of(model, X, rule), Phi, tau, lam, masses)
        assert worst.upper == pytest.approx(exact, abs=1e-6)
        assert worst.upper >= exact - 1e-9

        judged = judged_by_program(model, worst, rule)
        Phi_new = reference.phi_vectors(
            np.column_stack([np.ones(12), (X_new - X.mean(axis=0)) / X.std(axis=0)]), n_classes, coding
        )
        law = reference.largest_loss(loss_of(model, X_new, rule), Phi_new, tau, lam, np.full(12, 1 / 12))
        if law is not None:
            added = judged.excess(X_new).mean() - (judged.known or 0.0)
            assert law <= worst.upper + added + 1e-9
            missing.append(law - worst.upper)
        on_training = judged.excess(X).mean() - (judged.known or 0.0)
        assert on_training == pytest.approx(0.0, abs=1e-6)
    assert len(missing) >= 2


@pytest.fixture(scope="module")
def study():
    return make_expression(80, 40, n_informative=10, effect=1.2, random_state=4)


@pytest.fixture(scope="module")
def fitted(study):
    return MinimaxRiskClassifier().fit(study.data, study.target)


@pytest.fixture(scope="module")
def X_new(study):
    return study.law.sample(200, random_state=1)[0]


@pytest.fixture(scope="module")
def found(study, fitted, X_new):
    return error_bound(fitted, study.data, study.target, X_new=X_new, random_state=0)


@pytest.fixture(scope="module")
def crossed(study, fitted):
    return error_bound(fitted, study.data, study.target, n_folds=3, random_state=0)


def pick(found, method, rule=None, marginal=None):
    (one,) = [
        one
        for one in found.side_by_side
        if one.method == method and rule in (None, one.rule) and marginal in (None, one.marginal)
    ]
    return one


def test_the_shares_are_all_there_is():
    assert sum(SHARES.values()) == pytest.approx(1.0)
    everything = (HOLDOUT, RADII, MAJORITY)
    for kinds in (everything, (HOLDOUT, MAJORITY), (RADII,), (RADII, MAJORITY)):
        assert sum(_levels(0.1, kinds, has_new=True).values()) == pytest.approx(0.1)
    # Without new instances those by radii have no probability, and so none to lose.
    levels = _levels(0.1, (HOLDOUT, RADII, MAJORITY), has_new=False)
    assert levels[HOLDOUT] + levels[MAJORITY] == pytest.approx(0.1)
    assert levels[RADII] + levels[EXCESS] == pytest.approx(0.1)
    assert levels[HOLDOUT] > _levels(0.1, everything, has_new=True)[HOLDOUT]


def test_each_statement_has_its_share(study, fitted, found):
    X, y = study.data, study.target
    level = 1.0 - 0.05 * SHARES[HOLDOUT]
    alone = error_bound(MinimaxRiskClassifier(), X, y, method="holdout", confidence=level, random_state=0)
    held_out = pick(found, HOLDOUT)
    assert (held_out.value, held_out.n_train) == (alone.value, 40)
    assert alone.confidence == level
    np.testing.assert_array_equal(held_out.model.coef_, alone.model.coef_)

    majority = pick(found, MAJORITY)
    assert majority.value == 0.5  # 36 of 80 do not tell which class is the more common one
    assert (majority.rule, majority.model) == ("constant", None)
    assert found.confidence == 0.95
    assert [one.method for one in found.alternatives if one.stands_alone] == [AGREEMENT, MAJORITY]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("marginal", MARGINALS)
def test_radii_are_those_of_a_bootstrap_at_their_level(study, fitted, found, X_new, rule, marginal):
    """Of the model's own rule, though it was fitted with a plain radius."""
    X, y = study.data, study.target
    one = pick(found, RADII, rule, marginal)
    covering = MinimaxRiskClassifier(
        radius="bootstrap", confidence=1.0 - 0.05 * SHARES[RADII], standardize=True
    ).fit(X, y)
    Phi = reference.phi_vectors(reference.scaled_columns(X), 2, "signed")
    masses = np.full(80, 1 / 80) if marginal == "empirical" else None
    loss = loss_of(fitted, X, rule)
    worst = reference.largest_loss(loss, Phi, covering.tau_[0], covering.lambda_[0], masses)
    shown = float(one.evidence.split()[0])
    assert shown == pytest.approx(worst, abs=2e-4)
    assert one.value > shown
    assert one.has_probability
    assert one.model is fitted
    assert one.n_train == 80
    assert one.exceedance.confidence == pytest.approx(1.0 - 0.05 * SHARES[EXCESS] / 4)
    assert one.confidence == found.confidence == 0.95


@pytest.mark.parametrize("marginal", MARGINALS)
def test_a_model_of_the_same_radii_has_the_bound_of_its_own_radii(study, X_new, marginal):
    X, y = study.data, study.target
    level, limit = 1.0 - 0.05 * SHARES[RADII], 1.0 - 0.05 * SHARES[EXCESS] / 4
    model = MinimaxRiskClassifier(radius="bootstrap", confidence=level, marginal=marginal).fit(X, y)
    found = error_bound(model, X, y, X_new=X_new, random_state=0)
    alone = by_radii(model, X_new, rule="predict", data=(X, y), confidence=limit)
    assert pick(found, RADII, "predict", marginal).value == pytest.approx(alone.value, abs=1e-12)
    randomized = pick(found, RADII, "randomized", marginal)
    assert float(randomized.evidence.split()[0]) == pytest.approx(model.worst_case_error_, abs=2e-4)


@pytest.mark.parametrize("marginal", MARGINALS)
@pytest.mark.parametrize("weights", [None, "counts"])
def test_cross_fitting_is_that_of_the_model_s_own_radii(study, marginal, weights):
    """Where the model has the factor that covers, and there is no intercept with limits of its own."""
    X, y = study.data, study.target
    sample_weight = None if weights is None else 1.0 + np.arange(80) % 2
    delta = 0.05 / (SHARES[RADII] + SHARES[EXCESS])
    options = {"fit_intercept": False, "marginal": marginal, "weight_kind": "counts"}
    model = MinimaxRiskClassifier(**options).fit(X, y, sample_weight=sample_weight)
    data = training_data_of(model, X, y, sample_weight)
    rule = MultiplierBootstrap(1.0 - delta * SHARES[RADII], model.n_bootstrap, model.radius_seed_)
    factor = pose_with(model, data, rule).radii.factor
    model = MinimaxRiskClassifier(radius=factor, **options).fit(X, y, sample_weight=sample_weight)
    found = error_bound(model, X, y, sample_weight=sample_weight, n_folds=2, random_state=0)
    alone = by_radii(
        model,
        rule="predict",
        data=(X, y, sample_weight),
        n_folds=2,
        confidence=1.0 - delta * SHARES[EXCESS] / 4,
    )
    assert pick(found, RADII, "predict", marginal).value == pytest.approx(alone.value, abs=1e-9)


def test_the_best_is_the_smallest_with_a_probability(found, crossed):
    for one in (found, crossed):
        kinds = [(not s.has_probability, s.stands_alone) for s in one.side_by_side]
        assert kinds == sorted(kinds)
        together = [s for s in one.side_by_side if s.has_probability and not s.stands_alone]
        assert one.value == float(one) == min(s.value for s in together)
        assert one.side_by_side[0] is one
        for kind in set(kinds):
            of_kind = zip(kinds, one.side_by_side, strict=True)
            values = [s.value for own, s in of_kind if own == kind]
            assert values == sorted(values)
    assert sum(s.has_probability for s in found.side_by_side) == 7
    # Models on parts of the data tell of such models, not of this one.
    assert {s.method for s in crossed.side_by_side if not s.has_probability} == {RADII}
    assert all(
        "models fitted on parts of the data" in s.reason
        for s in crossed.side_by_side
        if not s.has_probability
    )


def test_nothing_without_a_probability_is_called_the_best(study):
    """Noise: a bound by radii for comparison may be smaller, and stays behind."""
    X, y = study.data[:30], np.arange(30) % 2
    model = MinimaxRiskClassifier(radius="bootstrap").fit(X, y)
    found = error_bound(model, X, y, n_folds=2, random_state=3)
    smallest = min(found.side_by_side, key=lambda one: one.value)
    assert not smallest.has_probability
    assert found.has_probability
    assert found.value > smallest.value
    assert "Guessing one of 2 classes is as good as this bound." in found.statement


def test_in_words(found, crossed):
    assert found.method == HOLDOUT
    assert str(found).startswith(
        "With probability at least 0.95, the error of predict of the same method trained on 40 of the "
        f"samples is at most {at_most(found.value)} on samples of 0 and 1, as common as in these data "
        "(44 : 36): it erred on "
    )
    assert "That holds for every distribution if the samples are independent." in found.statement
    assert str(found).count("of this model: ") == 5
    for heading in (
        "Class by class, for the model of the hold-out",
        "each by itself:",
        "bounds on other errors:",
    ):
        assert heading in str(found)
    assert "judged by 200 new ones" in str(found)
    assert "To compare" not in str(found)
    assert str(crossed).count("judged by 80 left out in cross-fitting") == 4
    assert str(crossed).count("Why:") == 1


def test_broken_assumptions_leave_no_probability(study, X_new):
    X, y = np.exp(2.0 * (study.data - study.data.mean(axis=0))), study.target
    with pytest.warns(UninformativeRadiusWarning):
        model = MinimaxRiskClassifier().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is told in words
        new = np.exp(2.0 * (X_new - study.data.mean(axis=0)))
        found = error_bound(model, X, y, X_new=new, random_state=0)
    assert not any(one.has_probability for one in found.side_by_side if one.method == RADII)
    assert "the sample breaks what the radii assume: the features" in str(found)


def test_instances_of_the_fit_show_no_excess(study, fitted):
    found = error_bound(fitted, study.data, study.target, X_new=study.data, random_state=0)
    free = [one for one in found.side_by_side if one.marginal == "free"]
    assert len(free) == 2
    assert not any(one.has_probability for one in free)
    assert "the proof covers all of the 80 new instances" in free[0].reason


def test_class_weights_of_the_fit_do_not_weigh(study, X_new):
    """The rule is another one, and the error that of samples as they are."""
    rows = np.concatenate([np.flatnonzero(study.target == 0), np.flatnonzero(study.target == 1)[:12]])
    X, y = study.data[rows], study.target[rows]
    model = MinimaxRiskClassifier(class_weight="balanced").fit(X, y)
    found = error_bound(model, X, y, X_new=X_new, random_state=0)
    plain = MinimaxRiskClassifier(radius="bootstrap", confidence=1.0 - 0.05 * SHARES[RADII]).fit(X, y)
    Phi = reference.phi_vectors(reference.scaled_columns(X), 2, "signed")
    worst = reference.largest_loss(loss_of(model, X, "predict"), Phi, plain.tau_[0], plain.lambda_[0])
    one = pick(found, RADII, "predict", "free")
    assert float(one.evidence.split()[0]) == pytest.approx(worst, abs=2e-4)
    assert error_bound(model, X, y, n_folds=2, random_state=0).method == found.method


def test_counts_and_other_weights(study, X_new):
    X, y = study.data, study.target
    counts = 1.0 + np.arange(80) % 2
    model = MinimaxRiskClassifier(weight_kind="counts").fit(X, y, sample_weight=counts)
    found = error_bound(model, X, y, X_new=X_new, sample_weight=counts, random_state=0)
    assert list(found.left_out) == [HOLDOUT]
    assert "a row of its own" in found.left_out[HOLDOUT]
    sizes = np.bincount(y, counts)
    assert pick(found, MAJORITY).value == limit_of_rarer_classes(sizes.min(), 120, 0.05, 2)

    survey = np.linspace(0.5, 1.5, 80)
    model.set_params(weight_kind="auto").fit(X, y, sample_weight=survey)
    found = error_bound(model, X, y, X_new=X_new, sample_weight=survey, random_state=0)
    assert set(found.left_out) == {HOLDOUT, MAJORITY}
    assert found.method == RADII
    assert "as they are weighted" in found.statement
    nothing = error_bound(model, X, y, sample_weight=survey, n_folds=2, random_state=0)
    assert (nothing.method, nothing.value) == (NONE, 1.0)
    assert nothing.statement == "No bound with a probability can be given for these data."


def test_rows_of_weight_zero_and_equal_weights_are_no_weights(study, X_new):
    X, y = study.data, study.target
    weights = np.where(np.arange(80) < 60, 1.0, 0.0)
    part = MinimaxRiskClassifier().fit(X[:60], y[:60])
    alone = error_bound(part, X[:60], y[:60], X_new=X_new, random_state=0)
    model = MinimaxRiskClassifier().fit(X, y, sample_weight=weights)
    masked = error_bound(model, X, y, X_new=X_new, sample_weight=weights, random_state=0)
    assert [one.method for one in masked.side_by_side] == [one.method for one in alone.side_by_side]
    np.testing.assert_allclose(
        [one.value for one in masked.side_by_side], [one.value for one in alone.side_by_side], atol=1e-9
    )
    half = np.full(80, 0.5)
    model.fit(X, y, sample_weight=half)
    assert not error_bound(model, X, y, sample_weight=half, X_new=X_new, random_state=0).left_out


def test_radii_of_a_model_that_was_fitted_with_groups(study):
    """Every sample three times over, as a group, says what the samples say alone."""
    X, y = study.data[:40], study.target[:40]
    alone = MinimaxRiskClassifier(radius=1.0).fit(X, y)
    copies = [np.repeat(values, 3, axis=0) for values in (X, y, np.arange(40))]
    together = MinimaxRiskClassifier(radius=1.0).fit(*copies[:2], groups=copies[2])
    for more in ({"X_new": X[:20] + 0.1}, {"n_folds": 2}):
        apart = error_bound(alone, X, y, random_state=0, **more)
        found = error_bound(together, *copies[:2], groups=copies[2], random_state=0, **more)
        assert RADII not in found.left_out
        one, other = ([s.value for s in each.side_by_side if s.method == RADII] for each in (apart, found))
        assert other == pytest.approx(one, abs=1e-5)
    assert "takes the groups for independent" in pick(found, RADII, "predict", "free").assumption


def test_features_chosen_by_the_labels_leave_no_bound_by_radii():
    """On noise the best 8 of 3000 columns separate the classes; radii do not know that they were chosen."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 3000)), np.arange(60) % 2
    for chosen in (SelectKBest(k=8), make_pipeline(StandardScaler(), SelectKBest(k=8))):
        chosen.fit(X, y)
        model = MinimaxRiskClassifier(radius="bootstrap").fit(chosen.transform(X), y)
        assert model.worst_case_error_ < 0.45
        found = error_bound(model, X, y, transformer=chosen, random_state=0)
        assert "may have made them by looking at the labels" in found.left_out[RADII]
        assert RADII not in {one.method for one in (found, *found.alternatives)}
        assert found.value > 0.4  # the truth is 0.5
        with pytest.raises(ValueError, match="method='radii' cannot be used: bounds by radii take"):
            error_bound(model, X, y, transformer=chosen, method="radii")
    # What does not look at labels is no obstacle.
    plain = make_pipeline(StandardScaler(), VarianceThreshold()).fit(X[:, :8])
    model = MinimaxRiskClassifier(radius="bootstrap").fit(plain.transform(X[:, :8]), y)
    assert error_bound(model, X[:, :8], y, transformer=plain, method="radii").method == RADII


def test_a_transformer_is_fitted_anew_by_the_hold_out(study):
    X, y = study.data, study.target
    scaler = ClippedScaler().fit(X)
    model = MinimaxRiskClassifier(radius=1.0).fit(scaler.transform(X), y)
    found = error_bound(model, X, y, transformer=scaler, n_folds=None, random_state=0)
    learned = pick(found, HOLDOUT).model
    assert not np.array_equal(learned[0].centre_, scaler.centre_)
    bound = error_bound(
        make_pipeline(ClippedScaler(), MinimaxRiskClassifier(radius=1.0)),
        X,
        y,
        method="holdout",
        confidence=1.0 - 0.05 * SHARES[HOLDOUT] / (SHARES[HOLDOUT] + SHARES[MAJORITY]),
        random_state=np.random.RandomState(0),
    )
    assert pick(found, HOLDOUT).value == pytest.approx(bound.value, abs=1e-12)
    with_new = error_bound(model, X, y, transformer=scaler, X_new=X + 0.01, random_state=0)
    by_hand = error_bound(model, scaler.transform(X), y, X_new=scaler.transform(X + 0.01), random_state=0)
    of_radii = [[s.value for s in each.side_by_side if s.method == RADII] for each in (with_new, by_hand)]
    assert of_radii[0] == of_radii[1]


def test_groups(study, fitted):
    X, y = study.data, study.target
    groups = np.arange(80) // 4
    found = error_bound(fitted, X, y, groups=groups, random_state=0)
    assert list(found.left_out) == [RADII]
    assert "fitted without these groups" in found.left_out[RADII]
    level = 1.0 - 0.05 * SHARES[HOLDOUT] / (SHARES[HOLDOUT] + SHARES[MAJORITY])
    alone = error_bound(
        MinimaxRiskClassifier(),
        X,
        y,
        method="holdout",
        groups=groups,
        confidence=level,
        random_state=np.random.RandomState(0),
    )
    assert pick(found, HOLDOUT).value == pytest.approx(alone.value, abs=1e-12)
    assert "of 10 groups held out" in pick(found, HOLDOUT).evidence
    assert "of 20 samples, one of each group, are of another one" in pick(found, MAJORITY).evidence
    assert "drawn from a new group" in found.statement


def test_no_folds_and_no_new_instances_leave_the_radii_out(study, fitted, crossed):
    found = error_bound(fitted, study.data, study.target, n_folds=None, random_state=0)
    assert "there are no new instances, and no folds" in found.left_out[RADII]
    assert found.side_by_side == tuple(one for one in crossed.side_by_side if one.method != RADII)


def test_what_the_data_do_not_allow_is_left_out(study):
    rows = np.concatenate([np.flatnonzero(study.target == 0), np.flatnonzero(study.target == 1)[:1]])
    X, y = study.data[rows], study.target[rows]
    model = MinimaxRiskClassifier().fit(X, y)
    seed = next(
        seed
        for seed in range(100)
        if len(rows) - 1 in np.random.RandomState(seed).permutation(len(rows))[: round(len(rows) / 2)]
    )
    found = error_bound(model, X, y, random_state=seed)
    assert "the part to fit on holds samples of class 0 alone" in found.left_out[HOLDOUT]
    assert "cross-fitting needs at least 2 samples of every class, got 1 of 1" in found.left_out[RADII]
    assert found.method == MAJORITY
    assert "Left out:\n  holdout: the part to fit on" in str(found)


def test_labels_of_any_kind_and_containers(study, X_new):
    X, y = study.data, np.array(["ill", "well"])[study.target]
    model = MinimaxRiskClassifier().fit(X, y)
    dense = error_bound(model, X, y, X_new=X_new, random_state=0)
    assert dense.n_classes == 2
    named = max(("ill", "well"), key=lambda label: (y == label).sum())
    assert f"always naming the most common class (here {named!r})" in str(dense)
    as_sparse = error_bound(model, sparse.coo_array(X), y, X_new=sparse.csr_array(X_new), random_state=0)
    np.testing.assert_allclose(
        [one.value for one in as_sparse.side_by_side], [one.value for one in dense.side_by_side], atol=1e-4
    )


def test_unlabelled_instances_and_draws(study, X_new):
    X, y = study.data, study.target
    model = MinimaxRiskClassifier(deterministic=False, random_state=0).fit(X, y, X_unlabeled=X_new[:20])
    found = error_bound(model, X, y, X_unlabeled=X_new[:20], X_new=X_new[20:], random_state=0)
    assert pick(found, HOLDOUT).rule == "randomized"
    with pytest.raises(ValueError, match="with sample_weight, X_unlabeled and groups if fit was given them"):
        error_bound(model, X, y)


def test_a_posed_fit_serves_all_questions(study, fitted, found, X_new, monkeypatch):
    """The data are checked, the problem posed and the certificate computed once."""
    X, y = study.data, study.target
    posed = PosedFit(fitted, X, y)
    calls = []
    original = pose.features_of
    monkeypatch.setattr(
        pose, "features_of", lambda X, *some, **more: (calls.append(X), original(X, *some, **more))[1]
    )
    certificate, worst = verify(posed), worst_case(posed)
    bound = error_bound(posed, method="radii", X_new=X_new)
    assert len(calls) == 1
    assert certificate.valid
    assert verify(posed) is certificate is posed.certificate
    assert worst == worst_case(fitted, X, y)
    assert bound == by_radii(fitted, X_new, rule="predict", data=(X, y))
    assert error_bound(posed, X_new=X_new, random_state=0).side_by_side == found.side_by_side
    alone = error_bound(posed, method="holdout", random_state=0)
    assert alone == error_bound(fitted, X, y, method="holdout", random_state=0)
    with pytest.raises(ValueError, match="a PosedFit holds its data already; leave out X, y"):
        verify(posed, X, y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1, got 1.0"),
        ({"confidence": "0.9"}, "confidence must lie strictly between 0 and 1, got '0.9'"),
        ({"n_folds": 1}, "n_folds must be an integer of at least 2 or None, got 1"),
        ({"test_size": 1.5}, "test_size must be a fraction"),
        ({"test_size": 80}, "holds out 80 of 80 samples"),
        ({"groups": np.zeros(10)}, r"one entry for each of the 80 samples, got shape \(10,\)"),
        ({"groups": np.zeros(80)}, "holds out 0 of 1 groups"),
        ({"groups": [None] * 80}, "groups has no entry at position 0"),
        ({"X_new": np.zeros((1, 40))}, "X_new must hold at least 2 instances, got 1"),
        ({"X_new": np.zeros((5, 3))}, "X has 3 features"),
        ({"y": np.arange(80) % 2}, "X and y must be the data that the model was fitted on"),
        ({"y": np.arange(80) % 3}, "the labels are"),
        ({"sample_weight": 1.0 + np.arange(80) % 2}, "X and y must be the data"),
        ({"model": MinimaxRiskClassifier(), "X_new": np.zeros((5, 40)), "method": "agreement"}, "not fitted"),
        ({"model": LinearRegression()}, "model must be a classifier"),
        ({"method": "agreement"}, "method='agreement' needs new instances, without labels: pass X_new"),
        ({"rule": "predict"}, "rule must be None with method='best'"),
        ({"y": None}, "X and y must be passed"),
    ],
)
def test_bad_input(study, fitted, arguments, message):
    with pytest.raises(ValueError, match=message):
        error_bound(arguments.pop("model", fitted), study.data, arguments.pop("y", study.target), **arguments)


@pytest.mark.parametrize("by_radii", [True, False])
def test_the_smallest_holds_as_often_as_it_says(by_radii):
    """Labels are a fair coin, so that every rule errs half of the time and bounds below that are wrong."""
    rng, delta, n_studies = np.random.default_rng(0), 0.2, 20 if by_radii else 40
    n_wrong = 0
    for seed in range(n_studies):
        X, y = rng.standard_normal((24, 10)), rng.integers(0, 2, 24)
        model = MinimaxRiskClassifier(n_bootstrap=50).fit(X, y)
        others = {"X_new": rng.standard_normal((30, 10))} if by_radii else {"n_folds": None}
        found = error_bound(model, X, y, confidence=1.0 - delta, random_state=seed, **others)
        n_wrong += found.value < 0.5
    assert n_wrong <= stats.binom.ppf(0.999, n_studies, delta)


def test_bounds_that_cannot_be_the_smallest_are_left_out_if_wanted(study):
    """What is left out is no smaller than what is told, and the rest stays as it is."""
    model = MinimaxRiskClassifier().fit(study.data, study.target)
    everything = error_bound(model, study.data, study.target, n_folds=2, random_state=0)
    quick = error_bound(model, study.data, study.target, n_folds=2, only_if_smaller=True, random_state=0)
    by_radii = [one.value for one in everything.side_by_side if one.method == RADII]
    assert by_radii
    told = float(re.search(r"the worst case of every rule is ([\d.]+) or more", quick.left_out[RADII])[1])
    assert quick.value <= told <= min(by_radii) + 1e-4
    assert quick.value == everything.value
    assert [one for one in everything.side_by_side if one.method != RADII] == list(quick.side_by_side)
