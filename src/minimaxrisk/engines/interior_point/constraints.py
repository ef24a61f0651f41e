"""The moment constraints, all m of them, kept beside the data and asked questions.

The iterate's vectors with one entry per component of Phi, positions and directions, stay in this module: an
engine asks for the nearest constraints, for how far it may go, and moves. Each answer is a reduction over
components, so that data in memory, in chunks or on a device can answer where they are. A container says by
``location`` which of the three it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray, namespace_of, to_numpy
from minimaxrisk._utils.dask_arrays import fetch, keep, keep_values, lazily, shared
from minimaxrisk.engines.interior_point.working_rows import DenseRows, DeviceRows, Rows, rows_of
from minimaxrisk.features.chunked import ChunkScale, DaskFeatures, product, some_columns
from minimaxrisk.features.device import DeviceFeatures
from minimaxrisk.features.device_kernels import copied, fused_nearby, has_kernels
from minimaxrisk.problem.problem import Problem


@dataclass(frozen=True)
class WorkingSet:
    """Some moment constraints with their columns.

    Coefficients and positions are in units of the radii: ``position`` is ``(E_w Phi - tau) / lambda``,
    between -1 and 1 inside the uncertainty set, and a coefficient is ``lambda mu``.
    """

    components: IntArray  # ascending, so block by block
    rows: Rows  # one per component: psi_j
    radius: FloatArray  # lambda
    tau: FloatArray
    position: FloatArray
    shape: tuple[int, int]  # B x d, of all components

    def __len__(self) -> int:
        return len(self.components)

    @cached_property
    def target(self) -> FloatArray:
        return self.tau / self.radius

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """The components of each block."""
        n_blocks, d = self.shape
        if n_blocks == 1:
            return (slice(0, len(self)),)
        bounds = np.searchsorted(self.components, d * np.arange(n_blocks + 1)).tolist()
        return tuple(map(slice, bounds[:-1], bounds[1:]))

    def scores(self, coefficients: FloatArray) -> FloatArray:
        """Block scores of every instance (B x n)."""
        mu = coefficients / self.radius
        if len(self.parts) == 1:
            return self.rows.combine(self.parts[0], mu)[None, :]
        return np.stack([self.rows.combine(part, mu[part]) for part in self.parts])

    def moments(self, block_weights: FloatArray) -> FloatArray:
        """What ``block_weights`` (B x n) add to each position."""
        if len(self.parts) == 1:
            return self.rows.correlate(self.parts[0], block_weights[0]) / self.radius
        moments = [
            self.rows.correlate(part, row) for part, row in zip(self.parts, block_weights, strict=True)
        ]
        return np.concatenate(moments) / self.radius


class MomentConstraints(ABC):
    """What the interior point asks about the constraints ``|E_w Phi - tau| <= lambda``."""

    is_exact: bool = True
    """Whether positions are known to rounding, and not only as well as rough passes tell."""

    @abstractmethod
    def begin(self) -> None:
        """Take the position of the empirical distribution, whose moments are tau: the middle."""

    @abstractmethod
    def deviations(self) -> Any:
        """Where the iterate is, ``E_w Phi - tau``, in whatever form ``begin_at`` takes."""

    @abstractmethod
    def begin_at(self, deviations: Any) -> None:
        """Take a position that was inside other radii; it has to be inside these."""

    @abstractmethod
    def nearest(self, k: int, besides: IntArray) -> WorkingSet:
        """The k constraints nearest to their bounds, and those of the components ``besides``.

        Nearest here or where the last step would have ended had nothing stopped it: what stopped it was a
        constraint that the working set did not know of, and its neighbours would stop the next one.
        """

    def furthest_step(self, block_weights: FloatArray) -> float:
        """How many times ``block_weights`` (B x n) may be added before a constraint is met: one pass.

        NumPy should not tell about divisions by zero; where that changes the answer there is an error.
        """
        fastest = self._fastest(block_weights)
        if np.isnan(fastest):
            raise FloatingPointError("a constraint holds with equality and its slack is gone")
        return np.inf if fastest <= 0.0 else 1.0 / fastest

    @abstractmethod
    def _fastest(self, block_weights: FloatArray) -> float:
        """The inverse of the furthest step: of the bounds, -1 and 1, a direction meets the one it points to.

        NaN where a constraint has no slack left.
        """

    @abstractmethod
    def make_exact(self, block_weights: FloatArray) -> bool:
        """Take the position of ``C w = block_weights`` anew, and pass over the data exactly from now on.

        Returns whether all constraints have slack there.
        """

    @abstractmethod
    def advance(self, step: float) -> None:
        """Add ``step`` times the block weights last asked about."""


class MomentConstraintsInMemory(MomentConstraints):
    """The constraints of a problem whose features are one matrix in this process."""

    def __init__(self, problem: Problem, *, is_exact: bool = False) -> None:
        self._problem = problem
        self._lam, self._tau = problem.lam.ravel(), problem.tau.ravel()
        self._position = self._direction = self._ahead = np.zeros(0)
        self.is_exact = is_exact or not problem.features.has_rough_passes
        self._gathered: tuple[IntArray, Rows] | None = None

    def begin(self) -> None:
        self.begin_at(np.zeros(self._problem.n_components))

    def deviations(self) -> FloatArray:
        return self._position * self._lam

    def begin_at(self, deviations: FloatArray) -> None:
        self._position = deviations / self._lam
        self._ahead = self._position.copy()

    def nearest(self, k: int, besides: IntArray) -> WorkingSet:
        chosen = np.zeros(len(self._position), dtype=np.bool_)
        if 0 < k < len(chosen):
            nearness = np.abs(self._ahead)
            np.maximum(nearness, np.abs(self._position), out=nearness)
            chosen[nearness.argpartition(-k)[-k:]] = True
        elif k > 0:
            chosen[:] = True
        chosen[besides] = True
        return self._gather(chosen.nonzero()[0])

    def _fastest(self, block_weights: FloatArray) -> float:
        features = self._problem.features
        direction = (features.correlate if self.is_exact else features.correlate_roughly)(block_weights)
        direction /= self._problem.lam
        self._direction = direction.ravel()
        speed = np.copysign(1.0, self._direction)
        speed -= self._position
        np.divide(self._direction, speed, out=speed)
        return float(speed.max())

    def make_exact(self, block_weights: FloatArray) -> bool:
        self.is_exact = True
        deviation = self._problem.features.correlate(block_weights) - self._problem.tau
        self._position = (deviation / self._problem.lam).ravel()
        return bool(np.abs(self._position).max() < 1.0)

    def advance(self, step: float) -> None:
        np.add(self._position, self._direction, out=self._ahead)
        self._direction *= step
        self._position += self._direction

    def _gather(self, components: IntArray) -> WorkingSet:
        shape = self._problem.shape
        # Where all constraints stay near, their rows are those of the step before.
        if self._gathered is None or not np.array_equal(self._gathered[0], components):
            self._gathered = components, rows_of(self._problem.features, components % shape[1])
        lam, tau, position = self._lam[components], self._tau[components], self._position[components]
        return WorkingSet(components, self._gathered[1], lam, tau, position, shape)


class MomentConstraintsOnDevice(MomentConstraints):
    """Single numbers and the columns of working sets are copied to this process, nothing else."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._features = problem, cast(DeviceFeatures, problem.features)
        self._xp = xp = self._features.xp
        self._lam, self._tau = (xp.reshape(v, (-1,)) for v in (problem.lam_there, problem.tau_there))
        self._lead = problem.scale.n_leading
        self._threshold = np.inf  # how near the constraints that are listed should be

    def begin(self) -> None:
        self.begin_at(0.0 * self._lam)

    def deviations(self) -> Any:
        return self._position * self._lam

    def begin_at(self, deviations: Any) -> None:
        self._position = deviations / self._lam
        self._direction, self._beyond = self._xp.zeros_like(self._lam), 0.0

    def nearest(self, k: int, besides: IntArray) -> WorkingSet:
        m = self._problem.n_components
        if k >= m:
            return self._gather(np.arange(m))
        if k > 0:
            together = np.sort(np.concatenate([self._places_of_nearest(k), besides]))
            besides = together[np.append(True, together[1:] > together[:-1])]
        return self._gather(besides)

    def _places_of_nearest(self, k: int) -> IntArray:
        """From a list of those about as near as the nearest ones were, or if that fails by a look at all."""
        xp, can_list, direction = self._xp, has_kernels(self._position), (self._direction, self._beyond)
        for _ in range(LISTS if can_list and np.isfinite(self._threshold) else 0):
            listed = fused_nearby(self._position, *direction, self._threshold, LISTED + 2 * k)
            if listed is None:
                self._threshold *= TOO_MANY
            elif len(listed[0]) < k:
                self._threshold *= TOO_FEW
            else:
                components, nearness = listed
                least = float(np.partition(nearness, -k)[-k])
                self._threshold = STILL_NEAR * min(least, 1.0)
                return components[nearness >= least]
        ahead = self._position + self._beyond * self._direction
        nearness = xp.maximum(xp.abs(ahead), xp.abs(self._position))
        places = places_of_largest(nearness, k)
        if can_list:
            self._threshold = STILL_NEAR * min(float(xp.min(xp.take(nearness, places))), 1.0)
        return to_numpy(places)

    def _fastest(self, block_weights: FloatArray) -> float:
        fastest = float(self._fused(block_weights) if len(block_weights) == 1 else self._plain(block_weights))
        return fastest if np.isfinite(fastest) else np.nan  # the kernel answers infinity for NaN

    def _plain(self, block_weights: FloatArray) -> Any:
        """The direction, and how fast it meets a bound."""
        found = self._xp.reshape(self._features.correlate_there(block_weights), (-1,))
        self._direction = found / self._lam
        return self._xp.max(self._speeds(self._direction, self._position))

    def _fused(self, block_weights: FloatArray) -> Any:
        """The same by one kernel, where there is one."""
        fastest = self._features.fused_step(block_weights, self._scale, self._position, self._direction)
        return self._plain(block_weights) if fastest is None else fastest

    @cached_property
    def _scale(self) -> Any:
        """Of the centred data to positions."""
        factor = self._features.factor / self._lam[self._lead :]
        return self._xp.concat([1.0 / self._lam[: self._lead], factor])

    def _speeds(self, direction: Any, position: Any) -> Any:
        return direction / self._xp.where(direction < 0.0, -1.0 - position, 1.0 - position)

    def make_exact(self, block_weights: FloatArray) -> bool:
        deviation = self._features.correlate_there(block_weights) - self._problem.tau_there
        self._position = self._xp.reshape(deviation, (-1,)) / self._lam
        return bool(self._xp.max(self._xp.abs(self._position)) < 1.0)

    def advance(self, step: float) -> None:
        if hasattr(self._position, "add_"):  # PyTorch
            self._position.add_(self._direction, alpha=step)
        else:
            self._position += step * self._direction
        self._beyond = 1.0 - step

    def _gather(self, components: IntArray) -> WorkingSet:
        shape, n = self._problem.shape, self._problem.n_instances
        vectors = self._lam, self._tau, self._position
        lines = self._features.fused_columns(components, *vectors)
        if lines is None:
            rows = DeviceRows(self._features.columns_there(components % shape[1]))
            lam, tau, position = self._problem.at(components, *vectors)
        else:
            # One message.
            here = copied(lines if DeviceRows.are_few(len(components), n) else lines[:, n:])
            rows = DeviceRows(self._xp.matrix_transpose(lines[:, :n]), here[:, :-3])
            lam, tau, position = np.ascontiguousarray(here[:, -3:].T)
        return WorkingSet(components, rows, lam, tau, position, shape)


