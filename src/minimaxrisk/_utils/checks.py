"""What kind of value an argument is."""

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
