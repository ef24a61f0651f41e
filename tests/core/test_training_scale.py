"""How often new samples are said to be on another scale, rightly and wrongly, on real data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline

from minimaxrisk import MinimaxRiskClassifier, training_scale
from minimaxrisk.checks.training_scale import EXCHANGED
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


@pytest.fixture(scope="module")
def simulated():
    """The scale of a study in base-2 logarithms, and new samples of the same law."""
    study = make_expression(100, 200, effect=1.5, random_state=0)
    model = MinimaxRiskClassifier().fit(study.data, study.target)
    return training_scale(model, study.data, study.target), study.law.sample(40, random_state=1)[0]


def test_exchanged_names_of_columns(simulated):
    scale, X_new = simulated
    exchanged = X_new[:, np.random.default_rng(0).permutation(X_new.shape[1])]
    assert scale.compare(X_new).agrees
    found = scale.compare(exchanged)
    assert found.whole
    assert found.looks_like == EXCHANGED
    assert scale.compare(sparse.csr_matrix(exchanged)).looks_like == EXCHANGED
    assert all(scale.compare(X_new[[i]]).agrees for i in range(len(X_new)))
    with pytest.raises(ValueError, match="X must have the 200 columns of the training data, got shape"):
        scale.compare(X_new[:, :5])


def test_exchanged_names_are_not_looked_for_where_means_hardly_differ():
    """Those of many samples are known well, and a few samples are still unlike them by chance."""
    rng = np.random.default_rng(0)
    y, levels = np.arange(800) % 2, rng.normal(0.0, 0.1, 100)
    X, X_new = (rng.standard_normal((n, 100)) + levels for n in (800, 5))
    X[y == 1, :5] += 1.0
    assert training_scale(MinimaxRiskClassifier().fit(X, y), X, y).compare(X_new).agrees


@pytest.mark.parametrize(("shift", "words"), [(3.0, "+3 in every column"), (5.0, "+5 in"), (-3.0, "-3 in")])
def test_shifted_logarithms(simulated, shift, words):
    scale, X_new = simulated
    assert words in scale.compare(X_new + shift).statement
    assert "in every column" in scale.compare(X_new[:2] + shift).statement


def test_a_shift_that_no_single_sample_shows():
    """Noise between samples hides it in each, and not in many columns together."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    levels = rng.uniform(2.0, 14.0, 300)
    X, X_new = (levels + rng.normal(0.0, 1.0, (60, 300)) for _ in range(2))
    X[y == 1, :40] += np.where(np.arange(40) % 2, 2.0, -2.0)
    scale = training_scale(MinimaxRiskClassifier().fit(X, y), X, y)
    assert scale.compare(X_new).agrees
    assert not scale.compare(X_new[:1] + 1.5).whole
    assert "+1.5 in every column" in scale.compare(X_new + 1.5).statement


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_of_several_samples_together(real_data, name):
    """Parts of five of the other half, at random and of one class, and the half with names exchanged."""
    X, y = real_data(name)
    rng = np.random.default_rng(0)
    for train, test in StratifiedShuffleSplit(4, test_size=0.5, random_state=0).split(X, y):
        scale = training_scale(MinimaxRiskClassifier().fit(X[train], y[train]), X[train], y[train])
        parts = [rng.choice(test, 5, replace=False) for _ in range(20)]
        for label in np.unique(y):
            own = test[y[test] == label]
            parts += [rng.choice(own, 5, replace=False) for _ in range(10) if len(own) >= 5]
        assert not any(scale.compare(X[part]).whole for part in [test, *parts])
        for _ in range(5):
            exchanged = X[np.ix_(test, rng.permutation(X.shape[1]))]
            assert scale.compare(exchanged).looks_like == EXCHANGED


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


def test_missing_values_of_a_pipeline_are_to_be_filled_before():
    study = make_expression(60, 30, effect=1.5, random_state=0)
    X, y = study.data.copy(), study.target
    X[3, 4] = np.nan
    imputer, model = pipeline = make_pipeline(SimpleImputer(), MinimaxRiskClassifier()).fit(X, y)
    with pytest.raises(
        ValueError, match=r"missing values: pass before_scaling=X_filled.* compare new samples"
    ):
        training_scale(pipeline, X, y)
    filled = imputer.transform(X)
    found = training_scale(pipeline, X, y, before_scaling=filled)
    np.testing.assert_array_equal(found.means, training_scale(model, filled, y).means)
    assert found.compare(filled).agrees


def test_columns_with_names_are_in_the_order_of_the_training_data():
    pd, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    study = make_expression(40, 60, effect=1.5, random_state=0)
    frame = pd.DataFrame(study.data, columns=[f"g{j}" for j in range(60)])
    model = MinimaxRiskClassifier().fit(frame, study.target)
    scale = training_scale(model, frame, study.target)
    assert list(scale.feature_names) == list(frame)
    for right in (frame, study.data, frame.astype("Float64"), pyarrow.Table.from_pandas(frame)):
        assert scale.compare(right).agrees
    turned = frame[frame.columns[::-1]]
    for wrong in (turned, pyarrow.Table.from_pandas(turned)):
        with pytest.raises(ValueError, match=r"column 0 is 'g59' where they have 'g0'; pass X\[list\(scale"):
            scale.compare(wrong)
    assert scale.compare(turned[list(scale.feature_names)]).agrees
    without = training_scale(model, study.data, study.target)
    assert without.feature_names is None
    assert without.compare(turned) is not None
    with pytest.raises(ValueError, match="X must be a table of numbers"):
        scale.compare(np.full((2, 60), "a"))
