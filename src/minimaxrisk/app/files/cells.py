"""Cells of a table as text: missing values, numbers (1.5, 1,5 or 1,234.5) and words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minimaxrisk._utils.arrays import FloatArray

TextArray: TypeAlias = NDArray[np.object_]  # of str

MISSING = frozenset({"", "na", "n/a", "nan", "null", "?", "none", "-", "#n/a", "#na", "n.a.", "<na>", "."})
# What spreadsheets show where a formula failed: a mistake to correct, not a missing value.
FAILED_FORMULAS = frozenset({"#value!", "#div/0!", "#ref!", "#name?", "#num!", "#null!"})
MINUS = "\N{MINUS SIGN}"
IDENTIFIERS = frozenset(
    """
    id ids index row row.names rownames row_names name names identifier accession geo_accession barcode
    sample samples sample_id sample_ids sampleid sample_name sample_names samplename patient patient_id
    patientid subject subject_id subjectid cell cell_id gene genes gene_id gene_name gene_symbol geneid
    symbol probe probe_id probeset id_ref feature feature_id transcript_id
    """.split()  # noqa: SIM905
) | {"", "unnamed: 0", "sample id", "sample name", "patient id", "gene id", "gene name", "gene symbol"}


# What float() reads in place of a missing cell, in the usual spellings; others take longer.
AS_NAN = {spelling: "nan" for word in MISSING for spelling in (word, word.upper(), word.capitalize())}


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def is_identifier(name: str) -> bool:
    """Whether a column so named is likely to hold names of the rows."""
    return name.strip().lower() in IDENTIFIERS


def number(cell: str) -> float | None:
    """The number in a cell: NaN if it is missing, None if it is a word."""
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        if MINUS in cell:  # as word processors write it
            return number(cell.replace(MINUS, "-"))
        return math.nan if is_missing(cell) else None


def is_word(cell: str) -> bool:
    return number(cell) is None


def numbers_of(cells: Sequence[str], *, cell_by_cell: bool) -> tuple[FloatArray, list[int]]:
    """The numbers of a row, NaN for missing cells and words, and the places of the words.

    ``cell_by_cell`` is for rows with an underscore: Python reads 1_2 as 12, but in a table it is a name.
    """
    if not cell_by_cell:
        try:
            return np.array(cells, dtype=np.float64), []
        except ValueError:
            with suppress(ValueError):
                return np.array([AS_NAN.get(cell, cell) for cell in cells], dtype=np.float64), []
    values = [number(cell) for cell in cells]
    words = [j for j, value in enumerate(values) if value is None]
    return np.array(values, dtype=np.float64), words  # None becomes NaN


def text_of(value: Any) -> str:
    """A value as text: 1 for 1.0, and nothing for a missing value."""
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip()
    if isinstance(value, float | np.floating):
        real = float(value)
        if math.isnan(real):
            return ""
        return str(int(real)) if real.is_integer() and abs(real) < 1e16 else repr(real)
    text = str(value)
    return "" if text in {"NaT", "<NA>"} else text


def text_array(values: Iterable[Any]) -> TextArray:
    return np.array([text_of(value) for value in values], dtype=object)


def generated_names(n: int) -> list[str]:
    return [f"column_{j + 1}" for j in range(n)]


DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?$")
DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+")
# What laboratories write for a value that they could not tell.
BEYOND_A_LIMIT = re.compile(
    r"([<>≤≥]=?\s*[\d.,]+|[<>]?\s*(lod|loq|lloq|uloq|bdl|bql|blq|alq))$", re.IGNORECASE
)
# 1,234 may mean more than a thousand or little more than one.
ONE_GROUP = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}$")
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$")
THOUSANDS_BY_POINTS = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+,\d+$")
# 1.234 may mean either as well; a whole column of such numbers shows which.
GROUPS_BY_POINTS = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+$")
WHOLE = re.compile(r"[-+]?\d+$")
# One in ten numbers with three decimals ends in 0 and is written shorter: ten that all have three decimals,
# beside others that have none, are groups of thousands. The first columns show how a file writes numbers.
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
        """The cell with numbers as Python writes them."""
        if self.thousands:
            cell = cell.replace(self.thousands, "")
        return cell.replace(",", ".") if self.decimal == "," else cell

    def plain_row(self, cells: Sequence[str]) -> Sequence[str]:
        """Many cells at once, joined by a character that no table has."""
        return cells if self.is_plain else self.plain("\x1f".join(cells)).split("\x1f")

    def remark(self) -> str | None:
        if self.is_plain:
            return None
        if not self.thousands:
            return "Numbers have decimal commas: 1,5 was read as one and a half."
        shown = "1,234.5" if self.decimal == "." else "1.234,5"
        return f"Numbers have separators between thousands: {shown} was read as 1234.5."


PLAIN = NumberStyle()


def find_number_style(body: Sequence[Sequence[str]], where: object, *, splits_at_commas: bool) -> NumberStyle:
    """Look at the cells with commas; in a file that is split at commas, only quoted cells have any."""
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
    """Refuse 6.197 in columns that also have 297: the points separate thousands."""
    groups: list[str] = []
    for column in islice(zip(*body, strict=False), MOST_COLUMNS):
        whole = [abs(float(cell)) for cell in column if WHOLE.match(cell)]
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
            "three digits after the point or no point; export the table without separators between "
            "thousands. If these are decimals, write all of them with a point."
        )


def explained(words: Sequence[str]) -> str:
    """What a word may be that looks like a number or a failed formula; nothing for other words."""
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
