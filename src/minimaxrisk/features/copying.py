"""Whether dense features are a float64 copy of the data or the data themselves: time against memory.

``copy="auto"`` copies

* tables of up to ``LARGE`` entries, whatever they are: the copy is at most half a gigabyte, and many small
  problems can share it;
* larger ones not at all.

A pass over a table in memory takes up to twice as long as one over a copy, and a fit takes some twenty of
them, about as long as making the copy: 1000 x 400,000 of float64 were fitted as fast without one. On disk a
pass takes as long as the disk does; with memory to spare ``True`` may be worth it. ``True`` copies in any
case, or says how much memory is missing; ``False`` never copies.
"""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.free_memory import free_memory
from minimaxrisk._utils.stored_array import LARGE
from minimaxrisk._utils.table import Table
from minimaxrisk.features.class_moments import ClassMoments
from minimaxrisk.features.dense import DenseFeatures, dense_features
from minimaxrisk.features.implicit import ImplicitFeatures, TooManyHeldColumnsError, implicit_features
from minimaxrisk.features.matrix import ColumnScale
from minimaxrisk.samples.instances import Instances

BYTES = np.dtype(np.float64).itemsize


def features_of_table(
    X: Table, instances: Instances, *, standardize: bool, fit_intercept: bool, copy: bool | str
) -> tuple[DenseFeatures | ImplicitFeatures, ClassMoments, ColumnScale]:
    """The scaled features of the instances, with or without a copy."""
    n_bytes = BYTES * instances.n_instances * X.shape[1]
    if is_copied(instances.n_instances, X.shape[1], copy):
        _refuse_large_copy(n_bytes, "a float64 copy of X", "use copy=False, which reads X where it is")
        return dense_features(X, instances, standardize=standardize, fit_intercept=fit_intercept)
    try:
        return implicit_features(X, instances, standardize=standardize, fit_intercept=fit_intercept)
    except TooManyHeldColumnsError as error:
        advice = "subtract column means from X, or use columns of the same size"
        if copy is False:
            raise ValueError(f"copy=False cannot be had: {error}; {advice}, or use copy=True.") from error
        _refuse_large_copy(n_bytes, f"{error}, and a float64 copy of X, which they need,", advice)
    return dense_features(X, instances, standardize=standardize, fit_intercept=fit_intercept)


def is_copied(n_instances: int, n_columns: int, copy: bool | str) -> bool:
    """What the parameter ``copy`` means for a dense table of this size."""
    return copy is True or (copy == "auto" and n_instances * n_columns <= LARGE)


def _refuse_large_copy(n_bytes: float, what: str, advice: str) -> None:
    free = free_memory()
    if free is not None and n_bytes > free:
        raise ValueError(
            f"{what} takes {n_bytes / 1e9:.2g} GB, but {free / 1e9:.2g} GB of memory are free; {advice}."
        )
