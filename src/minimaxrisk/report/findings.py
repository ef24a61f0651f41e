"""Everything that the report says, as numbers; ``gathering`` computes them, others word and draw them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minimaxrisk.analysis.cross_validation import CrossValidatedError
from minimaxrisk.guarantees.error_statement import BestGuarantee
from minimaxrisk.inspection import (
    BoundPathDisplay,
    ErrorComparisonDisplay,
    PermutationTestDisplay,
    SelectedValuesDisplay,
    WorstCaseDistributionDisplay,
)
from minimaxrisk.report.json_values import json_ready
from minimaxrisk.report.left_out import LeftOut
from minimaxrisk.report.rivals import Rivals
from minimaxrisk.report.summaries import (
    ClassSummary,
    DataSummary,
    FeatureTable,
    RadiusSummary,
    SuspectSample,
)
from minimaxrisk.report.volcano import Volcano


@dataclass(frozen=True)
class FitSummary:
    """The certified numbers of the fit."""

    lower: float
    upper: float
    certificate_valid: bool
    certificate_problems: tuple[str, ...]
    deterministic_bound: float
    argmax_bound: float
    n_selected: int
    coding: str
    solver: str
    converged: bool
    is_standardized: bool
    preparation: str | None  # what was done to the values before the classifier saw them, as words
    class_weight: str | None  # "balanced", "given", or None where samples count alike
    marginal: str  # "free" or "empirical"


@dataclass(frozen=True)
class Findings:
    """All numbers of a report; parts that were not computed are None, with the reason where there is one.

    ``gather_findings`` makes it. The parts are plain records; ``to_dict`` shows all that is in them.

    Attributes
    ----------
    data : DataSummary
        Samples, features, classes and their sizes.
    fit : FitSummary
        The certified bounds, whether they were confirmed, and how the model was found.
    radius : RadiusSummary
        How the radii were chosen, and whether they cover.
    settings : mapping of str to str
        Parameters of the classifier.
    features : FeatureTable
        The selected features, the most important first, with coefficients and contrasts of the classes.
    volcano : Volcano
        Differences between classes and their p-values, feature by feature.
    values : SelectedValuesDisplay
        Values of the selected features.
    history : BoundPathDisplay
        Bounds by iteration of the fit.
    path : BoundPathDisplay or None
        Bounds over radii around that of the model.
    path_skipped : str or None
        Why there is no path.
    permutation : PermutationTestDisplay or None
        R* with permuted labels.
    worst_case : WorstCaseDistributionDisplay
        Where the adversary puts its mass.
    suspects : tuple of SuspectSample
        Samples with weight on other labels in the worst case.
    classes : tuple of ClassSummary
        How the samples of each class fare.
    cross_validation : CrossValidatedError or None
        What models fitted without a fold did on it.
    cross_validation_skipped : str or None
        Why there are no folds.
    left_out : LeftOut or None
        Confusion, errors and ROC curves of left-out samples.
    comparison : ErrorComparisonDisplay or None
        The cross-validated error beside R*.
    rivals : Rivals or None
        Other classifiers on the same folds.
    rivals_skipped : str or None
        Why there are none although they were asked for.
    guarantee : BestGuarantee or None
        Bounds on the error for new samples, without the models that they are about.
    seconds : mapping of str to float
        What each part took.
    """

    data: DataSummary
    fit: FitSummary
    radius: RadiusSummary
    settings: Mapping[str, str]
    features: FeatureTable
    volcano: Volcano
    values: SelectedValuesDisplay
    history: BoundPathDisplay
    path: BoundPathDisplay | None
    path_skipped: str | None
    permutation: PermutationTestDisplay | None
    worst_case: WorstCaseDistributionDisplay
    suspects: tuple[SuspectSample, ...]
    classes: tuple[ClassSummary, ...]
    cross_validation: CrossValidatedError | None
    cross_validation_skipped: str | None
    left_out: LeftOut | None
    comparison: ErrorComparisonDisplay | None
    rivals: Rivals | None
    rivals_skipped: str | None
    guarantee: BestGuarantee | None
    seconds: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """All numbers as dictionaries and lists, ready for JSON.

        Returns
        -------
        dict
            Dictionaries, lists, numbers and strings; what is not finite becomes None.
        """
        numbers: dict[str, Any] = json_ready(self)
        return numbers
