"""How a text file is laid out: encoding, lines, delimiter, header, and which columns are text."""

from __future__ import annotations

import codecs
import csv
import gzip
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from statistics import mode
from typing import Any, NamedTuple, TypeVar

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk.app.files.cells import (
    NumberStyle,
    find_number_style,
    generated_names,
    is_identifier,
    is_missing,
    is_word,
)
from minimaxrisk.app.files.messages import brief, require_unique
from minimaxrisk.app.files.study import ERROR, EVERY, ReadOptions, merge_advice, spell

Result = TypeVar("Result")

MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Spreadsheets on Western Windows write the first. The second has a character for every byte.
OTHERS = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}
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
DELIMITERS = ("\t", ";", "|", ",")  # in this order: a comma may be a decimal sign
LABELS = ("class", "label", "target", "type", "diagnosis", "y")
LOOKED_AT = 100_000  # cells
LONGEST_LINE = 1 << 28  # characters
TITLES = 8  # lines that may be a title
MOST_WORDS = 1000  # of the first line, compared with the lines below it


class Record(NamedTuple):
    """A row of a table: its cells, the number of its line, and how many underscores it has."""

    line: int
    cells: list[str]
    n_underscores: int

    @classmethod
    def of(cls, line: int, cells: list[str]) -> Record:
        """The row of some cells."""
        return cls(line, cells, "".join(cells).count("_"))


Records = Callable[[], Iterator[Record]]  # the rows from the start of the table


@dataclass(frozen=True)
class TextFile:
    """A text file that can be read from the start as often as needed."""

    path: Path
    encoding: str

    def lines(self) -> Iterator[str]:
        """Lines with their line ends, of any system."""
        with opened(self.path) as file, TextIOWrapper(file, encoding=self.encoding, newline="") as text:
            while line := text.readline(LONGEST_LINE):
                if len(line) == LONGEST_LINE:
                    raise ValueError(f"{self.path} must have lines of fewer than {LONGEST_LINE} characters.")
                yield line


def read_text(path: Path, parse: Callable[[TextFile], Result]) -> tuple[Result, tuple[str, ...]]:
    """What ``parse`` makes of the file, and a remark if its encoding had to be guessed."""
    start = head(path)
    _refuse_binary(start, path)
    encoding = next((name for mark, name in MARKS.items() if start.startswith(mark)), "utf-8")
    try:
        return parse(TextFile(path, encoding)), ()
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise ValueError(
                f"{path} begins like {encoding} text but is not ({brief(error)}); save it as UTF-8."
            ) from error
    for other, shown in OTHERS.items():
        with suppress(UnicodeDecodeError):
            remark = f"The file is not in UTF-8 and was read as {shown}; save it as UTF-8 if names look wrong"
            return parse(TextFile(path, other)), (f"{remark}.",)
    raise AssertionError("every byte is a character of Latin-1")


def head(path: Path, size: int = 1 << 16) -> bytes:
    """The first bytes, decompressed."""
    with opened(path) as file:
        return bytes(file.read(size))


def opened(path: Path) -> Any:
    """Open a file by its content, not by its name: programs unpack or pack a file and keep its name."""
    return gzip.open(path, "rb") if packing_of(path) == "gzip" else path.open("rb")


def packing_of(path: Path) -> str | None:
    """How the file is packed by its first bytes: gzip, or another way that is not read; None if not."""
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


@dataclass(frozen=True)
class Layout:
    """Names of the columns, places of those with text, and how numbers are written."""

    names: list[str]
    named: bool  # by a header
    texts: frozenset[int]  # those known so far
    style: NumberStyle
    options: ReadOptions

    @property
    def width(self) -> int:
        return len(self.names)

    def number_columns(self) -> list[int]:
        return [j for j in range(self.width) if j not in self.texts]


