"""A table of numbers with the classes of its rows, as all readers of raw files return it.

A checksum of a labelled table that does not depend on the file that holds it.

Write a table as the ``.npz`` file of a data folder, and read it back.

A file holds ``X``, or the parts ``data``, ``indices``, ``indptr`` and ``shape`` of a CSR matrix, with ``y``
(integers) and, where the labels have names, ``classes``.

Comma-separated tables: one line per instance, with a column of labels and perhaps one of identifiers.

The text formats of the NIPS 2003 feature selection challenge.

A line of a ``.data`` file is an instance: all its values, or, where it is sparse, the 1-based indices of
its ones, or ``index:value`` pairs. A line of a ``.labels`` file is -1 or 1.

Read the raw files in which the data sets are passed around: MATLAB, CSV and the NIPS 2003 text formats.

Read the MANIFEST.csv of a data folder: one line per data set, with its file and checksum.
"""

from __future__ import annotations

import csv
import hashlib
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.io import loadmat

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk.app.atomic import whole_file
from minimaxrisk.app.files.cells import TextArray, generated_names, is_identifier, is_missing, is_word
from minimaxrisk.app.files.messages import parsing
from minimaxrisk.app.files.study import ReadOptions
from minimaxrisk.app.files.table import Table, counts_lines
from minimaxrisk.app.files.text import records_of, split_records
from minimaxrisk.app.files.text_tables import LABELS, is_header, table_of_lines

EXACT = 2**24  # float32 holds every integer up to this


@dataclass(frozen=True)
class LabelledTable:
    """Instances (ndarray or CSR matrix), the number of each one's class, and the names of the classes."""

    X: DataMatrix
    y: IntArray
    classes: NDArray[np.str_]


def labelled_table(X: Any, labels: Any, where: object) -> LabelledTable:
    """Number the labels and check the values; ``where`` is what the messages call the file."""
    if sparse.issparse(X):
        X = sparse.csr_matrix(X)
        values = X.data
    else:
        X = values = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "buif":
        raise ValueError(f"{where} must hold a table of numbers, got {X.ndim} dimensions of {X.dtype}.")
    if X.shape[0] != len(labels) or not len(labels):
        raise ValueError(f"{where} must hold one label per row, got {X.shape[0]} rows, {len(labels)} labels.")
    if not np.isfinite(values).all():
        raise ValueError(f"{where} must hold finite numbers, got missing or infinite values.")
    classes, y = np.unique(_as_integers(np.asarray(labels)), return_inverse=True)
    small = not values.size or (np.all(values == np.trunc(values)) and np.abs(values).max() <= EXACT)
    X = X.astype(np.float32 if small else np.float64)
    return LabelledTable(X, y.astype(np.intp), classes.astype(str))


def _as_integers(labels: Any) -> Any:
    """Labels such as 1.0 or "+1" as whole numbers, so that classes sort by value; others as they are."""
    try:
        numbers = labels.astype(np.float64)
    except ValueError:
        return labels.astype(str)
    whole = np.isfinite(numbers).all() and np.all(numbers == np.trunc(numbers))
    return numbers.astype(np.int64) if whole else labels.astype(str)


def content_sha256(X: DataMatrix, labels: Any) -> str:
    """Equal for equal tables, whatever the order of the rows, the names of the classes and the storage.

    Copies of a table go around as MATLAB and CSV files, in float32 and float64, dense and sparse, with labels
    such as 1 and 2 or ALL and AML. A row counts by its values other than zero and their places, a class by
    the set of its rows, the table by the set of its classes. Values count as float32, since readers of text
    differ in the last digit of a float64.
    """
    rows = sparse.csr_matrix(X)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    digests = np.array([_digest(rows[[i]]) for i in range(rows.shape[0])], dtype=object)
    labels = np.asarray(labels)
    classes = [b"".join(sorted(digests[labels == label])) for label in np.unique(labels)]
    return hashlib.sha256(b"".join(sorted(hashlib.sha256(rows).digest() for rows in classes))).hexdigest()


def _digest(row: sparse.csr_matrix) -> bytes:
    places, values = row.indices.astype("<i8"), row.data.astype("<f4")
    return hashlib.sha256(places.tobytes() + values.tobytes()).digest()


