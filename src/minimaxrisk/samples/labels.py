"""Checks of labels, and of the order of everything that has an entry for each row."""

from __future__ import annotations

from itertools import combinations
from typing import Any, cast

import numpy as np

from minimaxrisk._utils.arguments import is_missing
from minimaxrisk._utils.arrays import IntArray
from minimaxrisk._utils.sklearn_private import num_samples


def without_mask(values: Any) -> Any:
    """Return a masked array with None, which is refused, in place of what it hides; others as they are."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if not np.ma.is_masked(values):
        return values.data
    shown = values.data.astype(object)
    shown[values.mask] = None
    return shown


def check_label_values(y: Any) -> None:
    """Refuse None, NaN and pandas' NA among the labels, and labels that cannot be ordered."""
    if y is None:
        return  # scikit-learn raises its usual message
    y = without_mask(y)
    # A list with NaN among strings would become the string "nan" in a plain conversion.
    values = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.dtype.kind not in "Of" or values.ndim != 1:
        return
    missing = [i for i, value in enumerate(values) if is_missing(value)]
    if missing:
        raise ValueError(
            f"y has {len(missing)} missing label{'s' if len(missing) > 1 else ''} (first at position "
            f"{missing[0]}); every sample needs a label: drop those rows from X and y."
        )
    try:
        np.unique(values)
    except TypeError as error:
        kinds = sorted({type(value).__name__ for value in values})
        raise ValueError(
            f"y mixes labels of types that cannot be ordered ({', '.join(kinds)}); make them all of one type."
        ) from error


def refuse_other_order(X: Any, y: Any = None, **others: Any) -> None:
    """Refuse pandas objects with the same entries in their indices in another order.

    Rows are matched by position, so labels, weights or groups would go to other samples. ``others`` are all
    else that has an entry for each row, by the name of the argument.
    """
    indices = {name: getattr(each, "index", None) for name, each in {"X": X, "y": y, **others}.items()}
    of_pandas = [each for each in indices.items() if type(each[1]).__module__.startswith("pandas.")]
    for (first, ours), (name, theirs) in combinations(cast("list[tuple[str, Any]]", of_pandas), 2):
        if len(ours) != len(theirs) or ours.equals(theirs) or not (ours.is_unique and theirs.is_unique):
            continue
        if ours.isin(theirs).all():
            i = int(np.flatnonzero(np.asarray(ours != theirs))[0])
            raise ValueError(
                f"{name} has the index of {first} in another order, such as {theirs[i]!r} at row {i} where "
                f"{first} has {ours[i]!r}. Rows are matched by position: pass {name}.loc[{first}.index], "
                f"or {name}.to_numpy() if the order is right."
            )


def check_labels(X: Any, y: Any, **others: Any) -> np.ndarray:
    """Return labels as an array, one for each sample of X; ``others`` are for ``refuse_other_order``."""
    refuse_other_order(X, y, **others)
    check_label_values(y)
    labels, n = np.asarray(y), num_samples(X)
    if labels.shape == (n, 1):
        labels = labels.ravel()
    if labels.shape != (n,):
        raise ValueError(
            f"y must be 1-D with one label for each of the {n} samples, got shape {labels.shape}."
        )
    return labels


def positions_of_labels(labels: np.ndarray, classes: np.ndarray) -> IntArray:
    """Return the position of each label in the classes of a model."""
    is_own = labels[:, None] == classes
    unknown = np.flatnonzero(~is_own.any(axis=1))
    if len(unknown):
        raise ValueError(
            f"y must hold labels of the model, its classes_ are {classes.tolist()}; got "
            f"{labels.tolist()[unknown[0]]!r} at position {unknown[0]}."
        )
    return np.argmax(is_own, axis=1)
