"""Read a study from a file of any format: to train a model, or for an existing model.

The ending of the file, and for text its first line, tell which reader it needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk.app.files import binary_formats as formats
from minimaxrisk.app.files.cells import TextArray, is_missing, text_array
from minimaxrisk.app.files.features import Features, by_feature, model_features, training_features
from minimaxrisk.app.files.guards import check_gzip
from minimaxrisk.app.files.labels import (
    Labels,
    as_labels,
    check_classes,
    columns_about_samples,
    columns_naming_owners,
    find_target,
    join_by_name,
    join_in_order,
    missing_labels,
    refuse_missing_labels,
    words_that_are_classes,
)
from minimaxrisk.app.files.layout import TextFile, head, packing_of, read_text
from minimaxrisk.app.files.messages import COMMAND_LINE, brief
from minimaxrisk.app.files.quality import refuse_infinite
from minimaxrisk.app.files.raw_table import Arranged, RawTable, oriented, with_names_of, with_sample_names
from minimaxrisk.app.files.study import (
    EVERY,
    LOOSE,
    LabelTable,
    ReadOptions,
    ReadRequest,
    Study,
    spell,
)
from minimaxrisk.app.files.text_tables import read_gct, read_series_matrix, read_text_table

TEXT = (".csv", ".tsv", ".tab", ".txt", ".gct")
PACKED, OTHERS_PACKED = ".gz", (".zip", ".bz2", ".xz", ".7z", ".rar", ".zst")
SVMLIGHT = (".svm", ".svmlight", ".libsvm")
READERS: dict[str, Callable[[Path, ReadOptions], RawTable]] = {
    **dict.fromkeys((".parquet", ".pq"), formats.read_parquet),
    ".xlsx": formats.read_workbook,
    ".npz": formats.read_npz,
    ".h5ad": formats.read_h5ad,
}
EXTENSIONS = (*TEXT, *SVMLIGHT, *READERS)
SPARSE_LINE = re.compile(rb"[-+]?[\d.]+(e[-+]?\d+)?([ \t]+qid:\d+)?([ \t]+\d+:[-+\d.eE]+)+\s*(#|$)")
# Formats in which a file holds several tables, by the option that names one.
SEVERAL = {"sheet": (".xlsx",), "layer": (".h5ad", ".npz")}
DEFAULTS = ReadOptions()
INDEX = "(index)"  # of a labels file


def has_several(path: str | Path, option: str) -> bool:
    """Whether files with this ending hold several tables, of which the option (sheet or layer) names one."""
    return Path(path).suffix.lower() in SEVERAL[option]


def read_raw_table(path: str | Path, options: ReadOptions) -> RawTable:
    """The table of a file of any format; ValueError for one that is damaged, empty or of no known format."""
    path = Path(path)
    try:
        if not path.exists():
            raise FileNotFoundError(f"there is no file {path}.")
        if path.is_dir():
            raise ValueError(f"{path} must be a file, got a folder; name the data file inside it.")
        if not path.is_file():
            standard_input = ", or pass - to read standard input" if options.spelling == COMMAND_LINE else ""
            raise ValueError(
                f"{path} must be a regular file, got a pipe or device; "
                f"save it to a file first{standard_input}."
            )
        if not path.stat().st_size:
            raise ValueError(f"{path} must hold a table, got an empty file.")
        idle = [key for key in SEVERAL if getattr(options, key) is not None and not has_several(path, key)]
        return _read(path, options).with_remarks(
            *(f"{spell(options, key)} has no effect on {path.suffix} files." for key in idle)
        )
    except (FileNotFoundError, ImportError):
        raise
    except OSError as error:
        raise ValueError(f"{path} cannot be opened ({brief(error)}).") from error
    except MemoryError as error:
        raise ValueError(
            f"{path} does not fit into memory ({brief(error)}); it may be damaged, or need a larger machine."
        ) from error
    except Exception as error:
        if type(error) is ValueError:
            raise
        raise ValueError(f"{path} cannot be read ({brief(error)}); get or export it again.") from error


def _read(path: Path, options: ReadOptions) -> RawTable:
    packing = packing_of(path)
    is_packed = path.suffix.lower() == PACKED
    suffix = Path(path.stem if is_packed else path).suffix.lower()
    if suffix in READERS and not is_packed:
        return READERS[suffix](path, options)
    # Browsers and mail programs take endings away: a packed file without one is text if it reads so.
    is_text = suffix in (*TEXT, *SVMLIGHT) or (not suffix and packing is not None)
    if is_text and packing not in (None, "gzip"):
        raise ValueError(f"{path} is packed with {packing}; unpack it, or name a workbook .xlsx.")
    if not is_text:
        advice = "unpack the file" if is_packed or suffix in OTHERS_PACKED else "save the table as CSV"
        raise ValueError(
            f"{path} has the extension {path.suffix or '(none)'!r}, which is not read; {advice}. Read are "
            f"{', '.join(EXTENSIONS)}, and text files that end in .gz too."
        )
    if packing == "gzip":
        check_gzip(path)
    if suffix in SVMLIGHT or (suffix != ".gct" and SPARSE_LINE.match(head(path).lstrip().split(b"\n", 1)[0])):
        return formats.read_svmlight(path, options)
    raw, remarks = read_text(path, lambda file: _read_lines(file, options))
    return raw.with_remarks(*remarks)


def _read_lines(file: TextFile, options: ReadOptions) -> RawTable:
    start = next((line for line in file.lines() if line.strip()), "")
    if re.match(r"#1\.\d\s*$", start) or file.path.name.lower().removesuffix(".gz").endswith(".gct"):
        return read_gct(file, options)
    if re.match(r'"?!(series|sample)_', start, re.IGNORECASE):
        return read_series_matrix(file, options)
    return read_text_table(file, options)


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
        return training_features(arranged.raw, aside, path, options, has_names=arranged.has_names)

    raw = read_raw_table(path, _as_written(options, target, *sample_columns))
    study, found = _study(raw, request, features, needs_labels=True)
    check_classes(found, study.y, label_table or path)
    refuse_infinite(study, advice=f"correct them, or pass {spell(options, 'ignore')} for their columns")
    return study


def _study(
    raw: RawTable,
    request: ReadRequest,
    features: Callable[[Arranged, set[str]], Features],
    *,
    needs_labels: bool,
) -> tuple[Study, Labels]:
    """The table with samples in rows, apart from the columns aside: ``features`` tells what of it counts."""
    raw, ignored = oriented(raw, request)
    if needs_labels and request.target is None and request.labels is None and not request.for_model:
        find_target(raw, request)  # what there is to ask for comes before what is wrong with the names
    arranged = with_sample_names(raw, ignored, request)
    raw = arranged.raw
    found = _find_labels(arranged, request, needed=needs_labels)
    about = columns_about_samples(arranged, request, found.lines)
    aside = {*arranged.aside, *about}
    # A column with the name of an annotation is a feature.
    if found.target is not None and found.target not in raw.annotations:
        aside.add(found.target)
    X, names, remarks = features(arranged, aside)
    study = Study(
        X,
        text_array(names),
        arranged.samples,
        arranged.has_names,
        None if found.column is None else as_labels(found.column),
        found.target,
        request.where,
        (*raw.remarks, *found.remarks, *remarks),
        about,
        columns_naming_owners(arranged, request, found),
        {
            title: cells
            for title, cells in by_feature(names, raw.names, raw.descriptions).items()
            if any(not is_missing(cell) and cell != name for cell, name in zip(cells, names, strict=True))
        },
    )
    return study, found


def _label_table(path: Path, labels: str | Path | None, options: ReadOptions) -> LabelTable | None:
    """From a second file, or from a sheet of either."""
    if labels is None and options.labels_sheet is None:
        return None
    source = path if labels is None else Path(labels)
    option = spell(options, "labels_sheet")
    if options.labels_sheet is not None and not has_several(source, "sheet"):
        raise ValueError(f"{option} needs a workbook such as .xlsx, got {source}.")
    if options.labels_sheet is None and source.resolve() == path.resolve() and has_several(path, "sheet"):
        raise ValueError(f"{path} has data and labels: name the sheet with the labels with {option}.")
    return _read_labels(source, options)


def _find_labels(arranged: Arranged, request: ReadRequest, *, needed: bool) -> Labels:
    """The labels that the caller's file has, or its labels file; none where none are needed."""
    raw, target = arranged.raw, request.target
    if request.labels is not None:
        found, classes = _with_class_words(_joined(arranged, request.labels, request), request)
        refuse_missing_labels(found, arranged.samples, request.labels, classes)
        is_feature = found.target in raw.columns() and found.target not in arranged.aside
        if is_feature and not request.for_model:
            remark = f"Left out the column {found.target!r} of the data: the labels file has it."
            found = found._replace(remarks=(*found.remarks, remark))
        return found
    has_target = target is not None and raw.column(target) is not None
    if not needed and not has_target and raw.label is None:
        return Labels()
    is_own = request.for_model and not has_target and raw.label is not None
    target = raw.label if is_own else find_target(raw, request)
    assert target is not None
    column = raw.column(target)
    assert column is not None
    found, classes = _with_class_words(Labels(column, target), request)
    if needed:
        refuse_missing_labels(found, arranged.samples, request.where, classes)
    elif gone := missing_labels(column, classes):
        remark = f"The labels in {target!r} were left out: {len(gone)} of {arranged.raw.n_rows} are missing."
        return Labels(None, target, (remark,))
    if not request.for_model and target in raw.annotations and target in raw.columns():
        remark = f"{target!r} is a feature too: the labels are those outside of the table."
        return found._replace(remarks=(*found.remarks, remark))
    return found


