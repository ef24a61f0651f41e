"""From the worst case over the training instances to a bound on the error for instances to come.

The bound of a fitted rule is proven by an affine function of Phi(x, y) that lies above the rule's loss on
every training instance, and whose mean over the uncertainty set is known. On other instances the loss may
be above that function; the excess is what the proof falls short of there. For every distribution P whose
moments lie within the radii

    error of the rule <= worst case + E_P[excess(x)].

* Randomized rule: the function is ``1 + phi - s_y(x)``. With ``d_x = sum_y (s_y(x) - phi)_+ > 1`` the rule is
  ``(s_y - phi)_+ / d_x``, and ``1 - h(y|x)`` exceeds the function by at most ``d_x - 1``. The excess is
  ``(d_x - 1)_+``.
* Arg-max rule: the function is ``a + Phi(x, y)' nu``, from the dual solution of the linear program of its
  worst case. The excess is ``max_y (1 - h(y|x) - a - Phi(x, y)' nu)_+``.

Neither needs labels. The mean excess is estimated on instances that the model has not seen: new ones, or
without any by cross-fitting, where models fitted on part of the data are applied to the rest. These
are models like the one at hand, on fewer samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from minimaxrisk import rule as rules
from minimaxrisk.arrays import DataMatrix, FloatArray
from minimaxrisk.assessment import (
    check_model,
    check_rule,
    linear_rule_of,
    rule_probabilities,
    training_data_of,
    worst_case_of_rule,
)
from minimaxrisk.linear_rule import LinearRule
from minimaxrisk.notices import quiet_fits
from minimaxrisk.validation import TrainingData, check_new_data

NEW_INSTANCES, CROSS_FITTING = "new instances", "cross-fitting"


@dataclass(frozen=True)
class Exceedance:
    """An estimate of the mean excess: how much error the bound's proof misses on new instances.

    Attributes
    ----------
    mean, standard_error : float
        The estimate and its standard error.
    upper : float
        Its upper confidence limit, by Student's law for the mean of ``n_instances`` values. That is
        approximate, and says nothing about rare excesses that are larger than any seen.
    confidence : float
        The level of ``upper``.
    n_instances, n_exceeding : int
        How many instances were looked at, and on how many of them there was an excess.
    source : str
        ``"new instances"`` or ``"cross-fitting"``.
    """

    mean: float
    standard_error: float
    upper: float
    confidence: float
    n_instances: int
    n_exceeding: int
    source: str


@dataclass(frozen=True)
class GuaranteedError:
    """A bound on the error of a rule on new instances, its parts, and what is claimed about it.

    Attributes
    ----------
    value : float
        ``worst_case_error + exceedance.upper``, at most 1.
    rule : str
        ``"randomized"`` (``predict_proba``) or ``"argmax"`` (``predict``).
    worst_case_error : float
        The rule's certified worst case over the uncertainty set.
    exceedance : Exceedance
        What instances unlike those of the training data add.
    confidence : float or None
        A lower bound on the probability that ``value`` bounds the error: what the radius rule and the limit
        of the exceedance leave together. None where the radii come with no probability.
    statement : str
        All of it in words.
    """

    value: float
    rule: str
    worst_case_error: float
    exceedance: Exceedance
    confidence: float | None
    statement: str

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return self.statement


def excess_of_randomized_rule(fitted: LinearRule, X: DataMatrix) -> FloatArray:
    """``(d_x - 1)_+`` for each row."""
    return np.maximum(rules.total_excess(fitted.scores(X), fitted.threshold) - 1.0, 0.0)


def excess_of_argmax_rule(fitted: LinearRule, affine: LinearRule, X: DataMatrix) -> FloatArray:
    """``max_y (1 - h(y|x) - a - Phi(x, y)' nu)_+`` for each row."""
    short = 1.0 - rule_probabilities(fitted, X, "argmax") - affine.threshold - affine.scores(X)
    return np.maximum(short.max(axis=0), 0.0)


def guaranteed_error(
    model: Any,
    X: Any = None,
    *,
    rule: str = "randomized",
    training_data: tuple[Any, ...] | None = None,
    confidence: float | None = None,
    n_folds: int = 10,
) -> GuaranteedError:
    """See ``MinimaxRiskClassifier.guaranteed_error``."""
    check_model(model)
    check_rule(rule)
    level = model.confidence if confidence is None else confidence
    if not 0.0 < level < 1.0:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {level!r}.")
    if training_data is None and (X is None or rule == "argmax"):
        what = "cross-fitting, which takes the place of new instances," if X is None else "rule='argmax'"
        raise ValueError(
            f"{what} needs the data that the model was fitted on, and a model does not keep them: pass "
            "training_data=(X, y), with whatever else was passed to fit after it."
        )
    if n_folds < 2:
        raise ValueError(f"n_folds must be at least 2, got {n_folds}.")
    data = None if training_data is None else training_data_of(model, *_checked_tuple(training_data))
    judged = _judge(model, data, rule)
    if X is not None:
        new = check_new_data(model, X)
        exceedance = _mean_excess(judged.excess(new), np.ones(new.shape[0]), level, NEW_INSTANCES)
    else:
        assert data is not None  # checked above
        exceedance = _by_cross_fitting(model, data, rule, level, n_folds)
    value = min(1.0, judged.worst_case_error + exceedance.upper)
    together = None if model.coverage_ is None else max(0.0, model.coverage_ + level - 1.0)
    statement = _in_words(
        model,
        rule,
        worst=judged.worst_case_error,
        exceedance=exceedance,
        value=value,
        together=together,
    )
    return GuaranteedError(value, rule, judged.worst_case_error, exceedance, together, statement)


def _checked_tuple(training_data: Any) -> tuple[Any, ...]:
    if not isinstance(training_data, tuple | list) or not 2 <= len(training_data) <= 4:
        raise ValueError(
            "training_data must be (X, y), (X, y, sample_weight) or (X, y, sample_weight, X_unlabeled), as "
            f"passed to fit, got {type(training_data).__name__}"
            + (f" of length {len(training_data)}." if isinstance(training_data, tuple | list) else ".")
        )
    return tuple(training_data)


@dataclass(frozen=True)
class _Judged:
    """A rule with its worst case, and the affine function that proves it if that is not the rule's own."""

    fitted: LinearRule
    worst_case_error: float
    affine: LinearRule | None = None

    def excess(self, X: DataMatrix) -> FloatArray:
        if self.affine is None:
            return excess_of_randomized_rule(self.fitted, X)
        return excess_of_argmax_rule(self.fitted, self.affine, X)


def _judge(model: Any, data: TrainingData | None, rule: str) -> _Judged:
    fitted = linear_rule_of(model)
    if rule == "randomized":
        return _Judged(fitted, float(model.worst_case_error_))
    assert data is not None
    worst = worst_case_of_rule(model, data, "argmax")
    return _Judged(fitted, worst.upper, worst.affine)


def _by_cross_fitting(
    model: Any, data: TrainingData, rule: str, confidence: float, n_folds: int
) -> Exceedance:
    """Models fitted on all folds but one, applied to that one."""
    rows = np.flatnonzero(data.weights > 0)
    X, labels, weights = data.X[rows], data.labels[rows], data.weights[rows]
    smallest = int(np.bincount(labels).min())
    if smallest < 2:
        rare = data.classes.tolist()[int(np.argmin(np.bincount(labels)))]
        raise ValueError(
            f"cross-fitting needs at least 2 samples of every class, got 1 of {rare!r}; pass new instances, "
            "which need no labels, as X."
        )
    folds = StratifiedKFold(min(n_folds, smallest), shuffle=True, random_state=0)
    excess = np.empty(len(rows))
    for train, test in folds.split(np.zeros(len(rows)), labels):
        # The weights hold the class weights already.
        part = clone(model).set_params(class_weight=None, callback=None, verbose=0)
        with quiet_fits():
            part.fit(X[train], labels[train], sample_weight=weights[train])
        part_data = training_data_of(part, X[train], labels[train], weights[train])
        excess[test] = _judge(part, part_data, rule).excess(X[test])
    return _mean_excess(excess, weights, confidence, CROSS_FITTING)


def _mean_excess(excess: FloatArray, weights: FloatArray, confidence: float, source: str) -> Exceedance:
    share = weights / weights.sum()
    mean = float(share @ excess)
    if len(excess) < 2:
        raise ValueError(
            f"X must hold at least 2 instances to estimate the exceedance on, got {len(excess)}."
        )
    # With equal weights the usual standard error of a mean.
    error = float(np.sqrt(np.sum((share * (excess - mean)) ** 2) * len(excess) / (len(excess) - 1)))
    limit = mean + float(stats.t.ppf(confidence, len(excess) - 1)) * error
    n_exceeding = int(np.count_nonzero(excess))
    return Exceedance(mean, error, max(0.0, limit), confidence, len(excess), n_exceeding, source)


def _in_words(
    model: Any, rule: str, *, worst: float, exceedance: Exceedance, value: float, together: float | None
) -> str:
    name = "randomized rule (predict_proba)" if rule == "randomized" else "arg-max rule (predict)"
    many = f"{exceedance.n_exceeding} of {exceedance.n_instances}"
    beyond = (
        f"{many} new instances lie beyond what the training instances prove"
        if exceedance.source == NEW_INSTANCES
        else f"in cross-fitting, on models like this one, {many} left-out instances lie beyond what the "
        "training instances prove"
    )
    parts = (
        f"{worst:.4f} in the worst case over all distributions whose means lie within the radii, and "
        f"{exceedance.upper:.4f} for instances unlike those of the training data ({beyond}; mean excess "
        f"{exceedance.mean:.4f}, limit at confidence {exceedance.confidence:g})"
    )
    if together is not None:
        return (
            f"With probability at least {together:.3g} the error of the {name} is at most {value:.4f}: "
            f"{parts}. The radii, {model.radius_:.2f} standard errors, hold the true means with probability "
            f"{model.coverage_:g} as far as the assumptions of their rule hold."
        )
    radius = "given as an array" if model.radius_ is None else f"a plain number, {model.radius_:g}"
    return (
        f"If the true means lie within the radii, the error of the {name} is at most {value:.4f}: {parts}. "
        f"No probability goes with the radius, {radius}; radius='bootstrap' or 'bonferroni' comes with one."
    )
