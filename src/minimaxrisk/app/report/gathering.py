"""What is being computed, told to a person who waits, and how long each part took.

This model beside classifiers that people use on such data, on the same folds.

What a report computes, part after part: the numbers, and not how they look.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import column_or_1d

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk._utils.sklearn_private import num_samples
from minimaxrisk.analysis.comparison import CannotFitError, Comparison, compare, usual_rivals
from minimaxrisk.analysis.contrasts import class_contrasts
from minimaxrisk.analysis.cross_validation import (
    cross_validated_error,
    n_folds_possible,
    predicting_copy,
    sizes_of_classes,
    stratified_folds,
)
from minimaxrisk.analysis.minimax_risk_path import minimax_risk_path
from minimaxrisk.analysis.permutation_test import PermutationTestResult, ignores_labels, permutation_test
from minimaxrisk.app.report.findings import (
    ComparedClassifier,
    Findings,
    FitSummary,
    Rivals,
    list_suspects,
    summarise_classes,
    summarise_data,
    summarise_left_out,
    summarise_radius,
    tabulate_features,
    training_predictions,
    volcano_of,
)
from minimaxrisk.app.report.phrases import clipping, listed
from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.guarantees.error_bound import error_bound
from minimaxrisk.guarantees.posed_fit import PosedFit
from minimaxrisk.guarantees.statement import ErrorBound
from minimaxrisk.guarantees.verification import verify
from minimaxrisk.guarantees.worst_case import worst_case_of_rule
from minimaxrisk.inspection import (
    BoundPathDisplay,
    ErrorComparisonDisplay,
    PermutationTestDisplay,
    SelectedValuesDisplay,
    WorstCaseDistributionDisplay,
)
from minimaxrisk.inspection.canvas import (
    check_fitted,
    check_number_of_names,
    last_step,
    names_of_columns,
    seen_by,
)
from minimaxrisk.samples.validation import positions_of_labels


class Stopwatch:
    """Parts one after the other; each ends where the next one begins."""

    def __init__(self, tell: Callable[[str], object] | None = None) -> None:
        self._tell = tell
        self._begun: list[tuple[str, float]] = []

    def begin(self, part: str) -> None:
        if self._tell is not None:
            self._tell(part)
        self._begun.append((part, time.perf_counter()))

    def end(self) -> dict[str, float]:
        """Seconds by part, those of a part that came twice added."""
        ends = [moment for _, moment in self._begun[1:]] + [time.perf_counter()]
        seconds: dict[str, float] = {}
        for (part, begun), ended in zip(self._begun, ends, strict=True):
            seconds[part] = seconds.get(part, 0.0) + ended - begun
        return seconds


THIS_MODEL = "this model"
# A difference can be told from none if it is larger than so many of its standard errors.
TELLING = 2.0


def beside_rivals(
    learner: Any,
    X: DataMatrix,
    y: np.ndarray,
    *,
    n_folds: int,
    random_state: Any,
    n_jobs: int | None,
    groups: Any = None,
) -> Rivals:
    """Cross-validate a classifier, or a pipeline that ends with one, and the usual rivals."""
    folds = stratified_folds(learner, y, n_folds, random_state, groups)
    rivals = usual_rivals(len(learner.classes_), is_sparse=bool(sparse.issparse(X)))
    estimators, left_out = {THIS_MODEL: predicting_copy(learner), **rivals}, {}
    while True:
        try:
            # The rivals are ours to choose, so what they warn about is nothing that a reader could act upon.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = compare(estimators, X, y, cv=folds, groups=groups, n_jobs=n_jobs)
        except CannotFitError as failure:
            if failure.name == THIS_MODEL:
                raise
            left_out[failure.name] = failure.reason
            del estimators[failure.name]
        else:
            return Rivals(found.errors.shape[1], _summarise(found), left_out)


def _summarise(found: Comparison) -> tuple[ComparedClassifier, ...]:
    summaries = []
    for i, name in enumerate(found.names):
        difference, its_error = float(found.differences[i]), float(found.difference_errors[i])
        columns = float(np.median(found.n_features[i]))
        summaries.append(
            ComparedClassifier(
                name=name,
                error=float(found.mean_errors[i]),
                n_features=columns if np.isfinite(columns) else None,
                seconds=float(np.median(found.seconds[i])),
                difference=difference if i else None,
                difference_error=its_error if i else None,
                outcome=_outcome(difference, its_error) if i else None,
            )
        )
    return tuple(summaries)


def _outcome(difference: float, its_error: float) -> str:
    if abs(difference) <= TELLING * its_error:
        return "none"
    return "fewer" if difference < 0 else "more"


# Bars of the worst-case figure and rows of its table: more nobody would look up.
MOST_SUSPECTS = 25
# The path runs from this much of the radius used to that much of it.
PATH_FROM, PATH_TO = 0.25, 2.0


def gather_findings(
    model: Any,
    X: Any,
    y: Any,
    *,
    feature_names: Any = None,
    sample_names: Any = None,
    scaler: ClippedScaler | None = None,
    groups: Any = None,
    batch: Any = None,
    n_permutations: int = 199,
    n_folds: int = 10,
    n_repeats: int = 1,
    n_radii: int = 12,
    n_jobs: int | None = None,
    random_state: Any = 0,
    permutation_result: PermutationTestResult | None = None,
    guarantee: bool | ErrorBound = True,
    has_rivals: bool = False,
    progress: Callable[[str], object] | None = None,
) -> Findings:
    """Compute what the report shows of a fitted ``MinimaxRiskClassifier``.

    Parameters
    ----------
    model : MinimaxRiskClassifier, or Pipeline that ends with one
        Fitted on ``X`` and ``y``, without sample weights. Folds fit all steps of a pipeline anew.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Instances, without NaN; a data frame is one of pandas or polars.
    y : array-like of shape (n_samples,)
        Their labels.
    feature_names, sample_names : sequence of str or None, default=None
        Names to print; None takes those of the frame that the model was fitted on, and the index of a pandas
        frame, or numbers.
    scaler : ClippedScaler or None, default=None
        Fitted on ``X``: what clipped the columns before the model saw them, as in a pipeline of the two.
    groups : array-like of shape (n_samples,) or None, default=None
        What the model was fitted with: samples of one patient stay together everywhere.
    batch : array-like of shape (n_samples,) or None, default=None
        Labels are permuted among samples of the same batch only.
    n_permutations : int, default=199
        Size of the permutation test; 0 leaves it out.
    n_folds : int, default=10
        Folds of the cross-validation, and of the guarantee's comparisons; 0 leaves both out.
    n_repeats : int, default=1
        How often the folds of the cross-validation are drawn, to see which samples are wrong again and again.
    n_radii : int, default=12
        Size of the path over radii; 0 leaves it out.
    n_jobs : int or None, default=None
        Processes for the permutation test and the cross-validation, as in joblib.
    random_state : int, RandomState instance or None, default=0
        Seed of the permutations, the folds and the hold-out.
    permutation_result : PermutationTestResult or None, default=None
        The outcome of a permutation test that was done before, instead of a new one.
    guarantee : bool or ErrorBound, default=True
        Whether to bound the error for new samples, at the model's confidence, or the bounds found before. A
        model whose certificate does not hold gets none.
    has_rivals : bool, default=False
        Whether to cross-validate other classifiers on the same folds, which takes longer than most of the
        rest.
    progress : callable or None, default=None
        Told in a few words what is being computed.

    Returns
    -------
    Findings
        All numbers of the report.

    Raises
    ------
    ValueError
        If the model cannot have been fitted on these data, or if ``has_rivals`` is asked for without folds.

    See Also
    --------
    render_report : Makes a page of them.
    report : Does both.
    """
    if has_rivals and n_folds == 0:
        raise ValueError("has_rivals=True needs folds to compare on: set n_folds to 2 or more, got 0.")
    subject = Subject.of(
        model,
        X,
        y,
        scaler=scaler,
        groups=groups,
        batch=batch,
        feature_names=feature_names,
        sample_names=sample_names,
    )
    wanted = Wanted(
        n_permutations=n_permutations,
        n_folds=n_folds,
        n_repeats=n_repeats,
        n_radii=n_radii,
        n_jobs=n_jobs,
        random_state=random_state,
        permutation_result=permutation_result,
        guarantee=guarantee,
        has_rivals=has_rivals,
    )
    clock, known = Stopwatch(progress), dict(NOT_COMPUTED)
    for part in PARTS:
        if part.is_wanted(wanted, known):
            clock.begin(part.name)
            known |= part.compute(subject, wanted, known)
    return Findings(**known, seconds=clock.end())


@dataclass(frozen=True)
class Wanted:
    """What a caller of ``gather_findings`` asks for."""

    n_permutations: int
    n_folds: int
    n_repeats: int
    n_radii: int
    n_jobs: int | None
    random_state: Any
    permutation_result: PermutationTestResult | None
    guarantee: bool | ErrorBound
    has_rivals: bool


Known: TypeAlias = Mapping[str, Any]  # fields of Findings, as far as they are known


@dataclass(frozen=True)
class Part:
    """A part of the work, by the name that a person who waits is told, which adds fields of ``Findings``."""

    name: str
    compute: Callable[[Subject, Wanted, Known], Known]
    is_wanted: Callable[[Wanted, Known], bool] = lambda wanted, known: True


def _certified(subject: Subject, wanted: Wanted, known: Known) -> Known:
    return {"fit": _summarise_fit(subject)}


def _summarise_fit(subject: Subject) -> FitSummary:
    model = subject.classifier
    fit = PosedFit(model, subject.seen, subject.y, groups=subject.groups)
    certificate = verify(fit)
    return FitSummary(
        lower=float(model.worst_case_error_lower_),
        upper=float(model.worst_case_error_),
        certificate_valid=certificate.valid,
        certificate_problems=certificate.problems,
        predict_bound=bound_of_predict(fit),
        n_selected=int(model.n_features_selected_),
        coding=model.coding_,
        solver=model.solver_,
        converged=bool(model.converged_),
        is_standardized=bool(model.standardize),
        preparation=subject.preparation,
        class_weight=_weighting(model.class_weight),
        marginal=model.marginal,
    )


def bound_of_predict(fit: PosedFit) -> float:
    """The worst case of ``predict``: its own, or twice R*, which bounds it as well."""
    worst_case = worst_case_of_rule(fit.model, fit.data, "predict", fit.posed).upper
    return float(min(1.0, worst_case, 2.0 * fit.model.worst_case_error_))


def _weighting(class_weight: Any) -> str | None:
    if class_weight is None:
        return None
    return "balanced" if isinstance(class_weight, str) else "given"


def guarantee_of_model(
    model: Any,
    X: Any,
    y: Any,
    scaler: Any = None,
    *,
    groups: Any = None,
    n_folds: int,
    random_state: Any,
) -> ErrorBound:
    """At the confidence of the model; 0 folds for no comparison with bounds by radii."""
    return error_bound(
        model,
        X,
        y,
        transformer=scaler,
        groups=groups,
        confidence=model.confidence,
        n_folds=n_folds or None,
        only_if_smaller=True,
        random_state=random_state,
    )


def _guaranteed(subject: Subject, wanted: Wanted, known: Known) -> Known:
    """Radii take the steps before the classifier as given, which those that look at labels are not."""
    found = wanted.guarantee
    if not isinstance(found, ErrorBound):
        found = guarantee_of_model(
            last_step(subject.learner),
            subject.X,
            subject.y,
            subject.transformer,
            groups=subject.groups,
            n_folds=0 if subject.uses_labels else wanted.n_folds,
            random_state=wanted.random_state,
        )
    # What a page can say; the models behind it are no numbers.
    alternatives = tuple(replace(one, model=None) for one in found.alternatives)
    return {"guarantee": replace(found, model=None, alternatives=alternatives)}


def _wants_guarantee(wanted: Wanted, known: Known) -> bool:
    return isinstance(wanted.guarantee, ErrorBound) or (wanted.guarantee and known["fit"].certificate_valid)


def _permuted(subject: Subject, wanted: Wanted, known: Known) -> Known:
    test = wanted.permutation_result
    if test is None and wanted.n_permutations:
        estimator, X = subject.classifier, subject.seen
        if subject.uses_labels:
            estimator, X = subject.learner, subject.X
        test = permutation_test(
            clone(estimator),
            X,
            subject.y,
            wanted.n_permutations,
            groups=subject.groups,
            strata=subject.batch,
            n_jobs=wanted.n_jobs,
            random_state=wanted.random_state,
        )
    return {"permutation": None if test is None else PermutationTestDisplay.from_result(test)}


def _cross_validated(subject: Subject, wanted: Wanted, known: Known) -> Known:
    """The outcome, or why there is none."""
    model, y, groups = subject.classifier, subject.y, subject.groups
    if n_folds_possible(model, y, wanted.n_folds, groups) < 2:
        lonely = str(model.classes_[int(np.argmin(sizes_of_classes(model, y, groups)))])
        kind = "sample" if groups is None else "group"
        why = f"class {lonely} has a single {kind}, which cannot be used both to train and to test."
        return {"cross_validation_skipped": why, "rivals_skipped": why if wanted.has_rivals else None}
    found = cross_validated_error(
        subject.learner,
        subject.X,
        y,
        groups=groups,
        n_folds=wanted.n_folds,
        n_repeats=wanted.n_repeats,
        random_state=wanted.random_state,
        n_jobs=wanted.n_jobs,
    )
    return {
        "cross_validation": found,
        "left_out": summarise_left_out(found, model, subject.sample_names),
        "comparison": ErrorComparisonDisplay.from_result(model, found),
    }


def _beside_rivals(subject: Subject, wanted: Wanted, known: Known) -> Known:
    rivals = beside_rivals(
        subject.learner,
        subject.X,
        subject.y,
        groups=subject.groups,
        n_folds=wanted.n_folds,
        random_state=wanted.random_state,
        n_jobs=wanted.n_jobs,
    )
    return {"rivals": rivals}


def _tabulated(subject: Subject, wanted: Wanted, known: Known) -> Known:
    """All that takes no further fit."""
    classifier, seen, own, folds = subject.classifier, subject.seen, subject.own, known["cross_validation"]
    wrong, own_probability = training_predictions(classifier, seen, own)
    worst = WorstCaseDistributionDisplay.from_estimator(
        classifier, subject.y, max_samples=MOST_SUSPECTS, sample_names=subject.sample_names
    )
    contrasts = class_contrasts(seen, own, len(classifier.classes_))
    frequency = None if folds is None else folds.selection_frequency
    return {
        "data": summarise_data(classifier, subject.described, own),
        "radius": summarise_radius(classifier, len(own)),
        "settings": {name: _setting(value) for name, value in sorted(classifier.get_params().items())},
        "features": tabulate_features(classifier, contrasts, subject.feature_names, frequency),
        "volcano": volcano_of(classifier, seen, contrasts, subject.feature_names),
        "values": SelectedValuesDisplay.from_estimator(
            classifier,
            seen,
            subject.y,
            feature_names=subject.feature_names,
            sample_names=subject.sample_names,
        ),
        "history": BoundPathDisplay.from_estimator(classifier),
        "worst_case": worst,
        "suspects": list_suspects(classifier, own, own_probability, worst, cross_validation=folds),
        "classes": summarise_classes(classifier, own, wrong, own_probability, cross_validation=folds),
    }


def _path_around(subject: Subject, wanted: Wanted, known: Known) -> Known:
    """R* over radii around the one used, or why there is no such path."""
    model = subject.classifier
    if model.radius_ is None:
        why = "the radii were given one by one, as an array, so there is no single factor to vary."
        return {"path_skipped": why}
    with quiet_fits():
        path = minimax_risk_path(
            subject.seen,
            subject.y,
            _radii_around(float(model.radius_), wanted.n_radii),
            groups=subject.groups,
            coding=model.coding_,
            standardize=model.standardize,
            fit_intercept=model.fit_intercept,
            class_weight=model.class_weight,
            marginal=model.marginal,
        )
    return {"path": BoundPathDisplay.from_result(path)}


def _radii_around(radius: float, n_radii: int) -> FloatArray:
    """Evenly spaced by ratio, the one used among them."""
    radii = np.geomspace(PATH_FROM * radius, PATH_TO * radius, n_radii)
    radii[int(np.argmin(np.abs(radii - radius)))] = radius
    return radii


def _setting(value: Any) -> str:
    """As it would be typed, without addresses in memory, which differ from run to run."""
    if np.ndim(value) > 0 and not isinstance(value, str | dict):
        return f"array of shape {np.shape(value)}"
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    return repr(value)


# What stays as it is where a part is not wanted, or cannot be had.
NOT_COMPUTED: Known = dict.fromkeys(
    (
        *("permutation", "cross_validation", "cross_validation_skipped", "left_out", "comparison"),
        *("rivals", "rivals_skipped", "path", "path_skipped", "guarantee"),
    )
)
# One after the other; each may look at what those before it found.
PARTS = (
    Part("certificate", _certified),
    Part("permutation test", _permuted),
    Part("cross-validation", _cross_validated, lambda wanted, known: wanted.n_folds != 0),
    Part(
        "other classifiers",
        _beside_rivals,
        lambda wanted, known: wanted.has_rivals and known["cross_validation"] is not None,
    ),
    Part("path over radii", _path_around, lambda wanted, known: wanted.n_radii != 0),
    Part("guarantee", _guaranteed, _wants_guarantee),
    Part("tables", _tabulated),
)


@dataclass(frozen=True)
class Subject:
    """A fitted classifier and its data.

    ``learner`` is all that is fitted anew in a fold: the classifier, or a pipeline that ends with it. ``X``
    is what the learner takes, ``seen`` what the classifier saw of it, without names of columns, for which
    ``classifier`` does not ask. ``before`` are the steps that lie
    between, None where there are none, and ``uses_labels`` says whether they may have looked at labels.
    Samples of one of the ``groups`` stay together, and labels are permuted within the parts of ``batch``.
    """

    learner: Any
    classifier: Any
    before: Any
    uses_labels: bool
    X: Any
    seen: DataMatrix
    y: np.ndarray
    own: IntArray
    feature_names: list[str]
    sample_names: list[str]
    groups: Any = None
    batch: Any = None

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        scaler: Any = None,
        groups: Any = None,
        batch: Any = None,
        feature_names: Any = None,
        sample_names: Any = None,
    ) -> Subject:
        """From what users pass; a fitted ``scaler`` before the model is as good as a pipeline of the two."""
        learner = model if scaler is None else make_pipeline(scaler, model)
        classifier = last_step(learner)
        check_fitted(
            "model",
            classifier,
            "a fitted MinimaxRiskClassifier, or a pipeline that ends with one",
            ("worst_case_distribution_", "classes_"),
        )
        y = column_or_1d(y)
        if num_samples(X) != len(y):
            raise ValueError(
                f"X and y must have the same number of samples, got {num_samples(X)} and {len(y)}."
            )
        names = names_of_columns(learner, feature_names)
        if names is None:
            names = [f"column {j}" for j in range(int(classifier.n_features_in_))]
        if sample_names is None:
            sample_names = _index_of(X) or [f"sample {i + 1}" for i in range(len(y))]
        check_number_of_names("sample_names", sample_names, len(y))
        has_steps = isinstance(learner, Pipeline) and len(learner) > 1
        return cls(
            learner=learner,
            classifier=_without_names(classifier),
            before=learner[:-1] if has_steps else None,
            uses_labels=has_steps and not ignores_labels(learner, has_weights=False),
            X=X,
            seen=seen_by(learner, X),
            y=y,
            own=positions_of_labels(y, classifier.classes_),
            feature_names=names,
            sample_names=[str(name) for name in sample_names],
            groups=groups,
            batch=batch,
        )

    @property
    def transformer(self) -> Any:
        """A single step before the classifier as it is, several as a pipeline."""
        return self.before[0] if self.before is not None and len(self.before) == 1 else self.before

    @property
    def described(self) -> DataMatrix:
        """Where zeros and constant columns are counted: values as they came, if no step made others."""
        if self.before is None or np.shape(self.X)[1] != self.seen.shape[1]:
            return self.seen
        return self.X if sparse.issparse(self.X) else np.asarray(self.X)

    @property
    def preparation(self) -> str | None:
        """What was done to the values before the classifier saw them, as words that follow 'the values'."""
        if self.before is None:
            return None
        if isinstance(self.transformer, ClippedScaler):
            return clipping(self.transformer.limit)
        names = [type(step).__name__ for _, step in self.before.steps if step not in (None, "passthrough")]
        return f"as {listed(names)} made them" if names else None


def _without_names(classifier: Any) -> Any:
    """A view that does not ask for the names of columns, which ``seen`` has no more; they were compared."""
    if not hasattr(classifier, "feature_names_in_"):
        return classifier
    view = copy(classifier)
    del view.feature_names_in_
    return view


def _index_of(X: Any) -> list[str] | None:
    """The index of a pandas frame names samples, unless it only counts them."""
    index = getattr(X, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return [str(name) for name in index]
