"""Cells of a table as text: which are missing, which are numbers, and how values are written as text."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

TextArray: TypeAlias = NDArray[np.object_]  # of str

MISSING = frozenset({"", "na", "n/a", "nan", "null", "?", "none", "-", "#n/a", "#na", "n.a.", "<na>", "."})
# What spreadsheets show where a formula failed: no missing value, but a mistake that has a cause.
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


def _spellings(word: str) -> Iterator[str]:
    return ("".join(letters) for letters in itertools.product(*((c.lower(), c.upper()) for c in word)))


# What float() should see instead; a table of a million cells has no time for lower() on each.
AS_NAN = {spelling: "nan" for word in MISSING for spelling in _spellings(word)}


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def is_identifier(name: str) -> bool:
    """Whether a column so named is likely to hold names of the rows."""
    return name.strip().lower() in IDENTIFIERS


def number(cell: str) -> float | None:
    """The number in a cell: NaN if it is missing, None if it is a word."""
    try:
        # Python reads 1_2 as 12, but in a table it is a name.
        return float(cell) if "_" not in cell else None
    except ValueError:
        if MINUS in cell:  # typographers' and word processors'
            return number(cell.replace(MINUS, "-"))
        return math.nan if is_missing(cell) else None


def is_word(cell: str) -> bool:
    return number(cell) is None


def text_of(value: Any) -> str:
    """A value as one would write it in a table: 1 for 1.0, and nothing for a missing one."""
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
    texts = [text_of(value) for value in values]
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


def generated_names(n: int) -> list[str]:
    return [f"column_{j + 1}" for j in range(n)]
