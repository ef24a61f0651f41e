"""From the parameters of an estimator to a rule for the radii."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from minimaxrisk.uncertainty.bootstrap import MultiplierBootstrap
from minimaxrisk.uncertainty.given import GivenRadii, Multiple
from minimaxrisk.uncertainty.radius import RadiusRule
from minimaxrisk.uncertainty.rule_names import NAMED_RULES
from minimaxrisk.uncertainty.union_bound import UnionBound


def radius_rule_of(model: Any, seed: int) -> RadiusRule:
    """What the parameters of a ``MinimaxRiskClassifier`` say about the radii."""
    return make_radius_rule(
        model.radius,
        confidence=model.confidence,
        n_bootstrap=model.n_bootstrap,
        seed=seed,
        is_standardized=model.standardize,
    )


def without_coverage(rule: RadiusRule) -> RadiusRule:
    """The same radii, where nobody reads whether they cover: looking at that takes longer than the radii."""
    return replace(rule, confidence=None) if isinstance(rule, Multiple) else rule


def make_radius_rule(
    radius: Any, *, confidence: float, n_bootstrap: int, seed: int, is_standardized: bool
) -> RadiusRule:
    """A number is a factor, an array the radii themselves, a name a rule with coverage."""
    if isinstance(radius, np.ndarray) and radius.ndim == 0:
        names = ", ".join(map(repr, NAMED_RULES))
        raise ValueError(
            f"radius must be a number, one of {names} or an array of lambda, got {radius!r}, an "
            "array without dimensions; pass radius.item()."
        )
    if isinstance(radius, str):
        by_name: dict[str, RadiusRule] = {
            "bootstrap": MultiplierBootstrap(confidence, n_bootstrap, seed),
            "bonferroni": UnionBound(confidence),
        }
        return by_name[radius]
    if np.ndim(radius) == 0:
        return Multiple(float(radius), confidence)
    return GivenRadii(radius, is_standardized)