def find_delimiter(lines: Iterable[str]) -> str:
    """The delimiter that gives all lines the same number of cells, else the commonest; " " for blanks."""
    first = _some_lines(lines)
    for delimiter in DELIMITERS:
        # The csv module gives up at very long cells, such as a long line that is not split.
        if any(delimiter in line for line in first[:3]) and _splits_evenly(first, delimiter):
            return delimiter
    counts = {delimiter: sum(line.count(delimiter) for line in first) for delimiter in DELIMITERS}
    commonest = max(counts, key=lambda delimiter: counts[delimiter])
    if counts[commonest] >= len(first) - 1 > 0 or (len(first) == 1 and counts[commonest]):
        return commonest
    words = [len(line.split()) for line in first]
    return " " if min(words, default=2) > 1 and len(set(words[1:])) <= 1 else ","


def _splits_evenly(lines: Sequence[str], delimiter: str) -> bool:
    if any('"' in line for line in lines):
        header, *widths = (len(row) for row in csv.reader(lines, delimiter=delimiter))
    else:
        header, *widths = (line.count(delimiter) + 1 for line in lines)
    # A cell with a line break inside may have been cut off at the end.
    body = set(widths[:-1] if len(widths) > 2 else widths)
    # R leaves out the name of the column of row names.
    return (header > 1 and body <= {header}) or body == {header + 1}


def _some_lines(lines: Iterable[str]) -> list[str]:
    """The first twenty that are not blank, or fewer if they are very long."""
    some: list[str] = []
    for line in lines:
        if line.strip():
            some.append(line)
        if len(some) == 20 or (len(some) >= 4 and sum(map(len, some)) > 1_000_000):
            break
    return some


def records_of(lines: Iterable[str], delimiter: str) -> Iterator[Record]:
    """Rows of cells, with blanks around them; empty lines are left out."""
    number, lines, blank = 0, iter(lines), f"{delimiter} \t\r\n"
    for line in lines:
        number += 1
        if delimiter == " ":
            line = " ".join(line.split())  # noqa: PLW2901
        if '"' not in line:
            if line.strip(blank):
                yield Record(number, line.rstrip("\r\n").split(delimiter), line.count("_"))
            continue
        # A quoted cell may go on in the next lines.
        reader = csv.reader(chain([line], lines), delimiter=delimiter, skipinitialspace=True)
        cells = next(reader)
        number += reader.line_num - 1
        if any(cell.strip() for cell in cells):
            yield Record.of(number, cells)


