"""What can be said about the error on new samples: every bound beside the cross-validated error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.harness.cells import OK, Cell
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, pick
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from experiments.paper.fitting import fit_quietly
from minimaxrisk._utils.choices import Marginal, Rule
from minimaxrisk.analysis.comparison import l1_logistic_regression
from minimaxrisk.analysis.cross_validation import cross_validated_error
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.guarantees.error_bound import error_bound
from minimaxrisk.guarantees.limits import clopper_pearson_limit

NAME = "bounds"
HOLDOUT_PREFIX = "hold-out"


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    return [
        Cell(
            NAME,
            {"dataset": name, "bound": bound, "confidence": settings.confidence, "seed": settings.seed},
            settings.limit,
        )
        for name in sources.names
        for bound in (*BOUNDS, "cross-validation")
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    X, y = load_source(settings["dataset"])
    if settings["bound"] == "cross-validation":
        model, _ = fit_quietly(MinimaxRiskClassifier(), X, y)
        found = cross_validated_error(model, X, y, random_state=settings["seed"])
        return [{"value": float(found.errors[1])}]
    return [BOUNDS[settings["bound"]](X, y, settings["confidence"], settings["seed"])]


def _of_radii(marginal: Marginal, rule: Rule) -> Callable[..., dict[str, Any]]:
    """By radii that cover and cross-fitting: half of what may go wrong is left to each of the two."""

    def bound(X: Any, y: np.ndarray, confidence: float, seed: int) -> dict[str, Any]:
        level = 1.0 - 0.5 * (1.0 - confidence)
        estimator = MinimaxRiskClassifier(marginal=marginal, radius="bootstrap", confidence=level)
        model, warned = fit_quietly(estimator, X, y)
        found = error_bound(model, X, y, method="radii", rule=rule, confidence=level)
        return {"value": found.value, "warned": warned, "n_features": model.n_features_selected_}

    return bound


def _of_holdout(make: Callable[[int], Any]) -> Callable[..., dict[str, Any]]:
    def bound(X: Any, y: np.ndarray, confidence: float, seed: int) -> dict[str, Any]:
        estimator = make(len(np.unique(y)))
        found = error_bound(estimator, X, y, method="holdout", confidence=confidence, random_state=seed)
        return {"value": found.value, "n_errors": found.n_errors, "n_test": found.n_test}

    return bound


def _logistic(n_classes: int) -> Any:
    return make_pipeline(StandardScaler(), l1_logistic_regression(n_classes))


def _majority(X: Any, y: np.ndarray, confidence: float, seed: int) -> dict[str, Any]:
    """Always the class that is largest in the sample: a rule without features, judged by all samples.

    Which class that is was chosen by the same samples; a union bound over the classes pays for it.
    """
    sizes = np.unique(y, return_counts=True)[1]
    level = 1.0 - (1.0 - confidence) / len(sizes)
    return {"value": clopper_pearson_limit(int(len(y) - sizes.max()), len(y), level)}


BOUNDS: dict[str, Callable[..., dict[str, Any]]] = {
    "randomized, free": _of_radii("free", "randomized"),
    "randomized, empirical": _of_radii("empirical", "randomized"),
    "predict, free": _of_radii("free", "predict"),
    "predict, empirical": _of_radii("empirical", "predict"),
    f"{HOLDOUT_PREFIX}, minimax risk": _of_holdout(lambda n_classes: MinimaxRiskClassifier()),
    f"{HOLDOUT_PREFIX}, L1 logistic": _of_holdout(_logistic),
    "majority class": _majority,
}


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    values = {
        name: {row["bound"]: float(row["value"]) for row in pick(known, dataset=name)}
        for name in sources.names
    }
    return Report(
        claims=[_known_claim(values), _holdout_claim(values)],
        tables=[_table(values)],
        notes=[
            f"Bounds at confidence {settings.confidence:g}. Those by radii are for a model of all samples: "
            "the bootstrap radius, the worst case over the set and what cross-fitting adds, the levels of "
            "radii and exceedance split evenly; they rest on the assumptions of the radii. Hold-out: half "
            "of the samples, Clopper and Pearson's limit, for the model of the other half; it assumes "
            "nothing but independent samples. Bold: the smallest of a line. Choosing the smallest "
            "afterwards is not covered by the level.",
            "Cross-validation is that of the classifier at s = 1 in ten folds: an estimate, not a bound.",
        ],
    )


def _known_claim(values: Mapping[str, Mapping[str, float]]) -> Claim:
    pairs = [
        (line[f"{rule}, empirical"], line[f"{rule}, free"])
        for line in values.values()
        for rule in ("randomized", "predict")
        if f"{rule}, empirical" in line and f"{rule}, free" in line
    ]
    smaller = sum(known <= free for known, free in pairs)
    return Claim(
        "With known instances the bounds by radii are no larger.",
        "could not be tested" if not pairs else f"holds in {smaller} of {len(pairs)}",
        "Mean of the differences: "
        + (f"{np.mean([free - known for known, free in pairs]):.3f}." if pairs else "none."),
    )


def _holdout_claim(values: Mapping[str, Mapping[str, float]]) -> Claim:
    best = [min(BOUNDS, key=lambda bound: line.get(bound, np.inf)) for line in values.values() if line]
    n_holdout = sum(bound.startswith(HOLDOUT_PREFIX) for bound in best)
    return Claim(
        "The smallest bound is that of a hold-out.",
        "could not be tested" if not best else f"holds in {n_holdout} of {len(best)}",
        "Smallest: " + "; ".join(f"{name}: {bound}" for name, bound in zip(values, best, strict=False)) + ".",
    )


def _table(values: Mapping[str, Mapping[str, float]]) -> TextTable:
    lines = []
    for name, line in values.items():
        smallest = min((line[bound] for bound in BOUNDS if bound in line), default=np.nan)
        cells = [_cell(line.get(bound), smallest) for bound in BOUNDS]
        lines.append([name, _cell(line.get("cross-validation"), None), *cells])
    return TextTable(
        "Upper bounds on the error, and the cross-validated error of predict.",
        ["data set", "cross-validation", *BOUNDS],
        lines,
    )


def _cell(value: float | None, smallest: float | None) -> str:
    if value is None:
        return "–"
    return f"**{value:.3f}**" if value == smallest else f"{value:.3f}"


ITEM = Item(
    name=NAME,
    title="What can be said about new samples",
    what="Bounds by radii that cover, by a hold-out, and of always naming the largest class, side by side.",
    wanted=("Colon", "Leukemia", "Prostate_GE", "Arcene", "GLIOMA", "MLL", "TOX_171", "GLI_85", "Lung"),
    replacements={"GLI_85": "GLI_85_Freije_genes", "Lung": "Lung_1543"},
    fallback=("breast_cancer",),
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
    wanted_quickly=("Colon",),
)
