"""Algorithms 1 and 2 as printed in the paper: the library against a naive implementation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import reference
from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.solvers import ConstraintGeneration

# SELECT as printed asks for v_i = 0; what a solver returns is this far away at most.
ROUNDING = 1e-8


def lp_solve(F, b, tau, lam, subset):
    """LPSOLVE: the optimal value R and the dual solution alpha of the program of a subset."""
    F, tau, lam = F[:, subset], tau[subset], lam[subset]
    found = linprog(
        np.concatenate([-(tau - lam), tau + lam, [1.0]]),
        A_ub=np.hstack([F, -F, -np.ones((len(F), 1))]),
        b_ub=b,
        bounds=[(0, None)] * (2 * len(subset)) + [(None, None)],
        options=reference.EXACT,
    )
    assert found.status == 0, found.message
    return found.fun, -found.ineqlin.marginals


def select(F, tau, lam, n_max, subset, epsilon, alpha):
    """Algorithm 2, line by line."""
    v = np.abs(F.T @ alpha - tau) - lam
    J = {i for i in subset if abs(v[i]) <= ROUNDING}
    A = np.argsort(-v)[:n_max]
    return sorted(J | {i for i in A if v[i] > epsilon})


def algorithm_1(F, b, tau, lam, initial, *, n_max, epsilon, k_max):
    """Algorithm 1, line by line: R^1, R^2, ... and the sizes of the subsets."""
    subset = sorted(initial)
    R, alpha = lp_solve(F, b, tau, lam, subset)
    path = [(R, len(subset))]
    J = select(F, tau, lam, n_max, subset, epsilon, alpha)
    k = 1
    while set(J) - set(subset) and k <= k_max:
        k += 1
        R, alpha = lp_solve(F, b, tau, lam, J)
        path.append((R, len(J)))
        subset = J
        J = select(F, tau, lam, n_max, subset, epsilon, alpha)
    risks, sizes = zip(*path, strict=True)
    return list(risks), list(sizes)


def informative(seed, n_classes):
    """Every column says something, so that R^1 is far from guessing.

    Close to it the programs have many dual solutions, and SELECT depends on the one that a solver returns.
    """
    labels = np.arange(15) % n_classes
    means = 2.0 * (np.arange(60) % n_classes == labels[:, None])
    return np.random.default_rng(seed).standard_normal((15, 60)) + means, labels


@pytest.mark.parametrize(
    ("n_classes", "coding", "fit_intercept"),
    [(2, "signed", True), (3, "one-hot", True), (2, "one-hot", False), (3, "one-hot", False)],
)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("start", ["columns", "correlation"])
@pytest.mark.parametrize("k_max", [3, 50])
@pytest.mark.filterwarnings("ignore:stopped at k_max", "ignore:with 60 features")
def test_every_iteration_is_that_of_the_printed_algorithm(
    n_classes, coding, fit_intercept, seed, start, k_max
):
    """With the library's own coding and intercept, and with those of the text."""
    X, labels = informative(seed, n_classes)
    Psi = reference.scaled_columns(X, fit_intercept=fit_intercept)
    Phi = reference.phi_vectors(Psi, n_classes, coding)
    tau, lam = reference.tau_and_lambda(Phi, labels, 1.0)
    options = {"n_max": 5 if start == "columns" else 30, "epsilon": 1e-4, "k_max": k_max}
    if start == "columns":
        start = np.arange(12)
        # Every class has components of its own, after one for the column of ones if there is one.
        initial = [block + fit_intercept + j for block in range(0, len(tau), Psi.shape[1]) for j in start]
    else:
        uniform = Phi.mean(axis=(0, 1))  # what a distribution that knows nothing has as feature means
        initial = np.argsort(-(np.abs(tau - uniform) - lam))[: options["n_max"]]
    risks, sizes = algorithm_1(*reference.subset_rows(Phi), tau, lam, initial, **options)
    printed = ConstraintGeneration(initial_features=start, select="as-printed", **options)
    options = {"coding": coding, "fit_intercept": fit_intercept, "moderation": 0.0}
    model = MinimaxRiskClassifier(solver=printed, **options).fit(X, labels)
    assert model.subset_sizes_.tolist() == sizes
    np.testing.assert_allclose(model.worst_case_errors_, risks, rtol=0.0, atol=1e-8)
    assert model.converged_ or len(risks) == k_max + 1
    assert min(sizes[1:]) < max(sizes)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore:stopped at k_max", "ignore:with 800 features")
def test_where_the_bound_stands_still_only_the_printed_algorithm_drops_features(seed):
    """Rare binary features, few of which one sample has: the programs have many solutions."""
    rng = np.random.default_rng(seed)
    X, y = (rng.random((60, 800)) < 0.04).astype(float), (rng.random(60) < 0.2).astype(int)
    for select_by, may_drop in (("as-printed", True), ("in-out", False)):
        solver = ConstraintGeneration(n_max=10, k_max=10, select=select_by)
        model = MinimaxRiskClassifier(solver=solver, standardize=False).fit(X, y)
        stood_still = np.flatnonzero(np.diff(model.worst_case_errors_[:-1]) > -1e-10) + 1
        assert len(stood_still) > 2
        n_dropped = [model.history_[k + 1]["n_removed"] for k in stood_still]
        assert min(n_dropped) > 0 if may_drop else max(n_dropped) == 0
