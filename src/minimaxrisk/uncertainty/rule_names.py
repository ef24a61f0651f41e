"""The radius rules that have a name, and what a report says of them.

Apart from the rules themselves, so that the command line knows the names before it imports what takes time.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NamedRule:
    """How a rule is called in a sentence, and what is said of its coverage if nothing speaks against it."""

    in_words: str
    coverage: str


NAMED_RULES = {
    "bootstrap": NamedRule(
        "a multiplier bootstrap", "That is an approximation, which the sample does not visibly contradict."
    ),
    "bonferroni": NamedRule(
        "a union bound", "That is exact for normal features, and cautious for correlated ones."
    ),
}
