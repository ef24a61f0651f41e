"""Restricted problems: solve with some instances and components, price the others, and take in what matters.

One loop, ``generate``, is Algorithm 1 of the paper, which generates components of Phi (``paper``); its
successor, which generates constraints of instances too; the search for the exact vertex next to an iterate on
a few instances (``moment_space``); and the generation of instances for the interior point
(``instance_generation``).

``Subprogram`` is a problem on some of its instances, whose distributions are distributions on all of them. It
needs a distribution with the moments tau exactly. The empirical one has mass on all instances, so the mean of
the instances of each class joins as an instance of its own. Mass w_y there stands for w_y shared among the
instances as the class is, which has the same moments and the same Bayes error, because the largest of the w_y
is the same label everywhere. Class k's mass on the mean of class k, for all k, has the moments tau.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.interrupts import held_back, let_through
from minimaxrisk.engines.solution import Solution
from minimaxrisk.problem.problem import Box
from minimaxrisk.problem.rule import threshold, total_excess

Restriction = TypeVar("Restriction")
Found = TypeVar("Found")


class Generation(Protocol[Restriction, Found]):
    """A way to solve restricted problems and to price what they leave out."""

    best: Solution  # of the whole problem

    def solve(self, restriction: Restriction, /) -> Found: ...

    def price(self, restriction: Restriction, found: Found, /) -> Restriction | None:
        """Certify what was found for the whole problem, and return the next restriction; None at the end."""
        ...


def generate(
    generation: Generation[Restriction, Found], first: Restriction, most_rounds: float = np.inf
) -> None:
    """Solve restricted problems, at most so many, until nothing that they leave out matters.

    What was found when an interrupt comes is certified before the loop ends.
    """
    best, restriction, k = generation.best, first, 1
    try:
        with let_through():
            while not best.interrupted:
                with held_back():
                    # 1) Solve.
                    found = generation.solve(restriction)
                    # 2) Certify for the whole problem, and price what was left out.
                    chosen = generation.price(restriction, found)
                # 3) Go on with what matters.
                if chosen is None or best.stopped or k >= most_rounds:
                    break
                restriction, k = chosen, k + 1
    except KeyboardInterrupt:
        best.interrupted = True


def first_by(n_max: int, candidates: IntArray, rank: FloatArray) -> IntArray:
    """Return the (at most) ``n_max`` candidates of lowest rank, in ascending order."""
    if len(candidates) <= n_max:
        return candidates
    return np.sort(candidates[np.argpartition(rank[candidates], n_max - 1)[:n_max]])


def some_at_random(n: int, n_some: int) -> IntArray:
    """Return some of n instances, ascending, and the same ones every time.

    Instances are ordered by their values, which may have periods; so not every tenth.
    """
    return np.sort(np.random.default_rng(0).permutation(n)[:n_some])


@dataclass(frozen=True)
class ClassMeans:
    """The mean of the instances of each class, as an instance of its own."""

    prior: FloatArray  # K
    within: FloatArray  # K x n: the distribution of the instances of each class
    features: FloatArray  # K x d

    @classmethod
    def of(cls, problem: Box) -> ClassMeans:
        """Take one pass over the features."""
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
        """Return the same distribution as one on the instances of the whole problem (K x n)."""
        n_means = len(self.means.prior)
        w = distribution[:, :n_means] @ self.means.within
        w[:, self.instances] += distribution[:, n_means:]
        return w

    def nearness(self, mu: FloatArray, scores: FloatArray) -> FloatArray:
        """Return how much of its dual constraint each instance of the whole problem uses up (n).

        One where the sub-program's optimum may have mass, above one where the instance violates it.
        ``scores`` are those of mu on the whole problem. For the signed coding the constraint is
        ``|score| <= the largest one``, for the one-hot coding ``sum_y (score_y - phi)_+ <= 1``.
        """
        own = self.problem.scores_of(mu)
        if self.whole.coding.name == "signed":
            return np.abs(scores[0]) / max(float(np.abs(own).max()), np.finfo(np.float64).tiny)
        return total_excess(scores, threshold(own))
