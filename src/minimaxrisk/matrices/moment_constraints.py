"""The moment constraints ``|E_w Phi - tau| <= lambda`` of one problem or of several on the same data.

There are as many constraints as components of Phi, m = B d, often millions. The interior point asks three
things about all of them: which are nearest to their bounds, how far it may go along a direction, and to move.
Each answer takes one pass over the features or none. Of the nearest constraints it gets the columns
(``WorkingSet``). Positions are in units of lambda, between -1 and 1 inside the uncertainty set.

The first axis of all arrays counts problems (P). What is computed for one problem does not depend on the
others, to the last bit. Vectors with an entry per component stay where the features are, in memory or on a
device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    asarray_like,
    entries_at,
    namespace_of,
    places_of_largest,
    sorted_union,
    to_numpy,
)
from minimaxrisk.matrices.standardised import Standardised
from minimaxrisk.matrices.working_rows import Rows

# The nearest constraints are looked for among those that are this near, relative to the furthest of the last
# working set: few are left to choose from.
LOWER_CUT = 0.8


@dataclass(frozen=True)
class WorkingSet:
    """Some moment constraints of a problem, with their columns in units of their radii."""

    components: IntArray  # ascending, so block by block
    rows: Rows  # one per component: psi_j / lambda_j
    radius: FloatArray  # lambda
    target: FloatArray  # tau / lambda
    position: FloatArray
    shape: tuple[int, int]  # B x d, of all components

    def __len__(self) -> int:
        return len(self.components)

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """The components of each block."""
        n_blocks, d = self.shape
        if n_blocks == 1:
            return (slice(0, len(self)),)
        bounds = np.searchsorted(self.components, d * np.arange(n_blocks + 1)).tolist()
        return tuple(map(slice, bounds[:-1], bounds[1:]))

    def scores(self, coefficients: FloatArray) -> FloatArray:
        """Block scores of every instance (B x n), from coefficients in units of 1 / lambda."""
        if len(self.parts) == 1:
            return self.rows.combine(self.parts[0], coefficients)[None, :]
        return np.stack([self.rows.combine(part, coefficients[part]) for part in self.parts])

    def moments(self, block_weights: FloatArray) -> FloatArray:
        """What ``block_weights`` (B x n) add to each position."""
        if len(self.parts) == 1:
            return self.rows.correlate(self.parts[0], block_weights[0])
        return np.concatenate(
            [self.rows.correlate(part, row) for part, row in zip(self.parts, block_weights, strict=True)]
        )

    def gram(self, block: int, weights: FloatArray) -> FloatArray:
        """Lower triangle of ``sum_j weights_j psi_j psi_j' / lambda_j^2`` on one block (n x n)."""
        part = self.parts[block]
        return self.rows.gram(part, weights[part])


class ConstraintColumns:
    """The columns of several problems on the same data, in units of lambda (P x m)."""

    def __init__(self, features: Sequence[Standardised], lam: Any, *, in_batch: bool) -> None:
        self._features, self._lam, self._in_batch = list(features), lam, in_batch
        self.has_rough_passes = not in_batch and features[0].has_rough_passes
        self._last: tuple[IntArray, Rows] | None = None

    def keep(self, places: IntArray) -> None:
        """Forget all other problems."""
        self._lam = namespace_of(self._lam).take(self._lam, asarray_like(self._lam, places), axis=0)
        self._features = [self._features[i] for i in places.tolist()]

    def products(self, block_weights: FloatArray, *, roughly: bool) -> Any:
        """Weights of each block (P x B x n) times each of its columns (P x m), where the features are."""
        if self._in_batch:
            found = self._products_together(block_weights)
        else:
            features = self._features[0]
            correlate = features.correlate_roughly if roughly else features.correlate_on_device
            found = correlate(block_weights[0])
        found = namespace_of(found).reshape(found, self._lam.shape)
        found /= self._lam
        return found

    def _products_together(self, block_weights: FloatArray) -> Any:
        """One product for all problems, whose rows do not depend on each other."""
        n_problems, n_blocks, _ = block_weights.shape
        lifted = [each.lifted(own) for each, own in zip(self._features, block_weights, strict=True)]
        products = self._features[0].products_together(np.concatenate(lifted))
        places = [slice(i * n_blocks, (i + 1) * n_blocks) for i in range(n_problems)]
        every = zip(self._features, block_weights, places, strict=True)
        if isinstance(products, np.ndarray):
            found = np.empty((n_problems * n_blocks, self._features[0].shape[1]))
            for features, weights, own in every:
                features.standardised(products[own], weights, out=found[own])
            return found
        parts = [features.standardised(products[own, :], weights) for features, weights, own in every]
        return namespace_of(products).concat(parts, axis=0)

    def rows(self, problem: int, components: IntArray, radius: FloatArray) -> Rows:
        """Some columns of a problem, whose lambdas are given, as the rows of a working set."""
        # Where all constraints stay near, their rows are those of the step before.
        last = self._last
        if last is not None and not self._in_batch and np.array_equal(last[0], components):
            return last[1]
        features = self._features[problem]
        rows = features.working_rows(components % features.shape[1], 1.0 / radius)
        self._last = components, rows
        return rows


