"""From the worst case over the training instances to a bound on the error for instances to come.

The bound of a fitted rule is proven by an affine function of Phi(x, y) that lies above the rule's loss on
every training instance, and whose mean over the uncertainty set is known. On other instances the loss may
be above that function; the excess is what the proof falls short of there. For every distribution P whose
moments lie within the radii

    error of the rule <= worst case + E_P[excess(x)].

* Randomized rule: the function is ``1 + phi - s_y(x)``. With ``d_x = sum_y (s_y(x) - phi)_+ > 1`` the rule is
  ``(s_y - phi)_+ / d_x``, and ``1 - h(y|x)`` exceeds the function by at most ``d_x - 1``. The excess is
  ``(d_x - 1)_+``.
* Any fixed rule, such as the arg-max rule: the function is ``a + Phi(x, y)' nu``, from the dual solution of
  the linear program of its worst case. The excess is ``max_y (1 - h(y|x) - a - Phi(x, y)' nu)_+``. The set
  need not be the one that the rule was learned on.

* Known masses of instances (``marginal="empirical"``): the function has a constant of its own at every
  instance, phi_x or ``max_y (1 - h(y|x) - Phi(x, y)' nu)``, and there is no excess. What the worst case knows
  is their mean over the training instances; the excess is the mean over instances to come less that one.

None of it needs labels. The mean excess is estimated on instances that the model has not seen: new ones, or
without any by cross-fitting, where models fitted on part of the data are applied to the rest. These
are models like the one at hand, on fewer samples.

Worst cases of a model's own rules over radii that cover, and what instances to come add to them.

A fixed rule h need not have been learned on the set that judges it. Its worst case over the set
with radii that cover is a linear program, with the dual solution (a, nu),

    a + Phi(x, y)' nu >= 1 - h(y|x)  on the training instances,   a + tau' nu + lambda' |nu| = worst case,

so that for every distribution P with moments within lambda of tau, whatever its instances,

    error of h <= worst case + E_P max_y (1 - h(y|x) - a - Phi(x, y)' nu)_+.

Where the masses of the instances are known, a is the mean over the training instances of the constants
``c(x) = max_y (1 - h(y|x) - Phi(x, y)' nu)``, and the error is at most ``worst case + E_P c(x) - a``. One
event, that the true means lie within the radii, serves both rules and both marginals. The limits of the
expectations take a share for each statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from minimaxrisk._utils.arguments import check_confidence, check_n_folds
from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk._utils.containers import take_rows
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk._utils.parallel import tell_progress
from minimaxrisk.engines.dispatch import solve_minimax_risk
from minimaxrisk.engines.solution import EngineSettings, IterationRecord
from minimaxrisk.guarantees.counting import JudgedSample
from minimaxrisk.guarantees.statement import RADII, RULE_NAMES, ErrorStatement
from minimaxrisk.guarantees.verification import (
    check_model,
    check_rule,
    linear_rule_of,
    pose_with,
    rule_probabilities,
    training_data_of,
    verify,
)
from minimaxrisk.guarantees.worst_case import WorstCaseOfRule, worst_case_of_rule
from minimaxrisk.problem import rule as rules
from minimaxrisk.problem.pose import PosedProblem
from minimaxrisk.problem.rule import LinearRule
from minimaxrisk.samples.validation import TrainingData, check_new_data
from minimaxrisk.uncertainty import NAMED_RULES
from minimaxrisk.uncertainty.radius import Radii, split_level
from minimaxrisk.uncertainty.rules import Multiple, MultiplierBootstrap

NEW_INSTANCES, CROSS_FITTING = "new instances", "cross-fitting"
ARGUMENTS_OF_FIT = ("X", "y", "sample_weight", "X_unlabeled", "groups")
ROUNDING = 1e-9


@dataclass(frozen=True)
class Exceedance:
    """An estimate of the mean excess: how much error the bound's proof misses on new instances.

    Attributes
    ----------
    mean, standard_error : float
        The estimate and its standard error.
    upper : float
        Its upper confidence limit. A sum of few positive numbers among many zeros is skewed; a Gamma law
        with the mean and variance estimated for it stands in for its own. That is approximate, and says
        nothing about rare excesses that are larger than any seen. Zero where there was no excess at all.
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

    ``MinimaxRiskClassifier.guaranteed_error`` makes it. ``float(...)`` of it is the bound; printed, it is the
    statement.

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
        of the exceedance leave together (0.9 if both are 0.95). None where the radii come with no probability
        or the sample breaks what they assume, and where no excess was seen, which says how rare it is but not
        how large it can be.
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
    """``(d_x - 1)_+`` for each row; nothing where every instance has its own threshold."""
    if fitted.threshold is None:
        return np.zeros(X.shape[0])
    return _positive_part(rules.total_excess(fitted.scores(X), fitted.threshold) - 1.0)


