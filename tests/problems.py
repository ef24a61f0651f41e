"""Pose a problem from plain arrays, the way that the estimators do after validation; bounds by radii."""

from __future__ import annotations

import numpy as np

from minimaxrisk import error_bound
from minimaxrisk.engines.linear_programs.constraint_generation import by_correlation, constraint_generation
from minimaxrisk.features.matrix import make_coding
from minimaxrisk.guarantees.covering_radii import excess_of_randomized_rule
from minimaxrisk.problem.pose import build_features, build_problem
from minimaxrisk.samples import instances as samples
from minimaxrisk.samples.validation import TrainingData, check_new_data
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
    scaled, coding = build_features(X, instances, **options), make_coding(coding, n_classes)
    posed = build_problem(scaled, instances, coding, Multiple(radius), marginal_is_known=marginal_is_known)
    return posed.problem, instances


def by_generation(problem, n_max, epsilon):
    """Constraint generation of the minimax risk, from as many components as may come in a round."""
    start = by_correlation(problem, problem.objective, n_max)
    return constraint_generation(problem, problem.objective, start, n_max=n_max, epsilon=epsilon)


def by_radii(model, X_new=None, *, rule="randomized", data=(), **options):
    """``error_bound`` by the model's own radii; ``data`` is what was passed to ``fit``, in its order."""
    given = dict(zip(("X", "y", "sample_weight", "X_unlabeled", "groups"), data, strict=False))
    return error_bound(model, method="radii", rule=rule, X_new=X_new, **given, **options)


def excess_on(model, X):
    """Mean of ``(d_x - 1)_+`` over instances: what the proof of R* misses there."""
    return float(excess_of_randomized_rule(model._fitted_rule(), check_new_data(model, X)).mean())
