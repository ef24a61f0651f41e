"""Kernels in Triton's language for CUDA devices: sums over rows in float64 while the data are read once.

For float32 data that is as quick as a pass which multiplies in float32, since both wait for memory; so there
is no rough pass on a device. They need PyTorch with Triton, and rows that are contiguous. Without Triton the
kernels are None.
"""

from __future__ import annotations

from typing import Any

# mypy: ignore-errors
# ruff: noqa: PLR0124, PLR0912, PLR0917


try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None


def sums(
    data,
    weights,
    shift,
    first,
    second,
    n,
    d,
    stride,
    N_WEIGHTS: tl.constexpr,
    SQUARES: tl.constexpr,
    COLUMNS: tl.constexpr,
    UNROLLED: tl.constexpr,
):
    column = tl.program_id(0).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    inside = column < d
    centre = tl.load(shift + column, mask=inside, other=0.0)
    nothing = tl.zeros((COLUMNS,), dtype=tl.float64)
    a0, a1, a2, a3 = nothing, nothing, nothing, nothing
    b0, b1, b2, b3 = nothing, nothing, nothing, nothing
    for start in range(0, n, UNROLLED):
        for k in tl.static_range(UNROLLED):
            row = start + k
            exists = row < n
            where = data + row.to(tl.int64) * stride + column
            value = tl.load(where, mask=inside & exists, other=0.0).to(tl.float64) - centre
            square = value * value
            w = tl.load(weights + row, mask=exists, other=0.0)
            a0 += w * value
            if SQUARES:
                b0 += w * square
            if N_WEIGHTS > 1:
                w = tl.load(weights + n + row, mask=exists, other=0.0)
                a1 += w * value
                if SQUARES:
                    b1 += w * square
            if N_WEIGHTS > 2:
                w = tl.load(weights + 2 * n + row, mask=exists, other=0.0)
                a2 += w * value
                if SQUARES:
                    b2 += w * square
            if N_WEIGHTS > 3:
                w = tl.load(weights + 3 * n + row, mask=exists, other=0.0)
                a3 += w * value
                if SQUARES:
                    b3 += w * square
    column_of_second = column + d
    tl.store(first + column, a0, mask=inside)
    if SQUARES:
        tl.store(second + column, b0, mask=inside)
    if N_WEIGHTS > 1:
        tl.store(first + column_of_second, a1, mask=inside)
        if SQUARES:
            tl.store(second + column_of_second, b1, mask=inside)
    if N_WEIGHTS > 2:
        tl.store(first + column_of_second + d, a2, mask=inside)
        if SQUARES:
            tl.store(second + column_of_second + d, b2, mask=inside)
    if N_WEIGHTS > 3:
        tl.store(first + column_of_second + 2 * d, a3, mask=inside)
        if SQUARES:
            tl.store(second + column_of_second + 2 * d, b3, mask=inside)


def step(
    data,
    weights,
    shift,
    scale,
    position,
    direction,
    fastest,
    n,
    d,
    stride,
    COLUMNS: tl.constexpr,
    UNROLLED: tl.constexpr,
):
    column = tl.program_id(0).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    inside = column < d
    centre = tl.load(shift + column, mask=inside, other=0.0)
    total = tl.zeros((COLUMNS,), dtype=tl.float64)
    for start in range(0, n, UNROLLED):
        for k in tl.static_range(UNROLLED):
            row = start + k
            exists = row < n
            where = data + row.to(tl.int64) * stride + column
            value = tl.load(where, mask=inside & exists, other=0.0).to(tl.float64) - centre
            total += tl.load(weights + row, mask=exists, other=0.0) * value
    total *= tl.load(scale + column, mask=inside, other=0.0)
    tl.store(direction + column, total, mask=inside)
    # Of the two bounds, -1 and 1, a direction can only meet the one it points to.
    here = tl.load(position + column, mask=inside, other=0.0)
    speed = total / (tl.where(total < 0.0, -1.0, 1.0) - here)
    speed = tl.where(speed == speed, speed, float("inf"))
    tl.store(fastest + tl.program_id(0), tl.max(tl.where(inside, speed, float("-inf")), axis=0))


sums_kernel: Any = None if triton is None else triton.jit(sums)
step_kernel: Any = None if triton is None else triton.jit(step)


# Columns of a program, and rows whose loads are under way at the same time. On an H200 200 x 10,000,000 takes
# 2.0 ms with all of 256 to 1024 and 4 to 16; with squares and two weights 2.16 with these, else up to 2.9.
COLUMNS, UNROLLED = 1024, 4
# Rows of weights in one pass; more of them take more registers than there are.
MOST_ROWS = 4


def fused_sums(data: Any, weights: Any, shift: Any, *, with_squares: bool) -> tuple[Any, ...] | None:
    """``weights (data - 1 shift')``, and of the squares too if asked for; None where no kernel serves."""
    if sums_kernel is None or not _serves(data) or len(weights) > MOST_ROWS:
        return None
    import torch  # noqa: PLC0415

    (n, d), n_weights = data.shape, len(weights)
    found = [torch.empty((n_weights, d), dtype=torch.float64, device=data.device)]
    if with_squares:
        found.append(torch.empty_like(found[0]))
    with torch.cuda.device(data.device):
        sums_kernel[(-(-d // COLUMNS),)](
            data,
            weights.contiguous(),
            shift,
            found[0],
            found[-1],
            n,
            d,
            data.stride(0),
            N_WEIGHTS=n_weights,
            SQUARES=with_squares,
            COLUMNS=COLUMNS,
            UNROLLED=UNROLLED,
        )
    return tuple(found)


def fused_step(  # as the kernel
    data: Any, weights: Any, shift: Any, scale: Any, position: Any, direction: Any
) -> Any | None:
    """``weights (data - 1 shift') diag(scale)`` into ``direction``, and how fast it meets a bound.

    That is the largest ``direction / (+-1 - position)``, infinite where that is NaN, on the device.
    There is one row of weights. None where no kernel serves.
    """
    if step_kernel is None or not _serves(data):
        return None
    import torch  # noqa: PLC0415

    n, d = data.shape
    fastest = torch.empty(-(-d // COLUMNS), dtype=torch.float64, device=data.device)
    with torch.cuda.device(data.device):
        step_kernel[(len(fastest),)](
            data,
            weights,
            shift,
            scale,
            position,
            direction,
            fastest,
            n,
            d,
            data.stride(0),
            COLUMNS=COLUMNS,
            UNROLLED=UNROLLED,
        )
    return torch.max(fastest)


def _serves(data: Any) -> bool:
    return type(data).__module__ == "torch" and data.is_cuda and data.stride(1) == 1
