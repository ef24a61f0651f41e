"""How long the permutation test takes, in units of a single fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.guarantees.permutation_clock import N_FITS, N_JOBS
from experiments.harness.cells import OK, Cell
from experiments.harness.child import run_module
from experiments.harness.reporting import (
    Claim,
    Figure,
    Item,
    Report,
    Row,
    TextTable,
    pick,
    three_digits,
    values_of,
    verdict,
)
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources

NAME = "permutation-time"
# Single fits that a test may cost.
AT_MOST = 80
WAYS = {
    "warm_seconds": f"{N_JOBS} processes, warm",
    "cold_seconds": f"{N_JOBS} processes, cold",
    "alone_seconds": "one process",
}


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    return [
        Cell(
            NAME,
            {
                "dataset": name,
                "n_permutations": settings.data_permutations,
                "repetition": repetition,
                "seed": settings.seed,
            },
            settings.limit,
        )
        for name in sources.names
        for repetition in range(settings.time_repetitions)
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """In a process of its own, for two reasons: it is fresh, and it may start others as a worker may not."""
    arguments = [str(settings[name]) for name in ("dataset", "n_permutations", "seed")]
    return [run_module("experiments.guarantees.permutation_clock", *arguments).answer()]


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    return Report(
        claims=[_claim(settings, sources, known)],
        tables=[_table(sources, known)],
        figures=[
            Figure(
                "permutation-time",
                f"Cost of {settings.data_permutations} permutations in single fits; a dot per fresh process. "
                f"Dashed: {AT_MOST}.",
                (1.5 + 2.4 * len(sources.names), 3.6),
                lambda figure: _draw(figure, sources, known),
            )
        ],
        notes=[
            f"Fresh Python processes: {settings.time_repetitions}. Each takes the median of {N_FITS} default "
            f"fits, then runs the test with {N_JOBS} processes (cold: the other one has to start), again "
            "(warm: it is there), and with one process. Linear algebra uses one thread in each."
        ],
    )


def _in_fits(rows: Sequence[Row], column: str) -> list[float]:
    return [row[column] / row["fit_seconds"] for row in rows]


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def _claim(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Claim:
    costs = {
        name: {way: _median(_in_fits(own, way)) for way in WAYS}
        for name in sources.names
        if (own := pick(rows, dataset=name))
    }
    return Claim(
        f"On two cores {settings.data_permutations} permutations cost at most {AT_MOST} single fits (warm).",
        verdict([cost["warm_seconds"] <= AT_MOST for cost in costs.values()]),
        "; ".join(
            f"{name}: " + ", ".join(f"{three_digits(cost[way])} ({words})" for way, words in WAYS.items())
            for name, cost in costs.items()
        )
        + ".",
    )


def _table(sources: Sources, rows: Sequence[Row]) -> TextTable:
    lines = []
    for name in sources.names:
        own = pick(rows, dataset=name)
        seconds = [three_digits(_median(values_of(own, column))) for column in ("fit_seconds", *WAYS)]
        costs = [three_digits(_median(_in_fits(own, way))) for way in WAYS]
        cores = ", ".join(f"{n:g}" for n in sorted(set(values_of(own, "n_cores")))) or "–"
        lines.append([name, *seconds, *costs, cores])
    header = ["data set", "one fit, s", *(f"{words}, s" for words in WAYS.values())]
    header += [f"{words}, fits" for words in WAYS.values()]
    return TextTable("Medians over the processes.", [*header, "cores"], lines)


def _draw(figure: Any, sources: Sources, rows: Sequence[Row]) -> None:
    panels = np.atleast_1d(figure.subplots(1, len(sources.names), sharey=True))
    for axes, name in zip(panels, sources.names, strict=True):
        for k, way in enumerate(WAYS):
            costs = _in_fits(pick(rows, dataset=name), way)
            axes.plot([k] * len(costs), costs, "o", color="#2171b5")
        axes.axhline(AT_MOST, color="0.5", linestyle="--", linewidth=1)
        axes.set_xticks(range(len(WAYS)), [words.replace(", ", ",\n") for words in WAYS.values()])
        axes.set(title=name, xlim=(-0.5, len(WAYS) - 0.5), ylim=(0.0, None))
        axes.grid(axis="y", color="0.9")
    panels[0].set_ylabel("single fits")


ITEM = Item(
    name=NAME,
    title="The time that the permutation test takes",
    what="The test in units of a single default fit on the same data.",
    wanted=("Leukemia",),
    fallback=("simulated",),
    is_timed=True,
    plan=plan,
    work=work,
    report=report,
)
