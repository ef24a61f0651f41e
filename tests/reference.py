"""Independent computations that the library is compared with: nothing here imports it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import combinations
from typing import TypeAlias

import numpy as np
from scipy.optimize import linprog

# The library's definition of the set allows this much where a standard deviation is zero.
SMALLEST_RADIUS = 1e-9
Array: TypeAlias = np.ndarray
EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def solved_once(program: Callable[..., tuple[float, Array]]) -> Callable[..., tuple[float, Array]]:
    """The same arrays give the same answer, which tests that differ in other things share."""
    answers: dict[tuple[tuple[tuple[int, ...], bytes], ...], tuple[float, Array]] = {}

    @wraps(program)
    def remembered(*arrays: Array) -> tuple[float, Array]:
        key = tuple((array.shape, array.tobytes()) for array in map(np.ascontiguousarray, arrays))
        if key not in answers:
            answers[key] = program(*arrays)
        value, mu = answers[key]
        return value, mu.copy()

    return remembered


def scaled_columns(
    X: Array, weights: Array | None = None, *, standardize: bool = True, fit_intercept: bool = True
) -> Array:
    """Columns as the problem sees them: standardised or at unit root mean square, ones in front."""
    X = np.asarray(X, dtype=float)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    p = weights / weights.sum()
    # Largest value first, so that 1e12 and 1e-12 are the same to what follows.
    size = np.abs(X).max(axis=0)
    Z = X / np.where(size > 0, size, 1.0)
    if standardize:
        Z = Z - p @ Z
        Z = Z - p @ Z
    rms = np.sqrt(p @ Z**2)
    constant = rms < 1e-14
    Z = np.where(constant, 0.0, Z / np.where(constant, 1.0, rms))
    return np.column_stack([np.ones(len(Z)), Z]) if fit_intercept else Z


def phi_vectors(Psi: Array, n_classes: int, coding: str) -> Array:
    """Phi(x_i, y) for every instance and label, shape (n, K, m)."""
    n, d = Psi.shape
    if coding == "signed":
        return np.stack([Psi, -Psi], axis=1)
    Phi = np.zeros((n, n_classes, n_classes * d))
    for k in range(n_classes):
        Phi[:, k, k * d : (k + 1) * d] = Psi
    return Phi


def tau_and_lambda(
    Phi: Array, labels: Array, radius: float, weights: Array | None = None
) -> tuple[Array, Array]:
    """Means and radii straight from the definition."""
    weights = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=float)
    p = weights / weights.sum()
    observed = Phi[np.arange(len(labels)), labels]
    tau = p @ observed
    sigma = np.sqrt(p @ (observed - tau) ** 2)
    return tau, np.maximum(radius * sigma / np.sqrt(weights.sum()), SMALLEST_RADIUS)


def subset_rows(Phi: Array) -> tuple[Array, Array]:
    """The paper's F and b: one row for each instance and each non-empty set of labels."""
    n_classes = Phi.shape[1]
    rows, b = [], []
    for size in range(1, n_classes + 1):
        for subset in combinations(range(n_classes), size):
            rows.append(Phi[:, subset].mean(axis=1))
            b.append(np.full(len(Phi), 1.0 / size - 1.0))
    return np.vstack(rows), np.concatenate(b)


@solved_once
def minimax_risk(Phi: Array, tau: Array, lam: Array) -> tuple[float, Array]:
    """R* by the paper's linear program with n (2^K - 1) rows, solved by SciPy."""
    F, b = subset_rows(Phi)
    cost = np.concatenate([-(tau - lam), tau + lam, [1.0]])
    rows = np.hstack([F, -F, -np.ones((len(F), 1))])
    bounds: list[tuple[int | None, None]] = [(0, None)] * (2 * len(tau)) + [(None, None)]
    found = linprog(
        cost,
        A_ub=rows,
        b_ub=b,
        bounds=bounds,
        method="highs",
        options=EXACT,
    )
    assert found.status == 0, found.message
    mu = found.x[: len(tau)] - found.x[len(tau) : -1]
    # The value of the paper's objective at mu, so that the solver's tolerances do not enter.
    return 1 - tau @ mu + lam @ np.abs(mu) + brute_force_phi(Phi @ mu), mu


