"""R* beside what else is known about errors: cross-validation, and fits to permuted labels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import Any, Self

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.rounding import at_most
from minimaxrisk.analysis.cross_validation import cross_validated_error
from minimaxrisk.estimators.classifier_cv import last_smallest, n_features_at, within_one_standard_error
from minimaxrisk.guarantees.certified import CHOSEN_RADIUS, PROOF, fitted_for
from minimaxrisk.guarantees.fitted_problem import FittedProblem, as_fitted_problem
from minimaxrisk.inspection.canvas import Display
from minimaxrisk.inspection.chart import INK, MAIN, NOISE, PALE, SECOND, SOFT, Axis, Chart, Mark

ROWS = ("R*, worst case", "drawn labels, cross-val.", "predict, cross-val.")


@dataclass(eq=False, kw_only=True)
class ErrorComparisonDisplay(Display):
    """R*, and cross-validated errors of the two rules: over all samples, with the spread of folds.

    Estimators that calibrate themselves have no cross-validated error of the randomized rule: R* is shown
    with the error of ``predict`` alone.

    Parameters
    ----------
    worst_case_error : float
        R*, the certified upper bound over the uncertainty set.
    fold_errors : ndarray of shape (2, n_folds)
        Errors of the randomized rule (or NaN) and of ``predict`` on folds that were left out.
    errors : ndarray of shape (2,)
        Errors over all left-out samples.
    majority_error : float
        Error of always predicting the most common class.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where ``plot`` has drawn.
    artists_ : dict
        The points ``"R*"``, ``"errors"`` and ``"folds"``, which are larger where several folds agree, the
        intervals ``"deviations"``, and the line ``"most common class"``.
    """

    worst_case_error: float
    fold_errors: FloatArray
    errors: FloatArray
    majority_error: float

    @property
    def fold_deviations(self) -> FloatArray:
        """Standard deviations over the folds."""
        return self.fold_errors.std(axis=1, ddof=1)

    @property
    def _rows(self) -> list[int]:
        """The rules that have errors."""
        return np.flatnonzero(np.isfinite(self.errors)).tolist()

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        n_folds: int = 10,
        random_state: Any = 0,
    ) -> Self:
        """Cross-validate a fitted classifier on its training data.

        Parameters
        ----------
        model : estimator
            A fitted classifier of this library, alone, at the end of a pipeline, or in a search.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The instances that it was fitted on.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples of one group, such as the measurements of a patient, stay in one fold.
        n_folds : int, default=10
            Number of stratified folds.
        random_state : int, RandomState instance or None, default=0
            Seed of the folds.

        Returns
        -------
        ErrorComparisonDisplay
            Ready to ``plot``.
        """
        fitted_for(model, cls.__name__, PROOF)  # before the work
        folds = {"groups": groups, "n_folds": n_folds, "random_state": random_state}
        return cls.from_result(model, cross_validated_error(model, X, y, **folds))

    @classmethod
    def from_result(cls, model: Any, result: Any) -> Self:
        """From a fitted classifier and errors that were cross-validated before.

        Parameters
        ----------
        model : estimator
            A fitted classifier of this library, alone, at the end of a pipeline, or in a search.
        result : object
            With ``fold_errors``, ``errors`` and ``majority_error`` as above, such as ``cross_validation`` of
            ``minimaxrisk.app.report.Findings``.

        Returns
        -------
        ErrorComparisonDisplay
            Ready to ``plot``.
        """
        classifier = fitted_for(model, cls.__name__, PROOF)[0]
        return cls(
            worst_case_error=float(classifier.worst_case_error_),
            fold_errors=np.asarray(result.fold_errors, dtype=float),
            errors=np.asarray(result.errors, dtype=float),
            majority_error=float(result.majority_error),
        )

    def _chart(self) -> Chart:
        r_star, rows, common = self.worst_case_error, self._rows, "always the most common class"
        rules, errors, deviations = 1.0 + np.arange(len(rows)), self.errors[rows], self.fold_deviations[rows]
        # One point for all folds of a rule with the same error.
        folds = [np.unique(each.round(9), return_counts=True) for each in self.fold_errors[rows]]
        values, counts = (np.concatenate(each) for each in zip(*folds, strict=True))
        places, fold = np.repeat(rules, [len(each) for each, _ in folds]), "a fold, or several that agree"
        low, high = errors - deviations, errors + deviations
        whole, worst = "left-out samples ± deviation of folds", "R*, worst case over the set"
        return Chart(
            x=Axis("error probability", starts_at_zero=True),
            y=Axis("error of", rows=(ROWS[0], *(ROWS[1 + row] for row in rows))),
            marks=[
                Mark("rule", "most common class", SOFT, self.majority_error, is_dashed=True, label=common),
                Mark("points", "folds", NOISE, values, places, size=42.0 * counts, label=fold),
                Mark("intervals", "deviations", INK, np.maximum(low, 0.0), rules, high),
                Mark("points", "errors", INK, errors, rules, shape="diamond", size=70, label=whole),
                Mark("points", "R*", SECOND, [r_star], [0.0], shape="square", size=90, label=worst),
            ],
            title=f"Error in {self.fold_errors.shape[1]}-fold cross-validation, and R*",
        )


ERROR, SCORE = "error on left-out samples", "minus the score on left-out samples"


@dataclass(eq=False, kw_only=True)
class FeatureCountDisplay(Display):
    """Left-out error over the number of features, from no feature to many, with one standard error.

    Every point is a radius; a larger one selects fewer features.

    Parameters
    ----------
    radii, n_features : ndarray of shape (n_radii,)
        The grid, descending, and the number of columns that the fit on all samples selects.
    mean_loss, standard_error : ndarray of shape (n_radii,)
        Mean loss of the folds and its standard error; NaN where there is one fold only.
    best, few : int
        Positions of the smallest mean loss, and of the largest radius within one standard error of it, if
        that is known.
    loss_label : str
        What the loss is.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where ``plot`` has drawn.
    artists_ : dict
        The artists ``"loss"``, ``"spread"``, ``"smallest"``, ``"fewest"``, and ``"limit"``, the smallest mean
        loss plus its standard error.

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
    >>> FeatureCountDisplay.from_estimator(model, study.data, study.target).n_features.tolist()
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
    def from_estimator(
        cls, model: Any, X: Any = None, y: Any = None, *, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """From a classifier that has cross-validated its radii; the fits at all of them count the features.

        Parameters
        ----------
        model : MinimaxRiskClassifierCV, or Pipeline that ends with one, or FittedProblem of one
            Fitted with ``rule="one-se"`` or ``"best"``.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features) or None, default=None
            The instances that it was fitted on; None for a ``FittedProblem``, which holds all data.
        y : array-like of shape (n_samples,) or None, default=None
            Their labels.
        sample_weight, groups : array-like of shape (n_samples,) or None, default=None
            What else ``fit`` was given.

        Returns
        -------
        FeatureCountDisplay
            Ready to ``plot``.
        """
        given = model.learner if isinstance(model, FittedProblem) else model
        chosen = fitted_for(given, cls.__name__, CHOSEN_RADIUS)[0]
        results = vars(chosen).get("cv_results_", {})
        if "mean_loss" not in results:
            raise ValueError(
                "FeatureCountDisplay draws left-out losses, and this model has none; fit "
                "MinimaxRiskClassifierCV with rule='one-se' or 'best'."
            )
        fit = as_fitted_problem(model, X, y, sample_weight=sample_weight, groups=groups)
        counts = n_features_at(fit.model, fit.data, results["radii"], fit.posed_by_stored_radius)
        return cls.from_results(results, counts, loss_label=ERROR if chosen.scoring is None else SCORE)

    @classmethod
    def from_results(
        cls, cv_results: dict[str, Any], n_features: IntArray, *, loss_label: str = ERROR
    ) -> Self:
        """From losses of folds, and numbers of features that were counted elsewhere.

        Parameters
        ----------
        cv_results : dict
            ``radii``, ``mean_loss`` and ``standard_error``, as in ``cv_results_``.
        n_features : ndarray of shape (n_radii,)
            How many the fit on all samples selects at each radius.
        loss_label : str, default="error on left-out samples"
            What the loss is.

        Returns
        -------
        FeatureCountDisplay
            Ready to ``plot``.
        """
        mean, spread = cv_results["mean_loss"], cv_results["standard_error"]
        last, best = len(mean) - 1, last_smallest(mean)
        few = best if np.isnan(spread).any() else within_one_standard_error(mean, spread)
        return cls(
            radii=np.asarray(cv_results["radii"], dtype=float)[::-1],
            n_features=np.asarray(n_features)[::-1],
            mean_loss=np.asarray(mean, dtype=float)[::-1],
            standard_error=np.asarray(spread, dtype=float)[::-1],
            best=last - best,
            few=last - few,
            loss_label=loss_label,
        )

    def _chart(self) -> Chart:
        n, mean, spread = self.n_features, self.mean_loss, self.standard_error
        limit, loss = "smallest + its standard error", "mean of the folds, ± one standard error"
        tips = {
            "features": [f"{k:,}" for k in n],
            self.loss_label: [f"{each:.3f}" for each in mean],
            "radius s": [f"{each:.3g}" for each in self.radii],
        }
        marked = [
            Mark("points", what, colour, n[[at]], mean[[at]], size=110, label=f"{what}: {n[at]:,} features")
            for what, at, colour in (("smallest", self.best, SECOND), ("fewest", self.few, NOISE))
        ]
        return Chart(
            x=Axis("number of features, of the fit on all samples", scale="symlog", is_count=True),
            # An error begins at zero, minus a score need not.
            y=Axis(self.loss_label, starts_at_zero=bool(mean.min() >= 0.0)),
            marks=[
                Mark("intervals", "spread", PALE, n, mean - spread, y2=mean + spread),
                Mark("rule", "limit", INK, y=(mean + spread)[self.best], is_dashed=True, label=limit),
                Mark("line", "loss", MAIN, n, mean, label=loss, tips=tips),
                *marked,
            ],
            title=f"{self.loss_label[0].upper()}{self.loss_label[1:]} by number of features",
        )


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
    statistic, pvalue : float
        R* of the observed labels, and its p-value.
    n_permutations, n_no_larger : int
        Permutations that were compared with the observed labels, and how many of them have no larger R*.
    null_distribution : ndarray of shape (n_null,)
        R* of those permutations whose R* was computed.
    noise_floor : float or None, default=None
        The 5% quantile of the null distribution; None draws no line.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where ``plot`` has drawn.
    artists_ : dict
        The bars ``"permutations"`` and the lines ``"observed"`` and, if there is one, ``"noise floor"``.

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
        return cls(
            statistic=float(result.statistic),
            pvalue=float(result.pvalue),
            n_permutations=int(result.n_permutations),
            n_no_larger=int(result.n_no_larger),
            null_distribution=np.asarray(result.null_distribution, dtype=float),
            noise_floor=result.noise_floor.get(LEVEL),
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
        # Bins of one width: rules that look at quartiles fail where most permutations give the same R*.
        values = self.null_distribution
        low, high = float(values.min()), float(values.max())
        widen = max(0.0, NARROWEST_RANGE - (high - low)) / 2
        n_bins = min(max(isqrt(len(values)), FEWEST_BINS), MOST_BINS)
        return np.histogram(values, bins=np.linspace(low - widen, high + widen, n_bins + 1))

    def _chart(self) -> Chart:
        counts, edges = self.histogram()
        tips = {
            "R*": [f"{low:.3f} to {high:.3f}" for low, high in pairwise(edges)],
            "permutations": [str(n) for n in counts],
        }
        null = f"R* of {len(self.null_distribution)} permutations"
        marks = [
            Mark("bars", "permutations", NOISE, edges[:-1], 0.0, edges[1:], counts, label=null, tips=tips)
        ]
        if (floor := self.noise_floor) is not None:
            label = f"noise floor, their {LEVEL:.0%} quantile, {floor:.3f}"
            marks.append(Mark("rule", "noise floor", INK, floor, is_dashed=True, label=label))
        observed = f"observed labels, {at_most(self.statistic, '.3f')}"
        return Chart(
            x=Axis("worst-case error R*"),
            y=Axis("number of permutations", is_count=True),
            marks=[*marks, Mark("rule", "observed", SECOND, self.statistic, label=observed)],
            title=f"R* of the labels against permuted ones, p = {self.pvalue:.3g} "
            f"with {self.n_permutations} permutations",
        )
