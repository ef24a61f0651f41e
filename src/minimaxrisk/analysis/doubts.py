"""What casts doubt on a result: one notion, and the function that looks for all of it.

A doubt says what is wrong, why that matters and what to do. Some doubts are about validity: as long as they
are not settled, errors and bounds may mean nothing. ``batches`` is about what was measured
together, ``columns`` and ``names`` about what values and names give away, ``scales`` about values that were
not prepared, or not alike, ``synthetic`` about values that were computed with the labels, and
``trivial_rules`` about one number a sample that does as well as a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arguments import counted, listed
from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.analysis import columns, names, scales, synthetic, trivial_rules
from minimaxrisk.analysis.batches import BatchCheck, check_batches
from minimaxrisk.analysis.contrasts import class_contrasts
from minimaxrisk.analysis.cross_validation import CrossValidatedError
from minimaxrisk.guarantees.assumptions import exact_copies, near_copies, numbers_of
from minimaxrisk.guarantees.certified import SELECTION, Estimator, can, check_supported
from minimaxrisk.guarantees.posed_fit import check_classes
from minimaxrisk.samples.validation import (
    check_labels,
    check_table,
    codes_of_groups,
    columns_of_frame,
    differences_within,
)

# Pairs of samples in a text.
PAIRS = 3
# More samples differ in nearly all columns without a doubt.
MOST_COMPARED = 500
LOOKS_GOOD = "with one in training and its copy in the test every classifier looks good"
MEANS_NOTHING = "errors and bounds look good and mean nothing"


@dataclass(frozen=True)
class Doubt:
    """Something about the data that makes a result doubtful; printed, it says what is wrong and what to do.

    Attributes
    ----------
    kind : str
        What it concerns: ``"copies"``, ``"groups"``, ``"strata"``, ``"batch"``, ``"leak"``, ``"clinical"``,
        ``"scale"``, ``"trivial"`` (a number of a sample does as well as the model), ``"missing"``,
        ``"labels"``, ``"labels used"`` (before the classifier saw the values) or ``"names"``.
    brief, text, remedy : str
        What is wrong in a few words, what is wrong and why it matters, and what to do.
    is_about_validity : bool
        Whether errors and bounds may mean nothing as long as this is not settled.
    columns : tuple of str
        The columns that it concerns, if it is about columns.
    """

    kind: str
    brief: str
    text: str
    remedy: str
    is_about_validity: bool = True
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.text} {self.remedy}"


def unsettled(doubts: Iterable[Doubt]) -> str:
    """What has to be settled before errors and bounds mean anything, in words; empty if nothing has."""
    briefs = dict.fromkeys(one.brief for one in doubts if one.is_about_validity)
    return f"Not before this is settled: {'; '.join(briefs)}." if briefs else ""


# ---- about the data


def doubts_about_data(
    X: DataMatrix,
    y: np.ndarray,
    *,
    feature_names: Any,
    sample_names: Any,
    groups: np.ndarray | None = None,
    batch: np.ndarray | None = None,
    owners: Mapping[str, np.ndarray] | None = None,
) -> list[Doubt]:
    """What can be found without a model; ``owners`` are columns that say what samples were taken from."""
    # One of these is enough: each explains the next.
    of_scales = list(_of_scales(X, y, sample_names))
    if not any(one.is_about_validity for one in of_scales):
        of_scales += doubts_about_numbers(X, y) or _of_columns(X, y)
    return [
        *of_scales,
        *_of_synthetic(X, y, sample_names),
        *_of_copies(X, y, sample_names, groups),
        *(_of_owners(owners or {}, sample_names, y, batch) if groups is None else ()),
        *_of_summaries(sample_names),
        *_of_labels(y),
        *_of_preparation(X),
        *_of_dates(feature_names),
    ]


def _of_scales(X: DataMatrix, y: np.ndarray, sample_names: Sequence[str]) -> Iterator[Doubt]:
    """Samples that were not measured or prepared like the others."""
    constant = np.flatnonzero(scales.constant_samples(X))
    if len(constant):
        what = f"{counted(len(constant), 'sample')} with one value in all columns"
        yield Doubt(
            kind="scale",
            brief=what,
            text=f"{what}, such as {listed(np.asarray(sample_names, dtype=str)[constant], PAIRS)} with "
            f"{X[constant[0], 0]:g}: nothing was measured there.",
            remedy="Leave out such samples.",
            is_about_validity=False,
        )
    differs = scales.on_another_scale(X)
    if differs is None:
        return
    n, n_differing = len(y), int(differs.sum())
    what = f"{n_differing} of {n} samples {'is' if n_differing == 1 else 'are'} on another scale"
    classes = [label for label in np.unique(y) if (differs[y == label] == differs[y == label][0]).all()]
    whose = ""
    if len(classes) == len(np.unique(y)):
        own = [str(label) for label in classes if differs[y == label][0]]
        whose = f" They are all samples of {listed(own)}, so the scale alone tells the class."
    shown = listed(np.asarray(sample_names, dtype=str)[differs], PAIRS)
    yield Doubt(
        kind="scale",
        brief=what,
        text=f"{what} than the others, over all columns, such as {shown}: "
        f"{scales.difference_in_words(X, differs)}.{whose}",
        remedy="Prepare all samples in the same way.",
    )


def doubts_about_numbers(
    X: DataMatrix,
    y: np.ndarray,
    *,
    left_out: CrossValidatedError | None = None,
    sample_names: Sequence[str] | None = None,
) -> list[Doubt]:
    """A number of a sample, or an order, that tells a class as well as left-out predictions do.

    Without these it has to do as well as a model that never errs, and no order counts.
    """
    classes, own = np.unique(y, return_inverse=True)
    predicted = None if left_out is None else left_out.predicted
    rule = trivial_rules.explaining_number(trivial_rules.sample_numbers(X), own, predicted)
    if rule is None:
        if left_out is None or left_out.scores is None or sample_names is None:
            return []
        orders = trivial_rules.sample_orders(sample_names)
        rule = trivial_rules.explaining_order(orders, own, left_out.predicted, left_out.scores)
    if rule is None:
        return []
    label = str(classes[rule.position])
    beside = "" if rule.n_wrong_of_model is None else f", the model errs for {rule.n_wrong_of_model:,}"
    what = f"the {rule.number} tells the classes apart as well as the model"
    if len(classes) > 2:
        what = f"the {rule.number} tells {label!r} from the other classes as well as the model"
    meaning, remedy = MEANINGS[rule.number]
    if rule.number in (trivial_rules.MEAN, trivial_rules.SPREAD):
        words = scales.difference_in_words(X, own == rule.position)
        meaning = f"Beside the others, samples of {label!r} look like {words}."
    return [
        Doubt(
            kind="trivial",
            brief=what,
            text=f"{what[0].upper()}{what[1:]}: a threshold on this number errs for {rule.n_wrong:,} of "
            f"{rule.n_samples:,} left-out samples{beside}. {meaning}",
            remedy=remedy,
        )
    ]


# What a number that tells the classes may mean, and what to do.
_ALIKE = "Prepare all samples in the same way, or centre and scale each sample, and fit again."
_DRIFT = (
    "The scores of the model follow this order within the classes too: values may have drifted while the "
    "classes were measured one after the other."
)
_MIXED = "Measure the classes in mixed order, or correct the values for the drift, and fit again."
MEANINGS = {
    trivial_rules.MEAN: ("", _ALIKE),
    trivial_rules.SPREAD: ("", _ALIKE),
    trivial_rules.ZEROS: (
        "Are zeros missing values in one class, or was less measured there?",
        "Mark missing values as such in all samples, and fit again.",
    ),
    trivial_rules.MISSING: (
        "Values are missing by class, so whatever fills them tells the class.",
        "Leave out the columns with missing values, and fit again.",
    ),
    trivial_rules.LINE: (_DRIFT, _MIXED),
    trivial_rules.NAME: (_DRIFT, _MIXED),
    trivial_rules.NUMBER: (_DRIFT, _MIXED),
}


def _of_synthetic(X: DataMatrix, y: np.ndarray, called: Sequence[str]) -> Iterator[Doubt]:
    """Values that were computed from other samples of the class."""
    between = synthetic.samples_between(X, y)
    if between:
        (i, j, k), n = between[0], len(between)
        what = f"{counted(n, 'sample')} {'lies' if n == 1 else 'lie'} exactly between two others"
        yield Doubt(
            kind="copies",
            brief=f"{what}, as SMOTE makes them",
            text=f"{what} of the same class, such as {str(called[i])!r} between {str(called[j])!r} and "
            f"{str(called[k])!r}, as SMOTE and means of samples do: {LOOKS_GOOD}.",
            remedy="Leave out computed samples. For rare classes use class weights instead.",
        )
    # Copies repeat the values of a class, too.
    kept = np.setdiff1d(np.arange(len(y)), [j for _, j in exact_copies(X)])
    n_columns = synthetic.filled_by_class(X[kept], y[kept])
    if n_columns:
        yield Doubt(
            kind="labels used",
            brief="gaps seem to be filled class by class",
            text=f"In {n_columns:,} columns a value is repeated within one class alone: gaps seem to be "
            "filled with the mean or median of the class. Then values of left-out samples tell their labels.",
            remedy="Leave the gaps empty, and fill them with the median of the column.",
        )


# In the paper's data sets and their stand-ins, raw and in logarithms, at most 73% of the columns differ.
NEARLY_ALL, DIFFERENT = 0.8, 0.05
CONTRADICTS = 0.001  # Fisher's exact test
FEW_TO_LEARN = 100  # with fewer training samples the hold-out may err more because of that alone


def _of_columns(X: DataMatrix, y: np.ndarray) -> Iterator[Doubt]:
    """All columns differ between classes by one amount or factor, or nearly all differ somehow."""
    if X.shape[1] < scales.FEWEST_COLUMNS:
        return
    classes, own = np.unique(y, return_inverse=True)
    if not sparse.issparse(X) and np.isnan(X).any():
        known = X[:, ~np.isnan(X).all(axis=0)]
        X = np.where(np.isnan(known), np.nanmedian(known, axis=0), known)
    found = class_contrasts(X, own, len(classes))
    even = None if sparse.issparse(X) else trivial_rules.even_difference(X, own, found)
    if even is not None:
        label, direction = str(classes[even.position]), "higher" if even.is_higher else "lower"
        what = f"all columns are {direction} in {label!r} by about the same {even}"
        meaning = "other units, amounts of material or depths, another base of logarithms"
        if not even.is_factor:
            meaning = "another background or, in logarithms, other units or depths"
        yield Doubt(
            kind="trivial",
            brief=what,
            text=f"{what[0].upper()}{what[1:]}. Biology changes each in its own way. Is it {meaning}, or "
            "were the columns selected with these labels?",
            remedy=_ALIKE,
            is_about_validity=even.n_columns >= trivial_rules.FEWEST_EVEN,
        )
        return
    share = float((np.nan_to_num(found.p, nan=1.0) < DIFFERENT).mean(axis=1).max())
    if share < NEARLY_ALL or len(y) > MOST_COMPARED:
        return
    yield Doubt(
        kind="labels used",
        brief=f"{share:.0%} of the columns differ between the classes",
        text=f"{share:.0%} of the columns differ between the classes (p < {DIFFERENT}), where a tenth to a "
        "half is usual: they may have been selected or corrected with these labels, or the classes were "
        "measured differently. Then errors and bounds look better than they are.",
        remedy="Start from all columns, as they were before anyone looked at the labels.",
        is_about_validity=False,
    )


def doubt_about_estimates(n_wrong: int, n: int, n_errors: int, n_test: int, n_train: int) -> Doubt | None:
    """Far fewer errors in the cross-validation than on the hold-out, which ``n_train`` samples train for."""
    table = [[n_wrong, n - n_wrong], [n_errors, n_test - n_errors]]
    if stats.fisher_exact(table, alternative="less").pvalue > CONTRADICTS:
        return None
    reasons = [
        f"the model needs more samples to learn than the {n_train:,} that it had for the hold-out",
        "the labels were used before, to select columns, fill gaps or correct batches",
    ]
    first, second = reasons if n_train < FEW_TO_LEARN else reversed(reasons)
    return Doubt(
        kind="labels used",
        brief="cross-validation and hold-out contradict each other",
        text=f"The cross-validation errs for {n_wrong:,} of {n:,} samples, the hold-out for {n_errors:,} of "
        f"{n_test:,}: more than chance explains. Perhaps {first}, or {second}.",
        remedy="Believe the hold-out, and start from values that were prepared without labels.",
        is_about_validity=False,
    )


def _of_preparation(X: DataMatrix) -> Iterator[Doubt]:
    """Values that are usually prepared first; results hold for the values as they are."""
    count, code = scales.largest_count(X), scales.missing_code(X)
    if count is not None:
        yield Doubt(
            kind="scale",
            brief="the values look like raw counts",
            text=f"All values are whole numbers up to {count:g} and look like raw counts. Means of "
            "counts depend mostly on the largest values and on the sequencing depth of each sample.",
            remedy="It is usual to normalise the counts and take logarithms first.",
            is_about_validity=False,
        )
    elif code is None and scales.are_intensities(X):
        yield Doubt(
            kind="scale",
            brief="the values look like raw intensities",
            text="The values range widely, and a few are far larger than the rest: they look like raw "
            "intensities. Means of such values depend mostly on the largest.",
            remedy="It is usual to take logarithms first.",
            is_about_validity=False,
        )
    if code is not None:
        yield Doubt(
            kind="missing",
            brief=f"{code[0]:g} is used as a number",
            text=f"{code[0]:g} stands in {counted(code[1], 'cell')}, far "
            f"{'below' if code[0] < 0 else 'above'} all other values, and is used as a number.",
            remedy="If it means that a value is missing, empty these cells and fill them with the median "
            "of the column.",
            is_about_validity=False,
        )


def _of_labels(y: np.ndarray) -> Iterator[Doubt]:
    """Labels that are no classes."""
    no_class = names.labels_of_no_class(y)
    if no_class:
        yield Doubt(
            kind="labels",
            brief=f"{listed(no_class)} is taken as a class"
            if len(no_class) == 1
            else f"{listed(no_class)} are taken as classes",
            text=f"{listed(no_class)} among the labels reads like an unknown class, or like no sample of "
            "the study, and is predicted like any class.",
            remedy="Remove these samples, or give them their classes.",
        )
    if names.are_measurements(y):
        n = len(np.unique(y))
        yield Doubt(
            kind="labels",
            brief=f"the labels are {n} different numbers",
            text=f"The labels are {n} different numbers, from {np.min(y):g} to {np.max(y):g}, and each "
            "is taken as a class of its own: their order is lost, and few samples are left for each.",
            remedy="If they measure something, such as an age, make classes first, such as low and high.",
            is_about_validity=False,
        )


def _of_dates(feature_names: Sequence[str]) -> Iterator[Doubt]:
    dates = names.dates_for_names(feature_names)
    if dates:
        what = f"{counted(len(dates), 'feature')} named like a date"
        yield Doubt(
            kind="names",
            brief=what,
            text=f"{what}, such as {listed(dates, 3)}: spreadsheets make dates of genes such as SEPT2 and "
            "MARCH1, and then nobody knows which gene it is.",
            remedy="Take the names from the original file.",
            is_about_validity=False,
        )


def _of_owners(
    owners: Mapping[str, np.ndarray], sample_names: Sequence[str], y: np.ndarray, batch: np.ndarray | None
) -> Iterator[Doubt]:
    """Samples of one owner, such as a patient, that nothing keeps together; told by columns, or by names.

    Samples of an owner may be of two classes, as tumour and normal tissue of a patient are. Of more classes
    they cannot be groups: labels may be exchanged within an owner instead, as they are within batches.
    """
    told: list[tuple[str, tuple[str, ...], np.ndarray]] = [
        (f"the column {name!r}", (name,), owner) for name, owner in owners.items()
    ]
    by_name = None if told else names.owners_by_name(sample_names)
    if by_name is not None:
        told = [(f"their names, such as {str(sample_names[0])!r},", (), by_name)]
    elif not told and (repeats := names.repeats_by_name(sample_names)):
        i, base = next(iter(repeats.items()))
        owner = np.array([repeats.get(k, k) for k in range(len(y))])
        shown = f"their names, such as {str(sample_names[i])!r} beside {str(sample_names[base])!r},"
        told = [(shown, (), owner)]
    for told_by, columns_, owner in told:
        codes = np.unique(owner, return_inverse=True)[1]
        is_mixed = len(differences_within(codes, y)) > 0
        if is_mixed and batch is not None and not len(differences_within(codes, batch)):
            continue
        n_owners, are_strata = int(codes.max()) + 1, is_mixed and len(np.unique(y)) > 2
        yield Doubt(
            kind="strata" if are_strata else "groups",
            brief=f"{len(y)} samples seem to come from {n_owners} sources",
            text=f"By {told_by} {len(y)} samples come from {n_owners} sources, and nothing keeps those "
            "of one source together: they are not independent, so errors, bounds and p-values look "
            "better than they are.",
            remedy="Name what the samples were taken from as "
            f"{'strata of the permutation test' if are_strata else 'groups'}.",
            is_about_validity=not is_mixed,
            columns=columns_,
        )


def _of_summaries(sample_names: Sequence[str]) -> Iterator[Doubt]:
    """Lines of a table that are no samples."""
    found = names.summaries_by_name(sample_names)
    if found:
        n = len(found)
        what = f"{counted(n, 'sample')} {'sums' if n == 1 else 'sum'} up others by name"
        yield Doubt(
            kind="names",
            brief=f"{what}: {listed(found, 2)}",
            text=f"{what} ({listed(found)}): a mean of samples is no sample, and it carries those that a "
            "test leaves out into the training data.",
            remedy="Remove these lines from the table.",
        )


def _of_copies(
    X: DataMatrix, y: np.ndarray, called: Sequence[str], groups: np.ndarray | None
) -> Iterator[Doubt]:
    """Samples that are copies of others, or look so, where nothing keeps them together."""
    exact = exact_copies(X)
    pairs = [(i, j) for i, j in exact if groups is None or groups[i] != groups[j]]
    if pairs:
        (i, j), n = pairs[0], len(pairs)
        what = f"{counted(n, 'sample')} {'is' if n == 1 else 'are'} identical to another sample"
        yield Doubt(
            kind="copies",
            brief=what,
            text=f"{what}, such as {str(called[j])!r} to {str(called[i])!r}: {LOOKS_GOOD}.",
            remedy="Remove copies, or name the samples that are not independent as groups.",
        )
    copied = {j: i for i, j in exact}
    near = [
        pair
        for pair in near_copies(X, y, groups)
        if copied.get(pair.first, pair.first) != copied.get(pair.second, pair.second)
    ]
    if near:
        shown = [
            f"{str(called[pair.first])!r} and {str(called[pair.second])!r} at {pair.share:.0%}"
            for pair in near[:PAIRS]
        ]
        n = len(near)
        what = f"{counted(n, 'pair')} of samples {'is' if n == 1 else 'are'} far closer than is usual"
        yield Doubt(
            kind="copies",
            brief=f"{what}, like one sample measured twice",
            text=f"{what} in their class, such as {', '.join(shown)} of the usual distance: they look "
            f"like one sample measured twice, and {LOOKS_GOOD}.",
            remedy="If they are, name the samples that are not independent as groups, or keep one of "
            "each pair.",
        )


# ---- about a model


def doubts_about_model(model: Any, X: DataMatrix, y: np.ndarray, *, feature_names: Any) -> list[Doubt]:
    """What the columns that the model uses give away."""
    selected = model.selected_features_
    used, of_used = X[:, selected], [str(feature_names[j]) for j in selected]
    values = used.toarray() if sparse.issparse(used) else np.asarray(used)
    counters, codes = columns.rising_columns(values, of_used), columns.columns_like_labels(values, of_used, y)
    found = []
    if counters:
        found.append(_leak(counters, "rises or falls from line to line", "if these are sorted by class"))
    if codes:
        found.append(_leak(codes, "has one value in each class", "if that codes the class"))
    if columns.have_many_values(X):
        noisy = columns.columns_like_labels(values, of_used, y, errors=columns.FLIPPED)
        noisy = [name for name in noisy if name not in codes]
        if noisy:
            found.append(_leak(noisy, "has nearly one value in each class", "if that codes the class"))
        codes += noisy
    # Words of a text are sparse features, and no names of columns about samples.
    kinds = {} if sparse.issparse(X) else names.odd_names(feature_names)
    for kind, tell in ABOUT_NAMES.items():
        called = [name for name in of_used if kinds.get(name) == kind and name not in {*counters, *codes}]
        found += [tell(called)] if called else []
    known = {name for doubt in found for name in doubt.columns}
    carrier = columns.carrying_column(model.feature_importances_[selected], values, of_used, y, X)
    if carrier is not None and carrier not in known and X.shape[1] > names.FEW:
        found.append(
            Doubt(
                kind="leak",
                brief=f"is {carrier!r} a measurement? It tells a class almost alone",
                text=f"The model rests on {carrier!r}, which tells a class almost alone. Is it a "
                f"measurement? If it codes the class, a date or a plate, {MEANS_NOTHING}.",
                remedy=f"Leave out {carrier!r} and fit again.",
                columns=(carrier,),
            )
        )
    return found


def _leak(names: Sequence[str], what: str, when: str) -> Doubt:
    return Doubt(
        kind="leak",
        brief=f"the model uses {listed(names, 2)}, which {what}",
        text=f"The model uses {listed(names)}, which {what}; {when}, {MEANS_NOTHING}.",
        remedy=f"Leave out {listed(names)} and fit again.",
        columns=tuple(names),
    )


def _batch_name(found: Sequence[str]) -> Doubt:
    return Doubt(
        kind="batch",
        brief=f"the model uses {listed(found, 2)}, a batch by name",
        text=f"The model uses {listed(found)}: by name that is where, when or how well samples were "
        f"measured. If classes were measured apart, {MEANS_NOTHING}.",
        remedy=f"Name {listed(found)} as batch in place of a feature, and fit again.",
        columns=tuple(found),
    )


def _trait(found: Sequence[str]) -> Doubt:
    return Doubt(
        kind="clinical",
        brief=f"the model uses {listed(found, 2)}, clinical data by name",
        text=f"The model uses {listed(found)}: by name that is clinical data. If it is known only after the "
        "diagnosis, or because of it, the result is of no use.",
        remedy=f"If it is not meant to be a feature, leave out {listed(found)} and fit again.",
        is_about_validity=False,
        columns=tuple(found),
    )


# What to tell about columns that a model uses, by what their names say.
ABOUT_NAMES: dict[str, Callable[[Sequence[str]], Doubt]] = {
    names.OUTCOME: lambda found: _leak(
        found, "is an outcome by name", "if it is known only after the diagnosis, or because of it"
    ),
    names.BATCH: _batch_name,
    names.IDENTITY: lambda found: _leak(
        found, "names or numbers patients", "if the samples of a class were numbered in a row"
    ),
    names.TRAIT: _trait,
}


def doubt_about_batches(found: BatchCheck) -> Doubt | None:
    """What a check of batches casts doubt on; None if nothing.

    Where the selected columns tell the batch but batches hold several classes, the result may still hold.
    """
    if found.is_confounded:
        return Doubt(
            kind="batch",
            brief="every batch holds one class only",
            text=found.statement,
            remedy="Measure samples of every class in each batch; no computation can separate the two.",
        )
    if found.is_predictable:
        return Doubt(
            kind="batch",
            brief="the selected columns predict the batch",
            text=found.statement,
            remedy="Correct the values for the batch, or fit without one batch and evaluate on it, batch "
            "after batch (LeaveOneGroupOut of scikit-learn).",
            is_about_validity=False,
        )
    return None


def check_data(
    X: Any,
    y: Any,
    *,
    model: Estimator | None = None,
    groups: Any = None,
    batch: Any = None,
    feature_names: Any = None,
    sample_names: Any = None,
) -> tuple[Doubt, ...]:
    """Look for what makes results doubtful: copies, leaks, batches, mixed scales, odd labels and names.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The instances; a data frame has names of features and samples.
    y : array-like of shape (n_samples,)
        Their labels.
    model : classifier of this library or None, default=None
        Fitted on these data. With it, what its columns give away is looked for too.
    groups, batch : array-like of shape (n_samples,) or None, default=None
        Samples that are not independent, such as measurements of one patient, have the same entry in
        ``groups``, and those measured together in ``batch``, which needs ``model``.
    feature_names, sample_names : sequence of str or None, default=None
        Names of the columns and of the samples; None takes those of a data frame, or numbers.

    Returns
    -------
    tuple of Doubt
        What was found; empty if nothing was. That does not prove that the data are right.

    Raises
    ------
    ValueError
        If X is not a table of numbers, which may have gaps, or has other columns than the model; if entries
        of ``y``, ``groups``, ``batch`` or names are too many, too few, missing, or have the index of X in
        another order; if the labels are not the classes of the model, ``batch`` comes without a model, or
        the model is none of this library, such as a pipeline.

    See Also
    --------
    check_batches : Describes batches and tests whether the selected columns predict them.

    Examples
    --------
    >>> import numpy as np
    >>> from minimaxrisk import check_data
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(40, 60, random_state=0)
    >>> check_data(study.data, study.target)
    ()
    >>> twice = np.vstack([study.data, study.data[:3]])
    >>> (doubt,) = check_data(twice, np.r_[study.target, study.target[:3]])
    >>> doubt.kind, doubt.brief
    ('copies', '3 samples are identical to another sample')
    """
    if batch is not None and model is None:
        raise ValueError("batch requires model: we test whether its features predict the batch.")
    if model is not None:
        check_supported(model, "check_data")
        check_is_fitted(model)
    values: Any = numbers_of(check_table(X, model))
    labels = check_labels(X, y, groups=groups, batch=batch)
    n, d = values.shape
    if model is not None:
        check_classes(model, np.unique(labels))
    if feature_names is None:
        feature_names = columns_of_frame(X)[0] or [f"column {j}" for j in range(d)]
    if sample_names is None:
        index = getattr(X, "index", None)
        sample_names = range(n) if index is None or callable(index) else index
    for argument, called, size in (("feature_names", feature_names, d), ("sample_names", sample_names, n)):
        if len(called) != size:
            raise ValueError(f"{argument} must hold {size} names, got {len(called)}.")
    found = doubts_about_data(
        values,
        labels,
        feature_names=feature_names,
        sample_names=sample_names,
        groups=None if groups is None else codes_of_groups(groups, n),
        batch=None if batch is None else codes_of_groups(batch, n, argument="batch"),
    )
    if model is not None and can(model, SELECTION):
        found += doubts_about_model(model, values, labels, feature_names=feature_names)
    if batch is not None and model is not None:
        of_batches = doubt_about_batches(check_batches(model, X, y, batch, groups=groups))
        found += [] if of_batches is None else [of_batches]
    return tuple(found)
