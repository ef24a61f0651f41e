"""MinimaxRiskSelector."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskSelector


def test_keeps_the_columns_with_coefficients(wide):
    X, y = wide
    selector = MinimaxRiskSelector().fit(X, y)
    model = MinimaxRiskClassifier().fit(X, y)
    np.testing.assert_array_equal(selector.get_support(indices=True), model.selected_features_)
    np.testing.assert_array_equal(selector.transform(X), X[:, model.selected_features_])
    assert sparse.issparse(selector.transform(sparse.csr_array(X)))


def test_max_features_keeps_the_most_important(wide):
    X, y = wide
    # Importance must not depend on the unit that a column is measured in.
    X = X * np.where(np.arange(300) % 2, 1e6, 1e-6)
    selector = MinimaxRiskSelector(max_features=4).fit(X, y)
    importance = selector.estimator_.feature_importances_
    kept = selector.get_support(indices=True)
    assert len(kept) == 4
    assert importance[kept].min() >= np.delete(importance, kept).max()
    np.testing.assert_allclose(
        importance, (np.abs(selector.estimator_.coef_) * X.std(axis=0)).sum(axis=0), rtol=1e-9
    )


def test_pandas_pipeline_and_names(wide):
    X, y = wide
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(300)])
    selector = MinimaxRiskSelector(max_features=5).set_output(transform="pandas")
    out = selector.fit_transform(frame, y)
    assert out.columns.tolist() == selector.get_feature_names_out().tolist()
    assert set(out.columns) <= set(frame.columns)
    pipeline = make_pipeline(selector, LogisticRegression()).fit(frame, y)
    assert pipeline.score(frame, y) > 0.8


def test_weights_reach_the_estimator(wide):
    X, y = wide
    weights = np.where(y == "alpha", 3.0, 1.0)
    selector = MinimaxRiskSelector().fit(X, y, sample_weight=weights)
    model = MinimaxRiskClassifier().fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(selector.get_support(indices=True), model.selected_features_)
