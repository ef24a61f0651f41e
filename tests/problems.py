"""Pose a problem from plain arrays, the way that the estimators do after validation."""

from __future__ import annotations

import numpy as np

from minimaxrisk.coding import make_coding
from minimaxrisk.instances import distinct_instances
from minimaxrisk.problem import build_problem


def problem_of(X, labels, n_classes, *, coding="auto", radius=1.0, weights=None, **options):
    weights = np.ones(len(labels)) if weights is None else weights
    instances = distinct_instances(X, labels, weights, n_classes)
    options = {"standardize": True, "fit_intercept": True} | options
    return build_problem(X, instances, make_coding(coding, n_classes), radius=radius, **options), instances
