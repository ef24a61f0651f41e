"""Findings of a table of a corpus, with the model and the folds that ``fit`` uses by default."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer

from corpora.tables import Table
from minimaxrisk import MinimaxRiskClassifier, check_batches
from minimaxrisk.analysis.cross_validation import cross_validated_error, why_no_folds
from minimaxrisk.analysis.data import evidence_of
from minimaxrisk.checks.findings import Finding
from minimaxrisk.checks.run import findings_of_model, findings_of_table
from minimaxrisk.checks.table import StudyTable

N_FOLDS = 10


def findings_of(table: Table) -> list[Finding]:
    """Run all data checks on a table."""
    X = sparse.csr_matrix(table.X) if sparse.issparse(table.X) else table.X
    checked = StudyTable(
        X,
        table.y,
        table.feature_names,
        table.sample_names,
        groups=table.groups,
        batch=table.batch,
        owners=table.owners,
    )
    found = findings_of_table(checked)
    filled = X
    if not sparse.issparse(X) and np.isnan(X).any():
        filled = SimpleImputer(strategy="median", keep_empty_features=True).fit_transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MinimaxRiskClassifier().fit(filled, table.y)
        evidence = evidence_of(model)
        if not why_no_folds(model, table.y, table.groups):
            folds = cross_validated_error(
                model, filled, table.y, n_folds=N_FOLDS, groups=table.groups, calibrated=True, random_state=0
            )
            evidence = evidence_of(model, folds.predicted, folds.scores)
        found += findings_of_model(checked, evidence, filled=filled, known=found)
        if table.batch is not None:
            found += check_batches(model, filled, table.y, table.batch).findings
    return found
