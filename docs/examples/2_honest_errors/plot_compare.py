"""
Comparing classifiers honestly
==============================

Which classifier errs least? On 100 patients chance decides among the better ones. ``compare`` cross-validates
several classifiers on the same folds and gives their differences with intervals that take account of the
samples that folds share.
"""

# %%
# Six classifiers
# ---------------
# A simulated study of 100 patients and 500 genes. Scaling belongs into pipelines, so that it is learned
# inside each fold. Nothing is tuned; tuning would go into the pipeline too.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier, compare
from minimaxrisk.datasets import make_expression

study = make_expression(n_samples=100, n_features=500, effect=0.7, random_state=0)
classifiers = {
    "minimax risk": MinimaxRiskClassifier(),
    "minimax risk ensemble": MinimaxRiskEnsembleClassifier(n_estimators=30, certify=False, random_state=0),
    "linear SVM": make_pipeline(StandardScaler(), LinearSVC(C=0.01)),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(C=0.01)),
    "random forest": RandomForestClassifier(50, random_state=0),
    "nearest neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier()),
}
result = compare(classifiers, study.data, study.target, cv=5, n_repeats=2)
print(result)

# %%
# What can be told
# ----------------
# Differences are taken fold by fold from the first classifier. If the 95% interval of a difference contains
# zero, these data do not tell the two apart. Such an interval is wide with few folds.

clear = result.p_values < 0.05
told = [name for name, one in zip(result.names, clear, strict=True) if one]
print("told apart from minimax risk:", ", ".join(told))
print("not told apart:", ", ".join(name for name in result.names[1:] if name not in told))

# %%
# Look
# ----
# Filled points are differences that can be told, open ones may be chance. Right of the line means more errors
# than the minimax risk classifier. The order of the classifiers near the line could be another one in the
# next study.

places = np.arange(1, len(result.names))
figure, ax = plt.subplots(figsize=(8.5, 3.6), layout="constrained")
for i in places:
    ax.errorbar(
        result.differences[i],
        i,
        xerr=result.intervals[i, 1] - result.differences[i],
        fmt="o",
        color="#0072B2",
        markerfacecolor="#0072B2" if clear[i] else "white",
        markersize=8,
        capsize=4,
    )
ax.axvline(0, color="black", linewidth=1)
ax.set_yticks(places, labels=[f"{result.names[i]} ({result.mean_errors[i]:.2f})" for i in places])
ax.invert_yaxis()
ax.set_xlabel(
    f"error less that of the minimax risk classifier ({result.mean_errors[0]:.2f}), with 95% intervals"
)
ax.grid(axis="x", color="0.92")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
