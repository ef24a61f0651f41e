"""Sums over the rows of an array that lives on a device, in float64 whatever its own precision.

A block of columns at a time becomes float64, so that no second copy of the data is ever made. On CUDA devices
with Triton one kernel does the same while it reads the data once (``device_kernels``), at the bandwidth of
the memory; casting a block writes and reads it again, which takes several times as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minimaxrisk._utils.namespaces import namespace_of
from minimaxrisk.features.device_kernels import fused_sums
from minimaxrisk.features.streamed import StreamedArray

# Numbers that are float64 at a time: 64 MB, about what the cache of a large device holds.
BLOCK_ELEMENTS = 1 << 23


def weighted_sums(data: Any, weights: Any, shift: Any) -> Any:
    """``weights (data - 1 shift')``: weights are R x n, the result R x d."""
    xp = namespace_of(data)
    if isinstance(data, StreamedArray):
        blocks = data.blocks()
        return xp.concat([weighted_sums(block, weights, shift[part]) for part, block in blocks], axis=1)
    fused = fused_sums(data, weights, shift, with_squares=False)
    if fused is not None:
        return fused[0]
    return xp.concat([weights @ block for _, block in centred_blocks(data, shift)], axis=1)


def weighted_sums_and_squares(data: Any, weights: Any, shift: Any) -> tuple[Any, Any]:
    """The same, and with the squares of the centred data."""
    xp = namespace_of(data)
    first, second = [], []
    if isinstance(data, StreamedArray):
        for part, block in data.blocks():
            sums, squares = weighted_sums_and_squares(block, weights, shift[part])
            first.append(sums)
            second.append(squares)
        return xp.concat(first, axis=1), xp.concat(second, axis=1)
    fused = fused_sums(data, weights, shift, with_squares=True)
    if fused is not None:
        return fused
    for _, block in centred_blocks(data, shift):
        first.append(weights @ block)
        second.append(weights @ (block * block))
    return xp.concat(first, axis=1), xp.concat(second, axis=1)


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
