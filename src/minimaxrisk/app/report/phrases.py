"""Numbers and names as they are written in sentences."""

from __future__ import annotations

import unicodedata
from typing import Any

from minimaxrisk._utils.arrays import IntArray
from minimaxrisk._utils.rounding import percent


def isolate(name: str) -> str:
    """Text from the data inside a sentence; right-to-left names must not turn the words around them."""
    is_rtl = any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in name)
    return f"\u2068{name}\u2069" if is_rtl else name


def quoted(name: str) -> str:
    """A name that might be read as a word of the sentence."""
    return f"“{isolate(name)}”"


def unbroken(value: Any) -> Any:
    """``R* = 0.117`` stays on one line: spaces between a symbol and its value do not break."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return value.replace(" = ", "\u00a0=\u00a0").replace("R*: ", "R*:\u00a0")
    return value


def share(value: float) -> str:
    """An error or another probability."""
    return f"{value:.3f}"


def count(value: int, one: str) -> str:
    """``1,234 samples``."""
    return f"{value:,} {one}{'s' * (value != 1)}"


def none_or(value: int) -> str:
    """A number of samples or permutations in a sentence."""
    return "none" if value == 0 else f"{value:,}"


def misclassified(n_wrong: int, n: int) -> str:
    """What cross-validation counted."""
    return f"{none_or(n_wrong)} of {n:,} left-out samples {'was' if n_wrong < 2 else 'were'} misclassified"


def sure_or_not(counts: IntArray, confidence: float) -> str:
    """What became of left-out samples, by class and kind of their sets."""
    right, wrong, unsure, unlike = (none_or(int(n)) for n in counts.sum(axis=0))
    return (
        f"of {int(counts.sum()):,} left-out samples {right} sure and right, {wrong} sure and wrong, {unsure} "
        f"unsure, {unlike} unlike all classes, at {percent(confidence)}"
    )


def clipping(limit: float) -> str:
    """What a ``ClippedScaler`` did to the values."""
    return f"in robust standard deviations from the median of the column, clipped at ±{limit:g}"


def capital(text: str) -> str:
    """With a capital letter first, as a sentence begins."""
    return f"{text[0].upper()}{text[1:]}"


def p_value(value: float) -> str:
    return f"{value:.2g}"


def shortened(name: str, limit: int = 22) -> str:
    """For the axis of a figure. Cut in the middle, since long names often differ at the end."""
    if len(name) <= limit:
        return name
    return f"{name[: limit // 2]}…{name[-(limit - 1 - limit // 2) :]}"


def listed(words: list[str]) -> str:
    """``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def rounded(value: float) -> str:
    """Two digits of a large number, for what is known roughly."""
    digits = max(0, len(str(int(value))) - 2)
    return f"{round(value, -digits):,.0f}"
