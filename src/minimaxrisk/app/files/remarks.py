"""What a user should know about a file that was read: codes with values, and their sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SENTENCES = {
    # The text of the file.
    "encoding": "The file is not in UTF-8 and was read as {encoding}; save it as UTF-8 if names look wrong.",
    "title": "Skipped {lines} above the table, a title: {title}.",
    "comments": "Skipped {lines} above the table, beginning with #.",
    "empty-columns": "Left out {columns} without a name at the end of the table.",
    "no-header": "The table has no header: its columns are called column_1 to column_{width}, counting "
    "those of names and labels; pass {option} if the first line holds names.",
    "decimal-comma": "Numbers have decimal commas: 1,5 was read as one and a half.",
    "thousands": "Numbers have separators between thousands: {example} was read as 1234.5.",
    # The format.
    "no-effect": "{option} has no effect{where}.",
    "sheet": "Read the sheet {sheet!r}; the workbook also has {others} ({option}).",
    "index": "Took the index {index!r} of the table as sample names.",
    "from-zero": "Indices count from 0: column_0 is the first.",
    "variables": "Left out the variables {names} of the file.",
    "descriptions": "Columns that describe the genes are not samples: {names}.",
    # The arrangement.
    "transposed": "The table was transposed: samples are in columns, {reason}.",
    "row-annotations": "Left out the annotations of the rows: {names}.",
    "rows-are-samples": "Rows were taken as samples{reason}.{hint}",
    "first-column": "Took the first column, {column}, as the names of the samples.",
    "numbered-samples": "Samples of the same name were numbered, such as {example!r}.",
    # Labels.
    "target-in-labels": "Left out the column {target!r} of the data: the labels file has it.",
    "target-is-feature": "{target!r} is a feature too: the labels are those outside of the table.",
    "labels-left-out": "The labels in {target!r} were left out: {n_missing} of {n} are missing.",
    "missing-words": "In {target!r}, {words} and not a missing label; empty the cells if that is not meant.",
    "joined-in-order": "The data has no sample names, so the labels of {labels} were joined line by line.",
    "joined": "Labels were joined by the column {column!r} of {labels}.",
    "unused-labels": "The labels file has {samples} not in the data: {names}.",
    # Features.
    "true-and-false": "Columns of true and false were read as 1 and 0: {names}.",
    "merged": "{n} columns share {names} ({shown}) and were {how}.",
    "suspicious-names": "{names} among the {n:,} features; if that is not meant, pass {option}.",
    "ignored": "Ignored {columns} that the model does not use: {names}.",
}


@dataclass(frozen=True)
class Remark:
    """A code and its values; as text, a sentence."""

    code: str
    values: Mapping[str, Any]

    @classmethod
    def of(cls, code: str, **values: Any) -> Remark:
        """Return the remark with a code."""
        return cls(code, values)

    def __str__(self) -> str:
        return SENTENCES[self.code].format(**self.values)
