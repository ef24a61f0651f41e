"""Whether a model has learned the batch, such as the day or hospital of a measurement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics.cluster import contingency_matrix

from minimaxrisk._utils.arguments import check_n_folds
from minimaxrisk._utils.arrays import IntArray, columns_of
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk.analysis.cross_validation import cross_validated_error
from minimaxrisk.checks.batches import are_confounded
from minimaxrisk.checks.findings import Finding
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.guarantees.certified import LIBRARY_CLASSIFIER, Estimator, columns_used_by, fitted_for
from minimaxrisk.guarantees.fitted_problem import check_classes
from minimaxrisk.samples.columns import readable
from minimaxrisk.samples.groups import codes_of_groups, differences_within
from minimaxrisk.samples.labels import refuse_other_order
from minimaxrisk.samples.validation import check_training_data

# The batch counts as predictable if chance alone would make so few errors with at most this probability.
SIGNIFICANCE = 0.01
MOST_SHOWN = 6


@dataclass(frozen=True)
class BatchCheck:
    """Outcome of ``check_batches``; printed, it is a statement in words.

    Attributes
    ----------
    batches, classes : ndarray
        Names of the batches, and the labels.
    counts : ndarray of int of shape (n_batches, n_classes)
        Samples by batch and class.
    n_wrong : int or None
        Samples whose batch was predicted wrongly from the selected columns in cross-validation; None if that
        was not possible, for the reason in ``skipped``.
    n_wrong_by_class : int
        Errors of predicting the most common batch of the sample's class.
    skipped : str or None
        Why there was no cross-validation.
    n_independent : float or None
        How many independent samples the groups are worth; None without groups.
    """

    batches: np.ndarray
    classes: np.ndarray
    counts: IntArray
    n_wrong: int | None
    n_wrong_by_class: int
    skipped: str | None = None
    n_independent: float | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.counts.sum())

    @property
    def is_confounded(self) -> bool:
        """Whether every batch holds one class only, and two batches or more have two samples or more."""
        return are_confounded(self.counts)

    @property
    def is_predictable(self) -> bool:
        """Whether the selected columns predict the batch better than the class does.

        A binomial test at 1%, as if predictions of different samples, or groups, were independent.
        """
        if self.n_wrong is None or self.n_wrong_by_class == 0:
            return False
        n, n_wrong, share = self.n_samples, self.n_wrong, self.n_wrong_by_class / self.n_samples
        if self.n_independent is not None:
            n = int(self.n_independent)
            n_wrong = math.ceil(n * self.n_wrong / self.n_samples)
        return bool(stats.binom.cdf(n_wrong, n, share) < SIGNIFICANCE)

    @property
    def findings(self) -> list[Finding]:
        """Batches of several classes that the selected columns predict, as a data check."""
        if self.is_confounded or not self.is_predictable:
            return []
        return [
            Finding(
                "predictable-batch",
                message=self.statement,
                remedy="Correct the values for the batch, or fit without one batch and evaluate on it, batch "
                "after batch (LeaveOneGroupOut of scikit-learn).",
                numbers={"n_wrong": self.n_wrong, "n_wrong_by_class": self.n_wrong_by_class},
            )
        ]

    @property
    def statement(self) -> str:
        """The outcome in words."""
        shown = [
            f"{batch}: " + ", ".join(f"{label} {n}" for label, n in zip(self.classes, row, strict=True))
            for batch, row in zip(self.batches[:MOST_SHOWN], self.counts, strict=False)
        ]
        more = f"; and {len(self.batches) - MOST_SHOWN} more" if len(self.batches) > MOST_SHOWN else ""
        text = f"{len(self.batches)} batches ({'; '.join(shown)}{more})."
        if self.is_confounded:
            text += " Each batch holds one class only, so batches and classes cannot be separated."
        if self.n_wrong is None:
            return f"{text} Whether the selected columns predict the batch was not tested: {self.skipped}."
        predict = "predict" if self.is_predictable else "do not predict"
        return (
            f"{text} The selected columns {predict} the batch better than the class does: {self.n_wrong} of "
            f"{self.n_samples} batches are wrong in cross-validation, {self.n_wrong_by_class} if predicted "
            "from the class."
        )

    def __str__(self) -> str:
        return self.statement


def check_batches(
    model: Estimator,
    X: Any,
    y: Any,
    batch: Any,
    *,
    groups: Any = None,
    n_folds: int = 5,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> BatchCheck:
    """Describe batches, and test whether the columns that a model selected predict them.

    The batch is predicted in cross-validation. Its errors are compared with those of predicting the most
    common batch of the sample's class, which is what the class alone tells about the batch.

    Parameters
    ----------
    model : estimator
        A fitted classifier of this library, alone, at the end of a pipeline, or in a search.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The instances that it was fitted on.
    y, batch : array-like of shape (n_samples,)
        Their labels, and the batch of each.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples of one group, such as the measurements of a patient, are not independent: the test counts as
        many samples as the groups are worth. They stay in one fold if every group lies in one batch.
    n_folds : int, default=5
        Folds of the cross-validation.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds.
    n_jobs : int or None, default=None
        Processes among which the folds are shared, as in joblib.

    Returns
    -------
    BatchCheck
        Counts by batch and class, errors at predicting the batch, and both in words.

    See Also
    --------
    permutation_test : With the batches as ``strata``, labels are exchanged within batches only.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskClassifier, check_batches
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(60, 100, n_informative=10, effect=1.5, random_state=0)
    >>> model = MinimaxRiskClassifier().fit(study.data, study.target)
    >>> day = ["Monday", "Tuesday"] * 30
    >>> check_batches(model, study.data, study.target, day).is_predictable
    False
    """
    check_n_folds(n_folds)
    fitted, before = fitted_for(model, "check_batches", LIBRARY_CLASSIFIER)
    X = readable(X)
    refuse_other_order(X, y, batch=batch, groups=groups)
    data = check_training_data(fitted, X if before is None else before.transform(X), y, reset=False)
    check_classes(fitted, data.classes)
    codes = codes_of_groups(batch, len(data.labels), argument="batch")
    names = np.asarray(batch)[np.unique(codes, return_index=True)[1]].astype(str)
    if len(names) < 2:
        raise ValueError(f"batch must name at least 2 batches, got only {names[0]!r}.")
    counts = np.asarray(contingency_matrix(codes, data.labels))
    kept = n_independent = None
    if groups is not None:
        unit = codes_of_groups(groups, len(codes))
        n_independent = float(len(codes) ** 2 / np.sum(np.bincount(unit) ** 2))
        kept = None if len(differences_within(unit, codes)) else unit
    used = columns_used_by(fitted)
    skipped = _reason_to_skip(used, codes, kept)
    n_wrong = None
    if skipped is None:
        columns = columns_of(data.X, used)
        with quiet_fits():
            of_batch = MinimaxRiskClassifier().fit(columns, codes)
        n_wrong = cross_validated_error(
            of_batch, columns, codes, n_folds=n_folds, groups=kept, random_state=random_state, n_jobs=n_jobs
        ).n_wrong
    return BatchCheck(
        batches=names,
        classes=data.classes,
        counts=counts,
        n_wrong=n_wrong,
        n_wrong_by_class=len(codes) - int(counts.max(axis=0).sum()),
        skipped=skipped,
        n_independent=n_independent,
    )


def _reason_to_skip(used: IntArray, codes: IntArray, groups: IntArray | None) -> str | None:
    if not len(used):
        return "the model selected no columns"
    unit = np.arange(len(codes)) if groups is None else groups
    if np.bincount(codes[np.unique(unit, return_index=True)[1]]).min() < 2:
        kind = "sample" if groups is None else "group of samples"
        return f"a batch has a single {kind}, which cannot be used both to train and to test"
    return None
