"""The vertex of a square face of the one-hot coding, class by class.

Free masses v_k of class k, strictly between 0 and r, meet the active constraints of that class alone, whose
rows on them are F_k; with C_k those on r, the equations of a face (``equations.py``) are

    F_k v_k + C_k r = b_k  for every k,      sum_k 1'v_k + c'r = 1.

With ``F_k = Q_k [R_k; 0]`` the first part of ``Q_k' b_k`` gives ``v_k = R_k^-1 (...)`` once r is known, and
the rest does not contain v_k. So r alone solves the square system

    Q_k2' C_k r = Q_k2' b_k,   (c' - sum_k h_k' Q_k1' C_k) r = 1 - sum_k h_k' Q_k1' b_k,   h_k = R_k^-T 1.

Its transposed system, with ones on the right, gives multipliers beta_k and -phi, and ``M' mu = cost``
becomes ``mu_k = Q_k [-phi h_k; beta_k]``: K factors of the size of a class and one of that of r, instead of
one of the size of all active constraints.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgeqrf, dgetrf, dgetrs, dormqr, dtrtrs

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.engines.face import Face
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet
from minimaxrisk.engines.interior_point.vertices.equations import Vertex, active_rows, normalised, stage_of
from minimaxrisk.problem.problem import Problem


def vertex_by_blocks(problem: Problem, working: WorkingSet, face: Face) -> Vertex | None:
    """The vertex of a square face; None where some class alone, or r alone, does not determine itself."""
    largest = face.is_positive & face.is_largest
    has_largest = largest.any(axis=0)
    instances = np.flatnonzero(has_largest)
    free = face.is_positive & ~largest & has_largest
    rows, right = active_rows(working, face)
    ends = np.searchsorted(face.components, problem.tau.shape[1] * np.arange(len(largest) + 1)).tolist()
    classes: list[_Class] = []
    for k, part in enumerate(map(slice, ends[:-1], ends[1:])):
        mine = np.flatnonzero(free[k])
        if len(mine) > part.stop - part.start:
            return None
        on_r = rows[part][:, instances] * largest[k, instances]
        own = _eliminated(rows[part][:, mine], on_r, right[part], mine)
        if own is None:
            return None
        classes.append(own)
    count = largest[:, instances].sum(axis=0)
    matrix = np.vstack(
        [*(c.on_r[c.n_free :] for c in classes), count - sum(c.unit @ c.on_r[: c.n_free] for c in classes)]
    )
    if matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        return None
    total = 1.0 - sum(float(c.unit @ c.right[: c.n_free]) for c in classes)
    factor, pivots, info = dgetrf(matrix)
    if info != 0:
        return None
    r = dgetrs(factor, pivots, np.append(np.concatenate([c.right[c.n_free :] for c in classes]), total))[0]
    beta = dgetrs(factor, pivots, np.ones(len(instances)), trans=1)[0]
    coefficients, start = np.empty(len(rows)), 0
    w = np.zeros_like(problem.centre)
    w[:, instances] = largest[:, instances] * r
    for k, c in enumerate(classes):
        rest = len(c.right) - c.n_free
        coefficients[ends[k] : ends[k + 1]] = c.multiplied(-beta[-1] * c.unit, beta[start : start + rest])
        w[k, c.free] = c.masses(r)
        start += rest
    if not (np.isfinite(coefficients).all() and np.isfinite(w).all()):
        return None
    return Vertex(stage_of(face.components, coefficients), normalised(np.maximum(w, 0.0)))


@dataclass(frozen=True)
class _Class:
    """One class after its free masses were eliminated: Q' C and Q' b, and R^-T 1."""

    free: IntArray
    factor: FloatArray
    scales: FloatArray  # of the reflectors that Q is the product of
    on_r: FloatArray
    right: FloatArray
    unit: FloatArray

    @property
    def n_free(self) -> int:
        return len(self.free)

    def multiplied(self, first: FloatArray, rest: FloatArray) -> FloatArray:
        """``Q [first; rest]``."""
        return _apply_q(self.factor, self.scales, np.concatenate([first, rest])[:, None], "N")[:, 0]

    def masses(self, r: FloatArray) -> FloatArray:
        if self.n_free == 0:
            return np.empty(0)
        known = self.right[: self.n_free] - self.on_r[: self.n_free] @ r
        return dtrtrs(self.factor[: self.n_free], known)[0]


def _eliminated(on_free: FloatArray, on_r: FloatArray, right: FloatArray, free: IntArray) -> _Class | None:
    n_free = len(free)
    if n_free == 0:
        return _Class(free, np.empty((len(right), 0)), np.empty(0), on_r, right, np.empty(0))
    factor, scales, _, _ = dgeqrf(on_free)
    unit, info = dtrtrs(factor[:n_free], np.ones(n_free), trans=1)
    if info != 0:
        return None
    both = _apply_q(factor, scales, np.column_stack([on_r, right]), "T")
    return _Class(free, factor, scales, both[:, :-1], both[:, -1], unit)


def _apply_q(factor: FloatArray, scales: FloatArray, columns: FloatArray, trans: str) -> FloatArray:
    if len(scales) == 0:
        return columns
    work = max(1, columns.shape[1]) * 32
    product: FloatArray = dormqr("L", trans, factor, scales, np.asfortranarray(columns), work)[0]
    return product
