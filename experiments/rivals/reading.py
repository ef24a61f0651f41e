"""From a file to an answer: reading a wide table, and the whole command beside its parts.

Every measurement has a process of its own. Readers are timed without their imports, the command with them,
since that is what somebody at a terminal waits for.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from experiments.harness.cells import OK, Cell
from experiments.harness.child import run_module
from experiments.harness.reporting import Item, Report, Row, TextTable, pick
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from experiments.rivals.environment import describe_environment
from experiments.rivals.numbers import as_memory, as_ratio, as_time
from experiments.rivals.reading_clock import FIT, OURS, READERS

NAME = "reading"
COMMAND = "minimaxrisk fit"
N_SAMPLES = 100


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    size = {"n_samples": N_SAMPLES, "n_features": settings.table_features}
    repetitions = {"repetitions": settings.table_repetitions}
    return [
        Cell(NAME, {"what": what, **size, **repetitions}, settings.limit) for what in (*READERS, FIT, COMMAND)
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="minimaxrisk-reading-") as folder:
        path = Path(folder) / "expression.csv"
        write_study(path, settings["n_samples"], settings["n_features"])
        row: dict[str, Any] = {"file_bytes": path.stat().st_size}
        if settings["what"] == COMMAND:
            model = path.with_suffix(".skops")
            row["seconds"] = median(_command_seconds(path, model) for _ in range(settings["repetitions"]))
            return [row | {"model_bytes": model.stat().st_size}]
        arguments = ("experiments.rivals.reading_clock", settings["what"], str(path))
        found = [run_module(*arguments).answer() for _ in range(settings["repetitions"])]
        return [row | {name: median(one[name] for one in found) for name in ("seconds", "bytes")}]


def write_study(path: Path, n_samples: int, n_features: int) -> None:
    """Names, labels, and normal numbers with five decimals."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        file.write(f"sample,diagnosis,{','.join(f'gene_{j}' for j in range(n_features))}\n")
        for i in range(n_samples):
            values = ",".join(f"{value:.5f}" for value in rng.normal(8.0, 2.0, n_features))
            file.write(f"patient_{i},{'ill' if i % 2 else 'well'},{values}\n")


def _command_seconds(path: Path, model: Path) -> float:
    command = [sys.executable, "-m", "minimaxrisk", "fit", str(path), "--target", "diagnosis"]
    begun = time.perf_counter()
    subprocess.run([*command, "--out", str(model), "--quiet"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = {row["what"]: row for row in pick(rows, status=OK)}
    return Report(
        claims=(),
        tables=[_table(settings, known)],
        notes=_command_note(known) if {OURS, FIT, COMMAND} <= set(known) else (),
    )


def _table(settings: Settings, known: Mapping[str, Row]) -> TextTable:
    lines = []
    for name in READERS:
        row = known.get(name)
        if row is None:
            lines.append([name, "-", "-", "-"])
            continue
        ratio = as_ratio(row["seconds"] / known[OURS]["seconds"]) if OURS in known else "-"
        words = f"`{name}`" if name == OURS else name
        lines.append([words, as_time(row["seconds"]), ratio, as_memory(row["bytes"])])
    size = "".join(f" of {as_memory(row['file_bytes'])}" for row in list(known.values())[:1])
    caption = (
        f"Reading {N_SAMPLES} × {settings.table_features:,} numbers with five decimals from a CSV file{size} "
        f"into one array; medians of {settings.table_repetitions}."
    )
    return TextTable(caption, ["reader", "time", "ratio", "memory"], lines)


def _command_note(known: Mapping[str, Row]) -> list[str]:
    fit, command = known[FIT], known[COMMAND]
    parts = known[OURS]["seconds"] + fit["seconds"]
    return [
        f"`minimaxrisk fit` on that file with `--out` (a model file of {as_memory(command['model_bytes'])}) "
        f"takes {as_time(command['seconds'])} from start to end. Reading and fitting are {as_time(parts)} of "
        f"it (fit {as_time(fit['seconds'])}); the rest is imports, the check of the certificate and the "
        "model file."
    ]


ITEM = Item(
    name=NAME,
    title="From a file to an answer",
    what="The reading of a wide table, and the whole command beside its parts.",
    is_timed=True,
    plan=plan,
    work=work,
    report=report,
    environment=describe_environment,
    one_thread=False,
)
