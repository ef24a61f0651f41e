"""Everything that the report says, as numbers: what is computed is decided here, how it looks is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from minimaxrisk._utils.arrays import DataMatrix, FloatArray
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk.analysis.cross_validation import (
    CrossValidatedError,
    cross_validated_error,
    n_folds_possible,
)
from minimaxrisk.analysis.minimax_risk_path import minimax_risk_path
from minimaxrisk.analysis.permutation_test import PermutationTestResult, permutation_test
from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.guarantees.best_guarantee import best_guarantee
from minimaxrisk.guarantees.error_bounds import error_bounds
from minimaxrisk.guarantees.error_statement import BestGuarantee
from minimaxrisk.guarantees.verification import verify
from minimaxrisk.inspection import (
    BoundPathDisplay,
    ErrorComparisonDisplay,
    PermutationTestDisplay,
    SelectedValuesDisplay,
    WorstCaseDistributionDisplay,
)
from minimaxrisk.inspection.sources import check_fitted, check_number_of_names
from minimaxrisk.report.json_values import json_ready
from minimaxrisk.report.rivals import Rivals, beside_rivals
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
    clip_limit: float | None  # where columns were clipped, in robust standard deviations
    class_weight: str | None  # "balanced", "given", or None where samples count alike
    marginal: str  # "free" or "empirical"


@dataclass(frozen=True)
class Findings:
    """All numbers of a report. Parts that were not computed are None, with the reason where there is one."""

    data: DataSummary
    fit: FitSummary
    radius: RadiusSummary
    settings: Mapping[str, str]
    features: FeatureTable
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
    comparison: ErrorComparisonDisplay | None
    rivals: Rivals | None
    rivals_skipped: str | None
    guarantee: BestGuarantee | None

    def to_dict(self) -> dict[str, Any]:
        """Dictionaries, lists, numbers and strings, ready for JSON; what is not finite becomes None."""
        numbers: dict[str, Any] = json_ready(self)
        return numbers


def gather_findings(
    model: Any,
    X: DataMatrix,
    y: Any,
    *,
    feature_names: Any = None,
    sample_names: Any = None,
    scaler: ClippedScaler | None = None,
    groups: Any = None,
    batch: Any = None,
    n_permutations: int = 199,
    n_folds: int = 10,
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
    model : MinimaxRiskClassifier
        Fitted on ``X``, after the scaler where there is one, and ``y``, without sample weights.
    X, y
        An ndarray or a CSR matrix without NaN, and the labels.
    feature_names, sample_names : sequence of str or None, default=None
        Names to print; None takes ``feature_names_in_`` or numbers.
    scaler : ClippedScaler or None, default=None
        Fitted on ``X``: what clipped the columns before the model saw them. Cross-validation fits it anew
        in every fold.
    groups : array-like of shape (n_samples,) or None, default=None
        What the model was fitted with: samples of one patient stay together everywhere.
    batch : array-like of shape (n_samples,) or None, default=None
        Labels are permuted among samples of the same batch only.
    n_permutations, n_folds, n_radii : int
        Size of the permutation test, of the cross-validation and of the path; 0 leaves that part out. The
        folds are those of the guarantee's comparisons as well.
    n_jobs, random_state
        For the permutation test, the cross-validation and the hold-out.
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
    """
    check_fitted("model", model, "a fitted MinimaxRiskClassifier", ("worst_case_distribution_", "classes_"))
    y = np.asarray(y)
    features, samples = _names(model, feature_names, sample_names, n_samples=len(y))
    own = np.argmax(y[:, None] == model.classes_, axis=1)
    if has_rivals and n_folds == 0:
        raise ValueError("has_rivals=True needs folds to compare on: set n_folds to 2 or more, got 0.")
    tell = progress or _say_nothing
    tell("certificate")
    seen = X if scaler is None else scaler.transform(X)
    fit = _summarise_fit(model, seen, y, scaler, groups)
    tell("permutation test")
    noise = permutation_result
    if noise is None and n_permutations:
        together = {"groups": batch, "replicates": groups}
        noise = permutation_test(
            clone(model), seen, y, n_permutations, **together, n_jobs=n_jobs, random_state=random_state
        )
    tell("cross-validation")
    learner = model if scaler is None else make_pipeline(scaler, model)
    folds, no_folds = _cross_validated(learner, X, y, groups, n_folds, n_jobs=n_jobs, seed=random_state)
    rivals = None
    if has_rivals and no_folds is None:
        tell("other classifiers")
        rivals = beside_rivals(
            learner, X, y, groups=groups, n_folds=n_folds, random_state=random_state, n_jobs=n_jobs
        )
    tell("path over radii")
    path, no_path = _path_around(model, seen, y, groups, n_radii)
    bounds = guarantee if isinstance(guarantee, BestGuarantee) else None
    if guarantee is True and fit.certificate_valid:
        tell("guarantee")
        bounds = guarantee_of_model(
            model, X, y, scaler, groups=groups, n_folds=n_folds, random_state=random_state
        )
    tell("tables")
    wrong, own_probability = training_predictions(model, seen, own)
    worst = WorstCaseDistributionDisplay.from_estimator(
        model, y, max_samples=MOST_SUSPECTS, sample_names=samples
    )
    return Findings(
        data=summarise_data(model, X, own),
        fit=fit,
        radius=summarise_radius(model, len(y)),
        settings={name: _setting(value) for name, value in sorted(model.get_params().items())},
        features=tabulate_features(model, seen, own, features),
        values=SelectedValuesDisplay.from_estimator(
            model, seen, y, feature_names=features, sample_names=samples
        ),
        history=BoundPathDisplay.from_estimator(model),
        path=path,
        path_skipped=no_path,
        permutation=None if noise is None else PermutationTestDisplay.from_result(noise),
        worst_case=worst,
        suspects=list_suspects(model, own, own_probability, worst, cross_validation=folds),
        classes=summarise_classes(model, own, wrong, own_probability, cross_validation=folds),
        cross_validation=folds,
        cross_validation_skipped=no_folds,
        comparison=None if folds is None else ErrorComparisonDisplay.from_result(model, folds),
        rivals=rivals,
        rivals_skipped=no_folds if has_rivals else None,
        guarantee=_without_models(bounds),
    )


