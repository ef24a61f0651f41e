"""The library among the tools of scikit-learn, on frames: they run, learn, and say at most one thing."""

from __future__ import annotations

import io
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from sklearn import config_context
from sklearn.base import clone
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
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_validate,
    learning_curve,
    train_test_split,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
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


def values():
    X = np.random.default_rng(0).normal(size=(N, len(NAMES)))
    X[:, :2] += 2.0 * (np.arange(N) % 2)[:, None]
    return X


FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas, nullable": lambda X: pd.DataFrame(X, columns=NAMES).astype("Float64"),
    "polars": lambda X: polars.DataFrame(X, schema=NAMES),
}


def classifier(**parameters):
    return MinimaxRiskClassifier(**parameters)


def by_names(frame):
    """Numbers by their names, and a text beside them."""
    kinds = ["a", "b", "a"] * (N // 3)
    mixed = frame.assign(kind=kinds) if isinstance(frame, pd.DataFrame) else _with_texts(frame, kinds)
    chosen = ColumnTransformer([("numbers", ClippedScaler(), NAMES), ("texts", OneHotEncoder(), ["kind"])])
    return make_pipeline(chosen, classifier()).fit(mixed, LABELS).predict(mixed)


def _with_texts(frame, kinds):
    return frame.with_columns(polars.Series("kind", kinds))


def searched(search, frame):
    found = search.fit(frame, LABELS)
    assert list(found.best_estimator_.feature_names_in_) == NAMES
    return found.predict(frame)


def reloaded(frame, store):
    model = make_pipeline(ClippedScaler(), classifier()).fit(frame, LABELS)
    return store(model).predict(frame)


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def in_threads(frame):
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: classifier().fit(frame, LABELS).predict(frame), range(8)))
    assert all(np.array_equal(each, found[0]) for each in found)
    return found[0]


def with_output_frame(library, frame):
    steps = make_pipeline(ClippedScaler(), MinimaxRiskSelector(max_features=2), classifier())
    model = steps.set_output(transform=library).fit(frame, LABELS)
    chosen = model[:-1].transform(frame)
    assert type(chosen).__module__.startswith(library)
    assert list(model[-1].feature_names_in_) == list(chosen.columns) == NAMES[:2]
    return model.predict(frame)


def important(frame):
    model = classifier().fit(frame, LABELS)
    found = permutation_importance(model, frame, LABELS, n_repeats=2, random_state=0)
    assert set(np.argsort(-found.importances_mean)[:2]) == {0, 1}
    return model.predict(frame)


