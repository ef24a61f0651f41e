"""What one function copes with, refuses or tells, those do that are used in its place."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    PredictionSets,
    compare,
    error_bound,
    permutation_test,
)
from minimaxrisk.analysis.cross_validation import cross_validated_error
from minimaxrisk.datasets import make_expression
from minimaxrisk.exceptions import CoverageWarning
from minimaxrisk.solvers import InteriorPoint

STUDY = make_expression(60, 40, effect=1.5, random_state=0)
X, Y = STUDY.data, STUDY.target
PATIENTS = np.repeat([f"P{i}" for i in range(20)], 3)
THREE = np.tile(["a", "b", "c"], 20)  # of each patient a sample of every class
PAIRS, OF_PAIRS = np.repeat(np.arange(30), 2), np.tile([0, 1], 30)

# A model, labels, and groups with samples of several classes, for which its fit has no radii.
MIXED = {
    "classifier": (MinimaxRiskClassifier(), THREE, PATIENTS),
    "search": (MinimaxRiskClassifierCV(radii=[1.0, 2.0]), THREE, PATIENTS),
    "ensemble": (
        MinimaxRiskEnsembleClassifier(n_estimators=6, random_state=0, certify=True),
        THREE,
        PATIENTS,
    ),
    "one-hot pairs": (MinimaxRiskClassifier(coding="one-hot"), OF_PAIRS, PAIRS),
    "one-hot search": (
        MinimaxRiskClassifierCV(MinimaxRiskClassifier(coding="one-hot"), radii=[1.0, 2.0]),
        OF_PAIRS,
        PAIRS,
    ),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MIXED)
def test_errors_on_left_out_groups_need_no_radii_of_groups(name):
    model, labels, groups = MIXED[name]
    with pytest.raises(ValueError, match="have radii for two classes and coding='signed' alone"):
        model.fit(X, labels, groups=groups)
    assert 0.0 < error_bound(model, X, labels, groups=groups, random_state=0).value <= 1.0
    assert compare({"ours": model}, X, labels, groups=groups).errors.shape == (1, 5)
    fitted = model.fit(X, labels)
    assert cross_validated_error(fitted, X, labels, n_folds=3, groups=groups).fold_errors.shape == (2, 3)
    sets = PredictionSets(model, random_state=0)
    with pytest.warns(CoverageWarning, match="radii and R\\* of estimator_ count samples and not groups"):
        sets.fit(X, labels, groups=groups)
    assert sets.predict_set(X).shape == (60, len(np.unique(labels)))


def test_groups_that_a_fit_takes_reach_it():
    """Matched pairs of two classes: the differences within pairs decide, and not the samples."""
    model = MinimaxRiskClassifier()
    found = PredictionSets(model, random_state=0).fit(X, OF_PAIRS, groups=PAIRS).estimator_
    paired, unpaired = (model.fit(X, OF_PAIRS, groups=groups).lambda_.copy() for groups in (PAIRS, None))
    np.testing.assert_array_equal(found.lambda_, paired)
    assert not np.array_equal(paired, unpaired)


def test_weights_that_tell_the_label_are_told_wherever_labels_are_permuted():
    weights = np.where(Y == 0, 1.0, 3.0)
    with pytest.warns(UserWarning, match="p-value means nothing, since sample_weight depends on the label"):
        permutation_test(MinimaxRiskClassifier(), X, Y, 5, sample_weight=weights, random_state=0)


@pytest.mark.parametrize(
    "model",
    [
        MinimaxRiskClassifier(solver=InteriorPoint(max_iter=1)),
        MinimaxRiskClassifier(solver=InteriorPoint(max_seconds=1e-9)),
    ],
)
def test_a_permutation_test_tells_where_its_solver_stopped(model):
    with pytest.warns(ConvergenceWarning, match=r"stopped where R\* is known within .* not within gap_tol"):
        found = permutation_test(model, X, Y, 5, random_state=0)
    assert found.gap_tol > 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = permutation_test(MinimaxRiskClassifier(), X, Y, 5, random_state=0)
    assert found.gap_tol == 1e-3
