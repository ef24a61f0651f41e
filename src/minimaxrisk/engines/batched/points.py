"""The iterates of many problems of one shape, step by step together.

The formulas are those of the single loop; where they are computed, and how, is up to the ``algebra`` that the
container of the features names. Arrays have the problem as first index. Constraints of all blocks come behind
each other: one block in the signed coding, one per class in the one-hot coding.

All working sets have the same size q, so that no array is padded and no number depends on the other problems:
constraints that pull come first, then the nearest ones. On NumPy the answer to a problem is the same to the
last bit whichever others it goes with. On a device the last bits may differ, since a device adds up in an
order that depends on shapes; the bounds are certified all the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray, asarray_like, to_numpy
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
from minimaxrisk.features.batched import BatchAlgebra, working_set_size
from minimaxrisk.features.matrix import SharedData
from minimaxrisk.problem.problem import Box, upper_bound_of_some


def algebra_of(problem: Box) -> type[BatchAlgebra]:
    """That of the array that a problem shares with others."""
    return cast(SharedData, problem.features.shared).algebra


class InteriorPoints(ABC):
    """The iterates of all problems, in arrays that are where the features are."""

    # What an iterate is made of before a step, and the best coefficients so far.
    PER_PROBLEM: ClassVar[tuple[str, ...]] = (
        *("failed", "_position", "_x", "_z", "_mean", "_chosen", "_multipliers", "_radii", "_rows", "_slack"),
        *("_scores", "_best_components", "_best_values"),
    )

    def __init__(self, problems: Sequence[Box]) -> None:
        self._problems = list(problems)
        self.algebra = algebra_of(problems[0])(
            [(each.features, each.tau_on_device, each.lam_on_device) for each in problems]
        )
        self._xp = xp = self.algebra.xp
        lam = self.algebra.columns.lam
        self._n_blocks, self._d = problems[0].shape
        self._n = problems[0].n_instances
        self._q = working_set_size(self._n, self._d, self._n_blocks)
        self._sides = asarray_like(lam, np.array([[-1.0], [1.0]]))  # slacks are 1 + sides * position
        self._position = xp.zeros_like(lam)
        n_problems = len(problems)
        self.failed = asarray_like(lam, np.zeros(n_problems, dtype=np.bool_))  # where a step was not finite
        encoded = np.stack([problem.coding.encode(problem.centre) for problem in problems])
        mass = np.stack([everywhere(problem.centre.sum(axis=0)) for problem in problems])
        away = encoded.sum(axis=2, keepdims=True) * mass[:, None, :] - encoded
        room = to_numpy(self._furthest_step(asarray_like(lam, away.reshape(-1, self._n))))
        fraction = np.minimum(LARGEST_START, START_TO_BOUNDARY * room)
        self._move(asarray_like(lam, fraction[:, None]))
        encoded += fraction[:, None, None] * away
        self._x, self._z = (asarray_like(lam, each) for each in self._start(encoded))
        self._mean = xp.mean(self._x * self._z, axis=1, keepdims=True)
        self._chosen: Any = None
        self._multipliers: Any = None  # of the upper sides and of the lower sides
        self._best_components = asarray_like(lam, np.zeros((n_problems, self._q), dtype=np.int64))
        self._best_values = asarray_like(lam, np.zeros((n_problems, self._q)))

    # What depends on the coding.

    @abstractmethod
    def _start(self, encoded: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Pairs (x, z) of instances at block weights inside the uncertainty set (problems x B x n)."""

    @abstractmethod
    def bounds_before(self, problems: Sequence[Box]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Lower and upper bounds before any step, and the smallest radii."""

    @abstractmethod
    def _nearness(self) -> Any:
        """How near constraints are to their bounds, by size."""

    @abstractmethod
    def _uppers(self, gain: Any) -> Any:
        """What the multipliers prove from above, with ``gain = tau'mu - lambda'|mu|``."""

    @abstractmethod
    def _lowers(self) -> Any:
        """What the distributions prove from below."""

    @abstractmethod
    def _scales(self) -> Any:
        """What to multiply the coefficients of each problem with, for its upper bound."""

    @abstractmethod
    def _factorise(self, rows: Any) -> Any:
        """Prepare ``_solve`` with the Newton matrices of these scaled rows; tells where that failed."""

    @abstractmethod
    def _solve(self, pushed: Any, pull: Any) -> Any:
        """The step of x; see ``NewtonSystem`` for ``pull``, and ``pushed`` is its target over x."""

    @abstractmethod
    def _weights_of(self, dx: Any) -> Any:
        """Block weights that belong to a step of x (problems B x n)."""

    @abstractmethod
    def _scores_of(self, coefficients: Any) -> Any:
        """Block scores of every instance (problems B x n)."""

    @abstractmethod
    def _moments_of(self, weights: Any) -> Any:
        """What block weights add to the positions of the working sets."""

    # What does not.

    def keep(self, places: IntArray) -> None:
        """Forget the other problems."""
        self._problems = [self._problems[i] for i in places]
        self.algebra.keep(places)
        there = asarray_like(self._x, places)
        for name in self.PER_PROBLEM:
            setattr(self, name, self._xp.take(getattr(self, name), there, axis=0))

    def choose_working_sets(self) -> None:
        """For the next step: the constraints that pull, and of the others the nearest."""
        xp, algebra, old = self._xp, self.algebra, self._chosen
        n_problems, d = self._position.shape
        if self._q < d:
            pulls = None if old is None else self._pulls()
            self._chosen = algebra.nearest(self._nearness(), self._q, old, pulls)
        else:
            self._chosen = asarray_like(self._x, np.tile(np.arange(d), (n_problems, 1)))
        # Newcomers get equal multipliers on their two sides; the others keep theirs.
        multipliers = xp.broadcast_to(self._mean[:, :, None], (n_problems, 2, self._q))
        if old is not None:
            multipliers = algebra.carried_over(self._multipliers, old, self._chosen, multipliers)
        self._multipliers = multipliers
        self._radii = xp.take_along_axis(algebra.columns.lam, self._chosen, axis=1)
        self._rows = algebra.columns.columns(self._chosen)
        self._targets = xp.take_along_axis(algebra.tau, self._chosen, axis=1) / self._radii
        position = xp.take_along_axis(self._position, self._chosen, axis=1)
        self._slack = 1.0 + self._sides * position[:, None, :]
        self._coefficients = multipliers[:, 1, :] - multipliers[:, 0, :]
        self._scores = self._scores_of(self._coefficients)

    def _pulls(self) -> Any:
        """Constraints that cannot leave unnoticed; see the single loop."""
        xp, algebra = self._xp, self.algebra
        size = xp.abs(self._multipliers[:, 1, :] - self._multipliers[:, 0, :]) / self._radii
        order = xp.argsort(size, axis=1)
        together = xp.sqrt(algebra.cumulative_sum(xp.take_along_axis(size, order, axis=1) ** 2))
        notable = together > UNNOTICED * self._mean * float(self._x.shape[1] + 2 * self._q)
        return algebra.unsorted(notable, order)

    def bounds(self) -> tuple[FloatArray, FloatArray, BoolArray]:
        """What the multipliers prove from above, the distributions from below, and which steps failed."""
        xp = self._xp
        gain = xp.sum(self._targets * self._coefficients - xp.abs(self._coefficients), axis=1)
        upper, lower = self._uppers(gain), self._lowers()
        failed = xp.where(self.failed, xp.ones_like(lower), 0.0)
        upper, lower, failed = to_numpy(xp.stack([upper, lower, failed]))
        return upper, lower, failed > 0.0

    def keep_best(self, is_better: BoolArray) -> None:
        """Note the coefficients that prove the upper bounds of some problems."""
        xp, where = self._xp, asarray_like(self._x, is_better[:, None])
        values = self._scales() * self._coefficients / self._radii
        self._best_components = xp.where(where, self._chosen, self._best_components)
        self._best_values = xp.where(where, values, self._best_values)

    def best(self, places: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """Of some problems the coefficients noted, by components and values, and the bounds they prove."""
        components, values = to_numpy(self._best_components)[places], to_numpy(self._best_values)[places]
        return components, values, self._certified(places, components, values)

    def _certified(self, places: IntArray, components: IntArray, values: FloatArray) -> FloatArray:
        """The certificates of some problems, one after the other."""
        bounds = []
        for i, places_of_one, values_of_one in zip(places, components, values, strict=True):
            problem, used = self._problems[i], np.flatnonzero(values_of_one)
            proven = upper_bound_of_some(problem, problem.objective, places_of_one[used], values_of_one[used])
            bounds.append(proven)
        return np.array(bounds)

    def step(self) -> None:
        """One predictor-corrector step of each problem."""
        xp, concat, (n_problems, n_x) = self._xp, self.algebra.concat, self._x.shape
        self._primal = concat([self._x, xp.reshape(self._slack, (n_problems, -1))], axis=1)
        self._dual = concat([self._z, xp.reshape(self._multipliers, (n_problems, -1))], axis=1)
        self._ratio = self._dual / self._primal
        weights = xp.sum(self._multipliers / self._slack, axis=1)
        self.failed = self.failed | self._factorise(self._rows * xp.sqrt(weights)[:, :, None])
        product = self._primal * self._dual
        self._mean = xp.mean(product, axis=1, keepdims=True)
        direction = self._mehrotra(product)
        dx = direction.primal[:, :n_x]
        furthest = self._furthest_step(self._weights_of(dx))
        own = _longest(xp, self._x, dx)
        primal_length = _at_most_one(xp, FRACTION_TO_BOUNDARY * xp.minimum(furthest, own))[:, None]
        dual_length = _at_most_one(xp, FRACTION_TO_BOUNDARY * direction.dual_length)[:, None]
        self.failed = self.failed | ~(xp.isfinite(primal_length) & xp.isfinite(dual_length))[:, 0]
        self._x = self._x + primal_length * dx
        self._z = self._z + dual_length * direction.dual[:, :n_x]
        self._move(primal_length)
        moved = xp.reshape(dual_length * direction.dual[:, n_x:], self._multipliers.shape)
        self._multipliers = self._multipliers + moved

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
        if not self.algebra.may_be_any(is_short):
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
        xp, n_x = self._xp, self._x.shape[1]
        over = target / self._primal
        push = xp.reshape(over[:, n_x:], self._slack.shape)
        dx = self._solve(over[:, :n_x], self._scores_of(push[:, 1, :] - push[:, 0, :]))
        moved = self._moments_of(self._weights_of(dx))
        primal = self.algebra.concat([dx, -moved, moved], axis=1)
        dual = over - self._ratio * primal
        primal_length, dual_length = _longest(xp, self._primal, primal), _longest(xp, self._dual, dual)
        length = _at_most_one(xp, primal_length) + _at_most_one(xp, dual_length)
        return _Directions(primal, dual, primal_length, dual_length, length)

    def _furthest_step(self, weights: Any) -> Any:
        """How many times ``weights`` may be added before a constraint is met: one pass."""
        xp = self._xp
        self._movement = self.algebra.columns.products(weights)
        fastest = self.algebra.fastest(self._movement, self._position)
        self.failed = self.failed | xp.isnan(fastest)
        return xp.where(fastest > 0.0, 1.0 / fastest, xp.inf)

    def _move(self, step: Any) -> None:
        self.algebra.move(self._position, self._movement, step)


class SignedPoints(InteriorPoints):
    """The signed coding; see ``SignedSystem`` for the formulas."""

    def _start(self, encoded: FloatArray) -> tuple[FloatArray, FloatArray]:
        u = encoded[:, 0]
        x = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)], axis=1) + OFFSET / self._n
        return x, np.ones_like(x)

    def bounds_before(self, problems: Sequence[Box]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Lower ones by mixtures of the empirical distribution with u = 0, whose moments are zero."""
        xp, lam, size = self._xp, self.algebra.columns.lam, self._xp.abs(self.algebra.tau)
        theta = xp.min(xp.where(size > lam, lam / size, 1.0), axis=1)
        theta, thinnest = to_numpy(xp.stack([theta, xp.min(lam, axis=1)]))
        difference = np.array([np.abs(problem.centre[0] - problem.centre[1]).sum() for problem in problems])
        return 0.5 - 0.5 * (1.0 - theta) * difference, np.full(len(theta), 0.5), thinnest

    def _nearness(self) -> Any:
        return self._position

    def _certified(self, places: IntArray, components: IntArray, values: FloatArray) -> FloatArray:
        """On a device by the formula of the certificate, for all problems together.

        It is ``1 + lambda'|mu| - tau'mu``, and the largest of ``|score| - 1`` and ``-1/2``.
        """
        if self.algebra.is_numpy:
            return super()._certified(places, components, values)
        xp, columns, chosen, mu = self._xp, self.algebra.columns, self._best_components, self._best_values
        lam, tau = (xp.take_along_axis(each, chosen, axis=1) for each in (columns.lam, self.algebra.tau))
        scores = ((lam * mu)[:, None, :] @ columns.columns(chosen))[:, 0, :]
        penalty = xp.sum(lam * xp.abs(mu) - tau * mu, axis=1)
        excess = xp.max(xp.abs(scores), axis=1) - 1.0
        return to_numpy(1.0 + penalty + xp.where(excess > -0.5, excess, -0.5))[places]

    def _uppers(self, gain: Any) -> Any:
        xp, largest = self._xp, self._largest()
        return 0.5 - 0.5 * xp.where((gain > 0.0) & (largest > 0.0), gain / largest, 0.0)

    def _lowers(self) -> Any:
        return 0.5 - 0.5 * self._xp.sum(self._xp.abs(self._weights_of(self._x)), axis=1)

    def _scales(self) -> Any:
        return 0.5 / self._largest()[:, None]

    def _largest(self) -> Any:
        return self._xp.max(self._xp.abs(self._scores), axis=1)

    def _factorise(self, rows: Any) -> Any:
        """Cholesky factors of ``E + G``."""
        xp, shape = self._xp, (self._x.shape[0], 2, self._n)
        self._residual = (1.0 - xp.reshape(self._z, shape)) + self._sides * self._scores[:, None, :]
        own = xp.reshape(self._ratio[:, : 2 * self._n], shape)
        self._sum = own[:, 0, :] + own[:, 1, :]
        self._crossed = -self._sides * xp.flip(own, axis=1)
        return self.algebra.factorise(rows, own[:, 0, :] * own[:, 1, :] / self._sum)

    def _solve(self, pushed: Any, pull: Any) -> Any:
        xp = self._xp
        difference = xp.reshape(pushed, self._residual.shape) - self._residual
        right = self._crossed * difference
        du = self.algebra.solve((right[:, 0, :] + right[:, 1, :]) / self._sum + pull)
        # dz_p + dz_q is known, which gives the other half of the step without cancellation.
        both = difference[:, 0, :] + difference[:, 1, :]
        dx = (self._crossed * du[:, None, :] + both[:, None, :]) / self._sum[:, None, :]
        return xp.reshape(dx, pushed.shape)

    def _weights_of(self, dx: Any) -> Any:
        return dx[:, : self._n] - dx[:, self._n :]

    def _scores_of(self, coefficients: Any) -> Any:
        return (coefficients[:, None, :] @ self._rows)[:, 0, :]

    def _moments_of(self, weights: Any) -> Any:
        return (self._rows @ weights[:, :, None])[:, :, 0]


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
