"""
New samples on another scale
============================

A model that learned from logarithms will predict from raw intensities without complaint, and be wrong.
``training_scale`` compares new samples with the training data in the columns that the model uses, and says
what seems to have happened to them.
"""

# %%
# A model of logarithms
# ---------------------
# The simulated genes are base-2 logarithms of intensities, as measured by an array.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from minimaxrisk import MinimaxRiskClassifier, training_scale
from minimaxrisk.datasets import make_expression

study = make_expression(100, 500, effect=1.0, random_state=0)
model = MinimaxRiskClassifier(radius="bootstrap").fit(study.data, study.target)
scale = training_scale(model, study.data, study.target)

# %%
# The same patients, five times
# -----------------------------
# 60 new patients, once on the scale of the training data, and four times in ways in which tables arrive.

X_new, y_new = study.law.sample(60, random_state=1)
tables = {
    "base-2 logarithms, as learned": X_new,
    "natural logarithms": X_new * np.log(2),
    "raw intensities": 2.0**X_new,
    "1000 times as large": 1000 * X_new,
    "mean 0, deviation 1": StandardScaler().fit_transform(X_new),
}
errors, found = {}, {}
for name, X in tables.items():
    errors[name] = np.mean(model.predict(X) != y_new)
    found[name] = scale.compare(X)
    print(f"{name}: {found[name].differs.sum()} of {len(X)} samples differ, error {errors[name]:.2f}")
    print(f"    {found[name].statement or 'nothing to say'}")

# %%
# Look
# ----
# Each mark is a patient, and shows how far the used genes are from their means in the training data.
# Patients drawn as crosses are told to be on another scale.

random = np.random.default_rng(0)
figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
for place, (name, one) in enumerate(found.items()):
    height = place + random.uniform(-0.25, 0.25, len(X_new))
    for differs, colour, marker in ((False, "#0072B2", "o"), (True, "#D55E00", "x")):
        rows = one.differs == differs
        ax.scatter(one.distances[rows], height[rows], s=18, color=colour, marker=marker, alpha=0.7)
    ax.text(1.02, place, f"{errors[name]:.0%} wrong", va="center", transform=ax.get_yaxis_transform())
ax.set_yticks(range(len(found)), labels=list(found))
ax.invert_yaxis()
ax.set_xscale("log")
ax.set_xlabel("mean distance of the used genes from the training data, in standard deviations")
ax.set_title("Dots: on the scale of the training data; crosses: not", loc="left", fontsize="medium")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
