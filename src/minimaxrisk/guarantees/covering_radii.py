"""Bounds by radii: the worst case of a model's rules within radii, and what new instances add to it.

The worst case of a rule h is proven by an affine function of Phi(x, y) that lies above the rule's loss on
every training instance, and whose mean over the uncertainty set is known. On other instances the loss may
be above that function; the excess is what the proof falls short of there. For every distribution P whose
moments lie within the radii

    error of the rule <= worst case + E_P[excess(x)].

* Randomized rule: the function is ``1 + phi - s_y(x)``. With ``d_x = sum_y (s_y(x) - phi)_+ > 1`` the rule is
  ``(s_y - phi)_+ / d_x``, and ``1 - h(y|x)`` exceeds the function by at most ``d_x - 1``. The excess is
  ``(d_x - 1)_+``.
* Any fixed rule, such as that of ``predict``: the function is ``a + Phi(x, y)' nu``, from the dual solution
  of the linear program of its worst case,

      a + Phi(x, y)' nu >= 1 - h(y|x)  on the training instances,  a + tau' nu + lambda' |nu| = worst case.

  The excess is ``max_y (1 - h(y|x) - a - Phi(x, y)' nu)_+``. The set need not be the one that the rule was
  learned on.
* Known masses of instances (``marginal="empirical"``): the function has a constant of its own at every
  instance, phi_x or ``c(x) = max_y (1 - h(y|x) - Phi(x, y)' nu)``, and there is no excess. What the worst
  case knows is their mean over the training instances; the excess is the mean over new instances less that.

None of it needs labels. The mean excess is estimated on instances that the model has not seen: new ones, or
without any by cross-fitting, where models fitted on part of the data are applied to the rest. These are
models like this one, on fewer samples; so a bound by cross-fitting has no probability.

There are two kinds of such bounds. ``bound_by_own_radii`` takes the radii of the fit. ``bounds_by_new_radii``
sets radii at a level of its choice, for the same rules, with a free and with a known marginal: one event,
that the true means lie within the radii, serves all four. The limits of the expectations take a share each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk._utils.parallel import tell_progress
from minimaxrisk._utils.rounding import at_least, at_most
from minimaxrisk._utils.stored_tables import take_rows
from minimaxrisk.engines.dispatch import solve_minimax_risk
from minimaxrisk.engines.solution import EngineSettings, IterationRecord
from minimaxrisk.guarantees.counting import JudgedSample
from minimaxrisk.guarantees.posed_fit import PosedFit, check_rule, pose_with, rule_probabilities
from minimaxrisk.guarantees.statement import RADII, RULE_NAMES, ErrorBound, Exceedance
from minimaxrisk.guarantees.verification import check_same_data
from minimaxrisk.guarantees.worst_case import WorstCaseOfRule, worst_case_of_rule
from minimaxrisk.problem import rule as rules
from minimaxrisk.problem.pose import PosedBox
from minimaxrisk.problem.rule import LinearRule
from minimaxrisk.samples.validation import TrainingData, labels_of_units
from minimaxrisk.uncertainty import NAMED_RULES
from minimaxrisk.uncertainty.radius import split_level
from minimaxrisk.uncertainty.rules import Multiple, MultiplierBootstrap

NEW_INSTANCES, CROSS_FITTING = "new instances", "cross-fitting"
ROUNDING = 1e-9
# Which rule is judged, and whether the instances are known.
JUDGED = tuple((rule, is_known) for is_known in (False, True) for rule in ("randomized", "predict"))


def bound_by_own_radii(
    model: Any, fit: PosedFit | None, rule: str, *, new: DataMatrix | None, limit: float, n_folds: int | None
) -> ErrorBound:
    """The worst case of one rule over the model's own set, and a limit for new instances at level ``limit``.

    Without ``new`` cross-fitting takes its place.
    """
    check_rule(rule)
    if fit is None and (new is None or rule == "predict"):
        what = "without X_new" if new is None else "rule='predict'"
        raise ValueError(
            f"method='radii' needs the data that the model was fitted on {what}: pass X and y, and what else "
            "fit was given; rule='randomized' with X_new does without."
        )
    if new is None and n_folds is None:
        raise ValueError("method='radii' needs X_new, or folds of cross-fitting in its place: set n_folds.")
    if fit is not None:
        check_same_data(fit)

    judged = _judged_by_own_set(model, rule, fit)
    if new is not None:
        exceedance = _on_new_instances(judged, new, limit)
    else:
        assert fit is not None
        assert n_folds is not None
        (exceedance,) = _by_cross_fitting(
            model,
            fit.data,
            fit.data,
            lambda part, _: [_judged_by_own_set(part.model, rule, part)],
            limit=limit,
            n_folds=n_folds,
        )
    confidence = 0.0
    if model.coverage_ is None:
        names = " and ".join(f"radius={name!r}" for name in NAMED_RULES)
        reason = f"the radius was chosen without one; {names} have one"
        assumption = "The limit for new instances is approximate."
    else:
        # What the radii and the limit leave together.
        confidence = max(0.0, round(model.coverage_ + limit - 1.0, 12))
        reason = _why_no_probability(tuple(model.coverage_remarks_), exceedance)
        assumption = (
            f"The radii hold the true means with probability {model.coverage_:g} if the assumptions of their "
            "rule hold, and the limit for new instances is approximate."
        )
    return _bound(
        model,
        judged,
        exceedance,
        within=_own_radii(model),
        is_known=model._parameters_of_set().marginal == "empirical",
        reason=reason,
        assumption=assumption,
        confidence=confidence,
        n_train=None if fit is None else int((fit.data.weights > 0).sum()),
    )


def bounds_by_new_radii(
    fit: PosedFit,
    sample: JudgedSample,
    *,
    new: DataMatrix | None,
    delta: float,
    excess_delta: float,
    confidence: float,
    n_folds: int | None,
    smallest_so_far: float | None,
) -> list[ErrorBound]:
    """Of both rules of the model, over distributions that may move instances and over those that may not.

    The data of ``fit`` have class weights, the sample has not. The radii fail with probability ``delta``,
    one of the limits for new instances with ``excess_delta``; ``confidence`` is what the bounds, and others
    beside them, have together.
    """
    model, plain, parameters = fit.model, sample.data, fit.model._parameters_of_set()
    level, limit = 1.0 - delta, 1.0 - excess_delta / len(JUDGED)
    posed = fit._with_radii(plain, MultiplierBootstrap(level, parameters.n_bootstrap, model.radius_seed_))
    if new is None and smallest_so_far is not None:
        _refuse_hopeless(posed, plain, smallest_so_far)
    judged = _judged_by_set(model, plain, posed)
    assert posed.radii.factors is not None
    if new is not None:
        exceedances = [_on_new_instances(one, new, limit) for one in judged]
    else:
        assert n_folds is not None
        # Parts of the data get radii of as many standard errors.
        _, intercept_level = split_level(level, has_intercept=parameters.fit_intercept)
        again = Multiple(posed.radii.factors, intercept_level=intercept_level)

        def judge(part: PosedFit, rows: IntArray) -> list[JudgedRule]:
            # Models on parts have positions for classes.
            own = replace(plain.part(rows), classes=np.arange(len(plain.classes)))
            return _judged_by_set(part.model, own, pose_with(part.model, own, again))

        exceedances = _by_cross_fitting(model, fit.data, plain, judge, limit=limit, n_folds=n_folds)
    weighted = "" if sample.are_alike else " The error is that of the samples as they are weighted."
    return [
        _bound(
            model,
            one,
            exceedance,
            within=posed.radii.in_words,
            is_known=is_known,
            reason=_why_no_probability(posed.radii.remarks, exceedance),
            assumption=(
                f"That takes the {sample.units} for independent, and the radii and the limit for new "
                f"instances are approximations.{weighted}"
            ),
            confidence=confidence,
            n_train=len(sample.rows),
        )
        for one, exceedance, (_, is_known) in zip(judged, exceedances, JUDGED, strict=True)
    ]


def _bound(
    model: Any,
    judged: JudgedRule,
    exceedance: Exceedance,
    *,
    within: str,
    is_known: bool,
    reason: str,
    assumption: str,
    confidence: float,
    n_train: int | None,
) -> ErrorBound:
    of_labels = " if labels alone may change" if is_known else ""
    seen = "new ones" if exceedance.source == NEW_INSTANCES else "left out in cross-fitting"
    return ErrorBound(
        value=float(np.clip(judged.worst_case_error + exceedance.upper, 0.0, 1.0)),
        method=RADII,
        rule=judged.rule,
        confidence=None if reason else confidence,
        n_train=n_train,
        n_classes=len(model.classes_),
        subject=f"{RULE_NAMES[judged.rule]} of this model",
        evidence=(
            f"{at_most(judged.worst_case_error)} in the worst case within {within}{of_labels}, and "
            f"{at_most(exceedance.upper)} for new instances, judged by {exceedance.n_instances} {seen}"
        ),
        assumption=assumption,
        reason=reason,
        marginal="empirical" if is_known else "free",
        worst_case_error=judged.worst_case_error,
        exceedance=exceedance,
        model=model,
    )


def _own_radii(model: Any) -> str:
    if model.radius_ is None:
        return "the given radii"
    # A named rule has a factor for each class, of which the largest is kept.
    if model.lambda_.shape[0] > 1 and model.coverage_ is not None:
        return f"radii of at most {at_most(model.radius_, '.2f')} standard errors"
    return f"radii of {model.radius_:.2f} standard errors"


def _why_no_probability(remarks: tuple[str, ...], exceedance: Exceedance) -> str:
    if remarks:
        return f"the sample breaks what the radii assume: {'; '.join(remarks)}"
    if exceedance.source == CROSS_FITTING:
        return (
            "cross-fitting assumes that models fitted on parts of the data behave like this one; new "
            "instances, which need no labels, would give this bound a probability"
        )
    if exceedance.n_exceeding:
        return ""
    rare = 1.0 - (1.0 - exceedance.confidence) ** (1.0 / exceedance.n_instances)
    return (
        f"the proof covers all of the {exceedance.n_instances} new instances, so at most "
        f"{at_most(rare, '.2%')} of all are not covered (confidence {at_least(exceedance.confidence, 'g')}), "
        "but how much error these could add is unknown; pass more new instances, and none that the model "
        "was fitted on"
    )


def excess_of_randomized_rule(fitted: LinearRule, X: DataMatrix) -> FloatArray:
    """``(d_x - 1)_+`` for each row; nothing where every instance has its own threshold."""
    if fitted.threshold is None:
        return np.zeros(X.shape[0])
    return _positive_part(rules.total_excess(fitted.scores(X), fitted.threshold) - 1.0)


def excess_of_rule(fitted: LinearRule, rule: str, affine: LinearRule, X: DataMatrix) -> FloatArray:
    """``max_y (1 - h(y|x) - a - Phi(x, y)' nu)_+`` for each row."""
    assert affine.threshold is not None
    return _positive_part(_smallest_constants(fitted, rule, affine, X) - affine.threshold)


def _smallest_constants(fitted: LinearRule, rule: str, affine: LinearRule, X: DataMatrix) -> FloatArray:
    """``max_y (1 - h(y|x) - Phi(x, y)' nu)``: the smallest constant that proves the loss at each row."""
    return np.max(1.0 - rule_probabilities(fitted, X, rule) - affine.scores(X), axis=0)


def _positive_part(excess: FloatArray) -> FloatArray:
    """Zero also where there is nothing but rounding, as on the training instances."""
    return np.where(excess > ROUNDING, excess, 0.0)


@dataclass(frozen=True)
class JudgedRule:
    """A rule with its worst case, and the affine function that proves it if that is not the rule's own."""

    fitted: LinearRule
    rule: str
    worst_case_error: float
    affine: LinearRule | None = None
    # Where every instance has a constant of its own: the mean of those that the worst case knows, less a
    # number that hardly any constant is below.
    known: float | None = None
    smallest: float = 0.0

    def excess(self, X: DataMatrix) -> FloatArray:
        """Non-negative numbers by whose mean, less ``known``, the bound grows."""
        if self.known is None:
            if self.affine is None:
                return excess_of_randomized_rule(self.fitted, X)
            return excess_of_rule(self.fitted, self.rule, self.affine, X)
        if self.affine is None:
            constants = rules.instance_thresholds(self.fitted.scores(X))
        else:
            constants = _smallest_constants(self.fitted, self.rule, self.affine, X)
        # A constant that is too large proves the loss as well.
        return _positive_part(constants - self.smallest)


def _judged_by_own_set(model: Any, rule: str, fit: PosedFit | None) -> JudgedRule:
    """Over the model's own uncertainty set; R* proves the randomized rule, so that it needs no data."""
    if rule == "randomized":
        fitted, smallest = model._fitted_rule(), -1.0 / len(model.classes_)
        known = model.threshold_ - smallest if fitted.threshold is None else None
        return JudgedRule(fitted, rule, float(model.worst_case_error_), known=known, smallest=smallest)
    assert fit is not None
    worst = worst_case_of_rule(model, fit.data, rule, fit.posed_by_stored_radius)
    return judged_by_program(model, worst, rule)


def _judged_by_set(model: Any, plain: TrainingData, posed: PosedBox) -> list[JudgedRule]:
    """In the order of ``JUDGED``."""
    sets = {False: posed, True: posed.with_known_marginal()}
    return [
        judged_by_program(model, worst_case_of_rule(model, plain, rule, sets[is_known]), rule)
        for rule, is_known in JUDGED
    ]


def judged_by_program(model: Any, worst: WorstCaseOfRule, rule: str) -> JudgedRule:
    """By the linear program of the rule's worst case over any set.

    Where the scores s of the classes add up to zero, ``max_y (1 - h(y|x) - s_y)`` is no smaller than its mean
    over the classes, ``1 - 1/K``. Elsewhere it can be, as on the training instances.
    """
    smallest = min(1.0 - 1.0 / len(model.classes_), worst.smallest)
    known = worst.constant - smallest if worst.affine.threshold is None else None
    return JudgedRule(model._fitted_rule(), rule, worst.upper, worst.affine, known=known, smallest=smallest)


def _by_cross_fitting(
    model: Any,
    data: TrainingData,
    counted: TrainingData,
    judge: Callable[[PosedFit, IntArray], list[JudgedRule]],
    *,
    limit: float,
    n_folds: int,
) -> list[Exceedance]:
    """For each rule that ``judge`` gives: the excess of models fitted on all folds but one, on that one.

    The means are those of ``counted``, which may have other weights than the ``data`` of the fits.
    """
    excess: list[FloatArray] = []
    known: list[list[float | None]] = []
    for part, rows, left_out in _cross_fitted(model, data, n_folds):
        judged = judge(part, rows)
        excess = excess or [np.zeros(len(data.weights)) for _ in judged]
        for one, of_rule in zip(judged, excess, strict=True):
            of_rule[left_out] = one.excess(take_rows(data.X, left_out))
        known.append([one.known for one in judged])
    return [
        mean_excess(
            *_by_unit(counted, of_rule),
            limit,
            CROSS_FITTING,
            # Known for all parts or for none.
            known=None if constants[0] is None else float(np.mean(constants)),
        )
        for of_rule, constants in zip(excess, zip(*known, strict=True), strict=True)
    ]


def _on_new_instances(judged: JudgedRule, new: DataMatrix, limit: float) -> Exceedance:
    return mean_excess(judged.excess(new), np.ones(new.shape[0]), limit, NEW_INSTANCES, known=judged.known)


def _by_unit(data: TrainingData, excess: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Excess and weight of independent samples: of rows, or the mean and the sum over those of a group."""
    used = np.flatnonzero(data.weights > 0)
    excess, weights = excess[used], data.weights[used]
    if data.groups is None:
        return excess, weights
    of_group = np.bincount(data.groups[used], weights).astype(np.float64)
    return np.bincount(data.groups[used], weights * excess) / of_group, of_group


def _cross_fitted(
    model: Any, data: TrainingData, n_folds: int
) -> Iterator[tuple[PosedFit, IntArray, IntArray]]:
    """Models fitted on all folds but one, with their data; their rows, and the rows left out.

    Their classes are positions in those of the data.
    """
    used = np.flatnonzero(data.weights > 0)
    labels = data.labels[used]
    # The models on parts see the instances without labels too, as the model itself did.
    unlabeled = data.X[data.X.shape[0] - data.n_unlabeled :] if data.n_unlabeled else None
    # Whole groups go into a fold.
    unit = np.arange(len(used)) if data.groups is None else data.groups[used]
    label_of_unit = labels_of_units(unit, labels, len(data.classes))
    smallest = int(np.bincount(label_of_unit).min())
    if smallest < 2:
        rare = data.classes.tolist()[int(np.argmin(np.bincount(label_of_unit)))]
        raise ValueError(
            f"cross-fitting needs at least 2 {'samples' if data.groups is None else 'groups'} of every "
            f"class, got 1 of {rare!r}; pass new instances, which need no labels, instead."
        )
    folds = StratifiedKFold(min(n_folds, smallest), shuffle=True, random_state=0)
    for i, (learned, left_out) in enumerate(folds.split(np.zeros(len(label_of_unit)), label_of_unit)):
        rows, test = (used[np.isin(unit, units)] for units in (learned, left_out))
        # The weights hold the class weights already.
        part = clone(model._parameters_of_set()).set_params(
            class_weight=None,
            weight_kind="counts" if data.counts is None else "importance",
            verbose=0,
        )
        seen = {
            "X": take_rows(data.X, rows),
            "y": data.labels[rows],
            "sample_weight": data.weights[rows],
            "X_unlabeled": unlabeled,
            "groups": None if data.groups is None else data.groups[rows],
        }
        with quiet_fits():
            part.fit(**seen)
        yield PosedFit(part, **seen), rows, test
        tell_progress(i + 1, folds.get_n_splits())


def mean_excess(
    excess: FloatArray, weights: FloatArray, confidence: float, source: str, *, known: float | None = None
) -> Exceedance:
    """Their mean and its limit, less what is ``known`` already."""
    share = weights / weights.sum()
    mean = float(share @ excess)
    # With equal weights the usual standard error of a mean.
    error = float(np.sqrt(np.sum((share * (excess - mean)) ** 2) * len(excess) / (len(excess) - 1)))
    n_exceeding = int(np.count_nonzero(excess))
    upper = mean * _gamma_limit(share * excess, confidence) if n_exceeding else 0.0
    if known is not None:
        # Few of the terms are zero, so that their own variance tells more than that of rare events.
        upper = _limit_of_common_terms(mean, error, len(excess), confidence) - known if n_exceeding else 0.0
        mean -= known
    return Exceedance(mean, error, upper, confidence, len(excess), n_exceeding, source)


def _gamma_limit(terms: FloatArray, confidence: float) -> float:
    """The upper limit of a mean over the mean, for a sum of non-negative terms of which most are zero.

    The number of terms that are not zero is nearly Poisson's, so that the sum's variance is the sum of
    squares. A Gamma law of that mean and variance has the shape ``(sum)^2 / sum of squares``.
    """
    shape = float(terms.sum() ** 2 / np.sum(terms**2))
    return shape / float(stats.gamma.ppf(1.0 - confidence, shape))


def _limit_of_common_terms(mean: float, error: float, n: int, confidence: float) -> float:
    """The upper limit of a mean of non-negative terms, skewed to the right: that of a Gamma law.

    For many terms it is Student's, to which the standard error is widened.
    """
    widened = error
    if confidence > 0.5:
        widened *= float(stats.t.ppf(confidence, n - 1) / stats.norm.ppf(confidence))
    if widened == 0.0:
        return mean
    shape = (mean / widened) ** 2
    return mean * shape / float(stats.gamma.ppf(1.0 - confidence, shape))


def _refuse_hopeless(posed: PosedBox, plain: TrainingData, smallest_so_far: float) -> None:
    """Raise where no bound by radii could be below the others, or below the error of a constant rule.

    The minimax risk over the smaller one of the two sets, with known masses, is a lower bound on all worst
    cases, and new instances only add to them. That takes one fit instead of dozens of linear programs.
    """
    sizes = np.bincount(plain.labels, plain.weights, minlength=len(plain.classes))
    nothing_learned = 1.0 - float(sizes.max() / sizes.sum())
    bar = min(smallest_so_far, nothing_learned)

    def is_settled(record: IterationRecord) -> bool:
        return record["lower"] >= bar or record["upper"] < bar

    found = solve_minimax_risk(posed.with_known_marginal().problem, EngineSettings("auto"), is_settled)
    if found.lower >= bar:
        than = f"a bound of {at_most(bar)} is known already"
        if bar == nothing_learned:
            than = f"always naming the most common class is wrong for {bar:.4f} of the samples"
        raise ValueError(
            f"within {posed.radii.in_words}, which cover, the worst case of every "
            f"rule is {at_least(found.lower)} or more, and new instances would add to it; {than}."
        )
