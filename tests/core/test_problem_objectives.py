"""What the adversary maximises: values, conjugates, smoothed answers and repairs, each by its definition."""

from __future__ import annotations

import numpy as np
import pytest

from minimaxrisk.problem import rule
from minimaxrisk.problem.objective import FREE, BayesError, ExpectedLoss, KnownMarginal

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
        assert gain(objective.respond(scores, 1e-4)) == pytest.approx(conjugate, abs=1e-3)
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


@pytest.mark.parametrize("marginal", MARGINALS)
def test_smoothed_masses_are_shared_by_the_labels_that_attain_the_threshold(marginal):
    """phi_i: 2 of the first label, 0.75 of two, 0.1 of all three, and a tie, where the fewest share."""
    scores = np.array([[3.0, 1.5, 0.5, 1.0], [1.0, 1.0, 0.4, 0.0], [0.0, 0.0, 0.4, 0.0]])
    phi = np.array([2.0, 0.75, 0.1, 0.0])
    soft = np.exp(phi / 0.5)
    masses = MASSES if marginal.is_known else soft / soft.sum()
    share = np.array([[1.0, 1 / 2, 1 / 3, 1.0], [0.0, 1 / 2, 1 / 3, 0.0], [0.0, 0.0, 1 / 3, 0.0]])
    np.testing.assert_allclose(BayesError(marginal).respond(scores, 0.5), share * masses, rtol=1e-12)


def test_gains_beyond_what_an_exponential_can_hold():
    np.testing.assert_allclose(FREE.soft_masses(np.array([9e3, 9e3, 0.0]), 1.0), [0.5, 0.5, 0.0])


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
