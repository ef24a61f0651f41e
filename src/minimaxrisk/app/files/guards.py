"""Guards against files that claim, unpack or point to more than they hold."""

from __future__ import annotations

import gzip
import math
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk.app.files.messages import brief, needed

# A file may unpack to so many times its size; few measurements pack to a hundredth, blanks to a thousandth.
MOST_UNPACKED = 500
ALWAYS_UNPACKED = 1 << 24  # bytes that a file may unpack to, whatever its size
MOST_NAMES = 10_000_000  # of rows or columns
CHUNK = 1 << 20  # bytes

PLACES = ("indices", "indptr", "row", "col")  # of entries of sparse matrices

ROW = re.compile(rb"<(?:[^\s<>/!?]*:)?row\b")
CELL = re.compile(rb"<(?:[^\s<>/!?]*:)?c[\s/>]")
REFERENCE = re.compile(rb"\br\s*=\s*[\"']([A-Za-z]{0,9})(\d{1,9})")
SHARED = re.compile(rb"\bt\s*=\s*[\"']s[\"']")
TEXT = re.compile(rb"<(?:[^\s<>/!?]*:)?si\b")
MOST_EMPTY = 100  # places between the cells of a sheet, per cell
ALWAYS_EMPTY = 1_000_000
LONGEST_TAG = 1 << 24  # bytes in a workbook
MOST_LETTERS = 1 << 31  # of all cells of a sheet together


def refuse_unpacked(n_bytes: int, n_packed: int, where: object) -> None:
    """Refuse a file that takes far more memory than measurements of its size do."""
    if n_bytes > max(ALWAYS_UNPACKED, MOST_UNPACKED * n_packed):
        raise ValueError(
            f"{where} would take more than {MOST_UNPACKED} times its size in memory; it may be damaged, "
            "or made to fill the memory: if you trust it, save the table as CSV."
        )


def refuse_shape(shape: tuple[int, ...], where: Path) -> None:
    """Refuse more rows or columns than can have names, before names are made."""
    if max(shape) > MOST_NAMES:
        raise ValueError(
            f"{where} must have at most {MOST_NAMES} rows and as many columns, got "
            f"{' x '.join(map(str, shape))}; it may be damaged."
        )
    refuse_unpacked(8 * sum(shape), where.stat().st_size, where)


def check_gzip(path: Path) -> None:
    """Unpack a file once, before anything looks at its lines."""
    n_bytes = 0
    try:
        with path.open("rb") as packed, gzip.GzipFile(fileobj=packed) as file:
            while chunk := file.read(CHUNK):
                n_bytes += len(chunk)
                refuse_unpacked(n_bytes, packed.tell(), path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path} is not a complete gzip file ({brief(error)}); get or compress it again."
        ) from error


def refuse_damaged_text(value: np.ndarray, name: str) -> None:
    """Refuse characters that Unicode does not have, at which Python itself fails."""
    if value.dtype.kind != "U" or not value.nbytes:
        return
    codes = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("=")).reshape(-1).view(np.uint32)
    if codes.max() > sys.maxunicode or ((codes >= 0xD800) & (codes < 0xE000)).any():
        raise ValueError(f"{name} holds damaged text")


def refuse_fractions(arrays: Mapping[str, Any]) -> None:
    """Refuse indices that are not whole numbers, which SciPy would cut off."""
    for name in PLACES:
        if name in arrays and np.dtype(arrays[name].dtype).kind not in "iu":
            raise ValueError(f"{name} of a sparse matrix must be whole numbers, got {arrays[name].dtype}")


def checked_csr(X: Any, where: Path) -> sparse.csr_matrix:
    """Convert a sparse matrix of a file to CSR, once its indices are known to lie inside of its shape.

    The compiled code of SciPy does not check them: it would read and write elsewhere in memory.
    """
    refuse_shape(X.shape, where)
    if X.format in ("csr", "csc"):
        X.check_format(full_check=True)
    elif X.format != "coo":  # which checks its indices when it is made
        raise ValueError(f"sparse matrices must be CSR, CSC or COO, got {X.format}: convert it by tocsr()")
    X = sparse.csr_matrix(X)
    X.sum_duplicates()
    return X


