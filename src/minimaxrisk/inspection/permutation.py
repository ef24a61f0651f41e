"""The observed R* beside those of permuted labels."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose, isqrt
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.inspection.canvas import (
    BLACK,
    ORANGE,
    SKY,
    add_legend,
    figure_and_axes,
    finish,
    integer_ticks,
    leave_room_for_legend,
)
from minimaxrisk.inspection.sources import check_attributes

# The quantile of the noise below which a result counts as better than noise.
LEVEL = 0.05
FEWEST_BINS, MOST_BINS = 10, 40
# Radii so large that noise never selects anything give the same R* every time; then a bin is this wide.
NARROWEST_RANGE = 0.01


@dataclass(eq=False, kw_only=True)
class PermutationTestDisplay:
    """Histogram of R* under permuted labels, with the observed R* and the 5% quantile of the noise.

    Parameters
    ----------
    statistic : float
        R* of the observed labels.
    pvalue : float
        Its p-value.
    null_distribution : ndarray of shape (n_permutations,)
        R* of permuted labels.
    noise_floor : float or None, default=None
        The 5% quantile of the null distribution; None draws no line.

    Attributes
    ----------
    ax_ : Axes
        Where ``plot`` has drawn.
    figure_ : Figure
        The figure of ``ax_``.
    bars_ : BarContainer
        The histogram.
    statistic_line_, noise_floor_line_ : Line2D
        The two lines; the second is None without a noise floor.

    See Also
    --------
    minimaxrisk.permutation_test : Computes what is drawn.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskClassifier, permutation_test
    >>> from minimaxrisk.datasets import make_expression
    >>> from minimaxrisk.inspection import PermutationTestDisplay
    >>> study = make_expression(40, 100, n_informative=10, effect=1.5, random_state=0)
    >>> test = permutation_test(MinimaxRiskClassifier(), study.data, study.target, 39, random_state=0)
    >>> display = PermutationTestDisplay.from_result(test)
    >>> display.pvalue
    0.025
    """

    statistic: float
    pvalue: float
    null_distribution: FloatArray
    noise_floor: float | None = None

    @classmethod
    def from_result(cls, result: Any) -> PermutationTestDisplay:
        """From the outcome of a permutation test.

        Parameters
        ----------
        result : PermutationTestResult
            What ``minimaxrisk.permutation_test`` returned.

        Returns
        -------
        PermutationTestDisplay
            Ready to ``plot``.

        Raises
        ------
        TypeError
            If ``result`` lacks an attribute that is drawn.
        """
        check_attributes(
            "result",
            result,
            "a result of minimaxrisk.permutation_test",
            ("statistic", "pvalue", "null_distribution", "noise_floor"),
        )
        floors = [value for level, value in result.noise_floor.items() if isclose(level, LEVEL)]
        return cls(
            statistic=float(result.statistic),
            pvalue=float(result.pvalue),
            null_distribution=np.asarray(result.null_distribution, dtype=float),
            noise_floor=float(floors[0]) if floors else None,
        )

    def histogram(self) -> tuple[IntArray, FloatArray]:
        """What the bars show.

        Returns
        -------
        counts : ndarray of int of shape (n_bins,)
            Permutations in each bin.
        edges : ndarray of shape (n_bins + 1,)
            Edges of the bins.
        """
        counts, edges = np.histogram(self.null_distribution, bins=_bin_edges(self.null_distribution))
        return counts, edges

    def plot(self, ax: Any = None) -> PermutationTestDisplay:
        """Draw on ``ax``, or on a figure of its own; needs the extra ``plot``.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        self
            The display, with the axes and the artists as attributes.
        """
        self.figure_, self.ax_ = figure_and_axes(ax)
        n_permutations = len(self.null_distribution)
        _, _, self.bars_ = self.ax_.hist(
            self.null_distribution,
            bins=_bin_edges(self.null_distribution),
            color=SKY,
            edgecolor="white",
            linewidth=0.5,
            label=f"{n_permutations} permutations of the labels",
        )
        self.noise_floor_line_ = None
        if self.noise_floor is not None:
            self.noise_floor_line_ = self.ax_.axvline(
                self.noise_floor,
                color=BLACK,
                linestyle="--",
                label=f"{LEVEL:.0%} quantile of the permutations: {self.noise_floor:.3f}",
            )
        self.statistic_line_ = self.ax_.axvline(
            self.statistic, color=ORANGE, linewidth=2.5, label=f"observed labels: {self.statistic:.3f}"
        )
        self.ax_.set_xlabel("worst-case error R*")
        self.ax_.set_ylabel("number of permutations")
        integer_ticks(self.ax_.yaxis)
        leave_room_for_legend(self.ax_)
        add_legend(self.ax_, loc="upper left")
        finish(self.ax_, title=f"R* of the labels against permuted ones, p = {self.pvalue:.3g}", grid="y")
        return self


def _bin_edges(values: FloatArray) -> FloatArray:
    """Bins of one width: rules that look at quartiles fail where most permutations give the same R*."""
    low, high = float(values.min()), float(values.max())
    widen = max(0.0, NARROWEST_RANGE - (high - low)) / 2
    n_bins = min(max(isqrt(len(values)), FEWEST_BINS), MOST_BINS)
    return np.linspace(low - widen, high + widen, n_bins + 1)
