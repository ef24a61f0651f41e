"""How a file writes numbers: 1.5, 1,5 or 1,234.5."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from minimaxrisk.files.cells import FAILED_FORMULAS, is_word

DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?$")
DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+")
# Of one group it cannot be told whether 1,234 is more than a thousand or little more than one.
ONE_GROUP = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}$")
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$")
THOUSANDS_BY_POINTS = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+,\d+$")


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
