"""One number per sample that separates the classes as well as the model: its mean, zeros, place in the file.

Such a number describes how a sample was measured, prepared or filed. It can also be the biology, such as the
amplitude of a seizure. A threshold on the number is compared with the model in cross-validation. Columns that
all differ between classes by one amount or factor, as units, backgrounds and depths do, are another form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse, stats
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.checks.findings import CONDITION, NOTE, Finding
from minimaxrisk.checks.scales import FEWEST_COLUMNS, FEWEST_SAMPLES, LOOKED_AT, level_in_words, profile
from minimaxrisk.checks.table import Evidence, StudyTable
from minimaxrisk.samples.copies import participation_ratio, standardised
from minimaxrisk.samples.folds import dealt_folds

MEAN, SPREAD = "mean of a sample", "spread of a sample"
ZEROS, MISSING = "share of zeros in a sample", "share of missing values in a sample"
ROW, NAME, NUMBER = "row in the file", "alphabetical order of sample names", "number in the sample names"
# A threshold counts if so few errors are less probable than this were it no better than the most common
# class, and if it does not err more often than the model at this level. Several numbers are tried, so the
# first is small: with 1e-3 the share of zeros was held against one of 95 halves of the paper's data sets.
BY_CHANCE, WORSE = 1e-4, 0.1
# An order counts if the model's scores follow it within the classes too, so clearly: files are often sorted.
FOLLOWS, SMALLEST_CORRELATION = 1e-3, 0.45
# Differences of columns are uniform if their standard deviation is below this share of their mean, and the
# means of samples differ at this level. Where these differ, the paper's data sets and halves of them, raw and
# in logarithms, have 0.51 or more (GLIOMA, with 0.36 between two of its classes) and the others 1.5 or more;
# a depth of 1.8 or a shift by 1 in shuffled ones has at most 0.43.
UNIFORM, SHIFTED = 0.45, 0.01
# In the paper's data sets and their stand-ins, raw and in logarithms, at most 73% of the columns differ.
# Of more samples, small differences of all columns are found.
NEARLY_ALL, DIFFERENT, MOST_COMPARED = 0.8, 0.05, 500
FEWEST_DIMENSIONS = 5  # in fewer, as of spectra, all columns differ together
N_FOLDS = 10
MOST_COLUMNS = 5000  # of which the numbers of a sample are taken
# Cells of a sample that differ by less, in number and share of the columns, are not a difference.
FEW_CELLS, SMALL_SHARE = 3, 0.01
DIGITS = re.compile(r"\d+")
SAME_WAY = "Prepare all samples in the same way, or centre and scale each sample, and fit again."


@dataclass(frozen=True)
class Threshold:
    """A threshold on one number per sample that separates a class from all others, in cross-validation."""

    number: str
    position: int  # of the class
    n_wrong: int
    n_wrong_of_model: int | None  # in separating the same class; None where no model is known

    def numbers(self) -> dict[str, int | str | None]:
        return {"number": self.number, "n_wrong": self.n_wrong, "n_wrong_of_model": self.n_wrong_of_model}


def number_findings(table: StudyTable, evidence: Evidence | None = None) -> Iterator[Finding]:
    """Find a number per sample, or an order, that separates a class as well as the model.

    Without predictions of a model the number has to do as well as a model without errors, and orders are not
    compared.
    """
    predicted = None if evidence is None else evidence.predicted
    numbers = sample_numbers(table)
    found = [rule for name in numbers for rule in _thresholds(name, numbers[name], table.own, predicted)]
    if found:
        yield _of_number(table, min(found, key=lambda rule: (rule.number in (MEAN, SPREAD), rule.n_wrong)))
    if evidence is not None and predicted is not None and evidence.scores is not None:
        rule = explaining_order(sample_orders(table), table.own, predicted, evidence.scores)
        if rule is not None:
            yield _of_order(table, rule)


def _of_number(table: StudyTable, rule: Threshold) -> Finding:
    label = table.classes[rule.position]
    meaning = f"Samples of {label!r} have another {rule.number}."
    if rule.number in (MEAN, SPREAD):
        words = level_in_words(*profile(table.X), table.own == rule.position)
        meaning = f"Of samples of {label!r}: {words}"
    return Finding(
        "sample-number",
        message=f"The {rule.number} separates {_classes(table, rule)} as well as the model does. "
        f"{_errors(table, rule)} {meaning} This can be the biology, or the way in which the classes were "
        "measured.",
        remedy=SAME_WAY
        if rule.number != MISSING
        else "Leave out the columns with missing values, and fit again.",
        claim=f"the classes were measured and prepared alike: the {rule.number} separates them as well as "
        "the model",
        severity=CONDITION if len(table.classes) == 2 else NOTE,
        numbers=rule.numbers(),
    )


def _of_order(table: StudyTable, rule: Threshold) -> Finding:
    return Finding(
        "order-drift",
        message=f"The {rule.number} separates {_classes(table, rule)} as well as the model does. "
        f"{_errors(table, rule)} The model's scores also follow this order within the classes. The "
        "measurements may have drifted while one class was measured after the other.",
        remedy="Measure the classes in mixed order, or correct the drift, and fit again.",
        claim=f"the measurements did not drift along the {rule.number}",
        numbers=rule.numbers(),
    )


def _classes(table: StudyTable, rule: Threshold) -> str:
    return (
        "the classes"
        if len(table.classes) == 2
        else f"{table.classes[rule.position]!r} from the other classes"
    )


def _errors(table: StudyTable, rule: Threshold) -> str:
    model = "" if rule.n_wrong_of_model is None else f", the model {rule.n_wrong_of_model:,}"
    return (
        f"In cross-validation, a threshold misclassifies {rule.n_wrong:,} of {len(table.y):,} samples{model}."
    )


def sample_numbers(table: StudyTable) -> dict[str, FloatArray]:
    """Return numbers that describe how a sample was measured; none of few columns."""
    X, (n, d) = table.X, table.X.shape
    if n < FEWEST_SAMPLES or d < FEWEST_COLUMNS:
        return {}
    if sparse.issparse(X):
        size, n_stored = np.asarray(abs(X).sum(axis=1)).ravel(), np.diff(X.tocsr().indptr)
        return {ZEROS: _coarse(d - n_stored, d), MEAN: size / d}
    if d > MOST_COLUMNS:
        X, d = X[:, np.linspace(0, d - 1, MOST_COLUMNS).astype(np.intp)], MOST_COLUMNS
    mean, spread = profile(X)
    step = max(1, LOOKED_AT // d)
    blocks = [X[start : start + step] for start in range(0, n, step)]
    zeros = np.concatenate([np.count_nonzero(rows == 0.0, axis=1) for rows in blocks])
    missing = np.concatenate([np.count_nonzero(np.isnan(rows), axis=1) for rows in blocks])
    return {MISSING: _coarse(missing, d), ZEROS: _coarse(zeros, d), MEAN: mean, SPREAD: spread}


def _coarse(counts: IntArray, d: int) -> FloatArray:
    """Return counts of cells in steps, so that one column more or less makes no difference."""
    return np.asarray(np.floor(counts / max(FEW_CELLS, SMALL_SHARE * d)))


def sample_orders(table: StudyTable) -> dict[str, FloatArray]:
    """Return orders of the samples: in the file, by name, and by the longest number in each name."""
    names = [str(name) for name in table.sample_names]
    orders = {ROW: np.arange(len(names), dtype=np.float64)}
    orders[NAME] = np.unique(names, return_inverse=True)[1].astype(np.float64)
    digits = [max(DIGITS.findall(name), key=len, default="") for name in names]
    if all(digits):
        orders[NUMBER] = np.array([float(number) for number in digits])
    return orders


def explaining_order(
    orders: Mapping[str, FloatArray], own: IntArray, predicted: IntArray, scores: FloatArray
) -> Threshold | None:
    """Return the order that separates a class as well as the model, and that its scores follow.

    Scores have to follow it within the classes too, since files are often sorted by class.
    """
    for name, values in orders.items():
        for rule in _thresholds(name, values, own, predicted):
            of_class = scores if scores.ndim == 1 else scores[:, rule.position]
            if _follows(of_class, values, own, level=FOLLOWS / (1 if scores.ndim == 1 else scores.shape[1])):
                return rule
    return None


def _thresholds(name: str, values: FloatArray, own: IntArray, predicted: IntArray | None) -> list[Threshold]:
    """Return the thresholds on a number that count, for one class after the other; of two classes for one."""
    if not np.isfinite(values).all() or not np.ptp(values):
        return []
    sizes, found, column = np.bincount(own), [], stats.rankdata(values)[:, None]
    for k in [1] if len(sizes) == 2 else range(len(sizes)):
        is_own = own == k
        n_smaller = min(int(is_own.sum()), int((~is_own).sum()))
        model_wrong = np.zeros(len(own), dtype=bool) if predicted is None else (predicted == k) != is_own
        stump = DecisionTreeClassifier(max_depth=1, random_state=0)
        # Few numbers explain the class even on the training data, which is fast to find out.
        if n_smaller < 2 or not _explains(
            stump.fit(column, is_own).predict(column) != is_own, model_wrong, n_smaller
        ):
            continue
        fold = dealt_folds(is_own.astype(np.intp), np.arange(len(own)), min(N_FOLDS, n_smaller))
        wrong = cross_val_predict(stump, column, is_own, cv=PredefinedSplit(fold)) != is_own
        if _explains(wrong, model_wrong, n_smaller):
            n_of_model = None if predicted is None else int(model_wrong.sum())
            found.append(Threshold(name, k, int(wrong.sum()), n_of_model))
    return found


def _explains(wrong: BoolArray, model_wrong: BoolArray, n_smaller: int) -> bool:
    """Return whether errors are fewer than by chance, and by McNemar's exact test not above the model's."""
    if stats.binom.cdf(int(wrong.sum()), len(wrong), n_smaller / len(wrong)) > BY_CHANCE:
        return False
    more, fewer = int((wrong & ~model_wrong).sum()), int((model_wrong & ~wrong).sum())
    return bool(stats.binom.sf(more - 1, more + fewer, 0.5) > WORSE)


def _follows(scores: FloatArray, order: FloatArray, own: IntArray, *, level: float) -> bool:
    """Return whether scores rise or fall with the order within classes as they do between classes."""
    members = [own == k for k in np.flatnonzero(np.bincount(own) > 2)]
    first, second = (
        np.concatenate([(r := stats.rankdata(side[rows])) - r.mean() for rows in members] or [np.zeros(0)])
        for side in (scores, order)
    )
    if not (first.any() and second.any()):
        return False
    within = stats.pearsonr(first, second)
    between = stats.spearmanr(scores, order).statistic
    return bool(
        within.statistic * between > 0.0
        and abs(within.statistic) >= SMALLEST_CORRELATION
        and within.pvalue < level
    )


def difference_findings(table: StudyTable) -> Iterator[Finding]:
    """Find columns that all differ between classes alike, by amount or factor, or nearly all differ."""
    X, classes = table.X, table.classes
    if X.shape[1] < FEWEST_COLUMNS or sparse.issparse(X):
        return
    if np.isnan(X).any():
        known = X[:, ~np.isnan(X).all(axis=0)]
        X = np.where(np.isnan(known), np.nanmedian(known, axis=0), known)
    of_classes = {k: table.own == k for k in _positions(table.own)}
    found = [one for k, is_own in of_classes.items() for one in _uniform_differences(X, is_own, k)]
    if found:
        yield _uniform(classes, *min(found)[1:])
        return
    share = max([_share_of_differences(X[is_own], X[~is_own]) for is_own in of_classes.values()], default=0.0)
    is_small = len(table.y) <= MOST_COMPARED
    if share >= NEARLY_ALL and is_small and participation_ratio(standardised(X)) >= FEWEST_DIMENSIONS:
        yield Finding(
            "many-differences",
            message=f"{share:.0%} of the features differ between the classes (p < {DIFFERENT}); a tenth to a "
            "half is usual. If the features were selected or corrected with these labels, error rates and "
            "bounds are too low.",
            remedy="Start from all features, as they were before anyone looked at the labels.",
            numbers={"share": share},
        )


def _positions(own: IntArray) -> list[int]:
    """Return the classes of two samples or more; of two classes the second one alone."""
    sizes = np.bincount(own)
    usable = [k for k in range(len(sizes)) if min(sizes[k], len(own) - sizes[k]) > 1]
    return [k for k in usable if k == 1] if len(sizes) == 2 else usable


def _share_of_differences(own: FloatArray, others: FloatArray) -> float:
    """Return the share of the columns that differ by Student's test with the variances of both sides."""
    error = np.sqrt(own.var(axis=0, ddof=1) / len(own) + others.var(axis=0, ddof=1) / len(others))
    t = np.divide(own.mean(axis=0) - others.mean(axis=0), error, out=np.zeros(len(error)), where=error > 0.0)
    return float((np.abs(t) > stats.t.isf(DIFFERENT / 2.0, len(own) + len(others) - 2)).mean())


