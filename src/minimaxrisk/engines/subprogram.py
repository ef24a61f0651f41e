"""A problem on some of its instances, whose distributions are distributions on all of them.

The sub-program needs a distribution with the moments tau exactly. The empirical one has mass on all
instances, so the mean of the instances of each class joins as an instance of its own. Mass w_y there stands
for w_y shared among the instances as the class is, which has the same moments, and the same Bayes error
because the largest of the w_y is the same label everywhere. So the means do not change the optimum of the
whole problem, and class k's mass on the mean of class k, for all k, is a distribution with moments tau.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.problem.problem import Box
from minimaxrisk.problem.rule import threshold, total_excess


@dataclass(frozen=True)
class ClassMeans:
    """The mean of the instances of each class, as an instance of its own."""

    prior: FloatArray  # K
    within: FloatArray  # K x n: the distribution of the instances of each class
    features: FloatArray  # K x d

    @classmethod
    def of(cls, problem: Box) -> ClassMeans:
        """One pass over the features."""
        prior = problem.centre.sum(axis=1)
        within = problem.centre / prior[:, None]
        return cls(prior, within, problem.features.correlate(within))


class Subprogram:
    """A problem on the class means, which come first, and on some ``instances`` of the whole."""

    def __init__(self, whole: Box, means: ClassMeans, instances: IntArray) -> None:
        self.whole, self.means, self.instances = whole, means, instances
        features = whole.features.some_rows(instances, after=means.features)
        centre = np.hstack([np.diag(means.prior), np.zeros((len(means.prior), len(instances)))])
        tau, lam = features.on_device(whole.tau), features.on_device(whole.lam)
        self.problem = replace(whole, features=features, centre=centre, tau_on_device=tau, lam_on_device=lam)

    def on_all_instances(self, distribution: FloatArray) -> FloatArray:
        """The same distribution as one on the instances of the whole problem (K x n)."""
        n_means = len(self.means.prior)
        w = distribution[:, :n_means] @ self.means.within
        w[:, self.instances] += distribution[:, n_means:]
        return w

    def nearness(self, mu: FloatArray, scores: FloatArray) -> FloatArray:
        """How much of its dual constraint each instance of the whole problem uses up (n).

        One where the sub-program's optimum may have mass, above one where the instance violates it.
        ``scores`` are those of mu on the whole problem. For the signed coding the constraint is
        ``|score| <= the largest one``, for the one-hot coding ``sum_y (score_y - phi)_+ <= 1``.
        """
        own = self.problem.scores_of(mu)
        if self.whole.coding.name == "signed":
            return np.abs(scores[0]) / max(float(np.abs(own).max()), np.finfo(np.float64).tiny)
        return total_excess(scores, threshold(own))
