r"""The calibrated decision: the class with the largest probability, from decision scores.

With scores :math:`s_k` of the classes the probability of class k is proportional to
:math:`\exp(a s_k + b_k)`: all classes share the slope :math:`a \ge 0`, and each has its own offset. Slope and
offsets maximise the penalised likelihood of cross-validated samples, a convex problem. A ridge penalty
shrinks the offsets. Two classes are the case K = 2, Platt's sigmoid [1]_.

A few wild scores would decide the slope. So a score counts at most ``limit`` below the largest one of its
sample. In nine of ten samples the best class leads the second one by less than the limit.

Separable scores would make the slope infinite. As in [1]_ the likelihood is therefore that of smoothed
labels: a sample of a class with n samples counts for its class with :math:`(n + 1) / (n + 2)`, and for the
other classes with equal shares of the rest. Scores that point the wrong way have the slope 0, and the
probabilities are then about the shares of the classes.

References
----------
.. [1] J. C. Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin Classifiers,
   1999.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from minimaxrisk._utils.arrays import FloatArray, IntArray

RIDGE = 1.0  # on the offsets
WITHIN_LIMIT = 0.9  # share of the samples whose lead is below the limit
DIGITS = 6  # of slope and offsets, so that rounding in another order of the samples does not show


@dataclass(frozen=True)
class CalibratedDecision:
    """Probabilities of the classes from decision scores, and the class with the largest one.

    Attributes
    ----------
    slope : float
        What the scores are multiplied by, the same for all classes.
    offsets : ndarray of shape (n_classes,)
        What is added for each class.
    limit : float
        How far below the largest score of a sample another one counts at most.
    """

    slope: float
    offsets: FloatArray
    limit: float

    @classmethod
    def fit(cls, scores: FloatArray, labels: IntArray, weights: FloatArray | None = None) -> Self:
        """Fit slope and offsets to scores of samples that the scoring models did not learn from.

        Parameters
        ----------
        scores : ndarray of shape (n_samples, n_classes)
            Decision scores.
        labels : ndarray of shape (n_samples,)
            The position of each sample's class.
        weights : ndarray of shape (n_samples,) or None, default=None
            How much each sample counts: of a group with several samples its share, 0 for a sample that does
            not count. None counts all samples alike.

        Returns
        -------
        CalibratedDecision
            The fitted decision.
        """
        weights = np.ones(len(labels)) if weights is None else weights
        used = weights > 0.0
        scores, labels, weights = scores[used], labels[used], weights[used, None]
        limit = _limit_of(scores)
        scores = _limited(scores, limit)
        unit = float(np.sqrt(np.mean(scores**2))) if scores.size else 0.0
        scaled = scores / unit if unit else scores
        targets = weights * _smoothed(labels, weights[:, 0], scores.shape[1])

        def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
            logarithms = log_softmax(parameters[0] * scaled + parameters[1:], axis=1)
            residuals = weights * np.exp(logarithms) - targets
            value = 0.5 * RIDGE * np.sum(parameters[1:] ** 2) - np.sum(targets * logarithms)
            gradient = [np.sum(residuals * scaled), *residuals.sum(axis=0) + RIDGE * parameters[1:]]
            return float(value), np.array(gradient)

        n_classes = scores.shape[1]
        found = minimize(
            loss,
            np.array([1.0, *np.zeros(n_classes)]),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None), *[(None, None)] * n_classes],
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000},
        ).x
        slope = float(f"{found[0] / unit:.{DIGITS}g}") if unit else 0.0
        return cls(slope, np.round(found[1:], DIGITS), limit)

    def logits(self, scores: FloatArray) -> FloatArray:
        """Logarithms of the probabilities, up to a constant for each sample (n x K)."""
        return np.asarray(self.slope * _limited(scores, self.limit) + self.offsets)

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """The calibrated probability of each class, for scores of new samples (n x K)."""
        return np.asarray(softmax(self.logits(scores), axis=1))

    def predict(self, scores: FloatArray) -> IntArray:
        """The position of the class with the largest probability; the first one in a tie."""
        return np.argmax(self.probabilities(scores), axis=1)


def _limit_of(scores: FloatArray) -> float:
    """The limit for these scores; 0 if no class leads in any sample."""
    ordered = np.sort(scores, axis=1)
    leads = ordered[:, -1] - ordered[:, -2]
    leads = leads[leads > 0.0]
    return float(f"{np.quantile(leads, WITHIN_LIMIT):.{DIGITS}g}") if len(leads) else 0.0


def _limited(scores: FloatArray, limit: float) -> FloatArray:
    """Scores less the largest one of the sample, none below the limit."""
    return np.maximum(scores - scores.max(axis=1, keepdims=True), -limit)


def _smoothed(labels: IntArray, weights: FloatArray, n_classes: int) -> FloatArray:
    """How much each sample counts for each class (n x K)."""
    sizes = np.bincount(labels, weights, minlength=n_classes)
    rest = 1.0 / (sizes[labels] + 2.0)
    found = np.repeat(rest[:, None] / (n_classes - 1), n_classes, axis=1)
    found[np.arange(len(labels)), labels] = 1.0 - rest
    return found
