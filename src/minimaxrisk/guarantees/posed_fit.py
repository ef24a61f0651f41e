"""A fitted model and the data that it was fitted on, read once: the data checked, the problem posed.

There are two kinds of models. A classifier stores one linear rule; an ensemble (``members_``) stores several
and takes their average. Both store the same about the uncertainty set. What the set is, the parameters of a
classifier say: the model's own, or those of the ``estimator_`` that an ensemble is made of.

A model has two rules. ``"predict"`` names the class with the largest score. ``"randomized"`` draws the label
from ``predict_proba``; R* is about this one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk.problem import rule as rules
from minimaxrisk.problem.pose import PosedProblem, pose_by
from minimaxrisk.problem.rule import AverageRule, LinearRule
from minimaxrisk.samples.validation import TrainingData, check_training_data
from minimaxrisk.uncertainty.radius import RadiusRule, split_level
from minimaxrisk.uncertainty.rules import GivenRadii, Multiple, radius_rule_of

if TYPE_CHECKING:
    from minimaxrisk.guarantees.verification import Certificate


class PosedFit:
    """A fitted model with its data, so that ``verify``, ``worst_case`` and ``error_bound`` share their work.

    Parameters
    ----------
    model : MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier or MinimaxRiskClassifierCV
        A fitted classifier or ensemble. Of one that chose its radius, the model is its ``estimator_``.
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
        The instances that it was fitted on, before the ``transformer`` if there is one.
    y : array-like of shape (n_samples,)
        Their labels.
    sample_weight, X_unlabeled, groups : array-like or None, default=None
        What else ``fit`` was given.
    transformer : fitted transformer or None, default=None
        What made the features of the model from ``X``, such as a ``ClippedScaler``.

    Attributes
    ----------
    learner : estimator
        What is to be fitted anew where other samples are to give a model in the same way: the model, or what
        chose its radius.
    certificate : Certificate or None
        What ``verify`` found; None before.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from minimaxrisk import MinimaxRiskClassifier, verify
    >>> from minimaxrisk.guarantees import PosedFit
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> posed = PosedFit(MinimaxRiskClassifier().fit(X, y), X, y)
    >>> verify(posed).valid
    True
    """

    def __init__(
        self,
        model: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        X_unlabeled: Any = None,
        groups: Any = None,
        transformer: Any = None,
    ) -> None:
        self.learner = model
        model = model.estimator_ if chooses_radius(model) else model
        check_model(model)
        if X is None or y is None:
            raise ValueError("X and y must be passed: the data that the model was fitted on.")
        if transformer is not None:
            check_is_fitted(transformer)
        self.model, self.X, self.y, self.transformer = model, X, y, transformer
        self.sample_weight, self.X_unlabeled, self.groups = sample_weight, X_unlabeled, groups
        self.certificate: Certificate | None = None

    @cached_property
    def seen(self) -> Any:
        """The instances as the model saw them."""
        return self.X if self.transformer is None else self.transformer.transform(self.X)

    @cached_property
    def data(self) -> TrainingData:
        """The data, checked, with the class weights of the model."""
        return training_data_of(
            self.model, self.seen, self.y, self.sample_weight, self.X_unlabeled, groups=self.groups
        )

    @cached_property
    def posed_anew(self) -> PosedProblem:
        """The problem that a fit poses: radii by the rule of the parameters, with the same draws."""
        refuse_ball(self.model)
        parameters = parameters_of(self.model)
        rule = radius_rule_of(parameters, self.model.radius_seed_)
        return pose_by(parameters, self.data, rule)

    @cached_property
    def posed(self) -> PosedProblem:
        """The uncertainty set of the model: the one posed anew if that was done and has the same factor."""
        done = self.__dict__.get("posed_anew")
        if done is not None and done.radii.factor == self.model.radius_:
            return done
        refuse_ball(self.model)
        return pose_as_fitted(self.model, self.data)


def as_posed_fit(model: Any, X: Any = None, y: Any = None, **more: Any) -> PosedFit:
    """From a model and its data, or as it is where one was made before."""
    if not isinstance(model, PosedFit):
        return PosedFit(model, X, y, **more)
    given = [name for name, value in {"X": X, "y": y, **more}.items() if value is not None]
    if given:
        raise ValueError(f"a PosedFit holds its data already; leave out {', '.join(given)}.")
    return model


# The rule of either kind of model: they have ``probabilities``, ``scores`` and ``use_of_components``.
FittedRule: TypeAlias = LinearRule | AverageRule


def is_ensemble(model: Any) -> bool:
    return hasattr(model, "members_")


def is_ball(model: Any) -> bool:
    """Whether its uncertainty set is a ball, as that of ``MinimaxRiskKernelClassifier``."""
    return hasattr(model, "ball_radius_")


# By name and not by what they say of themselves: a transformer may look at labels that it does not require,
# and so may a subclass of one that does not.
LABEL_FREE = {
    "minimaxrisk": ("ClippedScaler",),
    "sklearn": (
        *("Binarizer", "FunctionTransformer", "MaxAbsScaler", "MinMaxScaler", "Normalizer", "PCA"),
        *("PowerTransformer", "QuantileTransformer", "RBFSampler", "RobustScaler", "SimpleImputer"),
        *("StandardScaler", "TruncatedSVD", "VarianceThreshold"),
    ),
}


def is_label_free(transformer: Any) -> bool:
    """Whether it is sure to make the same features for every labelling; not if it draws without a seed."""
    if transformer is None or isinstance(transformer, str):  # a step that was left out
        return True
    if isinstance(transformer, Pipeline):
        return all(is_label_free(step) for _, step in transformer.steps)
    kind = type(transformer)
    known = LABEL_FREE.get(kind.__module__.partition(".")[0], ())
    return kind.__name__ in known and getattr(transformer, "random_state", 0) is not None


def refuse_ball(model: Any) -> None:
    if is_ball(model):
        raise ValueError(
            f"this is about a set with an interval for each column, and that of {type(model).__name__} is a "
            "ball; verify(model, X, y) recomputes its bounds, error_bound(model, X, y) bounds its error."
        )


def chooses_radius(model: Any) -> bool:
    """Whether it is a fitted ``MinimaxRiskClassifierCV``, whose ``estimator_`` is the model."""
    return hasattr(model, "estimator_") and (
        hasattr(model, "cv_results_") or hasattr(model, "noise_results_")
    )


def parameters_of(model: Any) -> Any:
    """The classifier whose parameters say what the uncertainty set is."""
    return model.estimator_ if is_ensemble(model) else model


def coverage_of(model: Any) -> float | None:
    """The probability that goes with the radius rule."""
    parameters = parameters_of(model)
    return float(parameters.confidence) if isinstance(parameters.radius, str) else None


def is_certified(model: Any) -> bool:
    """Whether it was fitted by this library, and has what proves its bounds."""
    model = model.estimator_ if chooses_radius(model) else model
    return hasattr(model, "worst_case_distribution_")


def check_model(model: Any) -> None:
    check_is_fitted(model)
    if is_ensemble(model) and not hasattr(model, "worst_case_distribution_"):
        raise ValueError("the ensemble was fitted with certify=False: fit it with certify=True for a bound.")
    if not hasattr(model, "worst_case_distribution_"):
        raise ValueError(
            f"model must be a fitted MinimaxRiskClassifier or an ensemble of them, got "
            f"{type(model).__name__}; for a pipeline pass its last step and the transformed X, for a search "
            "its best_estimator_, for a selector its estimator_."
        )


def check_classes(model: Any, data: TrainingData) -> None:
    if not np.array_equal(data.classes, model.classes_):
        raise ValueError(
            f"y must hold the classes of the model, {model.classes_.tolist()}, got {data.classes.tolist()}."
        )


def check_rule(rule: str) -> None:
    if rule not in ("predict", "randomized"):
        raise ValueError(f"rule must be 'predict' or 'randomized', got {rule!r}.")


def training_data_of(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    X_unlabeled: Any = None,
    *,
    groups: Any = None,
    with_class_weight: bool = True,
) -> TrainingData:
    """The data, checked against the columns and with the class weights of a fitted model."""
    return check_training_data(
        model,
        X,
        y,
        sample_weight=sample_weight,
        class_weight=parameters_of(model).class_weight if with_class_weight else None,
        weight_kind=parameters_of(model).weight_kind,
        X_unlabeled=X_unlabeled,
        groups=groups,
        reset=False,
    )


def pose_as_fitted(model: Any, data: TrainingData) -> PosedProblem:
    """The uncertainty set of the data by the factor that the fit found, without looking for it again."""
    parameters = parameters_of(model)
    rule: RadiusRule
    if model.radius_ is None:
        rule = GivenRadii(model.lambda_, parameters.standardize)
    else:
        intercept_level = None
        if isinstance(parameters.radius, str):
            _, intercept_level = split_level(parameters.confidence, has_intercept=parameters.fit_intercept)
        rule = Multiple(model.radius_, intercept_level=intercept_level)
    return pose_by(parameters, data, rule, coding=model.coding_)


def pose_with(model: Any, data: TrainingData, rule: RadiusRule) -> PosedProblem:
    """An uncertainty set on the features of the model with other radii, and a free marginal."""
    return pose_by(parameters_of(model), data, rule, coding=model.coding_, marginal="free")


def linear_rule_of(model: Any) -> LinearRule:
    threshold = None if model.marginal == "empirical" else model.threshold_
    return LinearRule.from_full(model.coef_, model.intercept_, threshold)


def fitted_rule_of(model: Any) -> FittedRule:
    return average_rule_of(model) if is_ensemble(model) else linear_rule_of(model)


def columns_read_by(model: Any) -> IntArray:
    """The columns that predictions depend on."""
    if chooses_radius(model):
        model = model.estimator_
    if is_ball(model):
        return np.arange(model.n_features_in_)
    return fitted_rule_of(model).columns


def average_rule_of(model: Any) -> AverageRule:
    return AverageRule(model.members_, model.ball_, model.ball_weight_)


def rule_probabilities(fitted: FittedRule, X: DataMatrix, rule: str) -> FloatArray:
    """h(y|x) of the rule by name (K x n)."""
    if rule == "randomized":
        return fitted.probabilities(X)
    return rules.arg_max_probabilities(fitted.scores(X))
