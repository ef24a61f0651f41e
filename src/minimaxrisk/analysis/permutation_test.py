"""What R* would be if the labels had nothing to do with the features: the noise floor and a p-value.

Labels are permuted among the samples, which breaks every connection with the features and keeps the
class sizes, and R* is computed again. If labels and features are independent, within the strata where there
are any, the observed labelling is exchangeable with the others, so that

    p = (1 + number of permutations with R* no larger than the observed one) / (1 + number of permutations)

is at most alpha with probability at most alpha, for any number of permutations.

Most permuted fits stop early. U is a certified upper bound on the observed R*, and a permutation counts as
larger only where a certified lower bound on its R* exceeds U. One whose R* is no larger than the observed
one has no such bound, so it is always counted: p is never smaller than with exact values, and stays valid. It
is larger only where values differ by less than the gap at which undecided fits stop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from minimaxrisk._utils.arguments import check_positive_integer, is_number
from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.environment import suitable_threads
from minimaxrisk._utils.notices import quiet_fits, warn
from minimaxrisk._utils.parallel import parallel_map_in_batches, progress_bar
from minimaxrisk._utils.sklearn_private import check_sample_weight, fit_with, steps_of
from minimaxrisk._utils.stored_tables import LARGE
from minimaxrisk.engines.solution import UNDECIDED_GAP, Bounds, StoppingRule
from minimaxrisk.estimators.fit_support import radius_seed_of
from minimaxrisk.guarantees.certified import CHOSEN_RADIUS, OTHER_LABELS, Estimator, can, check_supported
from minimaxrisk.guarantees.fitted_problem import (
    FittedProblem,
    as_fitted_problem,
    is_label_free,
    weight_kind_of,
)
from minimaxrisk.samples.independent_units import weights_follow_labels
from minimaxrisk.samples.label_permutations import ExchangeableLabels
from minimaxrisk.samples.labels import check_labels
from minimaxrisk.samples.parts import part_for
from minimaxrisk.samples.validation import TrainingData, check_training_data


def ignores_labels(pipeline: Pipeline, *, has_weights: bool) -> bool:
    """Whether the steps before the last one are sure to give the same features for every labelling.

    Not where metadata routing could take weights to them: it is for the pipeline to say which steps get any.
    """
    if len(pipeline) < 2 or (has_weights and get_config()["enable_metadata_routing"]):
        return False
    return is_label_free(pipeline[:-1])


QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95)
# Statistics closer than this are equal: the same labelling may be added up in another order.
TIE = 1e-12
# Permutations whose R* is computed, for the null distribution; the others are only compared with the observed
# one, which takes a sixth to a half of the time.
NULL_SIZE = 25


@dataclass(frozen=True)
class PermutationTestResult:
    """Outcome of ``permutation_test``; ``print`` shows it in a sentence.

    Attributes
    ----------
    statistic : float
        R* of the labels as they are: an upper bound within ``gap_tol`` and 1e-6.
    pvalue : float
        ``(1 + n_no_larger) / (1 + n_permutations)``.
    n_permutations, n_no_larger : int
        How many permuted labellings were compared with the observed one, and how many of them have an R* that
        is no larger, or could not be shown to be larger.
    null_distribution : ndarray of shape (n_null,)
        R* of the first permuted labellings, upper bounds within ``gap_tol``, in the order in which they were
        drawn.
    noise_floor : dict of float to float
        Quantiles of the null distribution by probability.
    gap_tol : float
        The certified gap of ``statistic`` and of the values in ``null_distribution``: what was asked for, or
        a larger one, with a warning, where a limit of the solver ended it before.
    """

    statistic: float
    pvalue: float
    n_permutations: int
    n_no_larger: int
    null_distribution: FloatArray = field(repr=False)
    noise_floor: Mapping[float, float]
    gap_tol: float

    def __str__(self) -> str:
        remark = ", the smallest possible" if self.n_no_larger == 0 else ""
        return (
            f"R* = {self.statistic:.3f}; with permuted labels {self.noise_floor[0.5]:.3f} in the median and "
            f"below {self.noise_floor[0.05]:.3f} in 5% of {len(self.null_distribution)} permutations; "
            f"p = {self.pvalue:.3g} with {self.n_permutations} permutations{remark}"
        )


def permutation_test(
    estimator: Estimator | FittedProblem,
    X: Any = None,
    y: Any = None,
    n_permutations: int = 200,
    *,
    groups: Any = None,
    strata: Any = None,
    sample_weight: Any = None,
    n_null: int | None = NULL_SIZE,
    gap_tol: float = 1e-3,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> PermutationTestResult:
    """Test whether labels and features are related: compare R* with R* of permuted labels.

    R* of a plain radius can be small on pure noise.

    Parameters
    ----------
    estimator : MinimaxRiskClassifier, MinimaxRiskKernelClassifier, Pipeline with one, or FittedProblem
        Fitted or not; it is cloned. A ``FittedProblem`` has the data; of an ensemble its estimator is tested,
        and where labels chose the radius, radius 1. Steps of a pipeline are fitted again for every
        permutation, unless all are known to ignore labels, as the scalers of scikit-learn do.
    X : {array-like, sparse matrix, data frame, dask array} of shape (n_samples, n_features), default=None
        Instances; None with a ``FittedProblem``.
    y : array-like of shape (n_samples,) or None, default=None
        Their labels.
    n_permutations : int, default=200
        The smallest possible p-value is ``1 / (1 + n_permutations)``.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples with the same entry, such as measurements of one patient, are not independent. Where they
        share a label, labels move from group to group; in a group with several labels, as of tumour and
        normal tissue of a patient, they are exchanged within it. R* is that of ``fit(X, y, groups=groups)``.
    strata : array-like of shape (n_samples,) or None, default=None
        Labels are exchanged among samples with the same entry only (a batch, a hospital), so that
        differences between strata are part of the null hypothesis.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights, which stay with the samples. Samples of weight 0 take no part. If weights depend on the
        label, a warning advises ``class_weight`` of the estimator, which moves with the labels.
    n_null : int or None, default=25
        For how many permutations (None: all) R* is computed to ``gap_tol``, for the null distribution. Other
        fits stop as soon as they show whether R* is larger. The p-value does not depend on it.
    gap_tol : float, default=1e-3
        The certified gap of each R* in the null distribution, unless the estimator's own settings stop its
        solver earlier.
    n_jobs : int or None, default=None
        Processes, as in scikit-learn: None is one, -1 one per core. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.
    verbose : int, default=0
        If positive, a progress bar on standard error.

    Returns
    -------
    PermutationTestResult
        R* of the labels as they are and of the permuted ones, the p-value, and the noise floor.

    Raises
    ------
    ValueError
        If samples of one group lie in different strata, if groups of more than two classes have several
        labels, or if an argument is not valid.

    See Also
    --------
    minimaxrisk.inspection.PermutationTestDisplay : Draws the outcome.
    check_batches : Tells whether a result could be one of batches.

    Notes
    -----
    If labels and features are independent (within the strata), p is at most alpha with probability at most
    alpha, for any number of permutations.

    A permutation whose certified bounds leave it undecided counts as no larger, so that p is never smaller
    than with exact values.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskClassifier, permutation_test
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(60, 500, n_informative=10, effect=1.5, random_state=0)
    >>> test = permutation_test(MinimaxRiskClassifier(), study.data, study.target, 99, random_state=0)
    >>> test.pvalue
    0.01
    """
    check_positive_integer("n_permutations", n_permutations)
    n_null = n_permutations if n_null is None else n_null
    check_positive_integer("n_null", n_null)
    if not (is_number(gap_tol) and gap_tol > 0.0):
        raise ValueError(f"gap_tol must be positive, got {gap_tol!r}.")
    fit = estimator if isinstance(estimator, FittedProblem) else None
    if fit is not None:
        as_fitted_problem(fit, X, y, groups=groups, sample_weight=sample_weight)  # refuses other data
        estimator, X, y = tested_classifier(fit), fit.X_transformed, fit.y
        groups, sample_weight = fit.groups, fit.sample_weight
    elif X is None or y is None:
        raise ValueError("X and y must be passed: samples, and their labels.")
    sample = _Sample.check(X, y, groups, strata, sample_weight, estimator=estimator)
    if sample.weights is not None and weights_follow_labels(sample.weights, sample.y):
        warn(
            "the p-value means nothing, since sample_weight depends on the label: it stays with the samples "
            "while labels are permuted, and this alone tells the observed labels from permuted ones. Use "
            "class_weight of the estimator instead.",
            UserWarning,
        )
    bounds_of = _bounds_of(estimator, sample, fit)
    (observed,) = bounds_of([(np.arange(len(sample.y)), StoppingRule(min(gap_tol, UNDECIDED_GAP)))])
    threshold = observed.upper + TIE
    # Values of the null distribution are computed to the gap, others until they are shown to be larger.
    rules = [StoppingRule(gap_tol if i < n_null else np.inf, threshold) for i in range(n_permutations)]
    labellings = list(zip(sample.labels.orders_of_rows(n_permutations, random_state), rules, strict=True))
    with progress_bar(n_permutations, "permutations", verbose=verbose) as progress:
        found = parallel_map_in_batches(
            bounds_of, labellings, size=bounds_of.batch_size, n_jobs=n_jobs, progress=progress
        )
    n_no_larger = sum(bounds.lower <= threshold for bounds in found)
    null = np.array([bounds.upper for bounds in found[:n_null]])
    return PermutationTestResult(
        statistic=observed.upper,
        pvalue=(1 + n_no_larger) / (1 + n_permutations),
        n_permutations=n_permutations,
        n_no_larger=n_no_larger,
        null_distribution=null,
        noise_floor={q: float(np.quantile(null, q)) for q in QUANTILES},
        gap_tol=_gap_reached([observed, *found[:n_null]], float(gap_tol)),
    )


def _gap_reached(stated: Sequence[Bounds], gap_tol: float) -> float:
    """The gap asked for, or with a warning the larger one at which a limit of the solver ended."""
    widest = max(bounds.upper - bounds.lower for bounds in stated)
    if widest <= gap_tol + TIE:
        return gap_tol
    warn(
        f"the estimator's solver stopped where R* is known within {widest:.2g}, not within "
        f"gap_tol={gap_tol:g}. The p-value is valid, but may be larger than it need be; a larger max_iter "
        "or max_seconds of the solver, where one is set, brings the bounds closer together.",
        ConvergenceWarning,
    )
    return widest


# An order of the labels, and when the bounds on its R* are enough.
Labelling: TypeAlias = tuple[IntArray, StoppingRule]


@dataclass(frozen=True)
class _Sample:
    """The samples of positive weight, and which of their labels may be exchanged."""

    X: Any
    y: np.ndarray
    weights: FloatArray | None
    labels: ExchangeableLabels

    @classmethod
    def check(
        cls, X: Any, y: Any, groups: Any, strata: Any, sample_weight: Any, *, estimator: Any = None
    ) -> _Sample:
        y = check_labels(X, y, groups=groups, strata=strata, sample_weight=sample_weight)
        if sample_weight is None:
            return cls(X, y, None, ExchangeableLabels.check(y, groups, strata))
        weights = check_sample_weight(sample_weight, y, dtype=np.float64)
        rows = np.flatnonzero(weights)
        labels = ExchangeableLabels.check(y, groups, strata, rows)
        return cls(part_for(estimator, X, rows, rows), y[rows], weights[rows], labels)


def tested_classifier(fit: FittedProblem) -> Any:
    """What labels are permuted for: the model, with radius 1 where labels chose another, or a single member.

    Whether labels and features are related does not depend on the model. A radius that labels chose would
    have to be chosen anew for every permutation, and an ensemble fitted anew.
    """
    tested = clone(fit.model._parameters_of_set()).set_params(callback=None)
    return tested.set_params(radius=1.0) if can(fit.learner, CHOSEN_RADIUS) else tested


def _bounds_of(
    estimator: Any, sample: _Sample, fit: FittedProblem | None = None
) -> _Relabelling | _Refitting:
    *before, last = steps_of(estimator)
    check_supported(last, "permutation_test", OTHER_LABELS)
    if before and ignores_labels(estimator, has_weights=sample.weights is not None):
        with quiet_fits():
            transformed = clone(estimator[:-1]).fit_transform(sample.X, sample.y)
        return _bounds_of(last, replace(sample, X=transformed))
    # A subclass may do anything in its fit.
    is_own = type(last).__module__.startswith("minimaxrisk.")
    if last is estimator and is_own and last.class_weight is None:
        return _Relabelling.of(last, sample, fit)
    return _Refitting(estimator, sample)


@dataclass(frozen=True)
class _Relabelling:
    """Bounds on R* of other labellings. Features do not depend on labels, so they are prepared once."""

    estimator: Any
    posed: Any
    data: TrainingData
    rule: Any

    @classmethod
    def of(cls, estimator: Any, sample: _Sample, fit: FittedProblem | None = None) -> _Relabelling:
        """On features that were posed before, if ``fit`` has them."""
        checked = clone(estimator)
        checked._validate_params()
        data = check_training_data(
            checked,
            sample.X,
            sample.y,
            sample_weight=sample.weights,
            weight_kind=weight_kind_of(checked),
            groups=sample.labels.groups,
        )
        kind = checked._set_kind
        rule = kind.radius_rule(checked, radius_seed_of(checked))
        with suitable_threads(len(data.labels)):
            if fit is not None and fit._has_posed(data):
                posed = fit.posed_by_parameters.with_radii(rule)
            else:
                posed = kind.pose(_sharing_a_copy(checked, data), data, rule)
            # The features hold the values of X already.
            empty = replace(data, X=np.empty((len(data.labels), 0)))
            return cls(checked, posed, empty, posed.rule_for_labellings(rule))

    @property
    def batch_size(self) -> int:
        return self.estimator._problems_at_a_time(self.posed.problem)

    def __call__(self, labellings: Sequence[Labelling]) -> list[Bounds]:
        relabelled = [replace(self.data, labels=self.data.labels[order]) for order, _ in labellings]
        found: list[Bounds] = []
        with suitable_threads(len(self.data.labels)):
            posed = self.posed.relabelled(relabelled, self.rule)
            problems = zip(
                (each.problem for each in posed), (enough for _, enough in labellings), strict=True
            )
            for enough, alike in groupby(problems, key=itemgetter(1)):
                found += self.estimator._bounds([problem for problem, _ in alike], enough)
        return found


def _sharing_a_copy(parameters: Any, data: TrainingData) -> Any:
    """Many labellings share a copy that a single fit would not be worth."""
    is_free = getattr(parameters, "copy", None) == "auto"
    if is_free and data.X.shape[0] * data.X.shape[1] <= LARGE:
        return clone(parameters).set_params(copy=True)
    return parameters


@dataclass(frozen=True)
class _Refitting:
    """Everything anew for each labelling: steps of a pipeline, or class weights, may depend on labels."""

    estimator: Any
    sample: _Sample

    batch_size = 1

    def __call__(self, labellings: Sequence[Labelling]) -> list[Bounds]:
        return [self._of_labelling(order, enough) for order, enough in labellings]

    def _of_labelling(self, order: IntArray, enough: StoppingRule) -> Bounds:
        fresh = clone(self.estimator)
        last = steps_of(fresh)[-1]
        last.set_params(callback=enough.stops, verbose=0)
        with quiet_fits():
            fit_with(
                fresh,
                self.sample.X,
                self.sample.y[order],
                sample_weight=self.sample.weights,
                groups=self.sample.labels.groups,
            )
        return Bounds(float(last.worst_case_error_lower_), float(last.worst_case_error_))
