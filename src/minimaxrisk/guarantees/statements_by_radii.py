"""Worst cases of a model's own rules over radii that cover, and what instances to come add to them.

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

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk._utils.rows import rows_of
from minimaxrisk.engines.dispatch import solve_minimax_risk
from minimaxrisk.engines.settings import EngineSettings
from minimaxrisk.engines.solution import IterationRecord
from minimaxrisk.guarantees.error_bounds import worst_case_of_rule
from minimaxrisk.guarantees.error_statement import RADII, RULE_NAMES, ErrorStatement
from minimaxrisk.guarantees.fitted_model import pose_with
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
from minimaxrisk.guarantees.judged_sample import JudgedSample
from minimaxrisk.problem.pose import PosedProblem
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.bootstrap import MultiplierBootstrap
from minimaxrisk.uncertainty.given import Multiple
from minimaxrisk.uncertainty.radius import Radii, split_level

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
    sample: JudgedSample,
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
