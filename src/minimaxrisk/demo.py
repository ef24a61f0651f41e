"""A short tour: a simulated expression study whose truth is known, and real data held out.

Run it with ``python -m minimaxrisk.demo``.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minimaxrisk.assessment import verify
from minimaxrisk.datasets import make_expression
from minimaxrisk.estimators import MinimaxRiskClassifier
from minimaxrisk.features.fourier import RandomFourierFeatures


def main() -> None:
    """Both parts, printed."""
    simulated_study()
    print()
    real_data()


def simulated_study() -> None:
    """100 patients, 2000 genes, 20 of which matter: the bound beside the true error."""
    study = make_expression(100, 2000, n_informative=20, effect=1.0, random_state=0)
    X_new, y_new = study.law.sample(20_000, random_state=1)
    print("Simulated expression study: 100 patients, 2000 genes in correlated modules, 20 informative.")
    print(f"The best possible rule, which knows the law, errs with probability {study.bayes_error:.4f}.")
    for radius in (1.0, 3.0):
        model = MinimaxRiskClassifier(radius=radius).fit(study.data, study.target)
        certificate = verify(model, study.data, study.target)
        randomised = _randomised_error(model, X_new, y_new)
        found = np.intersect1d(model.selected_features_, study.informative)
        top = np.argsort(-model.feature_importances_)[:6]
        print(f"\nradius s = {radius:g}")
        _print_bound(model, certificate.valid)
        _print("true error, randomised rule", f"{randomised:.4f}  (20,000 new patients)")
        _print("true error, arg-max rule", f"{study.law.error(model.coef_, model.intercept_):.4f}  (exact)")
        _print("genes selected", f"{model.n_features_selected_}, {len(found)} of them informative")
        _print("most important", ", ".join(study.feature_names[top]))
    print("\nWith s = 1 and far more genes than patients, R* is a score: the true means need not lie within")
    print("the radii, and the randomised rule may err more often. Larger radii make R* a bound.")


def real_data() -> None:
    """Breast cancer data with random Fourier features: the bound beside the error on held-out patients."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    features = make_pipeline(StandardScaler(), RandomFourierFeatures(1000, random_state=0)).fit(X)
    Z, Z_test = features.transform(X), features.transform(X_test)
    model = MinimaxRiskClassifier().fit(Z, y)
    print(f"Breast cancer data: {len(X)} patients to learn from, {len(X_test)} held out,")
    print("1000 random Fourier features, radius s = 1.")
    _print_bound(model, verify(model, Z, y).valid)
    _print("held-out error, randomised", f"{_randomised_error(model, Z_test, y_test):.4f}")
    _print("held-out error, arg-max", f"{1 - model.score(Z_test, y_test):.4f}")
    some = ", ".join(map(str, model.selected_features_[:12]))
    _print("features selected", f"{model.n_features_selected_} of 1000: {some}, ...")
    path = [record["worst_case_error"] for record in model.history_]
    _print("R^k, iteration by iteration", ", ".join(f"{value:.3f}" for value in path))


def _print_bound(model: MinimaxRiskClassifier, valid: bool) -> None:
    verdict = "confirmed without the solver" if valid else "NOT CONFIRMED"
    _print("worst-case error R*", f"{model.worst_case_error_:.4f}")
    _print("certified gap", f"{model.optimality_gap_:.1e}  ({verdict})")


def _print(what: str, value: str) -> None:
    print(f"  {what:30s} {value}")


def _randomised_error(model: MinimaxRiskClassifier, X: np.ndarray, y: np.ndarray) -> float:
    """Error probability of the randomised rule on labelled instances."""
    right = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(1.0 - right.mean())


if __name__ == "__main__":
    main()
