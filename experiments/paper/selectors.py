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

from experiments.harness.extras import require
from minimaxrisk._utils.arrays import FloatArray, IntArray

Selector = Callable[[Any, Any, int], IntArray]

# Part of all features that one step of the elimination removes.
RFE_STEP = 0.1


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
    """Minimum redundancy, maximum relevance: F statistic over mean absolute correlation (mrmr-selection).

    The package computes one column or row at a time in Python, which takes ten minutes for 10,000 features.
    It gets functions that compute the same numbers for all columns at once. Of these, the sum of the
    correlations ranks as their mean does, since all candidates are compared with the same selected features.
    """
    X, columns, n_features = _varying(X, n_features)
    with warnings.catch_warnings():
        # On import the package silences all warnings of the process.
        pandas, package = require("pandas"), require("mrmr")
        chosen = package.mrmr_classif(
            pandas.DataFrame(X),
            pandas.Series(np.asarray(y)),
            n_features,
            relevance=lambda X, y: pandas.Series(_relevance(X.to_numpy(), y.to_numpy())),
            redundancy=_Correlations(X, pandas.Series),
            denominator="sum",
            show_progress=False,
        )
    return columns[np.sort(np.asarray(chosen, dtype=np.intp))]


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


class _Correlations:
    """Pearson correlations of one column with others, as mrmr-selection asks for them."""

    def __init__(self, X: FloatArray, series: Any) -> None:
        centred = X - X.mean(axis=0)
        self._unit = centred / np.linalg.norm(centred, axis=0)
        self._series = series

    def __call__(self, *, target_column: int, features: list[int], X: Any) -> Any:
        correlations = self._unit[:, target_column] @ self._unit
        return self._series(correlations[features], index=features)
