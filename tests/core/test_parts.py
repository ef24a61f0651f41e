"""Copies of estimators, and parts of the samples that they are fitted on."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskKernelClassifier,
    PredictionSets,
    compare,
    error_bound,
    permutation_test,
)
from minimaxrisk.analysis.cross_validation import cross_validated_error
from minimaxrisk.datasets import make_expression
from minimaxrisk.samples.parts import groups_for_fit

GAMMA = 0.002


class Theirs(ClassifierMixin, BaseEstimator):
    """Another library's classifier, with parameters of the same names."""

    def __init__(self, certify=True, callback="theirs", verbose=3, deterministic=False, coding="one-hot"):
        self.certify, self.callback, self.verbose = certify, callback, verbose
        self.deterministic, self.coding = deterministic, coding

    def fit(self, X, y, groups=None):
        assert (self.certify, self.callback, self.verbose, self.deterministic) == (True, "theirs", 3, False)
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def decision_function(self, X):
        return X[:, 0] - X[:, 0].mean()

    def predict_proba(self, X):
        share = (self.decision_function(X) > 0.0).astype(float)
        return np.column_stack([1.0 - share, share])

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


@pytest.fixture(scope="module")
def study():
    return make_expression(60, 100, effect=1.0, random_state=0)


@pytest.mark.parametrize("wrap", [lambda one: one, lambda one: make_pipeline(StandardScaler(), one)])
def test_parameters_of_other_libraries_are_left_alone(study, wrap):
    X, y = study.data, study.target
    PredictionSets(wrap(Theirs()), cv=2).fit(X, y)
    cross_validated_error(wrap(Theirs()).fit(X, y), X, y, n_folds=2)
    error_bound(wrap(Theirs()), X, y, random_state=0)


def test_groups_go_to_another_library_whatever_its_coding():
    groups, y = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    assert groups_for_fit(Theirs(), groups, y) is groups
    assert groups_for_fit(MinimaxRiskClassifier(coding="one-hot"), groups, y) is None


PAIRS = [
    (SVC(kernel="precomputed"), SVC(gamma=GAMMA)),
    (MinimaxRiskKernelClassifier("precomputed"), MinimaxRiskKernelClassifier("rbf", gamma=GAMMA)),
]
as_pairs = pytest.mark.parametrize(("given", "computed"), PAIRS, ids=["theirs", "ours"])


@pytest.fixture(scope="module")
def kernel(study):
    return rbf_kernel(study.data, gamma=GAMMA)


@as_pairs
@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist])
def test_a_kernel_computed_before_gives_the_same_sets(study, kernel, given, computed, form):
    X, y = study.data, study.target
    of_kernel = PredictionSets(given, cv=4, random_state=0).fit(form(kernel), y)
    of_columns = PredictionSets(computed, cv=4, random_state=0).fit(X, y)
    np.testing.assert_allclose(of_kernel.left_out_.scores, of_columns.left_out_.scores, atol=1e-6)
    np.testing.assert_array_equal(of_kernel.predict_set(kernel), of_columns.predict_set(X))


@as_pairs
def test_a_kernel_computed_before_gives_the_same_errors(study, kernel, given, computed):
    X, y = study.data, study.target
    by_kernel, by_columns = compare({"it": given}, kernel, y), compare({"it": computed}, X, y)
    np.testing.assert_array_equal(by_kernel.errors, by_columns.errors)
    scores = cross_val_score(PredictionSets(given, cv=2, random_state=0), kernel, y, cv=2)
    np.testing.assert_array_equal(
        scores, cross_val_score(PredictionSets(computed, cv=2, random_state=0), X, y, cv=2)
    )


def test_a_kernel_computed_before_gives_the_same_cross_validated_error(study, kernel):
    given, computed = PAIRS[1]
    by_kernel = cross_validated_error(given.fit(kernel, study.target), kernel, study.target, n_folds=4)
    by_columns = cross_validated_error(
        computed.fit(study.data, study.target), study.data, study.target, n_folds=4
    )
    np.testing.assert_allclose(by_kernel.fold_errors, by_columns.fold_errors, atol=1e-6)


def test_a_kernel_computed_before_is_permuted_without_samples_of_weight_zero(study, kernel):
    used = np.arange(60) >= 4
    model, y = PAIRS[1][0], study.target
    found = permutation_test(model, kernel, y, 3, sample_weight=used.astype(float), random_state=0)
    alone = permutation_test(model, kernel[used][:, used], y[used], 3, random_state=0)
    np.testing.assert_allclose(found.null_distribution, alone.null_distribution, atol=1e-6)


@as_pairs
def test_a_bound_refuses_a_kernel_computed_before(study, kernel, given, computed):
    with pytest.raises(ValueError, match="precomputed"):
        error_bound(given.fit(kernel, study.target), kernel, study.target)
