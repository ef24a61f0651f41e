"""How the adversary may lay mass over the instances: anywhere, or as it lies in the sample.

* ``FreeMarginal``: any distribution on labels x instances, as in the paper.
* ``KnownMarginal``: the mass of every instance stays what it is, ``sum_y w_yi = p_i``, and labels alone
  change. The set is smaller, so R* can only be smaller (Mazuelas, Romero and Grünwald, "Minimax Risk
  Classifiers with 0-1 Loss", Journal of Machine Learning Research 24, 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from minimaxrisk._utils.arrays import FloatArray


class Marginal(Protocol):
    """The masses of instances that are allowed, and what follows from them."""

    is_known: ClassVar[bool]

    def largest_mean(self, gains: FloatArray) -> float:
        """The largest of ``sum_i m_i gains_i`` over the masses m that are allowed."""
        ...

    def soft_masses(self, gains: FloatArray, temperature: float) -> FloatArray:
        """Masses that nearly attain it and change smoothly with the gains."""
        ...

    def repaired(self, w: FloatArray, centre: FloatArray) -> FloatArray:
        """Non-negative, and of the masses allowed; mass left over carries all labels alike (K x n)."""
        ...


@dataclass(frozen=True)
class FreeMarginal:
    """All distributions on the instances."""

    is_known: ClassVar[bool] = False

    def largest_mean(self, gains: FloatArray) -> float:
        return float(gains.max())

    def soft_masses(self, gains: FloatArray, temperature: float) -> FloatArray:
        """Proportional to exp(gain / t): the gradient of ``t log mean_i exp(gain_i / t)``."""
        masses = np.exp((gains - gains.max()) / temperature)
        return masses / masses.sum()

    def repaired(self, w: FloatArray, centre: FloatArray) -> FloatArray:
        w = np.maximum(w, 0.0)
        left_over = max(0.0, 1.0 - float(w.sum()))
        w += left_over * centre.sum(axis=0) / len(w)
        return w / w.sum()


FREE = FreeMarginal()


@dataclass(frozen=True)
class KnownMarginal:
    """The masses p (n), all positive."""

    is_known: ClassVar[bool] = True

    masses: FloatArray

    def largest_mean(self, gains: FloatArray) -> float:
        return float(self.masses @ gains)

    def soft_masses(self, gains: FloatArray, temperature: float) -> FloatArray:
        return self.masses

    def repaired(self, w: FloatArray, centre: FloatArray) -> FloatArray:
        w = np.maximum(w, 0.0)
        w += np.maximum(0.0, self.masses - w.sum(axis=0)) / len(w)
        return w * (self.masses / w.sum(axis=0))
