"""What functions ask of a fitted model: its rule, its uncertainty set, its certificate, and what it can do.

A function asks for a ``Capability``, never for a class. A model declares its capabilities on the class. If it
lacks one, the refusal names what to use instead. ``unwrapped`` is the one place that looks inside estimators
of scikit-learn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.problem.rule import AverageRule, KernelRule, LinearRule
from minimaxrisk.problem.sets import SetKind
from minimaxrisk.samples.validation import TrainingData

# A name, a stored value and the recomputed one; or a statement, whether it is true, and True.
Claim: TypeAlias = tuple[str, Any, Any]
# Rules on columns, and all rules: they have ``columns``, ``scores`` and ``probabilities``.
ColumnRule: TypeAlias = LinearRule | AverageRule
FittedRule: TypeAlias = ColumnRule | KernelRule


@dataclass(frozen=True)
class Capability:
    """What a function needs of an estimator, by what to use in place of one that lacks it."""

    instead: str


# Has a certificate, and an interval for the mean of each column.
PROOF = Capability(
    "fit a MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier or MinimaxRiskKernelClassifier"
)
BOX_OF_MEANS = Capability(
    "use verify(model, X, y), which recomputes the bounds of its R*, or error_bound(model, X, y), which "
    "bounds its error"
)
# Is trained again with other labels, which must not have chosen its radius.
OTHER_LABELS = Capability(
    "pass a MinimaxRiskClassifier or a MinimaxRiskKernelClassifier; for a search or an ensemble its "
    "estimator, with a radius chosen beforehand"
)
LIBRARY_CLASSIFIER = Capability("pass a classifier of this library, such as MinimaxRiskClassifier")
SELECTION = Capability("use MinimaxRiskClassifier or MinimaxRiskEnsembleClassifier, which select columns")
HISTORY = Capability("use MinimaxRiskClassifier or MinimaxRiskKernelClassifier, which keep a history")
CHOSEN_RADIUS = Capability("use MinimaxRiskClassifierCV")
RADIUS_PATH = Capability("use MinimaxRiskClassifier")
MEMBERS = Capability("use MinimaxRiskEnsembleClassifier")
CALIBRATED = Capability("use MinimaxRiskEnsembleClassifier, or PredictionSets around a classifier")
STABILITY = Capability("use MinimaxRiskSelector(stability=True) or MinimaxRiskEnsembleClassifier")
SETS = Capability("use PredictionSets")
DASK = Capability("pass X.compute(), or use MinimaxRiskClassifier")
ELSEWHERE = Capability("convert X to NumPy, or use MinimaxRiskClassifier")

# Where a model of this library may be hidden, and how to pass it.
WITHIN = {
    "steps": " Of a pipeline pass the last step and the transformed X.",
    "best_estimator_": " The model that a search chose is its best_estimator_.",
    "estimator_": " Of a selector pass estimator_.",
}


class Estimator(Protocol):
    """What functions take as a model: anything with parameters, as every estimator of scikit-learn has."""

    def get_params(self, deep: bool = True) -> Any: ...


class Capable:
    """What an estimator of this library can do, as data on the class."""

    _capabilities: ClassVar[frozenset[Capability]] = frozenset()

    n_features_in_: int
    feature_names_in_: np.ndarray

    if TYPE_CHECKING:  # of scikit-learn, which has no types

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...


class Certified(Capable, ABC):
    """A classifier that proves its bounds, and so can be asked to show how."""

    _set_kind: ClassVar[SetKind]

    # What every fit stores, beside what is of one kind of model alone.
    classes_: np.ndarray
    worst_case_error_: float
    worst_case_error_lower_: float
    optimality_gap_: float
    worst_case_distribution_: FloatArray
    radius_: float | None
    radius_seed_: int
    coverage_: float | None
    coverage_remarks_: tuple[str, ...]
    coding_: str
    _fitted_parameters: Any

    def _final(self) -> Certified:
        """The fitted model that has rule and proof: itself, or the one with the radius that it chose."""
        return self

    def _parameters_of_set(self) -> Any:
        """After a fit: an estimator with the parameters of the fit, which say what the uncertainty set is.

        Parameters of the model may have been set since then. ``_parameters_of_fit`` is the counterpart before
        and during a fit.
        """
        return self._fitted_parameters

    def _without_callback(self) -> Certified:
        """A copy for a file, in which what a callback refers to does not belong."""
        stored = copy(self)
        for name, value in vars(self).items():
            if name == "callback":
                setattr(stored, name, None)
            elif isinstance(value, Certified):
                setattr(stored, name, value._without_callback())
        return stored

    @property
    def _has_proof(self) -> bool:
        """Whether the fit was asked for one."""
        return True

    @abstractmethod
    def _fitted_rule(self) -> FittedRule:
        """The rule that it predicts by."""

    def _bounds(self, problems: Any, enough: Any) -> Any:
        """Bounds on R* for problems of its kind; asked of those with the capability ``OTHER_LABELS``."""
        raise NotImplementedError

    def _problems_at_a_time(self, problem: Any) -> int:
        """How many problems like this one are best bounded together."""
        raise NotImplementedError

    @abstractmethod
    def _claims(self, posed: Any, data: TrainingData) -> Iterator[Claim]:
        """Yield all that the fit stored, with the same recomputed (``claims.py``)."""


def meaning_of_set(coverage: float | None) -> str:
    """Return what bounds over an uncertainty set mean for new samples, from the coverage of its radii."""
    if coverage is None:
        return (
            "No confidence is stated for the radii, so this is not a bound on the error rate of new samples: "
            "it may be small even if labels are noise. radius='bootstrap' gives a bound, permutation_test "
            "shows R* of noise."
        )
    return (
        f"All true means lie within the radii with {coverage:.0%} confidence, if the rule's assumptions hold."
    )


def can(model: object, capability: Capability) -> bool:
    """Whether an estimator has the capability; those of other libraries have none."""
    return capability in getattr(model, "_capabilities", ())


def check_supported(model: object, function: str, *needed: Capability) -> None:
    """Refuse a model that lacks a capability that a function needs."""
    for capability in needed:
        if not can(model, capability):
            within = next((advice for name, advice in WITHIN.items() if hasattr(model, name)), "")
            if isinstance(model, Capable) or capability is OTHER_LABELS:
                within = ""  # what a pipeline or a search learned from the labels would be learned once
            kind = type(model).__name__
            raise ValueError(f"{function} is not supported for {kind}; {capability.instead}.{within}")


def columns_read_by(model: Certified) -> IntArray:
    """The columns that predictions of a fitted model depend on."""
    return model._final()._fitted_rule().columns


def columns_used_by(model: Any) -> IntArray:
    """The columns that it selects, or of a model that does not select those that it reads."""
    return np.asarray(model.selected_features_) if can(model, SELECTION) else columns_read_by(model)


def unwrapped(model: Any) -> tuple[Any, Any]:
    """The estimator within searches and pipelines, and the steps before it; None if there are none."""
    steps: list[Any] = []
    while not isinstance(model, Capable):
        if isinstance(model, Pipeline):
            steps += [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
            model = model[-1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            break
    if not steps:
        return model, None
    return model, steps[0] if len(steps) == 1 else make_pipeline(*steps)


def has_proof(model: object) -> bool:
    """Whether it is fitted and has a proof."""
    try:
        certified(model)
    except (ValueError, NotFittedError):
        return False
    return True


def fitted_for(model: Any, function: str, *needed: Capability) -> tuple[Any, Any]:
    """Return the fitted estimator within searches and pipelines, and the steps before it.

    Refuse a model that lacks what the function needs. With ``PROOF``, it is the one that has the certificate.
    """
    inner, before = unwrapped(model)
    if PROOF in needed:
        return certified(inner, function, *needed), before
    check_supported(inner, function, *needed)
    check_is_fitted(inner)
    return inner, before


def certified(model: object, function: str = "verify", *needed: Capability) -> Certified:
    """Return the fitted model that has the certificate, and what else the function needs."""
    check_supported(model, function, PROOF, *needed)
    check_is_fitted(model)
    assert isinstance(model, Certified)  # as all with a proof
    final = model._final()
    if not final._has_proof:
        raise ValueError(
            "the ensemble has no certificate, because it was fitted with certify=False. Fit it with "
            "certify=True for bounds on the error rate of its mean rule, or use error_bound(model, X, y)."
        )
    return final
