"""Many fits on the same data: permutations, members of an ensemble, radii of a path, in units of one fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from experiments.harness.cells import OK, Cell
from experiments.harness.reporting import Item, Report, Row, TextTable, pick
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from experiments.rivals.environment import describe_environment
from experiments.rivals.numbers import as_time
from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskEnsembleClassifier,
    minimax_risk_path,
    permutation_test,
)

NAME = "throughput"
N_FITS, N_MEMBERS = 5, 50
RADII = np.geomspace(0.5, 5.0, 40)

Work = Callable[[Any, Any], object]


def kinds_of_work(n_permutations: int) -> dict[str, Work]:
    """What is done, by the words of the table's header."""
    return {
        f"{n_permutations} permutations": lambda X, y: permutation_test(
            MinimaxRiskClassifier(), X, y, n_permutations, random_state=0
        ),
        f"ensemble of {N_MEMBERS}": lambda X, y: MinimaxRiskEnsembleClassifier(
            n_estimators=N_MEMBERS, random_state=0
        ).fit(X, y),
        f"path of {len(RADII)} radii": lambda X, y: minimax_risk_path(X, y, RADII),
    }


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    n = settings.data_permutations
    return [
        Cell(NAME, {"dataset": dataset, "work": name, "n_permutations": n}, settings.limit)
        for dataset in sources.names
        for name in kinds_of_work(n)
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """CPU seconds of the work, cold, and of single fits before and after it, so that both meet one clock."""
    X, y = load_source(settings["dataset"])
    _single_fit(X, y)  # imports and the first use of LAPACK are nobody's
    fits = [_seconds(_single_fit, X, y) for _ in range(N_FITS)]
    seconds = _seconds(kinds_of_work(settings["n_permutations"])[settings["work"]], X, y)
    fits += [_seconds(_single_fit, X, y) for _ in range(N_FITS)]
    return [{"fit_seconds": median(fits), "seconds": seconds}]


def _single_fit(X: Any, y: Any) -> object:
    return MinimaxRiskClassifier().fit(X, y)


def _seconds(what: Work, X: Any, y: Any) -> float:
    begun = process_time()
    what(X, y)
    return process_time() - begun


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known, kinds = pick(rows, status=OK), list(kinds_of_work(settings.data_permutations))
    return Report(
        claims=(),
        tables=[
            TextTable(
                "CPU time in one process with one thread, and how many single default fits take as long.",
                ["data set", "one fit", *kinds],
                [_line(name, kinds, pick(known, dataset=name)) for name in sources.names],
            )
        ],
    )


def _line(name: str, kinds: Sequence[str], rows: Sequence[Row]) -> list[str]:
    cells = dict.fromkeys(kinds, "-")
    cells |= {
        row["work"]: f"{as_time(row['seconds'])}, {row['seconds'] / row['fit_seconds']:.0f} fits"
        for row in rows
    }
    one = as_time(median(row["fit_seconds"] for row in rows)) if rows else "-"
    return [name, one, *cells.values()]


ITEM = Item(
    name=NAME,
    title="Many fits on the same data",
    what="Permutations, ensembles and paths in units of one fit.",
    wanted=("Colon", "Leukemia", "Prostate_GE", "Arcene", "MLL", "GLIOMA", "TOX_171", "Lung"),
    replacements={"Lung": "Lung_1543"},
    fallback=("simulated",),
    is_timed=True,
    relevant=("data_permutations",),
    plan=plan,
    work=work,
    report=report,
    wanted_quickly=("Colon",),
    environment=describe_environment,
)
