"""A table to make a report of, and studies whose truth is known or that have a test set."""

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

from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk._utils.rounding import at_most
from minimaxrisk.analysis.permutation_test import permutation_test
from minimaxrisk.app.atomic import whole_file
from minimaxrisk.datasets import make_expression
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.guarantees.verification import verify
from minimaxrisk.guarantees.worst_case import worst_case


def main() -> None:
    """What the numbers are worth, on simulated studies and on real data."""
    print("WHAT THE NUMBERS ARE WORTH, beside errors that are known. R* is the worst-case error of labels")
    print("drawn from predict_proba, if feature means are at most s standard errors off: a bound if s covers")
    print("all means, else a score.")
    # A plain number as radius, and noise of which nothing can be learned, are shown on purpose.
    with quiet_fits():
        simulated_study()
        pure_noise()
        real_data()


def simulated_study() -> None:
    """100 patients, 2000 genes, 20 of which matter: a score and a bound beside the true errors."""
    study = make_expression(100, 2000, n_informative=20, effect=1.0, random_state=0)
    X_new, y_new = study.law.sample(20_000, random_state=1)
    print("\nSIMULATED STUDY: 100 patients, 2000 genes, 20 of them informative; the errors are true ones.")
    _print("best possible error", f"{study.bayes_error:.4f}")
    for radius in (1.0, "bootstrap"):
        model = MinimaxRiskClassifier(radius=radius).fit(study.data, study.target)
        found = np.intersect1d(model.selected_features_, study.informative)
        print(f"  {_name_of_radius(model)}: {model.n_features_selected_} genes, {len(found)} informative")
        predict = study.law.error(model.coef_, model.intercept_)
        drawn = _error_of_drawn_labels(model, X_new, y_new)
        _print_errors(model, study.data, study.target, drawn=drawn, predict=predict)
    _print_noise_floor(study)


def pure_noise() -> None:
    """The same without any informative gene: what a small radius makes of noise."""
    study = make_expression(100, 2000, n_informative=0, random_state=0)
    print("\nPURE NOISE: no gene is informative, and every rule errs in half of the cases.")
    for radius in (1.0, "bootstrap"):
        model = MinimaxRiskClassifier(radius=radius).fit(study.data, study.target)
        _print(
            _name_of_radius(model),
            f"R* {at_most(model.worst_case_error_)}, {model.n_features_selected_} genes",
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
    print(
        f"\nREAL DATA: breast cancer, {len(X)} patients to learn from; the errors are those of {len(X_test)}"
    )
    print("others. 1000 random Fourier features.")
    print(f"  {_name_of_radius(model)}: {model.n_features_selected_} features")
    drawn = _error_of_drawn_labels(model, Z_test, y_test)
    _print_errors(model, Z, y, drawn=drawn, predict=1 - model.score(Z_test, y_test))


def _name_of_radius(model: MinimaxRiskClassifier) -> str:
    rule = f" ({model.radius})" if isinstance(model.radius, str) else ""
    return f"radius s = {model.radius_:.2f}{rule}"


def _print_noise_floor(study: Bunch) -> None:
    """How R* at s = 1 compares with that of permuted labels."""
    test = permutation_test(MinimaxRiskClassifier(), study.data, study.target, 99, random_state=0)
    _print("p-value of R* at s = 1", f"{test.pvalue:.2f}  (noise floor {test.noise_floor[0.05]:.4f})")


def _print_errors(
    model: MinimaxRiskClassifier, X: np.ndarray, y: np.ndarray, *, drawn: float, predict: float
) -> None:
    """The worst cases of both rules beside their errors, and whether the certificate holds."""
    kind, of_predict = ("score", "worst case") if model.coverage_ is None else ("bound", "bound")
    verdict = "confirmed without the solver" if verify(model, X, y).valid else "NOT CONFIRMED"
    worst = worst_case(model, X, y, rule="predict").upper
    _print(f"  drawn labels: R*, {kind}", f"{at_most(model.worst_case_error_)}   error {drawn:.4f}")
    _print(f"  predict: {of_predict}", f"{at_most(worst)}   error {predict:.4f}")
    _print("  certified gap", f"{model.optimality_gap_:.1e}  ({verdict})")


def _print(what: str, value: str) -> None:
    print(f"  {what:30s} {value}")


def _error_of_drawn_labels(model: MinimaxRiskClassifier, X: np.ndarray, y: np.ndarray) -> float:
    """Error probability of labels drawn from ``predict_proba``."""
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
