r"""The calibrated decision: the class with the largest probability, from decision scores.

With scores :math:`s_{mk}` of class k by each of several models m, the probability of class k is proportional
to :math:`\exp(\sum_m a_m s_{mk} + b_k)`: all classes share the slopes :math:`a_m \ge 0`, and each has its own
offset. Slopes and offsets maximise the penalised likelihood of cross-validated samples, a convex problem. A
ridge penalty shrinks the offsets. One model and two classes are Platt's sigmoid [1]_.

A few wild scores would decide the slopes. So a score counts at most ``limit`` below the largest one of its
sample. In nine of ten samples the best class leads the second one by less than the limit.

Separable scores would make the slopes infinite. As in [1]_ the likelihood is therefore that of smoothed
labels: a sample of a class with n samples counts for its class with :math:`(n + 1) / (n + 2)`, and for the
other classes with equal shares of the rest. Scores that point the wrong way have the slope 0. If all have,
the probabilities are about the shares of the classes.

References
----------
.. [1] J. C. Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin Classifiers,
   1999.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.stored_tables import some_rows_at_a_time

RIDGE = 1.0  # on the offsets
WITHIN_LIMIT = 0.9  # share of the samples whose lead is below the limit
DIGITS = 6  # of slopes and offsets, so that rounding in another order of the samples does not show


@dataclass(frozen=True)
class CalibratedDecision:
    """Probabilities of the classes from decision scores, and the class with the largest one.

    Scores of one model are a table of shape (n_samples, n_classes), those of several models a stack of such
    tables.

    Attributes
    ----------
    slopes : ndarray of shape (n_models,)
        What the scores of each model are multiplied by, the same for all classes.
    offsets : ndarray of shape (n_classes,)
        What is added for each class.
    limits : ndarray of shape (n_models,)
        How far below the largest score of a sample another one counts at most.
    """

    slopes: FloatArray
    offsets: FloatArray
    limits: FloatArray

    @classmethod
    def identity(cls, n_classes: int, n_models: int = 1) -> Self:
        """Return the decision that takes the mean of the scores as logarithms of probabilities."""
        slopes = np.full(n_models, 1.0 / n_models)
        return cls(slopes, np.zeros(n_classes), np.full(n_models, np.finfo(np.float64).max))

    @classmethod
    def fit(cls, scores: FloatArray, labels: IntArray, weights: FloatArray | None = None) -> Self:
        """Fit slopes and offsets to scores of samples that the scoring models did not learn from.

        Parameters
        ----------
        scores : ndarray of shape ([n_models,] n_samples, n_classes)
            Decision scores.
        labels : ndarray of shape (n_samples,)
            The position of each sample's class.
        weights : ndarray of shape (n_samples,) or None, default=None
            How much each sample counts: of a group with several samples its share, 0 for a sample that does
            not count. None counts all samples alike.

        Returns
        -------
        CalibratedDecision
            The fitted decision; ``identity`` if no sample counts.
        """
        weights = np.ones(len(labels)) if weights is None else weights
        used = weights > 0.0
        scores, labels, weights = _stacked(scores)[:, used], labels[used], weights[used, None]
        n_models, n_samples, n_classes = scores.shape
        if not n_samples:
            return cls.identity(n_classes, n_models)
        limits = np.array([_limit_of(table, weights[:, 0]) for table in scores])
        scores = _limited(scores, limits)
        units = np.sqrt(np.mean(np.average(scores**2, axis=1, weights=weights[:, 0]), axis=1))
        units[units == 0.0] = np.inf  # the slope of scores that do not differ is 0
        scaled = scores / units[:, None, None]
        targets = weights * _smoothed(labels, weights[:, 0], n_classes)

        def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
            slopes, offsets = np.split(parameters, [n_models])
            logarithms = log_softmax(np.tensordot(slopes, scaled, 1) + offsets, axis=1)
            residuals = weights * np.exp(logarithms) - targets
            value = 0.5 * RIDGE * np.sum(offsets**2) - np.sum(targets * logarithms)
            gradient = [np.tensordot(scaled, residuals, 2), residuals.sum(axis=0) + RIDGE * offsets]
            return float(value), np.concatenate(gradient)

        found = minimize(
            loss,
            np.concatenate([np.full(n_models, 1.0 / n_models), np.zeros(n_classes)]),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * n_models + [(None, None)] * n_classes,
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000},
        ).x
        slopes, offsets = np.split(found, [n_models])
        return cls(_with_digits(slopes / units), np.round(offsets, DIGITS), limits)

    def logits(self, scores: FloatArray) -> FloatArray:
        """Logarithms of the probabilities, up to a constant for each sample (n x K)."""
        return np.asarray(
            np.tensordot(self.slopes, _limited(_stacked(scores), self.limits), 1) + self.offsets
        )

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """The calibrated probability of each class, for scores of new samples (n x K)."""
        return np.asarray(softmax(self.logits(scores), axis=1))

    def predict(self, scores: FloatArray) -> IntArray:
        """The position of the class with the largest probability; the first one in a tie."""
        return np.argmax(self.probabilities(scores), axis=1)


def cross_fitted_logits(
    scores: FloatArray, labels: IntArray, weights: FloatArray, fold: IntArray
) -> FloatArray:
    """Return calibrated scores of each sample by the decision that is fitted to the other folds (n x K)."""
    scores = _stacked(scores)
    found = np.empty(scores.shape[1:])
    for name in np.unique(fold):
        inside = fold == name
        decision = CalibratedDecision.fit(scores, labels, np.where(inside, 0.0, weights))
        found[inside] = decision.logits(scores[:, inside])
    return found


class ScoringRule(Protocol):
    """What scores the classes of new samples."""

    @property
    def columns(self) -> IntArray: ...
    def restricted_to(self, columns: IntArray) -> Self: ...
    def scores(self, X: DataMatrix) -> FloatArray: ...


@dataclass(frozen=True)
class CalibratedRule:
    """The calibrated decision on scores of fitted rules, by which a calibrated estimator predicts."""

    rules: Sequence[ScoringRule]
    decision: CalibratedDecision

    @property
    def columns(self) -> IntArray:
        """The columns that any rule uses."""
        return np.unique(np.concatenate([rule.columns for rule in self.rules]))

    def restricted_to(self, columns: IntArray) -> CalibratedRule:
        """The same rule for a matrix that has these ascending columns alone."""
        return replace(self, rules=[rule.restricted_to(columns) for rule in self.rules])

    def scores(self, X: DataMatrix) -> FloatArray:
        """Calibrated scores of every class for every row of X (K x n)."""
        parts = [
            self.decision.logits(np.stack([rule.scores(rows).T for rule in self.rules]))
            for _, rows in some_rows_at_a_time(X, len(self.columns))
        ]
        return np.concatenate(parts).T

    def probabilities(self, X: DataMatrix) -> FloatArray:
        """Calibrated probabilities of every class for every row of X (K x n)."""
        return np.asarray(softmax(self.scores(X), axis=0))


def _stacked(scores: FloatArray) -> FloatArray:
    return scores[None] if scores.ndim == 2 else scores


def _limit_of(scores: FloatArray, weights: FloatArray) -> float:
    """The limit for these scores; 0 if no class leads in any sample."""
    ordered = np.sort(scores, axis=1)
    leads = ordered[:, -1] - ordered[:, -2]
    leading = np.flatnonzero(leads > 0.0)
    if not len(leading):
        return 0.0
    leading = leading[np.argsort(leads[leading])]
    shares = np.cumsum(weights[leading])
    place = np.searchsorted(shares, WITHIN_LIMIT * shares[-1] * (1.0 - 1e-12))
    return float(_with_digits(leads[leading[place]]))


def _with_digits(values: FloatArray) -> FloatArray:
    """Return numbers with the first ``DIGITS`` digits that are not zero."""
    return np.vectorize(lambda value: float(f"{value:.{DIGITS}g}"), otypes=[np.float64])(values)


def _limited(scores: FloatArray, limits: FloatArray) -> FloatArray:
    """Scores less the largest one of the sample, none below the limit of the model."""
    return np.maximum(scores - scores.max(axis=2, keepdims=True), -limits[:, None, None])


def _smoothed(labels: IntArray, weights: FloatArray, n_classes: int) -> FloatArray:
    """How much each sample counts for each class (n x K)."""
    sizes = np.bincount(labels, weights, minlength=n_classes)
    rest = 1.0 / (sizes[labels] + 2.0)
    found = np.repeat(rest[:, None] / (n_classes - 1), n_classes, axis=1)
    found[np.arange(len(labels)), labels] = 1.0 - rest
    return found
