"""R* beside what else is known about errors: cross-validation, and fits to permuted labels."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose, isqrt
from typing import Any, ClassVar, Self

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.analysis.cross_validation import cross_validated_error
from minimaxrisk.estimators.classifier_cv import last_smallest, within_one_standard_error
from minimaxrisk.inspection import canvas
from minimaxrisk.inspection.canvas import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, SKY, Display


@dataclass(eq=False, kw_only=True)
class ErrorComparisonDisplay(Display):
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
        Error of always predicting the most common class.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where ``plot`` has drawn.
    worst_case_line_, majority_line_ : Line2D
        R* and the majority error.
    mean_points_ : ErrorbarContainer
        Errors and standard deviations.
    fold_points_ : list of PathCollection
        The folds, one collection per rule.
    """

    _size: ClassVar[tuple[float, float]] = (6.4, 3.2)
    _grid: ClassVar[str] = "x"

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
    ) -> Self:
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
        """
        canvas.fitted_classifier(model, ("worst_case_error_", "classes_"))  # before the work
        result = cross_validated_error(model, X, y, n_folds=n_folds, random_state=random_state, n_jobs=n_jobs)
        return cls.from_result(model, result)

    @classmethod
    def from_result(cls, model: Any, result: Any) -> Self:
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
        """
        classifier = canvas.fitted_classifier(model, ("worst_case_error_", "classes_"))
        drawn = ("fold_errors", "errors", "fold_deviations", "majority_error")
        canvas.check_attributes("result", result, "a CrossValidatedError", drawn)
        return cls(
            worst_case_error=float(classifier.worst_case_error_),
            fold_errors=np.asarray(result.fold_errors, dtype=float),
            errors=np.asarray(result.errors, dtype=float),
            fold_deviations=np.asarray(result.fold_deviations, dtype=float),
            majority_error=float(result.majority_error),
        )

    def _title(self) -> str:
        return f"Error in {self.fold_errors.shape[1]}-fold cross-validation, and R*"

    def _draw(self, ax: Any) -> None:
        self.worst_case_line_ = ax.axvline(
            self.worst_case_error, color=ORANGE, linewidth=2.5, label=f"R*: {self.worst_case_error:.3f}"
        )
        self.majority_line_ = ax.axvline(
            self.majority_error, color=GREY, linestyle="--", label=f"largest class: {self.majority_error:.3f}"
        )
        self.fold_points_ = [
            ax.scatter(errors, np.full(len(errors), row), color=colour, alpha=0.35, linewidths=0)
            for row, (errors, colour) in enumerate(zip(self.fold_errors, (BLUE, GREEN), strict=True))
        ]
        self.mean_points_ = ax.errorbar(
            self.errors, [0, 1], xerr=self.fold_deviations, fmt="kD", capsize=4, label="all folds ± sd"
        )
        ax.set_yticks([0, 1], labels=["randomized rule", "predict"])
        ax.set_ylim(1.6, -1.1)
        ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
        ax.set_xlabel("error")
        canvas.add_legend(ax, loc="upper center", ncols=3)


@dataclass(eq=False, kw_only=True)
class FeatureCountDisplay(Display):
    """Left-out error over the number of features, from no feature to many, with one standard error.

    Every point is a radius; a larger one selects fewer features.

    Parameters
    ----------
    radii : ndarray of shape (n_radii,)
        The grid, descending.
    n_features : ndarray of shape (n_radii,)
        Number of columns that the fit on all samples selects.
    mean_loss, standard_error : ndarray of shape (n_radii,)
        Mean loss of the folds and its standard error.
    best, few : int
        Positions of the smallest mean loss, and of the largest radius within one standard error of it.
    loss_label : str
        What the loss is.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where ``plot`` has drawn.
    loss_line_, limit_line_ : Line2D
        The mean loss, and the smallest one plus its standard error.
    error_bars_ : ErrorbarContainer
        One standard error to either side.
    best_point_, few_point_ : PathCollection
        The two marked points.

    See Also
    --------
    minimaxrisk.MinimaxRiskClassifierCV : Computes what is drawn.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskClassifierCV
    >>> from minimaxrisk.datasets import make_expression
    >>> from minimaxrisk.inspection import FeatureCountDisplay
    >>> study = make_expression(60, 100, n_informative=5, effect=1.5, random_state=0)
    >>> model = MinimaxRiskClassifierCV(radii=[1, 2, 3, 4]).fit(study.data, study.target)
    >>> FeatureCountDisplay.from_estimator(model).n_features.tolist()
    [4, 4, 12, 24]
    """

    radii: FloatArray
    n_features: IntArray
    mean_loss: FloatArray
    standard_error: FloatArray
    best: int
    few: int
    loss_label: str

    @classmethod
    def from_estimator(cls, model: Any) -> Self:
        """From a classifier that has cross-validated its radii.

        Parameters
        ----------
        model : MinimaxRiskClassifierCV
            Fitted with ``criterion="cross-validation"``, two folds or more, and a ``rule`` that is not a
            number.

        Returns
        -------
        FeatureCountDisplay
            Ready to ``plot``.
        """
        expected = "a MinimaxRiskClassifierCV fitted with criterion='cross-validation' and folds"
        canvas.check_fitted("model", model, expected, ("cv_results_",))
        results = model.cv_results_
        missing = [name for name in ("mean_loss", "n_features_of_fit") if name not in results]
        if missing:
            raise TypeError(
                f"model must be {expected}, got {type(model).__name__}, whose cv_results_ have no "
                f"{missing[0]}."
            )
        mean, spread = results["mean_loss"], results["standard_error"]
        if np.isnan(spread).any():
            raise ValueError("a standard error needs two folds or more; fit the model with cv=5.")
        last = len(mean) - 1
        return cls(
            radii=np.asarray(results["radii"], dtype=float)[::-1],
            n_features=np.asarray(results["n_features_of_fit"])[::-1],
            mean_loss=np.asarray(mean, dtype=float)[::-1],
            standard_error=np.asarray(spread, dtype=float)[::-1],
            best=last - last_smallest(mean),
            few=last - within_one_standard_error(mean, spread),
            loss_label=canvas.loss_label_of(model),
        )

    def _title(self) -> str:
        return (
            f"{self.loss_label[0].upper()}{self.loss_label[1:]} by number of features, ± one standard error"
        )

    def _draw(self, ax: Any) -> None:
        n, mean = self.n_features, self.mean_loss
        # Zero and one feature have their place, and many do not push few together.
        ax.set_xscale("symlog", linthresh=1.0)
        ax.xaxis.set_major_formatter("{x:g}")
        self.error_bars_ = ax.errorbar(n, mean, yerr=self.standard_error, fmt="none", color=PALE, zorder=1)
        (self.loss_line_,) = ax.plot(n, mean, color=BLUE, marker="o", markersize=4, label="mean of the folds")
        self.limit_line_ = ax.axhline(
            mean[self.best] + self.standard_error[self.best],
            color=BLACK,
            linestyle="--",
            linewidth=1.0,
            label="smallest + its standard error",
        )
        self.best_point_, self.few_point_ = (
            ax.scatter(
                n[place], mean[place], s=90, color=colour, zorder=3, label=f"{what}: {n[place]} features"
            )
            for place, colour, what in ((self.best, GREEN, "smallest error"), (self.few, ORANGE, "fewest"))
        )
        ax.set_xlabel("number of features, of the fit on all samples")
        ax.set_ylabel(self.loss_label)
        canvas.leave_room_above(ax, mean)
        canvas.add_legend(ax, loc="upper center", ncols=2)