def excess_of_rule(fitted: LinearRule, rule: str, affine: LinearRule, X: DataMatrix) -> FloatArray:
    """``max_y (1 - h(y|x) - a - Phi(x, y)' nu)_+`` for each row."""
    assert affine.threshold is not None
    return _positive_part(constants_of_rule(fitted, rule, affine, X) - affine.threshold)


def constants_of_rule(fitted: LinearRule, rule: str, affine: LinearRule, X: DataMatrix) -> FloatArray:
    """``max_y (1 - h(y|x) - Phi(x, y)' nu)``: the smallest constant that proves the loss at each row."""
    short = 1.0 - rule_probabilities(fitted, X, rule) - affine.scores(X)
    largest: FloatArray = short.max(axis=0)
    return largest


def _positive_part(excess: FloatArray) -> FloatArray:
    """Zero also where there is nothing but rounding, as on the training instances."""
    return np.where(excess > ROUNDING, excess, 0.0)


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
    check_confidence(level)
    if training_data is None and (X is None or rule == "argmax"):
        what = "cross-fitting, which takes the place of new instances," if X is None else "rule='argmax'"
        raise ValueError(
            f"{what} needs the data that the model was fitted on, which a model does not keep: pass "
            "training_data=(X, y), followed by sample_weight, X_unlabeled and groups if fit was given them."
        )
    check_n_folds(n_folds)
    data = None
    if training_data is not None:
        given = _by_name(training_data)
        data = training_data_of(model, **given)
        _check_same_data(model, given)
    judged = _judge(model, data, rule)
    if X is not None:
        new = check_new_data(model, X)
        exceedance = mean_excess(
            judged.excess(new), np.ones(new.shape[0]), level, NEW_INSTANCES, known=judged.known
        )
    else:
        assert data is not None  # checked above
        exceedance = _by_cross_fitting(model, data, rule, level, n_folds)
    value = min(1.0, judged.worst_case_error + exceedance.upper)
    together = None
    if model.coverage_ is not None and exceedance.n_exceeding and not model.coverage_remarks_:
        together = max(0.0, round(model.coverage_ + level - 1.0, 12))
    statement = _in_words(
        model,
        rule,
        worst=judged.worst_case_error,
        exceedance=exceedance,
        value=value,
        together=together,
    )
    return GuaranteedError(value, rule, judged.worst_case_error, exceedance, together, statement)


def _by_name(training_data: Any) -> dict[str, Any]:
    """The arguments of fit that the tuple holds."""
    if not isinstance(training_data, tuple | list) or not 2 <= len(training_data) <= len(ARGUMENTS_OF_FIT):
        raise ValueError(
            "training_data must be (X, y), followed by sample_weight, X_unlabeled and groups as far as they "
            f"were passed to fit, got {type(training_data).__name__}"
            + (f" of length {len(training_data)}." if isinstance(training_data, tuple | list) else ".")
        )
    return dict(zip(ARGUMENTS_OF_FIT, training_data, strict=False))


def _check_same_data(model: Any, training_data: dict[str, Any]) -> None:
    certificate = verify(model, **training_data)
    if not certificate.valid:
        raise ValueError(
            "training_data must be the data that the model was fitted on, in the same order of rows; checked "
            f"against them, {certificate.problems[0]}."
        )


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
        if self.known is not None:
            # A constant that is too large proves the loss as well.
            return _positive_part(self._constants(X) - self.smallest)
        if self.affine is None:
            return excess_of_randomized_rule(self.fitted, X)
        return excess_of_rule(self.fitted, self.rule, self.affine, X)

    def _constants(self, X: DataMatrix) -> FloatArray:
        if self.affine is None:
            return rules.instance_thresholds(self.fitted.scores(X))
        return constants_of_rule(self.fitted, self.rule, self.affine, X)


def _judge(model: Any, data: TrainingData | None, rule: str) -> JudgedRule:
    """By the model's own uncertainty set."""
    if rule == "randomized":
        fitted, smallest = linear_rule_of(model), -1.0 / len(model.classes_)
        known = model.threshold_ - smallest if fitted.threshold is None else None
        return JudgedRule(fitted, rule, float(model.worst_case_error_), known=known, smallest=smallest)
    assert data is not None
    return judged_by_program(model, worst_case_of_rule(model, data, rule), rule)


