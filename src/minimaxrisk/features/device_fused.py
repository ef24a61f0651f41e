"""Fused operations for CUDA devices: what an iteration asks of the device, one launch a question.

Sums over rows are in float64 while the data are read once. For float32 data that is as quick as a pass which
multiplies in float32, since both wait for memory; so there is no rough pass on a device. With few columns a
launch takes longer than its work, and a message from the device longer still: hence no chains of small
operations. They are written in Triton's language, and need PyTorch with Triton and rows that are contiguous.
Without Triton they are None.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import to_numpy

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
    LEAD: tl.constexpr,
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
    component = column + LEAD
    total *= tl.load(scale + component, mask=inside, other=0.0)
    tl.store(direction + component, total, mask=inside)
    # Of the two bounds, -1 and 1, a direction can only meet the one it points to.
    here = tl.load(position + component, mask=inside, other=0.0)
    speed = total / (tl.where(total < 0.0, -1.0, 1.0) - here)
    speed = tl.where(speed == speed, speed, float("inf"))
    largest = tl.max(tl.where(inside, speed, float("-inf")), axis=0)
    if LEAD:  # the intercept, whose column is the sum of the weights
        total_0 = tl.load(weights + n) * tl.load(scale)
        tl.store(direction, total_0, mask=tl.program_id(0) == 0)
        speed_0 = total_0 / (tl.where(total_0 < 0.0, -1.0, 1.0) - tl.load(position))
        largest = tl.maximum(largest, tl.where(speed_0 == speed_0, speed_0, float("inf")))
    tl.store(fastest + tl.program_id(0), largest)


def nearby(position, direction, beyond, threshold, found, m, capacity, COLUMNS: tl.constexpr):
    component = tl.program_id(0).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    inside = component < m
    here = tl.load(position + component, mask=inside, other=0.0)
    ahead = here + beyond * tl.load(direction + component, mask=inside, other=0.0)
    nearness = tl.maximum(tl.abs(here), tl.abs(ahead))
    is_near = inside & (nearness >= threshold)
    n_near = tl.sum(is_near.to(tl.int32), axis=0)
    if n_near > 0:
        first = tl.atomic_add(found, n_near.to(tl.float64)).to(tl.int32)
        place = first + tl.cumsum(is_near.to(tl.int32), axis=0)
        fits = is_near & (place <= capacity)
        tl.store(found + place, component.to(tl.float64), mask=fits)
        tl.store(found + capacity + place, nearness, mask=fits)


def gather(
    data,
    rows,
    shift,
    factor,
    components,
    vectors_0,
    vectors_1,
    vectors_2,
    gathered,
    n,
    d,
    n_components,
    stride,
    LEAD: tl.constexpr,
    N_VECTORS: tl.constexpr,
    SOME: tl.constexpr,
    MANY: tl.constexpr,
):
    place = tl.program_id(0) * SOME + tl.arange(0, SOME)
    exists = place < n_components
    component = tl.load(components + place, mask=exists, other=0)
    column = component % (d + LEAD) - LEAD
    inner = tl.maximum(column, 0)
    instance = tl.program_id(1) * MANY + tl.arange(0, MANY)
    inside = instance < n
    row = tl.load(rows + instance, mask=inside, other=0).to(tl.int64)
    both = exists[:, None] & inside[None, :]
    value = tl.load(data + row[None, :] * stride + inner[:, None], mask=both, other=0.0).to(tl.float64)
    value = (value - tl.load(shift + inner, mask=exists, other=0.0)[:, None]) * tl.load(
        factor + inner, mask=exists, other=0.0
    )[:, None]
    value = tl.where(column[:, None] < 0, 1.0, value)
    line = gathered + place.to(tl.int64) * (n + N_VECTORS)
    tl.store(line[:, None] + instance[None, :], value, mask=both)
    if N_VECTORS == 3:
        mine = exists & (tl.program_id(1) == 0)
        tl.store(line + n, tl.load(vectors_0 + component, mask=mine, other=0.0), mask=mine)
        tl.store(line + n + 1, tl.load(vectors_1 + component, mask=mine, other=0.0), mask=mine)
        tl.store(line + n + 2, tl.load(vectors_2 + component, mask=mine, other=0.0), mask=mine)


sums_kernel: Any = None if triton is None else triton.jit(sums)
step_kernel: Any = None if triton is None else triton.jit(step)
nearby_kernel: Any = None if triton is None else triton.jit(nearby, do_not_specialize=["capacity"])
gather_kernel: Any = None if triton is None else triton.jit(gather, do_not_specialize=["n_components"])


# Columns of a program, and rows whose loads are under way at the same time. On an H200 200 x 10,000,000 takes
# 2.0 ms with all of 256 to 1024 and 4 to 16; with squares and two weights 2.16 with these, else up to 2.9.
COLUMNS, UNROLLED = 1024, 4
# The same where there are too few columns for programs of that size to fill the device: a step with 200 x
# 10,000 then takes 47 microseconds instead of 68, with 200 x 100,000 58 instead of 98.
FEW_COLUMNS, COLUMNS_IF_FEW, UNROLLED_IF_FEW = 1 << 19, 256, 8
# Rows of weights in one pass; more of them take more registers than there are.
MOST_ROWS = 4


def _sizes(d: int) -> tuple[int, int]:
    return (COLUMNS, UNROLLED) if d > FEW_COLUMNS else (COLUMNS_IF_FEW, UNROLLED_IF_FEW)


def fused_sums(data: Any, weights: Any, shift: Any, *, with_squares: bool) -> tuple[Any, ...] | None:
    """``weights (data - 1 shift')``, and of the squares too if asked for; None where no kernel serves."""
    if not serve(data) or len(weights) > MOST_ROWS:
        return None
    import torch  # noqa: PLC0415

    (n, d), n_weights = data.shape, len(weights)
    columns, unrolled = _sizes(d)
    found = [torch.empty((n_weights, d), dtype=torch.float64, device=data.device)]
    if with_squares:
        found.append(torch.empty_like(found[0]))
    with torch.cuda.device(data.get_device()):
        sums_kernel[(-(-d // columns),)](
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
            COLUMNS=columns,
            UNROLLED=unrolled,
        )
    return tuple(found)


def fused_step(  # as the kernel
    data: Any, weights: Any, shift: Any, scale: Any, position: Any, direction: Any
) -> float:
    """``weights (data - 1 shift') diag(scale)`` into ``direction``, and how fast it meets a bound.

    That is the largest ``direction / (+-1 - position)``, infinite where that is NaN. There is one row of
    weights, and behind them their sum. The vectors may begin with an intercept.
    """
    import torch  # noqa: PLC0415

    n, d = data.shape
    columns, unrolled = _sizes(d)
    fastest = torch.empty(-(-d // columns), dtype=torch.float64, device=data.device)
    with torch.cuda.device(data.get_device()):
        step_kernel[fastest.shape](
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
            LEAD=position.shape[0] - d,
            COLUMNS=columns,
            UNROLLED=unrolled,
        )
    return torch.max(fastest).item()


def fused_nearby(
    position: Any, direction: Any, beyond: float, threshold: float, capacity: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Components, in any order, that are ``threshold`` or more away from zero, and how far they are.

    That is the larger of ``|position|`` and ``|position + beyond direction|``. None where there are more than
    ``capacity``.
    """
    import torch  # noqa: PLC0415

    m = position.shape[0]
    found = torch.zeros(1 + 2 * capacity, dtype=torch.float64, device=position.device)
    with torch.cuda.device(position.get_device()):
        nearby_kernel[(-(-m // COLUMNS),)](
            position, direction, beyond, threshold, found, m, capacity, COLUMNS=COLUMNS
        )
    here = copied(found)
    n_found = int(here[0])
    if n_found > capacity:
        return None
    return here[1 : 1 + n_found].astype(np.intp), here[1 + capacity : 1 + capacity + n_found]


# Columns and rows that a program gathers.
SOME, MANY = 4, 256


def fused_columns(
    data: Any, rows: Any, shift: Any, factor: Any, components: Any, vectors: tuple[Any, ...], lead: int
) -> Any:
    """A line per component: its column of ``(data - 1 shift') diag(factor)``, its entries of ``vectors``.

    There are three vectors or none. With ``lead`` a column of ones comes first.
    """
    import torch  # noqa: PLC0415

    n, n_components, n_vectors = rows.shape[0], components.shape[0], len(vectors)
    gathered = torch.empty((n_components, n + n_vectors), dtype=torch.float64, device=data.device)
    if n_components == 0:
        return gathered
    with torch.cuda.device(data.get_device()):
        gather_kernel[(-(-n_components // SOME), -(-n // MANY))](
            data,
            rows,
            shift,
            factor,
            components,
            *(vectors or (shift,) * 3),
            gathered,
            n,
            data.shape[1],
            n_components,
            data.stride(0),
            LEAD=lead,
            N_VECTORS=n_vectors,
            SOME=SOME,
            MANY=MANY,
        )
    return gathered


# Bytes up to which a copy comes through pinned memory, which PyTorch keeps for the next one.
MOST_PINNED = 1 << 22


def copied(array: Any) -> np.ndarray:
    """An array of the device as one here, for a short time."""
    if not has_fused(array) or array.nbytes > MOST_PINNED:
        return to_numpy(array)
    import torch  # noqa: PLC0415

    return torch.empty_like(array, device="cpu", pin_memory=True).copy_(array).numpy()


def serve(data: Any) -> bool:
    """Whether the operations can read these data."""
    return has_fused(data) and data.stride(1) == 1


def has_fused(array: Any) -> bool:
    """Whether there are fused operations where an array is."""
    return triton is not None and type(array).__module__ == "torch" and array.is_cuda
