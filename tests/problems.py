"""Pose a problem from plain arrays, the way that the estimators do after validation."""

from __future__ import annotations

import numpy as np

from minimaxrisk.features.matrix import make_coding
from minimaxrisk.problem.problem import build_features, build_problem
from minimaxrisk.samples import instances as samples
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.rules import Multiple


def distinct_instances(X, labels, weights, n_classes, **more):
    """Instances of rows that need no checks."""
    return samples.distinct_instances(TrainingData(X, np.arange(n_classes), labels, weights, **more))


def problem_of(
    X, labels, n_classes, *, coding="auto", radius=1.0, weights=None, marginal_is_known=False, **options
):
    weights = np.ones(len(labels)) if weights is None else weights
    instances = distinct_instances(X, labels, weights, n_classes)
    options = {"standardize": True, "fit_intercept": True} | options
    features, moments, scale = build_features(X, instances, **options)
    chosen = make_coding(coding, n_classes)
    problem, _ = build_problem(
        features,
        moments,
        scale=scale,
        instances=instances,
        coding=chosen,
        rule=Multiple(radius),
        marginal_is_known=marginal_is_known,
    )
    return problem, instances
