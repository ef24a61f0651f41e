"""Some rows of whatever users pass as X."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk._utils.namespaces import beside, is_foreign, namespace_of
from minimaxrisk._utils.sklearn_private import safe_indexing
from minimaxrisk._utils.stored_array import StoredArray, is_in_chunks
from minimaxrisk._utils.table import Table


def rows_of(X: Any, rows: IntArray) -> Any:
    """The rows of an array, a data frame, a sparse matrix of any format or a list, of the same kind.

    Those of an array in chunks are read into memory: others than our own estimators take no such array.
    """
    if is_foreign(X):
        return namespace_of(X).take(X, beside(X, rows), axis=0)
    if isinstance(X, Table):
        return X[rows]
    if is_in_chunks(X):
        return StoredArray(X).rows_at(rows)
    return safe_indexing(X.tocsr() if sparse.issparse(X) else X, rows)
