"""The Newton systems of the interior points: one per coding, two more where masses are known.

A program is about pairs of non-negative numbers (x, z), primal and dual, that belong to instances, and about
constraints on moments, which the systems know by a ``Coupling`` alone. A system eliminates everything but the
masses that enter the moments and asks the coupling for a side, the factors of one matrix per problem. The
same systems serve boxes and balls.

The first axis of all arrays counts problems (P); K counts classes, B blocks of coefficients, n instances.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray, stacked
from minimaxrisk.engines.interior_point.sides import Coupling, Moved
from minimaxrisk.matrices.moments import Coding
from minimaxrisk.problem.problem import Box
from minimaxrisk.problem.rule import instance_thresholds

# What the start adds to every primal number, in units of 1/n, so that none begins near zero.
OFFSET = 0.5
# Signs of the scores in the multipliers of both labels, for the signed coding.
SIGNS = np.array([[1.0], [-1.0]])

# Masses that seem positive at the optimum and those that seem the largest of their instance (K x n each), and
# instances whose known mass seems to be all on one label.
Support = tuple[BoolArray, BoolArray, BoolArray]


class NewtonSystem(ABC):
    """Pairs (x, z) that belong to instances, and how to solve for their Newton step.

    Attributes
    ----------
    x, z : arrays of shape (P, N)
        The primal numbers and their dual partners, of several kinds for each instance.
    """

    x: FloatArray
    z: FloatArray
    # What a step makes up for: errors of the stationarity, and of sums of masses and of multipliers.
    _residual: FloatArray
    _excess: FloatArray
    _missing: FloatArray

    def __init__(self, start: FloatArray) -> None:
        """Begin at distributions (P x K x n) inside the uncertainty sets."""
        self._n_classes, self._n = start.shape[1:]
        self._masses = start.sum(axis=1)  # of instances, where they are known

    def _by_kind(self, values: FloatArray) -> FloatArray:
        return values.reshape(len(values), -1, self._n)

    def keep(self, places: IntArray) -> None:
        """Forget all other problems."""
        self.x, self.z, self._masses = self.x[places], self.z[places], self._masses[places]

    def at(self, x: FloatArray, z: FloatArray) -> NewtonSystem:
        """Return the same system with other numbers."""
        moved = copy(self)
        moved.x, moved.z = x, z
        return moved

    @abstractmethod
    def distributions(self) -> FloatArray:
        """Return the distributions that x stands for (P x K x n)."""

    def lower_bounds(self) -> FloatArray:
        """Return the values of the distributions (P)."""
        return 1.0 - self.distributions().max(axis=1).sum(axis=1)

    @abstractmethod
    def upper_bounds(self, gain: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the bounds that multipliers with these block scores prove, and factors to scale them with.

        ``gain`` is the part of the bound that does not depend on the scores, ``tau'mu - lambda'|mu|`` for a
        box (P); scores are P x B x n.
        """

    def support(self) -> Support:
        """Return what seems to be positive at the optimum of a single problem."""
        is_positive = self._by_kind(self.x > self.x.max() * self.z)[0]
        return is_positive, np.ones_like(is_positive), np.zeros(self._n, dtype=np.bool_)

    @abstractmethod
    def block_weights(self, dx: FloatArray) -> FloatArray:
        """Return the change of the masses that enter the moments (P x B x n)."""

    @abstractmethod
    def factorise(self, coupling: Coupling, ratio: FloatArray, scores: FloatArray) -> BoolArray:
        """Prepare ``solve`` and return for which problems that failed.

        ``ratio`` is z / x and ``scores`` are those of the multipliers (P x B x n).
        """

    @abstractmethod
    def solve(self, rhs: FloatArray, multiplier_pull: FloatArray) -> tuple[FloatArray, Moved]:
        """Return the step of x for ``dz + ratio dx = rhs``, and the changes of moments where known.

        ``multiplier_pull`` (P x B x n) holds the scores of the part of the multipliers' change that does not
        depend on the step.
        """

    def respond(self, multiplier_pull: FloatArray) -> FloatArray:
        """Return the part of the step of x that is due to ``multiplier_pull``, to which it is linear."""
        linear = copy(self)
        linear._residual = linear._excess = linear._missing = np.zeros(())
        return linear.solve(np.zeros_like(self.x), multiplier_pull)[0]


