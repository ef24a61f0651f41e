"""Tables with a mistake made on purpose. The expected codes must be among those that are found.

They were written down before any check had seen a table. The headings name the codes. ``NOT_FOUND`` has the
mistakes that the checks miss.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from corpora.tables import (
    Corpus,
    counts,
    data,
    expression,
    generated,
    metabolomics,
    methylation,
    panel,
    smote,
    spectra,
    with_column,
)

MISTAKES = Corpus()
mistake = MISTAKES.add
THREE = {"n": 90, "shares": (1, 1, 1), "classes": ("healthy", "mild", "severe")}


def plain(kind, options, rng, codes):
    """Return a table as the generator makes it."""
    return data(*generated(kind, rng, codes, **options))


# ---- batch-is-class, predictable-batch


@mistake({"batch-is-class": "Cases were measured in March, controls in May."}, n=60)
def month_is_class(rng, codes):
    return data(expression(rng, codes), batch=np.array(["may", "march"])[codes])


@mistake({"batch-is-class": "Three instruments, each of which saw one class."}, n=60)
def instrument_is_class(rng, codes):
    return data(spectra(rng, codes), batch=np.where(codes, 2, np.arange(60) % 2))


def unequal_batches(kind, rng, codes):
    """Two batches with about 70% and 30% of cases, whose columns differ by at least half a deviation."""
    batch = np.where(rng.random(100) < 0.7, codes, 1 - codes)
    X, names = generated(kind, rng, codes)
    shift = rng.choice([-1, 1], X.shape[1]) * rng.uniform(0.5, 2, X.shape[1]) * X.std(axis=0)
    return data(X + np.outer(batch, shift), names, batch=np.array(["old", "new"])[batch])


for kind in (expression, spectra, metabolomics):
    unequal = {"predictable-batch": "Every column differs between the batches."}
    mistake(unequal, name=f"two-batches-{kind.__name__}", n=100)(partial(unequal_batches, kind))


# ---- label-copy, near-label-copy


def label_column(kind, values, share, rng, codes):
    """A column holds a code of the class, wrong for a share of the samples."""
    X, names = generated(kind, rng, codes, effect=0.8)
    wrong = rng.choice(len(codes), round(share * len(codes)), replace=False)
    copied = codes.copy()
    copied[wrong] = (codes[wrong] + 1) % len(values)
    return data(*with_column(X, np.array(values)[copied], "result", names))


COPY = {"label-copy": "One column is the class, in numbers."}
NEAR_COPY = {"near-label-copy": "One column is the class as somebody else judged it, 5% wrong."}
for kind, values in ((expression, (0, 1)), (panel, (1, 2))):
    mistake(COPY, name=f"label-copy-{kind.__name__}")(partial(label_column, kind, values, 0))
    mistake(NEAR_COPY, name=f"near-label-copy-{kind.__name__}")(partial(label_column, kind, values, 0.05))
mistake(COPY, name="label-copy-of-three", **THREE)(partial(label_column, metabolomics, (3, 1, 2), 0))


# ---- interpolated-samples


def oversampled(kind, options, rng, codes):
    """The rare class was filled up by SMOTE before the table was written."""
    X, names = generated(kind, rng, codes, **options)
    X = np.vstack([X, smote(rng, X[codes == 1], 35)])
    rows = rng.permutation(len(X))
    return data(X[rows], names, codes=np.r_[codes, np.ones(35, int)][rows])


for kind, options in ((expression, {}), (spectra, {"noise": 0.02}), (methylation, {}), (panel, {})):
    artificial = {"interpolated-samples": "35 cases lie on a line between two others."}
    shares = {"n": 140, "shares": (80, 60)} if kind is panel else {"n": 85, "shares": (60, 25)}
    mistake(artificial, name=f"smote-{kind.__name__}", **shares)(partial(oversampled, kind, options))


# ---- scale-by-class, scale-mismatch


def rescaled(kind, change, by_class, rng, codes):
    """Some samples are on another scale: one class, or a third of the samples of both."""
    X, names = generated(kind, rng, codes)
    rows = codes == 1 if by_class else np.arange(len(codes)) % 3 == 0
    X[rows] = change(X[rows])
    return data(X, names)


for name, kind, change, reason in (
    ("raw", expression, np.exp2, "Raw values among logarithms"),
    ("base-10", expression, lambda X: X * np.log10(2), "Logarithms to base 10 among those to base 2"),
    ("percent", spectra, lambda X: 100 * 10**-X, "Transmittance in percent among absorbances"),
):
    by_class = {"scale-by-class": f"{reason}, and they are all cases."}
    mistake(by_class, name=f"{name}-by-class")(partial(rescaled, kind, change, True))
    mistake({"scale-mismatch": f"{reason}."}, name=f"{name}-mixed")(partial(rescaled, kind, change, False))


# ---- class-spelling, unlikely-class, numeric-labels

for name, code, kind, classes, shares in (
    ("spelling-case", "class-spelling", expression, ("tumour", "Tumour", "normal"), (8, 4, 12)),
    ("spelling-space", "class-spelling", panel, ("control ", "control", "case"), (3, 9, 12)),
    ("unknown", "unlikely-class", expression, ("benign", "malignant", "unknown"), (4, 4, 1)),
    ("quality-control", "unlikely-class", metabolomics, ("case", "control", "QC"), (4, 4, 2)),
    ("undetermined", "unlikely-class", panel, ("yes", "no", "not determined"), (4, 4, 1)),
    ("minus-nine", "unlikely-class", expression, (1, 2, -9), (4, 4, 1)),
    ("ninety-nine", "unlikely-class", panel, (0, 1, 99), (4, 4, 1)),
    ("doses", "numeric-labels", expression, (3, 10, 30, 100, 300, 1000, 3000, 10000, 30000), [1] * 9),
    ("ages", "numeric-labels", methylation, (23, 31, 38, 44, 47, 52, 58, 63, 70), [1] * 9),
):
    labels = {code: f"Labels are {', '.join(map(repr, classes))}."}
    mistake(labels, name=f"labels-{name}", n=90, shares=shares, classes=classes)(partial(plain, kind, {}))


# ---- duplicates, duplicate-labels, near-duplicates


def repeated(kind, noise, flip, rng, codes):
    """Five samples are there twice, exactly or with noise in standard deviations, or with another label."""
    X, names = generated(kind, rng, codes)
    copies = X[:5] + noise * X.std(axis=0) * rng.normal(size=(5, X.shape[1]))
    return data(np.vstack([X, copies]), names, codes=np.r_[codes, 1 - codes[:5] if flip else codes[:5]])


for kind in (expression, spectra, panel):
    same = {"duplicates": "Five samples are there twice."}
    mistake(same, name=f"duplicates-{kind.__name__}")(partial(repeated, kind, 0, False))
    other = {"duplicate-labels": "Five samples are there twice, once in each class."}
    mistake(other, name=f"duplicate-labels-{kind.__name__}")(partial(repeated, kind, 0, True))
for kind in (expression, methylation, metabolomics):
    measured = {"near-duplicates": "Five samples were measured twice; noise is 5% of a standard deviation."}
    mistake(measured, name=f"near-duplicates-{kind.__name__}")(partial(repeated, kind, 0.05, False))


# ---- dominant-feature, suspicious-name, clinical-name


def leaking_column(kind, name, mean, sd, size, rng, codes):
    """A column tells the class: it differs by so many standard deviations."""
    X, names = generated(kind, rng, codes, effect=0.4)
    return data(*with_column(X, np.round(rng.normal(mean + sd * size * codes, sd)), name, names))


for code, column, kind, mean, sd, size in (
    ("dominant-feature", "pathology_score", expression, 200, 30, 16),
    ("dominant-feature", "tumour_area", panel, 50, 20, 8),
    ("suspicious-name", "patient_id", expression, 4000, 500, 4),
    ("suspicious-name", "survival_months", metabolomics, 60, 9, -4),
    ("suspicious-name", "scan_date", spectra, 738000, 30, 4),
    ("suspicious-name", "date_of_death", methylation, 20190000, 300, 4),
    ("clinical-name", "age", expression, 45, 9, 2.5),
    ("clinical-name", "bmi", metabolomics, 22, 3, 2.5),
):
    leak = {code: f"A column named {column} differs by {abs(size)} standard deviations."}
    mistake(leak, name=f"column-{column}")(partial(leaking_column, kind, column, mean, sd, size))


# ---- running-number, order-drift


def numbered(kind, name, number, rng, codes):
    """Rows are sorted by class, and a column numbers them."""
    X, names = generated(kind, rng, codes, effect=0.6)
    return data(*with_column(X, number(rng), name, names))


RUNNING = {"running-number": "A column numbers the rows, which are sorted by class."}
for name, kind, number in (
    ("accession", expression, lambda rng: 52000.0 + np.cumsum(rng.integers(1, 9, 80))),
    ("injected", metabolomics, lambda rng: 1.7e9 + 912.5 * np.arange(80)),
    ("folder", panel, lambda rng: 3000.0 - np.cumsum(rng.integers(1, 4, 80))),
):
    mistake(RUNNING, name=f"number-{name}", ordered=True)(partial(numbered, kind, name, number))


def drifting(kind, shuffle, rng, codes):
    """One class was measured after the other, while half of the columns drifted; nothing else differs."""
    X, features = generated(kind, rng, codes, informative=0)
    drift = rng.choice([-1, 1, 0, 0], X.shape[1]) * X.std(axis=0)
    X += np.outer(np.linspace(-2, 2, 80), drift)
    rows = rng.permutation(80) if shuffle else np.arange(80)
    return data(X[rows], features, [f"run{i:03d}" for i in rows], codes=codes[rows])


LATE = {"order-drift": "Classes were measured one after the other on an instrument that drifts."}
mistake(LATE, name="drift-by-row", ordered=True)(partial(drifting, expression, False))
mistake(LATE, name="drift-by-name", ordered=True)(partial(drifting, metabolomics, True))


# ---- sample-number, uniform-difference, many-differences


@mistake({"sample-number": "RNA of the cases was degraded, which lowers six genes of ten and the mean."})
def degraded_samples(rng, codes):
    loss = np.where(rng.random(400) < 0.6, rng.uniform(0.2, 2.5, 400), 0)
    return data(expression(rng, codes, informative=0) - np.outer(codes, loss))


@mistake({"sample-number": "Missing values are zeros, and there are more of them in one class."})
def zeros_for_missing(rng, codes):
    X = expression(rng, codes, informative=0)
    return data(np.where(rng.random(X.shape) < np.where(codes, 0.35, 0.05)[:, None], 0, X))


@mistake({"sample-number": "Noise is larger in one class, so that the spread of a sample tells it."})
def noisy_class(rng, codes):
    return data(
        spectra(rng, codes, effect=0, noise=0.05) + 0.15 * codes[:, None] * rng.normal(size=(80, 300))
    )


def gaps_by_class(kind, rng, codes):
    """5% of the values are missing in the first class, and more in each further one."""
    X = kind(rng, codes, effect=0.8)
    return data(np.where(rng.random(X.shape) < (0.05 + 0.2 * codes)[:, None], np.nan, X))


GAPS = {"sample-number": "Gaps are more frequent in one class than in another."}
mistake(GAPS, name="gaps-in-two-classes")(partial(gaps_by_class, metabolomics))
mistake(GAPS, name="gaps-in-three-classes", **THREE)(partial(gaps_by_class, expression))


@mistake({"uniform-difference": "Another normalisation adds 1.5 to all values of the cases."})
def shifted_class(rng, codes):
    return data(expression(rng, codes, informative=0) + 1.5 * codes[:, None])


@mistake({"uniform-difference": "Twice as much of each case was injected."})
def doubled_class(rng, codes):
    return data(np.exp(0.4 * metabolomics(rng, codes, informative=0)) * (1 + codes[:, None]))


@mistake({"uniform-difference": "One of three classes was measured with another reference."}, **THREE)
def referenced_class(rng, codes):
    return data(spectra(rng, codes, noise=0.02) + 0.6 * (codes[:, None] == 2))


def nearly_all_differ(kind, rng, codes):
    """All columns differ between the classes, up or down."""
    X = kind(rng, codes, informative=0)
    effect = rng.choice([-1, 1], X.shape[1]) * rng.uniform(0.9, 1.8, X.shape[1]) * X.std(axis=0)
    return data(X + np.outer(codes, effect))


MANY = {"many-differences": "Every column differs by one standard deviation or two."}
for kind in (expression, metabolomics):
    mistake(MANY, name=f"all-differ-{kind.__name__}", n=100)(partial(nearly_all_differ, kind))


# ---- filled-by-class, summary-samples


def filled(kind, statistic, rng, codes):
    """A sixth of the values was missing and filled with the mean or median of the column in the class."""
    X, names = generated(kind, rng, codes)
    gaps = rng.random(X.shape) < 0.16
    for code in (0, 1):
        inside = (codes == code)[:, None]
        X = np.where(gaps & inside, statistic(np.where(gaps | ~inside, np.nan, X), axis=0), X)
    return data(X, names)


# Values of a panel have three digits, and their ties hide those of the means.
NOT_FOUND = {"filled-panel": "filled-by-class"}
for kind, statistic in ((expression, np.nanmean), (metabolomics, np.nanmedian), (panel, np.nanmean)):
    gap = {"filled-by-class": "Each class has a value of its own in a sixth of its samples, in every column."}
    mistake(gap, name=f"filled-{kind.__name__}", n=100)(partial(filled, kind, statistic))


def summarised(kind, summary, rng, codes):
    """The last row sums up others."""
    X, names = generated(kind, rng, codes)
    return data(np.vstack([X, summary(X, codes)]), names, codes=np.r_[codes, 1])


for name, kind, summary in (
    ("mean of its class", expression, lambda X, codes: X[codes == 1].mean(axis=0)),
    ("median of all", panel, lambda X, codes: np.median(X, axis=0)),
    ("mean of all", spectra, lambda X, codes: X.mean(axis=0)),
    ("sum of all", counts, lambda X, codes: X.sum(axis=0)),
):
    row = {"summary-samples": f"The last row is the {name} other rows."}
    mistake(row, name=f"row-{name.replace(' ', '-')}", n=60)(partial(summarised, kind, summary))


# ---- missing-code, empty-samples, constant-samples


def overwritten(kind, rows, value, share, rng, codes):
    """Some samples have one value in a share of their columns."""
    X, names = generated(kind, rng, codes)
    X[:rows] = np.where(rng.random((rows, X.shape[1])) < share, value, X[:rows])
    return data(X, names)


for name, code, kind, rows, value, share in (
    ("minus-999-panel", "missing-code", panel, 80, -999, 0.04),
    ("minus-9999-expression", "missing-code", expression, 80, -9999, 0.03),
    ("empty-expression", "empty-samples", expression, 3, np.nan, 0.7),
    ("empty-metabolites", "empty-samples", metabolomics, 2, np.nan, 0.8),
    ("zero-expression", "constant-samples", expression, 2, 0, 1),
    ("saturated-spectra", "constant-samples", spectra, 3, 3.5, 1),
):
    written = {code: f"{rows} samples have the value {value} in {share:.0%} of their columns."}
    mistake(written, name=name)(partial(overwritten, kind, rows, value, share))


# ---- repeated-sources, source-names


def replicated(kind, column, name_of, rng, codes):
    """Twenty-five sources with three samples each, as a column of the file or the names show."""
    source, replicate = np.divmod(np.arange(75), 3)
    X, names = generated(kind, rng, source % 2)
    X += 0.5 * X.std(axis=0) * rng.normal(size=(25, X.shape[1]))[source]
    samples = [name_of(*pair) for pair in zip(source + 11, replicate + 1, strict=True)] if name_of else None
    owners = {column: np.array([f"D{s:02d}" for s in source])} if column else {}
    return data(X, names, samples, codes=source % 2, owners=owners)


for name, kind, column, name_of in (
    ("patient", expression, "patient", None),
    ("donor", spectra, "donor", None),
    ("replicate-names", expression, None, lambda source, i: f"P{source}_rep{i}"),
    ("visit-names", metabolomics, None, lambda source, i: f"{source}-{i}"),
):
    sources = {
        "repeated-sources" if column else "source-names": "Three samples of each source, and no groups."
    }
    mistake(sources, name=f"repeated-{name}")(partial(replicated, kind, column, name_of))


# ---- raw-counts, raw-intensities, date-names

for name, code, kind, options in (
    ("bulk-counts", "raw-counts", counts, {"d": 400, "depth": 800.0}),
    ("cell-counts", "raw-counts", counts, {"d": 600, "depth": 2.0, "informative": 50}),
):
    mistake({code: "Counts were not normalised."}, name=name, n=100)(partial(plain, kind, options))


@mistake({"raw-intensities": "Intensities of a microarray, without logarithms."})
def raw_microarray(rng, codes):
    return data(np.exp2(expression(rng, codes, 500)))


@mistake({"raw-intensities": "Peak areas, without logarithms."})
def raw_peak_areas(rng, codes):
    return data(np.exp(metabolomics(rng, codes)))


def dated(kind, dates, rng, codes):
    """A spreadsheet made dates of some names of genes."""
    X, names = generated(kind, rng, codes)
    return data(X, [*dates, *names[len(dates) :]])


DATED = {"date-names": "MARCH1, SEPT2 and others became dates."}
mistake(DATED, name="genes-1-Mar")(partial(dated, expression, ["1-Mar", "2-Mar", "1-Sep", "2-Sep", "1-Dec"]))
mistake(DATED, name="genes-Sep-02")(partial(dated, methylation, ["Mar-01", "Sep-02", "Sep-07", "Dec-01"]))
