"""Simulated studies by which the ensemble's constants were chosen: how much the ball should count.

Seven kinds of laws, from a few strong columns to smooth spectra. In each the classes differ in another way,
so that now rules on few columns are best and now a rule on all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.harness.cells import OK, Cell
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, pick
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from experiments.paper.fitting import fit_quietly
from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.estimators.ensemble import MinimaxRiskEnsembleClassifier

NAME = "simulated"
KINDS = ("few columns", "modules", "many columns", "factors", "factors and few", "subtypes", "spectra")
SIZES = ((2, 60), (2, 120), (3, 75), (4, 100))  # classes, samples
N_COLUMNS, N_TEST, N_FACTORS, N_PEAKS, MODULE = 1500, 400, 12, 40, 20
N_MEMBERS = 25
STUDIES = 5
FIXED = (0.0, 0.25, 0.5, 0.75, 1.0)
POWERS = (1, 2, 4)


@dataclass(frozen=True)
class Law:
    """Means of the classes and loadings of factors, for columns in units of their own."""

    kind: str
    n_classes: int
    has_heavy_tails: bool
    is_skewed: bool
    means: np.ndarray
    of_factors: np.ndarray  # class x subtype x factor
    loadings: np.ndarray
    scale: np.ndarray
    level: np.ndarray

    @classmethod
    def draw(cls, kind: str, n_classes: int, number: int, random: np.random.Generator) -> Law:
        d = N_COLUMNS
        loadings = random.standard_normal((d, N_FACTORS)) * np.sqrt(0.5 / N_FACTORS)
        means, factors = np.zeros((n_classes, d)), np.zeros((n_classes, 1, N_FACTORS))
        for own in means:
            if kind in ("few columns", "factors and few"):
                chosen = random.choice(d, 6, replace=False)
                own[chosen] += 1.3 * random.choice([-1.0, 1.0], 6)
            elif kind == "modules":
                for module in random.choice(d // MODULE, 4, replace=False):
                    own[module * MODULE : (module + 1) * MODULE] += 0.8 * random.choice([-1.0, 1.0])
            elif kind == "many columns":
                chosen = random.choice(d, d // 5, replace=False)
                own[chosen] += 0.35 * random.standard_normal(len(chosen))
            elif kind == "subtypes":
                chosen = random.choice(d, d // 10, replace=False)
                own[chosen] += 0.3 * random.standard_normal(len(chosen))
        if kind in ("factors", "factors and few"):
            factors = (0.9 if kind == "factors" else 0.5) * random.standard_normal(factors.shape)
        elif kind == "subtypes":
            factors = 1.3 * random.standard_normal((n_classes, 2, N_FACTORS))
        elif kind == "spectra":
            place, width = random.uniform(0, d, N_PEAKS), random.uniform(5, 40, N_PEAKS)
            loadings = np.exp(-0.5 * ((np.arange(d)[:, None] - place) / width) ** 2)
            is_changed = random.random((n_classes, 1, N_PEAKS)) < 0.4
            factors = 0.12 * random.standard_normal(is_changed.shape) * is_changed
        scale, level = np.exp(0.5 * random.standard_normal(d)), 2.0 * random.standard_normal(d)
        is_skewed = number % 3 == 2 and kind != "spectra"
        return cls(kind, n_classes, number % 2 == 1, is_skewed, means, factors, loadings, scale, level)

    def sample(self, y: np.ndarray, random: np.random.Generator) -> np.ndarray:
        n = len(y)
        shape = (n, N_COLUMNS)
        noise = (
            random.standard_t(4, shape) / np.sqrt(2.0)
            if self.has_heavy_tails
            else random.standard_normal(shape)
        )
        own = self.of_factors[y, random.integers(0, self.of_factors.shape[1], n)]
        if self.kind == "spectra":
            heights = 1.5 * (1.0 + 0.15 * random.standard_normal((n, N_PEAKS))) + own
            return (heights * np.exp(0.1 * random.standard_normal((n, 1)))) @ self.loadings.T + 0.05 * noise
        if self.kind == "modules":
            shared = np.repeat(random.standard_normal((n, N_COLUMNS // MODULE)), MODULE, axis=1)
            inner = np.sqrt(0.4) * shared + np.sqrt(0.6) * noise
        elif self.kind == "few columns":
            inner = noise
        else:
            inner = (random.standard_normal((n, N_FACTORS)) + own) @ self.loadings.T + np.sqrt(0.5) * noise
        values: np.ndarray = self.level + self.scale * (self.means[y] + inner)
        return np.exp(0.7 * values) if self.is_skewed else values


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    return [
        Cell(
            NAME,
            {"kind": kind, "n_classes": n_classes, "n_samples": n, "number": number, "seed": settings.seed},
            settings.limit,
        )
        for number, (kind, (n_classes, n)) in enumerate((kind, size) for kind in KINDS for size in SIZES)
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [_one_study(settings, k) for k in range(STUDIES)]


def _one_study(settings: Mapping[str, Any], k: int) -> dict[str, Any]:
    random = np.random.default_rng([settings["seed"], settings["number"], k])
    n_classes, n = settings["n_classes"], settings["n_samples"]
    law = Law.draw(settings["kind"], n_classes, settings["number"], random)
    y, y_test = random.permutation(np.arange(n) % n_classes), random.integers(0, n_classes, N_TEST)
    scaler = ClippedScaler()
    X, X_test = scaler.fit_transform(law.sample(y, random)), scaler.transform(law.sample(y_test, random))
    options: dict[str, Any] = {"n_estimators": N_MEMBERS, "certify": False, "random_state": k}
    model, _ = fit_quietly(MinimaxRiskEnsembleClassifier(**options, ball=True), X, y)
    plain, _ = fit_quietly(MinimaxRiskEnsembleClassifier(**options, ball=False), X, y)
    of_ball, of_members = model.ball_.probabilities(X_test).T, plain.predict_proba(X_test)
    # The library has the power 2 of one more than the errors out of bag.
    ratio = np.sqrt(model.ball_weight_ / (1.0 - model.ball_weight_))

    def error(weight: float) -> float:
        mixed = (1.0 - weight) * of_members + weight * of_ball
        return float(np.mean(np.argmax(mixed, axis=1) != y_test))

    return {
        "study": k,
        **{f"weight {weight:g}": error(weight) for weight in FIXED},
        **{f"power {power}": error(ratio**power / (ratio**power + 1.0)) for power in POWERS},
    }


WAYS = (*(f"weight {weight:g}" for weight in FIXED), *(f"power {power}" for power in POWERS))


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    errors = np.array([[float(row[way]) for way in WAYS] for row in known])
    used = errors[:, WAYS.index("power 2")]
    lines = [
        [kind, *(f"{np.mean([float(row[way]) for row in pick(known, kind=kind)]):.3f}" for way in WAYS)]
        for kind in KINDS
        if pick(known, kind=kind)
    ]
    lines.append(["all", *(f"**{mean:.4f}**" for mean in errors.mean(axis=0))])
    others = [way for way in WAYS if way.startswith("weight")]
    gaps = {way: used - errors[:, WAYS.index(way)] for way in others}
    nearest = max(gaps, key=lambda way: float(gaps[way].mean()))
    gap, spread = gaps[nearest].mean(), gaps[nearest].std(ddof=1) / np.sqrt(len(used))
    return Report(
        claims=[
            Claim(
                "A weight by errors out of bag is better than any fixed one.",
                "holds" if gap < 0 else "does not hold",
                f"Nearest: {nearest}; difference {gap:+.4f} ± {spread:.4f} over {len(used)} studies.",
            )
        ],
        tables=[TextTable("Mean errors on new samples.", ["law", *WAYS], lines)],
        notes=[
            f"{N_COLUMNS:,} columns, clipped; {N_MEMBERS} members; {STUDIES} studies for each of "
            f"{len(KINDS)} kinds and {len(SIZES)} sizes (2 to 4 classes, 60 to 120 samples), every second "
            "law with heavy tails, every third skewed. *weight* is the share that the ball has in the "
            "average, *power* p one of (a + 1)^p / ((a + 1)^p + (b + 1)^p) with a and b errors out of bag of "
            "members and ball. The library has p = 2."
        ],
    )


ITEM = Item(
    name=NAME,
    title="How much the ball counts",
    what="Errors of the ensemble on simulated studies, by the weight of the rule that uses all columns.",
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
