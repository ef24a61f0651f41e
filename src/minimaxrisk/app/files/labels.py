"""Labels: the column with the classes, or a second file joined by sample names; columns about samples."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk._utils.arrays import IntArray
from minimaxrisk.app.files.cells import (
    TextArray,
    is_identifier,
    is_missing,
    is_word,
    number,
    text_of,
)
from minimaxrisk.app.files.features import transpose_hint
from minimaxrisk.app.files.messages import COMMAND_LINE, nearest, other_spellings, repeated
from minimaxrisk.app.files.remarks import Remark
from minimaxrisk.app.files.study import LabelTable, ReadRequest, spell
from minimaxrisk.app.files.table import Table, counts_lines
from minimaxrisk.checks.names import names_an_owner, one_spelling

LEADING_ZERO = re.compile(r"[-+]?0\d")
LEVELS, SIGNS = frozenset({"none", "null"}), frozenset("+-/")  # of classes with words for missing values
MOST_LIKELY, SHOWN_VALUES = 8, 3
SEARCHED = 40  # columns of numbers at either end, of which there may be very many


@dataclass(frozen=True)
class Labels:
    """A label per sample, the name of their column, remarks, and the line of the labels file per sample."""

    column: TextArray | None = None
    target: str | None = None
    remarks: tuple[Remark, ...] = ()
    lines: IntArray | None = None

    def with_remarks(self, *remarks: Remark) -> Labels:
        """Return the same labels with more remarks."""
        return replace(self, remarks=(*self.remarks, *remarks))


@dataclass(frozen=True)
class Arranged:
    """A table with samples in rows, their names, and the columns that are not features."""

    table: Table
    samples: TextArray
    has_names: bool
    aside: set[str]
    names_column: str | None = None  # the one with the names


def find_target(table: Table, request: ReadRequest) -> str:
    """Return the name of the target; the format's own label if none is asked for."""
    target, options = request.target, request.options
    hint = f"{transpose_hint(table, options)}{table.elsewhere}"
    if target is None:
        if table.label is not None:
            return table.label
        labels = spell(options, "labels")
        if request.for_model:
            raise ValueError(f"{request.where} has no labels; name the file that has them with {labels}.")
        raise ValueError(
            f"{request.where}: name the column with the classes with {spell(options, 'target')}, or a file "
            f"that has them with {labels}. {_suggestion(table, request)}{hint}"
        )
    if target in table.texts or target in table.annotations or target in set(table.names):
        return target
    known = [*table.annotations, *table.columns()]
    leave_out = f"leave out {spell(options, 'target')}"
    own = f" The file has labels of its own, {table.label!r}: {leave_out}." if table.label else ""
    raise ValueError(
        f"{request.where} must have {request.target_shown()}, got no such column"
        f"{nearest(target, known) or '.'} The first are {listed(known)}.{own} If the labels are in another "
        f"file, pass it as {spell(options, 'labels')}.{hint}"
    )


