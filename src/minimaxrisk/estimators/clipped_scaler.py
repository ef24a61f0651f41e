"""Robust scaling that limits the influence of outliers."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from minimaxrisk._utils.arrays import FloatArray, IntArray, refuse_elsewhere
from minimaxrisk._utils.sklearn_private import Interval, fit_context
from minimaxrisk.matrices.dense import column_blocks
from minimaxrisk.samples.columns import readable

# The standard deviation of a normal variable over its median absolute deviation.
NORMAL = 1.4826
# Relative differences from the centre up to this are rounding errors.
ROUNDING = 8 * np.finfo(np.float64).eps

FLOATS = (np.float64, np.float32)


class ClippedScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Centre columns at their medians, scale them by a robust standard deviation, and clip them.

    For measurements with outliers: they then do not dominate the mean and the deviation of a column, from
    which a minimax risk classifier learns. Labels are not used. ::

        model = make_pipeline(ClippedScaler(), MinimaxRiskClassifier()).fit(X, y)

    Parameters
    ----------
    limit : float, default=2.0
        Where columns are clipped, in robust standard deviations, on either side. ``np.inf`` clips nothing.

    Attributes
    ----------
    centre_ : ndarray of shape (n_features,)
        The medians; zeros after a fit on sparse data.
    scale_ : ndarray of shape (n_features,)
        The robust standard deviations. If more than half of the values equal the median, as in counts, the
        median absolute deviation is zero, and that of the values which differ from the median is used.
        Columns that do not vary beyond rounding have the scale 1.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had some.

    Notes
    -----
    A column becomes

    .. math:: z_j = \min(\max((x_j - m_j) / s_j, -c), c)

    with the median :math:`m_j`, :math:`s_j = 1.4826` times the median absolute deviation from it, which is
    the standard deviation of a normal column, and :math:`c` the ``limit``.

    Sparse input stays sparse: the centre is 0, and deviations are those from 0. For columns with more zeros
    than other values the result is that for dense input. Other columns are scaled by their size and not by
    their spread; convert such data to dense, if they fit in memory.

    float32 stays float32. An error bound of a classifier on clipped columns is about clipped columns, such as
    those of new samples after ``transform``. It takes medians and scales as given, not as estimates.

    Examples
    --------
    >>> import numpy as np
    >>> from minimaxrisk import ClippedScaler
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0], [1000.0]])
    >>> ClippedScaler().fit_transform(X).ravel().round(2).tolist()
    [-1.35, -0.67, 0.0, 0.67, 2.0]
    """

    n_features_in_: int
    feature_names_in_: np.ndarray

    _parameter_constraints: ClassVar[dict[str, Any]] = {"limit": [Interval(Real, 0, None, closed="right")]}

    def __init__(self, *, limit: float = 2.0) -> None:
        self.limit = limit

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the medians and the robust standard deviations of the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Instances.
        y : None, default=None
            Not used; there for pipelines.

        Returns
        -------
        self
            The fitted scaler.

        Raises
        ------
        ValueError
            If differences between the values of a column overflow.
        """
        refuse_elsewhere(X, "ClippedScaler")
        X = validate_data(self, readable(X), accept_sparse=["csc", "csr"], dtype=FLOATS)
        self._limit = self.limit
        if sparse.issparse(X):
            self.centre_, self.scale_ = np.zeros(X.shape[1]), _sparse_scale(X)
        else:
            self.centre_, self.scale_ = _dense_centre_and_scale(X)
        too_wide = np.flatnonzero(~np.isfinite(self.scale_))
        if len(too_wide):
            raise ValueError(
                f"X must hold values whose differences are finite numbers, but those of column {too_wide[0]} "
                "overflow; divide it by a large number."
            )
        return self

    def transform(self, X: Any) -> Any:
        """Scale and clip the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            The scaled and clipped columns, dense or sparse as X is.

        Raises
        ------
        ValueError
            If X is sparse and the scaler was fitted on dense data, whose medians it subtracts.
        """
        check_is_fitted(self)
        refuse_elsewhere(X, "ClippedScaler")
        X = validate_data(self, readable(X), accept_sparse=["csc", "csr"], dtype=FLOATS, reset=False)
        if sparse.issparse(X):
            if self.centre_.any():
                raise ValueError(
                    "X must be dense, because the scaler was fitted on dense data and subtracts their "
                    "medians, which sparse data do not allow. Fit it on sparse data, or pass X.toarray()."
                )
            scaled = X.copy()
            with np.errstate(over="ignore"):  # beyond the largest number is beyond the limit
                values = X.data / self.scale_[_columns_of_entries(X)]
            scaled.data = np.clip(values, -self._limit, self._limit).astype(X.dtype)
            return scaled
        scaled = np.empty_like(X)
        for part in column_blocks(X.shape[1], X.shape[0]):
            with np.errstate(over="ignore"):
                values = _deviations(X[:, part], self.centre_[part]) / self.scale_[part]
            scaled[:, part] = np.clip(values, -self._limit, self._limit)
        return scaled

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _dense_centre_and_scale(X: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Block by block, because medians of all columns at once would need one or two more copies of X."""
    centre, scale = np.empty(X.shape[1]), np.empty(X.shape[1])
    for part in column_blocks(X.shape[1], X.shape[0]):
        block = X[:, part].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            centre[part] = np.median(block, axis=0)
            size = np.abs(_deviations(block, centre[part]))
            deviation = np.median(size, axis=0)
        # More than half of the values equal the median: use those that differ.
        for j in np.flatnonzero(deviation == 0.0):
            differs = size[:, j] > 0.0
            deviation[j] = np.median(size[differs, j]) if differs.any() else 0.0
        scale[part] = _scale_of(deviation)
    return centre, scale


def _deviations(block: np.ndarray, centre: FloatArray) -> FloatArray:
    """In double precision, with rounding errors set to zero, so that a constant column stays constant."""
    deviations = block.astype(np.float64, copy=False) - centre
    deviations[np.abs(deviations) <= ROUNDING * np.abs(centre)] = 0.0
    return deviations


def _sparse_scale(X: Any) -> FloatArray:
    """From the stored entries, sorted by size within each column after the zeros that are not stored."""
    X = sparse.csc_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    n, starts, n_stored = X.shape[0], X.indptr[:-1], np.diff(X.indptr)
    size = np.abs(X.data)
    size = np.append(size[np.lexsort((size, _columns_of_entries(X)))], 0.0)  # index -1 is a zero
    n_zeros = n - n_stored

    def ordered(position: IntArray | int) -> FloatArray:
        """The entry at this position among all n."""
        is_zero = position < n_zeros
        return np.where(is_zero, 0.0, size[np.where(is_zero, -1, starts + position - n_zeros)])

    with np.errstate(over="ignore"):
        deviation = (ordered((n - 1) // 2) + ordered(n // 2)) / 2
        of_stored = (ordered(n_zeros + (n_stored - 1) // 2) + ordered(n_zeros + n_stored // 2)) / 2
    has_any = n_stored > 0
    deviation = np.where((deviation == 0.0) & has_any, of_stored, deviation)
    return _scale_of(deviation)


def _scale_of(deviation: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        scale = NORMAL * deviation
    return np.where(scale == 0.0, 1.0, scale)


def _columns_of_entries(X: Any) -> IntArray:
    if X.format == "csr":
        return X.indices
    return np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
