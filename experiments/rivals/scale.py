"""Data past the size of a copy: few samples of millions of columns on disk, sparse ones, a million samples.

Each learner meets each problem in a process of its own, with a limit of time and of memory. The data are made
in a temporary folder, the same ones every time.
"""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from experiments.harness.cells import FAILED, OK, REFUSED, TIME_LIMIT, Cell, EndedError
from experiments.harness.child import Story, run_module
from experiments.harness.reporting import Item, Report, Row, TextTable, pick
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from experiments.rivals.environment import describe_environment
from experiments.rivals.numbers import as_count, as_memory, as_time
from experiments.rivals.scale_clock import LEARNERS, OURS
from minimaxrisk.datasets import make_text

NAME = "scale-cases"
X_FILE, Y_FILE = "X", "y.npy"
# Columns that differ between the classes, and by how many standard deviations.
N_INFORMATIVE, EFFECT = 50, 0.7


@dataclass(frozen=True)
class Box:
    """What it is in words, and how it is written to a folder."""

    words: str
    write: Callable[[Path, int, int], None]


def _write_wide(folder: Path, n_samples: int, n_features: int) -> None:
    """Normal numbers in float32, row by row."""
    rng, y = np.random.default_rng(0), np.arange(n_samples) % 2
    X = np.lib.format.open_memmap(
        folder / f"{X_FILE}.npy", mode="w+", dtype=np.float32, shape=(n_samples, n_features)
    )
    for row, label in zip(X, y, strict=True):
        row[:] = rng.standard_normal(n_features, dtype=np.float32)
        row[:N_INFORMATIVE] += EFFECT * label
    X.flush()
    np.save(folder / Y_FILE, y)


def _write_sparse(folder: Path, n_samples: int, n_features: int) -> None:
    """Texts in which about one word in a thousand occurs."""
    texts = make_text(n_samples, n_features, mean_length=1.3e-3 * n_features, random_state=0)
    sparse.save_npz(folder / f"{X_FILE}.npz", sparse.csr_matrix(texts.data), compressed=False)
    np.save(folder / Y_FILE, texts.target)


def _write_tall(folder: Path, n_samples: int, n_features: int) -> None:
    """Normal numbers in float64, an eighth of the columns informative."""
    rng, y = np.random.default_rng(0), np.arange(n_samples) % 2
    X = rng.standard_normal((n_samples, n_features))
    X[:, : max(1, n_features // 8)] += 0.5 * EFFECT * y[:, None]
    np.save(folder / f"{X_FILE}.npy", X)
    np.save(folder / Y_FILE, y)


PROBLEMS = {
    "wide": Box("float32 in a memory map", _write_wide),
    "sparse": Box("sparse texts in memory", _write_sparse),
    "tall": Box("float64 in memory", _write_tall),
}


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    shapes = {"wide": settings.scale_wide, "sparse": settings.scale_sparse, "tall": settings.scale_tall}
    return [
        Cell(
            NAME,
            {
                "problem": name,
                "n_samples": shapes[name][0],
                "n_features": shapes[name][1],
                "learner": learner,
                "most_memory": settings.scale_memory,
            },
            settings.scale_limit,
        )
        for name in PROBLEMS
        for learner in settings.rivals or LEARNERS
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="minimaxrisk-scale-") as folder:
        PROBLEMS[settings["problem"]].write(Path(folder), settings["n_samples"], settings["n_features"])
        size = sum(path.stat().st_size for path in Path(folder).glob(f"{X_FILE}.*"))
        task = {name: settings[name] for name in ("learner", "limit", "most_memory")} | {"folder": folder}
        story = run_module("experiments.rivals.scale_clock", json.dumps(task))
    return [{"x_bytes": size} | _reached(story, settings)]


def _reached(story: Story, settings: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: value for event in story.events for name, value in event.items()}
    if "refused" in known:
        raise EndedError(REFUSED, known["refused"])
    if "seconds" in known:
        return {name: value for name, value in known.items() if name != "ready"}
    if story.exit_code == -signal.SIGPROF:
        raise EndedError(TIME_LIMIT, f"stopped after {settings['limit']:g} s of the processor")
    if story.exit_code < 0 or "MemoryError" in story.last_words:
        # liblinear does not look whether it got the memory that it asked for.
        raise EndedError(REFUSED, f"needs more than {as_memory(settings['most_memory'])} of memory")
    raise EndedError(FAILED, story.last_words)


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    return Report(claims=(), tables=[_table(rows, name) for name in PROBLEMS if pick(rows, problem=name)])


def _table(rows: Sequence[Row], name: str) -> TextTable:
    own = pick(rows, problem=name)
    shape = f"{as_count(own[0]['n_samples'])} × {as_count(own[0]['n_features'])}"
    sizes = [row["x_bytes"] for row in pick(own, status=OK)]
    size = f", {as_memory(sizes[0])}" if sizes else ""
    return TextTable(
        f"{shape}, {PROBLEMS[name].words}{size}; stopped after {own[0]['limit']:g} s of the processor or at "
        f"{as_memory(own[0]['most_memory'])} of memory.",
        [
            *("learner", "fit", "of the processor", "memory beside X"),
            *("columns selected", "worst-case error", "1000 predictions"),
        ],
        [_line(row) for row in own],
    )


def _line(row: Row) -> list[str]:
    learner = f"`{row['learner']}`" if row["learner"] == OURS else row["learner"]
    if row["status"] != OK:
        return [learner, row["detail"] or row["status"], "-", "-", "-", "-", "-"]
    bound = row.get("worst_case_error")
    time = as_time(row["seconds"]) + ("" if row["converged"] else " (not converged)")
    return [
        learner,
        time,
        as_time(row["processor_seconds"]),
        as_memory(row["peak_bytes"]),
        as_count(int(row["n_selected"])),
        "none" if bound is None else f"{bound:.4f}",
        as_time(row["predict_seconds"]),
    ]


ITEM = Item(
    name=NAME,
    title="Data past the size of a copy",
    what="One fit of each learner, from X as it is stored to the fitted model.",
    is_timed=True,
    plan=plan,
    work=work,
    report=report,
    environment=describe_environment,
    limit_within=True,
    one_thread=False,
)
