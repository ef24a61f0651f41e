"""scikit-learn's own checks, for every estimator and each way to compute."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from minimaxrisk import (
    ClippedScaler,
    L1SVMClassifier,
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskSelector,
    RandomFourierFeatures,
)

# Two copies of a sample could get into both halves of a pair, which would no longer be independent.
NOT_TWICE_THE_ROW = "whoever draws parts of the samples takes a sample of weight 2 as one sample"


def expected_failures(estimator):
    draws_parts = isinstance(estimator, MinimaxRiskEnsembleClassifier)
    if not (draws_parts or getattr(estimator, "stability", False)):
        return {}
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": NOT_TWICE_THE_ROW for kind in kinds}


@parametrize_with_checks(
    [
        MinimaxRiskClassifier(),
        MinimaxRiskClassifier(solver="full-lp"),
        MinimaxRiskClassifier(solver="first-order", gap_tol=0.05),
        MinimaxRiskClassifier(coding="one-hot", initial_features="first-order"),
        MinimaxRiskClassifier(standardize=False),
        MinimaxRiskClassifierCV(radii=[0.5, 1.0], cv=3),
        MinimaxRiskClassifierCV(radii=[0.5, 1.0], criterion="noise-floor", n_permutations=2, random_state=0),
        L1SVMClassifier(),
        L1SVMClassifier(0.5, solver="full-lp", standardize=False),
        MinimaxRiskEnsembleClassifier(n_estimators=20, subsample=0.5),
        MinimaxRiskEnsembleClassifier(
            MinimaxRiskClassifier(marginal="empirical"),
            n_estimators=4,
            subsample=0.5,
            complementary=True,
        ),
        MinimaxRiskSelector(),
        MinimaxRiskSelector(L1SVMClassifier()),
        MinimaxRiskSelector(MinimaxRiskClassifier(radius=0.5), max_features=1),
        MinimaxRiskSelector(stability=True, n_subsamples=4),
        RandomFourierFeatures(random_state=0),
        ClippedScaler(),
    ],
    expected_failed_checks=expected_failures,
)
# The array API check skips itself unless an environment variable of SciPy is set.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
# scikit-learn's checks fit one or two columns of noise, where a selector may rightly keep none.
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@pytest.mark.filterwarnings("ignore:no column was selected:UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)
