"""
Sparse texts with the first-order solver
========================================

5,000 texts, 30,000 words: as a dense table that would be more than a gigabyte. Almost all entries are zero,
and the first-order solver only ever multiplies with the sparse table. It stops when its two bounds are close
enough.
"""

# %%
# Fit
# ---
# Simulated texts of two topics, whose word probabilities are known. 4,000 texts are for learning, the rest
# for counting errors. ``gap_tol`` is how close the bounds must be. The radius 2 is a plain number and R* a
# score, so that the warning about it is turned off.

import matplotlib.pyplot as plt
import numpy as np

from minimaxrisk import MinimaxRiskClassifier, verify
from minimaxrisk.datasets import make_text

text = make_text(5000, 30_000, random_state=0)
X, y = text.data[:4000], text.target[:4000]
model = MinimaxRiskClassifier(solver="first-order", radius=2.0, gap_tol=1e-3).fit(X, y)

stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
print(f"{stored / 1e6:.1f} MB as a sparse table, {8 * np.prod(X.shape) / 1e6:,.0f} MB as a dense one")
print(f"{model.n_iter_} iterations, {model.n_features_selected_} words")
print(f"{model.worst_case_error_lower_:.4f} <= R* <= {model.worst_case_error_:.4f}")
print(f"certificate holds: {verify(model, X, y).valid}")
print(f"error on other texts: {np.mean(model.predict(text.data[4000:]) != text.target[4000:]):.3f}")

# %%
# Are they the right words?
# -------------------------
# The simulation knows how much more probable a word is in topic 1 than in topic 0. We look at the 100 words
# that count most.

most = np.argsort(-model.feature_importances_)[:100]
scale = model.feature_importances_[most]
coefficient = np.sign(model.coef_[0, most]) * scale
log_ratio = np.log2(text.topics[1, most] / text.topics[0, most])
agree = np.mean(np.sign(coefficient) == np.sign(log_ratio))
print(f"the sign of the coefficient is that of the truth for {agree:.0%} of these words")

# %%
# Look
# ----
# Left: the bounds meet. Right: coefficients of the 100 words beside the truth. Words that are more frequent
# in topic 1 have positive coefficients, less frequent ones negative ones. The few at zero were selected by
# chance.

figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 4.2), layout="constrained")
iterations = [record["iteration"] for record in model.history_]
for bound, colour in (("upper", "#0072B2"), ("lower", "#E69F00")):
    left.plot(iterations, [record[bound] for record in model.history_], color=colour, label=f"{bound} bound")
left.set_xlabel("iteration")
left.set_ylabel("bounds on the worst-case error R*")
left.set_ylim(0, 0.52)
left.legend(frameon=False)
right.axhline(0, color="0.6", linewidth=1)
right.axvline(0, color="0.6", linewidth=1)
right.scatter(log_ratio, coefficient, s=20, color="#0072B2", alpha=0.7)
right.set_xlabel("log2 of P(word | topic 1) / P(word | topic 0)")
right.set_ylabel("coefficient, at unit variance")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
