"""
A first classifier
==================

A study with 100 patients and 2,000 genes. We learn a classifier, read what it promises, check the promise,
and look at the genes that it selected.

The data are simulated, so that we know the truth: 30 of the genes have other means in patients with the
disease.
"""

# %%
# Fit
# ---
# ``radius="bootstrap"`` asks for an uncertainty set that holds all true gene means with a probability of 95%.
# The classifier then has the smallest worst-case error over all distributions in that set.

import matplotlib.pyplot as plt

from minimaxrisk import MinimaxRiskClassifier, verify
from minimaxrisk.datasets import make_expression
from minimaxrisk.inspection import SelectedFeaturesDisplay, SelectedValuesDisplay

study = make_expression(n_samples=100, n_features=2000, n_informative=30, effect=1.5, random_state=0)
X, y = study.data, study.target
model = MinimaxRiskClassifier(radius="bootstrap").fit(X, y)

# %%
# Read
# ----
# ``worst_case_error_`` bounds the error of the randomized rule, ``predict_proba``.
# ``worst_case_error_lower_`` proves that no other rule could have a smaller worst case. Here both are equal:
# the fit is optimal. ``verify`` computes both anew from the data and the coefficients, without a solver.

print(f"worst-case error: {model.worst_case_error_lower_:.6f} to {model.worst_case_error_:.6f}")
print(f"certificate holds: {verify(model, X, y).valid}")

# %%
# A worst case is not what to expect. The error that ``predict`` really has on new patients is known here,
# because the law of the data is. It is far smaller.

print(f"true error of predict: {study.law.error(model.coef_, model.intercept_):.3f}")
print(f"error of the best rule there is: {study.bayes_error:.3f}")

# %%
# Look
# ----
# Most coefficients are exactly zero. On the left are those that are not: genes that speak for class 0 or for
# class 1 where they are high. On the right are the measured values of the same genes, one column per patient:
# the two classes can be told apart by eye. Genes that are not selected may differ too; these are enough.

print(f"{model.n_features_selected_} of {X.shape[1]} genes selected")
truly_different = set(study.informative).intersection(model.selected_features_)
print(f"{len(truly_different)} of them truly differ between the classes")

figure, (left_ax, right_ax) = plt.subplots(
    1, 2, figsize=(9.2, 4.8), layout="constrained", width_ratios=[1, 1.3]
)
names = study.feature_names
SelectedFeaturesDisplay.from_estimator(model, feature_names=names).plot(left_ax)
SelectedValuesDisplay.from_estimator(model, X, y, feature_names=names).plot(right_ax)
left_ax.locator_params(axis="x", nbins=5)
right_ax.set_xlabel("class of the patient")
plt.show()
