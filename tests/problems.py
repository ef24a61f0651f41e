"""Pose a problem from plain arrays, the way that the estimators do after validation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import clone

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.engines.dispatch import approach_minimax_risks
from minimaxrisk.engines.paper import by_correlation, constraint_generation
from minimaxrisk.matrices.moments import make_coding
from minimaxrisk.matrices.scaling import features_of
from minimaxrisk.problem.objective import BayesError
from minimaxrisk.problem.pose import build_problem
from minimaxrisk.problem.rule import total_excess
from minimaxrisk.samples import instances as samples
from minimaxrisk.samples.columns import check_new_data
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.rules import Multiple


def distinct_instances(X, labels, weights, n_classes, **more):
    """Instances of rows that need no checks."""
    return samples.distinct_instances(TrainingData(X, np.arange(n_classes), labels, weights, **more))


def features_in(X, instances, **options):
    """The scaled features of instances, their moments and the scale."""
    return features_of(X, instances.rows, instances.p_hat, **options)


def problem_of(
    X, labels, n_classes, *, coding="auto", radius=1.0, weights=None, marginal_is_known=False, **options
):
    weights = np.ones(len(labels)) if weights is None else weights
    instances = distinct_instances(X, labels, weights, n_classes)
    options = {"standardize": True, "fit_intercept": True} | options
    scaled, coding = features_in(X, instances, **options), make_coding(coding, n_classes)
    posed = build_problem(scaled, instances, coding, Multiple(radius), marginal_is_known=marginal_is_known)
    return posed.problem, instances


def some_problem(seed=0, n=30, d=80, n_classes=3, **options):
    """Noise, with three columns in ten that tell the classes apart."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    X = rng.standard_normal((n, d)) + 0.8 * labels[:, None] * (rng.random(d) < 0.3)
    return problem_of(X, labels, n_classes, **options)[0]


def generated_from(problem, n_max, *, epsilon, **options):
    """Constraint generation that starts with as many components as it adds at a time."""
    start = by_correlation(problem, n_max)
    return constraint_generation(problem, BayesError(), start, n_max=n_max, epsilon=epsilon, **options)


def bounds_of(problems, settings, enough):
    """Bounds on R* that are ``enough``."""
    return [found.bounds for found in approach_minimax_risks(problems, settings, enough)]


def coefficients_of(problems, settings):
    """Coefficients within the tolerance of the settings."""
    found = approach_minimax_risks(problems, settings)
    return [each.stage.expand(*problem.shape) for each, problem in zip(found, problems, strict=True)]


def excess_on(model, X):
    """Mean of ``(d_x - 1)_+`` over instances: what the proof of R* misses there."""
    rule = model._fitted_rule()
    if rule.threshold is None:  # every instance has its own
        return 0.0
    d = total_excess(rule.scores(check_new_data(model, X)), rule.threshold)
    return float(np.maximum(d - 1.0, 0.0).mean())


def changed_a_little(value):  # noqa: PLR0911
    """Something of the same kind that is not the same."""
    if value is None:
        return 0.5
    if isinstance(value, str):
        return "signed" if value == "one-hot" else "one-hot"
    if isinstance(value, tuple):
        return (value[0] + 1e-6, value[1]) if value and isinstance(value[0], float) else (*value, "by hand")
    if isinstance(value, list):
        return [replace(value[0], coef=value[0].coef * (1.0 + 1e-6)), *value[1:]]
    if isinstance(value, MinimaxRiskClassifier):
        return clone(value).set_params(radius=1.2345)
    if hasattr(value, "meinshausen_buhlmann"):
        return replace(value, shah_samworth=value.shah_samworth * 0.999)
    if hasattr(value, "columns"):
        return replace(value, intercept=value.intercept + 1e-6)
    if np.ndim(value) == 0:
        return value + 1 if isinstance(value, int) else value * (1.0 - 1e-6) - 1e-7
    other = np.array(value)[::-1]
    return other + 1 if other.dtype.kind in "fi" else other


def without_forecast(record):
    """What the history keeps of a record that a callback was told."""
    return {name: value for name, value in record.items() if name != "seconds_left"}