# A list has room for so many constraints besides twice those wanted. It holds those nearer than this fraction
# of the last k-th nearest one, and if that were too few or too many for it, of others.
LISTED, STILL_NEAR, TOO_FEW, TOO_MANY, LISTS = 4096, 0.9, 0.8, 1.12, 3


def places_of_largest(values: Any, k: int) -> Any:
    """Where the k largest numbers along the last axis are, in any order."""
    xp = namespace_of(values)
    if hasattr(xp, "topk"):  # PyTorch
        return xp.topk(values, k, sorted=False).indices
    if hasattr(xp, "argpartition"):  # CuPy
        return xp.argpartition(values, -k)[..., -k:]
    return xp.argsort(values)[..., values.shape[-1] - k :]


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
        """The inverse of the furthest step."""
        with np.errstate(invalid="ignore", divide="ignore"):
            speed = self.direction / (np.copysign(1.0, self.direction) - self.position)
        return float(speed.max(initial=-np.inf))

    def furthest(self) -> float:
        return float(np.abs(self.position).max(initial=0.0))

    def nearness(self, step: float) -> FloatArray:
        """To the bounds at 1, after a step or where a whole one would have ended, whichever is nearer."""
        return np.maximum(np.abs(self.after(step)), np.abs(self.after(1.0)))


