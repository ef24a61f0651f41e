"""The numbers of a report, computed part after part from a fitted model and its training data.

``Subject`` is what the report is about: the classifier, alone or behind other steps, with the data posed and
checked once (``FittedProblem``). ``findings_of`` computes the parts; other modules word and draw them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import column_or_1d

from minimaxrisk._utils.arrays import DataMatrix, IntArray, to_numpy
from minimaxrisk._utils.dask_arrays import computed
from minimaxrisk._utils.notices import quiet_fits, warn
from minimaxrisk._utils.sklearn_private import num_samples
from minimaxrisk.analysis.comparison import CannotFitError, Comparison, compare, usual_rivals
from minimaxrisk.analysis.contrasts import Contrasts, class_contrasts
from minimaxrisk.analysis.cross_validation import (
    CrossValidatedError,
    cross_validated_error,
    predicting_copy,
    why_no_folds,
)
from minimaxrisk.analysis.data import evidence_of
from minimaxrisk.analysis.minimax_risk_path import path_of
from minimaxrisk.analysis.permutation_test import (
    PermutationTestResult,
    permutation_test,
    tested_classifier,
)
from minimaxrisk.app.report.findings import (
    ComparedClassifier,
    FeatureTable,
    Findings,
    FitSummary,
    FoldChange,
    RadiusSummary,
    RelatedFeatures,
    Rivals,
    fold_change_of,
    list_suspects,
    summarise_classes,
    summarise_data,
    summarise_left_out,
    summarise_radius,
    tabulate_features,
    volcano_of,
)
from minimaxrisk.app.report.phrases import clipping, listed
from minimaxrisk.checks.findings import Finding
from minimaxrisk.checks.run import findings_of_folds, findings_of_model, findings_of_table
from minimaxrisk.checks.table import StudyTable
from minimaxrisk.estimators.classifier_cv import MinimaxRiskClassifierCV, default_radii, n_features_at
from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.estimators.prediction_sets import PredictionSets, decision_scores, is_calibrated
from minimaxrisk.exceptions import TooFewSamplesError
from minimaxrisk.guarantees.bound import ErrorBound
from minimaxrisk.guarantees.certified import (
    CALIBRATED,
    CHOSEN_RADIUS,
    HISTORY,
    MEMBERS,
    RADIUS_PATH,
    SELECTION,
    can,
    certified,
    unwrapped,
)
from minimaxrisk.guarantees.error_bound import error_bound
from minimaxrisk.guarantees.fitted_problem import FittedProblem, is_label_free
from minimaxrisk.guarantees.reliable_features import reliable_features
from minimaxrisk.guarantees.verification import verify
from minimaxrisk.guarantees.worst_case import worst_case_of_rule
from minimaxrisk.inspection import (
    BoundPathDisplay,
    ErrorComparisonDisplay,
    FeatureCountDisplay,
    PermutationTestDisplay,
    SelectedValuesDisplay,
    WorstCaseDistributionDisplay,
)
from minimaxrisk.inspection.bounds import TIE
from minimaxrisk.inspection.canvas import (
    check_number_of_names,
    names_of_columns,
    seen_by,
)
from minimaxrisk.inspection.errors import ERROR
from minimaxrisk.problem.pose import PosedBox
from minimaxrisk.samples.columns import canonical
from minimaxrisk.samples.groups import codes_of_groups
from minimaxrisk.samples.labels import positions_of_labels, refuse_other_order

# Bars of the worst-case figure and rows of its table: more nobody would look up.
MOST_SUSPECTS = 25
# The path runs from this much of the radius used to that much of it.
PATH_FROM, PATH_TO = 0.5, 2.0
# With two classes and no more samples the errors of all radii take a few seconds.
MOST_QUICK = 150
# Smaller shares of the radius at which nothing is learned make no short lists, and take longest.
SHORT_LIST_FROM = 0.05
THIS_MODEL = "this model"
# A difference is detectable if its p-value is smaller.
DETECTABLE = 0.05


@dataclass(frozen=True)
class Wanted:
    """How much is computed; ``is_brief`` leaves out the worst case of ``predict`` where R* is a score.

    ``warnings`` were found before; left-out samples may add some.
    """

    n_permutations: int = 199
    n_folds: int = 10
    n_repeats: int = 1
    n_radii: int = 5
    n_jobs: int | None = None
    random_state: Any = 0
    permutation_result: PermutationTestResult | None = None
    cross_validation: CrossValidatedError | None = None
    guarantee: bool | ErrorBound = True
    prevalence: Mapping[Any, float] | None = None
    has_rivals: bool = False
    progress: Callable[[str], object] | None = None
    warnings: tuple[Finding, ...] | None = None
    is_brief: bool = False

    def __post_init__(self) -> None:
        if self.has_rivals and self.n_folds == 0:
            raise ValueError("has_rivals=True needs folds to compare on: set n_folds to 2 or more, got 0.")


def findings_of(subject: Subject, wanted: Wanted) -> Findings:
    """Compute all parts that are wanted."""
    classifier, seen, y, own = subject.fit.model, subject.fit.X_transformed, subject.fit.y, subject.own
    clock = Stopwatch(wanted.progress)
    clock.begin("certificate")
    # A model that selects columns has a box.
    radius = summarise_radius(classifier, cast("PosedBox", subject.fit.posed_by_parameters))
    fit = _summarise_fit(subject, radius, is_brief=wanted.is_brief)
    clock.begin("permutation test")
    test = _permuted(subject, wanted)
    clock.begin("cross-validation")
    folds, no_folds = cross_validation_of(subject.fit, subject.learner, wanted)
    rivals = _compared(subject, wanted, folds, clock) if wanted.has_rivals and folds is not None else None
    path, no_path = _path_around(subject, wanted, clock)
    short_list, no_list = _short_list(subject, wanted, clock)
    guarantee = _guaranteed(subject, wanted, clock)
    clock.begin("tables")
    own_probability = classifier.predict_proba(seen)[np.arange(len(own)), own]
    wrong = _predicted_in_training(subject, folds) != own
    samples, features = subject.sample_names, subject.feature_names
    worst = WorstCaseDistributionDisplay.from_estimator(
        classifier, y, max_samples=len(own), sample_names=samples
    )
    worst = _most_suspect(worst, folds)
    contrasts = class_contrasts(seen, own, len(classifier.classes_))
    fold_change = _fold_change(subject, contrasts)
    frequency = None if folds is None else folds.selection_frequency
    table = tabulate_features(classifier, contrasts, fold_change, features, frequency)
    return Findings(
        data=summarise_data(classifier, subject.described, own),
        fit=fit,
        radius=radius,
        settings={name: _setting(value) for name, value in sorted(classifier.get_params().items())},
        features=table,
        related=_related(subject, wanted, table),
        volcano=volcano_of(classifier, contrasts, fold_change, features),
        values=SelectedValuesDisplay.from_estimator(
            classifier, seen, y, feature_names=features, sample_names=samples
        ),
        history=BoundPathDisplay.from_estimator(classifier) if can(classifier, HISTORY) else None,
        path=path,
        path_skipped=no_path,
        short_list=short_list,
        short_list_skipped=no_list,
        permutation=None if test is None else PermutationTestDisplay.from_result(test),
        worst_case=worst,
        suspects=list_suspects(classifier, own, own_probability, worst, left_out=folds),
        classes=summarise_classes(classifier, own, wrong, own_probability, cross_validation=folds),
        cross_validation=folds,
        cross_validation_skipped=no_folds,
        left_out=None if folds is None else summarise_left_out(folds, classifier, samples),
        comparison=None if folds is None else ErrorComparisonDisplay.from_result(classifier, folds),
        rivals=rivals,
        rivals_skipped=no_folds if wanted.has_rivals else None,
        guarantee=guarantee,
        warnings=_warnings(subject, wanted, folds),
        seconds=clock.end(),
    )


def _most_suspect(
    shown: WorstCaseDistributionDisplay, folds: CrossValidatedError | None
) -> WorstCaseDistributionDisplay:
    """The first samples; of those with the same weights the ones that did worst when left out."""
    keys = [
        np.rint(shown.own_mass / TIE),
        -np.rint(shown.other_mass / TIE),
        shown.other_mass < shown.own_mass - TIE,
    ]
    if folds is not None:
        keys.insert(0, folds.calibrated_of_own[shown.samples])
    order = np.lexsort(keys)[:MOST_SUSPECTS]
    return replace(
        shown,
        samples=shown.samples[order],
        own_mass=shown.own_mass[order],
        other_mass=shown.other_mass[order],
        names=None if shown.names is None else [shown.names[i] for i in order],
    )


def _fold_change(subject: Subject, contrasts: Contrasts) -> FoldChange:
    """Of the values as they came, since those of a scaler have no fold change."""
    is_measured = subject.before is None or subject.described is not subject.fit.X_transformed
    if is_measured and subject.before is not None:
        contrasts = class_contrasts(subject.described, subject.own, len(subject.fit.model.classes_))
    return fold_change_of(subject.described, contrasts, is_measured=is_measured)


def _warnings(subject: Subject, wanted: Wanted, folds: CrossValidatedError | None) -> tuple[Finding, ...]:
    """Return the findings of the data checks, with those that validation folds add."""
    fit = subject.fit
    table = StudyTable(
        subject.described if subject.as_read is None else subject.as_read,
        np.asarray(fit.y),
        subject.feature_names,
        subject.sample_names,
        groups=fit.groups,
    )
    scores = None if folds is None else folds.scores
    evidence = evidence_of(fit.model, None if folds is None else folds.predicted, scores)
    if wanted.warnings is not None:
        return (*wanted.warnings, *findings_of_folds(table, evidence, known=wanted.warnings))
    found = findings_of_table(table)
    return (*found, *findings_of_model(table, evidence, filled=subject.described, known=found))


def _summarise_fit(subject: Subject, radius: RadiusSummary, *, is_brief: bool) -> FitSummary:
    model, fit = subject.fit.model, subject.fit
    certificate, doubled = verify(fit), min(1.0, 2.0 * float(model.worst_case_error_))
    of_predict = None
    if radius.covers or not is_brief:
        largest = worst_case_of_rule(fit, "predict").upper
        of_predict = min(doubled, largest)
    parameters, has_members = model._parameters_of_set(), can(model, MEMBERS)
    weighting = parameters.class_weight
    return FitSummary(
        lower=float(model.worst_case_error_lower_),
        upper=float(model.worst_case_error_),
        certificate_valid=certificate.valid,
        certificate_problems=certificate.problems,
        predict_bound=of_predict,
        n_selected=int(model.n_features_selected_),
        coding=model.coding_,
        solver=model.solver_ if can(model, HISTORY) else str(parameters.solver),
        converged=bool(model.converged_) if can(model, HISTORY) else True,
        is_standardized=bool(parameters.standardize),
        preparation=subject.preparation,
        choice=choice_of(fit.learner),
        n_members=len(model.members_) if has_members else None,
        ball_weight=model.ball_weight_ if has_members and model.ball_ is not None else None,
        uses_all_features=has_members and bool(model.decision_.slopes[1:].any()),
        class_weight=None if weighting is None else "balanced" if isinstance(weighting, str) else "given",
        marginal=parameters.marginal,
    )


def choice_of(learner: Any) -> str | None:
    """How the radius was chosen, in the word of the command line; None where it was given."""
    if not can(learner, CHOSEN_RADIUS):
        return None
    return {"one-se": "few"}.get(learner.rule, str(learner.rule))


def _permuted(subject: Subject, wanted: Wanted) -> PermutationTestResult | None:
    if wanted.permutation_result is not None or not wanted.n_permutations:
        return wanted.permutation_result
    options = {"strata": subject.strata, "n_jobs": wanted.n_jobs, "random_state": wanted.random_state}
    if not subject.uses_labels:
        return permutation_test(subject.fit, n_permutations=wanted.n_permutations, **options)
    steps = [step for _, step in subject.before.steps]
    return permutation_test(
        make_pipeline(*steps, tested_classifier(subject.fit)),
        subject.fit.X,
        subject.fit.y,
        wanted.n_permutations,
        groups=subject.fit.groups,
        **options,
    )


def _related(subject: Subject, wanted: Wanted, table: FeatureTable) -> RelatedFeatures | None:
    """Bound how many of the features are related to the class; labels must not have changed their values."""
    if subject.uses_labels or not wanted.n_permutations:
        return None
    found = reliable_features(
        subject.fit.X_transformed,
        subject.fit.y,
        groups=subject.fit.groups,
        strata=subject.strata,
        random_state=wanted.random_state,
    )
    return RelatedFeatures.of(found, table)


def cross_validation_of(
    fit: FittedProblem, learner: Any, wanted: Wanted
) -> tuple[CrossValidatedError | None, str | None]:
    """The cross-validation of the calibrated decision, or why there can be none."""
    if wanted.cross_validation is not None or not wanted.n_folds:
        return wanted.cross_validation, None
    if reason := why_no_folds(fit.model, fit.y, fit.groups):
        return None, reason
    found = cross_validated_error(
        learner,
        fit.X,
        fit.y,
        groups=fit.groups,
        n_folds=wanted.n_folds,
        n_repeats=wanted.n_repeats,
        calibrated=True,
        random_state=wanted.random_state,
        n_jobs=wanted.n_jobs,
    )
    return found, None


def learner_of(fit: FittedProblem) -> Any:
    """What folds fit anew: the classifier, or a pipeline that ends with it."""
    return fit.learner if fit.transformer is None else make_pipeline(fit.transformer, fit.learner)


def _predicted_in_training(subject: Subject, folds: CrossValidatedError | None) -> IntArray:
    """The classes predicted for the training samples; by the classifier's own rule without folds."""
    seen, classifier = subject.fit.X_transformed, subject.fit.model
    if folds is not None:
        return folds.left_out.decision.predict(decision_scores(classifier, seen))
    # A calibrated decision draws no labels.
    rule = classifier if can(classifier, CALIBRATED) else copy(classifier).set_params(deterministic=True)
    return np.searchsorted(classifier.classes_, rule.predict(seen))


