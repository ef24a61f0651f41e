"""scikit-learn's own checks, for every estimator and each way to compute."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from minimaxrisk import L1SVMClassifier, MinimaxRiskClassifier, MinimaxRiskSelector, RandomFourierFeatures


@parametrize_with_checks(
    [
        MinimaxRiskClassifier(),
        MinimaxRiskClassifier(solver="full-lp"),
        MinimaxRiskClassifier(coding="one-hot", initial_features="first-order"),
        MinimaxRiskClassifier(standardize=False),
        L1SVMClassifier(),
        L1SVMClassifier(0.5, solver="full-lp", standardize=False),
        MinimaxRiskSelector(),
        MinimaxRiskSelector(L1SVMClassifier()),
        MinimaxRiskSelector(MinimaxRiskClassifier(radius=0.5), max_features=1),
        RandomFourierFeatures(random_state=0),
    ]
)
# The array API check skips itself unless an environment variable of SciPy is set.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
# scikit-learn's checks fit one or two columns of noise, where a selector may rightly keep none.
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)
