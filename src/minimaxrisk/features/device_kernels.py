"""One kernel for CUDA devices: sums over rows, added up in float64 while the data are read once.

For float32 data that is as quick as a pass which multiplies in float32, since both wait for memory; so there
is no rough pass on a device. It needs PyTorch with Triton, and rows that are contiguous.
"""

from __future__ import annotations

from typing import Any

# Columns of a program, and rows whose loads are under way at the same time.
COLUMNS, UNROLLED = 512, 8
# Rows of weights in one pass; more of them take more registers than there are.
MOST_ROWS = 4


def fused_sums(data: Any, weights: Any, shift: Any, *, with_squares: bool) -> tuple[Any, ...] | None:
    """``weights (data - 1 shift')``, and of the squares too if asked for; None where no kernel serves."""
    if type(data).__module__ != "torch" or not data.is_cuda or data.stride(1) != 1:
        return None
    import torch  # noqa: PLC0415

    from minimaxrisk.features.triton_sums import kernel  # noqa: PLC0415

    if kernel is None or len(weights) > MOST_ROWS:
        return None

    (n, d), n_weights = data.shape, len(weights)
    found = [torch.empty((n_weights, d), dtype=torch.float64, device=data.device)]
    if with_squares:
        found.append(torch.empty_like(found[0]))
    with torch.cuda.device(data.device):
        kernel[(-(-d // COLUMNS),)](
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
