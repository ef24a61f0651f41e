"""Whether values were prepared, and all samples alike: raw counts, raw intensities, mixed scales, codes."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from scipy import sparse, stats

from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray
from minimaxrisk.samples.validation import canonical

# Whole numbers up to this are counts; where most values are zero, smaller ones are, too.
LARGE_COUNT, SMALL_COUNT, MOSTLY_ZERO = 50, 3, 0.5
# Values with a wider range, and samples that are usually more skewed, are intensities without logarithms. In
# the data sets of the paper and their stand-ins, the median skewness of raw samples is at least 2.4, that of
# others at most 1.2.
WIDE_RANGE, SKEWED = 100.0, 2.0
# Codes for missing values, of either sign; they are codes if no other value is beyond half of them.
MISSING_CODES, FAR = frozenset({99.0, 999.0, 9999.0, 99999.0}), 0.5
# Jumps between samples in order, where so many lie on either side: in the decimal logarithm of their spread,
# and of their mean in spreads, both without this share of the values at either end. In those data sets, with
# half of their samples and 50 or more of their columns, the largest jumps are 0.23 and 0.78. Base 2 beside
# base 10 jumps by 0.4 or more, and a shift of 3 in base 2 by 1.8.
SPREAD_JUMP, MEAN_JUMP, FEWEST, SMALLEST_SIDE, TRIMMED = 0.3, 1.0, 2, 0.05, 0.05
# A jump is so many times the standard deviation within its two sides. Samples that range widely, as spectra
# or values with a size of their own do, have large jumps by chance. In those data sets jumps of another scale
# are at least 6 times that.
STANDS_OUT = 4.0
# A single sample is on another scale if its spread is so many times larger or smaller than the middle one, as
# a decimal logarithm, where the largest is 0.81, and as a multiple of the usual deviation from it.
ALONE, UNUSUAL = 1.2, 7.0
FEWEST_SAMPLES, FEWEST_COLUMNS = 10, 50
# Logarithms of ratios that are closer count as alike; raw values spread so many times as much as logarithms.
ALIKE, RAW = 0.1, 10.0
BASES = {"base-2": 2.0, "natural": np.e, "base-10": 10.0}
LOOKED_AT = 1_000_000  # cells at once


def stored(X: DataMatrix) -> FloatArray:
    """The numbers that are stored: all, or those of a sparse matrix."""
    values: FloatArray = X.data if sparse.issparse(X) else X
    return values


def largest_count(X: DataMatrix) -> float | None:
    """The largest value if the values look like raw counts: whole numbers, none negative, some large."""
    values = stored(X)
    largest = float(np.nanmax(values, initial=0.0))
    if largest < SMALL_COUNT or np.nanmin(values) < 0:
        return None
    if largest <= LARGE_COUNT and np.count_nonzero(values) > (1 - MOSTLY_ZERO) * X.shape[0] * X.shape[1]:
        return None
    for row in (values,) if sparse.issparse(X) else values:
        known = row[~np.isnan(row)]
        if not np.array_equal(known, np.trunc(known)):
            return None
    return largest


def are_intensities(X: DataMatrix) -> bool:
    """Whether the values look like raw intensities: a wide range, and strongly skewed samples."""
    if sparse.issparse(X) or X.shape[1] < FEWEST_COLUMNS:
        return False
    if not np.nanmax(X, initial=-np.inf) - np.nanmin(X, initial=np.inf) > WIDE_RANGE:
        return False
    return bool(np.nanmedian(_skewness(X)) > SKEWED)


def missing_code(X: DataMatrix) -> tuple[float, int] | None:
    """The smallest or largest value and how often it occurs, if it is a common code far beyond all others.

    A single cell above all others is rather a measurement.
    """
    values = stored(X)
    if not np.isfinite(values).any():
        return None
    for code, fewest in ((float(np.nanmin(values)), 1), (float(np.nanmax(values)), FEWEST)):
        is_code, sign = values == code, np.sign(code)
        others = sign * values[~is_code & ~np.isnan(values)]
        if abs(code) not in MISSING_CODES or not others.size:
            continue
        if is_code.sum() >= fewest and others.max() <= FAR * abs(code):
            return code, int(is_code.sum())
    return None


def constant_samples(X: DataMatrix) -> BoolArray:
    """The samples with one value in all columns, such as zero."""
    if sparse.issparse(X) or X.shape[1] < FEWEST_COLUMNS:
        return np.zeros(X.shape[0], dtype=bool)
    return np.asarray((X[:, :1] == X).all(axis=1))


def on_another_scale(X: DataMatrix) -> BoolArray | None:
    """The samples on one side of a jump in spread or mean, the smaller side; None without such a jump.

    The mean and the spread of a sample are those over its columns. They differ little between samples that
    were measured and prepared alike, whatever their classes.
    """
    n, d = X.shape
    if n < FEWEST_SAMPLES or d < FEWEST_COLUMNS:
        return None
    if sparse.issparse(X):
        return _sparse_on_another_scale(canonical(sparse.csr_matrix(X)))
    mean, spread = trimmed(X)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.log10(spread)
    found = _beyond_jump(size, SPREAD_JUMP)
    if found is None:
        # Its own spread where that is larger: a sample of large values is no other scale by its mean alone.
        usual = np.fmax(spread, np.nanmedian(spread))
        found = _beyond_jump(mean / usual, MEAN_JUMP) if (usual > 0.0).all() else None
    if found is None:
        deviation = np.abs(size - np.nanmedian(size))
        usual = np.nanmedian(deviation) / stats.norm.ppf(0.75)
        alone = np.isfinite(size) & (deviation > max(ALONE, UNUSUAL * usual))
        found = alone if alone.any() else None
    return found


def _sparse_on_another_scale(X: sparse.csr_matrix) -> BoolArray | None:
    """Samples of whole numbers beside others, as counts beside logarithms, or a jump in the mean size."""
    fractions = X.copy()
    fractions.data = (X.data != np.trunc(X.data)).astype(np.float64)
    n_stored = np.diff(X.indptr)
    with np.errstate(divide="ignore", invalid="ignore"):
        has_fractions = np.where(n_stored > 0, np.asarray(fractions.sum(axis=1)).ravel() > 0, np.nan)
        size = np.log10(np.asarray(abs(X).sum(axis=1)).ravel() / n_stored)
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


def difference_in_words(X: DataMatrix, differs: BoolArray) -> str:
    """What would explain that some samples differ from the others in mean or spread."""
    if sparse.issparse(X):
        return "raw beside logarithms, other units, or another platform"
    return _in_words(*trimmed(X), differs)


def _in_words(mean: FloatArray, spread: FloatArray, differs: BoolArray) -> str:
    (m, s), (other_m, other_s) = (
        (float(np.nanmedian(mean[side])), float(np.nanmedian(spread[side]))) for side in (differs, ~differs)
    )
    if not (s > 0.0 and other_s > 0.0):
        return "another platform, or a failed measurement"
    by_spread = s / other_s
    by_mean = m / other_m if m * other_m > 0.0 else np.inf
    if abs(np.log(by_spread)) < ALIKE:
        more = "more" if m > other_m else "less"
        return f"values about {abs(m - other_m):.2g} {more} in every column: another background or offset"
    for (name, base), (other, other_base) in permutations(BASES.items(), 2):
        factor = np.log(other_base) / np.log(base)
        if max(abs(np.log(by_spread / factor)), abs(np.log(by_mean / factor))) < ALIKE:
            return f"{name} logarithms beside {other} ones"
    if max(by_spread, 1.0 / by_spread) > RAW:
        return "raw beside logarithms, or another platform"
    if abs(np.log(by_spread / by_mean)) < 2.0 * ALIKE:
        times = max(by_spread, 1.0 / by_spread)
        return (
            f"values that differ by a factor of about {times:.2g}: other units, amounts of material or depths"
        )
    return "another normalisation or platform"


def trimmed(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation over the columns, by sample, without the largest and smallest values."""
    n, d = X.shape
    mean, spread = np.empty(n), np.empty(n)
    cut = int(TRIMMED * d)
    step = max(1, LOOKED_AT // d)
    for start in range(0, n, step):
        rows = np.sort(X[start : start + step], axis=1)  # missing values come last
        kept = rows[:, cut : d - cut]
        mean[start : start + step], spread[start : start + step] = kept.mean(axis=1), kept.std(axis=1)
        for i in np.flatnonzero(np.isnan(rows[:, -1])):
            known = rows[i][~np.isnan(rows[i])]
            cut_here = int(TRIMMED * len(known))
            known = known[cut_here : len(known) - cut_here]
            mean[start + i], spread[start + i] = (
                (known.mean(), known.std()) if len(known) else (np.nan, np.nan)
            )
    return mean, spread


def _skewness(X: FloatArray) -> FloatArray:
    """Of the known values of each sample, a few samples at a time."""
    step = max(1, LOOKED_AT // X.shape[1])
    blocks = (X[start : start + step] for start in range(0, len(X), step))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.concatenate([stats.skew(rows, axis=1, nan_policy="omit") for rows in blocks])
