"""The result of a fit in words, and as an object for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minimaxrisk.analysis.cross_validation import CrossValidatedError
from minimaxrisk.analysis.permutation_test import PermutationTestResult
from minimaxrisk.cli.stored import filled_gaps
from minimaxrisk.cli.training import Trained
from minimaxrisk.guarantees.error_statement import BestGuarantee
from minimaxrisk.inspection.sources import by_importance
from minimaxrisk.report import Findings
from minimaxrisk.report.phrases import certain, clipping, outward
from minimaxrisk.report.section_wording import about_rivals
from minimaxrisk.report.summaries import summarise_radius
from minimaxrisk.report.tables import rival_table
from minimaxrisk.report.wording import headline

# Features named on the terminal; the report and the model file have all.
MOST_NAMED = 10
WIDEST_NAME, WIDTH, INDENT = 40, 100, 22


def fit_as_text(
    trained: Trained,
    test: PermutationTestResult | None,
    findings: Findings | None,
    guarantee: BestGuarantee | None,
    *,
    written: Mapping[str, Path],
) -> str:
    """What a person reads at the terminal."""
    study, (n_samples, n_features) = trained.study, trained.X.shape
    sizes = class_sizes(trained)
    classes = ", ".join(f"{label} {count}" for label, count in sizes.items())
    lines = [f"{study.source}: {n_samples} samples, {n_features} features, {study.target!r}: {classes}", ""]
    if findings is not None:
        lines += [textwrap.fill(headline(findings), WIDTH), ""]
    lines += _worst_case(trained, is_tested=test is not None)
    if test is not None:
        lines += _noise(test)
    if findings is not None and findings.cross_validation is not None:
        lines += _left_out(findings.cross_validation)
    if findings is not None:
        lines += _beside_others(findings, is_imputed=filled_gaps(trained.study) is not None)
    most_common = max(sizes, key=lambda label: sizes[label])
    lines.append(
        _line("to compare", f"always predicting {most_common!r} errs for {majority_error(trained):.1%}")
    )
    if guarantee is not None:
        lines += _guarantee(guarantee)
    lines += _selection(trained)
    lines += [_line(what, str(path)) for what, path in written.items()]
    return "\n".join(lines)


def fit_as_json(
    trained: Trained,
    test: PermutationTestResult | None,
    findings: Findings | None,
    guarantee: BestGuarantee | None,
    *,
    written: Mapping[str, Path],
    notes: Sequence[str],
) -> dict[str, Any]:
    """What a program reads; what was not computed is null."""
    model, study, certificate = trained.classifier, trained.study, trained.certificate
    folds = None if findings is None else findings.cross_validation
    return {
        "data": str(study.source),
        "target": study.target,
        "n_samples": trained.X.shape[0],
        "n_features": trained.X.shape[1],
        "classes": class_sizes(trained),
        "verdict": None if findings is None else headline(findings),
        "worst_case_error": model.worst_case_error_,
        "worst_case_error_lower": model.worst_case_error_lower_,
        "certificate": {"valid": certificate.valid, "problems": list(certificate.problems)},
        "is_bound": is_bound(trained),
        "deterministic_error_bound": model.deterministic_error_bound_,
        "majority_error": majority_error(trained),
        "radius": model.radius_,
        "coverage": model.coverage_,
        "marginal": model.marginal,
        "solver": model.solver_,
        "coding": model.coding_,
        "scale": scale_name(trained),
        "converged": model.converged_,
        "n_iterations": model.n_iter_,
        "selected_features": [
            {
                "name": str(study.feature_names[j]),
                "importance": model.feature_importances_[j],
                "towards": str(_towards(trained, j)),
                "coefficients": model.coef_[:, j].tolist(),
            }
            for j in by_importance(model)
        ],
        "permutation_test": test
        and {
            "n_permutations": len(test.null_distribution),
            "statistic": test.statistic,
            "pvalue": test.pvalue,
            "noise_floor": {str(level): value for level, value in test.noise_floor.items()},
        },
        "cross_validation": folds
        and {
            "n_folds": folds.n_folds,
            "n_wrong": folds.n_wrong,
            "randomized_error": folds.errors[0],
            "argmax_error": folds.errors[1],
            "by_stated_probability": folds.by_stated_probability(),
        },
        "comparison": None if findings is None else _comparison_as_json(trained, findings),
        "guarantee": guarantee and _guarantee_as_json(guarantee),
        "written": {what: str(path) for what, path in written.items()},
        "notes": list(notes),
    }


def _comparison_as_json(trained: Trained, findings: Findings) -> dict[str, Any] | None:
    """Without classifiers where none could be compared; the sentence says why."""
    rivals = findings.rivals
    if rivals is None and findings.rivals_skipped is None:
        return None
    said, *how = about_rivals(findings, is_imputed=filled_gaps(trained.study) is not None)
    return {
        "sentence": said,
        "how": " ".join(how) or None,
        "n_folds": rivals and rivals.n_folds,
        "classifiers": [] if rivals is None else rivals.compared,
        "left_out": {} if rivals is None else rivals.left_out,
    }


def class_sizes(trained: Trained) -> dict[str, int]:
    labels, counts = np.unique(trained.y, return_counts=True)
    return {str(label): int(count) for label, count in zip(labels, counts, strict=True)}


def majority_error(trained: Trained) -> float:
    """Share of the samples that always naming the most common class gets wrong."""
    return 1.0 - max(class_sizes(trained).values()) / len(trained.y)


def is_bound(trained: Trained) -> bool:
    """Whether the radii hold all true means with the stated confidence, so that R* bounds the error."""
    return summarise_radius(trained.classifier, trained.X.shape[0]).covers


def _worst_case(trained: Trained, *, is_tested: bool) -> list[str]:
    model, certificate = trained.classifier, trained.certificate
    lower, upper = outward(model.worst_case_error_lower_, model.worst_case_error_)
    verdict = (
        "confirmed without the solver"
        if certificate.valid
        else f"NOT CONFIRMED: {'; '.join(certificate.problems)}"
    )
    plural = "" if model.radius_ == 1 else "s"
    return [
        _line(
            "worst-case error R*",
            f"{model.worst_case_error_:.4f}, of the randomized rule, which draws its answers",
        ),
        *(_line("", line) for line in _meaning(trained, is_tested=is_tested)),
        _line("certified", f"{lower} <= R* <= {upper}, {verdict}"),
        _line("radius", f"{model.radius_:.4g} standard error{plural}"),
        *_scaling(trained),
    ]


def _scaling(trained: Trained) -> list[str]:
    if trained.scaler is None:
        return []
    return [
        _line("scaling", f"values are {clipping(trained.scaler.limit)};"),
        _line("", "R* and the coefficients are about such values"),
    ]


def scale_name(trained: Trained) -> str:
    """The value of --scale."""
    if trained.scaler is not None:
        return "clip"
    return "standard" if trained.classifier.standardize else "none"


def _meaning(trained: Trained, *, is_tested: bool) -> list[str]:
    model = trained.classifier
    error = "error" if model.class_weight is None else "class-balanced error"
    if not is_bound(trained):
        noise = [] if is_tested else ["noise can score low too: --permutations 199 shows how low"]
        return [f"a score, not a bound on the {error}: --radius bootstrap gives a bound", *noise]
    doubt = ", with the doubts noted above" if model.coverage_remarks_ else ""
    confidence = f"with {100 * model.confidence:g}% confidence{doubt};"
    bounds = [f"bounds its {error} on samples like these {confidence}"]
    if model.marginal == "empirical":
        bounds = [
            f"bounds its {error} on instances spread as these are,",
            f"of which only labels change, {confidence}",
        ]
    return [
        *bounds,
        f"{model.deterministic_error_bound_:.4f} bounds that of predict, which names the most probable class",
    ]


def _left_out(found: CrossValidatedError) -> list[str]:
    first = found.by_stated_probability()[0]
    return [
        _line("cross-validation", f"{found.n_wrong} of {len(found.own)} left-out samples misclassified;"),
        _line("", certain(first.n_samples, first.n_right)),
    ]


def _beside_others(findings: Findings, *, is_imputed: bool) -> list[str]:
    """The sentence and the table of the report, if a comparison was asked for."""
    if findings.rivals is None and findings.rivals_skipped is None:
        return []
    said, *_ = about_rivals(findings, is_imputed=is_imputed)
    first, *others = textwrap.wrap(said, WIDTH - INDENT)
    lines = [_line("other classifiers", first), *(_line("", line) for line in others)]
    if findings.rivals is None:
        return lines
    table = rival_table(findings.rivals)
    columns = list(zip(table.headers, *table.rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    aligned = [[cell.rjust(width) for cell in column] for column, width in zip(columns, widths, strict=True)]
    aligned[0] = [name.ljust(widths[0]) for name in columns[0]]
    return lines + [f"    {'  '.join(row)}" for row in zip(*aligned, strict=True)]


def _guarantee(found: BestGuarantee) -> list[str]:
    """The best statement; the report has the others."""
    best = found.best
    if best is None:
        return [_line("new samples", "no bound on the error with a probability can be given")]
    says_nothing = ["no better than guessing"] if found.says_nothing else []
    return [
        _line("new samples", f"error at most {best.value:.4f} with {100 * found.confidence:g}% confidence,"),
        _line("", f"of {best.subject}:"),
        _line("", best.evidence),
        *(_line("", line) for line in says_nothing),
    ]


def _guarantee_as_json(found: BestGuarantee) -> dict[str, Any]:
    return {
        "value": found.value,
        "confidence": found.confidence,
        "sentence": found.sentence,
        "statements": [
            {
                "value": one.value,
                "kind": one.kind,
                "rule": one.rule,
                "marginal": one.marginal,
                "n_train": one.n_train,
                "valid": one.valid,
                "reason": one.reason,
                "assumption": one.assumption,
                "statement": one.statement,
            }
            for one in found.statements
        ],
        "left_out": dict(found.left_out),
    }


def _noise(test: PermutationTestResult) -> list[str]:
    n, floor = len(test.null_distribution), test.noise_floor
    return [
        _line("permutation test", f"p = {test.pvalue:.3g}, from {n} permutations of the labels"),
        _line("", f"their R*: median {floor[0.5]:.4f}, below {floor[0.05]:.4f} in 5% of them"),
    ]


def _selection(trained: Trained) -> list[str]:
    """The most important features, with the class that large values speak for."""
    model, names = trained.classifier, trained.study.feature_names
    columns = by_importance(model)
    lines = [_line("selected features", f"{len(columns)} of {trained.X.shape[1]}")]
    if not len(columns):
        return lines
    shown = [_printable(str(names[j]))[:WIDEST_NAME] for j in columns[:MOST_NAMED]]
    width = max(map(len, [*shown, "feature"]))
    lines.append(f"    {'feature':<{width}}  importance  large values speak for")
    lines += [
        f"    {name:<{width}}  {model.feature_importances_[j]:10.4f}  {_towards(trained, j)}"
        for j, name in zip(columns, shown, strict=False)
    ]
    left = len(columns) - len(shown)
    return [*lines, f"    and {left} more"] if left else lines


def _towards(trained: Trained, column: int) -> Any:
    model = trained.classifier
    coefficients = model.coef_[:, column]
    if len(coefficients) == 1:
        return model.classes_[int(coefficients[0] > 0)]
    return model.classes_[int(np.argmax(coefficients))]


def _printable(name: str) -> str:
    """Without what would move the cursor or change colours."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _line(what: str, value: str) -> str:
    return f"  {what:<{INDENT - 2}}{value}"
