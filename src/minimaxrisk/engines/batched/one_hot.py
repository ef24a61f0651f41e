"""Iterates of many problems of the one-hot coding; see ``OneHotSystem`` for the formulas.

The Newton matrix of a class, M = G + A + B, is inverted, and so is the Schur complement of r, which subtracts
``B M^-1 B`` from B. That loses digits near the optimum, where B is by far the largest term, and is accurate
enough for the gaps that members of ensembles and permutations need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.batched.points import InteriorPoints
from minimaxrisk.engines.interior_point.systems import OFFSET
from minimaxrisk.engines.solution import NOTHING, always_one_class
from minimaxrisk.problem.problem import Box, upper_bound_of_some
from minimaxrisk.problem.rule import instance_thresholds


class OneHotPoints(InteriorPoints):
    """x = (w, r - w) and z = (a, b), a row of 2 K n numbers for each problem."""

    PER_PROBLEM: ClassVar[tuple[str, ...]] = (*InteriorPoints.PER_PROBLEM, "_near")
    _divided: IntArray | None = None  # the working sets that ``_division`` is about
    _division: list[tuple[int, int, slice]]

    def _start(self, encoded: FloatArray) -> tuple[FloatArray, FloatArray]:
        room = encoded.max(axis=1, keepdims=True) + OFFSET / self._n - encoded
        x = np.concatenate([encoded, room], axis=1).reshape(len(encoded), -1)
        return x, np.full_like(x, 1.0 / self._n_blocks)

    def bounds_before(self, problems: Sequence[Box]) -> tuple[FloatArray, FloatArray, FloatArray]:
        upper = np.empty(len(problems))
        for i, problem in enumerate(problems):
            stage = always_one_class(problem) or NOTHING
            upper[i] = upper_bound_of_some(problem, problem.objective, stage.components, stage.values)
            used = len(stage.components)
            self._best_components[i, :used], self._best_values[i, :used] = stage.components, stage.values
        return np.zeros(len(problems)), upper, np.array([problem.smallest_radius for problem in problems])

    def _move(self, step: FloatArray) -> None:
        """Also note how near each constraint is, here or where a step of one would have ended.

        What stopped the step was a constraint that the working set did not know of; see the single loop.
        """
        self._near = np.empty_like(self._position)
        rows = zip(self._position, self._movement, self._near, step, strict=True)
        for position, movement, near, length in rows:
            np.add(position, movement, out=near)
            np.abs(near, out=near)
            np.multiply(movement, length, out=movement)
            np.add(position, movement, out=position)
            np.maximum(near, np.abs(position, out=movement), out=near)

    def _nearness(self) -> FloatArray:
        return self._near

    def _uppers(self, gain: FloatArray) -> FloatArray:
        by_class = self._scores.swapaxes(0, 1).reshape(self._n_blocks, -1)
        phi = instance_thresholds(by_class).reshape(-1, self._n)
        return 1.0 - gain + phi.max(axis=1)

    def _lowers(self) -> FloatArray:
        w = self._pairs(self._x)[:, 0]
        return 1.0 - w.max(axis=1).sum(axis=1) / w.sum(axis=(1, 2))

    def _scales(self) -> float:
        return 1.0

    def _pairs(self, values: FloatArray) -> FloatArray:
        """Problems x 2 x K x n."""
        return values.reshape(len(values), 2, self._n_blocks, self._n)

    def _factorise(self, rows: FloatArray) -> BoolArray:
        w, z, ratio = self._pairs(self._x)[:, 0], self._pairs(self._z), self._ratio[:, : self._x.shape[1]]
        lower, self._upper = self._pairs(ratio).swapaxes(0, 1)
        # phi is what the residual leaves open: its mean.
        self._residual = self._scores + z[:, 0] - z[:, 1]
        self._residual -= self._residual.mean(axis=(1, 2), keepdims=True)
        self._mass_residual = 1.0 - z[:, 1].sum(axis=1)
        self._excess = w.sum(axis=(1, 2)) - 1.0
        matrices = np.empty((*w.shape, self._n))
        for i, k, part in self._parts():
            np.dot(rows[i, part].T, rows[i, part], out=matrices[i, k])
        self._inverses, failed = _inverses(matrices.reshape(-1, self._n, self._n), (lower + self._upper))
        b = self._upper.reshape(-1, self._n)
        taken = (self._inverses * b[:, :, None] * b[:, None, :]).reshape(matrices.shape).sum(axis=1)
        self._inverses_for_r, failed_for_r = _inverses(-taken, self._upper.sum(axis=1))
        unit = np.ones(w.shape)
        self._unit = self._solved(unit, np.zeros_like(self._mass_residual))
        return failed.reshape(-1, self._n_blocks).any(axis=1) | failed_for_r

    def _solve(self, pushed: FloatArray, pull: FloatArray) -> FloatArray:
        of_w, of_room = self._pairs(pushed).swapaxes(0, 1)
        g = self._residual + pull + of_w - of_room
        step = self._solved(g, of_room.sum(axis=1) - self._mass_residual)
        # The masses add up to one, also where rounding has added something so far.
        dphi = (step[:, 0].sum(axis=(1, 2)) + self._excess) / self._unit[:, 0].sum(axis=(1, 2))
        step -= dphi[:, None, None, None] * self._unit
        return step.reshape(pushed.shape)

    def _solved(self, g: FloatArray, g_r: FloatArray) -> FloatArray:
        """dw and dr - dw for ``(G + A + B) dw - B dr = g``, ``sum_k B (dr - dw) = g_r``."""
        dw = self._times_inverses(g)
        right = g_r + (self._upper * dw).sum(axis=1)
        dr = (self._inverses_for_r @ right[:, :, None]).swapaxes(1, 2)
        dw += self._times_inverses(self._upper * dr)
        return np.stack([dw, dr - dw], axis=1)

    def _times_inverses(self, g: FloatArray) -> FloatArray:
        return (self._inverses @ g.reshape(-1, self._n, 1)).reshape(g.shape)

    def _weights_of(self, dx: FloatArray) -> FloatArray:
        return self._pairs(dx)[:, 0].reshape(-1, self._n)

    def _parts(self) -> list[tuple[int, int, slice]]:
        """Problem, class and where its constraints are in the working set, whose components are ascending."""
        if self._divided is not self._chosen:
            self._divided, bounds = self._chosen, self._d * np.arange(self._n_blocks + 1)
            ends = [chosen.searchsorted(bounds).tolist() for chosen in self._chosen]
            self._division = [
                (i, k, slice(*of_one[k : k + 2]))
                for i, of_one in enumerate(ends)
                for k in range(self._n_blocks)
            ]
        return self._division

    def _scores_of(self, coefficients: FloatArray) -> FloatArray:
        scores = np.empty((len(coefficients), self._n_blocks, self._n))
        for i, k, part in self._parts():
            np.dot(coefficients[i, part], self._rows[i, part], out=scores[i, k])
        return scores

    def _moments_of(self, weights: FloatArray) -> FloatArray:
        moments, weights = np.empty(self._chosen.shape), weights.reshape(-1, self._n_blocks, self._n)
        for i, k, part in self._parts():
            np.dot(self._rows[i, part], weights[i, k], out=moments[i, part])
        return moments


def _inverses(matrices: FloatArray, diagonal: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Of matrices, which are overwritten, with something added to their diagonals; and which failed."""
    n = matrices.shape[1]
    matrices.reshape(len(matrices), -1)[:, :: n + 1] += diagonal.reshape(-1, n)
    failed = np.zeros(len(matrices), dtype=np.bool_)
    for i, matrix in enumerate(matrices):
        factor, info = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        failed[i] = info != 0 or dpotri(factor, lower=1, overwrite_c=1)[1] != 0
    # In the order of rows here, LAPACK has left the upper triangles.
    is_above = np.tri(n, dtype=np.bool_).T
    return np.where(is_above, matrices, matrices.swapaxes(1, 2)), failed
