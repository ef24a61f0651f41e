"""The columns that are features: for a new model all that are left, for an existing one those it has."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn, TypeAlias

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk._utils.arrays import DataMatrix, FloatArray
from minimaxrisk.app.files.cells import TextArray, is_missing, is_word, number
from minimaxrisk.app.files.messages import COMMAND_LINE, nearest, other_spellings, repeated, require_unique
from minimaxrisk.app.files.number_style import explained
from minimaxrisk.app.files.remarks import Remark
from minimaxrisk.app.files.study import ERROR, MAX, MEAN, ReadOptions, merge_advice, spell
from minimaxrisk.app.files.table import Table, could_name_rows
from minimaxrisk.checks.names import BATCH, column_kind, odd_names

MOST_IGNORED = 3  # columns that advice names
HOW = {
    MEAN: "averaged",
    MAX: "replaced by the largest of them in each sample",
}
TRUTH = {"true": 1.0, "false": 0.0}
Features: TypeAlias = tuple[DataMatrix, Sequence[str], list[Remark]]  # values, names and remarks


def by_feature(
    feature_names: Sequence[str], names: Sequence[str], about: Mapping[str, TextArray]
) -> dict[str, list[str]]:
    """Entries by column and feature; where a name occurs again, such as for probes of a gene, all of them."""
    if not about:
        return {}
    places: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        places.setdefault(name, []).append(i)
    rows = [places.get(str(name), []) for name in feature_names]
    return {
        title: ["; ".join(dict.fromkeys(cells[i] for i in row if cells[i])) for row in rows]
        for title, cells in about.items()
    }


def without_duplicates(
    X: DataMatrix, names: Sequence[str], options: ReadOptions, where: object
) -> tuple[DataMatrix, list[str], list[Remark]]:
    """Return columns with unique names, each in the place of the first of its name, and a remark.

    Merging leaves out missing values.
    """
    duplicates = options.duplicates
    twice = set(repeated(names))
    if not twice:
        return X, list(names), []
    if duplicates == ERROR:
        require_unique(names, where, what="names of features", remedy=f"rename them, {merge_advice(options)}")
    n_columns = sum(name in twice for name in names)
    shown = listed([name for name in dict.fromkeys(names) if name in twice], 3)
    same_names = counted(len(twice), "name")
    remark = Remark.of("merged", n=n_columns, names=same_names, shown=shown, how=HOW[duplicates])
    places: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        places.setdefault(name, []).append(j)
    merge = np.fmax.reduce if duplicates == MAX else _mean
    columns = X.tocsc() if sparse.issparse(X) else X
    same = (columns[:, ours] for ours in places.values() if len(ours) > 1)
    merged = [merge(part.toarray() if sparse.issparse(part) else part, axis=1) for part in same]
    X = _with_columns(columns[:, [ours[0] for ours in places.values()]], np.column_stack(merged))
    ends = iter(range(len(places), X.shape[1]))
    order = [j if len(ours) == 1 else next(ends) for j, ours in enumerate(places.values())]
    return _columns_of(X, order), list(places), [remark]


def _mean(X: FloatArray, axis: int) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(X, axis=axis) / (~np.isnan(X)).sum(axis=axis))


def training_features(
    table: Table, aside: set[str], where: object, options: ReadOptions, *, has_names: bool
) -> Features:
    """Return all columns of numbers but those aside, their names, and remarks."""
    texts = {name: column for name, column in table.texts.items() if name not in aside}
    truths = {name: column for name, column in texts.items() if _is_truth(column)}
    words = {name: column for name, column in texts.items() if name not in truths}
    if words:
        ignore = spell(options, "ignore", next(iter(words)))
        advice = f"pass {ignore} for each that is not a feature, and correct the others"
        naming = next((name for name in words if not has_names and could_name_rows(name, words[name])), None)
        if naming is not None:
            advice += f"; pass {spell(options, 'samples', naming)} if that column names the samples"
        batch = next((name for name in words if column_kind(name) == BATCH), None)
        if batch is not None:
            is_command = options.spelling == COMMAND_LINE
            about = spell(options, "batch", batch) if is_command else f"sample_columns={[batch]!r}"
            advice += f"; pass {about} if that column tells which samples were measured together"
        _refuse_words(words, table, where, f"{advice}.", options)
    keep = [j for j, name in enumerate(table.names) if name not in aside]
    X, names = _columns_of(table.numbers, keep), [table.names[j] for j in keep]
    if truths:
        X = _with_columns(X, np.column_stack([_truth_numbers(column) for column in truths.values()]))
        names += truths
    if not names:
        raise ValueError(
            f"{where} must have columns of numbers besides names and labels, got none; "
            f"pass {spell(options, 'delimiter')} if the columns were not split."
            f"{transpose_hint(table, options)}{table.elsewhere}"
        )
    X, names, merged = without_duplicates(X, names, options, where)
    empty = [names[j] for j in _empty_columns(X)]
    if empty:
        raise ValueError(
            f"{where}: every feature must have values, got none in {counted(len(empty), 'column')}: "
            f"{listed(empty)}; pass {spell(options, 'ignore', empty[0])}."
        )
    return X, names, [*_remarks_on_truths(truths), *merged, *_remarks_on_names(names, options)]


def _remarks_on_names(names: Sequence[str], options: ReadOptions) -> list[Remark]:
    """Return a remark if a few columns among many others are by name about patients."""
    odd = list(odd_names(names))
    are = f"{listed(odd)} {'is' if len(odd) == 1 else 'are'}"
    option = spell(options, "ignore", *odd[:MOST_IGNORED])
    return [Remark.of("suspicious-names", names=are, n=len(names), option=option)] * bool(odd)


def _remarks_on_truths(truths: Collection[str]) -> list[Remark]:
    return [Remark.of("true-and-false", names=listed(truths))] * bool(truths)


def model_features(
    table: Table,
    aside: set[str],
    features: Sequence[str],
    where: object,
    options: ReadOptions,
    *,
    used: Collection[str] = (),
) -> Features:
    """Return the columns of the model in its order, their names, and remarks."""
    numbers, names, merged = without_duplicates(table.numbers, table.names, options, where)
    table = replace(table, numbers=numbers, names=names)
    of_model = set(features)
    truths, added = _texts_as_numbers(table, of_model, where, options)
    missing = of_model.difference(table.names, added)
    if missing and not (table.zeros_left_out and are_generated(features)):
        is_enough = len(used) > 0 and missing.isdisjoint(used)
        absent = [name for name in features if name in missing]
        _refuse_missing_features(absent, features, table, where, options, is_enough=is_enough)
    unknown = [name for name in table.columns() if name not in of_model and name not in aside]
    if unknown and not table.named and are_generated(features):
        raise ValueError(
            f"{where} must have the {counted(len(of_model), 'column')} of the model and no others, because "
            f"columns without names are matched by position; got {len(unknown)} more: {listed(unknown)}; "
            "remove them if they are not features."
        )
    ignored = Remark.of("ignored", columns=counted(len(unknown), "column"), names=listed(unknown, 3))
    remarks = [*[ignored] * bool(unknown), *merged, *_remarks_on_truths(truths)]
    return _in_order(table, added, features), features, remarks


def _texts_as_numbers(
    table: Table, of_model: set[str], where: object, options: ReadOptions
) -> tuple[list[str], dict[str, FloatArray]]:
    """Features that were read as text: the names of those with true and false, and the numbers of all."""
    texts = {name: column for name, column in table.texts.items() if name in of_model}
    truths = [name for name, column in texts.items() if _is_truth(column)]
    # A first column called index or cell is read as text: it may name the rows.
    numbers = [name for name, column in texts.items() if not any(map(is_word, column))]
    words = {name: column for name, column in texts.items() if name not in {*truths, *numbers}}
    if words:
        _refuse_words(words, table, where, "the model needs their numbers: correct them.", options)
    found = {name: _truth_numbers(texts[name]) for name in truths}
    found |= {name: np.array([number(cell) for cell in texts[name]], float) for name in numbers}
    return truths, found


def _in_order(table: Table, added: Mapping[str, FloatArray], features: Sequence[str]) -> DataMatrix:
    """Return the features in the order of the model; zeros for those that the file lacks."""
    places = {name: j for j, name in enumerate([*table.names, *added])}
    extra = list(added.values())
    if any(name not in places for name in features):
        extra.append(np.zeros(table.n_rows))
    X = _with_columns(table.numbers, np.column_stack(extra)) if extra else table.numbers
    last = X.shape[1] - 1  # the zeros, if any feature is missing
    return _columns_of(X, [places.get(name, last) for name in features])


def _columns_of(X: DataMatrix, keep: Sequence[int]) -> DataMatrix:
    """Some columns in some order; no copy if these are all columns in their own order."""
    if len(keep) != X.shape[1] or any(i != j for i, j in enumerate(keep)):
        X = X[:, keep]
    return X.tocsr() if sparse.issparse(X) else np.ascontiguousarray(X)


def _with_columns(X: DataMatrix, columns: FloatArray) -> DataMatrix:
    return sparse.csr_matrix(sparse.hstack([X, columns])) if sparse.issparse(X) else np.hstack([X, columns])


def _truth_numbers(column: TextArray) -> FloatArray:
    return np.array([TRUTH.get(cell.lower(), np.nan) for cell in column])


def _is_truth(column: TextArray) -> bool:
    found = {cell.lower() for cell in column if not is_missing(cell)}
    return bool(found) and found <= set(TRUTH)


def _refuse_words(
    words: dict[str, TextArray], table: Table, where: object, advice: str, options: ReadOptions
) -> NoReturn:
    examples, found, are_few = [], [], False
    for name, column in list(words.items())[:5]:
        wrong = [cell for cell in column if is_word(cell)] or [column[0]]
        found.append(wrong[0])
        # A column of numbers, which somebody wrote something else into.
        is_odd = 2 * len(wrong) < len(column)
        are_few |= is_odd
        share = f" in {len(wrong)} of {len(column)} cells" if is_odd else ""
        examples.append(f"{name!r} (such as {found[-1]!r}{share})")
    empty = " Empty a cell where nothing was measured." if are_few else ""
    more = f" and {len(words) - 5} more" if len(words) > 5 else ""
    raise ValueError(
        f"{where}: features must be numbers, got {counted(len(words), 'column')} with text: "
        f"{', '.join(examples)}{more}; {advice}{explained(found) or empty}"
        f"{transpose_hint(table, options)}{table.elsewhere}"
    )


def _empty_columns(X: DataMatrix) -> np.ndarray:
    """Return columns in which all values are missing."""
    if sparse.issparse(X):
        n_missing = np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
        return np.flatnonzero(n_missing == X.shape[0])
    candidates = np.flatnonzero(np.isnan(X[0]))
    return candidates[np.isnan(X[:, candidates]).all(axis=0)]


def are_generated(features: Sequence[str]) -> bool:
    """Return whether the features had no names (``column_1``, ...), so that they are matched by position."""
    return all(name.startswith("column_") and name[7:].isdecimal() for name in features)


def _refuse_missing_features(
    missing: Sequence[str],
    features: Sequence[str],
    table: Table,
    where: object,
    options: ReadOptions,
    *,
    is_enough: bool,
) -> NoReturn:
    rows = table.row_names()
    pairs = other_spellings(missing, [*table.columns(), *(() if rows is None else rows)])
    if not table.named and are_generated(features):
        advice = (
            "; columns without names are matched by position, counting those of names and labels: "
            "give the file the same columns as the training data."
        )
    elif pairs:
        ours, theirs = next(iter(pairs.items()))
        advice = f"; {len(pairs)} of {len(missing)} are spelt differently: write {ours!r} for {theirs!r}."
    elif is_enough:
        is_command = options.spelling == COMMAND_LINE
        without = "--only-used to do without them" if is_command else "the others alone as feature_names="
        advice = f"; the model gives none of these a coefficient: pass {without}."
    else:
        near = nearest(missing[0], sorted(set(table.columns()) - set(features)))
        they = f"{near} Add them" if near else "; add them"
        without = f" (fit --ignore {missing[0]})" if options.spelling == COMMAND_LINE else ""
        advice = f"{they}, or fit a model without them{without} if they cannot be measured."
    raise ValueError(
        f"{where} must have the {counted(len(features), 'column')} of the model, got none for "
        f"{len(missing)}: {listed(missing)}{advice}{transpose_hint(table, options)}{table.elsewhere}"
    )


def transpose_hint(table: Table, options: ReadOptions) -> str:
    """Advice to transpose a table that has many more rows than columns."""
    if table.settled or table.n_rows <= 3 * len(table.columns()) or not table.names_its_rows():
        return ""
    return (
        f" The table has {table.n_rows} rows and {len(table.columns())} columns: "
        f"if features are in rows, pass {spell(options, 'transpose', True)}."
    )
