"""Data checks and the scale of the training data, for a model of this library."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from minimaxrisk.analysis.batches import check_batches
from minimaxrisk.checks.findings import Finding
from minimaxrisk.checks.run import findings_of_model, findings_of_table
from minimaxrisk.checks.table import Evidence, StudyTable
from minimaxrisk.checks.training_scale import TrainingScale, scale_of, text_names
from minimaxrisk.guarantees.certified import (
    LIBRARY_CLASSIFIER,
    SELECTION,
    Estimator,
    can,
    check_supported,
    columns_used_by,
    fitted_for,
)
from minimaxrisk.guarantees.fitted_problem import check_classes
from minimaxrisk.samples.columns import check_table, columns_of_frame, readable
from minimaxrisk.samples.copies import numbers_of
from minimaxrisk.samples.groups import codes_of_groups
from minimaxrisk.samples.labels import check_labels
from minimaxrisk.samples.validation import check_training_data


def check_data(
    X: Any,
    y: Any,
    *,
    model: Estimator | None = None,
    groups: Any = None,
    batch: Any = None,
    feature_names: Any = None,
    sample_names: Any = None,
) -> tuple[Finding, ...]:
    """Look for what makes results doubtful: duplicates, leakage, batches, scale mismatches, odd names.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The instances; a data frame has names of features and samples.
    y : array-like of shape (n_samples,)
        Their labels.
    model : classifier of this library or None, default=None
        Fitted on these data. With a model, the columns that it uses are checked too.
    groups, batch : array-like of shape (n_samples,) or None, default=None
        Samples that are not independent, such as measurements of one patient, have the same entry in
        ``groups``, and those measured together in ``batch``.
    feature_names, sample_names : sequence of str or None, default=None
        Names of the columns and of the samples; None takes those of a data frame, or numbers.

    Returns
    -------
    tuple of Finding
        What was found, each with ``code``, ``severity``, ``message`` and ``remedy``. An empty tuple does not
        prove that the data are right.

    Raises
    ------
    ValueError
        If X is not a table of numbers, which may have gaps, or has other columns than the model; if entries
        of ``y``, ``groups``, ``batch`` or names are too many, too few, missing, or have the index of X in
        another order; if the labels are not the classes of the model, or the model is not a classifier of
        this library, such as a pipeline.

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
    >>> (finding,) = check_data(twice, np.r_[study.target, study.target[:3]])
    >>> finding.code, finding.severity, finding.numbers["n_pairs"]
    ('duplicates', 'note', 3)
    """
    if model is not None:
        check_supported(model, "check_data", LIBRARY_CLASSIFIER)
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
    for argument, names, size in (("feature_names", feature_names, d), ("sample_names", sample_names, n)):
        if len(names) != size:
            raise ValueError(f"{argument} must hold {size} names, got {len(names)}.")
    table = StudyTable(
        values,
        labels,
        feature_names,
        sample_names,
        groups=None if groups is None else codes_of_groups(groups, n),
        batch=None if batch is None else codes_of_groups(batch, n, argument="batch"),
    )
    found = findings_of_table(table)
    if model is not None and can(model, SELECTION):
        found += findings_of_model(table, evidence_of(model), known=found)
    if batch is not None and model is not None:
        found += check_batches(model, X, y, batch, groups=groups).findings
    return tuple(found)


def evidence_of(model: Any, predicted: Any = None, scores: Any = None) -> Evidence:
    """Return what data checks need of a model that selects columns."""
    columns = np.asarray(model.selected_features_)
    return Evidence(columns, np.asarray(model.feature_importances_)[columns], predicted, scores)


def training_scale(model: Estimator, X: Any, y: Any, *, before_scaling: Any = None) -> TrainingScale | None:
    """Describe the scale of the training data; ``.compare(X_new)`` of the result checks new samples.

    Compare before predicting: a model of raw intensities is certain about logarithms, and wrong.

    Parameters
    ----------
    model : estimator
        A fitted classifier of this library, alone, at the end of a pipeline that keeps the columns, or in a
        search.
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
        The instances that it was fitted on.
    y : array-like of shape (n_samples,)
        Their labels.
    before_scaling : {ndarray, sparse matrix} of shape (n_samples, n_features) or None, default=None
        The same columns, imputed but not yet scaled, if new samples are compared before a scaler. After one
        that clips, all scales look alike.

    Returns
    -------
    TrainingScale or None
        None for a model that uses no column.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from minimaxrisk import MinimaxRiskClassifier, training_scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MinimaxRiskClassifier().fit(X[:400], y[:400])
    >>> scale = training_scale(model, X[:400], y[:400])
    >>> int(scale.compare(X[400:]).differs.sum())
    0
    >>> scale.compare(100 * X[400:401]).whole
    True
    """
    fitted, before = fitted_for(model, "training_scale", LIBRARY_CLASSIFIER)
    X = readable(X)
    data = check_training_data(fitted, X if before is None else before.transform(X), y, reset=False)
    check_classes(fitted, data.classes)
    seen = data.X if before_scaling is None else before_scaling
    if before is not None and before_scaling is None:
        seen = check_array(X, accept_sparse="csr", dtype="numeric", ensure_all_finite="allow-nan")
        if not sparse.issparse(seen) and np.isnan(seen).any():
            raise ValueError(
                "X has missing values: pass before_scaling=X_filled, which the imputer of the pipeline makes "
                "of X, and compare new samples that it has filled."
            )
        if seen.shape[1] != fitted.n_features_in_:
            raise ValueError(
                "the steps of the pipeline make other columns than those of X, in which new samples come; "
                "pass its last step and the transformed X, and compare transformed samples."
            )
    return scale_of(seen, columns_used_by(fitted), text_names(X))
