"""The result of a fit in words, and as an object for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minimaxrisk.cli.training import Trained
from minimaxrisk.permutation import PermutationTestResult
from minimaxrisk.report.summaries import summarise_radius

# Features named on the terminal; the report and the model file have all.
MOST_NAMED = 10
WIDEST_NAME = 40


def fit_as_text(trained: Trained, test: PermutationTestResult | None, written: Mapping[str, Path]) -> str:
    """What a person reads at the terminal."""
    model, study = trained.classifier, trained.study
    n_samples, n_features = trained.X.shape
    sizes = ", ".join(f"{label} {count}" for label, count in class_sizes(trained).items())
    lines = [
        f"{study.source}: {n_samples} samples, {n_features} features, classes of {study.target!r}: {sizes}",
        "",
        _line("worst-case error R*", f"{model.worst_case_error_:.4f}"),
        _line("", _meaning(trained)),
        _line("certified", _certified(trained)),
        _line("radius", f"{model.radius_:.4g} standard errors"),
    ]
    if test is not None:
        lines += _noise(test)
    lines += [_line("selected features", f"{model.n_features_selected_} of {n_features}"), *_top(trained)]
    lines += [_line(what, str(path)) for what, path in written.items()]
    return "\n".join(lines)


def fit_as_json(
    trained: Trained,
    test: PermutationTestResult | None,
    written: Mapping[str, Path],
    notes: Sequence[str],
) -> dict[str, Any]:
    """What a program reads."""
    model, study, certificate = trained.classifier, trained.study, trained.certificate
    return {
        "data": str(study.source),
        "target": study.target,
        "n_samples": trained.X.shape[0],
        "n_features": trained.X.shape[1],
        "classes": class_sizes(trained),
        "worst_case_error": model.worst_case_error_,
        "worst_case_error_lower": model.worst_case_error_lower_,
        "certificate": {"valid": certificate.valid, "problems": list(certificate.problems)},
        "deterministic_error_bound": model.deterministic_error_bound_,
        "radius": model.radius_,
        "is_bound": is_bound(trained),
        "coverage": model.coverage_,
        "solver": model.solver_,
        "coding": model.coding_,
        "converged": model.converged_,
        "n_iterations": model.n_iter_,
        "selected_features": [
            {
                "name": str(study.feature_names[j]),
                "coefficients": model.coef_[:, j].tolist(),
                "importance": model.feature_importances_[j],
            }
            for j in by_importance(trained)
        ],
        "permutation_test": test
        and {
            "n_permutations": len(test.null_distribution),
            "statistic": test.statistic,
            "pvalue": test.pvalue,
            "noise_floor": {str(level): value for level, value in test.noise_floor.items()},
        },
        "written": {what: str(path) for what, path in written.items()},
        "notes": list(notes),
    }


def class_sizes(trained: Trained) -> dict[str, int]:
    labels, counts = np.unique(trained.y, return_counts=True)
    return {str(label): int(count) for label, count in zip(labels, counts, strict=True)}


def by_importance(trained: Trained) -> np.ndarray:
    """Selected columns, the most important first."""
    selected = trained.classifier.selected_features_
    return selected[np.argsort(-trained.classifier.feature_importances_[selected], kind="stable")]


def _certified(trained: Trained) -> str:
    model = trained.classifier
    interval = f"{model.worst_case_error_lower_:.6f} <= R* <= {model.worst_case_error_:.6f}"
    if trained.certificate.valid:
        return f"{interval}, confirmed without the solver"
    return f"{interval}, NOT CONFIRMED: {'; '.join(trained.certificate.problems)}"


def is_bound(trained: Trained) -> bool:
    """Whether the radii hold all true means with the stated confidence, so that R* bounds the error."""
    return summarise_radius(trained.classifier, trained.X.shape[0]).covers


def _meaning(trained: Trained) -> str:
    if is_bound(trained):
        doubt = ", with the doubts noted" if trained.classifier.coverage_remarks_ else ""
        return f"a bound on the error with {trained.classifier.confidence:.0%} confidence{doubt}"
    return "a score and no bound on the error, which --radius bootstrap gives; noise can score low too"


def _noise(test: PermutationTestResult) -> list[str]:
    n, floor = len(test.null_distribution), test.noise_floor
    return [
        _line("permutation test", f"p = {test.pvalue:.3g}, from {n} permutations of the labels"),
        _line("", f"their R*: {floor[0.5]:.4f} in the median, below {floor[0.05]:.4f} in 5% of them"),
    ]


def _top(trained: Trained) -> list[str]:
    """The most important features, with the class that large values speak for."""
    model, names = trained.classifier, trained.study.feature_names
    columns = by_importance(trained)
    shown = [str(names[j])[:WIDEST_NAME] for j in columns[:MOST_NAMED]]
    width = max(map(len, shown), default=0)
    lines = []
    for j, name in zip(columns, shown, strict=False):
        coefficients = model.coef_[:, j]
        if len(coefficients) == 1:
            towards, size = model.classes_[int(coefficients[0] > 0)], abs(coefficients[0])
        else:
            strongest = int(np.argmax(coefficients))
            towards, size = model.classes_[strongest], coefficients[strongest]
        lines.append(f"    {name:<{width}}  {size:8.4g} towards {towards}")
    left = len(columns) - len(shown)
    return [*lines, f"    and {left} more"] if left else lines


def _line(what: str, value: str) -> str:
    return f"  {what:<20}{value}"
