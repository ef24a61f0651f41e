"""How many columns a stability selection selects without good reason.

The halves come in complementary pairs. The two of a pair have no sample in common, so that what they select
is independent, and a column that is selected with a small probability p is selected by both with p squared
only. The bounds rest on this.

References
----------
N. Meinshausen, P. Bühlmann, "Stability selection", Journal of the Royal Statistical Society B 72, 2010.
R. D. Shah, R. J. Samworth, "Variable selection with error control: another look at stability selection",
Journal of the Royal Statistical Society B 75, 2013.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.rounding import at_most

# Relative; 0.55 * 100 is a little more than 55.
ROUNDING = 1e-12


@dataclass(frozen=True)
class FalseSelectionBounds:
    """Bounds on how many columns a stability selection expects to select without good reason.

    Both are about the expected number, over data sets like the one at hand, of selected columns that one run
    on half of the samples selects with a probability of at most ``low_probability`` = q / d: no more often
    than a column picked at random, where q is the average number selected from a half and d the number of
    columns. These are all the columns unrelated to the label if the estimator treats such columns alike
    (their selections are exchangeable) and is not worse than guessing; then the bounds are about false
    selections. A column that is related to the label only through another one is no such column.

    Samples have to be independent, and identically distributed within their class. A bound that is not below
    the number of selected columns says nothing.

    Attributes
    ----------
    threshold : float
        The smallest multiple of 1 / ``n_subsamples`` that is not below the threshold asked for (and above
        1/2). It selects the same columns, and the bounds are those for it.
    low_probability : float
        q / d.
    meinshausen_buhlmann : float
        q^2 / ((2 threshold - 1) d). Theorem 1 of Meinshausen and Bühlmann (2010), under the two conditions
        above. By Theorem 1 of Shah and Samworth (2013) it holds without them, for the columns of low
        selection probability and any number of pairs.
    shah_samworth : float
        C q^2 / d, Theorem 2 of Shah and Samworth (2013), for the columns of low selection probability. It
        assumes that the share of pairs of which both halves select such a column has a unimodal
        distribution; C is then the best possible constant. NaN where the theorem does not apply: for q / d
        above 1/sqrt(3), or a threshold too close to 1/2 for q / d.
    """

    threshold: float
    low_probability: float
    meinshausen_buhlmann: float
    shah_samworth: float

    def __str__(self) -> str:
        return (
            f"columns selected without reason, at a threshold of {self.threshold:g}: expected are "
            f"{in_words(self.meinshausen_buhlmann)} (Meinshausen and Bühlmann), "
            f"{in_words(self.shah_samworth)} (Shah and Samworth)"
        )


def in_words(bound: float) -> str:
    """A bound in a sentence; there is none where a theorem does not apply."""
    return f"at most {at_most(bound, '.3g')}" if math.isfinite(bound) else "no bound"


@dataclass(frozen=True)
class SelectionStability:
    """What a selection from many parts of the sample comes to.

    The fields are the fitted attributes of the estimators that select so, without the underscore.
    """

    selection_frequencies: FloatArray
    n_selected_per_subsample: IntArray
    average_selected: float
    false_selection_bounds: FalseSelectionBounds

    @classmethod
    def of(cls, selections: Sequence[IntArray], n_features: int, *, threshold: float) -> SelectionStability:
        """From the columns that each half selects; the halves come in complementary pairs."""
        votes = np.bincount(np.concatenate(selections), minlength=n_features)
        n_selected = np.array([len(columns) for columns in selections])
        average = float(n_selected.mean())
        return cls(
            selection_frequencies=votes / len(selections),
            n_selected_per_subsample=n_selected,
            average_selected=average,
            false_selection_bounds=false_selection_bounds(
                average, n_features, threshold=threshold, n_subsamples=len(selections)
            ),
        )


def false_selection_bounds(
    average_selected: float, n_features: int, *, threshold: float, n_subsamples: int
) -> FalseSelectionBounds:
    """The bounds for an average of ``average_selected`` columns per half out of ``n_features``."""
    n_needed = math.ceil(threshold * n_subsamples * (1 - ROUNDING))
    attained = max(n_needed, n_subsamples // 2 + 1) / n_subsamples
    low = average_selected / n_features
    return FalseSelectionBounds(
        threshold=attained,
        low_probability=low,
        meinshausen_buhlmann=low * average_selected / (2 * attained - 1),
        shah_samworth=low * average_selected * _unimodal_constant(attained, low, n_subsamples),
    )


def _unimodal_constant(threshold: float, low: float, n_subsamples: int) -> float:
    """C(threshold, B) of Shah and Samworth's Theorem 2, with 1 / (2 B) = 1 / n_subsamples."""
    step = 1 / n_subsamples
    if low > 1 / math.sqrt(3):
        return math.nan
    if threshold > 0.75:
        return 4 * (1 - threshold + step) / (1 + 2 * step)
    if threshold <= 0.5 + min(low**2, step + 0.75 * low**2):
        return math.nan
    return 1 / (2 * (2 * threshold - 1 - step))
