"""Cells of a table as text: missing values, numbers and words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minimaxrisk._utils.arrays import FloatArray

TextArray: TypeAlias = NDArray[np.object_]  # of str

MISSING = frozenset({"", "na", "n/a", "nan", "null", "?", "none", "-", "#n/a", "#na", "n.a.", "<na>", "."})
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
    """Return whether a column so named is likely to hold names of the rows."""
    return name.strip().lower() in IDENTIFIERS


def number(cell: str) -> float | None:
    """Return the number in a cell: NaN if it is missing, None if it is a word."""
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        if MINUS in cell:  # as word processors write it
            return number(cell.replace(MINUS, "-"))
        return math.nan if is_missing(cell) else None


def is_word(cell: str) -> bool:
    return number(cell) is None


def numbers_of(cells: Sequence[str]) -> tuple[FloatArray, list[int]]:
    """Return the numbers of a row, NaN for missing cells and words, and the places of the words.

    Python reads 1_2 as 12, but in a table it is a name.
    """
    if "_" not in "".join(cells):
        try:
            return np.array(cells, dtype=np.float64), []
        except ValueError:
            with suppress(ValueError):
                return np.array([AS_NAN.get(cell, cell) for cell in cells], dtype=np.float64), []
    values = [number(cell) for cell in cells]
    words = [j for j, value in enumerate(values) if value is None]
    return np.array(values, dtype=np.float64), words  # None becomes NaN


def text_of(value: Any) -> str:
    """Return a value as text: 1 for 1.0, and nothing for a missing value."""
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
