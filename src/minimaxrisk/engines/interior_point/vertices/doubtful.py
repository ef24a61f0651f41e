"""Square faces next to a guess that is not square: what is most in doubt changes sides.

A face divides pairs (x, z) of a mass and its multiplier, and pairs (s, y) of a slack and its multiplier, by
which of the two is the larger one. Where the optimum is one vertex there are as many masses as equations. A
guess with one mass too many has put a pair on the wrong side, most likely the one whose two numbers are
nearest to each other: ``|log x/z|`` is its certainty, and those that would mend the guess are tried in its
order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.engines.face import Face
from minimaxrisk.engines.interior_point.predictor_corrector import InteriorPoint

# Faces tried if few pairs are on the wrong side; if more, one. With still more of them the guess is no guess.
TRIES, FEW_CHANGES = 3, 2
MOST_CHANGES = 8


def square_faces_near(point: InteriorPoint, face: Face) -> Iterator[Face]:
    """Square faces that differ from ``face`` in as few pairs as possible, the most doubtful ones first."""
    needed = abs(face.surplus)
    if not 0 < needed <= MOST_CHANGES:
        return
    moves = _Moves(point, face)
    order = moves.by_doubt()[: needed + (TRIES if needed <= FEW_CHANGES else 1) - 1]
    if len(order) < needed:
        return
    # All but the last place go to the most doubtful ones; the last goes round.
    for last in order[needed - 1 :]:
        moved = moves.after(np.append(order[: needed - 1], last))
        if moved.is_square:
            yield moved


class _Moves:
    """Pairs that may change sides: masses that become zero or positive, largest or not, and constraints."""

    def __init__(self, point: InteriorPoint, face: Face) -> None:
        self._point, self._face = point, face
        mass, room = _certainty_of_masses(point)
        grows = face.surplus < 0
        largest = face.is_positive & face.is_largest
        n_largest = largest.sum(axis=0)
        if point.problem.coding.name == "signed":
            positive = face.is_positive & ~face.is_full
            first_empty = ~face.is_positive.any(axis=0) & (mass >= mass.max(axis=0))
            may_appear = first_empty if grows else positive
            # With known masses a mass may also become full, or cease to be.
            may_join = face.is_positive & (face.is_full if grows else ~face.is_full)
            may_join &= point.problem.marginal.is_known
        elif grows:
            may_appear = ~face.is_positive & ~face.is_largest & (n_largest > 0)
            may_join = largest & (n_largest > 1)
        else:
            is_free = face.is_positive & ~largest & (n_largest > 0)
            alone = largest & (face.is_positive.sum(axis=0) == 1) & (not point.problem.marginal.is_known)
            may_appear, may_join = is_free | alone, is_free
        ratio = _certainty_of_constraints(point)
        is_active = np.isin(point.working.components, face.components, assume_unique=True)
        self._n = mass.size
        certainty = np.concatenate([np.abs(mass).ravel(), np.abs(room).ravel(), np.abs(ratio.max(axis=0))])
        allowed = np.concatenate([may_appear.ravel(), may_join.ravel(), is_active if grows else ~is_active])
        self._certainty: FloatArray = np.where(allowed, certainty, np.inf)
        self._side = np.where(ratio[0] > ratio[1], 1.0, -1.0)
        self._is_active: BoolArray = is_active

    def by_doubt(self) -> IntArray:
        order = np.argsort(self._certainty, kind="stable")
        return order[np.isfinite(self._certainty[order])]

    def after(self, moves: IntArray) -> Face:
        face, n = self._face, self._n
        is_positive, is_largest, is_full = (
            face.is_positive.copy(),
            face.is_largest.copy(),
            face.is_full.copy(),
        )
        for move in moves[moves < n]:
            is_positive.flat[move] ^= True
        for move in moves[(moves >= n) & (moves < 2 * n)]:
            if self._point.problem.coding.name == "signed":
                is_full[(move - n) % face.is_full.size] ^= True
            else:
                is_largest.flat[move - n] ^= True
        is_active = self._is_active.copy()
        is_active[moves[moves >= 2 * n] - 2 * n] ^= True
        side = self._side.copy()
        side[np.searchsorted(self._point.working.components, face.components)] = face.side
        active = np.flatnonzero(is_active)
        return replace(
            face,
            components=self._point.working.components[active],
            side=side[active],
            is_positive=is_positive,
            is_largest=is_largest,
            is_full=is_full,
        )


def _certainty_of_masses(point: InteriorPoint) -> tuple[FloatArray, FloatArray]:
    """``log x/z`` of the masses and of the room that they leave (K x n each), on the scale of the guess.

    That room is r - w, or what is left of a known mass; the signed coding with free masses has none.
    """
    problem, system = point.problem, point.system
    n_classes, n = problem.centre.shape
    with np.errstate(divide="ignore"):
        ratio = np.log(system.x / system.z).reshape(-1, n)
        if problem.marginal.is_known:
            ratio -= np.log(problem.centre.sum(axis=0))
        else:
            ratio -= np.log(system.x.max() if len(ratio) == n_classes else system.distribution().max())
    mass = ratio[:n_classes]
    room = np.zeros_like(mass)
    if len(ratio) > n_classes:
        room[:] = ratio[n_classes:]
    return mass, room


def _certainty_of_constraints(point: InteriorPoint) -> FloatArray:
    """``log y/s`` of the upper and the lower sides, on the scale of the guess."""
    with np.errstate(divide="ignore"):
        return np.log(point.ratios()) - np.log(point.multipliers.max(initial=0.0))
