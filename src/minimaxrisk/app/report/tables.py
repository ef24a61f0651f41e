"""The tables of the page as text, and the selected features as a file.

Names of features link to sites about genes only where asked for, since a link tells the site the name.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from minimaxrisk.analysis.cross_validation import ProbabilityBand
from minimaxrisk.app.atomic import write_whole
from minimaxrisk.app.report.findings import ComparedClassifier, FeatureTable, Findings, Rivals
from minimaxrisk.app.report.phrases import count, isolate, share
from minimaxrisk.guarantees.left_out import SET_CONFIDENCE, UNLIKE, UNSURE

SITES = {
    "ncbi": "https://www.ncbi.nlm.nih.gov/gene/?term={}%5Bsym%5D",
    "genecards": "https://www.genecards.org/cgi-bin/carddisp.pl?gene={}",
}
# What symbols of genes look like; links of other names would not be found.
SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9.\-]{1,24}")


def check_links(site: str | None) -> None:
    """Refuse a site that is not known, before the work."""
    if site is not None and site not in SITES:
        raise ValueError(f"links must be one of {', '.join(SITES)}, got {site!r}.")


def gene_links(findings: Findings, site: str | None) -> dict[str, str]:
    """Addresses by name of feature; none without a site."""
    check_links(site)
    if site is None:
        return {}
    names = findings.features.names
    return {name: SITES[site].format(quote(name)) for name in names if SYMBOL.fullmatch(name)}


DELIMITERS = {".csv": ",", ".tsv": "\t"}
# How log2 fold changes came about, by their kind.
FOLD_CHANGES = {
    "ratio": "log2 of the ratio of means",
    "difference": "difference of means of the values, taken as log2",
}


def gene_table(
    table: FeatureTable, classes: Sequence[str], annotations: Mapping[str, Sequence[str]] | None = None
) -> tuple[list[str], list[list[Any]]]:
    """Headers, and a row of text, numbers and None for each selected feature, the most important first.

    ``annotations`` has further columns, with an entry for every feature of the data. Welch's t and q describe
    features one by one: they were computed on the samples that the features were selected with.
    """
    # Pairs, since annotations may be called like a column of ours.
    columns: list[tuple[str, Any]] = [("feature", table.names)]
    for name, values in (annotations or {}).items():
        columns.append((name, [values[j] for j in table.columns]))
    columns.append(("importance", table.importance))
    columns.append(("higher values favour", [one.in_words for one in table.directions]))
    one_row = len(table.coefficients) == 1
    for name, row in zip(["coefficient"] if one_row else classes, table.coefficients, strict=True):
        columns.append(("coefficient" if one_row else f"coefficient, {name}", row))
    for name, row in zip(classes, table.class_means, strict=True):
        columns.append((f"mean, {name}", row))
    contrasts = (
        [f"{classes[1]} less {classes[0]}"] if len(classes) == 2 else [f"{c} less others" for c in classes]
    )
    change = table.fold_change
    for i, what in enumerate(contrasts):
        columns.append((f"difference of means, {what}", table.difference[i]))
        if change.kind != "unknown":
            how = FOLD_CHANGES[change.kind]
            columns.append((f"log2 fold change ({how}), {what}", change.log2[i]))
        columns += [
            (f"Welch t (descriptive), {what}", table.t[i]),
            (f"q (descriptive), {what}", table.q[i]),
        ]
    if table.frequency is not None:
        columns.append((f"share selected {table.selectors}", table.frequency))
    rows = [[_cell(value) for value in row] for row in zip(*(values for _, values in columns), strict=True)]
    return [name for name, _ in columns], rows


def write_genes(path: str | Path, headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Text with commas or tabs, as the ending says."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=DELIMITERS[Path(path).suffix.lower()], lineterminator="\n")
    writer.writerows([headers, *rows])
    write_whole(path, text.getvalue())


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return value
    number = float(value)
    return number if np.isfinite(number) else None


# Features that fewer of the folds selected are greyed.
FEW_FOLDS = 0.5


@dataclass(frozen=True)
class FeatureRow:
    """One selected feature. ``cells`` are numbers; ``place`` is its row in the heat map, if it is there."""

    name: str
    place: int | None
    supports: str
    bar: float  # importance as a share of the largest
    is_rare: bool  # selected in few folds
    cells: tuple[str, ...]


@dataclass(frozen=True)
class PageTable:
    """Headers, and rows of cells; ``caption`` is read out to those who do not see it."""

    caption: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]


def number(value: float) -> str:
    """Four digits, with a minus sign, and thousands rather than powers of ten where that is readable."""
    if np.isnan(value):
        return ""
    if value == 0.0:
        return "0"
    text = f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:#.4g}".rstrip(".")
    return text.replace("-", "\u2212")


def feature_headers(findings: Findings) -> list[str]:
    """Of the numbers; the name and the class stand before them."""
    classes = [isolate(name) for name in findings.data.classes]
    table = findings.features
    coefficients = (
        ["coefficient"] if len(table.coefficients) == 1 else [f"coefficient, {name}" for name in classes]
    )
    which = "" if len(classes) == 2 else ", class named first against the others"
    frequency = [] if table.frequency is None else [f"selected {table.selectors}"]
    means = [f"mean, {name}" for name in classes]
    return ["importance", *coefficients, *means, *frequency, f"Welch t{which}", f"q{which}"]


def feature_rows(findings: Findings) -> list[FeatureRow]:
    """All selected features; t and q are those of the class that ``supports`` names first."""
    table = findings.features
    largest = float(table.importance.max(initial=0.0)) or 1.0
    n_drawn = len(findings.values.names)
    rows = []
    for j, name in enumerate(table.names):
        of_classes = table.coefficients[:, j]
        named_first = np.argmax(of_classes) if of_classes.max() > 0 else np.argmin(of_classes)
        lead = 0 if len(table.t) == 1 else int(named_first)
        cells = [table.importance[j], *table.coefficients[:, j], *table.class_means[:, j]]
        frequency = [] if table.frequency is None else [f"{table.frequency[j]:.0%}"]
        rows.append(
            FeatureRow(
                name=name,
                place=j if j < n_drawn else None,
                supports=table.directions[j].in_words,
                bar=float(table.importance[j]) / largest,
                is_rare=table.frequency is not None and bool(table.frequency[j] < FEW_FOLDS),
                cells=(
                    *(number(float(cell)) for cell in cells),
                    *frequency,
                    number(float(table.t[lead, j])),
                    q_value(float(table.q[lead, j])),
                ),
            )
        )
    return rows


def q_value(value: float) -> str:
    """Small ones as powers of ten."""
    if np.isnan(value):
        return ""
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}".replace("-", "\u2212")


def confusion_rows(findings: Findings) -> list[tuple[str, list[tuple[int, float, bool]]]]:
    """By class: how many of its left-out samples got which prediction, as a share of it, and if rightly."""
    if findings.left_out is None:
        return []
    return [
        (name, [(int(n), float(n) / max(1, int(row.sum())), i == k) for k, n in enumerate(row)])
        for i, (name, row) in enumerate(zip(findings.data.classes, findings.left_out.confusion, strict=True))
    ]


def table_of(caption: str, records: Sequence[Any], columns: Mapping[str, Callable[[Any], str]]) -> PageTable:
    """A row for each record, a column for each function."""
    return PageTable(caption, list(columns), [[cell(one) for cell in columns.values()] for one in records])


def error_table(findings: Findings) -> PageTable | None:
    """The left-out samples that were misclassified, those first that were so most often."""
    found = findings.left_out
    if found is None or not found.errors:
        return None
    columns: dict[str, Callable[[Any], str]] = {
        "sample": lambda one: one.name,
        "class": lambda one: one.own,
        "predicted when left out": lambda one: one.named,
        "probability of own class": lambda one: share(one.probability),
    }
    if found.n_repeats > 1:
        columns[f"wrong, of {found.n_repeats} repeats"] = lambda one: f"{one.n_times}"
    return table_of("Left-out samples that were misclassified", found.errors, columns)


def rate_table(findings: Findings) -> PageTable | None:
    """Left-out predictions class by class, in the words of a clinic; None without any."""
    if findings.left_out is None:
        return None

    def of(name: str, otherwise: str = "none") -> Callable[[Any], str]:
        def cell(one: Any) -> str:
            rate = getattr(one.rates, name)
            return otherwise if rate is None else f"{rate.value:.1%} ({rate.interval})"

        return cell

    def missed(one: Any) -> str:
        rate = one.rates.sensitivity
        return "unknown" if rate is None else f"{rate.n - rate.n_counted:,}"

    return table_of(
        "Left-out predictions by class, with 95% intervals",
        findings.classes,
        {
            "class": lambda one: one.name,
            "samples": lambda one: f"{one.n_samples:,}",
            "missed": missed,
            "sensitivity: of the class, found": of("sensitivity", "unknown"),
            "specificity: of the others, not called so": of("specificity"),
            "predictive value: of those called so, right": of("predictive_value"),
        },
    )


def class_table(findings: Findings) -> PageTable:
    return table_of(
        "Training and the worst case by class",
        findings.classes,
        {
            "class": lambda one: one.name,
            "samples": lambda one: f"{one.n_samples:,}",
            "training error": lambda one: share(one.training_error),
            "mean score of own class": lambda one: share(one.own_probability),
            "weight of its samples in the worst case": lambda one: f"{one.mass:.1%}",
            "of that on other labels": lambda one: f"{one.mass_on_others:.1%}",
        },
    )


def probability_table(findings: Findings) -> PageTable | None:
    """Left-out samples by the probability of the predicted class; bands without samples are left out."""
    if findings.cross_validation is None:
        return None
    bands = findings.cross_validation.by_probability()
    return table_of(
        "Left-out samples by the probability of the predicted class",
        [band for band in bands if band.mean_stated is not None],
        {
            "probability of the predicted class": _band,
            "mean of it": lambda one: share(one.mean_stated),
            "samples": lambda one: f"{one.n_samples:,}",
            "right": lambda one: f"{one.n_right:,}",
            "share right": lambda one: share(one.n_right / one.n_samples),
        },
    )


def _band(one: ProbabilityBand) -> str:
    if one.high is None:
        return f"{one.low:g} and more"
    return f"{one.low:g} to below {one.high:g}" if one.low > 0.0 else f"below {one.high:g}"


def set_table(findings: Findings) -> PageTable | None:
    """Left-out samples by class and by what their sets hold."""
    if findings.cross_validation is None:
        return None
    counts = findings.cross_validation.left_out.counts(SET_CONFIDENCE)
    return PageTable(
        "Left-out samples by class: sure, unsure, unlike all classes",
        ["class", "sure and right", "sure and wrong", UNSURE, UNLIKE],
        [
            [name, *(f"{n:,}" for n in row)]
            for name, row in zip(findings.data.classes, counts.tolist(), strict=True)
        ],
    )


def rival_table(rivals: Rivals) -> PageTable:
    """On the terminal too."""
    return table_of(
        "This model beside other classifiers",
        rivals.compared,
        {
            "classifier": lambda one: one.name,
            "error": lambda one: share(one.error),
            "difference ± standard error": _difference,
            "columns": lambda one: "not known" if one.n_features is None else f"{one.n_features:,.0f}",
            "seconds": lambda one: f"{one.seconds:,.3f}",
        },
    )


def _difference(one: ComparedClassifier) -> str:
    if one.difference is None or one.difference_error is None:
        return ""
    sign = "\u2212" if one.difference < 0 else "+"
    return f"{sign}{share(abs(one.difference))} ± {share(one.difference_error)}"


def suspect_table(findings: Findings) -> PageTable:
    is_one_other = findings.data.n_classes == 2
    return table_of(
        "Weights of samples in the worst case",
        findings.suspects,
        {
            "sample": lambda one: one.name,
            "class": lambda one: one.own,
            "other label" if is_one_other else "heaviest other label": lambda one: one.other,
            "weight on the other" if is_one_other else "weight on all others": lambda one: (
                f"{one.other_mass:.2%}"
            ),
            "weight on its own": lambda one: f"{one.own_mass:.2%}",
            "score of own class": lambda one: share(one.own_probability),
            "predicted when left out": lambda one: one.predicted_when_left_out or "not computed",
        },
    )


def time_facts(findings: Findings, before: Mapping[str, float]) -> list[tuple[str, str]]:
    """Where the seconds went, part after part, so that pages of the same data differ in digits alone."""
    seconds = {**before}
    for part, value in findings.seconds.items():
        seconds[part] = seconds.get(part, 0.0) + value
    return [(part, f"{value:,.1f} s") for part, value in seconds.items()]


def data_facts(findings: Findings, imputed: str | None) -> list[tuple[str, str]]:
    data, fit = findings.data, findings.fit
    sizes = zip(data.classes, data.class_sizes, strict=True)
    scaling = fit.preparation or ("centred, at unit variance" if fit.is_standardized else "none")
    return [
        ("samples", f"{data.n_samples:,}"),
        ("features", f"{data.n_features:,}"),
        ("classes", "; ".join(f"{isolate(name)}: {count(size, 'sample')}" for name, size in sizes)),
        ("constant columns", f"{data.n_constant:,}"),
        ("stored as", "sparse matrix" if data.is_sparse else "dense table"),
        ("zeros", f"{data.share_of_zeros:.1%} of the values"),
        ("missing values", imputed or "none imputed"),
        ("scaling", scaling),
    ]
