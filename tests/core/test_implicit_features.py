"""Float32 without a copy: the answers of the container are those of the float64 copy."""

import tracemalloc

import numpy as np
import pytest

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier
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


@pytest.fixture
def wide_float32(monkeypatch):
    """As many entries as float64 is copied at, which float32 is not."""
    random = np.random.default_rng(0)
    X, y = random.standard_normal((160, 50_000), dtype=np.float32), np.arange(160) % 2
    X[y == 1, :20] += 1.0
    monkeypatch.setattr(dense, "LARGE", X.size)
    return X, y


def peak_of(function):
    tracemalloc.start()
    found = function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found, peak


@pytest.mark.filterwarnings("ignore:.* seen by all members")
def test_memory_of_a_fit_and_of_an_ensemble(wide_float32):
    """Less than X beside it: a float64 copy would be twice as large."""
    X, y = wide_float32
    plain, peak = peak_of(lambda: MinimaxRiskClassifier().fit(X, y))
    assert peak < 0.6 * X.nbytes
    copied, peak = peak_of(lambda: MinimaxRiskClassifier(copy=True).fit(X, y))
    assert peak > 2.0 * X.nbytes
    assert plain.worst_case_error_ == pytest.approx(copied.worst_case_error_, abs=1e-9)
    # A member's part holds four fifths of the rows. The ball reads blocks that are as large as this X.
    ensemble = MinimaxRiskEnsembleClassifier(n_estimators=2, ball=False, random_state=0)
    fitted, peak = peak_of(lambda: ensemble.fit(X, y))
    assert peak < 1.2 * X.nbytes
    assert fitted.worst_case_error_ < 0.5
