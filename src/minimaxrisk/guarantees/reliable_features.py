r"""How many features of any list are related to the class, with a stated confidence.

A feature is unrelated if its values are independent of the labels, jointly with all other unrelated features
and within the strata. The test statistic of a feature is the F statistic of one-way analysis of variance,
adjusted for the strata (for two classes it is the square of Student's t), and p_j is its p-value under normal
errors, or 1 if it is above 1/4. Let p_(k) be the k-th smallest p-value of the d features, and

    T = min over k of d p_(k) / k.

Let l be the (1 + floor(alpha (B + 1)))-th smallest value of T among the observed labels and B permutations.
Let T_0 be T of the unrelated features alone. Permuting labels does not change the joint distribution of
unrelated features and labels, so at most a share alpha of all data have an observed T_0 below the same order
statistic of T_0. Leaving out features only makes T larger, so that order statistic is at least l. Therefore,
with probability at least 1 - alpha, for every k at once fewer than k unrelated features have p < l k / d.

On this event at most a_j = floor(d p_j / l) unrelated features have a p-value up to p_j. Sort the a_j of a
list, a_(1) <= a_(2) <= ... Of its first i features at most a_(i) are unrelated, so the list has at least
max over i of i - a_(i) related features. This holds for all lists at once, so the list may be chosen from the
same data. The F distribution only gives p_j its shape: the confidence follows from the permutations.

References
----------
G. Blanchard, P. Neuvial, E. Roquain, "Post hoc confidence bounds on false positives using reference
families", Annals of Statistics 48, 2020.
J. Hemerik, A. Solari, J. Goeman, "Permutation-based simultaneous confidence bounds for the false discovery
proportion", Biometrika 106, 2019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.special import betainc, betaincinv
from sklearn.impute import SimpleImputer

from minimaxrisk._utils.arguments import check_confidence, check_positive_integer
from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.rounding import at_least
from minimaxrisk.samples.columns import check_table, columns_of_frame
from minimaxrisk.samples.label_permutations import ExchangeableLabels
from minimaxrisk.samples.labels import check_labels
from minimaxrisk.samples.parts import checked_positions

# Relative error of sums, and so of p-values of one labelling that are computed twice.
ROUNDING = 1e-9
# A feature whose variance is a smaller share of its mean square is constant. A sparse matrix is not centred.
CONSTANT, CONSTANT_IF_SPARSE = 1e-24, 1e-12
# Larger p-values count as 1. A feature counts in a list only if its p-value is below l, which is about alpha.
LARGEST_P = 0.25
# P-values that are computed together, 32 MB.
P_VALUES_AT_A_TIME = 1 << 22


@dataclass(frozen=True)
class ReliableFeatures:
    """How many features of a list are related to the class; ``reliable_features`` returns it.

    Attributes
    ----------
    value : int
        With probability at least ``confidence``, at least this many features of the list are related to the
        class.
    features : ndarray of int
        The columns in the list.
    confidence : float
        The probability with which ``value`` and ``at_least`` of all other lists hold at once.
    n_features : int
        Number of columns of X.
    n_permutations : int
        Number of permuted labellings.
    unrelated_limits : ndarray of shape (n_features,)
        For each column an upper confidence bound on the number of unrelated columns whose p-value is not
        larger.
    feature_names : tuple
        Names of the columns; empty if X had none.
    """

    value: int
    features: IntArray = field(repr=False)
    confidence: float
    n_features: int
    n_permutations: int
    unrelated_limits: IntArray = field(repr=False)
    feature_names: tuple[Any, ...] = field(repr=False, default=())

    def at_least(self, features: Any) -> int:
        """Return how many features of another list are related to the class, at least.

        Parameters
        ----------
        features : array-like of int, bool or str, or None
            Columns by position, as a mask or by name. None is all columns. The list may be chosen from the
            data.

        Returns
        -------
        int
            A lower confidence bound. It holds for all lists at once.
        """
        return _n_related(self.unrelated_limits[columns_in(features, self.n_features, self.feature_names)])

    @property
    def statement(self) -> str:
        """The bound as a sentence."""
        return (
            f"With probability at least {at_least(self.confidence, '.3g')}, at least {self.value} of these "
            f"{len(self.features)} features are related to the class. The statement is valid for every list "
            "of features, even if the list was chosen from the same data."
        )

    def __int__(self) -> int:
        return self.value

    def __str__(self) -> str:
        return self.statement


def reliable_features(
    X: Any,
    y: Any,
    features: Any = None,
    *,
    groups: Any = None,
    strata: Any = None,
    confidence: float = 0.95,
    n_permutations: int = 499,
    random_state: Any = None,
) -> ReliableFeatures:
    """Bound from below how many features of a list are related to the class.

    The bound holds for all lists at once. The list may therefore come from a model that was fitted on the
    same data, and ``at_least`` of the result takes any number of further lists.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Instances. A missing value (NaN) counts as the mean of its column.
    y : array-like of shape (n_samples,)
        Their labels, of two or more classes.
    features : array-like of int, bool or str, or None, default=None
        The list: columns by position, as a mask, or by name. None is all columns.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples with the same entry, such as measurements of one patient, are not independent. A group whose
        samples share a label counts as one sample, with the mean of its rows. In a group with several labels,
        such as tumour and normal tissue of one patient, labels are exchanged within the group.
    strata : array-like of shape (n_samples,) or None, default=None
        Labels are exchanged only among samples with the same entry, such as those of one hospital. Features
        are compared within strata.
    confidence : float, default=0.95
        The probability with which the bounds of all lists hold at once.
    n_permutations : int, default=499
        Number of permuted labellings. The confidence is exact for any number; a larger number makes the
        bounds depend less on ``random_state``.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.

    Returns
    -------
    ReliableFeatures
        The bound for the list, and ``at_least`` for other lists.

    Raises
    ------
    ValueError
        If y has a single class, if samples of one group lie in different strata, or if an argument is not
        valid.

    See Also
    --------
    permutation_test : Tests whether any signal is in the data.

    Notes
    -----
    A feature is unrelated if its values are independent of the labels (within the strata). The confidence is
    exact for any dependence among features, if the samples (or groups) are independent. A feature that is
    correlated with a marker is related to the class as well.

    With fewer than ``1 / (1 - confidence)`` different labellings, such as with three samples of each of two
    classes, the bound is 0.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskSelector, reliable_features
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(60, 500, n_informative=10, effect=1.5, random_state=0)
    >>> selector = MinimaxRiskSelector(max_features=10).fit(study.data, study.target)
    >>> listed = selector.get_support(indices=True)
    >>> found = reliable_features(study.data, study.target, listed, random_state=0)
    >>> found.value, found.at_least(listed[:5])
    (8, 5)
    """
    check_confidence(confidence)
    check_positive_integer("n_permutations", n_permutations)
    y = check_labels(X, y, groups=groups, strata=strata)
    names = tuple(columns_of_frame(X)[0])
    values = check_table(X)
    listed = columns_in(features, values.shape[1], names)
    labels = ExchangeableLabels.check(y, groups, strata)
    if not labels.strata:
        raise ValueError(f"y must hold at least 2 classes, got 1 class: {y.tolist()[0]!r}.")
    test = _VarianceTest.of(values, y, labels)
    limits = unrelated_limits(test, list(labels.orders_of_units(n_permutations, random_state)), confidence)
    return ReliableFeatures(
        value=_n_related(limits[listed]),
        features=listed,
        confidence=float(confidence),
        n_features=len(limits),
        n_permutations=int(n_permutations),
        unrelated_limits=limits,
        feature_names=names,
    )


def columns_in(features: Any, n_features: int, names: tuple[Any, ...]) -> IntArray:
    """Return the distinct columns in a list of positions or names or a mask, in ascending order."""
    if features is None:
        return np.arange(n_features)
    listed = np.asarray(features)
    if listed.ndim == 1 and len(listed) == 0:
        return np.zeros(0, dtype=np.intp)
    if listed.ndim == 1 and listed.dtype.kind in "OUT":
        position = {name: j for j, name in enumerate(names)}
        unknown = [name for name in listed.tolist() if name not in position]
        if unknown:
            raise ValueError(f"features has {unknown[0]!r}, which is not the name of a column of X.")
        listed = np.array([position[name] for name in listed.tolist()])
    expected = f"a list of column positions or names, or a mask of the {n_features} columns"
    return np.unique(
        checked_positions(listed, n_features, argument="features", expected=expected, kind="columns")
    )


def unrelated_limits(test: _VarianceTest, orders: Sequence[IntArray], confidence: float) -> IntArray:
    """Return a_j of all features, from some permutations of the units' labels."""
    orders = [np.arange(len(test.basis)), *orders]  # the observed labels first
    n_at_a_time = max(1, P_VALUES_AT_A_TIME // test.n_features)
    share_of_rank = np.arange(1, test.n_features + 1) / test.n_features
    smallest = []
    for first in range(0, len(orders), n_at_a_time):
        p = np.sort(test.p_values(orders[first : first + n_at_a_time]), axis=1)
        smallest.append((p / share_of_rank).min(axis=1))
    # Without the factor (1 - 0.9) * 10 would be a little less than 1.
    n_allowed = math.floor((1.0 - confidence) * len(orders) * (1.0 + ROUNDING))
    level = np.sort(np.concatenate(smallest))[n_allowed] * (1.0 - ROUNDING)
    if level == 0.0:
        return np.full(test.n_features, test.n_features)
    limits = np.floor(test.p_values(orders[:1])[0] * test.n_features / level)
    return limits.clip(max=test.n_features).astype(np.intp)


def _n_related(limits: IntArray) -> int:
    """Return the maximum over i of i - a_(i), or 0."""
    return int(np.max(np.arange(1, len(limits) + 1) - np.sort(limits), initial=0))


@dataclass(frozen=True)
class _VarianceTest:
    """Analysis of variance of all features, for any order of the labels.

    Let Q be an orthonormal basis of the class indicators, and z a feature, both without their means in the
    strata. The classes explain the share |Q' z|^2 / |z|^2 of the variance. An order of the labels permutes
    the rows of Q.
    """

    units: IntArray  # those whose labels can move
    values: DataMatrix  # of these units; a dense array is without its means in the strata
    squares: FloatArray  # of each feature around its means in the strata; 0 if the feature is constant
    basis: FloatArray  # Q, with a row for every unit
    freedom_within: int

    @classmethod
    def of(cls, X: DataMatrix, y: np.ndarray, labels: ExchangeableLabels) -> _VarianceTest:
        units = np.concatenate(labels.strata)
        stratum = _indicators(np.repeat(np.arange(len(labels.strata)), [len(own) for own in labels.strata]))
        values, squares = _without_means(_means_of_units(X, labels.unit_of_row)[units], stratum)
        classes = _indicators(np.unique(y[labels.row_of_unit[units]], return_inverse=True)[1]).toarray()
        of_units = linalg.orth(classes - stratum @ _means(stratum, classes))
        basis = np.zeros((len(labels.row_of_unit), of_units.shape[1]))
        basis[units] = of_units
        freedom = len(units) - len(labels.strata) - of_units.shape[1]
        return cls(units, values, squares, basis, max(1, freedom))

    @property
    def n_features(self) -> int:
        return self.values.shape[1]

    def p_values(self, orders: Sequence[IntArray]) -> FloatArray:
        """Return the p-values of all features for some orders of the labels (orders x features)."""
        bases = np.stack([self.basis[order[self.units]] for order in orders])
        n_orders, n_units, freedom = bases.shape
        products = bases.transpose(0, 2, 1).reshape(-1, n_units) @ self.values
        explained = (products**2).reshape(n_orders, freedom, -1).sum(axis=1)
        explained /= np.where(self.squares > 0.0, self.squares, np.inf)
        unexplained = np.clip(1.0 - explained, 0.0, 1.0)
        freedoms = self.freedom_within / 2, freedom / 2
        is_small = unexplained < betaincinv(*freedoms, LARGEST_P)
        p = np.ones_like(unexplained)
        p[is_small] = betainc(*freedoms, unexplained[is_small])
        return p


def _means_of_units(X: DataMatrix, unit_of_row: IntArray) -> DataMatrix:
    """Return the mean of the rows of each unit, with missing values filled and the largest value 1."""
    if np.isnan(X.data if sparse.issparse(X) else X).any():
        X = SimpleImputer(keep_empty_features=True).fit_transform(X)
    X = sparse.csr_array(X, dtype=np.float64) if sparse.issparse(X) else X.astype(np.float64)
    largest = abs(X).max(axis=0)
    largest = largest.toarray() if sparse.issparse(largest) else largest
    X = X @ sparse.diags_array(1.0 / np.where(largest > 0.0, largest, 1.0))
    unit = _indicators(unit_of_row)
    return X if unit.shape[0] == unit.shape[1] else _means(unit, X)


def _without_means(values: DataMatrix, stratum: sparse.csr_array) -> tuple[DataMatrix, FloatArray]:
    """Return the values for products with contrasts within strata, and their squares within strata."""
    means = _means(stratum, values)
    if sparse.issparse(values):
        total = values.power(2).sum(axis=0)
        squares = total - stratum.sum(axis=0) @ means.power(2)
        return values, np.where(squares > CONSTANT_IF_SPARSE * total, squares, 0.0)
    total = (values**2).sum(axis=0)
    values = values - stratum @ means
    squares = (values**2).sum(axis=0)
    return values, np.where(squares > CONSTANT * total, squares, 0.0)


def _indicators(codes: IntArray) -> sparse.csr_array:
    """Return a row for each entry, with 1 in the column of its code."""
    n = len(codes)
    return sparse.csr_array((np.ones(n), (np.arange(n), codes)), shape=(n, int(codes.max()) + 1))


def _means(of: sparse.csr_array, values: DataMatrix) -> DataMatrix:
    """Return the mean of the values of each code."""
    return sparse.diags_array(1.0 / of.sum(axis=0)) @ (of.T @ values)
