"""Which data an experiment uses: the paper's where they are at hand, and what stands in is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike, environ
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine

from experiments.datasets import data_home, dataset_status, list_datasets, load_dataset
from experiments.datasets.folder import COMMAND, VARIABLE
from experiments.datasets.registry import near_match
from minimaxrisk.datasets import make_expression

# At hand without any data folder.
BUILT_IN = {
    "simulated": "a simulated expression study of 100 samples and 2000 features, 20 of them informative",
    "breast_cancer": "scikit-learn's breast cancer data, 569 x 30",
    "wine": "scikit-learn's wine data, 178 x 13 in 3 classes",
}


@dataclass(frozen=True)
class Sources:
    """Names of data sets, and what there is to say about those that the paper uses and are not here."""

    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def choose_sources(
    wanted: Sequence[str],
    chosen: Sequence[str] = (),
    *,
    replacements: Mapping[str, str] | None = None,
    fallback: Sequence[str] = ("simulated",),
) -> Sources:
    """The caller's choice; else those of the paper that are at hand, with replacements agreed on before.

    Without any of them the fallback. Nothing is replaced without a note.
    """
    status = dataset_status()
    if chosen:
        _check_known(chosen)
        about = [
            f"{entry.name} is none of the paper's data sets: {entry.difference or entry.note}"
            for entry in status
            if entry.name in chosen and entry.number is None
        ]
        about += [f"{name} is {BUILT_IN[name]}" for name in chosen if name in BUILT_IN]
        return Sources(tuple(chosen), (f"data sets of the caller's choice: {', '.join(chosen)}", *about))
    at_hand = {entry.name for entry in status if entry.path is not None}
    names, notes, missing = [], [], []
    for name in wanted:
        other = (replacements or {}).get(name)
        if name in at_hand:
            names.append(name)
        elif other in at_hand and other not in wanted:
            names.append(str(other))
            notes.append(f"{name} is not at hand; {other} is used in its place")
        else:
            missing.append(name)
    if missing:
        notes.append(f"not at hand, so left out: {', '.join(missing)} (`{COMMAND} fetch NAME`)")
    if not names:
        names = list(fallback)
        notes += [f"used instead: {name}, {BUILT_IN[name]}" for name in fallback]
    return Sources(tuple(names), tuple(notes))


@lru_cache(maxsize=2)
def load_source(name: str) -> tuple[Any, np.ndarray]:
    """Features and labels; the last ones stay in memory, since the cells of one data set run in a row."""
    if name == "simulated":
        study = make_expression(100, 2000, n_informative=20, effect=1.0, random_state=0)
        return study.data, study.target
    if name in BUILT_IN:
        X, y = (load_breast_cancer if name == "breast_cancer" else load_wine)(return_X_y=True)
        return X, y
    X, y = load_dataset(name, return_X_y=True)
    return X, y


@contextmanager
def data_folder(folder: str | PathLike[str] | None) -> Iterator[None]:
    """Within it this process, and those that it starts, find the data in ``folder``."""
    before = environ.get(VARIABLE)
    environ[VARIABLE] = str(data_home(folder).absolute())
    try:
        yield
    finally:
        if before is None:
            environ.pop(VARIABLE, None)
        else:
            environ[VARIABLE] = before


def _check_known(names: Sequence[str]) -> None:
    known = [*list_datasets(), *BUILT_IN]
    for name in names:
        if name not in known:
            raise ValueError(
                f"data set {name!r} is not at hand; there are {', '.join(known)}.{near_match(name, known)} "
                f"`{COMMAND} list` shows all, `{COMMAND} fetch NAME` gets one."
            )
