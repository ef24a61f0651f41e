"""One self-contained HTML page about a fitted model: what was learned, and what it is worth.

``report`` makes it from the model and its training data. It needs the extra ``app``.
"""

from minimaxrisk.app.report.findings import Findings
from minimaxrisk.app.report.page import Report, report

__all__ = ["Findings", "Report", "report"]
