"""How often the radii hold the true means, and R* beside the true error, on known laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from experiments.guarantees.laws import (
    CORRELATED,
    CORRELATION,
    EFFECT,
    INDEPENDENT,
    LAWS,
    LEAST_RARE,
    LOGNORMAL,
    MODULE_SIZE,
    MORE_OFTEN,
    N_INFORMATIVE,
    RARE_BINARY,
    RAREST,
    Law,
    make_law,
)
from experiments.harness.cells import OK, Cell, blocks
from experiments.harness.reporting import (
    Claim,
    Figure,
    Item,
    Report,
    Row,
    TextTable,
    finish_axes,
    pick,
    values_of,
    verdict,
)
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from experiments.paper.fitting import fit_quietly
from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.choices import Coding, RadiusOfBox
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.guarantees.fitted_problem import rule_probabilities
from minimaxrisk.guarantees.worst_case import worst_case
from minimaxrisk.matrices.moments import make_coding

NAME = "coverage"
BOOTSTRAP: Final = "bootstrap"
RULES: tuple[RadiusOfBox, ...] = (BOOTSTRAP,)
# Laws and codings. With the signed coding the sign of a feature changes with the label, which takes skewness
# away; what it does to the coverage shows with one block per class.
CASES: dict[str, tuple[str, Coding]] = {name: (name, "signed") for name in LAWS}
CASES |= {f"{name}, one-hot": (name, "one-hot") for name in (LOGNORMAL, RARE_BINARY)}
# Data sets per cell, which keeps sums over them.
BLOCK = 40
# Instances that stand for the law where true errors are computed.
N_TRUTH = 20_000
# 400 data sets at a coverage of 95% have a standard error of 1.1%.
ENOUGH = 0.93
# Digits after the point of sums that are kept: the page shows three of means over hundreds of data sets.
DIGITS = 4
# What is summed up.
MEASURED = (
    *("factor", "n_features", "covered", "warned"),
    *("worst_case_error", "true_error", "argmax_worst_case_error", "argmax_true_error"),
)
# What a stream of random numbers is for.
SAMPLE, TRUTH = 0, 2


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    return [
        Cell(
            NAME,
            {
                "law": law,
                "first": first,
                "count": count,
                "n_samples": settings.coverage_samples,
                "n_columns": settings.coverage_features,
                "confidence": settings.confidence,
                "seed": settings.seed,
            },
            settings.limit,
        )
        for law in CASES
        for first, count in blocks(settings.coverage_repetitions, BLOCK)
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for rule in RULES:
        found = [_one_data_set(settings, settings["first"] + k, rule) for k in range(settings["count"])]
        rows.append({"rule": rule, **summed_up(found)})
    return rows


def summed_up(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sums over data sets, and all factors that were needed: quartiles are drawn."""
    total: dict[str, Any] = {"n": len(found)}
    total |= {name: round(sum(one.get(name, 0) for one in found), DIGITS) for name in MEASURED}
    return total | {"needed_factors": " ".join(f"{one['needed_factor']:.2f}" for one in found)}


def _one_data_set(settings: Mapping[str, Any], repetition: int, rule: RadiusOfBox) -> dict[str, Any]:
    """All that is measured on one data set: the radii against the true means, the bounds, the errors."""
    name, coding = CASES[settings["law"]]
    law = make_law(name, settings["n_columns"], settings["seed"])
    X, y = law.sample(settings["n_samples"], _seed(settings, SAMPLE, repetition))
    estimator = MinimaxRiskClassifier(coding=coding, radius=rule, confidence=settings["confidence"])
    model, warned = fit_quietly(estimator, X, y)
    return {
        "factor": model.radius_,
        **_deviation(model, true_moments(law, X, coding)),
        "warned": warned,
        "worst_case_error": model.worst_case_error_,
        "n_features": model.n_features_selected_,
        "argmax_worst_case_error": worst_case(model, X, y, rule="predict").upper,
        **_true_errors(model, settings),
    }


def true_moments(law: Law, X: FloatArray, coding: str = "signed") -> FloatArray:
    """E Phi under the law, of the features as a model fitted on ``X`` sees them, the intercept first (B x m).

    With codes c = (1, -1) of the classes these are ``sum_k P_k c_k (m_k - mean) / sd`` with mean and sd those
    of the sample, with one-hot codes the terms of that sum for c = (1, 1). A column that is constant in the
    sample is no constraint, and is zero here as in tau.
    """
    coded = make_coding(coding, 2).matrix * np.array([1.0 - law.positive, law.positive])
    varies = np.ptp(X, axis=0) > 0.0
    sd = np.where(varies, X.std(axis=0), 1.0)
    seen = np.where(varies, (law.class_means - X.mean(axis=0)) / sd, 0.0)
    return np.column_stack([coded.sum(axis=1), coded @ seen])


