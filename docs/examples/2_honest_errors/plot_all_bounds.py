"""
All bounds side by side
=======================

What can be said about the error on new patients? ``error_bound`` puts all bounds beside each other, so
that all of them hold at once with a probability of 95%. We compare them with the true errors, which are known
for a simulated law.
"""

# %%
# Fit and ask
# -----------
# 300 patients, 100 genes. New patients without a diagnosis, ``X_new``, help: they show how far instances to
# come differ from those of the training data.

import matplotlib.pyplot as plt
import numpy as np

from minimaxrisk import MinimaxRiskClassifier, error_bound
from minimaxrisk.datasets import make_expression

study = make_expression(300, 100, n_informative=15, effect=1.2, random_state=0)
model = MinimaxRiskClassifier(radius="bootstrap").fit(study.data, study.target)
X_new, _ = study.law.sample(1000, random_state=1)
found = error_bound(model, study.data, study.target, X_new=X_new, random_state=0)
print(found)

# %%
# The true errors
# ---------------
# That of ``predict`` is known exactly. That of the randomized rule is counted on many samples. Always naming
# one class errs half of the time.

X_many, y_many = study.law.sample(50_000, random_state=2)


def true_error(bound):
    if bound.rule == "constant":
        return 0.5
    if bound.rule == "predict":
        return study.law.error(bound.model.coef_, bound.model.intercept_)
    return 1 - bound.model.predict_proba(X_many)[np.arange(len(y_many)), y_many].mean()


bounds = found.side_by_side
truths = [true_error(bound) for bound in bounds]
held = sum(bound.value >= truth for bound, truth in zip(bounds, truths, strict=True))
print(f"{held} of {len(truths)} bounds are above the true error")

# %%
# Look
# ----
# Each line goes from the true error (diamond) to what can be proven (bar). The hold-out is the tightest here,
# as it usually is; its model learned from half of the patients. Bounds by radii are about the model of all
# patients, and about every distribution that its uncertainty set holds.

rules = {"predict": "predict", "randomized": "randomized rule", "constant": "one class"}
changes = {"free": ", anything may change", "empirical": ", labels alone may change", None: ""}
labels = [f"{one.method}: {rules[one.rule]}{changes[one.marginal]}" for one in bounds]
values = [one.value for one in bounds]
places = np.arange(len(values))

figure, ax = plt.subplots(figsize=(9.5, 3.8), layout="constrained")
ax.hlines(places, truths, values, color="0.8", linewidth=6)
ax.scatter(truths, places, marker="D", color="#E69F00", zorder=3, label="true error")
ax.scatter(values, places, marker="|", s=300, linewidth=4, color="#0072B2", zorder=3, label="bound")
ax.set_yticks(places, labels=labels)
ax.invert_yaxis()
ax.axvline(0.5, color="0.45", linestyle=":", label="tossing a coin")
ax.set_xlim(-0.02, 0.8)
ax.set_xlabel("error on new patients")
ax.legend(frameon=False, loc="upper right")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
