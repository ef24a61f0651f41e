"""Class codings: how a label turns the instance features Psi(x) into Phi(x, y).

``Phi(x, y) = C[:, y] (x) Psi(x)`` with a coding matrix ``C`` of B rows and K columns.

* one-hot (the paper's eq. 1): ``B = K`` and ``C`` is the identity;
* signed, two classes only: ``B = 1`` and ``C = [1, -1]``, which the paper's binary experiments use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Coding:
    """A coding matrix ``C`` (B x K) and the name it goes by."""

    name: str
    matrix: FloatArray

    @property
    def n_blocks(self) -> int:
        """B, the number of copies of Psi(x) in Phi(x, y)."""
        return int(self.matrix.shape[0])

    @property
    def n_classes(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def classes_of_block(self) -> IntArray:
        """For each block the classes that it sees (B x classes per block)."""
        return np.array([np.flatnonzero(row) for row in self.matrix], dtype=np.intp)

    def encode(self, distribution: FloatArray) -> FloatArray:
        """``C w``: a distribution on labels x instances (K x n) as block weights (B x n)."""
        if self.name == "one-hot":
            return distribution
        return self.matrix @ distribution

    def scores(self, block_scores: FloatArray) -> FloatArray:
        """Scores ``Phi(x, y)' mu`` of every class (K x n) from those of the blocks (B x n)."""
        if self.name == "one-hot":
            return block_scores
        return self.matrix.T @ block_scores


def make_coding(name: str, n_classes: int) -> Coding:
    """The coding called ``name``; ``"auto"`` is signed for two classes and one-hot for more."""
    if name == "auto":
        name = "signed" if n_classes == 2 else "one-hot"
    if name == "signed":
        if n_classes != 2:
            raise ValueError(
                f"coding='signed' needs exactly 2 classes, got {n_classes}; "
                "use coding='one-hot' or coding='auto'."
            )
        return Coding("signed", np.array([[1.0, -1.0]]))
    if name == "one-hot":
        return Coding("one-hot", np.eye(n_classes))
    raise ValueError(f"coding must be 'auto', 'signed' or 'one-hot', got {name!r}.")