def start_system(problems: Sequence[Box], start: FloatArray) -> NewtonSystem:
    """Return the system of problems of one coding, begun at distributions inside the uncertainty sets."""
    first = problems[0]
    return system_class(first.coding, is_known=first.marginal.is_known)(start)


def system_class(coding: Coding, *, is_known: bool) -> type[NewtonSystem]:
    """Return the class of system of a coding, with known masses of instances or without."""
    if coding.n_blocks == 1:
        return KnownSignedSystem if is_known else SignedSystem
    return KnownOneHotSystem if is_known else OneHotSystem


class SignedSystem(NewtonSystem):
    """``min sum(p + q)`` with ``u = p - q`` in the moments: the signed coding.

    Only u = w_0 - w_1 enters the moments, and the Bayes error is ``(1 - sum |u|)/2``. x = (p, q), and the
    multipliers of p, q >= 0 are z = 1 -+ score. With e = z/x the part p + q is diagonal, and

        (E + G) du = right,   E = e_p e_q / (e_p + e_q).
    """

    def __init__(self, start: FloatArray) -> None:
        super().__init__(start)
        u = start[:, 0] - start[:, 1]
        self.x = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)], axis=1) + OFFSET / self._n
        self.z = np.ones_like(self.x)

    def _difference(self) -> FloatArray:
        return self.x[:, : self._n] - self.x[:, self._n :]

    def distributions(self) -> FloatArray:
        return stacked([distribution_with_difference(u) for u in self._difference()])

    def lower_bounds(self) -> FloatArray:
        return 0.5 - 0.5 * np.abs(self._difference()).sum(axis=1)

    def upper_bounds(self, gain: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``1 - t gain + max(t max|score| - 1, -1/2)`` at the best scale t, where both terms are equal."""
        largest = np.abs(scores).max(axis=(1, 2))
        proves = (gain > 0.0) & (largest > 0.0)
        scale = np.where(proves, 0.5 / np.where(proves, largest, 1.0), 0.0)
        return 0.5 - scale * gain, scale

    def block_weights(self, dx: FloatArray) -> FloatArray:
        return (dx[:, : self._n] - dx[:, self._n :])[:, None]

    def factorise(self, coupling: Coupling, ratio: FloatArray, scores: FloatArray) -> BoolArray:
        e = self._by_kind(ratio)
        self._residual = 1.0 - self._by_kind(self.z) - SIGNS * scores
        self._sum = e[:, :1] + e[:, 1:]
        self._shares = SIGNS * e[:, ::-1] / self._sum  # of du in dp and dq
        self._side = coupling.diagonal(e[:, :1] * self._shares[:, :1])
        return self._side.failed

    def solve(self, rhs: FloatArray, multiplier_pull: FloatArray) -> tuple[FloatArray, Moved]:
        difference = self._by_kind(rhs) - self._residual
        right = self._shares * difference
        du, moved = self._side.solve(right[:, :1] + right[:, 1:] + multiplier_pull)
        # dz_p + dz_q is known, which gives the other half of the step without cancellation.
        dx = self._shares * du
        dx += (difference[:, :1] + difference[:, 1:]) / self._sum
        return dx.reshape(rhs.shape), moved


def distribution_with_difference(u: FloatArray) -> FloatArray:
    """A distribution with w_0 - w_1 = u (2 x n); the rest of the mass has both labels alike."""
    positive = np.maximum(u, 0.0)
    w = np.array([positive, positive - u])
    w += max(0.0, 1.0 - float(w.sum())) / w.size
    return w


class KnownSignedSystem(NewtonSystem):
    """``min sum(p + q)`` with ``u = p - q`` in the moments and ``p + q + v = m``, the instance's mass.

    v is the part of the mass that carries both labels alike. x = (p, q, v), and with t >= 0 the multiplier
    of v the stationarity is ``z = (1 - score + t, 1 + score + t, t)``: scores beyond 1 cost their excess.
    With e = z/x, everything but du is eliminated per instance, by sums of positive terms:

        (E + G) du = right,   E = (e_p e_q + e_v (e_p + e_q)) / (e_p + e_q + 4 e_v).
    """

    def __init__(self, start: FloatArray) -> None:
        super().__init__(start)
        alike = start.min(axis=1)
        self.x = np.concatenate([start[:, 0] - 0.5 * alike, start[:, 1] - 0.5 * alike, alike], axis=1)
        self.z = np.tile(np.repeat([2.0, 2.0, 1.0], self._n), (len(start), 1))

    def distributions(self) -> FloatArray:
        x = self._by_kind(self.x)
        w = x[:, :2] + 0.5 * x[:, 2:]
        return w * (self._masses / w.sum(axis=1))[:, None]

    def upper_bounds(self, gain: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``(1 - t gain + sum_i m_i (t |score_i| - 1)_+) / 2`` at the best scale t.

        Convex and piecewise linear in t: its slope, -gain at first, grows by ``m_i |score_i|`` at each kink
        ``1 / |score_i|``, and the kink at which it turns positive is the best one.
        """
        bounds, scales = np.full(len(gain), 0.5), np.zeros(len(gain))
        for i, (masses, size) in enumerate(zip(self._masses, np.abs(scores[:, 0]), strict=True)):
            order = np.argsort(-size, kind="stable")
            slope = np.cumsum((masses * size)[order]) - gain[i]
            turns = int(np.argmax(slope >= 0.0))
            if gain[i] > 0.0 and slope[turns] >= 0.0:
                t = 1.0 / float(size[order[turns]])
                excess = float(masses @ np.maximum(t * size - 1.0, 0.0))
                bounds[i], scales[i] = 0.5 * (1.0 - t * gain[i] + excess), 0.5 * t
        return bounds, scales

    def support(self) -> Support:
        x = self._by_kind(self.x)[0]
        is_large = x > self._masses * self._by_kind(self.z)[0]
        is_positive = is_large[:2] & (x[:2] >= x[1::-1])
        # Where nothing is left to carry both labels alike, the mass is all on one.
        return is_positive, np.ones_like(is_positive), is_positive.any(axis=0) & ~is_large[2]

    def block_weights(self, dx: FloatArray) -> FloatArray:
        x = self._by_kind(dx)
        return x[:, :1] - x[:, 1:2]

    def factorise(self, coupling: Coupling, ratio: FloatArray, scores: FloatArray) -> BoolArray:
        z = self._by_kind(self.z)
        self._residual = 1.0 + z[:, 2:] - z[:, :2] - SIGNS * scores
        e_p, e_q, e_v = np.split(self._by_kind(ratio), 3, axis=1)
        self._for_p, self._for_q, self._for_v = e_q + 2.0 * e_v, e_p + 2.0 * e_v, e_p - e_q
        self._sum = e_p + e_q + 4.0 * e_v
        self._side = coupling.diagonal((e_p * e_q + e_v * (e_p + e_q)) / self._sum)
        return self._side.failed

    def solve(self, rhs: FloatArray, multiplier_pull: FloatArray) -> tuple[FloatArray, Moved]:
        by_kind = self._by_kind(rhs)
        a, b = np.split(by_kind[:, :2] - self._residual - by_kind[:, 2:], 2, axis=1)
        du, moved = self._side.solve((self._for_p * a - self._for_q * b) / self._sum + multiplier_pull)
        both = a + b
        parts = [both + self._for_p * du, both - self._for_q * du, self._for_v * du - 2.0 * both]
        return (np.concatenate(parts, axis=1) / self._sum).reshape(len(du), -1), moved


class SystemWithPhi(NewtonSystem):
    """A system whose masses sum to one, with the multiplier phi.

    Masses come first in x. The step is linear in phi, whatever it was before, and phi is chosen so that the
    mass becomes one; that also takes back what rounding has added to it so far.
    """

    def _mass(self, x: FloatArray) -> FloatArray:
        return x[:, : self._n_classes * self._n].sum(axis=1)

    def _set_unit(self, dx: FloatArray, moved: Moved) -> None:
        """Keep what a change of phi by -1 does."""
        self._unit, self._unit_moved, self._excess = dx, moved, self._mass(self.x) - 1.0

    def _with_mass_one(self, dx: FloatArray, moved: Moved) -> tuple[FloatArray, Moved]:
        dphi = (self._mass(dx) + self._excess) / self._mass(self._unit)
        moved = [
            None if own is None or unit is None else own - change * unit
            for own, unit, change in zip(moved, self._unit_moved, dphi, strict=True)
        ]
        return dx - dphi[:, None] * self._unit, moved


class OneHotSystem(SystemWithPhi):
    """``min sum r`` over ``0 <= w <= r``, ``sum w = 1``, with w itself in the moments: the one-hot coding.

    x = (w, r - w) and z = (a, b), with stationarity ``score - phi = b - a`` and ``sum_y b = 1``. Per class

        (G + A + B) dw - B dr = g,   A = a/w,  B = b/(r - w),

    and one equation for dr.
    """

    def __init__(self, start: FloatArray) -> None:
        super().__init__(start)
        slack = start.max(axis=1, keepdims=True) + OFFSET / self._n - start
        self.x = np.concatenate([start, slack], axis=1).reshape(len(start), -1)
        self.z = np.full_like(self.x, 1.0 / self._n_classes)

    def _pairs(self, values: FloatArray) -> FloatArray:
        """P x 2 x K x n."""
        return values.reshape(len(values), 2, self._n_classes, self._n)

    def distributions(self) -> FloatArray:
        w = self._pairs(self.x)[:, 0]
        return w / w.sum(axis=(1, 2), keepdims=True)

    def upper_bounds(self, gain: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        return 1.0 - gain + _thresholds(scores).max(axis=1), np.ones(len(gain))

    def support(self) -> Support:
        x, z = self._pairs(self.x)[0], self._pairs(self.z)[0]
        is_large = x > self.distributions().max() * z
        return is_large[0], ~is_large[1], np.zeros(self._n, dtype=np.bool_)

    def block_weights(self, dx: FloatArray) -> FloatArray:
        return self._pairs(dx)[:, 0]

    def factorise(self, coupling: Coupling, ratio: FloatArray, scores: FloatArray) -> BoolArray:
        z = self._pairs(self.z)
        self._residual = self._without_phi(scores + z[:, 0] - z[:, 1])
        self._missing = 1.0 - z[:, 1].sum(axis=1)
        return self._factorise(coupling, *self._pairs(ratio).swapaxes(0, 1))

    def _without_phi(self, residual: FloatArray) -> FloatArray:
        return residual - residual.mean(axis=(1, 2), keepdims=True)

    def _factorise(self, coupling: Coupling, lower: FloatArray, upper: FloatArray) -> BoolArray:
        self._side = coupling.epigraph(lower, upper)
        unit, moved = self._side.solve(np.ones_like(lower), np.zeros((len(lower), self._n)))
        self._set_unit(unit.reshape(len(unit), -1), moved)
        return self._side.failed

    def solve(self, rhs: FloatArray, multiplier_pull: FloatArray) -> tuple[FloatArray, Moved]:
        by_kind = self._pairs(rhs)
        g = self._residual + multiplier_pull + by_kind[:, 0] - by_kind[:, 1]
        dx, moved = self._side.solve(g, by_kind[:, 1].sum(axis=1) - self._missing)
        return self._with_masses(dx.reshape(rhs.shape), moved)

    def _with_masses(self, dx: FloatArray, moved: Moved) -> tuple[FloatArray, Moved]:
        """Choose phi so that the masses become what they should be."""
        return self._with_mass_one(dx, moved)


def _thresholds(scores: FloatArray) -> FloatArray:
    """Return phi of each instance (P x n) from scores (P x K x n)."""
    if len(scores) == 1:
        return instance_thresholds(scores[0])[None]
    by_class = scores.swapaxes(0, 1).reshape(scores.shape[1], -1)
    return instance_thresholds(by_class).reshape(len(scores), -1)


class KnownOneHotSystem(OneHotSystem):
    """``OneHotSystem`` with ``sum_y w = m`` at every instance, each with a phi of its own."""

    def distributions(self) -> FloatArray:
        w = self._pairs(self.x)[:, 0]
        return w * (self._masses / w.sum(axis=1))[:, None]

    def upper_bounds(self, gain: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        return 1.0 - gain + (self._masses * _thresholds(scores)).sum(axis=1), np.ones(len(gain))

    def support(self) -> Support:
        x, z = self._pairs(self.x)[0], self._pairs(self.z)[0]
        is_large = (x / self._masses[0]) > z
        is_positive, is_largest = is_large[0], ~is_large[1]
        # Some label has the largest mass of every instance.
        largest = x[0].argmax(axis=0), np.arange(self._n)
        is_positive[largest] = is_largest[largest] = True
        return is_positive, is_largest, np.zeros(self._n, dtype=np.bool_)

    def _without_phi(self, residual: FloatArray) -> FloatArray:
        return residual - residual.mean(axis=1, keepdims=True)

    def _factorise(self, coupling: Coupling, lower: FloatArray, upper: FloatArray) -> BoolArray:
        self._side = coupling.known_epigraph(lower, upper)
        self._excess = self._pairs(self.x)[:, 0].sum(axis=1) - self._masses
        return self._side.failed

    def _with_masses(self, dx: FloatArray, moved: Moved) -> tuple[FloatArray, Moved]:
        return self._side.corrected(self._pairs(dx), self._excess).reshape(dx.shape), [None] * len(dx)


class ExpectedLossSystem(SystemWithPhi):
    """``max sum loss w`` over distributions w: the largest expected loss of a fixed rule.

    x = w. With e = z/x and du the change of a block's weights, ``(E + G) du = right``. For the signed coding
    ``u = w_0 - w_1`` and ``E = e_0 e_1 / (e_0 + e_1)``, as for the minimax risk; for the one-hot coding every
    class has a block of its own, with E = e.
    """

    def __init__(self, loss: FloatArray, coding: Coding, start: FloatArray) -> None:
        super().__init__(start)
        self._loss, self._coding = loss, coding
        self.x = start.reshape(len(start), -1).copy()
        self.z = (float(loss.max()) + 1.0 - loss).reshape(1, -1)

    def distributions(self) -> FloatArray:
        return self._by_kind(self.x)

    def lower_bounds(self) -> FloatArray:
        return (self._loss * self.distributions()).sum(axis=(1, 2))

    def upper_bounds(self, gain: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        largest = (self._loss + self._of_labels(scores)).max(axis=(1, 2))
        return largest - gain, np.ones(len(gain))

    def block_weights(self, dx: FloatArray) -> FloatArray:
        w = self._by_kind(dx)
        return w[:, :1] - w[:, 1:] if self._coding.n_blocks == 1 else w

    def _of_labels(self, scores: FloatArray) -> FloatArray:
        return SIGNS * scores if self._coding.n_blocks == 1 else scores

    def factorise(self, coupling: Coupling, ratio: FloatArray, scores: FloatArray) -> BoolArray:
        self._ratio = e = self._by_kind(ratio)
        residual = -self._loss - self._of_labels(scores) - self._by_kind(self.z)
        self._residual = residual - residual.mean(axis=(1, 2), keepdims=True)
        is_signed = self._coding.n_blocks == 1
        self._side = coupling.diagonal(e[:, :1] * e[:, 1:] / (e[:, :1] + e[:, 1:]) if is_signed else e)
        self._set_unit(*self._dx(np.ones_like(e), np.zeros_like(scores)))
        return self._side.failed

    def solve(self, rhs: FloatArray, multiplier_pull: FloatArray) -> tuple[FloatArray, Moved]:
        return self._with_mass_one(*self._dx(self._by_kind(rhs) - self._residual, multiplier_pull))

    def _dx(self, right: FloatArray, multiplier_pull: FloatArray) -> tuple[FloatArray, Moved]:
        """Solve ``e dx + C'G C dx = right + C' multiplier_pull``."""
        if self._coding.n_blocks > 1:
            dx, moved = self._side.solve(right + multiplier_pull)
        else:
            total = self._ratio.sum(axis=1, keepdims=True)
            crossed = self._ratio[:, ::-1]
            product = crossed * right
            du, moved = self._side.solve((product[:, :1] - product[:, 1:]) / total + multiplier_pull)
            dx = (crossed * du * SIGNS + right.sum(axis=1, keepdims=True)) / total
        return dx.reshape(len(dx), -1), moved
