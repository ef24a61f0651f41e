"""Every estimator with every function, every form of data, weights and groups: it works, or says what to use.

What works is in the page "What goes with what" of the documentation. A cell that works gives the
answer of a NumPy array. A cell that is refused raises an error that names something to do. Nothing else may
come out. Some cells are walked in every run; ``make test-slow`` walks the whole product.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.fixes import parse_version

import minimaxrisk
from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    MinimaxRiskSelector,
    inspection,
)
from minimaxrisk.app.report import report
from minimaxrisk.app.storage import SavedModel, load_model, save_model
from minimaxrisk.guarantees.certified import (
    DASK,
    ELSEWHERE,
    LIBRARY_CLASSIFIER,
    MEMBERS,
    can,
    unwrapped,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # about fits; test_skeleton.py has what is said when
    pytest.mark.usefixtures("modules"),
]
N, D = 32, 6
RADII = [1.0, 2.0]
# Each with a parameter for a search.
ESTIMATORS = {
    "classifier": (MinimaxRiskClassifier(), {"radius": RADII}),
    "cv": (MinimaxRiskClassifierCV(radii=RADII, cv=2), {"rule": ["best"]}),
    "ensemble": (
        MinimaxRiskEnsembleClassifier(n_estimators=6, subsample=0.5, gap_tol=1e-8, random_state=0),
        {"subsample": [0.5]},
    ),
    "no certificate": (
        MinimaxRiskEnsembleClassifier(
            n_estimators=6, subsample=0.5, gap_tol=1e-8, certify=False, random_state=0
        ),
        {"subsample": [0.5]},
    ),
    "kernel": (MinimaxRiskKernelClassifier(gap_tol=1e-9), {"radius": RADII}),
    "rbf": (MinimaxRiskKernelClassifier("rbf", gap_tol=1e-9), {"radius": RADII}),
}
WRAPPINGS = ("alone", "pipeline", "search")
FORMS = ("numpy", "float32", "csr", "pandas", "polars", "memmap", "dask", "array api")
if parse_version(scipy.__version__) < parse_version("1.14.0"):  # as scikit-learn asks for
    FORMS = FORMS[:-1]
MODES = ("plain", "weights", "groups", "pairs")
# A refusal names what to do.
ADVICE = re.compile(r"\b(use|pass|fit|leave|convert|take|give|set)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """What the forms need, with SciPy's switch for arrays of other libraries, which scikit-learn asks for."""
    for name in ("pandas", "polars", "dask.array", "array_api_strict", "skops", "matplotlib", "jinja2"):
        pytest.importorskip(name)
    folder.append(tmp_path_factory.mktemp("cells"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIPY_ARRAY_API", "1")
        yield


folder: list = []


@cache
def study():
    """Every form holds these numbers exactly; with 16 binary places no score is zero. Two rows a group."""
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], N // 2)
    X = np.round(2.0**16 * (random.normal(size=(N, D)) + 1.2 * y[:, None] * (np.arange(D) < 3))) / 2.0**16
    X[np.abs(X) < 0.5] = 0.0
    return X, y


MORE = {
    "plain": {},
    "weights": {"sample_weight": 1.0 + np.arange(N) % 3},
    "groups": {"groups": np.repeat(np.arange(N // 2), 2)},
    "pairs": {"groups": np.tile(np.arange(N // 2), 2)},  # a sample of each class
}
NAMES = [f"g{j}" for j in range(D)]
BATCH = np.array(["a", "b"] * (N // 2))


@cache
def in_form(form):
    X = study()[0]
    if form == "memmap":
        made = np.lib.format.open_memmap(folder[0] / "X.npy", "w+", np.float64, X.shape)
        made[:] = X
        return made
    return {
        "numpy": lambda: X,
        "float32": lambda: X.astype(np.float32),
        "csr": lambda: sparse.csr_array(X),
        "pandas": lambda: import_module("pandas").DataFrame(X, columns=NAMES),
        "polars": lambda: import_module("polars").DataFrame(X, schema=NAMES),
        "dask": lambda: import_module("dask.array").from_array(X, chunks=(12, D)),
        "array api": lambda: import_module("array_api_strict").asarray(X),
    }[form]()


def wrapped(name, wrapping):
    """The estimator, and what stands before the names of its fit parameters."""
    estimator, grid = clone(ESTIMATORS[name][0]), ESTIMATORS[name][1]
    if wrapping == "alone":
        return estimator, ""
    # A step that makes the same of dense and sparse columns.
    pipeline = Pipeline([("scale", MaxAbsScaler()), ("last", estimator)])
    if wrapping == "pipeline":
        return pipeline, "last__"
    return GridSearchCV(pipeline, {f"last__{key}": values for key, values in grid.items()}, cv=2), "last__"


def fitted(name, wrapping, form, mode):
    model, prefix = wrapped(name, wrapping)
    more = {prefix + key: values for key, values in MORE[mode].items()}
    return model.fit(in_form(form), study()[1], **more)


def saved_and_loaded(model, X):
    path = folder[0] / "model.skops"
    save_model(SavedModel(model, np.array(NAMES), target="t", fingerprint="-"), path)
    return load_model(path).classifier.predict(X)


def of_predict(model, X, y):
    """Labels, but for samples on the border, where rounding decides."""
    is_told = np.abs(np.asarray(model.decision_function(X), dtype=float)) > 1e-9
    return np.where(is_told, np.asarray(model.predict(X), dtype=float), -1.0)


def of_report(model, X, y, **more):
    page = report(model, X, y, n_permutations=0, n_folds=0, n_radii=0, guarantee=False, **more)
    return [page.findings.fit.upper, page.findings.fit.certificate_valid]


def of_batches(model, X, y, **more):
    found = minimaxrisk.check_batches(model, X, y, BATCH, **more)
    return [found.n_wrong, found.n_independent or N]


def of_evaluate(model, X, y, **more):
    # The training data are refused; with the label of another sample they are new samples.
    others = np.roll(y, 1)
    if isinstance(y, np.ndarray):
        others = np.concatenate([y[y != y[0]][:1], y[1:]])
    found = minimaxrisk.evaluate(model, X, others, **more)
    return [found.error.value, found.error.n]


def shown(display, *arguments, **more):
    return [len(vars(display.from_estimator(*arguments, **more)))]


# What is called, and which of weights and groups it takes.
BOTH, GROUPS = ("sample_weight", "groups"), ("groups",)
FUNCTIONS = {
    "predict": (of_predict, ()),
    "decision_function": (lambda m, X, y: m.decision_function(X), ()),
    "verify": (lambda m, X, y, **k: vars(minimaxrisk.verify(m, X, y, **k)), BOTH),
    # Of predict it is another one where rounding decides about a sample on the border.
    "worst_case": (
        lambda m, X, y, **k: minimaxrisk.worst_case(m, X, y, rule="randomized", **k).upper,
        BOTH,
    ),
    "error_bound": (lambda m, X, y, **k: minimaxrisk.error_bound(m, X, y, random_state=0, **k).value, GROUPS),
    "permutation_test": (
        lambda m, X, y, **k: minimaxrisk.permutation_test(m, X, y, 2, random_state=0, **k).statistic,
        BOTH,
    ),
    "check_data": (
        lambda m, X, y, **k: len(minimaxrisk.check_data(X, y, model=unwrapped(m)[0], **k)),
        GROUPS,
    ),
    "check_batches": (of_batches, GROUPS),
    # None for a model that uses no column.
    "training_scale": (lambda m, X, y: getattr(minimaxrisk.training_scale(m, X, y), "means", ()), ()),
    "compare": (lambda m, X, y, **k: minimaxrisk.compare({"m": m}, X, y, cv=2, **k).mean_errors, GROUPS),
    "evaluate": (of_evaluate, GROUPS),
    "report": (of_report, GROUPS),
    "save_model": (lambda m, X, y: saved_and_loaded(unwrapped(m)[0], study()[0]), ()),
    "BoundPathDisplay": (lambda m, X, y: shown(inspection.BoundPathDisplay, m), ()),
    "WorstCaseDistributionDisplay": (
        lambda m, X, y: shown(inspection.WorstCaseDistributionDisplay, m, y),
        (),
    ),
    "ErrorComparisonDisplay": (
        lambda m, X, y, **k: inspection.ErrorComparisonDisplay.from_estimator(
            m, X, y, n_folds=2, **k
        ).fold_errors.ravel(),
        GROUPS,
    ),
    "SelectedFeaturesDisplay": (lambda m, X, y: shown(inspection.SelectedFeaturesDisplay, m), ()),
    "SelectedValuesDisplay": (lambda m, X, y: shown(inspection.SelectedValuesDisplay, m, X, y), ()),
    "FeatureCountDisplay": (lambda m, X, y: shown(inspection.FeatureCountDisplay, m, X, y), ()),
    "StabilityDisplay": (lambda m, X, y: shown(inspection.StabilityDisplay, m), ()),
}
# Those that take longest are walked with a few forms, and for estimators alone, unless everything is.
SLOW = {
    "error_bound",
    "compare",
    "ErrorComparisonDisplay",
    "check_batches",
}
FORMS_OF_SLOW = ("numpy", "dask")
# What is refused for another reason than the kind of the model.
REFUSED = {
    ("report", "weights"),  # its parts would need them one by one
    ("permutation_test", "search"),  # labels chose the radius
}


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "what_goes_with_what.md"


@cache
def page():
    """Read which classes a function takes, by function."""
    text = PAGE.read_text(encoding="utf-8")
    lines = [
        [cell.strip(" `") for cell in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line
    ]
    _, *classes = next(cells for cells in lines if "MinimaxRiskClassifier" in cells)
    return {
        name: {kind for kind, works in zip(classes, cells, strict=True) if works == "yes"}
        for name, *cells in lines
        if name not in ("", "---")
    }


NEED_CERTIFICATE = {
    *("verify", "worst_case", "report", "BoundPathDisplay"),
    *("WorstCaseDistributionDisplay", "ErrorComparisonDisplay"),
}


def is_supported(model, function, wrapping, mode):
    """Return what the page says."""
    inner = unwrapped(model)[0]
    if type(inner).__name__ not in page().get(function, {type(inner).__name__}):
        return False
    if not getattr(inner, "certify", True) and function in NEED_CERTIFICATE:
        return False
    return not {(function, wrapping), (function, mode)} & REFUSED


def answer(name, wrapping, form, mode, function):
    """What comes out: numbers, or the message of a refusal."""
    with sklearn.config_context(array_api_dispatch=form == "array api"):
        model, (call, takes) = fitted_once(name, wrapping, form, mode), FUNCTIONS[function]
        more = {key: value for key, value in MORE[mode].items() if key in takes}
        try:
            found = call(model, in_form(form), study()[1], **more)
        except (TypeError, ValueError) as refusal:
            return str(refusal)
    if isinstance(found, dict):  # a certificate
        assert found["valid"], found["problems"]
        found = [found["lower"], found["upper"]]
    return np.asarray(found, dtype=float)


fitted_once, of_numpy = (
    cache(fitted),
    cache(lambda name, wrapping, mode, f: answer(name, wrapping, "numpy", mode, f)),
)


def walk(name, wrapping, form, mode, functions):
    """Check some cells of one model."""
    # A step of a pipeline makes an array of chunks.
    needed = {("dask", "alone"): DASK, ("array api", wrapping): ELSEWHERE}.get((form, wrapping))
    if needed is not None and not can(ESTIMATORS[name][0], needed):
        with (
            sklearn.config_context(array_api_dispatch=form == "array api"),
            pytest.raises((TypeError, ValueError), match=r"(?s)works on arrays.*got .*(pass|convert) X"),
        ):
            fitted(name, wrapping, form, mode)
        return
    for function in functions:
        found = answer(name, wrapping, form, mode, function)
        expected = is_supported(fitted_once(name, wrapping, form, mode), function, wrapping, mode)
        assert isinstance(found, str) != expected, (function, found)
        assert expected or ADVICE.search(found), (function, found)
        if expected and form != "numpy":
            # Members end where they come first within their tolerance, and float32 rounds what a step makes.
            atol = 2e-2 if can(ESTIMATORS[name][0], MEMBERS) or form == "float32" else 1e-4
            if function == "compare" and form == "float32":
                atol = 2.0 / N  # samples on the border
            np.testing.assert_allclose(
                found, of_numpy(name, wrapping, mode, function), atol=atol, err_msg=function
            )


def quick(wrapping, form, mode):
    """Functions walked in every run: with one of wrapping, form and mode at a time all but the slow ones."""
    is_special = [wrapping != "alone", form != "numpy", mode != "plain"]
    if sum(is_special) > 1:
        return ["predict", "verify"] if sum(is_special) == 2 else []
    slow = set() if wrapping == "alone" and form in FORMS_OF_SLOW else SLOW
    return [function for function in FUNCTIONS if function not in slow]


CELLS = list(product(ESTIMATORS, WRAPPINGS, FORMS, MODES))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_every_cell_works_or_is_refused_with_advice(name, wrapping):
    for form, mode in product(FORMS, MODES):
        walk(name, wrapping, form, mode, quick(wrapping, form, mode))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "wrapping", "form", "mode"), CELLS)
def test_the_whole_product(name, wrapping, form, mode):
    walk(name, wrapping, form, mode, list(FUNCTIONS))


def test_what_is_declared_is_walked():
    assert set(page()) - {"dask arrays", "arrays on a device"} <= set(FUNCTIONS)
    displays = {name for name in inspection.__all__ if hasattr(getattr(inspection, name), "from_estimator")}
    assert displays <= set(FUNCTIONS)
    taken = {"verify", "worst_case", "error_bound", "permutation_test", "check_data", "check_batches"}
    assert taken | {"training_scale", "compare", "evaluate"} <= set(FUNCTIONS) & set(minimaxrisk.__all__)


def test_every_public_classifier_is_walked():
    public = [getattr(minimaxrisk, name) for name in minimaxrisk.__all__]
    classifiers = {each for each in public if isinstance(each, type) and can(each, LIBRARY_CLASSIFIER)}
    assert classifiers == {type(estimator) for estimator, _ in ESTIMATORS.values()}


@pytest.mark.parametrize("function", [name for name, (_, takes) in FUNCTIONS.items() if takes])
@pytest.mark.parametrize("mode", ["weights", "groups", "pairs"])
def test_no_function_forgets_weights_or_groups(function, mode):
    """Without them it comes to another answer, or sees that the data are not those of the fit."""
    (call, takes), X, y = FUNCTIONS[function], *study()
    more = {key: value for key, value in MORE[mode].items() if key in takes}
    model = fitted_once("classifier", "alone", "numpy", mode)
    if not more or not is_supported(model, function, "alone", mode):
        return
    if function == "check_data":  # a group may hold copies, which a few columns do not tell
        X, y = np.random.default_rng(0).normal(size=(N // 2, 60))[more["groups"]], more["groups"] % 2
        model = MinimaxRiskClassifier().fit(X, y)

    def outcome(**arguments):
        try:
            found = call(model, X, y, **arguments)
        except ValueError as refusal:
            return str(refusal)
        return str(found)

    assert outcome(**more) != outcome()


def test_a_selector_is_no_classifier_and_says_what_to_pass():
    X, y = study()
    selector = MinimaxRiskSelector().fit(X, y)
    for function in ("verify", "worst_case", "error_bound", "check_batches", "training_scale"):
        with pytest.raises(
            (TypeError, ValueError), match=r"not supported for MinimaxRiskSelector|must be a classifier"
        ):
            FUNCTIONS[function][0](selector, X, y)
