"""``model.report(X, y)``: the page about a fitted model, for those who have the model at hand."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any


class Reported:
    """Gives a classifier the method ``report``."""

    def report(self, X: Any, y: Any, path: str | Path | None = None, **options: Any) -> Any:
        """A page about this model and the data that it was fitted on; needs the extra ``app``.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The instances that it was fitted on.
        y : array-like of shape (n_samples,)
            Their labels.
        path : str, Path or None, default=None
            Where to write the page, such as ``"report.html"``; None writes nothing.
        **options
            As for ``minimaxrisk.app.report.report_of`` and ``gather_findings``: how many permutations, folds
            and repeats, names of features and samples.

        Returns
        -------
        minimaxrisk.app.report.Report
            As the last expression of a cell it shows the page in a notebook; ``findings`` has the numbers.
        """
        # The page stands above the estimators, so it is looked up when it is asked for.
        return import_module("minimaxrisk.app.report").report_of(self, X, y, path, **options)
