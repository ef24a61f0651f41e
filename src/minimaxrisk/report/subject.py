"""What a report is about: a fitted classifier, alone or behind other steps, and its training data."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import column_or_1d

from minimaxrisk._utils.arrays import DataMatrix, IntArray
from minimaxrisk._utils.sklearn_private import num_samples
from minimaxrisk.analysis.label_free import ignores_labels
from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.inspection.sources import (
    check_fitted,
    check_number_of_names,
    last_step,
    names_of_columns,
    seen_by,
)
from minimaxrisk.report.phrases import clipping, listed
from minimaxrisk.samples.validation import positions_of_labels


@dataclass(frozen=True)
class Subject:
    """A fitted classifier and its data.

    ``learner`` is all that is fitted anew in a fold: the classifier, or a pipeline that ends with it. ``X``
    is what the learner takes, ``seen`` what the classifier saw of it, without names of columns, for which
    ``classifier`` does not ask. ``before`` are the steps that lie
    between, None where there are none, and ``uses_labels`` says whether they may have looked at labels.
    Samples of one of the ``groups`` stay together, and labels are permuted within the parts of ``batch``.
    """

    learner: Any
    classifier: Any
    before: Any
    uses_labels: bool
    X: Any
    seen: DataMatrix
    y: np.ndarray
    own: IntArray
    feature_names: list[str]
    sample_names: list[str]
    groups: Any = None
    batch: Any = None

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        scaler: Any = None,
        groups: Any = None,
        batch: Any = None,
        feature_names: Any = None,
        sample_names: Any = None,
    ) -> Subject:
        """From what users pass; a fitted ``scaler`` before the model is as good as a pipeline of the two."""
        learner = model if scaler is None else make_pipeline(scaler, model)
        classifier = last_step(learner)
        check_fitted(
            "model",
            classifier,
            "a fitted MinimaxRiskClassifier, or a pipeline that ends with one",
            ("worst_case_distribution_", "classes_"),
        )
        y = column_or_1d(y)
        if num_samples(X) != len(y):
            raise ValueError(
                f"X and y must have the same number of samples, got {num_samples(X)} and {len(y)}."
            )
        names = names_of_columns(learner, feature_names)
        if names is None:
            names = [f"column {j}" for j in range(int(classifier.n_features_in_))]
        if sample_names is None:
            sample_names = _index_of(X) or [f"sample {i + 1}" for i in range(len(y))]
        check_number_of_names("sample_names", sample_names, len(y))
        has_steps = isinstance(learner, Pipeline) and len(learner) > 1
        return cls(
            learner=learner,
            classifier=_without_names(classifier),
            before=learner[:-1] if has_steps else None,
            uses_labels=has_steps and not ignores_labels(learner, has_weights=False),
            X=X,
            seen=seen_by(learner, X),
            y=y,
            own=positions_of_labels(y, classifier.classes_),
            feature_names=names,
            sample_names=[str(name) for name in sample_names],
            groups=groups,
            batch=batch,
        )

    @property
    def transformer(self) -> Any:
        """A single step before the classifier as it is, several as a pipeline."""
        return self.before[0] if self.before is not None and len(self.before) == 1 else self.before

    @property
    def described(self) -> DataMatrix:
        """Where zeros and constant columns are counted: values as they came, if no step made others."""
        if self.before is None or np.shape(self.X)[1] != self.seen.shape[1]:
            return self.seen
        return self.X if sparse.issparse(self.X) else np.asarray(self.X)

    @property
    def preparation(self) -> str | None:
        """What was done to the values before the classifier saw them, as words that follow 'the values'."""
        if self.before is None:
            return None
        if isinstance(self.transformer, ClippedScaler):
            return clipping(self.transformer.limit)
        names = [type(step).__name__ for _, step in self.before.steps if step not in (None, "passthrough")]
        return f"as {listed(names)} made them" if names else None


def _without_names(classifier: Any) -> Any:
    """A view that does not ask for the names of columns, which ``seen`` has no more; they were compared."""
    if not hasattr(classifier, "feature_names_in_"):
        return classifier
    view = copy(classifier)
    del view.feature_names_in_
    return view


def _index_of(X: Any) -> list[str] | None:
    """The index of a pandas frame names samples, unless it only counts them."""
    index = getattr(X, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return [str(name) for name in index]
