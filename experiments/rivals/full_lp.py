"""The linear program of the minimax risk as it stands in the mathematics, given to HiGHS by SciPy.

What somebody would write who has the formulas and a solver but not the library. It shares no code with it, so
that its R* is also a check of ours:

    R* = max 1 - sum r   s.t.   0 <= w <= r,   sum w = 1,   |(C w) Psi - tau| <= lambda
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog


@dataclass(frozen=True)
class FullSolution:
    """Optimal value and coefficients (B x (d + 1), the intercept first) with the coding they belong to."""

    worst_case_error: float
    mu: np.ndarray
    coding: np.ndarray
    classes: np.ndarray
    centre: np.ndarray
    n_iter: int

    def scores(self, X: Any) -> np.ndarray:
        """Scores of the classes for scaled instances, shape (n, K)."""
        blocks = X @ self.mu[:, 1:].T + (self.mu[:, 0] - self.mu[:, 1:] @ self.centre)
        return np.asarray(blocks @ self.coding)


def solve_full_lp(X: Any, y: np.ndarray) -> FullSolution:
    """Pose and solve the problem for columns of unit variance; a sparse X is centred implicitly.

    With Psi = X - 1 c', the moments are (C w) X - z c', where z holds the row sums of C w: these are
    variables too, so that a sparse X stays sparse.
    """
    classes, labels = np.unique(y, return_inverse=True)
    n, K = len(labels), len(classes)
    coding = np.array([[1.0, -1.0]]) if K == 2 else np.eye(K)
    centre = np.asarray(X.mean(axis=0)).ravel() if sparse.issparse(X) else np.zeros(X.shape[1])
    tau, lam = _moments(X, labels, coding, centre)
    B = len(coding)

    # Variables: w class by class, then r, then z.
    columns = sparse.csr_array(X.T)
    rows = []
    for b in range(B):
        of_w = [coding[b, k] * columns if coding[b, k] else sparse.csr_array(columns.shape) for k in range(K)]
        of_z = [sparse.csr_array(-centre[:, None] if b == c else (len(centre), 1)) for c in range(B)]
        rows.append(sparse.hstack([*of_w, sparse.csr_array((len(centre), n)), *of_z]))
    moments = sparse.vstack(rows, format="csr")
    below_r = sparse.hstack(
        [sparse.eye_array(n * K), -sparse.vstack([sparse.eye_array(n)] * K), sparse.csr_array((n * K, B))]
    )
    sums = sparse.hstack(
        [sparse.kron(coding, np.ones((1, n))), sparse.csr_array((B, n)), -sparse.eye_array(B)], format="csr"
    )
    mass = np.concatenate([np.ones(n * K), np.zeros(n + B)])[None, :]

    # The intercept is the moment of a column of ones: a bound on z, as z is that moment.
    at_ones, slack_at_ones = tau[:, 0], lam[:, 0]
    inner, allowed = tau[:, 1:].ravel(), lam[:, 1:].ravel()
    found = linprog(
        np.concatenate([np.zeros(n * K), np.ones(n), np.zeros(B)]),
        A_ub=sparse.vstack([below_r, moments, -moments], format="csr"),
        b_ub=np.concatenate([np.zeros(n * K), inner + allowed, allowed - inner]),
        A_eq=sparse.vstack([sums, sparse.csr_array(mass)], format="csr"),
        b_eq=np.concatenate([np.zeros(B), [1.0]]),
        bounds=[(0, None)] * (n * (K + 1))
        + list(zip(at_ones - slack_at_ones, at_ones + slack_at_ones, strict=True)),
        method="highs",
    )
    if found.status != 0:
        raise RuntimeError(f"HiGHS did not solve the full linear program: {found.message}")
    multipliers = found.ineqlin.marginals[n * K :].reshape(2, B, -1)
    at_z = found.lower.marginals[-B:] + found.upper.marginals[-B:]
    mu = np.column_stack([at_z, multipliers[0] - multipliers[1]])
    return FullSolution(1.0 - found.fun, mu, coding, classes, centre, int(found.nit))


def _moments(
    X: Any, labels: np.ndarray, coding: np.ndarray, centre: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means of Phi(x, y) and radii sigma / sqrt(n), both B x (d + 1) with the column of ones first."""
    n = len(labels)
    signs = coding[:, labels]
    squares = X.multiply(X) if sparse.issparse(X) else X**2
    totals, square_totals = signs @ X, signs**2 @ squares
    weight, square_weight = signs.sum(axis=1), (signs**2).sum(axis=1)
    mean = np.column_stack([weight, totals - np.outer(weight, centre)]) / n
    # Of the centred columns: sum (x - c)^2 = sum x^2 - 2 c sum x + c^2.
    crossed = (signs**2 @ X) * centre
    power = square_totals - 2.0 * crossed + np.outer(square_weight, centre**2)
    second = np.column_stack([square_weight, power]) / n
    return mean, np.sqrt(np.maximum(second - mean**2, 0.0) / n)
