"""A paragraph for the methods of a paper: what was done, with settings, versions and outcomes."""

from __future__ import annotations

from collections.abc import Mapping

from minimaxrisk.analysis.cross_validation import CrossValidatedError
from minimaxrisk.app.report import verdict
from minimaxrisk.app.report.clinical import looked_for
from minimaxrisk.app.report.explanations import how_chosen
from minimaxrisk.app.report.findings import Findings
from minimaxrisk.app.report.phrases import count, isolate, listed, p_value, quoted

# Settings that change the result; the page lists all.
SETTINGS = (
    *("radius", "rule", "confidence", "marginal", "standardize", "class_weight", "fit_intercept"),
    *("n_members", "solver", "random_state"),
)


def methods(findings: Findings, versions: Mapping[str, str], imputed: str | None) -> str:
    """Sentences to copy; parts that were not computed are left out."""
    return " ".join(
        [
            _classifier(findings, versions, imputed),
            *_cross_validation(findings),
            *_permutations(findings),
            *_bound(findings),
        ]
    )


def _classifier(findings: Findings, versions: Mapping[str, str], imputed: str | None) -> str:
    data, fit = findings.data, findings.fit
    tools = [f"{name} {version}" for name, version in versions.items()]
    kind = "a minimax risk classifier"
    if fit.n_members is not None:
        kind = f"an average of {count(fit.n_members, 'minimax risk classifier')}"
    sizes = zip(data.class_sizes, data.classes, strict=True)
    scaling = fit.preparation or ("centred, at unit variance" if fit.is_standardized else "as in the table")
    settings = [f"{name}={findings.settings[name]}" for name in SETTINGS if name in findings.settings]
    chosen = "" if fit.choice is None else f" The radius was chosen for {how_chosen(fit.choice)}."
    missing = "" if imputed is None else f" Missing values: {imputed.rstrip('.')}."
    return (
        f"Samples were classified by {kind} (Bondugula, Mazuelas and Pérez, UAI 2023; {', '.join(tools)}), "
        f"fitted to {count(data.n_samples, 'sample')} "
        f"({listed([f'{size:,} {isolate(name)}' for size, name in sizes])}) with "
        f"{count(data.n_features, 'feature')}, values {scaling}; settings: {', '.join(settings)}.{chosen}"
        f"{missing} Selected features: {verdict.about_selection(findings)}."
    )


def _cross_validation(findings: Findings) -> list[str]:
    folds, found = findings.cross_validation, findings.left_out
    if folds is None or found is None:
        return []
    by_class = ""
    if len(findings.classes) == 2:
        ill = findings.classes[looked_for(findings.data.classes)]
        assert ill.rates is not None
        shown = {"sensitivity": ill.rates.sensitivity, "specificity": ill.rates.specificity}
        texts = [f"{what} {one.value:.1%} ({one.interval})" for what, one in shown.items() if one is not None]
        by_class = f"{' and '.join(texts)} for {quoted(ill.name)}, "
    return [
        f"{_how(folds)} the class with the largest calibrated probability was predicted, and "
        f"{folds.n_wrong:,} of {folds.n_judged:,} left-out samples were misclassified "
        f"({folds.errors[1]:.1%}, approximate 95% interval {folds.error().interval}); {by_class}"
        f"balanced accuracy {found.balanced_accuracy:.1%}."
    ]


def _how(folds: CrossValidatedError) -> str:
    if folds.is_out_of_bag:
        return "Out of bag, with scores of the members that had not seen a sample,"
    return f"In stratified {folds.n_folds}-fold cross-validation, with all steps repeated in each fold,"


def _permutations(findings: Findings) -> list[str]:
    test = findings.permutation
    if test is None:
        return []
    of = " of a single classifier" if verdict.is_ensemble(findings) else ""
    n = count(test.n_permutations, "permutation")
    return [
        f"The minimax risk{of} was compared with its values for {n} of the labels "
        f"(p = {p_value(test.pvalue)})."
    ]


def _bound(findings: Findings) -> list[str]:
    best = verdict.bound_with_confidence(findings)
    if best is None or verdict.veto(findings) is not None:
        return []
    text = verdict.best_bound(findings)
    return [f"{text[0].upper()}{text[1:]}"]
