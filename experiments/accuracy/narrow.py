"""Small data sets with few columns, the first that most people try: who errs, and which classes are lost.

Ours with their defaults and with what ``UnderfitWarning`` advises, beside defaults of scikit-learn, on
columns of unit variance.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from experiments.harness.cells import OK, Cell
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, pick
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier, MinimaxRiskKernelClassifier
from minimaxrisk._utils.notices import quiet_fits

NAME = "narrow"
FOLDS = 5
EVERY = 5  # of the digits, whose ten classes take long
ADVISED = "RBF ball, known instances"


def _digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X[::EVERY], y[::EVERY]


DATA: dict[str, Callable[[], tuple[Any, Any]]] = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": _digits,
    "moons": lambda: make_moons(300, noise=0.25, random_state=0),
}
METHODS: dict[str, Callable[[int], Any]] = {
    "linear box": lambda seed: MinimaxRiskClassifier(),
    "linear box, known instances": lambda seed: MinimaxRiskClassifier(marginal="empirical"),
    "linear ball": lambda seed: MinimaxRiskKernelClassifier(),
    "RBF ball": lambda seed: MinimaxRiskKernelClassifier("rbf"),
    ADVISED: lambda seed: MinimaxRiskKernelClassifier("rbf", marginal="empirical"),
    "average of 50 boxes and a ball": lambda seed: MinimaxRiskEnsembleClassifier(random_state=seed),
    "logistic regression": lambda seed: LogisticRegression(),
    "RBF SVM": lambda seed: SVC(),
}
OTHERS = ("logistic regression", "RBF SVM")


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    return [
        Cell(NAME, {"dataset": dataset, "method": method, "repetition": repetition}, settings.limit)
        for repetition in range(settings.accuracy_repetitions)
        for dataset in DATA
        for method in METHODS
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    X, y = DATA[settings["dataset"]]()
    seed, rows = settings["repetition"], []
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y)
    for fold, (train, test) in enumerate(folds):
        model = make_pipeline(StandardScaler(), METHODS[settings["method"]](seed))
        begun = time.process_time()
        with quiet_fits():
            model.fit(X[train], y[train])
        seconds = time.process_time() - begun
        n_lost = len(np.setdiff1d(y, model.predict(X[train])))
        error = float(np.mean(model.predict(X[test]) != y[test]))
        rows.append({"fold": fold, "error": error, "n_lost": n_lost, "fit_seconds": seconds})
    return rows


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    errors = {
        (dataset, method): _mean(known, dataset, method, "error") for dataset in DATA for method in METHODS
    }
    lost = {
        (dataset, method): _mean(known, dataset, method, "n_lost") for dataset in DATA for method in METHODS
    }
    best = {dataset: min(errors[dataset, other] for other in OTHERS) for dataset in DATA}
    gap = max(DATA, key=lambda dataset: errors[dataset, ADVISED] - best[dataset])
    difference = errors[gap, ADVISED] - best[gap]
    silent = [f"{method} on {dataset}" for (dataset, method), n in lost.items() if n > 0.0]
    return Report(
        claims=[
            Claim(
                f"The {ADVISED}, errs at most 0.02 more than the better of the two others, on each.",
                "holds" if difference <= 0.02 else "does not hold",
                f"Largest difference: {difference:+.3f}, on {gap}.",
            ),
            Claim(
                "The RBF balls lose no class.",
                "does not hold" if any(each.startswith("RBF ball") for each in silent) else "holds",
                f"A class is never predicted on training data, in some fold: {', '.join(silent) or 'none'}.",
            ),
        ],
        tables=[
            TextTable(
                "Cross-validated errors.",
                ["method", *DATA],
                [[method, *(f"{errors[dataset, method]:.3f}" for dataset in DATA)] for method in METHODS],
            ),
            TextTable(
                "Median processor seconds of a fit.",
                ["method", *DATA],
                [
                    [method, *(f"{_seconds(known, dataset, method):.2g}" for dataset in DATA)]
                    for method in METHODS
                ],
            ),
        ],
        notes=[
            f"Stratified {FOLDS}-fold cross-validation, {settings.accuracy_repetitions} times with new "
            "folds, columns of unit variance, defaults throughout. *Known instances* is "
            "`marginal='empirical'`. Of the digits every fifth is taken; moons are 300 points of "
            "scikit-learn's `make_moons` with noise 0.25."
        ],
    )


def _values(rows: Sequence[Row], dataset: str, method: str, quantity: str) -> list[float]:
    return [float(row[quantity]) for row in pick(rows, dataset=dataset, method=method)]


def _mean(rows: Sequence[Row], dataset: str, method: str, quantity: str) -> float:
    return float(np.mean(_values(rows, dataset, method, quantity) or [np.nan]))


def _seconds(rows: Sequence[Row], dataset: str, method: str) -> float:
    return float(np.median(_values(rows, dataset, method, "fit_seconds") or [np.nan]))


ITEM = Item(
    name=NAME,
    title="Few columns",
    what="Data sets with few columns, where a linear minimax rule may lose a class that lies between others.",
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
