"""Bounds as they are printed: an upper one rounded up, a lower one down, so that the sentence is true."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext


def at_most(value: float, spec: str = ".4f") -> str:
    """``format(value, spec)`` rounded up: what is printed is no smaller than the value."""
    return _rounded(value, spec, ROUND_CEILING)


def at_least(value: float, spec: str = ".4f") -> str:
    """``format(value, spec)`` rounded down: what is printed is no larger than the value."""
    return _rounded(value, spec, ROUND_FLOOR)


def outward(low: float, high: float, spec: str) -> tuple[str, str]:
    """Both ends of an interval rounded away from each other: what is printed contains it."""
    return at_least(low, spec), at_most(high, spec)


def percent(confidence: float) -> str:
    """A confidence with all its digits, never rounded up: 99.5% is not 100%."""
    return f"{at_least(100.0 * confidence, '.10g')}%"


def _rounded(value: float, spec: str, rounding: str) -> str:
    if not math.isfinite(value):
        return format(value, spec)
    # Digits after the twelfth are noise of floating point: 1 - 0.85 is 0.15000000000000002, and a bound of
    # 0.15 is not 0.1501. Of large numbers those that are not in the shortest text are noise as well.
    number = round(Decimal(repr(float(value))), 12) + 0  # of which -0 becomes 0
    with localcontext() as context:
        context.rounding = rounding
        text = format(number, spec)
    # Of a Decimal "g" keeps the zeros at the end.
    return format(float(text), spec) if spec.endswith("g") else text
