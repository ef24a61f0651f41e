"""The largest expected loss by the interior point, against the full program."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from minimaxrisk.engines import solution
from minimaxrisk.engines.interior_point import engine, expected_loss
from minimaxrisk.engines.interior_point.expected_loss import largest_loss
from minimaxrisk.engines.paper import full_lp
from minimaxrisk.guarantees.worst_case import largest_expected_loss
from minimaxrisk.problem.objective import ExpectedLoss
from problems import problem_of


def by_full_program(problem, loss):
    """max sum loss w over the set, by SciPy."""
    columns = problem.features.columns(np.arange(problem.features.shape[1])).T
    rows = np.kron(problem.coding.matrix, columns)
    Phi = rows.reshape(len(rows), *loss.shape).T
    return reference.largest_loss(loss.T, Phi, problem.tau.ravel(), problem.lam.ravel())


def some_problem(rng, n, d, n_classes, radius, coding="auto", **options):
    values, labels = reference.random_problem(rng, n, d, n_classes)
    return problem_of(values, labels, n_classes, coding=coding, radius=radius, **options)[0]


@pytest.mark.parametrize("radius", [0.5, 2.0])
@pytest.mark.parametrize(("n", "d"), [(12, 40), (40, 6)])
@pytest.mark.parametrize(("n_classes", "coding"), [(2, "signed"), (2, "one-hot"), (3, "one-hot")])
def test_both_bounds_are_those_of_the_full_program(n, d, n_classes, coding, radius):
    rng = np.random.default_rng(n)
    problem = some_problem(rng, n, d, n_classes, radius, coding)
    decided = np.eye(n_classes)[rng.integers(0, 2, n)].T
    for loss in (rng.random((n_classes, n)), -rng.random((n_classes, n)), decided):
        found = largest_loss(problem, ExpectedLoss(loss))
        exact = by_full_program(problem, loss)
        assert found is not None
        assert found.lower - 1e-9 <= exact <= found.upper + 1e-9
        assert found.upper - found.lower <= 1e-7


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("n_classes", "coding"), [(2, "signed"), (3, "one-hot")])
def test_the_proof_is_hardly_larger_than_that_of_a_vertex(n_classes, coding, seed):
    rng = np.random.default_rng(seed)
    problem = some_problem(rng, 25, 60, n_classes, rng.choice([0.3, 1.0, 3.0]), coding)
    objective = ExpectedLoss(rng.random((n_classes, problem.n_instances)))
    found = largest_loss(problem, objective)
    at_vertex = full_lp(problem, objective)
    assert found.lower - 1e-9 <= at_vertex.upper <= found.upper + 1e-9
    assert found.gap <= 1e-7
    assert found.converged
    assert len(found.stage.components) <= len(at_vertex.stage.components) + 5


@pytest.mark.parametrize("reason", ["known", "thin", "large", "stuck", "no number"])
def test_elsewhere_constraint_generation_does_it(reason, monkeypatch):
    rng, coding, options = np.random.default_rng(2), "one-hot", {}
    if reason == "known":
        options = {"marginal_is_known": True}
    elif reason == "large":
        monkeypatch.setattr(expected_loss, "MOST_INSTANCES_ONE_HOT", 10)
    elif reason == "stuck":
        monkeypatch.setattr(solution, "PATIENCE", 0)
    elif reason == "no number":

        def fail(point):
            point.failed[:] = True

        monkeypatch.setattr(engine, "step", fail)

    problem = some_problem(rng, 15, 20, 3, 1e-6 if reason == "thin" else 1.0, coding, **options)
    loss = rng.random((3, problem.n_instances))
    objective = ExpectedLoss(loss, problem.marginal)
    assert largest_loss(problem, objective) is None
    found = largest_expected_loss(problem, loss, np.arange(5))
    assert found.lower <= found.upper <= found.lower + 1e-6
    if reason != "known":
        assert found.upper == pytest.approx(by_full_program(problem, loss), abs=1e-6)


def test_constraint_generation_alone_leaves_no_violation_that_counts(monkeypatch):
    """A distribution that violates narrow radii is far from the set: the gap would be 1e-4."""
    monkeypatch.setattr(expected_loss, "MOST_INSTANCES_ONE_HOT", 10)
    rng = np.random.default_rng(1)
    problem = some_problem(rng, 60, 150, 3, 0.05, "one-hot")
    found = largest_expected_loss(problem, rng.random((3, problem.n_instances)) ** 4, np.arange(5))
    assert found.upper - found.lower <= 1e-9