def routed(frame):
    with config_context(enable_metadata_routing=True):
        own = classifier().set_fit_request(sample_weight=True, groups=True)
        model = make_pipeline(ClippedScaler(), own)
        model.fit(frame, LABELS, sample_weight=np.ones(N), groups=np.arange(N) // 2 * 2 + np.arange(N) % 2)
    return model.predict(frame)


def several_outputs(frame):
    both = np.column_stack([LABELS, LABELS[::-1]])
    return MultiOutputClassifier(classifier()).fit(frame, both).predict(frame)[:, 0]


def chained(frame):
    is_well = (np.column_stack([LABELS, LABELS]) == "well").astype(int)
    return np.array(["ill", "well"])[
        ClassifierChain(classifier()).fit(frame, is_well).predict(frame)[:, 0].astype(int)
    ]


def half_labelled(frame):
    codes = np.where(np.arange(N) < 40, np.arange(N) % 2, -1)
    found = SelfTrainingClassifier(classifier(), threshold=0.9, max_iter=2).fit(frame, codes).predict(frame)
    return np.array(["ill", "well"])[found]


def curves(frame):
    sizes, train, test = learning_curve(classifier(), frame, LABELS, cv=3, train_sizes=[0.5, 1.0])
    assert train.shape == test.shape == (2, 3) == (len(sizes), 3)
    scores, _ = validation_curve(
        classifier(), frame, LABELS, param_name="radius", param_range=[0.5, 1.0], cv=3
    )
    assert scores.shape == (2, 3)
    return cross_val_predict(classifier(), frame, LABELS, cv=3)


def kept_estimators(frame):
    found = cross_validate(classifier(), frame, LABELS, cv=3, return_estimator=True, scoring="roc_auc")
    assert found["test_score"].min() > 0.8
    return found["estimator"][0].predict(frame)


def dependence(frame):
    model = classifier().fit(frame, LABELS)
    found = partial_dependence(model, frame, [NAMES[0]], grid_resolution=5)["average"]
    assert np.all(np.diff(found[0]) >= 0.0)
    return model.predict(frame)


def split(frame):
    seen, new, y, y_new = train_test_split(frame, LABELS, random_state=0, stratify=LABELS)
    model = classifier().fit(seen, y)
    assert model.score(new, y_new) > 0.7
    return model.predict(frame)


def in_sets(frame):
    model = PredictionSets(classifier(), cv=3, random_state=0).fit(frame, LABELS)
    assert model.p_values(frame).shape == (N, 2)
    return model.predict(frame)


INTEGRATIONS = {
    "plain": lambda frame: classifier().fit(frame, LABELS).predict(frame),
    "pipeline": lambda frame: make_pipeline(StandardScaler(), classifier()).fit(frame, LABELS).predict(frame),
    "names": by_names,
    "union": lambda frame: (
        make_pipeline(FeatureUnion([("all", ClippedScaler()), ("some", MinimaxRiskSelector())]), classifier())
        .fit(frame, LABELS)
        .predict(frame)
    ),
    "function": lambda frame: (
        make_pipeline(FunctionTransformer(), classifier()).fit(frame, LABELS).predict(frame)
    ),
    "grid": lambda frame: searched(GridSearchCV(classifier(), {"radius": [0.5, 1.0]}, cv=3), frame),
    "grid in processes": lambda frame: searched(
        GridSearchCV(classifier(), {"radius": [0.5, 1.0]}, cv=3, n_jobs=2), frame
    ),
    "random": lambda frame: searched(
        RandomizedSearchCV(classifier(), {"radius": [0.5, 1.0, 2.0]}, n_iter=2, cv=3, random_state=0), frame
    ),
    "folds": lambda frame: cross_val_predict(classifier(), frame, LABELS, cv=3),
    "kept": kept_estimators,
    "curves": curves,
    "split": split,
    "calibrated": lambda frame: CalibratedClassifierCV(classifier(), cv=3).fit(frame, LABELS).predict(frame),
    "frozen": lambda frame: (
        CalibratedClassifierCV(FrozenEstimator(classifier().fit(frame, LABELS)))
        .fit(frame, LABELS)
        .predict(frame)
    ),
    "threshold": lambda frame: (
        FixedThresholdClassifier(classifier(), threshold=0.4, pos_label="well")
        .fit(frame, LABELS)
        .predict(frame)
    ),
    "voting": lambda frame: (
        VotingClassifier([("own", classifier()), ("other", LogisticRegression())], voting="soft")
        .fit(frame, LABELS)
        .predict(frame)
    ),
    "stacking": lambda frame: (
        StackingClassifier(
            [("own", classifier()), ("forest", RandomForestClassifier(5, random_state=0))], cv=3
        )
        .fit(frame, LABELS)
        .predict(frame)
    ),
    "bagging": lambda frame: (
        BaggingClassifier(classifier(), n_estimators=3, random_state=0).fit(frame, LABELS).predict(frame)
    ),
    "boosting": lambda frame: (
        AdaBoostClassifier(classifier(weight_kind="importance"), n_estimators=2, random_state=0)
        .fit(frame, LABELS)
        .predict(frame)
    ),
    "against the rest": lambda frame: OneVsRestClassifier(classifier()).fit(frame, LABELS).predict(frame),
    "one against one": lambda frame: OneVsOneClassifier(classifier()).fit(frame, LABELS).predict(frame),
    "codes": lambda frame: (
        OutputCodeClassifier(classifier(), code_size=2, random_state=0).fit(frame, LABELS).predict(frame)
    ),
    "outputs": several_outputs,
    "chain": chained,
    "half labelled": half_labelled,
    "chosen by model": lambda frame: (
        make_pipeline(SelectFromModel(classifier(), max_features=4), classifier())
        .fit(frame, LABELS)
        .predict(frame)
    ),
    "eliminated": lambda frame: RFE(classifier(), n_features_to_select=3).fit(frame, LABELS).predict(frame),
    "forward": lambda frame: (
        make_pipeline(SequentialFeatureSelector(classifier(), n_features_to_select=1, cv=2), classifier())
        .fit(frame, LABELS)
        .predict(frame)
    ),
    "clone": lambda frame: clone(classifier().fit(frame, LABELS)).fit(frame, LABELS).predict(frame),
    "pickle": lambda frame: reloaded(frame, lambda model: pickle.loads(pickle.dumps(model))),
    "joblib": lambda frame: reloaded(frame, through_joblib),
    "threads": in_threads,
    "pandas out": lambda frame: with_output_frame("pandas", frame),
    "polars out": lambda frame: with_output_frame("polars", frame),
    "importance": important,
    "dependence": dependence,
    "routing": routed,
    "sets": in_sets,
    "ensemble": lambda frame: (
        MinimaxRiskEnsembleClassifier(n_estimators=12, random_state=0).fit(frame, LABELS).predict(frame)
    ),
    "chosen radius": lambda frame: (
        MinimaxRiskClassifierCV(radii=[0.5, 1.0], cv=3).fit(frame, LABELS).predict(frame)
    ),
    "kernel": lambda frame: (
        make_pipeline(ClippedScaler(), MinimaxRiskKernelClassifier("rbf")).fit(frame, LABELS).predict(frame)
    ),
}
# Where scikit-learn itself changes columns of pandas alone.
PANDAS_ALONE = {"dependence", "importance"}


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
    model = classifier().fit(table, pyarrow.array(LABELS.tolist()))
    assert list(model.feature_names_in_) == NAMES
    assert np.array_equal(model.predict(table), classifier().fit(values(), LABELS).predict(values()))
