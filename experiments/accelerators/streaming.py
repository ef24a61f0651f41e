"""Data on the host, larger than what is on the device at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from experiments.accelerators.clock import median_seconds, upload_bandwidth
from experiments.accelerators.workloads import EFFECT, N_INFORMATIVE, Row, certified
from minimaxrisk.matrices.device import DeviceMatrix, StreamedArray


def streamed(n: int, d: int) -> Iterator[Row]:
    """A pass and a fit over float32 in pinned memory, beside the bandwidth of plain copies."""
    bandwidth = upload_bandwidth()
    X, y = pinned_study(n, d)
    n_bytes = 4.0 * n * d
    there = StreamedArray(X, torch.device("cuda"))
    weights = torch.randn((1, n), dtype=torch.float64, device="cuda")
    shift = torch.zeros(d, dtype=torch.float64, device="cuda")
    seconds = median_seconds(lambda: DeviceMatrix(there).left(weights, shift), 3)
    yield {
        "what": f"pass over {n_bytes / 1e9:.3g} GB streamed",
        "n": n,
        "d": d,
        "seconds": seconds,
        "gigabytes_per_second": n_bytes / seconds / 1e9,
        "share_of_floor": n_bytes / seconds / bandwidth,
    }
    until, whole, model = certified(X, y, repeats=0)
    rate = n_bytes * model.n_passes_ / until
    yield {
        "what": f"fit of {n_bytes / 1e9:.3g} GB streamed, to a gap of 1e-6",
        "n": n,
        "d": d,
        "seconds": until,
        "passes": model.n_passes_,
        "iterations": model.n_iter_,
        "seconds_with_results_in_numpy": whole,
        "gigabytes_per_second": rate / 1e9,
        "share_of_floor": rate / bandwidth,
        "R": model.worst_case_error_,
        "gap": model.optimality_gap_,
    }


def pinned_study(n: int, d: int) -> tuple[Any, np.ndarray]:
    """As ``workloads.study``, in pinned memory of the host."""
    random = torch.Generator(device="cuda").manual_seed(0)
    X = torch.empty((n, d), dtype=torch.float32, pin_memory=True)
    for row in X:
        row.copy_(torch.randn(d, generator=random, device="cuda"), non_blocking=True)
    torch.cuda.synchronize()
    y = np.arange(n) % 2
    X[torch.asarray(y == 1), :N_INFORMATIVE] += EFFECT
    return X, y
