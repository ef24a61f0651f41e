"""
Sure, unsure, or unlike all classes
===================================

A label alone does not say how far it can be trusted. ``PredictionSets`` says which labels cannot be excluded,
by comparing a new patient with left-out patients of each class.
"""

# %%
# Ten new patients
# ----------------
# 80 patients of three subtypes, one of them rare. The ensemble needs no folds: members that have not seen a
# patient score it. One label left is "sure", several are "unsure".

import matplotlib.pyplot as plt
import numpy as np

from minimaxrisk import MinimaxRiskEnsembleClassifier, PredictionSets

random = np.random.default_rng(0)
names = np.array(["basal", "luminal", "rare"])


def patients(*sizes):
    kind = np.repeat([0, 1, 2], sizes)
    return random.standard_normal((len(kind), 100)) + 0.9 * (np.arange(100) // 8 == kind[:, None]), names[
        kind
    ]


X, y = patients(35, 30, 15)
learner = MinimaxRiskEnsembleClassifier(certify=False, random_state=0)
model = PredictionSets(learner, confidence=0.9).fit(X, y)

X_new, y_new = patients(4, 3, 3)
for own, row, word, p in zip(
    y_new, model.predict_set(X_new), model.predict_words(X_new), model.predict_proba(X_new), strict=True
):
    print(f"{own:8} {word:8} {' or '.join(names[row]):26}", np.round(p, 2))

# %%
# How often a set holds the truth
# -------------------------------
# In nine of ten or more, in each subtype. The predicted label alone is right less often.

X_many, y_many = patients(1000, 1000, 1000)
is_in, named = model.predict_set(X_many), model.predict(X_many)
held, right = [], []
for k, name in enumerate(names):
    own = y_many == name
    held.append(is_in[own, k].mean())
    right.append(np.mean(named[own] == name))
    size = is_in[own].sum(axis=1).mean()
    print(f"{name}: in the set {held[-1]:.2f}, predicted {right[-1]:.2f}, labels in a set {size:.2f}")

# %%
# Look
# ----
# The bars on the right are the price: more than one label for some patients.

figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
place = np.arange(3)
ax.bar(place - 0.2, right, 0.4, color="#999999", label="the predicted label is right")
ax.bar(place + 0.2, held, 0.4, color="#0072B2", label="the set holds the label")
ax.axhline(0.9, color="0.3", linestyle=":")
ax.set_xticks(place, names)
ax.set_ylabel("share of new patients")
ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
