"""scikit-learn's own checks, for every estimator and each way to compute."""

from __future__ import annotations

import re

import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    MinimaxRiskSelector,
    PredictionSets,
)
from minimaxrisk.solvers import ConstraintGeneration

# Two copies of a sample could get into both halves of a pair, which would no longer be independent.
NOT_TWICE_THE_ROW = "whoever draws parts of the samples takes a sample of weight 2 as one sample"


def expected_failures(estimator):
    draws_parts = isinstance(estimator, MinimaxRiskEnsembleClassifier)
    if not (draws_parts or getattr(estimator, "stability", False)):
        return {}
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": NOT_TWICE_THE_ROW for kind in kinds}


# Of a class the first is checked in full; it is one that is fitted fast. The checks are about the interface,
# where two fits meet the same code as the fifty that a user would have.
ESTIMATORS = [
    MinimaxRiskClassifier(),
    MinimaxRiskClassifier(solver="full-lp"),
    MinimaxRiskClassifier(solver="first-order", gap_tol=0.05),
    # Each setting is a step of its own: one looks at the columns, one at the labels, one is the engine's.
    MinimaxRiskClassifier(
        solver=ConstraintGeneration(initial_features="first-order"), coding="one-hot", standardize=False
    ),
    MinimaxRiskClassifierCV(radii=[0.5, 1.0], cv=2),
    MinimaxRiskEnsembleClassifier(
        MinimaxRiskClassifier(marginal="empirical"),
        n_estimators=2,
        subsample=0.5,
    ),
    MinimaxRiskEnsembleClassifier(n_estimators=3, subsample=0.5),
    MinimaxRiskKernelClassifier(),
    MinimaxRiskSelector(),
    MinimaxRiskSelector(MinimaxRiskClassifier(radius=0.5), max_features=1),
    MinimaxRiskSelector(stability=True, n_subsamples=2),
    ClippedScaler(),
    # At this confidence no class is too small, which would be said.
    PredictionSets(RidgeClassifier(), confidence=0.5, cv=2),
    PredictionSets(
        MinimaxRiskEnsembleClassifier(n_estimators=3, subsample=0.5, random_state=0), confidence=0.5
    ),
]

# The first estimator of a class stands for the others of it here: one function makes numbers of what comes,
# whatever the parameters, and engines ask a container of features, never the matrix that came. The others
# still fit sparse data with weights; the rest of theirs is among the slow tests.
SAME_AGAIN = (
    # The matrix: its container, its type, its order in memory, what is wrong with it.
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_classifiers_train",
    "check_classifiers_train(readonly_memmap=True,X_dtype=float32)",
    "check_classifier_data_not_an_array",
    "check_transformer_data_not_an_array",
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_estimators_nan_inf",
    "check_f_contiguous_array_estimator",
    "check_fit2d_predict1d",
    "check_n_features_in_after_fitting",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    # Labels and weights.
    "check_classifiers_classes",
    "check_supervised_y_2d",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
)


def name_of(check):
    arguments = ",".join(f"{name}={value}" for name, value in getattr(check, "keywords", {}).items())
    return getattr(check, "func", check).__name__ + (f"({arguments})" if arguments else "")


def every_check():
    seen = set()
    for estimator in ESTIMATORS:
        failing, its_name = expected_failures(estimator), re.sub(r"\s", "", str(estimator))
        for one, check in estimator_checks_generator(estimator, mark=None):
            name = name_of(check)
            marks = []
            if name in failing:
                marks.append(pytest.mark.xfail(reason=failing[name]))
            if name in SAME_AGAIN and type(estimator) in seen:
                marks.append(pytest.mark.slow)
            yield pytest.param(one, check, marks=marks, id=f"{its_name}-{name}")
        seen.add(type(estimator))


@pytest.mark.parametrize(("estimator", "check"), list(every_check()))
# The array API check skips itself unless an environment variable of SciPy is set.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
# scikit-learn's checks fit one or two columns of noise, where a selector may rightly keep none.
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@pytest.mark.filterwarnings("ignore:no column was selected:UserWarning")
# Of three members it happens that none leaves a sample out.
@pytest.mark.filterwarnings("ignore:.*seen by all members:UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)
