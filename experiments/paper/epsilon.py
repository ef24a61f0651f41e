"""Figure 1: how the worst-case errors of constraint generation fall, for several tolerances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from experiments.harness.cells import OK, Cell
from experiments.harness.reporting import (
    Claim,
    Figure,
    Item,
    Report,
    Row,
    TextTable,
    finish_axes,
    mean,
    pick,
    three_digits,
    tiny,
    verdict,
)
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from experiments.paper.fitting import MRC_CG, MRC_IP, fit_measured, settings_of

NAME = "epsilon"
# A rise of R^k by so much is rounding.
ROUNDING = 1e-9
# "Highly accurate" in the paper's words; the curves of its figure end around here.
ACCURATE = 1e-4


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    cells = []
    for name in sources.names:
        # R* itself: the interior point's certified gap is a rounding error.
        cells.append(Cell(NAME, {"dataset": name, "method": MRC_IP}, settings.limit))
        for epsilon in settings.epsilons:
            method = settings_of(MRC_CG, settings.n_max, epsilon, None)
            cells.append(Cell(NAME, {"dataset": name, **method}, settings.limit))
    return cells


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    X, y = load_source(settings["dataset"])
    model, row = fit_measured(settings, X, y)
    if settings["method"] == MRC_IP:
        return [row]
    return [
        {
            "k": record["iteration"] - 1,
            "worst_case_error": record["worst_case_error"],
            "lower": record["lower"],
            "n_features": record["n_features"],
            "max_violation": record["max_violation"],
            "seconds": record["seconds"],
            **{name: row[name] for name in ("converged", "n_passes", "peak_bytes")},
        }
        for record in model.history_
    ]


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    curves = {
        (name, epsilon): pick(rows, dataset=name, method=MRC_CG, epsilon=epsilon, status=OK)
        for name in sources.names
        for epsilon in settings.epsilons
    }
    stopped = [row for row in rows if row["status"] != OK]
    best = {row["dataset"]: row["worst_case_error"] for row in pick(rows, method=MRC_IP, status=OK)}
    known = {key: curve for key, curve in curves.items() if curve and key[0] in best}
    errors = {key: [row["worst_case_error"] for row in curve] for key, curve in known.items()}
    left = {key: values[-1] - best[key[0]] for key, values in errors.items()}
    return Report(
        claims=_claims(settings, best, errors, left),
        tables=[_table(best, known, left)],
        notes=[
            "Cells of this item run side by side unless told otherwise, so that its seconds are rough.",
            *(
                f"{row['method']} on {row['dataset']}, ε = {row.get('epsilon')}: {row['status']} "
                f"({row['detail']})"
                for row in stopped
            ),
        ],
        figures=[
            Figure(
                "epsilon",
                "R^k − R* over the iterations k of MRC-CG, drawn no lower than 1e-12.",
                (5.2 * len(sources.names), 3.6),
                lambda figure: _draw(figure, sources.names, best, errors),
            )
        ],
    )


def _claims(
    settings: Settings,
    best: Mapping[str, float],
    errors: Mapping[tuple[str, float], list[float]],
    left: Mapping[tuple[str, float], float],
) -> list[Claim]:
    rises = {key: max((b - a for a, b in pairwise(values)), default=0.0) for key, values in errors.items()}
    highest = max(rises.values(), default=0.0)
    coarse, fine = max(settings.epsilons), min(settings.epsilons)
    at_coarse = [value for (_, epsilon), value in left.items() if epsilon == coarse]
    needed = [
        _first_below(np.array(values) - best[name], ACCURATE)
        for (name, epsilon), values in errors.items()
        if epsilon == fine
    ]
    ordered = [
        all(a >= b - ROUNDING for a, b in pairwise(left[name, e] for e in _descending(settings.epsilons)))
        for name in dict.fromkeys(name for name, _ in left)
        if all((name, epsilon) in left for epsilon in settings.epsilons)
    ]
    return [
        Claim(
            "The worst-case errors R^k never rise.",
            verdict([rise <= ROUNDING for rise in rises.values()]),
            f"In {len(rises)} sequences "
            + (f"the largest rise is {highest:.0e}." if highest > 0.0 else "no step goes upwards."),
            "they fall (Theorem 2)",
        ),
        Claim(
            f"With ε = {coarse:g} the last R^k is within about 10⁻³ of R*.",
            verdict([value <= 1e-3 for value in at_coarse]),
            f"The differences are {', '.join(map(tiny, at_coarse)) or 'not known'}.",
            "about 10⁻³",
        ),
        Claim("A smaller ε gives a more accurate result.", verdict(ordered), "See the table.", "Figure 1"),
        Claim(
            f"With ε = {fine:g} the result is highly accurate after 20 iterations on average.",
            verdict([mean(needed) <= 20] if needed else []),
            f"Iterations until R^k − R* is at most {ACCURATE:g}: {', '.join(f'{k:g}' for k in needed)}.",
            "20 iterations",
        ),
    ]


def _first_below(values: np.ndarray, level: float) -> float:
    """Where a sequence reaches the level for the first time; infinity if it never does."""
    reached = np.flatnonzero(values <= level)
    return float(reached[0]) if len(reached) else float("inf")


def _descending(epsilons: Sequence[float]) -> list[float]:
    return sorted(epsilons, reverse=True)


def _table(
    best: Mapping[str, float],
    curves: Mapping[tuple[str, float], list[Row]],
    left: Mapping[tuple[str, float], float],
) -> TextTable:
    lines = [
        [
            name,
            f"{best[name]:.6f}",
            f"{epsilon:g}",
            str(len(curve) - 1),
            f"{left[name, epsilon]:.1e}",
            f"{curve[-1]['n_features']}",
            three_digits(curve[-1]["seconds"]),
            str(curve[-1]["n_passes"]),
            f"{curve[-1]['peak_bytes'] / 1e6:.0f}",
        ]
        for (name, epsilon), curve in curves.items()
    ]
    header = ["data set", "R*", "ε", "iterations", "last R^k − R*", "features in the last program", "seconds"]
    return TextTable("MRC-CG run to its tolerance.", [*header, "passes over X", "peak MB"], lines)


def _draw(
    figure: Any,
    names: Sequence[str],
    best: Mapping[str, float],
    errors: Mapping[tuple[str, float], list[float]],
) -> None:
    panels = np.atleast_1d(figure.subplots(1, len(names), sharey=True))
    for axes, name in zip(panels, names, strict=True):
        for style, ((source, epsilon), values) in zip(
            ("o-", "s--", "^:") * len(errors), errors.items(), strict=False
        ):
            if source == name:
                # A logarithmic axis has no zero.
                above = np.maximum(np.array(values) - best[name], 1e-12)
                axes.plot(range(len(above)), above, style, label=f"ε = {epsilon:g}", markersize=4)
        axes.set(yscale="log", xlabel="iteration k", title=name)
        finish_axes(axes)
    panels[0].set_ylabel("R^k − R*")


ITEM = Item(
    name=NAME,
    title="Figure 1: the tolerance ε",
    what=(
        "MRC-CG with n_max features per iteration, run until no violation exceeds ε. R* is that of the "
        "interior point, whose certified gap is a rounding error."
    ),
    wanted=("Ovarian", "Arcene"),
    replacements={"Ovarian": "Leukemia"},
    fallback=("simulated", "breast_cancer"),
    is_timed=False,
    relevant=("n_max", "epsilons"),
    plan=plan,
    work=work,
    report=report,
    measured_with=("experiments.paper.fitting",),
)
