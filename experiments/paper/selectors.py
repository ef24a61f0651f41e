"""The feature selectors that the paper's Table 3 compares with.

Each takes scaled training data and a number of features, and returns sorted column indices. Columns that are
constant in the training data are never chosen, so that there are fewer indices where fewer columns vary.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE, SelectKBest, f_classif
from sklearn.svm import LinearSVC

from minimaxrisk._utils.arrays import FloatArray, IntArray

Selector = Callable[[Any, Any, int], IntArray]

# Part of all features that one step of the elimination removes.
RFE_STEP = 0.1
# Correlations below it count as this much: a quotient by almost zero would rank above everything. Which
# columns are selected depends on the value. This is the one of the package mrmr-selection, with which the
# kept results were measured.
LEAST_CORRELATION = 1e-3


def rfe(X: Any, y: Any, n_features: int) -> IntArray:
    """Recursive feature elimination by the weights of a linear SVM with an L1 penalty.

    The SVM often stops at its limit of iterations when there are many more features than samples. It only
    ranks features here, so that scikit-learn's warning about it is silenced.
    """
    X, columns, n_features = _varying(X, n_features)
    svm = LinearSVC(penalty="l1", dual=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        support = RFE(svm, n_features_to_select=n_features, step=RFE_STEP).fit(X, y).get_support()
    return columns[support]


def anova(X: Any, y: Any, n_features: int) -> IntArray:
    """The features with the largest F statistics of a one-way analysis of variance."""
    X, columns, n_features = _varying(X, n_features)
    return columns[SelectKBest(_relevance, k=n_features).fit(X, y).get_support()]


def mrmr(X: Any, y: Any, n_features: int) -> IntArray:
    """Minimum redundancy, maximum relevance (Ding and Peng 2005), in its quotient form.

    One feature after the other: the one with the largest F statistic over its mean absolute correlation
    with those selected before; the first one by the F statistic alone.
    """
    X, columns, n_features = _varying(X, n_features)
    relevance, unit = _relevance(X, y), _unit_columns(X)
    chosen = [int(np.argmax(relevance))]
    # The sum ranks as the mean does: all candidates are compared with the same features.
    redundancy = np.zeros(len(columns))
    while len(chosen) < n_features:
        redundancy += np.maximum(np.abs(unit[:, chosen[-1]] @ unit), LEAST_CORRELATION)
        score = relevance / redundancy
        score[chosen] = -np.inf
        chosen.append(int(np.argmax(score)))
    return columns[np.sort(chosen)]


SELECTORS: dict[str, Selector] = {"RFE": rfe, "MRMR": mrmr, "ANOVA": anova}


def _varying(X: Any, n_features: int) -> tuple[FloatArray, IntArray, int]:
    """The columns that are not constant, their indices, and how many of them can be chosen."""
    X = np.asarray(X, dtype=np.float64)
    columns = np.flatnonzero(X.max(axis=0) > X.min(axis=0))
    if not 1 <= n_features <= X.shape[1]:
        msg = f"n_features must be from 1 to the {X.shape[1]} columns of X, got {n_features}"
        raise ValueError(msg)
    if not columns.size:
        msg = "Expected X to have a column that is not constant, got none; there is nothing to select from"
        raise ValueError(msg)
    return X[:, columns], columns, min(n_features, columns.size)


def _relevance(X: FloatArray, y: Any) -> FloatArray:
    """F statistics. One that is infinite, of a column constant within each class, becomes a huge number.

    The ratios of mRMR could not be compared otherwise: infinity over infinity is no number.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics, _ = f_classif(X, y)
    return np.nan_to_num(statistics, posinf=1e300)


def _unit_columns(X: FloatArray) -> FloatArray:
    """Centred columns of length 1, whose inner products are their correlations."""
    centred = X - X.mean(axis=0)
    return centred / np.linalg.norm(centred, axis=0)