def _path_around(
    subject: Subject, wanted: Wanted, clock: Stopwatch
) -> tuple[BoundPathDisplay | None, str | None]:
    """R* over radii around the one used, evenly spaced by ratio, the one used among them."""
    if not wanted.n_radii:
        return None, None
    clock.begin("path over radii")
    model = subject.fit.model
    if not can(model, RADIUS_PATH):
        return None, "the members of an ensemble are fitted at one radius."
    if model.radius_ is None:
        return None, "the radii were given one by one, as an array, so there is no single factor to vary."
    radii = np.geomspace(PATH_FROM * model.radius_, PATH_TO * model.radius_, wanted.n_radii)
    radii[int(np.argmin(np.abs(radii - model.radius_)))] = model.radius_
    with quiet_fits():
        path = path_of(model, subject.fit.data, radii, posed=subject.fit.posed_by_stored_radius)
    return BoundPathDisplay.from_result(path), None


def _short_list(
    subject: Subject, wanted: Wanted, clock: Stopwatch
) -> tuple[FeatureCountDisplay | None, str | None]:
    """Left-out errors over the number of features: those that chose the radius, or computed where quick."""
    learner, model, y = subject.fit.learner, subject.fit.model, subject.fit.y
    if can(learner, CHOSEN_RADIUS) and "mean_loss" in getattr(learner, "cv_results_", {}):
        return _with_most_common(FeatureCountDisplay.from_estimator(subject.fit), subject.own), None
    if not (wanted.n_folds and wanted.n_radii):
        return None, None
    if not can(model, RADIUS_PATH):
        return None, "an ensemble uses many features; a single model can do with few."
    if len(model.classes_) > 2 or len(y) > MOST_QUICK:
        return None, f"with more than two classes or {MOST_QUICK} samples it takes longer than all the rest."
    if not can_choose_radius(y, subject.fit.groups):
        return None, "a class has too few samples to leave some out."
    clock.begin("short list")
    posed, data = subject.fit.posed_by_stored_radius, subject.fit.data
    radii = default_radii(model, data, posed)
    radii = radii[radii >= SHORT_LIST_FROM * radii[-1]]
    choice = MinimaxRiskClassifierCV(
        clone(model), radii=radii, n_jobs=wanted.n_jobs, random_state=wanted.random_state
    )
    with quiet_fits():
        losses = choice._results_of_folds(data, subject.fit.groups)
        counts = n_features_at(model, data, radii, posed)
    found = _with_most_common(FeatureCountDisplay.from_results(losses, counts), subject.own)
    error = found.mean_loss
    best = 0 if error[0] <= error[found.best] else found.best
    few = 0 if error[0] <= error[best] + found.standard_error[best] else found.few
    return replace(found, best=best, few=few), None


