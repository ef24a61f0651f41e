"""From scores to decisions: the threshold phi, the randomized rule h(y|x), and rules on the caller's columns.

Scores have one row per class and one column per instance (K x n).

``LinearRule`` has coefficients in scikit-learn's orientation. The signed coding gives class 0 the plus sign;
scikit-learn wants positive decisions to mean class 1. So one row of coefficients is minus mu, and one row per
class is mu itself.

``AverageRule`` lets one of several randomized rules decide, with given probabilities. Its expected loss is
linear in each of the rules, so that its largest over any set of distributions is at most the average of
theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray, IntArray, columns_of
from minimaxrisk._utils.stored_tables import product_with_columns, some_rows_at_a_time
from minimaxrisk.matrices.moments import Coding
from minimaxrisk.matrices.scale import ColumnScale
from minimaxrisk.problem.kernel import KernelFunction, KernelSpace

if TYPE_CHECKING:
    from minimaxrisk.problem.problem import Box  # it imports the formulas of this module


def threshold(scores: FloatArray) -> float:
    """phi(mu): the smallest phi with ``sum_y (s_y(x) - phi)_+ <= 1`` for every instance."""
    return float(instance_thresholds(scores).max())


def instance_thresholds(scores: FloatArray) -> FloatArray:
    """phi_x for each instance, with ``sum_y (s_y(x) - phi_x)_+ = 1``.

    The paper maximises ``(sum_{y in C} s_y - 1)/|C|`` over all label subsets C. For a given size the
    best subset holds the largest scores, so sorting replaces the 2^K - 1 subsets.
    """
    if len(scores) == 2:  # in a third of the time
        first, second = scores
        return np.maximum(np.maximum(first, second) - 1.0, 0.5 * (first + second - 1.0))
    descending = -np.sort(-scores, axis=0)
    sizes = np.arange(1, scores.shape[0] + 1)[:, None]
    best: FloatArray = np.max((np.cumsum(descending, axis=0) - 1.0) / sizes, axis=0)
    return best


def best_sets(scores: FloatArray) -> tuple[FloatArray, BoolArray]:
    """phi_x for each instance (n), and the labels of a subset that attains it (K x n)."""
    order = np.argsort(-scores, axis=0, kind="stable")
    descending = np.take_along_axis(scores, order, axis=0)
    sizes = np.arange(1, len(scores) + 1)[:, None]
    phi_of_size = (np.cumsum(descending, axis=0) - 1.0) / sizes
    best = np.argmax(phi_of_size, axis=0)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(sizes - 1, order.shape), axis=0)
    return phi_of_size[best, np.arange(scores.shape[1])], rank <= best


def total_excess(scores: FloatArray, phi: float) -> FloatArray:
    """d_x = sum_y (s_y(x) - phi)_+ for each instance; at most one where the bound's proof holds."""
    return np.maximum(scores - phi, 0.0).sum(axis=0)


def probabilities(scores: FloatArray, phi: float | None) -> FloatArray:
    """h(y|x) = (s_y - phi)_+ / d_x with d_x the sum over y, and 1/K where d_x is zero (K x n).

    Where phi is None every instance has its own, at which d_x is one.
    """
    excess = np.maximum(scores - (instance_thresholds(scores) if phi is None else phi), 0.0)
    d_x = excess.sum(axis=0)
    uniform = np.full_like(excess, 1.0 / scores.shape[0])
    # A subnormal d_x would make the division overflow; it is as good as zero.
    return np.divide(excess, d_x, out=uniform, where=d_x > np.finfo(np.float64).tiny)


def arg_max(scores: FloatArray) -> IntArray:
    """The deterministic rule: the class with the largest score, the first one in a tie."""
    return np.argmax(scores, axis=0)


def arg_max_probabilities(scores: FloatArray) -> FloatArray:
    """The deterministic rule written as h(y|x), with entries 0 and 1 (K x n)."""
    rule = np.zeros_like(scores)
    rule[arg_max(scores), np.arange(scores.shape[1])] = 1.0
    return rule


