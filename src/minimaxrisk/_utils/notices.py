"""Warnings about fits: one for each, and none from fits of which there are many, but for a class that
cross-validation loses, which would otherwise end as a low score without a word.

Silence is a context variable. Python's warning filters are global to the process, and changing them
temporarily from several threads can leave them changed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from types import FrameType
from weakref import WeakSet

from sklearn.exceptions import ConvergenceWarning

from minimaxrisk.exceptions import (
    CoverageWarning,
    FarFromZeroWarning,
    FewSamplesWarning,
    LargeFitWarning,
    OutOfBagWarning,
    UnderfitWarning,
)

# Modules between the line of the user and the line that warns: what calls fit for the user is among them.
BETWEEN = ("minimaxrisk.", "sklearn.", "joblib.", "contextlib")
# Where scikit-learn fits one model of many: on folds, on other labels, or one member of an ensemble.
MANY_FITS = (
    "sklearn.calibration",
    "sklearn.ensemble._bagging",
    "sklearn.ensemble._weight_boosting",
    "sklearn.feature_selection._rfe",
    "sklearn.model_selection._validation",
    "sklearn.multiclass",
    "sklearn.multioutput",
)
# The same, in a module that fits on all samples as well.
MANY_FITS_BY_NAME = ("_fit_and_score_over_thresholds",)
# What cross-validates the model that the user has, if the user calls it: one of its folds speaks for all.
CROSS_VALIDATIONS = ("cross_validate", "cross_val_predict", "cross_val_score")
FIT_ON_FOLD = ("_fit_and_score", "_fit_and_predict")
ABOUT_FITS = (
    CoverageWarning,
    ConvergenceWarning,
    FarFromZeroWarning,
    FewSamplesWarning,
    OutOfBagWarning,
    UnderfitWarning,
)

Remark = tuple[str, type[Warning]]

_loops_told: WeakSet[object] = WeakSet()
_silenced: ContextVar[frozenset[type[Warning]]] = ContextVar("silenced", default=frozenset())
_remarks: ContextVar[list[Remark] | None] = ContextVar("remarks", default=None)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called this package, unless the category is silenced.

    Within ``one_warning`` the message becomes part of that one; except for a ``LargeFitWarning``, which
    is of use before the work.
    """
    if is_silenced(category):
        return
    remarks = _remarks.get()
    if remarks is None or category is LargeFitWarning:
        warnings.warn(message, category, stacklevel=_level_of_caller())
    else:
        remarks.append((message, category))


def is_silenced(category: type[Warning]) -> bool:
    return category in _silenced.get()


@contextmanager
def one_warning() -> Iterator[None]:
    """Within it a fit says all that it has to say in one warning, at the end; within another one, in that.

    It says nothing where scikit-learn fits many models. A search that fits the best again says it then; with
    several processes each of them would repeat it. Of the folds of a cross-validation in this process the
    first that loses a class says so.
    """
    if _remarks.get() is not None:
        yield
        return
    many, loop = _many_fits()
    if many and (loop is None or loop in _loops_told):
        with silenced(*ABOUT_FITS):
            yield
        return
    unheard = [category for category in ABOUT_FITS if category is not UnderfitWarning] if many else []
    remarks: list[Remark] = []
    token = _remarks.set(remarks)
    try:
        with silenced(*unheard):
            yield
    finally:
        _remarks.reset(token)
    # A filter is about one kind of remark, and the others are to be heard.
    remarks = [each for each in remarks if _action(*each) != "ignore"]
    if remarks:
        category = _together(tuple(dict.fromkeys(category for _, category in remarks)))
        text = " Also: ".join(message for message, _ in remarks)
        if loop is not None:
            _loops_told.add(loop)
        warnings.warn(text, category, stacklevel=_level_of_caller())


@cache
def _together(categories: tuple[type[Warning], ...]) -> type[Warning]:
    """A kind of warning that filters take for each of these."""
    kinds = [one for one in categories if not any(one in other.__mro__[1:] for other in categories)]
    name = "And".join(kind.__name__.removesuffix("Warning") for kind in kinds)
    return kinds[0] if len(kinds) == 1 else type(f"{name}Warning", tuple(kinds), {})


def _action(message: str, category: type[Warning]) -> str | None:
    """What the first of Python's filters about such a warning asks for; by default there is none."""
    for action, text, kind, module, _ in warnings.filters:
        if issubclass(category, kind) and module is None and (text is None or text.match(message)):
            return action
    return None


def _level_of_caller() -> int:
    """The ``stacklevel`` of the line that called this package, for the calling function."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(BETWEEN):
        level, frame = level + 1, frame.f_back
    return level


def _many_fits() -> tuple[bool, object | None]:
    """Whether scikit-learn calls for one of many fits; and if these are the folds of one cross-validation in
    this process, and nothing between, what runs them.
    """
    names, loop, are_folds, outermost = [], None, True, ""  # the function that the user called
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if module.startswith(MANY_FITS) or name in MANY_FITS_BY_NAME:
            names.append(name)
            are_folds &= module == "sklearn.model_selection._validation"
            loop = frame.f_locals.get("parallel") if name in CROSS_VALIDATIONS[:2] else loop
        if module.startswith("sklearn.") and not module.startswith("sklearn.utils."):
            outermost = name
        frame = frame.f_back
    are_folds &= sum(name in FIT_ON_FOLD for name in names) == 1 and outermost in CROSS_VALIDATIONS
    return bool(names), loop if are_folds else None


@contextmanager
def silenced(*categories: type[Warning]) -> Iterator[None]:
    """Within it ``warn`` ignores these categories."""
    token = _silenced.set(_silenced.get() | set(categories))
    try:
        yield
    finally:
        _silenced.reset(token)


def quiet_fits() -> AbstractContextManager[None]:
    """For loops of fits whose caller does not need warnings about single fits."""
    return silenced(*ABOUT_FITS, LargeFitWarning)
