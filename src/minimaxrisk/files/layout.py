"""Find from its first lines how a table is laid out: delimiter, header, and which columns are text."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import mode

from minimaxrisk.files.cells import generated_names, is_identifier, is_missing, is_word
from minimaxrisk.files.options import EVERY
from minimaxrisk.files.problems import counted, require_unique

Records = Callable[[], Iterator[list[str]]]  # the rows of a table from its start, each a list of cells

DELIMITERS = ("\t", ";", "|", ",")  # in this order: a comma may be a decimal sign
LABELS = ("class", "label", "target", "type", "diagnosis", "y")
LOOKED_AT = 400_000  # cells
TITLES = 8  # lines looked at for one
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?$")
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+$")


@dataclass(frozen=True)
class Layout:
    """Columns of a table: their names, and the numbers of those that are not numbers."""

    names: list[str]
    named: bool
    header_rows: int  # 0 or 1
    texts: list[int]
    text_rows: bool  # whether there are lines of text among those of numbers
    decimal_comma: bool = False

    @property
    def width(self) -> int:
        return len(self.names)

    def number_columns(self) -> list[int]:
        texts = set(self.texts)
        return [j for j in range(self.width) if j not in texts]


def find_delimiter(lines: Iterable[str]) -> str:
    """The delimiter that gives all lines the same number of cells, or else the commonest; " " for blanks."""
    first = _some_lines(lines)
    for delimiter in DELIMITERS:
        # The csv module gives up at very long cells, such as a long line that is not split.
        if not any(delimiter in line for line in first[:3]):
            continue
        widths = [len(row) for row in csv.reader(first, delimiter=delimiter)]
        # A cell with a line break inside may have been cut off at the end.
        body = widths[1:-1] if len(widths) > 3 else widths[1:]
        # R leaves out the name of the column of row names.
        if widths[0] > 1 and all(width == widths[0] for width in body or widths):
            return delimiter
        if body and min(body) == max(body) == widths[0] + 1 > 1:
            return delimiter
    counts = {delimiter: sum(line.count(delimiter) for line in first) for delimiter in DELIMITERS}
    commonest = max(counts, key=lambda delimiter: counts[delimiter])
    if counts[commonest] >= len(first) - 1 > 0 or (len(first) == 1 and counts[commonest]):
        return commonest
    blanks = sum(len(line.split()) > 1 for line in first)
    return " " if blanks == len(first) and len({len(line.split()) for line in first[1:]}) <= 1 else ","


def _some_lines(lines: Iterable[str]) -> list[str]:
    """The first twenty that are not blank, or fewer if they are very long."""
    some: list[str] = []
    for line in lines:
        if line.strip():
            some.append(line)
        if len(some) == 20 or (len(some) >= 4 and sum(map(len, some)) > 1_000_000):
            break
    return some


def split_records(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Rows of cells without blanks around them, and without lines that hold nothing."""
    return (cells for _, cells in numbered_records(lines, delimiter))


