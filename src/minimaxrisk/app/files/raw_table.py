"""A table as the file has it, and its arrangement: samples in rows, their names, ignored columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import count
from typing import NamedTuple

import numpy as np

from minimaxrisk._utils.arguments import listed
from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.app.files.cells import (
    TextArray,
    explained,
    generated_names,
    is_identifier,
    is_missing,
    is_word,
    text_array,
)
from minimaxrisk.app.files.matching import LooseMatch, match_features
from minimaxrisk.app.files.messages import nearest, repeated, require_unique
from minimaxrisk.app.files.study import (
    ERROR,
    LOOSE,
    MEAN,
    LabelTable,
    ReadOptions,
    ReadRequest,
    merge_advice,
    spell,
)
from minimaxrisk.checks.names import names_an_owner


class FirstColumn(NamedTuple):
    """The first column of a table as it is written: it may name the rows."""

    name: str
    cells: TextArray


@dataclass(frozen=True)
class RawTable:
    """A table as a file has it: columns of numbers and of text, before it is known which are features.

    ``numbers`` are float64, NaN where a value is missing.
    """

    numbers: DataMatrix
    names: list[str]  # of the columns of numbers
    texts: dict[str, TextArray] = field(default_factory=dict)  # columns that are not numbers, by name
    lines: dict[str, TextArray] = field(
        default_factory=dict
    )  # rows that are not: a text for each of ``names``
    annotations: dict[str, TextArray] = field(default_factory=dict)  # about the rows, outside of the table
    descriptions: dict[str, TextArray] = field(default_factory=dict)  # about ``names``, such as genes
    samples: TextArray | None = None  # names of the rows, if the format has a place for them
    first: FirstColumn | None = None
    named: bool = True  # whether the names come from the file
    settled: bool = False  # whether the format says that samples are in rows
    label: str | None = None  # the annotation that the format itself calls the label
    zeros_left_out: bool = False  # whether an absent column is one of zeros
    elsewhere: str = ""  # where else in the file to look, for messages
    remarks: tuple[str, ...] = ()  # what a user should know

    @property
    def n_rows(self) -> int:
        return int(self.numbers.shape[0])

    def columns(self) -> list[str]:
        """Names of all columns of the table, those of text first since they are few."""
        return [*self.texts, *self.names]

    def column(self, name: str) -> TextArray | None:
        """A column or an annotation as text; None if there is none of this name."""
        # Annotations first: they are meant to be labels, and a gene may have the same name.
        if name in self.annotations:
            return self.annotations[name]
        if name in self.texts:
            return self.texts[name]
        if self.first is not None and name == self.first.name and name in self.names:
            return self.first.cells
        if name in self.names:
            column = self.numbers[:, [self.names.index(name)]]
            return text_array(np.ravel(column if isinstance(column, np.ndarray) else column.toarray()))
        return None

    def with_remarks(self, *remarks: str) -> RawTable:
        """The same table with more remarks."""
        return replace(self, remarks=(*self.remarks, *remarks))

    def row_names(self) -> TextArray | None:
        """What may be names of the rows, unique or not."""
        if self.samples is not None:
            return self.samples
        return None if self.first is None else self.first.cells

    def names_its_rows(self) -> bool:
        """Whether the first column only names the rows: unique words, or a count."""
        if self.first is None:
            return False
        name, cells = self.first
        if len(set(cells)) < len(cells) or any(map(is_missing, cells)):
            return False
        if self.named and is_identifier(name):
            # Names may be numbers, but measurements have fractions.
            return 2 * sum("." in cell and not is_word(cell) for cell in cells) <= len(cells)
        return all(map(is_word, cells)) or (not self.named and len(cells) >= 5 and counts_lines(cells))


def could_name_rows(name: str, cells: TextArray | None) -> bool:
    """Whether a column holds unique words, or unique values under the name of an identifier."""
    if cells is None or len(set(cells)) < len(cells) or any(map(is_missing, cells)):
        return False
    return is_identifier(name) or (len(cells) > 1 and all(map(is_word, cells)))


def counts_lines(cells: TextArray) -> bool:
    return any(list(cells) == [str(start + i) for i in range(len(cells))] for start in (0, 1))


def transposed(raw: RawTable) -> RawTable:
    """The table with rows and columns exchanged; the first column gives the new names."""
    names = raw.row_names()
    numbers, columns = raw.numbers, raw.names
    texts = dict(raw.texts)
    if raw.samples is None and raw.first is not None:
        texts.pop(raw.first.name, None)
        if raw.first.name in columns:
            place = columns.index(raw.first.name)
            keep = [j for j in range(len(columns)) if j != place]
            numbers, columns = numbers[:, keep], [columns[j] for j in keep]
    turned = numbers.T if isinstance(numbers, np.ndarray) else numbers.T.tocsr()
    return RawTable(
        turned,
        generated_names(raw.n_rows) if names is None else list(names),
        texts=dict(raw.lines),
        lines=texts,
        annotations={},
        samples=text_array(columns) if raw.named else None,
        named=names is not None,
        settled=True,
        elsewhere=raw.elsewhere,
        remarks=raw.remarks,
    )


def spelt_differently(features: Sequence[str], raw: RawTable) -> tuple[LooseMatch, bool]:
    """How the table spells these features, and whether they are its rows rather than its columns."""
    rows = raw.row_names()
    matches = [match_features(features, names) for names in (raw.columns(), () if rows is None else rows)]
    match = max(matches, key=lambda found: len(found.pairs))
    return match, match is matches[1]


def with_names_of(raw: RawTable, features: Sequence[str], where: object) -> RawTable:
    """The table with the spelling of these features, which may be its columns or its rows."""
    match, are_rows = spelt_differently(features, raw)
    match.refuse_ambiguous(where)
    if not match.pairs:
        return raw
    pairs, names = match.pairs, raw.row_names()
    raw = raw.with_remarks(f"{len(pairs)} features were matched {match.how}, such as {match.example()}.")
    if are_rows:
        cells = text_array(_renamed([] if names is None else names, pairs))
        if raw.samples is not None:
            return replace(raw, samples=cells)
        return replace(raw, first=raw.first and raw.first._replace(cells=cells))
    return replace(
        raw,
        names=_renamed(raw.names, pairs),
        texts={pairs.get(name, name): column for name, column in raw.texts.items()},
        first=raw.first and raw.first._replace(name=pairs.get(raw.first.name, raw.first.name)),
    )


def _renamed(names: Iterable[str], pairs: dict[str, str]) -> list[str]:
    return [pairs.get(name, name) for name in names]


@dataclass(frozen=True)
class Arranged:
    """A table with samples in rows, their names, and the columns that are not features."""

    raw: RawTable
    samples: TextArray
    has_names: bool
    aside: set[str]
    names_column: str | None = None  # the one with the names


def oriented(raw: RawTable, request: ReadRequest) -> tuple[RawTable, set[str]]:
    """The table with samples in rows and no row of text, and the ignored names."""
    raw, ignored = _turned(raw, request)
    if raw.lines:
        _refuse_lines(raw, request)
    return raw, ignored


def _turned(raw: RawTable, request: ReadRequest) -> tuple[RawTable, set[str]]:
    options, names = request.options, raw.row_names()
    if raw.settled:
        if options.transpose:
            remark = "has no effect: the format of the file says where the samples are."
            raw = raw.with_remarks(f"{spell(options, 'transpose', True)} {remark}")
        return raw, _ignored(request, raw, ())
    rows = [*(names if names is not None else ()), *raw.lines]
    reason = f"because of {spell(options, 'transpose', True)}" if options.transpose else None
    if options.transpose is None:
        reason = _reason_to_turn(raw, set(rows), request)
    if reason is None:
        return _remark_on_rows(raw, request), _ignored(request, raw, ())
    ignored = _ignored(request, raw, rows)
    turned = transposed(_without_columns(raw, ignored))
    if options.duplicates == ERROR:
        remedy = f"make them unique, {merge_advice(options)}"
        require_unique(turned.names, request.where, what="names of features, here in rows,", remedy=remedy)
    if raw.annotations:
        turned = turned.with_remarks(f"Left out the annotations of the rows: {listed(raw.annotations)}.")
    return turned.with_remarks(f"The table was transposed: samples are in columns, {reason}."), ignored


def _remark_on_rows(raw: RawTable, request: ReadRequest) -> RawTable:
    """The table with a remark that rows were taken as samples, where they could be genes."""
    hint = transpose_hint(raw, request.options)
    if not hint or request.options.transpose is not None or request.for_model:
        return raw
    is_column = request.target in {*raw.columns(), *raw.annotations}
    reason = f", since {request.target!r} is a column" if is_column else ""
    return raw.with_remarks(f"Rows were taken as samples{reason}.{hint}")


def _reason_to_turn(raw: RawTable, rows: set[str], request: ReadRequest) -> str | None:
    columns = {*raw.columns(), *raw.annotations}
    if not raw.named or not rows:
        return None
    reason = None
    if request.for_model:
        if not columns.intersection(request.features) and rows.intersection(request.features):
            reason = "since the features of the model are rows"
    elif request.labels is not None:
        if request.labels.matches(columns) and not request.labels.matches(rows):
            reason = "since the header holds the samples of the labels file"
    elif request.target in rows and request.target not in columns:
        reason = f"since {request.target!r} is a row"
    return reason


def _ignored(request: ReadRequest, raw: RawTable, rows: Sequence[str]) -> set[str]:
    """The names that match the caller's names and patterns."""
    known = {*raw.columns(), *raw.annotations, *rows}
    found: set[str] = set()
    first_columns = f"; the first are {listed(raw.columns())}."
    for pattern in request.ignore:
        matching = {pattern} & known or {name for name in known if fnmatchcase(name, pattern)}
        # A model finds its features by name, whatever other columns there are.
        if not matching and not request.for_model:
            names = [name.strip() for name in pattern.split(",")]
            several = f"; for several columns pass {spell(request.options, 'ignore', *names)}."
            advice = several if len(names) > 1 and known.intersection(names) else nearest(pattern, known)
            raise ValueError(
                f"{request.where}: {spell(request.options, 'ignore')} must name columns of the table, but "
                f"none matches {pattern!r}{advice or first_columns}{raw.elsewhere}"
            )
        found |= matching
    return found


