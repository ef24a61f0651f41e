"""What the engines answer on some hundred problems; ``python tests/engine_record.py`` writes it down.

``tests/core/test_differential.py`` fits the same problems anew and compares. Nothing here looks into the
engines: estimators, solver objects and functions of the package alone, and the full linear programs of
``reference``, whose values are recorded beside the answers.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn import datasets as bundled
from sklearn.model_selection import StratifiedKFold

import reference
from experiments import datasets as stored
from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    minimax_risk_path,
    permutation_test,
    verify,
    worst_case,
)
from minimaxrisk.datasets import make_expression, make_text
from minimaxrisk.solvers import (
    ConstraintAndColumnGeneration,
    ConstraintGeneration,
    FirstOrder,
    FullLP,
    InteriorPoint,
)

RECORD = Path(__file__).with_suffix(".json")
RADII = (0.1, 0.3, 1.0, 2.0, 3.0)
# Longer lists of columns are recorded as their number and a digest.
LONGEST_LIST = 12
# Linear programs with more entries are not solved.
MOST_ENTRIES = 700_000

Columns: TypeAlias = list[int] | str


@dataclass(frozen=True)
class Data:
    """Samples, their labels, and what else ``fit`` and ``verify`` are given."""

    X: Any
    y: np.ndarray
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What a computation found.

    Attributes
    ----------
    lower, upper : list of float
        Certified bounds, one pair for each problem that was solved.
    selected : list
        For each of them the columns of the rule, where it is that of a vertex.
    n_iter : int or None
        Iterations of the solver, where it tells; of a path how often X was read.
    solver : str
        The solver that found the result, where it tells: no other one had to help.
    numbers : list of float
        Other results, such as the radius that was chosen.
    complaints : tuple of str
        What ``verify`` has found wrong; it is not recorded.
    """

    lower: list[float]
    upper: list[float]
    selected: list[Columns] = field(default_factory=list)
    n_iter: int | None = None
    solver: str = ""
    numbers: list[float] = field(default_factory=list)
    complaints: tuple[str, ...] = ()


Task: TypeAlias = Callable[[Data], Answer]


@dataclass(frozen=True)
class Case:
    """One computation on some data, and how its answer is compared.

    Attributes
    ----------
    name : str
        Its key in the record.
    data : callable
        Makes the data.
    task : callable
        Fits, and says what was found.
    is_exact : bool
        Whether the answer is the optimum itself; otherwise an interval that holds it.
    slack : float
        How far apart two intervals may be, and two further numbers.
    program : callable or None
        Solves the full linear programs, one for each pair of bounds.
    is_slow : bool
        Whether it takes more than half a second.
    needs : str
        A stored data set, or a module.
    """

    name: str
    data: Callable[[], Data]
    task: Task
    is_exact: bool = True
    slack: float = 1e-7
    program: Callable[[Data], list[float]] | None = None
    is_slow: bool = False
    needs: str = ""

    def answer(self) -> Answer:
        with array_api_dispatch() if self.needs == "array_api_strict" else nullcontext():
            return self.task(self.data())

    def missing(self) -> str:
        """Why it cannot be computed here; empty if it can."""
        if self.needs in ("", *stored.list_datasets()):
            return ""
        try:
            import_module(self.needs)
        except ImportError:
            return f"{self.needs} is not at hand (data sets are looked for in MINIMAXRISK_DATA)"
        return ""


# --- tasks --------------------------------------------------------------------------------------------


def columns_of(selected: Any) -> Columns:
    """The columns as they are, or their number and a digest."""
    columns = np.asarray(selected, dtype=np.int64)
    if len(columns) <= LONGEST_LIST:
        return [int(column) for column in columns]
    return f"{len(columns)}:{hashlib.sha256(columns.tobytes()).hexdigest()[:12]}"


