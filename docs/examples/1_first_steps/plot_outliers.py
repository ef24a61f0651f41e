"""
Outliers, and a radius chosen by cross-validation
=================================================

A few wild measurements decide the mean and the standard deviation of their column, and with them what is
learned. ``ClippedScaler`` puts an end to what a single value can do. ``MinimaxRiskClassifierCV`` then chooses
the radius by samples that are left out.
"""

# %%
# Data with wild values
# ---------------------
# A simulated study of 120 patients and 1,000 genes, in which one value in fifty was multiplied by 20, as a
# wrong decimal point or a scratch on an array might do. New patients have such values too.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from minimaxrisk import ClippedScaler, MinimaxRiskClassifierCV
from minimaxrisk.datasets import make_expression
from minimaxrisk.inspection import FeatureCountDisplay

random = np.random.default_rng(0)


def with_wild_values(X):
    return np.where(random.random(X.shape) < 0.02, 20 * X, X)


study = make_expression(n_samples=120, n_features=1000, effect=1.0, random_state=0)
X, y = with_wild_values(study.data), study.target
X_new, y_new = study.law.sample(4000, random_state=1)
X_new = with_wild_values(X_new)

# %%
# With and without
# ----------------
# Both classifiers choose among 15 radii by the error on left-out folds: the largest radius that is within one
# standard error of the best. A radius that was chosen by the data gives a score and no bound, which a warning
# would say; here the error on left-out and new samples is what we look at.

chosen = MinimaxRiskClassifierCV(radii=np.geomspace(0.3, 8, 15))
models = {
    "values as they are": make_pipeline(clone(chosen)),
    "with ClippedScaler": make_pipeline(ClippedScaler(), chosen),
}
for name, model in models.items():
    model.fit(X, y)
    error = np.mean(model.predict(X_new) != y_new)
    print(
        f"{name}: radius {model[-1].radius_:.2f}, {model[-1].n_features_selected_} genes, error on new "
        f"patients {error:.3f}"
    )

# %%
# Look
# ----
# The error on left-out samples by the number of genes, with one standard error to either side. With clipped
# values it is far lower, and the chosen radius, that with the fewest genes within one standard error of the
# best, keeps more genes, because there is more to learn from them.

figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    FeatureCountDisplay.from_estimator(model, X, y).plot(ax)
    error = np.mean(model.predict(X_new) != y_new)
    ax.set_title(f"{name}: {error:.1%} of new patients wrong", loc="left", fontsize="medium")
    ax.set_ylim(0, 0.72)
plt.show()
