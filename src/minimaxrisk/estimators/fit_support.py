"""What fits share: settings from parameters, attributes, callbacks and logs, and warnings before long fits.

The time of a fit is that of the passes over X and of the interior point's own matrices. Its memory is the
copy of X, if one is made, vectors with one number per component of the feature map, and those matrices. Both
are estimated for one core, within a factor of about two: enough to tell minutes from hours.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from minimaxrisk._utils.arguments import listed
from minimaxrisk._utils.arrays import IntArray, is_foreign
from minimaxrisk._utils.dask_arrays import is_dask_array
from minimaxrisk._utils.environment import memory_short_of
from minimaxrisk._utils.notices import warn
from minimaxrisk._utils.stored_tables import as_table
from minimaxrisk.engines.cost import RATES, as_duration, demands_of_sizes
from minimaxrisk.engines.solution import EngineSettings, IterationRecord, Monitor
from minimaxrisk.exceptions import (
    CoverageWarning,
    FarFromZeroWarning,
    FewSamplesWarning,
    LargeFitWarning,
    UnderfitWarning,
)
from minimaxrisk.matrices.dense import is_copied
from minimaxrisk.matrices.moments import make_coding
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.solvers import settings_of
from minimaxrisk.uncertainty.radius import Radii


def radius_seed_of(model: Any) -> int:
    """The seed of the draws of a radius rule: a number has to be computed, without a seed always the same."""
    drawn = model.random_state is not None and isinstance(model.radius, str)
    return int(check_random_state(model.random_state).randint(2**31 - 1)) if drawn else 0


def engine_settings_of(model: Any, n_features: int) -> EngineSettings:
    """What the parameters of a ``MinimaxRiskClassifier`` say about the computation."""
    settings = settings_of(model.solver, n_features)
    if model.gap_tol is None:
        return settings
    return replace(settings, gap_tol=model.gap_tol, first_order_gap_tol=model.gap_tol, is_gap_given=True)


def warn_about_radius(parameters: Any, data: TrainingData, radii: Radii) -> None:
    """Warn if the sample breaks what a named radius rule assumes, or the meaning of weights was guessed."""
    for remark in radii.remarks:
        warn(f"{remark}.", CoverageWarning)
    weights = data.weights[data.weights > 0]
    # Class weights are not counts of samples.
    are_whole = (weights == np.rint(weights)).all() and weights.max() > 1.0
    could_be_counts = parameters.class_weight is None and are_whole
    is_guessed = parameters.weight_kind == "auto" and data.groups is None and data.counts is not None
    if isinstance(parameters.radius, str) and is_guessed and could_be_counts:
        warn(
            f"sample_weight holds whole numbers, which are taken for importance: {len(weights)} rows are at "
            f"most {len(weights)} samples. Pass weight_kind='counts' if a weight says how many independent "
            "samples a row stands for, or weight_kind='importance' to silence this.",
            CoverageWarning,
        )


def warn_about_single_samples(data: TrainingData) -> None:
    """Warn if a class has a single sample, or a single group."""
    used = np.flatnonzero(data.weights)
    units = used if data.groups is None else data.groups[used]
    n_units = np.array([len(np.unique(units[data.labels[used] == k])) for k in range(len(data.classes))])
    counts = data.weights if data.counts is None else data.counts
    # A row of weight 2 may stand for two samples.
    n_samples = n_units if data.groups is not None else np.bincount(data.labels, counts)
    single = data.classes[(n_units == 1) & (n_samples <= 1.0)]
    if len(single):
        kind = "sample" if data.groups is None else "group"
        whose = f"class {listed(single)} has" if len(single) == 1 else f"classes {listed(single)} each have"
        warn(
            f"{whose} a single {kind}, so that predictions of this class are unreliable; add {kind}s, or "
            "leave the class out.",
            FewSamplesWarning,
        )


def warn_about_far_columns(estimator: Any, columns: IntArray) -> None:
    """Warn about columns in which a rule in the units of the caller loses digits."""
    if len(columns):
        names = getattr(estimator, "feature_names_in_", np.arange(estimator.n_features_in_))[columns]
        warn(
            "the model uses columns that are far from zero compared with their spread, such as dates or "
            f"identifiers: {listed(names)}. Predictions lose digits, and verify may reject them. Subtract a "
            "constant (StandardScaler), or leave these columns out.",
            FarFromZeroWarning,
        )


CURVED = "MinimaxRiskKernelClassifier(kernel='rbf')"  # finds classes that no linear rule separates


def warn_about_lost_classes(
    data: TrainingData, predicted: IntArray, remedies: list[str], whose: str = ""
) -> None:
    """If a class is never predicted on the training data, or the most common one alone would do as well.

    ``whose`` is said behind parameters that are not those of the estimator that the caller has.
    """
    used, n_classes = data.weights > 0, len(data.classes)
    labels, predicted, weights = data.labels[used], predicted[used], data.weights[used]
    of_class = np.bincount(labels, weights, minlength=n_classes)
    lost = np.flatnonzero(np.bincount(predicted, minlength=n_classes) == 0)
    most = np.flatnonzero(of_class == of_class.max())
    if len(lost) == n_classes - 1:
        outcome = f"predicts {listed(data.classes[predicted[:1]])} for every sample"
    elif len(lost):
        outcome = f"never predicts {listed(data.classes[lost])}"
    elif weights[labels == predicted].sum() <= of_class.max():
        name = listed(data.classes[most]) if len(most) == 1 else "any one of the most common classes"
        outcome = f"is no better than {name} for every sample"
    else:
        return
    is_rare = len(lost) > 0 and bool(of_class[lost].max() < 0.5 * of_class.mean())
    tries = [f"class_weight='balanced'{whose}"] * is_rare + remedies
    warn(f"on the training data the model {outcome}; try {' or '.join(tries)}.", UnderfitWarning)


def start_over(estimator: Any, checked: Any) -> None:
    """Delete what an earlier fit stored, and store the columns that ``checked`` has validated.

    To be called when nothing can fail any more, so that a failed fit leaves the old model whole.
    """
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(checked, name):
            setattr(estimator, name, getattr(checked, name))


logger = logging.getLogger("minimaxrisk")

Listener = Callable[[IterationRecord], object]
# Seconds below which nobody asks how many are left.
FEW_SECONDS = 2.0


def make_monitor(callback: Listener | None, *, is_logged: bool) -> Monitor:
    """Tell everyone who listens."""

    def monitor(record: IterationRecord) -> bool:
        if is_logged:
            log_line(
                "iteration %(iteration)d: %(lower).6f <= R* <= %(upper).6f, %(n_features)d features "
                "(+%(n_added)d, -%(n_removed)d), largest violation %(max_violation).1e, %(seconds).2f s"
                f"{time_left(record)}",
                record,
            )
        return callback is not None and bool(callback(record))

    return monitor


def time_left(record: IterationRecord) -> str:
    """Say how long the fit will still take, where that is known and not short."""
    seconds = record.get("seconds_left", np.nan)
    return f", about {as_duration(seconds)} left" if seconds >= FEW_SECONDS else ""


def log_line(message: str, *arguments: Any) -> None:
    """To the log, or to standard error if logging is not set up."""
    line = logger.makeRecord(logger.name, logging.INFO, __file__, 0, message, arguments, None)
    if logger.hasHandlers():
        if logger.isEnabledFor(logging.INFO):
            logger.handle(line)
    else:
        logging.StreamHandler().handle(line)


# Entries of X per second of a pass on one core: float64 9e8, float32 6e8, whole numbers 7e8 in memory or in
# a cached memory map; 1.2e8 in compressed chunks of zarr; sparse ones 1e8. From a disk, bytes per second.
BYTES_OF_NUMBER = np.dtype(np.float64).itemsize
ENTRIES_IN_MEMORY, ENTRIES_IN_CHUNKS, SPARSE_ENTRIES, BYTES_FROM_DISK = 6e8, 1.2e8, 1e8, 3e8
# First-order steps take two passes each, and some hundreds of them.
FIRST_ORDER_PASSES = 1000
# Numbers per component that a fit holds at its peak: 17 with 200 x 2,000,000, two classes. Of empty columns
# of sparse data, and their indices: 6 with 400 x 1,000,000.
VECTORS, VECTORS_OF_EMPTY = 20, 6
LONG = 3600.0
# Matrices with a row and a column for each sample that the ball holds at once, for each class: 2.7 to 2.8.
MATRICES_OF_CLASS = 3


def warn_about_work(data: TrainingData, coding: str, copy: bool | str) -> None:
    """Before an hour of work, or work for which there is not the memory, by sizes and the container alone.

    Of chunks on workers and arrays on a device neither the speed nor the memory is known here.
    """
    X = data.X
    if is_dask_array(X) or is_foreign(X):
        return
    n, d = int((data.weights > 0).sum()) + data.n_unlabeled, X.shape[1]
    n_empty = max(0, d - X.nnz) if sparse.issparse(X) else 0
    d -= n_empty
    n_blocks = make_coding(coding, len(data.classes)).n_blocks
    demands = demands_of_sizes(n, d, n_blocks)
    n_passes = FIRST_ORDER_PASSES if demands.are_too_large else RATES.iterations_of_several
    copies = not sparse.issparse(X) and is_copied(n, d, copy, X.dtype)
    seconds = n_passes * n_blocks * _seconds_of_pass(X, is_copied=copies)
    n_vectors = VECTORS * d + VECTORS_OF_EMPTY * n_empty
    n_bytes = float(BYTES_OF_NUMBER * (n_vectors * n_blocks + (n * d if copies else 0)))
    if not demands.are_too_large:
        seconds, n_bytes = seconds + demands.seconds, n_bytes + demands.n_bytes
    size = f"a fit of {X.shape[0]} x {X.shape[1]} entries"
    if seconds > LONG:
        warn(
            f"{size} takes about {as_duration(seconds)} on one core, with some {n_passes} passes over X. A "
            f"larger radius or gap_tol takes fewer of them; max_seconds of the solver or a callback "
            "ends the fit with the bounds that it has.",
            LargeFitWarning,
        )
    remedy = "copy=False makes no copy of X" if copies else "leave out columns or samples"
    _warn_about_memory(size, n_bytes, remedy)


def warn_about_products(data: TrainingData) -> None:
    """Before matrices of products of samples for which there is not the memory."""
    n, n_classes = int((data.weights > 0).sum()), len(data.classes)
    size, n_bytes = f"a fit of {n} samples", float(BYTES_OF_NUMBER * MATRICES_OF_CLASS * n_classes * n**2)
    _warn_about_memory(size, n_bytes, "leave out samples, or use MinimaxRiskClassifier")


def _warn_about_memory(size: str, n_bytes: float, remedy: str) -> None:
    free = memory_short_of(n_bytes)
    if free is not None:
        warn(
            f"{size} takes about {n_bytes / 1e9:.2g} GB of memory beside X, but {free / 1e9:.2g} GB are "
            f"free; {remedy}.",
            LargeFitWarning,
        )


def _seconds_of_pass(X: Any, *, is_copied: bool) -> float:
    if sparse.issparse(X):
        return float(X.nnz / SPARSE_ENTRIES)
    stored, size = as_table(X).stored, float(np.prod(X.shape))
    if is_copied or not stored.is_on_disk:
        return size / ENTRIES_IN_MEMORY
    n_bytes = size * stored.dtype.itemsize
    is_cached = memory_short_of(n_bytes) is None
    seconds = size / (ENTRIES_IN_CHUNKS if stored.is_in_chunks else ENTRIES_IN_MEMORY)
    return seconds if is_cached else max(seconds, n_bytes / BYTES_FROM_DISK)
