"""Many small problems together: the same answers as one by one, and the same bits in any company."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier, permutation_test
from minimaxrisk._utils.parallel import parallel_map_in_batches
from minimaxrisk._utils.positive_definite import FactorisationError
from minimaxrisk.engines import solution
from minimaxrisk.engines.interior_point import batch, sides, step
from minimaxrisk.engines.interior_point.batch import can_share, solve_together
from minimaxrisk.engines.interior_point.engine import interior_point
from minimaxrisk.engines.solution import EngineSettings, StoppingRule
from minimaxrisk.problem.pose import pose, pose_parts
from minimaxrisk.problem.problem import upper_bound
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.rules import Multiple, MultiplierBootstrap
from problems import bounds_of, coefficients_of
from reference import minimax_risk, phi_vectors, random_problem, scaled_columns, tau_and_lambda

SETTINGS = EngineSettings("auto")
CHOICES = {"coding": "auto", "standardize": True, "fit_intercept": True}
PLAIN = {"standardize": False, "fit_intercept": False}


def data_of(rng, n, d, n_classes=2, **more):
    X, labels = random_problem(rng, n, d, n_classes)
    return TrainingData(X, np.arange(n_classes), labels, np.ones(n), **more)


def permuted(data, rng, n_times):
    return [replace(data, labels=rng.permutation(data.labels)) for _ in range(n_times)]


def problems_of(rng, n, d, n_problems, rule=None, n_classes=2, **choices):
    data, rule = data_of(rng, n, d, n_classes), rule or Multiple(1.0)
    posed = pose(data, rule=rule, **(CHOICES | choices))
    return [each.problem for each in posed.relabelled(permuted(data, rng, n_problems), rule)]


def assert_within(problems, found, gap_tol):
    for problem, mu in zip(problems, found, strict=True):
        exact = interior_point(problem, SETTINGS)
        above = upper_bound(problem, problem.objective, mu) - exact.upper
        assert -1e-9 <= above <= gap_tol + 1e-9


# The loop.


@pytest.mark.parametrize("gap_tol", [1e-3, 1e-6])
@pytest.mark.parametrize(("n", "d"), [(20, 150), (30, 12), (9, 1)])
@pytest.mark.parametrize(
    ("n_classes", "choices"), [(2, {}), (2, PLAIN), (2, {"coding": "one-hot"}), (5, {}), (3, PLAIN)]
)
def test_each_is_as_near_as_asked_for(n, d, gap_tol, n_classes, choices):
    problems = problems_of(np.random.default_rng(n), n, d, 5, n_classes=n_classes, **choices)
    assert all(can_share(problem, SETTINGS) for problem in problems)
    found = solve_together(problems, StoppingRule(gap_tol))
    assert all(each.bounds.upper - each.bounds.lower <= gap_tol + 1e-12 for each in found)
    assert_within(problems, [each.stage.expand(*problems[0].shape) for each in found], gap_tol)


@pytest.mark.parametrize("radius", [0.2, 1.0, 50.0])
@pytest.mark.parametrize(("n_classes", "coding", "gap"), [(2, "signed", 1e-8), (3, "one-hot", 1e-6)])
def test_bounds_are_those_of_the_full_program(radius, n_classes, coding, gap):
    rng = np.random.default_rng(3)
    data = data_of(rng, 14, 25, n_classes)
    rule = Multiple(radius)
    others = permuted(data, rng, 4)
    posed = pose(data, rule=rule, **CHOICES).relabelled(others, rule)
    problems = [each.problem for each in posed]
    found = [each.bounds for each in solve_together(problems, StoppingRule(gap))]
    assert found == bounds_of(problems, SETTINGS, StoppingRule(gap))
    for other, bounds in zip(others, found, strict=True):
        Phi = phi_vectors(scaled_columns(other.X), n_classes, coding)
        exact, _ = minimax_risk(Phi, *tau_and_lambda(Phi, other.labels, radius))
        assert bounds.lower - 1e-9 <= exact <= bounds.upper + 1e-9 <= exact + 2.0 * gap


@pytest.mark.parametrize("n_classes", [2, 3])
def test_same_bits_in_any_company(n_classes):
    """Of permuted labels and of parts, which are read from the whole."""
    rng = np.random.default_rng(1)
    data = data_of(rng, 30, 400, n_classes)
    whole = pose(data, rule=Multiple(1.0), **CHOICES)
    chosen = [np.sort(rng.permutation(30)[:24]) for _ in range(13)]
    chosen = [rows for rows in chosen if len(np.unique(data.labels[rows])) == n_classes]

    def of_parts(some):
        posed = pose_parts(whole, MinimaxRiskClassifier(), data, some, Multiple(1.0))
        return coefficients_of([each.problem for each in posed], SETTINGS)

    relabelled = permuted(data, rng, 13)

    def of_labels(some):
        posed = whole.relabelled(some, Multiple(1.0))
        return coefficients_of([each.problem for each in posed], SETTINGS)

    for function, items in ((of_parts, chosen), (of_labels, relabelled)):
        together = function(items)
        assert np.array_equal(together, function(items[::-1])[::-1])
        assert np.array_equal(together[3:10], function(items[3:10]))
        assert np.array_equal(together[5:6], function(items[5:6]))


@pytest.mark.parametrize("marginal", ["free", "empirical"])
def test_noise_of_unequal_classes_is_bounded_by_the_most_common_one(marginal):
    """Always naming it is a rule, of whose error the bound is known."""
    X, labels = np.random.default_rng(1).standard_normal((60, 20)), np.repeat([0, 1, 2], [45, 9, 6])
    model = MinimaxRiskClassifier(radius=3.0, marginal=marginal)
    found = permutation_test(model, X, labels, 19, random_state=0)
    share = 45 / 60
    nothing_learned = 1.0 - share + 3.0 * np.sqrt(share * (1.0 - share) / 60)
    np.testing.assert_allclose([found.statistic, *found.null_distribution], nothing_learned, atol=1e-12)
    assert found.pvalue == 1.0


@pytest.mark.parametrize("kind", ["thin", "sparse", "close", "known"])
def test_problems_of_all_kinds_are_bounded(kind):
    """Those that cannot share a loop are solved alone."""
    rng = np.random.default_rng(5)
    data, settings, choices = data_of(rng, 20, 30), SETTINGS, CHOICES
    if kind == "thin":  # a column that is the label: no standard deviation, so no radius
        data.labels[:] = np.arange(20) % 2
        data.X[:, 0] = data.labels
    elif kind == "sparse":
        data = replace(data, X=sparse.csr_array(np.where(np.abs(data.X) > 1.0, data.X, 0.0)))
    elif kind == "close":
        choices, settings = choices | {"coding": "one-hot"}, EngineSettings("auto", gap_tol=1e-7)
    else:
        choices = choices | {"marginal_is_known": True}
    problem = pose(data, rule=Multiple(1.0), **choices).problem
    assert not can_share(problem, settings)
    (bounds,) = bounds_of([problem], settings, StoppingRule(1e-6))
    exact = interior_point(problem, SETTINGS)
    wider = 1e-4 if kind == "thin" else 0.0  # radii of zero are widened
    assert exact.lower - 1e-9 <= bounds.upper <= exact.upper + 2e-6 + wider
    assert exact.lower - 2e-6 <= bounds.lower <= exact.upper + 1e-9 + wider
    (mu,) = coefficients_of([problem], settings)
    assert upper_bound(problem, problem.objective, mu) <= exact.upper + 1e-4


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("is_factor", [True, False])
def test_a_fault_in_one_problem_leaves_all_answers(is_factor, n_classes, monkeypatch):
    """Factors that cannot be computed, and steps so short that the loop gets stuck."""
    problems = problems_of(np.random.default_rng(7), 20, 150, 6, n_classes=n_classes)
    if is_factor:
        plain, coin = sides.cholesky, np.random.default_rng(0)

        def sometimes(matrix):
            if coin.random() < 0.1:
                raise FactorisationError
            return plain(matrix)

        monkeypatch.setattr(sides, "cholesky", sometimes)
    else:
        monkeypatch.setattr(solution, "PATIENCE", 1)
        monkeypatch.setattr(step, "FRACTION_TO_BOUNDARY", 0.05)
    together = solve_together(problems, StoppingRule(SETTINGS.gap_tol))
    assert any(each is None for each in together)
    found = coefficients_of(problems, SETTINGS)
    monkeypatch.undo()
    assert_within(problems, found, SETTINGS.gap_tol)


def test_an_interrupt_is_passed_on(monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(batch, "step", interrupt)
    data = data_of(np.random.default_rng(0), 20, 50)
    with pytest.raises(KeyboardInterrupt):
        permutation_test(MinimaxRiskClassifier(), data.X, data.labels, 5)
    with pytest.raises(KeyboardInterrupt):
        MinimaxRiskEnsembleClassifier(n_estimators=3).fit(data.X, data.labels)


# Posing.


def assert_same_problem(found, expected, tolerance=1e-12):
    for name in ("tau", "lam", "centre"):
        np.testing.assert_allclose(
            getattr(found.problem, name), getattr(expected.problem, name), rtol=tolerance, atol=tolerance
        )
    np.testing.assert_array_equal(found.instances.p_hat, expected.instances.p_hat)
    assert found.problem.coding.name == expected.problem.coding.name
    assert found.problem.marginal.is_known == expected.problem.marginal.is_known
    assert found.problem.scale.has_intercept == expected.problem.scale.has_intercept
    assert found.radii.factor == pytest.approx(expected.radii.factor, rel=1e-10)
    every = np.arange(expected.problem.features.shape[1])
    np.testing.assert_allclose(
        found.problem.features.columns(every), expected.problem.features.columns(every), atol=1e-11
    )
    for name in ("shift", "scale"):
        given, wanted = getattr(found.problem.scale, name), getattr(expected.problem.scale, name)
        np.testing.assert_allclose(given, wanted, rtol=1e-11, atol=1e-11)


RULES = {
    "number": Multiple(1.5),
    "moderated": Multiple(1.5, moderation=2.0),
    "bootstrap": MultiplierBootstrap(0.95, 200, 0),
}
KINDS = [
    "plain",
    "weights",
    "importance",
    "repeated",
    "label",
    "groups",
    "classes",
    "sparse",
    "implicit",
    "array-api",
]


def awkward_data(kind, rng):
    data = data_of(rng, 32, 40, 3 if kind == "classes" else 2)
    if kind in ("weights", "importance"):
        data = replace(data, weights=rng.integers(1, 4, 32) * 1.0)
    if kind == "importance":
        data = replace(data, counts=np.ones(32))
    if kind == "repeated":
        data.X[3:6] = data.X[0]
    if kind == "label":  # nearly, and with a mean far from zero
        data.labels[:] = np.arange(32) % 2
        data.X[:, 0] = data.labels + 1e-6 * rng.standard_normal(32)
        data.X[:, 1] = 1e6 + data.X[:, 1]
        data.X[:, 2] = 3.0
    if kind == "groups":
        groups = np.arange(32) // 2
        data = replace(data, groups=groups, labels=groups % 2)
    if kind == "sparse":
        data = replace(data, X=sparse.csr_array(np.where(np.abs(data.X) > 1.0, data.X, 0.0)))
    return data


@pytest.fixture
def elsewhere(request):
    """Data of the kind "array-api" as arrays of another library."""

    def moved(kind, data):
        if kind != "array-api":
            return data
        return replace(data, X=request.getfixturevalue("array_api").asarray(data.X))

    return moved


WITH_RULES = [*((kind, "number") for kind in KINDS), ("plain", "bootstrap"), ("importance", "bootstrap")]


@pytest.mark.parametrize(("kind", "rule"), WITH_RULES)
@pytest.mark.parametrize("choices", [{}, {"coding": "one-hot", "marginal_is_known": True}])
def test_other_labels_are_posed_as_from_the_start(kind, rule, choices, elsewhere):
    rng, choices = np.random.default_rng(2), CHOICES | choices | {"copy": kind != "implicit"}
    data = elsewhere(kind, awkward_data(kind, rng))
    others = permuted(data, rng, 3)
    if kind == "groups":
        others = [replace(data, labels=rng.permutation(np.arange(16) % 2)[data.groups]) for _ in range(3)]
    found = pose(data, rule=RULES[rule], **choices).relabelled([data, *others], RULES[rule])
    for other, posed in zip([data, *others], found, strict=True):
        assert_same_problem(posed, pose(other, rule=RULES[rule], **choices))


@pytest.mark.parametrize(("kind", "rule"), [*WITH_RULES, ("constant", "number"), ("outlier", "number")])
@pytest.mark.parametrize("choices", [{}, PLAIN, {"coding": "one-hot", "marginal_is_known": True}])
def test_parts_are_posed_as_from_the_start(kind, rule, choices, elsewhere):
    rng, choices = np.random.default_rng(4), CHOICES | choices | {"copy": kind != "implicit"}
    data = awkward_data(kind, rng)
    if kind == "constant":  # on the parts that leave out the first row
        data.X[1:, :3] = 5.0 if choices["standardize"] else 0.0
    if kind == "outlier":  # beside which the others have no digits left
        data.X[0, 0] = 1e20
    data = elsewhere(kind, data)
    chosen = [np.setdiff1d(np.arange(32), [2 * i, 2 * i + 1]) for i in range(4)]
    whole = pose(data, rule=Multiple(1.0), **choices)
    is_known = choices.get("marginal_is_known", False)
    parameters = SimpleNamespace(**choices, marginal="empirical" if is_known else "free")
    found = pose_parts(whole, parameters, data, chosen, RULES[rule])
    for rows, posed in zip(chosen, found, strict=True):
        assert_same_problem(posed, pose(data.part(rows), rule=RULES[rule], **choices))


# What callers see.


@pytest.mark.parametrize("n_classes", [2, 3])
def test_batches_do_not_show(n_classes, monkeypatch):
    """Neither their size nor the number of processes changes a bit."""
    data = data_of(np.random.default_rng(9), 25, 80, n_classes)
    data.X[3] = data.X[2]  # parts have different numbers of instances

    def everything():
        test = permutation_test(MinimaxRiskClassifier(), data.X, data.labels, 20, random_state=0)
        model = MinimaxRiskEnsembleClassifier(n_estimators=20, subsample=0.6, random_state=0)
        model.fit(data.X, data.labels)
        return [test.null_distribution, *(member.full_coef for member in model.members_)]

    usual = everything()
    monkeypatch.setattr(batch, "LARGEST_BATCH", 8)
    for one, other in zip(usual, everything(), strict=True):
        assert np.array_equal(one, other)


def doubled(items):
    return [2 * item for item in items]


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_maps_in_batches_keep_their_order(size):
    done = []
    assert parallel_map_in_batches(doubled, range(20), size=size, progress=done.append) == list(
        range(0, 40, 2)
    )
    assert sum(done) == 20
    assert max(done) <= size
    assert parallel_map_in_batches(doubled, [], size=size) == []
