"""All that can be said about the error on new samples, side by side, the tightest first.

Three kinds of statements bound an error with a probability:

* **hold-out**: errors counted on samples left out, for a model fitted on the others (``holdout.py``);
* **radii**: the worst case of the rules of this very model, of ``predict_proba`` and of ``predict``, over the
  distributions whose feature means lie within covering radii, and what instances to come add
  (``guaranteed_error.py``), with instances that may change and with known ones;
* **majority class**: what always naming the most common class errs, with the limit of Clopper and Pearson.

Whoever takes the smallest of several limits has looked at all of them, so all must hold. With
``delta = 1 - confidence`` split over them by ``SHARES``, the probability that one of them fails is at most
delta (Bonferroni's inequality), and the smallest one holds with probability ``confidence``. The shares are
fixed before any outcome is known. A kind that the arguments rule out leaves its share to the others; one that
the data rule out does not.

**Radii.** A fixed rule h need not have been learned on the set that judges it. Its worst case over the set
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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arrays import DataMatrix, IntArray
from minimaxrisk._utils.checks import is_integer, is_number
from minimaxrisk._utils.rows import rows_of
from minimaxrisk.engines.dispatch import solve_minimax_risk
from minimaxrisk.engines.settings import EngineSettings
from minimaxrisk.engines.solution import IterationRecord
from minimaxrisk.guarantees.error_bounds import worst_case_of_rule
from minimaxrisk.guarantees.error_statement import BestGuarantee, ErrorStatement
from minimaxrisk.guarantees.fitted_model import check_model, is_ensemble, pose_with, training_data_of
from minimaxrisk.guarantees.guaranteed_error import (
    CROSS_FITTING,
    NEW_INSTANCES,
    Exceedance,
    JudgedRule,
    by_unit,
    cross_fitted,
    judged_by_program,
    mean_excess,
)
from minimaxrisk.guarantees.holdout import clopper_pearson_limit, holdout_bound, n_held_out, one_of_each
from minimaxrisk.guarantees.verification import verify
from minimaxrisk.problem.pose import PosedProblem
from minimaxrisk.samples.validation import TrainingData, check_new_data, codes_of_groups
from minimaxrisk.uncertainty.bootstrap import MultiplierBootstrap
from minimaxrisk.uncertainty.given import Multiple
from minimaxrisk.uncertainty.radius import Radii, split_level

HOLDOUT, RADII, MAJORITY = "hold-out", "radii", "majority class"
EXCESS = "excess"
# How delta is split. The limit of a hold-out grows with log(1/delta), radii only with its root, and hold-outs
# are usually the tightest. The share of the excess is divided among the statements that have one.
SHARES = {HOLDOUT: 0.6, RADII: 0.2, EXCESS: 0.15, MAJORITY: 0.05}
# Which rule is judged, and whether the instances are known.
JUDGED = tuple((rule, is_known) for is_known in (False, True) for rule in ("randomized", "argmax"))
RULE_NAMES = {"argmax": "predict", "randomized": "the randomized rule (predict_proba)"}


def best_guarantee(
    model: Any,
    X: Any,
    y: Any,
    *,
    X_new: Any = None,
    transformer: Any = None,
    sample_weight: Any = None,
    X_unlabeled: Any = None,
    groups: Any = None,
    test_size: float | int = 0.5,
    confidence: float = 0.95,
    n_folds: int | None = 10,
    only_if_smaller: bool = False,
    random_state: Any = None,
) -> BestGuarantee:
    """The tightest bound on the error for new samples, beside the others that hold at the same time.

    A hold-out, the worst case over the distributions that radii with coverage allow, and the error of always
    naming the most common class are limited at once. What may go wrong is split over them, so that the
    smallest may be chosen afterwards.

    Parameters
    ----------
    model : MinimaxRiskClassifier
        A fitted classifier, with any radius and marginal. Statements by radii are about its own rules, over
        radii that are chosen here.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The instances that it was fitted on.
    y : array-like of shape (n_samples,)
        Their labels. Errors are those of samples as they are: class weights of the fit do not weigh here.
    X_new : {array-like, sparse matrix} of shape (n_new, n_features) or None, default=None
        New instances, without labels, from the law that the error is about. They tell what instances unlike
        those of the training data add to a worst case. Without any, models fitted on parts of the data are
        asked, which says something about such models, and statements by radii come without a probability.
    transformer : fitted transformer or None, default=None
        What made the features of the model from ``X``, such as a ``ClippedScaler`` before it in a pipeline;
        ``X`` and ``X_new`` are then as they were before it. It must not have used labels. The hold-out fits
        it anew, to the part that its model learns from; statements by radii take it as given.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        The weights that ``fit`` was given. Weights that are no counts make errors of another population, of
        which only statements by radii can speak.
    X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features) or None, default=None
        The instances without a label that ``fit`` was given.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples of one group, such as the replicates of a patient, are not independent. Errors are then those
        on a sample drawn from a new group. Statements by radii need a model that was fitted with the groups,
        and are about samples, of which larger groups have more.
    test_size : float or int, default=0.5
        The part that the hold-out leaves out, as in ``holdout_bound``.
    confidence : float, default=0.95
        The probability with which all statements hold at once.
    n_folds : int or None, default=10
        Folds of the cross-fitting that takes the place of ``X_new``; with None, and without ``X_new``,
        statements by radii are left out. They are what takes time.
    only_if_smaller : bool, default=False
        Whether to leave out statements by radii, without ``X_new``, where none could be smaller than the
        others: where the worst case of every rule is no smaller than the limit of the hold-out, or than the
        error of always naming the most common class. ``left_out`` tells by how much.
    random_state : int, RandomState instance or None, default=None
        Seed of the hold-out. Choose it before you look at results: the best of many splits is no limit.

    Returns
    -------
    BestGuarantee
        All statements, the smallest with a probability first, and what was left out and why.

    Raises
    ------
    ValueError
        If the data are not those that the model was fitted on, if the model is an ensemble, or if an argument
        is not what it must be.

    See Also
    --------
    holdout_bound : The limit of a hold-out alone, for any classifier.
    MinimaxRiskClassifier.guaranteed_error : The statement by the model's own radii alone.

    Notes
    -----
    The probability that a statement fails is split over the kinds before any outcome is known. By
    Bonferroni's inequality all of them hold at once with probability ``confidence``, the smallest among them.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskClassifier, best_guarantee
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(200, 50, n_informative=10, effect=1.5, random_state=0)
    >>> model = MinimaxRiskClassifier(radius="bootstrap").fit(study.data, study.target)
    >>> found = best_guarantee(model, study.data, study.target, random_state=0)
    >>> found.best.kind, found.best.n_train
    ('hold-out', 100)
    """
    check_model(model)
    if is_ensemble(model):
        raise ValueError(
            "model must be a MinimaxRiskClassifier and no ensemble; holdout_bound bounds the error of any "
            "classifier, and oob_error_ estimates that of an ensemble."
        )
    if not (is_number(confidence) and 0.0 < confidence < 1.0):
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}.")
    if n_folds is not None and not (is_integer(n_folds) and n_folds >= 2):
        raise ValueError(f"n_folds must be an integer of at least 2 or None, got {n_folds!r}.")
    raw = X
    if transformer is not None:
        check_is_fitted(transformer)
        X = transformer.transform(X)
        X_new = None if X_new is None else transformer.transform(X_new)
    sample = _sample_of(model, X, y, sample_weight, groups)
    n_held_out(test_size, sample.n_units, sample.units)  # refused before any work
    new = None if X_new is None else _check_new(model, X_new)
    given = {"X": X, "y": y, "sample_weight": sample_weight, "X_unlabeled": X_unlabeled}
    if groups is not None and _was_fitted_with(model, given | {"groups": groups}):
        given["groups"] = groups
        sample = replace(sample, data=replace(sample.data, groups=sample.unit))
    else:
        _check_same_data(model, given)
    data = training_data_of(model, **given)

    left_out = _ruled_out(sample, can_look_ahead=new is not None or n_folds is not None)
    kinds = [kind for kind in (HOLDOUT, RADII, MAJORITY) if kind not in left_out]
    levels = _levels(1.0 - float(confidence), kinds, has_new=new is not None)
    random = check_random_state(random_state)
    found: list[ErrorStatement] = []
    for kind in kinds:
        # The arguments are in order, so that it is the data that do not allow it.
        try:
            if kind == HOLDOUT:
                learner = clone(model).set_params(callback=None, verbose=0)
                learner = learner if transformer is None else make_pipeline(clone(transformer), learner)
                rule = "argmax" if model.deterministic else "randomized"
                limits = _Holdout(learner, raw, rule, test_size, 1.0 - levels[kind])
                found.append(limits.statement(sample, random))
            elif kind == RADII:
                limit = min((one.value for one in found), default=1.0) if only_if_smaller else None
                found += _by_radii(
                    model, data, sample, new=new, levels=levels, n_folds=n_folds, smallest_so_far=limit
                )
            else:
                found.append(_of_majority(sample, levels[kind], random))
        except ValueError as obstacle:
            left_out[kind] = str(obstacle)
    found.sort(key=lambda one: (not one.valid, one.value))
    return BestGuarantee(tuple(found), left_out, float(confidence), len(model.classes_))


@dataclass(frozen=True)
class _Sample:
    """The samples without class weights; ``unit`` says which of them belong together, if any do."""

    data: TrainingData
    unit: IntArray | None
    are_alike: bool  # whether every row of weight counts as one sample

    @property
    def units(self) -> str:
        return "samples" if self.unit is None else "groups"

    @property
    def rows(self) -> IntArray:
        return np.flatnonzero(self.data.weights > 0)

    @property
    def n_units(self) -> int:
        return len(self.rows) if self.unit is None else len(np.unique(self.unit[self.rows]))


def _sample_of(model: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> _Sample:
    data = training_data_of(model, X, y, sample_weight, with_class_weight=False)
    unit = None if groups is None else codes_of_groups(groups, len(data.labels))
    weights = data.weights[data.weights > 0]
    are_alike = bool((weights == 1.0).all() or (data.counts is not None and (weights == weights[0]).all()))
    return _Sample(data, unit, are_alike)


def _ruled_out(sample: _Sample, *, can_look_ahead: bool) -> dict[str, str]:
    """Kinds of statements that the arguments rule out, whatever the values in the data are."""
    reasons = {}
    if not sample.are_alike:
        reasons[HOLDOUT] = (
            "a hold-out counts errors and takes no sample_weight; where weights are counts, repeat the rows."
        )
    if not can_look_ahead:
        reasons[RADII] = "there are no new instances, and no folds of cross-fitting in their place."
    if sample.unit is not None and sample.data.groups is None:
        reasons[RADII] = (
            "the model was fitted without these groups, as if all samples were independent; for such a "
            "statement fit it with groups."
        )
    if sample.data.counts is not None and not sample.are_alike:
        reasons[MAJORITY] = "weights that are no counts do not say how many samples a class has."
    elif sample.unit is not None and not sample.are_alike:
        reasons[MAJORITY] = "one sample of each group is drawn, which does not go with sample_weight."
    return reasons


def _check_new(model: Any, X_new: Any) -> DataMatrix:
    new = check_new_data(model, X_new)
    if new.shape[0] < 2:
        raise ValueError(f"X_new must hold at least 2 instances, got {new.shape[0]}.")
    return new


def _was_fitted_with(model: Any, data: Mapping[str, Any]) -> bool:
    try:
        return verify(model, **data).valid
    except ValueError:  # groups that a fit refuses, for example with two labels in one
        return False


def _check_same_data(model: Any, data: Mapping[str, Any]) -> None:
    certificate = verify(model, **data)
    if not certificate.valid:
        raise ValueError(
            "X and y must be the data that the model was fitted on, in the same order of rows, with "
            "sample_weight and X_unlabeled if fit was given them; checked against them, "
            f"{certificate.problems[0]}."
        )


def _levels(delta: float, kinds: Sequence[str], *, has_new: bool) -> dict[str, float]:
    """What each part may fail with, split by ``SHARES``.

    Without new instances statements by radii have no probability. They take no share from the others then,
    and split a delta of their own.
    """
    by_radii = [RADII, EXCESS] if RADII in kinds else []
    others = [kind for kind in kinds if kind != RADII]
    together = [[*others, *by_radii]] if has_new else [others, by_radii]
    return {
        kind: delta * SHARES[kind] / sum(SHARES[other] for other in parts)
        for parts in together
        for kind in parts
    }


@dataclass(frozen=True)
class _Holdout:
    """A learner for part of the samples, given as they were before it."""

    learner: Any
    X: Any
    rule: str
    test_size: Any
    confidence: float

    def statement(self, sample: _Sample, random: np.random.RandomState) -> ErrorStatement:
        rows, data = sample.rows, sample.data
        found = holdout_bound(
            self.learner,
            rows_of(self.X, rows),
            data.classes[data.labels[rows]],
            test_size=self.test_size,
            groups=None if sample.unit is None else sample.unit[rows],
            confidence=self.confidence,
            random_state=random,
        )
        subject = f"{RULE_NAMES[self.rule]} of a model fitted like this one on {found.n_train} of the samples"
        return ErrorStatement(
            value=found.value,
            kind=HOLDOUT,
            rule=self.rule,
            marginal=None,
            n_train=found.n_train,
            confidence=self.confidence,
            valid=True,
            reason="",
            assumption=_independent(sample),
            model=found.model,
            subject=subject,
            evidence=f"it erred on {found.n_errors} of {found.n_test} {sample.units} held out",
        )


def _of_majority(sample: _Sample, delta: float, random: np.random.RandomState) -> ErrorStatement:
    """The limit at ``delta / K``: the class is chosen by the samples that judge it, and K could have been."""
    data, rows = sample.data, sample.rows
    if sample.unit is not None:
        rows = rows[one_of_each(sample.unit[rows], random)]
    counts = np.ones(len(rows)) if sample.are_alike else data.weights[rows]
    sizes = np.bincount(data.labels[rows], counts, minlength=len(data.classes))
    n, n_errors = sizes.sum(), sizes.sum() - sizes.max()
    value = clopper_pearson_limit(n_errors, n, 1.0 - delta / len(sizes))
    named = data.classes.tolist()[int(np.argmax(sizes))]
    drawn = f"{n:g} samples" if sample.unit is None else f"{n:g} samples, one of each group,"
    return ErrorStatement(
        value=value,
        kind=MAJORITY,
        rule="constant",
        marginal=None,
        n_train=int(n),
        confidence=1.0 - delta,
        valid=True,
        reason="",
        assumption=_independent(sample),
        model=None,
        subject=f"always naming {named!r}, the most common class",
        evidence=f"{n_errors:g} of {drawn} are of another one",
    )


def _independent(sample: _Sample) -> str:
    if sample.unit is None:
        return "That holds for every distribution if the samples are independent."
    return (
        "That holds for every distribution if the groups are independent. The error is that on a sample "
        "drawn from a new group."
    )


def _by_radii(
    model: Any,
    data: TrainingData,
    sample: _Sample,
    *,
    new: DataMatrix | None,
    levels: Mapping[str, float],
    n_folds: int | None,
    smallest_so_far: float | None,
) -> list[ErrorStatement]:
    """Of both rules of the model, over distributions that may move instances and over those that may not.

    ``data`` have the class weights of the fit, the sample has not.
    """
    plain = sample.data
    level, limit = 1.0 - levels[RADII], 1.0 - levels[EXCESS] / len(JUDGED)
    posed = pose_with(model, plain, MultiplierBootstrap(level, model.n_bootstrap, model.radius_seed_))
    if new is None and smallest_so_far is not None:
        _refuse_hopeless(posed, plain, smallest_so_far)
    judged = _judge_all(model, plain, posed)
    if new is None:
        assert n_folds is not None
        again = _same_factor(model, posed.radii, level)
        exceedances = _by_cross_fitting(model, data, plain, again, limit=limit, n_folds=n_folds)
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
            confidence=1.0 - levels[RADII] - levels[EXCESS] / len(JUDGED),
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


def _by_cross_fitting(
    model: Any, data: TrainingData, plain: TrainingData, rule: Multiple, *, limit: float, n_folds: int
) -> list[Exceedance]:
    """In the order of ``JUDGED``, from models fitted on all folds but one."""
    excess = np.zeros((len(JUDGED), len(plain.weights)))
    known: list[list[float | None]] = []
    for part in cross_fitted(model, data, n_folds):
        # Models on parts have positions for classes.
        sample = replace(plain.part(part.rows), classes=np.arange(len(plain.classes)))
        judged = _judge_all(part.model, sample, pose_with(part.model, sample, rule))
        excess[:, part.left_out] = [one.excess(rows_of(plain.X, part.left_out)) for one in judged]
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
    sample: _Sample,
    judged: JudgedRule,
    exceedance: Exceedance,
    *,
    radii: Radii,
    is_known: bool,
    confidence: float,
) -> ErrorStatement:
    value = float(np.clip(judged.worst_case_error + exceedance.upper, 0.0, 1.0))
    reason = _why_no_probability(radii, exceedance)
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


def _why_no_probability(radii: Radii, exceedance: Exceedance) -> str:
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
