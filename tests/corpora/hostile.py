"""Files that attack: each case writes one, and the command must refuse it within limited memory and time.

``python -m tests.corpora.hostile`` prints a table of all cases: size, exit code, message, seconds, memory.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

ROOT = Path(__file__).parents[2]
MEMORY = 4 << 30  # bytes of address space
MOST_SECONDS = 20  # of CPU until a case is stopped; on a busy machine the clock may show more
MOST_WAITING = 180.0
N, D = 24, 30
CLASSES = list("ab") * (N // 2)
BEYOND = {"d": D, "d+1": D + 1, "-1": -1, "-7": -7, "1e5": 10**5, "2^31-1": 2**31 - 1, "-2^31": -(2**31)}
BLOCK = 1 << 26  # bytes that a gzip member of a bomb unpacks to; 160 of them are 10 GB

Arguments = list[str]
Build = Callable[[Path], Arguments]  # writes the file into a folder, returns the arguments of ``fit``


def counts() -> np.ndarray:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((N, D)) < 0.4, rng.random((N, D)).round(3) + 0.1, 0.0)
    X[::2, 0] += 2.0
    return X


def with_labels(folder: Path, name: str) -> Arguments:
    (folder / "l.csv").write_text("\n".join(["class", *CLASSES]))
    return [name, "--labels", "l.csv"]


# Sparse matrices.


def parts_of(kind: str) -> dict[str, Any]:
    """The arrays of a sparse matrix as SciPy saves them."""
    X = sparse.csr_matrix(counts()).asformat(kind)
    parts = {"format": np.array(kind.encode()), "shape": np.array(X.shape), "data": X.data}
    if kind == "coo":
        return parts | {"row": X.row, "col": X.col}
    if kind == "dia":
        return parts | {"offsets": X.offsets}
    return parts | {"indices": X.indices, "indptr": X.indptr}


def changed(values: np.ndarray, how: Any) -> np.ndarray:
    """Some indices or pointers with one wrong entry."""
    values = values.astype(np.int64)
    if how == "float":
        return values + 0.5
    if how == "falls":
        values[6] = values[5] - 3
    elif how == "short":
        return values[:-1]
    else:
        values[5] = how
    return values


def sparse_npz(kind: str, member: str, how: Any, folder: Path) -> Arguments:
    parts = parts_of(kind)
    parts[member] = changed(parts[member], how)
    np.savez(folder / "t.npz", **parts)
    return with_labels(folder, "t.npz")


def sparse_h5ad(kind: str, member: str, how: Any, folder: Path) -> Arguments:
    with hdf5(folder, sparse.csr_matrix(counts()).asformat(kind)) as file:
        values = changed(file[f"X/{member}"][...], how)
        del file[f"X/{member}"]
        file[f"X/{member}"] = values
    return ["t.h5ad", "--target", "class"]


def sparse_cases() -> dict[str, Build]:
    cases: dict[str, Build] = {}
    for kind in ("csr", "csc"):
        for write, ending in ((sparse_npz, "npz"), (sparse_h5ad, "h5ad")):
            for name, value in BEYOND.items():
                cases[f"{ending} {kind} index {name}"] = partial(write, kind, "indices", value)
            for how in ("falls", "short", 10**6, -(10**6), "float"):
                cases[f"{ending} {kind} pointer {how}"] = partial(write, kind, "indptr", how)
            cases[f"{ending} {kind} index float"] = partial(write, kind, "indices", "float")
    for member in ("row", "col"):
        for how in (D + 1, -1, "float"):
            cases[f"npz coo {member} {how}"] = partial(sparse_npz, "coo", member, how)
    cases["npz bsr index 1e5"] = partial(sparse_npz, "bsr", "indices", 10**5)
    cases["npz bsr pointer -1000000"] = partial(sparse_npz, "bsr", "indptr", -(10**6))
    cases["npz dia offset 2^31"] = partial(sparse_npz, "dia", "offsets", 2**31)
    return cases


# HDF5.


@contextmanager
def hdf5(folder: Path, X: Any = None) -> Iterator[Any]:
    """An AnnData file of the study, opened to be changed."""
    import anndata  # noqa: PLC0415
    import h5py  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415

    obs = pd.DataFrame({"class": CLASSES}, index=[f"c{i}" for i in range(N)])
    var = pd.DataFrame(index=[f"g{j}" for j in range(D)])
    X = counts() if X is None else X
    anndata.AnnData(X=X, obs=obs, var=var, layers={"raw": X}).write_h5ad(folder / "t.h5ad")
    (folder / "secret").write_bytes(b"".join(b"user%04d:x:0:0\n" % i for i in range(400)))
    with h5py.File(folder / "other.h5", "w") as other:
        other["X"], other["names"] = counts() + 1.0, [f"secret{j}" for j in range(D)]
    with h5py.File(folder / "t.h5ad", "r+") as file:
        yield file


def replaced(file: Any, place: str, make: Callable[[], Any]) -> None:
    """Another object in the place of a data set, with the attributes that AnnData reads."""
    attributes = dict(file[place].attrs)
    del file[place]
    make()
    for name, value in attributes.items():
        file[place].attrs[name] = value


def stored_outside(place: str, shape: tuple[int, ...], kind: str, folder: Path) -> Arguments:
    """The bytes of another file of the user as values or names."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    with hdf5(folder) as file:
        outside = [(str(folder / "secret"), 0, size)]
        replaced(file, place, lambda: file.create_dataset(place, shape, kind, external=outside))
    layer = ["--layer", "raw"] if place.startswith("layers") else []
    return ["t.h5ad", "--target", "class", *layer]


