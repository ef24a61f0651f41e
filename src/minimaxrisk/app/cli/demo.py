"""A short tour: a simulated expression study whose truth is known, and real data with a test set."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from minimaxrisk._utils.notices import without_radius_warnings
from minimaxrisk.analysis.permutation_test import permutation_test
from minimaxrisk.app.atomic import whole_file
from minimaxrisk.datasets import make_expression
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.guarantees.error_bound import error_bound
from minimaxrisk.guarantees.verification import verify
from minimaxrisk.guarantees.worst_case import worst_case


def main() -> None:
    """Explain the terms, then show simulated studies and real data."""
    print("R* is the smallest worst-case error over all distributions whose feature means lie within the")
    print("radii (s standard errors) of the observed ones. The randomized rule draws its answer from")
    print("predict_proba, and R* is about it: a bound on its error if the true means lie within the radii, a")
    print("score if that is not known. The rule of predict has a worst case of its own.")
    # A plain number as radius is used on purpose here.
    with without_radius_warnings():
        simulated_study()
        pure_noise()
        real_data()


def simulated_study() -> None:
    """100 patients, 2000 genes, 20 of which matter: scores and bounds beside the true errors."""
    study = make_expression(100, 2000, n_informative=20, effect=1.0, random_state=0)
    X_new, y_new = study.law.sample(20_000, random_state=1)
    print("\nSIMULATED STUDY: 100 patients, 2000 genes in correlated modules, 20 of them informative.")
    print(f"The best possible rule, which knows the distribution, errs in {study.bayes_error:.2%} of cases.")
    for radius in (1.0, "bootstrap"):
        model = MinimaxRiskClassifier(radius=radius).fit(study.data, study.target)
        found = np.intersect1d(model.selected_features_, study.informative)
        top = np.argsort(-model.feature_importances_)[:6]
        print(f"\n  {_name_of_radius(model)}")
        _print_worst_case(model, study.data, study.target)
        _print(
            "true error, randomized rule",
            f"{_randomized_error(model, X_new, y_new):.4f}  (20,000 new patients)",
        )
        beyond = error_bound(model, method="radii", rule="randomized", X_new=X_new[:1000])
        _print(
            f"{_kind(model)}, also for new patients", f"{beyond.value:.4f}  (1,000 of them, no labels needed)"
        )
        _print_predict(model, study.data, study.target)
        _print("true error, predict", f"{study.law.error(model.coef_, model.intercept_):.4f}  (exact)")
        _print("genes selected", f"{model.n_features_selected_}, {len(found)} of them informative")
        _print("most important", ", ".join(study.feature_names[top]))
    print("\n  With s = 1 and far more genes than patients, some true means lie outside the radii: R* is a")
    print("  score, and the true error may exceed it. The larger s covers all with about 95% probability.")
    _print_noise_floor(study)


def pure_noise() -> None:
    """The same without any informative gene: what a small radius makes of noise."""
    study = make_expression(100, 2000, n_informative=0, random_state=0)
    print("\nPURE NOISE: no gene is informative, and every rule errs in half of the cases.")
    for radius in (1.0, "bootstrap"):
        model = MinimaxRiskClassifier(radius=radius).fit(study.data, study.target)
        _print(
            f"R* at {_name_of_radius(model)}",
            f"{model.worst_case_error_:.4f}, {model.n_features_selected_} genes selected",
        )
    _print_noise_floor(study)


def real_data() -> None:
    """Breast cancer data with random Fourier features: the worst cases beside errors on held-out patients."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    sampler = RBFSampler(gamma="scale", n_components=1000, random_state=0)
    features = make_pipeline(StandardScaler(), sampler).fit(X)
    Z, Z_test = features.transform(X), features.transform(X_test)
    model = MinimaxRiskClassifier().fit(Z, y)
    print(f"\nREAL DATA: breast cancer, {len(X)} patients to learn from, {len(X_test)} held out,")
    print("1000 random Fourier features, radius s = 1.")
    _print_worst_case(model, Z, y)
    _print("held-out error, randomized", f"{_randomized_error(model, Z_test, y_test):.4f}")
    _print_predict(model, Z, y)
    _print("held-out error, predict", f"{1 - model.score(Z_test, y_test):.4f}")
    selected = ", ".join(map(str, model.selected_features_[:8]))
    _print("features selected", f"{model.n_features_selected_} of 1000: columns {selected}, ...")
    path = [record["worst_case_error"] for record in model.history_[:5]]
    steps = ", ".join(f"{value:.3f}" for value in path)
    _print("R* so far, by iteration", f"{steps}, ... ({model.n_iter_} iterations)")


def _name_of_radius(model: MinimaxRiskClassifier) -> str:
    rule = f" ({model.radius})" if isinstance(model.radius, str) else ""
    return f"radius s = {model.radius_:.2f}{rule}"


def _kind(model: MinimaxRiskClassifier) -> str:
    return "score" if model.coverage_ is None else "bound"


def _print_noise_floor(study: Bunch) -> None:
    """How R* at s = 1 compares with that of permuted labels."""
    test = permutation_test(MinimaxRiskClassifier(), study.data, study.target, 99, random_state=0)
    _print("noise floor of R* at s = 1", f"{test.noise_floor[0.05]:.4f}  (5% quantile, permuted labels)")
    _print("p-value of R* at s = 1", f"{test.pvalue:.2f}")


def _print_worst_case(model: MinimaxRiskClassifier, X: np.ndarray, y: np.ndarray) -> None:
    verdict = "confirmed without the solver" if verify(model, X, y).valid else "NOT CONFIRMED"
    _print(f"R*, {_kind(model)}, randomized rule", f"{model.worst_case_error_:.4f}")
    _print("certified gap to the optimum", f"{model.optimality_gap_:.1e}  ({verdict})")


def _print_predict(model: MinimaxRiskClassifier, X: np.ndarray, y: np.ndarray) -> None:
    kind = _kind(model).replace("score", "worst case")
    _print(f"{kind}, predict", f"{worst_case(model, X, y, rule='predict').upper:.4f}")


def _print(what: str, value: str) -> None:
    print(f"  {what:30s} {value}")


def _randomized_error(model: MinimaxRiskClassifier, X: np.ndarray, y: np.ndarray) -> float:
    """Error probability of the randomized rule on labelled instances."""
    right = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(1.0 - right.mean())


def write_study(path: Path) -> None:
    """A simulated expression study as people have it: a line per patient, a column per gene."""
    study = make_expression(100, 2000, n_informative=20, effect=1.0, random_state=0)
    diagnoses = ["ill" if label == study.target.max() else "healthy" for label in study.target]
    with whole_file(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", "diagnosis", *study.feature_names])
        for i, row in enumerate(study.data):
            writer.writerow([f"patient_{i + 1:03d}", diagnoses[i], *(f"{value:.5f}" for value in row)])
