"""
A bound or a score?
===================

The worst-case error R* is a bound on the true error if the true means lie within the radii. Whether they do
depends on the radius. Here the truth is known, so that we can see from which radius on R* keeps its promise.
"""

# %%
# Two studies
# -----------
# 100 patients and 1,000 genes each. In the first study 20 genes differ between the classes. In the second
# none does: every rule errs half of the time, and an honest bound cannot be below one half.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.datasets import make_expression
from minimaxrisk.exceptions import UnderfitWarning

studies = {
    "20 genes differ": make_expression(100, 1000, effect=1.2, random_state=1),
    "noise alone": make_expression(100, 1000, effect=0.0, random_state=1),
}
radii = np.arange(0.5, 5.1, 0.5)


def true_error(model, X_new, y_new):
    """Of the randomized rule, which draws its label from predict_proba, counted on many new samples."""
    return 1 - model.predict_proba(X_new)[np.arange(len(y_new)), y_new].mean()


# %%
# Plain radii and one that covers
# -------------------------------
# No confidence goes with a plain number. A model of noise warns that it predicts a single class; we know, and
# turn that warning off.
# ``radius="bootstrap"`` finds the number that is large enough with a probability of 95%.

warnings.simplefilter("ignore", UnderfitWarning)
bounds, errors, covering = {}, {}, {}
for name, study in studies.items():
    many = study.law.sample(5000, random_state=2)
    models = [MinimaxRiskClassifier(radius=s).fit(study.data, study.target) for s in radii]
    bounds[name] = np.array([model.worst_case_error_ for model in models])
    errors[name] = np.array([true_error(model, *many) for model in models])
    covering[name] = MinimaxRiskClassifier(radius="bootstrap").fit(study.data, study.target)
    at_one = np.searchsorted(radii, 1.0)
    print(f"{name}: at s = 1 R* is {bounds[name][at_one]:.3f} and the true error {errors[name][at_one]:.3f};")
    bound = covering[name].worst_case_error_
    print(f"  the bootstrap takes s = {covering[name].radius_:.2f}, where R* is {bound:.3f}")

# %%
# Look
# ----
# Where the blue line is below the orange one, R* is no bound but a score: good for comparing models and
# selecting genes, and not a statement about errors. On noise that is so up to radii of several standard
# errors. At the radius of the bootstrap R* keeps its promise, as it does in about 95 of 100 such studies.

figure, axes = plt.subplots(1, 2, figsize=(8.8, 4.2), layout="constrained", sharey=True)
for ax, name in zip(axes, studies, strict=True):
    below = bounds[name] < errors[name]
    ax.plot(radii, bounds[name], color="#0072B2", marker="o", markersize=4, label="R*, what is promised")
    ax.plot(radii, errors[name], color="#E69F00", linestyle="--", linewidth=2, label="true error, same rule")
    ax.fill_between(
        radii, bounds[name], errors[name], where=below, interpolate=True, color="#D55E00", alpha=0.2
    )
    ax.axvline(covering[name].radius_, color="black", linestyle=":", label="radius of the bootstrap")
    ax.set_title(name, loc="left", fontsize="medium")
    ax.set_xlabel("radius s, in standard errors")
    ax.set_ylim(0, 0.55)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("error")
axes[1].legend(loc="lower right", edgecolor="none")
plt.show()
