"""What the rivals are measured on: data sets of the paper, and simulated studies of growing size."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from experiments.harness.cells import Setting
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, load_source
from minimaxrisk.datasets import make_expression

DATASET, OVER_FEATURES, OVER_SAMPLES = "data set", "features", "samples"


def problems(settings: Settings, sources: Sources) -> list[dict[str, Setting]]:
    """Settings of cells that say what to fit. Within a sweep, problems stand in the order of their size."""
    found: list[dict[str, Setting]] = [{"problem": name, "sweep": DATASET} for name in sources.names]
    n, d = settings.feature_sweep_samples, settings.sample_sweep_features
    found += [_study(f"expression-d{size}", OVER_FEATURES, n, size) for size in settings.feature_sweep]
    found += [_study(f"expression-n{size}", OVER_SAMPLES, size, d) for size in settings.sample_sweep]
    patterns = settings.problems or ("*",)
    found = [one for one in found if any(fnmatchcase(str(one["problem"]), pattern) for pattern in patterns)]
    if not found:
        raise ValueError(
            f"no problem matches {', '.join(patterns)}; `--set problems=` takes names and patterns."
        )
    return found


def _study(name: str, sweep: str, n_samples: int, n_features: int) -> dict[str, Setting]:
    return {"problem": name, "sweep": sweep, "n_samples": n_samples, "n_features": n_features, "n_classes": 2}


def make_problem(settings: Mapping[str, Any]) -> tuple[Any, np.ndarray]:
    """Raw X and integer labels; the labels' names are lost, since one rival takes none."""
    if settings["sweep"] == DATASET:
        X, y = load_source(settings["problem"])
    else:
        study = make_expression(settings["n_samples"], settings["n_features"], random_state=0)
        X, y = study.data, study.target
    return X, np.unique(y, return_inverse=True)[1].astype(np.intp)
