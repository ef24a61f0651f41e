"""The result of a fit, as lines for the terminal and as an object for programs.

The sentences are those of the page (``report.verdict``), with the advice of the command line.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk._utils.rounding import at_most, outward
from minimaxrisk.analysis.intervals import cohort_size
from minimaxrisk.analysis.permutation_test import PermutationTestResult
from minimaxrisk.app.cli.options import Outputs
from minimaxrisk.app.cli.stored import filled_gaps, worst_case_name
from minimaxrisk.app.cli.training import Trained
from minimaxrisk.app.report import Findings
from minimaxrisk.app.report.clinical import looked_for
from minimaxrisk.app.report.explanations import Advice, about_rivals, how_chosen
from minimaxrisk.app.report.findings import FeatureTable, held_out_of
from minimaxrisk.app.report.phrases import clipping, misclassified, none_or, p_value, shortened, sure_or_not
from minimaxrisk.app.report.tables import rival_table
from minimaxrisk.app.report.verdict import (
    NO_BOUND,
    NOT_BETTER,
    about_selection,
    beats_majority,
    best_bound,
    by_class,
    headline,
    is_ensemble,
    majority_claim,
    r_star_claim,
    standing,
    veto,
)
from minimaxrisk.guarantees.bound import ErrorBound
from minimaxrisk.guarantees.certified import HISTORY, can
from minimaxrisk.guarantees.left_out import SET_CONFIDENCE, LeftOutScores
from minimaxrisk.inspection import FeatureCountDisplay

COMMAND_LINE = Advice(
    covering_radius="--radius bootstrap",
    small_radius="--radius 1",
    permutations="--permutations 199",
    folds="--folds 10",
    repeats="--repeats 5",
    radii="--radii 5",
    few_features="--features few",
    rivals="--compare",
    guarantee="leave out --no-guarantee",
    new_samples="--guarantee",
)
# Features named on the terminal; the report and the model file have all.
MOST_NAMED = 10
WIDEST_NAME, WIDTH, INDENT = 40, 100, 22
MARGIN = 0.1  # between the cross-validated error rate and the one that a second cohort is to show
# So that a feature is a line: longer names of classes, and words about them, are cut.
WIDEST_CLASS, WIDEST_WORDS = 16, 48


def fit_as_text(
    trained: Trained, test: PermutationTestResult | None, findings: Findings, outputs: Outputs
) -> str:
    """What a person reads at the terminal."""
    study, data, fit = trained.study, findings.data, findings.fit
    sizes = ", ".join(f"{name} {size}" for name, size in zip(data.classes, data.class_sizes, strict=True))
    lines = [
        f"{study.source}: {data.n_samples} samples, {data.n_features} features, {study.target!r}: {sizes}",
        "",
    ]
    if _has_verdict(findings, outputs):
        lines += [textwrap.fill(headline(findings), WIDTH), ""]
    if fit.choice is not None:
        lines += _lines("features", f"chosen for {how_chosen(fit.choice)}")
    if test is not None:
        lines += _lines("permutation test", *_permutations(test, findings))
    lines += _left_out(findings)
    lines += _other_classifiers(trained, findings)
    r_star = at_most(findings.fit.upper, ".3f")
    better = "" if beats_majority(findings) else f", {NOT_BETTER.format(r=r_star)}"
    lines += _lines("to compare", f"{majority_claim(findings)}{better}")
    if findings.guarantee is not None:
        bound = best_bound(findings, digits=4) if veto(findings) is None else NO_BOUND
        lines += _lines("new samples", bound)
        if bound != NO_BOUND and (classes := by_class(findings)):
            lines += _lines("class by class", *classes)
    lines += _selection(findings)
    lines += _certificate(trained, findings)
    for what, path in _written(outputs).items():
        is_page = path.suffix.lower() in (".html", ".htm")
        # One line, so that the path can be copied.
        lines.append(_line(what, f"{path} (open it in a browser)" if is_page else str(path)))
    return "\n".join(lines)


def _left_out(findings: Findings) -> list[str]:
    """Errors on left-out samples."""
    folds, rates = findings.cross_validation, "left-out, by class"
    if folds is None:
        return []
    texts = [
        f"{misclassified(folds.n_wrong, folds.n_judged)};",
        sure_or_not(folds.left_out.counts(SET_CONFIDENCE), SET_CONFIDENCE),
    ]
    return [*_lines("cross-validation", *texts), *_lines(rates, *_rates(findings)), *_next_step(findings)]


def _next_step(findings: Findings) -> list[str]:
    """Return the size of a second cohort that shows an error rate ``MARGIN`` above that of these samples."""
    folds = findings.cross_validation
    if folds is None or veto(findings) is not None or folds.errors[1] + MARGIN >= folds.majority_error:
        return []
    error_rate = float(folds.errors[1])
    n = cohort_size(error_rate, error_rate + MARGIN)
    return _lines(
        "next step",
        f"minimaxrisk evaluate, with about {n} samples from elsewhere: enough to show an error rate below "
        f"{error_rate + MARGIN:.0%}, if it is {error_rate:.1%} there too",
    )


def _rates(findings: Findings) -> list[str]:
    """Sensitivity and specificity of two classes, of more the share found of each; balanced accuracy."""
    assert findings.left_out is not None  # with folds there are predictions
    shown = {f"{one.name} found": one.rates.sensitivity for one in findings.classes if one.rates is not None}
    if len(findings.classes) == 2:
        ill = findings.classes[looked_for(findings.data.classes)]
        assert ill.rates is not None
        shown = {
            f"sensitivity for {ill.name}": ill.rates.sensitivity,
            "specificity": ill.rates.specificity,
        }
    texts = [
        f"{what}: {rate.value:.1%}, {rate.n_counted} of {rate.n}, roughly {rate.interval};"
        for what, rate in shown.items()
        if rate is not None
    ]
    texts += [f"{name} found: unknown, one sample is too few;" for name in findings.never_left_out]
    return [*map(_printable, texts), f"balanced accuracy: {findings.left_out.balanced_accuracy:.1%}"]


def _permutations(test: PermutationTestResult, findings: Findings) -> list[str]:
    """The p-value, and R* of permuted labels, which is about a single classifier."""
    how = f"p = {p_value(test.pvalue)}, from {test.n_permutations} permutations of the labels"
    if is_ensemble(findings):
        smaller = none_or(test.n_no_larger)
        return [f"{how};", f"{smaller} of them gave a single classifier an R* as small as the data do"]
    n_null, floor = len(test.null_distribution), test.noise_floor
    chosen = "" if findings.fit.choice is None else " at radius 1, which was not chosen"
    return [
        how,
        f"R* of {n_null} of these{chosen}: median {floor[0.5]:.4f}, below {floor[0.05]:.4f} in 5% of them",
    ]


def fit_as_json(
    trained: Trained,
    test: PermutationTestResult | None,
    findings: Findings,
    outputs: Outputs,
) -> dict[str, Any]:
    """What a program reads; what was not computed is null."""
    model, study, data, fit = trained.fit.model, trained.study, findings.data, findings.fit
    return {
        "data": str(study.source),
        "target": study.target,
        "n_samples": data.n_samples,
        "n_features": data.n_features,
        "classes": dict(zip(data.classes, data.class_sizes, strict=True)),
        "verdict": headline(findings) if _has_verdict(findings, outputs) else None,
        "worst_case_error": fit.upper,
        "worst_case_error_lower": fit.lower,
        "certificate": {"valid": fit.certificate_valid, "problems": list(fit.certificate_problems)},
        "is_bound": findings.radius.covers,
        "predict_error_bound": fit.predict_bound,
        "majority_error": data.majority_error,
        "model": "single" if fit.n_members is None else "ensemble",
        "uses_all_features": fit.uses_all_features,
        "features": fit.choice,
        "is_below_majority_error": fit.upper < data.majority_error,
        "radius": model.radius_,
        "coverage": model.coverage_,
        "marginal": fit.marginal,
        "solver": fit.solver,
        "coding": model.coding_,
        "scale": _scale_name(trained, findings),
        "converged": fit.converged,
        "n_iterations": model.n_iter_ if can(model, HISTORY) else None,
        "selected_features": _features_as_json(findings.features, data.classes),
        "permutation_test": test and _permutations_as_json(test),
        "cross_validation": _left_out_as_json(findings),
        "hold_out": _hold_out_as_json(findings),
        "short_list": findings.short_list and _short_list_as_json(findings.short_list),
        "comparison": _comparison_as_json(trained, findings),
        "guarantee": findings.guarantee and _guarantee_as_json(findings.guarantee),
        "written": {what: str(path) for what, path in _written(outputs).items()},
    }


def _permutations_as_json(test: PermutationTestResult) -> dict[str, Any]:
    return {
        "n_permutations": test.n_permutations,
        "n_no_larger": test.n_no_larger,
        "n_null": len(test.null_distribution),
        "statistic": test.statistic,
        "pvalue": test.pvalue,
        "noise_floor": {str(level): value for level, value in test.noise_floor.items()},
    }


def _left_out_as_json(findings: Findings) -> dict[str, Any] | None:
    folds = findings.cross_validation
    if folds is None:
        return None
    return {
        "n_folds": folds.n_folds,
        "n_wrong": folds.n_wrong,
        "randomized_error": folds.errors[0],
        "predict_error": folds.errors[1],
        "balanced_accuracy": findings.left_out and findings.left_out.balanced_accuracy,
        "by_class": {one.name: one.rates for one in findings.classes},
        "by_probability": folds.by_probability(),
        "sets": _sets_as_json(folds.left_out, findings.data.classes),
    }


def _hold_out_as_json(findings: Findings) -> dict[str, Any] | None:
    """Return the counts of the hold-out."""
    counts = held_out_of(findings.guarantee)
    if counts is None:
        return None
    return {
        **counts._asdict(),
        "predict_error": counts.error,
    }


def _short_list_as_json(found: FeatureCountDisplay) -> dict[str, Any]:
    return {
        "n_features": found.n_features,
        "left_out_error": found.mean_loss,
        "standard_error": found.standard_error,
        "radius": found.radii,
        "best": found.best,
        "few": found.few,
    }


def _has_verdict(findings: Findings, outputs: Outputs) -> bool:
    """A verdict takes what only a report computes, unless a doubt settles it."""
    return outputs.report is not None or veto(findings) is not None


def _written(outputs: Outputs) -> dict[str, Path]:
    """The files that were written, by what they hold."""
    files = {"report": outputs.report, "genes": outputs.genes, "model": outputs.model}
    return {what: path for what, path in files.items() if path is not None}


def _comparison_as_json(trained: Trained, findings: Findings) -> dict[str, Any] | None:
    """Without classifiers where none could be compared; the sentence says why."""
    rivals = findings.rivals
    if rivals is None and findings.rivals_skipped is None:
        return None
    sentence, *how = _about_rivals(trained, findings)
    return {
        "sentence": sentence,
        "how": " ".join(how) or None,
        "n_folds": rivals and rivals.n_folds,
        "classifiers": [] if rivals is None else rivals.compared,
        "left_out": {} if rivals is None else rivals.left_out,
    }


def _about_rivals(trained: Trained, findings: Findings) -> list[str]:
    return about_rivals(findings, COMMAND_LINE, is_imputed=filled_gaps(trained.study) is not None)


def _features_as_json(table: FeatureTable, classes: Sequence[str]) -> list[dict[str, Any]]:
    shares = table.frequency if table.selectors == "by members" else None
    return [
        {
            "name": table.names[j],
            "importance": table.importance[j],
            "share_of_members": None if shares is None else shares[j],
            "speaks_for": table.directions[j].speaks_for,
            "speaks_against": table.directions[j].speaks_against,
            "coefficients": table.coefficients[:, j].tolist(),
            "class_means": dict(zip(classes, table.class_means[:, j].tolist(), strict=True)),
        }
        for j in range(table.n_selected)
    ]


def _guarantee_as_json(found: ErrorBound) -> dict[str, Any]:
    return {
        "value": found.value if found.has_probability else None,
        "confidence": found.confidence,
        "reason": found.reason or None,
        "statement": found.statement,
        "assumption": found.assumption,
        "rule": found.rule,
        "n_train": found.n_train,
        "prevalence": found.prevalence and {str(label): share for label, share in found.prevalence.items()},
        "per_class": [
            {
                "label": str(one.label),
                "n_test": one.n_test,
                "n_errors": one.n_errors,
                "limit": one.value,
                "confidence": one.confidence,
            }
            for one in found.per_class
        ],
        "predictive_values": {str(label): value for label, value in found.predictive_values.items()},
    }


def _sets_as_json(left_out: LeftOutScores, classes: Sequence[str]) -> dict[str, Any]:
    counts = left_out.counts(SET_CONFIDENCE).tolist()
    kinds = ("sure_and_right", "sure_and_wrong", "unsure", "unlike_all_classes")
    by_class = {name: dict(zip(kinds, row, strict=True)) for name, row in zip(classes, counts, strict=True)}
    return {"confidence": SET_CONFIDENCE, "by_class": by_class}


def _scale_name(trained: Trained, findings: Findings) -> str:
    """The value of --scale."""
    if trained.fit.transformer is not None:
        return "clip"
    return "standard" if findings.fit.is_standardized else "none"


def _certificate(trained: Trained, findings: Findings) -> list[str]:
    """What is certified of the worst case, and what that means."""
    fit, radius = findings.fit, findings.radius
    lower, upper = outward(fit.lower, fit.upper, ".6f")
    what, checked = worst_case_name(trained.fit.model), "confirmed without the solver"
    if not fit.certificate_valid:
        checked = f"NOT CONFIRMED: {'; '.join(fit.certificate_problems)}"
    meaning = f"it {r_star_claim(findings)}"
    if standing(findings) == "score":
        meaning += f"; {COMMAND_LINE.covering_radius} gives a bound"
        if findings.permutation is None and not is_ensemble(findings):
            meaning += f"; noise can score low too: {COMMAND_LINE.permutations} shows how low"
    elif fit.predict_bound is not None:
        meaning += f"; {at_most(fit.predict_bound)} bounds that of its most probable class"
    lines = [
        *_lines("certificate", f"{lower} <= {what} <= {upper}, {checked};", meaning),
        _line("radius", f"{radius.factor:.4g} standard error{'' if radius.factor == 1 else 's'}"),
    ]
    if trained.fit.transformer is not None:
        lines += _lines(
            "scaling",
            f"values are {clipping(trained.fit.transformer.limit)};",
            "R* and the coefficients are about such values",
        )
    return lines


def _other_classifiers(trained: Trained, findings: Findings) -> list[str]:
    """The sentence and the table of the report, if a comparison was asked for."""
    if findings.rivals is None and findings.rivals_skipped is None:
        return []
    sentence, *_ = _about_rivals(trained, findings)
    lines = _lines("other classifiers", sentence)
    if findings.rivals is None:
        return lines
    table = rival_table(findings.rivals)
    return lines + _aligned([list(table.headers), *map(list, table.rows)], left=[0])


def _selection(findings: Findings) -> list[str]:
    """The most important features: which classes higher values favour, and means of classes."""
    table, classes = findings.features, findings.data.classes
    lines = _lines("selected features", about_selection(findings))
    if not table.n_selected:
        return lines
    shares = table.frequency if is_ensemble(findings) else None
    how_much = ["importance"] if shares is None else ["members"]
    rows = [["feature", *how_much, "higher values favour", "means of classes"]]
    for j in range(min(MOST_NAMED, table.n_selected)):
        words = _printable(table.directions[j].in_words)
        # Long names of classes do not fit into a line; the page and --json have them.
        words = words if len(words) <= WIDEST_WORDS else f"{words[: WIDEST_WORDS - 1]}…"
        means = _printable(_extreme_means(table.class_means[:, j], classes))
        weight = f"{table.importance[j]:.4f}" if shares is None else f"{shares[j]:.0%}"
        rows.append([_printable(table.names[j])[:WIDEST_NAME], weight, words, means])
    lines += _aligned(rows, left=[0, 2, 3])
    left = table.n_selected - len(rows) + 1
    return [*lines, f"    and {left} more"] if left else lines


def _extreme_means(means: FloatArray, classes: Sequence[str]) -> str:
    """Of two classes both; of more the largest and the smallest, since a line has no room for all."""
    order = np.argsort(-means, kind="stable") if len(classes) > 2 else np.arange(2)
    ends = [f"{shortened(classes[k], WIDEST_CLASS)} {means[k]:.4g}" for k in (order[0], order[-1])]
    return ", ".join(ends) if len(classes) == 2 else f"from {ends[1]} to {ends[0]}"


def _printable(name: str) -> str:
    """Without what would move the cursor or change colours."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _aligned(rows: list[list[str]], *, left: Sequence[int]) -> list[str]:
    """Rows of cells under each other, the columns ``left`` at their left ends, the others at their right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = (
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append(f"    {'  '.join(cells)}".rstrip())
    return lines


def _lines(what: str, *texts: str) -> list[str]:
    """Texts under each other, each on as many lines as it needs."""
    wrapped = [line for text in texts for line in textwrap.wrap(text, WIDTH - INDENT)]
    return [_line(what if i == 0 else "", line) for i, line in enumerate(wrapped)]


def _line(what: str, value: str) -> str:
    return f"  {what:<{INDENT - 2}}{value}"