def _without_columns(raw: RawTable, names: set[str]) -> RawTable:
    keep = [j for j, name in enumerate(raw.names) if name not in names]
    if len(keep) == len(raw.names):
        numbers, lines = raw.numbers, raw.lines
    else:
        numbers = raw.numbers[:, keep]
        lines = {name: cells[keep] for name, cells in raw.lines.items()}
    return replace(
        raw,
        numbers=numbers,
        names=[raw.names[j] for j in keep],
        texts={name: column for name, column in raw.texts.items() if name not in names},
        lines=lines,
    )


def _refuse_lines(raw: RawTable, request: ReadRequest) -> None:
    names = list(raw.lines)
    if raw.settled:
        ignore = f"pass {spell(request.options, 'ignore', names[0])} and the like for each"
        raise ValueError(
            f"{request.where}: if samples are in columns, every other column must be left out, got columns "
            f"of text {listed(names)} ({len(names)}); {'remove them' if request.for_model else ignore}."
            f"{explained([cell for name in names for cell in raw.lines[name] if is_word(cell)])}"
        )
    raise ValueError(
        f"{request.where}: rows must hold numbers, got only text in the rows {listed(names)}; "
        f"if they describe samples that are in columns, pass {spell(request.options, 'transpose', True)}, "
        "otherwise remove them."
    )


