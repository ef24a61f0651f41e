"""How often new samples are said to be on another scale, rightly and wrongly, on real data."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedShuffleSplit

from minimaxrisk import MinimaxRiskClassifier, training_scale
from minimaxrisk.datasets import make_expression

NAMES = ("Arcene", "Colon", "GLIOMA", "Leukemia", "MLL", "Prostate_GE", "TOX_171")
IN_LOGARITHMS = ("GLIOMA", "Prostate_GE")


def _logarithms(X, name):
    """Or their opposite; intensities that a scanner gives are cut off at 20 before, as usual."""
    return np.exp2(X) if name in IN_LOGARITHMS else np.log2(np.maximum(X, 20.0))


CHANGES = {
    "none": lambda X, name: X,
    "logarithms": _logarithms,
    "times 100": lambda X, name: 100.0 * X,
    "plus 5": lambda X, name: X + 5.0,
    "standardised": lambda X, name: (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0),
}


@pytest.mark.parametrize(
    ("factor", "expected"),
    [
        (np.log(2.0), "natural logarithms where the training data are base-2 ones"),
        (np.log10(2.0), "base-10 logarithms where the training data are base-2 ones"),
    ],
)
def test_logarithms_to_another_base(factor, expected):
    study = make_expression(100, 200, effect=1.5, random_state=0)
    model = MinimaxRiskClassifier(radius="bonferroni").fit(study.data, study.target)
    scale = training_scale(model, study.data, study.target)
    X_new, _ = study.law.sample(40, random_state=1)
    assert scale.compare(X_new).looks_like is None
    assert scale.compare(factor * X_new).looks_like == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_on_the_other_half(real_data, name):
    """By sample, each as if it came alone, and by file."""
    X, y = real_data(name)
    alone = {change: [] for change in CHANGES}
    for train, test in StratifiedShuffleSplit(4, test_size=0.5, random_state=0).split(X, y):
        scale = training_scale(MinimaxRiskClassifier().fit(X[train], y[train]), X[train], y[train])
        for change, apply in CHANGES.items():
            new = apply(X[test], name)
            alone[change] += [scale.compare(new[[i]]).whole for i in range(len(new))]
            is_harmless = change == "none" or (change == "plus 5" and name not in IN_LOGARITHMS)
            assert scale.compare(new).whole != is_harmless
    shares = {change: float(np.mean(found)) for change, found in alone.items()}
    assert shares["none"] <= 0.06
    assert min(shares[change] for change in ("logarithms", "times 100", "standardised")) > 0.98
    # Five units are many standard deviations of logarithms, and nothing to intensities of thousands.
    assert shares["plus 5"] > 0.98 if name in IN_LOGARITHMS else shares["plus 5"] <= 0.03
