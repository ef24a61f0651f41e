"""The uncertainty set: expectation estimates and how far to trust them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NamedRule:
    """The name of a rule in a sentence, and what is said of its coverage if the sample agrees with it."""

    in_words: str
    coverage: str


NAMED_RULES = {
    "bootstrap": NamedRule(
        "a multiplier bootstrap", "That is an approximation, which the sample does not visibly contradict."
    ),
}
