"""What chunks cost and what a second worker gains: one fit of the same data, in memory and by dask.

Every fit has a process of its own. On a machine that others use too, the time that processes were at work
says more than the time that passed; with worker processes a fit takes at least what the busiest one took.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from experiments.harness.cells import OK, Cell
from experiments.harness.child import run_module
from experiments.harness.reporting import Item, Report, Row, TextTable, pick
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from experiments.rivals.environment import describe_environment
from experiments.rivals.numbers import as_memory, as_ratio, as_time

NAME = "cluster"
MEMORY = "an array in memory"
PLACES = (MEMORY, "dask, one thread", "dask, 1 worker process", "dask, 2 worker processes")
N_SAMPLES, REPETITIONS = 200, 3


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    size = {"n_samples": N_SAMPLES, "n_features": settings.cluster_features}
    return [Cell(NAME, {"where": where, **size}, settings.limit) for where in PLACES]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    size = str(settings["n_samples"]), str(settings["n_features"])
    arguments = ("experiments.rivals.cluster_clock", settings["where"], *size)
    found = [run_module(*arguments).answer() for _ in range(REPETITIONS)]
    return [{name: median(one[name] for one in found) for name in found[0]}]


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = {row["where"]: row for row in pick(rows, status=OK)}
    caption = (
        f"One fit of {N_SAMPLES} × {settings.cluster_features:,} float64, held before it begins; medians of "
        f"{REPETITIONS}. *At work* is CPU time: of the process that calls `fit`, and of the busiest worker."
    )
    header = ["X", "time", "ratio", "at work here", "at work there", "memory here", "iterations", "R*"]
    return Report(claims=(), tables=[TextTable(caption, header, [_line(name, known) for name in PLACES])])


def _line(name: str, known: Mapping[str, Row]) -> list[str]:
    row = known.get(name)
    if row is None:
        return [name, *["-"] * 7]
    return [
        name,
        as_time(row["seconds"]),
        as_ratio(row["seconds"] / known[MEMORY]["seconds"]) if MEMORY in known else "-",
        as_time(row["own_cpu"]),
        as_time(row["worker_cpu"]) if row["worker_cpu"] else "-",
        as_memory(row["bytes"]),
        f"{row['n_iter']:.0f}",
        f"{row['worst_case_error']:.6f}",
    ]


ITEM = Item(
    name=NAME,
    title="Chunks of dask arrays",
    what="The price of chunks and what a second worker process gains.",
    is_timed=True,
    relevant=("cluster_features",),
    plan=plan,
    work=work,
    report=report,
    environment=describe_environment,
)
