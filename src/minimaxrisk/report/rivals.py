"""This model beside classifiers that people use on such data, on the same folds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.analysis.comparison import CannotFitError, Comparison, compare, usual_rivals
from minimaxrisk.analysis.cross_validation import arg_max_copy, stratified_folds

THIS_MODEL = "this model"
# A difference can be told from none if it is larger than so many of its standard errors.
TELLING = 2.0


@dataclass(frozen=True)
class ComparedClassifier:
    """Means over folds of errors, medians of columns and seconds; differences are from this model.

    ``outcome`` is ``fewer`` or ``more`` errors than this model, or ``none`` where no difference can be told.
    Columns are None where a model does not tell, the last three for this model itself.
    """

    name: str
    error: float
    n_features: float | None
    seconds: float
    difference: float | None
    difference_error: float | None
    outcome: str | None


@dataclass(frozen=True)
class Rivals:
    """This model first. ``left_out`` has the classifiers that could not be fitted, with the reason."""

    n_folds: int
    compared: tuple[ComparedClassifier, ...]
    left_out: Mapping[str, str]

    def names(self, outcome: str) -> list[str]:
        return [one.name for one in self.compared if one.outcome == outcome]


def beside_rivals(
    learner: Any,
    X: DataMatrix,
    y: np.ndarray,
    *,
    n_folds: int,
    random_state: Any,
    n_jobs: int | None,
    groups: Any = None,
) -> Rivals:
    """Cross-validate a classifier, or a pipeline that ends with one, and the usual rivals."""
    folds = stratified_folds(learner, y, n_folds, random_state, groups)
    rivals = usual_rivals(len(learner.classes_), is_sparse=bool(sparse.issparse(X)))
    estimators, left_out = {THIS_MODEL: arg_max_copy(learner), **rivals}, {}
    while True:
        try:
            # The rivals are ours to choose, so what they warn about is nothing that a reader could act upon.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = compare(estimators, X, y, cv=folds, groups=groups, n_jobs=n_jobs)
        except CannotFitError as failure:
            if failure.name == THIS_MODEL:
                raise
            left_out[failure.name] = failure.reason
            del estimators[failure.name]
        else:
            return Rivals(found.errors.shape[1], _summarise(found), left_out)


def _summarise(found: Comparison) -> tuple[ComparedClassifier, ...]:
    summaries = []
    for i, name in enumerate(found.names):
        difference, its_error = float(found.differences[i]), float(found.difference_errors[i])
        columns = float(np.median(found.n_features[i]))
        summaries.append(
            ComparedClassifier(
                name=name,
                error=float(found.mean_errors[i]),
                n_features=columns if np.isfinite(columns) else None,
                seconds=float(np.median(found.seconds[i])),
                difference=difference if i else None,
                difference_error=its_error if i else None,
                outcome=_outcome(difference, its_error) if i else None,
            )
        )
    return tuple(summaries)


def _outcome(difference: float, its_error: float) -> str:
    if abs(difference) <= TELLING * its_error:
        return "none"
    return "fewer" if difference < 0 else "more"
