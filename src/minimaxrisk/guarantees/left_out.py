r"""What cross-validated samples tell of a new one: its class, how probable it is, and which are possible.

Every sample is scored by models that did not learn from it. These scores fit the ``CalibratedDecision``. The
*margin* of a class is its calibrated score less the largest one of the other classes, so that the predicted
class has the only margin that is not negative. A new sample, scored by the model of all samples, has for each
class y the p-value

    (1 + number of samples of class y whose own margin is no larger than that of the new one) / (n_y + 1).

The classes with p-values above 1 - confidence make up its prediction set. A set that would hold other classes
but not the predicted one holds this one too, so that a set of one class is the predicted class. Sets only
grow by that. A class is never excluded if it has fewer than confidence / (1 - confidence) samples: 9 at 90%.

The sets are those of split conformal prediction [1]_ class by class, with cross-validated samples in place of
a separate calibration set. Models that learned from a part of the samples are a little worse than the model
of all, so that the margins of cross-validated samples are a little smaller than those of new samples. No
theorem says that the true class is in the set with the probability ``confidence``; simulations do.

Margins are rounded down to multiples of a step, and count as spread evenly over it. That costs little, and a
``Calibration`` can be stored without the values of single samples (``hiding_step``).

A group of samples counts as one: each of its samples of a class has an equal share of the count [2]_.

References
----------
.. [1] V. Vovk, "Conditional validity of inductive conformal predictors", Machine Learning 92, 2013.
.. [2] Y. Lee, R. F. Barber, R. Willett, "Distribution-free inference with hierarchical data", 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.special import softmax

from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray, IntArray
from minimaxrisk.guarantees.calibrated_decision import CalibratedDecision, cross_fitted_logits

# Of the sets that pages and the command line show, unless it is asked for another.
SET_CONFIDENCE = 0.9
SURE, UNSURE, UNLIKE = "sure", "unsure", "unlike all classes"
# Steps of rounding, in standard deviations of the largest difference between two classes: the smallest one,
# and the one where a margin is a function of a single feature.
FINEST, COARSEST = 0.25, 1.25


def margins(logits: FloatArray) -> FloatArray:
    """The score of each class less the largest of the others; classes are the last axis."""
    order = np.sort(logits, axis=-1)
    best, second = order[..., -1:], order[..., -2:-1]
    return logits - np.where(logits == best, second, best)


@dataclass(frozen=True)
class Calibration(CalibratedDecision):
    """The calibrated decision with the margins of cross-validated samples, which give prediction sets.

    The samples are sorted by class and margin, so that nothing tells which one is which.

    Attributes
    ----------
    slopes, offsets, limits : ndarray of shape (1,), (n_classes,), (1,)
        The decision.
    own : ndarray of shape (n_samples,)
        The position of each sample's class.
    own_margins : ndarray of shape (n_samples,)
        The margin of its class, rounded down to a multiple of ``step``.
    weights : ndarray of shape (n_samples,)
        The share of the sample in its group; 1 without groups.
    step : float
        What margins are rounded to; 0 if no margin differs from another.
    """

    own: IntArray
    own_margins: FloatArray
    weights: FloatArray
    step: float

    @property
    def sizes(self) -> FloatArray:
        """How many samples, or groups of them, each class has."""
        return np.bincount(self.own, self.weights, minlength=len(self.offsets)).astype(np.float64)

    def too_small(self, confidence: float) -> IntArray:
        """The classes that have too few samples to be excluded."""
        return np.flatnonzero(self.sizes < needed_to_exclude(confidence))

    def counts(self, new_margins: FloatArray) -> FloatArray:
        """How many samples of each class have a margin no larger than that of each new sample (m x K)."""
        found = np.tile(self.sizes, (len(new_margins), 1))
        if not self.step:
            return found
        for k in range(len(self.offsets)):
            low, place = np.unique(self.own_margins[self.own == k], return_inverse=True)
            if not len(low):
                continue
            weights = np.bincount(place, self.weights[self.own == k])
            knots = np.unique(np.concatenate([low, low + self.step]))
            inside = np.clip((knots[:, None] - low) / self.step, 0.0, 1.0)
            found[:, k] = np.interp(new_margins[:, k], knots, inside @ weights)
        return found

    def p_values(self, scores: FloatArray) -> FloatArray:
        """P-values of all classes for new samples (m x K)."""
        return (1.0 + self.counts(margins(self.logits(scores)))) / (1.0 + self.sizes)

    def sets(self, scores: FloatArray, confidence: float) -> BoolArray:
        """Which classes are possible for each new sample (m x K)."""
        return with_predicted(is_in_set(self.p_values(scores), confidence), self.predict(scores))


@dataclass(frozen=True)
class LeftOutScores:
    """Scores of samples by models that did not learn from them, with the samples' own classes.

    ``weights`` are shares of groups: 1 for a sample by itself, 0 for one that no model has left out. ``fold``
    says which samples are left out together when the decision for them is fitted to the others. Scores that
    are calibrated already are logarithms of probabilities.
    """

    scores: FloatArray  # n x K
    own: IntArray
    weights: FloatArray
    fold: IntArray
    is_calibrated: bool = False

    @cached_property
    def decision(self) -> CalibratedDecision:
        """Fitted to all samples; that of new samples."""
        if self.is_calibrated:
            return CalibratedDecision.identity(self.scores.shape[1])
        return CalibratedDecision.fit(self.scores, self.own, self.weights)

    @cached_property
    def logits(self) -> FloatArray:
        """Calibrated scores of each sample by the decision that is fitted to the other folds (n x K)."""
        if self.is_calibrated:
            return self.decision.logits(self.scores)
        return cross_fitted_logits(self.scores, self.own, self.weights, self.fold)

    @property
    def probabilities(self) -> FloatArray:
        """The calibrated probability of each class, by the decision that is fitted to the other folds."""
        return np.asarray(softmax(self.logits, axis=1))

    @property
    def predicted(self) -> IntArray:
        """The class with the largest probability."""
        return np.argmax(self.probabilities, axis=1)

    def calibration(self, X: DataMatrix | None = None) -> Calibration:
        """Prepare the decision and the prediction sets of new samples.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features) or None, default=None
            The values that rounded margins must not give away; None rounds as finely as possible.
        """
        used = np.flatnonzero(self.weights > 0.0)
        own, weights, logits = self.own[used], self.weights[used], self.decision.logits(self.scores[used])
        step = hiding_step(logits, None if X is None else X[used]) if self.decision.slopes.any() else 0.0
        margin = margins(logits)[np.arange(len(used)), own]
        rounded = np.floor(margin / step) * step if step else np.zeros(len(used))
        order = np.lexsort((weights, rounded, own))
        return Calibration(
            **vars(self.decision),
            own=own[order],
            own_margins=rounded[order],
            weights=weights[order],
            step=step,
        )

    def sets(self, confidence: float) -> BoolArray:
        """Which classes are possible for each sample, which is compared with the others (n x K).

        The model that scores it has seen the others, so that these sets only estimate those of new samples.
        """
        calibration, rows = self.calibration(), np.arange(len(self.own))
        margin = margins(self.decision.logits(self.scores))
        counts, sizes = calibration.counts(margin), np.tile(calibration.sizes, (len(rows), 1))
        if calibration.step:  # a sample counts for itself by the part of its step below its margin
            of_own = margin[rows, self.own] / calibration.step
            counts[rows, self.own] -= self.weights * (of_own - np.floor(of_own))
        else:
            counts[rows, self.own] -= self.weights
        sizes[rows, self.own] -= self.weights
        return with_predicted(is_in_set((1.0 + counts) / (1.0 + sizes), confidence), self.predicted)

    def counts(self, confidence: float) -> IntArray:
        """By class (rows): samples that are sure and right, sure and wrong, unsure, unlike all classes.

        Samples that no model has left out are not counted.
        """
        is_in = self.sets(confidence)
        size, rows = is_in.sum(axis=1), np.arange(len(self.own))
        kind = np.select([size > 1, size == 0, is_in[rows, self.own]], [2, 3, 0], 1)
        found, is_judged = np.zeros((self.scores.shape[1], 4), dtype=np.intp), self.weights > 0.0
        np.add.at(found, (self.own[is_judged], kind[is_judged]), 1)
        return found


def hiding_step(logits: FloatArray, X: DataMatrix | None) -> float:
    """The step of rounding after which no margin gives a value of X away.

    A margin is the difference of two calibrated scores. Among all pairs of classes let r be the largest
    correlation of such a difference with a feature. After rounding, the best estimate of that feature errs by
    at least COARSEST / sqrt(12) = 0.36 of its standard deviation.
    """
    pairs = combinations(range(logits.shape[1]), 2)
    differences = np.column_stack([logits[:, a] - logits[:, b] for a, b in pairs])
    spread = float(differences.std(axis=0).max())
    if X is None or not spread:
        return FINEST * spread
    explained = _largest_correlation(X, differences) ** 2
    square = (COARSEST**2 - 12.0 * (1.0 - explained)) / max(explained, 1e-9)
    return spread * max(FINEST, float(np.sqrt(max(0.0, square))))


def _largest_correlation(X: DataMatrix, differences: FloatArray) -> float:
    """Of any column of X with any of the differences."""
    centred = differences - differences.mean(axis=0)
    centred /= np.maximum(np.sqrt((centred**2).sum(axis=0)), 1e-300)
    if sparse.issparse(X):
        table = sparse.csc_array(X)
        squares = (
            np.asarray(table.multiply(table).sum(axis=0)).ravel()
            - len(centred) * np.asarray(table.mean(axis=0)).ravel() ** 2
        )
        products = np.asarray(table.T @ centred)
    else:
        table = np.asarray(X, dtype=np.float64)
        table = table - table.mean(axis=0)
        squares, products = (table**2).sum(axis=0), table.T @ centred
    varies = squares > 0.0
    if not varies.any():
        return 0.0
    return min(1.0, float((np.abs(products[varies]) / np.sqrt(squares[varies])[:, None]).max()))


def needed_to_exclude(confidence: float) -> int:
    """How many samples a class needs for the smallest p-value, 1 / (n + 1), to exclude it."""
    return int(np.ceil(confidence / (1.0 - confidence) - 1e-9))


def is_in_set(p_values: FloatArray, confidence: float) -> BoolArray:
    """Which classes are not excluded; 1 - 0.9 is a little less than a tenth."""
    return p_values > 1.0 - confidence + 1e-9


def with_predicted(is_in: BoolArray, predicted: IntArray) -> BoolArray:
    """The sets (n x K), with the predicted class in each that holds any."""
    found = is_in.copy()
    found[np.arange(len(found)), predicted] |= is_in.any(axis=1)
    return found


def in_words(is_in: BoolArray) -> np.ndarray:
    """For each set (n x K): one class, several, or none."""
    return np.array([UNLIKE, SURE, UNSURE], dtype=object)[np.minimum(is_in.sum(axis=1), 2)]


def weights_of_units(own: IntArray, unit: IntArray) -> FloatArray:
    """A share of its unit for each sample: those of one unit and class have one in all."""
    _, pair, sizes = np.unique(np.column_stack([unit, own]), axis=0, return_inverse=True, return_counts=True)
    return 1.0 / sizes[pair.ravel()]
