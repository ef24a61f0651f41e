"""What the values of a study show: missing and infinite values, columns that are not genes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.app.files.study import ReadOptions, Study, spell_ignored

FILL = "fill them, for example with sklearn.impute.SimpleImputer"
LARGEST = 1e150  # sums of squares of such values are still numbers
LOOKED_AT = 1_000_000  # cells at once
FEW, MOST = 20, 0.8  # how many columns of decimals, in number and share, make whole numbers remarkable
NAMED, SHOWN = 5, 3  # columns, and places of values


def _places(study: Study, wrong: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    """Rows and columns of the stored values that are ``wrong``, and the first of them in words."""
    if sparse.issparse(study.X):
        entries = study.X.tocoo()
        rows, columns = entries.row[wrong], entries.col[wrong]
    else:
        rows, columns = np.nonzero(wrong)
    pairs = zip(rows[:SHOWN], columns[:SHOWN], strict=True)
    places = [f"sample {study.sample_names[i]!r}, column {study.feature_names[j]!r}" for i, j in pairs]
    return rows, columns, "; ".join(places)


def count_missing(study: Study) -> int:
    """How many values are missing."""
    return int(np.isnan(study.values).sum())


def refuse_missing(study: Study, *, advice: str | None = None) -> None:
    """Refuse a study in which a value is missing.

    Parameters
    ----------
    study : Study
        As read from a file.
    advice : str or None, default=None
        What to do, for the message; None advises to fill the values or leave out the columns.

    Raises
    ------
    ValueError
        If a value is missing, telling how many are, the first places and what to do.
    """
    rows, columns, shown = _places(study, np.isnan(study.values))
    if len(rows):
        raise ValueError(
            f"{study.source}: the data must have no missing values, got {len(rows)} in "
            f"{len(np.unique(columns))} of {counted(study.X.shape[1], 'column')}, the first at {shown}; "
            f"{advice or f'{FILL}, or leave out the columns with ignore='}."
        )


def refuse_infinite(study: Study, *, advice: str) -> None:
    """Refuse infinite values, and those whose squares are."""
    values = study.values
    if (
        not values.size
        or not max(np.fmax.reduce(values, axis=None), -np.fmin.reduce(values, axis=None)) > LARGEST
    ):
        return
    rows, columns, shown = _places(study, np.abs(values) > LARGEST)
    if not np.isfinite(values).all() and (infinite := _places(study, np.isinf(values)))[0].size:
        rows, columns, shown = infinite
        raise ValueError(
            f"{study.source}: values must be finite, got {len(rows)} infinite, the first at {shown}; "
            f"logarithms of 0 are a common cause: {advice}."
        )
    value = study.X[int(rows[0]), int(columns[0])]
    raise ValueError(
        f"{study.source}: values must be below {LARGEST:g}, so that their squares can be computed, got "
        f"{len(rows)} beyond it, the first {value:g} at {shown}; no measurement is as large, and it may "
        f"stand for a missing value: {advice}."
    )


def odd_whole_numbers(
    X: DataMatrix, names: Sequence[str], options: ReadOptions, known: Collection[str] = ()
) -> str | None:
    """A remark if a few columns hold whole numbers among decimals, as ages and batches do among genes.

    Constant columns do not count, since many genes are not expressed, nor do those that have a remark.
    """
    if sparse.issparse(X) or not len(names):
        return None
    n, p = X.shape
    whole, smallest, largest = np.arange(p), np.full(p, np.inf), np.full(p, -np.inf)
    step = max(1, LOOKED_AT // p)
    for start in range(0, n, step):
        # Most columns are out after the first lines.
        cells = X[start : start + step, whole]
        smallest[whole] = np.fmin(smallest[whole], np.fmin.reduce(cells, axis=0))
        largest[whole] = np.fmax(largest[whole], np.fmax.reduce(cells, axis=0))
        whole = whole[((cells == np.trunc(cells)) | np.isnan(cells)).all(axis=0)]
    n_decimals = p - len(whole)
    odd = [names[j] for j in whole if smallest[j] < largest[j] and names[j] not in known]
    if not odd or n_decimals < max(FEW, MOST * (n_decimals + len(odd))):
        return None
    they = "it is used as a feature. If it is not a measurement"
    if len(odd) > 1:
        they = "they are used as features. If they are not measurements"
    return (
        f"{listed(odd, NAMED)} hold{'s' * (len(odd) == 1)} whole numbers and {n_decimals} other columns "
        f"hold decimals; {they}, pass {spell_ignored(options, odd, NAMED)}"
    )


def remark_on_counters(names: Sequence[str], options: ReadOptions) -> str | None:
    """A remark on columns that count lines: in a file sorted by class they give the classes away."""
    if not names:
        return None
    only = "only counts the lines" if len(names) == 1 else "only count the lines"
    return (
        f"{listed(names, NAMED)} {only}, and may tell the class if the file is sorted. If that is an index, "
        f"pass {spell_ignored(options, names, NAMED)}"
    )


def remark_on_clinical(names: Sequence[str], n_others: int, options: ReadOptions) -> str | None:
    """A remark on columns with names of clinical data."""
    if not names:
        return None
    used = "is called like clinical data and is used as a feature"
    if len(names) > 1:
        used = "are called like clinical data and are used as features"
    return (
        f"{listed(names, NAMED)} {used} among {n_others} others: is that intended? With a feature that is "
        "known only after the diagnosis, or because of it, the result is of no use. If it is not intended, "
        f"pass {spell_ignored(options, names, NAMED)}"
    )