@dataclass(frozen=True)
class _SampleNames:
    """What may be the names of the samples."""

    cells: TextArray | None
    place: str  # where they are, for messages
    column: str | None = None  # the one that holds nothing else
    remedy: str = "make them unique"
    are_owners: bool = False  # whether samples with the same entry are known to be of one patient


def with_sample_names(raw: RawTable, ignored: set[str], request: ReadRequest) -> Arranged:
    """The table with the names of its samples, and what is not a feature."""
    found = _find_sample_names(raw, ignored, request)
    names, column = found.cells, found.column
    if request.options.samples is None and column is not None:
        shown = repr(column) if column else "without a name"
        raw = raw.with_remarks(f"Took the first column, {shown}, as the names of the samples.")
    aside = ignored if column is None or column in raw.annotations else {*ignored, column}
    if request.labels is not None:
        _refuse_unmatched(request.labels, names, found.place, raw, request)
    if names is None:
        numbered = text_array(str(i + 1) for i in range(raw.n_rows))
        return Arranged(raw, numbered, has_names=False, aside=aside)
    gone = sum(is_missing(name) for name in names)
    if gone:
        raise ValueError(
            f"{request.where}: every sample must have a name, got none for {gone} of {len(names)}; "
            f"complete them, or name another column with {spell(request.options, 'samples')}."
        )
    if found.are_owners and (twice := repeated(names)):
        names = _numbered(names, set(twice))
        raw = raw.with_remarks(f"Samples of the same name were numbered, such as {f'{twice[0]} (1)'!r}.")
    remedy = f"{found.remedy}.{raw.elsewhere}".removesuffix(".")
    require_unique(list(names), request.where, what="sample names", remedy=remedy)
    return Arranged(raw, names, has_names=True, aside=aside, names_column=column)


def _numbered(names: TextArray, twice: set[str]) -> TextArray:
    """P5 (1) and P5 (2) where there are two P5."""
    places = {name: count(1) for name in twice}
    return text_array(f"{name} ({next(places[name])})" if name in places else name for name in names)


