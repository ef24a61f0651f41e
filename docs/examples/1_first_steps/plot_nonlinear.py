"""
Curved boundaries
=================

The classifier is linear in its features. Features may be anything: random cosines of the inputs, made by
scikit-learn's ``RBFSampler``, make its boundary a curve, and the bound stays a bound for the rule that uses
them.
"""

# %%
# Fit
# ---
# Two half moons that no straight line separates, 300 points. Standardise, map to 200 random features, fit.
# The transformers do not look at labels, so that they can stand in a pipeline before the classifier.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minimaxrisk import MinimaxRiskClassifier

X, y = make_moons(300, noise=0.2, random_state=0)
X_new, y_new = make_moons(5000, noise=0.2, random_state=1)
straight = make_pipeline(StandardScaler(), MinimaxRiskClassifier(radius="bootstrap"))
curved = make_pipeline(
    StandardScaler(),
    RBFSampler(gamma=2.0, n_components=200, random_state=0),
    MinimaxRiskClassifier(radius="bootstrap"),
)
models = {"columns as they are": straight.fit(X, y), "random Fourier features": curved.fit(X, y)}

# %%
# Both come with a worst-case error of their randomized rule, over an uncertainty set that holds the true
# means of the features with a probability of 95%. The set of 200 features is another one than that of two
# inputs: more is known, so that both the worst-case error and the error on new points are smaller.

for name, model in models.items():
    error = np.mean(model.predict(X_new) != y_new)
    print(f"{name}: worst-case error {model[-1].worst_case_error_:.3f}, error on new points {error:.3f}")

# %%
# Look
# ----
# The colour is the probability with which the randomized rule says class 1. White is the boundary of
# ``predict``.

side = np.linspace(-1.8, 2.8, 200), np.linspace(-1.3, 1.8, 160)
grid = np.stack(np.meshgrid(*side), axis=-1)
figure, axes = plt.subplots(1, 2, figsize=(8.8, 4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    probability = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])
    image = ax.pcolormesh(*side, probability, cmap="cividis", vmin=0, vmax=1, shading="auto", rasterized=True)
    ax.contour(*side, probability, levels=[0.5], colors="white", linewidths=2)
    for label, marker, colour in ((0, "o", "#56B4E9"), (1, "^", "#E69F00")):
        ax.scatter(*X[y == label].T, s=16, marker=marker, color=colour, edgecolor="black", linewidth=0.5)
    ax.set_title(f"{name}: error {np.mean(model.predict(X_new) != y_new):.1%}", loc="left", fontsize="medium")
    ax.set_xlabel("first input")
axes[0].set_ylabel("second input")
figure.colorbar(image, ax=axes, label="probability of saying class 1 (triangles)")
plt.show()
