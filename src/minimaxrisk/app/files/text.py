"""Text files: compression, encoding, lines, records and delimiter."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from minimaxrisk.app.files.guards import CHUNK
from minimaxrisk.app.files.remarks import Remark

MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Spreadsheets on Western Windows write the second. The third has a character for every byte. Statistical
# detection takes short Western words in an otherwise plain table for Chinese or Japanese.
ENCODINGS = {"utf-8": "UTF-8", "cp1252": "Windows-1252", "latin-1": "Latin-1"}
PLAIN_CONTROLS = frozenset(b"\t\n\r\f\v\x1a")
# First bytes of packed files.
PACKINGS = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"7z\xbc\xaf\x27\x1c": "7-zip",
    b"Rar!": "rar",
    b"\x28\xb5\x2f\xfd": "Zstandard",
}
DELIMITERS = "\t;|,"
LONGEST_LINE = 1 << 28  # characters
SHOWN_LINES = 20  # that show the delimiter
SHOWN_CHARACTERS = 1_000_000  # of these lines together; four are looked at in any case


@dataclass(frozen=True)
class TextFile:
    """A text file that can be read from the start as often as needed."""

    path: Path
    encoding: str

    def lines(self) -> Iterator[str]:
        """Yield lines with their line ends, of any system."""
        with opened(self.path) as file, TextIOWrapper(file, encoding=self.encoding, newline="") as text:
            while line := text.readline(LONGEST_LINE):
                if len(line) == LONGEST_LINE:
                    raise ValueError(f"{self.path} must have lines of fewer than {LONGEST_LINE} characters.")
                yield line


def text_file(path: Path) -> tuple[TextFile, tuple[Remark, ...]]:
    """Return the file with its encoding, and a remark if the encoding had to be guessed."""
    start = head(path)
    _refuse_binary(start, path)
    marked = next((name for mark, name in MARKS.items() if start.startswith(mark)), None)
    if marked is not None:
        if not _is_encoded(path, marked):
            raise ValueError(f"{path} begins like {marked} text but is not; save it as UTF-8.")
        return TextFile(path, marked), ()
    encoding = next(name for name in ENCODINGS if _is_encoded(path, name))
    is_guess = encoding != "utf-8"
    return TextFile(path, encoding), (Remark.of("encoding", encoding=ENCODINGS[encoding]),) * is_guess


def _is_encoded(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with opened(path) as file, suppress(UnicodeDecodeError):
        while chunk := file.read(CHUNK):
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
        return True
    return False


def head(path: Path, size: int = 1 << 16) -> bytes:
    """Return the first bytes, decompressed."""
    with opened(path) as file:
        return bytes(file.read(size))


def opened(path: Path) -> Any:
    """Open a file and decompress it if necessary: detected by content, since programs keep names."""
    return gzip.open(path, "rb") if packing_of(path) == "gzip" else path.open("rb")


def packing_of(path: Path) -> str | None:
    """Return how the file is packed by its first bytes: gzip, or another way that is not read, or None."""
    with path.open("rb") as file:
        start = file.read(8)
    return next((packing for mark, packing in PACKINGS.items() if start.startswith(mark)), None)


def _refuse_binary(start: bytes, path: Path) -> None:
    if not start.strip():
        raise ValueError(f"{path} must hold a table, got an empty file.")
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return
    controls = sum(start.count(byte) for byte in range(32) if byte not in PLAIN_CONTROLS)
    if b"\0" in start or controls > 0.02 * len(start):
        raise ValueError(
            f"{path} must be a text file, got binary content; give it the extension of its format, such as "
            ".xlsx or .npz, or save the table as text in UTF-8."
        )


class Record(NamedTuple):
    """A row of a table as it is written, with the number of its first line and of its cells."""

    line: int
    text: str
    width: int


def records_of(lines: Iterable[str], delimiter: str) -> Iterator[Record]:
    """Yield the rows of a table, except empty ones."""
    number, lines, blank = 0, iter(lines), f"{delimiter} \t\r\n"
    for line in lines:
        number += 1
        if delimiter == " ":
            line = " ".join(line.split()) + "\n"  # noqa: PLW2901
        if '"' not in line:
            if line.strip(blank):
                yield Record(number, line, line.count(delimiter) + 1)
            continue
        taken = [line]  # a quoted cell may go on in the next lines
        cells = next(csv.reader(_noted(lines, taken), delimiter=delimiter, skipinitialspace=True))
        if any(cell.strip() for cell in cells):
            yield Record(number, "".join(taken), len(cells))
        number += len(taken) - 1


def _noted(lines: Iterator[str], taken: list[str]) -> Iterator[str]:
    """Yield the first of the lines taken, then further lines, which are added to these."""
    yield taken[0]
    for line in lines:
        taken.append(line)
        yield line


def cells_of(text: str, delimiter: str) -> list[str]:
    """Split the text of a record, with the blanks around its cells."""
    if '"' not in text:
        return text.rstrip("\r\n").split(delimiter)
    return next(csv.reader(text.splitlines(keepends=True), delimiter=delimiter, skipinitialspace=True))


def split_records(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Yield the cells of each row without blanks around them, except of empty rows."""
    records = records_of(lines, delimiter)
    return ([cell.strip() for cell in cells_of(record.text, delimiter)] for record in records)


def find_delimiter(lines: Iterable[str]) -> str:
    """Return the most frequent of tab, semicolon, comma and bar in the header, else " ".

    The header is the first line that has a delimiter of all lines below it; those above are a title. A comma
    within a number does not count next to other delimiters, nor anything within quotation marks.
    """
    some = [re.sub(r'"[^"]*"', "q", line) for line in _some_lines(lines)]
    if not any(delimiter in line for line in some for delimiter in DELIMITERS):
        words = [len(line.split()) for line in some]
        return " " if min(words, default=0) > 1 and len(set(words[1:])) <= 1 else ","
    if any(delimiter in some[-1] for delimiter in DELIMITERS if delimiter != ","):
        some = [re.sub(r"(?<=\d),(?=\d)", "", line) for line in some]
    for i, line in enumerate(some[:-1]):
        shared = [delimiter for delimiter in DELIMITERS if all(delimiter in later for later in some[i + 1 :])]
        if shared and any(delimiter in line for delimiter in shared):
            return max(shared, key=line.count)
    return max(DELIMITERS, key=lambda delimiter: sum(line.count(delimiter) for line in some))


def _some_lines(lines: Iterable[str]) -> list[str]:
    """Return the first lines that are not blank, fewer if they are very long."""
    some: list[str] = []
    for line in islice(filter(str.strip, lines), SHOWN_LINES):
        some.append(line)
        if len(some) >= 4 and sum(map(len, some)) > SHOWN_CHARACTERS:
            break
    return some


def numbered(lines: Iterable[str], begin: int) -> Iterator[str]:
    """Yield the lines with blank ones in place of the first, so that all keep their numbers."""
    return chain(["\n"] * begin, islice(lines, begin, None))
