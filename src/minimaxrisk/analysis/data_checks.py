"""Samples that are copies of others, exactly or nearly: what is learned from one is known of the other.

Whether the batch of a sample can be told from the columns that a model uses.

Samples that were measured on different days or in different hospitals differ for that reason alone. Where
the batch goes with the class, such differences pass for differences between classes. Two questions tell how
far: how the classes are spread over the batches, and whether a classifier finds the batch from the selected
columns. The second one is asked by cross-validation, and its errors are held against those of naming the most
common batch of the sample's class: what is known of the batch without looking at any column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse, stats

from minimaxrisk._utils.arguments import check_n_folds
from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk.analysis.cross_validation import cross_validated_error
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.features.dense import column_blocks, rescale_in_place
from minimaxrisk.guarantees.posed_fit import check_classes, check_model, training_data_of
from minimaxrisk.samples.validation import codes_of_groups

# How many columns of decimals make it unlikely that rows are equal by chance.
FEW = 20
# Of fewer columns, or in smaller classes, distinct samples come as close as noisy copies do. Tables of the
# distances in larger ones take seconds, and hundreds of megabytes.
WIDE, ENOUGH, MOST = 50, 10, 2000
# Squared distances, in shares of the usual one. In the data sets of the paper and their stand-ins no two
# samples are below 0.32; copies with noise of a fifth of each column's deviation are below 0.1.
NEAR, FAR = 0.1, 0.3
# Where so many pairs lie between these, for each one that is near, there is no gap that tells copies apart:
# samples fill few dimensions, and some are close to others by chance.
BETWEEN = 0.2


@dataclass(frozen=True)
class NearCopy:
    """Two rows, the first one first, and their distance as a share of the usual one."""

    first: int
    second: int
    share: float


def exact_copies(X: DataMatrix) -> list[tuple[int, int]]:
    """Pairs of rows that hold the same measurements, the first of them once for each of its copies.

    Rows of few columns, or of whole numbers, may well be equal by chance.
    """
    if sparse.issparse(X) or X.shape[1] < FEW:
        return []
    first: dict[bytes, int] = {}
    found = []
    for i, row in enumerate(X):
        j = first.setdefault(row.tobytes(), i)
        if j != i and (row != np.trunc(row)).sum() >= FEW:
            found.append((j, i))
    return found


def near_copies(X: DataMatrix, y: np.ndarray, groups: np.ndarray | None = None) -> list[NearCopy]:
    """Pairs of a class that are much closer than its samples usually are, the closest first.

    Columns are standardised; those with gaps are left aside. What is usual is the distance within which
    a sample has a quarter of its class: for both samples of a pair, and the smaller one counts. So classes
    that are far apart, or differ in how much they vary, do not make their samples look alike, and neither
    do a few copies. Pairs of one group are known to belong together and are not looked at.
    """
    if sparse.issparse(X) or X.shape[1] < WIDE:
        return []
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    members = [rows for rows in members if ENOUGH <= len(rows) <= MOST]
    found: list[NearCopy] = []
    for rows, product in zip(members, _products(X, members), strict=True):
        apart = np.triu(np.ones(product.shape, dtype=bool), 1)
        if groups is not None:
            apart &= groups[rows][:, None] != groups[rows]
        found += _of_class(rows, product, apart)
    return sorted(found, key=lambda pair: pair.share)


def _products(X: FloatArray, members: list[IntArray]) -> list[FloatArray]:
    """Scalar products of the standardised rows of each class; zeros, if few columns vary."""
    n, d = X.shape
    products = [np.zeros((len(rows), len(rows))) for rows in members]
    n_varying = 0
    for columns in column_blocks(d, n) if members else ():
        block = X[:, columns]
        block = block[:, np.isfinite(block).all(axis=0)]
        rescale_in_place(block, np.full(n, 1.0 / n), centre=True)
        n_varying += int(np.count_nonzero(block.any(axis=0)))
        for k, rows in enumerate(members):
            part = block[rows]
            products[k] += part @ part.T
    return products if n_varying >= WIDE else [np.zeros_like(product) for product in products]


def _of_class(rows: IntArray, product: FloatArray, apart: np.ndarray) -> list[NearCopy]:
    squares = np.diag(product)
    distance = np.maximum(squares[:, None] + squares - 2.0 * product, 0.0)
    np.fill_diagonal(distance, np.inf)
    rank = (len(rows) - 1) // 4
    usual = np.partition(distance, rank, axis=1)[:, rank]
    usual = np.minimum(usual[:, None], usual)
    near = apart & (distance < NEAR * usual)
    between = apart & ~near & (distance < FAR * usual)
    if between.sum() > BETWEEN * near.sum():
        return []
    return [
        NearCopy(int(rows[i]), int(rows[j]), float(np.sqrt(distance[i, j] / usual[i, j])))
        for i, j in np.argwhere(near)
    ]


# Fewer errors than the most common batch of each class would make only with this probability by chance.
TELLING = 0.01
MOST_SHOWN = 6


@dataclass(frozen=True)
class BatchCheck:
    """Outcome of ``check_batches``.

    Printed, it says all of it in words.

    Attributes
    ----------
    batches : ndarray of shape (n_batches,)
        Names of the batches.
    classes : ndarray of shape (n_classes,)
        The labels.
    counts : ndarray of int of shape (n_batches, n_classes)
        Samples by batch and class.
    n_wrong : int or None
        Samples whose batch was not found from the selected columns when they were left out; None where that
        could not be asked, for the reason in ``skipped``.
    n_wrong_majority : int
        Those that naming the most common batch gets wrong.
    n_wrong_by_class : int
        Those that naming the most common batch of the sample's class gets wrong.
    skipped : str or None
        Why the batch was not looked for.
    """

    batches: np.ndarray
    classes: np.ndarray
    counts: IntArray
    n_wrong: int | None
    n_wrong_majority: int
    n_wrong_by_class: int
    skipped: str | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples, of all batches and classes."""
        return int(self.counts.sum())

    @property
    def is_confounded(self) -> bool:
        """Whether every batch holds one class only, so that nothing can tell the two apart."""
        return bool(((self.counts > 0).sum(axis=1) == 1).all())

    @property
    def is_predictable(self) -> bool:
        """Whether the columns tell more of the batch than the class does.

        By the chance that as few errors would come of independent trials with the error of the class.
        """
        if self.n_wrong is None or self.n_wrong_by_class == 0:
            return False
        share = self.n_wrong_by_class / self.n_samples
        return bool(stats.binom.cdf(self.n_wrong, self.n_samples, share) < TELLING)

    @property
    def statement(self) -> str:
        """The outcome in words."""
        return " ".join([self._described(), self._tested()])

    def __str__(self) -> str:
        return self.statement

    def _described(self) -> str:
        shown = [
            f"{batch}: " + ", ".join(f"{label} {n}" for label, n in zip(self.classes, row, strict=True))
            for batch, row in zip(self.batches[:MOST_SHOWN], self.counts, strict=False)
        ]
        more = f"; and {len(self.batches) - MOST_SHOWN} more" if len(self.batches) > MOST_SHOWN else ""
        said = f"{len(self.batches)} batches ({'; '.join(shown)}{more})."
        if self.is_confounded:
            said += (
                " EVERY BATCH HOLDS ONE CLASS ONLY: what was learned may be the difference between batches, "
                "and nothing in these data can tell."
            )
        return said

    def _tested(self) -> str:
        if self.n_wrong is None:
            return f"Whether the selected columns tell the batch was not asked: {self.skipped}."
        n = self.n_samples
        errors = (
            f"from the selected columns {self.n_wrong} of {n} batches are named wrongly in cross-validation, "
            f"where the most common batch is wrong for {self.n_wrong_majority} and the most common batch of "
            f"the sample's class for {self.n_wrong_by_class}"
        )
        if self.is_predictable:
            return (
                f"The batch can be told from the selected columns: {errors}. Part of what they show is the "
                "batch; correct for it, or see whether the result holds within each batch."
            )
        if self.is_confounded:
            return f"As the class tells the batch, so do the selected columns: {errors}."
        return f"No sign that the selected columns tell more of the batch than the class does: {errors}."


