"""What names suggest: columns that are not measurements, replicates, labels that are not classes.

Names are weak evidence. Lists hold whole names, and a finding is a question or a note.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk.checks.findings import Finding
from minimaxrisk.checks.table import Evidence, Names, StudyTable
from minimaxrisk.samples.groups import differences_within

FEW, MOST = 20, 0.8  # how many other columns, in number and share, make a few remarkable
FEWEST_WORDS = 50  # columns of a text


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TRAIT, OUTCOME, BATCH, IDENTITY = "clinical data", "an outcome", "a batch", "an identifier"
# Whole names of columns, in lower case with underscores. Names that are a word of everyday language count in
# tables alone whose other names are not such words.
COLUMN_NAMES = {
    TRAIT: _words(
        "age age_at_diagnosis age_at_surgery age_years sex gender bmi body_mass_index smoking "
        "smoking_status smoker race ethnicity treatment therapy tumor_stage tumour_stage stage grade "
        "tumor_grade tumour_grade gleason gleason_score ecog ecog_score karnofsky tumor_purity psa"
    ),
    OUTCOME: _words(
        "os os_time os_months os_days os_status pfs pfs_time pfs_months pfs_status dfs dfs_time dfs_months "
        "dfs_status rfs rfs_time efs efs_time survival survival_time survival_days survival_months "
        "survival_years survival_status overall_survival vital_status relapse relapse_status recurrence "
        "metastasis outcome follow_up followup follow_up_time follow_up_days follow_up_months death dead "
        "death_event days_to_death days_to_relapse days_to_last_follow_up time_to_event time_to_relapse "
        "event_status event_time censored diagnosis cause_of_death"
    ),
    BATCH: _words(
        "batch batch_id batch_no batch_number plate plate_id plate_no plate_number rin scanner scanner_id "
        "lane flowcell flow_cell hospital operator run_id chip_id slide_id"
    ),
    IDENTITY: _words(
        "id mrn case_id case_no case_number barcode patient patient_id patient_no patient_number patientid "
        "donor donor_id subject subject_id sample sample_id sample_no sample_number specimen specimen_id "
        "participant participant_id person_id record_id accession accession_number"
    ),
}
NUMBERED_BATCH = re.compile(r"(batch|plate)_?\d+")
DATED = re.compile(r"(\w+_)?date(_of_\w+)?")
# Names that spreadsheets make of genes such as SEPT2, MARCH1 and DEC1.
MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec"
DATE = re.compile(rf"\d{{1,2}}[-./ ]{{1,2}}({MONTHS})\.?|({MONTHS})[-./ ]{{1,2}}\d{{1,2}}", re.IGNORECASE)
# Columns that name what was measured several times.
OWNERS = _words("donor patient subject individual participant person animal mouse sample specimen")
NAMING = _words("id ids no nr number name code identifier uid key")
# Names of samples that end in the number of a replicate, or in a digit or letter that may be one.
REPLICATE = re.compile(
    r"(.+?)[-_. ]*(?:\(\d\)|(?:repl?|replicate|techrep|biorep|repeat|dup|duplicate|copy|bis)[-_. ]?\d{0,2})"
    r"|(.*\d)[-_. ](?:[a-f]|\d|t\d)",
    re.IGNORECASE,
)
MOST_EACH = 6  # samples of a source; more of one name count the samples of something
# Labels of samples without a known class, or of what is not a sample. Words for missing values, such as NA
# and None, can name a class.
NO_CLASS = _words(
    "unknown unk undetermined undefined unclassified unspecified qc blank pool pooled ? not_available "
    "not_reported not_known not_determined"
)
NINES = re.compile(r"-9|-?(9{2,}|9{2,}8)")
# So many different whole numbers, not counted from 0 or 1, are rather measurements than classes.
MANY_NUMBERS = 8


def _parts(name: str) -> set[str]:
    """Return the words of a name in lower case; of thousands of names most are one word."""
    lowered = name.strip().lower()
    return {lowered} if lowered.isalnum() else set(re.split(r"[\W_]+", lowered)) - {""}


def column_kind(name: str) -> str | None:
    """Return what a column with such a whole name is about, if it is not a usual feature."""
    whole = re.sub(r"[\W_]+", "_", name.strip().lower()).strip("_")
    if NUMBERED_BATCH.fullmatch(whole) or ("_" in whole and DATED.fullmatch(whole)):
        return BATCH
    return next((kind for kind, known in COLUMN_NAMES.items() if whole in known), None)


def odd_names(names: Names) -> dict[str, str]:
    """Return the columns that are not features by their names, if they are few, and their kinds."""
    kinds = {str(name): kind for name in names if (kind := column_kind(str(name))) is not None}
    others = [str(name) for name in names if str(name) not in kinds]
    if len(others) < max(FEW, MOST * len(names)):
        return {}
    if are_words(others):
        kinds = {name: kind for name, kind in kinds.items() if not name.isalpha()}
    return kinds


def are_words(names: Names) -> bool:
    """Return whether most names of columns are words of everyday language, as those of a text are."""
    n_words = sum(str(name).isalpha() and str(name).islower() for name in names)
    return len(names) >= FEWEST_WORDS and n_words > len(names) / 2


def name_findings(table: StudyTable) -> Iterator[Finding]:
    """Find what names of features, samples and classes suggest."""
    dates = [str(name) for name in table.feature_names if DATE.fullmatch(str(name).strip())]
    if dates:
        yield Finding(
            "date-names",
            message=f"{counted(len(dates), 'feature')} {'has' if len(dates) == 1 else 'have'} the name of "
            f"a date ({listed(dates, 3)}). Spreadsheets turn genes such as SEPT2 and MARCH1 into dates.",
            remedy="Take the names from the original file.",
            columns=tuple(dates),
        )
    yield from source_findings(table)
    yield from _labels(table)


def used_name_findings(table: StudyTable, evidence: Evidence, *, known: Collection[str]) -> Iterator[Finding]:
    """Find used columns, other than the ``known`` ones, whose names are not those of measurements.

    Columns of a sparse table are words of a text, and can have any name.
    """
    kinds = {} if sparse.issparse(table.X) else odd_names(table.feature_names)
    used = [str(table.feature_names[j]) for j in evidence.columns]
    for kind in (OUTCOME, BATCH, IDENTITY, TRAIT):
        found = [name for name in used if kinds.get(name) == kind and name not in known]
        if not found:
            continue
        are = "is" if len(found) == 1 else "are"
        yield Finding(
            "clinical-name" if kind == TRAIT else "suspicious-name",
            message=f"The model uses {listed(found)}. By name this is {kind}. If it is known only after "
            "the class, or depends on when and where a class was measured, the result does not apply to "
            "new samples.",
            remedy=f"If {listed(found)} {are} not meant to be a feature, leave it out and fit again."
            if kind != BATCH
            else f"Name {listed(found)} as batch instead of a feature, and fit again.",
            claim=f"{listed(found, 2)} {are} meant to be a feature",
            columns=tuple(found),
            numbers={"kind": kind},
        )


def names_an_owner(column: str) -> bool:
    """Return whether a column so named tells what the samples were taken from: ``patient``, ``donor_id``."""
    words = _parts(column)
    return not OWNERS.isdisjoint(words) and words <= OWNERS | NAMING


def sources_by_name(names: Names) -> np.ndarray | None:
    """Return the sources of the samples, if names such as ``PAT01_rep0`` or ``P001 (2)`` suggest them."""
    texts = [str(name).strip() for name in names]
    matches = [REPLICATE.fullmatch(text) for text in texts]
    bases = [match[1] or match[2] if match else text for match, text in zip(matches, texts, strict=True)]
    sizes = Counter(bases)
    sources = [base if sizes[base] <= MOST_EACH else text for base, text in zip(bases, texts, strict=True)]
    return np.array(sources) if len(set(sources)) < len(set(texts)) else None


def source_findings(table: StudyTable) -> Iterator[Finding]:
    """Find samples of one source, such as a patient, that no groups keep together.

    Samples of a source may be of two classes, as tumour and normal tissue of a patient are. With more classes
    labels may be exchanged within a source instead, as they are within batches.
    """
    if table.groups is not None:
        return
    told = list(table.owners.items())
    by_name = None if told else sources_by_name(table.sample_names)
    if by_name is not None:
        told = [("", by_name)]
    for column, owner in told:
        codes = np.unique(owner, return_inverse=True)[1]
        is_mixed = len(differences_within(codes, table.y)) > 0
        if is_mixed and table.batch is not None and not len(differences_within(codes, table.batch)):
            continue
        n_sources, kept_by = int(codes.max()) + 1, "groups"
        if n_sources == len(codes):
            continue
        if is_mixed and len(table.classes) > 2:
            kept_by = "strata of the permutation test"
        shared = table.names_of(np.flatnonzero(np.bincount(codes)[codes] > 1)[:2])
        basis = f"By the column {column!r}" if column else f"By their names, such as {listed(shared)}"
        yield Finding(
            "repeated-sources" if column else "source-names",
            message=f"{basis}, {len(table.y)} samples come from {n_sources} sources. Samples of one source "
            "are not independent, so error rates, bounds and p-values are too low unless they are kept "
            "together.",
            remedy=f"If they are repeated measurements, name their sources as {kept_by}.",
            claim=f"samples with the same {column!r} are independent" if column else "",
            columns=(column,) if column else (),
            numbers={"n_sources": n_sources, "kept_by": kept_by},
        )


def _labels(table: StudyTable) -> Iterator[Finding]:
    """Find labels that are not classes, or two spellings of one class."""
    no_class = labels_without_class(table.y)
    if no_class:
        yield Finding(
            "unlikely-class",
            message=f"The labels {listed(no_class)} read like an unknown class, or like controls of the "
            "measurement, and are predicted like any class.",
            remedy="Remove these samples, or give them their classes.",
            claim=f"{listed(no_class)} {'is a class' if len(no_class) == 1 else 'are classes'} of samples",
            numbers={"n_samples": int(np.isin(table.y.astype(str), no_class).sum())},
        )
    for names in same_words(table.classes):
        yield Finding(
            "class-spelling",
            message=f"The classes {listed(names)} differ only in letter case or space.",
            remedy="Write them alike, and fit again.",
            claim=f"{listed(names)} are spellings of one class",
        )
    values = np.unique(table.y)
    if are_measurements(values):
        yield Finding(
            "numeric-labels",
            message=f"The labels are {len(values)} different numbers. Each is a class of its own, so their "
            "order is lost.",
            remedy="If they are measurements, such as ages, form classes first, such as low and high.",
            numbers={"n_labels": len(values)},
        )


def same_words(classes: Sequence[str]) -> list[list[str]]:
    """Return the classes that differ from each other only in letter case or space."""
    spelled: dict[str, list[str]] = {}
    for name in classes:
        spelled.setdefault(one_spelling(str(name)), []).append(str(name))
    return [names for names in spelled.values() if len(names) > 1]


def one_spelling(name: str) -> str:
    """Return a class name in lower case without spaces; punctuation carries meaning, as in HER2-."""
    return "".join(name.split()).casefold()


def labels_without_class(labels: np.ndarray) -> list[str]:
    """Return the labels that stand for an unknown class, or for what is not a sample."""
    values = np.unique(labels)
    found = [str(name) for name in values if re.sub(r"[\s_]+", "_", str(name).strip().lower()) in NO_CLASS]
    if values.dtype.kind in "iuf" and len(values) > 2:
        for value in values[[0, -1]]:
            others = np.abs(values[values != value])
            if NINES.fullmatch(f"{value:g}") and others.max() < abs(value) / 4:
                found.append(f"{value:g}")
    return found


def are_measurements(labels: np.ndarray) -> bool:
    """Return whether labels are rather measurements: many whole numbers, not counted from 0 or 1."""
    try:
        numbers = np.unique(np.asarray(labels, dtype=np.float64))
    except ValueError:
        return False
    is_counted = numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1
    return len(numbers) >= MANY_NUMBERS and not is_counted