def _suggestion(table: Table, request: ReadRequest) -> str:
    """Return the columns that may hold classes."""
    n = table.n_rows
    likely = [
        name
        for name, column in {**table.texts, **table.annotations}.items()
        if 2 <= len(_classes(column)) <= max(2, n // 2) and not any(map(_is_decimal, column))
        if not names_an_owner(name)
    ]
    p = len(table.names)
    ends = [*range(min(SEARCHED, p)), *range(max(SEARCHED, p - SEARCHED), p)]
    codes = []
    for j in ends if isinstance(table.numbers, np.ndarray) else ():
        values = np.unique(table.numbers[:, j])
        values = values[~np.isnan(values)]
        if 2 <= len(values) <= min(10, max(2, n // 3)) and np.array_equal(values, np.trunc(values)):
            codes.append(table.names[j])
    # Many columns of few whole numbers are counts of genes, not classes.
    likely += codes if len(codes) <= MOST_LIKELY else []
    if not likely:
        return "No column looks like classes."
    found = ", ".join(_with_values(name, table) for name in likely[:MOST_LIKELY])
    return f"It could be {found}; for example {spell(request.options, 'target', likely[0])}."


def _classes(column: TextArray) -> list[str]:
    """Return the entries that are not missing, the commonest first."""
    words = words_that_are_classes(column)
    return [value for value, _ in Counter(column).most_common() if value in words or not is_missing(value)]


def _is_decimal(cell: str) -> bool:
    value = number(cell)
    return value is not None and value != np.trunc(value) and not np.isnan(value)


def _with_values(name: str, table: Table) -> str:
    """Return the name of a column with its commonest values."""
    column = table.column(name)
    assert column is not None
    values = _classes(column)
    more = ", ..." if len(values) > SHOWN_VALUES else ""
    return f"{name!r} ({', '.join(values[:SHOWN_VALUES])}{more})"


def as_labels(column: TextArray) -> np.ndarray:
    """Whole numbers as int64, so that they sort by value; other labels as str: 01 and 1 may differ."""
    values = [number(cell) for cell in column]
    is_whole = all(value is not None and value == np.trunc(value) and abs(value) < 2**53 for value in values)
    if is_whole and not any(LEADING_ZERO.match(cell) for cell in column):
        return np.array(values, dtype=np.float64).astype(np.int64)
    return np.array([_spelling(str(cell)) for cell in column])


def _spelling(label: str) -> str:
    """Return one way to write a label where formats differ: 1 for 1.0, True for TRUE."""
    if label.lower() in ("true", "false"):
        return label.capitalize()
    value = number(label)
    is_exact = value is not None and abs(value) < 2**53 and not LEADING_ZERO.match(label)
    return text_of(value) if is_exact else label


def words_that_are_classes(column: TextArray, known: Collection[str] = ()) -> frozenset[str]:
    """Find words for missing values, such as None and -, that are classes of a column of labels.

    With a model, these are the classes that it knows. Without one, a class has two samples, and a fifth of
    what the other classes have on average. If there is one other class, any such word can be the second one.
    Next to several words, None and null can be classes, and - if another class consists of signs such as +.
    """
    counts = Counter(filter(None, column))
    if known:
        return frozenset(label for label in counts if label in known and is_missing(label))
    others = {label: n for label, n in counts.items() if not is_missing(label)}
    enough = max(2.0, sum(others.values()) / max(1, len(others)) / 5)
    words = [label for label, n in counts.most_common() if label not in others and n >= enough]
    found: set[str] = set()
    if any(map(is_word, others)):
        has_signs = any(set(label) <= SIGNS for label in others)
        found = {word for word in words if word.lower() in LEVELS or (word == "-" and has_signs)}
    if len(others) + len(found) == 1:
        found |= set(words[:1])
    return frozenset(found)


def missing_labels(column: TextArray, classes: Collection[str] = ()) -> list[int]:
    return [i for i, cell in enumerate(column) if is_missing(cell) and cell not in classes]


def refuse_missing_labels(
    labels: Labels, samples: TextArray, where: object, classes: Collection[str] = ()
) -> None:
    assert labels.column is not None
    gone, column = missing_labels(labels.column, classes), labels.column
    if gone:
        spelled = sorted({column[i] for i in gone})
        them = "it, or remove this sample" if len(gone) == 1 else "them, or remove these samples"
        raise ValueError(
            f"{where}: every sample must have a label in {labels.target!r}, got {len(gone)} of {len(column)} "
            f"missing (written {listed(spelled)}), {_for_samples(samples[gone])}; "
            f"{_if_a_class(spelled)}complete {them} from the data."
        )


def _if_a_class(spelled: Sequence[str]) -> str:
    """Return what to do where a class has the name of a missing value."""
    words = [word for word in spelled if word.strip()]
    if not words:
        return ""
    is_one = len(words) == 1
    return f"if {listed(words)} {'is a class' if is_one else 'are classes'}, write another word; if not, "


def _for_samples(names: TextArray) -> str:
    return f"for the sample{'s' if len(names) > 1 else ''} {listed(names)}"


def check_classes(labels: Labels, y: np.ndarray | None, where: object) -> None:
    """Refuse a column that does not hold classes."""
    column, target = labels.column, labels.target
    assert y is not None
    assert column is not None
    classes = np.unique(y)
    n, k = len(y), len(classes)
    if k == 1:
        raise ValueError(
            f"{where}: the target {target!r} must have at least two classes, got only {str(classes[0])!r}."
        )
    words = any(is_word(cell) for cell in column)
    fractions = y.dtype.kind != "i" and not words
    if not words and k > (max(5, n / 10) if fractions else max(20, n / 3)):
        raise ValueError(
            f"{where}: the target {target!r} must hold classes, got {k} different numbers for {n} samples; "
            "choose another column, or make classes first, such as low and high."
        )
    if k > 2 and k > 0.8 * n:
        raise ValueError(
            f"{where}: the target {target!r} must hold classes with several samples each, got {k} different "
            f"values for {n} samples; is it the column of sample names? Choose another column."
        )


def refuse_other_spellings(known: Sequence[str], labels: Iterable[str], where: object) -> None:
    """Refuse labels that differ from those of the model in case and space alone."""
    pairs = _other_spellings(known, labels, "as")
    if pairs:
        raise ValueError(f"{where}: labels must be written as in the training data; write {pairs}.")


def spelt_otherwise(known: Sequence[str], labels: Iterable[str]) -> list[str]:
    """A remark on labels that differ from those of the model in case and space alone, if there are any."""
    pairs = _other_spellings(known, labels, "like")
    return [f"If they mean the same class, write {pairs}."] if pairs else []


def _other_spellings(known: Sequence[str], labels: Iterable[str], word: str) -> str:
    """Unknown labels with the known ones that they are spellings of, for messages."""
    meant = {one_spelling(label): label for label in known}
    pairs = [
        f"{label!r} {word} {meant[one_spelling(label)]!r}"
        for label in sorted(set(labels) - set(known))
        if one_spelling(label) in meant
    ]
    return f"{', '.join(pairs[:SHOWN_VALUES])}{', and so on' if len(pairs) > SHOWN_VALUES else ''}"


def join_by_name(
    table: LabelTable, samples: TextArray, request: ReadRequest, names_column: str | None
) -> Labels:
    """Return labels in the order of the samples, whose names are in ``names_column`` of the data."""
    known = set(samples)
    key = _key(table, known, names_column)
    target = _target(table, request, {key})
    names = table.columns[key]
    twice = [name for name in repeated(names) if name in known]
    if twice:
        raise ValueError(f"{table} must have one line per sample, got several for {listed(twice)}.")
    line_of = {name: i for i, name in enumerate(names)}
    without = [name for name in samples if name not in line_of]
    if without:
        ignore = f" ({spell(request.options, 'ignore')} leaves them out if samples are in columns)"
        pairs = other_spellings(without, [name for name in names if name not in known])
        spelt = "".join(f" {table.name} has {b!r} for {a!r}." for a, b in list(pairs.items())[:1])
        raise ValueError(
            f"{table} must hold a label for every sample, got none for {len(without)} of "
            f"{len(samples)}: {listed(without)}; add them, or remove these samples from the "
            f"data{'' if request.for_model else ignore}.{spelt}"
        )
    unused = [name for name in names if name not in known]
    remarks = [Remark.of("joined", column=key, labels=table.name)]
    if unused:
        samples_shown = counted(len(unused), "sample")
        remarks.append(Remark.of("unused-labels", samples=samples_shown, names=listed(unused, 3)))
    lines = np.array([line_of[name] for name in samples], dtype=np.intp)
    return Labels(table.columns[target][lines], _shown(table, target), tuple(remarks), lines)


def _key(table: LabelTable, known: set[str], names_column: str | None) -> str:
    """The column that has most of the sample names; of several, the one with the name of an identifier."""
    found = {name: len(known.intersection(column)) for name, column in table.columns.items()}
    most = max(found.values())
    best = [name for name in found if found[name] == most]
    same = [name for name in best if name and name == names_column]
    # R and spreadsheets count lines in a column of its own.
    best = [name for name in best if not counts_lines(table.columns[name])] or best
    for likely in (same, [name for name in best if is_identifier(name)], best):
        if len(likely) == 1:
            return likely[0]
    raise ValueError(
        f"{table} must have one column with the sample names, got {listed(best)}, which match them "
        f"equally well; rename the right one to {names_column or 'sample'!r}, or remove the others."
    )


def join_in_order(table: LabelTable, data: Table, request: ReadRequest) -> Labels:
    """Return labels for data without sample names: as many lines as the data has rows."""
    n = data.n_rows
    _refuse_possible_key(table, data, request)
    target = _target(table, request, _name_columns(table))
    column = table.columns[target]
    if len(column) != n:
        raise ValueError(
            f"{table} must hold {counted(n, 'label')} because the data has {counted(n, 'row')} without "
            f"names, got {len(column)}; if samples are in columns of the data, pass "
            f"{spell(request.options, 'transpose', True)}."
        )
    remark = Remark.of("joined-in-order", labels=table.name)
    return Labels(column, _shown(table, target), (remark,), np.arange(n))


def _refuse_possible_key(table: LabelTable, data: Table, request: ReadRequest) -> None:
    """Refuse data in which a column may name the samples: joining by order would be a guess."""
    known = set(data.columns())
    common = [name for name in table.columns if table.named and name in known and name != request.target]
    first = data.first
    if first is not None and len(set(first.cells)) == data.n_rows == table.matches(first.cells):
        common = [first.name]
    if common:
        raise ValueError(
            f"{table} and {request.where} could be joined by the column {common[0]!r} of the data: if "
            f"it names the samples, pass {spell(request.options, 'samples', common[0])}; otherwise pass "
            f"{spell(request.options, 'ignore', common[0])}, or remove it from the labels file."
        )


def _shown(table: LabelTable, target: str) -> str:
    """Return the name of the target; a generated name could be that of a feature in the data."""
    return target if table.named else "label"


def _name_columns(table: LabelTable) -> set[str]:
    """Return the first column if its values are unique and it is not the only one."""
    name, first = next(iter(table.columns.items()))
    return {name} if len(table.columns) > 1 and len(set(first)) == len(first) else set()


def _target(table: LabelTable, request: ReadRequest, keys: set[str]) -> str:
    target = request.target
    others = [name for name in table.columns if name not in {*keys, *request.sample_columns}]
    if target is None and len(others) == 1:
        return others[0]
    if target is None:
        got = f"{len(others)}: {listed(others, 8)}" if others else "0"
        use_target = f"use {spell(request.options, 'target')} to name the one"
        advice = "keep only the one" if request.for_model else use_target
        raise ValueError(
            f"{table} must have one column besides the sample names, got {got}; {advice} with the labels."
        )
    if target not in table.columns:
        raise ValueError(
            f"{table} must have {request.target_shown()}, got {listed(others)}"
            f"{nearest(target, others) or '; rename the one with the labels.'}"
        )
    return target


def columns_about_samples(
    arranged: Arranged, request: ReadRequest, lines: IntArray | None
) -> dict[str, TextArray]:
    """The columns about samples that the request names; ``lines`` are those of the labels file, by sample."""
    return {name: _column(name, arranged, request, lines) for name in request.sample_columns}


def columns_naming_owners(arranged: Arranged, request: ReadRequest, found: Labels) -> dict[str, TextArray]:
    """The columns that say by name what the samples were taken from, where some were taken from the same."""
    table, labels = arranged.table, request.labels
    columns = {
        name: table.column(name) for name in (*table.annotations, *table.columns()) if names_an_owner(name)
    }
    for name, cells in ({} if labels is None else labels.columns).items():
        if names_an_owner(name):
            columns[name] = cells[found.lines]
    known = {found.target, arranged.names_column, *request.sample_columns}
    return {
        name: cells
        for name, cells in columns.items()
        if cells is not None and name not in known and 2 <= len(set(cells)) < len(cells)
        if not missing_labels(cells)
    }


def _column(name: str, arranged: Arranged, request: ReadRequest, lines: IntArray | None) -> TextArray:
    table, labels = arranged.table, request.labels
    if labels is not None and lines is not None and name in labels.columns:
        found: TextArray | None = labels.columns[name][lines]
    else:
        found = table.column(name)
    if found is None:
        known = [*table.annotations, *table.columns(), *([] if labels is None else labels.columns)]
        is_command = request.options.spelling == COMMAND_LINE
        option = "--groups or --batch" if is_command else "sample_columns="
        raise ValueError(
            f"{request.where} must have the column {name!r} that {option} names, in the table or "
            f"in the labels file{nearest(name, known) or f'; the first are {listed(known)}.'}"
            f"{table.elsewhere}"
        )
    gone = missing_labels(found)
    if gone:
        raise ValueError(
            f"{request.where}: every sample must have an entry in {name!r}, got {len(gone)} of {len(found)} "
            f"missing, {_for_samples(arranged.samples[gone])}; complete {'it' if len(gone) == 1 else 'them'}."
        )
    return found
