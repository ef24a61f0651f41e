"""The bound of error_bound on laws and learners of many kinds: how often is it wrong?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.harness.cells import OK, Cell
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, pick, verdict
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from experiments.paper.fitting import fit_quietly
from minimaxrisk.estimators.kernel_classifier import MinimaxRiskKernelClassifier
from minimaxrisk.guarantees.error_bound import error_bound

NAME = "headline"
N_STUDIES, N_TRUTH = 100, 2000
Random = np.random.RandomState
Draw = Callable[[int, Random], tuple[np.ndarray, np.ndarray]]


def _shifted(y: np.ndarray, noise: np.ndarray, effect: float) -> tuple[np.ndarray, np.ndarray]:
    noise[:, :5] += effect * y[:, None]
    return noise, y


def _labels(n: int, random: Random, share: float = 0.5) -> np.ndarray:
    return (random.random_sample(n) < share).astype(int)


def _normal(n: int, random: Random, share: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    return _shifted(_labels(n, random, share), random.standard_normal((n, 100)), 1.0)


def _t3(n: int, random: Random) -> tuple[np.ndarray, np.ndarray]:
    return _shifted(_labels(n, random), random.standard_t(3, (n, 100)), 1.5)


def _binary(n: int, random: Random) -> tuple[np.ndarray, np.ndarray]:
    y = _labels(n, random)
    chance = np.where(np.arange(100) < 10, 0.3 + 0.4 * y[:, None], 0.3)
    return (random.random_sample((n, 100)) < chance).astype(float), y


def _correlated(n: int, random: Random) -> tuple[np.ndarray, np.ndarray]:
    common = random.standard_normal((n, 1))
    return _shifted(_labels(n, random), common + random.standard_normal((n, 100)), 1.0)


def _noise(n: int, random: Random) -> tuple[np.ndarray, np.ndarray]:
    return random.standard_normal((n, 100)), _labels(n, random)


def _four(n: int, random: Random) -> tuple[np.ndarray, np.ndarray]:
    y = random.choice(4, n, p=(0.1, 0.2, 0.3, 0.4))
    return np.random.RandomState(0).standard_normal((4, 60))[y] + 2.0 * random.standard_normal((n, 60)), y


def _ridge(*steps: Any) -> Any:
    return make_pipeline(StandardScaler(), *steps, RidgeClassifier(alpha=10.0))


def _search() -> Any:
    folds = {"C": [1e-3, 1e-1, 10.0]}
    return make_pipeline(StandardScaler(), GridSearchCV(LogisticRegression(max_iter=200), folds, cv=3))


# The number of samples, the law, and the learner.
SETTINGS: dict[str, tuple[int, Draw, Callable[[], Any]]] = {
    "t with 3 degrees": (60, _t3, _ridge),
    "binary": (60, _binary, _ridge),
    "correlated, 24 samples": (24, _correlated, _ridge),
    "noise, 12 samples": (12, _noise, _ridge),
    "10 : 90": (80, lambda n, random: _normal(n, random, 0.1), _ridge),
    "four classes": (100, _four, _ridge),
    "principal components": (60, _normal, lambda: _ridge(PCA(5, random_state=0))),
    "a search": (60, _normal, _search),
    "a ball": (60, _normal, MinimaxRiskKernelClassifier),
}


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    count = 2 if settings.is_quick else N_STUDIES
    return [
        Cell(NAME, {"setting": name, "count": count, "seed": settings.seed}, settings.limit)
        for name in SETTINGS
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    n, draw, learner = SETTINGS[settings["setting"]]
    limits, errors, skipped = [], [], 0
    for k in range(settings["count"]):
        random = np.random.RandomState([settings["seed"], k])
        X, y = draw(n, random)
        if len(np.unique(y)) < 2:
            skipped += 1
            continue
        model, _ = fit_quietly(learner(), X, y)
        bound = error_bound(model, X, y, random_state=k)
        X_truth, truth = draw(N_TRUTH, random)
        errors.append(float(np.mean(bound.model.predict(X_truth) != truth)))
        limits.append(bound.value)
    return [
        {
            "studies": len(limits),
            "n_wrong": sum(bool(error > limit) for limit, error in zip(limits, errors, strict=True)),
            "limit": float(np.mean(limits)),
            "error": float(np.mean(errors)),
        }
    ]


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    held = [row["n_wrong"] <= stats.binom.ppf(0.99, row["studies"], 0.05) for row in known]
    lines = [
        [
            row["setting"],
            str(row["studies"]),
            str(row["n_wrong"]),
            *(f"{float(row[name]):.3f}" for name in ("limit", "error")),
        ]
        for row in known
    ]
    return Report(
        claims=[
            Claim(
                "The bound of error_bound is wrong in at most 5% of the studies.",
                verdict(held),
                f"Wrong in {sum(row['n_wrong'] for row in known)} of {sum(row['studies'] for row in known)}.",
            )
        ],
        tables=[
            TextTable(
                "Studies in which the bound was below the error of the same model.",
                ["setting", "studies", "wrong", "mean bound", "mean error"],
                lines,
            )
        ],
        notes=["error_bound(model, X, y) at 95%. Labels are drawn, so the classes vary in size."],
    )


ITEM = Item(
    name=NAME,
    title="The error bound",
    what="How often the bound of error_bound is wrong, on laws and learners of many kinds.",
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
