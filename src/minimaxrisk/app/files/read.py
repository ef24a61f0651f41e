"""Read a table from a file of any format.

The ending of the file, and for text its first line, tell which reader it needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from minimaxrisk.app.files import binary_formats as formats
from minimaxrisk.app.files.expression_formats import read_gct, read_series_matrix
from minimaxrisk.app.files.guards import check_gzip
from minimaxrisk.app.files.messages import COMMAND_LINE, brief
from minimaxrisk.app.files.remarks import Remark
from minimaxrisk.app.files.study import ReadOptions, spell
from minimaxrisk.app.files.table import Table
from minimaxrisk.app.files.text import TextFile, head, packing_of, text_file
from minimaxrisk.app.files.text_tables import read_text_table

TEXT = (".csv", ".tsv", ".tab", ".txt", ".gct")
PACKED, OTHERS_PACKED = ".gz", (".zip", ".bz2", ".xz", ".7z", ".rar", ".zst")
SVMLIGHT = (".svm", ".svmlight", ".libsvm")
READERS: dict[str, Callable[[Path, ReadOptions], Table]] = {
    **dict.fromkeys((".parquet", ".pq"), formats.read_parquet),
    ".xlsx": formats.read_workbook,
    ".npz": formats.read_npz,
    ".h5ad": formats.read_h5ad,
}
EXTENSIONS = (*TEXT, *SVMLIGHT, *READERS)
SPARSE_LINE = re.compile(rb"[-+]?[\d.]+(e[-+]?\d+)?([ \t]+qid:\d+)?([ \t]+\d+:[-+\d.eE]+)+\s*(#|$)")
# Formats in which a file holds several tables, by the option that names one.
SEVERAL = {"sheet": (".xlsx",), "layer": (".h5ad", ".npz")}


def has_several(path: str | Path, option: str) -> bool:
    """Return whether files with this ending hold several tables: the option is sheet or layer."""
    return Path(path).suffix.lower() in SEVERAL[option]


def read(path: str | Path, options: ReadOptions) -> Table:
    """Read the table of a file of any format; ValueError if it is damaged, empty or of no known format."""
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
            *(
                Remark.of("no-effect", option=spell(options, key), where=f" on {path.suffix} files")
                for key in idle
            )
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


def _read(path: Path, options: ReadOptions) -> Table:
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
    file, remarks = text_file(path)
    return _read_lines(file, options).with_remarks(*remarks)


def _read_lines(file: TextFile, options: ReadOptions) -> Table:
    start = next((line for line in file.lines() if line.strip()), "")
    if re.match(r"#1\.\d\s*$", start) or file.path.name.lower().removesuffix(".gz").endswith(".gct"):
        return read_gct(file, options)
    if re.match(r'"?!(series|sample)_', start, re.IGNORECASE):
        return read_series_matrix(file, options)
    return read_text_table(file, options)
