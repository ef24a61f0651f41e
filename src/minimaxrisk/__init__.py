"""Classifiers for few samples and very many features, with certified worst-case errors.

A minimax risk classifier makes the error smallest in the worst case over all distributions whose feature
means agree with the data within confidence bounds. It selects the features that matter, and its error has a
proof.

    >>> from minimaxrisk import MinimaxRiskEnsembleClassifier, error_bound
    >>> model = MinimaxRiskEnsembleClassifier(random_state=0).fit(X, y)  # doctest: +SKIP
    >>> print(error_bound(model, X, y))  # how often it errs at most, with 95% probability  # doctest: +SKIP

========================================  ====================================================================
``MinimaxRiskEnsembleClassifier``         errs least
``MinimaxRiskClassifier``                 one short rule, with R* and its certificate
``MinimaxRiskClassifierCV``               the shortest list that loses little
``MinimaxRiskKernelClassifier``           all columns, or a kernel
``MinimaxRiskSelector``                   columns for another learner
``ClippedScaler``                         tames outliers
``PredictionSets``                        labels that cannot be excluded, and probabilities
``error_bound``, ``permutation_test``     how often it errs at most; what noise would do
``reliable_features``                     how many features of a list are related to the class, at least
``evaluate``, ``cohort_size``             this model on samples that it has not seen; how many it takes
``verify``, ``worst_case``                check a certificate; bound another rule
``check_data``, ``check_batches``         data checks
``compare``, ``minimax_risk_path``        beside other classifiers; R* at all radii
========================================  ====================================================================
"""

# Names are imported when they are first used: scikit-learn takes a second, in which the command line must be
# able to stop without a traceback.

from importlib.metadata import version as _version
from typing import TYPE_CHECKING

from minimaxrisk._utils.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from minimaxrisk import analysis, checks, datasets, exceptions, guarantees, inspection, solvers
    from minimaxrisk.analysis.batches import check_batches
    from minimaxrisk.analysis.comparison import compare
    from minimaxrisk.analysis.data import check_data, training_scale
    from minimaxrisk.analysis.evaluation import evaluate
    from minimaxrisk.analysis.intervals import cohort_size
    from minimaxrisk.analysis.minimax_risk_path import minimax_risk_path
    from minimaxrisk.analysis.permutation_test import permutation_test
    from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
    from minimaxrisk.estimators.classifier_cv import MinimaxRiskClassifierCV
    from minimaxrisk.estimators.clipped_scaler import ClippedScaler
    from minimaxrisk.estimators.ensemble import MinimaxRiskEnsembleClassifier
    from minimaxrisk.estimators.kernel_classifier import MinimaxRiskKernelClassifier
    from minimaxrisk.estimators.prediction_sets import PredictionSets
    from minimaxrisk.estimators.selector import MinimaxRiskSelector
    from minimaxrisk.guarantees.error_bound import error_bound
    from minimaxrisk.guarantees.reliable_features import reliable_features
    from minimaxrisk.guarantees.verification import verify
    from minimaxrisk.guarantees.worst_case import worst_case

__version__ = _version("minimaxrisk")

__all__ = [
    "ClippedScaler",
    "MinimaxRiskClassifier",
    "MinimaxRiskClassifierCV",
    "MinimaxRiskEnsembleClassifier",
    "MinimaxRiskKernelClassifier",
    "MinimaxRiskSelector",
    "PredictionSets",
    "analysis",
    "check_batches",
    "check_data",
    "checks",
    "cohort_size",
    "compare",
    "datasets",
    "error_bound",
    "evaluate",
    "exceptions",
    "guarantees",
    "inspection",
    "minimax_risk_path",
    "permutation_test",
    "reliable_features",
    "solvers",
    "training_scale",
    "verify",
    "worst_case",
]

_PACKAGES = ("analysis", "checks", "datasets", "exceptions", "guarantees", "inspection", "solvers")
_MODULE_OF = {
    "ClippedScaler": "estimators.clipped_scaler",
    "MinimaxRiskClassifier": "estimators.classifier",
    "MinimaxRiskClassifierCV": "estimators.classifier_cv",
    "MinimaxRiskEnsembleClassifier": "estimators.ensemble",
    "MinimaxRiskKernelClassifier": "estimators.kernel_classifier",
    "MinimaxRiskSelector": "estimators.selector",
    "PredictionSets": "estimators.prediction_sets",
    "check_batches": "analysis.batches",
    "check_data": "analysis.data",
    "cohort_size": "analysis.intervals",
    "compare": "analysis.comparison",
    "error_bound": "guarantees.error_bound",
    "evaluate": "analysis.evaluation",
    "minimax_risk_path": "analysis.minimax_risk_path",
    "permutation_test": "analysis.permutation_test",
    "reliable_features": "guarantees.reliable_features",
    "training_scale": "analysis.data",
    "verify": "guarantees.verification",
    "worst_case": "guarantees.worst_case",
}
__getattr__, _names = _lazy_names(__name__, {**_MODULE_OF, **dict.fromkeys(_PACKAGES)})


def __dir__() -> list[str]:
    return [*_names(), "__version__"]
