"""verify and worst_case."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
from scipy import sparse

import reference
from minimaxrisk import MinimaxRiskClassifier, verify, worst_case
from minimaxrisk.datasets import make_expression
from minimaxrisk.guarantees import worst_case as worst_case_module
from minimaxrisk.solvers import ConstraintGeneration
from problems import changed_a_little


def test_other_data_are_not_certified(wide):
    X, y = wide
    model = MinimaxRiskClassifier().fit(X, y)
    assert not verify(model, X[::-1], y).valid
    assert not verify(model, X + 1e-3 * X**2, y).valid
    assert not verify(model, X[:-1], y[:-1]).valid


def loss_extremes(X, y, model, rule):
    """Largest and smallest expected loss over the set, by SciPy on the whole program."""
    h = model.predict_proba(X) if rule == "randomized" else model.predict(X)[:, None] == model.classes_
    labels = np.searchsorted(model.classes_, y)
    Phi = reference.phi_vectors(reference.scaled_columns(X), len(model.classes_), model.coding_)
    tau, lam = reference.tau_and_lambda(Phi, labels, model.radius_)
    largest = reference.largest_loss(1.0 - h, Phi, tau, lam)
    return largest, -reference.largest_loss(h - 1.0, Phi, tau, lam)


@pytest.mark.parametrize("rule", ["randomized", "predict"])
@pytest.mark.parametrize("binary", [True, False])
def test_worst_cases_are_the_extremes_over_the_set(wide, rule, binary):
    X, y = wide
    X = X[:, :60]
    if binary:
        X, y = X[y != "gamma"], y[y != "gamma"]
    model = MinimaxRiskClassifier(moderation=0).fit(X, y)
    largest, smallest = loss_extremes(X, y, model, rule)
    bounds = worst_case(model, X, y, rule=rule)
    assert bounds.upper == pytest.approx(largest, abs=1e-7)
    assert bounds.lower == pytest.approx(smallest, abs=1e-7)
    assert 0 <= bounds.upper_gap < 1e-6
    assert 0 <= bounds.lower_gap < 1e-6
    if rule == "randomized":
        assert bounds.upper == pytest.approx(model.worst_case_error_, abs=1e-6)
    else:
        assert bounds.upper <= 2.0 * model.worst_case_error_ + 1e-9


COARSE = ConstraintGeneration(epsilon=0.1, n_max=2)


@pytest.fixture
def generated(monkeypatch):
    """Without the interior point the bounds come from constraint generation, to the model's tolerance."""
    monkeypatch.setattr(worst_case_module, "largest_loss", lambda *problem, **settings: None)


@pytest.fixture
def coarse(generated, monkeypatch):
    """It leaves large violations."""
    monkeypatch.setattr(worst_case_module, "EPSILON", COARSE.epsilon)


@pytest.mark.parametrize("rule", ["randomized", "predict"])
def test_worst_cases_hold_however_coarse_the_tolerance(wide, rule, coarse):
    """The two sides of each program are apart, and what is reported are the sides that are proven."""
    X, y = wide
    X = X[:, :60]
    model = MinimaxRiskClassifier(solver=COARSE, moderation=0).fit(X, y)
    largest, smallest = loss_extremes(X, y, model, rule)
    bounds = worst_case(model, X, y, rule=rule)
    assert bounds.upper - bounds.upper_gap + 1e-3 < largest <= bounds.upper + 1e-9
    assert bounds.lower - 1e-9 <= smallest < bounds.lower + bounds.lower_gap - 1e-3


def test_worst_cases_are_those_of_predict_where_scores_tie():
    rng = np.random.default_rng(8)
    y = np.concatenate([[0, 1], rng.integers(0, 2, 10)])
    X = rng.choice([-2.0, 0.0, 2.0], (12, 4))
    model = MinimaxRiskClassifier().fit(X, y)
    largest, smallest = loss_extremes(X, y, model, "predict")
    bounds = worst_case(model, X, y, rule="predict")
    assert bounds.upper == pytest.approx(largest, abs=1e-7)
    assert bounds.lower == pytest.approx(smallest, abs=1e-7)


@pytest.mark.filterwarnings("ignore::minimaxrisk.exceptions.FarFromZeroWarning")
@pytest.mark.parametrize("offset", [1 / 3, 1e7])
def test_sparse_columns_far_from_zero_are_certified(offset):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = np.arange(30) % 2
        X = np.column_stack([offset + rng.standard_normal((30, 8)) + y[:, None], np.full(30, offset)])
        model = MinimaxRiskClassifier(coding="one-hot").fit(sparse.csr_array(X), y)
        assert verify(model, sparse.csr_array(X), y).valid
        assert 8 not in model.selected_features_
        assert model.worst_case_error_ == pytest.approx(
            MinimaxRiskClassifier(coding="one-hot").fit(X, y).worst_case_error_, abs=1e-7
        )


# What the solver did on its way: no data can confirm it, and no claim rests on it.
HISTORY = {"converged_", "history_", "n_passes_", "solver_"}
# Checked as the data come in, with scikit-learn's own errors.
OF_THE_COLUMNS = {"feature_names_in_", "n_features_in_"}
# What is said of the others begins with their names.
FOUND_BY = {"classes_": "the labels are", "coef_": "threshold_", "intercept_": "threshold_"}


@pytest.mark.parametrize("radius", [1.0, "bootstrap"])
@pytest.mark.parametrize("marginal", ["free", "empirical"])
def test_every_attribute_that_was_changed_by_hand_is_found(radius, marginal):
    study = make_expression(40, 200, n_informative=5, effect=2.0, correlation=0.9, random_state=0)
    estimator = MinimaxRiskClassifier(radius=radius, marginal=marginal, random_state=3)
    model = estimator.fit(study.data, study.target)
    assert verify(model, study.data, study.target).valid
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert {"coverage_", "lambda_", "selected_features_", "radius_seed_", "stages_"} <= fitted
    # The seed matters to the draws alone, the stages to those who look at them.
    for name in sorted(fitted - HISTORY - OF_THE_COLUMNS - {"radius_seed_", "stages_"}):
        other = copy(model)
        setattr(other, name, changed_a_little(getattr(model, name)))
        certificate = verify(other, study.data, study.target)
        assert not certificate.valid, name
        assert certificate.problems[0].startswith(FOUND_BY.get(name, name)), name
