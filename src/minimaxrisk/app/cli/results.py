"""The result of a fit in words, and as an object for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.analysis.contrasts import class_contrasts
from minimaxrisk.analysis.cross_validation import CrossValidatedError
from minimaxrisk.analysis.permutation_test import PermutationTestResult
from minimaxrisk.app.cli.stored import filled_gaps
from minimaxrisk.app.cli.training import Trained
from minimaxrisk.app.report import Findings
from minimaxrisk.app.report.claims import headline
from minimaxrisk.app.report.findings import FeatureTable, summarise_radius, tabulate_features
from minimaxrisk.app.report.gathering import bound_of_predict
from minimaxrisk.app.report.phrases import certain, clipping, outward, shortened
from minimaxrisk.app.report.sections import about_rivals
from minimaxrisk.app.report.tables import rival_table
from minimaxrisk.guarantees.posed_fit import PosedFit
from minimaxrisk.guarantees.statement import NONE, ErrorBound
from minimaxrisk.samples.validation import positions_of_labels

# Features named on the terminal; the report and the model file have all.
MOST_NAMED = 10
WIDEST_NAME, WIDTH, INDENT = 40, 100, 22
# So that a feature is a line: longer names of classes, and words about them, are cut.
WIDEST_CLASS, WIDEST_WORDS = 16, 48


def fit_as_text(
    trained: Trained,
    test: PermutationTestResult | None,
    findings: Findings | None,
    guarantee: ErrorBound | None,
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
    lines += _worst_case(trained, findings, is_tested=test is not None)
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
    lines += _selection(feature_table(trained, findings), trained)
    lines += [_line(what, _with_use(path)) for what, path in written.items()]
    return "\n".join(lines)


def fit_as_json(
    trained: Trained,
    test: PermutationTestResult | None,
    findings: Findings | None,
    guarantee: ErrorBound | None,
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
        "predict_error_bound": predict_bound(trained, findings),
        "majority_error": majority_error(trained),
        "radius": model.radius_,
        "coverage": model.coverage_,
        "marginal": model.marginal,
        "solver": model.solver_,
        "coding": model.coding_,
        "scale": scale_name(trained),
        "converged": model.converged_,
        "n_iterations": model.n_iter_,
        "selected_features": _features_as_json(trained, findings),
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
            "predict_error": folds.errors[1],
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


def predict_bound(trained: Trained, findings: Findings | None) -> float | None:
    """What the page says of ``predict``; without a page only where R* is a bound, and not a score."""
    if findings is not None:
        return findings.fit.predict_bound
    if not is_bound(trained):
        return None
    fit = PosedFit(trained.classifier, trained.features, trained.y, groups=trained.together.groups)
    return bound_of_predict(fit)


def feature_table(trained: Trained, findings: Findings | None) -> FeatureTable:
    """That of the page, or the same without what only a report computes."""
    if findings is not None:
        return findings.features
    model = trained.classifier
    own = positions_of_labels(trained.y, model.classes_)
    contrasts = class_contrasts(trained.features, own, len(model.classes_))
    return tabulate_features(model, contrasts, trained.study.feature_names)


def _features_as_json(trained: Trained, findings: Findings | None) -> list[dict[str, Any]]:
    table = feature_table(trained, findings)
    classes = [str(label) for label in trained.classifier.classes_]
    return [
        {
            "name": table.names[j],
            "importance": table.importance[j],
            "speaks_for": table.directions[j].speaks_for,
            "speaks_against": table.directions[j].speaks_against,
            "coefficients": table.coefficients[:, j].tolist(),
            "class_means": dict(zip(classes, table.class_means[:, j].tolist(), strict=True)),
        }
        for j in range(table.n_selected)
    ]


def _worst_case(trained: Trained, findings: Findings | None, *, is_tested: bool) -> list[str]:
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
        *(_line("", line) for line in _meaning(trained, findings, is_tested=is_tested)),
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


def _meaning(trained: Trained, findings: Findings | None, *, is_tested: bool) -> list[str]:
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
        f"{predict_bound(trained, findings):.4f} bounds that of predict, which names the most probable class",
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


def _guarantee(found: ErrorBound) -> list[str]:
    """The best statement; the report has the others."""
    if found.method == NONE or found.confidence is None:
        return [_line("new samples", "no bound on the error with a probability can be given")]
    says_nothing = ["no better than guessing"] if found.says_nothing else []
    return [
        _line("new samples", f"error at most {found.value:.4f} with {100 * found.confidence:g}% confidence,"),
        _line("", f"of {found.subject}:"),
        _line("", found.evidence),
        *(_line("", line) for line in says_nothing),
    ]


def _guarantee_as_json(found: ErrorBound) -> dict[str, Any]:
    return {
        "value": found.value,
        "confidence": found.confidence,
        "statement": found.statement,
        "bounds": [
            {
                "value": one.value,
                "method": one.method,
                "rule": one.rule,
                "marginal": one.marginal,
                "n_train": one.n_train,
                "has_probability": one.has_probability,
                "reason": one.reason,
                "assumption": one.assumption,
                "statement": one.statement,
            }
            for one in found.side_by_side
        ],
        "left_out": dict(found.left_out),
    }


def _noise(test: PermutationTestResult) -> list[str]:
    n, floor = len(test.null_distribution), test.noise_floor
    return [
        _line("permutation test", f"p = {test.pvalue:.3g}, from {n} permutations of the labels"),
        _line("", f"their R*: median {floor[0.5]:.4f}, below {floor[0.05]:.4f} in 5% of them"),
    ]


def _selection(table: FeatureTable, trained: Trained) -> list[str]:
    """The most important features: what larger values speak for and against, and means of classes."""
    lines = [_line("selected features", f"{table.n_selected} of {trained.X.shape[1]}")]
    if not table.n_selected:
        return lines
    classes = [str(label) for label in trained.classifier.classes_]
    rows = [
        [
            _printable(table.names[j])[:WIDEST_NAME],
            f"{table.importance[j]:.4f}",
            _cut(_printable(table.directions[j].in_words)),
            _printable(_extreme_means(table.class_means[:, j], classes)),
        ]
        for j in range(min(MOST_NAMED, table.n_selected))
    ]
    rows.insert(0, ["feature", "importance", "larger values speak", "means of classes"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, importance, speaks, means in rows:
        cells = f"{name:<{widths[0]}}  {importance:>{widths[1]}}  {speaks:<{widths[2]}}  {means}"
        lines.append(f"    {cells}")
    left = table.n_selected - len(rows) + 1
    return [*lines, f"    and {left} more"] if left else lines


def _with_use(path: Path) -> str:
    """What to do with a page, for those who never had one from a terminal."""
    return f"{path}, to be opened in a browser" if path.suffix.lower() in (".html", ".htm") else str(path)


def _cut(words: str) -> str:
    """Long names of classes do not fit into a line; the page and --json have them."""
    return words if len(words) <= WIDEST_WORDS else f"{words[: WIDEST_WORDS - 1]}…"


def _extreme_means(means: FloatArray, classes: Sequence[str]) -> str:
    """Of two classes both; of more the largest and the smallest, since a line has no room for all."""
    order = np.argsort(-means, kind="stable") if len(classes) > 2 else np.arange(2)
    ends = [f"{shortened(classes[k], WIDEST_CLASS)} {means[k]:.4g}" for k in (order[0], order[-1])]
    return ", ".join(ends) if len(classes) == 2 else f"from {ends[1]} to {ends[0]}"


def _printable(name: str) -> str:
    """Without what would move the cursor or change colours."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _line(what: str, value: str) -> str:
    return f"  {what:<{INDENT - 2}}{value}"
