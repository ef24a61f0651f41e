"""The learning problem with a ball of means in place of a box, known through scalar products alone.

    R* = min over mu of  1 - tau'mu + rho ||mu|| + phi(mu)
       = max 1 - sum_i max_y w_yi   s.t.  w a distribution,  ||E_w Phi - tau|| <= rho

The optimal mu lies in the span of the instances, ``mu_b = sum_i A_bi psi(x_i)``. With the kernel matrix G of
the instances, scores are ``A G``, ``||mu||^2 = sum (A G) * A``, and the distance of a distribution from the
centre is ``||C (w - centre)||_G``. Features are never formed, so psi may have infinitely many.

The bounds are those of ``problem.py``. Upper: by Cauchy and Schwarz's inequality
``mu'(E_w Phi - tau) >= -rho ||mu||``. Lower: mixing a distribution with the centre shrinks its distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk.matrices.moments import Coding, make_coding
from minimaxrisk.problem.kernel import WITHOUT_ORIGIN, KernelFunction, KernelSpace
from minimaxrisk.problem.objective import FREE, BayesError, KnownMarginal, Marginal
from minimaxrisk.problem.rule import instance_thresholds, orientation
from minimaxrisk.samples.instances import Instances, distinct_instances
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.ball_radius import BallMultiple, BallRadiusRule, UnitMeans
from minimaxrisk.uncertainty.radius import Radii

# As a share of the size of the features, so that the interior of the ball is not empty.
SMALLEST_RADIUS = 1e-9
# As a share of the same: eigenvalues above minus this are rounding errors.
ROUNDING = 1e-8
# Rows at which the matrices of the interior point take minutes and gigabytes.
MOST_ROWS = 12_000


@dataclass(frozen=True)
class Ball:
    """Scalar products of the instances, their labels, and the radius of the ball around their mean."""

    gram: FloatArray  # n x n
    coding: Coding
    centre: FloatArray  # K x n: the empirical distribution
    radius: float
    marginal: Marginal = FREE

    @property
    def objective(self) -> BayesError:
        return BayesError(self.marginal)

    @property
    def n_instances(self) -> int:
        return len(self.gram)

    @property
    def shape(self) -> tuple[int, int]:
        """Of the coefficients: blocks and instances."""
        return self.coding.n_blocks, self.n_instances

    @property
    def orientation(self) -> float:
        """With one block of coefficients the decision function is positive for the second class."""
        return orientation(self.coding.n_blocks)

    def norm(self, coefficients: FloatArray) -> float:
        """Of ``sum_i A_bi psi(x_i)``, all blocks together."""
        return float(np.sqrt(max(0.0, float(np.sum((coefficients @ self.gram) * coefficients)))))

    def scores_of(self, coefficients: FloatArray) -> FloatArray:
        """Scores of every class for every instance (K x n), from coefficients (B x n)."""
        return self.coding.scores(coefficients @ self.gram)

    def penalty_of(self, coefficients: FloatArray) -> float:
        """``rho ||mu|| - tau'mu``."""
        gain = float(np.sum(self.centre * self.scores_of(coefficients)))
        return self.radius * self.norm(coefficients) - gain

    def share_inside(self, distribution: FloatArray, moments: Any = None) -> float:
        """The largest share that a distribution may have in a mixture with the centre inside the ball."""
        distance = self.norm(self.coding.encode(distribution - self.centre))
        return 1.0 if distance <= self.radius else self.radius / distance

    def threshold_of(self, coefficients: FloatArray) -> float:
        """phi: the largest phi_i, or their mean where the masses of instances are known."""
        return self.marginal.largest_mean(instance_thresholds(self.scores_of(coefficients)))


