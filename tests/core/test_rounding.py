"""Bounds are printed on the safe side: "at most" never below the value, "at least" never above it."""

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minimaxrisk import MinimaxRiskClassifier, error_bound
from minimaxrisk._utils.rounding import at_least, at_most, outward, percent
from minimaxrisk.datasets import make_expression

# What floating point may be off.
NOISE = 1e-12
NUMBER = r"\d+(?:\.\d+)?(?:e[+-]\d+)?"
UNITS = {".4f": 1e-4, ".3f": 1e-3, ".2f": 1e-2, ".1%": 1e-3, ".2%": 1e-4}


def as_number(text):
    return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)


@pytest.mark.parametrize(
    ("value", "spec", "up", "down"),
    [
        (0.27961517, ".4f", "0.2797", "0.2796"),
        (1.0 - 0.21802, ".4f", "0.7820", "0.7819"),
        (0.9996, ".3g", "1", "0.999"),
        (0.123456, ".1%", "12.4%", "12.3%"),
        (150.2, ".3g", "151", "150"),
        (float("inf"), ".6f", "inf", "inf"),
        # As they are: short decimals, and what floating point makes of them.
        (0.15, ".4f", "0.1500", "0.1500"),
        (1.0 - 0.85, ".2f", "0.15", "0.15"),
        (1.0 - 0.05, ".3g", "0.95", "0.95"),
        (0.1 + 0.2, ".1%", "30.0%", "30.0%"),
        (np.float64(0.5), ".4f", "0.5000", "0.5000"),
        (1.0, ".3g", "1", "1"),
        (0.0, ".4f", "0.0000", "0.0000"),
        (-1e-16, ".4f", "0.0000", "0.0000"),
    ],
)
def test_an_upper_bound_is_rounded_up_and_a_lower_one_down(value, spec, up, down):
    assert (at_most(value, spec), at_least(value, spec)) == (up, down)
    assert outward(value, value, spec) == (down, up)


@given(value=st.floats(0.0, 1.0), spec=st.sampled_from(sorted(UNITS)))
@example(value=0.8500000000000001, spec=".2f")
@example(value=0.29, spec=".2%")
def test_a_rounded_bound_is_true_close_and_stays(value, spec):
    for rounded, side in ((at_most, 1.0), (at_least, -1.0)):
        text = rounded(value, spec)
        moved = side * (as_number(text) - value)
        assert -NOISE <= moved < UNITS[spec] + NOISE
        assert rounded(as_number(text), spec) == text


@given(value=st.floats(1e-6, 1e6), n_digits=st.integers(1, 6))
def test_significant_digits_are_true_as_well(value, n_digits):
    spec, noise = f".{n_digits}g", NOISE + 1e-12 * value
    low, high = (float(text) for text in outward(value, value, spec))
    assert low - noise <= value <= high + noise
    assert high - low <= 10.0 ** (1 - n_digits) * high * (1.0 + 1e-9)
    assert float(at_most(high, spec)) == high
    assert float(at_least(low, spec)) == low


@given(st.floats(0.5, 1.0 - 1e-11))
@example(0.9999999999)
@example(0.99999999999)
def test_only_certainty_is_printed_as_certainty(confidence):
    assert float(at_least(confidence, ".3g")) < 1.0
    assert percent(confidence) != "100%"


# ---- what is printed of bounds


def values_of(bound):
    """Every upper bound that is stored in a bound, and every lower one."""
    upper = [bound.value] + [one.value for one in bound.per_class]
    lower = [1.0 - one.value for one in bound.per_class] + list(bound.predictive_values.values())
    return upper, [*lower, bound.confidence]


@pytest.mark.parametrize("prevalence", [None, {0: 0.9, 1: 0.1}])
@pytest.mark.parametrize("seed", range(4))
def test_no_printed_bound_claims_more_than_was_shown(seed, prevalence):
    study = make_expression(90 + 7 * seed, 20, effect=1.0, n_informative=4, random_state=seed)
    X, y, confidence = study.data, study.target, 0.9996 if seed % 2 else 0.95
    model = MinimaxRiskClassifier(radius=1.0)
    bound = error_bound(model, X, y, prevalence=prevalence, confidence=confidence, random_state=0)
    text, (upper, lower) = str(bound), values_of(bound)
    text = text.replace(bound.evidence, "")  # its numbers are counts

    claims = {"most": [float(each) for each in re.findall(rf"at most ({NUMBER})", text)]}
    claims["least"] = [float(each) for each in re.findall(rf"at least ({NUMBER})", text)]
    claims["most"] += [float(each) for each in re.findall(rf"^  ({NUMBER})  ", text, flags=re.MULTILINE)]
    assert len(claims["most"]) >= 2
    assert claims["least"]
    for claim in claims["most"]:
        assert any(0.0 <= claim - value < 1e-4 + NOISE for value in upper), claim
    for claim in claims["least"]:
        assert any(-NOISE <= value - claim < 1e-3 + NOISE for value in lower), claim
