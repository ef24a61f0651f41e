"""Matched pairs without a signal and with one: does the permutation test keep its level, do radii cover?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.harness.cells import OK, Cell
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, pick, values_of, verdict
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk.analysis.permutation_test import permutation_test
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier

NAME = "matched-pairs"
N_PAIRS, D, EFFECT, N_INFORMATIVE = (12, 30), 40, 0.5, 5
CORRELATIONS = (0.0, 0.8)
N_PERMUTATIONS, LEVEL, CONFIDENCE = 19, 0.05, 0.95
LOWEST, HIGHEST, LEAST_COVERED = 0.025, 0.085, 0.93
RULES: tuple[Any, ...] = ("bootstrap",)


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    count = 2 if settings.is_quick else 300
    return [
        Cell(NAME, {"pairs": n, "correlation": rho, "count": count, "seed": settings.seed}, settings.limit)
        for n in N_PAIRS
        for rho in CORRELATIONS
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    n, rho = settings["pairs"], settings["correlation"]
    patient, y = np.repeat(np.arange(n), 2), np.tile([0, 1], n)
    rejected, inside = 0, dict.fromkeys(RULES, 0)
    true = np.where(np.arange(D) < N_INFORMATIVE, -EFFECT / 2.0, 0.0)
    for number in range(settings["count"]):
        random = np.random.default_rng([settings["seed"], n, round(100 * rho), number])
        X = np.sqrt(rho) * random.standard_normal((n, D))[patient]
        X += np.sqrt(1.0 - rho) * random.standard_normal(X.shape)
        test = permutation_test(
            MinimaxRiskClassifier(), X, y, N_PERMUTATIONS, groups=patient, n_null=1, random_state=number
        )
        rejected += test.pvalue <= LEVEL + 1e-12
        X[y == 1, :N_INFORMATIVE] += EFFECT
        for rule in RULES:
            model = MinimaxRiskClassifier(radius=rule, standardize=False, gap_tol=1.0, random_state=number)
            with quiet_fits():
                model.fit(X, y, groups=patient)
            inside[rule] += bool((np.abs(model.tau_[0, 1:] - true) <= model.lambda_[0, 1:]).all())
    shares = {rule: inside[rule] / settings["count"] for rule in RULES}
    return [{"rejected": rejected / settings["count"], **shares}]


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    columns = ("rejected", *RULES)
    found = {name: values_of(known, name) for name in columns}
    covered = [share for rule in RULES for share in found[rule]]
    lines = [
        [str(row["pairs"]), f"{row['correlation']:g}", *(f"{row[name]:.3f}" for name in columns)]
        for row in known
    ]
    return Report(
        claims=[
            Claim(
                f"Without a signal the permutation test rejects at {LEVEL:g} between {LOWEST:g} and "
                f"{HIGHEST:g} of the time.",
                verdict([LOWEST <= share <= HIGHEST for share in found["rejected"]]),
                f"From {min(found['rejected'], default=0):.3f} to {max(found['rejected'], default=0):.3f}.",
            ),
            Claim(
                f"Radii hold all true means in at least {LEAST_COVERED:g} of the studies at {CONFIDENCE:g}.",
                verdict([share >= LEAST_COVERED for share in covered]),
                f"In {min(covered, default=0):.3f} or more.",
            ),
        ],
        tables=[
            TextTable(
                "Matched pairs: rejections without a signal, and coverage of radii.",
                ["pairs", "correlation within", "rejected", *RULES],
                lines,
            )
        ],
        notes=[
            f"300 studies a line of {D} normal features, passed with "
            f"groups; {N_PERMUTATIONS} permutations within pairs."
        ],
    )


ITEM = Item(
    name=NAME,
    title="Matched pairs",
    what="Whether the permutation test keeps its level on matched pairs, and whether radii cover.",
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