class MomentConstraintsOnDask(MomentConstraints):
    """The constraints of a problem whose features are chunks of a dask array."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._features = problem, cast(DaskFeatures, problem.features)
        features, lead = self._features, self._features.lead
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
        known = shared(features.held[0], features.held[0].nbytes)
        pieces = [
            lazily(columns_to_send, chunk, chosen, known, d, features.lead + part.start)
            for row in features.chunks
            for chunk, part in zip(row, features.column_parts, strict=True)
        ]
        (components, position), *found = fetch([chosen, *pieces])
        return self._working_set(components, position, found)

    def _fastest(self, block_weights: FloatArray) -> float:
        if self._places is None or self._age >= BEGIN_ANEW:
            self._age, places = 0, self._places_from_weights(block_weights)
        else:
            self._age += 1
            places = self._places_from_last(self._places, block_weights)
        speeds = [lazily(Place.fastest, place) for place in places]
        kept = keep([*places, *speeds])
        self._next_places, self._next_weights = kept[: len(places)], block_weights
        of_intercept = self._place_of_intercept(self._weights, block_weights).fastest()
        return float(np.max([of_intercept, *fetch(kept[len(places) :])]))  # NaN if one of them is

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
        mass, step = direction.sum(axis=1, keepdims=True), self._step
        arguments = [(*each, mass, step) for each in zip(features.scales, self._limits, places, strict=True)]
        return features.over_rows(product, features.on_rows(direction), then=(next_place, arguments))

    def _place_of_intercept(self, weights: FloatArray, direction: FloatArray) -> Place:
        """The components of the column of ones, which is in no chunk; empty where there is none."""
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
        lam, tau = problem.lam.ravel()[components], problem.tau.ravel()[components]
        return WorkingSet(components, DenseRows(rows), lam, tau, position, problem.shape)


def first_place(products: FloatArray, scale: ChunkScale, limits: Limits, mass: FloatArray) -> Place:
    """From products with the weights of the iterate, and below them those of the direction."""
    moments, direction = np.split(scale.inner(products, mass), 2)
    return Place((moments - limits.tau) / limits.lam, direction / limits.lam)


def next_place(  # noqa: PLR0917 - tasks take no names
    products: FloatArray, scale: ChunkScale, limits: Limits, last: Place, mass: FloatArray, step: float
) -> Place:
    """From products with the new direction's weights, whose sum is ``mass``, after a step in the last one."""
    return Place(last.after(step), scale.inner(products, mass) / limits.lam)


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


def moment_constraints(problem: Problem, *, is_exact: bool = False) -> MomentConstraints:
    """The constraints of a problem, kept beside its features; ``is_exact`` does without rough passes."""
    location = problem.features.location
    if location == "chunks":
        return MomentConstraintsOnDask(problem)
    if location == "device":
        return MomentConstraintsOnDevice(problem)
    return MomentConstraintsInMemory(problem, is_exact=is_exact)
