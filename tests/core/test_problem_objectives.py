"""What the adversary maximises: values, conjugates, smoothed answers and repairs, each by its definition."""

from __future__ import annotations

import numpy as np
import pytest

from minimaxrisk.problem import rule
from minimaxrisk.problem.objective import FREE, BayesError, ExpectedLoss, KnownMarginal
from minimaxrisk.problem.rule import best_sets

MASSES = np.array([0.1, 0.2, 0.3, 0.4])
MARGINALS = [FREE, KnownMarginal(MASSES)]


def some_distribution(rng, marginal, n_classes):
    """With the masses that the marginal asks for."""
    labels = rng.dirichlet(np.full(n_classes, 0.5), len(MASSES)).T
    return labels * (marginal.masses if marginal.is_known else rng.dirichlet(np.ones(len(MASSES))))


@pytest.mark.parametrize("marginal", MARGINALS)
@pytest.mark.parametrize("kind", ["error", "loss"])
def test_the_conjugate_is_the_largest_of_value_and_scores(marginal, kind):
    rng = np.random.default_rng(0)
    scores, loss = rng.standard_normal((2, 3, 4))
    objective = BayesError(marginal) if kind == "error" else ExpectedLoss(loss, marginal)

    def gain(w):
        return objective.value(w) + float((w * scores).sum())

    conjugate = objective.conjugate(scores)
    assert max(gain(some_distribution(rng, marginal, 3)) for _ in range(50)) <= conjugate
    if kind == "error":
        phi, is_in = best_sets(scores)
        best = is_in / is_in.sum(axis=0) * (MASSES if marginal.is_known else phi == phi.max())
    else:
        best = np.zeros((3, 4))
        best[(loss + scores).argmax(axis=0), np.arange(4)] = (
            MASSES if marginal.is_known else (loss + scores).max(axis=0) == (loss + scores).max()
        )
    assert gain(best) == pytest.approx(conjugate, abs=1e-12)


def test_the_error_of_a_distribution_is_what_the_best_rule_leaves():
    w = np.array([[0.3, 0.0, 0.1], [0.1, 0.2, 0.1], [0.0, 0.1, 0.1]])
    assert BayesError().value(w) == pytest.approx(1.0 - (0.3 + 0.2 + 0.1))
    assert ExpectedLoss(np.arange(9.0).reshape(3, 3)).value(w) == pytest.approx(
        0.2 + 0.3 + 0.8 + 0.5 + 0.7 + 0.8
    )


def test_repaired_distributions():
    """No mass is below zero; what is missing carries all labels alike, and what is too much shrinks."""
    centre = np.array([[0.2, 0.0, 0.0], [0.0, 0.3, 0.5]])
    w = np.array([[0.4, -0.1, 0.0], [0.1, 0.0, 0.1]])
    for objective in (BayesError(), ExpectedLoss(np.ones((2, 3)))):
        np.testing.assert_allclose(
            objective.repaired(w, centre), [[0.44, 0.06, 0.1], [0.14, 0.06, 0.2]], atol=1e-15
        )
        np.testing.assert_allclose(
            objective.repaired(3.0 * w, centre), [[2 / 3, 0.0, 0.0], [1 / 6, 0.0, 1 / 6]], atol=1e-15
        )
    known = KnownMarginal(np.array([0.25, 0.25, 0.5]))
    for objective in (BayesError(known), ExpectedLoss(np.ones((2, 3)), known)):
        np.testing.assert_allclose(
            objective.repaired(w, centre), [[0.2, 0.125, 0.2], [0.05, 0.125, 0.3]], atol=1e-15
        )
    assert w[0, 1] == -0.1  # what was given stays


def test_excess_over_the_threshold():
    scores = np.array([[0.5, -1.0], [0.25, 2.0], [-3.0, 0.5]])
    np.testing.assert_allclose(rule.total_excess(scores, 0.25), [0.25, 2.0])
