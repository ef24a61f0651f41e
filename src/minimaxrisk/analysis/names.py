"""What names give away: columns that are not measurements, replicates, labels that are no class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

FEW, MOST = 20, 0.8  # how many other columns, in number and share, make a few remarkable


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words in names of columns that are not genes, by what the column is then about.
TRAIT, OUTCOME, BATCH, IDENTITY = "trait", "outcome", "batch", "identity"
WORDS = {
    TRAIT: _words(
        "age sex gender bmi weight height smoking smoker race ethnicity treatment therapy dose purity stage "
        "grade gleason ecog karnofsky"
    ),
    OUTCOME: _words(
        "survival relapse recurrence metastasis death dead alive vital outcome followup censored censor "
        "status event time days months years year diagnosis"
    ),
    BATCH: _words("batch plate rin scan scanner date lane flowcell hospital operator"),
    IDENTITY: _words("mrn case nr barcode patient donor subject specimen"),
}
NUMBERED_BATCH = re.compile(r"(?<![^\W_])(batch|plate)\d+(?![^\W_])")
# The same, if the name has no other part: with one, it may be a gene.
ALONE = {OUTCOME: _words("os pfs dfs rfs efs follow_up follow-up"), TRAIT: _words("psa")}
# Names that spreadsheets make of genes such as SEPT2, MARCH1 and DEC1.
MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec"
DATE = re.compile(rf"\d{{1,2}}[-./ ]{{1,2}}({MONTHS})\.?|({MONTHS})[-./ ]{{1,2}}\d{{1,2}}", re.IGNORECASE)
# Columns that name what was measured several times.
OWNERS = _words("donor patient subject individual participant person animal mouse sample specimen")
NAMING = _words("id ids no nr number name code identifier uid key")
# Names of samples that end in a number of a replicate, or in a letter or digit that may be one.
REPLICATE = re.compile(r"(.+?)[-_. ]?(?:rep|replicate|techrep|biorep|repl)[-_. ]?\d{1,2}", re.IGNORECASE)
NUMBERED = re.compile(r"(.*\d)[-_. ](?:[a-fA-F]|\d|[tT]\d)")
# The same where the rest is the name of another sample: P001_2, P001.1 and P001 (2) beside P001.
REPEAT = re.compile(
    r"(.*\d)[-_. ]\d|(.+?)[-_. ]*(?:\(\d\)|(?:rep|replicate|repeat|dup|duplicate|copy|bis)[-_. ]?\d?)",
    re.IGNORECASE,
)
# Lines that sum up others, in tables out of spreadsheets.
SUMMARY = _words("mean means average averages avg median sum total stdev std sem variance")
# So many samples share a name but for the end; of letters and digits at most so many for each name.
MOST_SHARE, MOST_EACH, FEWEST_OWNERS = 0.8, 6, 5
# Labels of samples that have no class, or are no samples.
NO_CLASS = _words(
    "unknown unk na n/a n.a. nan null missing undetermined undefined unclassified unspecified qc blank pool "
    "pooled ? - not_available not_reported not_known not_determined not_applicable"
)
NINES = re.compile(r"-?(9{2,}|9{2,}8)")
# So many different whole numbers, not counted from 0 or 1, are rather measurements than classes.
MANY_NUMBERS = 8


def _parts(name: str) -> set[str]:
    """The words of a name, in lower case; there are thousands of names, and most are one word."""
    lowered = name.strip().lower()
    return {lowered} if lowered.isalnum() else set(re.split(r"[\W_]+", lowered)) - {""}


def column_kind(name: str) -> str | None:
    """What a column with such a name is about, if it is not a gene."""
    lowered, words = name.strip().lower(), _parts(name)
    if NUMBERED_BATCH.search(lowered):
        return BATCH
    for kind, known in WORDS.items():
        if not known.isdisjoint(words) or lowered in ALONE.get(kind, ()):
            return kind
    return None


def odd_names(names: Sequence[str]) -> dict[str, str]:
    """The columns that are not about genes by their names, where they are few among many, and their kinds."""
    kinds = {str(name): kind for name in names if (kind := column_kind(str(name))) is not None}
    return kinds if len(names) - len(kinds) >= max(FEW, MOST * len(names)) else {}


def dates_for_names(names: Sequence[str]) -> list[str]:
    """The names that a spreadsheet made of genes."""
    return [str(name) for name in names if DATE.fullmatch(str(name).strip())]


def names_an_owner(column: str) -> bool:
    """Whether a column so named says what the samples were taken from: ``patient``, ``donor_id``."""
    words = _parts(column)
    return not OWNERS.isdisjoint(words) and words <= OWNERS | NAMING


def owners_by_name(names: Sequence[str]) -> np.ndarray | None:
    """What each sample was taken from, where names such as ``PAT01_rep0`` or ``P1_a`` tell it."""
    texts = [str(name).strip() for name in names]
    for pattern, fewest, most in ((REPLICATE, 2, len(texts)), (NUMBERED, FEWEST_OWNERS, MOST_EACH)):
        owners = [match[1] if (match := pattern.fullmatch(text)) else text for text in texts]
        sizes = Counter(owners).values()
        n_shared = sum(size for size in sizes if size > 1)
        if len(sizes) >= fewest and max(sizes) <= most and n_shared >= MOST_SHARE * len(texts):
            return np.array(owners)
    return None


def repeats_by_name(names: Sequence[str]) -> dict[int, int]:
    """The samples that are repeats of another one by name, such as ``P001_2`` of ``P001``, and which."""
    place = {str(name).strip(): i for i, name in enumerate(names)}
    found = {}
    for name, i in place.items():
        match = REPEAT.fullmatch(name)
        base = match and place.get(match[1] or match[2])
        if base is not None:
            found[i] = base
    # Many of one name count the samples of something, such as a class.
    sizes = Counter(found.values())
    return {i: base for i, base in found.items() if sizes[base] < MOST_EACH}


def summaries_by_name(names: Sequence[str]) -> list[str]:
    """The few samples that sum up others by name, such as ``mean Normal``."""
    found = [str(name) for name in names if not SUMMARY.isdisjoint(_parts(str(name)))]
    return found if len(found) <= (1 - MOST) * len(names) else []


def labels_of_no_class(labels: np.ndarray) -> list[str]:
    """The labels that stand for an unknown class, or for what is no sample."""
    classes = [str(label) for label in np.unique(labels)]
    found = [name for name in classes if re.sub(r"[\s_]+", "_", name.strip().lower()) in NO_CLASS]
    if np.asarray(labels).dtype.kind in "iuf" and len(classes) > 2:
        values = np.unique(labels)
        for value in values[[0, -1]]:
            others = np.abs(values[values != value])
            if NINES.fullmatch(f"{value:g}") and others.max() < abs(value) / 5:
                found.append(f"{value:g}")
    return found


def are_measurements(labels: np.ndarray) -> bool:
    """Whether labels are rather measurements, such as ages: many whole numbers, not counted from 0 or 1."""
    classes = np.unique(labels)
    if classes.dtype.kind not in "iuf" or len(classes) < MANY_NUMBERS:
        return False
    is_counted = classes[0] in (0, 1) and classes[-1] - classes[0] == len(classes) - 1
    return not is_counted
