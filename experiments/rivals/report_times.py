"""What a whole report takes at the command line, here and in an earlier state of the library.

Every report has a process of its own, with one thread for linear algebra. CPU time counts from the start of
Python to its end, with all imports. With a baseline both take turns, so that they meet the same machine.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from experiments.harness.cells import OK, Cell
from experiments.harness.child import ROOT, run_module
from experiments.harness.reporting import Item, Report, Row, TextTable, pick
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from experiments.rivals.environment import describe_environment
from experiments.rivals.numbers import as_count, as_memory, as_ratio, as_time
from minimaxrisk.datasets import make_expression

NAME = "reports"
HERE = ROOT / "src"
N_CLASSES = 11
# Each class has this share of the samples of the one before: of 174, 31 down to 6.
NEXT_CLASS = 0.85
# Columns whose mean is higher in a class, by how many standard deviations, and how columns hang together.
MARKERS, EFFECT, MODULE, CORRELATION = 30, 1.5, 20, 0.5


@dataclass(frozen=True)
class Study:
    """A line of the table: where the data come from, and what is added to the command."""

    name: str
    source: str
    options: tuple[str, ...] = ()


ELEVEN, WIDE = "eleven classes", "two classes, wide"
# Data sets by their names; the simulated ones by what makes them.
STUDIES = (
    Study("Leukemia", "Leukemia"),
    Study("Leukemia, bootstrap radii", "Leukemia", ("--radius", "bootstrap")),
    Study("Lung_1543", "Lung_1543"),
    Study("11 unequal classes, simulated", ELEVEN),
    Study("two classes, simulated", WIDE),
)


def simulate_classes(n_samples: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Log intensities of eleven unequal classes, each with markers of its own.

    Column j is ``level + scale (z + shift)``: z is standard normal and correlated within modules of 20
    columns, shift is 1.5 for the 30 markers of a sample's own class, drawn anew per class.
    """
    rng = np.random.default_rng(0)
    share = NEXT_CLASS ** np.arange(N_CLASSES)
    ends = np.round(n_samples * np.cumsum(share) / share.sum()).astype(int)
    y = np.searchsorted(ends, np.arange(n_samples), side="right")
    z = np.sqrt(1.0 - CORRELATION) * rng.standard_normal((n_samples, n_features))
    factors = rng.standard_normal((n_samples, n_features // MODULE + 1))
    z += np.sqrt(CORRELATION) * factors[:, np.arange(n_features) // MODULE]
    for k in range(N_CLASSES):
        markers = rng.choice(n_features, min(MARKERS, n_features), replace=False)
        z[np.ix_(y == k, markers)] += EFFECT
    return rng.uniform(4.0, 12.0, n_features) + rng.uniform(0.3, 1.5, n_features) * z, y


def _two_classes(n_samples: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    study = make_expression(n_samples, n_features, random_state=0)
    return study.data, study.target


SIMULATED: dict[str, Callable[[int, int], tuple[np.ndarray, np.ndarray]]] = {
    ELEVEN: simulate_classes,
    WIDE: _two_classes,
}


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    sizes = {ELEVEN: settings.report_classes, WIDE: settings.report_wide}
    baseline = _checked_tree(settings.baseline)
    return [
        Cell(
            NAME,
            {
                "study": study.name,
                "size": "x".join(map(str, sizes.get(study.source, ()))),
                "baseline": baseline,
                "repetitions": settings.time_repetitions,
            },
            settings.limit,
        )
        for study in STUDIES
        if study.source in SIMULATED or study.source in sources.names
    ]


def _checked_tree(baseline: str) -> str:
    if baseline and not (Path(baseline) / "minimaxrisk" / "__main__.py").exists():
        raise ValueError(
            "baseline must name a folder with the package minimaxrisk in it, such as the src of another "
            f"checkout (`git worktree add ../before REVISION` makes one), got {baseline}."
        )
    return str(Path(baseline).resolve()) if baseline else ""


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Medians over repetitions, per tree."""
    study = next(one for one in STUDIES if one.name == settings["study"])
    trees = [str(HERE), *([settings["baseline"]] if settings["baseline"] else [])]
    with tempfile.TemporaryDirectory(prefix="minimaxrisk-reports-") as folder:
        path, page = Path(folder) / "study.npz", Path(folder) / "report.html"
        X, y = _data(study.source, settings["size"])
        np.savez(path, X=X, y=y)
        arguments = ["fit", str(path), "--report", str(page), "--quiet", *study.options]
        found: dict[str, list[Row]] = {tree: [] for tree in trees}
        for _ in range(settings["repetitions"]):
            for tree in trees:
                found[tree].append(_measured(tree, arguments))
    shape = {"n_samples": X.shape[0], "n_features": X.shape[1], "n_classes": len(np.unique(y))}
    return [
        {"is_baseline": tree != trees[0], **shape}
        | {name: median(one[name] for one in rows) for name in ("cpu", "bytes")}
        for tree, rows in found.items()
    ]


def _data(source: str, size: str) -> tuple[Any, np.ndarray]:
    if source not in SIMULATED:
        X, y = load_source(source)
        return np.asarray(X), y
    n_samples, n_features = map(int, size.split("x"))
    return SIMULATED[source](n_samples, n_features)


def _measured(tree: str, arguments: Sequence[str]) -> dict[str, Any]:
    found = run_module("experiments.rivals.report_clock", *arguments, python_path=tree).answer()
    if found["tree"] != tree:
        raise RuntimeError(f"expected the library of {tree}, but that of {found['tree']} was imported.")
    return found


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    header = ["study", "samples x features, classes", "CPU time", "peak memory"]
    caption = (
        "`minimaxrisk fit study.npz --report report.html` from start to end, with what a report computes "
        "by default (199 permutations, 10 folds, 5 radii); medians of "
        f"{settings.time_repetitions}."
    )
    if settings.baseline:
        header += ["baseline", "baseline's memory", "times as fast"]
        caption += " The baseline is an earlier state of the library, which took turns with this one."
    names = [study.name for study in STUDIES if pick(rows, study=study.name)]
    lines = [_line(name, pick(known, study=name), len(header)) for name in names]
    return Report(claims=(), tables=[TextTable(caption, header, lines)])


def _line(name: str, rows: Sequence[Row], width: int) -> list[str]:
    ours, before = pick(rows, is_baseline=False), pick(rows, is_baseline=True)
    if not ours:
        return [name, *["-"] * (width - 1)]
    own = ours[0]
    size = f"{as_count(own['n_samples'])} x {as_count(own['n_features'])}, {own['n_classes']}"
    line = [name, size, as_time(own["cpu"]), as_memory(own["bytes"])]
    for other in before:
        line += [as_time(other["cpu"]), as_memory(other["bytes"]), as_ratio(other["cpu"] / own["cpu"])]
    return line + ["-"] * (width - len(line))


ITEM = Item(
    name=NAME,
    title="A report, from start to end",
    what="CPU time and memory of `minimaxrisk fit --report`, beside an earlier state of the library if one "
    "is named (`--set baseline=../before/src`).",
    wanted=("Leukemia", "Lung_1543"),
    is_timed=True,
    plan=plan,
    work=work,
    report=report,
    wanted_quickly=("Leukemia",),
    environment=describe_environment,
)
