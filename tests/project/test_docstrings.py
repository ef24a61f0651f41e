"""Docstrings of public names: complete by numpydoc's rules, and true of the signatures."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import ERROR_MSGS, validate

import minimaxrisk
from minimaxrisk import inspection
from minimaxrisk.datasets import make_expression
from tests.public_names import documented_objects, public_objects

# What numpydoc finds and we do not mind: docstrings begin beside their quotes and may end there (GL01, GL02),
# summaries need not begin with a verb (SS05), and extended summaries, related names and examples stand where
# they help (ES01, SA01, EX01).
NOT_ASKED = {"GL01", "GL02", "SS05", "ES01", "SA01", "EX01"}
OBJECTS = documented_objects()


def documented(value: Any, *sections: str) -> dict[str, tuple[str, str]]:
    """Type and description by name."""
    # Without what numpydoc adds where a class has no such section.
    doc = get_doc_object(value, config={"show_class_members": False})
    return {
        name.lstrip("*\\"): (entry.type, " ".join(entry.desc))
        for section in sections
        for entry in doc[section]
        for name in entry.name.split(", ")
    }


def is_record(value: Any) -> bool:
    """Whether users are given it rather than make it: its fields are attributes and not parameters."""
    return dataclasses.is_dataclass(value) and not documented(value, "Parameters")


@pytest.mark.parametrize("name", OBJECTS)
def test_complete(name):
    asked = set(ERROR_MSGS) - NOT_ASKED - ({"PR01"} if is_record(OBJECTS[name]) else set())
    found = validate(get_doc_object(OBJECTS[name]))["errors"]
    assert [f"{code}: {message}" for code, message in found if code in asked] == []


@pytest.mark.parametrize("name", [name for name, value in OBJECTS.items() if inspect.isclass(value)])
def test_fields_and_attributes_are_documented(name):
    cls = OBJECTS[name]
    attributes = documented(cls, "Attributes")
    assert [each for each, (kind, said) in attributes.items() if not (kind and said.endswith("."))] == []
    if dataclasses.is_dataclass(cls):
        fields = {field.name for field in dataclasses.fields(cls) if not field.name.startswith("_")}
        assert fields <= set(documented(cls, "Parameters", "Attributes"))
    if is_record(cls):
        assert fields == set(attributes)


def defaults_of(value: Any) -> dict[str, Any]:
    """By parameter, ``inspect.Parameter.empty`` where there is none."""
    found = {
        parameter.name: parameter.default
        for parameter in inspect.signature(value).parameters.values()
        if parameter.kind not in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}
    }
    if dataclasses.is_dataclass(value):
        made = [each for each in dataclasses.fields(value) if each.default_factory is not dataclasses.MISSING]
        found |= {field.name: field.default_factory() for field in made}
    return found


@pytest.mark.parametrize("name", OBJECTS)
def test_defaults_are_those_of_the_signature(name):
    value = OBJECTS[name]
    if not callable(value):
        return
    names = {each.split(".")[-1]: public for each, public in public_objects().items()}
    defaults = {} if issubclass(type(value), type) and issubclass(value, Exception) else defaults_of(value)
    for parameter, (kind, _) in documented(value, "Parameters").items():
        if parameter not in defaults:
            continue  # of the sort *args
        stated = re.search(r", default=(.+)$", kind)
        if defaults[parameter] is inspect.Parameter.empty:
            assert stated is None, f"{parameter} has no default"
            continue
        assert stated, f"{parameter} must say default={defaults[parameter]!r}"
        said = eval(stated[1], names)
        assert (type(said), said) == (type(defaults[parameter]), defaults[parameter]), parameter


@pytest.mark.parametrize("name", OBJECTS)
def test_related_names_exist(name):
    """They become links; a name may stand alone where it is one of the same package or class."""
    package = name.split(".")[1] if name.count(".") > 1 else ""
    places = {"", "minimaxrisk.", f"minimaxrisk.{package}.", f"{name}.", f"{name.rpartition('.')[0]}."}
    for related, _ in get_doc_object(OBJECTS[name])["See Also"]:
        for each, _ in related:
            assert any(f"{place}{each}" in OBJECTS for place in places), each


@pytest.fixture(scope="module")
def study():
    """With names of columns, which models keep."""
    made = make_expression(40, 30, n_informative=5, effect=1.5, random_state=0)
    return pd.DataFrame(made.data, columns=list(made.feature_names)), made.target


FITTED = {
    "ClippedScaler": [{}],
    "MinimaxRiskClassifier": [{}],
    "MinimaxRiskClassifierCV": [{"cv": 2}, {"rule": 5}],
    "MinimaxRiskEnsembleClassifier": [{"n_estimators": 8, "subsample": 0.4, "certify": True}],
    "MinimaxRiskKernelClassifier": [{}, {"kernel": "rbf"}],
    "MinimaxRiskSelector": [{"stability": True, "n_subsamples": 2}],
    "PredictionSets": [{"confidence": 0.5}],
}


@pytest.mark.filterwarnings("ignore:no column was selected:UserWarning")
@pytest.mark.parametrize("name", FITTED)
def test_fitted_attributes_are_those_documented(name, study):
    cls, found = getattr(minimaxrisk, name), set()
    for settings in FITTED[name]:
        fitted = cls(**settings).fit(*study)
        found |= set(vars(fitted))
    found |= {each for each in dir(cls) if isinstance(getattr(cls, each), property)}
    learned = {each for each in found if each.endswith("_") and not each.startswith("_")}
    assert learned == set(documented(cls, "Attributes"))


def test_all_estimators_are_looked_at():
    estimators = {name for name in minimaxrisk.__all__ if hasattr(getattr(minimaxrisk, name), "get_params")}
    assert estimators == set(FITTED)


@pytest.mark.usefixtures("pyplot")
def test_attributes_of_displays_are_those_documented(study):
    X, y = study
    model = minimaxrisk.MinimaxRiskClassifier().fit(X, y)
    selector = minimaxrisk.MinimaxRiskSelector(max_features=3, stability=True, n_subsamples=4, random_state=0)
    chosen = minimaxrisk.MinimaxRiskClassifierCV(cv=2, radii=[0.5, 1.0]).fit(X, y)
    made = [
        inspection.BoundPathDisplay.from_estimator(model),
        inspection.ErrorComparisonDisplay.from_estimator(model, X, y, n_folds=2),
        inspection.PermutationTestDisplay.from_result(minimaxrisk.permutation_test(model, X, y, 5)),
        inspection.FeatureCountDisplay.from_estimator(chosen, X, y),
        inspection.SelectedFeaturesDisplay.from_estimator(model),
        inspection.SelectedValuesDisplay.from_estimator(model, X, y),
        inspection.StabilityDisplay.from_estimator(selector.fit(X, y)),
        inspection.WorstCaseDistributionDisplay.from_estimator(model, y),
    ]
    assert {type(each).__name__ for each in made} == set(inspection.__all__)
    for display in made:
        display.plot()
        assert set(vars(display)) == set(documented(type(display), "Parameters", "Attributes"))


def test_stability_of_an_ensemble_can_be_drawn(study):
    """As the docstring of the display says."""
    ensemble = minimaxrisk.MinimaxRiskEnsembleClassifier(
        n_estimators=8, subsample=0.4, random_state=0, certify=True
    ).fit(*study)
    display = inspection.StabilityDisplay.from_estimator(ensemble)
    np.testing.assert_array_equal(
        display.frequencies, np.sort(ensemble.selection_frequencies_)[::-1][: len(display.names)]
    )
