"""The one place that knows which reader a file needs, by its extension and, for text, its first line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from minimaxrisk.files.annotated import read_h5ad
from minimaxrisk.files.array_files import read_mat, read_npy, read_npz, read_svmlight
from minimaxrisk.files.columnar import read_feather, read_parquet
from minimaxrisk.files.gene_tables import read_gct, read_series_matrix
from minimaxrisk.files.options import ReadOptions
from minimaxrisk.files.problems import brief
from minimaxrisk.files.raw_table import RawTable
from minimaxrisk.files.text_file import TextFile, head, read_text
from minimaxrisk.files.text_table import read_text_table
from minimaxrisk.files.workbook import read_workbook

TEXT = (".csv", ".tsv", ".tab", ".txt", ".gct")
SVMLIGHT = (".svm", ".svmlight", ".libsvm")
READERS: dict[str, Callable[[Path, ReadOptions], RawTable]] = {
    ".parquet": read_parquet,
    ".pq": read_parquet,
    ".feather": read_feather,
    ".arrow": read_feather,
    ".npy": read_npy,
    ".npz": read_npz,
    ".mat": read_mat,
    ".xlsx": read_workbook,
    ".xls": read_workbook,
    ".ods": read_workbook,
    ".h5ad": read_h5ad,
}
EXTENSIONS = (*TEXT, *SVMLIGHT, *READERS)
SPARSE_LINE = re.compile(rb"[-+]?[\d.]+(e[-+]?\d+)?([ \t]+qid:\d+)?([ \t]+\d+:[-+\d.eE]+)+\s*(#|$)")


# Formats in which a file holds several tables, by the option that names one.
SEVERAL = {"sheet": (".xlsx", ".xls", ".ods"), "layer": (".h5ad", ".npz", ".mat")}


def has_several(path: str | Path, option: str) -> bool:
    """Whether files like this one hold several tables, of which an option names one.

    Parameters
    ----------
    path : str or Path
        The file, which need not exist: its ending tells.
    option : {"sheet", "layer"}
        The option of ``ReadOptions``.

    Returns
    -------
    bool
        Whether the option is of use.

    Examples
    --------
    >>> from minimaxrisk.files import has_several
    >>> has_several("patients.xlsx", "sheet"), has_several("patients.csv", "sheet")
    (True, False)
    """
    return Path(path).suffix.lower() in SEVERAL[option]


def read_raw_table(path: str | Path, options: ReadOptions) -> RawTable:
    """Read a data file of any format that this package knows.

    Parameters
    ----------
    path : str or Path
        A text file (CSV and the like, GCT, a GEO series matrix), a workbook, or one of Parquet, Feather,
        NumPy, MATLAB, svmlight and AnnData; the ending tells, and for text the first line.
    options : ReadOptions
        What the file does not say itself.

    Returns
    -------
    RawTable
        The table as it is, with remarks on what was noticed.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is damaged, empty, or of no known format.

    See Also
    --------
    read_training_study : Goes on to features, names and labels.
    """
    path = Path(path)
    try:
        if not path.exists():
            raise FileNotFoundError(f"there is no file {path}.")
        if path.is_dir():
            raise ValueError(f"{path} must be a file, got a folder; name the data file inside it.")
        if not path.is_file():
            raise ValueError(
                f"{path} must be a regular file, got a pipe or device; save it to a file first, or pass - "
                "to read standard input."
            )
        if not path.stat().st_size:
            raise ValueError(f"{path} must hold a table, got an empty file.")
        idle = [key for key in SEVERAL if getattr(options, key) is not None and not has_several(path, key)]
        return _read(path, options).said(*(f"--{key} has no effect on {path.suffix} files." for key in idle))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ValueError(f"{path} cannot be opened ({brief(error)}).") from error
    except ValueError as error:
        if type(error) is ValueError:
            raise
        raise ValueError(f"{path} cannot be read ({brief(error)}); get or export it again.") from error


def _read(path: Path, options: ReadOptions) -> RawTable:
    suffix, packed = path.suffix.lower(), path.suffix.lower() == ".gz"
    if packed:
        suffix = Path(path.stem).suffix.lower()
    if suffix in SVMLIGHT:
        return _read_svmlight(path, options)
    if suffix in READERS and not packed:
        return READERS[suffix](path, options)
    if suffix not in TEXT:
        advice = "; decompress it first" if packed and suffix in READERS else ""
        raise ValueError(
            f"{path} must be in a known format, got the extension {path.suffix or '(none)'!r}{advice}. "
            f"Known are {', '.join(EXTENSIONS)}; text files may also end in .gz."
        )
    start = head(path).lstrip()
    if suffix != ".gct" and SPARSE_LINE.match(start.split(b"\n", 1)[0]):
        return _read_svmlight(path, options)
    raw, remarks = read_text(path, lambda file: _read_lines(file, options))
    return raw.said(*remarks)


def _read_svmlight(path: Path, options: ReadOptions) -> RawTable:
    head(path)  # tells about damaged compression before the parser does
    return read_svmlight(path, options)


def _read_lines(file: TextFile, options: ReadOptions) -> RawTable:
    start = next((line for line in file.lines() if line.strip()), "")
    if re.match(r"#1\.\d\s*$", start) or file.path.name.lower().removesuffix(".gz").endswith(".gct"):
        return read_gct(file)
    if re.match(r'"?!(series|sample)_', start, re.IGNORECASE):
        return read_series_matrix(file)
    return read_text_table(file, options)