def judged_by_program(model: Any, worst: WorstCaseOfRule, rule: str) -> JudgedRule:
    """By the linear program of the rule's worst case over any set.

    Where the scores s of the classes add up to zero, ``max_y (1 - h(y|x) - s_y)`` is no smaller than its mean
    over the classes, ``1 - 1/K``. Elsewhere it can be, as on the training instances.
    """
    smallest = min(1.0 - 1.0 / len(model.classes_), worst.smallest)
    known = worst.constant - smallest if worst.affine.threshold is None else None
    return JudgedRule(linear_rule_of(model), rule, worst.upper, worst.affine, known=known, smallest=smallest)


def _by_cross_fitting(
    model: Any, data: TrainingData, rule: str, confidence: float, n_folds: int
) -> Exceedance:
    """Models fitted on all folds but one, applied to that one."""
    excess = np.zeros(len(data.weights))
    known: list[float] = []
    for part in cross_fitted(model, data, n_folds):
        judged = _judge(part.model, part.data, rule)
        excess[part.left_out] = judged.excess(take_rows(data.X, part.left_out))
        if judged.known is not None:
            known.append(judged.known)
    return mean_excess(
        *by_unit(data, excess), confidence, CROSS_FITTING, known=float(np.mean(known)) if known else None
    )


