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
    is_above_zero,
    mean,
    mean_and_deviation,
    pick,
    seconds_text,
    standard_error,
    values_of,
    verdict,
)
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from experiments.paper import printed as paper
from experiments.paper.fitting import MRC_CG, MRC_IP, SVM_CG, fit_measured, fold_of, settings_of
from experiments.paper.selectors import SELECTORS

NAME = "feature-selection"
# MRC-CG with the iterations of the text or of the authors' scripts, twice as many, and both named starts.
TEXT, SCRIPTS = f"{MRC_CG}, k_max", f"{MRC_CG}, twice k_max, first-order start"
VARIANTS: dict[str, tuple[int, str]] = {
    TEXT: (1, "correlation"),
    f"{MRC_CG}, k_max, first-order start": (1, "first-order"),
    f"{MRC_CG}, twice k_max": (2, "correlation"),
    SCRIPTS: (2, "first-order"),
}
OTHERS = (SVM_CG, *SELECTORS, MRC_IP)
METHODS = (*VARIANTS, *OTHERS)
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
            for variant, (times, start) in VARIANTS.items():
                own = settings_of(MRC_CG, settings.n_max, settings.epsilon, times * settings.k_max)
                chosen = {"variant": variant, "initial_features": start}
                cells.append(Cell(NAME, part | own | chosen, settings.limit))
            for method in OTHERS:
                # The others take the number of features of SVM-CG, so that its settings are theirs.
                known = method if method in (SVM_CG, MRC_IP) else SVM_CG
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
        tables=[_table(settings, name, pick(rows, dataset=name)) for name in sources.names],
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
            "SVM-CG selects in the same fold. MRC-CG is shown with the iterations of the text and with twice "
            "as many, which the authors' scripts allow, from both starts that the paper names. Logistic "
            "regression is not penalised, the tree is scikit-learn's default. Cells run side by side unless "
            "told otherwise, so that the seconds are rough."
        ],
    )


def _claims(sources: Sources, rows: Sequence[Row]) -> list[Claim]:
    return [
        _quality("k_max of the text", TEXT, sources, rows),
        _quality(
            "twice as many iterations, as in the scripts, and the first-order start", SCRIPTS, sources, rows
        ),
        Claim(
            "How many features the three methods that choose the number themselves select.",
            "reported",
            "; ".join(f"{name}: {_counts(rows, name)}" for name in sources.names) + ".",
        ),
    ]


def _quality(words: str, variant: str, sources: Sources, rows: Sequence[Row]) -> Claim:
    """Whether the features of a variant are behind those of the best method by more than chance."""
    close: list[str] = []
    far: list[str] = []
    for name in sources.names:
        for learner, of in LEARNERS.items():
            errors = {
                method: _by_fold(_rows_of(pick(rows, dataset=name), method), f"{learner}_error")
                for method in (variant, *OTHERS)
            }
            known = {method: values for method, values in errors.items() if values}
            if variant not in known:
                continue
            best = min(known, key=lambda method: mean(list(known[method].values())))
            behind = [
                known[variant][fold] - known[best][fold] for fold in known[variant] if fold in known[best]
            ]
            is_behind = best != variant and is_above_zero(behind)
            if is_behind is not None:
                (far if is_behind else close).append(
                    f"{name} ({of}: {mean(behind):.2f} ± {standard_error(behind):.2f} behind {best})"
                )
    return Claim(
        f"Features selected by MRC-CG are as good as those of the other methods, with {words}.",
        verdict([True] * len(close) + [False] * len(far)),
        f"In {len(close)} of {len(close) + len(far)} pairs of data set and learner MRC-CG is not behind the "
        "best method by more than two standard errors of the difference on the same folds"
        + (f"; not for {', '.join(far)}." if far else "."),
        "as good (Table 3)",
    )


def _rows_of(rows: Sequence[Row], method: str) -> list[Row]:
    """Of a method, or of a variant of MRC-CG."""
    return pick(rows, variant=method) if method in VARIANTS else pick(rows, method=method)


def _by_fold(rows: Sequence[Row], name: str) -> dict[int, float]:
    return {row["fold"]: float(row[name]) for row in rows if row["status"] == OK}


def _counts(rows: Sequence[Row], name: str) -> str:
    """Numbers of selected features, the printed ones in brackets."""
    parts = []
    for method in (TEXT, SCRIPTS, MRC_IP, SVM_CG):
        printed = _printed_row(name, method)
        beside = f" (paper: {_printed(printed.n_features, 0)})" if printed else ""
        n_selected = values_of(_rows_of(pick(rows, dataset=name), method), "n_selected")
        parts.append(f"{method} {mean_and_deviation(n_selected, 0)}{beside}")
    return ", ".join(parts)


def _printed_row(name: str, method: str) -> paper.Selection | None:
    return PRINTED_ROWS.get(name, {}).get(MRC_CG if method in VARIANTS else method)


def _table(settings: Settings, name: str, rows: Sequence[Row]) -> TextTable:
    lines = []
    for method in METHODS:
        own, printed = _rows_of(rows, method), _printed_row(name, method)
        times, start = VARIANTS.get(method, (0, ""))
        lines.append(
            [
                f"{MRC_CG}, k_max = {times * settings.k_max}, {start}" if times else method,
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
    blues, others = ("#2171b5", "#6baed6", "#9ecae1", "#c6dbef"), ("#238b45", "#cb181d", "#fd8d3c", "#807dba")
    colours = (*blues, *others, "#08306b")
    width = 0.8 / len(METHODS)
    for axes, (learner, words) in zip(panels, LEARNERS.items(), strict=True):
        for k, (method, colour) in enumerate(zip(METHODS, colours, strict=True)):
            errors = [
                values_of(_rows_of(pick(rows, dataset=name), method), f"{learner}_error") for name in names
            ]
            place = np.arange(len(names)) + (k - (len(METHODS) - 1) / 2) * width
            deviation = [float(np.std(values)) if values else 0.0 for values in errors]
            axes.bar(place, [mean(values) for values in errors], width, color=colour, label=method)
            axes.errorbar(place, [mean(v) for v in errors], deviation, fmt="none", color="0.3", linewidth=1)
        axes.set(ylabel=f"error, {words}", ylim=(0.0, None))
        axes.grid(axis="y", color="0.9")
        axes.set_axisbelow(True)
    panels[-1].set_xticks(np.arange(len(names)), names)
    panels[0].legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))


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
    measured_with=("experiments.paper.fitting", "experiments.paper.l1_svm", "experiments.paper.selectors"),
)
