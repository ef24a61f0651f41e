"""How a file writes numbers: 1.5 or 1,5, 1234.5 or 1,234.5, and what stands in place of numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from minimaxrisk.app.files.remarks import Remark
from minimaxrisk.app.files.study import ReadOptions, spell

DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?$")
DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?$")
# 1,234 may mean more than a thousand or little more than one.
ONE_GROUP = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}$")
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$")
THOUSANDS_BY_POINTS = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+,\d+$")
# 1.234 may mean either as well; a whole column of such numbers shows which.
GROUPS_BY_POINTS = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+$")
WHOLE = re.compile(r"[-+]?\d+$")
# What spreadsheets show where a formula failed: a mistake to correct, not a missing value.
FAILED_FORMULAS = frozenset({"#value!", "#div/0!", "#ref!", "#name?", "#num!", "#null!"})
# What laboratories write for a value that they could not tell.
BEYOND_A_LIMIT = re.compile(
    r"([<>≤≥]=?\s*[\d.,]+|[<>]?\s*(lod|loq|lloq|uloq|bdl|bql|blq|alq))$", re.IGNORECASE
)
# One in ten numbers with three decimals ends in 0 and is written shorter: ten that all have three decimals,
# beside others that have none, are groups of thousands.
ENOUGH_GROUPS = 10
MOST_COLUMNS = 1000  # the first columns show how a file writes numbers


@dataclass(frozen=True)
class NumberStyle:
    """The decimal sign, and what separates thousands."""

    decimal: str = "."
    thousands: str = ""

    def plain(self, cell: str) -> str:
        """Return the cell with numbers as Python writes them."""
        if self.thousands:
            cell = cell.replace(self.thousands, "")
        return cell if self.decimal == "." else cell.replace(self.decimal, ".")

    def plain_row(self, cells: Sequence[str]) -> Sequence[str]:
        """Return many cells at once, joined by a character that no table has."""
        return cells if self == PLAIN else self.plain("\x1f".join(cells)).split("\x1f")

    def remarks(self) -> list[Remark]:
        """Return a remark unless numbers are written as in Python."""
        if self.thousands:
            example = f"1{self.thousands}234{self.decimal}5"
            return [Remark.of("thousands", example=example)]
        return [Remark.of("decimal-comma")] if self.decimal == "," else []


PLAIN = NumberStyle()


def find_number_style(
    body: Sequence[Sequence[str]], where: object, delimiter: str, options: ReadOptions
) -> NumberStyle:
    """Return the style that the options name, else the one that the cells of the first lines show.

    In a file that is split at commas, only quoted cells have any, and a comma is no decimal sign.
    """
    if options.decimal is not None or options.thousands is not None:
        return NumberStyle(options.decimal or ".", options.thousands or "")
    _refuse_groups_by_points(body, where, options)
    cells = [cell for row in body for cell in row if "," in cell]
    thousands = [cell for cell in cells if THOUSANDS.match(cell)]
    decimal = [cell for cell in cells if DECIMAL_COMMA.match(cell)]
    if not all(map(ONE_GROUP.match, thousands)) and len(thousands) >= len(decimal):
        return NumberStyle(thousands=",")
    if delimiter == ",":
        return PLAIN
    if any(map(THOUSANDS_BY_POINTS.match, cells)):
        return NumberStyle(decimal=",", thousands=".")
    if all(map(ONE_GROUP.match, decimal)):
        return PLAIN
    mixed = next((cell for row in body for cell in row if DECIMAL_POINT.match(cell)), None)
    if mixed is not None:
        raise ValueError(
            f"{where} must write all its numbers in the same way, got both {decimal[0]!r} and {mixed!r}; "
            f"export it with a decimal point, or pass {spell(options, 'decimal', ',')}."
        )
    return NumberStyle(decimal=",")


def _refuse_groups_by_points(body: Sequence[Sequence[str]], where: object, options: ReadOptions) -> None:
    """Refuse 6.197 in columns that also have 297: the points separate thousands."""
    groups: list[str] = []
    for column in islice(zip(*body, strict=False), MOST_COLUMNS):
        whole = [abs(float(cell)) for cell in column if WHOLE.match(cell)]
        with_point = [cell for cell in column if "." in cell and WHOLE.match(cell.replace(".", ""))]
        if max(whole, default=0) < 10 or not with_point:
            continue
        if max(whole) >= 1000 or not all(map(GROUPS_BY_POINTS.match, with_point)):
            return
        groups += with_point
    if len(groups) >= ENOUGH_GROUPS:
        first = groups[0]
        raise ValueError(
            f"{where}: {first!r} seems to be {first.replace('.', '')}, since the numbers of its column have "
            f"three digits after the point or no point; if so, pass {spell(options, 'thousands', '.')}, and "
            f"otherwise {spell(options, 'decimal', '.')}."
        )


def explained(words: Sequence[str]) -> str:
    """Return what a word may be that looks like a number or a failed formula; nothing for other words."""
    for word in words:
        if BEYOND_A_LIMIT.match(word):
            return (
                f" {word!r} seems to be beyond a limit of detection: write a number for it, such as the "
                "limit, by one rule for all classes."
            )
        if word.lower() in FAILED_FORMULAS:
            return (
                f" {word!r} is what a spreadsheet shows where a formula failed: correct the formula, or "
                "empty the cell, which makes it a missing value."
            )
        if ONE_GROUP.match(word):
            plain = word.replace(",", "")
            return (
                f" {word!r} may be {plain} or {word.replace(',', '.')}: export the table without separators "
                "between thousands, and with a decimal point."
            )
    return ""
