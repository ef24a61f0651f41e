"""Read a study from a user's file of any format: to train a model, or for a model that exists."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk.files.arrangement import Arranged, arrange
from minimaxrisk.files.beside import columns_beside
from minimaxrisk.files.cells import TextArray, text_array
from minimaxrisk.files.features import model_features, training_features
from minimaxrisk.files.label_join import JoinedLabels, join_by_name, join_in_order
from minimaxrisk.files.label_table import LabelTable, read_labels
from minimaxrisk.files.options import ReadOptions
from minimaxrisk.files.quality import looks_like_codes, looks_like_counts, refuse_infinite
from minimaxrisk.files.raw_table import RawTable, could_name_rows
from minimaxrisk.files.reader_by_format import has_several, read_raw_table
from minimaxrisk.files.request import ReadRequest
from minimaxrisk.files.study import Study
from minimaxrisk.files.target import (
    as_labels,
    check_classes,
    find_target,
    missing_labels,
    refuse_missing_labels,
)

DEFAULTS = ReadOptions()


def read_training_study(
    path: str | Path,
    *,
    target: str | None,
    labels: str | Path | None = None,
    ignore: Sequence[str] = (),
    beside: Sequence[str] = (),
    options: ReadOptions = DEFAULTS,
) -> Study:
    """Read what a model is to be made from: every column of numbers that is not set aside is a feature.

    Parameters
    ----------
    path : str or Path
        The data file, of any format that ``read_raw_table`` knows.
    target : str or None
        The column (or the row, or the annotation) with the labels. None takes what the format itself calls
        the label, or the only other column of the file ``labels``.
    labels : str, Path or None, default=None
        Another file with the labels, joined by the names of the samples, or in order where there are none.
    ignore : sequence of str, default=()
        Columns that are no features.
    beside : sequence of str, default=()
        Columns about the samples, such as their patients, in the table or in the file with the labels. They
        are no features either, and come back in ``beside`` of the study.
    options : ReadOptions, default=ReadOptions()
        What the file does not say itself.

    Returns
    -------
    Study
        Features, names and labels.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file cannot be read, the labels cannot be found or are missing for a sample, or a value is
        infinite. Values that are missing are left to ``refuse_missing`` or an imputer.

    See Also
    --------
    read_study_for_model : Reads the columns that a model has.
    refuse_missing : Refuses missing values.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from minimaxrisk.files import read_training_study
    >>> lines = ["patient,class,TP53,MYC", "a,ill,1.5,2.5", "b,well,0.5,3.1", "c,ill,1.7,2.2", "d,well,0,3.3"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "genes.csv")
    ...     n_written = path.write_text("\\n".join(lines))
    ...     study = read_training_study(path, target="class")
    >>> study.feature_names.tolist(), study.sample_names.tolist(), study.y.tolist()
    (['TP53', 'MYC'], ['a', 'b', 'c', 'd'], ['ill', 'well', 'ill', 'well'])
    """
    path = Path(path)
    label_table = _label_table(path, labels, options)
    raw = read_raw_table(path, _as_written(options, target, *beside))
    request = ReadRequest(path, target, ignore, options, label_table, beside=beside)
    arranged = arrange(raw, request)
    column, target, aside, remarks, lines = _labels(arranged, request)
    about = columns_beside(arranged, request, lines)
    X, names, more = training_features(
        arranged.raw, {*aside, *about}, path, options.duplicates, has_names=arranged.has_names
    )
    where = path if label_table is None else label_table
    refuse_missing_labels(column, arranged.samples, target, where)
    y = as_labels(column)
    classes = check_classes(column, y, target, where)
    study = Study(
        X,
        text_array(names),
        arranged.samples,
        arranged.has_names,
        y,
        target,
        path,
        (*arranged.raw.remarks, *remarks, *more, *classes),
        about,
    )
    return _checked(study)


def _label_table(path: Path, labels: str | Path | None, options: ReadOptions) -> LabelTable | None:
    """From a second file, or from a sheet of either."""
    if labels is None and options.labels_sheet is None:
        return None
    source = path if labels is None else Path(labels)
    if options.labels_sheet is not None and not has_several(source, "sheet"):
        raise ValueError(f"--labels-sheet needs a workbook such as .xlsx, got {source}.")
    if options.labels_sheet is None and source.resolve() == path.resolve() and has_several(path, "sheet"):
        raise ValueError(f"{path} has data and labels: name the sheet with the labels with --labels-sheet.")
    return read_labels(source, options.labels_sheet)


def _checked(study: Study) -> Study:
    refuse_infinite(study)
    found = [remark for remark in (looks_like_counts(study), looks_like_codes(study)) if remark is not None]
    return replace(study, remarks=(*study.remarks, *found))


def _labels(
    arranged: Arranged, request: ReadRequest
) -> tuple[TextArray, str, set[str], tuple[str, ...], IntArray | None]:
    """Labels as text, the name of their column, all columns that are not features, remarks, and lines."""
    if request.labels is None:
        target = find_target(arranged.raw, request)
        column = arranged.raw.column(target)
        assert column is not None
        return column, target, _aside(arranged, target), _clash(arranged, target), None
    column, target, remarks, lines = _joined(arranged, request.labels, request)
    if target in arranged.raw.columns() and target not in arranged.aside:
        remarks = (*remarks, f"Left out the column {target!r} of the data: the labels file has it.")
    return column, target, {*arranged.aside, target}, remarks, lines


def _as_written(options: ReadOptions, *columns: str | None) -> ReadOptions:
    """Labels and names as the file has them."""
    names = (*columns, options.samples)
    return replace(options, as_text=frozenset(name for name in names if name is not None))


def _aside(arranged: Arranged, target: str | None) -> set[str]:
    """Columns that are not features; a target beside the table leaves a column of the same name a feature."""
    if target is None or target in arranged.raw.annotations:
        return arranged.aside
    return {*arranged.aside, target}


def _clash(arranged: Arranged, target: str) -> tuple[str, ...]:
    if target not in arranged.raw.annotations or target not in arranged.raw.columns():
        return ()
    return (f"{target!r} is a feature too: the labels are those beside the table.",)


def _without_ignored(arranged: Arranged) -> RawTable:
    """The table without a first column that is to be ignored, so that it is not taken for sample names."""
    raw = arranged.raw
    is_ignored = raw.first is not None and raw.first.name in arranged.aside
    return replace(raw, first=None) if is_ignored else raw


def _joined(arranged: Arranged, labels: LabelTable, request: ReadRequest) -> JoinedLabels:
    if arranged.has_names:
        return join_by_name(labels, arranged.samples, request, arranged.names_column)
    return join_in_order(labels, _without_ignored(arranged), request)


def read_study_for_model(
    path: str | Path,
    *,
    feature_names: Sequence[str],
    used: Collection[str] = (),
    target: str | None = None,
    labels: str | Path | None = None,
    ignore: Sequence[str] = (),
    beside: Sequence[str] = (),
    options: ReadOptions = DEFAULTS,
    needs_labels: bool = False,
) -> Study:
    """Read what a model is to be applied to: its columns by name, in its order.

    Parameters
    ----------
    path : str or Path
        The data file, of any format that ``read_raw_table`` knows.
    feature_names : sequence of str
        The columns of the model.
    used : collection of str, default=()
        Those that have a coefficient, which an error about missing ones tells of.
    target : str or None, default=None
        The column with the labels, if there are any.
    labels : str, Path or None, default=None
        Another file with the labels.
    ignore : sequence of str, default=()
        Columns to leave aside; none of the model's may be among them.
    beside : sequence of str, default=()
        Columns about the samples that come back in ``beside`` of the study.
    options : ReadOptions, default=ReadOptions()
        What the file does not say itself.
    needs_labels : bool, default=False
        Whether to refuse a file without labels.

    Returns
    -------
    Study
        Features in the order of ``feature_names``, names, and labels where the file has them.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file cannot be read, a column of the model is missing, or labels are needed and missing.
    """
    path = Path(path)
    features = [str(name) for name in feature_names]
    label_table = _label_table(path, labels, options)
    known = frozenset(features)
    raw = read_raw_table(path, _as_written(options, None if target in known else target, *beside))
    is_feature = target in known and target not in raw.annotations
    request = ReadRequest(path, None if is_feature else target, ignore, options, label_table, known, beside)
    request.refuse_ignored_features()
    arranged = arrange(raw, request)
    column, found, remarks, lines = _labels_if_any(arranged, request, needs_labels=needs_labels)
    about = columns_beside(arranged, request, lines)
    aside = {*_aside(arranged, found), *about}
    X, more = model_features(arranged.raw, aside, features, path, duplicates=options.duplicates, used=used)
    remarks = (*remarks, *_said_of_numbered(arranged, {*known, *aside}))
    study = Study(
        X,
        text_array(features),
        arranged.samples,
        arranged.has_names,
        None if column is None else as_labels(column),
        found,
        path,
        (*arranged.raw.remarks, *remarks, *more),
        about,
    )
    refuse_infinite(study, advice="correct them")
    return study


def _said_of_numbered(arranged: Arranged, others: set[str]) -> tuple[str, ...]:
    """That samples have numbers for names, where a column that is left out could hold their names."""
    raw = arranged.raw
    if arranged.has_names:
        return ()
    found = [name for name in raw.columns() if name not in others and could_name_rows(name, raw.column(name))]
    if not found:
        return ()
    option = f"--samples {shlex.quote(found[0])}"
    return (f"The samples are numbered. If {found[0]!r} holds their names, pass {option}",)


def _labels_if_any(
    arranged: Arranged, request: ReadRequest, *, needs_labels: bool
) -> tuple[TextArray | None, str | None, tuple[str, ...], IntArray | None]:
    """Labels as text and the name of their column, if the file has them or must have them."""
    raw = arranged.raw
    if request.labels is not None:
        column, target, remarks, lines = _joined(arranged, request.labels, request)
        refuse_missing_labels(column, arranged.samples, target, request.labels)
        return column, target, remarks, lines
    is_there = request.target is not None and raw.column(request.target) is not None
    if not is_there and raw.label is None and not needs_labels:
        return None, None, (), None
    target = (None if is_there else raw.label) or find_target(raw, request)
    labels = raw.column(target)
    assert labels is not None
    if needs_labels:
        refuse_missing_labels(labels, arranged.samples, target, request.where)
    gone = missing_labels(labels)
    if gone:
        said = f"The labels in {target!r} were left out: {len(gone)} of {len(labels)} are missing."
        return None, target, (said,), None
    return labels, target, (), None
