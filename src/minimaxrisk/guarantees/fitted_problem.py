"""A fitted model with the data that it was fitted on: the data are checked and the problem is posed once.

A model has two rules. ``"predict"`` predicts the class with the largest score. ``"randomized"`` draws the
label from ``predict_proba``; R* is about this one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arrays import DataMatrix, FloatArray
from minimaxrisk._utils.stored_tables import rows_to_judge
from minimaxrisk.guarantees.certified import (
    BOX_OF_MEANS,
    PROOF,
    Capability,
    ColumnRule,
    Estimator,
    FittedRule,
    certified,
    check_supported,
    fitted_for,
    unwrapped,
)
from minimaxrisk.problem import rule as rules
from minimaxrisk.problem.pose import PosedBox, pose_by
from minimaxrisk.problem.sets import Posed
from minimaxrisk.samples.validation import TrainingData, check_training_data
from minimaxrisk.uncertainty.radius import RadiusRule
from minimaxrisk.uncertainty.rules import GivenRadii, Multiple

if TYPE_CHECKING:
    from minimaxrisk.guarantees.verification import Certificate


class FittedProblem:
    """A fitted model with its data, so that ``verify`` and ``worst_case`` share their work.

    Parameters
    ----------
    model : estimator
        A fitted classifier of this library that has a certificate, alone, at the end of a pipeline or in a
        search. Of one that chose its radius, the model is its ``estimator_``.
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
        The instances that it was fitted on, before the ``transformer`` if there is one.
    y : array-like of shape (n_samples,)
        Their labels.
    sample_weight, X_unlabeled, groups : array-like or None, default=None
        What else ``fit`` was given.
    transformer : fitted transformer or None, default=None
        What made the features of the model from ``X``, such as a ``ClippedScaler``; None for a pipeline takes
        its own steps.
    X_transformed : {array-like, sparse matrix} or None, default=None
        What the transformer made of ``X``; None has it made where it is needed.
    learner : estimator or None, default=None
        What is to be fitted anew where other samples are to give a model in the same way; None for the model
        as it was passed, which may have chosen its radius.

    Attributes
    ----------
    certificate : Certificate or None
        What ``verify`` found; None before.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from minimaxrisk import MinimaxRiskClassifier, verify
    >>> from minimaxrisk.guarantees import FittedProblem
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> posed = FittedProblem(MinimaxRiskClassifier().fit(X, y), X, y)
    >>> verify(posed).valid
    True
    """

    def __init__(
        self,
        model: Estimator,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        X_unlabeled: Any = None,
        groups: Any = None,
        transformer: Any = None,
        X_transformed: Any = None,
        learner: Any = None,
    ) -> None:
        model, before = unwrapped(model)
        if before is not None and transformer is not None:
            raise ValueError("transformer must be None for a pipeline, which has steps of its own.")
        self.learner: Any = model if learner is None else learner
        transformer = before if transformer is None else transformer
        self.model: Any = certified(model)
        if X is None or y is None:
            raise ValueError("X and y must be passed: the data that the model was fitted on.")
        if transformer is not None:
            check_is_fitted(transformer)
        self.X, self.y, self.transformer = X, y, transformer
        self.sample_weight, self.X_unlabeled, self.groups = sample_weight, X_unlabeled, groups
        self._made = X_transformed
        self.certificate: Certificate | None = None

    @cached_property
    def X_transformed(self) -> Any:  # noqa: N802  # X is what scikit-learn calls it
        """The instances as the model saw them."""
        if self._made is not None:
            return self._made
        return self.X if self.transformer is None else self.transformer.transform(self.X)

    @cached_property
    def data(self) -> TrainingData:
        """The data, checked against the columns and with the class weights of the model."""
        return data_for_fit(
            self.model,
            self.model._parameters_of_set(),
            self.X_transformed,
            self.y,
            sample_weight=self.sample_weight,
            X_unlabeled=self.X_unlabeled,
            groups=self.groups,
            reset=False,
        )

    @cached_property
    def posed_by_parameters(self) -> Posed:
        """The problem that a fit poses: radii by the rule of the parameters, with the same draws."""
        kind, parameters = self.model._set_kind, self.model._parameters_of_set()
        return kind.pose(parameters, self.data, kind.radius_rule(parameters, self.model.radius_seed_))

    @cached_property
    def posed_by_stored_radius(self) -> PosedBox:
        """The box with the radii of the fit, without looking for them again."""
        check_supported(self.model, "worst_case", BOX_OF_MEANS)
        done, model = vars(self).get("posed_by_parameters"), self.model
        if done is not None and done.radii.factor == model.radius_:
            return done
        parameters = model._parameters_of_set()
        rule: RadiusRule = GivenRadii(model.lambda_, parameters.standardize)
        if not isinstance(parameters.radius, str) and model.radius_ is not None:
            rule = Multiple(model.radius_, moderation=parameters.moderation)
        return pose_by(parameters, self.data, rule)

    def _has_posed(self, data: TrainingData) -> bool:
        """Whether other data, of the same rows, have the same weights and units, and the problem is posed."""
        own = self.data
        return (
            "posed_by_parameters" in vars(self)
            and own.n_unlabeled == 0
            and np.array_equal(own.weights, data.weights)
            and (own.counts is None, own.groups is None) == (data.counts is None, data.groups is None)
        )


def as_fitted_problem(
    model: Estimator | FittedProblem,
    X: Any = None,
    y: Any = None,
    *,
    function: str = "verify",
    needed: tuple[Capability, ...] = (),
    **more: Any,
) -> FittedProblem:
    """Return the problem of a model with a certificate and its data, or the one that was passed."""
    if not isinstance(model, FittedProblem):
        fitted_for(model, function, PROOF, *needed)
        return FittedProblem(model, X, y, **more)
    given = [name for name, value in {"X": X, "y": y, **more}.items() if value is not None]
    if given:
        raise ValueError(f"a FittedProblem holds its data already; leave out {', '.join(given)}.")
    check_supported(model.model, function, *needed)
    return model


# By name: a transformer may use labels that it does not require, and so may a subclass of one that does not.
LABEL_FREE = {
    "minimaxrisk": ("ClippedScaler",),
    "sklearn": (
        *("Binarizer", "FunctionTransformer", "MaxAbsScaler", "MinMaxScaler", "Normalizer", "PCA"),
        *("PowerTransformer", "QuantileTransformer", "RBFSampler", "RobustScaler", "SimpleImputer"),
        *("StandardScaler", "TruncatedSVD", "VarianceThreshold"),
    ),
}


def is_label_free(transformer: Any) -> bool:
    """Return whether it is sure to make the same features for every labelling; not if it draws unseeded."""
    if transformer is None or isinstance(transformer, str):  # a step that was left out
        return True
    if isinstance(transformer, Pipeline):
        return all(is_label_free(step) for _, step in transformer.steps)
    kind = type(transformer)
    is_known = kind.__name__ in LABEL_FREE.get(kind.__module__.partition(".")[0], ())
    return is_known and getattr(transformer, "random_state", 0) is not None


def coverage_of(parameters: Any) -> float | None:
    """The probability that goes with the radius rule of these parameters."""
    return float(parameters.confidence) if isinstance(parameters.radius, str) else None


def weight_kind_of(parameters: Any) -> str:
    """What weights mean. Unless the caller says it, they enlarge n only where no probability is stated.

    Whole numbers are counts under a plain number as radius, where a weight of 2 is the row twice. Under a
    named rule they are importance: n is never larger than the number of rows.
    """
    is_guess = parameters.weight_kind == "auto" and isinstance(parameters.radius, str)
    return "importance" if is_guess else str(parameters.weight_kind)


def data_for_fit(estimator: Any, parameters: Any, X: Any, y: Any, **more: Any) -> TrainingData:
    """The data, checked for an estimator, with class weights and the kind of weights by the parameters."""
    weighting = {"class_weight": parameters.class_weight, "weight_kind": weight_kind_of(parameters)}
    return check_training_data(estimator, X, y, **{**weighting, **more})


def check_classes(model: Any, classes: np.ndarray) -> None:
    """Refuse data with other classes than those of a fitted model."""
    if not np.array_equal(classes, model.classes_):
        raise ValueError(
            f"y must hold the classes of the model, {model.classes_.tolist()}, got {classes.tolist()}."
        )


def rule_probabilities(fitted: FittedRule, X: DataMatrix, rule: str) -> FloatArray:
    """Return h(y|x) of the rule by name (K x n)."""
    if rule == "randomized":
        return fitted.probabilities(X)
    return rules.arg_max_probabilities(fitted.scores(X))


def loss_of_rule(fitted: ColumnRule, rule: str, data: TrainingData, posed: PosedBox) -> FloatArray:
    """Return what the rule loses at each instance of the set with each label (K x n)."""
    # The scores that predict sees, not those of the inner scale: rounding decides ties.
    parts = rows_to_judge(data.X, posed.instances.rows, len(fitted.columns))
    return 1.0 - np.concatenate([rule_probabilities(fitted, part, rule) for part in parts], axis=1)
