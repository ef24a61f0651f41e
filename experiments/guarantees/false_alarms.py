"""How often independent samples are taken for copies or another scale, and which copies are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.harness.cells import OK, Cell
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, pick, values_of, verdict
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from minimaxrisk.checks.scales import on_another_scale
from minimaxrisk.samples.copies import near_copies

NAME = "false-alarms"
DOUBTS = ("copies", "scale")
D = 300
SIZES = (24, 100)
HIGHEST = 0.02
# Of each column's standard deviation.
NOISES = (0.1, 0.25, 0.3, 0.4, 0.5)
# How often every patient was measured; 0 says that three samples of sixty were measured again.
MEASURED = (2, 3, 10, 0)

Random = np.random.Generator


def _factors(random: Random, n: int, n_factors: int, noise: float = 0.1) -> np.ndarray:
    loadings = random.standard_normal((n_factors, D))
    return random.standard_normal((n, n_factors)) @ loadings + noise * random.standard_normal((n, D))


def _subtypes(random: Random, n: int, n_subtypes: int) -> np.ndarray:
    centres = 3.0 * random.standard_normal((n_subtypes, D))
    return centres[random.integers(0, n_subtypes, n)] + 0.7 * random.standard_normal((n, D))


def _sizes(random: Random, n: int, spread: float) -> np.ndarray:
    return np.asarray(np.exp(spread * random.standard_normal((n, 1))))


def _walks(random: Random, n: int) -> np.ndarray:
    return np.cumsum(random.standard_normal((n, D)), axis=1)


# The first are those that the rules were chosen on, with other draws; the others took no part.
CHOSEN_ON: dict[str, Callable[[Random, int], np.ndarray]] = {
    "normal": lambda random, n: random.standard_normal((n, D)),
    "two factors": lambda random, n: _factors(random, n, 2),
    "five factors": lambda random, n: _factors(random, n, 5),
    "four subtypes": lambda random, n: _subtypes(random, n, 4),
    "twelve tight subtypes": lambda random, n: _subtypes(random, n, 12),
    "very different norms": lambda random, n: _sizes(random, n, 1.5) * random.standard_normal((n, D)),
    "lognormal with a size": lambda random, n: np.exp(random.standard_normal((n, D))) * _sizes(random, n, 1),
    "spectra with a size": lambda random, n: _walks(random, n) * _sizes(random, n, 0.7),
}
OTHERS: dict[str, Callable[[Random, int], np.ndarray]] = {
    "three factors, noise of t3": lambda random, n: _factors(random, n, 3) + random.standard_t(3, (n, D)),
    "seven subtypes with sizes": lambda random, n: _subtypes(random, n, 7) * _sizes(random, n, 0.5),
    "four factors with sizes": lambda random, n: _factors(random, n, 4) * _sizes(random, n, 0.8),
    "uniform with a shift": lambda random, n: random.random((n, D)) + 2.0 * random.standard_normal((n, 1)),
    "smooth curves": lambda random, n: np.cumsum(_walks(random, n), axis=1),
}
LAWS = CHOSEN_ON | OTHERS


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    count = 2 if settings.is_quick else 200
    alarms: list[dict[str, Any]] = [{"law": law, "n": n, "measured": None} for law in LAWS for n in SIZES]
    found: list[dict[str, Any]] = [{"law": "normal", "n": 60, "measured": times} for times in MEASURED]
    return [
        Cell(NAME, each | {"count": count, "seed": settings.seed}, settings.limit)
        for each in [*alarms, *found]
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    random = np.random.default_rng([settings["seed"], settings["n"], sum(map(ord, settings["law"])), 1])
    if settings["measured"] is not None:
        return [
            {"noise": noise, "found": _n_found(random, settings["measured"], noise, settings["count"] // 2)}
            for noise in NOISES
        ]
    y, copies, scales = np.arange(settings["n"]) % 2, 0, 0
    for _ in range(settings["count"]):
        X = LAWS[settings["law"]](random, settings["n"])
        copies += bool(near_copies(X, y))
        scales += on_another_scale(X) is not None
    return [{"copies": copies / settings["count"], "scale": scales / settings["count"]}]


def _n_found(random: Random, measured: int, noise: float, count: int) -> float:
    """The share of studies in which some pair of one patient is found."""
    patient = np.append(np.arange(60), [0, 1, 2])
    if measured:
        patient = np.arange(max(60, 20 * measured)) // measured
    found = 0
    for _ in range(count):
        X = random.standard_normal((patient.max() + 1, D))[patient] + noise * random.standard_normal(
            (len(patient), D)
        )
        found += bool(near_copies(X, patient % 2))
    return found / count


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    lines = []
    worst = {(role, kind): 0.0 for role in (True, False) for kind in DOUBTS}
    tested = {law in CHOSEN_ON for law in LAWS if pick(known, law=law, measured=None)}
    for law in LAWS:
        rates = {kind: values_of(pick(known, law=law, measured=None), kind) for kind in DOUBTS}
        role = law in CHOSEN_ON
        if rates["copies"]:
            worst |= {(role, kind): max(worst[role, kind], *rates[kind]) for kind in DOUBTS}
            shown = (f"{max(rates[kind]):.3f}" for kind in DOUBTS)
            lines.append([law, "yes" if role else "no", *shown])
    kinds = {0: "three of sixty again"} | {times: f"all {times} times" for times in MEASURED if times}
    found = [
        [kinds[times], *(f"{rate:.2f}" for rate in values_of(pick(known, measured=times), "found"))]
        for times in MEASURED
        if pick(known, measured=times)
    ]
    return Report(
        claims=[
            Claim(
                f"Independent samples raise a doubt in at most {HIGHEST:.0%} of the studies of every law "
                f"{which}.",
                verdict([worst[role, kind] <= HIGHEST for kind in DOUBTS if role in tested]),
                f"At most {worst[role, 'copies']:.1%} for copies and {worst[role, 'scale']:.1%} for another "
                "scale.",
            )
            for role, which in ((True, "that the rules were chosen on"), (False, "that took no part"))
        ],
        tables=[
            TextTable(
                f"Doubts about independent samples, the larger rate of {SIZES[0]} and {SIZES[1]} samples.",
                ["law", "in the choice", *DOUBTS],
                lines,
            ),
            TextTable(
                "Measured again: the share of studies in which it is found, by noise in standard deviations.",
                ["study", *(f"{noise:g}" for noise in NOISES)],
                found,
            ),
        ],
        notes=[
            f"Two classes, {D} columns; samples of both classes have one law. What remains is subtypes of "
            "which two or three samples are all in one class, with no other sample to explain them: they "
            "look like one sample measured twice. Sixty samples or more are measured again, at most a "
            "quarter of a class of one patient.",
        ],
    )


ITEM = Item(
    name=NAME,
    title="False alarms",
    what="How often independent samples are taken for copies or another scale, and which copies are found.",
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
