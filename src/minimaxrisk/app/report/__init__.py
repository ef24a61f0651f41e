"""One self-contained HTML page about a fitted model: what was learned, and what it is worth.

``report`` does it all; ``gather_findings`` computes the numbers, ``render_report`` makes the page of them. It
needs the extra ``app``.
"""

from minimaxrisk.app.report.findings import Findings
from minimaxrisk.app.report.gathering import gather_findings
from minimaxrisk.app.report.page import Provenance, Report, render_report, report

__all__ = ["Findings", "Provenance", "Report", "gather_findings", "render_report", "report"]
