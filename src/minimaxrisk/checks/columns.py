"""Columns that reveal the class: copies of the labels, running numbers, and a single dominant feature."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from scipy import sparse, stats

from minimaxrisk._utils.arguments import listed
from minimaxrisk._utils.arrays import BoolArray, FloatArray
from minimaxrisk.checks.findings import Finding
from minimaxrisk.checks.table import Evidence, StudyTable

FEWEST_ROWS = 10  # along fewer rows a column may rise by chance
# With so many samples, one in 500,000 columns of two equally frequent values repeats two labels by chance.
FEWEST_SAMPLES = 20
# A feature dominates a model with this share of all importance, if any other column has so many times as many
# pairs of a sample in a class and one outside in disorder. In halves of the leukaemia data genes have 70% of
# the importance and order all pairs, but others do as well.
DOMINANT, TIMES_WRONG = 0.4, 2.0
FLIPPED = 0.1  # share of wrong entries in a near copy of the labels
MOST_COLUMNS = 200  # whose numbers of values are counted
FEW = 20  # features, of which one may well dominate


def column_findings(table: StudyTable, evidence: Evidence) -> Iterator[Finding]:
    """Find used columns whose values reveal the class."""
    used = table.X[:, evidence.columns]
    values = used.toarray() if sparse.issparse(used) else np.asarray(used)
    names = np.array(table.feature_names, dtype=object)[evidence.columns]
    suspects: set[str] = set()
    for code, is_found, claim, what in (
        (
            "label-copy",
            _copies_of_labels(values, table.y, 0.0),
            "a copy of the labels",
            "has one value for each class",
        ),
        (
            "near-label-copy",
            _near_copies(table, values),
            "a measurement",
            "nearly has one value for each class",
        ),
        (
            "running-number",
            _running_numbers(values),
            "a measurement",
            "rises or falls from row to row in constant or whole steps",
        ),
    ):
        found = [str(name) for name in names[is_found] if str(name) not in suspects]
        if found:
            suspects.update(found)
            yield _leak(code, found, claim, what)


def _leak(code: str, names: Sequence[str], claim: str, what: str) -> Finding:
    is_one = len(names) == 1
    return Finding(
        code,
        message=f"The model uses {listed(names)}, which {what}. If this is a code of the class or an order "
        "of measurement, error rates and bounds are too low.",
        remedy=f"If {'it is' if is_one else 'they are'} not meant to be a feature, leave out {listed(names)} "
        "and fit again.",
        claim=f"{listed(names, 2)} {'is' if is_one else 'are'} {claim}",
        columns=tuple(names),
    )


def dominance_findings(table: StudyTable, evidence: Evidence, *, known: Collection[str]) -> Iterator[Finding]:
    """Find a feature that carries the model alone, unless it is among the ``known`` ones."""
    used = table.X[:, evidence.columns]
    best = _dominant_feature(table, evidence, used.toarray() if sparse.issparse(used) else np.asarray(used))
    if best is None or (name := str(table.feature_names[evidence.columns[best]])) in known:
        return
    yield Finding(
        "dominant-feature",
        message=f"The model depends mostly on {name!r}, which separates a class almost alone. A strong "
        "marker can do this, and so can a code, a date or a plate.",
        remedy=f"If {name!r} is not a measurement, leave it out and fit again.",
        claim=f"{name!r} is a measurement",
        columns=(name,),
    )


def _running_numbers(values: FloatArray) -> BoolArray:
    """Find columns that rise or fall from row to row, and hold whole numbers or have constant steps.

    A measured column by which the table was sorted has steps of all sizes.
    """
    if len(values) < FEWEST_ROWS:
        return np.zeros(values.shape[1], dtype=bool)
    steps = np.diff(values, axis=0)
    is_monotonic = (steps > 0.0).all(axis=0) | (steps < 0.0).all(axis=0)
    is_whole = (values == np.trunc(values)).all(axis=0)
    is_even = np.ptp(steps, axis=0) <= 1e-6 * np.abs(steps).max(axis=0, initial=0.0)
    return np.asarray(is_monotonic & (is_whole | is_even))


def _copies_of_labels(values: FloatArray, y: np.ndarray, errors: float) -> BoolArray:
    """Find columns with one value for each class, except for a share of errors."""
    own = np.unique(y, return_inverse=True)[1]
    n_classes = int(own.max()) + 1
    found = np.zeros(values.shape[1], dtype=bool)
    for j in range(values.shape[1]) if len(y) >= FEWEST_SAMPLES else ():
        distinct, codes = np.unique(values[:, j], return_inverse=True)
        if len(distinct) == n_classes:
            counts = np.zeros((n_classes, n_classes), dtype=np.intp)
            np.add.at(counts, (codes, own), 1)
            is_one_to_one = len(set(counts.argmax(axis=1).tolist())) == n_classes
            found[j] = is_one_to_one and len(y) - counts.max(axis=1).sum() <= errors * len(y)
    return found


def _near_copies(table: StudyTable, values: FloatArray) -> BoolArray:
    """Find near copies of the labels where most columns have many values."""
    X = table.X
    if sparse.issparse(X):
        return np.zeros(values.shape[1], dtype=bool)
    places = np.linspace(0, X.shape[1] - 1, min(MOST_COLUMNS, X.shape[1])).astype(np.intp)
    n_values = 1 + np.count_nonzero(np.diff(np.sort(X[:, places], axis=0), axis=0), axis=0)
    errors = FLIPPED if np.median(n_values) >= X.shape[0] / 2 else 0.0
    return _copies_of_labels(values, table.y, errors)


def _dominant_feature(table: StudyTable, evidence: Evidence, values: FloatArray) -> int | None:
    """Return the position of the used column that carries the model alone, if there is one."""
    y, importances = table.y, evidence.importances
    total = float(np.sum(importances))
    if not total > 0.0 or len(y) < FEWEST_SAMPLES or table.X.shape[1] <= FEW:
        return None
    best = int(np.argmax(importances))
    if importances[best] < DOMINANT * total:
        return None
    compared = values if sparse.issparse(table.X) else table.X
    for label in np.unique(y):
        area = float(_areas(values[:, best, None], y == label)[0])
        # The largest area is that of this column, or of a better one.
        if 1.0 - np.sort(_areas(compared, y == label))[-2] > TIMES_WRONG * (1.0 - area):
            return best
    return None


def _areas(X: FloatArray, is_own: BoolArray) -> FloatArray:
    """Return the areas under the ROC curves of columns, whichever side the class is on."""
    n_own, n_others = int(is_own.sum()), int((~is_own).sum())
    sums = np.concatenate(
        [stats.rankdata(X[:, j : j + 500], axis=0)[is_own].sum(axis=0) for j in range(0, X.shape[1], 500)]
    )
    area = (sums - n_own * (n_own + 1) / 2) / (n_own * n_others)
    return np.asarray(np.maximum(area, 1.0 - area))
