"""What a hold-out says: errors counted on samples that took no part in the fit.

With k errors among n independent samples the error probability is below the limit of Clopper and Pearson,

    the p at which k errors or fewer have probability 1 - confidence,

with the probability asked for, whatever the classifier and whatever the distribution. The limit is exact, it
needs no radii and no assumption but independent samples; its price are the samples that the model does not
learn from. It is about the model that was fitted on the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.utils import check_random_state

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk._utils.checks import check_confidence, is_integer, is_number
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk._utils.rows import rows_of
from minimaxrisk.samples.validation import check_labels, codes_of_groups


@dataclass(frozen=True)
class HoldoutBound:
    """An upper limit on the error of a model, from samples that it has not seen.

    ``float(...)`` of it is the limit; printed, it is the statement.

    Attributes
    ----------
    value : float
        The limit on the probability that ``model.predict`` errs on a new sample. With groups: on a sample
        drawn from a new group.
    n_errors, n_test : int
        Errors, and samples they were counted on: of each group that was held out one, drawn at random.
    n_train : int
        Samples that the model was fitted on.
    confidence : float
        The probability with which the limit holds.
    model : estimator
        The fitted model that it is about.
    statement : str
        All of it in words.
    """

    value: float
    n_errors: int
    n_test: int
    n_train: int
    confidence: float
    model: Any = field(repr=False)
    statement: str = field(repr=False)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return self.statement


def holdout_bound(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    test_size: float | int = 0.5,
    groups: Any = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> HoldoutBound:
    """Fit a copy of a classifier on one part of the samples, count its errors on the other.

    Parameters
    ----------
    estimator : scikit-learn classifier
        Any one, pipelines and searches included; it is cloned.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Instances. Samples must be independent; where several belong together, say so with ``groups``.
    y : array-like of shape (n_samples,)
        Their labels.
    test_size : float or int, default=0.5
        The part that is held out, as a fraction of the samples (or groups) or as their number. It is drawn at
        random, without regard to the labels, since the limit is exact then.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples of one group, such as the replicates of a patient, go to one part together. Of each group that
        is held out one sample is drawn and counted: samples of the same group are not independent.
    confidence : float, default=0.95
        The probability with which the limit is to hold.
    random_state : int, RandomState instance or None, default=None
        Seed of the split. Choose it before you look at results: the best of many splits is no limit.

    Returns
    -------
    HoldoutBound
        The limit, what it rests on, and the model that it is about.

    Raises
    ------
    ValueError
        If nothing is left to fit on or to count on, or if the part to fit on lacks a class.

    See Also
    --------
    best_guarantee : Puts such a limit beside those that need no samples to spare.

    Notes
    -----
    The limit is that of Clopper and Pearson: the p at which so few errors among the samples held out, or
    fewer, have probability ``1 - confidence``. It is exact for every classifier and every distribution.

    References
    ----------
    C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26, 1934.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from minimaxrisk import holdout_bound
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(200, 100, n_informative=10, effect=1.5, random_state=0)
    >>> bound = holdout_bound(LogisticRegression(), study.data, study.target, random_state=0)
    >>> bound.n_test
    100
    """
    check_confidence(confidence)
    y = check_labels(X, y)
    random = check_random_state(random_state)
    train, test = _split(y, groups, test_size, random)
    with quiet_fits():
        model = clone(estimator).fit(rows_of(X, train), y[train])
    n_errors = int(np.sum(np.asarray(model.predict(rows_of(X, test))) != y[test]))
    value = clopper_pearson_limit(n_errors, len(test), confidence)
    kind = "samples" if groups is None else "groups"
    statement = (
        f"With probability at least {confidence:g}, the error of predict of this {type(model).__name__}, "
        f"fitted on {len(train)} samples, is at most {value:.4f}: it erred on {n_errors} of {len(test)} "
        f"{kind} held out. That holds for every distribution if the {kind} are independent."
    )
    return HoldoutBound(value, n_errors, len(test), len(train), float(confidence), model, statement)


def clopper_pearson_limit(n_errors: float, n: float, confidence: float) -> float:
    """The probability of an error at which ``n_errors`` or fewer among n have probability 1 - confidence."""
    if n_errors >= n:
        return 1.0
    return float(stats.beta.ppf(confidence, n_errors + 1, n - n_errors))


def _split(y: np.ndarray, groups: Any, test_size: Any, random: Any) -> tuple[IntArray, IntArray]:
    """Rows to fit on, and rows to count errors on: one of each unit that is held out."""
    unit = np.arange(len(y)) if groups is None else codes_of_groups(groups, len(y))
    n_units = int(unit.max()) + 1
    n_test = n_held_out(test_size, n_units, "samples" if groups is None else "groups")
    held_out = np.zeros(n_units, dtype=np.bool_)
    held_out[random.permutation(n_units)[:n_test]] = True
    train = np.flatnonzero(~held_out[unit])
    first = one_of_each(unit, random)
    test = np.sort(first[held_out[unit[first]]])
    absent = np.setdiff1d(y, y[train])
    if len(absent):
        raise ValueError(
            f"the part to fit on holds no sample of class {absent.tolist()[0]!r}; use a smaller test_size, "
            "or leave out classes with so few samples."
        )
    return train, test


def one_of_each(unit: IntArray, random: Any) -> IntArray:
    """A row of each unit, drawn: the first one in a random order of the rows."""
    order = random.permutation(len(unit))
    first: IntArray = order[np.unique(unit[order], return_index=True)[1]]
    return first


def n_held_out(test_size: Any, n_units: int, kind: str) -> int:
    """How many of ``n_units`` samples or groups ``test_size`` means."""
    if is_integer(test_size):
        n_test = int(test_size)
    elif is_number(test_size) and 0.0 < test_size < 1.0:
        n_test = round(float(test_size) * n_units)
    else:
        raise ValueError(
            f"test_size must be a fraction between 0 and 1 or a number of {kind}, got {test_size!r}."
        )
    if not 1 <= n_test < n_units:
        raise ValueError(
            f"test_size={test_size!r} holds out {n_test} of {n_units} {kind}; at least one must be held out "
            "and one left to fit on."
        )
    return n_test
