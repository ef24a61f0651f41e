"""Plots of what a fit, a test or a path found, in the style of scikit-learn's displays.

A display holds numbers. ``from_estimator`` or ``from_result`` collects them; ``plot(ax=None)`` draws them
and returns the display, with ``ax_``, ``figure_``, and in ``artists_`` what was drawn. Estimators may stand
alone, at the end of a pipeline or in a search. Drawing needs the extra ``plot``.
"""

from minimaxrisk.inspection.bounds import BoundPathDisplay, WorstCaseDistributionDisplay
from minimaxrisk.inspection.errors import ErrorComparisonDisplay, FeatureCountDisplay, PermutationTestDisplay
from minimaxrisk.inspection.features import SelectedFeaturesDisplay, SelectedValuesDisplay, StabilityDisplay

__all__ = [
    "BoundPathDisplay",
    "ErrorComparisonDisplay",
    "FeatureCountDisplay",
    "PermutationTestDisplay",
    "SelectedFeaturesDisplay",
    "SelectedValuesDisplay",
    "StabilityDisplay",
    "WorstCaseDistributionDisplay",
]
