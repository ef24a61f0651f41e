"""The numbers of a clinic, counted from left-out predictions: sensitivity, specificity, predictive value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk._utils.rounding import outward

# Words in the names of classes that are not what a test looks for.
NOT_LOOKED_FOR = {
    *(
        "normal",
        "normals",
        "healthy",
        "control",
        "controls",
        "ctrl",
        "negative",
        "neg",
        "benign",
        "unaffected",
    ),
    *("well", "alive", "remission", "wildtype", "wt", "no", "non", "not", "none", "without", "free", "0"),
}


@dataclass(frozen=True)
class Rate:
    """A share with Clopper and Pearson's 95% interval, as if the outcomes were independent."""

    n_right: int
    n: int
    low: float
    high: float

    @classmethod
    def of(cls, n_right: int, n: int) -> Rate | None:
        """None where there is nothing to count."""
        if n == 0:
            return None
        interval = stats.binomtest(n_right, n).proportion_ci()
        return cls(n_right, n, float(interval.low), float(interval.high))

    @property
    def value(self) -> float:
        return self.n_right / self.n

    @property
    def interval(self) -> str:
        return " to ".join(outward(self.low, self.high, ".1%"))


@dataclass(frozen=True)
class ClassRates:
    """A class against all others: the shares of its samples, of the others, and of predictions of it."""

    sensitivity: Rate | None
    specificity: Rate | None
    predictive_value: Rate | None


def rates_of(confusion: IntArray) -> list[ClassRates]:
    """By class, from numbers of samples by own class (rows) and predicted class (columns)."""
    n, own, named = int(confusion.sum()), confusion.sum(axis=1), confusion.sum(axis=0)
    rates = []
    for k, right in enumerate(confusion.diagonal().tolist()):
        n_own, n_named = int(own[k]), int(named[k])
        n_others = n - n_own
        rates.append(
            ClassRates(
                sensitivity=Rate.of(right, n_own),
                specificity=Rate.of(n_others - (n_named - right), n_others),
                predictive_value=Rate.of(right, n_named),
            )
        )
    return rates


def looked_for(classes: Sequence[str]) -> int:
    """Of two classes the one that a test would look for: the second, unless its name says that it is well."""
    is_well = [not NOT_LOOKED_FOR.isdisjoint(re.findall(r"[a-z0-9]+", name.lower())) for name in classes]
    return 0 if is_well[1] and not is_well[0] else 1
