"""Table 3: errors of two learners on features that different methods select."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from experiments.harness.cells import OK, Cell, Setting
from experiments.harness.reporting import (
    Claim,
    Figure,
    Item,
    Report,
    Row,
    TextTable,
    mean,
    mean_and_deviation,
    pick,
    seconds_text,
    values_of,
    verdict,
)
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from experiments.paper import printed as paper
from experiments.paper.fitting import MRC_CG, MRC_IP, SVM_CG, fit_measured, fold_of, settings_of
from experiments.paper.selectors import SELECTORS

NAME = "feature-selection"
METHODS = (MRC_CG, SVM_CG, *SELECTORS, MRC_IP)
LEARNERS = {"lr": "logistic regression", "dt": "decision tree"}
PRINTED_ROWS = {paper.TABLE_1[number].name: row for number, row in paper.TABLE_3.items()}


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    cells = []
    for name in sources.names:
        for fold in range(settings.folds):
            part: dict[str, Setting] = {
                "dataset": name,
                "fold": fold,
                "folds": settings.folds,
                "seed": settings.seed,
            }
            for method in METHODS:
                # The others take the number of features of SVM-CG, so that its settings are theirs.
                known = method if method in (MRC_CG, SVM_CG, MRC_IP) else SVM_CG
                own = settings_of(known, settings.n_max, settings.epsilon, settings.k_max)
                cells.append(Cell(NAME, part | own | {"method": method}, settings.limit))
    return cells


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    X, y = load_source(settings["dataset"])
    train, test = fold_of(y, settings["fold"], settings["folds"], settings["seed"])
    scaler = StandardScaler().fit(X[train])
    X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
    columns, seconds = _select(settings, X_train, y[train])
    row: dict[str, Any] = {"n_selected": len(columns), "seconds": seconds}
    for name, learner in _learners(settings["seed"]).items():
        # A rule that sees no feature says the most frequent class.
        shown = columns if len(columns) else slice(0, 0)
        row[f"{name}_error"] = _error(learner, (X_train[:, shown], y[train]), (X_test[:, shown], y[test]))
    return [row]


def _select(settings: Mapping[str, Any], X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Columns, and the seconds that finding them took, without those for the number of features."""
    method = settings["method"]
    if method not in SELECTORS:
        model, row = fit_measured(settings, X, y)
        return model.selected_features_, row["seconds"]
    svm, _ = fit_measured({**settings, "method": SVM_CG}, X, y)
    start = time.perf_counter()
    columns = SELECTORS[method](X, y, max(1, svm.n_features_selected_))
    return columns, time.perf_counter() - start


def _learners(seed: int) -> dict[str, Any]:
    return {
        # C = inf: no penalty.
        "lr": LogisticRegression(C=np.inf, max_iter=1000),
        "dt": DecisionTreeClassifier(random_state=seed),
    }


def _error(learner: Any, train: tuple[Any, Any], test: tuple[Any, Any]) -> float:
    if train[0].shape[1] == 0:
        labels, counts = np.unique(train[1], return_counts=True)
        return float(np.mean(test[1] != labels[np.argmax(counts)]))
    with warnings.catch_warnings():
        # Where the classes can be separated, the likelihood has no maximum; the direction is what counts.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return float(np.mean(learner.fit(*train).predict(test[0]) != test[1]))


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    return Report(
        claims=_claims(sources, rows),
        tables=[_table(name, pick(rows, dataset=name)) for name in sources.names],
        figures=[
            Figure(
                "feature-selection",
                "Errors on the selected features: mean and one standard deviation over the folds.",
                (9.5, 1.0 + 2.6 * len(LEARNERS)),
                lambda figure: _draw(figure, sources.names, rows),
            )
        ],
        notes=[
            "Scaling and selection happen inside each fold. RFE, MRMR and ANOVA take as many features as "
            "SVM-CG selects in the same fold. Logistic regression is not penalised, the tree is "
            "scikit-learn's default. Cells run side by side unless told otherwise, so that the seconds are "
            "rough."
        ],
    )