def _with_class_words(found: Labels, request: ReadRequest) -> tuple[Labels, frozenset[str]]:
    """The labels, with a remark on words for missing values that are classes, and these words."""
    assert found.column is not None
    words = words_that_are_classes(found.column, request.classes)
    if not words:
        return found, words
    shown = [f"{word!r} ({counted(int((found.column == word).sum()), 'sample')})" for word in sorted(words)]
    is_one = len(shown) == 1
    remark = (
        f"In {found.target!r}, {', '.join(shown)} {'is a class' if is_one else 'are classes'} and not a "
        "missing label; empty the cells if that is not meant."
    )
    return found._replace(remarks=(*found.remarks, remark)), words


def _as_written(options: ReadOptions, *columns: str | None) -> ReadOptions:
    """The options with labels and names kept as the file has them."""
    names = (*columns, options.samples)
    return replace(options, as_text=frozenset(name for name in names if name is not None))


def _joined(arranged: Arranged, labels: LabelTable, request: ReadRequest) -> Labels:
    raw = arranged.raw
    if arranged.has_names:
        return join_by_name(labels, arranged.samples, request, arranged.names_column)
    if raw.first is not None and raw.first.name in arranged.aside:
        raw = replace(raw, first=None)  # an ignored column does not name the samples
    return join_in_order(labels, raw, request)


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
    raw = read_raw_table(path, _as_written(options, None if target in known else target, *sample_columns))
    if options.match_names == LOOSE:
        raw = with_names_of(raw, features, path)
    is_feature = target in known and target not in raw.annotations
    asked = None if is_feature else target
    request = ReadRequest(path, asked, ignore, options, label_table, known, sample_columns, classes)
    if clash := [name for name in ignore if name in known]:
        option = spell(options, "ignore")
        raise ValueError(f"{option} cannot leave out a feature of the model, got {listed(clash)}.")

    def columns(arranged: Arranged, aside: set[str]) -> Features:
        return model_features(arranged.raw, aside, features, path, options, used=used)

    study, _ = _study(raw, request, columns, needs_labels=needs_labels)
    refuse_infinite(study, advice="correct them")
    return study


def _read_labels(path: Path, options: ReadOptions) -> LabelTable:
    """All columns of the file, or of a sheet of a workbook, as text."""
    sheet = options.labels_sheet
    all_text = ReadOptions(sheet=sheet, as_text=frozenset({EVERY}), spelling=options.spelling)
    raw = read_raw_table(path, all_text)
    columns: dict[str, TextArray] = {}
    if raw.samples is not None:
        columns[INDEX] = raw.samples
    if raw.first is not None:
        columns[raw.first.name] = raw.first.cells
    # A file with labels of its own, such as svmlight, has no other columns that matter.
    for name in (*raw.texts, *raw.annotations, *(raw.names if raw.label is None else ())):
        column = raw.column(name)
        if column is not None:
            columns.setdefault(name, column)
    if raw.lines or not columns:
        raise ValueError(
            f"{path} must hold columns of sample names and labels, got rows of text among rows of numbers; "
            "put each sample on a line of its own."
        )
    return LabelTable(path, columns, raw.named, sheet, is_loose=options.match_names == LOOSE)
