"""Samples that are equal to others, or far closer to others than is usual."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk.checks.findings import Finding
from minimaxrisk.checks.table import StudyTable
from minimaxrisk.samples.copies import duplicate_rows, near_copies

SHOWN = 6  # samples, or pairs of samples, in a message
BOTH_SIDES = (
    "Otherwise one of them can be in training and the other in the test, and error rates are too low."
)


def duplicate_findings(table: StudyTable) -> Iterator[Finding]:
    """Find duplicates and near duplicates that no groups keep together."""
    equal = duplicate_rows(table.X)
    groups = table.groups
    mixed = [(i, j) for i, j in equal if table.y[i] != table.y[j]]
    apart = [(i, j) for i, j in equal if (i, j) not in mixed and (groups is None or groups[i] != groups[j])]
    if apart:
        n, are = len(apart), "is" if len(apart) == 1 else "are"
        yield _of_pairs(
            "duplicates",
            table,
            apart,
            what=f"{counted(n, 'sample')} {are} equal to another sample in all columns: {{}}. {BOTH_SIDES}",
            remedy="Remove duplicates, or name them as one group.",
        )
    if mixed:
        n, have = len(mixed), "has" if len(mixed) == 1 else "have"
        yield _of_pairs(
            "duplicate-labels",
            table,
            mixed,
            what=f"{counted(n, 'sample')} {have} the values of a sample of another class: {{}}.",
            remedy="Correct the labels or the values, or remove these samples.",
            claim="samples with equal values and different labels are correct",
        )
    copied = {later: first for first, later in equal}
    near = [
        (pair.first, pair.second)
        for pair in near_copies(table.X, table.y, groups)
        if copied.get(pair.first, pair.first) != copied.get(pair.second, pair.second)
    ]
    if near:
        n, are = len(near), "is" if len(near) == 1 else "are"
        yield _of_pairs(
            "near-duplicates",
            table,
            near,
            what=f"{counted(n, 'pair')} of samples {are} far closer than is usual in their class, like one "
            f"sample measured twice: {{}}. {BOTH_SIDES}",
            remedy="If they are, name the samples of one source as groups.",
            claim="samples that are far closer than usual come from different sources",
        )


def _of_pairs(
    code: str, table: StudyTable, pairs: list[tuple[int, int]], *, what: str, remedy: str, claim: str = ""
) -> Finding:
    names = [f"{first} and {second}" for first, second in map(table.places_of, pairs)]
    rows = tuple(np.unique(pairs).tolist())
    return Finding(
        code,
        message=what.format(listed(names, SHOWN)),
        remedy=remedy,
        claim=claim,
        samples=table.names_of(rows),
        rows=rows,
        numbers={"n_pairs": len(pairs)},
    )
