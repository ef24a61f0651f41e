"""The text formats of the NIPS 2003 feature selection challenge.

A line of a ``.data`` file is an instance: all its values, or, where it is sparse, the 1-based indices of
its ones, or ``index:value`` pairs. A line of a ``.labels`` file is -1 or 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, FloatArray
from minimaxrisk.datasets.labelled_table import LabelledTable, labelled_table


def parse_nips2003(
    files: Mapping[str, bytes], where: object, *, n_features: int | None = None
) -> LabelledTable:
    """The training rows followed by the validation rows; ``files`` are texts by lower-case file name."""
    train = [name for name in files if name.endswith("_train.data")]
    if len(train) != 1:
        raise ValueError(f"{where} must hold one file NAME_train.data, got {', '.join(train) or 'none'}.")
    stem = train[0].removesuffix("_train.data")
    wanted = [f"{stem}_{part}.{kind}" for kind in ("data", "labels") for part in ("train", "valid")]
    missing = [name for name in wanted if name not in files]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}.")
    rows: list[list[bytes]] = []
    labels: list[bytes] = []
    for data, targets in zip(wanted[:2], wanted[2:], strict=True):
        lines, answers = files[data].split(b"\n"), files[targets].split()
        # Newlines may end the file, but an empty line can also be a sparse instance without entries.
        while len(lines) > len(answers) and not lines[-1].strip():
            lines.pop()
        if len(lines) != len(answers):
            raise ValueError(f"{where}: {data} has {len(lines)} lines, but {targets} has {len(answers)}.")
        rows += [line.split() for line in lines]
        labels += answers
    wrong = sorted(set(labels) - {b"-1", b"1", b"+1"})
    if wrong:
        raise ValueError(f"{where} must have the labels -1 and 1, got {wrong[0].decode(errors='replace')!r}.")
    try:
        X = _matrix(rows, n_features)
    except ValueError as error:
        raise ValueError(f"{where} has a line that is not in the NIPS 2003 format: {error}.") from error
    return labelled_table(X, np.array([int(label) for label in labels]), where)


def _matrix(rows: Sequence[Sequence[bytes]], n_features: int | None) -> DataMatrix:
    widths = {len(row) for row in rows}
    are_pairs = any(b":" in row[0] for row in rows if row)
    if not are_pairs and len(widths) == 1 and n_features in {None, *widths}:
        return np.array(rows, dtype=np.bytes_).astype(np.float64)
    columns, values = _entries([token for row in rows for token in row], are_pairs=are_pairs)
    width = n_features or int(columns.max(initial=0)) + 1
    outside = columns[(columns < 0) | (columns >= width)]
    if outside.size:
        raise ValueError(f"indices must lie between 1 and {width}, got {outside[0] + 1}")
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    X = sparse.csr_matrix((values, columns, starts), shape=(len(rows), width))
    X.sort_indices()
    if any(len(set(X.indices[a:b])) < b - a for a, b in pairwise(X.indptr)):
        raise ValueError("an index occurs twice in one line")
    return X


def _entries(tokens: Sequence[bytes], *, are_pairs: bool) -> tuple[NDArray[np.int64], FloatArray]:
    """Columns, counted from 0, and values of sparse rows: pairs, or the places of ones."""
    if not are_pairs:
        columns = np.array([int(token) for token in tokens], dtype=np.int64) - 1
        return columns, np.ones(len(columns))
    pairs = [token.split(b":", 1) for token in tokens]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("expected index:value, got an index alone")
    columns = np.array([int(index) for index, _ in pairs], dtype=np.int64) - 1
    return columns, np.array([float(value) for _, value in pairs])
