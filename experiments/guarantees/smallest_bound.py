"""The smallest of all bounds, whose choice is paid for: how often is it below the error that it bounds?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import stats

from experiments.guarantees.laws import CORRELATED, INDEPENDENT, Law, make_law
from experiments.harness.cells import OK, Cell
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, pick, verdict
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from experiments.paper.fitting import fit_quietly
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.guarantees.error_bound import error_bound
from minimaxrisk.guarantees.statement import HOLDOUT, MAJORITY, NONE, RADII, ErrorBound

NAME = "smallest-bound"
NOISE = "noise"
LAWS = (INDEPENDENT, CORRELATED, NOISE)
SAMPLES = (60, 150, 500)
FITS: dict[str, dict[str, Any]] = {
    "s = 1": {},
    "bootstrap, known instances": {"radius": "bootstrap", "marginal": "empirical"},
}
N_COLUMNS = 200
# New instances without labels, and instances that stand for the law where true errors are computed.
N_NEW, N_TRUTH = 200, 20_000
# Of the radius rules' data sets; these take longer.
SHARE_OF_REPETITIONS = 8
SAMPLE, NEW, TRUTH = 0, 1, 2
# Columns of the results.
KIND = {HOLDOUT: "hold-out", RADII: "radii", MAJORITY: "majority class"}


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    return [
        Cell(
            NAME,
            {
                "law": law,
                "n_samples": n,
                "fit": fit,
                "count": max(1, settings.radius_repetitions // SHARE_OF_REPETITIONS),
                "confidence": settings.confidence,
                "seed": settings.seed,
            },
            settings.limit,
        )
        for law in LAWS
        for n in (SAMPLES[:1] if settings.is_quick else SAMPLES)
        for fit in FITS
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    law = _law(settings["law"], settings["seed"])
    found, errors = [], []
    for k in range(settings["count"]):
        X, y = _sample(law, settings, settings["n_samples"], SAMPLE, k)
        X_new, _ = _sample(law, settings, N_NEW, NEW, k)
        model, _ = fit_quietly(MinimaxRiskClassifier(**FITS[settings["fit"]]), X, y)
        best = error_bound(model, X, y, X_new=X_new, confidence=settings["confidence"], random_state=k)
        assert best.method != NONE
        found.append(best)
        errors.append(_true_error(best, settings))
    return [
        {
            "n_wrong": sum(error > one.value for one, error in zip(found, errors, strict=True)),
            "bound": float(np.mean([one.value for one in found])),
            "error": float(np.mean(errors)),
            **{KIND[method]: sum(one.method == method for one in found) for method in KIND},
        }
    ]


def _law(name: str, seed: int) -> Law:
    """Noise has the instances of a law, and labels of its own."""
    return make_law(INDEPENDENT if name == NOISE else name, N_COLUMNS, seed)


def _sample(
    law: Law, settings: Mapping[str, Any], n: int, purpose: int, repetition: int
) -> tuple[np.ndarray, np.ndarray]:
    """Of the law, or with labels that are tosses of a coin."""
    random = np.random.RandomState([settings["seed"], purpose, repetition, n])
    X, y = law.sample(n, random)
    if settings["law"] == NOISE:
        y = random.randint(0, 2, n)
    return X, y


@lru_cache(maxsize=1)
def _truth(law: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return _law(law, seed).sample(N_TRUTH, np.random.RandomState([seed, TRUTH]))


def _true_error(one: ErrorBound, settings: Mapping[str, Any]) -> float:
    """Of the rule that the statement is about; among noise, and for always naming a class, one half."""
    if settings["law"] == NOISE or one.model is None:
        return 0.5
    X, y = _truth(settings["law"], settings["seed"])
    if one.rule == "predict":
        return float(np.mean(one.model.predict(X) != y))
    return float(1.0 - one.model.predict_proba(X)[np.arange(len(y)), y].mean())


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    return Report(
        claims=[_claim(settings, known)],
        tables=[_table(known)],
        notes=[
            f"{N_COLUMNS} columns, {N_NEW} new instances without labels, confidence "
            f"{settings.confidence:g}. The true error is that of the rule that the smallest statement is "
            "about, which need not be that of the model that was passed.",
        ],
    )


def _claim(settings: Settings, rows: Sequence[Row]) -> Claim:
    """No more often than chance allows at the level."""
    delta = 1.0 - settings.confidence
    return Claim(
        "The smallest of all bounds is wrong no more often than its level says.",
        verdict([row["n_wrong"] <= stats.binom.ppf(0.99, row["count"], delta) for row in rows]),
        f"Wrong in {sum(row['n_wrong'] for row in rows)} of {sum(row['count'] for row in rows)} data sets.",
    )


def _table(rows: Sequence[Row]) -> TextTable:
    lines = [
        [
            row["law"],
            str(row["n_samples"]),
            row["fit"],
            f"{row['bound']:.3f}",
            f"{row['error']:.3f}",
            f"{row['n_wrong']} of {row['count']}",
            *(str(row[kind]) for kind in KIND.values()),
        ]
        for row in rows
    ]
    headers = ["law", "n", "fit", "bound", "true error", "wrong", *KIND.values()]
    return TextTable("Means over the data sets, and what kind of bound was the smallest.", headers, lines)


ITEM = Item(
    name=NAME,
    title="The smallest of all bounds",
    what="How often the bound that error_bound puts first is wrong, on simulated laws.",
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