def _names(model: Any, features: Any, samples: Any, *, n_samples: int) -> tuple[list[str], list[str]]:
    n_features = int(model.n_features_in_)
    if features is None:
        features = getattr(model, "feature_names_in_", [f"column {j}" for j in range(n_features)])
    if samples is None:
        samples = [f"sample {i + 1}" for i in range(n_samples)]
    check_number_of_names("feature_names", features, n_features)
    check_number_of_names("sample_names", samples, n_samples)
    return [str(name) for name in features], [str(name) for name in samples]


def _summarise_fit(
    model: Any, X: DataMatrix, y: Any, scaler: ClippedScaler | None, groups: Any
) -> FitSummary:
    certificate = verify(model, X, y, groups=groups)
    argmax = error_bounds(model, X, y, rule="argmax", groups=groups)
    return FitSummary(
        lower=float(model.worst_case_error_lower_),
        upper=float(model.worst_case_error_),
        certificate_valid=certificate.valid,
        certificate_problems=certificate.problems,
        deterministic_bound=float(model.deterministic_error_bound_),
        # Twice the bound holds as well, so the smaller one of the two does.
        argmax_bound=min(argmax.upper, model.deterministic_error_bound_),
        n_selected=int(model.n_features_selected_),
        coding=model.coding_,
        solver=model.solver_,
        converged=bool(model.converged_),
        is_standardized=bool(model.standardize),
        clip_limit=None if scaler is None else float(scaler.limit),
        class_weight=_weighting(model.class_weight),
        marginal=model.marginal,
    )


def _weighting(class_weight: Any) -> str | None:
    if class_weight is None:
        return None
    return "balanced" if isinstance(class_weight, str) else "given"


def guarantee_of_model(
    model: Any,
    X: DataMatrix,
    y: Any,
    scaler: ClippedScaler | None = None,
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
        random_state=random_state,
    )


def _without_models(found: BestGuarantee | None) -> BestGuarantee | None:
    """What a page can say; the models behind it are no numbers."""
    if found is None:
        return None
    return replace(found, statements=tuple(replace(one, model=None) for one in found.statements))


def _cross_validated(
    model: Any, X: DataMatrix, y: Any, groups: Any, n_folds: int, *, n_jobs: int | None, seed: Any
) -> tuple[CrossValidatedError | None, str | None]:
    """The outcome, or why there is none."""
    if n_folds == 0:
        return None, None
    if n_folds_possible(model, y, n_folds, groups) < 2:
        labels = y if groups is None else y[np.unique(np.asarray(groups, str), return_index=True)[1]]
        sizes = (labels[:, None] == model.classes_).sum(axis=0)
        lonely = str(model.classes_[int(np.argmin(sizes))])
        kind = "sample" if groups is None else "group"
        return None, f"class {lonely} has a single {kind}, which cannot be used both to train and to test."
    found = cross_validated_error(
        model, X, y, groups=groups, n_folds=n_folds, random_state=seed, n_jobs=n_jobs
    )
    return found, None


def _path_around(
    model: Any, X: DataMatrix, y: Any, groups: Any, n_radii: int
) -> tuple[BoundPathDisplay | None, str | None]:
    """R* over radii around the one used, or why there is no such path."""
    if n_radii == 0:
        return None, None
    if model.radius_ is None:
        return (
            None,
            "the radii were given one by one, as an array, so there is no single factor to vary.",
        )
    with quiet_fits():
        path = minimax_risk_path(
            X,
            y,
            _radii_around(float(model.radius_), n_radii),
            groups=groups,
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


def _say_nothing(message: str) -> None:
    """No progress was asked for."""
