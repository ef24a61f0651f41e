"""Warnings about fits, and a way to keep them out of the library's own loops.

Loops of fits ask for silence through a context variable. Python's own filters belong to the whole process,
and changing them for a while from several threads can leave them changed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sklearn.exceptions import ConvergenceWarning


class UninformativeRadiusWarning(UserWarning):
    """A plain number as radius that is too small for all true means at once: R* is a score, not a bound."""


class CoverageWarning(UserWarning):
    """The sample visibly breaks an assumption under which a radius rule has its coverage."""


class LargeFitWarning(UserWarning):
    """A fit that is about to begin takes an hour or more, or more memory than there is."""


RADIUS_WARNINGS = frozenset({UninformativeRadiusWarning, CoverageWarning})

_silenced: ContextVar[frozenset[type[Warning]]] = ContextVar("silenced", default=frozenset())


def warn(message: str, category: type[Warning], stacklevel: int) -> None:
    """``warnings.warn``, unless a loop has asked for silence about this category."""
    if category not in _silenced.get():
        warnings.warn(message, category, stacklevel=stacklevel + 1)


@contextmanager
def _without(categories: frozenset[type[Warning]]) -> Iterator[None]:
    token = _silenced.set(_silenced.get() | categories)
    try:
        yield
    finally:
        _silenced.reset(token)


@contextmanager
def without_radius_warnings() -> Iterator[None]:
    """For loops of fits whose caller has been told already, or knows."""
    with _without(RADIUS_WARNINGS):
        yield


@contextmanager
def quiet_fits() -> Iterator[None]:
    """For fits whose convergence is their caller's business too."""
    with _without(RADIUS_WARNINGS | {ConvergenceWarning, LargeFitWarning}):
        yield