def _with_most_common(found: FeatureCountDisplay, own: IntArray) -> FeatureCountDisplay:
    """Without features the best that anybody can do is to name the most common class.

    A model that selects nothing has a tie between the classes: its errors depend on which comes first.
    """
    if found.loss_label != ERROR:
        return found
    majority_error = 1.0 - np.bincount(own).max() / len(own)
    return replace(found, mean_loss=np.where(found.n_features == 0, majority_error, found.mean_loss))


def can_choose_radius(y: Any, groups: Any) -> bool:
    """Return whether errors of two classes can choose a radius, even without one sample or group of each."""
    classes, labels = np.unique(np.asarray(y), return_inverse=True)
    unit = np.arange(len(labels)) if groups is None else codes_of_groups(groups, len(labels))
    sizes = [len(np.unique(unit[labels == k])) for k in range(len(classes))]
    return sum(size > 2 for size in sizes) > 1


def bound_for_new_samples(fit: FittedProblem, learner: Any, wanted: Wanted) -> ErrorBound | None:
    """At the confidence of the model: of the calibrated decision where it, or folds, calibrate.

    None, with a warning, if half of the samples are too few to train on.
    """
    if wanted.n_folds and not is_calibrated(learner) and not why_no_folds(fit.model, fit.y, fit.groups):
        learner = PredictionSets(
            learner, cv=wanted.n_folds, random_state=wanted.random_state, n_jobs=wanted.n_jobs
        )
    confidence = fit.model._parameters_of_set().confidence
    try:
        return error_bound(
            learner,
            fit.X,
            fit.y,
            groups=fit.groups,
            prevalence=wanted.prevalence,
            confidence=confidence,
            random_state=wanted.random_state,
        )
    except TooFewSamplesError as error:
        warn(f"there is no bound on the error of new samples. In a part of the samples, {error}", UserWarning)
        return None


