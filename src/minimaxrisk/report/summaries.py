"""The parts of the findings that are counted or averaged from the data and the fitted model."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.utils.sparsefuncs import min_max_axis

from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray, IntArray
from minimaxrisk.analysis.contrasts import Contrasts
from minimaxrisk.analysis.cross_validation import CrossValidatedError
from minimaxrisk.inspection.sources import by_importance
from minimaxrisk.report.directions import Direction, direction
from minimaxrisk.uncertainty.radius import split_level, student_factor


@dataclass(frozen=True)
class DataSummary:
    """What the data look like."""

    n_samples: int
    n_features: int
    classes: tuple[str, ...]
    class_sizes: tuple[int, ...]
    n_constant: int
    is_sparse: bool
    share_of_zeros: float

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def guessing(self) -> float:
        """Error of a toss of a fair coin or die."""
        return 1.0 - 1.0 / self.n_classes

    @property
    def largest_class(self) -> str:
        return self.classes[self.class_sizes.index(max(self.class_sizes))]

    @property
    def majority_error(self) -> float:
        """Share of the samples that always naming the most common class gets wrong."""
        return 1.0 - max(self.class_sizes) / self.n_samples


@dataclass(frozen=True)
class RadiusSummary:
    """How the radii were chosen.

    ``n_means`` counts the means of features that have a radius, one block of them or one for each class.
    ``needed`` is the factor of the union bound at the model's confidence, ``expected_outside`` how many of
    the true means lie outside the radii on average, both for normal features; zero where there is no factor.
    """

    rule: str  # "number", "array" or a name of NAMED_RULES
    factor: float | None
    coverage: float | None
    remarks: tuple[str, ...]
    needed: float
    n_means: int
    expected_outside: float
    confidence: float

    @property
    def covers(self) -> bool:
        """Whether all true means lie within the radii with a stated confidence."""
        return self.coverage is not None or (self.factor is not None and self.factor >= self.needed)


@dataclass(frozen=True)
class FeatureTable:
    """All selected features, the most important first; ``coefficients`` in the units of the data.

    ``difference`` to ``q`` are those of ``Contrasts``, a row for each class against the rest, or a single one
    of two classes; ``frequency`` is the share of the fits of the cross-validation that selected the feature.
    """

    columns: IntArray
    names: tuple[str, ...]
    coefficients: FloatArray  # 1 or n_classes rows
    importance: FloatArray
    class_means: FloatArray  # n_classes rows
    directions: tuple[Direction, ...]
    difference: FloatArray
    log2_ratio: FloatArray
    t: FloatArray
    q: FloatArray
    frequency: FloatArray | None

    @property
    def n_selected(self) -> int:
        return len(self.columns)


@dataclass(frozen=True)
class ClassSummary:
    """One class: how its samples fare."""

    name: str
    n_samples: int
    training_error: float
    own_probability: float
    recall: float | None
    mass: float
    mass_on_others: float


@dataclass(frozen=True)
class SuspectSample:
    """A sample with weight on other labels in the worst case; ``other`` is the heaviest of them."""

    name: str
    own: str
    other: str
    other_mass: float
    own_mass: float
    own_probability: float
    predicted_when_left_out: str | None


def summarise_data(model: Any, X: DataMatrix, own: IntArray) -> DataSummary:
    """Counts; sparse data stay sparse."""
    if sparse.issparse(X):
        low, high = min_max_axis(sparse.csr_matrix(X), axis=0)
        n_zeros = X.shape[0] * X.shape[1] - int(np.count_nonzero(X.data))
    else:
        low, high = X.min(axis=0), X.max(axis=0)
        n_zeros = X.size - int(np.count_nonzero(X))
    return DataSummary(
        n_samples=X.shape[0],
        n_features=X.shape[1],
        classes=tuple(str(label) for label in model.classes_),
        class_sizes=tuple(np.bincount(own, minlength=len(model.classes_)).tolist()),
        n_constant=int((low == high).sum()),
        is_sparse=bool(sparse.issparse(X)),
        share_of_zeros=n_zeros / (X.shape[0] * X.shape[1]),
    )


def summarise_radius(model: Any, n_samples: int) -> RadiusSummary:
    """What the radii are, and how large a factor would have to be to cover."""
    given = model.radius
    rule = given if isinstance(given, str) else ("number" if np.ndim(given) == 0 else "array")
    level, _ = split_level(model.confidence, has_intercept=model.fit_intercept)
    n_means = int(model.n_features_in_) * model.lambda_.shape[0]
    return RadiusSummary(
        rule=rule,
        factor=None if model.radius_ is None else float(model.radius_),
        coverage=model.coverage_,
        remarks=tuple(model.coverage_remarks_),
        needed=_factor_needed((1.0 - level) / (2.0 * n_means), n_samples, is_centred=model.standardize),
        n_means=n_means,
        expected_outside=_expected_outside(model.radius_, n_means, n_samples),
        confidence=float(model.confidence),
    )


def _factor_needed(tail: float, n: int, *, is_centred: bool) -> float:
    n_left = n - 1.0 - is_centred
    return student_factor(tail, float(n), n_left, n_left) if n_left > 0.0 else float("inf")


def _expected_outside(factor: float | None, n_means: int, n: int) -> float:
    if factor is None or n < 2:
        return 0.0
    return float(2.0 * n_means * stats.t.sf(factor * np.sqrt((n - 1) / n), n - 1))


def tabulate_features(
    model: Any, contrasts: Contrasts, names: Any, frequencies: FloatArray | None = None
) -> FeatureTable:
    """Coefficients, importance, and the features one by one."""
    columns = by_importance(model)
    classes = [str(label) for label in model.classes_]
    coefficients = np.asarray(model.coef_)[:, columns]
    return FeatureTable(
        columns=columns,
        names=tuple(str(names[j]) for j in columns),
        coefficients=coefficients,
        importance=np.asarray(model.feature_importances_)[columns],
        class_means=contrasts.class_means[:, columns],
        directions=tuple(direction(each, classes) for each in coefficients.T),
        difference=contrasts.difference[:, columns],
        log2_ratio=contrasts.log2_ratio[:, columns],
        t=contrasts.t[:, columns],
        q=contrasts.q[:, columns],
        frequency=None if frequencies is None else frequencies[columns],
    )


def training_predictions(model: Any, X: DataMatrix, own: IntArray) -> tuple[BoolArray, FloatArray]:
    """Whether the arg-max rule errs on each sample, and the probability that it gives to its own label."""
    arg_max = copy(model).set_params(deterministic=True)
    wrong = np.searchsorted(model.classes_, arg_max.predict(X)) != own
    return wrong, model.predict_proba(X)[np.arange(len(own)), own]


def summarise_classes(
    model: Any,
    own: IntArray,
    wrong: BoolArray,
    own_probability: FloatArray,
    *,
    cross_validation: CrossValidatedError | None,
) -> tuple[ClassSummary, ...]:
    """How each class fares with the model, in cross-validation and in the worst case."""
    mass = np.asarray(model.worst_case_distribution_)[: len(own)]
    on_own = mass[np.arange(len(own)), own]
    return tuple(
        ClassSummary(
            name=str(label),
            n_samples=int((own == k).sum()),
            training_error=float(wrong[own == k].mean()),
            own_probability=float(own_probability[own == k].mean()),
            recall=None if cross_validation is None else cross_validation.recall(k),
            mass=float(mass[own == k].sum()),
            mass_on_others=float((mass.sum(axis=1) - on_own)[own == k].sum()),
        )
        for k, label in enumerate(model.classes_)
    )


def list_suspects(
    model: Any,
    own: IntArray,
    own_probability: FloatArray,
    display: Any,
    *,
    cross_validation: CrossValidatedError | None,
) -> tuple[SuspectSample, ...]:
    """The samples of the worst-case display, with the heaviest of the other labels."""
    mass = np.asarray(model.worst_case_distribution_)
    names = [str(label) for label in model.classes_]
    suspects = []
    for place, i in enumerate(display.samples):
        others = mass[i].copy()
        others[own[i]] = -1.0
        said = None if cross_validation is None else names[cross_validation.predicted[i]]
        suspects.append(
            SuspectSample(
                name=display.names[place],
                own=names[own[i]],
                other=names[int(np.argmax(others))],
                other_mass=float(display.other_mass[place]),
                own_mass=float(display.own_mass[place]),
                own_probability=float(own_probability[i]),
                predicted_when_left_out=said,
            )
        )
    return tuple(suspects)
