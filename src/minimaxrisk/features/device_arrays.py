"""Arrays on a device, and arrays on the host that are worked on there: their columns, and sums over rows.

Data larger than the memory of the device come from the host in blocks of columns as they are needed: a tensor
on the host whose memory is pinned, or any one while PyTorch's default device is another. Two blocks are on
the device at a time, one that is worked on and one that is being copied. Memory that is not pinned (a memory
map, for example) goes through a pinned block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import IntArray, asarray_like, namespace_of, to_numpy
from minimaxrisk.features.device_kernels import fused_sums

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
        return self.host.index_select(1, asarray_like(self.host, indices)).to(self.device)

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
        staging = []
        if not self.host.is_pinned():
            staging = [torch.empty(n * width, dtype=self.dtype).pin_memory() for _ in range(2)]
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
    there = asarray_like(data, place) if isinstance(place, np.ndarray) else place
    return namespace_of(data).take(data, there, axis=1)


# Numbers that are float64 at a time, about what the cache of a large device holds.
BLOCK_ELEMENTS = 1 << 23


def weighted_sums(data: Any, weights: Any, shift: Any) -> Any:
    """``weights (data - 1 shift')``: weights are R x n, the result R x d."""
    return sums_over_rows(data, weights, shift, with_squares=False)[0]


def sums_over_rows(data: Any, weights: Any, shift: Any, *, with_squares: bool) -> Sequence[Any]:
    """``weighted_sums``, and those of the squares of the centred data if asked for."""
    if isinstance(data, StreamedArray):
        found = [
            sums_over_rows(block, weights, shift[part], with_squares=with_squares)
            for part, block in data.blocks()
        ]
    else:
        fused = fused_sums(data, weights, shift, with_squares=with_squares)
        if fused is not None:
            return fused
        found = [
            (weights @ block, weights @ (block * block)) if with_squares else (weights @ block,)
            for _, block in centred_blocks(data, shift)
        ]
    return [namespace_of(data).concat(parts, axis=1) for parts in zip(*found, strict=True)]


def centred_blocks(data: Any, shift: Any) -> Iterator[tuple[slice, Any]]:
    """Columns less their shift in float64, a block at a time."""
    if isinstance(data, StreamedArray):
        for outer, streamed in data.blocks():
            for inner, block in centred_blocks(streamed, shift[outer]):
                yield slice(outer.start + inner.start, outer.start + inner.stop), block
        return
    xp = namespace_of(data)
    n, d = data.shape
    width = max(1, BLOCK_ELEMENTS // n)
    for start in range(0, d, width):
        part = slice(start, min(start + width, d))
        yield part, xp.astype(data[:, part], xp.float64) - shift[part]
