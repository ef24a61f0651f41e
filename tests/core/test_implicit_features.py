"""Float32 without a copy: the answers of the container are those of the float64 copy."""

import numpy as np
import pytest

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.matrices import dense
from minimaxrisk.matrices.standardised import Standardised


@pytest.fixture
def no_copies(monkeypatch):
    monkeypatch.setattr(dense, "LARGE", 0)


def a_study(rng, n=30, d=70, n_classes=2, order="C"):
    """Repeated rows, a constant column, weights of zero, columns of all sizes."""
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 30.0, d) + rng.uniform(-50.0, 50.0, d)
    X[:, 5], X[7] = 3.0, X[3]
    y = np.arange(n) % n_classes
    X[y == 1, :4] += 20.0
    weights = rng.integers(0, 3, n).astype(float)
    weights[:6] = 1.0
    return np.asarray(X, dtype=np.float32, order=order), y, weights


@pytest.mark.parametrize("coding", ["signed", "one-hot"])
@pytest.mark.parametrize("marginal", ["free", "empirical"])
def test_a_fit_is_the_same(no_copies, coding, marginal):
    """And all that is reported on the way holds, though passes are rough at first."""
    for seed in range(4):
        X, y, weights = a_study(np.random.default_rng(seed), n=40, d=200)
        model = MinimaxRiskClassifier(coding=coding, marginal=marginal)
        copied = model.fit(X.astype(np.float64), y, weights).worst_case_error_
        plain = model.fit(X, y, weights)
        assert plain.worst_case_error_ == pytest.approx(copied, abs=1e-9)
        assert plain.converged_
        for record in plain.history_:
            assert record["lower"] <= copied + 1e-12
            assert record["upper"] >= copied - 1e-12


@pytest.mark.filterwarnings("ignore::minimaxrisk.exceptions.FarFromZeroWarning")
def test_constants_are_not_too_many_columns_far_from_zero():
    """Centred once they leave something, and whether they vary is seen when they are read again."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((500, 200)), np.arange(500) % 2
    X[:, :5] += y[:, None]
    X[:, 100:] = rng.standard_normal(100) * 10.0 ** rng.integers(-5, 15, 100)
    far = X.copy()
    far[:, :3] += 1e14
    X[:, :3] = far[:, :3] - 1e14
    found, expected = (MinimaxRiskClassifier(copy=each).fit(far, y) for each in (False, True))
    plain = MinimaxRiskClassifier().fit(X, y)
    for each in (found, expected):
        assert each.worst_case_error_ == pytest.approx(plain.worst_case_error_, abs=1e-9)
        np.testing.assert_array_equal(each.selected_features_, plain.selected_features_)


def test_what_was_proven_roughly_does_not_count(no_copies, monkeypatch):
    """Passes that are wrong by a fifth lead astray, but nothing that they say is reported."""
    correlate = Standardised.correlate_on_device

    def misleading(self, v, *, roughly=False, alike=False):
        return (0.8 if roughly else 1.0) * correlate(self, v, roughly=roughly, alike=alike)

    monkeypatch.setattr(Standardised, "correlate_on_device", misleading)
    X, y, _ = a_study(np.random.default_rng(0), n=40, d=200)
    exact = MinimaxRiskClassifier().fit(X.astype(np.float64), y).worst_case_error_
    misled = MinimaxRiskClassifier().fit(X, y)
    assert misled.worst_case_error_ == pytest.approx(exact, abs=1e-7)
    assert all(record["lower"] <= exact + 1e-12 for record in misled.history_)
