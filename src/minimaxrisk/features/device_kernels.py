"""One kernel for CUDA devices: sums over rows, added up in float64 while the data are read once.

For float32 data that is as quick as a pass which multiplies in float32, since both wait for memory; so there
is no rough pass on a device. It needs PyTorch with Triton, and rows that are contiguous.
"""

from __future__ import annotations

from typing import Any

# Columns of a program, and rows whose loads are under way at the same time. On an H200 200 x 10,000,000 takes
# 1.99 to 2.05 ms with all of 256 to 1024 and 4 to 16; with squares and two weights 2.16 with these, else up
# to 2.9.
COLUMNS, UNROLLED = 1024, 4
# Rows of weights in one pass; more of them take more registers than there are.
MOST_ROWS = 4


def fused_sums(data: Any, weights: Any, shift: Any, *, with_squares: bool) -> tuple[Any, ...] | None:
    """``weights (data - 1 shift')``, and of the squares too if asked for; None where no kernel serves."""
    if not _serves(data):
        return None
    import torch  # noqa: PLC0415

    from minimaxrisk.features.triton_sums import sums_kernel  # noqa: PLC0415

    if sums_kernel is None or len(weights) > MOST_ROWS:
        return None

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


def fused_step(  # noqa: PLR0917  # as the kernel
    data: Any, weights: Any, shift: Any, scale: Any, position: Any, direction: Any
) -> Any | None:
    """``weights (data - 1 shift') diag(scale)`` into ``direction``, and how fast it meets a bound.

    That is the largest ``direction / (+-1 - position)``, infinite where that is no number, on the device.
    There is one row of weights. None where no kernel serves.
    """
    if not _serves(data):
        return None
    import torch  # noqa: PLC0415

    from minimaxrisk.features.triton_sums import step_kernel  # noqa: PLC0415

    if step_kernel is None:
        return None
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