@dataclass(frozen=True)
class PosedBall:
    """The problem with the instances that it is about, and the products and space of their features."""

    problem: Ball
    instances: Instances
    radii: Radii
    products: KernelFunction
    space: KernelSpace
    X: DataMatrix

    def relabelled(self, relabelled: Sequence[TrainingData], rule: BallRadiusRule) -> list[PosedBall]:
        """Problems of the same rows and weights with other labels: the products stay."""
        others = [replace(self, instances=self.instances.relabelled(data)) for data in relabelled]
        return [each.with_radii(rule) for each in others]

    def columns_far_from_zero(self, rule: object) -> IntArray:
        """Return no column: what the model stores is recomputed with the same roundings."""
        return np.arange(0)

    def with_radii(self, rule: BallRadiusRule) -> PosedBall:
        """The same products with another radius."""
        old = self.problem
        problem, radii = _around_mean(old.gram, self.instances, old.coding, rule, old.marginal)
        return replace(self, problem=problem, radii=radii)

    def rule_for_labellings(self, rule: BallRadiusRule) -> BallRadiusRule:
        """The rule, with what it can share among labellings: nothing."""
        return rule

    def products_and_space(self, *, has_origin: bool) -> tuple[KernelFunction, KernelSpace]:
        """Those of the same instances in a container that has an origin or not.

        A sparse X is not moved, and a dense one is. That changes products, but none of the centred ones.
        """
        if has_origin == (self.products.origin is not None) or self.products.kernel not in WITHOUT_ORIGIN:
            return self.products, self.space
        products = replace(self.products, origin=self.instances.weights @ self.X if has_origin else None)
        plain, has_intercept = products(self.X, self.X), self.space.constant > 0.0
        return products, KernelSpace.of(plain, self.instances.weights, fit_intercept=has_intercept)

    def linear(self, dual_coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients on the columns and intercepts, for the linear kernel."""
        moved, origin = self.products.moved(self.X), self.products.origin
        mean, total = self.instances.weights @ moved, dual_coef.sum(axis=1)
        coef = np.asarray(dual_coef @ moved) - total[:, None] * mean
        return coef, total * self.space.constant - coef @ (mean if origin is None else mean + origin)


def pose_ball(parameters: Any, data: TrainingData, rule: BallRadiusRule) -> PosedBall:
    """The ball of a ``MinimaxRiskKernelClassifier`` around the mean of the data."""
    if len(data.labels) > MOST_ROWS:
        raise ValueError(
            f"X has {len(data.labels)} rows, and the matrices of this classifier grow with their square: use "
            f"at most {MOST_ROWS}, or MinimaxRiskClassifier."
        )
    instances = distinct_instances(data)
    # Into memory where it is read from a file; products of single precision are not accurate enough.
    X = data.X[instances.rows, :].astype(np.float64, copy=False)
    if parameters.kernel == "precomputed":
        if data.X.shape[0] != data.X.shape[1]:
            raise ValueError(
                f"with kernel='precomputed' X must be square, a row and a column for each sample, got shape "
                f"{data.X.shape}."
            )
        X = X[:, instances.rows]
    products = KernelFunction.of(parameters, X, instances.weights)
    plain = products(X, X)
    if not np.allclose(plain, plain.T, rtol=1e-8, atol=1e-8 * float(np.abs(plain).max(initial=0.0))):
        raise ValueError("the kernel must be symmetric, but k(x, x') and k(x', x) differ.")
    space = KernelSpace.of(plain, instances.weights, fit_intercept=parameters.fit_intercept)
    gram = _products_of_features(plain, space)
    _refuse_indefinite(gram, _mean_square(gram, instances))
    coding = make_coding(parameters.coding, len(data.classes))
    marginal = KnownMarginal(instances.weights) if parameters.marginal == "empirical" else FREE
    problem, radii = _around_mean(gram, instances, coding, rule, marginal)
    return PosedBall(problem, instances, radii, products, space, X)


def ball_on_products(
    plain: FloatArray,
    instances: Instances,
    coding: Coding,
    factor: float,
    *,
    fit_intercept: bool,
    marginal_is_known: bool,
) -> tuple[Ball, KernelSpace]:
    """The ball of ``factor`` standard errors around the mean of instances with these products."""
    space = KernelSpace.of(plain, instances.weights, fit_intercept=fit_intercept)
    marginal = KnownMarginal(instances.weights) if marginal_is_known else FREE
    gram = _products_of_features(plain, space)
    return _around_mean(gram, instances, coding, BallMultiple(factor), marginal)[0], space


def _products_of_features(plain: FloatArray, space: KernelSpace) -> FloatArray:
    gram = space.centred(plain)
    return 0.5 * (gram + gram.T)


def _mean_square(gram: FloatArray, instances: Instances) -> float:
    return float(instances.weights @ np.diag(gram)) or 1.0


def _around_mean(
    gram: FloatArray, instances: Instances, coding: Coding, rule: BallRadiusRule, marginal: Marginal
) -> tuple[Ball, Radii]:
    radii = rule.radii(UnitMeans.of(gram, instances.units, coding))
    radius = max(radii.lam, SMALLEST_RADIUS * float(np.sqrt(_mean_square(gram, instances))))
    return Ball(gram, coding, instances.p_hat, radius, marginal), radii


def _refuse_indefinite(gram: FloatArray, square: float) -> None:
    """No features have such products, and bounds from them would mean nothing."""
    lifted = gram + ROUNDING * square * len(gram) * np.eye(len(gram))
    try:
        np.linalg.cholesky(lifted)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "the kernel must be positive semi-definite: its products are not those of any features, so that "
            "a bound would mean nothing. Choose another kernel, add a constant to its diagonal, or scale the "
            "columns of X: products of numbers far from zero lose the digits in which instances differ."
        ) from error
