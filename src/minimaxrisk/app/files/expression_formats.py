"""Text formats of gene expression, with genes in rows: GCT and the series matrices of GEO."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from minimaxrisk._utils.arguments import listed
from minimaxrisk.app.files.cells import TextArray, is_word, text_array
from minimaxrisk.app.files.remarks import Remark
from minimaxrisk.app.files.study import ReadOptions, spell
from minimaxrisk.app.files.table import Table, transposed
from minimaxrisk.app.files.text import TextFile, split_records
from minimaxrisk.app.files.text_tables import Lines, table_of_lines

TABLE_BEGIN, TABLE_END = "!series_matrix_table_begin", "!series_matrix_table_end"  # of GEO


def read_gct(file: TextFile, options: ReadOptions) -> Table:
    """Read a GCT file of version 1.2 or 1.3."""
    n_genes, n_samples, n_aside, n_notes = _gct_sizes(file)
    header, *notes = list(islice(split_records(_after(file, 2), "\t"), 1 + n_notes)) or [[]]
    expected = 1 + n_aside + n_samples
    uneven = next((row for row in (header, *notes) if len(row) != expected), None)
    if uneven is not None:
        raise ValueError(
            f"{file.path}: lines must have {expected} cells as the second line says ({1 + n_aside} of the "
            f"gene and {n_samples} of samples), got {len(uneven)}; get or export it again."
        )

    def body() -> Iterator[str]:
        return (line for i, line in enumerate(_after(file, 2)) if i == 0 or i > n_notes)

    aside = header[1 : 1 + n_aside]
    raw = _genes_to_columns(body, file, options, aside)
    if len(raw.names) != n_genes:
        raise ValueError(
            f"{file.path} must hold {n_genes} genes as its second line says, got {len(raw.names)}; "
            "it may be incomplete: get or export it again."
        )
    annotations = {row[0]: text_array(row[1 + n_aside :]) for row in notes}
    remarks = [Remark.of("descriptions", names=listed(aside))] * bool(aside)
    return replace(raw, annotations=annotations).with_remarks(*remarks)


def _gct_sizes(file: TextFile) -> tuple[int, int, int, int]:
    """Return the numbers of genes, samples, columns about genes and lines about samples."""
    first, second = [*islice(file.lines(), 2), "", ""][:2]
    n_sizes = {"#1.2": 2, "#1.3": 4}.get(first.strip())
    if n_sizes is None:
        raise ValueError(f"{file.path}: a GCT file must begin with #1.2 or #1.3, got {first.strip()[:20]!r}.")
    sizes = second.split()[:n_sizes]
    if len(sizes) < n_sizes or not all(size.isdecimal() and len(size) < 10 for size in sizes):
        raise ValueError(
            f"{file.path}: the second line of a GCT file must hold {n_sizes} whole numbers, its sizes, "
            f"got {second.strip()[:40]!r}."
        )
    n_genes, n_samples, *notes = map(int, sizes)
    return n_genes, n_samples, *(notes or (1, 0))


def _after(file: TextFile, n_lines: int) -> Iterator[str]:
    return islice(file.lines(), n_lines, None)


def _genes_to_columns(body: Lines, file: TextFile, options: ReadOptions, aside: Sequence[str] = ()) -> Table:
    """Return the table transposed; the columns ``aside`` describe genes."""
    with_header = ReadOptions(header=True, spelling=options.spelling, as_text=frozenset(aside))
    raw = table_of_lines(body, file.path, "\t", with_header)
    assert raw.first is not None
    words = {name: cells for name, cells in raw.texts.items() if name not in {raw.first.name, *aside}}
    for kind, found in (("sample", words), ("line", raw.lines)):
        for name, cells in found.items():
            word = next(cell for cell in cells if is_word(cell))
            raise ValueError(
                f"{file.path}: {kind} {name!r} must hold numbers, got {word!r}; correct the file."
            )
    descriptions = {name: raw.texts[name] for name in aside if name in raw.texts}
    return replace(transposed(replace(raw, texts={})), descriptions=descriptions)


def read_series_matrix(file: TextFile, options: ReadOptions) -> Table:
    """Read a series matrix of the Gene Expression Omnibus, with its lines about samples as annotations."""
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
        raise ValueError(f"{file.path} must end in a line {TABLE_END}: it is incomplete, get it again.")

    if len(list(islice(body(), 2))) < 2:
        raise ValueError(
            f"{file.path} must hold a table of values, got none: this series has its values in supplementary "
            f"files of GEO; get those and pass them as a table with {spell(options, 'transpose', True)}."
        )
    raw = _genes_to_columns(body, file, options)
    return replace(raw, annotations=_sample_annotations(about, raw.n_rows, file))


def _sample_annotations(about: Iterable[list[str]], n: int, file: TextFile) -> dict[str, TextArray]:
    """Return lines about samples by name; ``age: 5`` under characteristics is a value of ``age``."""
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
            _add(found, key, [value if other == key else "" for other, value in entries])
    return {name: text_array(column) for name, column in found.items()}


def _add(found: dict[str, list[str]], name: str, column: list[str]) -> None:
    """Add a column under a free name, or to one of its name that has values for other samples alone."""
    unique, i = name, 1
    while unique in found:
        pairs = list(zip(found[unique], column, strict=True))
        if not any(a and b for a, b in pairs):
            found[unique] = [a or b for a, b in pairs]
            return
        i += 1
        unique = f"{name}.{i}"
    found[unique] = column
