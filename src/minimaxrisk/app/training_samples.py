"""What a model file keeps of the training samples: nothing that belongs to one of them by name or place.

A certificate needs a mass for each sample, and the out-of-bag error of an ensemble needs what its members
predicted for each. With the names of the samples in their order, a model of one or two columns would give
their values back from these. So the file has them in an order that only those know who have the values: the
order of a sum over all columns.
"""

from __future__ import annotations

import zlib
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, IntArray
from minimaxrisk.guarantees.claims import moments_in_units_of
from minimaxrisk.guarantees.fitted_problem import FittedProblem

# Attributes with an entry per sample, and the axis of the samples.
PER_SAMPLE = {
    "worst_case_distribution_": 0,
    "oob_proba_": 0,
    "in_bag_": 1,
}
MOMENTS = ("tau_", "lambda_")
FEWEST_OF_CLASS = 3  # samples whose mean a file may hold


def detached(classifier: Any, X: DataMatrix, y: Any) -> Any:
    """Copy a fitted classifier without the order of its training samples.

    Predictions stay as they are. ``attached`` restores the order from the training data, for ``verify``.
    Means by class are left out if a class has fewer than three samples.

    Parameters
    ----------
    classifier : estimator
        A fitted classifier of this library. A kernel classifier holds the samples themselves, or a weight of
        each, and is returned as it is.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The training samples.
    y : array-like of shape (n_samples,)
        Their labels.

    Returns
    -------
    estimator
        The copy.
    """
    found = _in_order(classifier, _order(X, y))
    if np.unique(np.asarray(y), return_counts=True)[1].min() < FEWEST_OF_CLASS:
        final = found._final()
        for name in MOMENTS:
            if name in vars(final):
                setattr(final, name, np.full_like(vars(final)[name], np.nan))
    return found


def attached(classifier: Any, X: DataMatrix, y: Any, **fitting: Any) -> Any:
    """Copy a classifier of a model file, its samples in the order of these training data.

    Parameters
    ----------
    classifier : estimator
        What ``detached`` returned.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The training samples, in any order.
    y : array-like of shape (n_samples,)
        Their labels.
    **fitting : object
        What else ``FittedProblem`` takes: groups, and the scaler before the classifier as ``transformer``.

    Returns
    -------
    estimator
        A copy that ``verify`` takes with these data; of other data it is the classifier as it is.
    """
    final = classifier._final()
    if len(getattr(final, "worst_case_distribution_", ())) != X.shape[0]:
        return classifier
    found = _in_order(classifier, np.argsort(_order(X, y)))
    final = found._final()
    if np.isnan(vars(final).get("tau_", 0.0)).all() and np.array_equal(np.unique(y), final.classes_):
        posed: Any = FittedProblem(final, X, y, **fitting).posed_by_parameters
        final.tau_, final.lambda_ = moments_in_units_of(final._parameters_of_set(), posed.problem)
    return found


def _in_order(classifier: Any, order: IntArray) -> Any:
    """Copy with the entries of samples in another order."""
    found = copy(classifier)
    if classifier._final() is not classifier:
        found.estimator_ = _in_order(classifier.estimator_, order)
    for name, axis in PER_SAMPLE.items():
        value = vars(found).get(name)
        is_kernel = "dual_coef_" in vars(found)
        if value is not None and not is_kernel and value.shape[axis] == len(order):
            setattr(found, name, np.take(value, order, axis=axis))
    return found


def _order(X: DataMatrix, y: Any) -> IntArray:
    """An order of samples that depends on their values and labels alone, and not on the last digits."""
    weights = np.random.RandomState(0).uniform(1.0, 2.0, X.shape[1])
    values = (
        sparse.csr_array(X).arcsinh() if sparse.issparse(X) else np.arcsinh(np.asarray(X, dtype=np.float64))
    )
    key = np.asarray(values @ weights)
    # Samples with equal values and other labels must not be exchanged.
    of_label = {label: zlib.crc32(str(label).encode()) for label in np.unique(np.asarray(y)).tolist()}
    key = key + np.array([of_label[label] for label in np.asarray(y).tolist()]) / 2.0**32
    return np.argsort(key, kind="stable")
