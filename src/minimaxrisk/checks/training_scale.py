"""Whether new samples are on the scale of the training data: logarithms, other units, other normalisation.

A linear rule applied to values on another scale is confident and wrong, and no bound holds. So the columns
that a model uses are compared with those of its training data, by two numbers per sample.

Its distance: the mean over columns of ``|x_j - m_j| / s_j``, where m are the means and s the standard
deviations of the training data. Other units and shifts make it large. Its profile: the logarithm of the mean
of ``|x_j - median of x|`` over columns, by how much the columns of a sample differ from each other.
Logarithms of large numbers are all near zero next to s, so that their distance can be small, but they differ
little from each other. Both are compared with those of the training samples; one new sample is enough.

Several samples show more. A shift of all columns shows in the offset of a sample, the mean over columns of
``(x_j - m_j) / s_j`` with its sign, in which the noise of the columns cancels. And exchanged names of columns
show in the rank correlation of the samples' means with m, over a thousand columns, used or not.

What is not caught: exchanged names, if the columns of the training data have similar means (as standardised
ones do), if they are few, if the file holds the used columns alone, or if only some names were exchanged;
shifts and factors within what training samples differ by; samples of another kind with such values; and, of
fewer than five samples, a shift and exchanged names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray, IntArray, dense_columns
from minimaxrisk.samples.columns import columns_of_frame, readable
from minimaxrisk.samples.copies import numbers_of

# Halves of seven data sets against the other halves (tests/core/test_training_scale.py): 0.3% of the honest
# samples are beyond these limits, and all of those in logarithms, 100 times as large or standardised.
TIMES_LARGEST = 2.0  # the distance, of the largest among training samples
STANDARD_DEVIATIONS = 5.0  # the profile, from its mean
# The offset of the median sample of a file, against those of training samples, and the rank correlation of
# its means with those of the training data, against that of a few training samples. On the halves no five
# honest samples of a class are called shifted or exchanged, and all files with exchanged names are.
SEVERAL = 5  # fewer samples are taken one by one
SMALLEST_OFFSET, OFFSET_TIMES_LARGEST = 1.0, 1.5
SMALLEST_LIKENESS = 0.5  # of that of a few training samples
FEWEST_COLUMNS, MOST_COLUMNS = 20, 1000  # whose means are compared
CLEAR_LIKENESS = 0.6  # of a few training samples; below, exchanged names are not looked for
# A smaller one is not called another unit: arrays, days and bases of logarithms differ by as much.
SMALLEST_FACTOR = 4.0
LOGARITHMS: dict[str, tuple[Any, Any]] = {  # power and logarithm
    "base-2": (np.exp2, np.log2),
    "natural": (np.exp, np.log),
    "base-10": (partial(np.power, 10.0), np.log10),
}
EXCHANGED = "values of other columns"


@dataclass(frozen=True)
class ScaleComparison:
    """Outcome of ``TrainingScale.compare``.

    Attributes
    ----------
    differs, distances : ndarray of shape (n_samples,)
        Which samples are not on the scale of the training data, and how far their used columns are from the
        means there, in standard deviations.
    whole : bool
        Whether that is so for the samples together, and not for a few of them.
    looks_like : str or None
        What would explain it, where something simple does.
    """

    differs: BoolArray
    distances: FloatArray
    whole: bool
    looks_like: str | None = None

    @property
    def agrees(self) -> bool:
        """Whether no sample differs."""
        return not self.differs.any()

    @property
    def statement(self) -> str:
        """The outcome in words; empty if all samples are on the scale of the training data."""
        n, n_differing = len(self.differs), int(self.differs.sum())
        if not n_differing:
            return ""
        if self.looks_like == EXCHANGED:
            found = f"{n} of {n} samples have {EXCHANGED}: names of columns may have been exchanged."
        else:
            guess = f" They look like {self.looks_like}." if self.looks_like else ""
            found = (
                f"{n_differing} of {n} samples are on another scale than the training data, or of another "
                f"kind, in the columns that the model uses.{guess}"
            )
        return f"{found} Until this is resolved, their predictions mean nothing and no bound applies to them."


@dataclass(frozen=True)
class TrainingScale:
    """What the used columns of the training data were like; ``training_scale`` makes it.

    Attributes
    ----------
    n_features : int
        How many columns the training data have.
    columns : ndarray of int of shape (n_used,)
        Those that the model uses.
    means, spread : ndarray of shape (n_used,)
        Their means and standard deviations.
    largest_distance : float
        A sample whose mean distance from the means, in standard deviations, is beyond it differs.
    profile : ndarray of shape (2,)
        Between these logarithms the columns of one sample differ from each other.
    largest_offset : float
        Several samples whose median offset from the means, in standard deviations, is beyond it are shifted.
    compared, compared_means : ndarray of shape (n_compared,)
        Columns by which exchanged names are recognized, used or not, and their means.
    likeness : float
        Several samples whose means have a rank correlation with these below it have other columns under
        these names. Minus 1 where a few training samples are too little like the others to tell.
    feature_names : ndarray of str of shape (n_features,) or None
        The names of all columns; None where X had none.
    """

    n_features: int
    columns: IntArray
    means: FloatArray = field(repr=False)
    spread: FloatArray = field(repr=False)
    largest_distance: float
    profile: FloatArray
    largest_offset: float
    compared: IntArray = field(repr=False)
    compared_means: FloatArray = field(repr=False)
    likeness: float
    feature_names: np.ndarray | None = field(default=None, repr=False)

    @np.errstate(over="ignore", invalid="ignore")
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
            If X has another number of columns, or columns with other names or in another order.
        """
        X = readable(X)
        names, table = text_names(X), numbers_of(X)
        if table is None:
            raise ValueError(
                "X must be a table of numbers; encode other columns as the training data have them."
            )
        if table.shape[1] != self.n_features:
            raise ValueError(
                f"X must have the {self.n_features} columns of the training data, got shape {table.shape}."
            )
        if names is not None and self.feature_names is not None and (names != self.feature_names).any():
            j = int(np.argmax(names != self.feature_names))
            raise ValueError(
                f"X must have the columns of the training data in their order, but its column {j} is "
                f"{str(names[j])!r} where they have {str(self.feature_names[j])!r}; pass "
                "X[list(scale.feature_names)]."
            )
        used = dense_columns(table, self.columns)
        differs, is_another_scale = self._differs(used), self._is_another_scale(used)
        is_exchanged = self._has_other_columns(table)
        whole = is_another_scale or is_exchanged
        if whole:
            differs = np.ones(len(used), dtype=bool)
        guess = None
        if differs.any():
            is_of_all = whole or int(differs.sum()) >= SEVERAL
            guess = self._explanation(used[differs], is_exchanged=is_exchanged, is_of_all=is_of_all)
        return ScaleComparison(differs, self._distances(used), whole, guess)

    def _differs(self, used: FloatArray) -> BoolArray:
        """Sample by sample; what overflows is on another scale."""
        profiles = _profiles(used)
        is_usual = (profiles >= self.profile[0]) & (profiles <= self.profile[1])
        return ~((self._distances(used) <= self.largest_distance) & is_usual)

    def _distances(self, used: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(np.abs((used - self.means) / self.spread).mean(axis=1))

    def _is_another_scale(self, used: FloatArray) -> bool:
        """Whether most samples differ, or several are shifted, each of which may be inconspicuous."""
        is_shifted = len(used) >= SEVERAL and self._is_shifted(used)
        return is_shifted or 2 * int(self._differs(used).sum()) > len(used)

    def _is_shifted(self, used: FloatArray) -> bool:
        offsets = ((used - self.means) / self.spread).mean(axis=1)
        return bool(abs(np.median(offsets)) > self.largest_offset)

    def _has_other_columns(self, table: DataMatrix) -> bool:
        if self.likeness < 0.0 or table.shape[0] < SEVERAL:
            return False
        values = dense_columns(table, self.compared)
        if not values[:, ~np.isin(self.compared, self.columns)].any():
            return False  # the file holds the used columns alone
        return _likeness(values.mean(axis=0), self.compared_means) < self.likeness

    def _explanation(self, used: FloatArray, *, is_exchanged: bool, is_of_all: bool) -> str | None:
        """What is plain to see, else the change whose reversal brings the samples nearest to the means."""
        is_standardised = (np.abs(used.mean(axis=0)) < 0.05) & (np.abs(used.std(axis=0) - 1.0) < 0.1)
        if len(used) >= SEVERAL and np.mean(is_standardised) > 0.5:
            return "columns brought to mean 0 and standard deviation 1"
        if is_exchanged:
            return EXCHANGED
        found: dict[str, float] = {}
        with np.errstate(all="ignore"):
            for name, undo in self._changes(used, is_of_all=is_of_all):
                back = undo(used)
                if np.isfinite(back).all() and not self._is_another_scale(back):
                    found[name] = float(np.mean(((back.mean(axis=0) - self.means) / self.spread) ** 2))
        return min(found, key=lambda name: found[name]) if found else None

    def _changes(
        self, used: FloatArray, *, is_of_all: bool
    ) -> Iterator[tuple[str, Callable[[FloatArray], FloatArray]]]:
        for name, (power, logarithm) in LOGARITHMS.items():
            yield f"{name} logarithms of such values", power
            yield f"values of which the training data are the {name} logarithms", logarithm
        if is_of_all and self._is_shifted(used):
            shift = float(np.median((used - self.means).mean(axis=0)))
            yield f"such values with {shift:+.2g} in every column", lambda x: x - shift
        if np.isfinite(self.profile).all():
            ratio = float(np.exp(np.median(_profiles(used)) - self.profile.mean()))
            if 0.0 < ratio < np.inf and not 1 / SMALLEST_FACTOR < ratio < SMALLEST_FACTOR:
                yield f"values about {float(f'{ratio:.1g}'):,g} times as large", lambda x: x / ratio


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest number
def scale_of(
    X: DataMatrix, columns: IntArray, feature_names: np.ndarray | None = None
) -> TrainingScale | None:
    """Return the scale of the ``columns`` that a model uses of its training data; None without columns."""
    if not len(columns):
        return None
    n, n_features = X.shape
    used = dense_columns(X, columns)
    means, spread = used.mean(axis=0), used.std(axis=0)
    spread[spread == 0.0] = 1.0
    offsets = (used - means) / spread * (n / (n - 1))  # from the mean of the other samples
    places = np.linspace(0, n_features - 1, min(MOST_COLUMNS, n_features)).astype(np.intp)
    compared = np.union1d(places, columns)
    values = dense_columns(X, compared)
    few = np.linspace(0, n - 1, min(SEVERAL, n // 2)).astype(np.intp)
    usual = _likeness(values[few].mean(axis=0), np.delete(values, few, axis=0).mean(axis=0))
    is_clear = len(compared) >= FEWEST_COLUMNS and usual >= CLEAR_LIKENESS
    return TrainingScale(
        n_features=int(n_features),
        columns=columns,
        means=means,
        spread=spread,
        largest_distance=TIMES_LARGEST * float(np.abs(offsets).mean(axis=1).max()),
        profile=_limits(_profiles(used)),
        largest_offset=max(SMALLEST_OFFSET, OFFSET_TIMES_LARGEST * float(np.abs(offsets.mean(axis=1)).max())),
        compared=compared,
        compared_means=values.mean(axis=0),
        likeness=SMALLEST_LIKENESS * usual if is_clear else -1.0,
        feature_names=feature_names,
    )


def text_names(X: Any) -> np.ndarray | None:
    """Return the names of the columns of a frame; as in scikit-learn they count if all are texts."""
    names = columns_of_frame(X)[0]
    return np.array(names) if names and all(isinstance(name, str) for name in names) else None


def _likeness(means: FloatArray, others: FloatArray) -> float:
    """The rank correlation of two rows of means; 0 where one of them is constant."""
    return float(spearmanr(means, others).statistic) if np.ptp(means) and np.ptp(others) else 0.0


def _profiles(used: FloatArray) -> FloatArray:
    """Logarithms of how much the columns of each sample differ; minus infinity where they do not."""
    middle = np.median(used, axis=1, keepdims=True)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.asarray(np.log(np.mean(np.abs(used - middle), axis=1)))


def _limits(profiles: FloatArray) -> FloatArray:
    """None where a training sample has the same number in all columns, as with a single one."""
    if not np.isfinite(profiles).all():
        return np.array([-np.inf, np.inf])
    around, wide = profiles.mean(), STANDARD_DEVIATIONS * profiles.std(ddof=1)
    return np.array([around - wide, around + wide])