def linked(place: str, theirs: str, folder: Path) -> Arguments:
    import h5py  # noqa: PLC0415

    with hdf5(folder) as file:
        del file[place]
        file[place] = h5py.ExternalLink(str(folder / "other.h5"), theirs)
    layer = ["--layer", "raw"] if place.startswith("layers") else []
    return ["t.h5ad", "--target", "class", *layer]


def linked_by_a_detour(by_attribute: bool, folder: Path) -> Arguments:
    """A link elsewhere in the file, which the name of a column or a soft link leads to."""
    import h5py  # noqa: PLC0415

    with hdf5(folder) as file:
        file["elsewhere"] = h5py.ExternalLink(str(folder / "other.h5"), "/names")
        if by_attribute:
            file["var"].attrs["_index"] = "/elsewhere"
        else:
            del file["var/_index"]
            file["var/_index"] = h5py.SoftLink("/elsewhere")
    return ["t.h5ad", "--target", "class"]


def virtual(folder: Path) -> Arguments:
    import h5py  # noqa: PLC0415

    with hdf5(folder) as file:
        layout = h5py.VirtualLayout((N, D), "f8")
        layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "X", (N, D))
        replaced(file, "X", lambda: file.create_virtual_dataset("X", layout))
    return ["t.h5ad", "--target", "class"]


def never_written(place: str, shape: tuple[int, ...], kind: str, folder: Path) -> Arguments:
    """A data set that claims a size and stores nothing."""
    chunks = tuple(min(size, 10**5) for size in shape)
    with hdf5(folder) as file:
        replaced(file, place, lambda: file.create_dataset(place, shape, kind, chunks=chunks))
    return ["t.h5ad", "--target", "class"]


def claimed_shape(kind: str, shape: tuple[int, int], folder: Path) -> Arguments:
    with hdf5(folder, sparse.csr_matrix(counts()).asformat(kind)) as file:
        file["X"].attrs["shape"] = shape
    return ["t.h5ad", "--target", "class"]


def in_circles(folder: Path) -> Arguments:
    """A group that is a member of itself, beside a matrix with a wrong index."""
    sparse_h5ad("csr", "indices", D, folder)
    import h5py  # noqa: PLC0415

    with h5py.File(folder / "t.h5ad", "r+") as file:
        file["obs/again"] = file["obs"]
    return ["t.h5ad", "--target", "class"]


