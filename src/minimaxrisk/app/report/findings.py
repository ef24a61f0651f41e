"""Everything that the report says, as numbers: plain records, and how they are counted from data and model.

``gathering`` computes them; other modules word and draw them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, stats
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.utils.sparsefuncs import min_max_axis

from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray, IntArray
from minimaxrisk.analysis.contrasts import Contrasts
from minimaxrisk.analysis.cross_validation import CrossValidatedError
from minimaxrisk.analysis.intervals import ClassRates
from minimaxrisk.app.report.phrases import isolate, listed
from minimaxrisk.checks.findings import Finding
from minimaxrisk.checks.scales import are_intensities, largest_count, stored
from minimaxrisk.guarantees.bound import ErrorBound
from minimaxrisk.guarantees.certified import MEMBERS, can
from minimaxrisk.guarantees.left_out import margins
from minimaxrisk.guarantees.reliable_features import ReliableFeatures
from minimaxrisk.inspection import (
    BoundPathDisplay,
    ErrorComparisonDisplay,
    FeatureCountDisplay,
    PermutationTestDisplay,
    SelectedValuesDisplay,
    WorstCaseDistributionDisplay,
)
from minimaxrisk.inspection.canvas import by_importance
from minimaxrisk.problem.pose import PosedBox
from minimaxrisk.uncertainty.rules import Multiple, MultiplierBootstrap


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
        """Error of guessing, all classes with the same probability."""
        return 1.0 - 1.0 / self.n_classes

    @property
    def largest_class(self) -> str:
        return self.classes[self.class_sizes.index(max(self.class_sizes))]

    @property
    def majority_error(self) -> float:
        """Share of the samples that are not of the most common class."""
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
    covers: bool  # whether all true means lie within the radii with a stated confidence
    remarks: tuple[str, ...]
    needed: float
    n_means: int
    expected_outside: float
    confidence: float


@dataclass(frozen=True)
class FeatureTable:
    """The selected features, the most important first; ``coefficients`` in the units of the data.

    ``difference``, ``t`` and ``q`` are those of ``Contrasts``, a row for each class against the rest, or a
    single one of two classes; ``frequency`` is the share of the ``selectors`` that selected the feature: the
    members of an ensemble, or the fits of the cross-validation. An ensemble has features in the table that
    at least half of its members select.
    """

    columns: IntArray
    names: tuple[str, ...]
    coefficients: FloatArray  # 1 or n_classes rows
    importance: FloatArray
    class_means: FloatArray  # n_classes rows
    directions: tuple[Direction, ...]
    difference: FloatArray
    fold_change: FoldChange
    t: FloatArray
    q: FloatArray
    frequency: FloatArray | None
    selectors: str  # "by members" or "in folds"

    @property
    def sorted_by(self) -> str:
        """The header of the column that the features are sorted by."""
        return f"selected {self.selectors}" if self.selectors == "by members" else "importance"

    @property
    def n_selected(self) -> int:
        return len(self.columns)


# Lists of the most important features have at most so many.
MOST_FIRST = 30


@dataclass(frozen=True)
class RelatedFeatures:
    """Lower confidence bounds on how many selected features are related to the class.

    All bounds hold at once. ``of_first[k]`` is about the k most important ones, up to ``MOST_FIRST``.
    """

    of_selected: int
    of_first: tuple[int, ...]
    confidence: float
    n_permutations: int

    @classmethod
    def of(cls, found: ReliableFeatures, table: FeatureTable) -> RelatedFeatures:
        n_first = min(table.n_selected, MOST_FIRST)
        of_first = tuple(found.at_least(table.columns[:k]) for k in range(n_first + 1))
        return cls(found.at_least(table.columns), of_first, found.confidence, found.n_permutations)


@dataclass(frozen=True)
class ClassSummary:
    """One class: how its samples fare."""

    name: str
    n_samples: int
    training_error: float
    own_probability: float
    rates: ClassRates | None  # of left-out predictions
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
    probability_when_left_out: float | None  # of its own class


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


def summarise_radius(model: Any, posed: PosedBox) -> RadiusSummary:
    """What the radii are, and how large a factor would have to be to cover; n counts independent units."""
    parameters = model._parameters_of_set()
    given = parameters.radius
    rule = given if isinstance(given, str) else ("number" if np.ndim(given) == 0 else "array")
    n_means, units = int(model.n_features_in_) * model.lambda_.shape[0], posed.instances.units
    try:
        union_bound = MultiplierBootstrap(parameters.confidence, n_draws=0, seed=0)
        needed = posed.with_radii(union_bound).radii.factor
    except ValueError:  # too few samples for any
        needed = None
    expected_outside = 0.0
    n = np.array([units.n]) if model.lambda_.shape[0] == 1 else units.n_for_spread
    if model.radius_ is not None and (n >= 2.0).all():
        # Factors of plain standard errors, which moderation has made smaller or larger.
        columns = slice(posed.problem.scale.n_leading, None)
        plain = posed.with_radii(Multiple(1.0)).problem.lam
        factors = (posed.problem.lam / plain)[:, columns]
        outside = 2.0 * stats.t.sf(factors * np.sqrt((n - 1) / n)[:, None], n[:, None] - 1)
        expected_outside = float(outside.sum())
    return RadiusSummary(
        rule=rule,
        factor=None if model.radius_ is None else float(model.radius_),
        coverage=model.coverage_,
        covers=model.coverage_ is not None,
        remarks=tuple(model.coverage_remarks_),
        needed=float("inf") if needed is None else needed,
        n_means=n_means,
        expected_outside=expected_outside,
        confidence=float(parameters.confidence),
    )


def tabulate_features(
    model: Any,
    contrasts: Contrasts,
    fold_change: FoldChange,
    names: Any,
    frequencies: FloatArray | None = None,
) -> FeatureTable:
    """Coefficients, importance, and the features one by one; ``frequencies`` are those of folds."""
    columns, has_members = by_importance(model), can(model, MEMBERS)
    if has_members:
        frequencies = model.selection_frequencies_
    classes = [str(label) for label in model.classes_]
    coefficients = model._fitted_rule().full_coef[:, columns]
    return FeatureTable(
        columns=columns,
        names=tuple(str(names[j]) for j in columns),
        coefficients=coefficients,
        importance=np.asarray(model.feature_importances_)[columns],
        class_means=contrasts.class_means[:, columns],
        directions=tuple(direction(each, classes) for each in coefficients.T),
        difference=contrasts.difference[:, columns],
        fold_change=replace(fold_change, log2=fold_change.log2[:, columns]),
        t=contrasts.t[:, columns],
        q=contrasts.q[:, columns],
        frequency=None if frequencies is None else frequencies[columns],
        selectors="by members" if has_members else "in folds",
    )


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
    rates = None if cross_validation is None else cross_validation.per_class(len(model.classes_))
    return tuple(
        ClassSummary(
            name=str(label),
            n_samples=int((own == k).sum()),
            training_error=float(wrong[own == k].mean()),
            own_probability=float(own_probability[own == k].mean()),
            rates=None if rates is None else rates[k],
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
    left_out: CrossValidatedError | None,
) -> tuple[SuspectSample, ...]:
    """The samples of the worst-case display, with the heaviest of the other labels."""
    others = np.array(model.worst_case_distribution_)[: len(own)]
    others[np.arange(len(own)), own] = -1.0
    names = [str(label) for label in model.classes_]
    predicted, probability, is_judged = own, own_probability, np.zeros(len(own), dtype=bool)
    if left_out is not None:
        predicted, probability, is_judged = left_out.predicted, left_out.calibrated_of_own, left_out.is_judged
    return tuple(
        SuspectSample(
            name=display.names[place],
            own=names[own[i]],
            other=names[int(np.argmax(others[i]))],
            other_mass=float(display.other_mass[place]),
            own_mass=float(display.own_mass[place]),
            own_probability=float(own_probability[i]),
            predicted_when_left_out=names[predicted[i]] if is_judged[i] else None,
            probability_when_left_out=float(probability[i]) if is_judged[i] else None,
        )
        for place, i in enumerate(display.samples)
    )


@dataclass(frozen=True)
class WronglyNamed:
    """A sample that was given another class when it was left out, in any of the repeats.

    ``named`` and ``probability`` of its own class are those of the first one.
    """

    name: str
    own: str
    named: str
    probability: float
    n_times: int


@dataclass(frozen=True)
class RocCurve:
    """A class against all others, by the scores of left-out samples."""

    name: str
    false_positive: FloatArray
    true_positive: FloatArray
    area: float


@dataclass(frozen=True)
class LeftOut:
    """``confusion`` counts samples by their own class (rows) and the class named (columns).

    ``margins`` say how far the score of a sample's own class is above the best of the others.
    """

    confusion: IntArray
    names: tuple[str, ...]
    margins: FloatArray
    balanced_accuracy: float  # mean over the classes of the share that was predicted correctly
    n_repeats: int
    errors: tuple[WronglyNamed, ...]
    curves: tuple[RocCurve, ...]


def summarise_left_out(found: CrossValidatedError, model: Any, sample_names: list[str]) -> LeftOut:
    """Errors come with those first that were wrong most often, and then the most surely."""
    classes = [str(label) for label in model.classes_]
    times, probability = found.times_wrong, found.calibrated_of_own
    order = np.lexsort((probability, -times))
    return LeftOut(
        confusion=found.confusion(len(classes)),
        names=tuple(sample_names),
        margins=_margins(found.scores, found.own),
        balanced_accuracy=found.balanced_accuracy,
        n_repeats=found.n_repeats,
        errors=tuple(
            WronglyNamed(
                name=sample_names[i],
                own=classes[found.own[i]],
                named=classes[found.predicted[i]],
                probability=float(probability[i]),
                n_times=int(times[i]),
            )
            for i in order
            if times[i] > 0
        ),
        curves=_curves(found.scores[found.is_judged], found.own[found.is_judged], classes),
    )


def _margins(scores: FloatArray, own: IntArray) -> FloatArray:
    if scores.ndim == 1:
        return np.where(own == 1, scores, -scores)
    return margins(scores)[np.arange(len(own)), own]


def _curves(scores: FloatArray, own: IntArray, classes: list[str]) -> tuple[RocCurve, ...]:
    """Of two classes the second one; of more each, by how far its score is above the best of the others."""
    of_classes = {1: scores} if scores.ndim == 1 else dict(enumerate(margins(scores).T))
    curves = []
    for k, margin in of_classes.items():
        if not (own == k).any():  # a class whose samples were never left out
            continue
        false_positive, true_positive, _ = roc_curve(own == k, margin)
        area = float(roc_auc_score(own == k, margin))
        curves.append(RocCurve(classes[k], false_positive, true_positive, area))
    return tuple(curves)


# Cells across and up in which features that were not selected share a dot, which is as large as a cell.
GRID = (110, 60)
# No p-value of doubles is smaller.
SMALLEST_P = 1e-300
# Logarithms do not reach above this.
LARGEST_LOGARITHM = 100.0
# Columns whose standard deviations differ by no more, relative to the middle one, were scaled to one.
SCALED = 0.01


@dataclass(frozen=True)
class FoldChange:
    """``log2`` has a row for each contrast. ``kind`` says how it comes about.

    ``ratio``: of raw values the logarithm of the ratio of means, where both are positive. ``difference``: of
    logarithms the difference of means, as if they were of base 2. ``unknown``: of values that are neither.
    """

    kind: str
    log2: FloatArray


def fold_change_of(X: DataMatrix, contrasts: Contrasts, *, is_measured: bool) -> FoldChange:
    """``X`` are the values of the contrasts, ``is_measured`` whether they are those of the table."""
    if not is_measured or not stored(X).size:
        return FoldChange("unknown", np.full_like(contrasts.difference, np.nan))
    is_raw = np.abs(stored(X)).max() > LARGEST_LOGARITHM or largest_count(X) is not None
    if is_raw or are_intensities(X):
        return FoldChange("ratio", contrasts.log2_ratio)
    if _are_scaled(X):
        return FoldChange("unknown", np.full_like(contrasts.difference, np.nan))
    return FoldChange("difference", contrasts.difference)


def _are_scaled(X: DataMatrix) -> bool:
    """Whether all columns that vary have one standard deviation."""
    if sparse.issparse(X):
        return False
    spread = X.std(axis=0)
    spread = spread[spread > 0.0]
    return len(spread) > 1 and bool(np.ptp(spread) <= SCALED * np.median(spread))


@dataclass(frozen=True)
class VolcanoPanel:
    """A class against the rest: places of selected features, and one place for each cell of the others."""

    name: str
    columns: IntArray
    x: FloatArray
    y: FloatArray
    other_x: FloatArray
    other_y: FloatArray
    n_without_place: int  # nothing varies, or a mean is not positive where ratios are shown


@dataclass(frozen=True)
class Volcano:
    """``kind`` is that of the fold change on x, which is a difference of means where that is unknown."""

    kind: str
    panels: tuple[VolcanoPanel, ...]
    names: dict[int, str]  # of the selected columns


def volcano_of(model: Any, contrasts: Contrasts, fold_change: FoldChange, names: list[str]) -> Volcano:
    """x is the fold change, y is -log10 p of Welch's test."""
    x_of_all = contrasts.difference if fold_change.kind == "unknown" else fold_change.log2
    selected = by_importance(model)
    is_selected = np.zeros(x_of_all.shape[1], dtype=np.bool_)
    is_selected[selected] = True
    panels = []
    for label, x, p in zip(contrasts.labels, x_of_all, contrasts.p, strict=True):
        y = -np.log10(np.maximum(p, SMALLEST_P))
        has_place = np.isfinite(x) & np.isfinite(y)
        drawn = selected[has_place[selected]]
        others = np.flatnonzero(has_place & ~is_selected)
        others = others[_one_per_cell(x[others], y[others])]
        panels.append(
            VolcanoPanel(
                name=str(model.classes_[label]),
                columns=drawn,
                x=x[drawn],
                y=y[drawn],
                other_x=x[others],
                other_y=y[others],
                n_without_place=int((~has_place).sum()),
            )
        )
    return Volcano(fold_change.kind, tuple(panels), {int(j): names[j] for j in selected})


