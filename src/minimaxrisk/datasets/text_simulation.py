"""Simulated texts: many sparse columns, two topics whose word probabilities are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, check_random_state

from minimaxrisk._utils.arrays import FloatArray

# Zipf's law in Mandelbrot's form, 1 / (rank + shift): without the shift a few words would fill every text.
RANK_SHIFT = 20.0


def make_text(
    n_samples: int = 2000,
    n_features: int = 20_000,
    *,
    mean_length: float = 80.0,
    informative_share: float = 0.1,
    effect: float = 1.0,
    positive: float = 0.5,
    random_state: Any = None,
) -> Bunch:
    """Simulate texts of two topics as a sparse table of words.

    Words have Zipf-like probabilities, ``1 / (rank + 20)`` up to a constant. Each topic has its own share of
    informative words, whose probabilities it multiplies by ``exp(effect * z)`` with standard normal z. A text
    is a Poisson number of independent draws from the words of its topic, and at least one.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of texts.
    n_features : int, default=20_000
        Number of words.
    mean_length : float, default=80.0
        Mean of the Poisson number of draws per text.
    informative_share : float, default=0.1
        Probability that a topic makes a word more or less frequent.
    effect : float, default=1.0
        How much: the standard deviation of the logarithm of the factor.
    positive : float, default=0.5
        Probability of topic 1.
    random_state : int, RandomState instance or None, default=None
        Seed; an int gives the same texts every time.

    Returns
    -------
    Bunch
        With ``data`` (CSR array of ``1 + log(count)`` where a word occurs), ``target`` (0 or 1),
        ``feature_names``, ``informative`` (sorted column indices) and ``topics``, the word probabilities of
        the two topics (2 x n_features).

    Examples
    --------
    >>> from minimaxrisk.datasets import make_text
    >>> texts = make_text(100, 1000, random_state=0)
    >>> texts.data.shape
    (100, 1000)
    """
    if n_samples < 2 or n_features < 1:
        raise ValueError(
            f"n_samples must be at least 2 and n_features at least 1, got {n_samples} and {n_features}."
        )
    if not (np.isfinite(mean_length) and mean_length > 0.0):
        raise ValueError(f"mean_length must be a positive number, got {mean_length}.")
    if not 0.0 <= informative_share <= 1.0:
        raise ValueError(f"informative_share must lie in [0, 1], got {informative_share}.")
    if not np.isfinite(effect):
        raise ValueError(f"effect must be a finite number, got {effect}.")
    if not 0.0 < positive < 1.0:
        raise ValueError(f"positive must lie strictly between 0 and 1, got {positive}.")
    random = check_random_state(random_state)
    is_informative = random.random_sample((2, n_features)) < informative_share
    topics = _topics(effect * random.standard_normal((2, n_features)) * is_informative)
    y = (random.random_sample(n_samples) < positive).astype(np.intp)
    if y.min() == y.max():
        y[0] = 1 - y[0]
    length = np.maximum(random.poisson(mean_length, n_samples), 1)
    X = sparse.vstack([_counts(length[y == k], topics[k], random) for k in (0, 1)], format="csr")
    X.data = 1.0 + np.log(X.data)
    # Back to the order of the labels: texts of topic 0 came first.
    X = X[np.argsort(np.argsort(y, kind="stable"))]
    width = len(str(n_features - 1))
    names = np.array([f"word_{j:0{width}d}" for j in range(n_features)], dtype=object)
    return Bunch(
        data=X,
        target=y,
        feature_names=names,
        informative=np.flatnonzero(is_informative.any(axis=0)),
        topics=topics,
    )


def _topics(log_factors: FloatArray) -> FloatArray:
    """Word probabilities, one row per topic."""
    log_p = log_factors - np.log(np.arange(log_factors.shape[1]) + RANK_SHIFT)
    p: FloatArray = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def _counts(length: Any, topic: FloatArray, random: Any) -> sparse.csr_array:
    """How often each word occurs in texts of the given lengths.

    Indices of 32 bits: some learners of scikit-learn refuse larger ones.
    """
    words = random.choice(len(topic), int(length.sum()), p=topic).astype(np.int32)
    text = np.repeat(np.arange(len(length), dtype=np.int32), length)
    return sparse.csr_array((np.ones(len(words)), (text, words)), shape=(len(length), len(topic)))