def _uniform_differences(X: FloatArray, is_own: BoolArray, k: int) -> list[tuple[float, int, float, str]]:
    """Return unevenness, class, size and kind of differences that are about the same in all columns."""
    found = []
    for kind in ("amount", "factor") if X.min() > 0.0 else ("amount",):
        own, others, samples = X[is_own].mean(axis=0), X[~is_own].mean(axis=0), X.mean(axis=1)
        if kind == "factor":
            own, others, samples = np.log2(own), np.log2(others), np.log2(samples)
        differences = own - others
        middle = float(differences.mean())
        uneven = float(differences.std()) / abs(middle) if middle else np.inf
        if uneven >= UNIFORM or min(samples[is_own].std(), samples[~is_own].std()) < 1e-9 * abs(middle):
            continue
        if stats.ttest_ind(samples[is_own], samples[~is_own], equal_var=False).pvalue < SHIFTED:
            found.append((uneven, k, middle if kind == "amount" else 2.0**middle, kind))
    return found


def _uniform(classes: list[str], position: int, size: float, kind: str) -> Finding:
    label = classes[position]
    is_higher = size > (kind == "factor")
    amount = f"{abs(size):.2g}"
    return Finding(
        "uniform-difference",
        message=f"All features are {'higher' if is_higher else 'lower'} in {label!r} than in the other "
        f"samples by about the same {kind}, {amount}. A global change in biology can do this, and so can "
        "other units, another background, amount of material or depth.",
        remedy=SAME_WAY,
        claim=f"the classes were measured alike: all features differ by about the same {kind}, {amount}",
        severity=CONDITION if len(classes) == 2 else NOTE,
        numbers={"size": size, "kind": kind, "class": label},
    )
