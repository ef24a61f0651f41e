"""Lines of a text file, plain or compressed, in the encoding that its bytes show."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TypeVar

from minimaxrisk.files.problems import brief

Result = TypeVar("Result")
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Spreadsheets on Western Windows write the first: its dashes and quotes are control characters in the second,
# which has a character for every byte, where the first has none for five.
OTHERS = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}
PLAIN_CONTROLS = frozenset(b"\t\n\r\f\v\x1a")


@dataclass(frozen=True)
class TextFile:
    """A text file that can be read from the start as often as needed."""

    path: Path
    encoding: str

    def lines(self) -> Iterator[str]:
        """Lines with their ends, be these those of Unix, Windows or old Macintoshes."""
        with _open(self.path) as file, TextIOWrapper(file, encoding=self.encoding, newline="") as text:
            yield from text


def read_text(path: Path, parse: Callable[[TextFile], Result]) -> tuple[Result, tuple[str, ...]]:
    """What ``parse`` makes of the file, and a remark if its encoding had to be guessed."""
    start = head(path)
    _refuse_binary(start, path)
    encoding = next((name for mark, name in MARKS.items() if start.startswith(mark)), "utf-8")
    with _whole(path):
        try:
            return parse(TextFile(path, encoding)), ()
        except UnicodeDecodeError as error:
            if encoding != "utf-8":
                raise ValueError(
                    f"{path} begins like {encoding} text but is not ({brief(error)}); save it as UTF-8."
                ) from error
        for other, shown in OTHERS.items():
            with suppress(UnicodeDecodeError):
                return parse(TextFile(path, other)), (_said_of_guess(shown),)
    raise AssertionError("every byte is a character of Latin-1")


def _said_of_guess(encoding: str) -> str:
    return f"The file is not in UTF-8 and was read as {encoding}; save it as UTF-8 if names look wrong."


def head(path: Path, size: int = 1 << 16) -> bytes:
    """The first bytes, decompressed."""
    with _whole(path), _open(path) as file:
        return bytes(file.read(size))


def _open(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path} is not a complete gzip file ({brief(error)}); get or compress it again."
        ) from error


def _refuse_binary(start: bytes, path: Path) -> None:
    if not start.strip():
        raise ValueError(f"{path} must hold a table, got an empty file.")
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return
    controls = sum(start.count(byte) for byte in range(32) if byte not in PLAIN_CONTROLS)
    if b"\0" in start or controls > 0.02 * len(start):
        raise ValueError(
            f"{path} must be a text file, got binary content; give it the extension of its format, such as "
            ".xlsx or .npz, or save the table as text in UTF-8."
        )
