"""What a fit will take, before it starts: a warning with figures and remedies where that is a lot.

Time is that of the passes over X and of the interior point's own matrices (``demands.py``); memory is the
copy of X if one is made, vectors with one number per component of the feature map, and those matrices. On one
core, within a factor of two or so: enough to tell minutes from hours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.dask_arrays import is_dask_array
from minimaxrisk._utils.free_memory import free_memory
from minimaxrisk._utils.namespaces import is_foreign
from minimaxrisk._utils.notices import LargeFitWarning, warn
from minimaxrisk._utils.table import Table, as_table
from minimaxrisk.engines.interior_point.demands import ITERATIONS, as_duration, demands_of_sizes
from minimaxrisk.features.coding import make_coding
from minimaxrisk.features.copying import BYTES, is_copied
from minimaxrisk.samples.validation import TrainingData

# Entries of X per second of a pass on one core: float64 9e8, float32 6e8, whole numbers 7e8 in memory or in
# a cached memory map; 1.2e8 in compressed chunks of zarr; sparse ones 1e8. From a disk, bytes per second.
ENTRIES_IN_MEMORY, ENTRIES_IN_CHUNKS, SPARSE_ENTRIES, BYTES_FROM_DISK = 6e8, 1.2e8, 1e8, 3e8
# First-order steps take two passes each, and some hundreds of them.
FIRST_ORDER_PASSES = 1000
# Numbers per component that a fit holds at its peak: 17 with 200 x 2,000,000, two classes.
VECTORS = 20
LONG = 3600.0


@dataclass(frozen=True)
class Work:
    """Seconds on one core and bytes beside X."""

    seconds: float
    n_bytes: float
    n_passes: int
    is_copied: bool


def estimated_work(data: TrainingData, coding: str, copy: bool | str) -> Work:
    """The estimate, from sizes and the kind of container alone."""
    n, d = int((data.weights > 0).sum()) + data.n_unlabeled, data.X.shape[1]
    n_blocks = make_coding(coding, len(data.classes)).n_blocks
    demands = demands_of_sizes(n, d, n_blocks)
    n_passes = FIRST_ORDER_PASSES if demands.are_too_large else ITERATIONS
    own_seconds, own_bytes = (0.0, 0.0) if demands.are_too_large else (demands.seconds, demands.n_bytes)
    copies = not sparse.issparse(data.X) and is_copied(n, d, copy)
    return Work(
        seconds=n_passes * n_blocks * _seconds_of_pass(data.X, is_copied=copies) + own_seconds,
        n_bytes=own_bytes + BYTES * (VECTORS * n_blocks * d + (n * d if copies else 0)),
        n_passes=n_passes,
        is_copied=copies,
    )


def warn_about_work(data: TrainingData, coding: str, copy: bool | str) -> None:
    """Before an hour of work, or work for which there is not the memory.

    Of chunks on workers and arrays on a device neither the speed nor the memory is known here.
    """
    if is_dask_array(data.X) or is_foreign(data.X):
        return
    work, free = estimated_work(data, coding, copy), free_memory()
    n, d = data.X.shape
    size = f"a fit of {n} x {d} entries"
    if work.seconds > LONG:
        warn(
            f"{size} takes about {as_duration(work.seconds)} on one core, with some {work.n_passes} passes "
            f"over X. A larger radius or gap_tol takes fewer of them{_quicker(data.X, work)}; max_iter or a "
            "callback ends the fit with the bounds that it has.",
            LargeFitWarning,
        )
    if free is not None and work.n_bytes > free:
        remedy = "copy=False makes no copy of X" if work.is_copied else "leave out columns or samples"
        warn(
            f"{size} takes about {work.n_bytes / 1e9:.2g} GB of memory beside X, but {free / 1e9:.2g} GB are "
            f"free; {remedy}.",
            LargeFitWarning,
        )


def _seconds_of_pass(X: Any, *, is_copied: bool) -> float:
    if sparse.issparse(X):
        return float(X.nnz / SPARSE_ENTRIES)
    stored, size = as_table(X).stored, float(np.prod(X.shape))
    if is_copied or not stored.is_on_disk:
        return size / ENTRIES_IN_MEMORY
    free, n_bytes = free_memory(), size * stored.dtype.itemsize
    is_cached = free is None or n_bytes < free
    seconds = size / (ENTRIES_IN_CHUNKS if stored.is_in_chunks else ENTRIES_IN_MEMORY)
    return seconds if is_cached else max(seconds, n_bytes / BYTES_FROM_DISK)


def _quicker(X: Any, work: Work) -> str:
    """What would make a pass shorter."""
    if not isinstance(X, Table) or work.is_copied:
        return ""
    if X.stored.is_on_disk:
        return ", copy=True reads X once if memory allows it"
    return ", float32 in place of float64 has shorter ones" if X.dtype == np.float64 else ""
