"""What the rivals are measured on: data sets of the paper, and simulated studies of growing size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import numpy as np

from minimaxrisk.datasets import list_datasets, load_dataset, make_expression

DATASET, OVER_FEATURES, OVER_SAMPLES = "data set", "features", "samples"

# Small ones first, so that a run shows early whether it works.
PAPER_SETS = ("Colon", "Leukemia", "GLIOMA", "Prostate_GE", "MLL", "TOX_171", "Arcene", "Dorothea")
STAND_INS = ("GLI_85_Freije_genes", "Lung_1543", "CLL_SUB_111_binarised")
FEATURES = (10_000, 32_000, 100_000, 320_000, 1_000_000)
SAMPLES = (50, 100, 200, 400, 800, 1600)
SAMPLES_OF_FEATURE_SWEEP, FEATURES_OF_SAMPLE_SWEEP = 100, 2000

QUICK_SETS = ("Colon",)
QUICK_FEATURES = (200, 400, 800)
QUICK_SAMPLES = (20, 40, 80)
QUICK_SAMPLES_OF_FEATURE_SWEEP, QUICK_FEATURES_OF_SAMPLE_SWEEP = 40, 200


@dataclass(frozen=True)
class Workload:
    """Something to fit. Within a sweep, workloads stand in the order of their size."""

    name: str
    sweep: str
    make: Callable[[], tuple[Any, np.ndarray]]


def workloads(*, quick: bool = False, patterns: Sequence[str] | None = None) -> list[Workload]:
    """The workloads at hand that match one of the patterns (by default all)."""
    present = list_datasets()
    names = QUICK_SETS if quick else (*PAPER_SETS[:-1], *STAND_INS, *PAPER_SETS[-1:])
    found = [_dataset(name) for name in names if name in present]
    features = QUICK_FEATURES if quick else FEATURES
    n = QUICK_SAMPLES_OF_FEATURE_SWEEP if quick else SAMPLES_OF_FEATURE_SWEEP
    found += [_expression(f"expression-d{d}", OVER_FEATURES, n, d) for d in features]
    samples = QUICK_SAMPLES if quick else SAMPLES
    d = QUICK_FEATURES_OF_SAMPLE_SWEEP if quick else FEATURES_OF_SAMPLE_SWEEP
    found += [_expression(f"expression-n{n}", OVER_SAMPLES, n, d) for n in samples]
    if not patterns:
        return found
    return [load for load in found if any(fnmatchcase(load.name, pattern) for pattern in patterns)]


def _dataset(name: str) -> Workload:
    return Workload(name, DATASET, partial(load_dataset, name, return_X_y=True))


def _expression(name: str, sweep: str, n_samples: int, n_features: int) -> Workload:
    def make() -> tuple[Any, np.ndarray]:
        study = make_expression(n_samples, n_features, random_state=0)
        return study.data, study.target

    return Workload(name, sweep, make)
