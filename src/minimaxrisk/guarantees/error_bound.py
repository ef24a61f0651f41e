"""Bounds on an error and what they are about, one by one and side by side; who finds them is elsewhere.

All that can be said about the error on new samples, side by side, the tightest first.

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

How they are found: ``statements_by_counting`` and ``statements_by_radii``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arguments import check_confidence, is_integer
from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.guarantees.counting import (
    Holdout,
    JudgedSample,
    judged_sample,
    n_held_out,
    statement_of_majority,
)
from minimaxrisk.guarantees.covering_radii import statements_by_radii
from minimaxrisk.guarantees.statement import HOLDOUT, MAJORITY, RADII, BestGuarantee, ErrorStatement
from minimaxrisk.guarantees.verification import check_model, is_ensemble, training_data_of, verify
from minimaxrisk.samples.validation import check_new_data

EXCESS = "excess"  # of what instances to come add to worst cases over radii
# How delta is split. The limit of a hold-out grows with log(1/delta), radii only with its root, and hold-outs
# are usually the tightest. The share of the excess is divided among the statements that have one.
SHARES = {HOLDOUT: 0.6, RADII: 0.2, EXCESS: 0.15, MAJORITY: 0.05}


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
    check_confidence(confidence)
    if n_folds is not None and not (is_integer(n_folds) and n_folds >= 2):
        raise ValueError(f"n_folds must be an integer of at least 2 or None, got {n_folds!r}.")
    raw = X
    if transformer is not None:
        check_is_fitted(transformer)
        X = transformer.transform(X)
        X_new = None if X_new is None else transformer.transform(X_new)
    sample = judged_sample(model, X, y, sample_weight, groups)
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
                limits = Holdout(learner, raw, rule, test_size, 1.0 - levels[kind])
                found.append(limits.statement(sample, random))
            elif kind == RADII:
                limit = min((one.value for one in found), default=1.0) if only_if_smaller else None
                found += statements_by_radii(
                    model,
                    data,
                    sample,
                    new=new,
                    delta=levels[RADII],
                    excess_delta=levels[EXCESS],
                    n_folds=n_folds,
                    smallest_so_far=limit,
                )
            else:
                found.append(statement_of_majority(sample, levels[kind], random))
        except ValueError as obstacle:
            left_out[kind] = str(obstacle)
    found.sort(key=lambda one: (not one.valid, one.value))
    return BestGuarantee(tuple(found), left_out, float(confidence), len(model.classes_))


def _ruled_out(sample: JudgedSample, *, can_look_ahead: bool) -> dict[str, str]:
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
