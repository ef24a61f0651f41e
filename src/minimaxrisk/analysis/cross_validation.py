"""The cross-validated error of a classifier's two rules, to be compared with R*."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import OneToOneFeatureMixin
from sklearn.model_selection import PredefinedSplit, StratifiedKFold

from minimaxrisk._utils.arguments import check_n_folds, check_positive_integer, is_integer
from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.parallel import parallel_map
from minimaxrisk._utils.sklearn_private import fresh_copy, steps_of
from minimaxrisk._utils.stored_tables import in_memory
from minimaxrisk.guarantees.certified import SELECTION, can
from minimaxrisk.guarantees.left_out import LeftOutScores, weights_of_units
from minimaxrisk.samples.parts import fit_on_rows, part_for
from minimaxrisk.samples.validation import (
    OTHERS_ALONE,
    codes_of_groups,
    labels_of_units,
    positions_of_labels,
    refuse_other_order,
)

# Lower ends of the bands in which probabilities of predicted classes are counted.
BANDS = (0.9, 0.75, 0.5, 0.0)


@dataclass(frozen=True)
class ProbabilityBand:
    """Samples whose predicted class had a probability of at least ``low`` and less than ``high``."""

    low: float
    high: float | None  # None for the highest band
    n_samples: int
    n_right: int
    mean_stated: float | None  # None without samples


@dataclass(frozen=True)
class CrossValidatedError:
    """Predictions for each sample by a model that was fitted without its fold.

    If folds were drawn several times, all but the last two fields and ``times_wrong`` are about the first.
    """

    # A row for the randomized rule, the mean probability of wrong labels, and one for ``predict``.
    fold_errors: FloatArray
    own_probability: FloatArray  # that the randomized rule gave to the sample's own label
    predicted: IntArray  # position in ``classes_`` of the label that ``predict`` gave
    own: IntArray  # and of the sample's own label
    times_wrong: IntArray  # how many of the repeats got each sample wrong
    scores: FloatArray | None = None  # ``decision_function``, if the model has one
    n_repeats: int = 1
    selection_frequency: FloatArray | None = None  # share of all fits that selected each column
    weights: FloatArray | None = None  # the share of each sample in its group, if there are groups

    @property
    def n_folds(self) -> int:
        return self.fold_errors.shape[1]

    @property
    def errors(self) -> FloatArray:
        """Over all samples. Folds differ in size, so this is not the mean of their errors."""
        return np.array([1.0 - self.own_probability.mean(), self.n_wrong / len(self.own)])

    @property
    def fold_deviations(self) -> FloatArray:
        """Standard deviations over the folds."""
        return self.fold_errors.std(axis=1, ddof=1)

    @property
    def n_wrong(self) -> int:
        """How many samples ``predict`` got wrong."""
        return int((self.predicted != self.own).sum())

    @property
    def majority_error(self) -> float:
        """Error of always predicting the most common class."""
        return 1.0 - float(np.bincount(self.own).max()) / len(self.own)

    def confusion(self, n_classes: int) -> IntArray:
        """Numbers of samples by own class (rows) and predicted class (columns)."""
        counts = np.zeros((n_classes, n_classes), dtype=np.intp)
        np.add.at(counts, (self.own, self.predicted), 1)
        return counts

    def approximate_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Clopper and Pearson's interval of the error of ``predict``, as if the predictions were independent.

        They are not, because models of different folds share most of their samples. An exact interval would
        be wider.
        """
        interval = stats.binomtest(self.n_wrong, len(self.own)).proportion_ci(confidence)
        return float(interval.low), float(interval.high)

    def recall(self, position: int) -> float:
        """Share of the samples of a class that were predicted correctly."""
        return float((self.predicted == position)[self.own == position].mean())

    @cached_property
    def left_out(self) -> LeftOutScores | None:
        """What sets and probabilities are made from; None if the model has no scores."""
        if self.scores is None:
            return None
        scores = np.column_stack([-self.scores, self.scores]) if self.scores.ndim == 1 else self.scores
        weights = np.ones(len(self.own)) if self.weights is None else self.weights
        return LeftOutScores(scores, self.own, weights)

    @cached_property
    def calibrated(self) -> FloatArray | None:
        """How probable each label of each sample is, as far as the others tell (n x K)."""
        return None if self.left_out is None else self.left_out.calibrated()

    @property
    def calibrated_of_own(self) -> FloatArray | None:
        """How probable the sample's own label is."""
        return None if self.calibrated is None else self.calibrated[np.arange(len(self.own)), self.own]

    @property
    def calibrated_of_predicted(self) -> FloatArray | None:
        """How probable the predicted label is."""
        return None if self.calibrated is None else self.calibrated[np.arange(len(self.own)), self.predicted]

    def by_probability(self) -> tuple[ProbabilityBand, ...]:
        """How many predictions were right, by the probability of the predicted class, the highest first."""
        stated = self.calibrated_of_predicted
        return () if stated is None else bands_of(stated, self.predicted == self.own)


