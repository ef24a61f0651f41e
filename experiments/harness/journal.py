"""The file of finished cells: whatever happens to a run, what is in it need not be computed again."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.harness.cells import FAILED, OK, REFUSED, Cell, Outcome


class JournalError(OSError):
    """The journal cannot be read, or another run is writing to it."""


class Journal:
    """Outcomes as JSON lines, one line per finished cell; of two with the same key the later one counts.

    Reading needs no lock. Within ``writing()`` outcomes can be appended, by one process at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._outcomes: dict[str, Outcome] = {}
        self._end = 0
        self._descriptor: int | None = None
        self._read()

    def outcome(self, cell: Cell) -> Outcome | None:
        """The last outcome of the cell, whatever it was."""
        return self._outcomes.get(cell.key)

    def outcomes(self) -> list[Outcome]:
        """The last outcome of each cell, in the order in which the cells were first seen."""
        return list(self._outcomes.values())

    def finished(self, cell: Cell) -> bool:
        """Whether there is nothing to gain from running the cell.

        A cell that failed is tried again; one that hit its time limit, or was skipped because an easier one
        did, only if it may take longer now.
        """
        outcome = self.outcome(cell)
        if outcome is None or outcome.status == FAILED:
            return False
        if outcome.status in (OK, REFUSED):
            return True
        if cell.limit is None or outcome.limit is None:
            return outcome.limit is None
        return cell.limit <= outcome.limit

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Within it this process alone may append. Reads the file again: another run may have added to it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(self.path):
            self._read()
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                yield
            finally:
                os.close(self._descriptor)
                self._descriptor = None

    def append(self, outcome: Outcome) -> None:
        """Add a line; when this returns, the line is on the disk."""
        if self._descriptor is None:
            msg = "Outcomes can only be appended within `with journal.writing():`"
            raise RuntimeError(msg)
        line = json.dumps(asdict(outcome)).encode() + b"\n"
        # What a killed or failed write left behind goes away before the next line.
        os.ftruncate(self._descriptor, self._end)
        os.lseek(self._descriptor, self._end, os.SEEK_SET)
        written = os.write(self._descriptor, line)
        if written < len(line):
            msg = f"{self.path}: only {written} of {len(line)} bytes could be written; is the disk full?"
            raise OSError(msg)
        os.fsync(self._descriptor)
        self._end += len(line)
        self._outcomes[outcome.key] = outcome

    def _read(self) -> None:
        content = self.path.read_bytes() if self.path.exists() else b""
        # A last line without an end was torn by a kill in the middle of the write.
        self._end = content.rfind(b"\n") + 1
        self._outcomes = {}
        for number, line in enumerate(content[: self._end].splitlines(), start=1):
            try:
                outcome = Outcome(**json.loads(line))
            except (ValueError, TypeError) as error:
                msg = (
                    f"{self.path}: expected line {number} to be an outcome in JSON, got {line[:60]!r} "
                    f"({error}); delete the line, and its cell is run again"
                )
                raise JournalError(msg) from error
            self._outcomes[outcome.key] = outcome


def plain_rows(rows: Any) -> list[dict[str, Any]]:
    """Rows as they come back from the journal: numbers of NumPy are plain, NaN is None, infinities stay."""
    plain = json.loads(json.dumps(rows, default=_plain), parse_constant=_constant)
    if not isinstance(plain, list) or not all(isinstance(row, dict) for row in plain):
        msg = f"Expected the work on a cell to return a list of dicts, got {str(rows)[:60]}"
        raise TypeError(msg)
    return plain


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    msg = f"Expected rows of numbers, texts, lists and dicts, got a {type(value).__name__}"
    raise TypeError(msg)


def _constant(name: str) -> float | None:
    value = float(name)
    return None if math.isnan(value) else value


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold a lock next to the file. The system gives it back however the process ends."""
    try:
        import fcntl  # noqa: PLC0415  (not on every system)
    except ImportError:
        yield
        return
    with path.with_name(path.name + ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            msg = (
                f"Another run is using the folder {path.parent}; wait until it has ended, or choose another "
                "folder for this run"
            )
            raise JournalError(msg) from error
        yield
