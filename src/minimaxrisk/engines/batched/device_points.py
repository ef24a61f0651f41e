"""The iterates of ``predictor_corrector`` for many problems on one array that lives on a device.

The formulas are those of ``InteriorPoints``, in functions of the array API standard, so that every step of
all problems is a few calls to the device: one product of matrices with the data, Newton systems as one batch.
What the standard does not know stands at the end, in the words of the libraries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray, beside, namespace_of, to_numpy
from minimaxrisk.engines.batched.device_columns import columns_of
from minimaxrisk.engines.batched.predictor_corrector import NEAREST_PER_INSTANCE
from minimaxrisk.engines.interior_point.constraints import places_of_largest
from minimaxrisk.engines.interior_point.predictor_corrector import (
    FRACTION_TO_BOUNDARY,
    LARGEST_START,
    LONG_ENOUGH,
    REACH,
    SMALLEST_CENTRING,
    SPREAD,
    START_TO_BOUNDARY,
    UNNOTICED,
    WORTHWHILE,
    everywhere,
)
from minimaxrisk.engines.interior_point.systems import OFFSET
from minimaxrisk.features.device import DeviceFeatures
from minimaxrisk.problem.problem import Problem

# What an iterate is made of between two steps, and what was best; the first index is the problem.
PER_PROBLEM = (
    *("failed", "_lam", "_tau", "_position", "_x", "_z", "_mean", "_chosen", "_multipliers"),
    *(
        "_rows",
        "_targets",
        "_radii",
        "_slack",
        "_coefficients",
        "_scores",
        "_best_components",
        "_best_values",
    ),
)


class DevicePoints:
    """The iterates of all problems; arrays have the problem as first index and live on the device."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self._data = problems[0].features.shared
        self._columns = columns_of([cast(DeviceFeatures, problem.features) for problem in problems])
        self._xp = xp = namespace_of(self._data)
        self._lam = xp.concat([problem.lam_there for problem in problems], axis=0)
        self._tau = xp.concat([problem.tau_there for problem in problems], axis=0)
        centre = np.stack([problem.centre for problem in problems])
        n_problems, _, self._n = centre.shape
        d = self._lam.shape[1]
        self._q = min(d, max(1, int(NEAREST_PER_INSTANCE * self._n)))
        self._sides = self._there(np.array([[-1.0], [1.0]]))
        self._position = 0.0 * self._lam
        self.failed = xp.any(xp.isnan(self._lam), axis=1)  # where a step was no number; none so far
        u = centre[:, 0] - centre[:, 1]
        self._difference = np.abs(u).sum(axis=1)
        mass = np.stack([everywhere(row) for row in centre.sum(axis=1)])
        away = u.sum(axis=1, keepdims=True) * mass - u
        room = to_numpy(self._furthest_step(self._there(away)))
        fraction = np.minimum(LARGEST_START, START_TO_BOUNDARY * room)[:, None]
        self._move(self._there(fraction))
        u += fraction * away
        x = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)], axis=1) + OFFSET / self._n
        self._x = self._there(x)
        self._z = xp.ones_like(self._x)
        self._mean = xp.mean(self._x, axis=1, keepdims=True)
        self._chosen = self._there(np.zeros((n_problems, 0), dtype=np.int64))
        self._multipliers = self._there(np.zeros((n_problems, 2, 0)))  # of the upper sides and of the lower
        self._best_components = self._there(np.zeros((n_problems, self._q), dtype=np.int64))
        self._best_values = self._there(np.zeros((n_problems, self._q)))

    def _there(self, values: np.ndarray) -> Any:
        return beside(self._data, values)

    def keep(self, kept: BoolArray) -> None:
        """Forget the other problems."""
        places = self._there(np.flatnonzero(kept))
        self._columns.keep(places)
        for name in PER_PROBLEM:
            setattr(self, name, self._xp.take(getattr(self, name), places, axis=0))

    def choose_working_sets(self) -> None:
        """For the next step: the constraints that pull, and of the others the nearest."""
        xp, old = self._xp, self._chosen
        n_problems = self._x.shape[0]
        key = xp.abs(self._position)
        if old.shape[1]:
            own = xp.take_along_axis(key, old, axis=1)
            key = scattered(key, old, xp.where(self._pulls(), 2.0, own))
        self._chosen = places_of_largest(key, self._q)
        # Newcomers get equal multipliers on their two sides; the others keep theirs.
        multipliers = xp.broadcast_to(self._mean[:, :, None], (n_problems, 2, self._q))
        if old.shape[1]:
            same = xp.astype(self._chosen[:, None, :] == old[:, :, None], xp.float64)
            stays = xp.sum(same, axis=1)[:, None, :] > 0.0
            multipliers = xp.where(stays, self._multipliers @ same, multipliers)
        self._multipliers = multipliers
        self._radii = xp.take_along_axis(self._lam, self._chosen, axis=1)
        self._rows = self._columns.gathered(self._chosen) / self._radii[:, :, None]
        self._targets = xp.take_along_axis(self._tau, self._chosen, axis=1) / self._radii
        position = xp.take_along_axis(self._position, self._chosen, axis=1)
        self._slack = 1.0 + self._sides * position[:, None, :]
        self._coefficients = multipliers[:, 1, :] - multipliers[:, 0, :]
        self._scores = self._scores_of(self._coefficients)

    def _pulls(self) -> Any:
        """Constraints that cannot leave unnoticed; see the single loop."""
        xp = self._xp
        size = xp.abs(self._coefficients_now()) / self._radii
        order = xp.argsort(size, axis=1)
        ascending = xp.take_along_axis(size, order, axis=1)
        together = xp.sqrt(xp.cumulative_sum(ascending * ascending, axis=1))
        quiet = together <= UNNOTICED * self._mean * float(2 * self._n + 2 * self._q)
        # The largest that may leave: all smaller ones leave with it.
        limit = xp.max(xp.where(quiet, ascending, -1.0), axis=1, keepdims=True)
        return size > limit

    def _coefficients_now(self) -> Any:
        return self._multipliers[:, 1, :] - self._multipliers[:, 0, :]

    def bounds_before(self) -> tuple[FloatArray, FloatArray]:
        """What labels that say nothing prove without a pass, mixed with the centre; the smallest radii."""
        xp = self._xp
        theta = xp.min(xp.where(xp.abs(self._tau) > self._lam, self._lam / xp.abs(self._tau), 1.0), axis=1)
        theta_here, thinnest = to_numpy(xp.stack([theta, xp.min(self._lam, axis=1)]))
        return 0.5 - 0.5 * (1.0 - theta_here) * self._difference, thinnest

    def bounds(self) -> tuple[FloatArray, FloatArray, BoolArray]:
        """What the multipliers prove from above, the distributions from below, and what has failed."""
        xp = self._xp
        gain = xp.sum(self._targets * self._coefficients - xp.abs(self._coefficients), axis=1)
        largest = xp.max(xp.abs(self._scores), axis=1)
        says_something = (gain > 0.0) & (largest > 0.0)
        upper = 0.5 - xp.where(says_something, 0.5 * gain / largest, 0.0)
        u = self._x[:, : self._n] - self._x[:, self._n :]
        lower = 0.5 - 0.5 * xp.sum(xp.abs(u), axis=1)
        found = to_numpy(xp.stack([upper, lower, xp.astype(self.failed, xp.float64)]))
        return found[0], found[1], found[2] > 0.0

    def keep_best(self, is_better: BoolArray) -> None:
        """Write down the coefficients that prove the upper bounds of some problems."""
        xp = self._xp
        scale = 0.5 / xp.max(xp.abs(self._scores), axis=1, keepdims=True)
        where = self._there(is_better[:, None])
        self._best_components = xp.where(where, self._chosen, self._best_components)
        self._best_values = xp.where(where, scale * self._coefficients / self._radii, self._best_values)

    def best(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """The coefficients written down, by components and values, and the bounds that they prove.

        The bounds are computed afresh, by the formula of the certificate: ``1 + lambda'|mu| - tau'mu`` and
        the largest of ``|score| - 1`` and ``-1/2``.
        """
        xp, components, values = self._xp, self._best_components, self._best_values
        scores = (values[:, None, :] @ self._columns.gathered(components))[:, 0, :]
        lam, tau = (xp.take_along_axis(each, components, axis=1) for each in (self._lam, self._tau))
        penalty = xp.sum(lam * xp.abs(values) - tau * values, axis=1)
        excess = xp.max(xp.abs(scores), axis=1) - 1.0
        bounds = 1.0 + penalty + xp.where(excess > -0.5, excess, -0.5)
        return to_numpy(components), to_numpy(values), to_numpy(bounds)

    def step(self) -> None:
        """One predictor-corrector step of each problem."""
        xp, n, n_x = self._xp, self._n, 2 * self._n
        n_problems = self._x.shape[0]
        self._primal = xp.concat([self._x, xp.reshape(self._slack, (n_problems, -1))], axis=1)
        self._dual = xp.concat([self._z, xp.reshape(self._multipliers, (n_problems, -1))], axis=1)
        self._ratio = self._dual / self._primal
        self._factorise()
        product = self._primal * self._dual
        self._mean = xp.mean(product, axis=1, keepdims=True)
        direction = self._mehrotra(product)
        furthest = self._furthest_step(direction.primal[:, :n] - direction.primal[:, n:n_x])
        own = _longest(self._x, direction.primal[:, :n_x])
        primal_length = _at_most_one(FRACTION_TO_BOUNDARY * xp.minimum(furthest, own))[:, None]
        dual_length = _at_most_one(FRACTION_TO_BOUNDARY * direction.dual_length)[:, None]
        self.failed = self.failed | ~(xp.isfinite(primal_length) & xp.isfinite(dual_length))[:, 0]
        self._x = self._x + primal_length * direction.primal[:, :n_x]
        self._z = self._z + dual_length * direction.dual[:, :n_x]
        self._move(primal_length)
        moved = xp.reshape(dual_length * direction.dual[:, n_x:], (n_problems, 2, self._q))
        self._multipliers = self._multipliers + moved

    def _factorise(self) -> None:
        """Cholesky factors of ``E + G``; see ``SignedSystem``."""
        xp, n_problems, n, q = self._xp, self._x.shape[0], self._n, self._q
        x, z = (xp.reshape(each, (n_problems, 2, n)) for each in (self._x, self._z))
        self._residual = (1.0 - z) + self._sides * self._scores[:, None, :]
        self._own = z / x
        self._sum = xp.sum(self._own, axis=1)
        weights = xp.sum(xp.reshape(self._ratio[:, 2 * n :], (n_problems, 2, q)), axis=1)
        scaled = self._rows * xp.sqrt(weights)[:, :, None]
        stiffness = self._own[:, 0, :] * self._own[:, 1, :] / self._sum
        unit = xp.eye(n, dtype=xp.float64, device=self._data.device)
        self._matrix = xp.matrix_transpose(scaled) @ scaled + stiffness[:, :, None] * unit
        self._lower, has_failed = cholesky_of_each(self._matrix)
        self.failed = self.failed | has_failed

    def _mehrotra(self, product: Any) -> _Directions:
        """Predictor, corrector and centrality corrector; see the single loop."""
        xp = self._xp
        predictor = self._direction(-product)
        after = xp.mean(self._products(predictor, 0.0), axis=1, keepdims=True) / self._mean
        cubed = after * after * after
        aim = xp.where(cubed > SMALLEST_CENTRING, cubed, SMALLEST_CENTRING) * self._mean
        target = aim - product - predictor.primal * predictor.dual
        corrector = self._direction(target)
        ahead = self._products(corrector, REACH)
        low, high = aim / SPREAD, aim * SPREAD
        stragglers = xp.minimum(xp.maximum(ahead, low), high) - ahead
        centred = self._direction(target + xp.maximum(stragglers, -high))
        is_short = corrector.length <= LONG_ENOUGH
        return corrector.replaced(centred, is_short & (centred.length > corrector.length + WORTHWHILE))

    def _products(self, direction: _Directions, further: float) -> Any:
        """Products x z at the end of a step, or ``further`` along than it may go."""
        primal_length = _at_most_one(direction.primal_length + further)[:, None]
        dual_length = _at_most_one(direction.dual_length + further)[:, None]
        return (self._primal + primal_length * direction.primal) * (self._dual + dual_length * direction.dual)

    def _direction(self, target: Any) -> _Directions:
        """The Newton step for ``primal d(dual) + dual d(primal) = target``."""
        xp, n_problems, n, q = self._xp, target.shape[0], self._n, self._q
        push = target[:, 2 * n :] / self._primal[:, 2 * n :]
        pushed = xp.reshape(target[:, : 2 * n] / self._x, (n_problems, 2, n))
        difference = pushed - self._residual
        crossed = xp.flip(self._own, axis=1)
        right = crossed * difference
        right = (right[:, 0, :] - right[:, 1, :]) / self._sum + self._scores_of(push[:, q:] - push[:, :q])
        du = solved_for_each(self._matrix, self._lower, right)
        # dz_p + dz_q is known, which gives the other half of the step without cancellation.
        dx = -self._sides * crossed * du[:, None, :] + xp.sum(difference, axis=1, keepdims=True)
        dx = dx / self._sum[:, None, :]
        moved = (self._rows @ (dx[:, 0, :] - dx[:, 1, :])[:, :, None])[:, :, 0]
        primal = xp.concat([xp.reshape(dx, (n_problems, -1)), -moved, moved], axis=1)
        dual = xp.concat([xp.reshape(pushed, (n_problems, -1)), push], axis=1) - self._ratio * primal
        return _Directions(primal, dual, _longest(self._primal, primal), _longest(self._dual, dual))

    def _scores_of(self, coefficients: Any) -> Any:
        return (coefficients[:, None, :] @ self._rows)[:, 0, :]

    def _furthest_step(self, weights: Any) -> Any:
        """How many times ``weights`` may be added to each u before a constraint is met: one pass."""
        xp = self._xp
        moved = self._columns.products(weights) / self._lam
        self._movement = moved
        # Of the two bounds, -1 and 1, a movement can only meet the one it points to.
        speed = moved / xp.where(moved < 0.0, -1.0 - self._position, 1.0 - self._position)
        fastest = xp.max(speed, axis=1)
        self.failed = self.failed | xp.isnan(fastest)
        return xp.where(fastest > 0.0, 1.0 / fastest, xp.inf)

    def _move(self, step: Any) -> None:
        self._position = self._position + step * self._movement


@dataclass(frozen=True)
class _Directions:
    """Newton steps, and how far primal and dual may follow them."""

    primal: Any
    dual: Any
    primal_length: Any
    dual_length: Any

    @property
    def length(self) -> Any:
        return _at_most_one(self.primal_length) + _at_most_one(self.dual_length)

    def replaced(self, other: _Directions, where: Any) -> _Directions:
        xp, rows = namespace_of(where), where[:, None]
        return _Directions(
            xp.where(rows, other.primal, self.primal),
            xp.where(rows, other.dual, self.dual),
            xp.where(where, other.primal_length, self.primal_length),
            xp.where(where, other.dual_length, self.dual_length),
        )


def _longest(values: Any, direction: Any) -> Any:
    """The steps at which the first of the positive ``values`` becomes zero; NaN is passed on."""
    xp = namespace_of(values)
    fastest = -xp.min(direction / values, axis=1)
    return xp.where(fastest <= 0.0, xp.inf, 1.0 / fastest)


def _at_most_one(length: Any) -> Any:
    return namespace_of(length).where(length > 1.0, 1.0, length)


def scattered(values: Any, places: Any, entries: Any) -> Any:
    """The same with other entries at some places of each row."""
    xp = namespace_of(values)
    if hasattr(values, "scatter"):  # PyTorch
        return values.scatter(1, places, entries)
    if hasattr(xp, "put_along_axis"):  # CuPy
        xp.put_along_axis(values, places, entries, axis=1)
        return values
    here = to_numpy(values)
    np.put_along_axis(here, to_numpy(places), to_numpy(entries), axis=1)
    return beside(values, here)


def cholesky_of_each(matrices: Any) -> tuple[Any, Any]:
    """Lower factors of matrices, and which have none."""
    xp = namespace_of(matrices)
    if hasattr(xp.linalg, "cholesky_ex"):  # PyTorch; the standard's own raises for all where one has none
        lower, info = xp.linalg.cholesky_ex(matrices)
        return lower, info != 0
    lower = xp.linalg.cholesky(matrices)
    return lower, xp.isnan(lower[:, -1, -1])


def solved_for_each(matrices: Any, lower: Any, right: Any) -> Any:
    """The solution of each system for one right-hand side."""
    xp = namespace_of(matrices)
    if hasattr(xp, "cholesky_solve"):  # PyTorch; the standard knows no systems of triangles
        return xp.cholesky_solve(right[:, :, None], lower)[:, :, 0]
    return xp.linalg.solve(matrices, right[:, :, None])[:, :, 0]