def bands_of(stated: FloatArray, is_right: BoolArray) -> tuple[ProbabilityBand, ...]:
    """How many predictions were right, by their stated probabilities, the highest first."""
    bands = []
    for low, high in zip(BANDS, (None, *BANDS[:-1]), strict=True):
        inside = stated >= low
        if high is not None:
            inside &= stated < high
        n, right = int(inside.sum()), int(is_right[inside].sum())
        mean = float(stated[inside].mean()) if n else None
        bands.append(ProbabilityBand(low, high, n, right, mean))
    return tuple(bands)


def sizes_of_classes(model: Any, y: Any, groups: Any = None) -> IntArray:
    """How many samples, or groups of them, each class has."""
    labels = positions_of_labels(np.asarray(y), model.classes_)
    if groups is not None:
        labels = labels_of_units(codes_of_groups(groups, len(labels)), labels, len(model.classes_))
    return np.bincount(labels, minlength=len(model.classes_))


def n_folds_possible(model: Any, y: Any, n_folds: Any, groups: Any = None) -> int:
    """At most the number of samples or groups in the smallest class: every fold has each class."""
    check_n_folds(n_folds)
    return min(int(n_folds), int(sizes_of_classes(model, y, groups).min()))


def stratified_folds(model: Any, y: Any, n_folds: Any, random_state: Any, groups: Any = None) -> Any:
    """A splitter into ``n_folds`` folds, or as many as possible; groups stay whole."""
    possible = n_folds_possible(model, y, n_folds, groups)
    if possible < 2:
        kind = "samples" if groups is None else "groups"
        raise ValueError(
            f"cross-validation needs at least two {kind} of every class; add some, or leave out classes with "
            f"a single one: {OTHERS_ALONE}."
        )
    folds = StratifiedKFold(possible, shuffle=True, random_state=random_state)
    if groups is None:
        return folds
    unit = codes_of_groups(groups, len(groups))
    label = labels_of_units(unit, positions_of_labels(np.asarray(y), model.classes_), len(model.classes_))
    fold_of_unit = np.empty(len(label), dtype=np.intp)
    for i, (_, test) in enumerate(folds.split(np.zeros(len(label)), label)):
        fold_of_unit[test] = i
    return PredefinedSplit(fold_of_unit[unit])


def predicting_copy(model: Any) -> Any:
    """An unfitted, silent copy whose ``predict`` names the best class, even if the model draws labels."""
    return fresh_copy(model, deterministic=True, callback=None, verbose=False, certify=False)