def read_archive(content: bytes, path: Path) -> tuple[DataMatrix, Any, Any]:
    """X, y and the names of the classes (None where there are none); ``path`` is for the messages."""
    try:
        with np.load(BytesIO(content), allow_pickle=False) as archive:
            data, target = _matrix(archive), archive["y"]
            names = archive["classes"] if "classes" in archive.files else None
    except KeyError as error:
        raise ValueError(f"{path} lacks an array that a data set needs ({error}); get it again.") from error
    except (ValueError, OSError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not an .npz file of arrays ({error}); get it again.") from error
    if data.shape[0] != len(target):
        raise ValueError(f"{path} must hold a label for each of {data.shape[0]} rows, got {len(target)}.")
    if names is not None and (target.min() < 0 or target.max() >= len(names)):
        raise ValueError(
            f"{path} names {len(names)} classes, so y must hold numbers from 0 to {len(names) - 1}, got "
            f"{target.min()} to {target.max()}."
        )
    return data, target, names


def write_archive(table: LabelledTable, path: Path) -> None:
    """Write the file under its name only when it is complete: a broken-off run leaves nothing behind."""
    X = table.X
    arrays = {"X": X}
    if sparse.issparse(X):
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    with whole_file(path) as partial:
        np.savez_compressed(partial, y=table.y, classes=table.classes, **arrays)


def _matrix(archive: Any) -> DataMatrix:
    if "X" in archive.files:
        return archive["X"]
    parts = (archive["data"], archive["indices"], archive["indptr"])
    return sparse.csr_matrix(parts, shape=tuple(archive["shape"]))


LOOKED_AT = 100  # lines below the first, to tell whether that is a header


def parse_csv(lines: Iterable[str], where: object) -> LabelledTable:
    """The label is the column named like one, else the last; ``where`` is what the messages call the file.

    Blank lines, a header, a column of identifiers and columns without any value are left out.
    """
    texts = [record.text for record in records_of(lines, ",")]
    rows = list(split_records(texts, ","))
    if not rows:
        raise ValueError(f"{where} must hold at least one line of values, got none.")
    header = rows.pop(0) if is_header(rows[0], rows[1:LOOKED_AT]) else None
    width = len(header or rows[0])
    uneven = next((row for row in rows if len(row) != width), None)
    if uneven is not None or not rows or width < 2:
        got = len(uneven) if uneven is not None else width
        raise ValueError(f"{where} must have lines of one length, at least 2: expected {width}, got {got}.")
    # Names of genes may occur more than once, so that columns go by their numbers.
    columns = generated_names(width)
    shown = dict(zip(columns, header or (f"number {j + 1}" for j in range(width)), strict=True))
    label = columns[_label_place(header, width)]
    body = texts if header is None else texts[1:]
    options = ReadOptions(header=False, as_text=frozenset({label}))
    raw = table_of_lines(lambda: iter(body), where, ",", options)
    labels = raw.texts.get(label)
    if labels is None or any(map(is_missing, labels)):
        raise ValueError(f"{where}: the label, column {shown[label]!r}, must have a value in every line.")
    first = next(name for name in columns if name != label)
    is_aside = _is_identifier(raw.column(first), shown[first] if header else None)
    return labelled_table(_numbers(raw, {label, first} if is_aside else {label}, shown, where), labels, where)


def _label_place(header: Sequence[str] | None, width: int) -> int:
    lower = [name.lower() for name in header or ()]
    return next((lower.index(name) for name in LABELS if name in lower), width - 1)


def _is_identifier(cells: TextArray | None, name: str | None) -> bool:
    """Whether a column only names the lines: unique words, or a count, or a header that says so."""
    if cells is None or len(set(cells)) < len(cells):
        return False
    is_named = name is not None and is_identifier(name)
    return is_named or counts_lines(cells) or all(map(is_word, cells))


def _numbers(raw: Table, aside: set[str], shown: dict[str, str], where: object) -> np.ndarray:
    """The columns that hold values, but those aside."""
    if raw.lines:
        raise ValueError(f"{where} must hold numbers, got lines of text such as {next(iter(raw.lines))!r}.")
    words = next((name for name in raw.texts if name not in aside), None)
    if words is not None:
        got = next(cell for cell in raw.texts[words] if is_word(cell))
        raise ValueError(f"{where}: column {shown[words]!r} must hold finite numbers, got {got!r}.")
    is_empty = np.isnan(raw.numbers).all(axis=0)
    keep = [j for j, name in enumerate(raw.names) if name not in aside and not is_empty[j]]
    X = raw.numbers[:, keep]
    if not keep:
        raise ValueError(f"{where} must have a column of numbers besides the label, got none.")
    wrong = np.argwhere(~np.isfinite(X))
    if len(wrong):
        row, column = wrong[0]
        name, value = shown[raw.names[keep[column]]], X[row, column]
        got = "a missing value" if np.isnan(value) else f"{value}"
        raise ValueError(f"{where}: column {name!r} must hold finite numbers, got {got}.")
    return X


def parse_nips2003(
    files: Mapping[str, bytes], where: object, *, n_features: int | None = None
) -> LabelledTable:
    """The training rows followed by the validation rows; ``files`` are texts by lower-case file name."""
    train = [name for name in files if name.endswith("_train.data")]
    if len(train) != 1:
        raise ValueError(f"{where} must hold one file NAME_train.data, got {', '.join(train) or 'none'}.")
    stem = train[0].removesuffix("_train.data")
    wanted = [f"{stem}_{part}.{kind}" for kind in ("data", "labels") for part in ("train", "valid")]
    missing = [name for name in wanted if name not in files]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}.")
    rows: list[list[bytes]] = []
    labels: list[bytes] = []
    for data, targets in zip(wanted[:2], wanted[2:], strict=True):
        lines, answers = files[data].split(b"\n"), files[targets].split()
        # Newlines may end the file, but an empty line can also be a sparse instance without entries.
        while len(lines) > len(answers) and not lines[-1].strip():
            lines.pop()
        if len(lines) != len(answers):
            raise ValueError(f"{where}: {data} has {len(lines)} lines, but {targets} has {len(answers)}.")
        rows += [line.split() for line in lines]
        labels += answers
    wrong = sorted(set(labels) - {b"-1", b"1", b"+1"})
    if wrong:
        raise ValueError(f"{where} must have the labels -1 and 1, got {wrong[0].decode(errors='replace')!r}.")
    try:
        X = _challenge_matrix(rows, n_features)
    except ValueError as error:
        raise ValueError(f"{where} has a line that is not in the NIPS 2003 format: {error}.") from error
    return labelled_table(X, np.array([int(label) for label in labels]), where)