def _guaranteed(subject: Subject, wanted: Wanted, clock: Stopwatch) -> ErrorBound | None:
    """A model whose certificate does not hold gets none."""
    found: ErrorBound | None = None
    if isinstance(wanted.guarantee, ErrorBound):
        found = wanted.guarantee
    elif wanted.guarantee and verify(subject.fit).valid:
        clock.begin("guarantee")
        found = bound_for_new_samples(subject.fit, subject.learner, wanted)
    return None if found is None else replace(found, model=None)  # findings are numbers


def _setting(value: Any) -> str:
    """As it would be typed, without addresses in memory, which differ from run to run."""
    if np.ndim(value) > 0 and not isinstance(value, str | dict):
        return f"array of shape {np.shape(value)}"
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    return repr(value)


def _compared(subject: Subject, wanted: Wanted, own: CrossValidatedError, clock: Stopwatch) -> Rivals:
    """Cross-validate the usual rivals on the same folds; the learner only for its time and features."""
    clock.begin("other classifiers")
    learner, X, y, groups = subject.learner, subject.fit.X, subject.fit.y, subject.fit.groups
    folds = PredefinedSplit(own.left_out.fold)
    rivals = usual_rivals(len(learner.classes_), is_sparse=bool(sparse.issparse(X)))
    estimators, left_out = {THIS_MODEL: predicting_copy(learner), **rivals}, {}
    while True:
        try:
            # The rivals are our choice, so a reader cannot act upon their warnings.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = compare(estimators, X, y, cv=folds, groups=groups, n_jobs=wanted.n_jobs)
        except CannotFitError as failure:
            if failure.name == THIS_MODEL:
                raise
            left_out[failure.name] = failure.reason
            del estimators[failure.name]
        else:
            found = replace(found, errors=np.vstack([own.fold_errors[1], found.errors[1:]]))
            compared = tuple(_summarise(found, i) for i in range(len(found.names)))
            return Rivals(found.errors.shape[1], compared, left_out)


