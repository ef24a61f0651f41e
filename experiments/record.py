"""A record of what the library computes, to be compared before and after a change that must not alter it.

``python -m experiments.record write OUT.json`` runs everything below with fixed seeds and one BLAS thread.
``--only PREFIX`` runs the items whose names begin so, ``--device cuda`` those for arrays on a GPU instead.
``python -m experiments.record compare A.json B.json`` prints every difference; exit status 1 if there is any.

Data are made here or read from the files of ``MINIMAXRISK_DATA``, by NumPy alone.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import cache, partial
from importlib import import_module
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import minimaxrisk as library
from experiments.harness.record_file import Item, compare_records, write_record
from experiments.paper.scalability import random_fourier_features
from minimaxrisk.app.cli import main as command_line
from minimaxrisk.datasets import make_expression, make_text

# Calls whose names or arguments may change. The names in what they return belong to the record.

RULES = {"randomized": "randomized", "argmax": "predict"}  # as the record calls them


def picked(result: Any, names: str) -> dict[str, Any]:
    return {name: getattr(result, name) for name in names.split()}


def permutation_test(
    model: Any, X: Any, y: Any, *, strata: Any = None, groups: Any = None, **more: Any
) -> Any:
    result = library.permutation_test(model, X, y, strata=strata, groups=groups, random_state=0, **more)
    return picked(result, "statistic pvalue null_distribution gap_tol")


def worst_case(model: Any, X: Any, y: Any, rule: str) -> Any:
    return picked(library.worst_case(model, X, y, rule=RULES[rule]), "lower upper lower_gap upper_gap")


def best_bound(model: Any, X: Any, y: Any, **more: Any) -> Any:
    result = library.error_bound(model, X, y, random_state=0, **more)
    kinds = {"holdout": "hold-out", "majority": "majority class"}
    rules = {rule: name for name, rule in RULES.items()}
    statements = [
        picked(one, "value marginal n_train")
        | {
            "kind": kinds.get(one.method, one.method),
            "rule": rules.get(one.rule, one.rule),
            "valid": one.has_probability,
        }
        for one in result.side_by_side
    ]
    left_out = sorted(kinds.get(method, method) for method in result.left_out)
    return {"value": float(result), "statements": statements, "left_out": left_out}


def holdout_bound(model: Any, X: Any, y: Any, **more: Any) -> Any:
    result = library.error_bound(model, X, y, method="holdout", random_state=0, **more)
    return picked(result, "value n_errors n_test n_train confidence")


def bound_by_radii(model: Any, X: Any, y: Any, rule: str, X_new: Any = None) -> Any:
    result = library.error_bound(model, X, y, method="radii", rule=RULES[rule], X_new=X_new)
    excess = picked(result.exceedance, "mean standard_error upper n_instances n_exceeding")
    return picked(result, "value worst_case_error confidence") | excess


def risk_path(X: Any, y: Any, **more: Any) -> Any:
    path = library.minimax_risk_path(X, y, **more)
    return picked(path, "radii worst_case_error lower breakpoints breakpoint_errors n_passes coefs")


def comparison(X: Any, y: Any) -> Any:
    rivals = {"minimax": library.MinimaxRiskClassifier(), "logistic": LogisticRegression(max_iter=2000)}
    return picked(library.compare(rivals, X, y, n_repeats=2), "names errors n_features test_share")


def batch_check(model: Any, X: Any, y: Any) -> Any:
    result = library.check_batches(model, X, y, np.arange(len(y)) * 3 // len(y))
    return picked(result, "counts n_wrong n_wrong_majority n_wrong_by_class")


def training_scale(model: Any, X: Any, y: Any) -> Any:
    scale: Any = library.training_scale(model, X, y)
    other = picked(scale.compare(1000.0 * X), "differs distances whole looks_like")
    return picked(scale, "columns means spread largest_distance profile") | {"1000 X": other}


def verified(model: Any, X: Any, y: Any, **given: Any) -> Any:
    return picked(library.verify(model, X, y, **given), "valid lower upper")


def command(*arguments: str) -> dict[str, Any]:
    """Exit status and output; a JSON object as such, so that its numbers can be compared."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = command_line(list(arguments))
    return {"status": status, "out": parsed(out.getvalue()), "err": without_times(err.getvalue())}