def _challenge_matrix(rows: Sequence[Sequence[bytes]], n_features: int | None) -> DataMatrix:
    widths = {len(row) for row in rows}
    are_pairs = any(b":" in row[0] for row in rows if row)
    if not are_pairs and len(widths) == 1 and n_features in {None, *widths}:
        return np.array(rows, dtype=np.bytes_).astype(np.float64)
    columns, values = _entries([token for row in rows for token in row], are_pairs=are_pairs)
    width = n_features or int(columns.max(initial=0)) + 1
    outside = columns[(columns < 0) | (columns >= width)]
    if outside.size:
        raise ValueError(f"indices must lie between 1 and {width}, got {outside[0] + 1}")
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    X = sparse.csr_matrix((values, columns, starts), shape=(len(rows), width))
    X.sort_indices()
    if any(len(set(X.indices[a:b])) < b - a for a, b in pairwise(X.indptr)):
        raise ValueError("an index occurs twice in one line")
    return X


def _entries(tokens: Sequence[bytes], *, are_pairs: bool) -> tuple[NDArray[np.int64], FloatArray]:
    """Columns, counted from 0, and values of sparse rows: pairs, or the places of ones."""
    if not are_pairs:
        columns = np.array([int(token) for token in tokens], dtype=np.int64) - 1
        return columns, np.ones(len(columns))
    pairs = [token.split(b":", 1) for token in tokens]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("expected index:value, got an index alone")
    columns = np.array([int(index) for index, _ in pairs], dtype=np.int64) - 1
    return columns, np.array([float(value) for _, value in pairs])


