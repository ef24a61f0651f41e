"""What the adversary's side of a primal-dual step looks like, by coding and marginal.

The program is ``min f(v)`` over masses v = C w as the blocks see them (B x n), under the moment constraints;
``1 - f`` or ``1/2 - f`` is the Bayes error. A step needs its proximal map,
``argmin over v of f(v) + |v - z|^2 / (2 t)``, which is closed in all four cases:

* signed, free: ``f = sum_i |v_i| / 2``, soft thresholding. That the masses are at most one need not be said:
  the empirical distribution has ``sum |v_i| = 1``, and no optimum has more.
* signed, known: the same with ``|v_i| <= p_i``; a clipped soft threshold, as the problem is one number per i.
* one-hot: ``f = sum_i max_y w_yi`` on the distributions. Let rho_i solve ``sum_y (z_yi - rho_i)_+ = t`` and
  ``c = min(z, rho)``. Then w is the projection of c on the distributions, ``w = (c + phi)_+`` with the phi
  that gives the mass (one for all, or with a known marginal one per instance). Proof: with
  ``q = (z - rho)_+ / t``, non-negative with sum one over y, ``w = (z - t q + phi)_+`` is the condition of
  optimality; where w_i is not zero, q is positive only at labels with ``c = rho``, the largest, and where w_i
  is zero every label is a largest one. So q is a subgradient of the maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.problem.marginal import KnownMarginal
from minimaxrisk.problem.problem import Problem
from minimaxrisk.problem.rule import instance_thresholds


class Masses(Protocol):
    """The adversary's side of the program."""

    def nearest(self, z: FloatArray, t: float) -> FloatArray:
        """The proximal map of f at z with step t."""
        ...

    def distribution(self, v: FloatArray) -> tuple[FloatArray, float]:
        """A distribution on labels x instances (K x n) and the factor by which its moments are those of v."""
        ...

    def scale(self, gain: float, block_scores: FloatArray) -> float:
        """The factor on coefficients that makes their bound smallest, where that is free; else one."""
        ...


def soft_threshold(z: FloatArray, t: FloatArray | float) -> FloatArray:
    """z moved towards zero by t, and not across it."""
    return z - np.clip(z, -t, t)


@dataclass(frozen=True)
class SignedMasses:
    """One number per instance, ``w_0 - w_1``; what is left of the mass carries both labels alike."""

    instances: FloatArray  # the mass of each in the sample

    def nearest(self, z: FloatArray, t: float) -> FloatArray:
        return soft_threshold(z, 0.5 * t)

    def distribution(self, v: FloatArray) -> tuple[FloatArray, float]:
        total = float(np.abs(v).sum())
        factor = 1.0 / max(1.0, total)
        left = 0.5 * max(0.0, 1.0 - total) * self.instances
        return _with_both_labels(factor * v, left), factor

    def scale(self, gain: float, block_scores: FloatArray) -> float:
        """U is ``1/2 - c gain`` until the largest ``c |score|`` is 1/2, and rises from there."""
        largest = float(np.abs(block_scores).max())
        return 0.5 / largest if gain > 0.0 and largest > 0.0 else 1.0


@dataclass(frozen=True)
class KnownSignedMasses:
    """The same where the mass of every instance is known."""

    instances: FloatArray

    def nearest(self, z: FloatArray, t: float) -> FloatArray:
        return np.clip(soft_threshold(z, 0.5 * t), -self.instances, self.instances)

    def distribution(self, v: FloatArray) -> tuple[FloatArray, float]:
        return _with_both_labels(v, 0.5 * (self.instances - np.abs(v[0]))), 1.0

    def scale(self, gain: float, block_scores: FloatArray) -> float:
        return 1.0


class OneHotMasses:
    """A number per label and instance, with a sum of one."""

    def nearest(self, z: FloatArray, t: float) -> FloatArray:
        return on_simplex(_levelled(z, t))

    def distribution(self, v: FloatArray) -> tuple[FloatArray, float]:
        return v, 1.0

    def scale(self, gain: float, block_scores: FloatArray) -> float:
        return 1.0


@dataclass(frozen=True)
class KnownOneHotMasses(OneHotMasses):
    """The same where the mass of every instance is known."""

    instances: FloatArray

    def nearest(self, z: FloatArray, t: float) -> FloatArray:
        levelled = _levelled(z, t)
        # The threshold of excess p is p times that of excess one, at values divided by p.
        return np.maximum(levelled - self.instances * instance_thresholds(levelled / self.instances), 0.0)


def masses_of(problem: Problem) -> Masses:
    """The adversary's side of a problem."""
    marginal = problem.marginal
    if problem.coding.name == "signed":
        if isinstance(marginal, KnownMarginal):
            return KnownSignedMasses(marginal.masses)
        return SignedMasses(problem.centre.sum(axis=0))
    return KnownOneHotMasses(marginal.masses) if isinstance(marginal, KnownMarginal) else OneHotMasses()


def on_simplex(c: FloatArray) -> FloatArray:
    """The projection ``(c + phi)_+`` with sum one.

    ``sum (c + phi)_+ - 1`` is convex and piecewise linear in phi, and not negative where all entries count:
    Newton's method goes down from there and ends at the root after finitely many pieces (Michelot 1986).
    """
    c = c - c.max()  # adding a constant changes nothing, and so phi lies between 0 and 1
    inside = c.ravel()
    while True:
        phi = (1.0 - float(inside.sum())) / len(inside)
        fewer = inside[inside > -phi]
        if len(fewer) == len(inside):
            return np.maximum(c + phi, 0.0)
        inside = fewer


def _levelled(z: FloatArray, t: float) -> FloatArray:
    """z with the largest entries of each instance cut down to one level, by t in all."""
    return np.minimum(z, t * instance_thresholds(z / t))


def _with_both_labels(v: FloatArray, left: FloatArray) -> FloatArray:
    return np.concatenate([np.maximum(v, 0.0), np.maximum(-v, 0.0)]) + left
