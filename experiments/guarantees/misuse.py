"""Plausible and wrong input: how often is a limit that comes with a confidence below the true error?"""

from __future__ import annotations

import warnings
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
from experiments.paper.fitting import fit_quietly
from minimaxrisk.datasets import make_expression
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.ensemble import MinimaxRiskEnsembleClassifier
from minimaxrisk.guarantees.error_bound import error_bound
from minimaxrisk.guarantees.statement import ErrorBound

NAME = "misuse"
N_TRUTH = 4000
NONE, WRONG, WARNED = "no limit with a confidence", "limit below the error", "a warning said so"
Outcome = tuple[ErrorBound | None, float, bool]


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
    outcomes = [
        SITUATIONS[settings["situation"]](np.random.RandomState([settings["seed"], k]))
        for k in range(settings["count"])
    ]
    given = [(bound, error) for bound, error, _ in outcomes if bound is not None and bound.has_probability]
    return [
        {
            NONE: len(outcomes) - len(given),
            WRONG: sum(error > bound.value for bound, error in given),
            WARNED: sum(warned for _, _, warned in outcomes),
            "bound": float(np.mean([bound.value for bound, _ in given])) if given else None,
            "error": float(np.mean([error for _, error, _ in outcomes])),
        }
    ]


def _judged(model: Any, X: Any, y: Any, error: Callable[[ErrorBound], float], **more: Any) -> Outcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bound = error_bound(model, X, y, random_state=0, **more)
    told = any("same law" in str(one.message) for one in caught)
    return bound, error(bound), told


def _chance(bound: ErrorBound) -> float:
    return 0.5


def _selected_by_labels(random: np.random.RandomState) -> Outcome:
    """The best 8 of 20,000 columns of noise, as a transformer; bounds by radii would not know."""
    X, y = random.standard_normal((60, 20_000)), np.arange(60) % 2
    chosen = SelectKBest(k=8).fit(X, y)
    model, _ = fit_quietly(MinimaxRiskClassifier(radius="bootstrap", random_state=0), chosen.transform(X), y)
    return _judged(model, X, y, _chance, transformer=chosen, n_folds=None)


def _replicates(random: np.random.RandomState, *, groups: bool) -> Outcome:
    """15 patients of noise, each measured four times."""
    patient = np.repeat(np.arange(15), 4)
    X = random.standard_normal((15, 500))[patient] + 0.2 * random.standard_normal((60, 500))
    y = (random.permutation(15) % 2)[patient]
    more = {"groups": patient, "test_size": 0.4} if groups else {}
    learner = MinimaxRiskEnsembleClassifier(n_estimators=10, certify=False, random_state=0)
    try:
        return _judged(learner, X, y, _chance, method="holdout", **more)
    except ValueError:  # a class is missing among the patients that are left
        return None, 0.5, False


def _repeated_rows(random: np.random.RandomState) -> Outcome:
    """Rows repeated by their weights, as the advice used to say."""
    X, y = random.standard_normal((30, 500)), random.permutation(np.arange(30) % 2)
    rows = np.repeat(np.arange(30), random.randint(1, 4, 30))
    learner = MinimaxRiskEnsembleClassifier(n_estimators=10, certify=False, random_state=0)
    return _judged(learner, X[rows], y[rows], _chance, method="holdout")


def _search(random: np.random.RandomState, *, whole: bool) -> Outcome:
    """A search over sets of columns; passed as a whole, or its best_estimator_ with its choice."""
    X, y = random.standard_normal((50, 2000)), random.permutation(np.arange(50) % 2)
    folds = GridSearchCV(
        make_pipeline(SelectKBest(k=5), StandardScaler(), LogisticRegression(max_iter=1000)),
        {"selectkbest__k": [2, 5, 10, 20]},
        cv=3,
    ).fit(X, y)
    return _judged(folds if whole else folds.best_estimator_, X, y, _chance, method="holdout")


def _cohort(random: np.random.RandomState, *, moved: bool) -> Outcome:
    """New instances of the same law, or of one with an offset and a factor for each column."""
    study = make_expression(80, 300, n_informative=20, effect=0.8, random_state=random)
    X, y = study.data, study.target
    spread = X.std(axis=0)
    offset, factor = 0.5 * spread * random.standard_normal(300), np.exp(0.3 * random.standard_normal(300))

    def elsewhere(n: int) -> tuple[np.ndarray, np.ndarray]:
        found, labels = study.law.sample(n, random_state=random)
        mean = X.mean(axis=0)
        return (mean + (found - mean) * factor + offset if moved else found), labels

    X_new, _ = elsewhere(100)
    X_test, y_test = elsewhere(N_TRUTH)
    model, _ = fit_quietly(MinimaxRiskClassifier(random_state=0), X, y)
    return _judged(
        model,
        X,
        y,
        lambda bound: float(np.mean(bound.model.predict(X_test) != y_test)),
        method="agreement",
        X_new=X_new,
    )


SITUATIONS: dict[str, Callable[[np.random.RandomState], Outcome]] = {
    "columns chosen by labels, radii": _selected_by_labels,
    "replicates without groups": lambda random: _replicates(random, groups=False),
    "replicates with groups": lambda random: _replicates(random, groups=True),
    "rows repeated by weight": _repeated_rows,
    "a search's best_estimator_": lambda random: _search(random, whole=False),
    "a search as a whole": lambda random: _search(random, whole=True),
    "new instances of the same law": lambda random: _cohort(random, moved=False),
    "new instances of another cohort": lambda random: _cohort(random, moved=True),
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
            str(row[WARNED]),
            "–" if row["bound"] in (None, "") else f"{float(row['bound']):.3f}",
            f"{float(row['error']):.3f}",
        ]
        for row in known
    ]
    return Report(
        claims=[
            Claim(
                "Plausible and wrong input gets no limit that is wrong more often than 5%.",
                verdict([row[WRONG] <= stats.binom.ppf(0.99, row["count"], 0.05) for row in known]),
                f"Wrong in {n_wrong} of {n} studies.",
            )
        ],
        tables=[
            TextTable(
                "Studies, and what error_bound said.",
                ["situation", "studies", NONE, WRONG, WARNED, "mean limit", "mean error"],
                lines,
            )
        ],
        notes=["Limits at 95%. The labels are noise, so that the error is 1/2, but for the last two lines."],
    )


ITEM = Item(
    name=NAME,
    title="Plausible and wrong input",
    what="Replicates without groups, columns chosen by labels, choices of a search, another cohort.",
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
