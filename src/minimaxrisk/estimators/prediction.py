"""How fitted classifiers predict: a mixin with ``predict``, ``predict_proba`` and their kin.

A classifier names its fitted rule, and the mixin applies it to new instances. Predictions for a dask array
stay lazy: there is one task per chunk of rows, and it reads only the columns that the rule uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray, answer
from minimaxrisk._utils.dask_arrays import computed, dask_module, is_dask_array
from minimaxrisk._utils.notices import silenced, warn
from minimaxrisk._utils.stored_tables import not_finite
from minimaxrisk.guarantees.calibrated_decision import CalibratedRule
from minimaxrisk.guarantees.certified import ColumnRule, FittedRule
from minimaxrisk.problem.rule import KernelRule, LinearRule, arg_max
from minimaxrisk.samples.columns import check_description, check_new_data, first_not_finite

# What to compute from a rule, the classes and validated instances.
DecidingRule: TypeAlias = FittedRule | CalibratedRule
Output: TypeAlias = Callable[[DecidingRule, np.ndarray, DataMatrix], np.ndarray]


class PredictionMixin(ClassifierMixin):
    """The predictions of a classifier that has ``classes_`` and ``_fitted_rule``."""

    classes_: np.ndarray

    if TYPE_CHECKING:  # of scikit-learn, which has no types

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    def _fitted_rule(self) -> FittedRule:
        raise NotImplementedError

    def _deciding_rule(self) -> DecidingRule:
        """The rule that it predicts by: the fitted one, or the calibrated decision on its scores."""
        return self._fitted_rule()

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        The scores of a linear rule are ``X @ coef_.T + intercept_``. Those of an estimator that calibrates
        itself are logarithms of ``predict_proba``, up to a constant for each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            For two classes one number per sample, which is positive where the score of ``classes_[1]`` is the
            larger one; else one column per class. Lazy for a dask array.
        """
        return self._apply(_decisions, X)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest score, and the first of several in a tie.

        A single classifier with ``deterministic=False`` draws the label from ``predict_proba`` instead.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        array of shape (n_samples,)
            The labels. Lazy for a dask array.
        """
        return self._predicted(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The randomized rule h(y|x) of a single classifier, else calibrated probabilities.

        A single classifier gives the probabilities with which the minimax rule picks each label. They make
        the worst-case error small; they do not estimate how probable the label is. An ensemble, and a
        classifier whose radius was chosen by cross-validation, estimate how probable each class is.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities, in the order of ``classes_``. Lazy for a dask array.
        """
        return self._apply(_probabilities, X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of ``predict_proba``; a warning says how many entries are minus infinity.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The logarithms, in the order of ``classes_``. Lazy for a dask array.
        """
        return self._apply(_log_probabilities, X)

    def _predicted(self, X: Any) -> np.ndarray:
        return self._apply(_labels, X)

    def _apply(self, output: Output, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        if is_dask_array(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            rule = self._deciding_rule()
            assert not isinstance(rule, KernelRule)  # refused before
            return _lazily(rule, self.classes_, output, check_description(X))
        return answer(X, output(self._deciding_rule(), self.classes_, check_new_data(self, X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _decisions(rule: DecidingRule, classes: np.ndarray, X: DataMatrix) -> np.ndarray:
    scores = rule.scores(X)
    if len(classes) > 2:
        return np.ascontiguousarray(scores.T)
    # One row of coefficients gives the first class minus the score of the second.
    is_signed = isinstance(rule, LinearRule | KernelRule) and len(rule.coef) == 1
    return scores[1] if is_signed else scores[1] - scores[0]


def _labels(rule: DecidingRule, classes: np.ndarray, X: DataMatrix) -> np.ndarray:
    return classes[arg_max(rule.scores(X))]


def _probabilities(rule: DecidingRule, classes: np.ndarray, X: DataMatrix) -> np.ndarray:
    return np.ascontiguousarray(rule.probabilities(X).T)


def _log_probabilities(rule: DecidingRule, classes: np.ndarray, X: DataMatrix) -> np.ndarray:
    probabilities = _probabilities(rule, classes, X)
    n_zeros = int((probabilities == 0.0).sum())
    if n_zeros:
        entries = "entry is" if n_zeros == 1 else "entries are"
        warn(
            f"{n_zeros} of {probabilities.size} {entries} minus infinity, where the probability is exactly "
            "0. A minimax rule draws labels with these probabilities; they do not estimate how probable a "
            "label is. For estimates use sklearn.calibration.CalibratedClassifierCV; for finite logarithms "
            "clip predict_proba, as in np.log(np.clip(model.predict_proba(X), 1e-6, 1)).",
            UserWarning,
        )
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def predicted_labels(rule: DecidingRule, classes: np.ndarray, X: DataMatrix) -> np.ndarray:
    """Return the label that ``rule`` gives to each row of validated instances."""
    if is_dask_array(X):
        assert not isinstance(rule, KernelRule)  # refused before
        return computed(_lazily(rule, classes, _labels, X))
    return _labels(rule, classes, X)


def draw_labels(probabilities: Any, random_state: Any, classes: np.ndarray) -> Any:
    """For each row one of the classes at random. For a dask array the same ones, lazily."""
    n = probabilities.shape[0]
    if is_dask_array(probabilities) and np.isnan(n):
        raise ValueError(
            "predict with deterministic=False draws a number for each row of X, and X is a dask array with "
            "chunks of unknown size; call X = X.compute_chunk_sizes() first."
        )
    draws = check_random_state(random_state).random_sample(n)
    if not is_dask_array(probabilities):
        return _labels_at(probabilities, draws[:, None], classes)
    arrays = dask_module("dask.array")
    draws = arrays.from_array(draws[:, None], chunks=(probabilities.chunks[0], 1))
    return arrays.map_blocks(_labels_at, probabilities, draws, classes, drop_axis=1, meta=classes[:0])


def _labels_at(probabilities: FloatArray, draws: FloatArray, classes: np.ndarray) -> np.ndarray:
    """The labels at which cumulative probabilities exceed the draws."""
    # The last cumulative sum is one up to rounding, hence the minimum.
    index = (draws >= np.cumsum(probabilities, axis=1)).sum(axis=1)
    return classes[np.minimum(index, len(classes) - 1)]


def _lazily(rule: ColumnRule | CalibratedRule, classes: np.ndarray, output: Output, X: Any) -> Any:
    # Without any coefficient the first column is read, because dask needs chunks with a column.
    columns = rule.columns if len(rule.columns) else np.arange(1)
    task = _ChunkTask(rule.restricted_to(columns), classes, output, columns)
    with silenced(UserWarning):
        example = task(np.zeros((1, len(columns))))
    chosen = X[:, columns].rechunk({1: -1})
    if example.ndim == 1:
        return chosen.map_blocks(task, drop_axis=1, meta=example[:0])
    return chosen.map_blocks(task, chunks=(chosen.chunks[0], example.shape[1:]), meta=example[:0])


@dataclass(frozen=True)
class _ChunkTask:
    """Applies a rule to one chunk of rows, and refuses a chunk with NaN or infinite entries."""

    rule: ColumnRule | CalibratedRule
    classes: np.ndarray
    output: Output
    columns: IntArray

    def __call__(self, chunk: np.ndarray, block_info: Any = None) -> np.ndarray:
        place = first_not_finite(chunk)
        if place is not None:
            start = block_info[0]["array-location"][0][0] if block_info else 0
            where = f"row {place[0]} of a chunk" if np.isnan(start) else f"row {start + place[0]}"
            raise not_finite(where, self.columns[place[1]], place[2])
        return self.output(self.rule, self.classes, chunk)