def _find_sample_names(raw: RawTable, ignored: set[str], request: ReadRequest) -> _SampleNames:
    """The column that the caller names, else what the format calls names, else a first column like names."""
    file, first = request.where.name, raw.first
    if request.options.samples is not None:
        return _chosen_sample_names(raw, request.options.samples, request)
    if (
        raw.samples is None
        and first is not None
        and request.labels is None
        and first.name in request.sample_columns
        and (is_identifier(first.name) or names_an_owner(first.name))
        and not any(map(is_missing, first.cells))
    ):
        return _SampleNames(first.cells, file, are_owners=True)
    if (
        raw.samples is not None
        or first is None
        or first.name in {*ignored, *request.features, *request.sample_columns, request.target}
    ):
        return _SampleNames(raw.samples, file)
    place = f"The first column of {file}"
    if raw.names_its_rows():
        return _SampleNames(first.cells, place, column=first.name)
    if _meant_as_names(first, raw, strictly=request.for_model):
        return _SampleNames(first.cells, place, remedy=_remedy(raw, first.name, request))
    return _SampleNames(None, place)


def _chosen_sample_names(raw: RawTable, column: str, request: ReadRequest) -> _SampleNames:
    cells = raw.column(column)
    if cells is None:
        raise ValueError(
            f"{request.where}: {spell(request.options, 'samples')} must name a column of the table, but "
            f"there is no {column!r}"
            f"{nearest(column, raw.columns()) or f'; the first are {listed(raw.columns())}.'}{raw.elsewhere}"
        )
    place = f"The column {column!r} of {request.where.name}"
    are_owners = request.labels is None and column in request.sample_columns
    return _SampleNames(cells, place, column=column, are_owners=are_owners)


def _remedy(raw: RawTable, name: str, request: ReadRequest) -> str:
    """What to do about names in the first column that are not unique."""
    options = request.options
    if request.for_model or request.labels is not None:
        return f"make them unique, or name another column with {spell(options, 'samples')}"
    if request.target in raw.columns():
        groups, ignore = spell(options, "groups", name), spell(options, "ignore", name)
        return (
            f"pass {groups} if these are measurements of the same patients, {ignore} if this column does not "
            "name the samples, or make them unique"
        )
    return (
        "make them unique; if they name features and the samples are in columns, pass "
        f"{spell(options, 'duplicates', MEAN)} to average the rows with the same name, and a file with the "
        f"labels as {spell(options, 'labels')}"
    )


def _refuse_unmatched(
    labels: LabelTable, names: TextArray | None, place: str, raw: RawTable, request: ReadRequest
) -> None:
    """Refuse a labels file that has none of the names, and say where they may be."""
    if names is not None and labels.matches(names):
        return
    places = {} if names is None else {place: list(names)}
    if not raw.settled and raw.named and request.options.transpose is None:
        first = None if raw.first is None else raw.first.name
        places[f"The header of {request.where.name}"] = [name for name in raw.columns() if name != first]
    for where, candidates in places.items():
        _, match = labels.loose_match(candidates)
        if 2 * len(match.pairs) >= min(len(candidates), labels.n_lines):
            theirs, ours = next(iter(match.pairs.items()))
            loosely = spell(request.options, "match_names", LOOSE)
            raise ValueError(
                f"{where} has {ours!r}, but {labels.name} has {theirs!r}: these look like the same names, "
                f"spelt differently. {len(match.pairs)} of {len(candidates)} match {match.how}: make them "
                f"equal, or pass {loosely}"
            )
    if names is not None:
        places[f"The first column of {labels.name}"] = list(next(iter(labels.columns.values())))
        shown = " ".join(f"{where} has {listed(candidates, 3)}." for where, candidates in places.items())
        raise ValueError(
            f"{labels} must have a column with the sample names of {request.where}, but none of its "
            f"columns has any of them. {shown} Make the names equal.{raw.elsewhere}"
        )


def _meant_as_names(first: FirstColumn, raw: RawTable, *, strictly: bool) -> bool:
    """Whether the first column holds names of the samples with repetitions or gaps."""
    if first.name not in raw.texts or len(raw.columns()) == 1:
        return False
    many = 2 * len(set(first.cells)) > len(first.cells) > 2
    words = 2 * sum(is_word(cell) for cell in first.cells) > len(first.cells)
    return many and ((raw.named and is_identifier(first.name)) or (words and not strictly))


def transpose_hint(raw: RawTable, options: ReadOptions) -> str:
    """Advice to transpose a table that has many more rows than columns."""
    if raw.settled or raw.n_rows <= 3 * len(raw.columns()) or not raw.names_its_rows():
        return ""
    return (
        f" The table has {raw.n_rows} rows and {len(raw.columns())} columns: "
        f"if features are in rows, pass {spell(options, 'transpose', True)}."
    )
