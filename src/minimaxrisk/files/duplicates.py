"""Features of the same name, such as the probes of one gene: merged, told apart, or refused."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk.files.options import ERROR, MAX, MEAN, SUFFIX
from minimaxrisk.files.problems import MERGE, counted, listed, repeated, require_unique

HOW = {
    MEAN: "averaged",
    MAX: "replaced by the largest of them in each sample",
    SUFFIX: "told apart by a number behind the name",
}


def without_duplicates(
    X: DataMatrix, names: Sequence[str], duplicates: str, where: object
) -> tuple[DataMatrix, list[str], str | None]:
    """Columns with names of their own, each in the place of the first so named, and a remark.

    Values that are missing in some of the columns to be merged are left to the others.
    """
    twice = set(repeated(names))
    if not twice:
        return X, list(names), None
    if duplicates == ERROR:
        require_unique(names, where, what="names of features", remedy=f"rename them, {MERGE}")
    n_columns = sum(name in twice for name in names)
    shown = listed([name for name in dict.fromkeys(names) if name in twice], 3)
    remark = f"{n_columns} columns share {counted(len(twice), 'name')} ({shown}) and were {HOW[duplicates]}."
    if duplicates == SUFFIX:
        return X, _numbered(names), remark
    code = {name: i for i, name in enumerate(dict.fromkeys(names))}
    codes = np.array([code[name] for name in names])
    merge = _merged_sparse if sparse.issparse(X) else _merged
    return merge(X, codes, duplicates), list(code), remark


def _numbered(names: Sequence[str]) -> list[str]:
    """The second of a name gets .2, or the first number that makes it a new one."""
    taken, found = set(names), []
    seen: set[str] = set()
    for name in names:
        if name in seen:
            name = next(new for i in itertools.count(2) if (new := f"{name}.{i}") not in taken)  # noqa: PLW2901
            taken.add(name)
        seen.add(name)
        found.append(name)
    return found


def _merged(X: FloatArray, codes: IntArray, duplicates: str) -> FloatArray:
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    by_name = X[:, order]
    if duplicates == MAX:
        return np.asarray(np.fmax.reduceat(by_name, starts, axis=1))
    known = ~np.isnan(by_name)
    n_known = np.add.reduceat(known.astype(np.float64), starts, axis=1)
    sums = np.add.reduceat(np.where(known, by_name, 0.0), starts, axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / n_known)


def _merged_sparse(X: DataMatrix, codes: IntArray, duplicates: str) -> DataMatrix:
    n, n_columns = int(codes.max()) + 1, len(codes)
    if duplicates == MEAN and not np.isnan(X.data).any():
        share = 1.0 / np.bincount(codes)[codes]
        return sparse.csr_matrix(
            X @ sparse.csr_matrix((share, (np.arange(n_columns), codes)), (n_columns, n))
        )
    by_name = X.tocsc()[:, np.argsort(codes, kind="stable")]
    sizes = np.bincount(codes)
    parts = []
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        part = by_name[:, end - size : end]
        if size > 1:
            part = sparse.csc_matrix(_merged(part.toarray(), np.zeros(size, dtype=np.intp), duplicates))
        parts.append(part)
    return sparse.csr_matrix(sparse.hstack(parts))
