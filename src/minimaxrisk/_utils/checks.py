"""What kind of value an argument is, and refusals of what several functions refuse alike."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_missing(value: Any) -> bool:
    """None, NaN, or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124  NaN alone differs from itself
    except (TypeError, ValueError):
        return True  # pandas' NA refuses to be a truth value


def check_confidence(confidence: Any) -> None:
    if not (is_number(confidence) and 0.0 < confidence < 1.0):
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}.")


def check_n_folds(n_folds: Any) -> None:
    if not (is_integer(n_folds) and n_folds >= 2):
        raise ValueError(f"n_folds must be an integer of at least 2, got {n_folds!r}.")


def check_positive_integer(argument: str, value: Any) -> None:
    if not (is_integer(value) and value >= 1):
        raise ValueError(f"{argument} must be a positive integer, got {value!r}.")
