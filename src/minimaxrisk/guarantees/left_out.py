r"""What left-out samples tell of a new one: which labels cannot be excluded, and how probable each is.

Every sample is scored by models that did not learn from it, its *judges*. The margin of a label is its score
less the mean of two: the best other score, and the mean of all. (In simulated studies of three and four
classes its sets are smaller than those of either alone, for four learners.) A new instance is compared with
the samples of each class y in turn, by the judges of each sample, and y has the p-value

    (1 + number of samples of class y whose margin is no larger than that of the instance) / (n_y + 1).

The labels with p-values above 1 - confidence make up the set. So a class is never excluded if it has fewer
than confidence / (1 - confidence) samples: 9 at 90%.

With folds these are cross-conformal sets [1]_, [2]_, class by class. *Theorem.* If the instance is of class
y, the set holds y with probability at least 1 - 2a - (1 - F / n_y) / (F + 1), with a = 1 - confidence and F
folds that hold equally many samples of each class; a fit must not depend on the order of its samples.
*Proof.* Let the instance come with a further fold of its own, of the same numbers of samples of all classes.
Given the labels, the folds are exchangeable, and so are the samples of class y. The argument of [2]_ (theorem
4) counts in a matrix of comparisons of pairs; it holds for the rows and columns of class y alone. With F = n
folds of one sample each the last term is not there. Members of an ensemble are judges as in [3]_; there the
theorem asks for a random number of members. Simulated sets hold y with about the probability ``confidence``.

Probabilities are those of Platt [4]_: a sigmoid of the margin is fitted for each class, and for three and
more classes they are divided by their sum.

A group of samples counts as one: each of its samples of a class has an equal share of the count [5]_.

References
----------
.. [1] V. Vovk, "Cross-conformal predictors", Annals of Mathematics and Artificial Intelligence 74, 2015.
.. [2] R. F. Barber, E. J. Candes, A. Ramdas, R. J. Tibshirani, "Predictive inference with the jackknife+",
   Annals of Statistics 49, 2021.
.. [3] B. Kim, C. Xu, R. F. Barber, "Predictive inference is free with the jackknife+-after-bootstrap",
   NeurIPS 2020.
.. [4] J. C. Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin Classifiers,
   1999.
.. [5] Y. Lee, R. F. Barber, R. Willett, "Distribution-free inference with hierarchical data", 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import expit

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk._utils.sklearn_private import fit_sigmoid

# Entries of the array of comparisons: some megabytes.
MOST_COMPARED = 1 << 20
# Margins that differ by less, relative to the largest score, are equal: sums in another order.
ROUNDING = 1e-12
# Of the sets that pages and the command line show, unless it is asked for another.
SET_CONFIDENCE = 0.9
SURE, UNSURE, UNLIKE = "sure", "unsure", "unlike all classes"


class Judge(Protocol):
    """A fitted rule, and the columns that it reads."""

    @property
    def columns(self) -> IntArray: ...

    def scores(self, X: Any) -> FloatArray:
        """Scores of every class for every row of X (K x n)."""


def margins(scores: FloatArray) -> FloatArray:
    """The score of each class less the mean of the best other and of the mean; classes are the last axis."""
    order = np.sort(scores, axis=-1)
    best, second = order[..., -1:], order[..., -2:-1]
    best_other = np.where(scores == best, second, best)
    return scores - 0.5 * (best_other + scores.mean(axis=-1, keepdims=True))


@dataclass(frozen=True)
class Calibration:
    """A sigmoid of the margin for each class; of two classes the second one's says all."""

    slopes: FloatArray
    intercepts: FloatArray

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """How probable each label is, for scores of a model (n x K)."""
        each = expit(self.slopes * margins(scores) + self.intercepts)
        if scores.shape[1] == 2:
            return np.column_stack([1.0 - each[:, 1], each[:, 1]])
        return each / each.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class LeftOutScores:
    """Scores of samples by models that did not learn from them, with the samples' own labels.

    ``weights`` are shares of units: 1 for a sample by itself, 0 for one that no model has left out.
    """

    scores: FloatArray  # n x K
    own: IntArray
    weights: FloatArray

    @property
    def _margins(self) -> FloatArray:
        return margins(np.where(self.weights[:, None] > 0.0, self.scores, 0.0))

    @property
    def sizes(self) -> FloatArray:
        """How many units of each class were left out."""
        return np.bincount(self.own, self.weights, minlength=self.scores.shape[1]).astype(np.float64)

    @property
    def _rounding(self) -> float:
        return ROUNDING * float(np.abs(self.scores[self.weights > 0.0]).max(initial=0.0))

    def p_values_among_themselves(self) -> FloatArray:
        """P-values of all labels for each sample, which is compared with the others (n x K).

        Its judge has seen the others, so that these only estimate what happens to new instances.
        """
        found, own_weights = np.ones_like(self.scores), self.weights
        for k, margin in enumerate(self._margins.T):
            rows = np.flatnonzero((self.own == k) & (self.weights > 0.0))
            is_no_larger = margin[rows][:, None] <= margin + self._rounding
            without = np.where(self.own == k, own_weights, 0.0)  # a sample is not compared with itself
            found[:, k] = (1.0 + own_weights[rows] @ is_no_larger - without) / (
                1.0 + own_weights[rows].sum() - without
            )
        return found

    def calibration(self) -> Calibration:
        """Sigmoids that fit the left-out margins."""
        used = self.weights > 0.0
        fitted = [
            fit_sigmoid(margin[used], self.own[used] == k, self.weights[used])
            for k, margin in enumerate(self._margins.T)
        ]
        return Calibration(*np.array(fitted).T)

    def counts(self, confidence: float) -> IntArray:
        """By class (rows): samples that are sure and right, sure and wrong, unsure, unlike all classes."""
        is_in = is_in_set(self.p_values_among_themselves(), confidence)
        size, rows = is_in.sum(axis=1), np.arange(len(self.own))
        kind = np.select([size > 1, size == 0, is_in[rows, self.own]], [2, 3, 0], 1)
        found = np.zeros((self.scores.shape[1], 4), dtype=np.intp)
        np.add.at(found, (self.own, kind), 1)
        return found

    def too_small(self, confidence: float) -> IntArray:
        """The classes that have too few units to be excluded."""
        return np.flatnonzero(self.sizes < needed_to_exclude(confidence))

    def calibrated(self, n_folds: int = 10) -> FloatArray:
        """How probable each label of each sample is, by sigmoids fitted to the others (n x K)."""
        place = np.empty(len(self.own), dtype=np.intp)
        place[np.argsort(self.own, kind="stable")] = np.arange(len(self.own))
        found = np.empty_like(self.scores)
        for fold in range(n_folds):
            inside = place % n_folds == fold
            others = LeftOutScores(self.scores, self.own, np.where(inside, 0.0, self.weights))
            if inside.any():
                found[inside] = others.calibration().probabilities(self.scores[inside])
        return found


