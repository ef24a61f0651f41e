"""A record of what the library computes, to be compared before and after a change that must not alter it.

``python -m experiments.record write OUT.json`` runs everything below with fixed seeds and one BLAS thread.
``--only PREFIX`` runs the items whose names begin so, ``--device cuda`` those for arrays on a GPU instead.
``python -m experiments.record compare A.json B.json`` prints every difference; exit status 1 if there is any.

Floats are stored with all their digits, so that every bit counts. An array is stored as a hash, with a few
numbers that tell how large a difference is. All data are made here or read from the files of
``MINIMAXRISK_DATA``, so that only the section "datasets" depends on the simulations of the library.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import cache, partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from minimaxrisk import ClippedScaler, L1SVMClassifier, MinimaxRiskClassifier, MinimaxRiskClassifierCV
from minimaxrisk import MinimaxRiskEnsembleClassifier, MinimaxRiskSelector, RandomFourierFeatures
from minimaxrisk import best_guarantee as library_best_guarantee
from minimaxrisk import check_batches as library_check_batches
from minimaxrisk import compare as library_compare
from minimaxrisk import error_bounds as library_error_bounds
from minimaxrisk import holdout_bound as library_holdout_bound
from minimaxrisk import minimax_risk_path as library_path
from minimaxrisk import permutation_test as library_permutation_test
from minimaxrisk import training_scale as library_training_scale
from minimaxrisk import verify as library_verify
from minimaxrisk.cli import main as library_command
from minimaxrisk.datasets import make_expression, make_text

Item = tuple[str, Callable[[], Any]]
Arrays = tuple[Any, np.ndarray]


# The calls whose names or arguments may change. The names of what they return belong to the record.


def permutation_test(model: Any, X: Any, y: Any, *, strata: Any = None, groups: Any = None, **more: Any) -> Any:
    result = library_permutation_test(model, X, y, groups=strata, replicates=groups, random_state=0, **more)
    return picked(result, "statistic", "pvalue", "null_distribution", "gap_tol")


def worst_case(model: Any, X: Any, y: Any, rule: str, **more: Any) -> Any:
    return picked(library_error_bounds(model, X, y, rule, **more), "lower", "upper", "lower_gap", "upper_gap")


def best_guarantee(model: Any, X: Any, y: Any, **more: Any) -> Any:
    result = library_best_guarantee(model, X, y, random_state=0, **more)
    names = ("value", "kind", "rule", "marginal", "n_train", "confidence", "valid")
    statements = [picked(statement, *names) for statement in result.statements]
    return {"value": float(result), "statements": statements, "left_out": sorted(result.left_out)}


def holdout_bound(model: Any, X: Any, y: Any, **more: Any) -> Any:
    result = library_holdout_bound(model, X, y, random_state=0, **more)
    return picked(result, "value", "n_errors", "n_test", "n_train", "confidence")


def guaranteed_error(model: Any, X: Any, y: Any, rule: str, X_new: Any = None) -> Any:
    result = model.guaranteed_error(X_new, rule=rule, training_data=(X, y))
    names = ("mean", "standard_error", "upper", "n_instances", "n_exceeding")
    return picked(result, "value", "worst_case_error", "confidence") | picked(result.exceedance, *names)


def risk_path(X: Any, y: Any, **more: Any) -> Any:
    path = library_path(X, y, **more)
    names = ("radii", "worst_case_error", "lower", "breakpoints", "breakpoint_errors", "n_passes", "coefs")
    return picked(path, *names)


def comparison(X: Any, y: Any, **more: Any) -> Any:
    rivals = {"minimax": MinimaxRiskClassifier(), "logistic": LogisticRegression(max_iter=2000)}
    return picked(library_compare(rivals, X, y, **more), "names", "errors", "n_features", "test_share")


def batch_check(model: Any, X: Any, y: Any, batch: Any, **more: Any) -> Any:
    result = library_check_batches(model, X, y, batch, **more)
    return picked(result, "counts", "n_wrong", "n_wrong_majority", "n_wrong_by_class")


def training_scale(model: Any, X: Any, y: Any) -> Any:
    scale = library_training_scale(model, X, y)
    names = ("columns", "means", "spread", "lowest", "highest", "largest_distance", "profile")
    shifted = picked(scale.compare(1000.0 * X), "differs", "outside", "whole", "looks_like")
    return picked(scale, *names) | {"of 1000 X": shifted}


def command(*arguments: str) -> dict[str, Any]:
    """Exit status and output; a JSON object as such, so that its numbers can be compared."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = library_command(list(arguments))
    text: Any = out.getvalue()
    return {"status": status, "out": _parsed(text), "err": plain(err.getvalue())}