HDF5: dict[str, Build] = {
    "h5ad X stored outside": partial(stored_outside, "X", (N, D), "u1"),
    "h5ad names stored outside": partial(stored_outside, "var/_index", (D,), "S16"),
    "h5ad samples stored outside": partial(stored_outside, "obs/_index", (N,), "S16"),
    "h5ad labels stored outside": partial(stored_outside, "obs/class/codes", (N,), "i1"),
    "h5ad layer stored outside": partial(stored_outside, "layers/raw", (N, D), "u1"),
    "h5ad X linked": partial(linked, "X", "/X"),
    "h5ad names linked": partial(linked, "var/_index", "/names"),
    "h5ad layer linked": partial(linked, "layers/raw", "/X"),
    "h5ad names linked by a soft link": partial(linked_by_a_detour, False),
    "h5ad names linked by an attribute": partial(linked_by_a_detour, True),
    "h5ad X virtual": virtual,
    "h5ad in circles": in_circles,
    "h5ad X claims 1e12 columns": partial(never_written, "X", (N, 10**12), "f8"),
    "h5ad X claims 1.5e7 columns": partial(never_written, "X", (N, 15 * 10**6), "f8"),
    "h5ad names claim 1e12": partial(never_written, "var/_index", (10**12,), "S16"),
    "h5ad csr claims 1e15 columns": partial(claimed_shape, "csr", (N, 10**15)),
    "h5ad csc claims 1e15 rows": partial(claimed_shape, "csc", (10**15, D)),
}


# Arrays of NumPy.


def sparse_claim(kind: str, shape: tuple[int, int], folder: Path) -> Arguments:
    np.savez(folder / "t.npz", **(parts_of(kind) | {"shape": np.array(shape)}))
    return with_labels(folder, "t.npz")


def members(folder: Path, compression: int = zipfile.ZIP_STORED, **content: bytes) -> Arguments:
    with zipfile.ZipFile(folder / "t.npz", "w", compression) as archive:
        for name, data in content.items():
            archive.writestr(f"{name}.npy", data)
    return with_labels(folder, "t.npz")


def header(kind: str, shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    description = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, description)
    return file.getvalue()