def split_records(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Rows of cells without blanks around them; empty lines are left out."""
    return ([cell.strip() for cell in record.cells] for record in records_of(lines, delimiter))


def lines_of_title(
    records: Iterable[Record], where: object, options: ReadOptions
) -> tuple[int, tuple[str, ...]]:
    """The number of the last line of a title above the table, 0 for none, and a remark on it.

    A title is one cell of words above a table of three columns or more. Refused is a first line below it
    that has far fewer cells than most lines.
    """
    lines = list(islice(records, TITLES))
    widths = [_filled_width(record.cells) for record in lines]
    if len(lines) < 2:
        return 0, ()
    usual = mode(widths[1:])
    words: list[str] = []
    while len(words) < len(lines) - 1 and widths[len(words)] == 1 and usual > 2:
        cell = next(cell.strip() for cell in lines[len(words)].cells if cell.strip())
        if not is_word(cell):
            break
        words.append(cell)
    first, width = lines[len(words)].line, widths[len(words)]
    if 2 * width < usual:
        wide = lines[widths.index(usual)].line
        raise ValueError(
            f"{where}: line {first} has {counted(width, 'cell')} and line {wide} has {usual}. "
            "If the lines above the header are a title or comment, pass "
            f"{spell(options, 'skip_lines', wide - 1)}."
        )
    if not words:
        return 0, ()
    remark = f"Skipped {counted(len(words), 'line')} above the table, a title: {listed(words, 2)}."
    return lines[len(words) - 1].line, (remark,)


def _filled_width(row: Sequence[str]) -> int:
    """Number of cells without the empty ones at the end, which spreadsheets leave behind."""
    return next((j for j in range(len(row), 0, -1) if row[j - 1].strip()), 0)


def find_layout(
    records: Records, where: object, *, options: ReadOptions, splits_at_commas: bool = True
) -> Layout:
    """The layout that the first lines show; where cells are split at commas, 1,5 is not a number."""
    rows = ([cell.strip() for cell in record.cells] for record in records())
    first = next(rows, None)
    if first is None:
        raise ValueError(f"{where} must hold a table, got only blank lines.")
    body = list(islice(rows, n_looked_at(len(first))))
    style = find_number_style(body or [first], where, splits_at_commas=splits_at_commas)
    if not style.is_plain:
        body = [[style.plain(cell) for cell in row] for row in body]
    named = is_header(first, body) if options.header is None else options.header
    if not named:
        names = generated_names(len(first))
        body = [[style.plain(cell) for cell in first], *body]
    elif not body:
        raise ValueError(
            f"{where} must hold lines of values below its header, got only the header; "
            f"if that line holds values, pass {spell(options, 'header', False)}."
        )
    else:
        names = _completed(first, body)
    texts = _find_texts(body, names, named, options.as_text)
    if named:
        # Columns of text are known by their names; those of numbers may be merged.
        is_merged = options.duplicates != ERROR
        kept = {names[j] for j in texts} if is_merged else set(names)
        remedy = "rename them" if is_merged else f"rename them, {merge_advice(options)}"
        own = [name for name in names if name and name in kept]
        require_unique(own, where, what="the names in the header", remedy=remedy)
    return Layout(names, named, texts, style, options)


def n_looked_at(width: int) -> int:
    """How many rows show what a column holds; one that turns out later to be text costs another reading."""
    return max(10, min(100, LOOKED_AT // width))


def _find_texts(
    body: Sequence[Sequence[str]], names: Sequence[str], named: bool, as_text: frozenset[str]
) -> frozenset[int]:
    """The columns that are text whatever they hold."""
    texts = {j for j, name in enumerate(names) if name in as_text or EVERY in as_text}
    # Names of rows may be numbers, but they have no fractions.
    if named and is_identifier(names[0]) and not any("." in row[0] for row in body):
        texts.add(0)
    # Spreadsheets leave empty columns behind.
    filled = max((_filled_width(row) for row in body), default=0)
    without = range(1, len(names)) if named else range(max(filled, 1), len(names))
    return frozenset(texts.union(j for j in without if not named or not names[j]))


def _completed(header: list[str], body: Sequence[Sequence[str]]) -> list[str]:
    """A header that is one name short, completed.

    R leaves out the name of the column of row names; other programs end all lines but the header in a
    delimiter.
    """
    if len(body[0]) != len(header) + 1:
        return list(header)
    return ["", *header] if any(row[-1] for row in body) else [*header, ""]


def is_header(first: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the first line holds names and not values."""
    if len(first) > 10 and list(first[:-1]) == [str(j) for j in range(len(first) - 1)]:
        return True  # it numbers the columns
    words = list(islice((j for j, cell in enumerate(first) if is_word(cell)), MOST_WORDS))
    if not words:
        return False
    return (
        (bool(body) and len(body[0]) == len(first) + 1)  # as R writes it
        or any(_is_above_numbers(j, body) for j in words)
        or _has_usual_name(first)
        or _has_only_new_words(first, words, body)
    )


def _is_above_numbers(j: int, body: Sequence[Sequence[str]]) -> bool:
    """Whether most cells of a column below the first line are numbers."""
    below = [row[j] for row in body if j < len(row) and not is_missing(row[j])]
    return 2 * sum(map(is_word, below)) < len(below)


def _has_usual_name(first: Sequence[str]) -> bool:
    # A lone y may be a label itself, for yes.
    is_label = any(cell.lower() in LABELS and cell.lower() != "y" for cell in first)
    return is_label or (first[0] != "" and is_identifier(first[0]))


def _has_only_new_words(first: Sequence[str], words: Sequence[int], body: Sequence[Sequence[str]]) -> bool:
    """Whether the first line holds words alone, and none of them occurs again below it."""
    again = any(row[j] == first[j] for row in body for j in words if j < len(row))
    return not again and all(is_word(cell) or not cell for cell in first)