class MomentConstraints:
    """The constraints, with positions in this process.

    Attributes
    ----------
    is_exact : bool
        Whether positions are known to rounding, and not only as well as rough passes tell. Callers that
        cannot do with rough passes set it before they begin.
    """

    def __init__(self, columns: ConstraintColumns, tau: Any, lam: Any, shape: tuple[int, int]) -> None:
        """Of components of this shape (B x d); ``tau`` and ``lam`` are P x m."""
        self._columns, self._tau, self._lam, self._shape = columns, tau, lam, shape
        self.is_exact = not columns.has_rough_passes
        self._cut = np.full(int(lam.shape[0]), np.inf)

    @property
    def n_components(self) -> int:
        """How many constraints each problem has."""
        return self._shape[0] * self._shape[1]

    def begin(self, deviations: Any | None = None) -> None:
        """Take the position of the empirical distribution, or one with these deviations from tau."""
        self._position = 0.0 * self._lam if deviations is None else deviations / self._lam
        self._direction = self._position
        self._nearness = namespace_of(self._lam).abs(self._position)

    def deviations(self) -> Any:
        """Where the iterates are, ``E_w Phi - tau``, in the form that ``begin`` takes."""
        return self._position * self._lam

    def keep(self, places: IntArray) -> None:
        """Forget all other problems."""
        there = asarray_like(self._lam, places)
        for name in ("_tau", "_lam", "_position", "_direction", "_nearness"):
            setattr(self, name, namespace_of(self._lam).take(getattr(self, name), there, axis=0))
        self._columns.keep(places)
        self._cut = self._cut[places]

    def longest_step(self, block_weights: FloatArray) -> FloatArray:
        """How many times ``block_weights`` (P x B x n) may be added before a constraint is met (P x 1).

        One pass over the features. NaN where a constraint has no slack left.
        """
        roughly = self._columns.has_rough_passes and not self.is_exact
        self._direction = self._columns.products(block_weights, roughly=roughly)
        fastest = self._fastest()[:, None]
        with np.errstate(divide="ignore"):
            return np.where(fastest <= 0.0, np.inf, 1.0 / fastest)

    def _fastest(self) -> FloatArray:
        """One over the steps; of its two bounds, -1 and 1, a direction can only meet the one it points to."""
        found, speed = np.empty(len(self._direction)), np.empty(self._direction.shape[1])
        for i, (direction, position) in enumerate(zip(self._direction, self._position, strict=True)):
            np.copysign(1.0, direction, out=speed)
            speed -= position
            np.divide(direction, speed, out=speed)
            found[i] = speed.max()
        return found

    def advance(self, lengths: FloatArray) -> None:
        """Add ``lengths`` (P x 1) times the block weights last asked about.

        A constraint is near if it is so here, or where a step of length one would have ended: what stopped
        the step was a constraint that the working set did not know of, and its neighbours would stop the
        next one.
        """
        rows = zip(self._position, self._direction, self._nearness, lengths[:, 0], strict=True)
        # Row by row, which stays in cache.
        for position, direction, nearness, length in rows:
            np.add(position, direction, out=nearness)
            np.abs(nearness, out=nearness)
            np.multiply(direction, length, out=direction)
            np.add(position, direction, out=position)
            np.maximum(nearness, np.abs(position, out=direction), out=nearness)

    def nearest(self, k: int, besides: Sequence[IntArray], *, alike: bool) -> list[IntArray]:
        """The k constraints of each problem that are nearest, and those of the components ``besides``.

        With ``alike`` each problem gets exactly k, those of ``besides`` first. Ascending.
        """
        m = self.n_components
        if k >= m:
            return [np.arange(m)] * len(self._cut)
        if alike:
            return [self._places(i, k, own) for i, own in enumerate(besides)]
        return [sorted_union(self._places(i, k, own[:0]), own) for i, own in enumerate(besides)]

    def _places(self, i: int, k: int, first: IntArray) -> IntArray:
        """The nearest constraints of a problem, some of them before all others."""
        key = self._nearness[i]
        if len(first):
            key = key.copy()
            key[first] = np.inf
        near = np.flatnonzero(key > LOWER_CUT * self._cut[i])
        size = key[near] if len(near) >= k else key
        place = np.argpartition(size, len(size) - k)[len(size) - k :]
        self._cut[i] = size[place[0]]
        return np.sort(near[place] if len(near) >= k else place)

    def working_set(self, i: int, components: IntArray) -> WorkingSet:
        """Some constraints of a problem with their columns."""
        radius, tau, position = entries_at(components, self._lam[i, :], self._tau[i, :], self._position[i, :])
        rows = self._columns.rows(i, components, radius)
        return WorkingSet(components, rows, radius, tau / radius, position, self._shape)

    def make_exact(self, block_weights: FloatArray) -> BoolArray:
        """Take the positions of ``C w = block_weights`` (P x B x n) anew, and pass exactly from now on.

        Returns for which problems all constraints have slack there.
        """
        self.is_exact = True
        products = self._columns.products(block_weights, roughly=False)
        self._position = products - self._tau / self._lam
        return np.abs(self._position).max(axis=1) < 1.0


