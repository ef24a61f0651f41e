"""The loop of ``interior_point.predictor_corrector`` for several problems of the same shape at once.

Signed coding, free marginal. For small problems most of the time of the single loop is that of the
interpreter between its steps. Here every step is one operation on arrays whose first index is the problem;
only factors and their solutions are made one by one, by LAPACK. The formulas are those of the single loop.

All working sets have the same size q, so that no array is padded and no number depends on the other problems:
constraints that pull come first, then the nearest ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.batched.shared_columns import SharedColumns
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
from minimaxrisk.engines.solution import Stage
from minimaxrisk.problem.problem import Problem

# Constraints in a working set, per instance.
NEAREST_PER_INSTANCE = 2.0
# The working set is looked for among the constraints that are this near, beside the furthest of the last one.
LOWER_CUT = 0.8
# Slacks of the upper and the lower sides, from positions.
SIDES = np.array([[-1.0], [1.0]])
# What an iterate is made of between two steps.
PER_PROBLEM = (
    *("failed", "_lam", "_target", "_position", "_cut", "_x", "_z", "_mean"),
    *("_chosen", "_multipliers", "_rows", "_targets", "_slack", "_coefficients", "_scores"),
)


class InteriorPoints:
    """The iterates of all problems; arrays have the problem as first index."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.columns = SharedColumns.of(problems)
        self._lam = np.concatenate([problem.lam for problem in problems])
        self._target = np.concatenate([problem.tau for problem in problems]) / self._lam
        centre = np.stack([problem.centre for problem in problems])
        n_problems, _, self._n = centre.shape
        d = self._lam.shape[1]
        self._q = min(d, max(1, int(NEAREST_PER_INSTANCE * self._n)))
        self._position = np.zeros((n_problems, d))
        self._place = np.zeros(n_problems * d, dtype=np.intp)
        self.failed = np.zeros(n_problems, dtype=np.bool_)  # where a step was no number
        u, mass = centre[:, 0] - centre[:, 1], np.stack([everywhere(row) for row in centre.sum(axis=1)])
        away = u.sum(axis=1, keepdims=True) * mass - u
        room = self._furthest_step(away)
        fraction = np.minimum(LARGEST_START, START_TO_BOUNDARY * room)[:, None]
        self._move(fraction)
        u += fraction * away
        self._x = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)], axis=1) + OFFSET / self._n
        self._z = np.ones_like(self._x)
        self._mean = self._x.mean(axis=1, keepdims=True)
        self._cut = np.full(n_problems, np.inf)
        self._chosen = np.empty((n_problems, 0), dtype=np.intp)
        self._multipliers = np.empty((n_problems, 2, 0))  # of the upper sides and of the lower sides

    def keep(self, kept: BoolArray) -> None:
        """Forget the other problems."""
        self.columns.keep(kept)
        for name in PER_PROBLEM:
            setattr(self, name, getattr(self, name)[kept])

    def choose_working_sets(self) -> None:
        """For the next step: the constraints that pull, and of the others the nearest."""
        n_problems, d = self._position.shape
        old, place = self._chosen, self._place
        first = d * np.arange(n_problems)[:, None]
        self._chosen = self._nearest() if self._q < d else np.tile(np.arange(d), (n_problems, 1))
        # Newcomers get equal multipliers on their two sides; the others keep theirs.
        multipliers = np.repeat(self._mean, 2 * self._q, axis=1).reshape(n_problems, 2, self._q)
        if old.shape[1]:
            now = first + self._chosen
            place[now] = -1
            place[first + old] = np.arange(self._q)
            kept = np.take_along_axis(self._multipliers, place[now][:, None, :], axis=2)
            multipliers = np.where(place[now][:, None, :] >= 0, kept, multipliers)
        self._multipliers = multipliers
        self._rows = self.columns.columns(self._chosen)
        self._targets = np.take_along_axis(self._target, self._chosen, axis=1)
        position = np.take_along_axis(self._position, self._chosen, axis=1)
        self._slack = 1.0 + SIDES * position[:, None, :]
        self._coefficients = multipliers[:, 1] - multipliers[:, 0]
        self._scores = self._scores_of(self._coefficients)

    def _nearest(self) -> IntArray:
        """Row by row, which keeps each in cache; the cut of the last time leaves few to choose from."""
        chosen = np.empty((len(self._position), self._q), dtype=np.intp)
        pulls = self._pulls()
        key = np.empty(self._position.shape[1])
        for i, position in enumerate(self._position):
            np.abs(position, out=key)
            key[self._chosen[i, pulls[i]]] = 2.0
            near = np.flatnonzero(key > LOWER_CUT * self._cut[i])
            if len(near) < self._q:
                near = np.arange(len(key))
            size = key[near]
            place = np.argpartition(size, len(near) - self._q)[len(near) - self._q :]
            self._cut[i] = size[place[0]]
            chosen[i] = near[place]
        chosen.sort(axis=1)
        return chosen

    def _pulls(self) -> BoolArray:
        """Constraints that cannot leave unnoticed; see the single loop."""
        size = np.abs(self._multipliers[:, 1] - self._multipliers[:, 0])
        size /= np.take_along_axis(self._lam, self._chosen, axis=1)
        order = np.argsort(size, axis=1)
        together = np.sqrt(np.cumsum(np.square(np.take_along_axis(size, order, axis=1)), axis=1))
        pulls = np.empty(size.shape, dtype=np.bool_)
        notable = together > UNNOTICED * self._mean * (2 * self._n + 2 * self._q)
        np.put_along_axis(pulls, order, notable, axis=1)
        return pulls

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """What the multipliers prove from above, and the distributions from below."""
        gain = (self._targets * self._coefficients - np.abs(self._coefficients)).sum(axis=1)
        largest = np.abs(self._scores).max(axis=1)
        says_something = (gain > 0.0) & (largest > 0.0)
        upper = 0.5 - 0.5 * np.divide(gain, largest, out=np.zeros_like(gain), where=says_something)
        u = self._x[:, : self._n] - self._x[:, self._n :]
        return upper, 0.5 - 0.5 * np.abs(u).sum(axis=1)

    def stage_of(self, i: int) -> Stage:
        """The coefficients that prove the upper bound of one problem."""
        scale = 0.5 / np.abs(self._scores[i]).max()
        return Stage(self._chosen[i], scale * self._coefficients[i] / self._lam[i, self._chosen[i]])

    def step(self) -> None:
        """One predictor-corrector step of each problem."""
        n_problems, n_x = len(self._x), 2 * self._n
        self._primal = np.concatenate([self._x, self._slack.reshape(n_problems, -1)], axis=1)
        self._dual = np.concatenate([self._z, self._multipliers.reshape(n_problems, -1)], axis=1)
        self._ratio = self._dual / self._primal
        self._factorise()
        product = self._primal * self._dual
        self._mean = product.mean(axis=1, keepdims=True)
        direction = self._mehrotra(product)
        furthest = self._furthest_step(direction.primal[:, : self._n] - direction.primal[:, self._n : n_x])
        own = _longest(self._x, direction.primal[:, :n_x])
        primal_length = np.minimum(1.0, FRACTION_TO_BOUNDARY * np.minimum(furthest, own))[:, None]
        dual_length = np.minimum(1.0, FRACTION_TO_BOUNDARY * direction.dual_length)[:, None]
        self.failed |= ~(np.isfinite(primal_length) & np.isfinite(dual_length))[:, 0]
        self._x = self._x + primal_length * direction.primal[:, :n_x]
        self._z = self._z + dual_length * direction.dual[:, :n_x]
        self._move(primal_length)
        moved = (dual_length * direction.dual[:, n_x:]).reshape(n_problems, 2, -1)
        self._multipliers = self._multipliers + moved

    def _factorise(self) -> None:
        """Cholesky factors of ``E + G``; see ``SignedSystem``."""
        n_problems, n, q = len(self._x), self._n, self._q
        x, z = self._x.reshape(n_problems, 2, n), self._z.reshape(n_problems, 2, n)
        self._residual = 1.0 - z
        self._residual += SIDES * self._scores[:, None, :]
        self._own = z / x
        self._sum = self._own[:, 0] + self._own[:, 1]
        weights = self._ratio[:, 2 * n :].reshape(n_problems, 2, q).sum(axis=1)
        scaled = self._rows * np.sqrt(weights)[:, :, None]
        matrix = scaled.transpose(0, 2, 1) @ scaled
        diagonal = matrix.reshape(n_problems, -1)[:, :: n + 1]
        diagonal += self._own[:, 0] * self._own[:, 1] / self._sum
        self._factors = []
        for i in range(n_problems):
            factor, info = dpotrf(matrix[i].T, lower=1, clean=0, overwrite_a=1)
            self._factors.append(factor)
            self.failed[i] |= info != 0

    def _mehrotra(self, product: FloatArray) -> _Directions:
        """Predictor, corrector and centrality corrector; see the single loop."""
        predictor = self._direction(-product)
        after = self._products(predictor, 0.0).mean(axis=1, keepdims=True)
        aim = np.maximum(SMALLEST_CENTRING, (after / self._mean) ** 3) * self._mean
        target = aim - product - predictor.primal * predictor.dual
        corrector = self._direction(target)
        is_short = corrector.length <= LONG_ENOUGH
        if not is_short.any():
            return corrector
        ahead = self._products(corrector, REACH)
        stragglers = np.clip(ahead, aim / SPREAD, aim * SPREAD) - ahead
        centred = self._direction(target + np.maximum(stragglers, -aim * SPREAD))
        return corrector.replaced(centred, is_short & (centred.length > corrector.length + WORTHWHILE))

    def _products(self, direction: _Directions, further: float) -> FloatArray:
        """Products x z at the end of a step, or ``further`` along than it may go."""
        primal_length = np.minimum(1.0, direction.primal_length + further)[:, None]
        dual_length = np.minimum(1.0, direction.dual_length + further)[:, None]
        return (self._primal + primal_length * direction.primal) * (self._dual + dual_length * direction.dual)

    def _direction(self, target: FloatArray) -> _Directions:
        """The Newton step for ``primal d(dual) + dual d(primal) = target``."""
        n_problems, n, q = len(target), self._n, self._q
        push = target[:, 2 * n :] / self._primal[:, 2 * n :]
        pushed = (target[:, : 2 * n] / self._x).reshape(n_problems, 2, n)
        difference = pushed - self._residual
        crossed = self._own[:, ::-1]
        right = crossed * difference
        right = (right[:, 0] - right[:, 1]) / self._sum + self._scores_of(push[:, q:] - push[:, :q])
        du = np.empty_like(right)
        for i, factor in enumerate(self._factors):
            du[i] = dpotrs(factor, right[i], lower=1)[0]
        # dz_p + dz_q is known, which gives the other half of the step without cancellation.
        dx = crossed * du[:, None, :]
        np.negative(dx[:, 1], out=dx[:, 1])
        dx += difference.sum(axis=1, keepdims=True)
        dx /= self._sum[:, None, :]
        moved = (self._rows @ (dx[:, 0] - dx[:, 1])[:, :, None])[:, :, 0]
        dx = dx.reshape(n_problems, -1)
        primal = np.concatenate([dx, -moved, moved], axis=1)
        dual = np.concatenate([pushed.reshape(n_problems, -1), push], axis=1) - self._ratio * primal
        return _Directions(primal, dual, _longest(self._primal, primal), _longest(self._dual, dual))

    def _scores_of(self, coefficients: FloatArray) -> FloatArray:
        return (coefficients[:, None, :] @ self._rows)[:, 0]

    def _furthest_step(self, weights: FloatArray) -> FloatArray:
        """How many times ``weights`` may be added to each u before a constraint is met: one pass."""
        self._movement = self.columns.products(weights)
        fastest, speed = np.empty(len(weights)), np.empty(self._position.shape[1])
        for i, movement in enumerate(self._movement):
            # Of the two bounds, -1 and 1, a movement can only meet the one it points to.
            np.copysign(1.0, movement, out=speed)
            speed -= self._position[i]
            np.divide(movement, speed, out=speed)
            fastest[i] = speed.max()
        self.failed |= np.isnan(fastest)
        return np.divide(1.0, fastest, out=np.full_like(fastest, np.inf), where=fastest > 0.0)

    def _move(self, step: FloatArray) -> None:
        self._movement *= step
        self._position += self._movement


@dataclass
class _Directions:
    """Newton steps, and how far primal and dual may follow them."""

    primal: FloatArray
    dual: FloatArray
    primal_length: FloatArray
    dual_length: FloatArray

    @property
    def length(self) -> FloatArray:
        return np.minimum(1.0, self.primal_length) + np.minimum(1.0, self.dual_length)

    def replaced(self, other: _Directions, where: BoolArray) -> _Directions:
        for name, values in vars(self).items():
            values[where] = getattr(other, name)[where]
        return self


def _longest(values: FloatArray, direction: FloatArray) -> FloatArray:
    """The steps at which the first of the positive ``values`` becomes zero; NaN is passed on."""
    fastest = -(direction / values).min(axis=1)
    return np.where(fastest <= 0.0, np.inf, 1.0 / fastest)