def check_hdf5(file: Any, path: Path) -> None:
    """Refuse data that lie in other files, which may be any of the user's, and sizes that nothing fills.

    Names and references inside of the file lead anywhere in it, so that all of it is looked at.
    """
    h5py = needed("h5py", "Reading .h5ad")
    objects, seen, n_bytes = [file], set(), 0
    while objects:
        item = objects.pop()
        address = h5py.h5o.get_info(item.id).addr
        if address in seen:
            continue
        seen.add(address)
        objects.extend(_referred(item, h5py))
        if isinstance(item, h5py.Dataset):
            if item.external or item.is_virtual:
                raise ValueError(f"{path} has the data of {item.name} in another file; store them in it.")
            n_bytes += math.prod(item.shape or ()) * item.dtype.itemsize
            refuse_unpacked(n_bytes, path.stat().st_size, path)
        elif isinstance(item, h5py.Group):
            for name in item:
                if not isinstance(item.get(name, getlink=True), h5py.HardLink):
                    raise ValueError(
                        f"{path} has a link {name!r} in {item.name}, which may lead to another file; store "
                        "the data in it."
                    )
                objects.append(item[name])


def _referred(item: Any, h5py: Any) -> Iterator[Any]:
    """Return the objects to which attributes refer, as old AnnData files do."""
    for name in item.attrs:
        if h5py.check_ref_dtype(item.attrs.get_id(name).dtype) is h5py.Reference:
            yield from (item.file[reference] for reference in np.ravel(item.attrs[name]) if reference)


def check_workbook(path: Path) -> None:
    """Refuse a workbook for which its reader would take far more memory than its cells need.

    The reader makes a place for every cell up to the last row and column, and a copy of a text for every cell
    that shows it. A lack of memory would end the process. Any part of the archive can be a sheet.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        sizes = [member.file_size for member in members]
        refuse_unpacked(sum(sizes), path.stat().st_size, path)
        n_shared = max(_check_sheet(_blocks(archive, member), path) for member in members)
        if n_shared * max(sizes) <= MOST_LETTERS:
            return
        longest = max(_longest_text(_blocks(archive, member)) for member in members)
    if n_shared * longest > MOST_LETTERS:
        raise ValueError(
            f"{path}: {n_shared} cells of a sheet show texts of up to {longest} letters, which may not fit "
            "into memory; shorten the texts, or save the table as CSV."
        )


def _blocks(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield a part of a workbook in blocks of whole tags, up to its end and not only as far as it claims."""
    member, claimed, n_bytes, rest = copy(member), member.file_size, 0, b""
    member.file_size = sys.maxsize
    with archive.open(member) as file:
        while chunk := file.read(CHUNK):
            n_bytes += len(chunk)
            block, start, rest = (rest + chunk).rpartition(b"<")
            rest = start + rest
            if n_bytes > claimed or len(rest) > LONGEST_TAG:
                raise ValueError(f"its part {member.filename} is longer than it claims, or not XML")
            yield block
    yield rest


def _check_sheet(blocks: Iterator[bytes], path: Path) -> int:
    """Compare the cells of a sheet with its extent; returns the number of those with a shared text."""
    n_rows = n_cells = n_shared = height = width = widest = in_row = 0
    is_sheet = False
    for block in blocks:
        is_sheet = is_sheet or b"sheetData" in block
        cells = [len(CELL.findall(row)) for row in ROW.split(block)]
        n_cells += sum(cells)
        cells[0] += in_row  # a block begins within a row
        in_row, widest = cells[-1], max(widest, *cells)
        n_rows += len(cells) - 1
        n_shared += len(SHARED.findall(block))
        places = REFERENCE.findall(block)
        height = max([height, *map(int, {digits for _, digits in places})])
        width = max([width, *map(_column_number, {letters for letters, _ in places})])
    # Rows and cells that do not say where they are follow those before them.
    n_places = (height + n_rows) * (width + widest)
    if is_sheet and n_places > ALWAYS_EMPTY + MOST_EMPTY * n_cells:
        raise ValueError(
            f"{path}: a sheet has {n_cells} cells up to row {height + n_rows} and column {width + widest}; "
            "remove the cells far from the table, or save the table as CSV."
        )
    return n_shared if is_sheet else 0


def _column_number(letters: bytes) -> int:
    """28 for AB."""
    return sum((letter - ord("A") + 1) * 26**k for k, letter in enumerate(reversed(letters.upper())))


def _longest_text(blocks: Iterator[bytes]) -> int:
    """Return the most bytes between the starts of two shared texts, or 0 without such texts."""
    longest = length = 0
    is_text = False
    for block in blocks:
        for k, part in enumerate(TEXT.split(block)):
            is_text = is_text or k > 0
            length = len(part) + (length if k == 0 else 0)
            longest = max(longest, length) if is_text else 0
    return longest
