"""Sets of labels and probabilities from left-out scores: how often do they hold, and what are they worth?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from experiments.harness.cells import OK, Cell, Setting
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, pick, verdict
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.ensemble import MinimaxRiskEnsembleClassifier
from minimaxrisk.estimators.prediction_sets import PredictionSets

NAME = "sets"
CONFIDENCE, TOLERATED = 0.9, 0.02
N_SAMPLES = (30, 60, 200)
MIDDLE = 60  # the size at which learners that take longer are looked at, and probabilities
N_FEATURES, N_INFORMATIVE = 200, 15
N_TEST = 300  # of each class
BINS = 10

Draw = Callable[[np.random.Generator, IntArray], FloatArray]


def _normal(random: np.random.Generator, y: IntArray) -> FloatArray:
    return random.standard_normal((len(y), N_FEATURES)) + _shifts(y, 0.8)


def _heavy(random: np.random.Generator, y: IntArray) -> FloatArray:
    return random.standard_t(5, (len(y), N_FEATURES)) + _shifts(y, 0.9)


def _lognormal(random: np.random.Generator, y: IntArray) -> FloatArray:
    return np.asarray(np.exp(_normal(random, y)))


def _binary(random: np.random.Generator, y: IntArray) -> FloatArray:
    return (random.random((len(y), N_FEATURES)) < 0.1 + _shifts(y, 0.3)).astype(np.float64)


def _factors(random: np.random.Generator, y: IntArray) -> FloatArray:
    """Two factors that all features share."""
    loadings = np.sin(np.outer([1.0, 2.0], np.arange(N_FEATURES)))
    return _normal(random, y) + random.standard_normal((len(y), 2)) @ loadings


def _subtypes(random: np.random.Generator, y: IntArray) -> FloatArray:
    """Each class has two."""
    kind = random.integers(0, 2, len(y))
    return random.standard_normal((len(y), N_FEATURES)) + _shifts(2 * y + kind, 1.0)


def _noise(random: np.random.Generator, y: IntArray) -> FloatArray:
    return random.standard_normal((len(y), N_FEATURES))


def _shifts(y: IntArray, size: float) -> FloatArray:
    """Every class has informative features of its own."""
    return size * (np.arange(N_FEATURES) // N_INFORMATIVE == y[:, None])


TWO, THREE, FOUR, SIX = (tuple([1.0] * k) for k in (2, 3, 4, 6))
LAWS: dict[str, tuple[Draw, tuple[float, ...]]] = {
    "normal": (_normal, TWO),
    "normal, 10:90": (_normal, (1.0, 9.0)),
    "t with 5 degrees, 30:70": (_heavy, (3.0, 7.0)),
    "lognormal": (_lognormal, TWO),
    "rare binary": (_binary, TWO),
    "two factors": (_factors, TWO),
    "two subtypes each": (_subtypes, TWO),
    "noise": (_noise, TWO),
    "three classes": (_normal, THREE),
    "four classes": (_normal, FOUR),
    "four classes, 10:20:30:40": (_heavy, (1.0, 2.0, 3.0, 4.0)),
    "six classes": (_factors, SIX),
}
LEARNERS: dict[str, Callable[[int], Any]] = {
    "logistic regression": lambda seed: LogisticRegression(C=0.02, max_iter=1000),
    "ensemble": lambda seed: MinimaxRiskEnsembleClassifier(certify=False, random_state=seed),
    "single": lambda seed: MinimaxRiskClassifier(),
}
FAST, OURS = "logistic regression", ("ensemble", "single")
OF_OURS = ("normal", "normal, 10:90", "two factors", "four classes, 10:20:30:40")


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    studies = {FAST: 1 if settings.is_quick else 40, "ensemble": 1 if settings.is_quick else 12}
    studies["single"] = studies["ensemble"]
    wanted = [(law, n, FAST) for law in LAWS for n in N_SAMPLES]
    wanted += [(law, MIDDLE, learner) for law in OF_OURS for learner in OURS]
    cells: list[dict[str, Setting]] = [
        {"law": law, "n": n, "learner": learner, "studies": studies[learner], "seed": settings.seed}
        for law, n, learner in wanted
    ]
    cells += [{"dataset": name, "seed": settings.seed} for name in sources.names]
    return [Cell(NAME, one, settings.limit) for one in cells]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about small classes and radii without coverage
        if "dataset" in settings:
            return [_real(settings["dataset"], settings["seed"])]
        found = [_study(settings, k) for k in range(settings["studies"])]
    rows = []
    for k, label in enumerate(found[0]):
        names = label.keys()
        rows.append({"class": k} | {name: float(np.mean([one[k][name] for one in found])) for name in names})
    return rows


def _real(name: str, seed: int) -> dict[str, Any]:
    X, y = load_source(name)
    model = PredictionSets(MinimaxRiskEnsembleClassifier(certify=False, random_state=seed)).fit(X, y)
    right, wrong, unsure, unlike = model.left_out_.counts(CONFIDENCE).sum(axis=0).tolist()
    return {"right": right, "wrong": wrong, "unsure": unsure, "unlike": unlike}


def _study(settings: Mapping[str, Any], number: int) -> list[dict[str, float]]:
    """What one study says about new samples of each class."""
    draw, parts = LAWS[settings["law"]]
    random = np.random.default_rng([settings["seed"], number, settings["n"]])
    shares = np.array(parts) / sum(parts)
    y = np.repeat(np.arange(len(parts)), np.maximum(2, np.round(settings["n"] * shares)).astype(int))
    y_test = np.repeat(np.arange(len(parts)), N_TEST)
    X, X_test = draw(random, y), draw(random, y_test)
    learner = LEARNERS[settings["learner"]](number)
    model = PredictionSets(learner, confidence=CONFIDENCE, random_state=number).fit(X, y)
    tables = {"": model.predict_set(X_test)}
    if settings["n"] == MIDDLE and settings["learner"] == FAST and _mapie() is not None:
        tables["mapie_"] = _sets_of_mapie(learner, X, y, X_test)
    found = [{"size_of_class": float(np.sum(y == k))} for k in range(len(parts))]
    for name, is_in in tables.items():
        for k, row in enumerate(found):
            own = is_in[y_test == k]
            row[f"{name}coverage"] = float(own[:, k].mean())
            row[f"{name}size"] = float(own.sum(axis=1).mean())
            row[f"{name}empty"] = float((~own.any(axis=1)).mean())
    if settings["learner"] in OURS:
        weights = shares[y_test] / N_TEST
        for name, p in (
            ("stated", model.estimator_.predict_proba(X_test)),
            ("calibrated", model.predict_proba(X_test)),
        ):
            found[0] |= {
                f"{name}_ece": _calibration_error(p, y_test, weights),
                f"{name}_log_loss": -float(weights @ np.log(np.clip(p[np.arange(len(p)), y_test], 1e-3, 1))),
            }
    return [found[0], *({**dict.fromkeys(found[0], np.nan), **row} for row in found[1:])]


def _calibration_error(p: FloatArray, y: IntArray, weights: FloatArray) -> float:
    """How far the largest probability is from how often it is right, over ten bins."""
    named, stated = np.argmax(p, axis=1), p.max(axis=1)
    place = np.minimum((stated * BINS).astype(int), BINS - 1)
    gaps = np.bincount(place, weights * (stated - (named == y)), minlength=BINS)
    return float(np.abs(gaps).sum())


def _mapie() -> Any:
    try:
        return import_module("mapie.classification")
    except ImportError:
        return None


def _sets_of_mapie(learner: Any, X: FloatArray, y: IntArray, X_test: FloatArray) -> np.ndarray:
    """Its cross-conformal sets, which cover on average over the classes; it has none class by class."""
    model = _mapie().CrossConformalClassifier(learner, confidence_level=CONFIDENCE, cv=10)
    _, sets = model.fit_conformalize(X, y).predict_set(X_test)
    return np.asarray(sets)[:, :, 0]


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    simulated, real = ([row for row in known if row.get(name)] for name in ("law", "dataset"))
    return Report(
        claims=[_coverage_claim(simulated), *_calibration_claims(simulated)],
        tables=[
            _coverage_table(simulated),
            _mapie_table(simulated),
            _probability_table(simulated),
            _real_table(real),
        ],
        notes=[
            f"Sets at {CONFIDENCE:.0%} by PredictionSets with ten folds, for an ensemble by members that "
            f"have not seen a sample; {N_FEATURES} features, {N_INFORMATIVE} informative ones for each "
            f"class, {N_TEST} new samples of each class and study. With fewer than 9 samples a class is "
            "never excluded. No theorem gives the level.",
            "MAPIE: CrossConformalClassifier with its default score, at 60 samples and on the same data; "
            "its sets aim at coverage on average over the classes. Columns are empty where it is not "
            "installed.",
            "Calibration error: the mean distance of the largest probability from how often it is right, "
            "over ten bins; the logarithmic loss clips probabilities at 0.001. Classes are as common as in "
            "training.",
        ],
    )


def _coverage_claim(rows: Sequence[Row]) -> Claim:
    held = [float(row["coverage"]) >= CONFIDENCE - TOLERATED for row in rows]
    lowest = min(rows, key=lambda row: float(row["coverage"]), default=None)
    evidence = "none" if lowest is None else f"{float(lowest['coverage']):.3f} ({lowest['law']})"
    return Claim(
        f"Sets hold the true label in at least {CONFIDENCE - TOLERATED:.0%} of the samples of every class.",
        verdict(held),
        f"In {sum(held)} of {len(held)} classes of all laws, sizes and learners; the lowest: {evidence}.",
    )


def _calibration_claims(rows: Sequence[Row]) -> list[Claim]:
    rows = [row for row in rows if row["learner"] in OURS and row["class"] == 0]
    claims = []
    for name, words in (("ece", "calibration error"), ("log_loss", "logarithmic loss")):
        before, after = ([float(row[f"{kind}_{name}"]) for row in rows] for kind in ("stated", "calibrated"))
        held = [b <= a for a, b in zip(before, after, strict=True)]
        means = f"Mean {np.mean(after):.3f} in place of {np.mean(before):.3f}." if held else ""
        claims.append(
            Claim(
                f"Calibrated probabilities have a smaller {words} than predict_proba.", verdict(held), means
            )
        )
    return claims


def _coverage_table(rows: Sequence[Row]) -> TextTable:
    columns = [(FAST, n) for n in N_SAMPLES] + [(learner, MIDDLE) for learner in OURS]
    lines = []
    for law in LAWS:
        cells = []
        for learner, n in columns:
            own = pick(rows, law=law, learner=learner, n=n)
            coverage, sizes = ([float(row[name]) for row in own] for name in ("coverage", "size"))
            cells.append(f"{min(coverage):.3f}, {np.mean(sizes):.2f}" if own else "")
        lines.append([law, *cells])
    return TextTable(
        "The lowest coverage of a class, and the mean number of labels in a set.",
        ["law", *(f"{learner}, n = {n}" for learner, n in columns)],
        lines,
    )


def _mapie_table(rows: Sequence[Row]) -> TextTable:
    lines = []
    for law, (_, parts) in LAWS.items():
        own = pick(rows, law=law, learner=FAST, n=MIDDLE)
        if not own:
            continue
        line, shares = [law], np.array(parts) / sum(parts)
        for name in ("", "mapie_"):
            values = [[row.get(f"{name}{what}") for row in own] for what in ("coverage", "size")]
            if None in values[0] or "" in values[0]:
                line += ["", "", ""]
                continue
            coverage, size = np.array(values, dtype=float)
            line += [f"{coverage.min():.3f}", f"{shares @ coverage:.3f}", f"{shares @ size:.2f}"]
        lines.append(line)
    header = [
        f"{whose}, {what}" for whose in ("class by class", "MAPIE") for what in ("worst class", "all", "size")
    ]
    return TextTable(f"Beside MAPIE, {MIDDLE} samples: coverage and mean size.", ["law", *header], lines)


def _probability_table(rows: Sequence[Row]) -> TextTable:
    names = [f"{kind}_{what}" for what in ("ece", "log_loss") for kind in ("stated", "calibrated")]
    lines = [
        [row["law"], row["learner"], *(f"{float(row[name]):.3f}" for name in names)]
        for row in rows
        if row["learner"] in OURS and row["class"] == 0
    ]
    header = [
        "calibration error, predict_proba",
        "calibrated",
        "logarithmic loss, predict_proba",
        "calibrated",
    ]
    return TextTable("Probabilities before and after.", ["law", "learner", *header], lines)


def _real_table(rows: Sequence[Row]) -> TextTable:
    names = ("right", "wrong", "unsure", "unlike")
    return TextTable(
        f"Left-out samples of real data at {CONFIDENCE:.0%}, by an ensemble.",
        ["data set", "sure and right", "sure and wrong", "unsure", "unlike all classes"],
        [[row["dataset"], *(f"{int(row[name])}" for name in names)] for row in rows],
    )


ITEM = Item(
    name=NAME,
    title="Sets of labels, and probabilities",
    what="How often sets hold the true label, class by class; how large they are; calibrated probabilities.",
    wanted=("Leukemia", "Colon", "GLIOMA", "TOX_171"),
    fallback=("wine",),
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
    wanted_quickly=("Colon",),
)