class MomentConstraintsOnDevice(MomentConstraints):
    """The constraints of features on a device; numbers per problem and working sets come to this process."""

    def _fastest(self) -> FloatArray:
        xp, direction, position = namespace_of(self._lam), self._direction, self._position
        slack = xp.where(direction < 0.0, -1.0 - position, 1.0 - position)
        return to_numpy(xp.max(direction / slack, axis=1))

    def advance(self, lengths: FloatArray) -> None:
        xp = namespace_of(self._lam)
        ahead = xp.abs(self._position + self._direction)
        self._position = self._position + asarray_like(self._lam, lengths) * self._direction
        self._nearness = xp.maximum(ahead, xp.abs(self._position))

    def _places(self, i: int, k: int, first: IntArray) -> IntArray:
        key = self._nearness[i, :]
        places = to_numpy(places_of_largest(key, k))
        if len(first):
            (size,) = entries_at(places, key)
            others = places[np.argsort(-size, kind="stable")]
            others = others[~np.isin(others, first)]
            places = np.concatenate([first, others[: k - len(first)]])
        return np.sort(places)


def moment_constraints_of(
    features: Sequence[Standardised], tau: Sequence[Any], lam: Sequence[Any], *, in_batch: bool
) -> MomentConstraints:
    """The constraints of some problems, from their features and their tau and lambda (B x d each).

    What is computed ``in_batch`` for one problem is the same whichever others it goes with.
    """
    xp, shape = namespace_of(lam[0]), (int(lam[0].shape[0]), int(lam[0].shape[1]))
    taus, radii = (
        xp.reshape(each[0], (1, -1)) if len(each) == 1 else xp.stack([xp.reshape(one, (-1,)) for one in each])
        for each in (tau, lam)
    )
    make = MomentConstraints if isinstance(radii, np.ndarray) else MomentConstraintsOnDevice
    return make(ConstraintColumns(features, radii, in_batch=in_batch), taus, radii, shape)
