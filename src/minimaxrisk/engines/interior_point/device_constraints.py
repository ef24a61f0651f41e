"""The moment constraints of a problem on a device: positions and directions never leave it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.namespaces import namespace_of, to_numpy
from minimaxrisk.engines.interior_point.device_rows import DeviceRows
from minimaxrisk.engines.interior_point.moment_constraints import WorkingSet
from minimaxrisk.features.device_kernels import fused_step
from minimaxrisk.problem.on_device import DeviceProblem


class MomentConstraintsOnDevice:
    """``MomentConstraints`` of which single numbers and the columns of working sets come here."""

    is_exact = True

    def __init__(self, problem: DeviceProblem) -> None:
        self._problem = problem
        xp = problem.features.xp
        self._lam, self._tau = (xp.reshape(v, (-1,)) for v in (problem.lam_there, problem.tau_there))
        self._position = self._direction = self._ahead = 0.0 * self._lam
        self._lead = problem.scale.n_leading

    def begin(self) -> None:
        self._position = self._ahead = 0.0 * self._lam

    def deviations(self) -> Any:
        return self._position * self._lam

    def begin_at(self, deviations: Any) -> None:
        self._position = self._ahead = deviations / self._lam

    def nearest(self, k: int, besides: IntArray) -> WorkingSet:
        m = self._problem.n_components
        if k >= m:
            return self._gather(np.arange(m))
        if k > 0:
            xp = self._problem.features.xp
            distance = xp.maximum(xp.abs(self._ahead), xp.abs(self._position))
            together = np.sort(np.concatenate([to_numpy(places_of_largest(distance, k)), besides]))
            besides = together[np.diff(together, prepend=-1) > 0]
        return self._gather(besides)

    def furthest_step(self, block_weights: FloatArray) -> float:
        fastest = float(self._fused(block_weights) if len(block_weights) == 1 else self._plain(block_weights))
        if not np.isfinite(fastest):
            raise FloatingPointError("a constraint holds with equality and its slack is gone")
        return np.inf if fastest <= 0.0 else 1.0 / fastest

    def _plain(self, block_weights: FloatArray) -> Any:
        """The direction, and how fast it meets a bound."""
        xp = self._problem.features.xp
        found = xp.reshape(self._problem.features.correlate_there(block_weights), (-1,))
        self._direction = found / self._lam
        return xp.max(self._speeds(self._direction, self._position))

    def _fused(self, block_weights: FloatArray) -> Any:
        """The same by one kernel, where there is one."""
        features, lead = self._problem.features, self._lead
        xp, direction = features.xp, features.xp.empty_like(self._lam)
        fastest = fused_step(
            features.data,
            features.on_rows(block_weights),
            features.shift,
            self._scale,
            self._position[lead:],
            direction[lead:],
        )
        if fastest is None:
            return self._plain(block_weights)
        features.n_passes += 1
        self._direction = direction
        if lead:
            direction[:1] = float(block_weights.sum()) / self._lam[:1]
            fastest = xp.maximum(fastest, self._speeds(direction[:1], self._position[:1])[0])
        return fastest

    @cached_property
    def _scale(self) -> Any:
        """Of the centred data to positions."""
        return self._problem.features.factor / self._lam[self._lead :]

    def _speeds(self, direction: Any, position: Any) -> Any:
        """Of the two bounds, -1 and 1, a direction can only meet the one it points to."""
        xp = self._problem.features.xp
        return direction / xp.where(direction < 0.0, -1.0 - position, 1.0 - position)

    def make_exact(self, block_weights: FloatArray) -> bool:
        deviation = self._problem.features.correlate_there(block_weights) - self._problem.tau_there
        xp = self._problem.features.xp
        self._position = xp.reshape(deviation, (-1,)) / self._lam
        return bool(xp.max(xp.abs(self._position)) < 1.0)

    def advance(self, step: float) -> None:
        self._ahead = self._position + self._direction
        self._position = self._position + step * self._direction

    def _gather(self, components: IntArray) -> WorkingSet:
        shape = self._problem.shape
        lam, tau, position = self._problem.at(components, self._lam, self._tau, self._position)
        rows = DeviceRows(self._problem.features.columns_there(components % shape[1]))
        return WorkingSet.of(components, rows, lam=lam, tau=tau, position=position, shape=shape)


def places_of_largest(values: Any, k: int) -> Any:
    """Where the k largest numbers along the last axis are, in any order."""
    xp = namespace_of(values)
    if hasattr(xp, "topk"):  # PyTorch
        return xp.topk(values, k, sorted=False).indices
    if hasattr(xp, "argpartition"):  # CuPy
        return xp.argpartition(values, -k)[..., -k:]
    return xp.argsort(values)[..., values.shape[-1] - k :]
