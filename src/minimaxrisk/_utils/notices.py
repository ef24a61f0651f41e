"""Warnings about fits, and a way to keep them out of the library's own loops.

Loops of fits ask for silence through a context variable. Python's own filters belong to the whole process,
and changing them for a while from several threads can leave them changed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

from sklearn.exceptions import ConvergenceWarning

from minimaxrisk.exceptions import CoverageWarning, LargeFitWarning, UninformativeRadiusWarning

SEARCHES = "sklearn.model_selection."
# What stands between a caller and the line that warns: this package, and the wrappers that scikit-learn puts
# around fit.
BETWEEN = ("minimaxrisk.", "sklearn.base", "sklearn.callback.")
RADIUS_WARNINGS = frozenset({UninformativeRadiusWarning, CoverageWarning})

_told_in_searches: set[tuple[str, int, int, type[Warning]]] = set()
_silenced: ContextVar[frozenset[type[Warning]]] = ContextVar("silenced", default=frozenset())


def warn(message: str, category: type[Warning], *, in_searches: str | None = None) -> None:
    """A warning about the line that called this package, unless a loop has asked for silence about such.

    Searches and cross-validations of scikit-learn fit many times, with numbers of their own in each message.
    There ``in_searches`` is said instead, once, of the line that called the search. Python itself forgets
    what it has shown whenever scikit-learn changes filters.
    """
    if category in _silenced.get():
        return
    caller = _caller_of_search(sys._getframe(1)) if in_searches is not None else None
    if in_searches is None or caller is None:
        warnings.warn(message, category, stacklevel=_level_of_caller())
        return
    place = (caller.f_code.co_filename, caller.f_lineno, id(caller), category)
    if place not in _told_in_searches:
        _told_in_searches.add(place)
        name = caller.f_globals.get("__name__")
        warnings.warn_explicit(in_searches, category, *place[:2], module=name)


def _level_of_caller() -> int:
    """Where the line is that called this package, as ``stacklevel`` in the function that asks."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(BETWEEN):
        level, frame = level + 1, frame.f_back
    return level


def _caller_of_search(frame: FrameType | None) -> FrameType | None:
    """Who called the outermost search or cross-validation; in a worker process that is its first frame."""
    outermost = None
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(SEARCHES):
            outermost = frame
        frame = frame.f_back
    while outermost is not None and outermost.f_back is not None and _is_sklearn(outermost):
        outermost = outermost.f_back
    return outermost


def _is_sklearn(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("sklearn.")


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
