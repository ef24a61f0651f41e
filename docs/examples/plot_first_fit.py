"""
A first fit
===========

A classifier on a simulated study, and the features that it selects.
"""

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.datasets import make_expression
from minimaxrisk.inspection import SelectedFeaturesDisplay

study = make_expression(60, 200, random_state=0)
model = MinimaxRiskClassifier(radius="bootstrap").fit(study.data, study.target)
SelectedFeaturesDisplay.from_estimator(model, max_features=10).plot()
