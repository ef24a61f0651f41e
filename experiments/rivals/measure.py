"""Let a rival meet a workload in a process of its own, with a limit on how long a fit may take."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import IO, Any

from experiments.rivals import ROOT
from experiments.rivals.records import FAILED, OK, REFUSED, TIME_LIMIT
from experiments.rivals.worker import Task, command_line

# Imports, reading X and compiling are not timed, but must end some day.
START_LIMIT = 300.0
EXIT_LIMIT = 60.0


@dataclass(frozen=True)
class Effort:
    """How much time a rival gets on a workload, in seconds."""

    repeats: int = 15
    time_limit: float = 120.0
    repeat_seconds: float = 10.0
    accuracy_seconds: float = 10.0


@dataclass
class Story:
    """The events of a worker, and how it ended."""

    events: list[dict[str, Any]] = field(default_factory=list)
    status: str = OK
    detail: str = ""

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == kind]


def measure(rival: str, folder: Path, effort: Effort) -> dict[str, Any]:
    """Fields of the record that the rival's worker decides."""
    task = Task(rival, str(folder), effort.repeats, effort.repeat_seconds, effort.accuracy_seconds)
    story = follow(command_line(task), effort.time_limit)
    fits = story.of("fit")
    if not fits:
        return {"status": story.status, "detail": story.detail, "limit_seconds": effort.time_limit}
    seconds = [fit["seconds"] for fit in fits]
    reached = {name: value for name, value in fits[-1].items() if name not in {"event", "seconds"}}
    return {
        "status": OK,
        "detail": story.detail,
        "limit_seconds": effort.time_limit,
        "repeats": len(seconds),
        "median_seconds": median(seconds),
        "min_seconds": min(seconds),
        "max_seconds": max(seconds),
        "accuracy": next((event["accuracy"] for event in story.of("accuracy")), None),
        **reached,
    }


def follow(command: Sequence[str], time_limit: float) -> Story:
    """Run a worker until it ends or has said nothing for longer than the limit; it is never left running."""
    story = Story()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        with process:
            _listen(process, story, time_limit)
        if story.status == OK and process.returncode:
            story.status, story.detail = FAILED, _last_words(process.returncode, errors)
    return story


def _listen(process: subprocess.Popen[bytes], story: Story, time_limit: float) -> None:
    assert process.stdout is not None
    lines: queue.Queue[bytes | None] = queue.Queue()
    thread = threading.Thread(target=_pump, args=(process.stdout, lines))
    thread.start()
    limit = START_LIMIT
    try:
        while (line := lines.get(timeout=limit)) is not None:
            event = json.loads(line)
            story.events.append(event)
            limit = time_limit
            if event["event"] in {REFUSED, FAILED}:
                story.status, story.detail = event["event"], event["detail"]
        process.wait(EXIT_LIMIT)
    except subprocess.TimeoutExpired:
        story.detail = "did not end by itself"
    except queue.Empty:
        started = bool(story.of("ready"))
        story.status, story.detail = (TIME_LIMIT, "") if started else (FAILED, "the warm-up did not end")
    finally:
        # Also when the benchmark itself is interrupted. The worker leads a process group of its own.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        thread.join()


def _pump(stream: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _last_words(returncode: int, errors: IO[bytes]) -> str:
    if returncode < 0:
        # Most often the system's answer to a lack of memory.
        return f"ended by {signal.Signals(-returncode).name}"
    errors.seek(0)
    words = errors.read().decode(errors="replace").strip().splitlines()
    return words[-1][:200] if words else f"exit status {returncode}"
