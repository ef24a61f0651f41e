"""What ``--write-back`` stores in an .h5ad file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.cli.training import Trained
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.files.write_back import add_to_h5ad


def write_back_fit(path: Path, trained: Trained) -> None:
    """Coefficients and selection by feature; predictions and the weights of the worst case by sample."""
    model, study = trained.classifier, trained.study
    selected = np.zeros(trained.X.shape[1], dtype=bool)
    selected[model.selected_features_] = True
    towards = model.classes_[-1:] if len(model.coef_) == 1 else model.classes_
    coefficients = {f"coefficient_{c}": row for c, row in zip(towards, model.coef_, strict=True)}
    distribution = model.worst_case_distribution_
    own = distribution[np.arange(len(trained.y)), np.searchsorted(model.classes_, trained.y)]
    add_to_h5ad(
        path,
        obs=predicted_columns(model, trained.features)
        | {
            "worst_case_own_label": own,
            "worst_case_other_labels": distribution.sum(axis=1) - own,
        },
        var_names=study.feature_names,
        var={"selected": selected} | coefficients,
        uns={
            "target": study.target,
            "worst_case_error": model.worst_case_error_,
            "worst_case_error_lower": model.worst_case_error_lower_,
            "deterministic_error_bound": model.deterministic_error_bound_,
        },
    )


def predicted_columns(model: MinimaxRiskClassifier, X: DataMatrix) -> dict[str, np.ndarray]:
    """Labels as text, and the probability of each with which the randomized rule picks it."""
    probabilities = {
        f"probability_{c}": column for c, column in zip(model.classes_, model.predict_proba(X).T, strict=True)
    }
    return {"prediction": model.predict(X).astype(str).astype(object)} | probabilities
