"""The samples by which errors are judged: as they are, without class weights, and what belongs together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk.guarantees.fitted_model import training_data_of
from minimaxrisk.samples.validation import TrainingData, codes_of_groups


@dataclass(frozen=True)
class JudgedSample:
    """The samples without class weights; ``unit`` says which of them belong together, if any do."""

    data: TrainingData
    unit: IntArray | None
    are_alike: bool  # whether every row of weight counts as one sample

    @property
    def units(self) -> str:
        return "samples" if self.unit is None else "groups"

    @property
    def rows(self) -> IntArray:
        return np.flatnonzero(self.data.weights > 0)

    @property
    def n_units(self) -> int:
        return len(self.rows) if self.unit is None else len(np.unique(self.unit[self.rows]))


def judged_sample(model: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> JudgedSample:
    data = training_data_of(model, X, y, sample_weight, with_class_weight=False)
    unit = None if groups is None else codes_of_groups(groups, len(data.labels))
    weights = data.weights[data.weights > 0]
    are_alike = bool((weights == 1.0).all() or (data.counts is not None and (weights == weights[0]).all()))
    return JudgedSample(data, unit, are_alike)
