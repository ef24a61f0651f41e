"""MRC-CCG against the program with all samples, sets of labels and features."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning

from minimaxrisk import MinimaxRiskClassifier, verify
from minimaxrisk.datasets import make_expression, make_text
from minimaxrisk.solvers import ConstraintAndColumnGeneration, FullLP


def wide():
    study = make_expression(60, 300, effect=1.2, random_state=0)
    return study.data, study.target


def text():
    found = make_text(150, 200, random_state=0)
    return found.data, found.target


def some_digits():
    X, y = load_digits(return_X_y=True)
    return X[:100], y[:100]


TABLES = {
    "two classes": load_breast_cancer(return_X_y=True),
    "three classes": load_wine(return_X_y=True),
    "ten classes": some_digits(),
    "wide": wide(),
    "sparse": text(),
}


def fitted(table, **parameters):
    own = {"epsilon_1": parameters.pop("epsilon_1", 1e-2), "n_max": parameters.pop("n_max", 400)}
    return MinimaxRiskClassifier(ConstraintAndColumnGeneration(**own), **parameters).fit(*TABLES[table])


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("n_max", [30, 400])
def test_it_ends_within_its_tolerance_of_the_whole_program(table, n_max):
    whole = MinimaxRiskClassifier(FullLP()).fit(*TABLES[table]).worst_case_error_
    model = fitted(table, n_max=n_max)
    assert model.converged_
    assert model.worst_case_error_lower_ - 1e-9 <= whole <= model.worst_case_error_ + 1e-9
    # What is added to epsilon_1 is the share of the features, epsilon_2 times the size of the coefficients.
    assert model.worst_case_error_ <= whole + 1.1e-2
    assert verify(model, *TABLES[table]).valid


@pytest.mark.parametrize(
    "parameters", [{}, {"coding": "one-hot"}, {"marginal": "empirical"}, {"fit_intercept": False}]
)
@pytest.mark.parametrize("table", ["two classes", "sparse"])
def test_without_tolerance_it_is_exact(table, parameters):
    whole = MinimaxRiskClassifier(FullLP(), **parameters).fit(*TABLES[table])
    model = fitted(table, epsilon_1=0.0, n_max=50, **parameters)
    assert model.worst_case_error_ == pytest.approx(whole.worst_case_error_, abs=1e-4)
    assert model.worst_case_error_lower_ == pytest.approx(whole.worst_case_error_, abs=1e-4)


def test_empirical_masses_of_several_classes_and_repeated_rows():
    X, y = TABLES["three classes"]
    X, y = np.vstack([X, X[:60]]), np.concatenate([y, y[10:70]])  # some rows with other labels
    whole, model = (
        MinimaxRiskClassifier(each, marginal="empirical").fit(X, y)
        for each in (FullLP(), ConstraintAndColumnGeneration(epsilon_1=0.0))
    )
    assert model.worst_case_error_ == pytest.approx(whole.worst_case_error_, abs=1e-4)


def test_a_sparse_table_is_the_same_as_a_dense_one():
    X, y = TABLES["sparse"]
    assert sparse.issparse(X)
    solver = ConstraintAndColumnGeneration(epsilon_1=0.0, epsilon_2=0.0)
    few, dense = (MinimaxRiskClassifier(solver).fit(each, y) for each in (X, X.toarray()))
    assert few.worst_case_error_ == pytest.approx(dense.worst_case_error_, abs=1e-7)


def test_programs_grow_by_what_is_violated():
    """A few features and samples at a time take more programs to the same end."""
    model = fitted("wide", n_max=20)
    sizes = [record["n_features"] for record in model.history_]
    assert sizes[0] == 20
    assert (np.diff(sizes) <= 20).all()
    assert sizes[-1] < 300
    assert len(fitted("wide").history_) < len(sizes)


def test_the_last_round_is_told():
    with pytest.warns(ConvergenceWarning, match="stopped at k_max=1 with an optimality gap of"):
        MinimaxRiskClassifier(ConstraintAndColumnGeneration(n_max=5, k_max=1)).fit(*TABLES["wide"])
