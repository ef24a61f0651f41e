"""Laws of two classes with exactly known means: what a sample says can be held against the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_random_state

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.datasets import ExpressionLaw, make_expression

INDEPENDENT, CORRELATED, LOGNORMAL, RARE_BINARY = "independent", "correlated", "lognormal", "rare binary"
N_INFORMATIVE = 20
# In standard deviations: enough for bounds below one half at radii that have coverage.
EFFECT = 1.5
# Of the correlated law.
MODULE_SIZE, CORRELATION = 200, 0.9
# Of the rare binary law: how often features are one, and how much more often informative ones in class 1.
RAREST, LEAST_RARE, MORE_OFTEN = 0.005, 0.05, 0.4


class Law(Protocol):
    """Instances and labels 0 and 1, the latter with probability ``positive``."""

    @property
    def positive(self) -> float: ...

    @property
    def class_means(self) -> FloatArray:
        """Means of the features in class 0 and class 1 (2 x d)."""
        ...

    def sample(self, n_samples: int, random_state: Any = None) -> tuple[FloatArray, IntArray]: ...


@dataclass(frozen=True)
class LognormalLaw:
    """Exponentials of normal features."""

    logarithms: ExpressionLaw

    @property
    def positive(self) -> float:
        return self.logarithms.positive

    @property
    def class_means(self) -> FloatArray:
        """``exp(m + s^2 / 2)``; within a class the logarithms have standard deviation s, their ``scale``."""
        return np.asarray(np.exp(self.logarithms.class_means + self.logarithms.scale**2 / 2.0))

    def sample(self, n_samples: int, random_state: Any = None) -> tuple[FloatArray, IntArray]:
        X, y = self.logarithms.sample(n_samples, random_state)
        return np.exp(X, out=X), y


@dataclass(frozen=True)
class BinaryLaw:
    """Independent features that are 0 or 1, with the frequencies of ones per class (2 x d)."""

    frequencies: FloatArray
    positive: float

    @property
    def class_means(self) -> FloatArray:
        return self.frequencies

    def sample(self, n_samples: int, random_state: Any = None) -> tuple[FloatArray, IntArray]:
        random = check_random_state(random_state)
        y = (random.random_sample(n_samples) < self.positive).astype(np.intp)
        X = random.random_sample((n_samples, self.frequencies.shape[1])) < self.frequencies[y]
        return X.astype(np.float64), y


@lru_cache(maxsize=1)
def make_law(name: str, n_features: int, seed: int) -> Law:
    """The law called ``name``; the same seed gives the same law."""
    return LAWS[name](n_features, seed)


def _normal_law(n_features: int, seed: int, **modules: Any) -> ExpressionLaw:
    law: ExpressionLaw = make_expression(
        2, n_features, n_informative=N_INFORMATIVE, effect=EFFECT, random_state=seed, **modules
    ).law
    return law


def _independent(n_features: int, seed: int) -> Law:
    return _normal_law(n_features, seed, correlation=0.0)


def _correlated(n_features: int, seed: int) -> Law:
    return _normal_law(n_features, seed, module_size=MODULE_SIZE, correlation=CORRELATION)


def _lognormal(n_features: int, seed: int) -> Law:
    """Logarithms have standard deviation 1; a level would be a factor, which standardisation removes."""
    normal = _normal_law(n_features, seed, correlation=0.0)
    return LognormalLaw(replace(normal, level=np.zeros(n_features), scale=np.ones(n_features)))


def _rare_binary(n_features: int, seed: int) -> Law:
    random = np.random.default_rng(seed)
    frequencies = np.tile(random.uniform(RAREST, LEAST_RARE, n_features), (2, 1))
    informative = random.choice(n_features, N_INFORMATIVE, replace=False)
    frequencies[1, informative] += MORE_OFTEN
    return BinaryLaw(frequencies, 0.5)


LAWS: dict[str, Callable[[int, int], Law]] = {
    INDEPENDENT: _independent,
    CORRELATED: _correlated,
    LOGNORMAL: _lognormal,
    RARE_BINARY: _rare_binary,
}
