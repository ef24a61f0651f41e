"""The data checks in their order: what a table shows alone, and what a model adds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.checks.batches import batch_findings
from minimaxrisk.checks.columns import column_findings, dominance_findings
from minimaxrisk.checks.computed_samples import computed_findings
from minimaxrisk.checks.duplicates import duplicate_findings
from minimaxrisk.checks.findings import Finding
from minimaxrisk.checks.names import name_findings, used_name_findings
from minimaxrisk.checks.sample_numbers import MEAN, SPREAD, difference_findings, number_findings
from minimaxrisk.checks.scales import preparation_findings, scale_findings
from minimaxrisk.checks.table import Evidence, StudyTable

# Findings that would explain why a number of a sample, or an order, separates the classes.
EXPLAINED_BY = (
    "scale-by-class",
    "scale-mismatch",
    "sample-number",
    "uniform-difference",
    "label-copy",
    "near-label-copy",
    "running-number",
    "suspicious-name",
    "dominant-feature",
)


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest number
def findings_of_table(table: StudyTable) -> list[Finding]:
    """Return what can be found without a model."""
    scales = list(scale_findings(table)) or _of_numbers(table)
    return [
        *batch_findings(table),
        *scales,
        *computed_findings(table),
        *duplicate_findings(table),
        *name_findings(table),
        *preparation_findings(table),
    ]


def _of_numbers(table: StudyTable) -> list[Finding]:
    """Return findings about numbers of samples; a uniform difference explains their mean and spread."""
    numbers, differences = list(number_findings(table)), list(difference_findings(table))
    is_uniform = any(finding.code == "uniform-difference" for finding in differences)
    is_of_level = all(finding.numbers["number"] in (MEAN, SPREAD) for finding in numbers)
    if is_uniform:
        return differences if is_of_level else numbers
    return [*numbers, *differences]


@np.errstate(over="ignore", invalid="ignore")
def findings_of_model(
    table: StudyTable, evidence: Evidence, *, filled: DataMatrix | None = None, known: Iterable[Finding]
) -> list[Finding]:
    """Return what a model adds to the findings of the table, which are ``known``.

    ``filled`` is the table without gaps, as the model saw it.
    """
    seen = table if filled is None else replace(table, X=filled)
    found = list(column_findings(seen, evidence))
    found += used_name_findings(seen, evidence, known=_columns_of(found))
    found += dominance_findings(seen, evidence, known=_columns_of(found))
    return [*found, *findings_of_folds(table, evidence, known=[*known, *found])]


@np.errstate(over="ignore", invalid="ignore")
def findings_of_folds(table: StudyTable, evidence: Evidence, *, known: Iterable[Finding]) -> list[Finding]:
    """Return what predictions of validation folds add, unless a finding explains it already."""
    is_explained = any(finding.code in EXPLAINED_BY for finding in known)
    return [] if evidence.predicted is None or is_explained else list(number_findings(table, evidence))


def _columns_of(findings: list[Finding]) -> set[str]:
    return {name for finding in findings for name in finding.columns}