def bounds_of(model: Any, data: Data) -> Answer:
    """The bounds of a fitted model, and whether they are confirmed."""
    complaints = verify(model, data.X, data.y, **data.more).problems
    lower, upper = float(model.worst_case_error_lower_), float(model.worst_case_error_)
    return Answer([lower], [upper], complaints=complaints)


def plain(solver: Any = "auto", **options: Any) -> MinimaxRiskClassifier:
    """Make a classifier with the paper's standard errors, which the full linear programs have."""
    return MinimaxRiskClassifier(solver=solver, moderation=0.0, **options)


def classifier(solver: Any = "auto", **options: Any) -> Task:
    """Fit the classifier with the box."""

    def task(data: Data) -> Answer:
        model = plain(solver, **options).fit(data.X, data.y, **data.more)
        selected = [columns_of(model.selected_features_)]
        found = replace(bounds_of(model, data), selected=selected)
        return replace(found, n_iter=int(model.n_iter_), solver=model.solver_)

    return task


def kernel_classifier(**options: Any) -> Task:
    """Fit the classifier with the ball."""

    def task(data: Data) -> Answer:
        model = MinimaxRiskKernelClassifier(**options).fit(data.X, data.y, **data.more)
        return replace(bounds_of(model, data), n_iter=int(model.n_iter_), solver=model.solver_)

    return task


def cross_validation(options: Mapping[str, Any], **parameters: Any) -> Task:
    """Choose a radius, and fit with it."""

    def task(data: Data) -> Answer:
        estimator = plain(**options)
        model = MinimaxRiskClassifierCV(estimator, **parameters).fit(data.X, data.y, **data.more)
        found = model.cv_results_
        numbers = [model.radius_, *found["mean_loss"], *found["n_features"].mean(axis=0)]
        # Folds of several classes are solved to a gap.
        numbers = [float(number) for number in numbers[: None if len(model.classes_) == 2 else 1]]
        selected = [columns_of(model.selected_features_)]
        return replace(bounds_of(model, data), selected=selected, numbers=numbers)

    return task


def ensemble(options: Mapping[str, Any], **parameters: Any) -> Task:
    """Fit an ensemble; the bounds are those of its own rule."""

    def task(data: Data) -> Answer:
        estimator = plain(**options)
        parameters_of_all = {
            "n_estimators": 6,
            "gap_tol": 1e-9,
            "random_state": 0,
            "certify": True,
        } | parameters
        model = MinimaxRiskEnsembleClassifier(estimator, **parameters_of_all)
        model.fit(data.X, data.y, **data.more)
        return replace(bounds_of(model, data), numbers=[float(model.selection_frequencies_.sum())])

    return task


def path(radii: Sequence[float] = RADII, **options: Any) -> Task:
    """Solve for several radii at once."""

    def task(data: Data) -> Answer:
        found = minimax_risk_path(data.X, data.y, radii, moderation=0.0, **data.more, **options)
        kinks = [] if found.breakpoints is None else [float(len(found.breakpoints))]
        return Answer(
            found.lower.tolist(),
            found.worst_case_error.tolist(),
            [columns_of(columns) for columns in found.selected_features],
            n_iter=found.n_passes,
            numbers=kinks,
        )

    return task


def permutations(model: Any, n: int = 19, **parameters: Any) -> Task:
    """Compare with permuted labels; bounds are those of R* and of the null distribution."""

    def task(data: Data) -> Answer:
        found = permutation_test(model, data.X, data.y, n, random_state=0, **parameters, **data.more)
        upper = [found.statistic, *found.null_distribution.tolist()]
        numbers = [found.pvalue, float(found.n_no_larger)]
        return Answer([value - found.gap_tol for value in upper], upper, numbers=numbers)

    return task


