"""Everything that the report says, as numbers: what is computed is decided here, how it looks is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from minimaxrisk._utils.arrays import DataMatrix, FloatArray
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk.analysis.contrasts import class_contrasts
from minimaxrisk.analysis.cross_validation import (
    CrossValidatedError,
    cross_validated_error,
    n_folds_possible,
)
from minimaxrisk.analysis.minimax_risk_path import minimax_risk_path
from minimaxrisk.analysis.permutation_test import PermutationTestResult, permutation_test
from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.guarantees.best_guarantee import best_guarantee
from minimaxrisk.guarantees.error_bounds import worst_case_of_rule
from minimaxrisk.guarantees.error_statement import BestGuarantee
from minimaxrisk.guarantees.fitted_model import training_data_of
from minimaxrisk.guarantees.verification import verify
from minimaxrisk.inspection import (
    BoundPathDisplay,
    ErrorComparisonDisplay,
    PermutationTestDisplay,
    SelectedValuesDisplay,
    WorstCaseDistributionDisplay,
)
from minimaxrisk.report.json_values import json_ready
from minimaxrisk.report.left_out import LeftOut, summarise_left_out
from minimaxrisk.report.rivals import Rivals, beside_rivals
from minimaxrisk.report.stopwatch import Stopwatch
from minimaxrisk.report.subject import Subject
from minimaxrisk.report.summaries import (
    ClassSummary,
    DataSummary,
    FeatureTable,
    RadiusSummary,
    SuspectSample,
    list_suspects,
    summarise_classes,
    summarise_data,
    summarise_radius,
    tabulate_features,
    training_predictions,
)
from minimaxrisk.report.volcano import Volcano, volcano_of

# Bars of the worst-case figure and rows of its table: more nobody would look up.
MOST_SUSPECTS = 25
# The path runs from this much of the radius used to that much of it.
PATH_FROM, PATH_TO = 0.25, 2.0


@dataclass(frozen=True)
class FitSummary:
    """The certified numbers of the fit."""

    lower: float
    upper: float
    certificate_valid: bool
    certificate_problems: tuple[str, ...]
    deterministic_bound: float
    argmax_bound: float
    n_selected: int
    coding: str
    solver: str
    converged: bool
    is_standardized: bool
    preparation: str | None  # what was done to the values before the classifier saw them, as words
    class_weight: str | None  # "balanced", "given", or None where samples count alike
    marginal: str  # "free" or "empirical"


@dataclass(frozen=True)
class Findings:
    """All numbers of a report; parts that were not computed are None, with the reason where there is one.

    ``gather_findings`` makes it. The parts are plain records; ``to_dict`` shows all that is in them.

    Attributes
    ----------
    data : DataSummary
        Samples, features, classes and their sizes.
    fit : FitSummary
        The certified bounds, whether they were confirmed, and how the model was found.
    radius : RadiusSummary
        How the radii were chosen, and whether they cover.
    settings : mapping of str to str
        Parameters of the classifier.
    features : FeatureTable
        The selected features, the most important first, with coefficients and contrasts of the classes.
    volcano : Volcano
        Differences between classes and their p-values, feature by feature.
    values : SelectedValuesDisplay
        Values of the selected features.
    history : BoundPathDisplay
        Bounds by iteration of the fit.
    path : BoundPathDisplay or None
        Bounds over radii around that of the model.
    path_skipped : str or None
        Why there is no path.
    permutation : PermutationTestDisplay or None
        R* with permuted labels.
    worst_case : WorstCaseDistributionDisplay
        Where the adversary puts its mass.
    suspects : tuple of SuspectSample
        Samples with weight on other labels in the worst case.
    classes : tuple of ClassSummary
        How the samples of each class fare.
    cross_validation : CrossValidatedError or None
        What models fitted without a fold did on it.
    cross_validation_skipped : str or None
        Why there are no folds.
    left_out : LeftOut or None
        Confusion, errors and ROC curves of left-out samples.
    comparison : ErrorComparisonDisplay or None
        The cross-validated error beside R*.
    rivals : Rivals or None
        Other classifiers on the same folds.
    rivals_skipped : str or None
        Why there are none although they were asked for.
    guarantee : BestGuarantee or None
        Bounds on the error for new samples, without the models that they are about.
    seconds : mapping of str to float
        What each part took.
    """

    data: DataSummary
    fit: FitSummary
    radius: RadiusSummary
    settings: Mapping[str, str]
    features: FeatureTable
    volcano: Volcano
    values: SelectedValuesDisplay
    history: BoundPathDisplay
    path: BoundPathDisplay | None
    path_skipped: str | None
    permutation: PermutationTestDisplay | None
    worst_case: WorstCaseDistributionDisplay
    suspects: tuple[SuspectSample, ...]
    classes: tuple[ClassSummary, ...]
    cross_validation: CrossValidatedError | None
    cross_validation_skipped: str | None
    left_out: LeftOut | None
    comparison: ErrorComparisonDisplay | None
    rivals: Rivals | None
    rivals_skipped: str | None
    guarantee: BestGuarantee | None
    seconds: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """All numbers as dictionaries and lists, ready for JSON.

        Returns
        -------
        dict
            Dictionaries, lists, numbers and strings; what is not finite becomes None.
        """
        numbers: dict[str, Any] = json_ready(self)
        return numbers


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
    guarantee: bool | BestGuarantee = True,
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
    guarantee : bool or BestGuarantee, default=True
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
    report_of : Does both.
    """
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
    if has_rivals and n_folds == 0:
        raise ValueError("has_rivals=True needs folds to compare on: set n_folds to 2 or more, got 0.")
    parts = Stopwatch(progress)
    parts.begin("certificate")
    fit = _summarise_fit(subject)
    parts.begin("permutation test")
    noise = permutation_result or _permuted(subject, n_permutations, n_jobs=n_jobs, seed=random_state)
    parts.begin("cross-validation")
    folds, no_folds = _cross_validated(subject, n_folds, n_repeats, n_jobs=n_jobs, seed=random_state)
    rivals = None
    if has_rivals and no_folds is None:
        parts.begin("other classifiers")
        rivals = beside_rivals(
            subject.learner,
            subject.X,
            subject.y,
            groups=subject.groups,
            n_folds=n_folds,
            random_state=random_state,
            n_jobs=n_jobs,
        )
    parts.begin("path over radii")
    path, no_path = _path_around(subject, n_radii)
    bounds = guarantee if isinstance(guarantee, BestGuarantee) else None
    if guarantee is True and fit.certificate_valid:
        parts.begin("guarantee")
        bounds = _guaranteed(subject, n_folds=n_folds, random_state=random_state)
    parts.begin("tables")
    classifier, seen, own = subject.classifier, subject.seen, subject.own
    wrong, own_probability = training_predictions(classifier, seen, own)
    worst = WorstCaseDistributionDisplay.from_estimator(
        classifier, subject.y, max_samples=MOST_SUSPECTS, sample_names=subject.sample_names
    )
    contrasts = class_contrasts(seen, own, len(classifier.classes_))
    frequency = None if folds is None else folds.selection_frequency
    return Findings(
        data=summarise_data(classifier, subject.described, own),
        fit=fit,
        radius=summarise_radius(classifier, len(own)),
        settings={name: _setting(value) for name, value in sorted(classifier.get_params().items())},
        features=tabulate_features(classifier, contrasts, subject.feature_names, frequency),
        volcano=volcano_of(classifier, seen, contrasts, subject.feature_names),
        values=SelectedValuesDisplay.from_estimator(
            classifier,
            seen,
            subject.y,
            feature_names=subject.feature_names,
            sample_names=subject.sample_names,
        ),
        history=BoundPathDisplay.from_estimator(classifier),
        path=path,
        path_skipped=no_path,
        permutation=None if noise is None else PermutationTestDisplay.from_result(noise),
        worst_case=worst,
        suspects=list_suspects(classifier, own, own_probability, worst, cross_validation=folds),
        classes=summarise_classes(classifier, own, wrong, own_probability, cross_validation=folds),
        cross_validation=folds,
        cross_validation_skipped=no_folds,
        left_out=None if folds is None else summarise_left_out(folds, classifier, subject.sample_names),
        comparison=None if folds is None else ErrorComparisonDisplay.from_result(classifier, folds),
        rivals=rivals,
        rivals_skipped=no_folds if has_rivals else None,
        guarantee=_without_models(bounds),
        seconds=parts.end(),
    )