def _one_per_cell(x: FloatArray, y: FloatArray) -> IntArray:
    """The first of those that share a cell."""
    if not len(x):
        return np.empty(0, dtype=np.intp)
    cells = []
    for values, n in zip((x, y), GRID, strict=True):
        low, high = values.min(), values.max()
        cells.append(np.minimum(((values - low) / (high - low or 1.0) * n).astype(np.intp), n - 1))
    _, first = np.unique(cells[0] * GRID[1] + cells[1], return_index=True)
    return np.sort(first)


@dataclass(frozen=True)
class FitSummary:
    """The certified numbers of the fit."""

    lower: float
    upper: float
    certificate_valid: bool
    certificate_problems: tuple[str, ...]
    predict_bound: float | None  # the worst case of predict; None where it was not asked for
    n_selected: int  # by any member of an ensemble
    coding: str
    solver: str
    converged: bool
    is_standardized: bool
    preparation: str | None  # what was done to the values before the classifier saw them, as words
    choice: str | None  # how the radius was chosen: "few", "best", a number of features, or None where given
    n_members: int | None  # of an ensemble
    ball_weight: float | None  # the share that a rule on all features has in its mean rule, if any
    uses_all_features: bool  # whether rules on all features take part in the decision of an ensemble
    class_weight: str | None  # "balanced", "given", or None where samples count alike
    marginal: str  # "free" or "empirical"


