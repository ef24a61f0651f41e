"""The moment constraints of features in chunks: positions and directions live beside the chunks.

An iteration takes two graphs, and waits for each once. ``furthest_step`` multiplies the chunks by the new
weights, keeps positions and directions there, and brings back one number. ``nearest`` lets every chunk name
its nearest constraints; a task merges them, the chunks gather the columns of those chosen that are not here
yet, and these come back.

Positions follow each other, so that one which is lost with its worker is recomputed from the one before.
That would take all iterations back to the first; so every few of them begin anew from the masses,
``position = ((C w) Psi - tau) / lambda``, which takes one more row of weights in a pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk._utils.dask_arrays import fetch, keep, keep_values, lazily, shared
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet
from minimaxrisk.engines.interior_point.working_rows import DenseRows
from minimaxrisk.features.dask_blocks import ChunkScale, product, some_columns
from minimaxrisk.features.dask_features import DaskFeatures
from minimaxrisk.problem.problem import Problem

# Iterations after which positions begin anew. A pass with twice the rows takes twice the time, so that this
# costs a tenth; and what is lost is recomputed in so many passes over the chunks that were lost, at most.
BEGIN_ANEW = 10


@dataclass(frozen=True)
class Limits:
    """tau and lambda of a chunk of columns (B x c)."""

    tau: FloatArray
    lam: FloatArray


@dataclass(frozen=True)
class Place:
    """Where the iterate is and where it points to, for some components (B x c), in units of the radii."""

    position: FloatArray
    direction: FloatArray

    def after(self, step: float) -> FloatArray:
        return self.position + step * self.direction

    def fastest(self) -> float:
        """The inverse of the furthest step: of the two bounds a direction can only meet that it points to."""
        with np.errstate(invalid="ignore", divide="ignore"):
            speed = self.direction / (np.copysign(1.0, self.direction) - self.position)
        return float(speed.max(initial=-np.inf))

    def furthest(self) -> float:
        return float(np.abs(self.position).max(initial=0.0))

    def nearness(self, step: float) -> FloatArray:
        """To the bounds at 1, after a step or where a whole one would have ended, whichever is nearer."""
        return np.maximum(np.abs(self.after(step)), np.abs(self.after(1.0)))


class MomentConstraintsOnDask:
    """The constraints of a problem whose features are chunks of a dask array."""

    is_exact = True

    def __init__(self, problem: Problem, features: DaskFeatures) -> None:
        self._problem, self._features = problem, features
        lead = features.lead
        tau, lam = problem.tau[:, lead:], problem.lam[:, lead:]
        self._limits = keep_values([Limits(tau[:, part], lam[:, part]) for part in features.column_parts])
        self._weights = np.zeros((len(problem.tau), problem.n_instances))
        self._ahead = self._next_weights = self._weights
        self._step, self._age = 0.0, 0
        # Of each chunk of columns; None where it has to be found from the weights.
        self._places: list[Any] | None = None
        self._next_places: list[Any] | None = None

    def begin(self) -> None:
        self.begin_at(self._problem.coding.encode(self._problem.centre))

    def deviations(self) -> FloatArray:
        """The block weights, of which the deviations are a function."""
        return self._weights

    def begin_at(self, deviations: FloatArray) -> None:
        self._weights, self._places = deviations, None
        self._ahead, self._step = np.zeros_like(deviations), 0.0

    def nearest(self, k: int, besides: IntArray) -> WorkingSet:
        if k == 0 and not len(besides):
            return self._working_set(besides, np.empty(0), [])
        if self._places is None:
            self._places = keep(self._places_from_weights(np.zeros_like(self._weights)))
        features, d = self._features, self._problem.tau.shape[1]
        inside = self._place_of_intercept(self._weights - self._step * self._ahead, self._ahead)
        wanted = Wanted(k, besides, self._step, d)
        candidates = [wanted.nearest_of(inside, 0)]
        candidates += [
            lazily(wanted.nearest_of, place, features.lead + part.start)
            for place, part in zip(self._places, features.column_parts, strict=True)
        ]
        chosen = lazily(wanted.merge, candidates)
        known = shared(features.held, features.held.nbytes)
        pieces = [
            lazily(columns_to_send, chunk, chosen, known, d, features.lead + part.start)
            for row in features.chunks
            for chunk, part in zip(row, features.column_parts, strict=True)
        ]
        (components, position), *found = fetch([chosen, *pieces])
        return self._working_set(components, position, found)

    def furthest_step(self, block_weights: FloatArray) -> float:
        if self._places is None or self._age >= BEGIN_ANEW:
            self._age, places = 0, self._places_from_weights(block_weights)
        else:
            self._age += 1
            places = self._places_from_last(self._places, block_weights)
        speeds = [lazily(Place.fastest, place) for place in places]
        kept = keep([*places, *speeds])
        self._next_places, self._next_weights = kept[: len(places)], block_weights
        of_intercept = self._place_of_intercept(self._weights, block_weights).fastest()
        speed = float(np.max([of_intercept, *fetch(kept[len(places) :])]))  # NaN if one of them is
        if np.isnan(speed):
            raise FloatingPointError("a constraint holds with equality and its slack is gone")
        return np.inf if speed <= 0.0 else 1.0 / speed

    def make_exact(self, block_weights: FloatArray) -> bool:
        """All passes are exact: that everything is inside was seen by the last step."""
        self.begin_at(block_weights)
        nowhere = np.zeros_like(block_weights)
        self._places = keep(self._places_from_weights(nowhere))
        of_intercept = self._place_of_intercept(block_weights, nowhere).furthest()
        furthest = fetch([lazily(Place.furthest, place) for place in self._places])
        return max(of_intercept, *furthest) < 1.0

    def advance(self, step: float) -> None:
        self._places, self._ahead, self._step = self._next_places, self._next_weights, step
        self._weights = self._weights + step * self._next_weights

    def _places_from_weights(self, direction: FloatArray) -> list[Any]:
        """With positions from the masses: no lineage but the chunks."""
        features = self._features
        features.n_passes += 1
        together = np.vstack([self._weights, direction])
        mass = together.sum(axis=1, keepdims=True)
        arguments = [(*each, mass) for each in zip(features.scales, self._limits, strict=True)]
        return features.over_rows(product, features.on_rows(together), then=(first_place, arguments))

    def _places_from_last(self, places: list[Any], direction: FloatArray) -> list[Any]:
        features = self._features
        features.n_passes += 1
        move = Move(direction.sum(axis=1, keepdims=True), self._step)
        arguments = [(*each, move) for each in zip(features.scales, self._limits, places, strict=True)]
        return features.over_rows(product, features.on_rows(direction), then=(next_place, arguments))

    def _place_of_intercept(self, weights: FloatArray, direction: FloatArray) -> Place:
        """The components of the column of ones, which is nobody's; empty where there is none."""
        lead = slice(self._features.lead)
        tau, lam = self._problem.tau[:, lead], self._problem.lam[:, lead]
        position = (weights.sum(axis=1, keepdims=True) - tau) / lam
        return Place(position, direction.sum(axis=1, keepdims=True) / lam)

    def _working_set(self, components: IntArray, position: FloatArray, pieces: list[Any]) -> WorkingSet:
        problem, d = self._problem, self._problem.shape[1]
        columns = np.unique(components % d)
        if len(components):
            values = self._features.hold(columns, pieces)
            rows = values[np.searchsorted(columns, components % d)]
        else:
            rows = np.empty((0, problem.n_instances))
        return WorkingSet.of(
            components,
            DenseRows(rows),
            lam=problem.lam.ravel()[components],
            tau=problem.tau.ravel()[components],
            position=position,
            shape=problem.shape,
        )