def check_batches(
    model: Any,
    X: Any,
    y: Any,
    batch: Any,
    *,
    groups: Any = None,
    n_folds: int = 5,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> BatchCheck:
    """Describe batches, and see whether they can be told from the columns that a model uses.

    Parameters
    ----------
    model : MinimaxRiskClassifier
        A fitted classifier.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The instances that it was fitted on.
    y : array-like of shape (n_samples,)
        Their labels.
    batch : array-like of shape (n_samples,)
        The batch of each sample.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples of one patient stay in one fold, where they are in one batch.
    n_folds : int, default=5
        Folds of the cross-validation by which the batch is looked for.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds.
    n_jobs : int or None, default=None
        Processes among which the folds are shared, as in joblib.

    Returns
    -------
    BatchCheck
        Counts by batch and class, errors at finding the batch, and both in words.

    Raises
    ------
    ValueError
        If ``batch`` has fewer than two different entries.

    See Also
    --------
    permutation_test : With the batches as ``strata``, labels are exchanged within batches only.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskClassifier, check_batches
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(60, 100, n_informative=10, effect=1.5, random_state=0)
    >>> model = MinimaxRiskClassifier().fit(study.data, study.target)
    >>> day = ["Monday", "Tuesday"] * 30
    >>> check_batches(model, study.data, study.target, day).is_predictable
    False
    """
    check_model(model)
    check_n_folds(n_folds)
    data = training_data_of(model, X, y)
    check_classes(model, data)
    codes = codes_of_groups(batch, len(data.labels), argument="batch")
    names = np.asarray(batch)[np.unique(codes, return_index=True)[1]].astype(str)
    if len(names) < 2:
        raise ValueError(f"batch must tell at least 2 batches apart, got only {names[0]!r}.")
    counts = np.zeros((len(names), len(data.classes)), dtype=np.intp)
    np.add.at(counts, (codes, data.labels), 1)
    kept = groups if groups is not None and _are_constant_within(groups, codes) else None
    skipped = _reason_to_skip(model, codes, kept)
    n_wrong = None
    if skipped is None:
        columns = data.X[:, model.selected_features_]
        with quiet_fits():
            of_batch = MinimaxRiskClassifier(standardize=model.standardize).fit(columns, codes)
        n_wrong = cross_validated_error(
            of_batch, columns, codes, n_folds=n_folds, groups=kept, random_state=random_state, n_jobs=n_jobs
        ).n_wrong
    n = len(codes)
    return BatchCheck(
        batches=names,
        classes=data.classes,
        counts=counts,
        n_wrong=n_wrong,
        n_wrong_majority=n - int(counts.sum(axis=1).max()),
        n_wrong_by_class=n - int(counts.max(axis=0).sum()),
        skipped=skipped,
    )


def _reason_to_skip(model: Any, codes: IntArray, groups: Any) -> str | None:
    if not len(model.selected_features_):
        return "the model selected none"
    unit = np.arange(len(codes)) if groups is None else codes_of_groups(groups, len(codes))
    if np.bincount(codes[np.unique(unit, return_index=True)[1]]).min() < 2:
        kind = "sample" if groups is None else "group of samples"
        return f"a batch has a single {kind}, which cannot be used both to train and to test"
    return None


def _are_constant_within(groups: Any, codes: IntArray) -> bool:
    unit = codes_of_groups(groups, len(codes))
    first = np.unique(unit, return_index=True)[1]
    return bool((codes == codes[first][unit]).all())
