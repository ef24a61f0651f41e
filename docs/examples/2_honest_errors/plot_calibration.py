"""
What the probabilities are, and how to calibrate them
=====================================================

``predict_proba`` holds the probabilities with which the minimax rule draws a label. They make the worst case
small. They do not estimate how probable a label is. If you need such estimates, let scikit-learn fit a curve
to the scores.
"""

# %%
# Rule and estimate
# -----------------
# 300 patients, 100 genes, weak effects. ``CalibratedClassifierCV`` with ``ensemble=False`` keeps the model
# that learned from all patients and puts a curve on its scores, fitted to scores of left-out patients. The
# radius is a plain number, and only probabilities are looked at; so the warning about bounds is turned off.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.metrics import brier_score_loss

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.datasets import make_expression

study = make_expression(300, 100, n_informative=10, effect=0.5, random_state=0)
rule = MinimaxRiskClassifier()
calibrated = CalibratedClassifierCV(MinimaxRiskClassifier(), cv=5, ensemble=False)
models = {
    "minimax rule": rule.fit(study.data, study.target),
    "calibrated": calibrated.fit(study.data, study.target),
}

# %%
# On many new patients
# --------------------
# The Brier score is the mean squared distance between probability and outcome: smaller is better. Both decide
# nearly alike, so the difference is one of probabilities.

X_new, y_new = study.law.sample(20_000, random_state=1)
stated = {name: model.predict_proba(X_new)[:, 1] for name, model in models.items()}
for name, p in stated.items():
    certain = np.mean((p == 0) | (p == 1))
    error = np.mean(models[name].predict(X_new) != y_new)
    print(f"{name}: Brier score {brier_score_loss(y_new, p):.4f}, error of predict {error:.3f}", end=", ")
    print(f"exactly 0 or 1 for {certain:.1%}")

# %%
# Look
# ----
# On the diagonal a stated probability is the share of patients for whom it comes true. The minimax rule is
# too careful in between: its curve is steeper than the diagonal. Calibrated probabilities are close to the
# diagonal, and the histogram shows how often each probability is stated.

figure, (above, below) = plt.subplots(
    2, 1, figsize=(6.4, 6.2), layout="constrained", sharex=True, height_ratios=[3, 1]
)
above.plot([0, 1], [0, 1], color="0.6", linestyle=":", label="stated = observed")
for (name, p), colour, marker in zip(stated.items(), ("#D55E00", "#0072B2"), ("s", "o"), strict=True):
    observed, mean_stated = calibration_curve(y_new, p, n_bins=10)
    above.plot(mean_stated, observed, color=colour, marker=marker, label=name)
    below.hist(p, bins=np.linspace(0, 1, 21), histtype="step", color=colour, linewidth=2)
above.set_ylabel("share of class 1 among them")
above.legend(frameon=False)
below.set_ylabel("new patients")
below.set_xlabel("stated probability of class 1")
for ax in (above, below):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
