"""How often will a model err? Bounds for new samples by several methods, alone or side by side.

``counting.py`` has the bounds of a hold-out, of a model by how often it agrees with that of a hold-out, and
of always naming the most common class; ``covering_radii.py`` those of the model's own rules within radii;
``assumptions.py`` looks whether the data are what all of them take for granted.

To take the smallest of several limits is to look at all of them, so all must hold. With
``delta = 1 - confidence`` split over them by ``SHARES``, the probability that one of them fails is at most
delta (Bonferroni's inequality), and the smallest one holds with probability ``confidence``. The shares are
fixed before any outcome is known. A method that the arguments rule out leaves its share to the others; one
that the data rule out does not. What is never the smallest takes no share, and stands alone at the whole
confidence: the limit by agreement, which is that of the hold-out and more; that of the most common class
where another one was smaller; and the limits class by class. With ``prevalence`` the limits class by class
are the event that everything rests on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils import choices
from minimaxrisk._utils.arguments import check_confidence, is_integer, is_number, listed
from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk._utils.environment import suitable_threads
from minimaxrisk._utils.sklearn_private import check_classifier, fresh_copy, num_samples
from minimaxrisk._utils.stored_tables import take_rows
from minimaxrisk.guarantees.certified import (
    OWN_RADII,
    Estimator,
    can,
    certified,
    has_proof,
    unwrapped,
)
from minimaxrisk.guarantees.counting import (
    JudgedSample,
    agreement_bound,
    holdout_bound,
    majority_bound,
    majority_error,
    most_common_bound,
    n_held_out,
    one_of_each,
)
from minimaxrisk.guarantees.covering_radii import bound_by_own_radii, bounds_by_new_radii
from minimaxrisk.guarantees.posed_fit import PosedFit, as_posed_fit, reason_against_features, training_data_of
from minimaxrisk.guarantees.statement import (
    AGREEMENT,
    HOLDOUT,
    MAJORITY,
    NONE,
    RADII,
    ErrorBound,
    without_probability,
)
from minimaxrisk.guarantees.verification import check_same_data, verify
from minimaxrisk.samples.exchangeability import reason_against_independence, reason_against_one_law
from minimaxrisk.samples.parts import is_pairwise
from minimaxrisk.samples.validation import TrainingData, check_labels, check_new_data, codes_of_groups

ROUNDING = 1e-6  # of shares that people write down
METHODS = get_args(choices.BoundMethod)
EXCESS = "excess"  # what new instances add to worst cases within radii
# How delta is split. The limit of a hold-out grows with log(1/delta), radii only with its root, and hold-outs
# were the tightest on all data sets that we have. The share of the excess is divided among the bounds that
# have one.
SHARES = {HOLDOUT: 0.85, RADII: 0.06, EXCESS: 0.04, MAJORITY: 0.05}
NOT_CERTIFIED = (
    "bounds by radii are computed for a fitted MinimaxRiskClassifier alone; where one is the last step of a "
    "pipeline, ask for method='radii'."
)
LACKS_GROUPS = (
    "the model was fitted without these groups, as if all samples were independent; fit it with groups for "
    "such a bound."
)
OWN_MIXTURE = {
    AGREEMENT: "new instances tell how often two models differ where classes are as common as among them.",
    RADII: "radii hold the means of samples whose classes are as common as in these data.",
}
NO_WEIGHTS = (
    "a hold-out counts errors and takes no sample_weight; pass every sample as a row of its own, and groups "
    "with one entry for all rows that are measurements of one patient."
)


def error_bound(
    model: Estimator | PosedFit,
    X: Any = None,
    y: Any = None,
    *,
    method: choices.BoundMethod = "best",
    rule: choices.Rule | None = None,
    X_new: Any = None,
    groups_new: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    X_unlabeled: Any = None,
    transformer: Any = None,
    test_size: float | int = 0.5,
    prevalence: Any = None,
    confidence: float = 0.95,
    n_folds: int | None = 10,
    only_if_smaller: bool = False,
    random_state: Any = None,
) -> ErrorBound:
    """How often will a model err on new samples? A bound that holds with a probability.

    ``"best"`` computes all bounds and splits the probability that one fails over them, so that the smallest
    may be chosen afterwards. The other methods give one bound alone, at the whole confidence. A hold-out also
    gives limits class by class (sensitivity and specificity), in ``per_class``.

    Parameters
    ----------
    model : any classifier, or PosedFit
        A classifier of this library or of others, pipelines and searches included; or a ``PosedFit``, which
        has the data. Bounds by radii are about a ``MinimaxRiskClassifier`` alone. A hold-out clones the
        model, fitted or not. Pass a whole search, which then chooses again from the samples that it fits on;
        its ``best_estimator_`` brings a choice that has seen all labels.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features) or None, default=None
        The instances that it was fitted on; for a hold-out any. Not needed with ``method="radii"``,
        ``rule="randomized"`` and ``X_new``.
    y : array-like of shape (n_samples,) or None, default=None
        Their labels. Class weights of the fit count with ``method="radii"`` only.
    method : {"best", "holdout", "agreement", "radii"}, default="best"
        ``"holdout"``: fit a copy on one part of the samples and count its errors on the other; exact for
        every classifier and every distribution (Clopper and Pearson), and about a model of fewer samples.
        ``"agreement"``: about this very model, which errs at most where that of the hold-out does or where
        the two differ on ``X_new``.
        ``"radii"``: the worst case of a rule of this very model within the radii of its fit, and what new
        instances add; it has a probability if the radii have one (``radius="bootstrap"``). ``"best"``: all,
        with new radii, and the error of always naming the most common class.
    rule : {"predict", "randomized"} or None, default=None
        With ``method="radii"``, whose error: that of ``predict``, or of labels drawn from ``predict_proba``.
        None is ``"predict"``. The other methods take no rule.
    X_new : {array-like, sparse matrix} of shape (n_new, n_features) or None, default=None
        New instances, without labels, from the distribution that the error is about; none that took part in
        the fit. They show how often two models differ, and what instances unlike those of the training data
        add to a worst case. Without any, models fitted on parts of the data do (cross-fitting); such bounds
        have no probability. If they do not look like instances of the same law as X, by a permutation test
        at 1%, a warning says so, and what rests on them has no probability.
    groups_new : array-like of shape (n_new,) or None, default=None
        New instances with the same entry, such as the measurements of a patient, are not independent. One of
        each group is drawn and used.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples of one group, such as the measurements of a patient, are not independent. Groups are held out
        as a whole, and one sample of each is drawn and counted: the error is that on a sample drawn from a
        new group. A group may hold samples of several classes, as matched pairs do. Classifiers whose ``fit``
        takes groups get them, if each group has one label or there are two classes. Bounds by radii need a
        model that was fitted with the groups.
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
    prevalence : mapping of label to float or None, default=None
        How common the classes are where the model will be used, such as ``{"ill": 0.05, "well": 0.95}``, if
        that is not as in the data: in a case-control study the mixture was chosen. The bound is then about
        that mixture, by the limits class by class of the hold-out, with ``predictive_values``; all hold at
        once. Every class of y has a share. Classes without a sample may have one, too: all their samples are
        misclassified. Agreement and radii are about the mixture of the data alone, and are left out.
    confidence : float, default=0.95
        The probability with which the bound holds, with ``"best"`` together with all others that have one and
        do not stand alone.
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
        probability (with ``prevalence`` that of the hold-out), the others in ``alternatives`` and what was
        left out in ``left_out``.

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
    >>> at_clinic = error_bound(
    ...     model, study.data, study.target, prevalence={0: 0.9, 1: 0.1}, random_state=0
    ... )
    >>> [(one.label, one.n_errors, one.n_test) for one in at_clinic.per_class]
    [(0, 0, 47), (1, 0, 53)]
    >>> X_new, _ = study.law.sample(500, random_state=1)
    >>> bound = error_bound(model, method="radii", rule="randomized", X_new=X_new)
    >>> bool(bound.value >= model.worst_case_error_), bound.exceedance.n_instances
    (True, 500)
    """
    if method not in METHODS:
        raise ValueError(f"method must be 'best', 'holdout', 'agreement' or 'radii', got {method!r}.")
    check_confidence(confidence)
    if n_folds is not None and not (is_integer(n_folds) and n_folds >= 2):
        raise ValueError(f"n_folds must be an integer of at least 2 or None, got {n_folds!r}.")
    if rule is not None and method != RADII:
        raise ValueError(f"rule must be None with method={method!r}; only method='radii' takes one rule.")
    if prevalence is not None and method in OWN_MIXTURE:
        raise ValueError(f"prevalence does not go with method={method!r}: {OWN_MIXTURE[method]}")
    random = check_random_state(random_state)
    if groups_new is not None:
        X_new = _one_of_each_group(X_new, groups_new, random)
    data = {"sample_weight": sample_weight, "X_unlabeled": X_unlabeled, "groups": groups}
    if method == RADII:
        return _by_radii(
            model,
            X,
            y,
            **data,
            transformer=transformer,
            rule=rule,
            X_new=X_new,
            limit=confidence,
            n_folds=n_folds,
        )
    judged = _Judged.of(model, X, y, **data, transformer=transformer, must_match=method == "best")
    if prevalence is not None:
        prevalence = checked_prevalence(prevalence, judged.sample.data.classes.tolist())
        return _for_prevalence(
            judged, method, prevalence, test_size=test_size, confidence=float(confidence), random=random
        )
    if method != "best":
        return _by_samples(judged, method, X_new, test_size=test_size, confidence=confidence, random=random)
    return _best(
        judged,
        X_new=X_new,
        test_size=test_size,
        confidence=float(confidence),
        n_folds=n_folds,
        only_if_smaller=only_if_smaller,
        random=random,
    )


def _by_radii(
    model: Any,
    X: Any,
    y: Any,
    *,
    transformer: Any,
    rule: str | None,
    X_new: Any,
    limit: float,
    n_folds: int | None,
    **more: Any,
) -> ErrorBound:
    fit, function = None, "error_bound with method='radii'"
    if X is None and y is None and not isinstance(model, PosedFit):
        model = certified(unwrapped(model)[0], function)
    else:
        fit = as_posed_fit(model, X, y, function=function, **more, transformer=transformer)
        model, transformer = fit.model, fit.transformer
    if reason := _not_as_given(transformer):
        raise ValueError(f"method='radii' cannot be used: {reason}")
    new = None if X_new is None else _checked_new(model, X_new, transformer)
    with suitable_threads(0 if fit is None else len(fit.data.labels)):
        found = bound_by_own_radii(
            model, fit, "predict" if rule is None else rule, new=new, limit=float(limit), n_folds=n_folds
        )
    if fit is None:
        return found
    weighted = JudgedSample(fit.data, None)
    found = replace(found, class_sizes=weighted.class_sizes, is_weighted=not weighted.are_alike)
    unit = None if fit.groups is None else codes_of_groups(fit.groups, len(fit.data.labels))
    used = np.flatnonzero(fit.data.weights[: len(fit.data.labels) - fit.data.n_unlabeled] > 0)
    groups = None if unit is None else unit[used]
    rows = take_rows(fit.X, used)
    doubt = reason_against_independence(rows, np.asarray(fit.y)[used], groups)
    if not doubt and X_new is not None:
        doubt = reason_against_one_law(rows, X_new, groups)
    return without_probability(found, doubt)


@dataclass(frozen=True)
class _Judged:
    """A classifier and the samples that it is judged by; ``fit`` is None for one that has no certificate.

    ``learner`` is fitted anew, ``model`` is what statements about this very model are about.
    """

    model: Any
    learner: Any
    transformer: Any
    X: Any
    sample: JudgedSample
    fit: PosedFit | None
    learns_groups: bool
    left_out: dict[str, str]  # methods that the kind of the model rules out

    @classmethod
    def of(
        cls, model: Any, X: Any, y: Any, *, transformer: Any, groups: Any, must_match: bool, **more: Any
    ) -> _Judged:
        """With ``must_match`` a certified model must have been fitted on these data."""
        if isinstance(model, PosedFit) or (must_match and has_proof(model)):
            fit = as_posed_fit(model, X, y, groups=groups, **more, transformer=transformer)
            if must_match:
                return cls._of_fit(fit)
            more = {"sample_weight": fit.sample_weight}
            model, X, y, groups, transformer = fit.model, fit.X, fit.y, fit.groups, fit.transformer
            learner = fit.learner
        else:
            learner = model
        check_classifier("model", learner)
        if X is None or y is None:
            raise ValueError("X and y must be passed: samples, and their labels.")
        if more.get("sample_weight") is not None:
            raise ValueError(NO_WEIGHTS)
        if more.get("X_unlabeled") is not None:
            raise ValueError("X_unlabeled is for a fitted MinimaxRiskClassifier; leave it out.")
        labels = check_labels(X, y, groups=groups)
        classes, codes = np.unique(labels, return_inverse=True)
        unit = None if groups is None else codes_of_groups(groups, len(labels))
        sample = JudgedSample(TrainingData(X, classes, codes, np.ones(len(codes))), unit)
        return cls(model, learner, transformer, X, sample, None, True, {RADII: NOT_CERTIFIED})

    @classmethod
    def _of_fit(cls, fit: PosedFit) -> _Judged:
        model = fit.model
        # A probability is stated, so that weights are counts only if the user says so.
        kind = "counts" if model._parameters_of_set().weight_kind == "counts" else "importance"
        plain = training_data_of(
            model,
            fit.X_transformed,
            fit.y,
            fit.sample_weight,
            with_class_weight=False,
            weight_kind=kind,
        )
        unit = None if fit.groups is None else codes_of_groups(fit.groups, len(plain.labels))
        sample, left_out, learns_groups = JudgedSample(plain, unit), {}, fit.groups is not None
        if unit is not None and _is_valid(fit):
            sample = replace(sample, data=replace(plain, groups=unit))
        elif unit is not None:
            left_out[RADII] = LACKS_GROUPS
            more = {"sample_weight": fit.sample_weight, "X_unlabeled": fit.X_unlabeled}
            fit = PosedFit(model, fit.X, fit.y, **more, transformer=fit.transformer, learner=fit.learner)
        check_same_data(fit)
        if not can(model, OWN_RADII):
            left_out[RADII] = NOT_CERTIFIED
        if reason := _not_as_given(fit.transformer):
            left_out[RADII] = reason
        return cls(model, fit.learner, fit.transformer, fit.X, sample, fit, learns_groups, left_out)

    @cached_property
    def rows(self) -> Any:
        """The instances that count; a copy only where others do not."""
        used = self.sample.rows
        return self.X if len(used) == len(self.sample.data.labels) else take_rows(self.X, used)

    @property
    def labels(self) -> Any:
        """Of the rows that count."""
        return self.sample.data.classes[self.sample.data.labels[self.sample.rows]]

    @property
    def groups(self) -> Any:
        return None if self.sample.unit is None else self.sample.unit[self.sample.rows]

    @cached_property
    def doubt(self) -> str:
        """Why the samples are not independent, if they do not look so."""
        return reason_against_independence(self.rows, self.labels, self.groups)

    def doubt_about(self, X_new: Any) -> str:
        return reason_against_one_law(self.rows, X_new, self.groups)

    def holdout(self, test_size: Any, confidence: float, random: Any, **more: Any) -> ErrorBound:
        _refuse_what_cannot_be_fitted(self.learner)
        _refuse_what_cannot_be_fitted(self.transformer)
        learner = fresh_copy(self.learner, callback=None, verbose=False, certify=False)
        if self.transformer is not None:
            learner = make_pipeline(self.transformer, learner)
        return holdout_bound(
            learner,
            self.rows,
            self.labels,
            test_size=test_size,
            groups=self.groups,
            learns_groups=self.learns_groups,
            confidence=confidence,
            random=random,
            **more,
        )

    def named(self, X_new: Any) -> Any:
        """The labels that the model gives to new instances."""
        check_is_fitted(self.model)
        seen = X_new if self.transformer is None else self.transformer.transform(X_new)
        names = np.asarray(self.model.predict(seen))
        if len(names) < 2:
            raise ValueError(f"X_new must hold at least 2 instances, got {len(names)}.")
        return names

    def agreement(self, half: ErrorBound, X_new: Any, named: Any, confidence: float) -> ErrorBound:
        found = agreement_bound(self.model, half, X_new, named, confidence=confidence)
        return replace(found, n_train=len(self.sample.rows))


def _by_samples(
    judged: _Judged, method: str, X_new: Any, *, test_size: Any, confidence: float, random: Any
) -> ErrorBound:
    """A hold-out alone, or what it says about the model itself, at the whole confidence."""
    doubt, named = "", None
    if method == AGREEMENT:
        if X_new is None:
            raise ValueError("method='agreement' needs new instances, without labels: pass X_new.")
        named = judged.named(X_new)
    found = judged.holdout(test_size, confidence, random)
    if method == AGREEMENT:
        found = judged.agreement(found, X_new, named, confidence)
        doubt = judged.doubt or judged.doubt_about(X_new)
    return _about(without_probability(found, judged.doubt or doubt), judged)


def _for_prevalence(
    judged: _Judged,
    method: str,
    prevalence: dict[Any, float],
    *,
    test_size: Any,
    confidence: float,
    random: Any,
) -> ErrorBound:
    """The hold-out for another mixture of classes, with ``"best"`` beside the exact error of one class."""
    n_held_out(test_size, judged.sample.n_units, judged.sample.units)  # refused before any work
    constant = majority_error(judged.sample, prevalence, confidence)
    try:
        if not judged.sample.are_alike:
            raise ValueError(NO_WEIGHTS)
        found = judged.holdout(test_size, confidence, random, prevalence=prevalence)
    except ValueError as obstacle:
        if method != "best":
            raise
        found = replace(constant, left_out={HOLDOUT: str(obstacle), **OWN_MIXTURE})
    else:
        found = without_probability(found, judged.doubt)
        if method == "best":
            found = replace(found, alternatives=(constant,), left_out=OWN_MIXTURE)
    return _about(found, judged)


def checked_prevalence(prevalence: Any, classes: list[Any]) -> dict[Any, float]:
    """In the order of the classes, those without a sample at the end."""
    how = "pass a share for every class, such as {'ill': 0.05, 'well': 0.95}"
    if not isinstance(prevalence, Mapping):
        raise ValueError(f"prevalence must be a mapping, got {prevalence!r}; {how}.")
    if missing := [label for label in classes if label not in prevalence]:
        raise ValueError(f"prevalence has no share of class {missing[0]!r}; {how}.")
    for label, share in prevalence.items():
        if not (is_number(share) and 0.0 < share <= 1.0):
            raise ValueError(f"prevalence of class {label!r} must be a positive share, got {share!r}; {how}.")
    total = sum(map(float, prevalence.values()))
    if abs(total - 1.0) > ROUNDING:
        raise ValueError(f"the shares of prevalence must sum to 1, got {total:.6g}; {how}.")
    ordered = [*classes, *(label for label in prevalence if label not in classes)]
    return {label: float(prevalence[label]) for label in ordered}


def _about(found: ErrorBound, judged: _Judged) -> ErrorBound:
    """The bound and its alternatives with the mixture of classes that they are about."""
    sample, more = judged.sample, ""
    known = found.prevalence or sample.data.classes.tolist()
    unseen = set(getattr(judged.model, "classes_", ())) - set(known)
    if unseen:
        more = f" It leaves out samples of {listed(unseen)}, of which these data have none."

    def of_sample(one: ErrorBound) -> ErrorBound:
        return replace(one, class_sizes=sample.class_sizes, is_weighted=not sample.are_alike)

    others = tuple(of_sample(one) for one in found.alternatives)
    return replace(of_sample(found), assumption=found.assumption + more, alternatives=others)


def _best(
    judged: _Judged,
    *,
    X_new: Any,
    test_size: Any,
    confidence: float,
    n_folds: int | None,
    only_if_smaller: bool,
    random: Any,
) -> ErrorBound:
    sample, fit = judged.sample, judged.fit
    n_held_out(test_size, sample.n_units, sample.units)  # refused before any work
    new = None
    if X_new is not None and fit is not None:
        new = _checked_new(fit.model, X_new, judged.transformer)
    named = None if X_new is None else judged.named(X_new)
    left_out = _ruled_out(sample, has_new=X_new is not None or n_folds is not None) | judged.left_out
    methods = [method for method in (HOLDOUT, RADII, MAJORITY) if method not in left_out]
    levels = _levels(1.0 - confidence, methods, has_new=X_new is not None)
    found: list[ErrorBound] = []

    def by_method(method: str) -> list[ErrorBound]:
        if method == HOLDOUT:
            return [judged.holdout(test_size, 1.0 - levels[method], random, class_confidence=confidence)]
        if method == MAJORITY:
            return [majority_bound(sample, levels[method], random)]
        assert fit is not None
        smallest = min((one.value for one in found), default=1.0)
        with suitable_threads(len(fit.data.labels)):
            return bounds_by_new_radii(
                fit,
                sample,
                new=new,
                delta=levels[RADII],
                excess_delta=levels[EXCESS],
                confidence=confidence,
                n_folds=n_folds,
                smallest_so_far=smallest if only_if_smaller else None,
            )

    for method in methods:
        # The arguments are in order, so that it is the data that do not allow it.
        try:
            found += by_method(method)
        except ValueError as obstacle:
            left_out[method] = str(obstacle)
    if X_new is not None:
        halves = [one for one in found if one.method == HOLDOUT]
        found += [
            replace(judged.agreement(one, X_new, named, confidence), stands_alone=True) for one in halves
        ]
    unlike = "" if X_new is None or judged.doubt else judged.doubt_about(X_new)
    found = [
        without_probability(one, judged.doubt or (unlike if one.method in (AGREEMENT, RADII) else ""))
        for one in found
    ]
    # Together they hold with the confidence asked for.
    found = [replace(one, confidence=confidence if one.has_probability else None) for one in found]
    found.sort(key=_rank)
    if not found or found[0].method != MAJORITY:
        found = [_majority_alone(one, sample, confidence, random) for one in found]
    return _about(_smallest(found, confidence, left_out, n_classes=len(sample.data.classes)), judged)


def _rank(one: ErrorBound) -> Any:
    """The smallest that has a probability first."""
    return not one.has_probability, one.stands_alone, one.value


def _majority_alone(one: ErrorBound, sample: JudgedSample, confidence: float, random: Any) -> ErrorBound:
    """The limit of the most common class at a level of its own, where another bound is the smallest."""
    if one.method != MAJORITY or not one.has_probability:
        return one
    return replace(most_common_bound(sample, 1.0 - confidence, random), stands_alone=True)


def _smallest(
    found: Sequence[ErrorBound], confidence: float, left_out: dict[str, str], *, n_classes: int
) -> ErrorBound:
    """The smallest bound with a probability, the others beside it, and the limits class by class."""
    per_class = next((one.per_class for one in found if one.per_class), ())
    found = sorted((replace(one, per_class=()) for one in found), key=_rank)
    if found and found[0].has_probability and not found[0].stands_alone:
        first, others = found[0], found[1:]
    else:
        first, others = ErrorBound(1.0, NONE, "constant", confidence, None, n_classes), found
    return replace(first, per_class=per_class, alternatives=tuple(others), left_out=left_out)


def _ruled_out(sample: JudgedSample, *, has_new: bool) -> dict[str, str]:
    """Methods that the arguments rule out, whatever the values in the data are."""
    reasons = {}
    if not sample.are_alike:
        reasons[HOLDOUT] = NO_WEIGHTS
    if not has_new:
        reasons[RADII] = "there are no new instances, and no folds of cross-fitting in their place."
    if sample.data.counts is not None and not sample.are_alike:
        reasons[MAJORITY] = "weights that are not counts do not say how many samples a class has."
    elif sample.unit is not None and not sample.are_alike:
        reasons[MAJORITY] = "one sample of each group is drawn, which does not go with sample_weight."
    return reasons


def _refuse_what_cannot_be_fitted(learner: Any) -> None:
    """A copy of it must learn from the samples that are not held out, and from nothing else."""
    if learner is None:
        return
    parts = [learner, *learner.get_params(deep=True).values()]
    if any(type(part).__name__ == "FrozenEstimator" or str(part) == "prefit" for part in parts):
        raise ValueError(
            "a hold-out fits a copy of the model on some of the samples, and part of this one is frozen: it "
            "has seen the others. Pass it without FrozenEstimator, and without cv='prefit'."
        )
    if is_pairwise(learner):
        raise ValueError(
            "a hold-out needs X, not a precomputed kernel; pass X, and the kernel as a function."
        )


def _not_as_given(transformer: Any) -> str:
    """Why there are no bounds by radii; empty if there are."""
    reason = reason_against_features(transformer)
    return reason and f"bounds by radii take the features as given, and {reason}; a hold-out fits it again."


def _checked_new(model: Any, X_new: Any, transformer: Any) -> DataMatrix:
    new = check_new_data(model, X_new if transformer is None else transformer.transform(X_new))
    if new.shape[0] < 2:
        raise ValueError(f"X_new must hold at least 2 instances, got {new.shape[0]}.")
    return new


def _one_of_each_group(X_new: Any, groups_new: Any, random: Any) -> Any:
    if X_new is None:
        raise ValueError("groups_new says which rows of X_new belong together: pass X_new, too.")
    unit = codes_of_groups(groups_new, num_samples(X_new), argument="groups_new")
    return take_rows(X_new, np.sort(one_of_each(unit, random)))


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