def _deviation(model: MinimaxRiskClassifier, moments: FloatArray) -> dict[str, Any]:
    """Whether the set holds the true moments, and the smallest factor with which it would have."""
    off = np.abs(moments - model.tau_)
    assert model.radius_ is not None  # the rule has a factor
    return {
        "covered": bool((off <= model.lambda_).all()),
        "needed_factor": float(model.radius_ * np.max(off / model.lambda_)),
    }


def _true_errors(model: MinimaxRiskClassifier, settings: Mapping[str, Any]) -> dict[str, float]:
    X, y = _truth(CASES[settings["law"]][0], settings["n_columns"], settings["seed"])
    fitted, everyone = model._fitted_rule(), np.arange(len(y))
    errors = {
        rule: 1.0 - float(rule_probabilities(fitted, X, rule)[y, everyone].mean())
        for rule in ("randomized", "predict")
    }
    return {"true_error": errors["randomized"], "argmax_true_error": errors["predict"]}


@lru_cache(maxsize=1)
def _truth(name: str, n_features: int, seed: int) -> tuple[np.ndarray, IntArray]:
    """A sample that stands for the law. By columns, since a rule looks at few of them."""
    law = make_law(name, n_features, seed)
    X, y = np.empty((N_TRUTH, n_features), np.float32, order="F"), np.empty(N_TRUTH, np.intp)
    # In pieces: in double precision, and at once, it would take much more memory.
    for first, count in blocks(N_TRUTH, 2000):
        piece = slice(first, first + count)
        X[piece], y[piece] = law.sample(count, _seed({"law": name, "seed": seed}, TRUTH, first))
    return X, y


def _seed(settings: Mapping[str, Any], purpose: int, number: int) -> int:
    """Another stream for each law, purpose and number."""
    parts = (settings["seed"], list(CASES).index(settings["law"]), purpose, number)
    return int(np.random.SeedSequence(parts).generate_state(1)[0])


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    return Report(
        claims=_claims(settings, known),
        tables=[_table(known), _argmax_table(known)],
        figures=[
            Figure(
                "coverage",
                "Left: the factor that radii would have needed, T (box: quartiles, whiskers: 1% and 99%; "
                "none where it is beyond the axis), and the mean factors of the bootstrap. Right: means of "
                "R* and true error of the randomized rule, with radii of the bootstrap.",
                (13.5, 4.0),
                lambda figure: _draw(figure, known),
            )
        ],
        notes=[
            f"{settings.coverage_repetitions} data sets per law, {settings.coverage_samples} samples and "
            f"{settings.coverage_features} features each, {N_INFORMATIVE} of them informative, confidence "
            f"{settings.confidence:g}.",
            f"Laws: {INDEPENDENT}: normal features, an effect of {EFFECT:g} standard deviations; "
            f"{CORRELATED}: the same in modules of {MODULE_SIZE} features with correlation {CORRELATION:g}; "
            f"{LOGNORMAL}: exponentials of independent normal features with standard deviation 1; "
            f"{RARE_BINARY}: features that are 1 with probabilities from {RAREST:g} to {LEAST_RARE:g}, "
            f"informative ones more often by {MORE_OFTEN:g} in class 1. One-hot: with a block of "
            "coefficients for each class; else the signed coding, the default for two classes.",
            "Covered: all true means, of the features as the model sees them, lie within the radii at once. "
            "T is the smallest factor with which they would have. True errors are those on "
            f"{N_TRUTH} further instances of the law.",
        ],
    )


def _claims(settings: Settings, rows: Sequence[Row]) -> list[Claim]:
    of_law = {law: pick(rows, law=law, rule=BOOTSTRAP) for law in CASES}
    normal = (INDEPENDENT, CORRELATED)
    return [
        Claim(
            f"The radii of the bootstrap hold the true means in at least {ENOUGH:.0%} of the data sets, for "
            f"independent and correlated normal features (aim: {settings.confidence:.0%}).",
            verdict([_mean(of_law[law], "covered") >= ENOUGH for law in normal if of_law[law]]),
            "; ".join(f"{law}: {_share(of_law[law], 'covered')}" for law in normal) + ".",
        ),
        Claim(
            "For skewed features the coverage of the bootstrap may be lower, and a warning says so.",
            "reported",
            "; ".join(
                f"{law}: {_share(of_law[law], 'covered')}, warned in {_share(of_law[law], 'warned')}"
                for law in CASES
                if law not in normal
            )
            + ".",
        ),
    ]