# The quantile of the noise below which a result counts as better than noise.
LEVEL = 0.05
FEWEST_BINS, MOST_BINS = 10, 40
# Radii so large that noise never selects anything give the same R* every time; then a bin is this wide.
NARROWEST_RANGE = 0.01


@dataclass(eq=False, kw_only=True)
class PermutationTestDisplay(Display):
    """Histogram of R* under permuted labels, with the observed R* and the 5% quantile of the noise.

    Parameters
    ----------
    statistic : float
        R* of the observed labels.
    pvalue : float
        Its p-value.
    n_permutations : int
        Permutations that were compared with the observed labels.
    n_no_larger : int
        How many of them have no larger R*.
    null_distribution : ndarray of shape (n_null,)
        R* of those permutations whose R* was computed.
    noise_floor : float or None, default=None
        The 5% quantile of the null distribution; None draws no line.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where ``plot`` has drawn.
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
    n_permutations: int
    n_no_larger: int
    null_distribution: FloatArray
    noise_floor: float | None = None

    @classmethod
    def from_result(cls, result: Any) -> Self:
        """From the outcome of a permutation test.

        Parameters
        ----------
        result : PermutationTestResult
            What ``minimaxrisk.permutation_test`` returned.

        Returns
        -------
        PermutationTestDisplay
            Ready to ``plot``.
        """
        drawn = (
            *("statistic", "pvalue", "n_permutations", "n_no_larger"),
            *("null_distribution", "noise_floor"),
        )
        canvas.check_attributes("result", result, "a result of minimaxrisk.permutation_test", drawn)
        floors = [value for level, value in result.noise_floor.items() if isclose(level, LEVEL)]
        return cls(
            statistic=float(result.statistic),
            pvalue=float(result.pvalue),
            n_permutations=int(result.n_permutations),
            n_no_larger=int(result.n_no_larger),
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

    def _title(self) -> str:
        return (
            f"R* of the labels against permuted ones, p = {self.pvalue:.3g} "
            f"with {self.n_permutations} permutations"
        )

    def _draw(self, ax: Any) -> None:
        _, _, self.bars_ = ax.hist(
            self.null_distribution,
            bins=_bin_edges(self.null_distribution),
            color=SKY,
            edgecolor="white",
            linewidth=0.5,
            label=f"R* of {len(self.null_distribution)} permutations",
        )
        self.noise_floor_line_ = None
        if self.noise_floor is not None:
            label = f"{LEVEL:.0%} quantile of the permutations: {self.noise_floor:.3f}"
            self.noise_floor_line_ = ax.axvline(self.noise_floor, color=BLACK, linestyle="--", label=label)
        self.statistic_line_ = ax.axvline(
            self.statistic, color=ORANGE, linewidth=2.5, label=f"observed labels: {self.statistic:.3f}"
        )
        ax.set_xlabel("worst-case error R*")
        ax.set_ylabel("number of permutations")
        ax.yaxis.get_major_locator().set_params(integer=True)
        canvas.leave_room_for_legend(ax)
        canvas.add_legend(ax, loc="upper left")


def _bin_edges(values: FloatArray) -> FloatArray:
    """Bins of one width: rules that look at quartiles fail where most permutations give the same R*."""
    low, high = float(values.min()), float(values.max())
    widen = max(0.0, NARROWEST_RANGE - (high - low)) / 2
    n_bins = min(max(isqrt(len(values)), FEWEST_BINS), MOST_BINS)
    return np.linspace(low - widen, high + widen, n_bins + 1)
