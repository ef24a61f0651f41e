"""Samples and values that were computed from other samples, with or without the labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse, special

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.checks.findings import Finding
from minimaxrisk.checks.table import StudyTable
from minimaxrisk.samples.copies import duplicate_rows, participation_ratio, resolution

MOST_SAMPLES, SHOWN = 1000, 6
FEWEST_COLUMNS = 20  # from which repeated values are counted
# The cosine of the angle at which a sample sees two others, and how far it may be from the weighted mean of
# the two, in standard deviations of any column and in its resolution. Coarser columns are not looked at.
STRAIGHT, TOLERANCE, ROUNDED, COARSE = -0.999, 0.02, 0.75, 0.5
N_NEIGHBOURS = 10  # SMOTE interpolates between neighbours
MOST_BY_CHANCE = 0.01  # expected samples on a line; classes that fill few dimensions have more
# So many repeated values, and this share of them in one class alone where chance has no more than that.
FEWEST_REPEATED, PURE, PURE_BY_CHANCE = 20, 0.95, 0.8
# A summary is nearer to a mean, median or sum than this, in standard deviations of every column.
SUMMARY_TOLERANCE, FEWEST_SUMMARISED, MOST_SUMMARIES = 0.01, 4, 0.1
LOOKED_AT = 1_000_000  # cells at once


def computed_findings(table: StudyTable) -> Iterator[Finding]:
    """Find interpolated samples, gaps that were filled class by class, and rows that sum up others."""
    if sparse.issparse(table.X) or len(table.y) > MOST_SAMPLES:
        return
    yield from _interpolated(table)
    yield from _summaries(table)
    kept = np.setdiff1d(np.arange(len(table.y)), [later for _, later in duplicate_rows(table.X)])
    n_columns = filled_by_class(table.X[kept], table.y[kept])
    if n_columns:
        yield Finding(
            "filled-by-class",
            message=f"In {n_columns:,} columns a value is repeated within one class alone. Missing values "
            "were probably imputed within each class, which leaks the labels.",
            remedy="Leave missing values empty, and impute them by column (--impute median).",
            claim="missing values were not imputed class by class",
            numbers={"n_columns": n_columns},
        )


def _interpolated(table: StudyTable) -> Iterator[Finding]:
    between = samples_between(table.X, table.y)
    if not between:
        return
    rows = [i for i, _, _ in between]
    names, n = table.names_of(rows), len(between)
    sample, first, second = table.names_of(between[0])
    what = f"{counted(n, 'sample')} {'is an interpolation' if n == 1 else 'are interpolations'} of two others"
    yield Finding(
        "interpolated-samples",
        message=f"{what} of the same class, such as {sample!r} between {first!r} and {second!r}, as SMOTE "
        "computes them. Samples that are left out then resemble samples of the training data.",
        remedy="Leave out computed samples. For rare classes use class weights instead.",
        claim=f"{what}, as SMOTE computes them",
        samples=names,
        rows=tuple(rows),
        numbers={"n_samples": n},
    )


def samples_between(X: FloatArray, y: np.ndarray) -> list[tuple[int, int, int]]:
    """Return samples that interpolate two others of their class with one weight in every column, with these.

    The columns are standardised: a column in large units would make every sample lie nearly on one line.
    Classes that fill few dimensions are left out, since their samples lie on lines by chance.
    """
    raw, spread = _varying(X)
    unit = resolution(raw, spread) / spread
    fine = unit < COARSE
    values = ((raw - raw.mean(axis=0)) / spread)[:, fine]
    tolerance, found = np.maximum(TOLERANCE, ROUNDED * unit[fine]), []
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        if len(rows) > 2 and _expected_by_chance(values[rows]) <= MOST_BY_CHANCE:
            lines = _lines(values[rows], tolerance)
            found += [(int(rows[i]), int(rows[j]), int(rows[k])) for i, j, k in lines]
    return found


def _varying(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the columns without gaps that vary, and their standard deviations."""
    finite = X[:, np.isfinite(X).all(axis=0)].astype(np.float64)
    spread = finite.std(axis=0)
    return finite[:, spread > 0.0], spread[spread > 0.0]


def _expected_by_chance(values: FloatArray) -> float:
    """Return how many angles would be as flat, were directions uniform in the dimensions that are filled."""
    n, dimensions = len(values), participation_ratio(values - values.mean(axis=0))
    tail = 0.5 * special.betainc(max(dimensions - 1.0, 1e-3) / 2.0, 0.5, 1.0 - STRAIGHT**2)
    return float(0.5 * n * (n - 1) * (n - 2) * tail)