def cross_validated_error(
    model: Any,
    X: DataMatrix,
    y: Any,
    *,
    n_folds: int = 10,
    groups: Any = None,
    n_repeats: int = 1,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> CrossValidatedError:
    """Stratified k-fold cross-validation with copies of the classifier, radius rule included.

    The classifier may be the last step of a pipeline, all of which is fitted without the fold. There are at
    most as many folds as the smallest class has samples. Samples of one group stay in one fold. Errors are
    those of the first of the ``n_repeats``; the others show which samples are always wrong.
    """
    refuse_other_order(X, y, groups=groups)
    y = np.asarray(y)
    groups = None if groups is None else codes_of_groups(groups, len(y))
    check_positive_integer("n_repeats", n_repeats)
    own = positions_of_labels(y, model.classes_)
    repeats = []
    for r in range(n_repeats):
        # The first folds are the same with and without repeats.
        seed = random_state + r if is_integer(random_state) else random_state
        splitter = stratified_folds(model, y, n_folds, seed, groups)
        repeats.append(list(splitter.split(np.zeros(len(y)), own)))
    folds, all_folds = repeats[0], [fold for repeat in repeats for fold in repeat]
    outcomes = parallel_map(
        partial(_left_out, predicting_copy(model), X, y, groups), all_folds, n_jobs=n_jobs
    )
    first = outcomes[: len(folds)]
    predicted = _gathered(folds, [one.predicted for one in first])
    probabilities = _gathered(folds, [one.probabilities for one in first])
    rows = np.arange(len(y))
    own_probability = probabilities[rows, own]
    losses = np.array([1.0 - own_probability, predicted != own])
    times_wrong = np.zeros(len(y), dtype=np.intp)
    for (_, test), one in zip(all_folds, outcomes, strict=True):
        times_wrong[test] += one.predicted != own[test]
    scores = [one.scores for one in first if one.scores is not None]
    selected = [one.selected for one in outcomes if one.selected is not None]
    return CrossValidatedError(
        fold_errors=np.array([losses[:, test].mean(axis=1) for _, test in folds]).T,
        own_probability=own_probability,
        predicted=predicted,
        own=own,
        scores=_gathered(folds, scores) if len(scores) == len(folds) else None,
        n_repeats=int(n_repeats),
        times_wrong=times_wrong,
        selection_frequency=np.mean(selected, axis=0) if len(selected) == len(outcomes) else None,
        weights=None if groups is None else weights_of_units(own, groups),
    )


def _gathered(folds: list[tuple[IntArray, IntArray]], parts: list[Any]) -> Any:
    """One array in the order of the samples, from an array for each fold."""
    joined = np.concatenate(parts)
    found = np.empty_like(joined)
    found[np.concatenate([test for _, test in folds])] = joined
    return found


@dataclass(frozen=True)
class _Outcome:
    """Predictions for a fold by a model fitted without it, and the columns of ``X`` that it selected."""

    probabilities: FloatArray
    predicted: IntArray
    scores: FloatArray | None
    selected: BoolArray | None


def _left_out(
    fresh: Any, X: DataMatrix, y: np.ndarray, groups: IntArray | None, fold: tuple[IntArray, IntArray]
) -> _Outcome:
    """Fit a model without a fold and predict it."""
    train, test = fold
    left_out = part_for(fresh, X, test, train)
    fitted = fit_on_rows(fresh, X, y, train, groups=groups)
    scores = in_memory(fitted.decision_function(left_out)) if hasattr(fitted, "decision_function") else None
    predicted = np.searchsorted(fitted.classes_, in_memory(fitted.predict(left_out)))
    probabilities = in_memory(fitted.predict_proba(left_out))
    return _Outcome(probabilities, predicted, scores, _selected(fitted))


def _selected(fitted: Any) -> BoolArray | None:
    """None if the model does not select columns, or if steps before it make other columns."""
    *before, last = steps_of(fitted)
    keeps_columns = all(step == "passthrough" or isinstance(step, OneToOneFeatureMixin) for step in before)
    if not (keeps_columns and can(last, SELECTION)):
        return None
    is_selected = np.zeros(last.n_features_in_, dtype=np.bool_)
    is_selected[last.selected_features_] = True
    return is_selected
