"""Arrange a table: samples in rows, their names, labels, and columns that are not features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import count

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk.app.files.cells import TextArray, is_identifier, is_missing, is_word, text_array
from minimaxrisk.app.files.features import Features, by_feature, transpose_hint
from minimaxrisk.app.files.labels import (
    Arranged,
    Labels,
    as_labels,
    columns_about_samples,
    columns_naming_owners,
    find_target,
    join_by_name,
    join_in_order,
    missing_labels,
    refuse_missing_labels,
    words_that_are_classes,
)
from minimaxrisk.app.files.messages import nearest, repeated, require_unique
from minimaxrisk.app.files.number_style import explained
from minimaxrisk.app.files.remarks import Remark
from minimaxrisk.app.files.study import (
    ERROR,
    MEAN,
    LabelTable,
    ReadRequest,
    Study,
    merge_advice,
    spell,
)
from minimaxrisk.app.files.table import FirstColumn, Table, transposed
from minimaxrisk.checks.names import names_an_owner

FeaturesOf = Callable[[Arranged, set[str]], Features]  # the features of a table, without columns aside


def arrange(
    table: Table, request: ReadRequest, features: FeaturesOf, *, needs_labels: bool
) -> tuple[Study, Labels]:
    """Return the study that a table holds, and where its labels were found."""
    table, ignored = _oriented(table, request)
    if needs_labels and request.target is None and request.labels is None and not request.for_model:
        find_target(table, request)  # what there is to ask for comes before what is wrong with the names
    arranged = _with_sample_names(table, ignored, request)
    table = arranged.table
    labels = _find_labels(arranged, request, needed=needs_labels)
    about = columns_about_samples(arranged, request, labels.lines)
    aside = {*arranged.aside, *about}
    # A column with the name of an annotation is a feature.
    if labels.target is not None and labels.target not in table.annotations:
        aside.add(labels.target)
    X, names, remarks = features(arranged, aside)
    descriptions = by_feature(names, table.names, table.descriptions)
    study = Study(
        X,
        text_array(names),
        arranged.samples,
        arranged.has_names,
        None if labels.column is None else as_labels(labels.column),
        labels.target,
        request.where,
        (*table.remarks, *labels.remarks, *remarks),
        about,
        columns_naming_owners(arranged, request, labels),
        {
            title: cells
            for title, cells in descriptions.items()
            if any(not is_missing(cell) and cell != name for cell, name in zip(cells, names, strict=True))
        },
    )
    return study, labels


def _find_labels(arranged: Arranged, request: ReadRequest, *, needed: bool) -> Labels:
    """Return the labels of the labels file, or of the table; none where none are needed."""
    table, target = arranged.table, request.target
    if request.labels is not None:
        labels, classes = _with_class_words(_joined(arranged, request.labels, request), request)
        refuse_missing_labels(labels, arranged.samples, request.labels, classes)
        is_feature = labels.target in table.columns() and labels.target not in arranged.aside
        if is_feature and not request.for_model:
            labels = labels.with_remarks(Remark.of("target-in-labels", target=labels.target))
        return labels
    has_target = target is not None and table.column(target) is not None
    if not needed and not has_target and table.label is None:
        return Labels()
    is_own = request.for_model and not has_target and table.label is not None
    target = table.label if is_own else find_target(table, request)
    assert target is not None
    column = table.column(target)
    assert column is not None
    labels, classes = _with_class_words(Labels(column, target), request)
    if needed:
        refuse_missing_labels(labels, arranged.samples, request.where, classes)
    elif gone := missing_labels(column, classes):
        remark = Remark.of("labels-left-out", target=target, n_missing=len(gone), n=table.n_rows)
        return Labels(None, target, (remark,))
    if not request.for_model and target in table.annotations and target in table.columns():
        return labels.with_remarks(Remark.of("target-is-feature", target=target))
    return labels


def _with_class_words(labels: Labels, request: ReadRequest) -> tuple[Labels, frozenset[str]]:
    """Return the labels, with a remark on words for missing values that are classes, and these words."""
    column = labels.column
    assert column is not None
    words = words_that_are_classes(column, request.classes)
    if not words:
        return labels, words
    shown = ", ".join(
        f"{word!r} ({counted(int((column == word).sum()), 'sample')})" for word in sorted(words)
    )
    are_classes = f"{shown} {'is a class' if len(words) == 1 else 'are classes'}"
    return labels.with_remarks(Remark.of("missing-words", target=labels.target, words=are_classes)), words


def _joined(arranged: Arranged, labels: LabelTable, request: ReadRequest) -> Labels:
    if arranged.has_names:
        return join_by_name(labels, arranged.samples, request, arranged.names_column)
    table = arranged.table
    if table.first is not None and table.first.name in arranged.aside:
        table = replace(table, first=None)  # an ignored column does not name the samples
    return join_in_order(labels, table, request)


def _oriented(table: Table, request: ReadRequest) -> tuple[Table, set[str]]:
    """Return the table with samples in rows and no row of text, and the ignored names."""
    table, ignored = _turned(table, request)
    if table.lines:
        _refuse_lines(table, request)
    return table, ignored


def _turned(table: Table, request: ReadRequest) -> tuple[Table, set[str]]:
    options, names = request.options, table.row_names()
    if table.settled:
        if options.transpose:
            option = spell(options, "transpose", True)
            where = ": the format of the file says where the samples are"
            table = table.with_remarks(Remark.of("no-effect", option=option, where=where))
        return table, _ignored(request, table, ())
    rows = [*(names if names is not None else ()), *table.lines]
    reason = f"because of {spell(options, 'transpose', True)}" if options.transpose else None
    if options.transpose is None:
        reason = _reason_to_turn(table, set(rows), request)
    if reason is None:
        return _remark_on_rows(table, request), _ignored(request, table, ())
    ignored = _ignored(request, table, rows)
    turned = transposed(_without_columns(table, ignored))
    if options.duplicates == ERROR:
        remedy = f"make them unique, {merge_advice(options)}"
        require_unique(turned.names, request.where, what="names of features, here in rows,", remedy=remedy)
    if table.annotations:
        turned = turned.with_remarks(Remark.of("row-annotations", names=listed(table.annotations)))
    return turned.with_remarks(Remark.of("transposed", reason=reason)), ignored


def _remark_on_rows(table: Table, request: ReadRequest) -> Table:
    """Return the table with a remark that rows were taken as samples, where they could be genes."""
    hint = transpose_hint(table, request.options)
    if not hint or request.options.transpose is not None or request.for_model:
        return table
    is_column = request.target in {*table.columns(), *table.annotations}
    reason = f", since {request.target!r} is a column" if is_column else ""
    return table.with_remarks(Remark.of("rows-are-samples", reason=reason, hint=hint))


def _reason_to_turn(table: Table, rows: set[str], request: ReadRequest) -> str | None:
    columns = {*table.columns(), *table.annotations}
    if not table.named or not rows:
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


def _ignored(request: ReadRequest, table: Table, rows: Sequence[str]) -> set[str]:
    """Return the names that match the caller's names and patterns."""
    known = {*table.columns(), *table.annotations, *rows}
    found: set[str] = set()
    first_columns = f"; the first are {listed(table.columns())}."
    for pattern in request.ignore:
        matching = {pattern} & known or {name for name in known if fnmatchcase(name, pattern)}
        # A model finds its features by name, whatever other columns there are.
        if not matching and not request.for_model:
            names = [name.strip() for name in pattern.split(",")]
            several = f"; for several columns pass {spell(request.options, 'ignore', *names)}."
            advice = several if len(names) > 1 and known.intersection(names) else nearest(pattern, known)
            raise ValueError(
                f"{request.where}: {spell(request.options, 'ignore')} must name columns of the table, but "
                f"none matches {pattern!r}{advice or first_columns}{table.elsewhere}"
            )
        found |= matching
    return found


