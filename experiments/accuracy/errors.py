"""Cross-validated errors of our classifiers and others on the same folds, columns clipped and not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from experiments.accuracy.methods import (
    DENSE_ALONE,
    ENSEMBLE,
    INNER_FOLDS,
    MAKERS,
    ONCE,
    TUNED,
    clips,
    make_method,
)
from experiments.harness.cells import OK, REFUSED, Cell, EndedError
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, pick
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from minimaxrisk.analysis.comparison import compare

NAME = "errors"
FOLDS = 5
BEST = ENSEMBLE


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    """The first repetition of everything comes first, so that an interrupted run can be read."""
    return [
        Cell(
            NAME,
            {"dataset": dataset, "method": method, "clip": clip, "repetition": repetition},
            settings.limit,
        )
        for repetition in range(settings.accuracy_repetitions)
        for dataset in sources.names
        for method in MAKERS
        for clip in clips(method)
        if repetition == 0 or method not in ONCE
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    X, y = load_source(settings["dataset"])
    name, clip, seed = settings["method"], settings["clip"], settings["repetition"]
    is_sparse = sparse.issparse(X)
    if is_sparse and name in DENSE_ALONE:
        raise EndedError(REFUSED, "does not take sparse columns")
    method = make_method(name, len(np.unique(y)), clip=clip, is_sparse=is_sparse, seed=seed)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    found = compare({name: method}, X, y, cv=folds)
    return [
        {"fold": fold, "error": error, "n_features": used if np.isfinite(used) else None, "fit_seconds": s}
        for fold, (error, used, s) in enumerate(
            zip(found.errors[0], found.n_features[0], found.seconds[0], strict=True)
        )
    ]


def label(method: str, *, clip: bool) -> str:
    return f"{method}, clipped" if clip else method


LABELS = tuple(label(method, clip=clip) for method in MAKERS for clip in clips(method))


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    errors = {
        dataset: {
            label(method, clip=clip): found
            for method in MAKERS
            for clip in clips(method)
            if (found := _by_fold(known, dataset, method, clip=clip))
        }
        for dataset in sources.names
    }
    return Report(
        claims=_claims(errors),
        tables=[_error_table(errors), _difference_table(errors), _cost_table(known)],
        notes=[
            f"Stratified {FOLDS}-fold cross-validation, {settings.accuracy_repetitions} times with new "
            "folds, the same for all. Scaling, clipping and tuning happen inside each fold; *tuned* chooses "
            f"among two to six values by {INNER_FOLDS} folds of the samples that a model learns from. Ours "
            "have their defaults. Sparse data (Dorothea) are scaled without centring for the others. Trees "
            f"do not notice clipping. Folds of {', '.join(ONCE)} are drawn once, for the time they take.",
            "Standard errors of differences within a data set are those of Nadeau and Bengio; those of the "
            "mean over data sets come from the data sets' own differences.",
        ],
    )


def _by_fold(rows: Sequence[Row], dataset: str, method: str, *, clip: bool) -> dict[tuple[int, int], float]:
    return {
        (int(row["repetition"]), int(row["fold"])): float(row["error"])
        for row in pick(rows, dataset=dataset, method=method, clip=clip)
    }


Errors = Mapping[str, Mapping[str, Mapping[tuple[int, int], float]]]


def _mean(errors: Mapping[tuple[int, int], float]) -> float:
    return float(np.mean(list(errors.values())))


def _complete(errors: Errors, one: str, other: str) -> dict[str, float]:
    """Mean difference on each data set where both were measured, fold by fold."""
    found = {}
    for dataset, line in errors.items():
        if one in line and other in line:
            shared = sorted(line[one].keys() & line[other].keys())
            if shared:
                found[dataset] = float(np.mean([line[one][key] - line[other][key] for key in shared]))
    return found


def _error_of_mean(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _claims(errors: Errors) -> list[Claim]:
    rivals = [label(name, clip=clip) for name in TUNED for clip in clips(name)]
    means = {name: _complete(errors, BEST, name) for name in rivals}
    means = {name: found for name, found in means.items() if found}
    if not means:
        return [Claim("The ensemble errs least.", "could not be tested", "Nothing was measured.")]
    claims = []
    for ours in (label(BEST, clip=False), label(BEST, clip=True)):
        gaps = {name: _complete(errors, ours, name) for name in means}
        best = max(
            gaps, key=lambda name: float(np.mean(list(gaps[name].values()))) if gaps[name] else -np.inf
        )
        values = np.array(list(gaps[best].values()))
        if not values.size:
            continue
        gap, error = float(values.mean()), _error_of_mean(values)
        claims.append(
            Claim(
                f"The {ours} errs no more, on average, than the best of the tuned others.",
                "holds" if gap <= 0.0 else "does not hold",
                f"Nearest: {best}; difference {gap:+.4f} ± {error:.4f} over {len(values)} data sets, smaller "
                f"on {int((values < 0).sum())}, larger on {int((values > 0).sum())}.",
            )
        )
    return claims


def _error_table(errors: Errors) -> TextTable:
    lines = []
    for name in LABELS:
        cells = [f"{_mean(line[name]):.3f}" if name in line else "–" for line in errors.values()]
        have = [_mean(line[name]) for line in errors.values() if name in line]
        total = f"**{np.mean(have):.4f}**" if len(have) == len(errors) else "–"
        lines.append([name, total, *cells])
    return TextTable("Cross-validated errors.", ["method", "mean", *errors], lines)


def _difference_table(errors: Errors) -> TextTable:
    lines = []
    for name in LABELS:
        if name == BEST:
            continue
        cells = []
        for line in errors.values():
            cells.append(_difference(line[name], line[BEST]) if name in line and BEST in line else "–")
        found = list(_complete(errors, name, BEST).values())
        mean = f"{np.mean(found):+.4f} ± {_error_of_mean(np.array(found)):.4f}" if found else "–"
        lines.append([name, mean, *cells])
    return TextTable(f"Errors less those of the {BEST}.", ["method", "mean", *errors], lines)


def _difference(one: Mapping[tuple[int, int], float], other: Mapping[tuple[int, int], float]) -> str:
    shared = sorted(one.keys() & other.keys())
    values = np.array([one[key] - other[key] for key in shared])
    if len(values) < 2:
        return "–"
    error = values.std(ddof=1) * np.sqrt(1.0 / len(values) + 1.0 / (FOLDS - 1))
    return f"{values.mean():+.3f} ± {error:.3f}"


def _cost_table(rows: Sequence[Row]) -> TextTable:
    lines = []
    for method in MAKERS:
        for clip in clips(method):
            found = pick(rows, method=method, clip=clip)
            if not found:
                continue
            used = [float(row["n_features"]) for row in found if row["n_features"] not in (None, "")]
            seconds = [float(row["fit_seconds"]) for row in found]
            columns = f"{np.median(used):,.0f}" if used else "–"
            lines.append([label(method, clip=clip), columns, f"{np.median(seconds):.3g}"])
    return TextTable(
        "Median number of columns used (of the ensemble selected by members), and median seconds of a fit, "
        "tuning included.",
        ["method", "columns", "seconds"],
        lines,
    )


ITEM = Item(
    name=NAME,
    title="Errors on the same folds",
    what="Our classifiers and what people use, with and without clipped columns, on real data.",
    wanted=(
        "Colon",
        "Leukemia",
        "Prostate_GE",
        "GLIOMA",
        "MLL",
        "GLI_85",
        "Lung",
        "CLL_SUB_111",
        "Arcene",
        "TOX_171",
        "Dorothea",
    ),
    replacements={
        "GLI_85": "GLI_85_Freije_genes",
        "Lung": "Lung_1543",
        "CLL_SUB_111": "CLL_SUB_111_binarised",
    },
    fallback=("breast_cancer", "wine"),
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
    wanted_quickly=("Colon",),
)
