"""Archives of model files from untrusted sources: every size and type is checked before it is used.

The zip, the headers of arrays and the description of objects may lie, and whoever changed them can compute
the digest of the file again. So members are read up to a limit, arrays must be as long as their headers say,
and only types that a model consists of are loaded.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path

from numpy.lib import format as npy
from scipy import sparse

# Several times what the largest plausible model has: a million columns and ten classes are 80 MB of
# coefficients, and as much for each of a few other attributes.
MOST_BYTES = 1_000_000_000
# Models unpack to about ten times the size of their file. Zeros alone would unpack to a thousand times it.
MOST_TIMES, SPARE_BYTES = 50, 16_000_000
MOST_MEMBERS = 100_000
MOST_DIMENSIONS = 3
NAME = re.compile(r"[\w-]{1,100}\.(json|npy|npz)", re.ASCII)
DESCRIPTION = "schema.json"
NUMBERS = ("bool", "float32", "float64", "int32", "int64", "str_")
# What each kind of node in the description may be. The objects are those that the caller trusts.
PLAIN_NODES: Mapping[str, Collection[str]] = {
    "DictNode": ("builtins.dict",),
    "ListNode": ("builtins.list",),
    "TupleNode": ("builtins.tuple",),
    "JsonNode": ("builtins.str",),
    "TypeNode": ("builtins.str", "builtins.int", "builtins.float", "builtins.bool", "numpy.str_"),
    "NdArrayNode": ("numpy.ndarray", *(f"numpy.{name}" for name in NUMBERS)),
    "DTypeNode": ("numpy.dtype",),
    "RandomStateNode": ("numpy.random.mtrand.RandomState",),
    "SparseMatrixNode": ("scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix"),
}


def read_members(path: Path) -> dict[str, bytes]:
    """Read all members of an archive.

    Raises
    ------
    ValueError
        If it is not a sound archive: truncated, with sizes that are wrong or beyond the limits, with members
        of the same name or of names that no model has.
    """
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(
            f"the file has {path.stat().st_size:,} bytes, more than the {MOST_BYTES:,} of any model"
        )
    return _members_of(path.read_bytes())


def _members_of(content: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            _check_directory(members, len(content))
            return {member.filename: _read(archive, member) for member in members}
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, zlib.error) as error:
        raise ValueError(f"the archive is damaged or only part of one: {error}") from error


def _check_directory(members: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse names and sizes before anything is unpacked."""
    total, most = (
        sum(member.file_size for member in members),
        min(MOST_BYTES, SPARE_BYTES + MOST_TIMES * size),
    )
    if total > most:
        raise ValueError(
            f"it has {size:,} bytes and would unpack to {total:,}, more than any model of this size"
        )
    names = [member.filename for member in members]
    if len(names) > MOST_MEMBERS:
        raise ValueError(f"it has {len(names):,} members, more than the {MOST_MEMBERS:,} of any model")
    if len(set(names)) < len(names):
        raise ValueError("it has several members of the same name")
    if strange := [name for name in names if not NAME.fullmatch(name)]:
        raise ValueError(f"it has a member {strange[0]!r:.60}, a name that no model has")


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Read one member, at most as much as the directory says."""
    with archive.open(member) as stream:
        content = stream.read(member.file_size + 1)
    if len(content) != member.file_size:
        raise ValueError(f"its member {member.filename} is not as long as the directory says")
    return content


def check_arrays(members: Mapping[str, bytes]) -> None:
    """Refuse arrays whose headers contradict their content, and sparse matrices with indices outside."""
    matrices = [content for name, content in members.items() if name.endswith(".npz")]
    if len(matrices) > 1:  # those that a kernel model was fitted on
        raise ValueError(f"it has {len(matrices):,} sparse matrices, more than any model")
    for content in matrices:
        check_arrays(_members_of(content))
        sparse.load_npz(io.BytesIO(content)).check_format(full_check=True)
    for name, content in members.items():
        if name.endswith(".npy"):
            _check_array(name, content)


def _check_array(name: str, content: bytes) -> None:
    stream = io.BytesIO(content)
    read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    shape, _, dtype = read_header[npy.read_magic(stream)](stream)
    if dtype.kind not in "biufSU" or not dtype.itemsize or len(shape) > MOST_DIMENSIONS:
        raise ValueError(f"its array {name} is of a kind that no model has")
    n_bytes = dtype.itemsize
    for length in shape:
        n_bytes *= length
    if (
        min(shape, default=0) < 0
        or max(shape, default=0) > MOST_BYTES
        or n_bytes != len(content) - stream.tell()
    ):
        raise ValueError(
            f"its array {name} claims the shape {shape!s:.60} and does not hold that many numbers"
        )


def check_description(members: Mapping[str, bytes], trusted: Collection[str]) -> None:
    """Refuse descriptions with objects of other types than the trusted ones, or with more than fits."""
    allowed = {**PLAIN_NODES, "ObjectNode": trusted}
    strange, total, left = set[str](), 0, [json.loads(members[DESCRIPTION])]
    while left:
        node = left.pop()
        if isinstance(node, list):
            left += node
        elif isinstance(node, dict):
            left += node.values()
            if "__loader__" in node or "__class__" in node:
                kind = f"{node.get('__module__')}.{node.get('__class__')}"
                if kind not in allowed.get(str(node.get("__loader__")), ()):
                    strange.add(kind)
            if isinstance(node.get("file"), str):
                total += len(members[node["file"]])
    if strange:
        raise ValueError(
            f"it holds objects that do not belong in a model and are not trusted: "
            f"{', '.join(sorted(strange)[:5])}; do not use it unless you know where it comes from"
        )
    if total > MOST_BYTES or total > SPARE_BYTES + 2 * sum(map(len, members.values())):
        raise ValueError(f"its objects refer to the same arrays again and again, {total:,} bytes in all")


def packed(members: Mapping[str, bytes | str], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Make an archive of members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()