def first_place(products: FloatArray, scale: ChunkScale, limits: Limits, mass: FloatArray) -> Place:
    """From products with the weights of the iterate, and below them those of the direction."""
    moments, direction = np.split(scale.inner(products, mass), 2)
    return Place((moments - limits.tau) / limits.lam, direction / limits.lam)


@dataclass(frozen=True)
class Move:
    """The sum of the new direction's weights (B x 1), and how far the last one was followed."""

    mass: FloatArray
    step: float


def next_place(products: FloatArray, scale: ChunkScale, limits: Limits, last: Place, move: Move) -> Place:
    """From products with the weights of the new direction."""
    return Place(last.after(move.step), scale.inner(products, move.mass) / limits.lam)


Nearest = tuple[IntArray, FloatArray, FloatArray]  # components, nearness, position


@dataclass(frozen=True)
class Wanted:
    """Which constraints to look for: the k nearest, and those of the components ``besides``."""

    k: int
    besides: IntArray
    step: float
    d: int

    def nearest_of(self, place: Place, first: int) -> Nearest:
        """Those among the columns from ``first`` on that may be wanted."""
        position, nearness = place.after(self.step), place.nearness(self.step).ravel()
        width = position.shape[1]
        chosen = self._largest(nearness)
        block, column = np.divmod(self.besides, self.d)
        mine = (column >= first) & (column < first + width)
        chosen[block[mine] * width + column[mine] - first] = True
        block, column = np.divmod(np.flatnonzero(chosen), max(width, 1))
        return block * self.d + first + column, nearness[chosen], position.ravel()[chosen]

    def merge(self, found: list[Nearest]) -> tuple[IntArray, FloatArray]:
        """Those wanted of all, ascending, and their positions."""
        components, nearness, position = (np.concatenate(each) for each in zip(*found, strict=True))
        chosen = self._largest(nearness) | np.isin(components, self.besides)
        order = np.argsort(components[chosen])
        return components[chosen][order], position[chosen][order]

    def _largest(self, nearness: FloatArray) -> BoolArray:
        chosen = np.full(len(nearness), self.k >= len(nearness))
        if 0 < self.k < len(nearness):
            chosen[np.argpartition(-nearness, self.k - 1)[: self.k]] = True
        return chosen


def columns_to_send(
    chunk: np.ndarray, chosen: tuple[IntArray, FloatArray], known: IntArray, d: int, first: int
) -> np.ndarray:
    """Columns of a chunk, from ``first`` on, that were chosen and are not known yet (columns x rows)."""
    columns = np.setdiff1d(chosen[0] % d, known) - first
    return some_columns(chunk, columns[(columns >= 0) & (columns < chunk.shape[1])])
