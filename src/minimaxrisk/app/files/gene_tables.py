"""Text tables of gene expression with genes in rows: GCT files and the series matrices of GEO."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from minimaxrisk.app.files.cells import TextArray, is_word, text_array
from minimaxrisk.app.files.layout import TextFile, split_records
from minimaxrisk.app.files.problems import listed
from minimaxrisk.app.files.raw_table import RawTable, transposed
from minimaxrisk.app.files.study import ReadOptions
from minimaxrisk.app.files.text_tables import Lines, table_of_lines

WITH_HEADER = ReadOptions(header=True)
TABLE_BEGIN, TABLE_END = "!series_matrix_table_begin", "!series_matrix_table_end"


def read_gct(file: TextFile) -> RawTable:
    """A GCT file of version 1.2 or 1.3, samples in rows."""
    sizes = gct_sizes(file)
    n_genes, n_samples, row_notes, column_notes = sizes
    header, *notes = list(islice(split_records(_after(file, 2), "\t"), 1 + column_notes)) or [[]]
    expected = 1 + row_notes + n_samples
    uneven = next((row for row in (header, *notes) if len(row) != expected), None)
    if uneven is not None:
        raise ValueError(
            f"{file.path}: lines must have {expected} cells as the second line says ({1 + row_notes} of the "
            f"gene and {n_samples} of samples), got {len(uneven)}; get or export it again."
        )

    def body() -> Iterator[str]:
        return (line for i, line in enumerate(_after(file, 2)) if i == 0 or i > column_notes)

    aside = header[1 : 1 + row_notes]
    raw = _genes_to_columns(body, file, aside)
    if len(raw.names) != n_genes:
        raise ValueError(
            f"{file.path} must hold {n_genes} genes as its second line says, got {len(raw.names)}; "
            "it may be incomplete: get or export it again."
        )
    annotations = {row[0]: text_array(row[1 + row_notes :]) for row in notes}
    remark = (f"Columns that describe the genes are no samples: {listed(aside)}.",) if aside else ()
    return replace(raw, annotations=annotations).said(*remark)


def gct_sizes(file: TextFile) -> tuple[int, int, int, int]:
    """Numbers of genes, samples, columns about genes and lines about samples."""
    first, second = ([*islice(file.lines(), 2), "", ""])[:2]
    n_sizes = {"#1.2": 2, "#1.3": 4}.get(first.strip())
    if n_sizes is None:
        raise ValueError(f"{file.path}: a GCT file must begin with #1.2 or #1.3, got {first.strip()[:20]!r}.")
    sizes = second.split()
    if len(sizes) < n_sizes or not all(size.isdecimal() for size in sizes[:n_sizes]):
        raise ValueError(
            f"{file.path}: the second line of a GCT file must hold {n_sizes} whole numbers, its sizes, "
            f"got {second.strip()[:40]!r}."
        )
    n_genes, n_samples, *notes = (int(size) for size in sizes[:n_sizes])
    return n_genes, n_samples, *(notes or (1, 0))


def _after(file: TextFile, n_lines: int) -> Iterator[str]:
    return islice(file.lines(), n_lines, None)


def _genes_to_columns(body: Lines, file: TextFile, aside: Sequence[str]) -> RawTable:
    """The table transposed without the columns ``aside``, be they words or numbers."""
    raw = table_of_lines(body, file.path, delimiter="\t", options=WITH_HEADER)
    first = raw.first
    assert first is not None
    words = [name for name in raw.texts if name not in {first.name, *aside}]
    if words or raw.lines:
        where = f"sample {words[0]!r}" if words else f"line {next(iter(raw.lines))!r}"
        cells = raw.texts[words[0]] if words else next(iter(raw.lines.values()))
        word = next(cell for cell in cells if is_word(cell))
        raise ValueError(f"{file.path}: {where} must hold numbers, got {word!r}; correct the file.")
    left_out = set(aside) - {first.name}
    keep = [j for j, name in enumerate(raw.names) if name not in left_out]
    numbers = raw.numbers if len(keep) == len(raw.names) else raw.numbers[:, keep]
    return transposed(replace(raw, numbers=numbers, names=[raw.names[j] for j in keep], texts={}))


def read_series_matrix(file: TextFile) -> RawTable:
    """A series matrix of the Gene Expression Omnibus: what it tells about samples become annotations."""
    about: list[list[str]] = []
    begin = None
    for i, line in enumerate(file.lines()):
        if line.lower().startswith(TABLE_BEGIN):
            begin = i + 1
            break
        if line.lower().startswith("!sample_"):
            about.extend(split_records([line], "\t"))
    if begin is None:
        raise ValueError(
            f"{file.path}: a GEO series matrix must have a line {TABLE_BEGIN}, got none; "
            "it may be incomplete: get it again."
        )

    def body() -> Iterator[str]:
        for line in _after(file, begin):
            if line.lower().startswith(TABLE_END):
                return
            yield line

    if len(list(islice(body(), 2))) < 2:
        raise ValueError(
            f"{file.path} must hold a table of values, got none: this series has its values in supplementary "
            "files of GEO; get those and pass them as a table with --transpose."
        )
    raw = _genes_to_columns(body, file, ())
    return replace(raw, annotations=_sample_annotations(about, raw.n_rows, file))


def _sample_annotations(about: Iterable[list[str]], n: int, file: TextFile) -> dict[str, TextArray]:
    """``diagnosis: cancer`` under characteristics is the value of ``diagnosis``; other lines have names."""
    found: dict[str, list[str]] = {}
    for title, *cells in about:
        if len(cells) != n:
            raise ValueError(
                f"{file.path}: the line {title} must have an entry for each of {n} samples, got {len(cells)}."
            )
        name = title[len("!Sample_") :]
        pairs = [cell.partition(": ") for cell in cells]
        if name.startswith("characteristics_ch") and any(colon for _, colon, _ in pairs):
            # Submitters do not always keep the order, so that one line may hold several things.
            entries = [(key.strip(), value) if colon else (name, key) for key, colon, value in pairs]
        else:
            entries = [(name, cell) for cell in cells]
        for key in dict.fromkeys(key for key, _ in entries):
            column = [value if other == key else "" for other, value in entries]
            _add(found, key, column)
    return {name: text_array(column) for name, column in found.items()}


def _add(found: dict[str, list[str]], name: str, column: list[str]) -> None:
    """Add under a free name, or to what is there if the two have no sample in common."""
    unique, i = name, 1
    while unique in found:
        there = found[unique]
        if not any(a and b for a, b in zip(there, column, strict=True)):
            found[unique] = [a or b for a, b in zip(there, column, strict=True)]
            return
        i += 1
        unique = f"{name}.{i}"
    found[unique] = column
