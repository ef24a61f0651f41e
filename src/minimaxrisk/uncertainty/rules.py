"""The rules for the radii lambda: how far the moments of a distribution may lie from the estimates tau.

All but one set ``lambda = s sigma / sqrt(n)`` and differ in the factor s. With Z_ij component j of
Phi(x_i, y_i), the set contains the true moments exactly when

    T = max_j |sqrt(n) (tau_j - E Z_j) / sigma_j| <= s.

* ``Multiple``: s as given. The paper takes 1, which with many components is far below the usual size of T.
  Its sigma of a class with few samples may be moderated.
* ``GivenRadii``: lambda as given.
* ``MultiplierBootstrap``: the law of the maximum itself, correlations included. Given the data,

      T* = max_j |n^-1/2 sum_i e_i (Z_ij - tau_j) / sigma_j|,   e_i independent standard normal,

  has nearly the law of T. Only the direction of e counts: T* over its length is the largest cosine between e
  and the columns, which has a tail probability by Student's law. ``docs/learn/radii.md`` has the formulas.

The quantile is estimated from draws. So that their number costs no coverage, it is the draw that lies beyond
the quantile with probability 95%; with too few draws for the level there is none. A weight of 2 that counts
samples is the sum of two independent multipliers, so that a row of weight 2 and the row twice draw the same
numbers.

With two classes and the signed coding ``Z_i = c_i x_i``, where ``c_i = +-1`` is the code of the label. Times
``c_i`` a normal multiplier is one still, and ``sum_i (e_i c_i) Z_i = sum_i e_i x_i`` for every labelling: the
products with the features, which are nearly all of the work, serve all permutations of the labels.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse, stats

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.parallel import parallel_map
from minimaxrisk.matrices.standardised import Standardised
from minimaxrisk.uncertainty import NAMED_RULES
from minimaxrisk.uncertainty.moments import (
    FEWEST_OF_CLASS,
    MomentSample,
    broken_assumptions,
)
from minimaxrisk.uncertainty.radius import (
    SMALLEST_RADIUS,
    SURE_OF_QUANTILE,
    Radii,
    RadiusRule,
    multiples_of_standard_errors,
    split_level,
    union_bound_tail,
)

# Numbers held at a time: draws x components, or draws x samples.
BLOCK_ELEMENTS = 1 << 21
# Products with more numbers than this, a quarter of a gigabyte, are not kept.
MOST_SHARED = 1 << 25
# Columns in which each draw of T* is looked for first, besides a 64th of all.
FEWEST_LARGEST = 64
# Draws that one process makes at a time, where several share the work.
DRAWS_PER_PIECE = 64


def radius_rule_of(model: Any, seed: int) -> RadiusRule:
    """Return the rule that the parameters of a ``MinimaxRiskClassifier`` name.

    A number is a factor, an array the radii themselves, a name a rule with coverage.
    """
    radius = model.radius
    if isinstance(radius, np.ndarray) and radius.ndim == 0:
        names = ", ".join(map(repr, NAMED_RULES))
        raise ValueError(
            f"radius must be a number, one of {names} or an array of lambda, got {radius!r}, an "
            "array without dimensions; pass radius.item()."
        )
    if isinstance(radius, str):
        return MultiplierBootstrap(model.confidence, model.n_bootstrap, seed)
    if np.ndim(radius) == 0:
        return Multiple(float(radius), model.moderation)
    return GivenRadii(radius, model.standardize)


@dataclass(frozen=True)
class Multiple:
    """The paper's rule, with the factor given.

    ``moderation`` shrinks the second moments of small classes (``moderated_deviation``).
    """

    factor: float
    moderation: float = 0.0

    def radii(self, sample: MomentSample) -> Radii:
        lam = multiples_of_standard_errors(sample, self.factor, moderation=self.moderation)
        return Radii(lam, self.factor)


@dataclass(frozen=True)
class GivenRadii:
    """The caller's lambda; one row for all blocks, or one for each.

    For standardised columns they are in the units of the features inside, else in those of the caller.
    """

    lam: Any
    is_standardized: bool

    def radii(self, sample: MomentSample) -> Radii:
        given = np.asarray(self.lam)
        scale, n_blocks = sample.scale, len(sample.tau_on_device)
        d = scale.n_leading + scale.n_columns
        if given.dtype.kind not in "fiu" or given.shape not in ((d,), (n_blocks, d)):
            columns = "the columns of X" + ", the intercept first" * scale.has_intercept
            raise ValueError(
                f"radius as an array of lambda must hold numbers, one for each of {columns}: shape ({d},), "
                f"or ({n_blocks}, {d}) with a row per block of coefficients, as in lambda_ of a fitted "
                f"model; got shape {given.shape} and type {given.dtype}."
            )
        if not (np.isfinite(given).all() and (given >= 0.0).all()):
            wrong = given[~(np.isfinite(given) & (given >= 0.0))]
            raise ValueError(
                f"radius as an array of lambda must be finite and not negative, got {wrong[0]} among its "
                "entries."
            )
        lam = scale.of_columns(np.broadcast_to(given, (n_blocks, d))).astype(np.float64)
        if not self.is_standardized:
            lam = scale.inner_units(lam)
        return Radii(np.maximum(lam, SMALLEST_RADIUS), None)


@dataclass(frozen=True)
class SharedDraws:
    """Multipliers (draws x instances) and their products with features (draws x d), for all labellings.

    Labels shift and rescale all products of a column alike and by little, so that T* is nearly always taken
    on in one of the columns with the largest products. A bound on all others tells where.
    """

    multipliers: FloatArray
    products: FloatArray
    spread: FloatArray  # of the products of each column, root mean square
    largest: IntArray  # for each draw the columns with the largest products, relative to their spread
    others: FloatArray  # for each draw, no smaller than such a ratio of any other column

    @classmethod
    def of(cls, multipliers: FloatArray, products: FloatArray) -> SharedDraws:
        n_draws, d = products.shape
        spread = np.sqrt(np.einsum("ij,ij->j", products, products) / n_draws)
        ratios = np.abs(products) / np.where(spread > 0.0, spread, 1.0)
        n_largest = min(d, FEWEST_LARGEST + d // 64)
        order = np.argpartition(-ratios, n_largest - 1, axis=1)
        # No larger ratio is left than the smallest of those taken.
        others = np.take_along_axis(ratios, order[:, n_largest - 1 : n_largest], axis=1)[:, 0]
        return cls(multipliers, products, spread, np.ascontiguousarray(order[:, :n_largest]), others)

    def cosines(self, sample: MomentSample) -> FloatArray:
        """Draws of T* for the labels of this sample, over the lengths of the multipliers (draws x 1)."""
        code = sample.coding.matrix[0] @ (sample.units.p_hat > 0.0)
        sums, tau, inverse = self.multipliers @ code, sample.tau[0], _inverse_deviations(sample)[0]
        # |product - sum tau| / sigma <= ratio spread / sigma + |sum| |tau| / sigma
        bound = self.others * (self.spread * inverse).max() + np.abs(sums) * (np.abs(tau) * inverse).max()
        draws = np.take_along_axis(self.products, self.largest, axis=1)
        draws -= sums[:, None] * tau[self.largest]
        draws *= inverse[self.largest]
        maxima = np.abs(draws, out=draws).max(axis=1)
        for i in np.flatnonzero(maxima < bound):
            maxima[i] = np.abs((self.products[i] - sums[i] * tau) * inverse).max()
        lengths = np.sqrt(np.einsum("ij,ij->i", self.multipliers, self.multipliers) * len(code) - sums**2)
        return (maxima / lengths)[:, None]


@dataclass(frozen=True)
class MultiplierBootstrap:
    """Simultaneous coverage by the Gaussian multiplier bootstrap.

    Without draws, or with too few for the level, the factors are those of the union bound.
    """

    confidence: float
    n_draws: int
    seed: int
    shared: SharedDraws | None = field(default=None, repr=False, compare=False)

    def sharing(self, sample: MomentSample) -> MultiplierBootstrap:
        """The same rule for other labellings of this sample; for its own labels with the same draws.

        As it is where labellings have nothing to share: other codings, units that weigh differently, or very
        many features.
        """
        weights = sample.units.noise[sample.units.noise > 0.0]
        n = sample.units.noise.shape[1]
        is_alike = sample.units.shares is None and len(weights) == n and np.ptp(weights) == 0.0
        if sample.coding.name != "signed" or not is_alike or self.n_draws * sample.tau.size > MOST_SHARED:
            return self
        label, instance = np.nonzero(sample.units.p_hat)
        drawn = np.random.default_rng(self.seed).standard_normal((self.n_draws, n))
        multipliers = np.empty_like(drawn)
        multipliers[:, instance] = np.sqrt(weights[0]) * drawn * sample.coding.matrix[0][label]
        return replace(self, shared=SharedDraws.of(multipliers, sample.features.correlate(multipliers)))

    def radii(self, sample: MomentSample) -> Radii:
        level, intercept_level = split_level(self.confidence, has_intercept=sample.scale.has_intercept)
        tail = union_bound_tail(sample, level)
        factors = sample.student_factors(tail)
        draws = Draws.of(sample)
        are_drawn = ~sample.blocks_are_small & (draws.n_dimensions >= FEWEST_OF_CLASS)
        # The other blocks have the union bound, and their share of what may be missed.
        of_all = sample.n_features_varying / max(1, int(sample.n_features_varying.sum()))
        drawn_level = 1.0 - (1.0 - level) * float(of_all[are_drawn].sum())
        # As many draws as this or fewer lie below the quantile, with the probability asked for.
        n_below = int(stats.binom.ppf(SURE_OF_QUANTILE, self.n_draws, drawn_level))
        # Where all of them may, they are too few to tell, and the union bound stands.
        if are_drawn.any() and n_below < self.n_draws:
            cosines = self._cosines(draws) if self.shared is None else self.shared.cosines(sample)
            rarest = draws.tails(cosines)[:, are_drawn].min(axis=1)
            tail = max(tail, float(np.sort(rarest)[self.n_draws - 1 - n_below]))
            factors = np.where(are_drawn, sample.student_factors(tail), factors)
        lam = multiples_of_standard_errors(sample, factors, intercept_level=intercept_level)
        # The coverage is reported for the observed labelling only.
        remarks = broken_assumptions(sample, tail) if self.shared is None else ()
        return Radii(lam, factors, remarks, self.seed)

    def _cosines(self, draws: Draws) -> FloatArray:
        """Draws of T*, the same ones for any number of processes."""
        random, pieces = np.random.default_rng(self.seed), []
        size = min(DRAWS_PER_PIECE, max(1, BLOCK_ELEMENTS // draws.n_units))
        for start in range(0, self.n_draws, size):
            pieces.append((deepcopy(random), min(size, self.n_draws - start)))
            random.standard_normal((pieces[-1][1], draws.n_units))  # where the next piece goes on
        return np.concatenate(parallel_map(draws, pieces))


@dataclass(frozen=True)
class Draws:
    """From random numbers to draws of T*; an object that can be sent to other processes."""

    features: Standardised
    tau: FloatArray
    inverse: FloatArray  # 1 / sigma, zero where there is none
    root_weight: FloatArray  # of the sum of a sample's multipliers
    coded: list[sparse.csr_array]  # from multipliers of samples to weights of instances, once per block
    label: IntArray | None  # of each sample, where a block is that of one class

    @classmethod
    def of(cls, sample: MomentSample) -> Draws:
        p_hat = sample.units.p_hat
        label, instance = np.nonzero(p_hat)
        shape = p_hat.shape[1], len(label)
        place = sparse.csr_array((np.ones(len(label)), (instance, np.arange(len(label)))), shape=shape)
        return cls(
            sample.features,
            sample.tau,
            _inverse_deviations(sample),
            np.sqrt(sample.units.noise[label, instance]),
            [place @ sparse.diags_array(code[label]) for code in sample.coding.matrix],
            label if sample.coding.n_blocks > 1 else None,
        )

    @property
    def n_units(self) -> int:
        return len(self.root_weight)

    @property
    def n_dimensions(self) -> IntArray:
        """Of the space in which the deviations of each block lie (B)."""
        if self.label is None:
            return np.array([self.n_units - 1])
        return np.bincount(self.label, minlength=len(self.tau))

    def __call__(self, piece: tuple[np.random.Generator, int]) -> FloatArray:
        random, n_draws = piece
        e = random.standard_normal((n_draws, self.n_units))
        multipliers = self.root_weight * e
        weights = np.stack([(matrix @ multipliers.T).T for matrix in self.coded], axis=1)
        largest = self.features.largest_deviations(weights, multipliers.sum(axis=1), self.tau, self.inverse)
        return largest / self.lengths(e)

    def lengths(self, e: FloatArray) -> FloatArray:
        """Of the multipliers within those spaces (draws x B).

        With the signed coding all that is orthogonal to the weights' roots; in a block of one class what is
        so among its samples, and the direction in which the frequency of the class changes.
        """
        if self.label is None:
            return np.sqrt(np.sum(e * e, axis=1) - (e @ self.root_weight) ** 2)[:, None]
        is_of_class = np.eye(len(self.tau))[self.label]
        share, along = self.root_weight**2 @ is_of_class, e @ (self.root_weight[:, None] * is_of_class)
        between = along - along.sum(axis=1, keepdims=True) * share
        lengths: FloatArray = np.sqrt(
            (e * e) @ is_of_class - along**2 / share + between**2 / (share * (1.0 - share))
        )
        return lengths

    def tails(self, cosines: FloatArray) -> FloatArray:
        """With which probability a component of each block has so large a cosine (draws x B)."""
        degrees = np.maximum(self.n_dimensions - 1.0, 1.0)
        tangents = np.sqrt(degrees) * cosines / np.sqrt(np.maximum(1.0 - cosines**2, np.finfo(float).eps))
        return np.asarray(stats.t.sf(tangents, degrees))


def _inverse_deviations(sample: MomentSample) -> FloatArray:
    """1 over sigma (B x d), zero where nothing varies and for the intercept, which has limits of its own."""
    varies = sample.sigma > 0.0
    varies[:, : sample.scale.n_leading] = False
    return np.divide(1.0, sample.sigma, out=np.zeros_like(sample.sigma), where=varies)