@dataclass(frozen=True)
class LinearRule:
    """A rule: its columns, their coefficients (1 or K rows), intercepts, and the threshold phi.

    The threshold is None where every instance has its own.
    """

    n_features: int
    columns: IntArray
    coef: FloatArray
    intercept: FloatArray
    threshold: float | None

    @classmethod
    def from_full(cls, coef: FloatArray, intercept: FloatArray, threshold: float | None) -> LinearRule:
        """From coefficients of all columns, most of them zero."""
        columns = np.flatnonzero(coef.any(axis=0))
        return cls(coef.shape[1], columns, coef[:, columns], intercept, threshold)

    @classmethod
    def of_problem(cls, mu: FloatArray, problem: Box) -> LinearRule:
        """The randomized rule that goes with coefficients of a problem."""
        threshold = None if problem.marginal.is_known else problem.threshold_of(mu)
        return cls.from_mu(mu, threshold, problem.coding, problem.scale)

    @classmethod
    def from_mu(
        cls, mu: FloatArray, threshold: float | None, coding: Coding, scale: ColumnScale
    ) -> LinearRule:
        columns, coef, intercept = scale.to_original(mu)
        sign = orientation(coding.n_blocks)
        # Adding 0.0 turns -0.0 into 0.0, which prints better.
        return cls(scale.n_columns, columns, sign * coef + 0.0, sign * intercept + 0.0, threshold)

    @classmethod
    def of_some(
        cls, components: IntArray, values: FloatArray, problem: Box, phi: float | None = None
    ) -> LinearRule:
        """``of_problem`` from the coefficients that are not zero, and phi of them where it is known."""
        (n_blocks, d), lead = problem.shape, problem.scale.n_leading
        used = np.flatnonzero(values)
        components, values = components[used], values[used]
        columns = np.unique(components % d)
        mu = np.zeros((n_blocks, len(columns)))
        mu[components // d, np.searchsorted(columns, components % d)] = values
        is_feature = columns >= lead
        inner, constant = columns[is_feature] - lead, mu[:, ~is_feature].sum(axis=1)
        shift, scale = problem.scale.at(inner)
        coef, sign = mu[:, is_feature] / scale, orientation(n_blocks)
        if phi is None and not problem.marginal.is_known:
            scores = problem.penalty_and_scores(components, values)[1]
            phi = problem.marginal.largest_mean(instance_thresholds(scores))
        threshold = None if problem.marginal.is_known else phi
        # Adding 0.0 turns -0.0 into 0.0, which prints better.
        intercept = sign * (constant - coef @ shift) + 0.0
        columns = problem.scale.columns_of(inner)
        return cls(problem.scale.n_columns, columns, sign * coef, intercept, threshold)

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite(self.coef).all() and np.isfinite(self.intercept).all())

    @property
    def full_coef(self) -> FloatArray:
        """Coefficients of all columns."""
        full = np.zeros((len(self.coef), self.n_features))
        full[:, self.columns] = self.coef
        return full

    def restricted_to(self, columns: IntArray) -> LinearRule:
        """The same rule for a matrix that has these ascending columns alone."""
        return replace(self, n_features=len(columns), columns=np.searchsorted(columns, self.columns))

    def to_mu(self, scale: ColumnScale) -> FloatArray:
        sign = orientation(len(self.coef))
        return scale.from_original(self.columns, sign * self.coef, sign * self.intercept)

    def use_of_components(self, scale: ColumnScale) -> FloatArray:
        """Sizes of the coefficients of the inner columns (B x d)."""
        return np.abs(self.to_mu(scale))

    def scores(self, X: DataMatrix) -> FloatArray:
        """Scores of every class for every row of X (K x n)."""
        decision = product_with_columns(X, self.columns, self.coef.T) + self.intercept
        return np.ascontiguousarray(class_scores(decision.T))

    def probabilities(self, X: DataMatrix) -> FloatArray:
        """h(y|x) of the randomized rule for every row of X (K x n)."""
        return probabilities(self.scores(X), self.threshold)


def class_scores(decision: FloatArray) -> FloatArray:
    """A row for each class from rows of decision values (K x n); a single row is the score of class 1."""
    return np.vstack([-decision, decision]) if len(decision) == 1 else decision


def orientation(n_blocks: int) -> float:
    """The sign between mu and coefficients in scikit-learn's orientation."""
    return -1.0 if n_blocks == 1 else 1.0


@dataclass(frozen=True)
class AverageRule:
    """Members that select columns decide with equal probabilities, a rule on all columns with its own."""

    members: Sequence[LinearRule]
    ball: LinearRule | None = None
    ball_weight: float = 0.0  # the probability that it decides

    @property
    def selected(self) -> IntArray:
        """The columns that any member uses."""
        return _used_columns(self.members)

    def selection_frequencies(self, n_features: int) -> FloatArray:
        """Return the share of members that use each column."""
        columns = np.concatenate([member.columns for member in self.members])
        return np.bincount(columns, minlength=n_features) / len(self.members)

    @property
    def columns(self) -> IntArray:
        """The columns that any rule uses."""
        return self.selected if self.ball is None else np.union1d(self.selected, self.ball.columns)

    @property
    def is_finite(self) -> bool:
        rules = self.members if self.ball is None else [*self.members, self.ball]
        return all(rule.is_finite for rule in rules)

    @property
    def full_coef(self) -> FloatArray:
        """The mean of the members' coefficients of all columns."""
        return np.asarray(sum(member.full_coef for member in self.members) / len(self.members))

    def restricted_to(self, columns: IntArray) -> AverageRule:
        """The same rule for a matrix that has these ascending columns alone."""
        members = [member.restricted_to(columns) for member in self.members]
        ball = None if self.ball is None else self.ball.restricted_to(columns)
        return AverageRule(members, ball, self.ball_weight)

    def probabilities(self, X: DataMatrix) -> FloatArray:
        """h(y|x) for every row of X (K x n)."""
        parts = [self._mean_probabilities(part) for _, part in some_rows_at_a_time(X, len(self.columns))]
        return np.concatenate(parts, axis=1)

    def _mean_probabilities(self, X: DataMatrix) -> FloatArray:
        each = (member.probabilities(used) for member, used in _on_used_columns(self.members, X))
        mean = np.asarray(sum(each) / len(self.members))
        if self.ball is None:
            return mean
        return (1.0 - self.ball_weight) * mean + self.ball_weight * self.ball.probabilities(X)

    def use_of_components(self, scale: ColumnScale) -> FloatArray:
        """Sizes of the members' coefficients of the inner columns, on average (B x d)."""
        return np.asarray(sum(member.use_of_components(scale) for member in self.members) / len(self.members))

    def importances(self, scale: ColumnScale) -> FloatArray:
        """Sizes of the members' coefficients of the columns, summed over classes, on average (d)."""
        use = scale.for_columns(self.use_of_components(scale))
        return np.asarray(use[:, scale.n_leading :].sum(axis=0))

    def scores(self, X: DataMatrix) -> FloatArray:
        """What ``predict`` decides by: the probabilities themselves."""
        return self.probabilities(X)