def array(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def dense_claim(kind: str, shape: tuple[int, ...], folder: Path) -> Arguments:
    return members(folder, X=header(kind, shape) + bytes(64))


def damaged_strings(name: str, folder: Path) -> Arguments:
    codes = np.full((D if name == "feature_names" else N, 4), 0x7FFFFFFF, np.uint32)
    return members(folder, X=array(counts()), **{name: array(codes.view("<U4").ravel())})


def half_a_character(folder: Path) -> Arguments:
    names = np.array([f"g{j}\ud800" for j in range(D)])
    return members(folder, X=array(counts()), feature_names=array(names))


def pickled(name: str, folder: Path) -> Arguments:
    arrays = {"X": counts(), "y": np.array(CLASSES)}
    arrays[name] = np.array([*arrays[name]], dtype=object)
    np.savez(folder / "t.npz", **arrays)
    return ["t.npz", "--target", "y"]


def zeros(folder: Path) -> Arguments:
    """Two gigabytes of zeros in two megabytes."""
    np.savez_compressed(folder / "t.npz", X=np.zeros((N, 10**6)))
    return with_labels(folder, "t.npz")


NUMPY: dict[str, Build] = {
    "npz csr claims 1e15 columns": partial(sparse_claim, "csr", (N, 10**15)),
    "npz csr claims 1e7 columns": partial(sparse_claim, "csr", (N, 10**7)),
    "npz csc claims 1e15 rows": partial(sparse_claim, "csc", (10**15, D)),
    "npz coo claims 1e15 rows": partial(sparse_claim, "coo", (10**15, D)),
    "npz coo claims 1e8 rows": partial(sparse_claim, "coo", (10**8, D)),
    "npz claims 1e15 columns": partial(dense_claim, "<f8", (N, 10**15)),
    "npz claims 1e8 columns": partial(dense_claim, "<f8", (4, 10**8)),
    "npz claims 2^64 cells": partial(dense_claim, "<f8", (2**32, 2**32)),
    "npz claims long strings": partial(dense_claim, "<U1000000000", (N, 30)),
    "npz of negative shape": partial(dense_claim, "<f8", (-4, -30)),
    "npz names damaged": partial(damaged_strings, "feature_names"),
    "npz samples damaged": partial(damaged_strings, "sample_names"),
    "npz labels damaged": partial(damaged_strings, "y"),
    "npz names with half a character": half_a_character,
    "npz X pickled": partial(pickled, "X"),
    "npz labels pickled": partial(pickled, "y"),
    "npz bomb of zeros": zeros,
}


# Workbooks.

SHEET = "xl/worksheets/sheet1.xml"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
FRAME = {
    "[Content_Types].xml": f'<Types xmlns="{TYPES}"><Default Extension="xml" ContentType="application/xml"/>'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    "</Types>",
    "_rels/.rels": f'<Relationships xmlns="{LINKS}"><Relationship Id="r1" Type="{OFFICE}/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
    '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{LINKS}"><Relationship Id="r1" '
    f'Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" '
    f'Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
}


def cell(place: str, value: object) -> str:
    reference = f' r="{place}"' if place else ""
    if isinstance(value, str):
        return f'<c{reference} t="inlineStr"><is><t>{value}</t></is></c>'
    return f"<c{reference}><v>{value}</v></c>"


def honest_rows() -> str:
    lines = [("id", "class", "g"), *((f"s{i}", CLASSES[i], 1.5 * i) for i in range(N))]
    cells = [
        [cell(f"{column}{i}", value) for column, value in zip("ABC", line, strict=True)]
        for i, line in enumerate(lines, 1)
    ]
    return "".join(f'<row r="{i}">{"".join(row)}</row>' for i, row in enumerate(cells, 1))


def workbook(folder: Path, more: str | bytes, before: str = "", strings: str | None = None) -> Arguments:
    start = f'<worksheet xmlns="{MAIN}">{before}<sheetData>{honest_rows()}'
    more = more.encode() if isinstance(more, str) else more
    with zipfile.ZipFile(folder / "t.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in FRAME.items():
            archive.writestr(name, text)
        archive.writestr(SHEET, start.encode() + more + b"</sheetData></worksheet>")
        if strings is not None:
            archive.writestr("xl/sharedStrings.xml", f'<sst xmlns="{MAIN}">{strings}</sst>')
    return ["t.xlsx", "--target", "class"]


def of_another_name(folder: Path) -> Arguments:
    """A sheet that is not where sheets are."""
    arguments = far_cell("XFD1048576", folder)
    with zipfile.ZipFile(folder / "t.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    links = "xl/_rels/workbook.xml.rels"
    parts[links] = parts[links].replace(b"worksheets/sheet1.xml", b"theme.bin")
    parts["xl/theme.bin"] = parts.pop(SHEET)
    with zipfile.ZipFile(folder / "t.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return arguments


def far_cell(place: str, folder: Path) -> Arguments:
    row = place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return workbook(folder, f'<row r="{row}">{cell(place, 1)}</row>')


def without_references(folder: Path) -> Arguments:
    """Rows and cells that do not say where they stand: a million rows, and one of all columns."""
    return workbook(folder, "<row/>" * 1_000_000 + f"<row>{'<c><v>1</v></c>' * 16384}</row>")


def long_strings(folder: Path) -> Arguments:
    """One long text that very many cells show."""
    cells = '<c t="s"><v>0</v></c>' * 1000
    return workbook(folder, f"<row>{cells}</row>" * 1000, strings=f"<si><t>{'x' * 32767}</t></si>")


def padded_sheet(folder: Path) -> Arguments:
    return workbook(folder, b"<x/>" * (1 << 26))


def lying_directory(folder: Path) -> Arguments:
    """A directory that claims less than a member holds: all but the far cell."""
    arguments = far_cell("XFD1048576", folder)
    content = bytearray((folder / "t.xlsx").read_bytes())
    with zipfile.ZipFile(folder / "t.xlsx") as archive:
        claimed = archive.read(SHEET).index(b'<row r="1048576">')
    place = content.rindex(SHEET.encode()) - 46 + 24
    content[place : place + 4] = claimed.to_bytes(4, "little")
    (folder / "t.xlsx").write_bytes(content)
    return arguments


WORKBOOKS: dict[str, Build] = {
    "xlsx cell XFD1048576": partial(far_cell, "XFD1048576"),
    "xlsx cell A1048576": partial(far_cell, "A1048576"),
    "xlsx cell ZZZZZZZ9999999": partial(far_cell, "ZZZZZZZ9999999"),
    "xlsx without references": without_references,
    "xlsx sheet of another name": of_another_name,
    "xlsx one long text in all cells": long_strings,
    "xlsx of empty elements": padded_sheet,
    "xlsx directory lies": lying_directory,
    "xlsx not closed": lambda folder: workbook(folder, '<row r="99"><c r="A99"><v>1'),
}


# Text.


def bomb(name: str, start: bytes, filling: bytes, folder: Path, n_blocks: int = 160) -> Arguments:
    member = gzip.compress(filling * (BLOCK // len(filling)), 9, mtime=0)
    with (folder / name).open("wb") as file:
        file.write(gzip.compress(start, mtime=0))
        for _ in range(n_blocks):
            file.write(member)
    return [name, "--target", "class"]


def bomb_of_labels(folder: Path) -> Arguments:
    bomb("t.csv.gz", b"id,class\n", b"\n", folder, n_blocks=8)
    rows = ["id,a", *(f"s{i},{x!r}" for i, x in enumerate(counts()[:, 0].tolist()))]
    (folder / "honest.csv").write_text("\n".join(rows))
    return ["honest.csv", "--labels", "t.csv.gz"]


def damaged(name: str, how: Callable[[bytes], bytes], folder: Path) -> Arguments:
    """An honest file of a format, cut or changed."""
    path = folder / name
    column = counts()[:, 0].tolist()
    lines = ["id,class,a,b", *(f"s{i},{CLASSES[i]},{x!r},{1 - x!r}" for i, x in enumerate(column))]
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress("\n".join(lines).encode()))
    elif name.endswith(".h5ad"):
        with hdf5(folder):
            pass
    elif name.endswith(".xlsx"):
        workbook(folder, "")
    elif name.endswith(".npz"):
        np.savez(path, X=counts(), y=np.array(CLASSES))
    else:
        frame(9000).to_parquet(path)
    path.write_bytes(how(path.read_bytes()))
    return [name, "--target", "y" if name.endswith(".npz") else "class"]


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def frame(n: int) -> Any:
    import pandas as pd  # noqa: PLC0415

    X = np.random.default_rng(0).normal(size=(n, 3))
    return pd.DataFrame(X, columns=list("abc")).assign(**{"class": ["x", "y"] * (n // 2)})


def text(name: str, content: str, folder: Path) -> Arguments:
    (folder / name).write_text(content)
    target = [] if name.endswith(".svm") else ["--target", "class"]
    return [name, *target]


def series_matrix(end: int | None) -> str:
    """A series matrix of GEO, cut so many characters before its end marker."""
    names = [f"P{i}" for i in range(N)]
    rows = [["!Sample_geo_accession", *names]]
    rows += [["!Sample_characteristics_ch1", *(f"class: {c}" for c in CLASSES)]]
    rows += [["!series_matrix_table_begin"], ["ID_REF", *names]]
    rows += [[f"g{j}", *(f"{x:.6f}" for x in column)] for j, column in enumerate(counts().T)]
    body = "\n".join("\t".join(row) for row in rows)
    return body if end is None else body[: len(body) - end]


GCT = "#1.2\n{}\t4\nName\tDescription\tp1\tp2\tp3\tp4\ng\td\t1\t2\t3\t4\n"
TEXT: dict[str, Build] = {
    "10 GB of one line": partial(bomb, "t.csv.gz", b"", b"1"),
    "10 GB of newlines": partial(bomb, "t.csv.gz", b"id,class,a\ns1,a,1\ns2,b,2\n", b"\n"),
    "10 GB of one quoted cell": partial(bomb, "t.csv.gz", b'id,class,a\ns1,a,"', b"1"),
    "10 GB of rows": partial(bomb, "t.csv.gz", b"class,a\n", b"a,1\nb,2\n"),
    "10 GB of one line of svmlight": partial(bomb, "t.svm.gz", b"1 1:2\n", b"1"),
    "10 GB of comments": partial(bomb, "t.csv.gz", b"", b"#\n"),
    "500 MB of newlines as labels": bomb_of_labels,
    "gz cut": partial(damaged, "t.csv.gz", half),
    "gz with a wrong checksum": partial(damaged, "t.csv.gz", lambda content: content[:-8] + bytes(8)),
    "gz in gz": partial(damaged, "t.csv.gz", gzip.compress),
    "svmlight index 2^60": partial(text, "t.svm", f"1 1:2\n0 {2**60}:1\n"),
    "svmlight index 9e6": partial(text, "t.svm", "1 1:2\n0 9000000:1\n"),
    "svmlight index 2^63": partial(text, "t.svm", f"1 1:2\n0 {2**63}:1\n"),
    "svmlight index -1": partial(text, "t.svm", "1 1:2\n0 -1:1\n"),
    "gct claims 1e15 genes": partial(text, "t.gct", GCT.format(10**15)),
    "gct claims a number of 5000 digits": partial(text, "t.gct", GCT.format("9" * 5000)),
    "csv with a number of 5000 digits": partial(text, "t.csv", f"class,a\nx,{'9' * 5000}\ny,2.5\nx,3\n"),
    "geo without its end": partial(text, "t.txt", series_matrix(None)),
    "geo with a number cut": partial(text, "t.txt", series_matrix(5)),
    "geo with a row cut": partial(text, "t.txt", series_matrix(60)),
}


# Parquet, and files cut in the middle.


def more_rows(content: bytes) -> bytes:
    """A footer that claims a hundred times the rows: zigzag varints of 9,000, of the same length."""
    return content.replace(b"\xd0\x8c\x01", b"\xfe\xff\x7f")


def constants(folder: Path) -> Arguments:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    column = pa.array(np.zeros(4_000_000, np.int8))
    pq.write_table(pa.table({f"g{j}": column for j in range(70)}), folder / "t.parquet")
    return ["t.parquet", "--target", "g1"]


def repeated_text(folder: Path) -> Arguments:
    """A long word that a dictionary holds once, and 100,000 rows show."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    words = pa.DictionaryArray.from_arrays(np.zeros(100_000, np.int32), ["x" * 1_000_000])
    table = pa.table({"class": pa.array(["x", "y"] * 50_000), "w": words})
    pq.write_table(table.replace_schema_metadata(None), folder / "t.parquet", store_schema=False)
    return ["t.parquet", "--target", "class"]


def nested_json(folder: Path) -> Arguments:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pa.Table.from_pandas(frame(20)).replace_schema_metadata({b"pandas": b"[" * 200_000})
    pq.write_table(table, folder / "t.parquet")
    return ["t.parquet", "--target", "class"]


DAMAGED: dict[str, Build] = {
    "parquet cut": partial(damaged, "t.parquet", half),
    "parquet claims more rows": partial(damaged, "t.parquet", more_rows),
    "parquet of 2.8e8 constants": constants,
    "parquet one long text in all rows": repeated_text,
    "parquet with deep metadata": nested_json,
    "npz cut": partial(damaged, "t.npz", half),
    "npz of a pickle": partial(damaged, "t.npz", lambda content: pickle.dumps([1, 2])),
    "h5ad cut": partial(damaged, "t.h5ad", half),
    "xlsx cut": partial(damaged, "t.xlsx", half),
    **{
        f"removed format {ending}": partial(text, f"t.{ending}", "id,class,a\ns,x,1\nt,y,2\nu,x,3\n")
        for ending in ("mat", "npy", "feather", "arrow", "xls", "ods", "zip", "csv.zip")
    },
}

CASES: dict[str, Build] = {**sparse_cases(), **HDF5, **NUMPY, **WORKBOOKS, **TEXT, **DAMAGED}


# The command in a child process of limited memory.


@dataclass(frozen=True)
class Outcome:
    """What became of a case; a negative code is the signal that ended it, None that it was stopped."""

    code: int | None
    out: str
    err: str
    seconds: float
    cpu_seconds: float
    peak_mb: int
    size: int  # of the file
    written: list[str]


class Commands:
    """A process that has imported the command, and forks for each case."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", "from tests.corpora.hostile import _serve; _serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )

    def fit(self, build: Build, folder: Path) -> Outcome:
        """Write the file of a case into an empty folder and fit it there."""
        arguments = build(folder)
        before = set(os.listdir(folder))
        asked = {"folder": str(folder), "arguments": ["fit", *arguments, "--out", "m.skops"]}
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        out, err = (Path(folder, name).read_text("utf-8", "replace") for name in ("out", "err"))
        written = sorted(set(os.listdir(folder)) - before - {"out", "err"})
        size = (folder / arguments[0]).stat().st_size
        return Outcome(**answer, out=out, err=err, size=size, written=written)

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def _serve() -> None:
    import anndata.io  # noqa: F401, PLC0415
    import h5py  # noqa: F401, PLC0415
    import pyarrow.parquet  # noqa: F401, PLC0415
    import python_calamine  # noqa: F401, PLC0415

    import minimaxrisk.app.cli.fitting  # noqa: F401, PLC0415

    for line in sys.stdin:
        asked = json.loads(line)
        begun, child = time.monotonic(), os.fork()
        if child == 0:
            _fit(Path(asked["folder"]), asked["arguments"])
        code, usage = _ended(child)
        answer = {
            "code": code,
            "seconds": time.monotonic() - begun,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "peak_mb": usage.ru_maxrss // 1024,
        }
        print(json.dumps(answer), flush=True)  # noqa: T201


def _fit(folder: Path, arguments: Arguments) -> None:
    import resource  # noqa: PLC0415

    code = 99
    try:
        from minimaxrisk.app.cli import main  # noqa: PLC0415

        os.chdir(folder)
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = main(arguments)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _ended(child: int) -> tuple[int | None, Any]:
    """The exit code, and what the process has used."""
    handle = os.pidfd_open(child)
    is_over = select.select([handle], [], [], MOST_WAITING)[0]
    os.close(handle)
    if not is_over:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    return (os.waitstatus_to_exitcode(status) if is_over else None), usage


def main() -> None:
    """Print a table of all cases, or of those whose names begin with an argument."""
    print("| file | bytes | code | CPU seconds | MB | message |\n| --- | --- | --- | --- | --- | --- |")  # noqa: T201
    with Commands() as commands:
        total = 0.0
        for name, build in CASES.items():
            if sys.argv[1:] and not name.startswith(tuple(sys.argv[1:])):
                continue
            with tempfile.TemporaryDirectory() as folder:
                found = commands.fit(build, Path(folder))
            said = found.err.strip().splitlines()[-1:] or [""]
            code = "stopped" if found.code in (None, -signal.SIGKILL, -signal.SIGXCPU) else found.code
            shown = said[0].replace(folder, "").removeprefix("minimaxrisk: ")[:150]
            row = [name, found.size, code, f"{found.cpu_seconds:.2f}", found.peak_mb, shown, *found.written]
            total += found.cpu_seconds
            print("|", " | ".join(map(str, row)), "|", flush=True)  # noqa: T201
    print(f"\n{total:.0f} seconds of CPU")  # noqa: T201


if __name__ == "__main__":
    main()
