"""What a container of training data answers, and what a solver may know about the container.

A container holds raw numbers: a matrix X of N rows and d columns that is neither centred nor scaled. Which of
the rows are instances, how columns are standardised and whether there is an intercept is the business of
``Standardised``, which wraps every container in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from scipy import sparse

from minimaxrisk._utils.arrays import FloatArray, IntArray

# A function of an array that works number by number, written in operators that all array libraries have.
Function: TypeAlias = Callable[[Any], Any]


class PassRates(NamedTuple):
    """Seconds that the two products of a first-order step take on one core, measured in memory."""

    latency: float = 0.0  # alone
    entry: float = 1e-9  # for each stored entry
    product: float = 3e-10  # for each stored entry and block


IN_MEMORY = PassRates()


@dataclass(frozen=True)
class MatrixHints:
    """What a solver may know about a container, beside its answers."""

    is_sparse: bool = False  # only entries that are not zero are stored
    can_share: bool = False  # problems on the same data are best solved together
    has_parts: bool = False  # parts of the rows are best read where the whole is
    has_rough_passes: bool = False  # products with weights in single precision take less time
    labellings_per_pass: int = 1  # how many labellings of the rows are best posed together
    drawn_elements: int = 1 << 21  # numbers held at a time where draws of weights are multiplied
    pass_rates: PassRates = IN_MEMORY


class Matrix(Protocol):
    """A matrix X of real numbers (N x d), known by seven operations.

    Results of ``left``, ``columns`` and ``reduce`` are where the data are, in this process or on a device, in
    float64. A new container inherits from this class and gives the operations that have no body here.
    """

    hints: MatrixHints = MatrixHints()

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def n_stored(self) -> int:
        """How many entries a pass reads."""
        return self.shape[0] * self.shape[1]

    def left(self, weights: Any, shift: Any | None = None, *, alike: bool = False) -> Any:
        """``weights (X - 1 shift')`` (R x d) in one pass, in the precision of the weights (R x N).

        With ``alike`` no row of the answer depends on the other rows of weights, to the last bit.
        """
        ...

    def right(self, coefficients: FloatArray, columns: IntArray, shift: FloatArray | None) -> FloatArray:
        """``coefficients (X[:, columns] - 1 shift')'`` (R x N); columns ascend."""
        ...

    def columns(self, indices: IntArray) -> Any:
        """Some columns as a new array (N x c), of a sparse matrix as a ``csc_array``."""
        ...

    def rows_at(self, indices: IntArray) -> FloatArray | sparse.csr_array:
        """Some rows in this process (r x d)."""
        ...

    def reduce(
        self, functions: Sequence[Function], weights: Any, shift: Any, factor: Any, *, alike: bool = False
    ) -> list[Any]:
        """``weights @ function((X - 1 shift') diag(factor))`` (R x d) for each function, in one pass."""
        ...

    def mix(self, shares: sparse.csr_array) -> Matrix | None:
        """``shares X``, each row of shares (u x N) summing to one; None where it is better taken anew."""
        return None

    def compact(self, rows: IntArray) -> Matrix | None:
        """A copy of some rows for many passes; None where these would not be faster."""
        return None

    def by_row(self) -> Matrix | None:
        """The same matrix in the form to choose rows from; None where that would not be faster."""
        return None

    def square_lengths(self, shift: FloatArray, factor: FloatArray) -> FloatArray | None:
        """The squared length of each row of ``(X - 1 shift') diag(factor)``; None where they are alike."""
        return None

    def pilot(self, weights: FloatArray) -> Any:
        """Something near the mean of each column, with these weights of the rows (N); one pass at most."""
        return self.left(self.on_device(weights[None]))[0, :]

    def on_device(self, values: FloatArray | IntArray) -> Any:
        """An array of this process, copied to where the data are."""
        return values


def slices_of(whole: slice, width: int) -> Iterator[slice]:
    """Parts of a slice, each of this width but for the last."""
    for start in range(whole.start, whole.stop, width):
        yield slice(start, min(start + width, whole.stop))
