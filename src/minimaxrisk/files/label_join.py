"""Labels from a second file, given to the samples of the data by name or, without names, in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk.files.cells import TextArray, is_identifier
from minimaxrisk.files.label_table import LabelTable
from minimaxrisk.files.problems import counted, listed, nearest, repeated
from minimaxrisk.files.raw_table import RawTable, counts_lines
from minimaxrisk.files.request import ReadRequest


class JoinedLabels(NamedTuple):
    """A label per sample, the name of their column, remarks, and the line of the labels file per sample."""

    column: TextArray
    target: str
    remarks: tuple[str, ...]
    lines: IntArray


def join_by_name(
    table: LabelTable, samples: TextArray, request: ReadRequest, names_column: str | None
) -> JoinedLabels:
    """Labels in the order of the samples; ``names_column`` is where the data has their names."""
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
        ignore = "" if request.for_model else " (--ignore leaves them out if samples are in columns)"
        raise ValueError(
            f"{table} must hold a label for every sample, got none for {len(without)} of "
            f"{len(samples)}: {listed(without)}; add them, or remove these samples from the data{ignore}."
        )
    unused = [name for name in names if name not in known]
    remarks: tuple[str, ...] = (f"Labels were joined by the column {key!r} of {table.name}.",)
    if unused:
        n_unused = counted(len(unused), "sample")
        remarks += (f"The labels file has {n_unused} not in the data: {listed(unused, 3)}.",)
    lines = np.array([line_of[name] for name in samples], dtype=np.intp)
    return JoinedLabels(table.columns[target][lines], _shown(table, target), remarks, lines)


def _key(table: LabelTable, known: set[str], names_column: str | None) -> str:
    """The column that has most of the sample names; of several, the one that is called like it."""
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


def join_in_order(table: LabelTable, data: RawTable, request: ReadRequest) -> JoinedLabels:
    """Labels for data without sample names: as many lines as the data has rows."""
    n = data.n_rows
    _refuse_possible_key(table, data, request)
    target = _target(table, request, _name_columns(table))
    column = table.columns[target]
    if len(column) != n:
        raise ValueError(
            f"{table} must hold {counted(n, 'label')} because the data has {counted(n, 'row')} without "
            f"names, got {len(column)}; if samples are in columns of the data, pass --transpose."
        )
    remark = f"The data has no sample names, so the labels of {table.name} were joined line by line."
    return JoinedLabels(column, _shown(table, target), (remark,), np.arange(n))


def _refuse_possible_key(table: LabelTable, data: RawTable, request: ReadRequest) -> None:
    """Raise ValueError if a column of the data may name the samples: joining by order would be a guess."""
    known = set(data.columns())
    common = [name for name in table.columns if table.named and name in known and name != request.target]
    first = data.first
    if first is not None and len(set(first.cells)) == data.n_rows == table.matches(first.cells):
        common = [first.name]
    if common:
        raise ValueError(
            f"{table} and {request.where} could be joined by the column {common[0]!r} of the data: if "
            f"it names the samples, pass --samples {common[0]!r}; otherwise pass --ignore {common[0]!r}, or "
            "remove it from the labels file."
        )


def _shown(table: LabelTable, target: str) -> str:
    """A name made for a column of this file may be that of a feature in the data."""
    return target if table.named else "label"


def _name_columns(table: LabelTable) -> set[str]:
    """The first column if it has a value of its own in every line and is not the only one."""
    name, first = next(iter(table.columns.items()))
    return {name} if len(table.columns) > 1 and len(set(first)) == len(first) else set()


def _target(table: LabelTable, request: ReadRequest, keys: set[str]) -> str:
    target = request.target
    others = [name for name in table.columns if name not in {*keys, *request.beside}]
    if target is None and len(others) == 1:
        return others[0]
    if target is None:
        got = f"{len(others)}: {listed(others, 8)}" if others else "0"
        advice = "keep only the one" if request.for_model else "use --target to name the one"
        raise ValueError(
            f"{table} must have one column besides the sample names, got {got}; {advice} with the labels."
        )
    if target not in table.columns:
        raise ValueError(
            f"{table} must have {request.target_shown()}, got {listed(others)}"
            f"{nearest(target, others) or '; rename the one with the labels.'}"
        )
    return target
