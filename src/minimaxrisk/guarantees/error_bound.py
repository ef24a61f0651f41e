"""How often will a model err? Bounds for new samples by several methods, alone or side by side.

``counting.py`` has the bounds of a hold-out and of always naming the most common class, ``covering_radii.py``
those of the model's own rules within radii.

To take the smallest of several limits is to look at all of them, so all must hold. With
``delta = 1 - confidence`` split over them by ``SHARES``, the probability that one of them fails is at most
delta (Bonferroni's inequality), and the smallest one holds with probability ``confidence``. The shares are
fixed before any outcome is known. A method that the arguments rule out leaves its share to the others; one
that the data rule out does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state

from minimaxrisk._utils.arguments import check_confidence, is_integer
from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk._utils.sklearn_private import fresh_copy
from minimaxrisk._utils.stored_tables import take_rows
from minimaxrisk.guarantees.counting import JudgedSample, holdout_bound, majority_bound, n_held_out
from minimaxrisk.guarantees.covering_radii import bound_by_own_radii, bounds_by_new_radii
from minimaxrisk.guarantees.posed_fit import (
    PosedFit,
    as_posed_fit,
    check_model,
    is_ball,
    is_ensemble,
    is_label_free,
    training_data_of,
)
from minimaxrisk.guarantees.statement import HOLDOUT, MAJORITY, NONE, RADII, ErrorBound
from minimaxrisk.guarantees.verification import check_same_data, verify
from minimaxrisk.samples.validation import check_new_data, codes_of_groups

METHODS = ("best", HOLDOUT, RADII)
EXCESS = "excess"  # what new instances add to worst cases within radii
# How delta is split. The limit of a hold-out grows with log(1/delta), radii only with its root, and hold-outs
# are usually the tightest. The share of the excess is divided among the bounds that have one.
SHARES = {HOLDOUT: 0.6, RADII: 0.2, EXCESS: 0.15, MAJORITY: 0.05}
NO_WEIGHTS = (
    "a hold-out counts errors and takes no sample_weight; where a weight counts equal samples, repeat the "
    "row, and pass groups with one entry for all copies if they are measurements of one patient."
)


def error_bound(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    method: str = "best",
    rule: str | None = None,
    X_new: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    X_unlabeled: Any = None,
    transformer: Any = None,
    test_size: float | int = 0.5,
    confidence: float = 0.95,
    n_folds: int | None = 10,
    only_if_smaller: bool = False,
    random_state: Any = None,
) -> ErrorBound:
    """How often will a model err on new samples? A bound that holds with a probability.

    ``"best"`` computes all bounds and splits the probability that one fails over them, so that the smallest
    may be chosen afterwards. The other methods give one bound alone, at the whole confidence.

    Parameters
    ----------
    model : MinimaxRiskClassifier, any classifier with ``method="holdout"``, or PosedFit
        A fitted classifier, or a ``PosedFit``, which has the data. A hold-out clones any scikit-learn
        classifier, pipelines and searches included, fitted or not. Of a ``MinimaxRiskClassifierCV`` it
        chooses the radius again, from the samples that it fits on.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features) or None, default=None
        The instances that it was fitted on; for a hold-out any. Not needed with ``method="radii"``,
        ``rule="randomized"`` and ``X_new``.
    y : array-like of shape (n_samples,) or None, default=None
        Their labels. Class weights of the fit count with ``method="radii"`` only.
    method : {"best", "holdout", "radii"}, default="best"
        ``"holdout"``: fit a copy on one part of the samples and count its errors on the other; exact for
        every classifier and every distribution (Clopper and Pearson), and about a model of fewer samples.
        ``"radii"``: the worst case of a rule of this very model within the radii of its fit, and what new
        instances add; it has a probability if the radii have one (``radius="bootstrap"``). ``"best"``: both,
        with new radii, and the error of always naming the most common class.
    rule : {"predict", "randomized"} or None, default=None
        With ``method="radii"``, whose error: that of ``predict``, or of labels drawn from ``predict_proba``.
        None is ``"predict"``. The other methods take no rule.
    X_new : {array-like, sparse matrix} of shape (n_new, n_features) or None, default=None
        New instances, without labels, from the distribution that the error is about; none that took part in
        the fit. They show what instances unlike those of the training data add to a worst case. Without any,
        models fitted on parts of the data do (cross-fitting); such bounds have no probability.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples of one group, such as the measurements of a patient, are not independent. Groups are held out
        as a whole, and one sample of each is drawn and counted: the error is that on a sample drawn from a
        new group. Classifiers whose ``fit`` takes groups get them, if each group has one label. Bounds by
        radii need a model that was fitted with the groups.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        The weights that ``fit`` was given. A hold-out takes none.
    X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features) or None, default=None
        The instances without a label that ``fit`` was given.
    transformer : fitted transformer or None, default=None
        What made the features of the model from ``X`` and ``X_new``, such as a ``ClippedScaler``. A hold-out
        fits it again. Bounds by radii take it as given, so that there are none unless it is known not to look
        at labels, as the scalers of scikit-learn.
    test_size : float or int, default=0.5
        The part that a hold-out leaves out, as a fraction of the samples (or groups) or as their number. It
        is drawn at random, without regard to the labels.
    confidence : float, default=0.95
        The probability with which the bound holds, with ``"best"`` together with all others that have one.
        With ``"radii"`` the level of the limit for new instances; ``confidence`` of the result counts that of
        the radii too: 0.9 if both are 0.95.
    n_folds : int or None, default=10
        Folds of the cross-fitting that takes the place of ``X_new``. With None, and without ``X_new``,
        ``"best"`` leaves out bounds by radii, which take the most time.
    only_if_smaller : bool, default=False
        Whether ``"best"`` leaves out bounds by radii, without ``X_new``, where none could be smaller than the
        others. ``left_out`` tells by how much.
    random_state : int, RandomState instance or None, default=None
        Seed of the hold-out. Choose it before you look at results: the best of many splits is not a bound.

    Returns
    -------
    ErrorBound
        The bound with what it is about and what it rests on; with ``"best"`` the smallest that has a
        probability, the others in ``alternatives`` and what was left out in ``left_out``.

    Raises
    ------
    ValueError
        If the data are not those that the model was fitted on (``"best"`` and ``"radii"``), if nothing is
        left to fit on or to count on, or if an argument is not valid.

    See Also
    --------
    verify : Whether what the model claims about itself is true.
    worst_case : Between what bounds the error of a rule lies over the uncertainty set of the fit.

    References
    ----------
    C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26, 1934.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskClassifier, error_bound
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(200, 50, n_informative=10, effect=1.5, random_state=0)
    >>> model = MinimaxRiskClassifier(radius="bootstrap").fit(study.data, study.target)
    >>> best = error_bound(model, study.data, study.target, random_state=0)
    >>> best.method, best.n_train, len(best.alternatives)
    ('holdout', 100, 5)
    >>> X_new, _ = study.law.sample(500, random_state=1)
    >>> bound = error_bound(model, method="radii", rule="randomized", X_new=X_new)
    >>> bool(bound.value >= model.worst_case_error_), bound.exceedance.n_instances
    (True, 500)
    """
    if method not in METHODS:
        raise ValueError(f"method must be 'best', 'holdout' or 'radii', got {method!r}.")
    check_confidence(confidence)
    if n_folds is not None and not (is_integer(n_folds) and n_folds >= 2):
        raise ValueError(f"n_folds must be an integer of at least 2 or None, got {n_folds!r}.")
    if rule is not None and method != RADII:
        raise ValueError(f"rule must be None with method={method!r}; only method='radii' takes one rule.")
    random = check_random_state(random_state)
    if method == HOLDOUT:
        if isinstance(model, PosedFit):
            fit, model = model, model.learner
            X, y, groups, sample_weight = fit.X, fit.y, fit.groups, fit.sample_weight
            transformer = fit.transformer
        if X is None or y is None:
            raise ValueError("method='holdout' needs samples and their labels: pass X and y.")
        if sample_weight is not None:
            raise ValueError(NO_WEIGHTS)
        learner = model if transformer is None else make_pipeline(transformer, model)
        return holdout_bound(
            learner, X, y, test_size=test_size, groups=groups, confidence=confidence, random=random
        )
    posed = None
    if X is None and y is None and not isinstance(model, PosedFit):
        check_model(model)
    else:
        data = {"sample_weight": sample_weight, "X_unlabeled": X_unlabeled, "groups": groups}
        posed = as_posed_fit(model, X, y, **data, transformer=transformer)
        model, transformer = posed.model, posed.transformer
    if method == RADII:
        _refuse_without_radii(model, transformer)
    new = None if X_new is None else _checked_new(model, X_new, transformer)
    if method == RADII:
        rule = "predict" if rule is None else rule
        return bound_by_own_radii(model, posed, rule, new=new, limit=float(confidence), n_folds=n_folds)
    if posed is None:
        raise ValueError("method='best' needs the data that the model was fitted on: pass X and y.")
    return _best(
        posed,
        new=new,
        test_size=test_size,
        confidence=float(confidence),
        n_folds=n_folds,
        only_if_smaller=only_if_smaller,
        random=random,
    )


def _best(
    fit: PosedFit,
    *,
    new: DataMatrix | None,
    test_size: Any,
    confidence: float,
    n_folds: int | None,
    only_if_smaller: bool,
    random: Any,
) -> ErrorBound:
    model = fit.model
    plain = training_data_of(model, fit.seen, fit.y, fit.sample_weight, with_class_weight=False)
    unit = None if fit.groups is None else codes_of_groups(fit.groups, len(plain.labels))
    sample = JudgedSample(plain, unit)
    n_held_out(test_size, sample.n_units, sample.units)  # refused before any work
    was_fitted_with_groups = unit is not None and _is_valid(fit)
    if was_fitted_with_groups:
        sample = replace(sample, data=replace(plain, groups=unit))
    elif unit is not None:
        more = {"sample_weight": fit.sample_weight, "X_unlabeled": fit.X_unlabeled}
        fit = PosedFit(model, fit.X, fit.y, **more, transformer=fit.transformer)
    check_same_data(fit)

    left_out = _ruled_out(
        sample,
        has_new=new is not None or n_folds is not None,
        has_radii=not (is_ensemble(model) or is_ball(model)),
        lacks_groups=unit is not None and not was_fitted_with_groups,
    )
    if not is_label_free(fit.transformer):
        left_out[RADII] = _by_labels(fit.transformer)
    methods = [method for method in (HOLDOUT, RADII, MAJORITY) if method not in left_out]
    levels = _levels(1.0 - confidence, methods, has_new=new is not None)
    found: list[ErrorBound] = []
    for method in methods:
        # The arguments are in order, so that it is the data that do not allow it.
        try:
            if method == HOLDOUT:
                found.append(_of_holdout(fit, sample, test_size, 1.0 - levels[method], random))
            elif method == RADII:
                smallest = min((one.value for one in found), default=1.0)
                found += bounds_by_new_radii(
                    model,
                    fit.data,
                    sample,
                    new=new,
                    delta=levels[RADII],
                    excess_delta=levels[EXCESS],
                    confidence=confidence,
                    n_folds=n_folds,
                    smallest_so_far=smallest if only_if_smaller else None,
                )
            else:
                found.append(majority_bound(sample, levels[method], random))
        except ValueError as obstacle:
            left_out[method] = str(obstacle)
    # Together they hold with the confidence asked for.
    found = [replace(one, confidence=confidence if one.has_probability else None) for one in found]
    found.sort(key=lambda one: (not one.has_probability, one.value))
    if found and found[0].has_probability:
        return replace(found[0], alternatives=tuple(found[1:]), left_out=left_out)
    return ErrorBound(
        1.0,
        NONE,
        "constant",
        confidence,
        n_train=None,
        n_classes=len(model.classes_),
        alternatives=tuple(found),
        left_out=left_out,
    )


def _of_holdout(
    fit: PosedFit, sample: JudgedSample, test_size: Any, confidence: float, random: Any
) -> ErrorBound:
    learner = fresh_copy(fit.learner, callback=None, verbose=False, certify=False)
    if fit.transformer is not None:
        learner = make_pipeline(fit.transformer, learner)
    rows, data = sample.rows, sample.data
    return holdout_bound(
        learner,
        take_rows(fit.X, rows),
        data.classes[data.labels[rows]],
        test_size=test_size,
        groups=None if sample.unit is None else sample.unit[rows],
        learns_groups=fit.groups is not None,  # as this model did
        confidence=confidence,
        random=random,
    )


def _ruled_out(sample: JudgedSample, *, has_new: bool, has_radii: bool, lacks_groups: bool) -> dict[str, str]:
    """Methods that the arguments rule out, whatever the values in the data are."""
    reasons = {}
    if not sample.are_alike:
        reasons[HOLDOUT] = NO_WEIGHTS
    if not has_new:
        reasons[RADII] = "there are no new instances, and no folds of cross-fitting in their place."
    if not has_radii:
        reasons[RADII] = "bounds by radii are computed for a MinimaxRiskClassifier alone."
    if lacks_groups:
        reasons[RADII] = (
            "the model was fitted without these groups, as if all samples were independent; fit it with "
            "groups for such a bound."
        )
    if sample.data.counts is not None and not sample.are_alike:
        reasons[MAJORITY] = "weights that are not counts do not say how many samples a class has."
    elif sample.unit is not None and not sample.are_alike:
        reasons[MAJORITY] = "one sample of each group is drawn, which does not go with sample_weight."
    return reasons


def _refuse_without_radii(model: Any, transformer: Any) -> None:
    if is_ensemble(model) or is_ball(model):
        raise ValueError(
            f"method='radii' needs a MinimaxRiskClassifier, got {type(model).__name__}; use "
            "method='holdout'. oob_error_ estimates the error of an ensemble."
        )
    if not is_label_free(transformer):
        raise ValueError(f"method='radii' cannot be used: {_by_labels(transformer)}")


def _by_labels(transformer: Any) -> str:
    return (
        f"bounds by radii take the features as given, and {type(transformer).__name__} may have made them by "
        "looking at the labels, which no radius counts; a hold-out fits it again."
    )


def _checked_new(model: Any, X_new: Any, transformer: Any) -> DataMatrix:
    new = check_new_data(model, X_new if transformer is None else transformer.transform(X_new))
    if new.shape[0] < 2:
        raise ValueError(f"X_new must hold at least 2 instances, got {new.shape[0]}.")
    return new


def _is_valid(fit: PosedFit) -> bool:
    try:
        return verify(fit).valid
    except ValueError:  # groups that a fit refuses, for example with two labels in one
        return False


def _levels(delta: float, methods: Sequence[str], *, has_new: bool) -> dict[str, float]:
    """What each part may fail with, split by ``SHARES``.

    Without new instances bounds by radii have no probability. They take no share from the others then, and
    split a delta of their own.
    """
    by_radii = [RADII, EXCESS] if RADII in methods else []
    others = [method for method in methods if method != RADII]
    together = [[*others, *by_radii]] if has_new else [others, by_radii]
    return {
        part: delta * SHARES[part] / sum(SHARES[other] for other in parts)
        for parts in together
        for part in parts
    }
