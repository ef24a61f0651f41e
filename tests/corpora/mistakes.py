"""Tables with a mistake made on purpose. The expected codes must be among those that are found.

They were written down before any check had seen a table. The comments name the code of each group.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from corpora.tables import (
    LABORATORY,
    Corpus,
    counts,
    data,
    expression,
    metabolomics,
    methylation,
    panel,
    smote,
    spectra,
    split,
    wavelengths,
    with_column,
)

MISTAKES = Corpus()
mistake = MISTAKES.add


def two(codes):
    """Name two classes."""
    return np.array(["control", "case"])[codes]


def three(codes):
    """Name three classes."""
    return np.array(["healthy", "mild", "severe"])[codes]


def generated(kind, rng, codes, **options):
    """Return a table of a kind, with the names of its columns."""
    names = {panel: list(LABORATORY), spectra: wavelengths()}.get(kind)
    X = kind(rng, codes, **options)
    return X, names or [f"GN{j:04d}" for j in range(X.shape[1])]


# ---- batch-is-class


@mistake({"batch-is-class": "Cases were measured in March, controls in May."})
def month_is_class(rng):
    codes = split(rng, 60)
    return data(expression(rng, codes), two(codes), batch=np.array(["may", "march"])[codes])


@mistake({"batch-is-class": "Three instruments, each of which saw one class."})
def instrument_is_class(rng):
    codes = split(rng, 60)
    instrument = np.where(codes, 2, np.arange(60) % 2)
    return data(spectra(rng, codes), two(codes), wavelengths(), batch=instrument)


# ---- label-copy and near-label-copy


def label_column(kind, values, share, name, rng):
    """A column holds a code of the class, wrong for a share of the samples."""
    codes = split(rng, 100, shares=[1] * len(values))
    X, names = generated(kind, rng, codes, effect=0.8)
    wrong = rng.choice(100, round(share * 100), replace=False)
    copied = codes.copy()
    copied[wrong] = (codes[wrong] + 1) % len(values)
    X, names = with_column(X, np.array(values)[copied], name, names)
    return data(X, (two if len(values) == 2 else three)(codes), names)


for name, kind, values in (
    ("expression", expression, (0, 1)),
    ("panel", panel, (1, 2)),
    ("metabolites", metabolomics, (3, 1, 2)),
):
    copy = {"label-copy": "One column is the class, in numbers."}
    mistake(copy, name=f"label-copy-{name}")(partial(label_column, kind, values, 0, "result"))

for name, kind, values in (
    ("expression", expression, (0, 1)),
    ("panel", panel, (2, 1)),
    ("spectra", spectra, (0, 1)),
):
    near = {"near-label-copy": "One column is the class as somebody else judged it, 5% wrong."}
    mistake(near, name=f"near-label-copy-{name}")(partial(label_column, kind, values, 0.05, "result"))


# ---- interpolated-samples


def oversampled(kind, rng, options=None):
    """The rare class was filled up by SMOTE before the table was written."""
    codes = split(rng, 85, shares=(60, 25))
    X, names = generated(kind, rng, codes, **(options or {}))
    X = np.vstack([X, smote(rng, X[codes == 1], 35)])
    codes = np.r_[codes, np.ones(35, int)]
    rows = rng.permutation(len(codes))
    return data(X[rows], two(codes[rows]), names)


for name, kind, options in (
    ("expression", expression, {}),
    ("spectra", spectra, {"noise": 0.02}),
    ("methylation", methylation, {}),
):
    artificial = {"interpolated-samples": "35 of 60 cases lie on a line between two others."}
    mistake(artificial, name=f"smote-{name}")(partial(oversampled, kind, options=options))


@mistake({"interpolated-samples": "60 of 120 cases lie on a line between two others, in mixed units."})
def smote_panel(rng):
    codes = split(rng, 160, shares=(100, 60))
    X = panel(rng, codes)
    X = np.vstack([X, smote(rng, X[codes == 1], 60)])
    return data(X, two(np.r_[codes, np.ones(60, int)]), LABORATORY)


# ---- scale-by-class and scale-mismatch


def rescaled(kind, change, chosen, rng):
    """Some samples are on another scale: one class, or a third of the samples of both."""
    codes = split(rng, 80)
    X, names = generated(kind, rng, codes)
    rows = codes == 1 if chosen == "class" else np.arange(80) % 3 == 0
    X[rows] = change(X[rows])
    return data(X, two(codes), names)


CHANGES = {
    "raw": (expression, np.exp2, "Raw values among logarithms"),
    "base-10": (expression, lambda X: X * np.log10(2), "Logarithms to base 10 among those to base 2"),
    "percent": (spectra, lambda X: 100 * 10**-X, "Transmittance in percent among absorbances"),
    "square-root": (metabolomics, lambda X: np.exp(X / 2), "Square roots among logarithms"),
}
for name, (kind, change, reason) in CHANGES.items():
    by_class = {"scale-by-class": f"{reason}, and they are all cases."}
    mistake(by_class, name=f"{name}-by-class")(partial(rescaled, kind, change, "class"))
    mixed = {"scale-mismatch": f"{reason}, in both classes."}
    mistake(mixed, name=f"{name}-mixed")(partial(rescaled, kind, change, "third"))


# ---- class-spelling, unlikely-class, numeric-labels


def labelled(kind, names, rng, shares=None):
    """Classes have these names, in the order of their numbers."""
    shares = shares or [1] * len(names)
    codes = split(rng, 90, shares=shares)
    X, features = generated(kind, rng, codes)
    return data(X, np.array(names)[codes], features)


LABELS = {
    "spelling-case": ("class-spelling", expression, ("tumour", "Tumour", "normal"), (8, 4, 12)),
    "spelling-space": ("class-spelling", panel, ("control ", "control", "case"), (3, 9, 12)),
    "spelling-upper": ("class-spelling", spectra, ("AML", "aml", "ALL"), (6, 3, 9)),
    "unknown": ("unlikely-class", expression, ("benign", "malignant", "unknown"), (4, 4, 1)),
    "quality-control": ("unlikely-class", metabolomics, ("case", "control", "QC"), (4, 4, 2)),
    "undetermined": ("unlikely-class", panel, ("yes", "no", "not determined"), (4, 4, 1)),
    "minus-nine": ("unlikely-class", expression, (1, 2, -9), (4, 4, 1)),
    "ninety-nine": ("unlikely-class", panel, (0, 1, 99), (4, 4, 1)),
    "doses": ("numeric-labels", expression, (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0), None),
    "ages": ("numeric-labels", methylation, (23, 31, 38, 44, 47, 52, 58, 63, 70), None),
}
for name, (code, kind, labels, shares) in LABELS.items():
    about = {code: f"Labels are {', '.join(map(repr, labels))}."}
    mistake(about, name=f"labels-{name}")(partial(labelled, kind, labels, shares=shares))


# ---- duplicates, duplicate-labels, near-duplicates


def repeated(kind, noise, flip, rng):
    """Five samples are there twice, exactly or with noise in standard deviations, or with another label."""
    codes = split(rng, 80)
    X, names = generated(kind, rng, codes)
    copies = X[:5] + noise * X.std(axis=0) * rng.normal(size=(5, X.shape[1]))
    codes = np.r_[codes, 1 - codes[:5] if flip else codes[:5]]
    return data(np.vstack([X, copies]), two(codes), names)


for name, kind in (("expression", expression), ("spectra", spectra), ("panel", panel)):
    same = {"duplicates": "Five samples are there twice."}
    mistake(same, name=f"duplicates-{name}")(partial(repeated, kind, 0, False))
    other = {"duplicate-labels": "Five samples are there twice, once in each class."}
    mistake(other, name=f"duplicate-labels-{name}")(partial(repeated, kind, 0, True))
for name, kind in (("expression", expression), ("methylation", methylation), ("metabolites", metabolomics)):
    measured = {"near-duplicates": "Five samples were measured twice; noise is 5% of a standard deviation."}
    mistake(measured, name=f"near-duplicates-{name}")(partial(repeated, kind, 0.05, False))


# ---- dominant-feature, suspicious-name, clinical-name


def leaking_column(kind, name, size, rng):
    """A column tells the class: it differs by so many standard deviations."""
    codes = split(rng, 80)
    X, names = generated(kind, rng, codes, effect=0.4)
    X, names = with_column(X, np.round(rng.normal(300 + 40 * size * codes, 40), 1), name, names)
    return data(X, two(codes), names)


for name, kind in (("expression", expression), ("panel", panel), ("methylation", methylation)):
    after = {
        "dominant-feature": "A score that was given after the diagnosis differs by eight standard deviations."
    }
    mistake(after, name=f"score-{name}")(partial(leaking_column, kind, "pathology_score", 8))
for column, kind in (
    ("patient_id", expression),
    ("survival_months", metabolomics),
    ("scan_date", spectra),
    ("date_of_death", methylation),
):
    whole = {"suspicious-name": f"A column named {column} differs by four standard deviations."}
    mistake(whole, name=f"column-{column}")(partial(leaking_column, kind, column, 4))
for column, kind in (("age", expression), ("bmi", metabolomics), ("grade", methylation)):
    clinic = {"clinical-name": f"A column named {column} differs by two and a half standard deviations."}
    mistake(clinic, name=f"column-{column}")(partial(leaking_column, kind, column, 2.5))


# ---- running-number, order-drift


def numbered(kind, number, name, rng):
    """Rows are sorted by class, and a column numbers them."""
    codes = split(rng, 80, ordered=True)
    X, names = generated(kind, rng, codes, effect=0.6)
    X, names = with_column(X, number(rng), name, names)
    return data(X, two(codes), names)


NUMBERS = {
    "accession": (expression, lambda rng: 52000.0 + np.cumsum(rng.integers(1, 9, 80)), "accession"),
    "time-stamps": (metabolomics, lambda rng: 1.7e9 + 912.5 * np.arange(80), "injected"),
    "falling": (panel, lambda rng: 3000.0 - np.cumsum(rng.integers(1, 4, 80)), "folder"),
}
for name, (kind, number, column) in NUMBERS.items():
    running = {"running-number": "A column numbers the rows, which are sorted by class."}
    mistake(running, name=f"number-{name}")(partial(numbered, kind, number, column))


def drifting(kind, shuffle, rng):
    """One class was measured after the other, while half of the columns drifted; nothing else differs."""
    codes = split(rng, 80, ordered=True)
    X, features = generated(kind, rng, codes, informative=0)
    drift = np.where(rng.random(X.shape[1]) < 0.5, rng.choice([-1, 1], X.shape[1]), 0) * X.std(axis=0)
    X += np.outer(np.linspace(-2, 2, 80), drift)
    rows = rng.permutation(80) if shuffle else np.arange(80)
    return data(X[rows], two(codes[rows]), features, np.array([f"run{i:03d}" for i in range(80)])[rows])


late = {"order-drift": "Classes were measured one after the other on an instrument that drifts."}
mistake(late, name="drift-by-row")(partial(drifting, expression, False))
mistake(late, name="drift-by-name")(partial(drifting, metabolomics, True))


# ---- sample-number, uniform-difference, many-differences


@mistake({"sample-number": "RNA of the cases was degraded, which lowers six genes of ten and the mean."})
def degraded_samples(rng):
    codes = split(rng, 80)
    loss = np.where(rng.random(400) < 0.6, rng.uniform(0.2, 2.5, 400), 0)
    return data(expression(rng, codes, informative=0) - np.outer(codes, loss), two(codes))


@mistake({"sample-number": "Missing values are zeros, and there are more of them in one class."})
def zeros_for_missing(rng):
    codes = split(rng, 80)
    X = expression(rng, codes, informative=0)
    X[rng.random(X.shape) < np.where(codes, 0.35, 0.05)[:, None]] = 0
    return data(X, two(codes))


@mistake({"sample-number": "Gaps are more frequent in one class."})
def gaps_by_class(rng):
    codes = split(rng, 80)
    X = metabolomics(rng, codes, effect=0.8)
    X[rng.random(X.shape) < np.where(codes, 0.3, 0.05)[:, None]] = np.nan
    return data(X, two(codes))


@mistake({"sample-number": "Cases were measured with twice the noise, so that their spread tells them."})
def noisy_class(rng):
    codes = split(rng, 80)
    X = spectra(rng, codes, effect=0, noise=0.05)
    X += 0.15 * codes[:, None] * rng.normal(size=X.shape)
    return data(X, two(codes), wavelengths())


@mistake({"sample-number": "Three classes with 5%, 20% and 35% of gaps."})
def gaps_by_three_classes(rng):
    codes = split(rng, 90, shares=(1, 1, 1))
    X = expression(rng, codes, effect=0.8)
    X[rng.random(X.shape) < (0.05 + 0.15 * codes)[:, None]] = np.nan
    return data(X, three(codes))


@mistake({"uniform-difference": "Another normalisation adds 1.5 to all values of the cases."})
def shifted_class(rng):
    codes = split(rng, 80)
    return data(expression(rng, codes, informative=0) + 1.5 * codes[:, None], two(codes))


@mistake({"uniform-difference": "Twice as much of each case was injected."})
def doubled_class(rng):
    codes = split(rng, 80)
    return data(np.exp(0.4 * expression(rng, codes, 150, informative=0)) * (1 + codes[:, None]), two(codes))


@mistake({"uniform-difference": "One of three classes was measured with another reference."})
def referenced_class(rng):
    codes = split(rng, 90, shares=(1, 1, 1))
    return data(spectra(rng, codes, noise=0.02) + 0.6 * (codes[:, None] == 2), three(codes), wavelengths())


def nearly_all_differ(kind, rng):
    """All columns differ between the classes, up or down."""
    codes = split(rng, 100)
    X, names = generated(kind, rng, codes, informative=0)
    effect = rng.choice([-1, 1], X.shape[1]) * rng.uniform(0.9, 1.8, X.shape[1]) * X.std(axis=0)
    return data(X + np.outer(codes, effect), two(codes), names)


for name, kind in (("expression", expression), ("metabolites", metabolomics)):
    many = {"many-differences": "Every column differs by one standard deviation or two."}
    mistake(many, name=f"all-differ-{name}")(partial(nearly_all_differ, kind))


# ---- filled-by-class, summary-samples, missing-code, empty-samples, constant-samples


def filled(kind, statistic, rng):
    """A sixth of the values was missing and filled with the mean or median of the column in the class."""
    codes = split(rng, 100)
    X, names = generated(kind, rng, codes)
    gaps = rng.random(X.shape) < 0.16
    for code in (0, 1):
        rows = (codes == code)[:, None]
        X = np.where(gaps & rows, statistic(np.where(gaps, np.nan, X)[rows[:, 0]], axis=0), X)
    return data(X, two(codes), names)


for name, kind, statistic in (
    ("mean-expression", expression, np.nanmean),
    ("median-metabolites", metabolomics, np.nanmedian),
    ("mean-panel", panel, np.nanmean),
):
    gap = {
        "filled-by-class": "Each class has one value of its own in a sixth of its samples, in every column."
    }
    mistake(gap, name=f"filled-by-{name}")(partial(filled, kind, statistic))


def summarised(kind, summary, rng):
    """The last row sums up others."""
    codes = split(rng, 60)
    X, names = generated(kind, rng, codes)
    return data(np.vstack([X, summary(X, codes)]), two(np.r_[codes, 1]), names)


for name, kind, summary in (
    ("mean-of-class", expression, lambda X, codes: X[codes == 1].mean(axis=0)),
    ("median-of-all", panel, lambda X, codes: np.median(X, axis=0)),
    ("mean-of-all", spectra, lambda X, codes: X.mean(axis=0)),
    ("sum-of-all", counts, lambda X, codes: X.sum(axis=0)),
):
    row = {"summary-samples": f"The last row is the {name.replace('-', ' ')}."}
    mistake(row, name=f"row-{name}")(partial(summarised, kind, summary))


def overwritten(kind, rows, value, share, rng):
    """Some samples have one value in a share of their columns."""
    codes = split(rng, 80)
    X, names = generated(kind, rng, codes)
    X[:rows] = np.where(rng.random((rows, X.shape[1])) < share, value, X[:rows])
    return data(X, two(codes), names)


OVERWRITTEN = {
    "minus-999-panel": ("missing-code", panel, 80, -999, 0.04),
    "minus-9999-expression": ("missing-code", expression, 80, -9999, 0.03),
    "empty-expression": ("empty-samples", expression, 3, np.nan, 0.7),
    "empty-metabolites": ("empty-samples", metabolomics, 2, np.nan, 0.8),
    "zero-expression": ("constant-samples", expression, 2, 0, 1),
    "saturated-spectra": ("constant-samples", spectra, 3, 3.5, 1),
}
for name, (code, kind, rows, value, share) in OVERWRITTEN.items():
    written = {code: f"{rows} samples have the value {value} in {share:.0%} of their columns."}
    mistake(written, name=name)(partial(overwritten, kind, rows, value, share))


# ---- repeated-sources, source-names, predictable-batch


def replicated(kind, column, name_of, rng):
    """Twenty-five sources with three samples each, as a column of the file or the names show."""
    source = np.repeat(np.arange(25), 3)
    codes = source % 2
    X, names = generated(kind, rng, codes)
    X += 0.5 * X.std(axis=0) * rng.normal(size=(25, X.shape[1]))[source]
    samples = [name_of(s, i % 3 + 1) for i, s in enumerate(source)] if name_of else None
    owners = {column: np.array([f"D{s:02d}" for s in source])} if column else {}
    return data(X, two(codes), names, samples, owners=owners)


for column, kind in (("patient", expression), ("donor", spectra)):
    owned = {"repeated-sources": f"Three samples of each {column}, and no groups."}
    mistake(owned, name=f"repeated-{column}")(partial(replicated, kind, column, None))
for name, kind, name_of in (
    ("replicates", expression, lambda s, i: f"P{s + 1}_rep{i}"),
    ("visits", metabolomics, lambda s, i: f"{s + 11}-{i}"),
):
    shown = {"source-names": f"Samples have names such as {name_of(0, 1)}, {name_of(0, 2)}."}
    mistake(shown, name=f"names-of-{name}")(partial(replicated, kind, None, name_of))


def unequal_batches(kind, rng):
    """Two batches with 70% and 30% of cases, and half a standard deviation or more between their columns."""
    batch = np.arange(100) % 2
    codes = (rng.permutation(50)[np.arange(100) // 2] < np.where(batch, 35, 15)) * 1
    X, names = generated(kind, rng, codes)
    shift = rng.choice([-1, 1], X.shape[1]) * rng.uniform(0.5, 2, X.shape[1]) * X.std(axis=0)
    return data(X + np.outer(batch, shift), two(codes), names, batch=np.array(["old", "new"])[batch])


for name, kind in (("expression", expression), ("spectra", spectra), ("methylation", methylation)):
    unequal = {"predictable-batch": "Every column differs between the batches."}
    mistake(unequal, name=f"two-batches-{name}")(partial(unequal_batches, kind))


# ---- raw-counts, raw-intensities, date-names


@mistake({"raw-counts": "Reads of bulk RNA, not normalised."})
def bulk_counts(rng):
    codes = split(rng, 80)
    return data(counts(rng, codes, 400, depth=800.0), two(codes))


@mistake({"raw-counts": "Molecules in single cells, not normalised."})
def cell_counts(rng):
    codes = split(rng, 150)
    return data(counts(rng, codes, 600, depth=2.0, informative=50), two(codes))


@mistake({"raw-intensities": "Intensities of a microarray, without logarithms."})
def raw_microarray(rng):
    codes = split(rng, 80)
    return data(np.exp2(expression(rng, codes, 500)), two(codes))


@mistake({"raw-intensities": "Peak areas, without logarithms."})
def raw_peak_areas(rng):
    codes = split(rng, 80)
    return data(np.exp(metabolomics(rng, codes)), two(codes))


def dated(kind, dates, rng):
    """A spreadsheet made dates of some names of genes."""
    codes = split(rng, 70)
    X, names = generated(kind, rng, codes)
    names[40 : 40 + len(dates)] = dates
    return data(X, two(codes), names)


spoilt = {"date-names": "MARCH1, SEPT2 and others became dates."}
mistake(spoilt, name="genes-1-Mar")(partial(dated, expression, ["1-Mar", "2-Mar", "1-Sep", "2-Sep", "1-Dec"]))
mistake(spoilt, name="genes-Sep-02")(partial(dated, methylation, ["Mar-01", "Sep-02", "Sep-07", "Dec-01"]))