@dataclass(frozen=True)
class Findings:
    """All numbers of a report; parts that were not computed are None, with the reason where there is one.

    ``report`` makes it. The parts are plain records; ``to_dict`` shows all that is in them.

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
    related : RelatedFeatures or None
        How many of the most important features are related to the class at least; None without permutations,
        or where steps before the classifier look at labels.
    volcano : Volcano
        Differences between classes and their p-values, feature by feature.
    values : SelectedValuesDisplay
        Values of the selected features.
    history : BoundPathDisplay or None
        Bounds by iteration of the fit, which an ensemble does not have.
    path : BoundPathDisplay or None
        Bounds over radii around that of the model.
    path_skipped : str or None
        Why there is no path.
    short_list : FeatureCountDisplay or None
        Left-out errors over the number of features.
    short_list_skipped : str or None
        Why there are none.
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
    guarantee : ErrorBound or None
        Bounds on the error for new samples, without the models that they are about.
    warnings : tuple of Finding
        What the data checks found.
    seconds : mapping of str to float
        What each part took.
    """

    data: DataSummary
    fit: FitSummary
    radius: RadiusSummary
    settings: Mapping[str, str]
    features: FeatureTable
    related: RelatedFeatures | None
    volcano: Volcano
    values: SelectedValuesDisplay
    history: BoundPathDisplay | None
    path: BoundPathDisplay | None
    path_skipped: str | None
    short_list: FeatureCountDisplay | None
    short_list_skipped: str | None
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
    guarantee: ErrorBound | None
    warnings: tuple[Finding, ...]
    seconds: Mapping[str, float]

    @property
    def never_left_out(self) -> list[str]:
        """The classes with a single sample or group, which is in every training part."""
        return [one.name for one in self.classes if one.rates is not None and one.rates.sensitivity is None]

    def to_dict(self) -> dict[str, Any]:
        """All numbers as dictionaries and lists, ready for JSON.

        Returns
        -------
        dict
            Dictionaries, lists, numbers and strings; what is not finite becomes None.
        """
        numbers: dict[str, Any] = json_ready(self)
        return numbers


