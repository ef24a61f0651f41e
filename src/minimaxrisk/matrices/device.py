"""Data that stay in an array on a device, of PyTorch, CuPy or whatever follows the array API standard.

Every sum is added up in float64 from centred numbers, whatever the precision of the data. A block of columns
at a time becomes float64, so that no second copy of the data is ever made.

Data larger than the memory of the device come from the host in blocks of columns as they are needed: a tensor
on the host whose memory is pinned, or any one while PyTorch's default device is another. Memory that is not
pinned (a memory map, for example) goes through a pinned block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import assert_all_finite

from minimaxrisk._utils.arrays import FloatArray, IntArray, asarray_like, namespace_of, to_numpy
from minimaxrisk.matrices.matrix import Function, Matrix, MatrixHints, PassRates, slices_of

# Bytes of a block: rows of it are long enough to be copied at full speed.
BLOCK_BYTES = 1 << 29
# Numbers that are float64 at a time: half a gigabyte.
BLOCK_ELEMENTS = 1 << 26


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
        parts = list(slices_of(slice(0, d), width))
        if self.device.type == "cpu":
            yield from ((part, self.host[:, part]) for part in parts)
        else:
            yield from self._sent(parts)

    def _sent(self, parts: list[slice]) -> Iterator[tuple[slice, Any]]:
        """Copies of parts of the columns on the device, by way of pinned blocks."""
        import torch  # noqa: PLC0415

        # The memory of a column-major part is contiguous as a whole, that of the others row by row.
        by_rows, staging = self.host.stride(1) == 1, []
        if not self.host.is_pinned():
            size = self.shape[0] * parts[0].stop
            staging = [torch.empty(size, dtype=self.dtype).pin_memory() for _ in range(2)]
        sent = [torch.cuda.Event() for _ in range(2)]
        for i, part in enumerate(parts):
            source = self.host[:, part]
            if staging:
                sent[i % 2].synchronize()
                pinned = staging[i % 2][: source.numel()]
                shape = source.shape if by_rows else source.shape[::-1]
                source = (pinned.view(shape) if by_rows else pinned.view(shape).T).copy_(source)
            block = torch.empty_like(source, device=self.device)
            if by_rows and not staging:
                for to, row in zip(block, source, strict=True):
                    to.copy_(row, non_blocking=True)
            else:
                block.copy_(source, non_blocking=True)
            sent[i % 2].record()
            yield part, block


def streamed_if_asked(X: Any) -> Any:
    """X itself, or the way to stream it, where it is on the host and meant for another device."""
    if type(X).__module__ != "torch" or X.device.type != "cpu":
        return X
    import torch  # noqa: PLC0415

    if torch.get_default_device().type == "cuda":
        return StreamedArray(X, torch.get_default_device())
    return StreamedArray(X, torch.device("cuda")) if X.is_pinned() else X


@dataclass
class DeviceMatrix(Matrix):
    """An array of float32 or float64 on a device, or one that is streamed to it."""

    hints = MatrixHints(
        can_share=True,
        has_parts=True,
        drawn_elements=1 << 26,
        pass_rates=PassRates(2e-4, 3e-11, 3e-12),
    )

    data: Any

    @classmethod
    def of(cls, X: Any) -> DeviceMatrix:
        """Of an array, which is streamed where that was asked for."""
        return cls(streamed_if_asked(X))

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.shape[0], self.data.shape[1]

    @property
    def _xp(self) -> Any:
        return namespace_of(self.data)

    def on_device(self, values: FloatArray | IntArray) -> Any:
        return asarray_like(self.data, values)

    def left(self, weights: Any, shift: Any | None = None, *, alike: bool = False) -> Any:
        return self._xp.concat([weights @ block for _, block in self._blocks(shift)], axis=1)

    def right(self, coefficients: FloatArray, columns: IntArray, shift: FloatArray | None) -> FloatArray:
        scores = np.zeros((len(coefficients), self.shape[0]))
        for part in slices_of(slice(0, len(columns)), max(1, BLOCK_ELEMENTS // self.shape[0])):
            values = self.columns(columns[part])
            if shift is not None:
                values = values - self.on_device(shift[part])
            there = self.on_device(coefficients[:, part])
            scores += to_numpy(there @ self._xp.matrix_transpose(values))
        return scores

    def columns(self, indices: IntArray) -> Any:
        if isinstance(self.data, StreamedArray):
            found = self.data.columns(indices)
        else:
            found = self._xp.take(self.data, self.on_device(indices), axis=1)
        return self._xp.astype(found, self._xp.float64)

    def rows_at(self, indices: IntArray) -> FloatArray:
        chosen = self.on_device(indices)
        parts = [self._xp.take(block, chosen, axis=0) for _, block in self._blocks(None)]
        return to_numpy(self._xp.concat(parts, axis=1))

    def reduce(
        self, functions: Sequence[Function], weights: Any, shift: Any, factor: Any, *, alike: bool = False
    ) -> list[Any]:
        parts = [
            [weights @ function(block * factor[part]) for function in functions]
            for part, block in self._blocks(shift)
        ]
        return [self._xp.concat(found, axis=1) for found in zip(*parts, strict=True)]

    def mix(self, shares: sparse.csr_array) -> DeviceMatrix:
        return DeviceMatrix(self.left(self.on_device(shares.toarray())))

    def pilot(self, weights: FloatArray) -> Any:
        """The mean of each column, after a check that all entries are finite."""
        mean = super().pilot(weights)
        # 0 * NaN is NaN, so that rows of weight zero are checked as well.
        if not bool(self._xp.all(self._xp.isfinite(mean))):
            assert_all_finite(getattr(self.data, "host", self.data), input_name="X")
            raise ValueError(
                "X has columns with numbers so large that their sums leave the range of float64; divide "
                "these columns, or pass X as a NumPy array, which is scaled column by column."
            )
        return mean

    def _blocks(self, shift: Any | None) -> Iterator[tuple[slice, Any]]:
        """Columns less their shift in float64, a block at a time."""
        n, d = self.shape
        shift = self._xp.zeros(d, dtype=self._xp.float64, device=self.data.device) if shift is None else shift
        whole = ((slice(0, d), self.data),)
        for outer, values in self.data.blocks() if isinstance(self.data, StreamedArray) else whole:
            for part in slices_of(slice(0, values.shape[1]), max(1, BLOCK_ELEMENTS // n)):
                there = slice(outer.start + part.start, outer.start + part.stop)
                # One operation: float32 less float64 is float64.
                yield there, values[:, part] - shift[there]
