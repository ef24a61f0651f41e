"""What a report is about: a fitted classifier, alone or behind other steps, and its training data.

A report in one call, from a fitted model and its training data: a file, or a page inside a notebook.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from minimaxrisk.app.atomic import checked_destination, write_whole
from minimaxrisk.app.report.findings import Findings
from minimaxrisk.app.report.gathering import Subject, gather_findings
from minimaxrisk.app.report.page import Provenance, render_report
from minimaxrisk.app.report.tables import check_links
from minimaxrisk.app.storage import current_versions, fingerprint

# Pixels of the frame in a notebook; the page scrolls inside.
FRAME_HEIGHT = 820


@dataclass(frozen=True)
class Report:
    """A page and its numbers; the last expression of a cell shows it in a notebook.

    Attributes
    ----------
    findings : Findings
        All numbers of the page.
    html : str
        The page.
    """

    findings: Findings = field(repr=False)
    html: str = field(repr=False)

    def save(self, path: str | Path) -> Path:
        """Write the page, whole or not at all.

        Parameters
        ----------
        path : str or Path
            Where to, such as ``"report.html"``.

        Returns
        -------
        Path
            The same as a ``Path``.
        """
        write_whole(path, self.html)
        return Path(path)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its style and scripts do not meet those of the notebook."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads allow-popups" '
            f'title="Minimax risk report" style="width: 100%; height: {FRAME_HEIGHT}px; border: 0"></iframe>'
        )


def report(
    model: Any,
    X: Any,
    y: Any,
    path: str | Path | None = None,
    *,
    source: str = "data",
    target: str | None = None,
    links: str | None = None,
    scaler: Any = None,
    feature_names: Any = None,
    sample_names: Any = None,
    **options: Any,
) -> Report:
    """The report of a fitted classifier, or of a pipeline that ends with one; needs the extra ``app``.

    Parameters
    ----------
    model : MinimaxRiskClassifier, or Pipeline that ends with one
        Fitted on ``X`` and ``y``.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Instances; a data frame is one of pandas or polars.
    y : array-like of shape (n_samples,)
        Their labels.
    path : str, Path or None, default=None
        Where to write the page; None writes nothing.
    source : str, default="data"
        What the data are called, for the title.
    target : str or None, default=None
        What is predicted, for the title; None takes the name of ``y``, if it has one.
    links : {"ncbi", "genecards"} or None, default=None
        A site that names of genes link to.
    scaler : ClippedScaler or None, default=None
        Fitted on ``X``: what clipped the columns before the model saw them, where the model is no pipeline.
    feature_names, sample_names : sequence of str or None, default=None
        Names to print; None takes those of a data frame, or numbers.
    **options
        As for ``gather_findings``: ``n_permutations``, ``n_folds``, ``has_rivals`` and so on.

    Returns
    -------
    Report
        The page and its numbers.

    See Also
    --------
    gather_findings : Computes the numbers.
    """
    # Both are asked before the work.
    check_links(links)
    if path is not None:
        checked_destination(path)
    subject = Subject.of(model, X, y, scaler=scaler, feature_names=feature_names, sample_names=sample_names)
    findings = gather_findings(
        model, X, y, scaler=scaler, feature_names=feature_names, sample_names=sample_names, **options
    )
    provenance = Provenance(
        command="report(model, X, y)",
        source=source,
        target=str(getattr(y, "name", None) or "class") if target is None else target,
        fingerprint=fingerprint(subject.seen, subject.y, np.asarray(subject.feature_names)),
        versions=current_versions(),
        links=links,
    )
    made = Report(findings, render_report(findings, provenance))
    if path is not None:
        made.save(path)
    return made
