"""One self-contained HTML page about a fitted model: what was learned, and what it is worth.

``gather_findings`` computes the numbers, ``render_report`` makes the page; it needs the extra ``app``.
"""

from minimaxrisk.report.findings import Findings, gather_findings
from minimaxrisk.report.page import Provenance, render_report

__all__ = ["Findings", "Provenance", "gather_findings", "render_report"]