def picked(result: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(result, name) for name in names}


# Data.


@cache
def small_problem(name: str) -> Arrays:
    n_classes, n, d = SMALL[name]
    rng = np.random.default_rng([n_classes, n, d])
    y = np.arange(n) % n_classes
    X = rng.standard_normal((n, d)) + 0.7 * (rng.standard_normal((n_classes, d)) * (np.arange(d) < 8))[y]
    if name.endswith("discrete"):  # counts, most of them 0, a constant column and a row that comes twice
        X = np.maximum(np.round(X), 0.0)
        X[:, 5], X[7], y[7] = 1.0, X[3], y[3]
    return X, y


# Classes, samples and columns.
SMALL = {
    "two-wide": (2, 30, 200),
    "two-tall": (2, 150, 12),
    "two-discrete": (2, 40, 60),
    "three-wide": (3, 36, 120),
    "three-discrete": (3, 60, 80),
    "five-tall": (5, 200, 15),
}


@cache
def real_files() -> dict[str, Path]:
    folder = os.environ.get("MINIMAXRISK_DATA")
    return {path.stem: path for path in sorted(Path(folder).rglob("*.npz"))} if folder else {}


@cache
def real_problem(name: str) -> Arrays:
    with np.load(real_files()[name], allow_pickle=False) as file:
        if "X" in file.files:
            return file["X"].astype(np.float64), file["y"]
        parts = (file["data"].astype(np.float64), file["indices"], file["indptr"])
        return sparse.csr_matrix(parts, shape=tuple(file["shape"])), file["y"]


def problem(name: str) -> Arrays:
    return small_problem(name) if name in SMALL else real_problem(name)