def _claims(sources: Sources, rows: Sequence[Row]) -> list[Claim]:
    close: list[str] = []
    far: list[str] = []
    for name in sources.names:
        for learner, words in LEARNERS.items():
            errors = {
                method: _by_fold(pick(rows, dataset=name, method=method), f"{learner}_error")
                for method in METHODS
            }
            known = {method: values for method, values in errors.items() if values}
            if MRC_CG not in known:
                continue
            best = min(known, key=lambda method: mean(list(known[method].values())))
            behind, uncertainty = _paired(known[MRC_CG], known[best])
            (close if behind <= 2.0 * uncertainty else far).append(
                f"{name} ({words}: {behind:.2f} ± {uncertainty:.2f} behind {best})"
            )
    return [
        Claim(
            "Features selected by MRC-CG are as good as those of the other methods.",
            verdict([True] * len(close) + [False] * len(far)),
            f"In {len(close)} of {len(close) + len(far)} pairs of data set and learner MRC-CG is not behind "
            "the best method by more than two standard errors of the difference on the same folds"
            + (f"; not for {', '.join(far)}." if far else "."),
            "as good (Table 3)",
        ),
        Claim(
            "How many features the three methods that choose the number themselves select.",
            "reported",
            "; ".join(f"{name}: {_counts(rows, name)}" for name in sources.names) + ".",
        ),
    ]


def _by_fold(rows: Sequence[Row], name: str) -> dict[int, float]:
    return {row["fold"]: float(row[name]) for row in rows if row["status"] == OK}


def _paired(ours: Mapping[int, float], theirs: Mapping[int, float]) -> tuple[float, float]:
    """Mean difference on the folds that both have, and its standard error."""
    difference = np.array([ours[fold] - theirs[fold] for fold in ours if fold in theirs])
    if len(difference) < 2:
        return float(difference.sum()), 0.0
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))


def _counts(rows: Sequence[Row], name: str) -> str:
    """Numbers of selected features, the printed ones in brackets."""
    parts = []
    for method in (MRC_CG, MRC_IP, SVM_CG):
        printed = PRINTED_ROWS.get(name, {}).get(method)
        beside = f" (paper: {_printed(printed.n_features, 0)})" if printed else ""
        n_selected = values_of(pick(rows, dataset=name, method=method), "n_selected")
        parts.append(f"{method} {mean_and_deviation(n_selected, 0)}{beside}")
    return ", ".join(parts)


def _table(name: str, rows: Sequence[Row]) -> TextTable:
    lines = []
    for method in METHODS:
        own = pick(rows, method=method)
        printed = PRINTED_ROWS.get(name, {}).get(method)
        lines.append(
            [
                method,
                mean_and_deviation(values_of(own, "lr_error")),
                _printed(printed.lr if printed else None),
                mean_and_deviation(values_of(own, "dt_error")),
                _printed(printed.dt if printed else None),
                mean_and_deviation(values_of(own, "n_selected"), 0),
                _printed(printed.n_features if printed else None, 0),
                seconds_text(own),
            ]
        )
    header = ["method", "error, LR", "paper", "error, DT", "paper", "features", "paper", "seconds to select"]
    return TextTable(f"{name}.", header, lines)


def _printed(value: paper.MeanAndDeviation | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value.mean:.{digits}f} ± {value.sd:.{digits}f}"


def _draw(figure: Any, names: Sequence[str], rows: Sequence[Row]) -> None:
    panels = figure.subplots(len(LEARNERS), 1, sharex=True)
    colours = ("#2171b5", "#238b45", "#cb181d", "#fd8d3c", "#807dba", "#08306b")
    width = 0.8 / len(METHODS)
    for axes, (learner, words) in zip(panels, LEARNERS.items(), strict=True):
        for k, (method, colour) in enumerate(zip(METHODS, colours, strict=True)):
            errors = [values_of(pick(rows, dataset=n, method=method), f"{learner}_error") for n in names]
            place = np.arange(len(names)) + (k - (len(METHODS) - 1) / 2) * width
            deviation = [float(np.std(values)) if values else 0.0 for values in errors]
            axes.bar(place, [mean(values) for values in errors], width, color=colour, label=method)
            axes.errorbar(place, [mean(v) for v in errors], deviation, fmt="none", color="0.3", linewidth=1)
        axes.set(ylabel=f"error, {words}", ylim=(0.0, None))
        axes.grid(axis="y", color="0.9")
        axes.set_axisbelow(True)
    panels[-1].set_xticks(np.arange(len(names)), names)
    panels[0].legend(frameon=False, ncols=len(METHODS), loc="lower center", bbox_to_anchor=(0.5, 1.0))


ITEM = Item(
    name=NAME,
    title="Table 3: feature selection",
    what="Two learners on the features that each method selects, in stratified cross-validation.",
    wanted=tuple(PRINTED_ROWS),
    fallback=("simulated", "breast_cancer"),
    is_timed=False,
    needs_dense=True,
    relevant=("n_max", "epsilon", "k_max", "folds"),
    plan=plan,
    work=work,
    report=report,
)
