"""Problems of parts of the samples, posed from the features of the whole in passes that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.features.dense import DenseFeatures
from minimaxrisk.features.device import DeviceFeatures, features_of_rows
from minimaxrisk.features.part import PartOfRows, scaled_parts
from minimaxrisk.problem.pose import PosedProblem, pose
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.radius import RadiusRule


def pose_parts(
    whole: PosedProblem,
    data: TrainingData,
    parts: Sequence[IntArray],
    *,
    rule: RadiusRule,
    standardize: bool,
    copy: bool | str = "auto",
) -> list[PosedProblem]:
    """What ``pose`` makes of ``data.part(rows)``, to rounding, for the rows of each part.

    ``whole`` is the problem of all rows, posed with the same choices but for the rule. Its dense features
    serve all parts without being copied, and so do those on a device. Sparse ones, and dense ones of groups,
    whose means the radii need, are posed anew.
    """

    def anew(rows: IntArray) -> PosedProblem:
        return pose(
            data.part(rows),
            coding=whole.problem.coding.name,
            rule=rule,
            standardize=standardize,
            fit_intercept=whole.problem.scale.has_intercept,
            copy=copy,
            marginal_is_known=whole.problem.marginal.is_known,
        )

    features = whole.problem.features
    if isinstance(features, DeviceFeatures):
        return [
            _on_the_same_data(whole, features, data, rows, rule=rule, standardize=standardize)
            for rows in parts
        ]
    if not isinstance(features, DenseFeatures) or data.groups is not None:
        return [anew(rows) for rows in parts]
    without_values = replace(data, X=np.empty((len(data.labels), 0)))
    instances, described = [], []
    for rows in parts:
        own, present = whole.instances.of_part(without_values.part(rows), rows)
        lifted = np.zeros((len(own.p_hat), whole.instances.n_instances))
        lifted[:, present] = own.p_hat
        given = partial(_columns_of, data.X, rows[own.rows])
        instances.append(own)
        described.append(PartOfRows(present, lifted, given))
    scaled = scaled_parts(features, whole.problem.scale, described, centre=standardize)
    return [
        anew(rows) if found is None else whole.like_this(*found, own, rule)
        for rows, own, found in zip(parts, instances, scaled, strict=True)
    ]


def _on_the_same_data(
    whole: PosedProblem,
    features: DeviceFeatures,
    data: TrainingData,
    rows: IntArray,
    *,
    rule: RadiusRule,
    standardize: bool,
) -> PosedProblem:
    """Features that are rows of an array on a device are read where they are."""
    without_values = replace(data, X=np.empty((len(data.labels), 0)))
    own, _ = whole.instances.of_part(without_values.part(rows), rows)
    scaled = features_of_rows(
        features.data,
        replace(own, rows=rows[own.rows]),
        standardize=standardize,
        fit_intercept=whole.problem.scale.has_intercept,
    )
    return whole.like_this(*scaled, own, rule)


def _columns_of(X: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
    found: FloatArray = X[np.ix_(rows, columns)]
    return found