# Data. The small problems: classes, samples and columns.
SMALL = {
    "two-wide": (2, 30, 200),
    "two-tall": (2, 150, 12),
    "two-discrete": (2, 40, 60),
    "three-wide": (3, 36, 120),
    "three-discrete": (3, 60, 80),
    "five-tall": (5, 200, 15),
}
HERE = ("dense", "float32", "memory map", "sparse", "dask", "array_api_strict")
ON_DEVICE = ("torch", "cupy")


@cache
def problem(name: str) -> tuple[Any, np.ndarray]:
    if name not in SMALL:
        return _read(files()[name])
    n_classes, n, d = SMALL[name]
    rng = np.random.default_rng([n_classes, n, d])
    y = np.arange(n) % n_classes
    X = rng.standard_normal((n, d)) + 0.7 * (rng.standard_normal((n_classes, d)) * (np.arange(d) < 8))[y]
    if name.endswith("discrete"):  # counts, most of them 0, a constant column and a row that comes twice
        X = np.maximum(np.round(X), 0.0)
        X[:, 5], X[7], y[7] = 1.0, X[3], y[3]
    return X, y


@cache
def files() -> dict[str, Path]:
    folder = os.environ.get("MINIMAXRISK_DATA")
    return {path.stem: path for path in sorted(Path(folder).rglob("*.npz"))} if folder else {}


def there(*names: str) -> list[str]:
    """The problems whose data are at hand; the small ones always are."""
    return [name for name in names if name in SMALL or name in files()]


