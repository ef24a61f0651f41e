"""Samples on another scale than the others, and values that were not prepared as is usual."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse, stats

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray
from minimaxrisk.checks.findings import Finding
from minimaxrisk.checks.names import are_words
from minimaxrisk.checks.table import StudyTable
from minimaxrisk.samples.columns import canonical

FEWEST_SAMPLES, FEWEST_COLUMNS = 10, 50
SHOWN = 6  # samples in a message
MOSTLY_MISSING = 0.5  # of the values of a sample
# Whole numbers beyond the first are counts of molecules or reads, since images end there; those beyond the
# second are if samples are skewed, or most values are zero, unless the columns are words of a text.
LARGE_COUNT, SMALL_COUNT, MOSTLY_ZERO = 255, 3, 0.5
# Values with a wider range, and samples that are usually more skewed, are intensities without logarithms. In
# the data sets of the paper and their stand-ins, the median skewness of raw samples is at least 2.4, that of
# others at most 1.2.
WIDE_RANGE, SKEWED = 100.0, 1.8
# Codes for missing values, of either sign; they are codes if no other value is beyond half of them.
MISSING_CODES, FAR = frozenset({99.0, 999.0, 9999.0, 99999.0}), 0.5
# Jumps between samples in order, where so many lie on either side: in the decimal logarithm of their spread,
# and of their mean in spreads, both without this share of the values at either end. In those data sets, with
# half of their samples and 50 or more of their columns, the largest jumps are 0.23 and 0.78. Base 2 next to
# base 10 jumps by 0.4 or more, and a shift of 3 in base 2 by 1.8.
SPREAD_JUMP, MEAN_JUMP, FEWEST, SMALLEST_SIDE, TRIMMED = 0.3, 1.0, 2, 0.05, 0.05
# A jump is so many times the standard deviation within its two sides. Samples that range widely, as spectra
# or values with a size of their own do, have large jumps by chance. In those data sets jumps of another scale
# are at least 6 times that.
STANDS_OUT = 4.0
# A single sample is on another scale if its spread is so many times larger or smaller than the middle one, as
# a decimal logarithm, where the largest is 0.81, and as a multiple of the usual deviation from it.
ALONE, UNUSUAL = 1.2, 7.0
LOOKED_AT = 1_000_000  # cells at once


def scale_findings(table: StudyTable) -> Iterator[Finding]:
    """Find samples that were not measured or prepared like the others."""
    differs = on_another_scale(table.X)
    if differs is None:
        return
    rows = np.flatnonzero(differs)
    own = [label for label in np.unique(table.y) if differs[table.y == label].all()]
    others = [label for label in np.unique(table.y) if not differs[table.y == label].any()]
    is_class = len(own) + len(others) == len(table.classes)
    what = f"{len(rows)} of {len(table.y)} samples {'is' if len(rows) == 1 else 'are'} on another scale"
    of_class = (
        f" They are all samples of {listed(own)}, so the scale alone tells the class." if is_class else ""
    )
    yield Finding(
        "scale-by-class" if is_class else "scale-mismatch",
        message=f"{what} than the others, over all columns: {listed(table.names_of(rows), SHOWN)}. "
        f"{level_in_words(*profile(table.X), differs)}{of_class}",
        remedy="Prepare all samples in the same way, and fit again.",
        claim=f"{what}, and they are one class" if is_class else "all samples were prepared in the same way",
        samples=table.names_of(rows),
        rows=tuple(rows.tolist()),
        numbers={"n_differing": len(rows)},
    )


def preparation_findings(table: StudyTable) -> Iterator[Finding]:
    """Find values that are usually prepared first, codes for missing values, and empty samples."""
    X = table.X
    empty = np.flatnonzero(share_missing(X) > MOSTLY_MISSING)
    if len(empty):
        yield _of_samples(
            "empty-samples",
            table,
            empty,
            "more than half of their values missing. Imputed values tell nothing about their class",
            "Measure these samples again, or leave them out.",
        )
    constant = np.flatnonzero(constant_samples(X))
    if len(constant):
        yield _of_samples(
            "constant-samples",
            table,
            constant,
            "one value in all columns",
            "Leave out samples without measurements.",
        )
    count, code = None if are_words(table.feature_names) else largest_count(X), missing_code(X)
    if count is not None:
        yield Finding(
            "raw-counts",
            message=f"All values are whole numbers up to {count:g} and look like raw counts.",
            remedy="It is usual to normalise counts and take logarithms first.",
            numbers={"largest": count},
        )
    elif code is None and are_intensities(X):
        yield Finding(
            "raw-intensities",
            message="A few values are far larger than the others, as in raw intensities.",
            remedy="It is usual to take logarithms first.",
        )
    if code is not None:
        yield Finding(
            "missing-code",
            message=f"{code[0]:g} stands in {counted(code[1], 'cell')}, far from all other values, and is "
            "used as a number.",
            remedy="If it codes a missing value, empty these cells and impute them by column.",
            numbers={"code": code[0], "n_cells": code[1]},
        )


def _of_samples(code: str, table: StudyTable, rows: np.ndarray, what: str, remedy: str) -> Finding:
    names, n = table.names_of(rows), len(rows)
    return Finding(
        code,
        message=f"{counted(n, 'sample')} {'has' if n == 1 else 'have'} {what} ({listed(names, SHOWN)}).",
        remedy=remedy,
        samples=names,
        rows=tuple(rows.tolist()),
        numbers={"n_samples": n},
    )


def stored(X: DataMatrix) -> FloatArray:
    """Return the numbers that are stored: all, or those of a sparse matrix."""
    values: FloatArray = X.data if sparse.issparse(X) else X
    return values


def share_missing(X: DataMatrix) -> FloatArray:
    """Return the share of the values of each sample that are missing; 0 of no columns."""
    if sparse.issparse(X):
        gaps = sparse.coo_array(X)
        counts = np.bincount(gaps.row[np.isnan(gaps.data)], minlength=X.shape[0])
    else:
        counts = np.isnan(X).sum(axis=1)
    return np.asarray(counts / max(1, X.shape[1]))


def largest_count(X: DataMatrix) -> float | None:
    """Return the largest value if the values look like raw counts of molecules: whole and not negative."""
    values = stored(X)
    largest = float(np.nanmax(values, initial=0.0))
    if X.shape[1] < FEWEST_COLUMNS or largest <= SMALL_COUNT or np.nanmin(values) < 0.0:
        return None
    is_mostly_zero = np.count_nonzero(values) < MOSTLY_ZERO * X.shape[0] * X.shape[1]
    is_skewed = is_mostly_zero if sparse.issparse(X) else _usual_skewness(X) > SKEWED
    if largest <= LARGE_COUNT and not is_skewed:
        return None
    step = max(1, LOOKED_AT // max(1, values.shape[-1]))
    for start in range(0, len(values), step):
        part = values[start : start + step]
        if not ((part == np.trunc(part)) | np.isnan(part)).all():
            return None
    return largest


def are_intensities(X: DataMatrix) -> bool:
    """Return whether the values look like raw intensities: a wide range, and strongly skewed samples.

    A few columns in other units are left out.
    """
    if sparse.issparse(X) or X.shape[1] < FEWEST_COLUMNS:
        return False
    largest = np.where(np.isnan(X), -np.inf, X).max(axis=0)
    X = X[:, np.sort(np.argsort(largest, kind="stable")[: -max(2, X.shape[1] // 100)])]
    if not np.nanmax(X, initial=-np.inf) - np.nanmin(X, initial=np.inf) > WIDE_RANGE:
        return False
    return _usual_skewness(X) > SKEWED


def _usual_skewness(X: FloatArray) -> float:
    """Return the median skewness of the samples over their columns."""
    known = ~np.isnan(X)
    n_known = np.maximum(known.sum(axis=1, keepdims=True), 1)
    centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=1, keepdims=True) / n_known, 0.0)
    spread = np.sqrt((centred**2).sum(axis=1, keepdims=True) / n_known)
    varied = spread[:, 0] > 1e-12 * np.abs(np.where(known, X, 0.0)).max(axis=1)
    skewness = ((centred[varied] / spread[varied]) ** 3).sum(axis=1) / n_known[varied, 0]
    return float(np.median(skewness)) if varied.any() else 0.0


def missing_code(X: DataMatrix) -> tuple[float, int] | None:
    """Return the smallest or largest value and its frequency, if it is a usual code far beyond all others."""
    values = stored(X)[~np.isnan(stored(X))]
    for code in (values.min(initial=np.inf), values.max(initial=-np.inf)):
        others = np.sign(code) * values[values != code]
        if abs(code) in MISSING_CODES and others.size and others.max() <= FAR * abs(code):
            return float(code), int(np.count_nonzero(values == code))
    return None


def constant_samples(X: DataMatrix) -> BoolArray:
    """Return which samples have one value in all columns, such as zero."""
    if sparse.issparse(X) or X.shape[1] < FEWEST_COLUMNS:
        return np.zeros(X.shape[0], dtype=bool)
    return np.asarray((X[:, :1] == X).all(axis=1))


def on_another_scale(X: DataMatrix) -> BoolArray | None:
    """Return the samples on one side of a jump in spread or mean, the smaller side; None without such a jump.

    The mean and the spread of a sample are those over its columns. They differ little between samples that
    were measured and prepared alike, whatever their classes.
    """
    n, d = X.shape
    if n < FEWEST_SAMPLES or d < FEWEST_COLUMNS:
        return None
    if sparse.issparse(X):
        return _sparse_on_another_scale(canonical(sparse.csr_matrix(X)))
    mean, spread = profile(X)
    size = np.log10(spread, out=np.full(n, np.nan), where=spread > 0.0)
    if not np.isfinite(size).any():
        return None
    found = _beyond_jump(size, SPREAD_JUMP)
    if found is None:
        # Its own spread where that is larger: a sample of large values is not on another scale by its mean.
        usual = np.fmax(spread, np.nanmedian(spread))
        found = _beyond_jump(mean / usual, MEAN_JUMP) if (usual > 0.0).all() else None
    if found is None:
        deviation = np.abs(size - np.nanmedian(size))
        usual_deviation = np.nanmedian(deviation) / stats.norm.ppf(0.75)
        alone = np.isfinite(size) & (deviation > max(ALONE, UNUSUAL * usual_deviation))
        found = alone if alone.any() else None
    return found


def _sparse_on_another_scale(X: sparse.csr_matrix) -> BoolArray | None:
    """Find samples of whole numbers among others, as counts among logarithms, or a jump in the mean size."""
    n_stored = np.diff(X.indptr)
    rows = np.repeat(np.arange(X.shape[0]), n_stored)
    has_fractions = np.zeros(X.shape[0])
    has_fractions[rows[X.data != np.trunc(X.data)]] = 1.0
    has_fractions[n_stored == 0] = np.nan
    total = np.bincount(rows, weights=np.abs(X.data), minlength=X.shape[0])
    size = np.log10(total / np.maximum(n_stored, 1), out=np.full(X.shape[0], np.nan), where=total > 0.0)
    found = _beyond_jump(has_fractions, 1.0)
    return _beyond_jump(size, SPREAD_JUMP) if found is None else found


def _beyond_jump(values: FloatArray, smallest_jump: float) -> BoolArray | None:
    order = np.argsort(values)
    order = order[np.isfinite(values[order])]
    side = max(FEWEST, int(np.ceil(SMALLEST_SIDE * len(values))))
    jumps = np.diff(values[order])[side - 1 : len(order) - side]
    if not len(jumps) or jumps.max() < smallest_jump:
        return None
    n_below = side + int(np.argmax(jumps))
    within = np.concatenate([part - part.mean() for part in np.split(values[order], [n_below])])
    if jumps.max() < STANDS_OUT * np.sqrt(np.sum(within**2) / (len(order) - 2)):
        return None
    found = np.zeros(len(values), dtype=bool)
    found[order[:n_below] if 2 * n_below <= len(order) else order[n_below:]] = True
    return found


def level_in_words(mean: FloatArray, spread: FloatArray, differs: BoolArray) -> str:
    """Return the usual mean and spread of the samples that differ, and of the others."""
    (m, s), (other_m, other_s) = (
        (np.nanmedian(mean[side]), np.nanmedian(spread[side])) for side in (differs, ~differs)
    )
    return (
        f"Over the features their mean is {m:.3g} and their standard deviation {s:.3g} (medians), those of "
        f"the others are {other_m:.3g} and {other_s:.3g}."
    )


def profile(X: DataMatrix) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation over the columns, by sample, without the extreme values."""
    if sparse.issparse(X):
        mean = np.asarray(X.mean(axis=1)).ravel()
        return mean, np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=1)).ravel() - mean**2, 0.0))
    n, d = X.shape
    mean, spread = np.full(n, np.nan), np.full(n, np.nan)
    step = max(1, LOOKED_AT // d)
    for start in range(0, n, step):
        rows = np.sort(X[start : start + step], axis=1)  # missing values come last
        n_known = d - np.isnan(rows).sum(axis=1)
        for size in np.unique(n_known[n_known > 0]):
            same, cut = n_known == size, int(TRIMMED * size)
            kept = rows[same, cut : size - cut]
            at = start + np.flatnonzero(same)
            mean[at], spread[at] = kept.mean(axis=1), kept.std(axis=1)
    return mean, spread
