"""Solve many small problems on the same data to a certified gap, several in one loop.

Permutations of the labels and parts of the samples are problems of the same shape on the same array: signed
coding, free marginal. For small problems most of the time of the single loop is that of the interpreter
between its steps. Here every step is one operation on arrays whose first index is the problem. The formulas
are those of the single loop; where they are computed, and how, is up to the ``kernels``. Each problem leaves
when its own certificate says so. One that gets stuck is not answered: the single engine solves it.

All working sets have the same size q, so that no array is padded and no number depends on the other problems:
constraints that pull come first, then the nearest ones. On NumPy the answer to a problem is the same to the
last bit whichever others it goes with. On a device the last bits may differ, since a device adds up in an
order that depends on shapes; the bounds are certified all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray, asarray_like, to_numpy
from minimaxrisk.engines.batched.kernels import NumPyKernels, kernels_for, working_set_size
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
from minimaxrisk.engines.solution import Bounds, EngineSettings, Enough, Stage, is_stuck
from minimaxrisk.problem.problem import Problem
from minimaxrisk.uncertainty.radius import THIN_RADIUS

# Problems with more instances gain nothing: their time is that of linear algebra.
MOST_INSTANCES = 400


def can_share(problem: Problem, settings: EngineSettings) -> bool:
    """Whether a problem can go through the loop together with others."""
    shared = problem.features.shared
    return (
        settings.solver in ("auto", "interior-point")
        and settings.max_iter is None
        and problem.coding.name == "signed"
        and not problem.marginal.is_known
        and shared is not None
        and shared.n_rows <= MOST_INSTANCES
        # On a device the loop looks at the radii of all problems at once.
        and (kernels_for(problem) is not NumPyKernels or problem.smallest_radius >= THIN_RADIUS)
    )


def batch_size(problem: Problem) -> int:
    """How many problems like this one go through the loop at a time."""
    return kernels_for(problem).batch_size(*problem.features.shape)


@dataclass(frozen=True)
class Found:
    """Coefficients, the upper bound that they prove, and the lower bound beside it."""

    stage: Stage
    bounds: Bounds


def solve_together(problems: Sequence[Problem], enough: Enough) -> list[Found | None]:
    """For each problem coefficients and bounds that are ``enough``, or None if it got stuck.

    All of them ``can_share``, are on one array and have the same number of instances.
    """
    with np.errstate(all="ignore"):
        return _Loop(problems, enough).run()


class _Loop:
    def __init__(self, problems: Sequence[Problem], enough: Enough) -> None:
        self._enough = enough
        self._found: list[Found | None] = [None] * len(problems)
        self._points = InteriorPoints(problems)
        self._which = np.arange(len(problems))
        self._upper = np.full(len(problems), 0.5)
        self._lower, thinnest = self._points.bounds_before()
        self._is_done = thinnest < THIN_RADIUS
        self._has_enough = np.zeros(len(problems), dtype=np.bool_)
        self._gaps: list[FloatArray] = []

    def run(self) -> list[Found | None]:
        while True:
            self._points.choose_working_sets()
            self._certify()
            if self._is_done.sum() >= max(1.0, self._points.kernels.TIDY_UP * len(self._is_done)):
                self._write_down()
                if self._is_done.all():
                    return self._found
                self._leave_out()
            self._points.step()

    def _certify(self) -> None:
        upper, lower, has_failed = self._points.bounds()
        self._is_done |= has_failed
        is_better = (upper < self._upper) & ~self._is_done
        if is_better.any():
            self._points.keep_best(is_better)
        self._upper = np.where(is_better, upper, self._upper)
        self._lower = np.where(self._is_done, self._lower, np.fmax(self._lower, lower))
        self._gaps.append(self._upper - self._lower)
        has_enough = ~self._is_done & self._enough(self._lower, self._upper)
        self._has_enough |= has_enough
        self._is_done |= has_enough | is_stuck(self._gaps)

    def _write_down(self) -> None:
        places = np.flatnonzero(self._has_enough)
        for i, components, values, bound in zip(places, *self._points.best(places), strict=True):
            used = np.flatnonzero(values)
            bounds = Bounds(float(self._lower[i]), float(bound))
            self._found[self._which[i]] = Found(Stage(components[used], values[used]), bounds)

    def _leave_out(self) -> None:
        kept = np.flatnonzero(~self._is_done)
        self._points.keep(kept)
        self._which, self._upper, self._lower = self._which[kept], self._upper[kept], self._lower[kept]
        self._gaps = [gaps[kept] for gaps in self._gaps]
        self._has_enough, self._is_done = self._has_enough[kept], self._is_done[kept]


# What an iterate is made of before a step, and the best coefficients so far.
PER_PROBLEM = (
    *("failed", "_position", "_x", "_z", "_mean", "_chosen", "_multipliers", "_radii", "_rows", "_slack"),
    *("_scores", "_best_components", "_best_values"),
)


class InteriorPoints:
    """The iterates of all problems; arrays have the problem as first index and are where the features are."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.kernels = kernels_for(problems[0])(problems)
        self._xp = xp = self.kernels.xp
        lam = self.kernels.columns.lam
        centre = np.stack([problem.centre for problem in problems])
        n_problems, _, self._n = centre.shape
        self._q = working_set_size(self._n, lam.shape[1])
        self._sides = asarray_like(lam, np.array([[-1.0], [1.0]]))  # slacks are 1 + sides * position
        self._position = xp.zeros_like(lam)
        self.failed = asarray_like(lam, np.zeros(n_problems, dtype=np.bool_))  # where a step was not finite
        u, mass = centre[:, 0] - centre[:, 1], np.stack([everywhere(row) for row in centre.sum(axis=1)])
        self._difference = np.abs(u).sum(axis=1)
        away = u.sum(axis=1, keepdims=True) * mass - u
        room = to_numpy(self._furthest_step(asarray_like(lam, away)))
        fraction = np.minimum(LARGEST_START, START_TO_BOUNDARY * room)[:, None]
        self._move(asarray_like(lam, fraction))
        u += fraction * away
        x = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)], axis=1) + OFFSET / self._n
        self._x = asarray_like(lam, x)
        self._z = xp.ones_like(self._x)
        self._mean = xp.mean(self._x, axis=1, keepdims=True)
        self._chosen: Any | None = None
        self._multipliers: Any = None  # of the upper sides and of the lower sides
        self._best_components = asarray_like(lam, np.zeros((n_problems, self._q), dtype=np.int64))
        self._best_values = asarray_like(lam, np.zeros((n_problems, self._q)))

    def keep(self, places: IntArray) -> None:
        """Forget the other problems."""
        self.kernels.keep(places)
        there = asarray_like(self._x, places)
        for name in PER_PROBLEM:
            setattr(self, name, self._xp.take(getattr(self, name), there, axis=0))

    def choose_working_sets(self) -> None:
        """For the next step: the constraints that pull, and of the others the nearest."""
        xp, kernels, old = self._xp, self.kernels, self._chosen
        n_problems, d = self._position.shape
        if self._q < d:
            pulls = None if old is None else self._pulls()
            self._chosen = kernels.nearest(self._position, self._q, old, pulls)
        else:
            self._chosen = asarray_like(self._x, np.tile(np.arange(d), (n_problems, 1)))
        # Newcomers get equal multipliers on their two sides; the others keep theirs.
        multipliers = xp.broadcast_to(self._mean[:, :, None], (n_problems, 2, self._q))
        if old is not None:
            multipliers = kernels.carried_over(self._multipliers, old, self._chosen, multipliers)
        self._multipliers = multipliers
        self._radii = xp.take_along_axis(kernels.columns.lam, self._chosen, axis=1)
        self._rows = kernels.columns.columns(self._chosen)
        self._targets = xp.take_along_axis(kernels.tau, self._chosen, axis=1) / self._radii
        position = xp.take_along_axis(self._position, self._chosen, axis=1)
        self._slack = 1.0 + self._sides * position[:, None, :]
        self._coefficients = multipliers[:, 1, :] - multipliers[:, 0, :]
        self._scores = self._scores_of(self._coefficients)

    def _pulls(self) -> Any:
        """Constraints that cannot leave unnoticed; see the single loop."""
        xp, kernels = self._xp, self.kernels
        size = xp.abs(self._multipliers[:, 1, :] - self._multipliers[:, 0, :]) / self._radii
        order = xp.argsort(size, axis=1)
        together = xp.sqrt(kernels.cumulative_sum(xp.take_along_axis(size, order, axis=1) ** 2))
        notable = together > UNNOTICED * self._mean * float(2 * self._n + 2 * self._q)
        return kernels.unsorted(notable, order)

    def bounds_before(self) -> tuple[FloatArray, FloatArray]:
        """Lower bounds before any step, and the smallest radii.

        The bounds are those of mixtures of the empirical distribution with u = 0, whose moments are zero.
        """
        xp, lam, size = self._xp, self.kernels.columns.lam, self._xp.abs(self.kernels.tau)
        theta = xp.min(xp.where(size > lam, lam / size, 1.0), axis=1)
        theta, thinnest = to_numpy(xp.stack([theta, xp.min(lam, axis=1)]))
        return 0.5 - 0.5 * (1.0 - theta) * self._difference, thinnest

    def bounds(self) -> tuple[FloatArray, FloatArray, BoolArray]:
        """What the multipliers prove from above, the distributions from below, and which steps failed."""
        xp = self._xp
        gain = xp.sum(self._targets * self._coefficients - xp.abs(self._coefficients), axis=1)
        largest = xp.max(xp.abs(self._scores), axis=1)
        upper = 0.5 - 0.5 * xp.where((gain > 0.0) & (largest > 0.0), gain / largest, 0.0)
        u = self._x[:, : self._n] - self._x[:, self._n :]
        lower = 0.5 - 0.5 * xp.sum(xp.abs(u), axis=1)
        failed = xp.where(self.failed, xp.ones_like(lower), 0.0)
        upper, lower, failed = to_numpy(xp.stack([upper, lower, failed]))
        return upper, lower, failed > 0.0

    def keep_best(self, is_better: BoolArray) -> None:
        """Note the coefficients that prove the upper bounds of some problems."""
        xp, where = self._xp, asarray_like(self._x, is_better[:, None])
        scale = 0.5 / xp.max(xp.abs(self._scores), axis=1, keepdims=True)
        self._best_components = xp.where(where, self._chosen, self._best_components)
        self._best_values = xp.where(where, scale * self._coefficients / self._radii, self._best_values)

    def best(self, places: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """Of some problems the coefficients noted, by components and values, and the bounds they prove."""
        components, values = self._best_components, self._best_values
        bounds = self.kernels.upper_bounds(components, values, places)
        return to_numpy(components)[places], to_numpy(values)[places], bounds

    def step(self) -> None:
        """One predictor-corrector step of each problem."""
        xp, concat, n, n_x = self._xp, self.kernels.concat, self._n, 2 * self._n
        n_problems = self._x.shape[0]
        self._primal = concat([self._x, xp.reshape(self._slack, (n_problems, -1))], axis=1)
        self._dual = concat([self._z, xp.reshape(self._multipliers, (n_problems, -1))], axis=1)
        self._ratio = self._dual / self._primal
        self._factorise()
        product = self._primal * self._dual
        self._mean = xp.mean(product, axis=1, keepdims=True)
        direction = self._mehrotra(product)
        furthest = self._furthest_step(direction.primal[:, :n] - direction.primal[:, n:n_x])
        own = _longest(xp, self._x, direction.primal[:, :n_x])
        primal_length = _at_most_one(xp, FRACTION_TO_BOUNDARY * xp.minimum(furthest, own))[:, None]
        dual_length = _at_most_one(xp, FRACTION_TO_BOUNDARY * direction.dual_length)[:, None]
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
        own = z / x
        self._sum = own[:, 0, :] + own[:, 1, :]
        self._crossed = -self._sides * xp.flip(own, axis=1)
        weights = xp.sum(xp.reshape(self._ratio[:, 2 * n :], (n_problems, 2, q)), axis=1)
        scaled = self._rows * xp.sqrt(weights)[:, :, None]
        stiffness = own[:, 0, :] * own[:, 1, :] / self._sum
        self.failed = self.failed | self.kernels.factorise(scaled, stiffness)

    def _mehrotra(self, product: Any) -> _Directions:
        """Predictor, corrector and centrality corrector; see the single loop."""
        xp = self._xp
        predictor = self._direction(-product)
        after = xp.mean(self._products(predictor, 0.0), axis=1, keepdims=True)
        centring = (after / self._mean) ** 3
        aim = xp.where(centring < SMALLEST_CENTRING, SMALLEST_CENTRING, centring) * self._mean
        target = aim - product - predictor.primal * predictor.dual
        corrector = self._direction(target)
        is_short = corrector.length <= LONG_ENOUGH
        if not self.kernels.may_be_any(is_short):
            return corrector
        ahead, high = self._products(corrector, REACH), aim * SPREAD
        stragglers = xp.minimum(xp.maximum(ahead, aim / SPREAD), high) - ahead
        centred = self._direction(target + xp.maximum(stragglers, -high))
        is_better = is_short & (centred.length > corrector.length + WORTHWHILE)
        rows = is_better[:, None]
        return _Directions(
            xp.where(rows, centred.primal, corrector.primal),
            xp.where(rows, centred.dual, corrector.dual),
            xp.where(is_better, centred.primal_length, corrector.primal_length),
            xp.where(is_better, centred.dual_length, corrector.dual_length),
            xp.where(is_better, centred.length, corrector.length),
        )

    def _products(self, direction: _Directions, further: float) -> Any:
        """Products x z at the end of a step, or ``further`` along than it may go."""
        primal_length = _at_most_one(self._xp, direction.primal_length + further)[:, None]
        dual_length = _at_most_one(self._xp, direction.dual_length + further)[:, None]
        return (self._primal + primal_length * direction.primal) * (self._dual + dual_length * direction.dual)

    def _direction(self, target: Any) -> _Directions:
        """The Newton step for ``primal d(dual) + dual d(primal) = target``."""
        xp, concat, n_problems, n, q = self._xp, self.kernels.concat, target.shape[0], self._n, self._q
        push = target[:, 2 * n :] / self._primal[:, 2 * n :]
        pushed = target[:, : 2 * n] / self._x
        difference = xp.reshape(pushed, (n_problems, 2, n)) - self._residual
        right = self._crossed * difference
        right = (right[:, 0, :] + right[:, 1, :]) / self._sum + self._scores_of(push[:, q:] - push[:, :q])
        du = self.kernels.solve(right)
        # dz_p + dz_q is known, which gives the other half of the step without cancellation.
        both = difference[:, 0, :] + difference[:, 1, :]
        dx = (self._crossed * du[:, None, :] + both[:, None, :]) / self._sum[:, None, :]
        moved = (self._rows @ (dx[:, 0, :] - dx[:, 1, :])[:, :, None])[:, :, 0]
        primal = concat([xp.reshape(dx, (n_problems, -1)), -moved, moved], axis=1)
        dual = concat([pushed, push], axis=1) - self._ratio * primal
        primal_length, dual_length = _longest(xp, self._primal, primal), _longest(xp, self._dual, dual)
        length = _at_most_one(xp, primal_length) + _at_most_one(xp, dual_length)
        return _Directions(primal, dual, primal_length, dual_length, length)

    def _scores_of(self, coefficients: Any) -> Any:
        return (coefficients[:, None, :] @ self._rows)[:, 0, :]

    def _furthest_step(self, weights: Any) -> Any:
        """How many times ``weights`` may be added to each u before a constraint is met: one pass."""
        xp = self._xp
        self._movement = self.kernels.columns.products(weights)
        fastest = self.kernels.fastest(self._movement, self._position)
        self.failed = self.failed | xp.isnan(fastest)
        return xp.where(fastest > 0.0, 1.0 / fastest, xp.inf)

    def _move(self, step: Any) -> None:
        self._movement *= step
        self._position += self._movement


@dataclass(frozen=True)
class _Directions:
    """Newton steps, how far primal and dual may follow them, and the sum of both where at most 1 counts."""

    primal: Any
    dual: Any
    primal_length: Any
    dual_length: Any
    length: Any


def _longest(xp: Any, values: Any, direction: Any) -> Any:
    """The steps at which the first of the positive ``values`` becomes zero; NaN is passed on."""
    fastest = -xp.min(direction / values, axis=1)
    return xp.where(fastest <= 0.0, xp.inf, 1.0 / fastest)


def _at_most_one(xp: Any, length: Any) -> Any:
    return xp.where(length > 1.0, 1.0, length)
