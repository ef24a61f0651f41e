"""The columns that are features: all that are left for a new model, those of the model for an old one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, FloatArray
from minimaxrisk.files.cells import TextArray, is_missing, is_word, number
from minimaxrisk.files.problems import counted, listed, nearest, require_unique
from minimaxrisk.files.quality import odd_whole_numbers
from minimaxrisk.files.sheet import Sheet, counts_lines
from minimaxrisk.files.target import transpose_hint

TRUTH = {"true": 1.0, "false": 0.0}


def training_features(
    sheet: Sheet, aside: set[str], where: object
) -> tuple[DataMatrix, list[str], list[str]]:
    """All columns of numbers but those aside, their names, and remarks."""
    remarks = []
    words = {name: column for name, column in sheet.texts.items() if name not in aside}
    truths = {name: column for name, column in words.items() if _is_truth(column)}
    others = {name: words[name] for name in words if name not in truths}
    advice = f"pass --ignore {next(iter(others), '')!r} for each that is no feature, and correct the others"
    _refuse_words(others, sheet, where, advice)
    keep = [j for j, name in enumerate(sheet.names) if name not in aside]
    X, names = columns_of(sheet.numbers, keep), [sheet.names[j] for j in keep]
    whole = odd_whole_numbers(X, names)
    if whole is not None:
        remarks.append(whole)
    if truths:
        X = with_columns(X, np.column_stack([truth_numbers(column) for column in truths.values()]))
        names += truths
        remarks.append(f"Columns of true and false were read as 1 and 0: {listed(truths)}.")
    if not names:
        raise ValueError(
            f"{where} must have columns of numbers beside names and labels, got none; "
            f"pass --delimiter if columns were not split.{transpose_hint(sheet)}{sheet.elsewhere}"
        )
    require_unique(names, where, what="names of features", remedy="rename them or pass --ignore")
    _refuse_empty(X, names, where)
    first = sheet.first
    if first is not None and first.name in names[:1] and len(first.cells) > 2 and counts_lines(first.cells):
        remarks.append(
            f"The feature {first.name!r} only counts the lines; if it is an index, pass "
            f"--ignore {first.name!r}."
        )
    return X, names, remarks


def model_features(
    sheet: Sheet, aside: set[str], features: Sequence[str], where: object
) -> tuple[DataMatrix, list[str]]:
    """The columns of the model in its order, and remarks."""
    require_unique(sheet.names, where, what="names of columns", remedy="rename them")
    places = {name: j for j, name in enumerate(sheet.names)}
    wanted = set(features)
    texts = {name: column for name, column in sheet.texts.items() if name in wanted}
    truths = {name: column for name, column in texts.items() if _is_truth(column)}
    # A first column called index or cell was kept as text, since it may have named the rows.
    numbers = {name: column for name, column in texts.items() if not any(map(is_word, column))}
    words = {name: texts[name] for name in texts if name not in truths and name not in numbers}
    _refuse_words(words, sheet, where, "the model needs their numbers: correct them")
    added = {name: truth_numbers(column) for name, column in truths.items()}
    added |= {name: np.array([number(cell) for cell in column], float) for name, column in numbers.items()}
    missing = [name for name in features if name not in places and name not in added]
    unknown = [name for name in sheet.columns() if name not in wanted and name not in aside]
    if missing and not (sheet.zeros_left_out and are_generated(features)):
        _refuse_missing_features(missing, features, sheet, where)
    if unknown and not sheet.named and are_generated(features):
        raise ValueError(
            f"{where} must have the {counted(len(wanted), 'column')} of the model, which go by their places, "
            f"got {len(unknown)} more: {listed(unknown)}; remove them if they are no features."
        )
    remarks = []
    if unknown:
        remarks.append(
            f"Ignored {counted(len(unknown), 'column')} that the model does not use: {listed(unknown, 3)}."
        )
    if truths:
        remarks.append(f"Columns of true and false were read as 1 and 0: {listed(truths)}.")
    X = sheet.numbers
    extra = [*added.values(), *([np.zeros(sheet.n_rows)] if missing else [])]
    order = {**places, **{name: X.shape[1] + k for k, name in enumerate(added)}}
    if extra:
        X = with_columns(X, np.column_stack(extra))
    last = X.shape[1] - 1  # of zeros, if columns are missing
    return columns_of(X, [order.get(name, last) for name in features]), remarks


def columns_of(X: DataMatrix, keep: Sequence[int]) -> DataMatrix:
    """Some columns in some order, without a copy if they are all."""
    if len(keep) != X.shape[1] or any(i != j for i, j in enumerate(keep)):
        X = X[:, keep]
    return X.tocsr() if sparse.issparse(X) else np.ascontiguousarray(X)


def with_columns(X: DataMatrix, columns: FloatArray) -> DataMatrix:
    return sparse.csr_matrix(sparse.hstack([X, columns])) if sparse.issparse(X) else np.hstack([X, columns])


def truth_numbers(column: TextArray) -> FloatArray:
    return np.array([TRUTH.get(cell.lower(), np.nan) for cell in column])


def _is_truth(column: TextArray) -> bool:
    found = {cell.lower() for cell in column if not is_missing(cell)}
    return bool(found) and found <= set(TRUTH)


def _refuse_words(words: dict[str, TextArray], sheet: Sheet, where: object, advice: str) -> None:
    if not words:
        return
    examples = []
    for name, column in list(words.items())[:5]:
        word = next((cell for cell in column if is_word(cell)), column[0])
        examples.append(f"{name!r} (such as {word!r})")
    more = f" and {len(words) - 5} more" if len(words) > 5 else ""
    raise ValueError(
        f"{where}: features must be numbers, got {counted(len(words), 'column')} with text: "
        f"{', '.join(examples)}{more}; {advice}.{transpose_hint(sheet)}{sheet.elsewhere}"
    )


def _refuse_empty(X: DataMatrix, names: Sequence[str], where: object) -> None:
    empty = [names[j] for j in _empty_columns(X)]
    if empty:
        raise ValueError(
            f"{where}: every feature must have values, got none in {counted(len(empty), 'column')}: "
            f"{listed(empty)}; pass --ignore {empty[0]!r}."
        )


def _empty_columns(X: DataMatrix) -> np.ndarray:
    """Columns that hold nothing but missing values."""
    if sparse.issparse(X):
        n_missing = np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
        return np.flatnonzero(n_missing == X.shape[0])
    candidates = np.flatnonzero(np.isnan(X[0]))
    return candidates[np.isnan(X[:, candidates]).all(axis=0)]


def are_generated(features: Sequence[str]) -> bool:
    """Whether the features had no names, and go by their places."""
    return all(name.startswith("column_") and name[7:].isdecimal() for name in features)


def _refuse_missing_features(
    missing: Sequence[str], features: Sequence[str], sheet: Sheet, where: object
) -> None:
    if not sheet.named and are_generated(features):
        advice = (
            "; columns without names go by their places, those of names and labels included: "
            "give the file the same columns as the one that the model was made from."
        )
    else:
        near = nearest(missing[0], sheet.columns())
        they = f"{near} They" if near else "; they"
        advice = f"{they} must be measured: fit again without them if they cannot be."
    raise ValueError(
        f"{where} must have the {counted(len(features), 'column')} of the model, got none for "
        f"{len(missing)}: {listed(missing)}{advice}{transpose_hint(sheet)}{sheet.elsewhere}"
    )
