"""The program on some of the instances, and what its answers say about all of them.

A distribution on some instances is one on all, with no mass elsewhere: what it proves from below holds for
the whole problem. Coefficients are those of the whole problem anyway; what they prove from above takes their
scores on all instances.

The sub-program needs a distribution with the moments tau exactly, which the empirical one is not: it has mass
on all instances. So the mean of the instances of each class joins as an instance of its own. Mass w_y there
stands for w_y shared among the instances as the class is, which has the same moments, and the same Bayes
error because the largest of the w_y is the same everywhere. So the means change nothing in the optimum of
the whole problem, and class k's mass on the mean of class k, for all k, is a distribution with moments tau.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.problem.problem import Problem
from minimaxrisk.problem.rule import threshold, total_excess


@dataclass(frozen=True)
class ClassMeans:
    """Instances that stand for a class each."""

    prior: FloatArray  # K
    within: FloatArray  # K x n: the distribution of the instances of each class
    features: FloatArray  # K x d

    @classmethod
    def of(cls, problem: Problem) -> ClassMeans:
        """One pass over the features."""
        prior = problem.centre.sum(axis=1)
        within = problem.centre / prior[:, None]
        return cls(prior, within, problem.features.correlate(within))


@dataclass(frozen=True)
class Subprogram:
    """A problem on the class means, which come first, and on some ``instances`` of the whole."""

    whole: Problem
    means: ClassMeans
    instances: IntArray
    problem: Problem

    @classmethod
    def of(cls, whole: Problem, means: ClassMeans, instances: IntArray) -> Subprogram:
        features = whole.features.some_rows(instances, after=means.features)
        centre = np.hstack([np.diag(means.prior), np.zeros((len(means.prior), len(instances)))])
        return cls(whole, means, instances, replace(whole, features=features, centre=centre))

    def on_all_instances(self, distribution: FloatArray) -> FloatArray:
        """The same distribution as one on the instances of the whole problem (K x n)."""
        n_means = len(self.means.prior)
        w = distribution[:, :n_means] @ self.means.within
        w[:, self.instances] += distribution[:, n_means:]
        return w

    def nearness(self, mu: FloatArray, scores: FloatArray) -> FloatArray:
        """How much of its dual constraint each instance of the whole problem uses up (n).

        One where the sub-program's optimum may have mass, above one where its instances do not speak for
        the instance. ``scores`` are those of mu on the whole problem. For the signed coding the constraint is
        ``|score| <= the largest one``, for the one-hot coding ``sum_y (score_y - phi)_+ <= 1``.
        """
        own = self.problem.scores_of(mu)
        if self.whole.coding.name == "signed":
            return np.abs(scores[0]) / max(float(np.abs(own).max()), np.finfo(np.float64).tiny)
        return total_excess(scores, threshold(own))