def _summarise(found: Comparison, i: int) -> ComparedClassifier:
    """The classifier at place i; the first one is this model, which the others differ from."""
    difference, its_error = float(found.differences[i]), float(found.difference_errors[i])
    columns = float(np.median(found.n_features[i]))
    return ComparedClassifier(
        name=found.names[i],
        error=float(found.mean_errors[i]),
        n_features=columns if np.isfinite(columns) else None,
        seconds=float(np.median(found.seconds[i])),
        difference=difference if i else None,
        difference_error=its_error if i else None,
        outcome=_outcome(difference, float(found.p_values[i])) if i else None,
    )


def _outcome(difference: float, p_value: float) -> str:
    if p_value >= DETECTABLE:
        return "none"
    return "fewer" if difference < 0 else "more"


@dataclass(frozen=True)
class Subject:
    """A fitted classifier and its data.

    ``learner`` is what folds fit anew: the classifier, or a pipeline that ends with it. ``fit`` holds the
    classifier, the instances that the learner takes and what the classifier saw of them. ``before`` are the
    steps in between, None where there are none, and ``uses_labels`` says whether they may have looked at
    labels. Labels are permuted within the ``strata``. ``as_read`` are the values before gaps were filled.
    """

    fit: FittedProblem
    learner: Any
    before: Any
    uses_labels: bool
    own: IntArray
    feature_names: list[str]
    sample_names: list[str]
    strata: Any = None
    as_read: DataMatrix | None = None

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any = None,
        y: Any = None,
        *,
        scaler: Any = None,
        groups: Any = None,
        strata: Any = None,
        feature_names: Any = None,
        sample_names: Any = None,
        as_read: DataMatrix | None = None,
    ) -> Subject:
        """From what users pass, or a ``FittedProblem``; a fitted ``scaler`` is a step before the model."""
        fit = model if isinstance(model, FittedProblem) else None
        if fit is not None:
            model, X, y, scaler = fit.learner, fit.X, fit.y, fit.transformer
        else:
            X = _table_of(X)
        learner = model if scaler is None else make_pipeline(scaler, model)
        last, transformer = unwrapped(learner)
        classifier: Any = certified(last, "report", SELECTION)
        refuse_other_order(X, y)
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
        # A single step as it is, several as a pipeline.
        several = transformer is None or isinstance(transformer, Pipeline)
        before = transformer if several else make_pipeline(transformer)
        if fit is None:
            fit = FittedProblem(
                _without_names(classifier),
                X,
                y,
                groups=groups,
                transformer=transformer,
                X_transformed=seen_by(learner, X),
                learner=last,
            )
        return cls(
            fit=fit,
            learner=learner,
            before=before,
            uses_labels=not is_label_free(before),
            own=positions_of_labels(y, classifier.classes_),
            feature_names=names,
            sample_names=[str(name) for name in sample_names],
            strata=strata,
            as_read=as_read,
        )

    @property
    def described(self) -> DataMatrix:
        """Where zeros and constant columns are counted: values as they came, if no step made others."""
        X, seen = self.fit.X, self.fit.X_transformed
        if self.before is None or np.shape(X)[1] != seen.shape[1]:
            X = seen
        described: DataMatrix = X if sparse.issparse(X) else np.asarray(X)
        return described

    @property
    def preparation(self) -> str | None:
        """What was done to the values before the classifier saw them, as words that follow 'the values'."""
        if self.before is None:
            return None
        if isinstance(self.fit.transformer, ClippedScaler):
            return clipping(self.fit.transformer.limit)
        names = [type(step).__name__ for _, step in self.before.steps if step not in (None, "passthrough")]
        return f"as {listed(names)} made them" if names else None


def _table_of(X: Any) -> Any:
    """As passed, with a shape and in memory, because a report looks at single samples and counts zeros."""
    if sparse.issparse(X):
        return canonical(X.tocsr())
    return to_numpy(computed(X if hasattr(X, "shape") else np.asarray(X)))


def _without_names(classifier: Any) -> Any:
    """A view that does not ask for the names of columns, which were compared and which ``seen`` lacks."""
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
