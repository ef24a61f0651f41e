"""Zip files that are not what they seem: refused before their members are read.

A few megabytes of zip can unpack to terabytes of zeros, an array can claim a shape that its bytes do not
fill, and a description can nest deeper than any parser should follow.
"""

from __future__ import annotations

import re
import zipfile
from math import prod
from pathlib import Path
from typing import Any

from numpy.lib import format as npy

# All three are judgement, not measured: several times what the largest plausible model has, and still little
# for the machine that reads it. A million columns and ten classes are 80 MB of coefficients, and as much for
# each of a few other attributes.
MOST_BYTES = 1_000_000_000
# Of descriptions, which are text: a few kilobytes for each member of an ensemble.
MOST_BYTES_OF_TEXT = 100_000_000
# Objects within objects: a handful of levels for each of pipeline, ensemble, classifier and array.
DEEPEST = 100
BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]')


def refuse_absurd(archive: zipfile.ZipFile, path: Path) -> None:
    """Raise ValueError if reading the members would take absurd amounts of memory or time."""
    members = archive.infolist()
    total = sum(member.file_size for member in members)
    if total > MOST_BYTES:
        raise ValueError(
            f"{path} is no sound model file: it has {path.stat().st_size:,} bytes and would unpack to "
            f"{total:,}, more than the {MOST_BYTES:,} of any model. Do not use it."
        )
    for member in members:
        if member.filename.endswith(".json"):
            _refuse_deep(archive, member, path)
        elif member.filename.endswith(".npy"):
            _refuse_false_shape(archive, member, path)


def _refuse_deep(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> None:
    if member.file_size > MOST_BYTES_OF_TEXT:
        raise ValueError(
            f"{path} is no sound model file: {member.filename} would unpack to {member.file_size:,} bytes of "
            "text. Do not use it."
        )
    depth = 0
    for found in BRACKETS.finditer(archive.read(member)):
        mark = found.group()
        if mark in (b"[", b"{"):
            depth += 1
        elif mark in (b"]", b"}"):
            depth -= 1
        if depth > DEEPEST:
            raise ValueError(
                f"{path} is no sound model file: {member.filename} nests more than {DEEPEST} levels deep. Do "
                "not use it."
            )


def _refuse_false_shape(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> None:
    """Arrays claim their size in a header; what they hold is in the directory of the zip."""
    with archive.open(member) as file:
        try:
            version = npy.read_magic(file)
            read_header: Any = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, kind = read_header(file)
        except ValueError:
            return  # whoever reads the array says what is wrong with it
        claimed = prod(shape) * kind.itemsize
        if not kind.hasobject and claimed > member.file_size:
            raise ValueError(
                f"{path} is no sound model file: the array {member.filename} claims {claimed:,} bytes and "
                f"has {member.file_size:,}. Do not use it."
            )
