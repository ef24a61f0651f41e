"""A checksum of a labelled table that does not depend on the file that holds it."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix


def content_sha256(X: DataMatrix, labels: Any) -> str:
    """Equal for equal tables, whatever the order of the rows, the names of the classes and the storage.

    Copies of a table go around as MATLAB and CSV files, in float32 and float64, dense and sparse, with labels
    such as 1 and 2 or ALL and AML. A row counts by its values other than zero and their places, a class by
    the set of its rows, the table by the set of its classes. Values count as float32, since readers of text
    differ in the last digit of a float64.
    """
    rows = sparse.csr_matrix(X)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    digests = np.array([_digest(rows[[i]]) for i in range(rows.shape[0])], dtype=object)
    labels = np.asarray(labels)
    classes = [b"".join(sorted(digests[labels == label])) for label in np.unique(labels)]
    return hashlib.sha256(b"".join(sorted(hashlib.sha256(rows).digest() for rows in classes))).hexdigest()


def _digest(row: sparse.csr_matrix) -> bytes:
    places, values = row.indices.astype("<i8"), row.data.astype("<f4")
    return hashlib.sha256(places.tobytes() + values.tobytes()).digest()
