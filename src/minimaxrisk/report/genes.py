"""The selected features as a table to take away: all of them, with all numbers, for every class."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from minimaxrisk._utils.atomic import write_whole
from minimaxrisk.report.summaries import FeatureTable

ENDINGS = (".csv", ".tsv", ".xlsx")
# What XML cannot hold, not even escaped.
NOT_IN_XML = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF], "?")


@dataclass(frozen=True)
class GeneTable:
    """A column for each header; cells are text, numbers or None."""

    headers: list[str]
    rows: list[list[Any]]


def gene_table(
    table: FeatureTable, classes: Sequence[str], annotations: Mapping[str, Sequence[str]] | None = None
) -> GeneTable:
    """All selected features, the most important first.

    ``annotations`` has further columns, with an entry for every feature of the data. Welch's t and q describe
    features one by one: they were computed on the samples that the features were selected with.
    """
    # Pairs, since annotations may be called like a column of ours.
    columns: list[tuple[str, Any]] = [("feature", table.names)]
    for name, values in (annotations or {}).items():
        columns.append((name, [values[j] for j in table.columns]))
    columns.append(("importance", table.importance))
    columns.append(("larger values speak", [one.in_words for one in table.directions]))
    one_row = len(table.coefficients) == 1
    for name, row in zip(["coefficient"] if one_row else classes, table.coefficients, strict=True):
        columns.append(("coefficient" if one_row else f"coefficient, {name}", row))
    for name, row in zip(classes, table.class_means, strict=True):
        columns.append((f"mean, {name}", row))
    contrasts = (
        [f"{classes[1]} less {classes[0]}"] if len(classes) == 2 else [f"{c} less others" for c in classes]
    )
    for i, what in enumerate(contrasts):
        columns += [
            (f"difference of means, {what}", table.difference[i]),
            (f"log2 ratio of means, {what}", table.log2_ratio[i]),
            (f"Welch t (descriptive), {what}", table.t[i]),
            (f"q (descriptive), {what}", table.q[i]),
        ]
    if table.frequency is not None:
        columns.append(("selected in share of folds", table.frequency))
    rows = [[_cell(value) for value in row] for row in zip(*(values for _, values in columns), strict=True)]
    return GeneTable([name for name, _ in columns], rows)


def write_genes(path: str | Path, table: GeneTable) -> None:
    """As the ending says: text with commas or tabs, or a workbook."""
    ending = check_genes_path(path)
    if ending == ".xlsx":
        write_whole(path, _workbook(table))
        return
    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if ending == ".csv" else "\t", lineterminator="\n")
    writer.writerow(table.headers)
    writer.writerows([_as_text(cell) for cell in row] for row in table.rows)
    write_whole(path, text.getvalue())


def check_genes_path(path: str | Path) -> str:
    """The ending, which says the format; asked before the work."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{path} must end with {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}, got {ending!r}.")
    return ending


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return value
    number = float(value)
    return number if np.isfinite(number) else None


def _as_text(cell: Any) -> str:
    return "" if cell is None else cell if isinstance(cell, str) else repr(cell)


def _workbook(table: GeneTable) -> bytes:
    """One sheet, by hand: names are text cells, which no program turns into dates."""
    lines = [_sheet_row([str(header) for header in table.headers]), *(_sheet_row(row) for row in table.rows)]
    sheet = (
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews>'
        '<sheetView workbookViewId="0"><pane xSplit="1" ySplit="1" topLeftCell="B2" state="frozen"/>'
        f"</sheetView></sheetViews><sheetData>{''.join(lines)}</sheetData></worksheet>"
    )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in {**PARTS, "xl/worksheets/sheet1.xml": sheet}.items():
            # Always the same moment, so that the same numbers make the same file.
            book.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return target.getvalue()


def _sheet_row(row: Sequence[Any]) -> str:
    return f"<row>{''.join(_sheet_cell(cell) for cell in row)}</row>"


def _sheet_cell(cell: Any) -> str:
    if cell is None:
        return "<c/>"
    if isinstance(cell, str):
        text = escape(cell.translate(NOT_IN_XML))
        return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
    return f"<c><v>{cell!r}</v></c>"


_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    f'xmlns:r="{_OFFICE}"><sheets><sheet name="features" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}
