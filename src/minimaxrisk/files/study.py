"""Studies: features, names and labels, ready for a classifier, from whatever a user's file is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.files.arrangement import Arranged, arrange
from minimaxrisk.files.cells import TextArray, text_array
from minimaxrisk.files.features import model_features, training_features
from minimaxrisk.files.labels_file import LabelBook, read_labels
from minimaxrisk.files.options import ReadOptions
from minimaxrisk.files.quality import looks_like_counts, refuse_infinite
from minimaxrisk.files.reading import read_sheet
from minimaxrisk.files.sheet import Sheet
from minimaxrisk.files.target import (
    as_labels,
    check_classes,
    find_target,
    missing_labels,
    refuse_missing_labels,
)
from minimaxrisk.files.wanted import Wanted

DEFAULTS = ReadOptions()


@dataclass(frozen=True)
class Study:
    """Samples in rows; NaN where a value is missing."""

    X: DataMatrix  # float64: a C-ordered ndarray or a CSR matrix
    feature_names: np.ndarray  # of str, dtype object
    sample_names: np.ndarray  # of str, dtype object; "1", "2", ... where the file has none
    has_sample_names: bool
    y: np.ndarray | None  # int64 if all labels are whole numbers, else str
    target: str | None
    source: Path
    remarks: tuple[str, ...]  # what a user should be told

    @property
    def values(self) -> np.ndarray:
        """The numbers that are stored: all, or those of a sparse matrix."""
        return self.X.data if sparse.issparse(self.X) else self.X


def read_training_study(
    path: str | Path,
    *,
    target: str | None,
    labels: str | Path | None = None,
    ignore: Sequence[str] = (),
    options: ReadOptions = DEFAULTS,
) -> Study:
    """Read what a model is to be made from: every column of numbers that is not set aside is a feature."""
    path = Path(path)
    book = None if labels is None else read_labels(labels)
    sheet = read_sheet(path, _as_written(options, target))
    wanted = Wanted(path, target, ignore, options, book)
    table = arrange(sheet, wanted)
    column, target, aside, remarks = _labels(table, wanted)
    X, names, more = training_features(table.sheet, aside, path)
    where = path if book is None else book.path
    refuse_missing_labels(column, table.samples, target, where)
    y = as_labels(column)
    classes = check_classes(column, y, target, where)
    study = Study(
        X,
        text_array(names),
        table.samples,
        table.has_names,
        y,
        target,
        path,
        (*table.sheet.remarks, *remarks, *more, *classes),
    )
    return _checked(study)


def _checked(study: Study) -> Study:
    refuse_infinite(study)
    counts = looks_like_counts(study)
    return study if counts is None else replace(study, remarks=(*study.remarks, counts))


def _labels(table: Arranged, wanted: Wanted) -> tuple[TextArray, str, set[str], tuple[str, ...]]:
    """Labels as text, the name of their column, all columns that are no features, and remarks."""
    if wanted.book is None:
        target = find_target(table.sheet, wanted)
        column = table.sheet.column(target)
        assert column is not None
        return column, target, _aside(table, target), _clash(table, target)
    column, target, remarks = _from_book(table, wanted.book, wanted)
    if target in table.sheet.columns() and target not in table.aside:
        remarks = (*remarks, f"Left out the column {target!r} of the data: the labels file has it.")
    return column, target, {*table.aside, target}, remarks


def _as_written(options: ReadOptions, target: str | None) -> ReadOptions:
    """Labels and names as the file has them."""
    names = (target, options.samples)
    return replace(options, as_text=frozenset(name for name in names if name is not None))


def _aside(table: Arranged, target: str | None) -> set[str]:
    """Columns that are no features; a target beside the table leaves the column of its name a feature."""
    if target is None or target in table.sheet.annotations:
        return table.aside
    return {*table.aside, target}


def _clash(table: Arranged, target: str) -> tuple[str, ...]:
    if target not in table.sheet.annotations or target not in table.sheet.columns():
        return ()
    return (f"{target!r} is a feature too: the labels are those that the file has beside its table.",)


def _without_ignored(table: Arranged) -> Sheet:
    """What of the data might name its rows."""
    sheet = table.sheet
    is_ignored = sheet.first is not None and sheet.first.name in table.aside
    return replace(sheet, first=None) if is_ignored else sheet


def _from_book(table: Arranged, book: LabelBook, wanted: Wanted) -> tuple[TextArray, str, tuple[str, ...]]:
    if table.has_names:
        return book.joined(table.samples, wanted, table.names_column)
    return book.in_order(_without_ignored(table), wanted)


def read_study_for_model(
    path: str | Path,
    *,
    feature_names: Sequence[str],
    target: str | None = None,
    labels: str | Path | None = None,
    ignore: Sequence[str] = (),
    options: ReadOptions = DEFAULTS,
    needs_labels: bool = False,
) -> Study:
    """Read what a model is to be applied to: its columns by name, in its order."""
    path = Path(path)
    features = [str(name) for name in feature_names]
    book = None if labels is None else read_labels(labels)
    known = frozenset(features)
    sheet = read_sheet(path, _as_written(options, None if target in known else target))
    is_feature = target in known and target not in sheet.annotations
    wanted = Wanted(path, None if is_feature else target, ignore, options, book, known)
    wanted.refuse_ignored_features()
    table = arrange(sheet, wanted)
    column, found, remarks = _labels_if_any(table, wanted, needs_labels=needs_labels)
    X, more = model_features(table.sheet, _aside(table, found), features, path)
    study = Study(
        X,
        text_array(features),
        table.samples,
        table.has_names,
        None if column is None else as_labels(column),
        found,
        path,
        (*table.sheet.remarks, *remarks, *more),
    )
    refuse_infinite(study, advice="correct them")
    return study


def _labels_if_any(
    table: Arranged, wanted: Wanted, *, needs_labels: bool
) -> tuple[TextArray | None, str | None, tuple[str, ...]]:
    """Labels as text and the name of their column, where they are there or must be."""
    sheet = table.sheet
    if wanted.book is not None:
        column, target, remarks = _from_book(table, wanted.book, wanted)
        refuse_missing_labels(column, table.samples, target, wanted.book.path)
        return column, target, remarks
    is_there = wanted.target is not None and sheet.column(wanted.target) is not None
    if not is_there and sheet.label is None and not needs_labels:
        return None, None, ()
    target = (None if is_there else sheet.label) or find_target(sheet, wanted)
    labels = sheet.column(target)
    assert labels is not None
    if needs_labels:
        refuse_missing_labels(labels, table.samples, target, wanted.where)
    gone = missing_labels(labels)
    if gone:
        said = f"The labels in {target!r} were left out: {len(gone)} of {len(labels)} are missing."
        return None, target, (said,)
    return labels, target, ()
