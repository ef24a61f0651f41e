"""What people wait for, ensembles and searches with cross-validation, beside what else they would take."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from experiments.harness.cells import OK, Cell
from experiments.harness.reporting import Item, Report, Row, TextTable, mean, pick
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from experiments.rivals.adapters import one_vs_rest
from experiments.rivals.environment import describe_environment
from experiments.rivals.numbers import as_time
from minimaxrisk import MinimaxRiskClassifierCV, MinimaxRiskEnsembleClassifier

NAME = "searches"
N_FOLDS, N_MEMBERS, N_VALUES = 3, 50, 10
ENSEMBLE, CHOICE = "ensemble", "radius by CV"


def _ensemble(n_classes: int) -> Any:
    return MinimaxRiskEnsembleClassifier(n_estimators=N_MEMBERS, random_state=0)


def _bagging(n_classes: int) -> Any:
    member = make_pipeline(StandardScaler(), LinearSVC(penalty="l1", dual=False, random_state=0))
    return BaggingClassifier(member, n_estimators=N_MEMBERS, random_state=0)


def _choice(n_classes: int) -> Any:
    return MinimaxRiskClassifierCV()


def _logistic(n_classes: int) -> Any:
    learner = LogisticRegressionCV(
        Cs=N_VALUES,
        cv=5,
        l1_ratios=(1,),
        solver="liblinear",
        scoring="neg_log_loss",
        random_state=0,
        use_legacy_attributes=False,
    )
    return make_pipeline(StandardScaler(), one_vs_rest(learner, n_classes))


def _skglm(n_classes: int) -> Any:
    from skglm import SparseLogisticRegression  # noqa: PLC0415

    penalties = np.geomspace(1e-3, 0.3, N_VALUES)
    search = GridSearchCV(SparseLogisticRegression(), {"alpha": penalties}, scoring="accuracy")
    return make_pipeline(StandardScaler(), one_vs_rest(search, n_classes))


# Each of ours, then what else does its work.
LEARNERS: dict[str, Callable[[int], Any]] = {
    ENSEMBLE: _ensemble,
    "bagged liblinear SVM": _bagging,
    CHOICE: _choice,
    "LogisticRegressionCV": _logistic,
    "skglm by CV": _skglm,
}
OURS = {"bagged liblinear SVM": ENSEMBLE, "LogisticRegressionCV": CHOICE, "skglm by CV": CHOICE}
NEEDS = {"skglm by CV": "skglm"}


def missing(settings: Settings) -> list[str]:
    absent = [name for name, module in NEEDS.items() if find_spec(module) is None]
    return [f"Not measured in this run: {', '.join(absent)}; the group 'bench' brings it"] if absent else []


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    return [
        Cell(NAME, {"dataset": dataset, "learner": name}, settings.limit)
        for dataset in sources.names
        for name in LEARNERS
        if name not in NEEDS or find_spec(NEEDS[name]) is not None
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """CPU seconds of a fit and its errors, on the same folds for all."""
    X, y = load_source(settings["dataset"])
    y = np.unique(y, return_inverse=True)[1]
    make, rows = LEARNERS[settings["learner"]], []
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    for fold, (train, test) in enumerate(folds.split(X, y)):
        model = make(len(np.unique(y)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begun = process_time()
            model.fit(X[train], y[train])
            seconds = process_time() - begun
        error = float(np.mean(model.predict(X[test]) != y[test]))
        rows.append({"fold": fold, "seconds": seconds, "error": error})
    return rows


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    lines = [_line(name, pick(known, dataset=name)) for name in sources.names]
    header = [name if name not in OURS else f"{name} ÷ {OURS[name]}" for name in LEARNERS]
    what = (
        f"CPU time of a fit with one thread (median of {N_FOLDS} folds) and error on the left-out samples; "
        "for other software the ratio of its time to ours: above 1 ours is faster."
    )
    return Report(claims=(), tables=[TextTable(what, ["data set", *header], lines)])


def _line(name: str, rows: Sequence[Row]) -> list[str]:
    times = {
        learner: median(row["seconds"] for row in own)
        for learner in LEARNERS
        if (own := pick(rows, learner=learner))
    }
    cells = []
    for learner in LEARNERS:
        ours = OURS.get(learner)
        if learner not in times or (ours is not None and ours not in times):
            cells.append("-")
            continue
        time = as_time(times[learner]) if ours is None else f"{times[learner] / times[ours]:.2f}"
        cells.append(f"{time}, error {mean([row['error'] for row in pick(rows, learner=learner)]):.3f}")
    return [name, *cells]


ITEM = Item(
    name=NAME,
    title="Ensembles and searches",
    what=f"Ensembles of {N_MEMBERS} members, and parameters chosen by cross-validation.",
    wanted=("Colon", "Leukemia", "Prostate_GE", "MLL", "GLIOMA", "TOX_171", "Lung"),
    replacements={"Lung": "Lung_1543"},
    fallback=("simulated",),
    is_timed=True,
    plan=plan,
    work=work,
    report=report,
    wanted_quickly=("Colon",),
    environment=describe_environment,
    remarks=missing,
)
