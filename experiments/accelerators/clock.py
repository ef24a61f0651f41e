"""Times on a CUDA device, and the bandwidths that bound them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch


def median_seconds(call: Callable[[], Any], repeats: int = 5) -> float:
    """The median after one call to warm up, the device idle before and after."""
    call()
    return statistics.median(seconds_of(call) for _ in range(repeats))


def seconds_of(call: Callable[[], Any]) -> float:
    torch.cuda.synchronize()
    started = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - started


def reading_bandwidth() -> float:
    """Bytes per second of a sum over four gigabytes."""
    values = torch.randn(1 << 30, device="cuda")
    return 4.0 * len(values) / median_seconds(values.sum)


def upload_bandwidth() -> float:
    """Bytes per second from pinned memory of the host, four gigabytes."""
    here = torch.empty(1 << 30, pin_memory=True).normal_()
    there = torch.empty_like(here, device="cuda")
    return 4.0 * len(here) / median_seconds(lambda: there.copy_(here, non_blocking=True))