def _summarise_fit(subject: Subject) -> FitSummary:
    model = subject.classifier
    certificate = verify(model, subject.seen, subject.y, groups=subject.groups)
    return FitSummary(
        lower=float(model.worst_case_error_lower_),
        upper=float(model.worst_case_error_),
        certificate_valid=certificate.valid,
        certificate_problems=certificate.problems,
        deterministic_bound=float(model.deterministic_error_bound_),
        argmax_bound=bound_of_named_class(model, subject.seen, subject.y, subject.groups),
        n_selected=int(model.n_features_selected_),
        coding=model.coding_,
        solver=model.solver_,
        converged=bool(model.converged_),
        is_standardized=bool(model.standardize),
        preparation=subject.preparation,
        class_weight=_weighting(model.class_weight),
        marginal=model.marginal,
    )


def bound_of_named_class(model: Any, X: DataMatrix, y: Any, groups: Any = None) -> float:
    """The worst case of ``predict``: that of the arg-max rule, or twice R*, which holds as well."""
    worst_case = worst_case_of_rule(model, training_data_of(model, X, y, groups=groups), "argmax").upper
    return float(min(worst_case, model.deterministic_error_bound_))


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
) -> BestGuarantee:
    """At the confidence of the model; 0 folds for no comparison with bounds by radii."""
    return best_guarantee(
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


def _without_models(found: BestGuarantee | None) -> BestGuarantee | None:
    """What a page can say; the models behind it are no numbers."""
    if found is None:
        return None
    return replace(found, statements=tuple(replace(one, model=None) for one in found.statements))


def _guaranteed(subject: Subject, *, n_folds: int, random_state: Any) -> BestGuarantee:
    """Radii take the steps before the classifier as given, which those that look at labels are not."""
    return guarantee_of_model(
        subject.classifier,
        subject.X,
        subject.y,
        subject.transformer,
        groups=subject.groups,
        n_folds=0 if subject.uses_labels else n_folds,
        random_state=random_state,
    )


def _permuted(
    subject: Subject, n_permutations: int, *, n_jobs: int | None, seed: Any
) -> PermutationTestResult | None:
    if n_permutations == 0:
        return None
    estimator, X = (subject.learner, subject.X) if subject.uses_labels else (subject.classifier, subject.seen)
    return permutation_test(
        clone(estimator),
        X,
        subject.y,
        n_permutations,
        groups=subject.batch,
        replicates=subject.groups,
        n_jobs=n_jobs,
        random_state=seed,
    )


def _cross_validated(
    subject: Subject, n_folds: int, n_repeats: int, *, n_jobs: int | None, seed: Any
) -> tuple[CrossValidatedError | None, str | None]:
    """The outcome, or why there is none."""
    model, y, groups = subject.classifier, subject.y, subject.groups
    if n_folds == 0:
        return None, None
    if n_folds_possible(model, y, n_folds, groups) < 2:
        labels = y if groups is None else y[np.unique(np.asarray(groups, str), return_index=True)[1]]
        sizes = (labels[:, None] == model.classes_).sum(axis=0)
        lonely = str(model.classes_[int(np.argmin(sizes))])
        kind = "sample" if groups is None else "group"
        return None, f"class {lonely} has a single {kind}, which cannot be used both to train and to test."
    found = cross_validated_error(
        subject.learner,
        subject.X,
        y,
        groups=groups,
        n_folds=n_folds,
        n_repeats=n_repeats,
        random_state=seed,
        n_jobs=n_jobs,
    )
    return found, None


def _path_around(subject: Subject, n_radii: int) -> tuple[BoundPathDisplay | None, str | None]:
    """R* over radii around the one used, or why there is no such path."""
    model = subject.classifier
    if n_radii == 0:
        return None, None
    if model.radius_ is None:
        return (
            None,
            "the radii were given one by one, as an array, so there is no single factor to vary.",
        )
    with quiet_fits():
        path = minimax_risk_path(
            subject.seen,
            subject.y,
            _radii_around(float(model.radius_), n_radii),
            groups=subject.groups,
            coding=model.coding_,
            standardize=model.standardize,
            fit_intercept=model.fit_intercept,
            class_weight=model.class_weight,
            marginal=model.marginal,
        )
    return BoundPathDisplay.from_result(path), None


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
