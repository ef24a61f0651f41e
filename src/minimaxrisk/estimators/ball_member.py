r"""The members of an ensemble that use all columns: balls of means in place of a box.

Members that select columns are best where few columns carry the label, and a linear rule on all columns where
many carry a little each. With few columns and many samples a curved rule is best: the kernel
:math:`k(x, x') = \exp(-\gamma \|x - x'\|^2)` on standardised columns, with :math:`\gamma` as for
``gamma="scale"``. The calibrated decision weighs their scores by samples that were left out.

A kernel rule would keep the samples that it was fitted on, and hand them on with the model. The curved ball
therefore has random Fourier features [1]_: with frequencies w from a normal distribution of variance
:math:`2 \gamma` the mean of :math:`\cos(w^\top x) \cos(w^\top x') + \sin(w^\top x) \sin(w^\top x')` is
:math:`k(x, x')`. Blocks of orthogonal frequencies are more precise than independent ones [2]_. Training and
prediction use the same features, so that the rule is exactly the one of its folds.

References
----------
.. [1] A. Rahimi, B. Recht, "Random features for large-scale kernel machines", NeurIPS 2007.
.. [2] F. X. Yu et al., "Orthogonal random features", NeurIPS 2016.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray, to_numpy
from minimaxrisk.engines.ball import solve_ball
from minimaxrisk.engines.solution import StoppingRule
from minimaxrisk.matrices.moments import Coding
from minimaxrisk.problem.ball import ball_on_products
from minimaxrisk.problem.kernel import KernelSpace
from minimaxrisk.problem.pose import PosedBox
from minimaxrisk.problem.rule import (
    FourierRule,
    LinearRule,
    class_scores,
    fourier_features,
    orientation,
)
from minimaxrisk.samples.folds import dealt_folds
from minimaxrisk.samples.independent_units import Strata
from minimaxrisk.samples.instances import Instances
from minimaxrisk.samples.validation import TrainingData

# The radius, in standard errors of the mean feature vector. Chosen on simulated studies.
RADIUS = 0.3
# The interior point factors a matrix of all instances. With this many a fit takes some seconds.
MOST_INSTANCES = 2500
# Several blocks have a matrix each and one more, which are inverted in three times the time of the factors.
PER_INVERSE = 3
MOST_FOLDS = 10
# Pairs of a cosine and a sine. On simulated studies 256 pairs misclassify .6% more samples than the exact
# kernel, and 1024 pairs .1% more.
N_FREQUENCIES = 1024


def is_quick(posed: PosedBox) -> bool:
    """Return whether the ball takes some seconds at most."""
    blocks = posed.problem.coding.n_blocks
    n_factors = 1 if blocks == 1 else PER_INVERSE * (blocks + 1)
    return n_factors * posed.instances.n_instances**3 <= MOST_INSTANCES**3


def is_curved(posed: PosedBox) -> bool:
    """Return whether a curved rule has enough instances. With more columns its weight is near zero."""
    return len(_varying(posed)) <= posed.instances.n_instances


@dataclass(frozen=True)
class BallFitter:
    """Fits balls on all samples, and on all but a fold in turn.

    A method returns the rule of all samples and the scores of each sample by the fit without it (n x K).
    Such fits see about ``share`` of the samples. Rows of weight zero, and those of the only unit of a class,
    have NaN. Columns are standardised, or all divided by one number.
    """

    posed: PosedBox
    data: TrainingData
    units: Strata
    standardize: bool
    share: float
    gap_tol: float

    @property
    def _unit(self) -> FloatArray:
        """What inner columns are multiplied by."""
        scale = self.posed.problem.scale
        size = np.ones_like(scale.scale) if self.standardize else scale.scale / scale.scale.max()
        return np.concatenate([np.zeros(scale.n_leading), size])

    def linear(self, random: Any) -> tuple[LinearRule, FloatArray]:
        """The ball with the products of the columns themselves."""
        features, scale, unit = self.posed.problem.features, self.posed.problem.scale, self._unit
        ball, left_out = self._fitted(features.gram(unit), random)
        found = features.correlate(np.vstack([ball.centred, ball.masses]))
        mu, mean = found[:-1] * unit**2, found[-1]
        columns, coef, intercept = scale.to_original(mu)
        coef, intercept = ball.oriented(coef, intercept - mu @ mean)
        return LinearRule(scale.n_columns, columns, coef, intercept, ball.threshold), left_out

    def curved(self, random: Any) -> tuple[FourierRule, FloatArray]:
        """The ball with the kernel of Gauss, by random Fourier features."""
        scale, unit = self.posed.problem.scale, self._unit
        varying = _varying(self.posed)
        mu = np.zeros((N_FREQUENCIES, len(unit)))
        # ``gamma`` is one over the sum of the columns' variances.
        spread = np.sqrt(2.0 / max(np.sum(unit[varying] ** 2), np.finfo(np.float64).tiny))
        mu[:, varying] = orthogonal_frequencies(N_FREQUENCIES, len(varying), random) * spread * unit[varying]
        features = fourier_features(self.posed.problem.features.combine(mu))
        ball, left_out = self._fitted(features.T @ features, random)
        coef, mean = ball.centred @ features.T, ball.masses @ features.T
        coef, intercept = ball.oriented(coef, -coef @ mean)
        phases = LinearRule(scale.n_columns, *scale.to_original(mu), None)
        return FourierRule(phases, coef, intercept), left_out

    def _fitted(self, products: FloatArray, random: Any) -> tuple[_FittedBall, FloatArray]:
        """The ball of all samples, and the scores without each fold, from products of the instances."""
        posed, data, units = self.posed, self.data, self.units
        whole = self._ball(products, posed.instances)
        n_folds = min(MOST_FOLDS, max(2, round(1.0 / (1.0 - self.share))))
        used = np.flatnonzero(units.unit_of_row >= 0)
        without_values = replace(data, X=np.empty((len(data.labels), 0)))
        left_out = np.full((len(data.labels), len(data.classes)), np.nan)
        unit_of_used = np.unique(units.unit_of_row[used], return_inverse=True)[1]
        fold = np.full(len(data.labels), -1)
        fold[used] = dealt_folds(data.labels[used], unit_of_used, n_folds, random)
        for i in range(int(fold.max()) + 1):
            inside, rest = np.flatnonzero(fold == i), np.setdiff1d(used, np.flatnonzero(fold == i))
            own, present = posed.instances.of_part(without_values.part(rest), rest)
            ball = self._ball(products[np.ix_(present, present)], own)
            judged = posed.instances.instance_of_row[inside]
            left_out[inside] = ball.scores(products[np.ix_(judged, present)]).T
        return whole, left_out

    def _ball(self, products: FloatArray, instances: Instances) -> _FittedBall:
        """The ball around the mean of the instances with these products."""
        like = self.posed.problem
        problem, space = ball_on_products(
            products,
            instances,
            like.coding,
            RADIUS,
            fit_intercept=like.scale.has_intercept,
            marginal_is_known=like.marginal.is_known,
        )
        solved = solve_ball(problem, StoppingRule(self.gap_tol))
        if solved.interrupted:
            raise KeyboardInterrupt
        threshold = None if like.marginal.is_known else problem.threshold_of(solved.mu)
        return _FittedBall(space, like.coding, instances.weights, solved.mu, threshold)


@dataclass(frozen=True)
class _FittedBall:
    """A rule by the products with the instances that it was fitted on."""

    space: KernelSpace
    coding: Coding
    masses: FloatArray  # of the instances
    coefficients: FloatArray
    threshold: float | None

    @property
    def centred(self) -> FloatArray:
        """The coefficients of features that are not centred."""
        return self.coefficients - self.coefficients.sum(axis=1)[:, None] * self.masses

    def scores(self, products: FloatArray) -> FloatArray:
        """Scores of instances with these products (K x m)."""
        decision = self.coefficients @ self.space.centred(products).T
        return class_scores(orientation(len(decision)) * decision)

    def oriented(self, coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients and intercepts as scikit-learn has them, with the part of the constant feature."""
        sign = orientation(len(coef))
        intercept = intercept + self.coefficients.sum(axis=1) * self.space.constant
        return sign * coef + 0.0, sign * intercept + 0.0


def orthogonal_frequencies(n: int, d: int, random: Any) -> FloatArray:
    """Return n vectors of d independent normal numbers each, at right angles in blocks of up to d (n x d)."""
    size = min(n, d)
    n_blocks = -(-n // size)
    directions = np.linalg.qr(random.standard_normal((n_blocks, d, size)))[0]
    lengths = np.linalg.norm(random.standard_normal((n_blocks * size, d)), axis=1)
    stacked = directions.transpose(0, 2, 1).reshape(-1, d) * lengths[:, None]
    return np.asarray(stacked[:n])


def _varying(posed: PosedBox) -> IntArray:
    """The inner columns that differ between instances, counted with that of the intercept."""
    return posed.problem.scale.n_leading + np.flatnonzero(to_numpy(posed.problem.features.factor))
