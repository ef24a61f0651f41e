"""Tables of the corpora, their registry, and the generators that several of them share."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy import sparse
from scipy.signal import lfilter

VETOES = frozenset(
    {"batch-is-class", "label-copy", "interpolated-samples", "scale-by-class", "class-spelling"}
)
CONDITIONS = frozenset(
    {
        "scale-mismatch",
        "duplicate-labels",
        "near-duplicates",
        "dominant-feature",
        "running-number",
        "near-label-copy",
        "sample-number",
        "uniform-difference",
        "order-drift",
        "filled-by-class",
        "unlikely-class",
        "summary-samples",
        "repeated-sources",
        "suspicious-name",
    }
)
NOTES = frozenset(
    {
        "duplicates",
        "source-names",
        "raw-counts",
        "raw-intensities",
        "missing-code",
        "empty-samples",
        "constant-samples",
        "numeric-labels",
        "date-names",
        "clinical-name",
        "many-differences",
        "predictable-batch",
    }
)
# With more than two classes these conditions are notes.
CONDITIONS_OF_TWO_CLASSES = frozenset({"sample-number", "uniform-difference"})


@dataclass(frozen=True)
class Table:
    """A table, and the codes of the findings that it deserves, each with a reason."""

    name: str
    X: np.ndarray | sparse.csr_array
    y: np.ndarray
    feature_names: list[str]
    sample_names: list[str]
    expected: Mapping[str, str]
    owners: Mapping[str, np.ndarray] = field(default_factory=dict)
    batch: np.ndarray | None = None
    groups: np.ndarray | None = None

    def severity(self, code: str) -> str:
        """Return the severity that a finding with this code has in this table."""
        if code in VETOES:
            return "veto"
        several = len(np.unique(self.y)) > 2
        is_note = code in NOTES or (several and code in CONDITIONS_OF_TWO_CLASSES)
        return "note" if is_note else "condition"


class Corpus(dict[str, Callable[[], Table]]):
    """Builders of tables by name. A table is generated when its builder is called."""

    def add(
        self, expected=None, *, name=None, n=80, shares=(1, 1), ordered=False, classes=("control", "case")
    ):
        """Register a function of a random generator and class numbers that returns what `data` returns."""

        def register(build):
            key = name or build.__name__.replace("_", "-")
            assert key not in self
            assert set(expected or ()) <= VETOES | CONDITIONS | NOTES

            def table():
                rng = np.random.default_rng(zlib.crc32(key.encode()))
                codes = split(rng, n, shares, ordered)
                parts = build(rng, codes)
                y = parts.pop("y", np.array(classes)[parts.pop("codes", codes)])
                return Table(name=key, y=y, expected=dict(expected or {}), **parts)

            self[key] = table
            return build

        return register


def data(X, feature_names=None, sample_names=None, **others):
    """Return the arguments of `Table`, with plain names where none are given.

    `codes` replaces the class numbers that the registry drew, and `y` the labels themselves.
    """
    if feature_names is None:
        feature_names = [f"GN{j:04d}" for j in range(X.shape[1])]
    if sample_names is None:
        sample_names = [f"S{i:03d}" for i in range(X.shape[0])]
    return {"X": X, "feature_names": list(feature_names), "sample_names": list(sample_names), **others}


def with_column(X, column, name, feature_names=None):
    """Return the table with one more column, its second, and the names of all columns."""
    names = [f"GN{j:04d}" for j in range(X.shape[1])] if feature_names is None else list(feature_names)
    return np.insert(X, 1, column, axis=1), [names[0], name, *names[1:]]


def split(rng, n, shares=(1, 1), ordered=False):
    """Return the class number of each sample. Classes have the given shares, in random order or sorted."""
    ends = np.round(n * np.cumsum(shares) / np.sum(shares)).astype(int)
    codes = np.repeat(np.arange(len(shares)), np.diff(ends, prepend=0))
    return codes if ordered else rng.permutation(codes)


def expression(rng, codes, d=400, *, informative=20, effect=1.2, factors=3, tail=None, strength=0.4):
    """Generate log2 expression. Informative columns differ by `effect` standard deviations of their noise."""
    n = len(codes)
    noise = (
        rng.normal(size=(n, d)) if tail is None else rng.standard_t(tail, (n, d)) / np.sqrt(tail / (tail - 2))
    )
    noise += strength * rng.normal(size=(n, factors)) @ rng.normal(size=(factors, d))
    shift = np.zeros((codes.max() + 1, d))
    columns = rng.choice(d, informative, replace=False)
    shift[1:, columns] = effect * rng.choice([-1, 1], (len(shift) - 1, informative))
    return rng.normal(8, 2, d) + rng.uniform(0.4, 1.2, d) * (noise + shift[codes])


def spectra(rng, codes, d=300, *, noise=0.003, offset=0.0, effect=2.0):
    """Generate absorbance spectra of eight bands. The content of the third depends on the class."""
    centres = np.linspace(0.06, 0.94, 8)[:, None]
    shapes = 0.5 * np.exp(-(((np.linspace(0, 1, d) - centres) / 0.05) ** 2) / 2)
    content = rng.normal(1, 0.15, (len(codes), 8))
    content[:, 2] += 0.15 * effect * codes
    baseline = offset * rng.normal(size=(len(codes), 1))
    return content @ shapes + baseline + noise * rng.normal(size=(len(codes), d))


def snv(X):
    """Standardise every spectrum (standard normal variate)."""
    return (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)


def counts(rng, codes, d=300, *, depth=20.0, informative=20, fold=4.0):
    """Generate overdispersed counts, `depth` per column on average, with a library size for each sample."""
    rate = rng.lognormal(0, 1.3, d)
    rate = depth * rate / rate.mean() * np.ones((codes.max() + 1, d))
    columns = rng.choice(d, informative, replace=False)
    rate[1:, columns] *= fold ** rng.choice([-1.0, 1.0], (len(rate) - 1, informative))
    mean = rate[codes] * rng.lognormal(0, 0.3, (len(codes), 1))
    return rng.poisson(mean * rng.gamma(4, 1 / 4, mean.shape)).astype(float)


def metabolomics(rng, codes, d=150, **options):
    """Generate natural logarithms of peak areas."""
    return 4 + expression(rng, codes, d, **options)


def methylation(rng, codes, d=400, **options):
    """Generate beta values: half of the columns are methylated and the others are not."""
    level = np.where(rng.random(d) < 0.5, 1.5, -2.0) + rng.normal(0, 0.4, d)
    values = expression(rng, codes, d, **options)
    return 1 / (1 + np.exp(-(level + 0.5 * (values - values.mean(axis=0)))))


# Median and standard deviation of the logarithm.
LABORATORY = {
    "platelets_per_ul": (250_000, 0.25),
    "sodium": (140, 0.02),
    "potassium": (4.2, 0.09),
    "chloride": (103, 0.03),
    "calcium": (2.35, 0.05),
    "magnesium": (0.85, 0.08),
    "phosphate": (1.1, 0.17),
    "creatinine": (80, 0.25),
    "urea": (5.5, 0.3),
    "uric_acid": (300, 0.25),
    "glucose": (5.3, 0.2),
    "albumin": (42, 0.08),
    "total_protein": (72, 0.07),
    "bilirubin": (10, 0.45),
    "alat": (25, 0.5),
    "asat": (24, 0.4),
    "ggt": (30, 0.7),
    "alkaline_phosphatase": (70, 0.3),
    "ldh": (200, 0.2),
    "crp": (4, 1.0),
    "haemoglobin": (140, 0.09),
    "leukocytes": (6.8, 0.25),
    "ferritin": (110, 0.8),
    "tsh": (1.8, 0.55),
    "spo2": (97.5, 0.012),
}


def panel(rng, codes, *, informative=8, effect=1.2):
    """Generate laboratory values in their own units, with three significant digits."""
    median, spread = np.array(list(LABORATORY.values())).T
    values = rng.normal(size=(len(codes), len(median))) + 0.4 * rng.normal(size=(len(codes), 1))
    columns = rng.choice(len(median), informative, replace=False)
    values[:, columns] += effect * codes[:, None] * rng.choice([-1, 1], informative)
    values = median * np.exp(spread * values)
    values[:, -1] = np.minimum(values[:, -1], 100)  # a saturation in percent
    unit = 10.0 ** (np.floor(np.log10(values)) - 2)
    return np.round(values / unit) * unit


def generated(kind, rng, codes, **options):
    """Return a table of a kind, with the names of its columns."""
    X = kind(rng, codes, **options)
    names = {panel: list(LABORATORY), spectra: [f"{1100 + 4 * j}nm" for j in range(X.shape[1])]}
    return X, names.get(kind) or [f"GN{j:04d}" for j in range(X.shape[1])]


SYLLABLES = ("ba", "lo", "ri", "ten", "mu", "ga", "pel", "so")
VOCABULARY = ["".join(parts) for parts in product(SYLLABLES, repeat=3)]


def words(rng, codes, topical, *, length=150, boost=4.0):
    """Generate word counts. Topical words are more frequent in the first and second class by turns."""
    names = [*topical, *VOCABULARY]
    rate = 1 / (2 + np.r_[np.full(len(topical), 20.0), rng.permutation(len(VOCABULARY))])
    rate = rate / rate.sum() * np.ones((2, len(names)))
    turns = np.arange(len(topical))
    rate[turns % 2, turns] *= boost
    mean = rate[codes] * length * rng.lognormal(0, 0.3, (len(codes), 1))
    return rng.poisson(mean).astype(float), names


def genotypes(rng, codes, d=1000, *, linkage=0.9, effect=0.7):
    """Generate allele counts 0, 1, 2 of linked loci. Ten blocks of loci depend on the class."""
    noise = rng.normal(size=(2, len(codes), d))
    latent = lfilter([np.sqrt(1 - linkage**2)], [1, -linkage], noise, axis=2)
    for start in rng.choice(d - 8, 10, replace=False):
        latent[:, :, start : start + 8] += effect * codes[:, None]
    return (latent > rng.uniform(0, 1.3, d)).sum(axis=0).astype(float)


def smote(rng, X, count):
    """Return artificial samples: each lies between a sample and one of its five nearest neighbours."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    distance = ((Z[:, None] - Z) ** 2).sum(axis=2)
    neighbours = distance.argsort(axis=1)[:, 1:6]
    first = rng.integers(len(X), size=count)
    second = neighbours[first, rng.integers(5, size=count)]
    return X[first] + rng.uniform(size=(count, 1)) * (X[second] - X[first])
