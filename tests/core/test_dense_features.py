"""Scaling and moments of dense columns: quick formulas where they are accurate, careful ones elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from minimaxrisk._utils.stored_tables import as_table
from minimaxrisk.features import dense
from problems import distinct_instances


def class_moments_in_long_numbers(X, labels, *, centre):
    """Scaled columns, class means and standard deviations, from the definitions."""
    Z = X.astype(np.longdouble)
    if centre:
        Z = Z - Z.mean(axis=0)
    rms = np.sqrt(np.mean(Z**2, axis=0))
    Z = Z / np.where(rms > 0, rms, 1)
    groups = [Z[labels == k] for k in range(labels.max() + 1)]
    return Z, np.stack([g.mean(axis=0) for g in groups]), np.stack([g.std(axis=0) for g in groups])


def columns(kind, rng, labels):
    noise = rng.standard_normal((len(labels), 40))
    return {
        "plain": noise,
        "far from zero": noise + 1e9,
        "huge": 1e200 * noise,
        "tiny": 1e-170 * noise,
        "nearly the label": labels[:, None] + 1e-7 * noise,
        "one of each": np.column_stack([noise[:, :3], 1e200 * noise[:, 3:5], noise[:, 5:8] + 1e10]),
    }[kind]


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("piece", [dense.PIECE_ELEMENTS, 420], ids=["one piece", "pieces"])
@pytest.mark.parametrize(
    "kind", ["plain", "far from zero", "huge", "tiny", "nearly the label", "one of each"]
)
def test_moments_have_all_their_digits(kind, piece, standardize, monkeypatch):
    monkeypatch.setattr(dense, "PIECE_ELEMENTS", piece)
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    X = columns(kind, rng, labels)
    instances = distinct_instances(X, labels, np.ones(60), 3)
    features, moments, _ = dense.dense_features(
        as_table(X), instances, standardize=standardize, fit_intercept=False
    )
    Z, mean, deviation = class_moments_in_long_numbers(X, labels, centre=standardize)
    # Digits are lost where a mean that is large beside the spread is subtracted, or stays.
    long = X.astype(np.longdouble)
    lost = 1.0 + float(np.max(np.abs(long.mean(axis=0)) / long.std(axis=0)))
    accuracy = 1e-13 * lost
    np.testing.assert_allclose(features.values, Z[instances.rows].astype(float), atol=10 * accuracy)
    np.testing.assert_allclose(moments.mean, mean.astype(float), atol=accuracy)
    relative = 1e-9 if kind == "nearly the label" else 1e-11 * lost
    np.testing.assert_allclose(np.sqrt(moments.variance), deviation.astype(float), rtol=relative)
