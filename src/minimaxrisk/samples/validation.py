"""Validation of X, y, weights and groups, for fitting and for predicting.

Errors name the argument, what was expected, what was passed and what to do. Dask arrays are checked by their
metadata first, and then by their values, on the workers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from minimaxrisk._utils.arguments import is_missing
from minimaxrisk._utils.arrays import (
    DataMatrix,
    FloatArray,
    IntArray,
    asarray_like,
    is_foreign,
    namespace_of,
    stays_where_it_is,
    to_numpy,
)
from minimaxrisk._utils.dask_arrays import (
    computed,
    fetch,
    is_dask_array,
    is_lost,
    kept_if_it_fits,
    lazily,
    reduce_by_tree,
)
from minimaxrisk._utils.sklearn_private import check_n_features, check_sample_weight, num_samples
from minimaxrisk._utils.stored_tables import (
    LARGE,
    StoredArray,
    Table,
    is_in_chunks,
    is_memory_map,
    not_finite,
    take_rows,
)
from minimaxrisk.exceptions import TooFewSamplesError

Place = tuple[int, int, float]  # row, column, value
DECIMAL_COMMA, LOOKED_AT = re.compile(r"\s*[-+]?\d+,\d+\s*"), 5  # and in how many cells to look for it
# How pandas, polars and pyarrow call types of numbers and of dates, in small letters.
NUMBERS = re.compile(r"u?int\d|float|double|half|bool|decimal|sparse")
DATES = ("date", "time", "duration")


def check_dask_matrix(X: Any, y: np.ndarray | None = None) -> Any:
    """Finite numbers in chunks of known sizes, kept by the workers where they fit; float32 stays float32."""
    X = check_description(X)
    if any(np.isnan(size) for size in X.shape):
        raise ValueError(
            f"X is a dask array with chunks of unknown size (its shape is {X.shape}); call "
            "X = X.compute_chunk_sizes() first, or convert a dask DataFrame by to_dask_array(lengths=True)."
        )
    if min(X.shape) == 0:
        raise ValueError(f"X must have at least one sample and one feature, got shape {X.shape}.")
    if y is not None and len(y) != X.shape[0]:
        raise ValueError(
            f"X and y must have the same number of samples, got {X.shape[0]} rows of a dask array and "
            f"{len(y)} labels."
        )
    X = kept_if_it_fits(X)
    _refuse_not_finite(X)
    return X


def check_description(X: Any) -> Any:
    """Check what is known without computing; numbers other than float32 become float64, lazily."""
    if X.ndim != 2:
        raise ValueError(f"X must be 2-D, samples x features, got a dask array of {X.ndim} dimensions.")
    if X.dtype.kind not in "biuf":
        raise ValueError(
            f"X must be numeric, got a dask array of dtype {X.dtype}; encode non-numeric columns, and "
            "convert with X.astype(float)."
        )
    if not isinstance(X._meta, np.ndarray):
        raise ValueError(
            f"X must have NumPy arrays as chunks, got a dask array of {type(X._meta).__name__}; convert "
            "them, for example with X.map_blocks(lambda chunk: chunk.toarray()), or pass a SciPy matrix."
        )
    if is_lost(X):
        raise ValueError(
            "X was persisted by a dask client that is closed, and its chunks are lost; connect again and "
            "load X again."
        )
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _refuse_not_finite(X: Any) -> None:
    rows, columns = (np.cumsum([0, *sizes]).tolist() for sizes in X.chunks)
    looks = [
        lazily(first_not_finite, chunk, row, column)
        for row, line in zip(rows, X.to_delayed(), strict=False)
        for column, chunk in zip(columns, line, strict=False)
    ]
    (place,) = fetch([reduce_by_tree(looks, first_place)])
    if place is not None:
        raise not_finite(f"row {place[0]}", *place[1:])


def first_not_finite(chunk: np.ndarray, row: int = 0, column: int = 0) -> Place | None:
    """Place and value of the first NaN or infinity in a chunk that begins at the given row and column."""
    with np.errstate(over="ignore", invalid="ignore"):
        # If the sum of finite numbers overflows, the entries are checked one by one.
        if np.isfinite(chunk.sum(dtype=np.float64)):
            return None
    places = np.argwhere(~np.isfinite(chunk))
    if not len(places):
        return None
    i, j = places[0].tolist()
    return row + i, column + j, float(chunk[i, j])


def first_place(places: list[Place | None]) -> Place | None:
    return min((place for place in places if place is not None), key=lambda place: place[:2], default=None)


# What follows from the advice to leave out a class.
OTHERS_ALONE = "every statement is then about samples of the other classes alone"


@dataclass(frozen=True)
class TrainingData:
    """Validated training data; rows of weight zero are kept but not used.

    X is an array, a CSR matrix, or a ``Table`` that is not copied. The last ``n_unlabeled`` rows are
    instances without a label, of weight zero.
    """

    X: DataMatrix
    classes: np.ndarray
    labels: IntArray  # position in classes; 0 where the weight is zero
    weights: FloatArray
    n_unlabeled: int = 0
    # How many samples a row represents; None if that is its weight.
    counts: FloatArray | None = None
    # Rows of one group are not independent, as measurements of one patient; None if all rows are.
    groups: IntArray | None = None

    def part(self, rows: IntArray) -> TrainingData:
        """Some of the labelled rows; every class must be among them."""
        return TrainingData(
            X=take_rows(self.X, rows),
            classes=self.classes,
            labels=self.labels[rows],
            weights=self.weights[rows],
            counts=None if self.counts is None else self.counts[rows],
            groups=None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1],
        )


def check_training_data(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    class_weight: Any = None,
    weight_kind: str = "auto",
    X_unlabeled: Any = None,
    groups: Any = None,
    reset: bool = True,
) -> TrainingData:
    """Validate; with ``reset=False`` X must have the columns that ``estimator`` was fitted on."""
    X = readable(X)
    refuse_other_order(X, y, sample_weight=sample_weight, groups=groups)
    y, sample_weight, groups = (to_numpy(computed(each)) for each in (y, sample_weight, groups))
    check_label_values(y)
    try:
        X, y = _validated(estimator, X, y, reset=reset)
    except (TypeError, ValueError) as error:
        _explain_text_columns(X, error)
        _explain_not_finite(X, error)
        _explain_samples_in_columns(X, y, error)
        raise
    if sparse.issparse(X):
        X = canonical(X)
    weights = _check_weights(sample_weight, y)
    used = weights > 0
    labels = np.zeros(len(y), dtype=np.intp)
    classes, labels[used] = np.unique(y[used], return_inverse=True)
    # About few whole numbers or strings scikit-learn has nothing to say, and takes 0.3 ms for it.
    if y.dtype.kind not in "biuU" or 2 * len(classes) > len(y):
        check_classification_targets(y)
    if len(classes) < 2:
        raise ValueError(
            "y must hold at least 2 classes (samples of weight 0 do not count), got 1 class: "
            f"{classes.tolist()[0]!r}."
        )
    are_whole = bool((weights == np.rint(weights)).all())
    are_counts = are_whole if weight_kind == "auto" else weight_kind == "counts"
    # A weight of 1 is a sample, whatever weights mean.
    counts = weights if are_counts or np.array_equal(weights, used) else used.astype(np.float64)
    if class_weight is not None:
        weights = _apply_class_weight(class_weight, classes, labels, weights)
    data = TrainingData(
        X,
        classes,
        labels,
        weights,
        counts=None if counts is weights else counts,
        groups=None if groups is None else _check_groups(groups, weights),
    )
    return data if X_unlabeled is None else _with_unlabeled(estimator, data, X_unlabeled)


def check_new_data(estimator: Any, X: Any) -> DataMatrix:
    """Validate new instances: the columns must be those of the training data.

    Arrays on disk are checked when the columns that the model uses are read.
    """
    X = readable(X)
    try:
        X = _validated(estimator, X, reset=False)
    except (TypeError, ValueError) as error:
        _explain_text_columns(X, error)
        _explain_not_finite(X, error)
        _explain_other_columns(estimator, X, error)
        raise
    if isinstance(X, Table) and not X.stored.is_on_disk:
        X.stored.check_finite()
    return X


def check_table(X: Any, model: Any = None) -> Any:
    """A table as an array or a CSR matrix, to look at; it may have gaps, which are NaN.

    It must have the columns of a fitted ``model``, in their order where both have names.
    """
    X = readable(X)
    try:
        values = check_array(
            to_numpy(computed(X)),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            input_name="X",
        )
        if model is not None and hasattr(model, "feature_names_in_") and columns_of_frame(X)[0]:
            validate_data(model, X, reset=False, skip_check_array=True)
        elif model is not None:
            check_n_features(model, values, reset=False)
    except (TypeError, ValueError) as error:
        _explain_text_columns(X, error)
        _explain_not_finite(X, error)
        _explain_other_columns(model, X, error)
        raise
    return values


def _validated(estimator: Any, X: Any, *y: Any, reset: bool) -> Any:
    """scikit-learn's checks of X, and of ``y`` if there is one.

    They would read and copy large arrays. For these an array of the same shape that takes no memory is
    checked instead, and whether entries are finite is checked when they are first read.
    """
    if is_dask_array(X):
        labels = [validate_data(estimator, "no_validation", *y)] if y else []
        X = check_dask_matrix(X, *labels)
        validate_data(estimator, X, *labels, reset=reset, skip_check_array=True)
        return (X, *labels) if y else X
    if type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "to_dask_array"):
        # Its number of rows is not known, and scikit-learn would load all of it.
        raise TypeError(
            f"X is a dask {type(X).__name__}; pass X.to_dask_array(lengths=True), whose chunks have known "
            "sizes."
        )
    table = _as_it_is(X)
    if table is None:
        stays = stays_where_it_is(X)
        xp = namespace_of(X) if stays else np
        return validate_data(
            estimator,
            X,
            *y,
            reset=reset,
            accept_sparse="csr",
            dtype=[xp.float64, xp.float32],
            ensure_all_finite=not (stays and y),
        )
    if table.dtype.kind not in "biuf":
        raise ValueError(f"X must be an array of real numbers, got one of type {table.dtype}.")
    stand_in = np.broadcast_to(np.float32(0.0), X.shape)
    checked = validate_data(estimator, stand_in, *y, reset=reset, dtype=None, ensure_all_finite=False)
    return (table, checked[1]) if y else table


def _as_it_is(X: Any) -> Table | None:
    """A table on disk or a large array as a ``Table``; None for anything that may be copied."""
    if isinstance(X, Table):
        return X
    is_array = type(X) in (np.ndarray, np.memmap)
    is_large = is_array and X.size > LARGE and X.dtype.kind in "biuf"
    if is_in_chunks(X) or is_large or (is_array and is_memory_map(X)):
        return Table(StoredArray(X))
    return None


def _with_unlabeled(estimator: Any, data: TrainingData, X_unlabeled: Any) -> TrainingData:
    """Append instances without a label; they must have the columns of the labelled ones."""
    try:
        more = check_new_data(estimator, X_unlabeled)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X_unlabeled does not match X: {error}") from error
    if sparse.issparse(data.X) or sparse.issparse(more):
        X = canonical(sparse.vstack([sparse.csr_array(data.X), sparse.csr_array(more)]).tocsr())
    elif isinstance(data.X, Table) or isinstance(more, Table):
        X = np.vstack([_in_memory(data.X), _in_memory(more)])
    elif is_foreign(data.X):
        X = namespace_of(data.X).concat([data.X, asarray_like(data.X, to_numpy(more))], axis=0)
    else:
        X = np.vstack([data.X, to_numpy(more)])
    of_rows = {name: getattr(data, name) for name in ("labels", "weights", "counts", "groups")}
    padded = {name: np.pad(each, (0, more.shape[0])) for name, each in of_rows.items() if each is not None}
    return replace(data, X=X, n_unlabeled=more.shape[0], **padded)


def _in_memory(X: Any) -> np.ndarray:
    """A table as an array, unless it is large."""
    if not isinstance(X, Table):
        return X
    if X.size > LARGE:
        raise ValueError(
            f"X and X_unlabeled must be copied into one array, but one of them with {X.shape[0]} x "
            f"{X.shape[1]} entries is too large; leave out X_unlabeled, or pass selected columns of both."
        )
    X.stored.check_finite()
    return X.stored.rows_at(X.all_rows)


def readable(X: Any) -> Any:
    """X without what scikit-learn would misread: queries, dates that become numbers, masked entries."""
    if type(X).__name__ == "LazyFrame" and type(X).__module__.startswith("polars"):
        raise TypeError("X is a polars LazyFrame, which holds no values yet; pass X.collect().")
    _refuse_columns(X, lambda kind: not kind.startswith(DATES))
    cell, column = X, 0
    while isinstance(cell, list | tuple) and cell:
        cell = cell[0]
    if isinstance(cell, np.ndarray) and cell.dtype == object:  # where NumPy's dates would become numbers, too
        dates = (i for i, each in enumerate(cell.flat) if isinstance(each, np.datetime64 | np.timedelta64))
        place = next(dates, None)
        if place is not None:
            cell, column = cell.flat[place], place % cell.shape[-1]
    if isinstance(cell, np.ndarray | np.generic) and cell.dtype.kind in "mM":
        raise _not_numeric(column, cell.dtype, cell.ravel()[:1].tolist())
    return without_mask(X)


def without_mask(values: Any) -> Any:
    """What a masked array hides as None, which is refused as a missing value; any other array as it is."""
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
    """Labels as an array, one for each sample of X; ``others`` are for ``refuse_other_order``."""
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
    """The position of each label in the classes of a model."""
    is_own = labels[:, None] == classes
    unknown = np.flatnonzero(~is_own.any(axis=1))
    if len(unknown):
        raise ValueError(
            f"y must hold labels of the model, its classes_ are {classes.tolist()}; got "
            f"{labels.tolist()[unknown[0]]!r} at position {unknown[0]}."
        )
    return np.argmax(is_own, axis=1)


def codes_of_groups(groups: Any, n_samples: int, argument: str = "groups") -> IntArray:
    """Groups as numbers 0, 1, ... in the order of their first samples."""
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
    """Rows whose value differs from that of the first row of their unit."""
    first = np.unique(units, return_index=True)[1]
    return np.flatnonzero(values != values[first][units])


def labels_of_units(units: IntArray, labels: IntArray, n_classes: int) -> IntArray:
    """The class that each unit counts for where classes are dealt out: that of its samples.

    A unit with samples of several classes counts for the one of them that has the fewest units so far.
    """
    has = np.zeros((int(units.max()) + 1, n_classes), dtype=np.bool_)
    has[units, labels] = True
    label = np.argmax(has, axis=1)
    is_mixed = has.sum(axis=1) > 1
    sizes = np.bincount(label[~is_mixed], minlength=n_classes)
    for unit in np.flatnonzero(is_mixed):
        own = np.flatnonzero(has[unit])
        label[unit] = own[np.argmin(sizes[own])]
        sizes[label[unit]] += 1
    return label


def units_of_labels(
    groups: IntArray, labels: np.ndarray, stratum: IntArray | None = None
) -> tuple[IntArray, IntArray, list[IntArray]]:
    """What a label belongs to when labels are permuted, a row of each, and the units that exchange labels.

    A label belongs to a group whose samples share it, and moves from group to group of a stratum. In a group
    with several labels each belongs to its sample, and they are exchanged within the group.
    """
    stratum = np.zeros(len(labels), dtype=np.intp) if stratum is None else stratum
    is_mixed = np.isin(groups, groups[differences_within(groups, labels)])
    stratum = np.where(is_mixed, stratum.max() + 1 + groups, stratum)
    unit = np.where(is_mixed, groups.max() + 1 + np.arange(len(labels)), groups)
    _, first, unit = np.unique(unit, return_index=True, return_inverse=True)
    return unit, first, [np.flatnonzero(stratum[first] == name) for name in np.unique(stratum)]


def refuse_differences_within(
    units: IntArray, values: np.ndarray, rows: IntArray, *, what: str, unit: str, advice: str
) -> None:
    """Raise if ``values`` differ between rows of one unit; ``rows`` are their positions."""
    differs = differences_within(units, values)
    if len(differs):
        i, j = rows[np.argmax(units == units[differs[0]])], rows[differs[0]]
        raise ValueError(
            f"{what} must be the same for all {unit}, but those at positions {i} and {j} differ; {advice}."
        )


def _check_groups(groups: Any, weights: FloatArray) -> IntArray | None:
    """Groups as numbers, without rows of weight zero; None if every group is a single sample."""
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


def columns_of_frame(X: Any) -> tuple[list[Any], list[Any]]:
    """Names and types of the columns of a frame of pandas or polars or a table of pyarrow; else none."""
    if hasattr(X, "column_names"):
        return list(X.column_names), list(X.schema.types)
    return (list(X.columns), list(X.dtypes)) if hasattr(X, "dtypes") and hasattr(X, "columns") else ([], [])


def columns_by_name(X: Any, names: list[Any]) -> Any:
    """Some columns of a frame of pandas or polars or a table of pyarrow, in this order."""
    return X[names] if hasattr(X, "iloc") else X.select(names)


def are_numbers(kind: Any) -> bool:
    """Whether a type of a column is one of numbers."""
    return NUMBERS.match(str(kind).lower()) is not None


def _refuse_columns(X: Any, is_wanted: Callable[[str], object], cause: Exception | None = None) -> None:
    """Refuse a frame with a column whose type, in small letters, is not wanted."""
    names, kinds = columns_of_frame(X)
    unwanted = {kind for kind in set(kinds) if not is_wanted(str(kind).lower())}
    for name, kind in zip(names, kinds, strict=True) if unwanted else ():
        if kind in unwanted:
            values = [cell.as_py() if hasattr(cell, "as_py") else cell for cell in islice(X[name], LOOKED_AT)]
            raise _not_numeric(name, kind, values) from cause


def _not_numeric(name: Any, kind: Any, values: list[Any]) -> ValueError:
    """The error for a column that is no numbers, with its first values."""
    advice = "drop the column or encode it as numbers"
    if values and all(DECIMAL_COMMA.fullmatch(str(value)) for value in values):
        advice = "if that is a decimal comma, read the file with decimal=','; else encode it as numbers"
    shown = f" (first value {values[0]!r})" if values else ""
    return ValueError(f"X must be numeric, but its column {name!r} has type {kind}{shown}; {advice}.")


def _explain_text_columns(X: Any, error: Exception) -> None:
    """If a data frame could not be made numeric, name the column."""
    if not any(words in str(error) for words in ("Complex data", "contains NaN", "contains infinity")):
        _refuse_columns(X, NUMBERS.match, error)


FILL = (
    " Missing values (NaN, null, NA) must be filled before, such as by SimpleImputer(strategy='median') as "
    "the first step of a pipeline, or their rows or columns dropped."
)


def _explain_not_finite(X: Any, error: Exception) -> None:
    """If scikit-learn found NaN or infinity, say where the first one is, and what helps."""
    if "contains NaN" not in str(error) and "contains infinity" not in str(error):
        return
    is_bad = np.isnan if "contains NaN" in str(error) else np.isinf
    if sparse.issparse(X):
        entries = sparse.coo_array(X)
        bad = np.flatnonzero(is_bad(entries.data))
        row, column = entries.row[bad], entries.col[bad]
    else:
        row, column = np.nonzero(is_bad(as_floats(X)))
    if len(row):
        first = np.lexsort((column, row))[0]
        names, _ = columns_of_frame(X)
        name = repr(names[column[first]]) if names else column[first]
        what = str(error).partition("\n")[0]  # then scikit-learn names classifiers that take missing values
        place = f"The first one is at row {row[first]}, column {name}."
        raise ValueError(f"{what} {place}{FILL if 'contains NaN' in what else ''}") from error


def as_floats(X: Any) -> np.ndarray:
    """An array, a list or a data frame; what is missing as NaN."""
    if hasattr(X, "isna"):  # pandas, whose NA is no number
        return X.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(to_numpy(X), dtype=np.float64)


def _explain_samples_in_columns(X: Any, y: Any, error: Exception) -> None:
    """If samples are in columns, advise to transpose X."""
    shape = np.shape(X) if not hasattr(X, "shape") else X.shape
    if "inconsistent numbers of samples" in str(error) and len(shape) == 2 and shape[1] == len(y):
        raise ValueError(
            f"{error}\nX has {shape[0]} rows and {shape[1]} columns, and y has {len(y)} labels: X needs one "
            "row per sample. If its samples are in columns, pass X.T."
        ) from error


def _explain_other_columns(estimator: Any, X: Any, error: Exception) -> None:
    """If a data frame has all columns of the training data, and others or another order, advise to select."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or "feature names should match" not in str(error):
        return
    if set(names) <= set(getattr(X, "columns", ())):
        raise ValueError(
            f"{str(error).rstrip()}\nX has all columns of the training data: pass them alone and in their "
            "order, X[list(model.feature_names_in_)]."
        ) from error


