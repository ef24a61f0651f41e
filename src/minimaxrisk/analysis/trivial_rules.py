"""Rules on one number a sample, beside a model: its mean, its spread, its zeros, its place in the file.

Such a number says how a sample was measured, prepared or filed. Where a threshold on it tells a class from
the others as well as the model does, the model may have learned no more than that. The same goes for columns
that all differ between classes by one amount or factor, as units, backgrounds and depths do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse, stats
from sklearn.model_selection import StratifiedKFold

from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray, IntArray
from minimaxrisk.analysis.contrasts import Contrasts
from minimaxrisk.analysis.scales import FEWEST_COLUMNS, FEWEST_SAMPLES, LOOKED_AT, trimmed

MEAN, SPREAD = "mean of a sample", "spread of a sample"
ZEROS, MISSING = "share of zeros in a sample", "share of missing values in a sample"
LINE, NAME = "line of a sample in the file", "alphabetical order of sample names"
NUMBER = "number in the name of a sample"
# A rule counts if so few errors are less probable than this were it no better than the most common class,
# and if it does not err more often than the model at this level. Several numbers are tried, so the
# first is small: with 1e-3 the share of zeros was held against one of 95 halves of the paper's data sets.
BY_CHANCE, WORSE = 1e-4, 0.1
# An order counts if the model's scores follow it within the classes too, so clearly: files are often sorted.
FOLLOWS, SMALLEST_CORRELATION = 1e-3, 0.3
# Differences of columns are even if their standard deviation is below this share of their mean, and the means
# of samples differ at this level. Where these differ, the paper's data sets and halves of them, raw and in
# logarithms, have 0.51 or more (GLIOMA, with 0.36 between two of its classes) and the others 1.5 or more; a
# depth of 1.8 or a shift by 1 in shuffled ones has at most 0.43. Fewer columns may be a panel of genes that
# act together, so these are a question and no veto.
EVEN, SHIFTED, FEWEST_EVEN = 0.45, 0.01, 500
N_FOLDS = 10
MOST_COLUMNS = 5000  # of these the numbers of a sample are taken
# Cells of a sample that differ by less, in number and share of the columns, are no difference.
FEW_CELLS, SMALL_SHARE = 3, 0.01
DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class TrivialRule:
    """A threshold on one number that tells a class from all others, and its left-out errors."""

    number: str
    position: int  # of the class
    n_wrong: int
    n_wrong_of_model: int | None  # the same class against all others; None where no model is known
    n_samples: int


@dataclass(frozen=True)
class EvenDifference:
    """Columns that differ between a class and the others by about the same amount, or factor."""

    position: int  # of the class
    amount: float
    is_factor: bool
    n_columns: int

    def __str__(self) -> str:
        return f"factor, {self.amount:.2g}" if self.is_factor else f"amount, {abs(self.amount):.2g}"

    @property
    def is_higher(self) -> bool:
        return self.amount > float(self.is_factor)

    def reversed(self) -> EvenDifference:
        """The other one of two classes beside this one."""
        amount = 1.0 / self.amount if self.is_factor else -self.amount
        return replace(self, position=1 - self.position, amount=amount)


def sample_numbers(X: DataMatrix) -> dict[str, FloatArray]:
    """Numbers that tell how a sample was measured; none of few columns, whose mean may be a measurement."""
    n, d = X.shape
    if n < FEWEST_SAMPLES or d < FEWEST_COLUMNS:
        return {}
    if sparse.issparse(X):
        size, n_stored = np.asarray(abs(X).sum(axis=1)).ravel(), np.diff(X.tocsr().indptr)
        return {ZEROS: _coarse(d - n_stored, d), MEAN: size / d}
    if d > MOST_COLUMNS:
        X, d = X[:, np.linspace(0, d - 1, MOST_COLUMNS).astype(np.intp)], MOST_COLUMNS
    mean, spread = trimmed(X)
    step = max(1, LOOKED_AT // d)
    blocks = [X[start : start + step] for start in range(0, n, step)]
    zeros = np.concatenate([np.count_nonzero(rows == 0.0, axis=1) for rows in blocks])
    missing = np.concatenate([np.count_nonzero(np.isnan(rows), axis=1) for rows in blocks])
    return {MISSING: _coarse(missing, d), ZEROS: _coarse(zeros, d), MEAN: mean, SPREAD: spread}


def _coarse(counts: IntArray, d: int) -> FloatArray:
    """Counts of cells, where one column more or less makes no difference."""
    return np.asarray(np.floor(counts / max(FEW_CELLS, SMALL_SHARE * d)))


def sample_orders(sample_names: Sequence[str]) -> dict[str, FloatArray]:
    """Orders of the samples: in the file, by name, and by the longest number in each name."""
    names = [str(name) for name in sample_names]
    orders = {LINE: np.arange(len(names), dtype=np.float64)}
    orders[NAME] = np.unique(names, return_inverse=True)[1].astype(np.float64)
    digits = [max(DIGITS.findall(name), key=len, default="") for name in names]
    if all(digits):
        orders[NUMBER] = np.array([float(number) for number in digits])
    return orders


def explaining_number(
    numbers: Mapping[str, FloatArray], own: IntArray, predicted: IntArray | None = None
) -> TrivialRule | None:
    """The number that tells a class as well as the model; without a model as well as one that never errs."""
    found = [rule for name, values in numbers.items() for rule in _rules(name, values, own, predicted)]
    return min(found, key=lambda rule: rule.n_wrong / rule.n_samples, default=None)


def explaining_order(
    orders: Mapping[str, FloatArray], own: IntArray, predicted: IntArray, scores: FloatArray
) -> TrivialRule | None:
    """The order that tells a class as well as the model, and that its left-out scores follow within classes.

    A file that is sorted by class says nothing. A drift of the values along it does.
    """
    for name, values in orders.items():
        for rule in _rules(name, values, own, predicted):
            of_class = scores if scores.ndim == 1 else scores[:, rule.position]
            if _follows(of_class, values, own, level=FOLLOWS / (1 if scores.ndim == 1 else scores.shape[1])):
                return rule
    return None


def even_difference(X: FloatArray, own: IntArray, contrasts: Contrasts) -> EvenDifference | None:
    """Whether all columns differ by about the same amount or factor; biology moves each in its own way."""
    mean = X.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_mean = np.log2(mean)
    found: list[tuple[float, EvenDifference]] = []
    for row, k in enumerate(contrasts.labels.tolist()):
        kinds = ((contrasts.difference[row], mean, False), (contrasts.log2_ratio[row], log_mean, True))
        for differences, of_sample, is_factor in kinds:
            known = differences[np.isfinite(differences)]
            if len(known) < max(FEWEST_COLUMNS, len(differences) / 2) or not np.isfinite(of_sample).all():
                continue
            middle = float(known.mean())
            uneven = float(known.std()) / abs(middle) if middle else np.inf
            if uneven >= EVEN:
                continue
            p = stats.ttest_ind(of_sample[own == k], of_sample[own != k], equal_var=False).pvalue
            if p < SHIFTED / len(contrasts.labels):
                amount = 2.0**middle if is_factor else middle
                found.append((uneven, EvenDifference(k, amount, is_factor, len(known))))
    if not found:
        return None
    even = min(found, key=lambda one: one[0])[1]
    return even if even.is_higher or len(contrasts.labels) > 1 else even.reversed()


def _rules(name: str, values: FloatArray, own: IntArray, predicted: IntArray | None) -> list[TrivialRule]:
    """The rules on a number that count, for one class after the other; of two classes there is one."""
    if not np.isfinite(values).all() or not np.ptp(values):
        return []
    n, sizes, found = len(own), np.bincount(own), []
    for k in [1] if len(sizes) == 2 else range(len(sizes)):
        is_own = own == k
        smaller = min(int(is_own.sum()), n - int(is_own.sum()))
        if smaller < 2:
            continue
        wrong = _left_out(values, is_own) != is_own
        n_wrong = int(wrong.sum())
        model_wrong = np.zeros(n, dtype=bool) if predicted is None else (predicted == k) != is_own
        if stats.binom.cdf(n_wrong, n, smaller / n) > BY_CHANCE or _is_worse(wrong, model_wrong):
            continue
        of_model = None if predicted is None else int(model_wrong.sum())
        found.append(TrivialRule(name, k, n_wrong, of_model, n))
    return found


def _is_worse(wrong: BoolArray, model_wrong: BoolArray) -> bool:
    """McNemar's exact test, one-sided."""
    more, fewer = int((wrong & ~model_wrong).sum()), int((model_wrong & ~wrong).sum())
    return bool(stats.binom.sf(more - 1, more + fewer, 0.5) <= WORSE)


