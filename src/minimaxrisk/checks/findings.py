"""Findings of data checks: a code, a severity, numbers, and sentences about them.

A *veto* is certain from the values and replaces the verdict. A *condition* could explain the whole result,
so the verdict names it; the user may answer it with the code. A *note* could not explain the result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

VETO, CONDITION, NOTE = "veto", "condition", "note"
# The codes by severity, the most serious ones first. With more than two classes, ``sample-number`` and
# ``uniform-difference`` are notes.
CODES = {
    VETO: ("batch-is-class", "label-copy", "scale-by-class", "interpolated-samples", "class-spelling"),
    CONDITION: (
        "near-label-copy",
        "running-number",
        "suspicious-name",
        "scale-mismatch",
        "uniform-difference",
        "sample-number",
        "order-drift",
        "filled-by-class",
        "dominant-feature",
        "unlikely-class",
        "summary-samples",
        "repeated-sources",
        "duplicate-labels",
        "near-duplicates",
        "training-samples",
    ),
    NOTE: (
        "duplicates",
        "predictable-batch",
        "many-differences",
        "source-names",
        "clinical-name",
        "empty-samples",
        "constant-samples",
        "missing-code",
        "raw-counts",
        "raw-intensities",
        "numeric-labels",
        "date-names",
    ),
}
SEVERITY_OF = {code: severity for severity, codes in CODES.items() for code in codes}
_RANKS = {code: rank for rank, code in enumerate(SEVERITY_OF)}


@dataclass(frozen=True)
class Finding:
    """Something about the data that limits what a result means.

    Printed, a finding states what was found and what to do.

    Attributes
    ----------
    code : str
        What was found, such as ``"duplicates"``; ``minimaxrisk.checks.CODES`` lists all codes.
    message, remedy : str
        What was found and why it matters, and what to do.
    claim : str
        The finding of a veto in a few words, or what must hold for a condition not to matter.
    severity : {"veto", "condition", "note"}
        Whether the finding replaces the verdict, qualifies it, or leaves it as it is.
    columns, samples : tuple of str
        The names of the columns and samples that are concerned.
    rows : tuple of int
        The positions of these samples.
    numbers : mapping of str to number or str
        The numbers of the finding, by name.
    is_accepted : bool
        Whether the user has answered the condition.
    """

    code: str
    message: str
    remedy: str
    claim: str = ""
    severity: str = ""
    columns: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    is_accepted: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "severity", self.severity or SEVERITY_OF[self.code])

    def __str__(self) -> str:
        return f"{self.message} {'Accepted by the user.' if self.is_accepted else self.remedy}"

    def as_dict(self) -> dict[str, Any]:
        """Return the finding for JSON.

        Returns
        -------
        dict
            With ``code``, ``severity``, ``message``, ``accepted``, ``columns``, ``samples`` and ``numbers``.
        """
        return {
            "code": self.code,
            "severity": self.severity,
            "message": str(self),
            "accepted": self.is_accepted,
            "columns": list(self.columns),
            "samples": list(self.samples),
            "numbers": dict(self.numbers),
        }


def with_answers(findings: Iterable[Finding], codes: Collection[str]) -> list[Finding]:
    """Mark the conditions that the user has answered."""
    return [
        replace(finding, is_accepted=finding.severity == CONDITION and finding.code in codes)
        for finding in findings
    ]


def vetoes(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that replace the verdict."""
    return [finding for finding in findings if finding.severity == VETO]


def open_conditions(findings: Iterable[Finding]) -> list[Finding]:
    """Return the conditions that nobody has answered, the most serious one first."""
    found = [one for one in findings if one.severity == CONDITION and not one.is_accepted]
    return sorted(found, key=lambda one: _RANKS[one.code])


def veto_text(findings: Iterable[Finding]) -> str:
    """Return the sentence that replaces a verdict, or an empty text without a veto."""
    claims = dict.fromkeys(finding.claim for finding in vetoes(findings))
    return f"Do not use this result yet: {'; '.join(claims)}." if claims else ""
