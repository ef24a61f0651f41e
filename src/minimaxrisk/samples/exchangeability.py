"""What error bounds assume, as far as the data can show it: independent samples of one distribution.

A copy of a sample is not a new sample. Errors on copies of training samples are too few, and limits that
count copies as samples are too tight.

Instances of another distribution, such as another cohort, may be misclassified far more often. Under one
distribution the rows of both tables are exchangeable, so that a statistic of how they differ has the same
distribution when rows are exchanged at random. Such a test is exact at any sizes and for any distribution.
The statistic is the sum over columns of the squared differences of means and of mean squares, after the
columns have been brought to the scale of both tables together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk._utils.notices import warn
from minimaxrisk.samples.equal_rows import duplicate_rows, entries, n_shared_rows, numbers_of
from minimaxrisk.samples.near_rows import near_copies
from minimaxrisk.samples.validation import are_numbers, columns_by_name, columns_of_frame

MOST_COLUMNS, MOST_ROWS = 2000, 2000  # that are compared
# Below this p-value new instances are taken for those of another law.
UNLIKELY = 0.01
N_EXCHANGES = 999
# Beyond so many standard deviations a value counts as that many: a few outliers decide nothing.
LARGEST = 4.0


def reason_against_independence(X: Any, y: np.ndarray, groups: IntArray | None) -> str:
    """In words, if some samples look like copies of others that no group holds together; else empty.

    A warning tells where samples cannot be looked at.
    """
    values = numbers_of(X)
    if values is None:
        _tell_not_looked_at("X", "samples are copies of each other")
        return ""
    pairs = [pair for pair in duplicate_rows(values) if groups is None or groups[pair[0]] != groups[pair[1]]]
    pairs += [(pair.first, pair.second) for pair in near_copies(values, y, groups)]
    if not pairs:
        return ""
    i, j = pairs[0]
    more = f", and so do {len(pairs) - 1} other pairs" if len(pairs) > 1 else ""
    return (
        f"rows {i} and {j} look like one sample measured twice{more}; pass groups with one entry for all "
        "measurements of a patient, or keep one of each"
    )


def reason_against_one_law(X: Any, X_new: Any, groups: IntArray | None) -> str:
    """In words, if new instances are not what they should be; of another law a warning tells, too."""
    X, X_new = _in_one_order(X, X_new)
    X, X_new = numbers_of(X), numbers_of(X_new)
    if X is None or X_new is None:
        _tell_not_looked_at("X" if X is None else "X_new", "new instances are rows of X, or of another law")
        return ""
    n_shared = n_shared_rows(X, X_new)
    if n_shared:
        return f"{n_shared} of the new instances are rows of X, and took part in the fit"
    pvalue = same_law_pvalue(X, X_new, groups)
    if pvalue is None or pvalue >= UNLIKELY:
        return ""
    reason = (
        f"X_new does not look like instances of the same law as X (p = {pvalue:.3f} when rows are exchanged)"
    )
    warn(
        f"{reason}: another cohort, batch or mixture of classes, or several rows of one patient, which "
        "groups_new tells. The bounds hold for samples like X; errors on these new instances may be larger.",
        UserWarning,
    )
    return reason


def _in_one_order(X: Any, X_new: Any) -> tuple[Any, Any]:
    """Two frames of the same columns in the order of the first, without columns of numbers in one alone."""
    (names, kinds), (others, new_kinds) = columns_of_frame(X), columns_of_frame(X_new)
    if not names or set(names) != set(others):
        return X, X_new
    new_kind = dict(zip(others, new_kinds, strict=True))
    kept = [
        name
        for name, kind in zip(names, kinds, strict=True)
        if are_numbers(kind) == are_numbers(new_kind[name])
    ]
    return columns_by_name(X, kept), columns_by_name(X_new, kept)


def same_law_pvalue(X: Any, X_new: Any, groups: IntArray | None = None) -> float | None:
    """The share of exchanges of rows after which the two tables differ as much as they do.

    Of each group one row is drawn, and of very many rows so many. None for what is no table of numbers.
    """
    old, new = numbers_of(X), numbers_of(X_new)
    if old is None or new is None or old.shape[1] != new.shape[1]:
        return None
    random, d = np.random.default_rng(0), old.shape[1]
    columns = np.unique(np.linspace(0, d - 1, min(d, MOST_COLUMNS)).astype(np.intp))
    tables = []
    for table, unit in ((old, groups), (new, None)):
        rows = random.permutation(table.shape[0])
        rows = rows if unit is None else rows[np.unique(unit[rows], return_index=True)[1]]
        rows = rows[random.permutation(len(rows))[:MOST_ROWS]]
        tables.append(entries(table, rows, columns))
    both = np.vstack(tables)
    both = both[:, np.isfinite(both).all(axis=0)]
    spread = both.std(axis=0)
    both = (both - both.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    np.clip(both, -LARGEST, LARGEST, out=both)
    seen = np.hstack([both, both**2])
    seen -= seen.mean(axis=0)
    is_new = np.repeat([0.0, 1.0], [len(table) for table in tables])
    exchanged = np.stack([is_new, *(random.permutation(is_new) for _ in range(N_EXCHANGES))])
    # Sums of centred rows that count as new: their squares order the exchanges as differences of means do.
    size = np.sum((exchanged @ seen) ** 2, axis=1)
    return float(np.mean(size >= size[0] * (1.0 - 1e-12)))


def _tell_not_looked_at(argument: str, what: str) -> None:
    warn(
        f"{argument} holds no table of numbers, so it was not checked whether {what}; if they are, no "
        "probability holds.",
        UserWarning,
    )
