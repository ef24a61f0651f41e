"""What casts doubt on a result: one notion, and the function that looks for all of it.

A doubt says what is wrong, why that matters and what to do. Some doubts are about validity: as long as they
are not settled, errors and bounds may mean nothing. ``data_checks`` finds copies and batches, ``columns`` what
names and values of columns give away, ``scales`` values that were not prepared alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.analysis import columns as odd
from minimaxrisk.analysis.data_checks import BatchCheck, check_batches, exact_copies, near_copies

# Names and pairs of samples in a text.
NAMED, PAIRS = 5, 3
LOOKS_GOOD = "with one in training and its copy in the test every classifier looks good"
MEANS_NOTHING = "errors and bounds look good and mean nothing"


@dataclass(frozen=True)
class Doubt:
    """Something about the data that makes a result doubtful; printed, it says what is wrong and what to do.

    Attributes
    ----------
    kind : str
        What it concerns: ``"copies"``, ``"groups"``, ``"batch"``, ``"leak"``, ``"scale"``, ``"labels"`` or
        ``"names"``.
    brief : str
        What is wrong, in a few words.
    text : str
        What is wrong and why it matters.
    remedy : str
        What to do.
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


def listed(names: Iterable[Any], most: int = NAMED) -> str:
    """The first few names, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(str(name)) for name in names[:most]) + more


def counted(n: int, thing: str) -> str:
    """``1 sample``, ``2 samples``."""
    return f"{n} {thing}{'s' * (n != 1)}"


# ---- about the data


def doubts_about_data(
    X: DataMatrix,
    y: np.ndarray,
    *,
    feature_names: Sequence[str],
    sample_names: Sequence[str],
    groups: np.ndarray | None = None,
) -> list[Doubt]:
    """What can be found without a model."""
    del feature_names
    return _of_copies(X, y, sample_names, groups)


def _of_copies(
    X: DataMatrix, y: np.ndarray, names: Sequence[str], groups: np.ndarray | None
) -> list[Doubt]:
    """Samples that are copies of others, or look so, where nothing keeps them together."""
    exact, found = exact_copies(X), []
    pairs = [(i, j) for i, j in exact if groups is None or groups[i] != groups[j]]
    if pairs:
        (i, j), n = pairs[0], len(pairs)
        what = f"{counted(n, 'sample')} {'is' if n == 1 else 'are'} identical to another sample"
        found.append(
            Doubt(
                kind="copies",
                brief=what,
                text=f"{what}, such as {str(names[j])!r} to {str(names[i])!r}: {LOOKS_GOOD}.",
                remedy="Remove copies, or name the samples that are not independent as groups.",
            )
        )
    copied = {j: i for i, j in exact}
    near = [
        pair
        for pair in near_copies(X, y, groups)
        if copied.get(pair.first, pair.first) != copied.get(pair.second, pair.second)
    ]
    if near:
        shown = [
            f"{str(names[pair.first])!r} and {str(names[pair.second])!r} at {pair.share:.0%}"
            for pair in near[:PAIRS]
        ]
        n = len(near)
        what = f"{counted(n, 'pair')} of samples {'is' if n == 1 else 'are'} far closer than is usual"
        found.append(
            Doubt(
                kind="copies",
                brief=f"{what}, like one sample measured twice",
                text=f"{what} in their class, such as {', '.join(shown)} of the usual distance: they look "
                f"like one sample measured twice, and {LOOKS_GOOD}.",
                remedy="If they are, name the samples that are not independent as groups, or keep one of "
                "each pair.",
            )
        )
    return found


# ---- about a model


def doubts_about_model(
    model: Any, X: DataMatrix, y: np.ndarray, *, feature_names: Sequence[str]
) -> list[Doubt]:
    """What the columns that the model uses give away."""
    selected = model.selected_features_
    used, names = X[:, selected], [str(feature_names[j]) for j in selected]
    values = used.toarray() if sparse.issparse(used) else np.asarray(used)
    counters, codes = odd.line_counters(values, names), odd.columns_like_labels(values, names, y)
    found = []
    if counters:
        found.append(_leak(counters, "only counts the lines", "if these are sorted by class"))
    if codes:
        found.append(_leak(codes, "has one value in each class", "if that codes the class"))
    return found


def _leak(names: Sequence[str], what: str, when: str) -> Doubt:
    return Doubt(
        kind="leak",
        brief=f"the model uses {listed(names, 2)}, which {what}",
        text=f"The model uses {listed(names)}, which {what}; {when}, {MEANS_NOTHING}.",
        remedy=f"Leave out {listed(names)} and fit again.",
        columns=tuple(names),
    )


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
            remedy="Correct the values for the batch, or check whether the result holds within each batch.",
            is_about_validity=False,
        )
    return None


def check_data(
    X: Any,
    y: Any,
    *,
    model: Any = None,
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
    model : MinimaxRiskClassifier or None, default=None
        A classifier that was fitted on these data. With it, what its columns give away is looked for too.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples with the same entry are not independent, such as measurements of one patient.
    batch : array-like of shape (n_samples,) or None, default=None
        What was measured together; needs ``model``.
    feature_names : sequence of str or None, default=None
        Names of the columns; None takes those of a data frame, or numbers.
    sample_names : sequence of str or None, default=None
        Names of the samples; None takes the index of a data frame, or numbers.

    Returns
    -------
    tuple of Doubt
        What was found; empty if nothing was. That does not prove that the data are right.

    Raises
    ------
    ValueError
        If X and y have different numbers of samples, or ``batch`` comes without a model.

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
        raise ValueError("batch needs model, a fitted classifier, to look whether its columns tell the batch.")
    values = sparse.csr_matrix(X) if sparse.issparse(X) else np.asarray(X)
    labels = np.asarray(y)
    if values.ndim != 2 or labels.ndim != 1 or values.shape[0] != len(labels):
        raise ValueError(
            f"X must have two dimensions and y an entry for each row of X, got shapes {values.shape} and "
            f"{labels.shape}."
        )
    if feature_names is None:
        feature_names = getattr(X, "columns", [f"column {j}" for j in range(values.shape[1])])
    if sample_names is None:
        index = getattr(X, "index", None)
        sample_names = range(len(labels)) if index is None or callable(index) else index
    kept = None if groups is None else np.asarray(groups)
    found = doubts_about_data(
        values, labels, feature_names=feature_names, sample_names=sample_names, groups=kept
    )
    if model is not None:
        found += doubts_about_model(model, values, labels, feature_names=feature_names)
    if batch is not None:
        of_batches = doubt_about_batches(check_batches(model, X, y, batch, groups=groups))
        found += [] if of_batches is None else [of_batches]
    return tuple(found)
