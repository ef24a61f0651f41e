"""Which way a table lies, which of its columns name the samples, and which are to be ignored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from minimaxrisk.files.cells import TextArray, is_identifier, is_missing, is_word, text_array
from minimaxrisk.files.labels_file import LabelBook
from minimaxrisk.files.problems import listed, nearest, require_unique
from minimaxrisk.files.sheet import FirstColumn, Sheet, turned_over
from minimaxrisk.files.wanted import Wanted


@dataclass(frozen=True)
class Arranged:
    """A table with samples in rows, their names, and the columns that are no features."""

    sheet: Sheet
    samples: TextArray
    has_names: bool
    aside: set[str]
    names_column: str | None = None  # the one that the names come from


def arrange(sheet: Sheet, wanted: Wanted) -> Arranged:
    sheet, ignored = _oriented(sheet, wanted)
    if sheet.lines:
        _refuse_lines(sheet, wanted)
    return _with_sample_names(sheet, ignored, wanted)


def _oriented(sheet: Sheet, wanted: Wanted) -> tuple[Sheet, set[str]]:
    """The table with samples in rows, without what is ignored of its lines and columns."""
    transpose = wanted.options.transpose
    rows = sheet.row_names()
    if sheet.settled and transpose:
        sheet = sheet.said("Samples are in rows already, as the format has it: --transpose changes nothing.")
    if sheet.settled:
        return sheet, _ignored(wanted, sheet, ())
    reason = "as --transpose says" if transpose else None
    if transpose is None:
        reason = _reason_to_turn(sheet, set(rows if rows is not None else ()) | set(sheet.lines), wanted)
    if reason is None:
        return sheet, _ignored(wanted, sheet, ())
    ignored = _ignored(wanted, sheet, [*(rows if rows is not None else ()), *sheet.lines])
    turned = turned_over(_without_columns(sheet, ignored))
    require_unique(
        turned.names,
        wanted.where,
        what="names of features, here in rows,",
        remedy="make them unique, or average the rows of one name",
    )
    if sheet.annotations:
        turned = turned.said(f"Left out what is said about rows: {listed(sheet.annotations)}.")
    return turned.said(f"Samples are in columns, {reason}: the table was turned over."), ignored


def _reason_to_turn(sheet: Sheet, rows: set[str], wanted: Wanted) -> str | None:
    columns = {*sheet.columns(), *sheet.annotations}
    if not sheet.named or not rows:
        return None
    reason = None
    if wanted.for_model:
        if not columns.intersection(wanted.features) and rows.intersection(wanted.features):
            reason = "since the model's features are rows"
    elif wanted.book is not None:
        if wanted.book.matches(columns) and not wanted.book.matches(rows):
            reason = "since the header holds the samples of the labels file"
    elif wanted.target in rows and wanted.target not in columns:
        reason = f"since {wanted.target!r} is a row"
    return reason


def _ignored(wanted: Wanted, sheet: Sheet, rows: Sequence[str]) -> set[str]:
    """The names that the caller's names and patterns stand for."""
    known = {*sheet.columns(), *sheet.annotations, *rows}
    found: set[str] = set()
    for pattern in wanted.ignore:
        matching = {pattern} & known or {name for name in known if fnmatchcase(name, pattern)}
        # A model's features are looked for by name: what else there is does not matter.
        if not matching and not wanted.for_model:
            raise ValueError(
                f"{wanted.where}: --ignore must name columns of the table, got {pattern!r}, which none is"
                f"{nearest(pattern, known) or f'; the first are {listed(sheet.columns())}.'}{sheet.elsewhere}"
            )
        found |= matching
    return found


def _without_columns(sheet: Sheet, names: set[str]) -> Sheet:
    keep = [j for j, name in enumerate(sheet.names) if name not in names]
    if len(keep) == len(sheet.names):
        numbers, lines = sheet.numbers, sheet.lines
    else:
        numbers = sheet.numbers[:, keep]
        lines = {name: cells[keep] for name, cells in sheet.lines.items()}
    return replace(
        sheet,
        numbers=numbers,
        names=[sheet.names[j] for j in keep],
        texts={name: column for name, column in sheet.texts.items() if name not in names},
        lines=lines,
    )