def _without_columns(table: Table, names: set[str]) -> Table:
    keep = [j for j, name in enumerate(table.names) if name not in names]
    if len(keep) == len(table.names):
        numbers, lines = table.numbers, table.lines
    else:
        numbers = table.numbers[:, keep]
        lines = {name: cells[keep] for name, cells in table.lines.items()}
    return replace(
        table,
        numbers=numbers,
        names=[table.names[j] for j in keep],
        texts={name: column for name, column in table.texts.items() if name not in names},
        lines=lines,
    )


def _refuse_lines(table: Table, request: ReadRequest) -> None:
    names = list(table.lines)
    if table.settled:
        ignore = f"pass {spell(request.options, 'ignore', names[0])} and the like for each"
        raise ValueError(
            f"{request.where}: if samples are in columns, every other column must be left out, got columns "
            f"of text {listed(names)} ({len(names)}); {'remove them' if request.for_model else ignore}."
            f"{explained([cell for name in names for cell in table.lines[name] if is_word(cell)])}"
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


def _with_sample_names(table: Table, ignored: set[str], request: ReadRequest) -> Arranged:
    """Return the table with the names of its samples, and what is not a feature."""
    found = _find_sample_names(table, ignored, request)
    names, column = found.cells, found.column
    if request.options.samples is None and column is not None:
        shown = repr(column) if column else "without a name"
        table = table.with_remarks(Remark.of("first-column", column=shown))
    aside = ignored if column is None or column in table.annotations else {*ignored, column}
    if request.labels is not None:
        _refuse_unmatched(request.labels, names, found.place, table, request)
    if names is None:
        numbered = text_array(str(i + 1) for i in range(table.n_rows))
        return Arranged(table, numbered, has_names=False, aside=aside)
    gone = sum(is_missing(name) for name in names)
    if gone:
        raise ValueError(
            f"{request.where}: every sample must have a name, got none for {gone} of {len(names)}; "
            f"complete them, or name another column with {spell(request.options, 'samples')}."
        )
    if found.are_owners and (twice := repeated(names)):
        names = _numbered(names, set(twice))
        table = table.with_remarks(Remark.of("numbered-samples", example=f"{twice[0]} (1)"))
    remedy = f"{found.remedy}.{table.elsewhere}".removesuffix(".")
    require_unique(list(names), request.where, what="sample names", remedy=remedy)
    return Arranged(table, names, has_names=True, aside=aside, names_column=column)


def _numbered(names: TextArray, twice: set[str]) -> TextArray:
    """P5 (1) and P5 (2) where there are two P5."""
    places = {name: count(1) for name in twice}
    return text_array(f"{name} ({next(places[name])})" if name in places else name for name in names)


def _find_sample_names(table: Table, ignored: set[str], request: ReadRequest) -> _SampleNames:
    """The column that the caller names, else what the format calls names, else a first column like names."""
    file, first = request.where.name, table.first
    if request.options.samples is not None:
        return _chosen_sample_names(table, request.options.samples, request)
    if (
        table.samples is None
        and first is not None
        and request.labels is None
        and first.name in request.sample_columns
        and (is_identifier(first.name) or names_an_owner(first.name))
        and not any(map(is_missing, first.cells))
    ):
        return _SampleNames(first.cells, file, are_owners=True)
    if (
        table.samples is not None
        or first is None
        or first.name in {*ignored, *request.features, *request.sample_columns, request.target}
    ):
        return _SampleNames(table.samples, file)
    place = f"The first column of {file}"
    if table.names_its_rows():
        return _SampleNames(first.cells, place, column=first.name)
    if _meant_as_names(first, table, strictly=request.for_model):
        return _SampleNames(first.cells, place, remedy=_remedy(table, first.name, request))
    return _SampleNames(None, place)


def _chosen_sample_names(table: Table, column: str, request: ReadRequest) -> _SampleNames:
    cells = table.column(column)
    if cells is None:
        raise ValueError(
            f"{request.where}: {spell(request.options, 'samples')} must name a column of the table, but "
            f"there is no {column!r}"
            f"{nearest(column, table.columns()) or f'; the first are {listed(table.columns())}.'}"
            f"{table.elsewhere}"
        )
    place = f"The column {column!r} of {request.where.name}"
    are_owners = request.labels is None and column in request.sample_columns
    return _SampleNames(cells, place, column=column, are_owners=are_owners)


def _remedy(table: Table, name: str, request: ReadRequest) -> str:
    """Return what to do about names in the first column that are not unique."""
    options = request.options
    if request.for_model or request.labels is not None:
        return f"make them unique, or name another column with {spell(options, 'samples')}"
    if request.target in table.columns():
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
    labels: LabelTable, names: TextArray | None, place: str, table: Table, request: ReadRequest
) -> None:
    """Refuse a labels file that has none of the names, and say where they may be."""
    if names is not None and labels.matches(names):
        return
    places = {} if names is None else {place: list(names)}
    if not table.settled and table.named and request.options.transpose is None:
        first = None if table.first is None else table.first.name
        places[f"The header of {request.where.name}"] = [name for name in table.columns() if name != first]
    for where, candidates in places.items():
        pairs = labels.other_spellings(candidates)
        if 2 * len(pairs) >= min(len(candidates), labels.n_lines):
            ours, theirs = next(iter(pairs.items()))
            raise ValueError(
                f"{where} has {ours!r}, but {labels.name} has {theirs!r}: these look like the same names, "
                f"spelt differently. Make the names equal ({len(pairs)} of {len(candidates)} look so)."
            )
    if names is not None:
        places[f"The first column of {labels.name}"] = list(next(iter(labels.columns.values())))
        shown = " ".join(f"{where} has {listed(candidates, 3)}." for where, candidates in places.items())
        raise ValueError(
            f"{labels} must have a column with the sample names of {request.where}, but none of its "
            f"columns has any of them. {shown} Make the names equal.{table.elsewhere}"
        )


def _meant_as_names(first: FirstColumn, table: Table, *, strictly: bool) -> bool:
    """Return whether the first column holds names of the samples with repetitions or gaps."""
    if first.name not in table.texts or len(table.columns()) == 1:
        return False
    many = 2 * len(set(first.cells)) > len(first.cells) > 2
    words = 2 * sum(is_word(cell) for cell in first.cells) > len(first.cells)
    return many and ((table.named and is_identifier(first.name)) or (words and not strictly))
