"""The column with the classes: find it, and tell when it cannot be one."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from minimaxrisk.files.cells import TextArray, is_missing, is_word, number, text_of
from minimaxrisk.files.problems import folded, listed, nearest
from minimaxrisk.files.raw_table import RawTable
from minimaxrisk.files.request import ReadRequest

LEADING_ZERO = re.compile(r"[-+]?0\d")
MOST_LIKELY, SHOWN_VALUES = 8, 3
SEARCHED = 40  # columns of numbers at either end, of which there may be very many


def find_target(raw: RawTable, request: ReadRequest) -> str:
    """The name of the target; the format's own label if none is asked for."""
    target = request.target
    if target is None:
        if raw.label is not None:
            return raw.label
        if request.for_model:
            raise ValueError(f"{request.where} has no labels; name the file that has them with --labels.")
        raise ValueError(
            f"{request.where}: name the column with the classes with --target, or a file that has them with "
            f"--labels. {_suggestion(raw)}{transpose_hint(raw)}{raw.elsewhere}"
        )
    if target in raw.texts or target in raw.annotations or target in set(raw.names):
        return target
    known = [*raw.annotations, *raw.columns()]
    own = f" The file has labels of its own, {raw.label!r}: leave out --target." if raw.label else ""
    raise ValueError(
        f"{request.where} must have {request.target_shown()}, got no such column"
        f"{nearest(target, known) or '.'} The first are {listed(known)}.{own} If the labels are in another "
        f"file, pass it as --labels FILE.{transpose_hint(raw)}{raw.elsewhere}"
    )


def transpose_hint(raw: RawTable) -> str:
    if raw.settled or raw.n_rows <= 3 * len(raw.columns()) or not raw.names_its_rows():
        return ""
    return (
        f" The table has {raw.n_rows} rows and {len(raw.columns())} columns: "
        "if features are in rows, pass --transpose."
    )


def _suggestion(raw: RawTable) -> str:
    n = raw.n_rows
    likely = [
        name
        for name, column in {**raw.texts, **raw.annotations}.items()
        if 2 <= len(set(column)) <= max(2, n // 2)
    ]
    ends = [*range(min(SEARCHED, len(raw.names)))]
    ends += [*range(max(len(ends), len(raw.names) - SEARCHED), len(raw.names))]
    for j in ends if isinstance(raw.numbers, np.ndarray) else ():
        values = np.unique(raw.numbers[:, j])
        if 2 <= len(values) <= min(10, max(2, n // 3)):
            likely.append(raw.names[j])
    if not likely:
        return "No column looks like classes."
    found = ", ".join(_with_values(name, raw) for name in likely[:MOST_LIKELY])
    return f'It could be {found}; for example --target "{likely[0]}".'


def _with_values(name: str, raw: RawTable) -> str:
    """The column with the commonest of its values, by which people know it."""
    column = raw.column(name)
    assert column is not None
    values = [value for value, _ in Counter(column).most_common()]
    more = ", ..." if len(values) > SHOWN_VALUES else ""
    return f"{name!r} ({', '.join(values[:SHOWN_VALUES])}{more})"


def as_labels(column: TextArray) -> np.ndarray:
    """Whole numbers as int64 so that they sort by value, anything else as str: 01 and 1 may differ."""
    values = [number(cell) for cell in column]
    is_whole = all(value is not None and value == np.trunc(value) and abs(value) < 2**53 for value in values)
    if is_whole and not any(LEADING_ZERO.match(cell) for cell in column):
        return np.array(values, dtype=np.float64).astype(np.int64)
    return np.array([_spelling(str(cell)) for cell in column])


def _spelling(label: str) -> str:
    """One spelling where formats have several: 1 for 1.0, True for TRUE."""
    if label.lower() in ("true", "false"):
        return label.capitalize()
    value = number(label)
    is_exact = value is not None and abs(value) < 2**53 and not LEADING_ZERO.match(label)
    return text_of(value) if is_exact else label


def missing_labels(column: TextArray) -> list[int]:
    return [i for i, cell in enumerate(column) if is_missing(cell)]


def refuse_missing_labels(column: TextArray, samples: TextArray, target: str, where: object) -> None:
    gone = missing_labels(column)
    if gone:
        spelled = sorted({column[i] for i in gone})
        raise ValueError(
            f"{where}: every sample must have a label in {target!r}, got {len(gone)} of {len(column)} "
            f"missing (written {listed(spelled)}), the first for the samples {listed(samples[gone])}; "
            "complete them or remove these samples."
        )


def check_classes(column: TextArray, y: np.ndarray, target: str, where: object) -> tuple[str, ...]:
    """Refuse what is no set of classes; returns remarks on those that may be mistakes."""
    classes, counts = np.unique(y, return_counts=True)
    n, k = len(y), len(classes)
    if k == 1:
        raise ValueError(
            f"{where}: the target {target!r} must have at least two classes, got only {str(classes[0])!r}."
        )
    words = any(is_word(cell) for cell in column)
    fractions = y.dtype.kind != "i" and not words
    if not words and k > (max(5, n / 10) if fractions else max(20, n / 3)):
        raise ValueError(
            f"{where}: the target {target!r} must hold classes, got {k} different numbers for {n} samples; "
            "choose another column, or make classes first, such as low and high."
        )
    if k > 2 and k > 0.8 * n:
        raise ValueError(
            f"{where}: the target {target!r} must hold classes with several samples each, got {k} different "
            f"values for {n} samples; is it the column of sample names? Choose another column."
        )
    return (*_alike(classes), *_alone(classes[counts == 1]))


def _alike(classes: np.ndarray) -> list[str]:
    """A remark on each set of words that are the same but for case, spaces or punctuation."""
    groups: dict[str, list[str]] = {}
    for name in map(str, classes):
        # ER+ and ER- are different things, as are <5 and >5.
        if is_word(name):
            groups.setdefault(folded(name, keep="+<>="), []).append(name)
    return [
        f"{listed(names[:-1])} and {names[-1]!r} are taken as different classes; is that intended?"
        for key, names in groups.items()
        if key and len(names) > 1
    ]


def _alone(classes: np.ndarray) -> list[str]:
    if not len(classes):
        return []
    which = "the label" if len(classes) == 1 else "each of the labels"
    return [f"Only one sample has {which} {listed(classes)}."]