def _refuse_lines(sheet: Sheet, wanted: Wanted) -> None:
    names = list(sheet.lines)
    if sheet.settled:
        ignore = f"pass --ignore for each, such as --ignore {names[0]!r}"
        raise ValueError(
            f"{wanted.where}: with samples in columns, all other columns must be left out, got columns of "
            f"text {listed(names)} ({len(names)}); {'remove them' if wanted.for_model else ignore}."
        )
    raise ValueError(
        f"{wanted.where}: lines must hold numbers, got text throughout the lines {listed(names)}; "
        "if these tell about samples in columns, pass --transpose, else remove them."
    )


def _with_sample_names(sheet: Sheet, ignored: set[str], wanted: Wanted) -> Arranged:
    column = wanted.options.samples
    reserved = {*ignored, *wanted.features, wanted.target}
    aside, remedy, key = set(ignored), "make them unique", column
    place = wanted.where.name
    samples = sheet.samples
    if column is not None:
        samples = sheet.column(column)
        if samples is None:
            raise ValueError(
                f"{wanted.where}: --samples must name a column of the table, got {column!r}"
                f"{nearest(column, sheet.columns()) or f'; the first are {listed(sheet.columns())}.'}"
                f"{sheet.elsewhere}"
            )
        if column not in sheet.annotations:
            aside.add(column)
        place = f"The column {column!r} of {place}"
    elif samples is None and (first := sheet.first) is not None and first.name not in reserved:
        name, place = first.name, f"The first column of {place}"
        if sheet.names_its_rows():
            samples, key = first.cells, name
            aside.add(name)
            shown = repr(name) if name else "without a name"
            sheet = sheet.said(f"Took the first column, {shown}, as the names of the samples.")
        elif _meant_as_names(first, sheet, strictly=wanted.for_model):
            samples = first.cells
            remedy = _remedy(sheet, name, wanted)
    if wanted.book is not None:
        _refuse_unmatched(wanted.book, samples, place, sheet, wanted)
    if samples is None:
        numbered = text_array(str(i + 1) for i in range(sheet.n_rows))
        return Arranged(sheet, numbered, has_names=False, aside=aside)
    gone = sum(is_missing(name) for name in samples)
    if gone:
        raise ValueError(
            f"{wanted.where}: every sample must have a name, got none for {gone} of {len(samples)}; "
            "complete them, or pass --samples with another column."
        )
    require_unique(list(samples), wanted.where, what="sample names", remedy=remedy)
    return Arranged(sheet, samples, has_names=True, aside=aside, names_column=key)


def _remedy(sheet: Sheet, name: str, wanted: Wanted) -> str:
    """What to do about names in the first column that are not unique."""
    if wanted.for_model or wanted.book is not None:
        return "make them unique, or pass --samples with another column"
    if wanted.target in sheet.columns():
        return f"make them unique, or pass --ignore {name!r} if they are none"
    return (
        "make them unique; if they are features and the samples in columns, average the rows of one name "
        "and pass a file with the labels by --labels FILE"
    )


def _refuse_unmatched(
    book: LabelBook, samples: TextArray | None, place: str, sheet: Sheet, wanted: Wanted
) -> None:
    """Raise ValueError if the labels file has none of the names, and tell where they may be."""
    if samples is not None and book.matches(samples):
        return
    places = {} if samples is None else {place: list(samples)}
    if not sheet.settled and sheet.named and wanted.options.transpose is None:
        first = {sheet.first.name} if sheet.first is not None else set()
        places[f"The header of {wanted.where.name}"] = [name for name in sheet.columns() if name not in first]
    for where, names in places.items():
        pair = book.spelt_differently(names)
        if pair is not None:
            raise ValueError(
                f"{where} has {pair[0]!r}, {book.path.name} has {pair[1]!r}: the same names, spelt "
                "differently? Make them equal."
            )
    if samples is not None:
        places[f"The first column of {book.path.name}"] = list(next(iter(book.columns.values())))
        shown = " ".join(f"{where} has {listed(names, 3)}." for where, names in places.items())
        raise ValueError(
            f"{book.path} must name the samples of {wanted.where} in one of its columns, got none. {shown} "
            f"Make the names equal.{sheet.elsewhere}"
        )


def _meant_as_names(first: FirstColumn, sheet: Sheet, *, strictly: bool) -> bool:
    """Whether the first column would be names of the samples if it were not for repetitions or gaps."""
    if first.name not in sheet.texts or len(sheet.columns()) == 1:
        return False
    many = 2 * len(set(first.cells)) > len(first.cells) > 2
    words = 2 * sum(is_word(cell) for cell in first.cells) > len(first.cells)
    return many and ((sheet.named and is_identifier(first.name)) or (words and not strictly))
