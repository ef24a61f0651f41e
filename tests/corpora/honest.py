"""Honest tables. Expected codes were written down before any check had seen a table, each with its reason.

A docstring says what the table is and why a careless check would accuse it.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse
from scipy.signal import lfilter
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfTransformer

from corpora.tables import (
    LABORATORY,
    Corpus,
    counts,
    data,
    expression,
    genotypes,
    metabolomics,
    methylation,
    panel,
    snv,
    spectra,
    split,
    wavelengths,
    with_column,
    words,
)

HONEST = Corpus()
honest = HONEST.add


def named(codes, *names):
    """Name the classes."""
    return np.array(names)[codes]


def two(codes):
    """Name two classes plainly."""
    return named(codes, "control", "case")


# ---- Sets of scikit-learn


def from_sklearn(load, rng):
    """Sets that everybody tries first: mixed units, equal rows by coarse values, rows sorted by class."""
    bunch = load()
    return data(bunch.data, named(bunch.target, *bunch.target_names), bunch.feature_names)


honest(name="breast-cancer")(partial(from_sklearn, datasets.load_breast_cancer))
honest(name="wine")(partial(from_sklearn, datasets.load_wine))
honest(name="iris")(partial(from_sklearn, datasets.load_iris))


def digits(shown, rng):
    """Small whole numbers that are no counts, constant columns, pixels that differ together."""
    bunch = datasets.load_digits()
    rows = np.isin(bunch.target, shown)
    return data(bunch.data[rows], bunch.target[rows], bunch.feature_names)


honest(name="digits")(partial(digits, range(10)))
honest(name="digits-3-8")(partial(digits, (3, 8)))
honest(name="digits-4-9")(partial(digits, (4, 9)))


@honest()
def diabetes_by_median(rng):
    """Age, sex and bmi in ten columns: too few for a question about clinical columns."""
    bunch = datasets.load_diabetes()
    return data(
        bunch.data, named((bunch.target > np.median(bunch.target)) * 1, "slow", "fast"), bunch.feature_names
    )


@honest()
def make_classification(rng):
    """Redundant columns are exact combinations of others, samples are not."""
    X, y = datasets.make_classification(200, 100, n_informative=8, n_redundant=5, random_state=0)
    return data(X, two(y))


@honest()
def blobs(rng):
    """Well separated clusters, labels 0, 1, 2."""
    X, y = datasets.make_blobs(120, 10, cluster_std=3.0, random_state=0)
    return data(X, y)


@honest()
def moons_among_noise(rng):
    """One column has most of the weight but errs on a sixth of the samples."""
    X, y = datasets.make_moons(150, noise=0.25, random_state=0)
    return data(np.hstack([X, rng.normal(size=(150, 50))]), two(y))


@honest({"sample-number": "Classes differ by nothing but the length of a row, which its spread shows."})
def gaussian_quantiles(rng):
    """Two shells: the amplitude is the class."""
    X, y = datasets.make_gaussian_quantiles(n_samples=150, n_features=60, n_classes=2, random_state=0)
    return data(X, two(y))


# ---- Expression


@honest()
def expression_normal(rng):
    """Plain log expression."""
    codes = split(rng, 80)
    return data(expression(rng, codes, 1000), two(codes))


@honest()
def expression_heavy_tails(rng):
    """Outliers in many columns: t distribution with three degrees of freedom."""
    codes = split(rng, 80)
    return data(expression(rng, codes, 1000, tail=3), two(codes))


@honest()
def expression_sorted_by_class(rng):
    """The order of rows separates the classes, but scores do not follow it within classes."""
    codes = split(rng, 80, ordered=True)
    return data(expression(rng, codes), two(codes))


@honest()
def expression_sorted_by_date(rng):
    """Names are dates in ISO format, one a day: `2021-03` is not a source of several samples."""
    codes = split(rng, 90)
    dates = np.datetime64("2021-01-04") + np.sort(rng.choice(700, 90, replace=False))
    return data(expression(rng, codes), two(codes), sample_names=dates.astype(str))


@honest()
def tcga_barcodes(rng):
    """Barcodes share centre and project, but every patient has one sample."""
    codes = split(rng, 100)
    patients = [f"A{i:03X}" for i in rng.choice(4096, 100, replace=False)]
    barcodes = [f"TCGA-{rng.choice(['A1', 'BH', 'E2'])}-{patient}-01A" for patient in patients]
    owners = {"patient": np.array(patients)}
    return data(expression(rng, codes, 2000), two(codes), sample_names=barcodes, owners=owners)


@honest()
def five_thousand_genes(rng):
    """Many columns, few samples, weak signal."""
    codes = split(rng, 60)
    return data(expression(rng, codes, 5000, informative=100, effect=0.8), two(codes))


@honest()
def days_among_logarithms(rng):
    """One column in days has values a thousand times larger than the others."""
    codes = split(rng, 80)
    X, names = with_column(expression(rng, codes), rng.integers(9000, 30000, 80), "gestation_days")
    return data(X, two(codes), names)


@honest()
def concentration_among_logarithms(rng):
    """One skewed column in another unit."""
    codes = split(rng, 80)
    X, names = with_column(expression(rng, codes), rng.lognormal(9, 0.8, 80), "protein_ng_per_ml")
    return data(X, two(codes), names)


@honest()
def noise_alone(rng):
    """No class differs in anything; any number separates them as well as a model that guesses."""
    codes = split(rng, 60)
    return data(expression(rng, codes, informative=0), two(codes))


@honest({"dominant-feature": "XIST alone tells the sexes."})
def sex_by_xist(rng):
    """Genes of the Y chromosome were filtered."""
    codes = split(rng, 80)
    xist = np.where(codes, rng.normal(10, 0.6, 80), rng.normal(3, 0.4, 80))
    X, names = with_column(expression(rng, codes, informative=0), xist, "XIST")
    return data(X, named(codes, "male", "female"), names)


@honest()
def sex_by_five_genes(rng):
    """XIST and four genes of the Y chromosome: no single one stands alone."""
    codes = split(rng, 80)
    X = expression(rng, codes, informative=0)
    X[:, :5] = rng.normal(6, 0.6, (80, 5)) + np.outer(codes - 0.5, [6, -6, -6, -6, -6])
    names = ["XIST", "RPS4Y1", "DDX3Y", "KDM5D", "EIF1AY", *[f"GN{j}" for j in range(5, X.shape[1])]]
    return data(X, named(codes, "male", "female"), names)


def single_marker(size, rng):
    """A strong marker among genes that differ weakly."""
    codes = split(rng, 80)
    marker = 8 + rng.normal(0, 0.5, 80) + 0.5 * size * codes
    X, names = with_column(expression(rng, codes, effect=0.4), marker, "ERBB2")
    return data(X, two(codes), names)


for sd in (6, 8):
    reason = f"One gene differs by {sd} standard deviations, the others by less than half of one."
    honest({"dominant-feature": reason}, name=f"marker-of-{sd}-sd")(partial(single_marker, sd))


@honest()
def old_gene_names(rng):
    """MARCH1 and SEPT2 are genes; no spreadsheet has made dates of them."""
    codes = split(rng, 70)
    names = [*[f"MARCH{i}" for i in range(1, 12)], *[f"SEPT{i}" for i in range(1, 15)]]
    return data(expression(rng, codes, 300), two(codes), names + [f"GN{j}" for j in range(25, 300)])


@honest()
def descriptive_gene_names(rng):
    """Words for outcomes and batches inside longer names of genes, and all of these genes matter."""
    codes = split(rng, 80)
    odd = ["death_receptor_5", "survival_motor_neuron", "plate_count", "status_quo_kinase", "time_of_flight"]
    X = expression(rng, codes, 300)
    X[:, :5] += 1.0 * codes[:, None]
    return data(X, two(codes), [*odd, *[f"kinase_{j}_like" for j in range(5, 300)]])


@honest()
def cell_lines_by_well(rng):
    """Names are the wells of a plate, with classes at random."""
    codes = split(rng, 96)
    wells = [f"{row}{column:02d}" for row in "ABCDEFGH" for column in range(1, 13)]
    return data(expression(rng, codes), named(codes, "resistant", "sensitive"), sample_names=wells)


@honest()
def cell_line_sem(rng):
    """SEM is a cell line and no standard error of the mean."""
    codes = split(rng, 24)
    lines = [
        "SEM",
        "REH",
        "RS411",
        "NALM6",
        "697",
        "K562",
        "HL60",
        "THP1",
        "U937",
        "MV411",
        "KG1",
        "JURKAT",
        "MOLT4",
        "CEM",
        "PEER",
        "RAJI",
        "RAMOS",
        "DAUDI",
    ]
    lines += ["SUM149", "SUM159", "MEC1", "OCI-LY3", "HELA", "MCF7"]
    return data(expression(rng, codes), named(codes, "resistant", "sensitive"), sample_names=lines)


@honest({"source-names": "Centre 12 occurs in many names; it could be a patient."})
def multicentre(rng):
    """Names are centre and patient."""
    codes = split(rng, 80)
    names = [f"{11 + i % 6}-{1 + i // 6}" for i in range(80)]
    return data(expression(rng, codes), two(codes), sample_names=names)


@honest({"source-names": "Each chip occurs in eight names; it could be a patient."})
def illumina_chips(rng):
    """Names are chip and position."""
    codes = split(rng, 64)
    names = [f"{200394 + 7 * (i // 8)}_R{1 + i % 8:02d}C01" for i in range(64)]
    return data(methylation(rng, codes), two(codes), sample_names=names)


# ---- Few samples, many classes, clones


@honest()
def nine_small_classes(rng):
    """Classes of two to nine samples; one number separates some pair of them by chance."""
    codes = split(rng, 44, shares=range(2, 10))
    codes = np.r_[codes, 8, 8]
    X = expression(rng, codes, 200, informative=60, effect=2.0)
    return data(X, [f"type {code}" for code in codes])


@honest()
def twelve_samples(rng):
    """Two classes of six."""
    codes = split(rng, 12)
    return data(expression(rng, codes, 200, effect=2.0), two(codes))


@honest()
def twenty_samples(rng):
    """Two classes of ten, just enough for every check."""
    codes = split(rng, 20)
    return data(expression(rng, codes, 500, informative=30, effect=1.5), two(codes))


@honest()
def five_strong_factors(rng):
    """Few dimensions hold most of the variance, so some pairs are close."""
    codes = split(rng, 40)
    return data(expression(rng, codes, factors=5, strength=1.5), two(codes))


@honest()
def tight_subtypes(rng):
    """Ten subtypes of four samples: close neighbours are usual."""
    codes = np.repeat(np.arange(10), 4)
    subtype = expression(rng, np.arange(10) % 2, 400, effect=1.5)
    return data(subtype[codes] + rng.normal(0, 0.4, (40, 400)), two(codes % 2))


@honest({"near-duplicates": "Two clones of one cell differ by a tenth of what cells differ by."})
def clones(rng):
    """Twenty cells, each grown into two clones."""
    cells = split(rng, 20)
    X = np.repeat(expression(rng, cells, effect=1.5), 2, axis=0)
    return data(X + rng.normal(0, 0.08, X.shape), two(np.repeat(cells, 2)))


@honest()
def unequal_classes(rng):
    """15% of the samples are cases."""
    codes = split(rng, 120, shares=(85, 15))
    return data(expression(rng, codes, effect=1.5), two(codes))


@honest()
def ten_integer_labels(rng):
    """Labels count from 0."""
    codes = split(rng, 120, shares=[1] * 10)
    return data(expression(rng, codes, 300, informative=40, effect=2.0), codes)


@honest()
def labels_one_and_two(rng):
    """Labels count from 1."""
    codes = split(rng, 70)
    return data(expression(rng, codes), codes + 1)


# ---- Class names

CLASS_NAMES = {
    "stages": (("I-II", "III"), expression),
    "stages-joined": (("T1-T2", "T1T2"), methylation),
    "receptor": (("HER2", "HER2-"), expression),
    "knock-out": (("p53", "p53-/-"), metabolomics),
    "surface": (("CD4", "CD4-"), expression),
    "signs": (("+", "-"), spectra),
    "none": (("Drug", "None"), panel),
    "words": (("four", "for"), spectra),
    "null": (("null", "wild type"), counts),
    "continents": (("N.A.", "Europe"), genotypes),
    "missing-words": (("NA", "nan"), expression),
    "accents": (("ménopausée", "préménopausée"), panel),
    "unknown-primary": (("unknown primary", "known primary"), methylation),
}


def class_names(names, generate, rng):
    """Punctuation carries meaning, and words for missing values can name a class."""
    codes = split(rng, 80)
    X = generate(rng, codes)
    return data(X, named(codes, *names), list(LABORATORY) if generate is panel else None)


for key, (names, generate) in CLASS_NAMES.items():
    codes_expected = {"raw-counts": "They are counts of reads."} if generate is counts else None
    honest(codes_expected, name=f"classes-{key}")(partial(class_names, names, generate))


# ---- Genotypes, mutations, molecules


@honest()
def genotypes_with_linkage(rng):
    """Whole numbers 0, 1, 2 are no counts of reads."""
    codes = split(rng, 120)
    return data(genotypes(rng, codes), two(codes), [f"rs{1000 + 7 * j}" for j in range(1000)])


@honest()
def genotypes_of_clones(rng):
    """Isolates of twelve strains: equal rows are honest."""
    strain = rng.permutation(np.repeat(np.arange(12), 8))
    loci = rng.integers(0, 3, (12, 40)).astype(float)
    return data(loci[strain], named(strain % 2, "resistant", "sensitive"))


@honest()
def mutations(rng):
    """Absent or present, mostly absent."""
    codes = split(rng, 100)
    share = np.tile(rng.uniform(0.03, 0.15, 200), (2, 1))
    share[:, :6] = [[0.6, 0.1] * 3, [0.1, 0.6] * 3]
    return data((rng.random((100, 200)) < share[codes]) * 1.0, two(codes))


@honest()
def copy_numbers(rng):
    """Neighbouring columns of a segment are equal."""
    codes = split(rng, 90)
    steps = rng.normal(0, 0.3, (90, 300)) * (rng.random((90, 300)) < 0.05)
    X = np.cumsum(steps, axis=1)
    X -= np.median(X, axis=1, keepdims=True)
    X[:, 120:150] += 0.8 * codes[:, None] * rng.uniform(0.5, 1.5, (90, 1))
    return data(X, two(codes))


@honest()
def fingerprints_of_molecules(rng):
    """Sixteen series of six analogues: close neighbours are usual."""
    series = np.repeat(np.arange(16), 6)
    X = (rng.random((16, 256)) < 0.25)[series] ^ (rng.random((96, 256)) < 0.06)
    return data(X * 1.0, named(series % 2, "inactive", "active"))


# ---- Spectra, images, series


def raw_spectra(offset, rng):
    """A baseline that moves all wavelengths leaves few dimensions, in which samples lie between others."""
    codes = split(rng, 80)
    return data(spectra(rng, codes, offset=offset), two(codes), wavelengths())


for offset in (0.0, 0.2, 1.0):
    honest(name=f"spectra-offset-{offset:g}")(partial(raw_spectra, offset))


@honest()
def spectra_snv(rng):
    """Every sample has mean 0 and spread 1."""
    codes = split(rng, 80)
    return data(snv(spectra(rng, codes, offset=0.2, noise=0.02)), two(codes), wavelengths())


@honest()
def spectra_derivative(rng):
    """Differences of neighbouring wavelengths, all near 0."""
    codes = split(rng, 80)
    return data(np.diff(spectra(rng, codes, offset=0.2), axis=1), two(codes), wavelengths(299))


@honest({"raw-intensities": "Detector counts between 1e3 and 1e6 with few high peaks."})
def chromatogram(rng):
    """Peaks over a baseline; two of them depend on the class."""
    codes = split(rng, 70)
    centres = np.linspace(15, 385, 16) + rng.normal(0, 0.3, (70, 1))
    sign = np.eye(16)[4] - np.eye(16)[9]
    height = rng.lognormal(11, 0.4, (70, 16)) * np.exp(np.outer(codes, sign))
    peaks = np.exp(-(((np.arange(400)[:, None] - centres[:, None, :]) / 2.5) ** 2) / 2)
    X = 1000 + (peaks * height[:, None, :]).sum(axis=2) + rng.normal(0, 30, (70, 400))
    return data(X, two(codes), [f"min_{j / 20:.2f}" for j in range(400)])


@honest()
def heartbeats(rng):
    """Time series with a wandering baseline; the T wave is inverted in one class."""
    codes = split(rng, 100)
    t = np.linspace(0, 1, 140)
    qrs = np.exp(-(((t - 0.4) / 0.02) ** 2))
    wave = np.exp(-(((t - 0.7) / 0.06) ** 2)) * rng.normal(0.3, 0.06, (100, 1)) * (1 - 2 * codes[:, None])
    wander = 0.3 * rng.normal(size=(100, 1)) + 0.2 * rng.normal(size=(100, 1)) * t
    return data(qrs + wave + wander + 0.05 * rng.normal(size=(100, 140)), named(codes, "normal", "ischaemia"))


@honest({"sample-number": "The amplitude of a recording is what a seizure changes."})
def seizure_recordings(rng):
    """Windows of raw EEG: every column has mean 0 in both classes, spreads overlap."""
    codes = split(rng, 120)
    gain = 20 * np.exp(0.95 * codes + rng.normal(0, 0.3, 120))
    signal = lfilter([1], [1, -0.9], rng.normal(size=(120, 178)), axis=1)[:, 50:]
    return data(gain[:, None] * signal, named(codes, "rest", "seizure"))


@honest({"sample-number": "Power rises in most channels of a seizure, so its mean tells the class."})
def eeg_band_power(rng):
    """Log power of five bands in 19 channels, raised in 11 of them by differing amounts."""
    codes = split(rng, 100)
    X = np.tile(np.linspace(3, 0, 5), 19) + 0.2 * rng.normal(size=(100, 1)) + 0.5 * rng.normal(size=(100, 95))
    gain = np.repeat(np.arange(19) < 11, 5) * rng.uniform(1.2, 2.8, 95)
    X += np.outer(codes * rng.normal(1, 0.15, 100), gain)
    bands = ("delta", "theta", "alpha", "beta", "gamma")
    return data(X, named(codes, "rest", "seizure"), [f"ch{c}_{band}" for c in range(19) for band in bands])


@honest({"sample-number": "Patients move less by day, so the mean of a row tells them."})
def activity_meters(rng):
    """Square roots of activity in 144 intervals; nights are the same."""
    codes = split(rng, 100)
    day = np.arange(144) >= 58
    level = np.exp(rng.normal(0, 0.1, 100) - 0.45 * codes)
    X = np.where(day, np.outer(level, 12 + 3 * np.sin(np.arange(144) / 15)), 2.5)
    return data(
        X * rng.gamma(16, 1 / 16, X.shape), two(codes), [f"t{j // 6:02d}{j % 6}0" for j in range(144)]
    )


def faces(rng, lighting):
    """Return faces of ten people, ten images each, whose lighting differs by so many grey values."""
    people = np.repeat(np.arange(10), 10)
    basis = np.cumsum(np.cumsum(rng.normal(size=(15, 20, 20)), axis=1), axis=2).reshape(15, 400)
    coefficients = rng.normal(size=(10, 15))[people] + 0.4 * rng.normal(size=(100, 15))
    image = 40 * snv(coefficients @ snv(basis) + rng.normal(size=(100, 400)))
    level = 100 + lighting * rng.permutation(10)[people] + rng.normal(0, 3, 100)
    return data(image + level[:, None], [f"person {p}" for p in people], [f"px{j}" for j in range(400)])


FACES = {"many-differences": "Ten people differ at every point of the face."}
honest(FACES, name="faces-of-ten")(partial(faces, lighting=0))
LIT = {
    **FACES,
    "sample-number": "Everybody sat in a light of their own; a note, since there are ten classes.",
}
honest(LIT, name="faces-of-ten-lit")(partial(faces, lighting=14))


@honest(
    {
        "sample-number": "Brightness is the class.",
        "uniform-difference": "Light multiplies every pixel by the same factor.",
        "many-differences": "Every pixel is brighter in the sun.",
    }
)
def images_in_the_sun(rng):
    """The same view under clouds and in the sun."""
    codes = split(rng, 80)
    light = np.exp(0.5 * codes + rng.normal(0, 0.12, 80))
    X = np.outer(light, rng.uniform(40, 90, 256)) * (1 + 0.12 * rng.normal(size=(80, 256)))
    return data(X, named(codes, "clouds", "sun"), [f"px{j}" for j in range(256)])


# ---- Proteins, metabolites, methylation, cells, microbes


@honest()
def proteins_at_detection_limit(rng):
    """Values below the limit of a column equal it, in both classes."""
    codes = split(rng, 80)
    X = expression(rng, codes)
    return data(np.maximum(X, np.quantile(X, rng.uniform(0, 0.4, 400), axis=0).diagonal()), two(codes))


@honest()
def gaps_at_detection_limit(rng):
    """Values below the limit are missing, in both classes."""
    codes = split(rng, 80)
    X = expression(rng, codes)
    limit = np.quantile(X, rng.uniform(0, 0.3, 400), axis=0).diagonal()
    X[limit > X] = np.nan
    return data(X, two(codes))


@honest()
def gaps_at_random(rng):
    """5% of the values are missing."""
    codes = split(rng, 80)
    X = expression(rng, codes)
    X[rng.random(X.shape) < 0.05] = np.nan
    return data(X, two(codes))


@honest()
def constant_columns(rng):
    """Fifty columns have one value."""
    codes = split(rng, 80)
    X = expression(rng, codes)
    X[:, rng.choice(400, 50, replace=False)] = 0.0
    return data(X, two(codes))


@honest()
def methylation_plain(rng):
    """Beta values between 0 and 1."""
    codes = split(rng, 80)
    return data(methylation(rng, codes, 1000), two(codes), [f"cg{10000 + 13 * j}" for j in range(1000)])


@honest({"sample-number": "The mean beta value falls in the whole genome of a tumour."})
def global_hypomethylation(rng):
    """60% of the sites lose methylation by differing amounts, the others keep theirs."""
    codes = split(rng, 80)
    site = np.where(np.arange(500) < 300, rng.uniform(0.6, 0.9, 500), rng.uniform(0.03, 0.15, 500))
    loss = np.outer(
        codes * rng.normal(1, 0.15, 80), np.where(np.arange(500) < 300, rng.uniform(0.05, 0.4, 500), 0)
    )
    X = site * (1 - loss) + 0.012 * rng.normal(size=(80, 1)) * (np.arange(500) < 300)
    X += rng.normal(0, 0.04, X.shape) * np.sqrt(site)
    return data(np.clip(X, 0.001, 0.999), named(codes, "normal", "tumour"))


@honest({"raw-counts": "They are counts of molecules."})
def single_cell_counts(rng):
    """Three types of cells, mostly zeros."""
    codes = split(rng, 150, shares=(1, 1, 1))
    return data(counts(rng, codes, 500, depth=2.0, informative=60), named(codes, "T", "B", "NK"))


@honest()
def single_cell_logarithms(rng):
    """Log-normalised counts, mostly zeros."""
    codes = split(rng, 150, shares=(1, 1, 1))
    X = counts(rng, codes, 500, depth=2.0, informative=60)
    return data(np.log1p(1e4 * X / X.sum(axis=1, keepdims=True)), named(codes, "T", "B", "NK"))


@honest()
def microbiome_shares(rng):
    """Every sample sums to 1; many zeros."""
    codes = split(rng, 90)
    X = counts(rng, codes, 200, depth=10.0, fold=6.0) * (rng.random((90, 200)) < 0.6)
    return data(X / X.sum(axis=1, keepdims=True), two(codes), [f"OTU_{j}" for j in range(200)])


@honest({"raw-intensities": "Peak areas without logarithms."})
def metabolomics_raw(rng):
    """Peak areas from 1e3 to 1e8."""
    codes = split(rng, 80)
    return data(np.exp(metabolomics(rng, codes)), two(codes))


@honest()
def metabolomics_with_drift(rng):
    """Logarithms; sensitivity falls from run to run, but the order of runs is random."""
    codes = split(rng, 80)
    X = metabolomics(rng, codes) - np.outer(np.linspace(0, 1, 80), rng.uniform(0, 1.5, 150))
    return data(X, two(codes), sample_names=[f"run_{i:03d}" for i in range(80)])


@honest()
def cell_fractions(rng):
    """22 shares that sum to 1."""
    codes = split(rng, 80)
    X = np.exp(expression(rng, codes, 22, informative=6) / 2)
    return data(X / X.sum(axis=1, keepdims=True), two(codes), [f"fraction_{j}" for j in range(22)])


# ---- Clinic


@honest()
def laboratory_panel(rng):
    """Mixed units from 0.8 to 250000; a saturation of 99 is a value."""
    codes = split(rng, 100)
    return data(panel(rng, codes), two(codes), LABORATORY)


@honest({"clinical-name": "The model uses the age."})
def laboratory_panel_with_age(rng):
    """Whole years, not sorted."""
    codes = split(rng, 100)
    age = np.round(rng.normal(48 + 22 * codes, 10))
    X, names = with_column(panel(rng, codes, effect=0.8), age, "age", LABORATORY)
    return data(X, two(codes), names)


@honest()
def sorted_by_measurement(rng):
    """Rows are sorted by a column that the model uses, a measurement."""
    codes = split(rng, 80)
    X, names = with_column(expression(rng, codes), rng.normal(2 * codes, 1.2), "MKI67")
    rows = X[:, 1].argsort()
    return data(X[rows], two(codes[rows]), names)


@honest()
def sorted_by_whole_numbers(rng):
    """Rows are sorted by platelets in 10^9/l; equal values show that they number nothing."""
    codes = split(rng, 80)
    platelets = np.round(rng.normal(220 + 90 * codes, 45))
    X, names = with_column(expression(rng, codes), platelets, "platelets")
    rows = platelets.argsort()
    return data(X[rows], two(codes[rows]), names)


@honest()
def qpcr(rng):
    """Two decimals; 40 cycles mean that nothing was found."""
    codes = split(rng, 80)
    X = np.round(20 + expression(rng, codes, 96, informative=12), 2)
    X[X > 32] = 40.0
    return data(X, two(codes), [f"Ct_{j}" for j in range(96)])


@honest()
def spirometry(rng):
    """Times, capacities and dead space are no outcomes."""
    codes = split(rng, 90)
    names = [
        "fev1",
        "fvc",
        "vital_capacity",
        "dead_space",
        "reaction_time",
        "prothrombin_time",
        "peak_flow",
        "residual_volume",
    ]
    names += ["tidal_volume", "diffusing_capacity", "breath_count", "expiratory_time"]
    X = expression(rng, codes, 12, informative=12, effect=0.9)
    return data(X, named(codes, "asthma", "copd"), names)


@honest()
def matched_pairs(rng):
    """Tumour and normal tissue of each patient, and the groups are named."""
    codes = np.tile([0, 1], 40)
    patients = np.repeat(np.arange(40), 2)
    X = expression(rng, codes) + rng.normal(0, 0.4, (40, 400))[patients]
    names = [f"P{p:02d}_{'NT'[c]}" for p, c in zip(patients, codes, strict=True)]
    return data(X, named(codes, "normal", "tumour"), sample_names=names, groups=patients)


# ---- Batches


def shifted_batches(rng, size):
    """Return expression of three batches, each with shifts of its own, and both classes in each."""
    codes, batch = split(rng, 90), np.arange(90) % 3
    return expression(rng, codes), codes, batch, rng.normal(0, size, (3, 400))[batch]


@honest()
def batches_adjusted(rng):
    """Three balanced batches whose means were removed."""
    X, codes, batch, _ = shifted_batches(rng, 0)
    for b in range(3):
        X[batch == b] -= X[batch == b].mean(axis=0)
    return data(X, two(codes), batch=np.array(["monday", "tuesday", "friday"])[batch])


@honest({"predictable-batch": "Every gene has a shift in each batch, so the selected ones tell the batch."})
def batches_with_shifts(rng):
    """Three balanced batches as they were measured."""
    X, codes, batch, shift = shifted_batches(rng, 1.0)
    return data(X + shift, two(codes), batch=np.array(["monday", "tuesday", "friday"])[batch])


@honest()
def batch_of_one_each(rng):
    """Every sample was measured on a day of its own."""
    codes = split(rng, 60)
    return data(expression(rng, codes), two(codes), batch=np.array([f"day {i}" for i in range(60)]))


@honest()
def two_platforms_merged(rng):
    """Every gene differs between the platforms, samples have one scale, classes are balanced."""
    codes, platform = split(rng, 80), np.arange(80) % 2
    return data(expression(rng, codes) + np.outer(platform, rng.normal(0, 1, 400)), two(codes))


# ---- Words, questionnaires, votes


@honest()
def bag_of_words(rng):
    """Words such as time, year and case are no outcomes, and counts of words no reads."""
    codes = split(rng, 120)
    X, names = words(rng, codes, ["time", "year", "case", "event", "status", "death"])
    return data(X, named(codes, "law", "sport"), names)


@honest()
def recipes(rng):
    """All columns are words, so `batch` and `plate` are words too."""
    codes = split(rng, 100)
    X, names = words(rng, codes, ["batch", "plate", "oven", "pan", "dough", "broth"])
    return data(X, named(codes, "baking", "cooking"), names)


@honest()
def tfidf(rng):
    """Rows of length 1."""
    codes = split(rng, 100)
    X, names = words(rng, codes, ["goal", "court", "match", "judge", "team", "law"])
    return data(TfidfTransformer().fit_transform(X).toarray(), named(codes, "law", "sport"), names)


@honest()
def sparse_words(rng):
    """Counts in a sparse matrix."""
    codes = split(rng, 100)
    X, names = words(rng, codes, ["goal", "court", "match", "judge", "team", "law"], length=60)
    return data(sparse.csr_array(X), named(codes, "law", "sport"), names)


def likert(rng, codes, items, scale=1.0):
    """Return answers from 1 to 5."""
    effect = np.where(np.arange(items) < 8, rng.choice([-1, 1], items), 0)
    mood = (
        rng.normal(0, 0.7, (len(codes), 1)) + rng.normal(0, 1, (len(codes), items)) + np.outer(codes, effect)
    )
    return np.clip(np.round(3 + scale * mood), 1, 5)


@honest()
def questionnaire(rng):
    """Forty items; five people answered 3 throughout, so their rows are equal."""
    codes = split(rng, 150)
    X = likert(rng, codes, 40)
    X[:5] = 3
    return data(X, named(codes, "no", "yes"), [f"item_{j}" for j in range(40)])


@honest()
def short_questionnaire(rng):
    """Six items: many rows are equal, also in different classes, by chance."""
    codes = split(rng, 200)
    return data(likert(rng, codes, 6, scale=0.6), named(codes, "no", "yes"), [f"item_{j}" for j in range(6)])


@honest()
def votes(rng):
    """Yes, no and absent; one vote follows the party almost always, many rows are equal."""
    codes = split(rng, 160)
    agreement = np.r_[0.96, rng.uniform(0.75, 0.93, 9), rng.uniform(0.5, 0.6, 6)]
    X = (rng.random((160, 16)) < np.where(codes[:, None], agreement, 1 - agreement)) * 1.0
    X[rng.random(X.shape) < 0.05] = 0.5
    return data(X, named(codes, "democrat", "republican"), [f"bill_{j}" for j in range(16)])