__all__ = ["LabelledTable", "read_table"]


def read_table(path: str | Path, *, n_features: int | None = None) -> LabelledTable:
    """Read a ``.mat`` or ``.csv`` file, a ``.zip`` with one of them, or NIPS 2003 files (zip or folder).

    ``n_features`` is the number of columns of sparse NIPS 2003 rows, which do not tell it themselves.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.is_dir():
        return parse_nips2003(_folder_parts(path), path, n_features=n_features)
    suffix = path.suffix.lower()
    if suffix == ".zip":
        return _read_zip(path, n_features)
    if suffix == ".mat":
        return _parse_mat(path.read_bytes(), path)
    if suffix == ".csv":
        with path.open(newline="", encoding="utf-8-sig") as file:
            return parse_csv(file, path)
    raise ValueError(f"{path} must end in .mat, .csv or .zip, or be a folder of NIPS 2003 files.")


def _read_zip(path: Path, n_features: int | None) -> LabelledTable:
    try:
        with zipfile.ZipFile(path) as archive:
            # macOS puts a shadow of every file under __MACOSX.
            members = [
                member
                for member in archive.namelist()
                if not member.endswith("/") and "__MACOSX" not in member
            ]
            if any(member.lower().endswith("_train.data") for member in members):
                parts = {PurePosixPath(member).name.lower(): archive.read(member) for member in members}
                return parse_nips2003(parts, path, n_features=n_features)
            tables = [member for member in members if member.lower().endswith((".mat", ".csv"))]
            if len(tables) != 1:
                raise ValueError(
                    f"{path} must hold one .mat or .csv file, or NIPS 2003 files such as NAME_train.data, "
                    f"got {', '.join(members[:5]) or 'nothing'}."
                )
            content = archive.read(tables[0])
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path} is not a complete zip file ({error}); get it again.") from error
    if tables[0].lower().endswith(".mat"):
        return _parse_mat(content, path)
    return parse_csv(TextIOWrapper(BytesIO(content), encoding="utf-8-sig", newline=""), path)


def _parse_mat(content: bytes, where: Path) -> LabelledTable:
    with parsing(where, "a MATLAB file of version 7 or older"):
        variables = {name: _uncelled(value) for name, value in loadmat(BytesIO(content)).items()}
    variables = {name: value for name, value in variables.items() if not name.startswith("__")}
    if not {"X", "Y"} <= set(variables):
        raise ValueError(f"{where} must hold the variables X and Y, got {', '.join(variables) or 'none'}.")
    return labelled_table(variables["X"], np.ravel(variables["Y"]), where)


def _uncelled(value: Any) -> Any:
    """The strings of a cell array, each of which comes as an array."""
    if not isinstance(value, np.ndarray) or value.dtype != object:
        return value
    cells = [np.ravel(cell) for cell in np.ravel(value)]
    return np.array([str(cell[0]) if cell.size else "" for cell in cells])


def _folder_parts(folder: Path) -> dict[str, bytes]:
    """The texts under a folder; its neighbours too, as the UCI archive has NAME_valid.labels beside it."""
    files = [*folder.parent.glob("*_valid.labels"), *sorted(folder.rglob("*"))]
    wanted = ("_train.data", "_train.labels", "_valid.data", "_valid.labels")
    return {
        file.name.lower(): file.read_bytes()
        for file in files
        if file.is_file() and file.name.lower().endswith(wanted)
    }


COLUMNS = ("name", "file", "n_samples", "n_features", "n_classes", "sha256", "notes")


def manifest_rows(home: Path) -> dict[str, dict[str, str]]:
    """The lines of the manifest by name; none if the folder has no manifest."""
    path = home / "MANIFEST.csv"
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8-sig") as file:
        table = csv.DictReader(file, restval="")
        missing = [column for column in COLUMNS if column not in (table.fieldnames or [])]
        if missing:
            raise ValueError(f"{path} lacks the columns {', '.join(missing)}.")
        return {row["name"]: row for row in table}
