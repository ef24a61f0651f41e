"""Simulated texts: what they are said to be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk.datasets import make_text


def test_words_follow_their_topics():
    text = make_text(4000, 50, mean_length=30.0, informative_share=0.3, positive=0.3, random_state=0)
    X, y = text.data, text.target
    assert sparse.issparse(X)
    assert X.format == "csr"
    assert X.indices.dtype == np.int32
    assert X.shape == (4000, 50)
    assert y.mean() == pytest.approx(0.3, abs=0.03)
    counts = np.exp(X.toarray() - 1.0) * (X.toarray() > 0)
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    assert counts.sum(axis=1).mean() == pytest.approx(30.0, abs=0.3)
    assert counts.sum(axis=1).min() >= 1.0
    for k in (0, 1):
        words = counts[y == k].sum(axis=0)
        np.testing.assert_allclose(words / words.sum(), text.topics[k], atol=0.004)
    # Only informative words differ between topics, but for the constant that makes probabilities of them.
    others = np.setdiff1d(np.arange(50), text.informative)
    ratio = text.topics[0, others] / text.topics[1, others]
    np.testing.assert_allclose(ratio, ratio[0])
    assert 0 < len(text.informative) < 50
    zipf = text.topics[0, others] * (others + 20.0)
    np.testing.assert_allclose(zipf, zipf[0])
    assert len(text.feature_names) == 50
    assert text.feature_names[7] == "word_07"


def test_seeds_and_small_tables():
    one, two = make_text(20, 30, random_state=3), make_text(20, 30, random_state=3)
    assert (one.data != two.data).nnz == 0
    np.testing.assert_array_equal(one.target, two.target)
    assert set(make_text(2, 1, positive=0.001, random_state=0).target) == {0, 1}
    assert make_text(10, 5, mean_length=0.01, random_state=0).data.sum(axis=1).min() >= 1.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_samples": 1}, "n_samples must be at least 2"),
        ({"n_features": 0}, "n_features at least 1"),
        ({"mean_length": 0.0}, "mean_length must be a positive number, got 0.0"),
        ({"mean_length": np.inf}, "mean_length must be a positive number"),
        ({"informative_share": 1.1}, r"informative_share must lie in \[0, 1\], got 1.1"),
        ({"effect": np.nan}, "effect must be a finite number"),
        ({"positive": 1.0}, "positive must lie strictly between 0 and 1"),
    ],
)
def test_what_can_go_wrong(wrong, message):
    with pytest.raises(ValueError, match=message):
        make_text(**wrong)