def expected_loss(rule: str, **options: Any) -> Task:
    """Find the smallest and the largest error of a fitted rule; the optimum is one, so that the rule is."""

    def task(data: Data) -> Answer:
        model = plain(**options).fit(data.X, data.y, **data.more)
        found: Any = worst_case(model, data.X, data.y, rule=rule, **data.more)  # type: ignore[arg-type]
        lower = [found.lower, found.upper - found.upper_gap]
        upper = [found.lower + found.lower_gap, found.upper]
        return Answer([float(value) for value in lower], [float(value) for value in upper])

    return task


# --- linear programs ----------------------------------------------------------------------------------


def program(radii: Sequence[float], **options: Any) -> Callable[[Data], list[float]]:
    """Solve the full linear programs, unless they are large."""

    def solve(data: Data) -> list[float]:
        if set(data.more) - {"sample_weight"} or "class_weight" in options:
            return []
        X = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X, dtype=np.float64)
        labels = np.unique(data.y, return_inverse=True)[1]
        n_classes, blocks = labels.max() + 1, labels.max() + 1
        if options.get("coding", "signed") == "signed" and n_classes == 2:
            blocks = 1
        known = options.get("marginal") == "empirical"
        n_variables = 2 * blocks * (X.shape[1] + 1) + known * len(X)
        if len(X) * (2**n_classes - 1) * n_variables > MOST_ENTRIES:
            return []
        weights = data.more.get("sample_weight")
        return [reference.minimax_risk_of(X, labels, radius, weights, **options) for radius in radii]

    return solve


# --- data ---------------------------------------------------------------------------------------------

KINDS = ("plain", "tied", "constant", "heavy tails", "lone sample", "float32", "equal rows", "scales")


