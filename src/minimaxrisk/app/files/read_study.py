"""Read a study from a file of any format: to train a model, or for an existing model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from minimaxrisk._utils.arguments import listed
from minimaxrisk.app.files.arrange import arrange
from minimaxrisk.app.files.cells import TextArray
from minimaxrisk.app.files.features import Features, model_features, training_features
from minimaxrisk.app.files.labels import Arranged, check_classes
from minimaxrisk.app.files.quality import refuse_infinite
from minimaxrisk.app.files.read import has_several, read
from minimaxrisk.app.files.study import EVERY, LabelTable, ReadOptions, ReadRequest, Study, spell

DEFAULTS = ReadOptions()
INDEX = "(index)"  # of a labels file


def read_training_study(
    path: str | Path,
    *,
    target: str | None,
    labels: str | Path | None = None,
    ignore: Sequence[str] = (),
    sample_columns: Sequence[str] = (),
    options: ReadOptions = DEFAULTS,
) -> Study:
    """Read a study to train a model: all columns of numbers that are not named below are features.

    Parameters
    ----------
    path : str or Path
        A text file (CSV and the like, GCT, a GEO series matrix), a workbook, or one of Parquet, NumPy,
        svmlight and AnnData.
    target : str or None
        The column (or the row, or the annotation) with the labels. None takes what the format itself calls
        the label, or the only other column of the file ``labels``.
    labels : str, Path or None, default=None
        Another file with the labels, joined by the names of the samples, or in order where there are none.
    ignore : sequence of str, default=()
        Columns that are not features.
    sample_columns : sequence of str, default=()
        Columns about the samples, such as their patients, in the table or in the file with the labels. They
        are not features either, and come back in ``sample_columns`` of the study.
    options : ReadOptions, default=ReadOptions()
        How to read the file, where it does not say itself.

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
        infinite. Missing values are left to ``refuse_missing`` or an imputer.

    See Also
    --------
    read_study_for_model : Reads the columns that a model has.
    refuse_missing : Refuses missing values.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from minimaxrisk.app.files import read_training_study
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
    request = ReadRequest(path, target, ignore, options, label_table, sample_columns=sample_columns)

    def features(arranged: Arranged, aside: set[str]) -> Features:
        return training_features(arranged.table, aside, path, options, has_names=arranged.has_names)

    table = read(path, _as_written(options, target, *sample_columns))
    study, found = arrange(table, request, features, needs_labels=True)
    check_classes(found, study.y, label_table or path)
    refuse_infinite(study, advice=f"correct them, or pass {spell(options, 'ignore')} for their columns")
    return study


def read_study_for_model(
    path: str | Path,
    *,
    feature_names: Sequence[str],
    used: Collection[str] = (),
    target: str | None = None,
    labels: str | Path | None = None,
    ignore: Sequence[str] = (),
    sample_columns: Sequence[str] = (),
    options: ReadOptions = DEFAULTS,
    needs_labels: bool = False,
    classes: Collection[str] = (),
) -> Study:
    """Read data for an existing model: its columns by name, in its order.

    Parameters
    ----------
    path : str or Path
        The data file, of a format that ``read_training_study`` reads.
    feature_names : sequence of str
        The columns of the model.
    used : collection of str, default=()
        The columns with a coefficient. If none of them is missing, an error about missing columns says so.
    target : str or None, default=None
        The column with the labels, if there are any.
    labels : str, Path or None, default=None
        Another file with the labels.
    ignore : sequence of str, default=()
        Columns to leave out, none of which may be of the model.
    sample_columns : sequence of str, default=()
        Columns about the samples that come back in ``sample_columns`` of the study.
    options : ReadOptions, default=ReadOptions()
        How to read the file, where it does not say itself.
    needs_labels : bool, default=False
        Whether to refuse a file without labels.
    classes : collection of str, default=()
        The classes of the model. One with the name of a missing value, such as ``"None"``, is then a label.

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
    table = read(path, _as_written(options, None if target in known else target, *sample_columns))
    is_feature = target in known and target not in table.annotations
    asked = None if is_feature else target
    request = ReadRequest(path, asked, ignore, options, label_table, known, sample_columns, classes)
    if clash := [name for name in ignore if name in known]:
        option = spell(options, "ignore")
        raise ValueError(f"{option} cannot leave out a feature of the model, got {listed(clash)}.")

    def columns(arranged: Arranged, aside: set[str]) -> Features:
        return model_features(arranged.table, aside, features, path, options, used=used)

    study, _ = arrange(table, request, columns, needs_labels=needs_labels)
    refuse_infinite(study, advice="correct them")
    return study


def _label_table(path: Path, labels: str | Path | None, options: ReadOptions) -> LabelTable | None:
    """Read the labels file, or a sheet of either file; None without one."""
    if labels is None and options.labels_sheet is None:
        return None
    source = path if labels is None else Path(labels)
    option = spell(options, "labels_sheet")
    if options.labels_sheet is not None and not has_several(source, "sheet"):
        raise ValueError(f"{option} needs a workbook such as .xlsx, got {source}.")
    if options.labels_sheet is None and source.resolve() == path.resolve() and has_several(path, "sheet"):
        raise ValueError(f"{path} has data and labels: name the sheet with the labels with {option}.")
    return _read_labels(source, options)


def _read_labels(path: Path, options: ReadOptions) -> LabelTable:
    """Read all columns of the file, or of a sheet of a workbook, as text."""
    sheet = options.labels_sheet
    all_text = ReadOptions(sheet=sheet, as_text=frozenset({EVERY}), spelling=options.spelling)
    table = read(path, all_text)
    columns: dict[str, TextArray] = {}
    if table.samples is not None:
        columns[INDEX] = table.samples
    if table.first is not None:
        columns[table.first.name] = table.first.cells
    # A file with labels of its own, such as svmlight, has no other columns that matter.
    for name in (*table.texts, *table.annotations, *(table.names if table.label is None else ())):
        column = table.column(name)
        if column is not None:
            columns.setdefault(name, column)
    if table.lines or not columns:
        raise ValueError(
            f"{path} must hold columns of sample names and labels, got rows of text among rows of numbers; "
            "put each sample on a line of its own."
        )
    return LabelTable(path, columns, table.named, sheet)


def _as_written(options: ReadOptions, *columns: str | None) -> ReadOptions:
    """Return the options with labels and names kept as the file has them."""
    names = (*columns, options.samples)
    return replace(options, as_text=frozenset(name for name in names if name is not None))
