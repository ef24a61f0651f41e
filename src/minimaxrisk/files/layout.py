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
MOST_WORDS = 1000  # of the first line, compared with the lines below it
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
        if any(delimiter in line for line in first[:3]) and _splits_evenly(first, delimiter):
            return delimiter
    counts = {delimiter: sum(line.count(delimiter) for line in first) for delimiter in DELIMITERS}
    commonest = max(counts, key=lambda delimiter: counts[delimiter])
    if counts[commonest] >= len(first) - 1 > 0 or (len(first) == 1 and counts[commonest]):
        return commonest
    words = [len(line.split()) for line in first]
    return " " if min(words, default=2) > 1 and len(set(words[1:])) <= 1 else ","


def _splits_evenly(lines: Sequence[str], delimiter: str) -> bool:
    header, *widths = (len(row) for row in csv.reader(lines, delimiter=delimiter))
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
    named = is_header(first, body) if header is None else header
    if not named:
        names = generated_names(len(first))
        body = [first if not decimal_comma else [cell.replace(",", ".") for cell in first], *body]
    elif not body:
        raise ValueError(
            f"{where} must hold lines of values below its header, got only the header; "
            "if that line holds values, pass --no-header."
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


def is_header(first: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the first line holds names and not values."""
    if _counts_columns(first):
        return True
    words = [j for j, cell in enumerate(first) if is_word(cell)][:MOST_WORDS]
    if not words:
        return False
    return (
        _lacks_one_name(first, body)
        or any(_is_above_numbers(j, body) for j in words)
        or _has_usual_name(first)
        or _has_only_new_words(first, words, body)
    )


def _counts_columns(first: Sequence[str]) -> bool:
    return len(first) > 10 and list(first[:-1]) == [str(j) for j in range(len(first) - 1)]


def _lacks_one_name(first: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    return bool(body) and len(body[0]) == len(first) + 1


def _is_above_numbers(j: int, body: Sequence[Sequence[str]]) -> bool:
    """Whether most cells of a column below the first line are numbers."""
    below = [row[j] for row in body if j < len(row) and not is_missing(row[j])]
    return 2 * sum(map(is_word, below)) < len(below)


def _has_usual_name(first: Sequence[str]) -> bool:
    # A lone y may be a label itself, for yes.
    is_label = any(cell.lower() in LABELS and cell.lower() != "y" for cell in first)
    return is_label or (first[0] != "" and is_identifier(first[0]))


def _has_only_new_words(first: Sequence[str], words: Sequence[int], body: Sequence[Sequence[str]]) -> bool:
    """Whether the first line holds nothing but words, and none that stands below it again."""
    again = any(row[j] == first[j] for row in body for j in words if j < len(row))
    return not again and all(is_word(cell) or not cell for cell in first)


def is_line_of_words(n_words: int, n_missing: int, n_cells: int) -> bool:
    """Whether a line tells about samples in columns, such as their diagnoses, and holds no numbers."""
    filled = n_cells - n_missing
    return n_words >= 3 and n_words >= 0.9 * filled and 2 * filled >= n_cells


def _find_texts(body: Sequence[Sequence[str]], names: Sequence[str], named: bool) -> tuple[list[int], bool]:
    """Columns with words, and whether a few lines hold nothing but words, which do not count for that."""
    width = len(names)
    even = [row for row in body if len(row) == width]
    words = [[is_word(cell) for cell in row] for row in even]
    aside = [_is_text_row(row, cells) for row, cells in zip(words, even, strict=True)]
    text_rows = any(aside) and 2 * sum(aside) <= len(words)
    rows = [row for row, is_aside in zip(words, aside, strict=True) if not (text_rows and is_aside)]
    texts = {j for row in rows for j, word in enumerate(row) if word}
    # Names may be numbers, but they have no fractions.
    if text_rows or (named and is_identifier(names[0]) and not any("." in row[0] for row in even)):
        texts.add(0)
    # Columns without a name are looked at whole: spreadsheets leave empty ones behind.
    texts.update(j for j in range(1, width) if not names[j])
    if not named:
        texts.update(_empty_at_the_end(body, width))
    return sorted(texts), text_rows


def _is_text_row(words: Sequence[bool], cells: Sequence[str]) -> bool:
    """Whether all but the first cell, which names the row, are words."""
    return is_line_of_words(sum(words[1:]), cells[1:].count(""), len(cells) - 1)


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
            f"{where} must write all its numbers in the same way, got both {decimal[0]!r} and {mixed!r}; "
            "export it with a decimal point."
        )
    return True
