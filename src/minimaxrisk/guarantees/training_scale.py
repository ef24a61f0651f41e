"""Whether new samples are on the scale of the training data: logarithms, other units, other normalisation.

A linear rule applied to values on another scale is confident and wrong, and no bound holds. So the columns
that a model uses are compared with those of its training data, by two numbers per sample.

Its distance: the mean over columns of ``|x_j - m_kj| / s_j`` from the nearest class k, where m are the means
of the classes and s standard deviations within them. Other units and shifts make it large. Its profile: the
logarithm of the mean of ``|x_j - median of x|`` over columns, by how much the columns of a sample differ from
each other. Logarithms of large numbers are all near zero next to s, so that their distance can be small, but
they differ little from each other. Both are compared with those of the training samples, each of which is
left out of the mean that it is compared with; one new sample is enough.

Several samples show more. Logarithms also differ little from sample to sample. A shift of all columns shows
in the offset of a sample, the mean over columns of ``(x_j - m_kj) / s_j`` with its sign, in which the noise
of the columns cancels. And exchanged names of columns show in the likeness of a sample: the rank correlation
of its values with the means of the most similar class, over a thousand columns, used or not.

What is not caught: exchanged names, if the columns of the training data have similar means (as standardised
ones do), if they are few, if the file holds the used columns alone, or if only some names were exchanged;
shifts and factors within what training samples differ by; samples of another kind with such values; and, of
fewer than five samples, any of what several show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk.guarantees.posed_fit import PosedFit, check_classes

# Halves of seven data sets against the other halves (tests/core/test_training_scale.py): 0.8% of the honest
# samples are beyond these limits in the mean, 5% where 25 samples were learned from; and all of those in
# logarithms, 100 times as large or standardised. No file of honest samples is as a whole.
TIMES_LARGEST = 2.0  # the distance, of the largest among training samples
STANDARD_DEVIATIONS = 5.0  # the profile, from its mean
# In fewer samples chance decides how much they differ. On those halves, in a look that no test repeats, no
# five honest ones differed less than exp(-2.3) times as much as training samples in the median of 8 columns
# or more; logarithms do exp(-5.6) times. The limit between the two is judgement.
FEWEST_FOR_SPREAD, SMALLEST_SPREAD = 5, np.exp(-3.0)
# The offset and the likeness of the median sample of a file, against those of training samples. Honest
# files are halves of data sets, and five samples of them, also of one class. Of 4,349 of ten data sets, half
# of these also in logarithms, 4 are called shifted; of 4,168 of eleven data sets none is called exchanged.
# Exchanged names are found in all 360 files of the nine data sets that are not binary.
SMALLEST_OFFSET, OFFSET_TIMES_LARGEST = 1.0, 1.5
SMALLEST_LIKENESS = 0.5  # of that of training samples
FEWEST_COLUMNS, MOST_COLUMNS = 20, 1000  # whose means are compared
CLEAR_LIKENESS = 0.3  # of training samples; below, exchanged names are not looked for
# Judgement, not measured: the next three decide about words and memory, not which samples are suspected.
SMALLEST_FACTOR = 3.0  # a smaller one is not called another unit: arrays and days differ by as much
LOGARITHMS: dict[str, tuple[float, Any, Any]] = {  # base, power and logarithm
    "base-2": (2.0, np.exp2, np.log2),
    "natural": (np.e, np.exp, np.log),
    "base-10": (10.0, partial(np.power, 10.0), np.log10),
}
EXCHANGED = "values of other columns"
CELLS_AT_ONCE = 2_000_000  # 16 MB of differences from the means of a class


@dataclass(frozen=True)
class ScaleComparison:
    """Outcome of ``TrainingScale.compare``.

    Attributes
    ----------
    differs : ndarray of bool of shape (n_samples,)
        Which samples are not on the scale of the training data.
    outside : ndarray of shape (n_samples,)
        The share of the used columns in which a sample lies outside the range of the training data.
    whole : bool
        Whether that is so for the samples together, and not for a few of them.
    looks_like : str or None
        What would explain it, where something simple does.
    """

    differs: np.ndarray
    outside: FloatArray
    whole: bool
    looks_like: str | None = None

    @property
    def agrees(self) -> bool:
        """Whether no sample differs."""
        return not self.differs.any()

    @property
    def statement(self) -> str:
        """The outcome in words; empty where all samples are on the scale of the training data."""
        n, n_differing = len(self.differs), int(self.differs.sum())
        if not n_differing:
            return ""
        guess = f"They look like {self.looks_like}. " if self.looks_like else ""
        if not self.whole:
            are = "is" if n_differing == 1 else "are"
            return (
                f"{n_differing} of {n} samples {are} unlike all training data in the columns that the model "
                f"uses: on another scale, or of another kind. {guess}Their predictions are worth nothing "
                "until that is explained, and no bound holds for them."
            )
        if self.looks_like == EXCHANGED:
            return (
                f"the columns of these {n} samples do not rank as those of the training data do: names of "
                "columns may have been exchanged. The predictions are worth nothing, and no bound holds: "
                "give the columns their right names."
            )
        which = "the sample is" if n == 1 else f"all {n} samples are"
        return (
            f"{which} on another scale than the training data in the columns that the model uses. {guess}"
            "The predictions are worth nothing, and no bound holds: bring the values to the scale of the "
            "training data."
        )


@dataclass(frozen=True)
class TrainingScale:
    """What the used columns of the training data were like; ``training_scale`` makes it.

    Attributes
    ----------
    n_features : int
        How many columns the training data have.
    columns : ndarray of int of shape (n_used,)
        Those that the model uses.
    means : ndarray of shape (n_classes, n_used)
        Their means by class.
    spread : ndarray of shape (n_used,)
        Their standard deviations within classes.
    lowest, highest : ndarray of shape (n_used,)
        Their ranges.
    largest_distance : float
        A sample whose mean distance from the nearest class, in standard deviations, is beyond it differs.
    profile : ndarray of shape (2,)
        Between these logarithms the columns of one sample differ from each other.
    largest_offset : float
        Several samples whose median offset from the nearest class, in standard deviations, is beyond it are
        shifted.
    compared : ndarray of int of shape (n_compared,)
        Columns by which exchanged names are recognized, used or not.
    compared_means : ndarray of shape (n_classes, n_compared)
        Their means by class.
    likeness : float
        Several samples whose median rank correlation with the means of the most similar class is below it
        have other columns under these names. Minus 1 where training samples are too little alike to tell.
    """

    n_features: int
    columns: IntArray
    means: FloatArray = field(repr=False)
    spread: FloatArray = field(repr=False)
    lowest: FloatArray = field(repr=False)
    highest: FloatArray = field(repr=False)
    largest_distance: float
    profile: FloatArray
    largest_offset: float
    compared: IntArray = field(repr=False)
    compared_means: FloatArray = field(repr=False)
    likeness: float

    def compare(self, X: Any) -> ScaleComparison:
        """Compare new samples with the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All columns, in their order, as the training data had them before any scaling; those that the
            model does not use may be zero.

        Returns
        -------
        ScaleComparison
            Which samples differ, and what would explain it.

        Raises
        ------
        ValueError
            If X has another number of columns.
        """
        table = self._table(X)
        used = _dense(table, self.columns)
        differs, outside = self._differs(used), np.mean((used < self.lowest) | (used > self.highest), axis=1)
        is_exchanged = self._has_other_columns(table)
        whole = bool(2 * differs.sum() > len(used)) or is_exchanged or self._is_odd_together(used)
        if whole:
            differs = np.ones(len(used), dtype=bool)
        guess = self._explanation(used[differs], is_exchanged=is_exchanged) if differs.any() else None
        return ScaleComparison(differs, outside, whole, guess)

    def _table(self, X: Any) -> DataMatrix:
        table = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        if table.ndim != 2 or table.shape[1] != self.n_features:
            raise ValueError(
                f"X must have the {self.n_features} columns of the training data, got shape {table.shape}."
            )
        return table

    def _differs(self, used: FloatArray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            far = ~(_distances(used, self.means, self.spread).min(axis=1) <= self.largest_distance)
            profile = _profiles(used)
            odd = ~((profile >= self.profile[0]) & (profile <= self.profile[1]))
        return np.asarray(far | odd)

    def _is_odd_together(self, used: FloatArray) -> bool:
        """Whether several samples together are odd, each of which may be inconspicuous."""
        several = len(used) >= FEWEST_FOR_SPREAD
        return self._hardly_varies(used) or (several and self._is_shifted(used))

    def _is_shifted(self, used: FloatArray) -> bool:
        return bool(abs(np.median(_offsets(used, self.means, self.spread))) > self.largest_offset)

    def _has_other_columns(self, table: DataMatrix) -> bool:
        if table.shape[0] < FEWEST_FOR_SPREAD or self.likeness < 0.0:
            return False
        values = _dense(table, self.compared)
        if not values[:, ~np.isin(self.compared, self.columns)].any():
            return False  # the file holds the used columns alone
        return bool(np.median(_likeness(values, self.compared_means)) < self.likeness)

    def _hardly_varies(self, used: FloatArray) -> bool:
        """Whether the samples differ from each other far less than those of a class did."""
        if len(used) < FEWEST_FOR_SPREAD:
            return False
        ratios = used.std(axis=0, ddof=1) / self.spread
        varying = ratios[ratios > 0]  # many features are zero in most samples
        return len(varying) > 0 and bool(np.median(varying) < SMALLEST_SPREAD)

    def _explanation(self, used: FloatArray, *, is_exchanged: bool) -> str | None:
        """What is plain to see, else the change whose reversal brings samples nearest to training data."""
        is_standardised = (np.abs(used.mean(axis=0)) < 0.05) & (np.abs(used.std(axis=0) - 1.0) < 0.1)
        if len(used) >= FEWEST_FOR_SPREAD and np.mean(is_standardised) > 0.5:
            return "columns brought to mean 0 and standard deviation 1"
        if is_exchanged:
            return EXCHANGED
        found: dict[str, float] = {}
        for name, undo in self._changes(used):
            with np.errstate(all="ignore"):
                back = undo(used)
                if not np.isfinite(back).all() or 2 * self._differs(back).sum() > len(used):
                    continue
                if self._is_odd_together(back):
                    continue
                found[name] = float(_distances(back, self.means, self.spread).min(axis=1).mean())
        return min(found, key=lambda name: found[name]) if found else None

    def _changes(self, used: FloatArray) -> Iterator[tuple[str, Callable[[FloatArray], FloatArray]]]:
        for name, (_, power, logarithm) in LOGARITHMS.items():
            yield f"{name} logarithms of such values", power
            yield f"values of which the training data are the {name} logarithms", logarithm
        for had, name in permutations(LOGARITHMS, 2):
            # log_b v = log_a v * log a / log b: less than what another unit would have to differ by.
            factor = np.log(LOGARITHMS[name][0]) / np.log(LOGARITHMS[had][0])
            yield f"{name} logarithms where the training data are {had} ones", partial(np.multiply, factor)
        if self._is_shifted(used):
            nearest = self.means[_distances(used, self.means, self.spread).argmin(axis=1)]
            shift = float(np.median((used - nearest).mean(axis=0)))
            more, by = ("more" if shift > 0 else "less"), f"{abs(shift):.2g}"
            yield f"such values with {by} {more} in every column", lambda x: x - shift
        if np.isfinite(self.profile).all():
            ratio = float(np.exp(np.median(_profiles(used)) - self.profile.mean()))
            if 0.0 < ratio < np.inf and not 1 / SMALLEST_FACTOR < ratio < SMALLEST_FACTOR:
                yield f"values about {_rounded(ratio)} times as large", lambda x: x / ratio


def training_scale(model: Any, X: Any, y: Any, *, before_scaling: Any = None) -> TrainingScale | None:
    """Are new samples on the scale of the training data? ``.compare(X_new)`` of the result says so.

    To be asked before a model is applied to them: a model of raw intensities answers to logarithms with
    confidence, and wrongly.

    Parameters
    ----------
    model : MinimaxRiskClassifier or MinimaxRiskEnsembleClassifier
        A fitted classifier or ensemble.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The instances that it was fitted on.
    y : array-like of shape (n_samples,)
        Their labels.
    before_scaling : {ndarray, sparse matrix} of shape (n_samples, n_features) or None, default=None
        The same columns before a scaler, where new samples are to be compared before it: behind one that
        clips, all scales look alike.

    Returns
    -------
    TrainingScale or None
        None for a model that uses no column: it says the same of every sample.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from minimaxrisk import MinimaxRiskClassifier, training_scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MinimaxRiskClassifier().fit(X[:400], y[:400])
    >>> scale = training_scale(model, X[:400], y[:400])
    >>> int(scale.compare(X[400:]).differs.sum())
    0
    >>> scale.compare(100 * X[400:401]).whole
    True
    """
    fit = PosedFit(model, X, y)
    model, data = fit.model, fit.data
    check_classes(model, data)
    seen = data.X if before_scaling is None else before_scaling
    columns = np.asarray(model.selected_features_, dtype=np.intp)
    if not len(columns):
        return None
    used, labels, n_classes = _dense(seen, columns), data.labels, len(data.classes)
    counts = np.bincount(labels, minlength=n_classes)
    means = _class_means(used, labels, n_classes)
    squares = ((used - means[labels]) ** 2).sum(axis=0)
    within = np.sqrt(squares / max(1, len(used) - n_classes))
    total = used.std(axis=0)
    # A column that is constant within all classes differs between them, or it would not be used.
    spread = np.where(within > 0, within, np.where(total > 0, total, 1.0))
    distances = _distances(used, means, spread)
    own = np.arange(len(used)), labels
    with np.errstate(divide="ignore", invalid="ignore"):
        # Without the sample, the mean of its class is farther away from it by this factor.
        factor = np.where(counts > 1, counts / (counts - 1.0), np.inf)[labels]
        distances[own] = np.where(distances[own] > 0, distances[own] * factor, distances[own])
    nearest = means[distances.argmin(axis=1)]
    offsets = ((used - nearest) / spread).mean(axis=1)
    places = np.linspace(0, seen.shape[1] - 1, min(MOST_COLUMNS, seen.shape[1])).astype(np.intp)
    compared = np.union1d(places, columns)
    values = _dense(seen, compared)
    compared_means = _class_means(values, labels, n_classes)
    return TrainingScale(
        n_features=int(seen.shape[1]),
        columns=columns,
        means=means,
        spread=spread,
        lowest=used.min(axis=0),
        highest=used.max(axis=0),
        largest_distance=TIMES_LARGEST * float(distances.min(axis=1).max()),
        profile=_limits(_profiles(used)),
        largest_offset=max(SMALLEST_OFFSET, OFFSET_TIMES_LARGEST * float(np.abs(offsets).max())),
        compared=compared,
        compared_means=compared_means,
        likeness=_smallest_likeness(values, compared_means, labels),
    )


def _dense(X: DataMatrix, columns: IntArray) -> FloatArray:
    part = X[:, columns]
    return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)


def _distances(used: FloatArray, means: FloatArray, spread: FloatArray) -> FloatArray:
    """Of each sample from each class (n x K), a few samples at a time."""
    step = max(1, CELLS_AT_ONCE // max(1, used.shape[1]))
    found = np.empty((len(used), len(means)))
    for start in range(0, len(used), step):
        rows = slice(start, start + step)
        for k, mean in enumerate(means):
            found[rows, k] = np.mean(np.abs(used[rows] - mean) / spread, axis=1)
    return found


def _offsets(used: FloatArray, means: FloatArray, spread: FloatArray) -> FloatArray:
    """How far each sample lies above the nearest class, in the mean over columns."""
    nearest = _distances(used, means, spread).argmin(axis=1)
    return np.array([np.mean((x - means[k]) / spread) for x, k in zip(used, nearest, strict=True)])


def _class_means(values: FloatArray, labels: IntArray, n_classes: int) -> FloatArray:
    return np.array([values[labels == k].mean(axis=0) for k in range(n_classes)])


def _likeness(values: FloatArray, means: FloatArray) -> FloatArray:
    """The rank correlation of each sample with the class that it resembles most; 0 for a constant sample."""
    return np.asarray((_ranks(values) @ _ranks(means).T).max(axis=1))


def _ranks(rows: FloatArray) -> FloatArray:
    ranks = rankdata(rows, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(ranks, axis=1, keepdims=True)
    return np.asarray(ranks / np.where(norms > 0, norms, 1.0))


def _smallest_likeness(values: FloatArray, means: FloatArray, labels: IntArray) -> float:
    """The limit, from the likeness of training samples with the others of their classes; -1 for none."""
    counts = np.bincount(labels)[labels]
    several = np.flatnonzero(counts > 1)
    n, own = counts[several, None], means[labels[several]]
    others = (n * own - values[several]) / (n - 1.0)
    alike = (_ranks(values[several]) * _ranks(others)).sum(axis=1)
    usual = float(np.median(alike)) if len(alike) else 0.0
    is_clear = values.shape[1] >= FEWEST_COLUMNS and usual >= CLEAR_LIKENESS
    return SMALLEST_LIKENESS * usual if is_clear else -1.0


def _profiles(used: FloatArray) -> FloatArray:
    """Logarithms of how much the columns of each sample differ; minus infinity where they do not."""
    middle = np.median(used, axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.mean(np.abs(used - middle), axis=1)))


def _limits(profiles: FloatArray) -> FloatArray:
    """None where a training sample has the same number in all columns, as with a single one."""
    if not np.isfinite(profiles).all() or len(profiles) < 2:
        return np.array([-np.inf, np.inf])
    around, wide = profiles.mean(), STANDARD_DEVIATIONS * profiles.std(ddof=1)
    return np.array([around - wide, around + wide])


def _rounded(factor: float) -> str:
    """A power of ten where it is near one, since units differ by these."""
    power = 10.0 ** np.round(np.log10(factor))
    near = power if 0.6 < factor / power < 1.6 else float(f"{factor:.1g}")
    return f"{near:,.0f}" if near >= 1 else f"{near:g}"