def _left_out(values: FloatArray, is_own: BoolArray) -> BoolArray:
    """For each sample what the best threshold of the other folds says."""
    n_folds = min(N_FOLDS, int(is_own.sum()), int((~is_own).sum()))
    said = np.empty(len(values), dtype=bool)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    for train, test in folds.split(values, is_own):
        threshold, is_above = _best_threshold(values[train], is_own[train])
        said[test] = (values[test] > threshold) == is_above
    return said


def _best_threshold(values: FloatArray, is_own: BoolArray) -> tuple[float, bool]:
    """With the fewest errors, and whether the class is above it."""
    order = np.argsort(values, kind="stable")
    ordered, own = values[order], is_own[order]
    n = len(own)
    # Errors of "the class is above" if the first i samples are below.
    errors = np.cumsum(np.r_[0, np.where(own, 1, -1)]) + int((~own).sum())
    places = np.flatnonzero(np.r_[True, np.diff(ordered) > 0.0, True])
    fewest, most = places[np.argmin(errors[places])], places[np.argmax(errors[places])]
    is_above = bool(errors[fewest] <= n - errors[most])
    i = int(fewest if is_above else most)
    middle = np.r_[-np.inf, (ordered[1:] + ordered[:-1]) / 2.0, np.inf]
    return float(middle[i]), is_above


def _follows(scores: FloatArray, order: FloatArray, own: IntArray, *, level: float) -> bool:
    """Whether scores rise or fall with the order within classes as they do between them."""
    ranks = [
        (stats.rankdata(scores[own == k]), stats.rankdata(order[own == k]))
        for k in np.unique(own)
        if (own == k).sum() > 2
    ]
    if not ranks:
        return False
    first, second = (
        np.concatenate([(r - r.mean()) / len(r) for r in side]) for side in zip(*ranks, strict=True)
    )
    if not (first.any() and second.any()):
        return False
    within = float(first @ second / np.sqrt((first @ first) * (second @ second)))
    between = float(stats.spearmanr(scores, order).statistic)
    n_free = len(first) - len(ranks) - 1
    if within * between <= 0.0 or abs(within) < SMALLEST_CORRELATION or n_free < 1:
        return False
    t = abs(within) * np.sqrt(n_free / max(1.0 - within**2, 1e-12))
    return bool(2.0 * stats.t.sf(t, n_free) < level)
