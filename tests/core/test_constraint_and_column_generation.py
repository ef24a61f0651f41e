"""MRC-CCG against the program with all samples, sets of labels and features."""

from __future__ import annotations

import pytest
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
    return MinimaxRiskClassifier(solver=ConstraintAndColumnGeneration(**own), **parameters).fit(
        *TABLES[table]
    )


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("n_max", [30, 400])
def test_it_ends_within_its_tolerance_of_the_whole_program(table, n_max):
    whole = MinimaxRiskClassifier(solver=FullLP()).fit(*TABLES[table]).worst_case_error_
    model = fitted(table, n_max=n_max)
    assert model.converged_
    assert model.worst_case_error_lower_ - 1e-9 <= whole <= model.worst_case_error_ + 1e-9
    # What is added to epsilon_1 is the share of the features, epsilon_2 times the size of the coefficients.
    assert model.worst_case_error_ <= whole + 1.1e-2
    assert verify(model, *TABLES[table]).valid


def test_the_last_round_is_told():
    with pytest.warns(ConvergenceWarning, match="stopped at k_max=1 with an optimality gap of"):
        MinimaxRiskClassifier(solver=ConstraintAndColumnGeneration(n_max=5, k_max=1)).fit(*TABLES["wide"])
