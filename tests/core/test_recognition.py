"""Training samples among new ones: how many are recognized, rightly and wrongly, on real data."""

from __future__ import annotations

import numpy as np
import pytest

from minimaxrisk.analysis.recognition import sketched
from minimaxrisk.datasets import make_expression


def _rounded(X, share):
    step = share * np.median(X.std(axis=0))
    return np.round(X / step) * step


def test_rounded_samples_are_recognized():
    study = make_expression(60, 300, effect=1.5, random_state=0)
    X, X_new = study.data, study.law.sample(200, random_state=1)[0]
    sketches = sketched(X)
    assert sketches.recognize(np.vstack([X.round(1), X_new])).tolist() == [True] * 60 + [False] * 200
    assert not sketches.recognize(np.full((1, 300), 1e300)).any()


def test_what_has_no_sketches():
    X = np.random.default_rng(0).standard_normal((20, 100))
    assert sketched(X) is not None
    for few in (X[:, :63], X[:9], np.repeat(X, 2, axis=0), np.maximum(X - 0.5, 0.0)):
        assert sketched(few) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Arcene", "Colon", "GLIOMA", "Leukemia", "MLL", "Prostate_GE", "TOX_171"])
def test_halves_of_real_data(real_data, name):
    X, _ = real_data(name)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(X))
        train, others = np.array_split(X[order], 2)
        sketches = sketched(train)
        assert not sketches.recognize(others).any()
        assert sketches.recognize(_rounded(train, 0.1)).mean() > 0.95
