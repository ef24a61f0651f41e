"""Data larger than the memory of the device: blocks of columns come from the host as they are needed.

PyTorch has two ways to say that a tensor on the host is meant for a device: its memory is pinned, from where
copies run by themselves, or the default device is another one. Two blocks are on the device at a time, one
that is worked on and one that is on its way. What is not pinned (a memory map, for example) goes through a
block of pinned memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk._utils.namespaces import beside, namespace_of, to_numpy

# Bytes of a block: long enough for rows of it to be copied at full speed, and two of them fit everywhere.
BLOCK_BYTES = 1 << 29


class StreamedArray:
    """A tensor on the host that is worked on elsewhere; what the standard asks of an array, where needed."""

    ndim = 2

    def __init__(self, host: Any, device: Any) -> None:
        self.host, self.device = host, device
        self.shape, self.dtype = tuple(host.shape), host.dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0) if self.device.type == "cpu" else (2, self.device.index or 0)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return namespace_of(self.host)

    def __getitem__(self, key: Any) -> Any:
        return self.host[key].to(self.device)

    def columns(self, indices: IntArray) -> Any:
        """Some columns on the device, gathered here."""
        return self.host.index_select(1, beside(self.host, indices)).to(self.device)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """All columns, a block after the other, each on the device until the next is asked for."""
        n, d = self.shape
        width = max(1, BLOCK_BYTES // (n * self.host.element_size()))
        parts = [slice(start, min(start + width, d)) for start in range(0, d, width)]
        if self.device.type == "cpu":
            yield from ((part, self.host[:, part]) for part in parts)
        else:
            yield from self._overlapped(parts)

    def _overlapped(self, parts: list[slice]) -> Iterator[tuple[slice, Any]]:
        import torch  # noqa: PLC0415

        width, n = parts[0].stop, self.shape[0]
        copier, worker = torch.cuda.Stream(self.device), torch.cuda.current_stream(self.device)
        # The memory of a column-major block is contiguous as a whole, that of the others row by row.
        by_rows = self.host.stride(1) == 1
        buffers = [torch.empty(n * width, dtype=self.dtype, device=self.device) for _ in range(2)]
        staging = (
            [] if self.host.is_pinned() else [torch.empty(n * width, dtype=self.dtype) for _ in range(2)]
        )
        staging = [each.pin_memory() for each in staging]
        arrived, finished = ([torch.cuda.Event() for _ in range(2)] for _ in range(2))
        copier.wait_stream(worker)

        def view(buffer: Any, part: slice) -> Any:
            shape = (n, part.stop - part.start) if by_rows else (part.stop - part.start, n)
            whole = buffer[: shape[0] * shape[1]].view(shape)
            return whole if by_rows else whole.T

        def send(i: int) -> None:
            part, k = parts[i], i % 2
            source = self.host[:, part]
            copier.wait_event(finished[k])
            if staging:
                arrived[k].synchronize()
                source = view(staging[k], part).copy_(source)
            target = view(buffers[k], part)
            with torch.cuda.stream(copier):
                if staging or not by_rows:
                    target.copy_(source, non_blocking=True)
                else:
                    for to, row in zip(target, source, strict=True):
                        to.copy_(row, non_blocking=True)
                arrived[k].record(copier)

        send(0)
        for i, part in enumerate(parts):
            if i + 1 < len(parts):
                send(i + 1)
            worker.wait_event(arrived[i % 2])
            yield part, view(buffers[i % 2], part)
            finished[i % 2].record(worker)
        worker.wait_stream(copier)


def streamed_if_asked(X: Any) -> Any:
    """X itself, or the way to stream it, where it is on the host and meant for another device."""
    if type(X).__module__ != "torch" or X.device.type != "cpu":
        return X
    import torch  # noqa: PLC0415

    if torch.get_default_device().type == "cuda":
        return StreamedArray(X, torch.get_default_device())
    return StreamedArray(X, torch.device("cuda")) if X.is_pinned() else X


def taken_columns(data: Any, place: Any) -> Any:
    """Some columns of the data on the device, by indices here or there."""
    if isinstance(data, StreamedArray):
        return data.columns(to_numpy(place))
    there = beside(data, place) if isinstance(place, np.ndarray) else place
    return namespace_of(data).take(data, there, axis=1)