def _total(rows: Sequence[Row], name: str) -> float:
    return sum(values_of(rows, name))


def _mean(rows: Sequence[Row], name: str) -> float:
    """Over data sets; NaN without any."""
    n = _total(rows, "n")
    return _total(rows, name) / n if n else float("nan")


def _share(rows: Sequence[Row], name: str) -> str:
    """A share in percent and its binomial standard error."""
    if not rows:
        return "–"
    share = _mean(rows, name)
    return f"{100 * share:.1f} ± {100 * np.sqrt(share * (1.0 - share) / _total(rows, 'n')):.1f}%"


def _pairs(rows: Sequence[Row]) -> list[tuple[str, str, list[Row]]]:
    """Laws and rules with their rows, where there are any."""
    pairs = [(law, rule, pick(rows, law=law, rule=rule)) for law in CASES for rule in RULES]
    return [pair for pair in pairs if pair[2]]


def _average(rows: Sequence[Row], name: str) -> str:
    value = _mean(rows, name)
    return "–" if np.isnan(value) else f"{value:.3f}"


def _table(rows: Sequence[Row]) -> TextTable:
    lines = []
    for law, rule, own in _pairs(rows):
        columns = ("worst_case_error", "true_error")
        lines.append(
            [
                law,
                rule,
                _share(own, "covered"),
                f"{_mean(own, 'factor'):.2f}",
                *(_average(own, name) for name in columns),
                f"{_mean(own, 'n_features'):.1f}",
                f"{100 * _mean(own, 'warned'):.0f}%",
            ]
        )
    header = ["law", "radii", "coverage", "factor", "R*", "true error", "features", "warned"]
    return TextTable(
        "The randomized rule: coverage with its binomial standard error, and means over the data sets.",
        header,
        lines,
    )


def _argmax_table(rows: Sequence[Row]) -> TextTable:
    columns = ("worst_case_error", "true_error")
    lines = [
        [law, rule, *(_average(own, f"argmax_{name}") for name in columns)] for law, rule, own in _pairs(rows)
    ]
    header = ["law", "radii", "worst case", "true error"]
    return TextTable("The arg-max rule: means over the data sets.", header, lines)


def _needed_factors(rows: Sequence[Row]) -> list[float]:
    return [float(one) for row in rows for one in str(row["needed_factors"]).split()]


def _draw(figure: Any, rows: Sequence[Row]) -> None:
    left, right = figure.subplots(1, 2)
    laws = [law for law in CASES if pick(rows, law=law, rule=BOOTSTRAP)]
    place = np.arange(len(laws))
    if laws:
        needed = [_needed_factors(pick(rows, law=law, rule=BOOTSTRAP)) for law in laws]
        left.boxplot(needed, positions=place, whis=(1, 99), showfliers=False)
    factors = [_mean(pick(rows, law=law, rule=BOOTSTRAP), "factor") for law in laws]
    left.plot(place + 0.32, factors, "D", color="#2171b5", label=BOOTSTRAP)
    # Of a component that hardly varies in the sample T can be anything.
    left.set(ylabel="factor of the radii", ylim=(0.0, 12.0))
    for column, marker, colour, label in (
        ("worst_case_error", "D", "#08306b", "R*"),
        ("true_error", "o", "#2171b5", "true error"),
    ):
        values = [_mean(pick(rows, law=law, rule=BOOTSTRAP), column) for law in laws]
        right.plot(place, values, marker, color=colour, label=label, markersize=6)
    right.set(ylabel="error probability", ylim=(0.0, None), xlim=left.get_xlim())
    for axes in (left, right):
        axes.set_xticks(place, [law.replace(", ", "\n") for law in laws])
        finish_axes(axes)


ITEM = Item(
    name=NAME,
    title="Coverage of the radii, and R* beside the true error",
    what=(
        "Many data sets from laws whose true means are known: do the radii hold all of them at once, and "
        "how far is R* above the true error?"
    ),
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