def _lines(values: FloatArray, tolerance: FloatArray) -> Iterator[tuple[int, int, int]]:
    """Find each sample that lies between one of its nearest neighbours and another sample."""
    n, products = len(values), values @ values.T
    squares = np.diag(products)
    for i in range(n):
        length = np.sqrt(np.maximum(squares - 2.0 * products[i] + squares[i], 0.0))
        is_apart = length > 1e-6 * length.max()  # duplicates are not on a line
        near = np.argsort(np.where(is_apart, length, np.inf), kind="stable")[: min(N_NEIGHBOURS, n - 1)]
        seen = products[near] - products[near, i, None] - products[i] + squares[i]
        scale = np.maximum(np.outer(length[near], length), 1e-300)
        cosine = np.where(is_apart[near, None] & is_apart, seen / scale, 1.0)
        a, k = np.unravel_index(int(np.argmin(cosine)), cosine.shape)
        j = int(near[a])
        if cosine[a, k] < STRAIGHT:
            weight = length[k] / (length[j] + length[k])
            rest = values[i] - weight * values[j] - (1.0 - weight) * values[k]
            if (np.abs(rest) < tolerance).all():
                yield i, j, int(k)


def summary_rows(X: FloatArray, y: np.ndarray) -> set[int]:
    """Return the rows that are the mean, median or sum of their class or of all rows."""
    finite, spread = _varying(X)
    is_fine = resolution(finite, spread) < COARSE * spread
    finite, spread = finite[:, is_fine], spread[is_fine]
    found: set[int] = set()
    if finite.shape[1] < FEWEST_COLUMNS:
        return found
    for rows in (np.arange(len(y)), *(np.flatnonzero(y == label) for label in np.unique(y))):
        part = finite[rows]
        # The mean and the median of rows stay the same when they join these rows.
        for summary in (part.mean(axis=0), np.median(part, axis=0), part.sum(axis=0) / 2.0):
            distance = np.abs((part - summary) / spread).max(axis=1)
            if len(rows) >= FEWEST_SUMMARISED:
                found.update(rows[distance < SUMMARY_TOLERANCE].tolist())
    # Samples among others on a far wider scale are all near the median.
    return found if len(found) <= MOST_SUMMARIES * len(y) else set()


def _summaries(table: StudyTable) -> Iterator[Finding]:
    found = summary_rows(table.X, table.y)
    if found:
        names, n = table.names_of(sorted(found)), len(found)
        yield Finding(
            "summary-samples",
            message=f"{counted(n, 'row')} {'is' if n == 1 else 'are'} the mean, median or sum of other rows "
            f"({listed(names, SHOWN)}). A summary leaks test samples into the training data.",
            remedy="Remove these rows from the table.",
            claim="no row sums up other rows",
            samples=names,
            rows=tuple(sorted(found)),
            numbers={"n_samples": n},
        )


def filled_by_class(X: FloatArray, y: np.ndarray) -> int:
    """Return in how many columns a value is repeated in one class alone, if nearly all are, else 0."""
    if X.shape[1] < FEWEST_COLUMNS:
        return 0
    own = np.unique(y, return_inverse=True)[1]
    shares = np.bincount(own) / len(own)
    limits = np.array([0.0, np.nanmin(X, initial=np.inf), np.nanmax(X, initial=-np.inf)])
    step = max(1, LOOKED_AT // len(own))
    parts = [_repeated(X[:, start : start + step], own, limits) for start in range(0, X.shape[1], step)]
    length, is_pure, column = (np.concatenate(each) for each in zip(*parts, strict=True))
    column += np.repeat(np.arange(len(parts)) * step, [len(part[0]) for part in parts])
    is_found = (
        len(length) >= FEWEST_REPEATED
        and is_pure.mean() >= PURE
        and np.mean((shares[:, None] ** length).sum(axis=0)) <= PURE_BY_CHANCE
    )
    return len(np.unique(column[is_pure])) if is_found else 0


def _repeated(X: FloatArray, own: IntArray, limits: FloatArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how often each repeated value of a column occurs, whether in one class alone, and its column.

    Zeros, and other values at the end of the range, are limits of measurement or codes.
    """
    order = np.argsort(X, axis=0, kind="stable")
    values, classes = np.take_along_axis(X, order, axis=0).T, own[order].T
    begins = np.ones(values.shape, dtype=bool)
    begins[:, 1:] = values[:, 1:] != values[:, :-1]
    starts = np.flatnonzero(begins.ravel())
    length = np.diff(np.r_[starts, values.size])
    flat = classes.ravel()
    is_pure = np.minimum.reduceat(flat, starts) == np.maximum.reduceat(flat, starts)
    several = (length > 1) & ~np.isin(values.ravel()[starts], limits)
    return length[several], is_pure[several], starts[several] // values.shape[1]
