"""What the rivals are measured on: data sets of the paper, texts, and simulated studies of growing size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import check_random_state

from experiments.datasets import list_datasets
from experiments.harness.cells import Setting
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from minimaxrisk.datasets import make_expression, make_text

DATASET, DIGITS, SIZE_MAP = "data set", "digits", "map"
# A real collection of texts, if the manifest of the data folder has it: two groups of the 20 newsgroups.
TEXTS = "PCMAC"
# Of a study of the map of sizes: columns whose mean tells a class from the others, and by how much.
COLUMNS_ON_MAP, EFFECT_ON_MAP = 8, 0.7
# Of a study of many classes: columns whose mean tells a class from the others, and by how much.
COLUMNS_PER_CLASS, EFFECT = 10, 1.5

Study = tuple[Any, np.ndarray]


@dataclass(frozen=True)
class Sweep:
    """Simulated studies in the order of their size, all else being equal."""

    name: str
    grows: str  # the setting of a cell that grows
    symbol: str
    what: str  # what the studies have in common; a template of a cell's settings
    make: Callable[[Mapping[str, Any]], Study]


def _expression(settings: Mapping[str, Any]) -> Study:
    study = make_expression(settings["n_samples"], settings["n_features"], random_state=0)
    return study.data, study.target


def _text(settings: Mapping[str, Any]) -> Study:
    study = make_text(settings["n_samples"], settings["n_features"], random_state=0)
    return study.data, study.target


def _classes(settings: Mapping[str, Any]) -> Study:
    """Normal columns; each class has some of its own, drawn at random, with a mean above zero."""
    random = check_random_state(0)
    n, d, n_classes = settings["n_samples"], settings["n_features"], settings["n_classes"]
    y = random.permutation(np.arange(n) % n_classes)
    X = random.standard_normal((n, d))
    for k in range(n_classes):
        X[np.ix_(y == k, random.choice(d, COLUMNS_PER_CLASS, replace=False))] += EFFECT
    return X, y


def _on_map(settings: Mapping[str, Any]) -> Study:
    """Normal columns in single precision; each class has some of its own, with a mean above zero."""
    n, d, n_classes = settings["n_samples"], settings["n_features"], settings["n_classes"]
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32).astype(np.float64)
    y = np.arange(n) % n_classes
    for k in range(n_classes):
        X[y == k, COLUMNS_ON_MAP * k : COLUMNS_ON_MAP * (k + 1)] += EFFECT_ON_MAP
    return X, y


OVER_FEATURES = Sweep("features", "n_features", "d", "{n_samples} samples", _expression)
OVER_SAMPLES = Sweep("samples", "n_samples", "n", "{n_features} columns", _expression)
OVER_ROWS = Sweep("rows", "n_samples", "n", "{n_features} columns", _expression)
OVER_CLASSES = Sweep("classes", "n_classes", "K", "{n_samples} samples, {n_features} columns", _classes)
OVER_DOCUMENTS = Sweep("documents", "n_samples", "n", "{n_features} words", _text)
SWEEPS = {
    sweep.name: sweep for sweep in (OVER_FEATURES, OVER_SAMPLES, OVER_ROWS, OVER_CLASSES, OVER_DOCUMENTS)
}


def problems(settings: Settings, sources: Sources) -> list[dict[str, Setting]]:
    """Settings of cells that say what to fit. Within a sweep, problems stand in the order of their size."""
    texts = [TEXTS] if TEXTS in list_datasets() else []
    found: list[dict[str, Setting]] = [
        {"problem": name, "sweep": DATASET} for name in (*sources.names, *texts, DIGITS)
    ]
    n, d = settings.feature_sweep_samples, settings.sample_sweep_features
    found += _studies(OVER_FEATURES, "expression-d{}", settings.feature_sweep, n_samples=n)
    found += _studies(OVER_SAMPLES, "expression-n{}", settings.sample_sweep, n_features=d)
    found += _studies(OVER_ROWS, "tall-n{}", settings.row_sweep, n_features=settings.row_sweep_features)
    n, d = settings.class_sweep_samples, settings.class_sweep_features
    found += _studies(OVER_CLASSES, "classes-{}", settings.class_sweep, n_samples=n, n_features=d)
    words = settings.document_sweep_words
    found += _studies(OVER_DOCUMENTS, "text-n{}", settings.document_sweep, n_features=words)
    for size in settings.size_map:
        n, d, n_classes = map(int, size.split("x"))
        shape = {"n_samples": n, "n_features": d, "n_classes": n_classes}
        found.append({"problem": f"map-{size}", "sweep": SIZE_MAP, **shape})
    patterns = settings.problems or ("*",)
    found = [one for one in found if any(fnmatchcase(str(one["problem"]), pattern) for pattern in patterns)]
    if not found:
        raise ValueError(
            f"no problem matches {', '.join(patterns)}; `--set problems=` takes names and patterns."
        )
    return found


def _studies(sweep: Sweep, name: str, sizes: Sequence[int], **shape: int) -> list[dict[str, Setting]]:
    return [
        {"problem": name.format(size), "sweep": sweep.name, "n_classes": 2, **shape, sweep.grows: size}
        for size in sizes
    ]


def make_problem(settings: Mapping[str, Any]) -> Study:
    """Raw X and integer labels; the labels' names are lost, since one rival takes none."""
    if settings["sweep"] == SIZE_MAP:
        X, y = _on_map(settings)
    elif settings["sweep"] != DATASET:
        X, y = SWEEPS[settings["sweep"]].make(settings)
    elif settings["problem"] == DIGITS:
        X, y = load_digits(return_X_y=True)
    else:
        X, y = load_source(settings["problem"])
    return X, np.unique(y, return_inverse=True)[1].astype(np.intp)
