"""How a file writes numbers: 1.5, 1,5 or 1,234.5."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from minimaxrisk.files.cells import FAILED_FORMULAS, is_word

DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?$")
DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+")
# Of one group it cannot be told whether 1,234 is more than a thousand or little more than one.
ONE_GROUP = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}$")
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$")
THOUSANDS_BY_POINTS = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+,\d+$")
# The same without decimals: of one group it cannot be told either, of a column it can.
GROUPS_BY_POINTS = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+$")
WHOLE = re.compile(r"[-+]?\d+$")
# Of numbers rounded to three decimals every tenth has fewer, and every thousandth none: where ten have three
# and others none, that is no rounding. So many columns are enough to see how a file writes numbers.
ENOUGH_GROUPS, MOST_COLUMNS = 10, 1000


@dataclass(frozen=True)
class NumberStyle:
    """What stands before decimals, and what between thousands."""

    decimal: str = "."
    thousands: str = ""

    @property
    def is_plain(self) -> bool:
        return self == PLAIN

    def plain(self, cell: str) -> str:
        """The cell as Python writes numbers, whatever it holds."""
        if self.thousands:
            cell = cell.replace(self.thousands, "")
        return cell.replace(",", ".") if self.decimal == "," else cell

    def remark(self) -> str | None:
        if self.is_plain:
            return None
        if not self.thousands:
            return "Numbers have decimal commas: 1,5 was read as one and a half."
        shown = "1,234.5" if self.decimal == "." else "1.234,5"
        return f"Numbers have separators between thousands: {shown} was read as 1234.5."


PLAIN = NumberStyle()


def find_number_style(body: Sequence[Sequence[str]], where: object, *, splits_at_commas: bool) -> NumberStyle:
    """By the cells with commas; where cells are split at commas, only quoted ones have any."""
    _refuse_groups_by_points(body, where)
    cells = [cell for row in body for cell in row if "," in cell]
    thousands = [cell for cell in cells if THOUSANDS.match(cell)]
    is_sure = any(not ONE_GROUP.match(cell) for cell in thousands)
    decimal = [cell for cell in cells if DECIMAL_COMMA.match(cell)]
    if is_sure and len(thousands) >= len(decimal):
        return NumberStyle(thousands=",")
    if splits_at_commas:
        return PLAIN
    if any(THOUSANDS_BY_POINTS.match(cell) for cell in cells):
        return NumberStyle(decimal=",", thousands=".")
    if not decimal or all(ONE_GROUP.match(cell) for cell in decimal):
        return PLAIN
    mixed = next(
        (cell for row in body for cell in row if DECIMAL_POINT.match(cell) and not is_word(cell)), None
    )
    if mixed is not None:
        raise ValueError(
            f"{where} must write all its numbers in the same way, got both {decimal[0]!r} and {mixed!r}; "
            "export it with a decimal point."
        )
    return NumberStyle(decimal=",")


def _refuse_groups_by_points(body: Sequence[Sequence[str]], where: object) -> None:
    """Refuse 6.197 for 6197, in columns that also have 297: decimals would not all have three digits."""
    groups: list[str] = []
    for column in islice(zip(*body, strict=False), MOST_COLUMNS):
        whole = [abs(int(cell)) for cell in column if WHOLE.match(cell)]
        if not any(number >= 10 for number in whole):
            continue
        with_point = [cell for cell in column if "." in cell and not is_word(cell.replace(".", ""))]
        if not with_point:
            continue
        if max(whole) >= 1000 or not all(map(GROUPS_BY_POINTS.match, with_point)):
            return
        groups += with_point
    if len(groups) >= ENOUGH_GROUPS:
        first = groups[0]
        raise ValueError(
            f"{where}: {first!r} seems to be {first.replace('.', '')}, since the numbers of its column have "
            "three digits after the point or no point; export the table without separators of thousands. "
            "If these are decimals, write all of them with a point."
        )


def explained(words: Sequence[str]) -> str:
    """What a word that looks like a number or a mistake of a spreadsheet may be."""
    for word in words:
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
