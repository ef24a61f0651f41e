"""Digests by which training data are known again, however they are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix


def fingerprint(X: DataMatrix, y: np.ndarray | None, feature_names: np.ndarray) -> str:
    """SHA-256 of the numbers, the labels and the names of the columns, in this order of rows and columns.

    The same for all ways to store the numbers: of each row the places and values of those that are not 0.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The numbers.
    y : ndarray of shape (n_samples,) or None
        The labels; None for data without.
    feature_names : ndarray of str of shape (n_features,)
        Names of the columns.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from minimaxrisk.storage import fingerprint
    >>> X, y, names = np.eye(2), np.array([0, 1]), np.array(["a", "b"])
    >>> fingerprint(X, y, names) == fingerprint(sparse.csr_array(X), y, names)
    True
    """
    described = [X.shape, None if y is None else np.asarray(y).tolist(), list(map(str, feature_names))]
    digest = hashlib.sha256(json.dumps(described).encode())
    for columns, values in _nonzeros(X):
        digest.update(np.int64(len(columns)).tobytes())
        digest.update(columns.astype(np.int64).tobytes())
        digest.update(values.astype(np.float64).tobytes())
    return digest.hexdigest()


def _nonzeros(X: DataMatrix) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Places and values by row."""
    if not sparse.issparse(X):
        for row in X:
            columns = np.flatnonzero(row)
            yield columns, row[columns]
        return
    rows = sparse.csr_matrix(X, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    for start, end in pairwise(rows.indptr):
        yield rows.indices[start:end], rows.data[start:end]


def fingerprint_of_used(classifier: Any, X: DataMatrix, feature_names: np.ndarray) -> str:
    """Fingerprint of the selected columns alone, by which training data are known without their labels.

    Parameters
    ----------
    classifier : estimator
        Fitted, with ``selected_features_``.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The numbers, all columns.
    feature_names : ndarray of str of shape (n_features,)
        Names of all columns.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    used = classifier.selected_features_
    return fingerprint(X[:, used], None, feature_names[used])
