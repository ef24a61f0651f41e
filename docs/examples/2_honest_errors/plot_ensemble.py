"""
An ensemble that tells its own error
====================================

The rule learned from one sample depends on that sample. An ensemble averages rules that were learned on parts
of it, which usually errs less. And because each patient is unseen by some of the members, the ensemble can
estimate its error without a single patient put aside.
"""

# %%
# Twelve studies
# --------------
# We simulate twelve studies of 80 patients and 500 genes. In each we fit a classifier and an ensemble of 50
# members. ``oob_error_`` is the out-of-bag error: every patient is judged by the members that have not seen
# it. No worst case is wanted here, so ``certify=False`` saves the time for it.

import matplotlib.pyplot as plt
import numpy as np

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier
from minimaxrisk.datasets import make_expression

# The radius is 1, for accuracy; nothing is promised by it.
ensemble = MinimaxRiskEnsembleClassifier(certify=False, random_state=0)
estimate, interval, of_ensemble, of_single, on_training = [], [], [], [], []
for seed in range(12):
    study = make_expression(80, 500, effect=0.7, random_state=seed)
    X_new, y_new = study.law.sample(4000, random_state=100)
    ensemble.fit(study.data, study.target)
    single = MinimaxRiskClassifier().fit(study.data, study.target)
    estimate.append(ensemble.oob_error_)
    interval.append(ensemble.oob_error_interval_)
    on_training.append(np.mean(ensemble.predict(study.data) != study.target))
    of_ensemble.append(np.mean(ensemble.predict(X_new) != y_new))
    of_single.append(study.law.error(single.coef_, single.intercept_))

# %%
# What came out
# -------------
# The error on the patients that it learned from says nothing: an ensemble hardly errs there. The out-of-bag
# error is near the truth, and its interval holds it nearly always. (It is approximate; a hold-out
# gives a proven limit, ``error_bound``.)

low, high = np.transpose(interval)
inside = (low <= of_ensemble) & (of_ensemble <= high)
print(f"mean error on the training data {np.mean(on_training):.3f}, out of bag {np.mean(estimate):.3f}")
print(f"mean true error: ensemble {np.mean(of_ensemble):.3f}, single classifier {np.mean(of_single):.3f}")
print(
    f"the ensemble errs less than the single one in {np.sum(np.less(of_ensemble, of_single))} of 12 studies"
)
print(f"the interval holds the true error in {inside.sum()} of 12 studies")

# %%
# Look
# ----
# One column per study, ordered by the true error of the ensemble.

order = np.argsort(of_ensemble)
places = np.arange(len(order))
figure, ax = plt.subplots(figsize=(9, 4.2), layout="constrained")
ax.vlines(
    places, low[order], high[order], color="#56B4E9", linewidth=8, alpha=0.5, label="out-of-bag interval"
)
ax.plot(
    places, np.take(estimate, order), "_", color="#0072B2", markersize=14, mew=3, label="out-of-bag error"
)
ax.plot(places, np.take(of_ensemble, order), "D", color="black", markersize=6, label="true error, ensemble")
ax.plot(
    places, np.take(of_single, order), "s", mfc="none", color="#D55E00", label="true error, single classifier"
)
ax.set_xticks(places, labels=order)
ax.set_xlabel("study")
ax.set_ylabel("error")
ax.set_ylim(0, 0.5)
ax.legend(frameon=False, ncols=2, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
