"""Pictures of what a fit, a test or a path found, as scikit-learn style displays.

A display holds numbers and draws them when asked: ``from_estimator`` or ``from_result`` takes them,
``plot(ax=None)`` draws and returns the display, with the axes and the artists as attributes. Displays ask
for attributes and not for classes, so that a model from elsewhere with the same attributes will do.
Drawing needs the extra ``plot``.
"""

from minimaxrisk.inspection.bounds import BoundPathDisplay, RadiusChoiceDisplay, WorstCaseDistributionDisplay
from minimaxrisk.inspection.errors import ErrorComparisonDisplay, PermutationTestDisplay
from minimaxrisk.inspection.features import SelectedFeaturesDisplay, SelectedValuesDisplay, StabilityDisplay

__all__ = [
    "BoundPathDisplay",
    "ErrorComparisonDisplay",
    "PermutationTestDisplay",
    "RadiusChoiceDisplay",
    "SelectedFeaturesDisplay",
    "SelectedValuesDisplay",
    "StabilityDisplay",
    "WorstCaseDistributionDisplay",
]