def by_unit(data: TrainingData, excess: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Excess and weight of independent samples: of rows, or the mean and the sum over those of a group."""
    used = np.flatnonzero(data.weights > 0)
    excess, weights = excess[used], data.weights[used]
    if data.groups is None:
        return excess, weights
    of_group = np.bincount(data.groups[used], weights).astype(np.float64)
    return np.bincount(data.groups[used], weights * excess) / of_group, of_group


@dataclass(frozen=True)
class Part:
    """A model like another one, of part of its data; ``rows`` and ``left_out`` are rows of the whole."""

    model: Any
    data: TrainingData
    rows: IntArray
    left_out: IntArray


def cross_fitted(model: Any, data: TrainingData, n_folds: int) -> Iterator[Part]:
    """Models like ``model`` on all folds but one; their classes are positions in those of the data."""
    used = np.flatnonzero(data.weights > 0)
    labels = data.labels[used]
    # The models on parts see the instances without labels too, as the model itself did.
    unlabeled = data.X[data.X.shape[0] - data.n_unlabeled :] if data.n_unlabeled else None
    # Whole groups go into a fold; all samples of one have the same label.
    unit = np.arange(len(used)) if data.groups is None else data.groups[used]
    label_of_unit = labels[np.unique(unit, return_index=True)[1]]
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
        part = clone(model).set_params(
            class_weight=None,
            weight_kind="counts" if data.counts is None else "importance",
            callback=None,
            verbose=0,
        )
        more: dict[str, Any] = {"sample_weight": data.weights[rows], "X_unlabeled": unlabeled}
        more["groups"] = None if data.groups is None else data.groups[rows]
        with quiet_fits():
            part.fit(take_rows(data.X, rows), data.labels[rows], **more)
        seen = training_data_of(part, take_rows(data.X, rows), data.labels[rows], **more)
        yield Part(part, seen, rows, test)
        tell_progress(i + 1, folds.get_n_splits())


def mean_excess(
    excess: FloatArray, weights: FloatArray, confidence: float, source: str, *, known: float | None = None
) -> Exceedance:
    """Their mean and its limit, less what is ``known`` already."""
    share = weights / weights.sum()
    mean = float(share @ excess)
    if len(excess) < 2:
        raise ValueError(
            f"X must hold at least 2 instances, so that the exceedance can be estimated; got {len(excess)}."
        )
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


def _in_words(
    model: Any, rule: str, *, worst: float, exceedance: Exceedance, value: float, together: float | None
) -> str:
    name = "randomized rule (predict_proba)" if rule == "randomized" else "arg-max rule (predict)"
    proviso = ""
    if exceedance.source == CROSS_FITTING:
        proviso = ", provided that models fitted on parts of the data behave like this one"
    parts = (
        f"{worst:.4f} in the worst case over all distributions whose means lie within the radii, and "
        f"{exceedance.upper:.4f} for {_what_is_added(model, exceedance)} (mean excess "
        f"{exceedance.mean:.4f}, limit at confidence {exceedance.confidence:g})"
    )
    n_classes = len(model.classes_)
    if value >= 1.0 - 1.0 / n_classes:
        parts += f". A bound this large says nothing: guessing one of {n_classes} classes does as well"
    if together is not None:
        return (
            f"With probability at least {together:.3g}{proviso}, the error of the {name} is at most "
            f"{value:.4f}: {parts}. The radii, {model.radius_:.2f} standard errors, hold the true means with "
            f"probability {model.coverage_:g} if the assumptions of their rule hold."
        )
    return (
        f"If the true means lie within the radii{proviso}, the error of the {name} is at most {value:.4f}: "
        f"{parts}. {_why_no_probability(model, exceedance)}"
    )


def _what_is_added(model: Any, exceedance: Exceedance) -> str:
    """Instances that the proof does not cover, or those whose thresholds are others than in training."""
    n, is_new = exceedance.n_instances, exceedance.source == NEW_INSTANCES
    kind = "new instances" if is_new else "instances left out in cross-fitting"
    if model.marginal == "empirical":
        return f"thresholds that are larger on instances to come than in training, as on {n} {kind}"
    seen = f"{exceedance.n_exceeding} of {n} {kind}"
    return f"instances unlike those of the training data; the proof does not cover {seen}"


def _why_no_probability(model: Any, exceedance: Exceedance) -> str:
    if model.coverage_ is None:
        radius = "given as an array" if model.radius_ is None else f"a plain number, {model.radius_:g}"
        rules_with_one = " and ".join(f"radius={name!r}" for name in NAMED_RULES)
        return f"The radius, {radius}, has no stated coverage; {rules_with_one} have one."
    if model.coverage_remarks_:
        return f"No probability can be stated: {'; '.join(model.coverage_remarks_)}."
    rare = 1.0 - (1.0 - exceedance.confidence) ** (1.0 / exceedance.n_instances)
    return (
        f"The radii hold the true means with probability {model.coverage_:g} if the assumptions of their "
        f"rule hold. The proof covers all instances that were looked at, so at most {rare:.2%} of all are "
        f"not covered (confidence {exceedance.confidence:g}). How much error they could add is unknown, so "
        "no probability can be stated for the whole. Pass more new instances; instances that the model was "
        "fitted on do not help."
    )


# Which rule is judged, and whether the instances are known.
JUDGED = tuple((rule, is_known) for is_known in (False, True) for rule in ("randomized", "argmax"))


def statements_by_radii(
    model: Any,
    data: TrainingData,
    sample: JudgedSample,
    *,
    new: DataMatrix | None,
    delta: float,
    excess_delta: float,
    n_folds: int | None,
    smallest_so_far: float | None,
) -> list[ErrorStatement]:
    """Of both rules of the model, over distributions that may move instances and over those that may not.

    ``data`` have the class weights of the fit, the sample has not. The radii fail with probability ``delta``,
    one of the limits for instances to come with ``excess_delta``.
    """
    plain = sample.data
    level, limit = 1.0 - delta, 1.0 - excess_delta / len(JUDGED)
    posed = pose_with(model, plain, MultiplierBootstrap(level, model.n_bootstrap, model.radius_seed_))
    if new is None and smallest_so_far is not None:
        _refuse_hopeless(posed, plain, smallest_so_far)
    judged = _judge_all(model, plain, posed)
    if new is None:
        assert n_folds is not None
        again = _same_factor(model, posed.radii, level)
        exceedances = _all_by_cross_fitting(model, data, plain, again, limit=limit, n_folds=n_folds)
    else:
        exceedances = [
            mean_excess(one.excess(new), np.ones(new.shape[0]), limit, NEW_INSTANCES, known=one.known)
            for one in judged
        ]
    return [
        _statement_by_radii(
            model,
            sample,
            one,
            exceedance,
            radii=posed.radii,
            is_known=is_known,
            confidence=1.0 - delta - excess_delta / len(JUDGED),
        )
        for one, exceedance, (_, is_known) in zip(judged, exceedances, JUDGED, strict=True)
    ]


def _refuse_hopeless(posed: PosedProblem, plain: TrainingData, smallest_so_far: float) -> None:
    """Where no rule at all could be shown to do better than others were, or than one that learned nothing.

    The minimax risk over the smaller one of the two sets, with known masses, is a lower bound on all worst
    cases, and instances to come only add to them. To find it out takes one fit, to do without it dozens of
    linear programs.
    """
    sizes = np.bincount(plain.labels, plain.weights, minlength=len(plain.classes))
    nothing_learned = 1.0 - float(sizes.max() / sizes.sum())
    bar = min(smallest_so_far, nothing_learned)

    def is_settled(record: IterationRecord) -> bool:
        return record["lower"] >= bar or record["upper"] < bar

    found = solve_minimax_risk(posed.with_known_marginal().problem, EngineSettings("auto"), is_settled)
    if found.lower >= bar:
        than = (
            f"always naming the most common class is wrong for {bar:.4f} of the samples"
            if bar == nothing_learned
            else f"a bound of {bar:.4f} is known already"
        )
        raise ValueError(
            f"within radii of {posed.radii.factor:.2f} standard errors, which cover, the worst case of every "
            f"rule is {found.lower:.4f} or more, and instances to come would add to it; {than}."
        )


def _judge_all(model: Any, plain: TrainingData, posed: PosedProblem) -> list[JudgedRule]:
    """In the order of ``JUDGED``."""
    sets = {False: posed, True: posed.with_known_marginal()}
    return [
        judged_by_program(model, worst_case_of_rule(model, plain, rule, sets[is_known]), rule)
        for rule, is_known in JUDGED
    ]


def _same_factor(model: Any, radii: Radii, level: float) -> Multiple:
    """The rule by which parts of the data get radii of as many standard errors."""
    assert radii.factor is not None
    _, intercept_level = split_level(level, has_intercept=model.fit_intercept)
    return Multiple(radii.factor, intercept_level=intercept_level)


def _all_by_cross_fitting(
    model: Any, data: TrainingData, plain: TrainingData, rule: Multiple, *, limit: float, n_folds: int
) -> list[Exceedance]:
    """In the order of ``JUDGED``, from models fitted on all folds but one."""
    excess = np.zeros((len(JUDGED), len(plain.weights)))
    known: list[list[float | None]] = []
    for part in cross_fitted(model, data, n_folds):
        # Models on parts have positions for classes.
        sample = replace(plain.part(part.rows), classes=np.arange(len(plain.classes)))
        judged = _judge_all(part.model, sample, pose_with(part.model, sample, rule))
        excess[:, part.left_out] = [one.excess(take_rows(plain.X, part.left_out)) for one in judged]
        known.append([one.known for one in judged])
    return [
        mean_excess(*by_unit(plain, of_rule), limit, CROSS_FITTING, known=_mean(constants))
        for of_rule, constants in zip(excess, zip(*known, strict=True), strict=True)
    ]


def _mean(constants: Sequence[float | None]) -> float | None:
    there = [constant for constant in constants if constant is not None]
    return float(np.mean(there)) if there else None


def _statement_by_radii(
    model: Any,
    sample: JudgedSample,
    judged: JudgedRule,
    exceedance: Exceedance,
    *,
    radii: Radii,
    is_known: bool,
    confidence: float,
) -> ErrorStatement:
    value = float(np.clip(judged.worst_case_error + exceedance.upper, 0.0, 1.0))
    reason = _why_radii_have_no_probability(radii, exceedance)
    n_train = len(sample.rows)
    seen = "new ones" if exceedance.source == NEW_INSTANCES else "left out in cross-fitting"
    of_labels = " if labels alone may change" if is_known else ""
    weighted = "" if sample.are_alike else " The error is that of the samples as they are weighted."
    return ErrorStatement(
        value=value,
        kind=RADII,
        rule=judged.rule,
        marginal="empirical" if is_known else "free",
        n_train=n_train,
        confidence=confidence,
        valid=not reason,
        reason=reason,
        assumption=(
            f"That takes the {sample.units} for independent, and the radii and the limit for instances to "
            f"come are approximations.{weighted}"
        ),
        model=model,
        subject=f"{RULE_NAMES[judged.rule]} of this model of all {n_train} samples",
        evidence=(
            f"{judged.worst_case_error:.4f} in the worst case within radii of {radii.factor:.2f} standard "
            f"errors{of_labels}, and {exceedance.upper:.4f} for instances to come, judged by "
            f"{exceedance.n_instances} {seen}"
        ),
    )


def _why_radii_have_no_probability(radii: Radii, exceedance: Exceedance) -> str:
    if radii.remarks:
        return f"the sample breaks what the radii assume: {'; '.join(radii.remarks)}"
    if exceedance.source == CROSS_FITTING:
        return (
            "cross-fitting takes for granted that models fitted on parts of the data behave like this one; "
            "new instances, which need no labels, would give these bounds a probability"
        )
    if not exceedance.n_exceeding:
        return (
            f"the proof covers all of the {exceedance.n_instances} new instances, which says how rare others "
            "are but not how much error they could add; pass more, and none that the model was fitted on"
        )
    return ""
