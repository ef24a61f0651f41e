"""One predictor-corrector step for every interior point: box or ball, one problem or several.

An iterate consists of non-negative primal numbers and their dual partners, whose products vanish at the
optimum. A step of Newton's method changes both so that the products approach their targets. Mehrotra's
predictor tells how far the products may fall in this step, his corrector accounts for the curvature of the
products, and Gondzio's corrector reins in the products that would stop a longer step.

The first axis of all arrays counts problems, which are solved side by side and do not affect each other.

References
----------
S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal on Optimization 2,
1992. J. Gondzio, "Multiple centrality corrections in a primal-dual method for linear programming",
Computational Optimization and Applications 6, 1996.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray

# The part of the way to the boundary that a step goes, and the smallest target as a part of the mean product.
FRACTION_TO_BOUNDARY, SMALLEST_CENTRING = 0.995, 1e-4
# The centrality corrector, without which fits take 1.07 times as long: how much longer it tries to make a
# step, how far products may be from their target, and the gain in length that is worth taking.
REACH, SPREAD, WORTHWHILE = 0.3, 10.0, 0.03
# Numbers that shrink more slowly than this never become zero.
SLOWEST = 1e-300
# Primal and dual step lengths, together, that need no centrality corrector.
LONG_ENOUGH = 1.9


class Iterate(Protocol):
    """What the step asks of an iterate; the first axis of all arrays counts problems (P)."""

    is_curved: bool
    """Whether the primal slacks are curved functions, so that both step lengths have to be equal."""

    mean: FloatArray
    """The mean product of each problem before the last step (P x 1); the step writes it."""

    failed: BoolArray
    """Problems whose last step could not be computed, and which stayed where they were (P)."""

    def primal(self) -> FloatArray:
        """Return the primal numbers (P x N)."""
        ...

    def dual(self) -> FloatArray:
        """Return their dual partners (P x N)."""
        ...

    def factorise(self, ratio: FloatArray) -> BoolArray:
        """Factorise the Newton matrices for ``ratio = dual / primal``; return which of them failed (P)."""
        ...

    def direction(self, over: FloatArray, predictor: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Return the changes with ``dual dprimal + primal ddual = primal over``, all other equations linear.

        ``predictor`` is the primal change of the predictor, from which curved slacks take their second order.
        """
        ...

    def longest_step(self, dprimal: FloatArray) -> FloatArray | float:
        """Return how far the iterates may go along a direction before they meet other constraints (P x 1)."""
        ...

    def move(
        self, primal_length: FloatArray, dprimal: FloatArray, dual_length: FloatArray, ddual: FloatArray
    ) -> None:
        """Take the step."""
        ...


class Direction(NamedTuple):
    """Changes of all numbers, and how far primal and dual numbers may follow them (P x 1 each)."""

    primal: FloatArray
    dual: FloatArray
    primal_length: FloatArray
    dual_length: FloatArray

    @property
    def length(self) -> FloatArray:
        """The sum of both step lengths, at most one each."""
        return np.minimum(1.0, self.primal_length) + np.minimum(1.0, self.dual_length)


@np.errstate(all="ignore")
def step(iterate: Iterate) -> None:
    """Take one step.

    A problem whose matrix cannot be factorised, or whose direction is not finite, stays where it is and is
    marked in ``iterate.failed``.
    """
    primal, dual = iterate.primal(), iterate.dual()
    iterate.failed = iterate.factorise(dual / primal)
    if iterate.failed.all():
        return
    product = primal * dual
    iterate.mean = mean = _mean(product)
    direction = _Search(iterate, primal, dual).mehrotra(product, mean)
    # One pass over the data tells how far all other constraints allow the primal numbers to go.
    longest = iterate.longest_step(direction.primal)
    primal_length = np.minimum(1.0, FRACTION_TO_BOUNDARY * np.minimum(longest, direction.primal_length))
    dual_length = np.minimum(1.0, FRACTION_TO_BOUNDARY * direction.dual_length)
    if iterate.is_curved:
        primal_length = dual_length = np.minimum(primal_length, dual_length)
    stays = iterate.failed[:, None] | ~np.isfinite(primal_length + dual_length)
    if stays.any():
        iterate.failed = stays[:, 0]
        primal_length, dual_length = np.where(stays, 0.0, primal_length), np.where(stays, 0.0, dual_length)
        direction = direction._replace(
            primal=np.where(stays, 0.0, direction.primal), dual=np.where(stays, 0.0, direction.dual)
        )
    iterate.move(primal_length, direction.primal, dual_length, direction.dual)


class _Search:
    """The search for a direction from one point."""

    def __init__(self, iterate: Iterate, primal: FloatArray, dual: FloatArray) -> None:
        self._iterate, self._primal, self._dual = iterate, primal, dual

    def mehrotra(self, product: FloatArray, mean: FloatArray) -> Direction:
        """Return the corrected direction."""
        # 1) Predict how far a pure Newton step gets, which tells how much centring the step needs.
        predictor = self.along(-product)
        after = _mean(self._products(predictor, 0.0))
        aim = np.maximum(SMALLEST_CENTRING, (after / mean) ** 3) * mean
        # 2) Correct for the curvature.
        target = aim - product - predictor.primal * predictor.dual
        corrector = self.along(target, predictor.primal)
        is_short = corrector.length <= LONG_ENOUGH
        if self._iterate.is_curved or not is_short.any():
            return corrector
        # 3) Rein in the products that would leave the neighbourhood of the central path on a longer step.
        ahead, most = self._products(corrector, REACH), aim * SPREAD
        stragglers = np.minimum(np.maximum(ahead, aim / SPREAD), most) - ahead
        centred = self.along(target + np.maximum(stragglers, -most), predictor.primal)
        is_better = is_short & (centred.length > corrector.length + WORTHWHILE)
        if len(is_better) == 1:
            return centred if is_better[0, 0] else corrector
        return Direction(*(np.where(is_better, *pair) for pair in zip(centred, corrector, strict=True)))

    def along(self, target: FloatArray, predictor: FloatArray | None = None) -> Direction:
        """Return the direction that changes the products by ``target`` to first order."""
        dprimal, ddual = self._iterate.direction(target / self._primal, predictor)
        return Direction(dprimal, ddual, _longest(self._primal, dprimal), _longest(self._dual, ddual))

    def _products(self, direction: Direction, further: float) -> FloatArray:
        """Return the products at the end of a step, or ``further`` along than it may go."""
        primal_length = np.minimum(1.0, direction.primal_length + further)
        dual_length = np.minimum(1.0, direction.dual_length + further)
        if self._iterate.is_curved:
            primal_length = dual_length = np.minimum(primal_length, dual_length)
        return (self._primal + primal_length * direction.primal) * (self._dual + dual_length * direction.dual)


def _mean(product: FloatArray) -> FloatArray:
    return np.add.reduce(product, axis=1, keepdims=True) / product.shape[1]


def _longest(values: FloatArray, change: FloatArray) -> FloatArray:
    """Return the longest step at which all values stay non-negative; NaN is passed on."""
    fastest = -np.minimum.reduce(change / values, axis=1, keepdims=True)
    return 1.0 / np.maximum(fastest, SLOWEST)
