"""What the values of a study show: gaps, infinities, and counts that were not normalised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from minimaxrisk.files.problems import listed

if TYPE_CHECKING:
    from minimaxrisk.files.study import Study

LARGE_COUNT = 50


def _places(study: Study, wrong: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the stored values that are ``wrong``."""
    if sparse.issparse(study.X):
        entries = study.X.tocoo()
        return entries.row[wrong], entries.col[wrong]
    rows, columns = np.nonzero(wrong)
    return rows, columns


def _shown(study: Study, rows: np.ndarray, columns: np.ndarray, most: int = 3) -> str:
    pairs = zip(rows[:most], columns[:most], strict=True)
    places = [f"sample {study.sample_names[i]!r}, column {study.feature_names[j]!r}" for i, j in pairs]
    return "; ".join(places)


def count_missing(study: Study) -> int:
    """How many values are missing."""
    return int(np.isnan(study.X.data if sparse.issparse(study.X) else study.X).sum())


def refuse_missing(study: Study) -> None:
    """Raise ValueError if a value is missing, telling how many are and the first places."""
    values = study.X.data if sparse.issparse(study.X) else study.X
    wrong = np.isnan(values)
    if not wrong.any():
        return
    rows, columns = _places(study, wrong)
    raise ValueError(
        f"{study.source}: every value must be there, got {len(rows)} missing in {len(np.unique(columns))} "
        f"of {study.X.shape[1]} columns, the first at {_shown(study, rows, columns)}; pass --impute median "
        "to fill each with the median of its column, or --ignore the columns."
    )


def refuse_infinite(study: Study) -> None:
    values = study.X.data if sparse.issparse(study.X) else study.X
    wrong = np.isinf(values)
    if not wrong.any():
        return
    rows, columns = _places(study, wrong)
    raise ValueError(
        f"{study.source}: values must be finite, got {len(rows)} infinite, the first at "
        f"{_shown(study, rows, columns)}; logarithms of 0 are a common cause: correct them, "
        f"or pass --ignore for the columns, such as {listed([str(study.feature_names[columns[0]])])}."
    )


def looks_like_counts(study: Study) -> str | None:
    """A remark if all values are whole numbers, none negative, and some large; else None."""
    values = study.X.data if sparse.issparse(study.X) else study.X
    if not values.size or not np.nanmax(values, initial=0.0) > LARGE_COUNT or np.nanmin(values) < 0:
        return None
    rows = (values,) if sparse.issparse(study.X) else values
    for row in rows:
        known = row[~np.isnan(row)]
        if not np.array_equal(known, np.trunc(known)):
            return None
    return (
        f"All values are whole numbers up to {np.nanmax(values):g}, as raw counts are: means are then ruled "
        "by the largest values and by how much was sequenced per sample; it is usual to normalise for that "
        "and take logarithms first."
    )