@dataclass(frozen=True)
class ComparedClassifier:
    """Means over folds of errors, medians of columns and seconds; differences are from this model.

    ``outcome`` is ``fewer`` or ``more`` errors than this model, or ``none``: no detectable difference.
    The columns are None where a model does not say which it uses, the last three for this model itself.
    """

    name: str
    error: float
    n_features: float | None
    seconds: float
    difference: float | None
    difference_error: float | None
    outcome: str | None


@dataclass(frozen=True)
class Rivals:
    """This model first. ``left_out`` has the classifiers that could not be fitted, with the reason."""

    n_folds: int
    compared: tuple[ComparedClassifier, ...]
    left_out: Mapping[str, str]

    def names(self, outcome: str) -> list[str]:
        return [one.name for one in self.compared if one.outcome == outcome]


def json_ready(value: Any) -> Any:
    """As dictionaries, lists, strings and numbers, which JSON has; what is not finite becomes None."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    # First what nearly all values are: a page has ten thousands of them.
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: json_ready(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    return value


class HeldOut(NamedTuple):
    """Counts of a hold-out."""

    n_errors: int
    n_test: int
    n_train: int

    @property
    def error(self) -> float:
        return self.n_errors / self.n_test


def held_out_of(guarantee: ErrorBound | None) -> HeldOut | None:
    """Return the counts behind the error bound."""
    if guarantee is None:
        return None
    return HeldOut(guarantee.n_errors, guarantee.n_test, guarantee.n_train)


# Classes named of each kind; a column of a table has no room for more.
MOST_NAMED = 2


@dataclass(frozen=True)
class Direction:
    """The classes that higher values speak for and against, by the size of the coefficients.

    Coefficients need not have the signs of the differences between means, so nothing is said of those.
    """

    speaks_for: tuple[str, ...]
    speaks_against: tuple[str, ...]
    in_words: str  # what higher values favour: ``ill``, or ``b and a, not c``; of many classes the first ones


def direction(coefficients: FloatArray, classes: Sequence[str]) -> Direction:
    """Of one feature: a single coefficient, or one for each class."""
    if len(coefficients) == 1:
        second = int(coefficients[0] > 0)
        return Direction((classes[second],), (classes[1 - second],), isolate(classes[second]))
    order = np.argsort(-np.abs(coefficients), kind="stable").tolist()
    favoured = tuple(classes[k] for k in order if coefficients[k] > 0)
    against = tuple(classes[k] for k in order if coefficients[k] < 0)
    words = ([_some(favoured)] if favoured else []) + ([f"not {_some(against)}"] if against else [])
    return Direction(favoured, against, ", ".join(words))


def _some(names: tuple[str, ...]) -> str:
    shown = [isolate(name) for name in names[:MOST_NAMED]]
    left = len(names) - len(shown)
    return listed([*shown, f"{left} more"] if left else shown)