def as_container(X: Any, container: str, folder: Path | None = None) -> Any:
    if container == "sparse":
        return sparse.csr_matrix(X)
    X = X.toarray() if sparse.issparse(X) else X
    if container == "float32":
        return X.astype(np.float32)
    if container == "memory map":
        assert folder is not None
        np.save(folder / "X.npy", X)
        return np.load(folder / "X.npy", mmap_mode="r")
    if container == "dask":
        import dask.array  # noqa: PLC0415

        return dask.array.from_array(X, chunks=(-(-len(X) // 3), -1))
    if container == "array-api-strict":
        import array_api_strict  # noqa: PLC0415

        return array_api_strict.asarray(X)
    if container == "torch":
        import torch  # noqa: PLC0415

        return torch.asarray(X, device="cuda")
    if container == "cupy":
        import cupy  # noqa: PLC0415

        return cupy.asarray(X)
    return X


CONTAINERS = ("dense", "float32", "memory map", "sparse", "dask", "array-api-strict")
ELSEWHERE = ("array-api-strict", "torch", "cupy")


@contextmanager
def dispatching(container: str) -> Iterator[None]:
    """What scikit-learn asks for before it takes arrays of other libraries."""
    if container not in ELSEWHERE:
        yield
        return
    os.environ["SCIPY_ARRAY_API"] = "1"
    try:
        with sklearn.config_context(array_api_dispatch=True):
            yield
    finally:
        del os.environ["SCIPY_ARRAY_API"]


# Items: a name and what computes it.


def fitted_items() -> Iterator[Item]:
    for name in SMALL:
        for container in CONTAINERS:
            yield from _fits("fit", name, container)
    yield "fit/data sets", lambda: list(real_files())
    for name in real_files():
        if name == "Dorothea":  # one-hot takes minutes; dense, it is read in blocks
            for container in ("sparse", "float32"):
                yield f"fit/{name}/{container}/signed/free", partial(fit, name, container, coding="signed")
            continue
        for container in CONTAINERS if name in ("Colon", "GLIOMA", "Leukemia") else ("dense",):
            yield from _fits("fit", name, container)


def _fits(section: str, name: str, container: str, **more: Any) -> Iterator[Item]:
    n_classes = len(np.unique(problem(name)[1]))
    for coding in ("signed", "one-hot") if n_classes == 2 else ("one-hot",):
        for marginal in ("free", "empirical"):
            call = partial(fit, name, container, coding=coding, marginal=marginal, **more)
            yield f"{section}/{name}/{container}/{coding}/{marginal}", call


def fit(name: str, container: str, **parameters: Any) -> Any:
    X, y = problem(name)
    if container == "memory map":
        parameters["copy"] = False
    with tempfile.TemporaryDirectory() as folder, dispatching(container):
        held = as_container(X, container, Path(folder))
        return described(MinimaxRiskClassifier(**parameters).fit(held, y), held, y)


def described(model: Any, X: Any, y: Any, **given: Any) -> dict[str, Any]:
    certificate = library_verify(model, X, y, **given)
    fitted = ("worst_case_error_", "worst_case_error_lower_", "selected_features_", "coef_", "intercept_")
    fitted += ("threshold_", "tau_", "lambda_", "radius_", "coverage_", "worst_case_distribution_")
    fitted += ("feature_importances_", "solver_", "coding_", "n_iter_", "n_passes_", "converged_")
    return picked(model, *fitted) | {
        "predictions": model.predict(X),
        "probabilities": model.predict_proba(X),
        "verify": picked(certificate, "valid", "lower", "upper"),
    }


def solver_items() -> Iterator[Item]:
    for solver in ("interior-point", "constraint-generation", "full-lp", "first-order"):
        for name in ("two-wide", "two-tall", "three-wide", "five-tall"):
            yield from _fits(f"solver/{solver}", name, "dense", solver=solver)
        yield from _fits(f"solver/{solver}", "two-discrete", "sparse", solver=solver)
    for name in ("Colon", "GLIOMA"):
        if name in real_files():
            yield from _fits("solver/constraint-generation", name, "dense", solver="constraint-generation")


def parameter_items() -> Iterator[Item]:
    rules: tuple[Any, ...] = (0.3, 2.5, "bonferroni", "bootstrap")
    for radius in rules:
        for name in ("two-wide", "three-discrete", "Colon"):
            if name in SMALL or name in real_files():
                yield from _fits(f"radius/{radius}", name, "dense", radius=radius)
        yield f"radius/{radius}/sparse", partial(fit, "three-discrete", "sparse", radius=radius)
        yield f"radius/{radius}/dask", partial(fit, "two-tall", "dask", radius=radius)
    choices: dict[str, dict[str, Any]] = {
        "no standardization": {"standardize": False},
        "no intercept": {"fit_intercept": False},
        "neither": {"standardize": False, "fit_intercept": False},
        "balanced": {"class_weight": "balanced"},
        "radius array": {"radius": np.full((1, 13), 0.05)},
        "loose gap": {"gap_tol": 0.05},
        "two iterations": {"max_iter": 2},
        "drawn answers": {"deterministic": False, "random_state": 0},
        "first-order start": {"solver": "constraint-generation", "initial_features": "first-order"},
    }
    for choice, parameters in choices.items():
        for container in ("dense", "sparse"):
            yield f"parameter/{choice}/{container}", partial(fit, "two-tall", container, **parameters)
    X, y = problem("five-tall")
    rng = np.random.default_rng(1)
    data: dict[str, dict[str, Any]] = {
        "counts": {"sample_weight": rng.integers(0, 4, len(y)).astype(float)},
        "importance": {"sample_weight": rng.uniform(0.1, 2.0, len(y))},
        "groups": {"groups": np.arange(len(y)) // 10 * 10 + y},
        "unlabeled": {"X_unlabeled": rng.standard_normal((30, X.shape[1]))},
    }
    for kind, given in data.items():
        for radius in (1.0, "bootstrap"):
            yield f"parameter/{kind}/{radius}", partial(_fit_with, X, y, radius, given)


def _fit_with(X: Any, y: Any, radius: Any, given: Mapping[str, Any]) -> Any:
    return described(MinimaxRiskClassifier(radius=radius).fit(X, y, **given), X, y, **given)


def estimator_items() -> Iterator[Item]:
    for name in ("two-wide", "three-discrete"):
        for criterion in ("cross-validation", "noise-floor"):
            yield f"cv/{criterion}/{name}", partial(choose_radius, name, criterion=criterion)
        yield f"cv/best/{name}", partial(choose_radius, name, rule="best", scoring="neg_log_loss")
        for complementary in (False, True):
            yield f"ensemble/{name}/{complementary=}", partial(average, name, complementary)
        for stability in (False, True):
            yield f"selector/{name}/{stability=}", partial(select, name, stability)
        for solver in ("constraint-generation", "full-lp"):
            yield f"svm/{name}/{solver}", partial(support_vectors, name, solver)
        for container in ("dense", "float32", "sparse"):
            yield f"scaler/{name}/{container}", partial(scale, name, container)
    yield "fourier", partial(fourier, "five-tall")


def choose_radius(name: str, **parameters: Any) -> Any:
    X, y = problem(name)
    model = MinimaxRiskClassifierCV(n_permutations=5, random_state=0, **parameters).fit(X, y)
    results = getattr(model, "cv_results_", None) or model.noise_results_
    return {"radius": model.radius_, "results": dict(results), "model": described(model.estimator_, X, y)}


def average(name: str, complementary: bool) -> Any:
    X, y = problem(name)
    subsample = 0.5 if complementary else 0.8
    model = MinimaxRiskEnsembleClassifier(
        n_estimators=10, subsample=subsample, complementary=complementary, random_state=0
    ).fit(X, y)
    names = ("worst_case_error_", "worst_case_error_lower_", "oob_proba_", "oob_error_", "oob_error_interval_")
    names += ("selection_frequencies_", "feature_importances_", "selected_features_", "in_bag_")
    result = picked(model, *names) | {"probabilities": model.predict_proba(X)}
    result["verify"] = picked(library_verify(model, X, y), "valid", "lower", "upper")
    return result | {"worst case": [worst_case(model, X, y, rule) for rule in RULES]}


def select(name: str, stability: bool) -> Any:
    X, y = problem(name)
    model = MinimaxRiskSelector(stability=stability, n_subsamples=20, random_state=0).fit(X, y)
    result = {"support": model.get_support(indices=True)}
    if stability:
        bounds = ("threshold", "low_probability", "meinshausen_buhlmann", "shah_samworth")
        result |= picked(model, "selection_frequencies_", "n_selected_per_subsample_", "average_selected_")
        result |= picked(model.false_selection_bounds_, *bounds)
    return result


def support_vectors(name: str, solver: str) -> Any:
    X, y = problem(name)
    model = L1SVMClassifier(solver=solver).fit(X, y)
    names = ("alpha_", "objective_", "objective_lower_", "coef_", "intercept_", "dual_coef_", "n_iter_")
    return picked(model, *names, "selected_features_") | {"decisions": model.decision_function(X)}


def scale(name: str, container: str) -> Any:
    X = as_container(problem(name)[0], container)
    scaler = ClippedScaler().fit(X)
    scaled = scaler.transform(X)
    return picked(scaler, "centre_", "scale_") | {
        "scaled": scaled.toarray() if sparse.issparse(scaled) else scaled
    }


def fourier(name: str) -> Any:
    return RandomFourierFeatures(20, random_state=0).fit_transform(problem(name)[0])


RULES = ("randomized", "argmax")


def analysis_items() -> Iterator[Item]:
    for name in ("two-wide", "three-wide", "two-discrete"):
        X, y = problem(name)
        new = np.random.default_rng(2).standard_normal((25, X.shape[1]))
        yield f"path/{name}", partial(risk_path, X, y)
        yield f"path/{name}/empirical", partial(risk_path, X, y, radii=[0.5, 1.0, 2.0], marginal="empirical")
        yield f"path/{name}/sparse", partial(risk_path, sparse.csr_matrix(X), y, radii=[0.5, 1.0, 2.0])
        for radius in (1.0, "bootstrap"):
            for marginal in ("free", "empirical"):
                where = f"{name}/{radius}/{marginal}"
                model = cache(partial(_fitted, X, y, radius, marginal))
                for rule in RULES:
                    yield f"worst case/{where}/{rule}", _late(worst_case, model, X, y, rule)
                    yield f"guaranteed/{where}/{rule}", _late(guaranteed_error, model, X, y, rule)
                    yield f"guaranteed/{where}/{rule}/new", _late(guaranteed_error, model, X, y, rule, new)
                yield f"best/{where}", _late(best_guarantee, model, X, y)
                yield f"best/{where}/new", _late(best_guarantee, model, X, y, X_new=new, n_folds=4)
        yield f"holdout/{name}", partial(holdout_bound, MinimaxRiskClassifier(), X, y)
        groups = np.arange(len(y)) // 6 * 6 + y
        yield f"holdout/{name}/groups", partial(holdout_bound, MinimaxRiskClassifier(), X, y, groups=groups)
        yield f"compare/{name}", partial(comparison, X, y, n_repeats=2)
        model = cache(partial(_fitted, X, y, 1.0, "free"))
        yield f"batches/{name}", _late(batch_check, model, X, y, np.arange(len(y)) * 3 // len(y))
        yield f"scale/{name}", _late(training_scale, model, X, y)
    if "Colon" in real_files():
        yield "path/Colon/breakpoints", lambda: risk_path(*problem("Colon"), radii=[1, 2], breakpoints=True)


def _fitted(X: Any, y: Any, radius: Any, marginal: str) -> Any:
    return MinimaxRiskClassifier(radius=radius, marginal=marginal).fit(X, y)


def _late(call: Callable[..., Any], model: Callable[[], Any], *arguments: Any, **more: Any) -> Callable[[], Any]:
    """The call, with a model that is fitted when an item needs it, once."""
    return lambda: call(model(), *arguments, **more)


def permutation_items() -> Iterator[Item]:
    sizes = {"two-wide": 100, "two-discrete": 100, "three-wide": 20, "Colon": 100, "GLIOMA": 10}
    for name, size in sizes.items():
        if name in SMALL or name in real_files():
            for container in ("dense", "sparse"):
                yield f"permutations/{name}/{container}", partial(permute, name, container, size)
            yield f"permutations/{name}/strata", partial(permute, name, "dense", size // 5, strata=True)
            yield f"permutations/{name}/groups", partial(permute, name, "dense", size // 5, groups=True)
    for container in ("float32", "dask", "array-api-strict"):
        yield f"permutations/two-wide/{container}", partial(permute, "two-wide", container, 20)
    more: dict[str, dict[str, Any]] = {
        "one-hot": {"coding": "one-hot"},
        "empirical": {"marginal": "empirical"},
        "bootstrap": {"radius": "bootstrap"},
        "constraint generation": {"solver": "constraint-generation"},
    }
    for kind, parameters in more.items():
        yield f"permutations/two-wide/{kind}", partial(permute, "two-wide", "dense", 20, **parameters)
    X, y = problem("two-wide")
    pipeline = make_pipeline(ClippedScaler(), MinimaxRiskClassifier())
    yield "permutations/pipeline", partial(permutation_test, pipeline, X, y, n_permutations=20)


def permute(
    name: str, container: str, size: int, strata: bool = False, groups: bool = False, **parameters: Any
) -> Any:
    X, y = problem(name)
    in_classes = np.argsort(np.argsort(y, kind="stable"))  # neighbours have the same label, but for a few
    given = {
        "strata": np.arange(len(y)) * 2 // len(y) if strata else None,
        "groups": y * len(y) + in_classes // 2 if groups else None,
    }
    with dispatching(container):
        model = MinimaxRiskClassifier(**parameters)
        return permutation_test(model, as_container(X, container), y, n_permutations=size, **given)


def simulation_items() -> Iterator[Item]:
    def expression(**more: Any) -> Any:
        study = make_expression(40, 100, n_informative=10, effect=1.0, random_state=0, **more)
        return {"X": study.data, "y": study.target}

    def text() -> Any:
        texts = make_text(50, 300, random_state=0)
        return {"X": texts.data.toarray(), "y": texts.target}

    yield "datasets/make_expression", expression
    yield "datasets/make_text", text


# The command line.

GENES = [*(f"gene {j}" for j in range(20)), "with, comma", "<script>alert('x')</script>", "emoji 🧬", "a.b[c]"]


def write_tables() -> None:
    """A study in several formats, in the current folder."""
    import anndata  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415

    rng = np.random.default_rng(3)
    n = 40
    y = np.where(np.arange(n) % 2 == 0, "ill", "well")
    X = rng.standard_normal((n, len(GENES)))
    X[:, :4] += 1.2 * (y == "ill")[:, None]
    patients = pd.Index([f"patient {i}" for i in range(n)], name="patient")
    genes = pd.DataFrame(X.round(6), columns=GENES, index=patients)
    study = genes.assign(plate=np.where(np.arange(n) % 3 == 0, "p1", "p2"), diagnosis=y)
    study.to_csv("study.csv")
    study.to_csv("semicolon.csv", sep=";", decimal=",")
    genes.T.to_csv("genes.csv", index_label="gene")
    study[["diagnosis"]].iloc[::-1].to_csv("labels.tsv", sep="\t")
    study.drop(columns="plate").to_excel("study.xlsx")
    turned = genes.T.reset_index(names="Name")
    turned.insert(1, "Description", "na")
    text = turned.to_csv(sep="\t", index=False, lineterminator="\n")
    Path("study.gct").write_text(f"#1.2\n{len(GENES)}\t{n}\n{text}", encoding="utf-8")
    obs, var = study[["diagnosis"]], pd.DataFrame(index=GENES)
    anndata.AnnData(X=sparse.csr_matrix(genes.to_numpy()), obs=obs, var=var).write_h5ad("study.h5ad")
    np.savez("study.npz", X=genes.to_numpy(), y=y, feature_names=GENES, sample_names=patients.to_numpy(str))
    study.assign(diagnosis=np.arange(n) % 3).to_csv("three.csv")
    study.assign(visit=np.arange(n) // 4 * 2 + np.arange(n) % 2).to_csv("visits.csv")
    study.mask(study == study.iloc[3, 5]).to_csv("missing.csv")
    genes.iloc[:6].to_csv("new.csv")
    (1000 * genes.iloc[:6]).to_csv("other scale.csv")
    genes.iloc[:6, :8].to_csv("few.csv")


MADE_BY_FIRST = ("fit", "study.csv", "--target", "diagnosis", "--ignore", "plate", "--out", "model.skops")
LABELLED = ("--target", "diagnosis")
SHORT = ("--permutations", "20", "--folds", "4", "--radii", "5")
# What each command is; those after the first read what it has written. A page that is written is kept too.
COMMANDS: dict[str, tuple[str, ...]] = {
    "fit": MADE_BY_FIRST,
    "fit csv": ("fit", "study.csv", *LABELLED, "--ignore", "plate", "--json"),
    "fit semicolon": ("fit", "semicolon.csv", *LABELLED, "--ignore", "plate", "--json"),
    "fit genes in rows": ("fit", "genes.csv", *LABELLED, "--labels", "labels.tsv", "--json"),
    "fit xlsx": ("fit", "study.xlsx", *LABELLED, "--json"),
    "fit gct": ("fit", "study.gct", *LABELLED, "--labels", "labels.tsv", "--json"),
    "fit h5ad": ("fit", "study.h5ad", *LABELLED, "--json"),
    "fit npz": ("fit", "study.npz", "--target", "y", "--json"),
    "fit three classes": ("fit", "three.csv", *LABELLED, "--ignore", "plate", "--json"),
    "fit clipped": ("fit", "study.csv", *LABELLED, "--ignore", "plate", "--scale", "clip", "--json"),
    "fit bootstrap": ("fit", "study.csv", *LABELLED, "--ignore", "plate", "--radius", "bootstrap", "--json"),
    "fit empirical": ("fit", "study.csv", *LABELLED, "--ignore", "plate", "--marginal", "empirical", "--json"),
    "fit permutations": ("fit", "study.csv", *LABELLED, "--ignore", "plate", "--permutations", "50", "--json"),
    "fit groups": ("fit", "visits.csv", *LABELLED, "--groups", "visit", "--batch", "plate", "--json"),
    "fit imputed": ("fit", "missing.csv", *LABELLED, "--ignore", "plate", "--impute", "median", "--json"),
    "fit genes": ("fit", "study.csv", *LABELLED, "--ignore", "plate", "--genes", "selected.csv"),
    "fit report": ("fit", "study.csv", *LABELLED, "--batch", "plate", "--report", "fit.html", *SHORT),
    "fit report bound": (
        *("fit", "visits.csv", *LABELLED, "--groups", "visit", "--batch", "plate", "--radius", "bootstrap"),
        *("--marginal", "empirical", "--report", "bound.html", *SHORT),
    ),
    "fit report three": ("fit", "three.csv", *LABELLED, "--ignore", "plate", "--report", "three.html", *SHORT),
    "predict": ("predict", "model.skops", "new.csv"),
    "predict json": ("predict", "model.skops", "new.csv", "--json"),
    "predict other scale": ("predict", "model.skops", "other scale.csv"),
    "predict strict": ("predict", "model.skops", "other scale.csv", "--strict"),
    "predict few": ("predict", "model.skops", "few.csv", "--only-used"),
    "verify": ("verify", "model.skops", "study.csv"),
    "verify json": ("verify", "model.skops", "study.csv", "--json"),
    "verify other data": ("verify", "model.skops", "visits.csv", "--json"),
    "report": ("report", "model.skops", "study.csv", "--out", "report.html", *SHORT, "--compare"),
    "wrong target": ("fit", "study.csv", "--target", "diagnosys"),
    "wrong file": ("fit", "absent.csv", *LABELLED),
    "wrong option": ("fit", "study.csv", *LABELLED, "--radius", "-1"),
    "missing values": ("fit", "missing.csv", *LABELLED),
    "wrong table": ("predict", "model.skops", "few.csv"),
}


def command_items() -> Iterator[Item]:
    for name, arguments in COMMANDS.items():
        yield f"command/{name}", partial(run_command, arguments)
    for name in ("fit", "predict", "verify", "report"):
        yield f"command/options of {name}", partial(options_of, name)


def options_of(name: str) -> list[str]:
    return sorted(set(re.findall(r"--[a-z][a-z-]*", str(command(name, "--help")["out"]))))


@cache
def command_folder() -> tempfile.TemporaryDirectory[str]:
    """With the tables and a model; it lives as long as the process."""
    folder = tempfile.TemporaryDirectory()
    with chdir(folder.name):
        write_tables()
        command(*MADE_BY_FIRST)
    return folder


def run_command(arguments: tuple[str, ...]) -> Any:
    with chdir(command_folder().name):
        result = command(*arguments)
        for written in arguments:
            if written.endswith(".html"):
                result["page"] = text_of_page(Path(written).read_text(encoding="utf-8"))
            if written == "selected.csv":
                result["genes"] = Path(written).read_text(encoding="utf-8")
        return result


class _PageText(HTMLParser):
    """The words of a page, a line per element."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden and data.strip():
            self.lines.append(" ".join(data.split()))


def text_of_page(page: str) -> str:
    parser = _PageText()
    parser.feed(page)
    return plain("\n".join(parser.lines))


def plain(text: str) -> str:
    """Without times and without the temporary folder."""
    text = text.replace(str(Path(command_folder().name)), "FOLDER") if command_folder.cache_info().currsize else text
    return re.sub(r"\b\d+(\.\d+)? ?(ms|s|sec|seconds?|minutes?)\b", "SECONDS", text)


def _parsed(text: str) -> Any:
    try:
        return _without_times(json.loads(text))
    except ValueError:
        return plain(text)


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_times(entry) for name, entry in value.items() if "seconds" not in name}
    return [_without_times(entry) for entry in value] if isinstance(value, list) else value


# Arrays on a GPU.


def device_items() -> Iterator[Item]:
    for container in ("torch", "cupy"):
        for name in ("two-wide", "two-tall", "three-wide", "five-tall"):
            yield from _fits("device", name, container)
        for name in ("two-wide", "three-wide"):
            yield f"device/permutations/{name}/{container}", partial(permute, name, container, 200)


# Writing and comparing.

SECTIONS = (fitted_items, solver_items, parameter_items, estimator_items, analysis_items, permutation_items)
SECTIONS += (simulation_items, command_items)


def write(out: Path, only: str = "", device: str | None = None) -> None:
    sections = (device_items,) if device else SECTIONS
    items: dict[str, Any] = {}
    seconds: Counter[str] = Counter()
    with threadpool_limits(1):
        for name, compute in (item for section in sections for item in section()):
            if name.startswith(only):
                begun = time.perf_counter()
                items[name] = outcome(compute)
                seconds[name.split("/")[0]] += time.perf_counter() - begun  # type: ignore[assignment]
    out.write_text(json.dumps({"only": only, "items": items}, indent=1, ensure_ascii=False), encoding="utf-8")
    for section, spent in seconds.items():
        _say(f"{section}: {sum(name.split('/')[0] == section for name in items)} items, {spent:.1f} s")
    failed = [name for name, entry in items.items() if "error" in entry]
    _say(f"{len(items)} items, {len(failed)} with an exception{': ' if failed else ''}{', '.join(failed)}")


def outcome(compute: Callable[[], Any]) -> dict[str, Any]:
    """The value, or the exception as text, and the kinds of warnings that came."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            entry = {"value": encoded(compute())}
        except Exception as error:
            entry = {"error": plain(f"{type(error).__name__}: {error}")}
    kinds = (each.category for each in caught)
    names = {kind.__name__ for kind in kinds if kind.__module__.startswith("minimaxrisk") or kind is ConvergenceWarning}
    return entry | {"warnings": sorted(names)}


def encoded(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return {str(name): encoded(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [encoded(entry) for entry in value]
    array = as_numpy(value)
    if array.ndim == 0:
        return encoded(array.item())
    if array.ndim == 1 and array.size <= 400 and array.dtype.kind in "iu":
        return array.tolist()
    if array.dtype.kind not in "biuf":
        return [str(entry) for entry in array.ravel()]
    return {
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "sha256": hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest(),
        "sum": float(np.sum(array, dtype=np.float64)),
        "sum of absolute values": float(np.sum(np.abs(array.astype(np.float64)))),
        "first": array.ravel()[:4].astype(np.float64).tolist(),
    }


def as_numpy(value: Any) -> np.ndarray:
    for method in ("compute", "cpu", "get"):  # of dask, PyTorch and CuPy
        if hasattr(value, method):
            value = getattr(value, method)()
    return np.asarray(value)


def compare(old: Path, new: Path) -> int:
    """Prints the differences; those of items that both records were to hold."""
    before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (old, new))
    chosen: list[dict[str, Any]] = []
    for record in (before, after):
        prefixes = (before["only"], after["only"])
        items = record["items"].items()
        chosen.append({name: entry for name, entry in items if all(map(name.startswith, prefixes))})
    names = list(dict.fromkeys([*chosen[0], *chosen[1]]))
    differing = 0
    for name in names:
        told = list(differences(name, *(items.get(name, "(no such item)") for items in chosen)))
        differing += bool(told)
        for line in told:
            _tell(line)
    counts = Counter(name.split("/")[0] for name in names)
    _tell(f"{differing} of {len(names)} items differ.")
    if not differing:
        _tell(", ".join(f"{section} {count}" for section, count in counts.items()))
    return 1 if differing else 0


def differences(where: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from differences(f"{where}: {name}", old.get(name, "(absent)"), new.get(name, "(absent)"))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from differences(f"{where}[{i}]", left, right)
    elif isinstance(old, str) and isinstance(new, str) and "\n" in old + new:
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
        yield from (f"{where}: {line}" for line in lines if not line.startswith(("---", "+++", "@@")))
    elif repr(old) != repr(new):  # of floats every bit, the sign of zero and NaN included
        size = f" (by {new - old:.3g})" if _is_number(old) and _is_number(new) else ""
        yield f"{where}: {old!r} -> {new!r}{size}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201


def _tell(text: str) -> None:
    print(text)  # noqa: T201


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.record", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write")
    writing.add_argument("out", type=Path)
    writing.add_argument("--only", default="", metavar="PREFIX", help="items whose names begin so")
    writing.add_argument("--device", choices=["cuda"], help="arrays on a GPU instead of all else")
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    given = parser.parse_args(arguments)
    if given.command == "compare":
        return compare(given.old, given.new)
    write(given.out, given.only, given.device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
