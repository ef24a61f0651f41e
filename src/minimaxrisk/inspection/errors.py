"""The cross-validated error beside R*.

The observed R* beside those of permuted labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose, isqrt
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.analysis.cross_validation import cross_validated_error
from minimaxrisk.inspection.canvas import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    SKY,
    add_legend,
    check_attributes,
    check_fitted,
    figure_and_axes,
    finish,
    integer_ticks,
    last_step,
    leave_room_for_legend,
)


@dataclass(eq=False, kw_only=True)
class ErrorComparisonDisplay:
    """R* as a line, and cross-validated errors of the two rules: over all samples, with the spread of folds.

    Parameters
    ----------
    worst_case_error : float
        R*, the certified upper bound over the uncertainty set.
    fold_errors : ndarray of shape (2, n_folds)
        Errors of the randomized rule and of ``predict`` on folds that were left out.
    errors, fold_deviations : ndarray of shape (2,)
        Errors over all left-out samples, and standard deviations over the folds.
    majority_error : float
        Share of the samples that always naming the most common class gets wrong: the error where nothing was
        learned.

    Attributes
    ----------
    ax_ : Axes
        Where ``plot`` has drawn.
    figure_ : Figure
        The figure of ``ax_``.
    worst_case_line_, majority_line_ : Line2D
        R* and the error of always naming the most common class.
    mean_points_ : ErrorbarContainer
        Errors and standard deviations.
    fold_points_ : list of PathCollection
        The folds, one collection per rule.
    """

    worst_case_error: float
    fold_errors: FloatArray
    errors: FloatArray
    fold_deviations: FloatArray
    majority_error: float

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        n_folds: int = 10,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> ErrorComparisonDisplay:
        """Cross-validate a fitted classifier on its training data.

        Parameters
        ----------
        model : MinimaxRiskClassifier, or Pipeline that ends with one
            Fitted.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The instances that it was fitted on.
        y : array-like of shape (n_samples,)
            Their labels.
        n_folds : int, default=10
            Number of stratified folds.
        random_state : int, RandomState instance or None, default=0
            Seed of the folds.
        n_jobs : int or None, default=None
            Processes among which the folds are shared, as in joblib.

        Returns
        -------
        ErrorComparisonDisplay
            Ready to ``plot``.

        Raises
        ------
        TypeError
            If ``model`` lacks an attribute that is drawn.
        """
        _check_model(last_step(model))
        result = cross_validated_error(model, X, y, n_folds=n_folds, random_state=random_state, n_jobs=n_jobs)
        return cls.from_result(model, result)

    @classmethod
    def from_result(cls, model: Any, result: Any) -> ErrorComparisonDisplay:
        """From a fitted classifier and errors that were cross-validated before.

        Parameters
        ----------
        model : MinimaxRiskClassifier, or Pipeline that ends with one
            Fitted.
        result : object
            With ``fold_errors``, ``errors``, ``fold_deviations`` and ``majority_error`` as above, such as
            ``cross_validation`` of ``minimaxrisk.app.report.Findings``.

        Returns
        -------
        ErrorComparisonDisplay
            Ready to ``plot``.

        Raises
        ------
        TypeError
            If ``model`` or ``result`` lacks an attribute that is drawn.
        """
        model = last_step(model)
        _check_model(model)
        check_attributes(
            "result",
            result,
            "a CrossValidatedError",
            ("fold_errors", "errors", "fold_deviations", "majority_error"),
        )
        return cls(
            worst_case_error=float(model.worst_case_error_),
            fold_errors=np.asarray(result.fold_errors, dtype=float),
            errors=np.asarray(result.errors, dtype=float),
            fold_deviations=np.asarray(result.fold_deviations, dtype=float),
            majority_error=float(result.majority_error),
        )

    def plot(self, ax: Any = None) -> ErrorComparisonDisplay:
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
        self.figure_, self.ax_ = figure_and_axes(ax, height=3.2)
        self.worst_case_line_ = self.ax_.axvline(
            self.worst_case_error, color=ORANGE, linewidth=2.5, label=f"R*: {self.worst_case_error:.3f}"
        )
        self.majority_line_ = self.ax_.axvline(
            self.majority_error,
            color=GREY,
            linestyle="--",
            label=f"largest class: {self.majority_error:.3f}",
        )
        self.fold_points_ = [
            self.ax_.scatter(errors, np.full(len(errors), row), color=colour, alpha=0.35, linewidths=0)
            for row, (errors, colour) in enumerate(zip(self.fold_errors, (BLUE, GREEN), strict=True))
        ]
        self.mean_points_ = self.ax_.errorbar(
            self.errors,
            [0, 1],
            xerr=self.fold_deviations,
            fmt="D",
            color="black",
            capsize=4,
            label="all folds ± sd",
        )
        self.ax_.set_yticks([0, 1], labels=["randomized rule", "predict"])
        self.ax_.set_ylim(1.6, -1.1)
        self.ax_.set_xlim(left=min(0.0, self.ax_.get_xlim()[0]))
        self.ax_.set_xlabel("error")
        add_legend(self.ax_, loc="upper center", ncols=3)
        n_folds = self.fold_errors.shape[1]
        finish(self.ax_, title=f"Error in {n_folds}-fold cross-validation, and R*", grid="x")
        return self


def _check_model(model: Any) -> None:
    check_fitted("model", model, "a fitted MinimaxRiskClassifier", ("worst_case_error_", "classes_"))


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