def numbered_records(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """As ``split_records``, each row with the number of its line."""
    if delimiter == " ":
        lines = (" ".join(line.split()) for line in lines)
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    for row in reader:
        cells = [cell.strip() for cell in row]
        if any(cells):
            yield reader.line_num, cells


def refuse_title(numbered: Iterable[tuple[int, Sequence[str]]], where: object) -> None:
    """Raise ValueError if the first line has far fewer cells than most lines below it."""
    lines = [(number, _filled_width(row)) for number, row in islice(numbered, TITLES)]
    if len(lines) < 2:
        return
    first, width = lines.pop(0)
    usual = mode(other for _, other in lines)
    if 2 * width < usual:
        wide = next(number for number, other in lines if other == usual)
        raise ValueError(
            f"{where}: line {first} has {counted(width, 'cell')} and line {wide} has {usual}. "
            "If the lines above the header are a title or comment, delete them."
        )


def _filled_width(row: Sequence[str]) -> int:
    """Without the empty cells at the end, which spreadsheets leave behind."""
    return max((j + 1 for j, cell in enumerate(row) if cell), default=0)


def find_layout(
    records: Records,
    where: object,
    *,
    header: bool | None,
    commas: bool = False,
    as_text: frozenset[str] = frozenset(),
) -> Layout:
    """``commas``: whether a cell such as 1,5 may be a number; ``as_text``: columns that hold no numbers."""
    rows = records()
    first = next(rows, None)
    if first is None:
        raise ValueError(f"{where} must hold a table, got only blank lines.")
    body = list(islice(rows, max(10, min(100, LOOKED_AT // len(first)))))
    decimal_comma = commas and _has_decimal_commas(body or [first], where)
    if decimal_comma:
        body = [[cell.replace(",", ".") for cell in row] for row in body]
    named = _is_header(first, body) if header is None else header
    if not named:
        names = generated_names(len(first))
        body = [first if not decimal_comma else [cell.replace(",", ".") for cell in first], *body]
    elif not body:
        raise ValueError(
            f"{where} must hold lines of values below its header, got only the header; "
            "if it is one of values, pass --no-header."
        )
    else:
        names = _completed(first, body)
        require_unique(
            [name for name in names if name], where, what="the names in the header", remedy="rename them"
        )
    texts, text_rows = _find_texts(body, names, named)
    if as_text:
        kept = {j for j, name in enumerate(names) if name in as_text or EVERY in as_text}
        texts = sorted({*texts, *kept})
    return Layout(names, named, int(named), texts, text_rows, decimal_comma)


def _completed(header: list[str], body: Sequence[Sequence[str]]) -> list[str]:
    """R leaves out the name of the column of row names; others end all lines but this in a delimiter."""
    if len(body[0]) != len(header) + 1:
        return list(header)
    return ["", *header] if any(row[-1] for row in body) else [*header, ""]


def _is_header(first: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the first line holds names: words above numbers, or words that do not come again below."""
    words = [j for j, cell in enumerate(first) if is_word(cell)]
    if len(first) > 10 and list(first[:-1]) == [str(j) for j in range(len(first) - 1)]:
        return True  # columns that were numbered
    if not words:
        return False
    shift = 1 if body and len(body[0]) == len(first) + 1 else 0
    if shift:
        return True
    for j in words[:1000]:
        below = [row[j] for row in body if j < len(row) and not is_missing(row[j])]
        if below and 2 * sum(is_word(cell) for cell in below) < len(below):
            return True
    lower = [cell.lower() for cell in first]
    # A lone y may be a label itself, for yes.
    if any(cell in LABELS and cell != "y" for cell in lower) or (lower[0] and is_identifier(first[0])):
        return True
    again = any(row[j] == first[j] for row in body for j in words[:1000] if j < len(row))
    return not again and all(is_word(cell) or not cell for cell in first)


def is_line_of_words(n_words: int, n_missing: int, n_cells: int) -> bool:
    """Whether a line tells about samples in columns, such as their diagnoses, and holds no numbers."""
    filled = n_cells - n_missing
    return n_words >= 3 and n_words >= 0.9 * filled and 2 * filled >= n_cells


def _find_texts(body: Sequence[Sequence[str]], names: Sequence[str], named: bool) -> tuple[list[int], bool]:
    """Columns with words, leaving aside the few lines that hold nothing but words."""
    width = len(names)
    even = [row for row in body if len(row) == width]
    words = [[is_word(cell) for cell in row] for row in even]
    wordy = [
        is_line_of_words(sum(row[1:]), sum(not cell for cell in cells[1:]), width - 1)
        for row, cells in zip(words, even, strict=True)
    ]
    text_rows = any(wordy) and 2 * sum(wordy) <= len(words)
    rows = [row for row, aside in zip(words, wordy, strict=True) if not (text_rows and aside)]
    texts = {j for row in rows for j, word in enumerate(row) if word}
    # Names may be numbers, but they have no fractions.
    if text_rows or (named and is_identifier(names[0]) and not any("." in row[0] for row in even)):
        texts.add(0)
    # Columns without a name are looked at whole: spreadsheets leave empty ones behind.
    texts.update(j for j in range(1, width) if not names[j])
    if not named:
        texts.update(_empty_at_the_end(body, width))
    return sorted(texts), text_rows


def _empty_at_the_end(body: Sequence[Sequence[str]], width: int) -> Iterator[int]:
    for j in range(width - 1, 0, -1):
        if any(len(row) == width and row[j] for row in body):
            return
        yield j


def _has_decimal_commas(body: Sequence[Sequence[str]], where: object) -> bool:
    cells = [cell for row in body for cell in row if "," in cell]
    decimal = [cell for cell in cells if DECIMAL_COMMA.match(cell)]
    if not decimal or all(THOUSANDS.match(cell) for cell in decimal):
        return False
    points = re.compile(r"[-+]?\d*\.\d+")
    mixed = next((cell for row in body for cell in row if points.match(cell) and not is_word(cell)), None)
    if mixed is not None:
        raise ValueError(
            f"{where} must write its numbers in one way, got both {decimal[0]!r} and {mixed!r}; "
            "export it with a decimal point."
        )
    return True
