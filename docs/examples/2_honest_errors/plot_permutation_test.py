"""
Is it more than noise?
======================

With a small radius and thousands of genes the worst-case error R* looks good even if there is nothing to
learn: some gene always seems to differ. The permutation test asks what R* would be if the labels had nothing
to do with the genes.
"""

# %%
# Two studies that look alike
# ---------------------------
# Both have 80 patients and 2,000 genes. In one of them 20 genes truly differ by 0.8 standard deviations, in
# the other one none. For both R* at the radius 1 is far below one half, the error of tossing a coin.

import matplotlib.pyplot as plt

from minimaxrisk import MinimaxRiskClassifier, permutation_test
from minimaxrisk.datasets import make_expression
from minimaxrisk.inspection import PermutationTestDisplay

studies = {
    "20 genes differ": make_expression(80, 2000, effect=0.8, random_state=0),
    "no gene differs": make_expression(80, 2000, effect=0.0, random_state=0),
}

# %%
# The test
# --------
# ``permutation_test`` shuffles the labels among the patients 200 times and computes R* anew each time. The
# p-value counts how often shuffled labels do as well as the true ones; it needs no assumption on the radius.

results = {}
for name, study in studies.items():
    results[name] = permutation_test(
        MinimaxRiskClassifier(radius=1.0), study.data, study.target, n_permutations=200, random_state=0
    )
    print(f"{name}: {results[name]}")

# %%
# Look
# ----
# The orange line is R* of the study. Left of the dashed line it is better than 95% of the shuffled labels. So
# R* has to be read beside its noise floor: the same number can be a finding or nothing.

figure, axes = plt.subplots(1, 2, figsize=(9.2, 4.2), layout="constrained", sharex=True, sharey=True)
for ax, (name, result) in zip(axes, results.items(), strict=True):
    PermutationTestDisplay.from_result(result).plot(ax)
    ax.set_title(f"{name}: p = {result.pvalue:.3f}", loc="left", fontsize="medium")
plt.show()
