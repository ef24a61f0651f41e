"""Whether what a model file holds is a model: types and lengths of all attributes that the program uses."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer

from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.classifier_cv import MinimaxRiskClassifierCV
from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.estimators.ensemble import MinimaxRiskEnsembleClassifier
from minimaxrisk.estimators.kernel_classifier import MinimaxRiskKernelClassifier
from minimaxrisk.estimators.prediction_sets import decision_scores
from minimaxrisk.guarantees.certified import CALIBRATED, can, columns_read_by
from minimaxrisk.guarantees.left_out import SET_CONFIDENCE
from minimaxrisk.problem.rule import FourierRule, LinearRule

Classifier = (
    MinimaxRiskClassifier
    | MinimaxRiskClassifierCV
    | MinimaxRiskEnsembleClassifier
    | MinimaxRiskKernelClassifier
)
# Types of numbers, and lengths: of columns (d), of columns with the intercept (i), of rows of coefficients
# (b), of classes (k), of samples (n), of members (m); None is any length.
FLOATS, WHOLE, FLAGS = "f", "iu", "b"
FINITE = "f "  # floats that are numbers
ARRAYS: Mapping[str, tuple[str, tuple[str | None, ...]]] = {
    "coef_": (FINITE, ("b", "d")),
    "intercept_": (FINITE, ("b",)),
    "tau_": (FLOATS, ("b", "i")),
    "lambda_": (FLOATS, ("b", "i")),
    "feature_importances_": (FLOATS, ("d",)),
    "selection_frequencies_": (FLOATS, ("d",)),
    "selected_features_": (WHOLE, (None,)),
    "worst_case_distribution_": (FLOATS, (None, "k")),
    "oob_proba_": (FLOATS, ("n", "k")),
    "in_bag_": (FLAGS, ("m", "n")),
    "dual_coef_": (FINITE, ("b", None)),
    "rows_": (WHOLE, (None,)),
}
NUMBERS = (
    *("worst_case_error_", "worst_case_error_lower_", "optimality_gap_", "threshold_", "ball_radius_"),
    *("oob_error_", "ball_weight_", "n_features_selected_", "n_iter_", "radius_seed_"),
)


def check_model(saved: Any) -> None:
    """Refuse a ``SavedModel`` that cannot be what ``save_model`` wrote.

    Raises
    ------
    TypeError, ValueError, LookupError, AttributeError
        If a part is missing, or of another type or length.
    """
    _check_texts(saved)
    classifier = saved.classifier
    if type(classifier) not in Classifier.__args__:
        raise TypeError(f"the classifier is {_kind(classifier)}")
    final = classifier._final()
    if isinstance(classifier, MinimaxRiskClassifierCV) and type(final) is not MinimaxRiskClassifier:
        raise TypeError(f"the chosen classifier is {_kind(final)}")
    n_columns = len(saved.feature_names)
    if {type(classifier.n_features_in_), type(final.n_features_in_)} != {int}:
        raise TypeError("the number of columns is not a whole number")
    if {classifier.n_features_in_, final.n_features_in_} != {n_columns}:
        raise ValueError(f"feature_names has {n_columns} names for {classifier.n_features_in_} columns")
    classifier._validate_params()
    _check_attributes(final, n_columns)
    for rule in _rules_of(final):
        _check_rule(rule, n_columns)
    if can(classifier, CALIBRATED):
        check_decision(classifier.decision_, len(classifier._deciding_rule().rules), len(classifier.classes_))
    _check_preparation(saved, n_columns)
    _check_use(saved, n_columns)


def _kind(value: object) -> str:
    return f"of type {type(value).__name__}"


def _check_texts(saved: Any) -> None:
    for name in ("target", "fingerprint", "unlabelled", "command", "groups", "batch"):
        value = getattr(saved, name)
        if not (isinstance(value, str) or (value is None and name in ("groups", "batch"))):
            raise TypeError(f"{name} is {_kind(value)}")
    for name in ("reading", "versions"):
        texts = getattr(saved, name)
        if not isinstance(texts, dict) or not all(
            isinstance(text, str) for pair in texts.items() for text in pair
        ):
            raise TypeError(f"{name} is not a mapping of texts")
    if not isinstance(saved.is_detached, bool):
        raise TypeError(f"is_detached is {_kind(saved.is_detached)}")
    names = saved.feature_names
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise TypeError("feature_names are not different texts")


def _check_attributes(model: Any, n_columns: int) -> None:
    """Check the numbers and arrays of a fitted classifier."""
    classes = model.classes_
    if (
        not isinstance(classes, np.ndarray)
        or classes.ndim != 1
        or len(np.unique(classes)) < max(2, len(classes))
    ):
        raise TypeError("classes_ are not two or more labels")
    lengths = {"d": n_columns, "k": len(classes), "b": 1 if len(classes) == 2 else len(classes)}
    if model.coding_ == "one-hot":
        lengths["b"] = len(classes)
    lengths["i"] = n_columns + bool(model._parameters_of_set().fit_intercept)
    for name, (kind, shape) in ARRAYS.items():
        value = vars(model).get(name)
        if name not in vars(model):
            continue
        check_array(name, value, kind, tuple(lengths.get(length or "") for length in shape))
        lengths |= {
            length: size for length, size in zip(shape, value.shape, strict=True) if length in ("m", "n")
        }
    history = vars(model).get("history_", [])
    if not isinstance(history, list) or not all(isinstance(record, dict) for record in history):
        raise TypeError("history_ is not a list of records")
    for name in NUMBERS:
        value = vars(model).get(name, 0.0)
        if not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise TypeError(f"{name} is not a number")
    columns = getattr(model, "selected_features_", np.empty(0, dtype=np.intp))
    _check_columns("selected_features_", columns, n_columns)


def check_array(name: str, value: Any, kinds: str, shape: tuple[int | None, ...]) -> None:
    """Refuse what is not an array of these kinds and lengths."""
    if type(value) is not np.ndarray or value.dtype.kind not in kinds:
        raise TypeError(f"{name} is not an array of the right kind")
    if kinds == FINITE and not np.isfinite(value).all():
        raise ValueError(f"{name} holds values that are not numbers")
    fits = value.ndim == len(shape) and all(
        length in (None, size) for size, length in zip(value.shape, shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{name} has the shape {value.shape}")


def _check_columns(name: str, columns: np.ndarray, n_columns: int) -> None:
    if len(columns) and not (columns[0] >= 0 and columns[-1] < n_columns and (np.diff(columns) > 0).all()):
        raise ValueError(f"{name} are not columns of the table")


def _rules_of(model: Any) -> Iterator[Any]:
    """The rules that a classifier holds besides its own coefficients."""
    for name in ("stages_", "members_"):
        rules = vars(model).get(name, [])
        if not isinstance(rules, list):
            raise TypeError(f"{name} is {_kind(rules)}")
        yield from rules
    for name in ("ball_", "rbf_ball_", "worst_case_proof_"):
        if vars(model).get(name) is not None:
            yield getattr(model, name)


def _check_rule(rule: Any, n_columns: int) -> None:
    if type(rule) is FourierRule:
        _check_rule(rule.phases, n_columns)
        n_rows = len(rule.intercept)
        check_array("the coefficients of a ball", rule.coef, FINITE, (n_rows, 2 * len(rule.phases.coef)))
        check_array("the intercept of a ball", rule.intercept, FINITE, (n_rows,))
        return
    if type(rule) is not LinearRule or rule.n_features != n_columns:
        raise TypeError("a decision rule is not one of these columns")
    check_array("the columns of a decision rule", rule.columns, WHOLE, (None,))
    _check_columns("the columns of a decision rule", rule.columns, n_columns)
    check_array("the coefficients of a decision rule", rule.coef, FINITE, (None, len(rule.columns)))
    check_array("the intercept of a decision rule", rule.intercept, FINITE, (len(rule.coef),))
    if not isinstance(rule.threshold, int | float | np.number | None):
        raise TypeError("the threshold of a decision rule is not a number")


def _check_preparation(saved: Any, n_columns: int) -> None:
    """Check the steps before the classifier, and what recognises samples."""
    imputer, scaler, hashes = saved.imputer, saved.scaler, saved.sample_hashes
    if imputer is not None:
        if type(imputer) is not SimpleImputer:
            raise TypeError(f"the imputer is {_kind(imputer)}")
        imputer._validate_params()
        check_array("statistics_ of the imputer", imputer.statistics_, FLOATS, (n_columns,))
    if scaler is not None:
        if type(scaler) is not ClippedScaler:
            raise TypeError(f"the scaler is {_kind(scaler)}")
        scaler._validate_params()
        for name in ("centre_", "scale_"):
            check_array(f"{name} of the scaler", getattr(scaler, name), FLOATS, (n_columns,))
    scale = saved.training_scale
    if scale is not None:
        if type(scale.n_features) is not int or scale.n_features != n_columns:
            raise ValueError("training_scale is about another number of columns")
        for columns in (scale.columns, scale.compared):
            check_array("columns of training_scale", columns, WHOLE, (None,))
            _check_columns("columns of training_scale", columns, n_columns)
        for means, columns in (
            (scale.means, scale.columns),
            (scale.spread, scale.columns),
            (scale.compared_means, scale.compared),
        ):
            check_array("means of training_scale", means, FLOATS, (len(columns),))
    if hashes is not None:
        check_array("sample_hashes", hashes, "u", (None,))
    if saved.calibration is not None:
        _check_calibration(saved.calibration, len(saved.classifier.classes_))


def _check_calibration(calibration: Any, n_classes: int) -> None:
    """Check the calibrated decision and the margins of validation folds."""
    check_decision(calibration, 1, n_classes)
    n = np.size(calibration.own)
    check_array("classes of the calibration", calibration.own, WHOLE, (n,))
    if n and not (calibration.own.min() >= 0 and calibration.own.max() < n_classes):
        raise ValueError("the calibration is about other classes")
    for name in ("own_margins", "weights"):
        check_array(f"{name} of the calibration", getattr(calibration, name), FINITE, (n,))
    step = calibration.step
    if not isinstance(step, int | float | np.floating) or not 0.0 <= step < np.inf:
        raise TypeError("step of the calibration is not a number of at least 0")


def check_decision(decision: Any, n_models: int, n_classes: int) -> None:
    """Check a calibrated decision on the scores of some models."""
    check_array("offsets of the decision", decision.offsets, FINITE, (n_classes,))
    for name in ("slopes", "limits"):
        values = getattr(decision, name)
        check_array(f"{name} of the decision", values, FINITE, (n_models,))
        if (values < 0.0).any():
            raise ValueError(f"{name} of the decision are below 0")


def _check_use(saved: Any, n_columns: int) -> None:
    """Predict one sample, since what cannot be predicted with is not a model."""
    X = np.zeros((1, n_columns))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        columns_read_by(saved.classifier)
        prepared = saved.prepared(X)
        saved.classifier.predict(prepared)
        probabilities = saved.classifier.predict_proba(prepared)
        if saved.training_scale is not None:
            saved.training_scale.compare(X)
        if saved.calibration is not None:
            scores = decision_scores(saved.classifier, prepared)
            decided = saved.calibration.probabilities(scores)
            check_array("calibrated probabilities", decided, FINITE, probabilities.shape)
            saved.calibration.sets(scores, SET_CONFIDENCE)
    if (
        probabilities.shape != (1, len(saved.classifier.classes_))
        or not abs(probabilities.sum() - 1.0) < 1e-6
    ):
        raise ValueError("the probabilities of a sample do not add up to one")
