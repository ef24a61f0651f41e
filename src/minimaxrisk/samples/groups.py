"""Groups of samples that are not independent, such as the measurements of one patient."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimaxrisk._utils.arguments import is_missing
from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.exceptions import TooFewSamplesError
from minimaxrisk.samples.labels import without_mask


def codes_of_groups(groups: Any, n_samples: int, argument: str = "groups") -> IntArray:
    """Return groups as numbers 0, 1, ... in the order of their first samples."""
    groups = without_mask(groups)
    # A list with NaN among strings would become the string "nan" in a plain conversion.
    names = np.asarray(groups, dtype=object if isinstance(groups, list | tuple) else None)
    if names.shape != (n_samples,):
        raise ValueError(
            f"{argument} must be 1-D with one entry for each of the {n_samples} samples, got shape "
            f"{names.shape}."
        )
    missing = [i for i, name in enumerate(names) if is_missing(name)]
    if missing:
        raise ValueError(f"{argument} has no entry at position {missing[0]}; every sample needs one.")
    code: dict[Any, int] = {}
    return np.array([code.setdefault(name, len(code)) for name in names.tolist()], dtype=np.intp)


def differences_within(units: IntArray, values: np.ndarray) -> IntArray:
    """Return the rows whose value differs from that of the first row of their unit."""
    first = np.unique(units, return_index=True)[1]
    return np.flatnonzero(values != values[first][units])


def labels_within(units: IntArray, labels: IntArray, n_classes: int | None = None) -> BoolArray:
    """Return which units have samples of which classes (n_units x K)."""
    n_classes = int(labels.max()) + 1 if n_classes is None else n_classes
    has = np.zeros((int(units.max()) + 1, n_classes), dtype=np.bool_)
    has[units, labels] = True
    return has


def labels_of_units(units: IntArray, labels: IntArray, n_classes: int) -> IntArray:
    """Return the class that each unit counts for where classes are dealt out: that of its samples.

    A unit with samples of several classes counts for the one of them that has the fewest units so far.
    """
    has = labels_within(units, labels, n_classes)
    label = np.argmax(has, axis=1)
    is_mixed = has.sum(axis=1) > 1
    sizes = np.bincount(label[~is_mixed], minlength=n_classes)
    for unit in np.flatnonzero(is_mixed):
        own = np.flatnonzero(has[unit])
        label[unit] = own[np.argmin(sizes[own])]
        sizes[label[unit]] += 1
    return label


def check_groups(groups: Any, weights: FloatArray) -> IntArray | None:
    """Return groups as numbers, without rows of weight zero; None if every group is a single sample."""
    codes, used = np.zeros(len(weights), dtype=np.intp), np.flatnonzero(weights)
    codes[used] = np.unique(codes_of_groups(groups, len(weights))[used], return_inverse=True)[1]
    if not codes.any():
        raise TooFewSamplesError(
            "groups must name at least 2 groups, but all samples are in one; a group holds samples that are "
            "not independent, such as the measurements of one patient."
        )
    # A row of weight 2 is two samples of its group.
    is_alone = codes.max() + 1 == len(used) and (weights[used] == 1.0).all()
    return None if is_alone else codes