def _read(path: Path) -> tuple[Any, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        if "X" in file.files:
            return file["X"].astype(np.float64), file["y"]
        parts = (file["data"].astype(np.float64), file["indices"], file["indptr"])
        return sparse.csr_matrix(parts, shape=tuple(file["shape"])), file["y"]


def as_container(X: Any, container: str, folder: str = "") -> Any:
    if container == "sparse":
        return sparse.csr_matrix(X)
    X = X.toarray() if sparse.issparse(X) else X
    if container == "float32":
        X = X.astype(np.float32)
    elif container == "memory map":
        np.save(Path(folder, "X.npy"), X)
        X = np.load(Path(folder, "X.npy"), mmap_mode="r")
    elif container == "dask":
        X = import_module("dask.array").from_array(X, chunks=(-(-len(X) // 3), -1))
    elif container == "torch":
        X = import_module("torch").asarray(X, device="cuda")
    elif container != "dense":
        X = import_module(container).asarray(X)
    return X


@contextmanager
def dispatching(container: str) -> Iterator[None]:
    """What scikit-learn asks for before it takes arrays of other libraries."""
    if container not in ("array_api_strict", *ON_DEVICE):
        yield
        return
    os.environ["SCIPY_ARRAY_API"] = "1"
    try:
        with sklearn.config_context(array_api_dispatch=True):
            yield
    finally:
        del os.environ["SCIPY_ARRAY_API"]


# Fits.


def fit_items() -> Iterator[Item]:
    for name in (*SMALL, *files()):
        if name == "Dorothea":  # one-hot takes minutes; dense, it is read in blocks
            for container in ("sparse", "float32"):
                yield f"fit/{name}/{container}/signed/free", partial(fit, name, container, coding="signed")
            continue
        everywhere = name in SMALL or name in ("Colon", "GLIOMA", "Leukemia")
        for container in HERE if everywhere else ("dense",):
            yield from _fits("fit", name, container)
    yield "fit/data sets", lambda: list(files())


def solver_items() -> Iterator[Item]:
    for solver in ("interior-point", "constraint-generation", "full-lp", "first-order"):
        for name in ("two-wide", "two-tall", "three-wide", "five-tall"):
            yield from _fits(f"solver/{solver}", name, "dense", solver=solver)
        yield from _fits(f"solver/{solver}", "two-discrete", "sparse", solver=solver)
    for name in there("Colon", "GLIOMA"):
        yield from _fits("solver/constraint-generation", name, "dense", solver="constraint-generation")


def radius_items() -> Iterator[Item]:
    for radius in (0.3, 2.5, "bonferroni", "bootstrap"):
        for name in there("two-wide", "three-discrete", "Colon"):
            yield from _fits(f"radius/{radius}", name, "dense", radius=radius)
        yield f"radius/{radius}/sparse", partial(fit, "three-discrete", "sparse", radius=radius)
        yield f"radius/{radius}/dask", partial(fit, "two-tall", "dask", radius=radius)


def _fits(section: str, name: str, container: str, **more: Any) -> Iterator[Item]:
    codings = ("signed", "one-hot") if len(np.unique(problem(name)[1])) == 2 else ("one-hot",)
    for coding, marginal in product(codings, ("free", "empirical")):
        call = partial(fit, name, container, coding=coding, marginal=marginal, **more)
        yield f"{section}/{name}/{container}/{coding}/{marginal}", call


def fit(name: str, container: str, **parameters: Any) -> Any:
    X, y = problem(name)
    if container == "memory map":
        parameters["copy"] = False
    with tempfile.TemporaryDirectory() as folder, dispatching(container):
        return fit_on(as_container(X, container, folder), y, {}, **parameters)


def fit_on(X: Any, y: Any, given: Mapping[str, Any], **parameters: Any) -> Any:
    return described(library.MinimaxRiskClassifier(**parameters).fit(X, y, **given), X, y, **given)


def described(model: Any, X: Any, y: Any, **given: Any) -> dict[str, Any]:
    fitted = picked(
        model,
        "worst_case_error_ worst_case_error_lower_ selected_features_ coef_ intercept_ threshold_ "
        "tau_ lambda_ radius_ coverage_ worst_case_distribution_ feature_importances_ "
        "solver_ coding_ n_iter_ n_passes_ converged_",
    )
    answers = {"predictions": model.predict(X), "probabilities": model.predict_proba(X)}
    return fitted | answers | {"verify": verified(model, X, y, **given)}


def parameter_items() -> Iterator[Item]:
    choices: dict[str, dict[str, Any]] = {
        "no standardization": {"standardize": False},
        "no intercept": {"fit_intercept": False},
        "neither": {"standardize": False, "fit_intercept": False},
        "balanced": {"class_weight": "balanced"},
        "radius array": {"radius": np.full((1, 13), 0.05)},
        "loose gap": {"gap_tol": 0.05},
        "two iterations": {"solver": library.solvers.InteriorPoint(max_iter=2)},
        "drawn answers": {"deterministic": False, "random_state": 0},
        "first-order start": {"solver": library.solvers.ConstraintGeneration(initial_features="first-order")},
    }
    for (choice, parameters), container in product(choices.items(), ("dense", "sparse")):
        yield f"parameter/{choice}/{container}", partial(fit, "two-tall", container, **parameters)
    X, y = problem("five-tall")
    rng = np.random.default_rng(1)
    data: dict[str, dict[str, Any]] = {
        "counts": {"sample_weight": rng.integers(0, 4, len(y)).astype(float)},
        "importance": {"sample_weight": rng.uniform(0.1, 2.0, len(y))},
        "groups": {"groups": np.arange(len(y)) // 10 * 10 + y},
        "unlabeled": {"X_unlabeled": rng.standard_normal((30, X.shape[1]))},
    }
    for (kind, given), radius in product(data.items(), (1.0, "bootstrap")):
        yield f"parameter/{kind}/{radius}", partial(fit_on, X, y, given, radius=radius)


# The other estimators.


def estimator_items() -> Iterator[Item]:
    for name in ("two-wide", "three-discrete"):
        X, y = problem(name)
        for criterion in ("cross-validation", "noise-floor"):
            yield f"cv/{criterion}/{name}", partial(choose_radius, X, y, criterion=criterion)
        yield f"cv/best/{name}", partial(choose_radius, X, y, rule="best", scoring="neg_log_loss")
        yield f"ensemble/{name}", partial(average, X, y)
        yield f"ensemble/{name}/halves", partial(average, X, y, complementary=True, subsample=0.5)
        yield f"selector/{name}", partial(select, X, y, stability=False)
        yield f"selector/{name}/stability", partial(select, X, y, stability=True)
        for solver in ("constraint-generation", "full-lp"):
            yield f"svm/{name}/{solver}", partial(support_vectors, X, y, solver)
        for container in ("dense", "float32", "sparse"):
            yield f"scaler/{name}/{container}", partial(scale, as_container(X, container))
        yield f"fourier/{name}", partial(random_fourier_features, X, 20, 0)


def choose_radius(X: Any, y: Any, **parameters: Any) -> Any:
    model = library.MinimaxRiskClassifierCV(n_permutations=5, random_state=0, **parameters).fit(X, y)
    results = model.noise_results_ if hasattr(model, "noise_results_") else model.cv_results_
    return {"results": results, "model": described(model.estimator_, X, y)}


def average(X: Any, y: Any, **parameters: Any) -> Any:
    ensemble = library.MinimaxRiskEnsembleClassifier(n_estimators=10, random_state=0, **parameters)
    model = ensemble.fit(X, y)
    fitted = picked(
        model,
        "worst_case_error_ worst_case_error_lower_ oob_proba_ oob_error_ oob_error_interval_ in_bag_ "
        "selection_frequencies_ feature_importances_ selected_features_",
    )
    worst = {rule: worst_case(model, X, y, rule) for rule in RULES}
    return fitted | worst | {"probabilities": model.predict_proba(X), "verify": verified(model, X, y)}


def select(X: Any, y: Any, *, stability: bool) -> Any:
    model = library.MinimaxRiskSelector(stability=stability, n_subsamples=20, random_state=0).fit(X, y)
    result = {"support": model.get_support(indices=True)}
    if stability:
        bounds = "threshold low_probability meinshausen_buhlmann shah_samworth"
        result |= picked(model, "selection_frequencies_ n_selected_per_subsample_ average_selected_")
        result |= picked(model.false_selection_bounds_, bounds)
    return result


def support_vectors(X: Any, y: Any, solver: str) -> Any:
    model = library.L1SVMClassifier(solver=solver).fit(X, y)
    names = "alpha_ objective_ objective_lower_ coef_ intercept_ dual_coef_ n_iter_ selected_features_"
    return picked(model, names) | {"decisions": model.decision_function(X)}


def scale(X: Any) -> Any:
    scaler = library.ClippedScaler().fit(X)
    return picked(scaler, "centre_ scale_") | {"scaled": scaler.transform(X)}


# Functions.


def analysis_items() -> Iterator[Item]:
    for name in ("two-wide", "three-wide", "two-discrete"):
        X, y = problem(name)
        few: dict[str, Any] = {"radii": [0.5, 1.0, 2.0]}
        yield f"path/{name}", partial(risk_path, X, y)
        yield f"path/{name}/empirical", partial(risk_path, X, y, marginal="empirical", **few)
        yield f"path/{name}/sparse", partial(risk_path, sparse.csr_matrix(X), y, **few)
        for radius, marginal in product((1.0, "bootstrap"), ("free", "empirical")):
            parameters = {"radius": radius, "marginal": marginal}
            yield from _guarantees(f"{name}/{radius}/{marginal}", X, y, parameters)
        learner = library.MinimaxRiskClassifier()
        groups = np.arange(len(y)) // 6 * 6 + y
        yield f"holdout/{name}", partial(holdout_bound, learner, X, y)
        yield f"holdout/{name}/groups", partial(holdout_bound, learner, X, y, groups=groups)
        yield f"compare/{name}", partial(comparison, X, y)
        yield f"batches/{name}", partial(_of_model, batch_check, X, y, {})
        yield f"scale/{name}", partial(_of_model, training_scale, X, y, {})
    for name in there("Colon"):
        yield f"path/{name}", partial(risk_path, *problem(name), radii=[1, 2], breakpoints=True)


def _guarantees(where: str, X: Any, y: Any, parameters: dict[str, Any]) -> Iterator[Item]:
    new = np.random.default_rng(2).standard_normal((25, X.shape[1]))
    on_model = partial(partial, _of_model)
    for rule in RULES:
        yield f"worst case/{where}/{rule}", on_model(worst_case, X, y, parameters, rule)
        yield f"guaranteed/{where}/{rule}", on_model(bound_by_radii, X, y, parameters, rule)
        yield f"guaranteed/{where}/{rule}/new", on_model(bound_by_radii, X, y, parameters, rule, new)
    yield f"best/{where}", on_model(best_bound, X, y, parameters)
    yield f"best/{where}/new", on_model(best_bound, X, y, parameters, X_new=new, n_folds=4)


def _of_model(call: Any, X: Any, y: Any, parameters: dict[str, Any], *more: Any, **named: Any) -> Any:
    return call(library.MinimaxRiskClassifier(**parameters).fit(X, y), X, y, *more, **named)


def permutation_items() -> Iterator[Item]:
    sizes = {"two-wide": 100, "two-discrete": 100, "three-wide": 20, "Colon": 100, "GLIOMA": 10}
    for name in there(*sizes):
        y, size = problem(name)[1], sizes[name]
        for container in ("dense", "sparse"):
            yield f"permutations/{name}/{container}", partial(permute, name, container, size)
        halves = {"strata": np.arange(len(y)) * 2 // len(y)}
        # Neighbours among the samples of a class.
        pairs = {"groups": y * len(y) + np.argsort(np.argsort(y, kind="stable")) // 2}
        yield f"permutations/{name}/strata", partial(permute, name, "dense", size // 5, halves)
        yield f"permutations/{name}/groups", partial(permute, name, "dense", size // 5, pairs)
    for container in ("float32", "dask", "array_api_strict"):
        yield f"permutations/two-wide/{container}", partial(permute, "two-wide", container, 20)
    choices = {"coding": "one-hot", "marginal": "empirical", "radius": "bootstrap"}
    for parameter, value in (*choices.items(), ("solver", "constraint-generation")):
        chosen: dict[str, Any] = {parameter: value}
        yield f"permutations/two-wide/{value}", partial(permute, "two-wide", "dense", 20, **chosen)
    pipeline = make_pipeline(library.ClippedScaler(), library.MinimaxRiskClassifier())
    yield (
        "permutations/pipeline",
        partial(permutation_test, pipeline, *problem("two-wide"), n_permutations=20),
    )


def permute(
    name: str, container: str, size: int, given: Mapping[str, Any] | None = None, **parameters: Any
) -> Any:
    X, y = problem(name)
    model = library.MinimaxRiskClassifier(**parameters)
    with dispatching(container):
        return permutation_test(model, as_container(X, container), y, n_permutations=size, **(given or {}))


def simulation_items() -> Iterator[Item]:
    expression = partial(make_expression, 40, 100, n_informative=10, effect=1.0, random_state=0)
    for name, make in (("expression", expression), ("text", partial(make_text, 50, 300, random_state=0))):
        yield f"simulation/{name}", lambda make=make: picked(make(), "data target")  # type: ignore[misc]


def device_items() -> Iterator[Item]:
    for container in ON_DEVICE:
        for name in there("two-wide", "two-tall", "three-wide", "five-tall", "Colon", "GLIOMA"):
            yield from _fits("device", name, container)
        for name in there("two-wide", "three-wide", "Colon"):
            yield f"device/permutations/{name}/{container}", partial(permute, name, container, 200)


# The command line, in a folder with a small study in several formats.

GENES = [
    *(f"gene {j}" for j in range(20)),
    "with, comma",
    "<script>alert('x')</script>",
    "emoji 🧬",
    "a.b[c]",
]
TABLE = "study.csv --target diagnosis --ignore plate"
VISITS = "visits.csv --target diagnosis --groups visit --batch plate"
EFFORT = "--permutations 20 --folds 4 --radii 5"
FIRST = f"fit {TABLE} --out model.skops"
COMMANDS = (
    FIRST,
    f"fit {TABLE} --json",
    "fit semicolon.csv --target diagnosis --ignore plate --json",
    "fit genes.csv --target diagnosis --labels labels.tsv --json",
    "fit study.xlsx --target diagnosis --json",
    "fit study.gct --target diagnosis --labels labels.tsv --json",
    "fit study.h5ad --target diagnosis --json",
    "fit study.npz --target y --json",
    "fit three.csv --target diagnosis --ignore plate --json",
    f"fit {TABLE} --scale clip --json",
    f"fit {TABLE} --radius bootstrap --json",
    f"fit {TABLE} --marginal empirical --json",
    f"fit {TABLE} --permutations 50 --json",
    f"fit {VISITS} --json",
    "fit missing.csv --target diagnosis --ignore plate --impute median --json",
    f"fit {TABLE} --genes selected.csv",
    f"fit study.csv --target diagnosis --batch plate --report plates.html {EFFORT}",
    f"fit {VISITS} --radius bootstrap --marginal empirical --report bound.html {EFFORT}",
    f"fit three.csv --target diagnosis --ignore plate --report three.html {EFFORT}",
    "predict model.skops new.csv",
    "predict model.skops new.csv --json",
    "predict model.skops thousandfold.csv",
    "predict model.skops thousandfold.csv --strict",
    "predict model.skops few.csv --only-used",
    "predict model.skops few.csv",
    "verify model.skops study.csv",
    "verify model.skops study.csv --json",
    "verify model.skops other.csv --json",
    f"report model.skops study.csv --out report.html {EFFORT} --compare",
    "report model.skops other.csv --out other.html",
    "fit study.csv --target diagnosys",
    "fit absent.csv --target diagnosis",
    f"fit {TABLE} --radius -1",
    "fit missing.csv --target diagnosis",
)


def command_items() -> Iterator[Item]:
    for line in COMMANDS:
        yield f"command/{line}", partial(run_command, line)
    for name in ("fit", "predict", "verify", "report"):
        yield f"command/options of {name}", partial(options_of, name)


def options_of(name: str) -> list[str]:
    return sorted(set(re.findall(r"--[a-z][a-z-]*", str(command(name, "--help")["out"]))))


def run_command(line: str) -> Any:
    arguments = shlex.split(line)
    with chdir(command_folder().name):
        result = command(*arguments)
        for path in map(Path, arguments):
            if path.suffix == ".html" and path.exists():
                result["page"] = text_of_page(path.read_text("utf-8"))
            if path.name == "selected.csv":
                result["genes"] = path.read_text("utf-8")
    return result


@cache
def command_folder() -> tempfile.TemporaryDirectory[str]:
    """With the tables and a model; it lives as long as the process."""
    folder = tempfile.TemporaryDirectory()
    with chdir(folder.name):
        write_tables()
        command(*shlex.split(FIRST))
    return folder


def write_tables() -> None:
    anndata, pd = import_module("anndata"), import_module("pandas")
    n = 40
    rng, i = np.random.default_rng(3), np.arange(n)
    y = np.where(i % 2 == 0, "ill", "well")
    X = (rng.standard_normal((n, len(GENES))) + 1.2 * np.outer(y == "ill", np.arange(len(GENES)) < 4)).round(
        6
    )
    patients = pd.Index([f"patient {j}" for j in i], name="patient")
    genes = pd.DataFrame(X, columns=GENES, index=patients)
    study = genes.assign(plate=np.where(i % 3 == 0, "p1", "p2"), diagnosis=y)
    study.to_csv("study.csv")
    study.to_csv("semicolon.csv", sep=";", decimal=",")
    study.drop(columns="plate").to_excel("study.xlsx")
    study.assign(diagnosis=i % 3).to_csv("three.csv")
    study.assign(visit=i // 4 * 2 + i % 2).to_csv("visits.csv")
    study.assign(**{"gene 0": genes["gene 0"] + 0.5}).to_csv("other.csv")
    study.assign(**{"gene 5": genes["gene 5"].where(i != 3)}).to_csv("missing.csv")
    study[["diagnosis"]].iloc[::-1].to_csv("labels.tsv", sep="\t")
    genes.iloc[:6].to_csv("new.csv")
    (1000 * genes.iloc[:6]).to_csv("thousandfold.csv")
    genes.iloc[:6].drop(columns="gene 19").to_csv("few.csv")
    genes.T.to_csv("genes.csv", index_label="gene")
    gct = genes.T.rename_axis("Name").reset_index()
    gct.insert(1, "Description", "na")
    text = gct.to_csv(sep="\t", index=False, lineterminator="\n")
    Path("study.gct").write_text(f"#1.2\n{len(GENES)}\t{n}\n{text}", "utf-8")
    np.savez("study.npz", X=X, y=y, feature_names=GENES, sample_names=patients.to_numpy(str))
    cells = anndata.AnnData(X=sparse.csr_matrix(X), obs=study[["diagnosis"]], var=pd.DataFrame(index=GENES))
    cells.write_h5ad("study.h5ad")


def text_of_page(page: str) -> str:
    """Its words, a line per element, and a line per row of a table."""
    page = re.sub(r"(?s)<(script|style)\b.*?</\1>", "", page)
    page = re.sub(r"(?s)<table\b.*?</table>", lambda table: _text_of_table(table[0]), page)
    lines = re.sub(r"<[^>]*>", "\n", page).splitlines()
    return without_times("\n".join(" ".join(line.split()) for line in lines if line.strip()))


def _text_of_table(table: str) -> str:
    """Without the columns whose names speak of seconds."""
    rows = [re.findall(r"(?s)<t[dh]\b.*?</t[dh]>", row) for row in re.findall(r"(?s)<tr\b.*?</tr>", table)]
    kept = [j for j, name in enumerate(rows[0]) if "second" not in name] if rows else []
    words = [[re.sub(r"<[^>]*>", "", row[j]) for j in kept if j < len(row)] for row in rows]
    return "<p>".join(["", *(" | ".join(row) for row in words), ""])


def without_times(text: str) -> str:
    return re.sub(r"\b\d+(\.\d+)? ?(ms|s|seconds?|minutes?)\b", "SECONDS", text)


def parsed(text: str) -> Any:
    def of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {name: value for name, value in pairs if "seconds" not in name}

    try:
        return json.loads(text, object_pairs_hook=of_pairs)
    except ValueError:
        return without_times(text)


SECTIONS = (
    *(fit_items, solver_items, radius_items, parameter_items, estimator_items, analysis_items),
    *(permutation_items, simulation_items, command_items),
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.record")
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write")
    writing.add_argument("out", type=Path)
    writing.add_argument("--only", default="", metavar="PREFIX", help="items whose names begin so")
    writing.add_argument("--device", choices=["cuda"], help="arrays on a GPU, and nothing else")
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    given = parser.parse_args(arguments)
    if given.command == "compare":
        return 0 if compare_records(given.old, given.new) else 1
    sections = (device_items,) if given.device else SECTIONS
    with threadpool_limits(1):
        write_record(given.out, chain.from_iterable(section() for section in sections), given.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