@dataclass(frozen=True)
class LeftOut(LeftOutScores):
    """The same with the judges, which new instances are shown to.

    ``shares`` says how much each judge counts for each sample (n x judges): the scores of a sample are the
    mean of its judges'.
    """

    judges: Sequence[Judge]
    shares: FloatArray

    @classmethod
    def of(
        cls, judges: Sequence[Judge], shares: FloatArray, X: Any, own: IntArray, weights: FloatArray
    ) -> LeftOut:
        """The judges score their own samples; those without a judge do not count."""
        has_judge = shares.any(axis=1)
        scores = np.einsum("ib,bki->ik", shares, np.stack([judge.scores(X) for judge in judges]))
        return cls(scores, own, np.where(has_judge, weights, 0.0), judges, shares)

    def p_values(self, X: Any) -> FloatArray:
        """P-values of all labels for new instances (m x K)."""
        said = np.stack([judge.scores(X) for judge in self.judges])
        n_judges, n_classes, n_new = said.shape
        found = np.ones((n_new, n_classes))
        for k in range(n_classes):
            rows = np.flatnonzero((self.own == k) & (self.weights > 0.0))
            if not len(rows):
                continue
            of_samples = self._margins[rows, k] - self._rounding
            height = max(1, MOST_COMPARED // (len(rows) * n_classes))
            for start in range(0, n_new, height):
                part = said[:, :, start : start + height]
                mixed = (self.shares[rows] @ part.reshape(n_judges, -1)).reshape(len(rows), n_classes, -1)
                margin = margins(np.moveaxis(mixed, 1, 2))[:, :, k]
                count = self.weights[rows] @ (of_samples[:, None] <= margin)
                found[start : start + height, k] = (1.0 + count) / (1.0 + self.weights[rows].sum())
        return found


def needed_to_exclude(confidence: float) -> int:
    """How many units a class needs for the smallest p-value, 1 / (n + 1), to exclude it."""
    return int(np.ceil(confidence / (1.0 - confidence) - 1e-9))


def is_in_set(p_values: FloatArray, confidence: float) -> BoolArray:
    """Which labels are not excluded; 1 - 0.9 is a little less than a tenth."""
    return p_values > 1.0 - confidence + 1e-9


def in_words(is_in: BoolArray) -> np.ndarray:
    """For each set (n x K): one label, several, or none."""
    return np.array([UNLIKE, SURE, UNSURE], dtype=object)[np.minimum(is_in.sum(axis=1), 2)]


def weights_of_units(own: IntArray, unit: IntArray) -> FloatArray:
    """A share of its unit for each sample: those of one unit and class have one in all."""
    _, pair, sizes = np.unique(np.column_stack([unit, own]), axis=0, return_inverse=True, return_counts=True)
    return 1.0 / sizes[pair.ravel()]


def dealt_folds(own: IntArray, unit: IntArray, n_folds: int, random: Any) -> IntArray:
    """The fold of each sample: whole units, each class dealt out evenly; -1 for those that stay in all fits.

    A class that is in one fold alone is not left out, since fits without it could not score it.
    """
    first = random.permutation(np.unique(unit, return_index=True)[1])
    first = first[np.argsort(own[first], kind="stable")]
    fold_of_unit = np.empty(len(first), dtype=np.intp)
    fold_of_unit[unit[first]] = np.arange(len(first)) % n_folds
    for k in np.unique(own):
        of_class = np.unique(unit[own == k])
        if len(np.unique(fold_of_unit[of_class])) == 1:
            fold_of_unit[of_class] = -1
    found: IntArray = fold_of_unit[unit]
    return found