@dataclass(frozen=True)
class MeanOfScores:
    """The mean of the scores of several rules, which has fewer ties than that of their probabilities."""

    members: Sequence[LinearRule]

    @property
    def columns(self) -> IntArray:
        """The columns that any member uses."""
        return _used_columns(self.members)

    def restricted_to(self, columns: IntArray) -> MeanOfScores:
        """The same rule for a matrix that has these ascending columns alone."""
        return MeanOfScores([member.restricted_to(columns) for member in self.members])

    def scores_of_members(self, X: DataMatrix) -> Iterator[FloatArray]:
        """Scores by each member in turn, for every row of X (K x n)."""
        for member, used in _on_used_columns(self.members, X):
            yield member.scores(used)

    def scores(self, X: DataMatrix) -> FloatArray:
        """Scores of every class for every row of X (K x n)."""
        return np.asarray(sum(self.scores_of_members(X)) / len(self.members))


def _used_columns(members: Sequence[LinearRule]) -> IntArray:
    return np.unique(np.concatenate([member.columns for member in members]))


def _on_used_columns(members: Sequence[LinearRule], X: DataMatrix) -> Iterator[tuple[LinearRule, DataMatrix]]:
    """Yield each member for the columns that any of them uses, and these columns."""
    columns = _used_columns(members)
    used = columns_of(X, columns)  # once for all members, because reading sparse columns is slow
    for member in members:
        yield member.restricted_to(columns), used


@dataclass(frozen=True)
class FourierRule:
    """A linear rule on the cosines and sines of linear functions of the columns."""

    phases: LinearRule  # one row of coefficients for each pair of a cosine and a sine
    coef: FloatArray
    intercept: FloatArray

    @property
    def columns(self) -> IntArray:
        """The columns that it reads."""
        return self.phases.columns

    @property
    def is_finite(self) -> bool:
        return self.phases.is_finite and bool(
            np.isfinite(self.coef).all() and np.isfinite(self.intercept).all()
        )

    def restricted_to(self, columns: IntArray) -> FourierRule:
        """The same rule for a matrix that has these ascending columns alone."""
        return replace(self, phases=self.phases.restricted_to(columns))

    def scores(self, X: DataMatrix) -> FloatArray:
        """Scores of every class for every row of X (K x n)."""
        return class_scores(self.coef @ fourier_features(self.phases.scores(X)) + self.intercept[:, None])


def fourier_features(phases: FloatArray) -> FloatArray:
    """Cosines and sines of phases (m x n), of length one for each column (2m x n)."""
    return np.vstack([np.cos(phases), np.sin(phases)]) / np.sqrt(len(phases))


@dataclass(frozen=True)
class KernelRule:
    """A rule by products with the instances of its sample: coefficients (1 or K rows), threshold."""

    products: KernelFunction
    space: KernelSpace
    fitted: DataMatrix | None  # None where X holds products with all rows of the sample
    rows: IntArray  # of the sample
    coef: FloatArray
    threshold: float | None

    @property
    def columns(self) -> IntArray:
        """The columns that it reads: all, or the products with the instances of the sample."""
        return self.rows if self.fitted is None else np.arange(self.fitted.shape[1])

    def scores(self, X: DataMatrix) -> FloatArray:
        """Scores of every class for every row of X (K x n)."""
        read = X[:, :] if self.fitted is not None else X[:, self.rows]
        plain = self.products(read.astype(np.float64, copy=False), self.fitted)
        return class_scores(self.coef @ self.space.centred(plain).T)

    def probabilities(self, X: DataMatrix) -> FloatArray:
        """h(y|x) of the randomized rule for every row of X (K x n)."""
        return probabilities(self.scores(X), self.threshold)