def canonical(X: DataMatrix) -> DataMatrix:
    """A copy in CSR with sorted indices, no duplicates and no stored zeros."""
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def _check_weights(sample_weight: Any, y: np.ndarray) -> FloatArray:
    weights = np.array(check_sample_weight(without_mask(sample_weight), y, dtype=np.float64))
    if (weights < 0).any():
        first = int(np.flatnonzero(weights < 0)[0])
        raise ValueError(f"sample_weight must not be negative, got {weights[first]} at position {first}.")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise ValueError("sample_weight is so large that its sum overflows; divide the weights.")
    if not (weights > 0).any():
        raise ValueError("sample_weight is zero for every sample; at least two classes need positive weight.")
    return weights


def _apply_class_weight(
    class_weight: Any, classes: np.ndarray, labels: IntArray, weights: FloatArray
) -> FloatArray:
    """Multiply the weights per class and keep their sum, which is the n of the radii."""
    total = weights.sum()
    if isinstance(class_weight, str) and class_weight == "balanced":
        factor = total / (len(classes) * np.bincount(labels, weights, minlength=len(classes)))
    else:
        factor = compute_class_weight(class_weight, classes=classes, y=classes)
    if not (np.isfinite(factor).all() and (factor > 0).all()):
        raise ValueError(
            "class_weight must be positive and finite for every class, got "
            f"{dict(zip(classes.tolist(), factor.tolist(), strict=True))}; to leave out a class, drop its "
            f"samples: {OTHERS_ALONE}."
        )
    weights = weights * factor[labels]
    return weights * (total / weights.sum())
