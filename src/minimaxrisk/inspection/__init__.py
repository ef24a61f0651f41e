"""Pictures of what a fit, a test or a path found, as scikit-learn style displays.

A display holds numbers and draws them when asked: ``from_estimator`` or ``from_result`` takes them,
``plot(ax=None)`` draws and returns the display, with the axes and the artists as attributes. Displays ask
for attributes and not for classes, so that a model from elsewhere with the same attributes will do.
Drawing needs the extra ``plot``.
"""

from minimaxrisk.inspection.bound_path import BoundPathDisplay
from minimaxrisk.inspection.error_comparison import ErrorComparisonDisplay
from minimaxrisk.inspection.permutation import PermutationTestDisplay
from minimaxrisk.inspection.radius_choice import RadiusChoiceDisplay
from minimaxrisk.inspection.selected_features import SelectedFeaturesDisplay
from minimaxrisk.inspection.selected_values import SelectedValuesDisplay
from minimaxrisk.inspection.selection_frequencies import StabilityDisplay
from minimaxrisk.inspection.worst_case import WorstCaseDistributionDisplay

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
