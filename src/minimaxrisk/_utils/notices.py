"""Warnings about fits, and a way to silence them in the library's own loops of fits.

Silence is a context variable. Python's warning filters are global to the process, and changing them
temporarily from several threads can leave them changed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from types import FrameType

from sklearn.exceptions import ConvergenceWarning

from minimaxrisk.exceptions import (
    CoverageWarning,
    LargeFitWarning,
    OutOfBagWarning,
    UninformativeRadiusWarning,
)

SEARCHES = "sklearn.model_selection."
# Modules between the caller and the line that warns: this package, and scikit-learn's wrappers of fit.
BETWEEN = ("minimaxrisk.", "sklearn.base", "sklearn.callback.")
RADIUS_WARNINGS = (UninformativeRadiusWarning, CoverageWarning)

_told_in_searches: set[tuple[str, int, int, type[Warning]]] = set()
_told: set[type[Warning]] = set()
_silenced: ContextVar[frozenset[type[Warning]]] = ContextVar("silenced", default=frozenset())


def warn(message: str, category: type[Warning], *, in_searches: str | None = None) -> None:
    """Warn at the line that called this package, unless the category is silenced.

    With ``in_searches`` it is a remark on what was asked for rather than on the data, and a process is told
    once, unless the user has a filter for it, which is obeyed. Searches and cross-validations of scikit-learn
    fit many times, with different numbers in each message. There the message is ``in_searches`` instead, at
    the line that called the search. Python's own record of warnings is reset whenever scikit-learn changes
    filters, so it cannot be used for "once".
    """
    if category in _silenced.get():
        return
    if in_searches is not None and not _has_filter(message, category):
        if category in _told:
            return
        _told.add(category)
    caller = _caller_of_search(sys._getframe(1)) if in_searches is not None else None
    if in_searches is None or caller is None:
        warnings.warn(message, category, stacklevel=_level_of_caller())
        return
    place = (caller.f_code.co_filename, caller.f_lineno, id(caller), category)
    if place not in _told_in_searches:
        _told_in_searches.add(place)
        name = caller.f_globals.get("__name__")
        warnings.warn_explicit(in_searches, category, *place[:2], module=name)


def _has_filter(message: str, category: type[Warning]) -> bool:
    """Whether one of Python's filters is about such a warning; by default there is none."""
    return any(
        issubclass(category, kind) and (text is None or text.match(message))
        for _, text, kind, *_ in warnings.filters
    )


def _level_of_caller() -> int:
    """The ``stacklevel`` of the line that called this package, for the calling function."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(BETWEEN):
        level, frame = level + 1, frame.f_back
    return level


def _caller_of_search(frame: FrameType | None) -> FrameType | None:
    """The frame that called the outermost search or cross-validation; in a worker process its first frame."""
    outermost = None
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(SEARCHES):
            outermost = frame
        frame = frame.f_back
    while outermost is not None and outermost.f_back is not None:
        if not str(outermost.f_globals.get("__name__", "")).startswith("sklearn."):
            break
        outermost = outermost.f_back
    return outermost


@contextmanager
def silenced(*categories: type[Warning]) -> Iterator[None]:
    """Within it ``warn`` ignores these categories."""
    token = _silenced.set(_silenced.get() | set(categories))
    try:
        yield
    finally:
        _silenced.reset(token)


def without_radius_warnings() -> AbstractContextManager[None]:
    """For loops of fits whose R* is not reported, or whose caller has been warned."""
    return silenced(*RADIUS_WARNINGS)


def quiet_fits() -> AbstractContextManager[None]:
    """For loops of fits whose caller does not need warnings about single fits."""
    return silenced(*RADIUS_WARNINGS, ConvergenceWarning, LargeFitWarning, OutOfBagWarning)
