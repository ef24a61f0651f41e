"""Reliable features: how often is the bound of the worst list wrong, and how large is it for useful lists?"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from experiments.guarantees.prediction_sets import LAWS, N_FEATURES, N_INFORMATIVE
from experiments.harness.cells import OK, Cell, Setting, blocks
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, mean, pick, values_of, verdict
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from minimaxrisk._utils.arrays import IntArray
from minimaxrisk.guarantees.reliable_features import ReliableFeatures, reliable_features

NAME = "reliable"
LEVEL = 0.05
N_SAMPLES = (30, 60)
N_PERMUTATIONS = 199
# Studies per cell.
BLOCK = 100
# Sizes of the lists of the features with the smallest p-values.
SIZES = (10, 30)


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    parts: list[dict[str, Setting]] = [
        {"law": law, "n": n, "first": first, "count": count, "seed": settings.seed}
        for law in LAWS
        for n in N_SAMPLES
        for first, count in blocks(settings.reliable_studies, BLOCK)
    ]
    parts += [{"dataset": name, "seed": settings.seed} for name in sources.names]
    return [Cell(NAME, part, settings.limit) for part in parts]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    if "dataset" in settings:
        return [_real(settings["dataset"], settings["seed"])]
    found = [_study(settings, settings["first"] + k) for k in range(settings["count"])]
    return [{name: mean([one[name] for one in found]) for name in found[0]}]


def related_features(law: str) -> IntArray:
    """Return the features whose distribution differs between the classes."""
    n_groups = {"noise": 0, "two subtypes each": 4}.get(law, len(LAWS[law][1]))
    return np.arange(n_groups * N_INFORMATIVE)


def _study(settings: Mapping[str, Any], number: int) -> dict[str, float]:
    draw, parts = LAWS[settings["law"]]
    random = np.random.default_rng([settings["seed"], number, settings["n"]])
    y = random.choice(len(parts), settings["n"], p=np.array(parts) / sum(parts))
    y[: len(parts)] = np.arange(len(parts))  # each class has a sample
    found = reliable_features(draw(random, y), y, n_permutations=N_PERMUTATIONS, random_state=number)
    related = related_features(settings["law"])
    unrelated = np.setdiff1d(np.arange(N_FEATURES), related)
    row = {"wrong": float(found.at_least(unrelated) > 0), "of_related": float(found.at_least(related))}
    for size, best in _best_lists(found).items():
        row |= {f"at_least_{size}": found.at_least(best), f"true_{size}": float(np.isin(best, related).sum())}
    return row


def _best_lists(found: ReliableFeatures) -> dict[int, IntArray]:
    order = np.argsort(found.unrelated_limits, kind="stable")
    return {size: order[:size] for size in SIZES}


def _real(name: str, seed: int) -> dict[str, Any]:
    X, y = load_source(name)
    start = time.perf_counter()
    found = reliable_features(X, y, random_state=seed)
    seconds = time.perf_counter() - start
    bounds = {f"at_least_{size}": found.at_least(best) for size, best in _best_lists(found).items()}
    return {"n_features": found.n_features, "of_all": found.value, **bounds, "seconds": seconds}


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    simulated, real = ([row for row in known if row.get(name)] for name in ("law", "dataset"))
    return Report(
        claims=[_claim(settings, simulated)],
        tables=[_simulated_table(settings, simulated), _real_table(real)],
        notes=[
            f"Bounds at {1 - LEVEL:.0%} with {N_PERMUTATIONS} permutations, {settings.reliable_studies} "
            f"studies of {N_FEATURES} features for each distribution and size. The bound of the worst list "
            "is wrong if any list of unrelated features has a positive bound.",
            f"The lists of {' and '.join(map(str, SIZES))} features have the smallest p-values.",
            "Seconds are those of one process with one thread and 499 permutations.",
        ],
    )


def _share_wrong(rows: Sequence[Row]) -> tuple[float, int]:
    """The share of wrong bounds, and the number of studies."""
    n = sum(int(row["count"]) for row in rows)
    return sum(float(row["wrong"]) * int(row["count"]) for row in rows) / max(n, 1), n


def _claim(settings: Settings, rows: Sequence[Row]) -> Claim:
    cells = [own for law in LAWS for n in N_SAMPLES if (own := pick(rows, law=law, n=n))]
    shares = [_share_wrong(own) for own in cells]
    # Of 24 cells with an exact level of 5% one is above this by chance with a probability of about 2%.
    most = [stats.binom(n, LEVEL).ppf(0.999) / n for _, n in shares]
    share, n_studies = _share_wrong(rows)
    largest = max((share for share, _ in shares), default=float("nan"))
    return Claim(
        f"The bound of the worst list is wrong in at most {LEVEL:.0%} of studies, up to Monte Carlo error.",
        verdict([share <= limit for (share, _), limit in zip(shares, most, strict=True)]),
        f"{share:.1%} of {n_studies} studies; at most {largest:.1%} in one of {len(cells)} cells.",
    )


def _simulated_table(settings: Settings, rows: Sequence[Row]) -> TextTable:
    lines = []
    for law in LAWS:
        for n in N_SAMPLES:
            own = pick(rows, law=law, n=n)
            if not own:
                continue
            means = [f"{mean(values_of(own, 'of_related')):.1f} of {len(related_features(law))}"]
            for size in SIZES:
                bound, truth = (mean(values_of(own, f"{name}_{size}")) for name in ("at_least", "true"))
                means.append(f"{bound:.1f} ({truth:.1f})")
            lines.append([law, str(n), f"{_share_wrong(own)[0]:.1%}", *means])
    best = [f"first {size} (truly related)" for size in SIZES]
    return TextTable(
        "Share of studies with a wrong bound of the worst list, and mean bounds of other lists.",
        ["distribution", "samples", "wrong", "all related features", *best],
        lines,
    )


def _real_table(rows: Sequence[Row]) -> TextTable:
    lines = [
        [
            str(row["dataset"]),
            *(str(int(row[name])) for name in ("n_features", "of_all", *(f"at_least_{k}" for k in SIZES))),
            f"{float(row['seconds']):.2f}",
        ]
        for row in rows
    ]
    return TextTable(
        "Data sets: at least so many features are related to the class.",
        ["data set", "features", "of all", *(f"of the first {size}" for size in SIZES), "seconds"],
        lines,
    )


ITEM = Item(
    name=NAME,
    title="Reliable features of any list",
    what="With 95% confidence at least m features of a list are related to the class, whatever the list.",
    wanted=("Colon", "Leukemia", "Prostate_GE", "GLIOMA"),
    fallback=("breast_cancer",),
    is_timed=True,
    plan=plan,
    work=work,
    report=report,
)
