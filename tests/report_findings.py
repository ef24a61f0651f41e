"""The numbers of a report without its page."""

from __future__ import annotations

from minimaxrisk.app.report.gathering import Subject, Wanted, findings_of

ABOUT = ("scaler", "groups", "strata", "feature_names", "sample_names")


def gather_findings(model, X, y, **options):
    about = {name: options.pop(name) for name in ABOUT if name in options}
    return findings_of(Subject.of(model, X, y, **about), Wanted(**options))