def largest_loss(
    loss: Array, Phi: Array, tau: Array, lam: Array, masses: Array | None = None
) -> float | None:
    """By SciPy, over distributions on the instances with moments in the set; None where there is none."""
    n, n_classes, m = Phi.shape
    moments = Phi.reshape(-1, m).T
    total = (np.ones((1, n * n_classes)), [1.0])
    own = (np.repeat(np.eye(n), n_classes, axis=1), masses)
    A_eq, b_eq = total if masses is None else own
    found = linprog(
        -loss.ravel(),
        A_ub=np.vstack([moments, -moments]),
        b_ub=np.concatenate([tau + lam, lam - tau]),
        A_eq=A_eq,
        b_eq=b_eq,
        method="highs",
        options=EXACT,
    )
    return -found.fun if found.status == 0 else None


def brute_force_phi(scores: Array) -> float:
    """phi over all subsets; scores has shape (n, K)."""
    best = -np.inf
    for size in range(1, scores.shape[1] + 1):
        for subset in combinations(range(scores.shape[1]), size):
            best = max(best, float(((scores[:, subset].sum(axis=1) - 1.0) / size).max()))
    return best


def random_problem(rng: np.random.Generator, n: int, d: int, n_classes: int) -> tuple[Array, Array]:
    """Small training data with every class present; informative, so that R* is not trivial."""
    labels = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    rng.shuffle(labels)
    X = rng.standard_normal((n, d)) + 0.7 * labels[:, None] * rng.integers(0, 2, d)
    return X, labels


def known_minimax_risk(Phi: Array, tau: Array, lam: Array, masses: Array) -> tuple[float, Array]:
    """R* where the masses of instances are known, by the paper's subsets with a phi for every instance."""
    n, (F, b) = len(Phi), subset_rows(Phi)
    cost = np.concatenate([-(tau - lam), tau + lam, masses])
    own = -np.tile(np.eye(n), (len(F) // n, 1))
    bounds: list[tuple[int | None, None]] = [(0, None)] * (2 * len(tau)) + [(None, None)] * n
    found = linprog(cost, A_ub=np.hstack([F, -F, own]), b_ub=b, bounds=bounds, method="highs", options=EXACT)
    assert found.status == 0, found.message
    mu = found.x[: len(tau)] - found.x[len(tau) : 2 * len(tau)]
    phi = [brute_force_phi(scores[None]) for scores in Phi @ mu]
    return 1 - tau @ mu + lam @ np.abs(mu) + masses @ phi, mu


def minimax_risk_of(
    X: Array,
    labels: Array,
    radius: float,
    weights: Array | None = None,
    *,
    coding: str = "auto",
    marginal: str = "free",
    standardize: bool = True,
    fit_intercept: bool = True,
) -> float:
    """R* of samples, with parameters by the names that the classifier has for them."""
    weights = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=float)
    used = weights > 0
    X, labels, weights = np.asarray(X, dtype=float)[used], labels[used], weights[used]
    n_classes = labels.max() + 1
    if coding == "auto":
        coding = "signed" if n_classes == 2 else "one-hot"
    Psi = scaled_columns(X, weights, standardize=standardize, fit_intercept=fit_intercept)
    Phi = phi_vectors(Psi, n_classes, coding)
    tau, lam = tau_and_lambda(Phi, labels, radius, weights)
    if marginal == "empirical":
        return float(known_minimax_risk(Phi, tau, lam, weights / weights.sum())[0])
    return float(minimax_risk(Phi, tau, lam)[0])


def known_worst_case(Phi: Array, tau: Array, lam: Array, masses: Array) -> float:
    """The same R* from the other side: the worst labels of instances whose masses stay as they are."""
    n, n_classes, m = Phi.shape
    n_w = n * n_classes
    moments = np.hstack([Phi.reshape(n_w, m).T, np.zeros((m, n))])
    below = np.hstack([np.eye(n_w), -np.kron(np.eye(n), np.ones((n_classes, 1)))])
    found = linprog(
        np.concatenate([np.zeros(n_w), np.ones(n)]),
        A_ub=np.vstack([below, moments, -moments]),
        b_ub=np.concatenate([np.zeros(n_w), tau + lam, lam - tau]),
        A_eq=np.hstack([np.kron(np.eye(n), np.ones((1, n_classes))), np.zeros((n, n))]),
        b_eq=masses,
        method="highs",
        options=EXACT,
    )
    assert found.status == 0, found.message
    return 1 - found.fun
