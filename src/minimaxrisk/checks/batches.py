"""Batches, each of which holds one class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from minimaxrisk.checks.findings import Finding
from minimaxrisk.checks.table import StudyTable


def are_confounded(counts: np.ndarray) -> bool:
    """Return whether every batch holds one class, and two batches or more have two samples or more.

    ``counts`` has the samples by batch and class.
    """
    has_one_class = (np.asarray(counts) > 0).sum(axis=1) == 1
    return bool(has_one_class.all() and (np.asarray(counts).sum(axis=1) >= 2).sum() >= 2)


def batch_findings(table: StudyTable) -> Iterator[Finding]:
    """Find batches that cannot be separated from the classes."""
    if table.batch is None:
        return
    batches, codes = np.unique(np.asarray(table.batch).astype(str), return_inverse=True)
    counts = np.zeros((len(batches), len(table.classes)), dtype=np.intp)
    np.add.at(counts, (codes, table.own), 1)
    if are_confounded(counts):
        yield Finding(
            "batch-is-class",
            message=f"Each of the {len(batches)} batches holds one class only. The model may have learned "
            "the difference between batches, and these data cannot show which.",
            remedy="Measure samples of every class in each batch. No computation can separate the two.",
            claim="every batch holds one class only",
            numbers={"n_batches": len(batches)},
        )
