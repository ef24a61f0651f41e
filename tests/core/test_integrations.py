"""The library among the tools of scikit-learn, on frames: they run, learn, and say at most one thing."""

from __future__ import annotations

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import RFE, SelectFromModel, SequentialFeatureSelector
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    cross_val_predict,
    cross_validate,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.semi_supervised import SelfTrainingClassifier

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    MinimaxRiskSelector,
    PredictionSets,
)

NAMES = [f"gene {j}" for j in range(8)]
N = 60
LABELS = np.array(["ill", "well"])[np.arange(N) % 2]
OWN = MinimaxRiskClassifier()
# Each is fitted to the frame and the labels, and predicts the frame.
MODELS = {
    "union": make_pipeline(FeatureUnion([("all", ClippedScaler()), ("some", MinimaxRiskSelector())]), OWN),
    "grid in processes": GridSearchCV(OWN, {"radius": [0.5, 1.0]}, cv=3, n_jobs=2),
    "calibrated": CalibratedClassifierCV(OWN, cv=3),
    "threshold": FixedThresholdClassifier(OWN, threshold=0.4, pos_label="well"),
    "voting": VotingClassifier([("own", OWN), ("other", LogisticRegression())], voting="soft"),
    "stacking": StackingClassifier(
        [("own", OWN), ("forest", RandomForestClassifier(5, random_state=0))], cv=3
    ),
    "bagging": BaggingClassifier(OWN, n_estimators=3, random_state=0),
    "boosting": AdaBoostClassifier(
        MinimaxRiskClassifier(weight_kind="importance"), n_estimators=2, random_state=0
    ),
    "against the rest": OneVsRestClassifier(OWN),
    "one against one": OneVsOneClassifier(OWN),
    "chosen by model": make_pipeline(SelectFromModel(OWN, max_features=4), OWN),
    "eliminated": RFE(OWN, n_features_to_select=3),
    "forward": make_pipeline(SequentialFeatureSelector(OWN, n_features_to_select=1, cv=2), OWN),
    "sets": PredictionSets(OWN, cv=3, random_state=0),
    "ensemble": MinimaxRiskEnsembleClassifier(n_estimators=12, random_state=0),
    "chosen radius": MinimaxRiskClassifierCV(radii=[0.5, 1.0], cv=3),
    "kernel": make_pipeline(ClippedScaler(), MinimaxRiskKernelClassifier("rbf")),
}


def values():
    X = np.random.default_rng(0).normal(size=(N, len(NAMES)))
    X[:, :2] += 2.0 * (np.arange(N) % 2)[:, None]
    return X


FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas, nullable": lambda X: pd.DataFrame(X, columns=NAMES).astype("Float64"),
    "polars": lambda X: polars.DataFrame(X, schema=NAMES),
}


def by_names(frame):
    """Numbers by their names, and a text beside them."""
    kinds = ["a", "b", "a"] * (N // 3)
    is_pandas = isinstance(frame, pd.DataFrame)
    mixed = frame.assign(kind=kinds) if is_pandas else frame.with_columns(polars.Series("kind", kinds))
    chosen = ColumnTransformer([("numbers", ClippedScaler(), NAMES), ("texts", OneHotEncoder(), ["kind"])])
    return make_pipeline(chosen, OWN).fit(mixed, LABELS).predict(mixed)


def in_threads(frame):
    with ThreadPoolExecutor(4) as pool:
        fitted = pool.map(lambda _: MinimaxRiskClassifier().fit(frame, LABELS).predict(frame), range(8))
    first, *others = fitted
    assert all(np.array_equal(each, first) for each in others)
    return first


def with_output_frame(library, frame):
    steps = make_pipeline(ClippedScaler(), MinimaxRiskSelector(max_features=2), MinimaxRiskClassifier())
    model = steps.set_output(transform=library).fit(frame, LABELS)
    chosen = model[:-1].transform(frame)
    assert type(chosen).__module__.startswith(library)
    assert list(model[-1].feature_names_in_) == list(chosen.columns) == NAMES[:2]
    return model.predict(frame)


def inspected(frame):
    model = MinimaxRiskClassifier().fit(frame, LABELS)
    importance = permutation_importance(model, frame, LABELS, n_repeats=2, random_state=0).importances_mean
    assert set(np.argsort(-importance)[:2]) == {0, 1}
    found = partial_dependence(model, frame, [NAMES[0]], grid_resolution=5)["average"]
    assert np.all(np.diff(found[0]) >= 0.0)
    return model.predict(frame)


def routed(frame):
    with config_context(enable_metadata_routing=True):
        own = MinimaxRiskClassifier().set_fit_request(sample_weight=True, groups=True)
        model = make_pipeline(ClippedScaler(), own)
        model.fit(frame, LABELS, sample_weight=np.ones(N), groups=np.arange(N) // 2 * 2 + np.arange(N) % 2)
    return model.predict(frame)


def half_labelled(frame):
    codes = np.where(np.arange(N) < 40, np.arange(N) % 2, -1)
    found = SelfTrainingClassifier(OWN, threshold=0.9, max_iter=2).fit(frame, codes).predict(frame)
    return np.array(["ill", "well"])[found]


def validated(frame):
    options = {"param_name": "radius", "param_range": [0.5, 1.0], "cv": 3}
    assert validation_curve(OWN, frame, LABELS, **options)[0].shape == (2, 3)
    found = cross_validate(OWN, frame, LABELS, cv=3, scoring="roc_auc")
    assert found["test_score"].min() > 0.8
    return cross_val_predict(OWN, frame, LABELS, cv=3)


def fitted(name):
    return lambda frame: MODELS[name].fit(frame, LABELS).predict(frame)


INTEGRATIONS = {
    **{name: fitted(name) for name in MODELS},
    "names": by_names,
    "validated": validated,
    "two outputs": lambda frame: (
        MultiOutputClassifier(OWN).fit(frame, np.column_stack([LABELS] * 2)).predict(frame)[:, 0]
    ),
    "half labelled": half_labelled,
    "pickle": lambda frame: pickle.loads(pickle.dumps(OWN.fit(frame, LABELS))).predict(frame),
    "threads": in_threads,
    "pandas out": lambda frame: with_output_frame("pandas", frame),
    "polars out": lambda frame: with_output_frame("polars", frame),
    "inspected": inspected,
    "routing": routed,
}
# Where scikit-learn itself changes columns of pandas alone.
PANDAS_ALONE = {"inspected"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name in INTEGRATIONS
        for kind in FRAMES
        if kind == "pandas" or name not in PANDAS_ALONE
    ],
)
def test_tools_of_scikit_learn(name, kind):
    with warnings.catch_warnings(record=True) as told:
        warnings.resetwarnings()
        warnings.simplefilter("ignore", DeprecationWarning)
        predicted = INTEGRATIONS[name](FRAMES[kind](values()))
    assert balanced_accuracy_score(LABELS, np.asarray(predicted)) > 0.8
    assert len(told) <= 1, [str(each.message) for each in told]
    assert all(each.filename == __file__ for each in told)


def test_a_table_of_pyarrow_alone():
    table = pyarrow.table(dict(zip(NAMES, values().T, strict=True)))
    model = MinimaxRiskClassifier().fit(table, pyarrow.array(LABELS.tolist()))
    assert list(model.feature_names_in_) == NAMES
    assert np.array_equal(
        model.predict(table), MinimaxRiskClassifier().fit(values(), LABELS).predict(values())
    )
