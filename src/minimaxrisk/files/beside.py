"""Columns about the samples that are neither features nor labels: the patient, the batch."""

from __future__ import annotations

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk.files.arrangement import Arranged
from minimaxrisk.files.cells import TextArray
from minimaxrisk.files.problems import listed, nearest
from minimaxrisk.files.request import ReadRequest
from minimaxrisk.files.target import missing_labels


def columns_beside(arranged: Arranged, request: ReadRequest, lines: IntArray | None) -> dict[str, TextArray]:
    """The columns that the request names; ``lines`` are those of the labels file, by sample."""
    return {name: _column(name, arranged, request, lines) for name in request.beside}


def _column(name: str, arranged: Arranged, request: ReadRequest, lines: IntArray | None) -> TextArray:
    raw, labels = arranged.raw, request.labels
    if labels is not None and lines is not None and name in labels.columns:
        found: TextArray | None = labels.columns[name][lines]
    else:
        found = raw.column(name)
    if found is None:
        known = [*raw.annotations, *raw.columns(), *([] if labels is None else labels.columns)]
        raise ValueError(
            f"{request.where} must have the column {name!r} that --groups or --batch names, in the table or "
            f"in the labels file{nearest(name, known) or f'; the first are {listed(known)}.'}{raw.elsewhere}"
        )
    gone = missing_labels(found)
    if gone:
        raise ValueError(
            f"{request.where}: every sample must have an entry in {name!r}, got {len(gone)} of {len(found)} "
            f"missing, the first for the samples {listed(arranged.samples[gone])}; complete them."
        )
    return found
