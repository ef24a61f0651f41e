"""Plausible and wrong input: how often is a bound below the true error?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.harness.cells import OK, Cell
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, pick, verdict
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from minimaxrisk.estimators.ensemble import MinimaxRiskEnsembleClassifier
from minimaxrisk.guarantees.bound import ErrorBound
from minimaxrisk.guarantees.error_bound import error_bound

NAME = "misuse"
NONE, WRONG = "no bound", "bound below the error"
ERROR = 0.5  # of every rule, since the labels are noise


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    return [
        Cell(
            NAME,
            {"situation": name, "count": 2 if settings.is_quick else 100, "seed": settings.seed},
            settings.limit,
        )
        for name in SITUATIONS
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    bounds = [
        SITUATIONS[settings["situation"]](np.random.RandomState([settings["seed"], k]))
        for k in range(settings["count"])
    ]
    given = [bound.value for bound in bounds if bound.has_probability]
    return [
        {
            NONE: len(bounds) - len(given),
            WRONG: sum(value < ERROR for value in given),
            "bound": float(np.mean(given)) if given else None,
        }
    ]


def _judged(model: Any, X: Any, y: Any, **more: Any) -> ErrorBound:
    return error_bound(model, X, y, random_state=0, **more)


def _replicates(random: np.random.RandomState, *, groups: bool) -> ErrorBound:
    """15 patients of noise, each measured four times."""
    patient = np.repeat(np.arange(15), 4)
    X = random.standard_normal((15, 500))[patient] + 0.2 * random.standard_normal((60, 500))
    y = (random.permutation(15) % 2)[patient]
    more = {"groups": patient} if groups else {}
    learner = MinimaxRiskEnsembleClassifier(n_estimators=10, certify=False, random_state=0)
    return _judged(learner, X, y, **more)


def _repeated_rows(random: np.random.RandomState) -> ErrorBound:
    """Rows repeated by their weights, as the advice used to say."""
    X, y = random.standard_normal((30, 500)), random.permutation(np.arange(30) % 2)
    rows = np.repeat(np.arange(30), random.randint(1, 4, 30))
    learner = MinimaxRiskEnsembleClassifier(n_estimators=10, certify=False, random_state=0)
    return _judged(learner, X[rows], y[rows])


def _search(random: np.random.RandomState, *, whole: bool) -> ErrorBound:
    """A search over sets of columns; passed as a whole, or its best_estimator_ with its choice."""
    X, y = random.standard_normal((50, 2000)), random.permutation(np.arange(50) % 2)
    folds = GridSearchCV(
        make_pipeline(SelectKBest(k=5), StandardScaler(), LogisticRegression(max_iter=1000)),
        {"selectkbest__k": [2, 5, 10, 20]},
        cv=3,
    ).fit(X, y)
    return _judged(folds if whole else folds.best_estimator_, X, y)


SITUATIONS: dict[str, Callable[[np.random.RandomState], ErrorBound]] = {
    "replicates without groups": lambda random: _replicates(random, groups=False),
    "replicates with groups": lambda random: _replicates(random, groups=True),
    "rows repeated by weight": _repeated_rows,
    "a search's best_estimator_": lambda random: _search(random, whole=False),
    "a search as a whole": lambda random: _search(random, whole=True),
}


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    n_wrong, n = (sum(row[name] for row in known) for name in (WRONG, "count"))
    lines = [
        [
            row["situation"],
            str(row["count"]),
            str(row[NONE]),
            str(row[WRONG]),
            "–" if row["bound"] in (None, "") else f"{float(row['bound']):.3f}",
        ]
        for row in known
    ]
    return Report(
        claims=[
            Claim(
                "Plausible and wrong input gets no bound that is wrong more often than 5%.",
                verdict([row[WRONG] <= stats.binom.ppf(0.99, row["count"], 0.05) for row in known]),
                f"Wrong in {n_wrong} of {n} studies.",
            )
        ],
        tables=[
            TextTable(
                "Studies, and what error_bound said.",
                ["situation", "studies", NONE, WRONG, "mean bound"],
                lines,
            )
        ],
        notes=["Bounds at 95%. The labels are noise, so the error rate is 1/2."],
    )


ITEM = Item(
    name=NAME,
    title="Plausible and wrong input",
    what="Replicates without groups, repeated rows, and the choice of a search.",
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
