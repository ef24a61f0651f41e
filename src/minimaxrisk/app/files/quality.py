"""Values of a study that no model takes: missing and infinite ones."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arguments import counted
from minimaxrisk.app.files.study import Study

FILL = "fill them, for example with sklearn.impute.SimpleImputer"
LARGEST = 1e150  # sums of squares of such values are still numbers
SHOWN = 3  # places of values


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
