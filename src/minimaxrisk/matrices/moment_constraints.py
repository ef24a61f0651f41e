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
    put_columns,
    sorted_union,
    to_numpy,
)
from minimaxrisk.matrices.standardised import Standardised
from minimaxrisk.matrices.working_rows import Rows


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


class MomentConstraints:
    """The constraints of problems on the same data.

    Attributes
    ----------
    is_exact : bool
        Whether positions are known to rounding, and not only as well as rough passes tell. Callers that
        cannot do with rough passes set it before they begin.
    """

    def __init__(
        self, features: Sequence[Standardised], tau: Sequence[Any], lam: Sequence[Any], *, in_batch: bool
    ) -> None:
        """Take the features of each problem and its tau and lambda (B x d).

        What is computed ``in_batch`` for one problem is the same whichever others it goes with.
        """
        self._features, self._in_batch, self._shape = list(features), in_batch, tuple(lam[0].shape)
        self._xp = namespace_of(lam[0])
        self._tau, self._lam = (
            self._xp.reshape(self._xp.stack(each), (len(each), -1)) for each in (list(tau), list(lam))
        )
        self.is_exact = in_batch or not features[0].has_rough_passes
        self._last: tuple[IntArray, Rows] | None = None

    @property
    def n_components(self) -> int:
        """How many constraints each problem has."""
        return self._shape[0] * self._shape[1]

    def begin(self, deviations: Any | None = None) -> None:
        """Take the position of the empirical distribution, or one with these deviations from tau."""
        self._position = 0.0 * self._lam if deviations is None else deviations / self._lam
        self._direction = self._position
        self._nearness = self._position * self._position

    def deviations(self) -> Any:
        """Where the iterates are, ``E_w Phi - tau``, in the form that ``begin`` takes."""
        return self._position * self._lam

    def keep(self, places: IntArray) -> None:
        """Forget all other problems."""
        there = asarray_like(self._lam, places)
        for name in ("_tau", "_lam", "_position", "_direction", "_nearness"):
            setattr(self, name, self._xp.take(getattr(self, name), there, axis=0))
        self._features = [self._features[i] for i in places.tolist()]

    def _products(self, block_weights: FloatArray) -> Any:
        """Weights of each block (P x B x n) times each of its columns, in units of lambda (P x m)."""
        features, n_blocks = self._features, self._shape[0]
        if self._in_batch:
            # One product for all problems.
            every = list(zip(features, block_weights, strict=True))
            lifted = np.concatenate([each.lifted(weights) for each, weights in every])
            products = features[0].products_together(lifted)
            found = self._xp.stack(
                [
                    each.standardised(products[i * n_blocks : (i + 1) * n_blocks, :], weights)
                    for i, (each, weights) in enumerate(every)
                ]
            )
        else:
            found = features[0].correlate_on_device(block_weights[0], roughly=not self.is_exact)
        found = self._xp.reshape(found, self._lam.shape)
        found /= self._lam
        return found

    def longest_step(self, block_weights: FloatArray) -> FloatArray:
        """How many times ``block_weights`` (P x B x n) may be added before a constraint is met (P x 1).

        One pass over the features. NaN where a constraint has no slack left.
        """
        self._direction = self._products(block_weights)
        # Of its two bounds, -1 and 1, a direction can only meet the one it points to.
        slack = self._xp.copysign(self._xp.ones_like(self._lam[:1, :1]), self._direction)
        slack -= self._position
        fastest = to_numpy(self._xp.max(self._direction / slack, axis=1))[:, None]
        with np.errstate(divide="ignore"):
            return np.where(fastest <= 0.0, np.inf, 1.0 / fastest)

    def advance(self, lengths: FloatArray) -> None:
        """Add ``lengths`` (P x 1) times the block weights last asked about.

        A constraint is near if it is so here, or where a step of length one would have ended: what stopped
        the step was a constraint that the working set did not know of, and its neighbours would stop the
        next one.
        """
        # In place: new arrays with a number per component take longer than what is done with them.
        nearness, direction = self._nearness, self._direction
        nearness[...] = self._position
        nearness += direction
        nearness *= nearness
        direction *= asarray_like(self._lam, lengths)
        self._position += direction
        direction[...] = self._position
        direction *= direction
        self._nearness = self._xp.maximum(nearness, direction)

    def nearest(self, k: int, besides: Sequence[IntArray]) -> list[IntArray]:
        """The k constraints of each problem that are nearest, and those of the components ``besides``.

        In a batch each problem gets exactly k, those of ``besides`` first. Ascending.
        """
        if k >= self.n_components:
            return [np.arange(self.n_components)] * len(besides)
        found = []
        for i, own in enumerate(besides):
            key = self._nearness[i, :]
            if self._in_batch:
                key = key + 0.0
                put_columns(key[None, :], own, asarray_like(key, np.full((1, len(own)), np.inf)))
            places = np.sort(to_numpy(places_of_largest(key, k)))
            found.append(places if self._in_batch else sorted_union(places, own))
        return found

    def working_set(self, i: int, components: IntArray) -> WorkingSet:
        """Some constraints of a problem with their columns."""
        radius, tau, position = entries_at(components, self._lam[i, :], self._tau[i, :], self._position[i, :])
        # Where all constraints stay near, their rows are those of the step before.
        last = self._last
        if last is None or self._in_batch or not np.array_equal(last[0], components):
            features = self._features[i]
            last = components, features.working_rows(components % features.shape[1], 1.0 / radius)
            self._last = last
        return WorkingSet(components, last[1], radius, tau / radius, position, self._shape)

    def make_exact(self, block_weights: FloatArray) -> BoolArray:
        """Take the positions of ``C w = block_weights`` (P x B x n) anew, and pass exactly from now on.

        Returns for which problems all constraints have slack there.
        """
        self.is_exact = True
        self._position = self._products(block_weights) - self._tau / self._lam
        return np.abs(self._position).max(axis=1) < 1.0