@cache
def drawn(seed: int, weighted: bool = False) -> Data:
    """Small problems of all kinds."""
    rng = np.random.default_rng([7, seed])
    kind, n_classes = KINDS[seed % len(KINDS)], int(rng.choice([2, 2, 2, 3, 3, 4, 5]))
    n = int(rng.integers(max(4, 2 * n_classes), 81))
    d = int(np.exp(rng.uniform(0.0, np.log(300.0)))) if rng.random() < 0.7 else int(rng.integers(5, 60))
    X, labels = reference.random_problem(rng, n, d, n_classes)
    if kind == "tied":
        X = np.hstack([X, X[:, : 1 + d // 3]])
    elif kind == "constant":
        X[:, :: 1 + d // 3] = rng.integers(-2, 3)
    elif kind == "heavy tails":
        X = X * np.exp(1.5 * rng.standard_normal(X.shape))
    elif kind == "lone sample":
        labels[labels == n_classes - 1] = 0
        labels[n // 2] = n_classes - 1
    elif kind == "float32":
        X = X.astype(np.float32)
    elif kind == "equal rows":
        X = X[rng.integers(0, max(2, n // 2), n)]
    elif kind == "scales":
        X = X * 10.0 ** rng.uniform(-6, 6, d) + 10.0 ** rng.uniform(-3, 3, d)
    more = {"sample_weight": rng.integers(0, 4, n).astype(float)} if weighted else {}
    if weighted:
        more["sample_weight"][np.unique(labels, return_index=True)[1]] = 1.0
    return Data(X, labels, more)


@cache
def blobs(
    n: int, d: int, n_classes: int, seed: int = 0, informative: float = 0.3, shift: float = 0.8
) -> Data:
    """Normal columns, a share of which tells the classes apart."""
    rng = np.random.default_rng([11, seed, n, d, n_classes])
    labels = np.arange(n) % n_classes
    X = rng.standard_normal((n, d))
    X += shift * labels[:, None] * (rng.random(d) < informative)
    return Data(X, labels)


@cache
def with_more(what: str, n_classes: int) -> Data:
    """Samples without a label besides, or groups of samples with one label."""
    made = blobs(30, 20, n_classes, seed=1)
    more = {
        "X_unlabeled": blobs(10, 20, n_classes, seed=2).X,
        "groups": np.arange(30) // 6 * 3 + made.y,
    }
    return replace(made, more={what: more[what]})


@cache
def expression(n: int, d: int, effect: float = 1.0) -> Data:
    """Two classes of a simulated study with correlated columns."""
    study = make_expression(n, d, n_informative=10, effect=effect, random_state=0)
    return Data(study.data, study.target)


@cache
def text(n: int, d: int) -> Data:
    """Simulated counts of words, in CSR."""
    study = make_text(n, d, random_state=0)
    return Data(study.data, study.target)


@cache
def bundled_set(name: str) -> Data:
    """A data set that comes with scikit-learn; of the digits a part."""
    X, y = getattr(bundled, f"load_{name}")(return_X_y=True)
    return Data(X[:300], y[:300]) if name == "digits" else Data(X, y)


@cache
def stored_set(name: str) -> Data:
    """A data set of the paper, or one that stands in for it."""
    return Data(*stored.load_dataset(name, return_X_y=True))


CONTAINERS = (
    *("float64 F", "float32", "memmap", "memmap float32", "memmap F", "whole numbers"),
    *("CSR", "CSC", "dask rows", "dask both", "array_api_strict"),
)


@cache
def quarters(n_classes: int, n: int = 36, d: int = 120) -> Data:
    """Multiples of a quarter, which every container holds exactly, with zeros and one row twice."""
    made = blobs(n, d, n_classes, seed=3)
    X = np.round(4.0 * made.X)
    X[np.random.default_rng(5).random(X.shape) < 0.3] = 0.0
    X[5] = X[5 + n_classes]
    return Data(X, made.y)


def contained(container: str, n_classes: int) -> Data:
    """The same numbers in another container."""
    of = quarters(n_classes)
    return replace(of, X=in_container(container, of.X))


def tall_in(container: str) -> Data:
    """Many samples of whole numbers, in a container."""
    made = blobs(2400, 6, 2)
    return replace(made, X=in_container(container, np.round(made.X)))


def in_container(container: str, X: np.ndarray) -> Any:
    if container.startswith("dask"):
        chunks = (1 + len(X) // 4, X.shape[1]) if container.endswith("rows") else (20, 70)
        return import_module("dask.array").from_array(X, chunks=chunks)
    if container.startswith("memmap"):
        order: Any = "F" if container.endswith("F") else "C"
        dtype = np.float32 if container.endswith("32") else np.float64
        with tempfile.TemporaryFile() as file:
            mapped = np.memmap(file, dtype, "w+", shape=X.shape, order=order)
        mapped[:] = X
        return mapped
    if container == "array_api_strict":
        return import_module(container).asarray(X)
    makers: dict[str, Callable[[np.ndarray], Any]] = {
        **{"float64 F": np.asfortranarray, "float32": np.float32, "whole numbers": np.int16},
        **{"CSR": sparse.csr_array, "CSC": sparse.csc_array},
    }
    return makers[container](X)


@contextmanager
def array_api_dispatch() -> Iterator[None]:
    """Arrays of other libraries are worked on where they are; SciPy has a switch of its own."""
    with patch.dict(os.environ, SCIPY_ARRAY_API="1"), config_context(array_api_dispatch=True):
        yield


# --- cases --------------------------------------------------------------------------------------------

Source: TypeAlias = Callable[[], Data]


def fits(name: str, data: Source, radii: Sequence[float] = RADII, **options: Any) -> Iterator[Case]:
    """The box at several radii, by the default engine."""
    how = {key: options.pop(key) for key in ("is_slow", "needs", "copy") if key in options}
    more = {"copy": how.pop("copy")} if "copy" in how else {}
    for radius in radii:
        task = classifier(radius=radius, **options, **more)
        yield Case(f"{name} s={radius:g}", data, task, program=program([radius], **options), **how)


def random_cases() -> Iterator[Case]:
    """Small problems with all parameters."""
    for seed in range(130):
        options: dict[str, Any] = {}
        options |= {"coding": "one-hot"} if seed % 3 == 1 else {}
        options |= {"marginal": "empirical"} if seed % 5 == 2 else {}
        options |= {"standardize": False} if seed % 13 == 4 else {}
        options |= {"fit_intercept": False} if seed % 11 == 5 else {}
        data = partial(drawn, seed, seed % 7 == 3)
        yield from fits(f"random {seed}", data, [RADII[(seed // 2) % len(RADII)]], **options)


def grid_cases() -> Iterator[Case]:
    """Every pair of coding and marginal at every radius."""
    for n_classes, coding in ((2, "signed"), (2, "one-hot"), (4, "one-hot")):
        for marginal in ("free", "empirical"):
            data = partial(blobs, 40, 24, n_classes)
            name = f"grid {n_classes} {coding} {marginal}"
            yield from fits(name, data, coding=coding, marginal=marginal)
    yield from fits("wide", partial(expression, 40, 600))
    yield from fits("wide one-hot", partial(expression, 40, 600), coding="one-hot")
    yield from fits("wide several", partial(blobs, 45, 300, 3, informative=0.05))
    for seed in (40, 8):
        yield from fits(f"balanced {seed}", partial(drawn, seed), [1.0], class_weight="balanced")
    for n_classes in (2, 3):
        for what in ("X_unlabeled", "groups"):
            yield from fits(f"{what} {n_classes}", partial(with_more, what, n_classes), [0.3, 1.0])


def set_cases() -> Iterator[Case]:
    """Data sets of scikit-learn and of the paper."""
    for name in ("iris", "wine"):
        yield from fits(name, partial(bundled_set, name))
        yield from fits(f"{name} known", partial(bundled_set, name), [0.3, 2.0], marginal="empirical")
    yield from fits("cancer", partial(bundled_set, "breast_cancer"))
    yield from fits("cancer one-hot", partial(bundled_set, "breast_cancer"), [1.0], coding="one-hot")
    yield from fits("digits", partial(bundled_set, "digits"), [1.0, 3.0])
    yield from fits("digits", partial(bundled_set, "digits"), [0.1, 0.3, 2.0], is_slow=True)
    quick = {"Colon": RADII, "Leukemia": (0.3, 1.0, 3.0), "MLL": (3.0,), "Prostate_GE": (1.0,)}
    slow = {
        **dict.fromkeys(("Arcene", "GLIOMA", "TOX_171", "Lung_1543", "GLI_85_Freije_genes"), (1.0,)),
        **{"CLL_SUB_111_binarised": (0.3, 1.0), "Prostate_GE": (0.3, 2.0), "MLL": (0.3, 1.0)},
    }
    for is_slow, sets in ((False, quick), (True, slow)):
        for name, radii in sets.items():
            yield from fits(name, partial(stored_set, name), radii, needs=name, is_slow=is_slow)
    colon = partial(stored_set, "Colon")
    yield from fits("Colon one-hot", colon, [1.0], needs="Colon", coding="one-hot")
    yield from fits("Colon known", colon, [1.0], needs="Colon", marginal="empirical")


def tall_cases() -> Iterator[Case]:
    """Many more samples than columns: instances that come and go, and the matrix of moments."""
    yield from fits("tall 2", partial(blobs, 2400, 6, 2))
    yield from fits("tall 2 wider", partial(blobs, 2400, 60, 2), [0.3, 2.0])
    yield from fits("tall 2 one-hot", partial(blobs, 2400, 6, 2), [0.3, 2.0], coding="one-hot")
    yield from fits("tall 3", partial(blobs, 2400, 5, 3), [0.1, 1.0, 3.0])
    yield from fits("tall 3 wider", partial(blobs, 2000, 25, 3), [1.0], is_slow=True)
    yield from fits("tall 5", partial(blobs, 1500, 12, 5), [1.0], is_slow=True)
    yield from fits("tall 9", partial(blobs, 270, 8, 9), [0.3, 2.0])
    yield from fits("tall 26", partial(blobs, 208, 30, 26, informative=0.9), [1.0], is_slow=True)
    yield from fits("tall known", partial(blobs, 400, 8, 3), [0.3, 2.0], is_slow=True, marginal="empirical")
    for container in ("CSC", "dask rows"):
        needs = "dask" if container.startswith("dask") else ""
        yield from fits(f"tall {container}", partial(tall_in, container), [0.3, 1.0], needs=needs)
    yield from fits("text", partial(text, 200, 400), [0.3, 1.0])
    yield from fits("text tall", partial(text, 2100, 150), [1.0], is_slow=True)
    yield from fits("text one-hot", partial(text, 200, 400), [1.0], coding="one-hot")
    # Sparse data of the one-hot coding do without the space of moments, so that instances are generated.
    yield from fits("text tall one-hot", partial(text, 2400, 24), [0.3, 1.0], coding="one-hot")


def container_cases() -> Iterator[Case]:
    """The same numbers, kept in other ways."""
    for container in CONTAINERS:
        more: dict[str, Any] = {"copy": False} if container.startswith(("memmap", "float32", "whole")) else {}
        needs = "dask" if container.startswith("dask") else ""
        more["needs"] = container if container == "array_api_strict" else needs
        for n_classes in (2, 3):
            data = partial(contained, container, n_classes)
            radii = (0.3, 2.0) if n_classes == 2 else (1.0,)
            yield from fits(f"{container} {n_classes}", data, radii, **more)
        two = partial(contained, container, 2)
        yield from fits(f"{container} known", two, [1.0], marginal="empirical", **more)
    for container in ("CSR", "float32", "array_api_strict"):
        needs = container if container == "array_api_strict" else ""
        copies = {"copy": False} if container == "float32" else {}
        data = partial(contained, container, 2)
        for options in ({"standardize": False}, {"fit_intercept": False}, {"coding": "one-hot"}):
            name = f"{container} {next(iter(options))}"
            yield from fits(name, data, [1.0], needs=needs, **options, **copies)


def ball_cases() -> Iterator[Case]:
    """The ball, whose optimum is no vertex."""
    for n_classes in (2, 3):
        data: Source = partial(blobs, 40, 12, n_classes)
        for kernel in ("linear", "rbf"):
            for radius in RADII:
                task = kernel_classifier(kernel=kernel, radius=radius)
                yield Case(f"ball {kernel} {n_classes} s={radius:g}", data, task, is_exact=False)
            task = kernel_classifier(kernel=kernel, radius=0.3, marginal="empirical")
            yield Case(f"ball {kernel} {n_classes} known", data, task, is_exact=False)
    two = partial(blobs, 40, 12, 2)
    others: list[tuple[str, Source, dict[str, Any]]] = [
        ("one-hot", two, {"coding": "one-hot"}),
        ("no intercept", two, {"fit_intercept": False}),
        ("poly", two, {"kernel": "poly", "degree": 2}),
        ("wide", partial(expression, 40, 600), {}),
        ("CSR", partial(contained, "CSR", 3), {}),
        ("iris", partial(bundled_set, "iris"), {"kernel": "rbf"}),
        ("weighted", partial(drawn, 24, True), {"radius": 1.0}),
    ]
    for name, data, options in others:
        yield Case(f"ball {name}", data, kernel_classifier(**options), is_exact=False)


def solver_cases() -> Iterator[Case]:
    """First-order steps, and linear programs that grow."""
    problems: dict[str, tuple[Source, dict[str, Any]]] = {
        "2": (partial(blobs, 40, 24, 2), {}),
        "3": (partial(blobs, 40, 24, 3), {}),
        "known 2": (partial(blobs, 40, 24, 2), {"marginal": "empirical"}),
        "known 3": (partial(blobs, 40, 24, 3), {"marginal": "empirical"}),
        "wide": (partial(expression, 40, 600), {}),
        "CSR": (partial(contained, "CSR", 2), {}),
    }
    for name, (data, options) in problems.items():
        for radius in (0.5, 2.0):
            of = {"radius": radius, **options}
            check = program([radius], **options)
            for solver in (FirstOrder(), ConstraintAndColumnGeneration(epsilon_1=1e-3)):
                title = f"{type(solver).__name__} {name} s={radius:g}"
                yield Case(title, data, classifier(solver, **of), is_exact=False, program=check)
            for n in (1, 4, 8):
                title, stopped = f"stopped after {n} {name} s={radius:g}", InteriorPoint(max_iter=n)
                yield Case(title, data, classifier(stopped, **of), is_exact=False, program=check)
            for exact in (ConstraintGeneration(epsilon=1e-9, n_max=10), FullLP()):
                title = f"{type(exact).__name__} {name} s={radius:g}"
                yield Case(title, data, classifier(exact, **of), program=check)
    two, wide, tall = partial(blobs, 40, 24, 2), partial(expression, 40, 600), partial(blobs, 2400, 5, 3)
    others: list[tuple[str, Source, Any, bool]] = [
        ("as printed", wide, ConstraintGeneration(n_max=20, k_max=30, select="as-printed"), False),
        ("from first-order", wide, ConstraintGeneration(initial_features="first-order", epsilon=1e-9), True),
        ("from columns", two, ConstraintGeneration(initial_features=[0, 5, 9], epsilon=1e-9), True),
        ("constraints and columns tall", tall, ConstraintAndColumnGeneration(), False),
        ("stopped after 6 tall", tall, InteriorPoint(max_iter=6), False),
    ]
    check = program([1.0])
    for name, data, named, is_exact in others:
        yield Case(name, data, classifier(named), is_exact=is_exact, program=check)
    task = classifier(InteriorPoint(), gap_tol=1e-2)
    yield Case("stopped at a gap", wide, task, is_exact=False, program=check)
    task = classifier(FirstOrder(), gap_tol=1e-2)
    yield Case("first-order text", partial(text, 200, 400), task, is_exact=False)


def path_cases() -> Iterator[Case]:
    """Several radii at once, and the choice among them."""
    two, three = partial(blobs, 40, 24, 2), partial(blobs, 40, 24, 3)
    paths: list[tuple[str, Source, dict[str, Any]]] = [
        ("2", two, {}),
        ("2 one-hot", two, {"coding": "one-hot"}),
        ("2 known", two, {"marginal": "empirical"}),
        ("3", three, {}),
        ("3 known", three, {"marginal": "empirical"}),
        ("wide", partial(expression, 40, 600), {}),
        ("CSC", partial(contained, "CSC", 2), {}),
        ("iris", partial(bundled_set, "iris"), {}),
        ("equal rows", partial(drawn, 14), {}),
        ("lone sample", partial(drawn, 12), {}),
        ("weighted", partial(drawn, 24, True), {}),
    ]
    for name, data, options in paths:
        yield Case(f"path {name}", data, path(**options), program=program(RADII, **options))
    many = tuple(np.geomspace(0.05, 4.0, 25).tolist())
    yield Case("path many", two, path(many), program=program(many))
    yield Case("path breakpoints", two, path(breakpoints=True), program=program(RADII))
    yield Case("path Colon", partial(stored_set, "Colon"), path(), needs="Colon", is_slow=True)
    for name, data, options in (paths[0], paths[2], paths[3], paths[5], paths[6]):
        task = cross_validation(options, radii=RADII, cv=StratifiedKFold(4))
        yield Case(f"cross-validation {name}", data, task, is_slow=name == "3")
    task = cross_validation({}, cv=StratifiedKFold(3), rule="best")
    yield Case("cross-validation own radii", two, task)


def batch_cases() -> Iterator[Case]:
    """Many labellings, and members of ensembles."""
    case = partial(Case, is_exact=False)
    data: dict[str, tuple[Source, dict[str, Any]]] = {
        "2": (partial(blobs, 30, 24, 2), {}),
        "2 one-hot": (partial(blobs, 30, 24, 2), {"coding": "one-hot"}),
        "3": (partial(blobs, 30, 24, 3), {}),
        "known": (partial(blobs, 30, 24, 2), {"marginal": "empirical"}),
        "wide": (partial(expression, 40, 600), {}),
        "wide large radius": (partial(expression, 40, 600), {"radius": 2.0}),
        "CSR": (partial(contained, "CSR", 2), {}),
        "weighted": (partial(drawn, 24, True), {}),
    }
    for name, (source, options) in data.items():
        for gap_tol in (1e-3, 1e-5):
            task = permutations(plain(**options), gap_tol=gap_tol)
            yield case(f"permutations {name} {gap_tol:g}", source, task)
        if name not in ("wide large radius", "weighted"):
            yield case(f"ensemble {name}", source, ensemble(options, ball=False), slack=1e-4)
        if name != "wide large radius":
            yield case(f"ensemble {name} and ball", source, ensemble(options, ball=True), slack=1e-4)
    two, three = data["2"][0], data["3"][0]
    yield case("permuted ball", two, permutations(MinimaxRiskKernelClassifier(), 9))
    yield case("permuted ball 3", three, permutations(MinimaxRiskKernelClassifier("rbf"), 9))
    task = permutations(plain())
    yield case("permutations Colon", partial(stored_set, "Colon"), task, needs="Colon")
    there, library = partial(contained, "array_api_strict", 2), "array_api_strict"
    yield case("permutations strict", there, permutations(plain(), 5), needs=library)
    task = ensemble({}, n_estimators=2, ball=False)
    yield case("ensemble strict", there, task, slack=1e-4, needs=library)


def rule_cases() -> Iterator[Case]:
    """The smallest and the largest error of a fixed rule."""
    for name, n_classes, options in (
        ("2", 2, {}),
        ("2 large radius", 2, {"radius": 3.0}),
        ("2 one-hot", 2, {"coding": "one-hot"}),
        ("3", 3, {}),
        ("known", 2, {"marginal": "empirical"}),
    ):
        for rule in ("predict", "randomized"):
            source = partial(blobs, 30, 24, n_classes)
            yield Case(f"worst case {name} {rule}", source, expected_loss(rule, **options), is_exact=False)
    for name, source in (("CSR", partial(contained, "CSR", 2)), ("wide", partial(expression, 40, 600))):
        yield Case(f"worst case {name}", source, expected_loss("predict"), is_exact=False)


def all_cases() -> dict[str, Case]:
    """The cases by name."""
    boxes = random_cases, grid_cases, set_cases, tall_cases, container_cases
    others = ball_cases, solver_cases, path_cases, batch_cases, rule_cases
    cases = [case for kind in (*boxes, *others) for case in kind()]
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), "two cases have one name"
    return dict(zip(names, cases, strict=True))


# --- the record ---------------------------------------------------------------------------------------


def recorded(case: Case) -> dict[str, Any]:
    """What the record has of a case: all that is not empty."""
    answer = case.answer()
    assert not answer.complaints, f"{case.name}: {answer.complaints}"
    entry = asdict(answer) | {"program": [] if case.program is None else case.program(case.data())}
    return {key: value for key, value in entry.items() if value not in ([], (), None, "")}


def write_record() -> None:
    """Compute all cases, and write a line for each."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(recorded(case))}"
        for name, case in all_cases().items()
        if not case.missing()
    ]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def read_record() -> dict[str, dict[str, Any]]:
    """The entries by the names of their cases."""
    entries: dict[str, dict[str, Any]] = json.loads(RECORD.read_text())
    return entries


if __name__ == "__main__":
    with warnings.catch_warnings(action="ignore"):
        write_record()
