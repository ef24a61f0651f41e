"""Processes that measure something on their own: how work starts one, and how it speaks and ends.

The module is imported by interpreters of other environments, and so imports only the standard library.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Story:
    """What a process has told, how it ended, and the last line of what it wrote to standard error."""

    events: list[dict[str, Any]]
    exit_code: int
    last_words: str

    def answer(self) -> dict[str, Any]:
        """The one event of a process that measures one thing."""
        if self.exit_code or len(self.events) != 1:
            raise RuntimeError(f"the measuring process ended with {self.exit_code}: {self.last_words}")
        return self.events[0]


def run_module(
    module: str,
    *arguments: str,
    interpreter: str = sys.executable,
    files: Sequence[int] = (),
    python_path: str | None = None,
) -> Story:
    """Run a module of this checkout to its end; it may use the open ``files``, whose numbers stay.

    ``python_path`` is where it looks for packages before those that are installed.
    """
    environment = os.environ if python_path is None else os.environ | {"PYTHONPATH": python_path}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [interpreter, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=ROOT,
            env=environment,
            pass_fds=files,
        )
        # Whatever ends this block closes the standard input, which ends the process.
        with process:
            assert process.stdout is not None
            events = [json.loads(line) for line in process.stdout]
            process.wait()
        return Story(events, process.returncode, _last_line(errors))


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    return (errors.read().decode(errors="replace").strip().splitlines() or [""])[-1][:200]


@contextmanager
def telling() -> Iterator[Callable[..., None]]:
    """In the process: yields what tells the parent something. All else that is printed is no news."""
    _end_with_parent()
    with os.fdopen(os.dup(1), "w", buffering=1) as lines:
        # Some solvers print.
        os.dup2(2, 1)

        def tell(**news: Any) -> None:
            # NumPy's numbers are not JSON, their Python values are.
            lines.write(json.dumps(news, default=lambda value: value.tolist()) + "\n")

        yield tell


def limit_time(seconds: float) -> None:
    """The system ends this process, even within compiled code, unless another limit comes before."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def limit_processor_time(seconds: float) -> None:
    """The same for the time that processors work for this process, all threads together."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _end_with_parent() -> None:
    """The system ends this process, even within compiled code, when its standard input closes."""
    try:
        import fcntl  # noqa: PLC0415  (not on every system; there it ends when it is done)
    except ImportError:
        return
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([0], [], [], 0)[0]:  # it was closed before
        sys.exit("the parent has gone")
