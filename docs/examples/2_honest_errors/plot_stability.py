"""
Genes that are selected again and again
=======================================

Genes selected from one sample may be others in the next one. Stability selection fits the classifier on many
random halves of the patients and keeps the genes that most halves select. It also bounds how many of them are
kept without reason.
"""

# %%
# One fit
# -------
# 100 patients, 1,000 genes, of which 15 differ by one standard deviation. One fit that selects its 15 most
# important genes finds some of them, and some that do not differ.

import matplotlib.pyplot as plt
import numpy as np

from minimaxrisk import MinimaxRiskSelector
from minimaxrisk.datasets import make_expression
from minimaxrisk.inspection import StabilityDisplay

study = make_expression(100, 1000, n_informative=15, effect=1.0, random_state=1)
X, y = study.data, study.target
single = MinimaxRiskSelector(max_features=15).fit(X, y)


def report(name, selector):
    kept = selector.get_support(indices=True)
    print(
        f"{name}: {len(kept)} genes kept, {len(np.setdiff1d(kept, study.informative))} of them do not differ"
    )


report("one fit", single)

# %%
# Many halves
# -----------
# 30 random splits make 60 halves, each of which selects at most 15 genes. Kept is what at least 60% of them
# select.

stable = MinimaxRiskSelector(max_features=15, stability=True, n_subsamples=60, random_state=0).fit(X, y)
report("stability selection", stable)
print(stable.false_selection_bounds_)

# %%
# Look
# ----
# The genes that truly differ have names in bold. They lead the list: what most halves agree on is real. The
# price are genes that differ and are not kept, since half of the patients do not show them clearly enough.

truly_different = set(study.feature_names[study.informative])
display = StabilityDisplay.from_estimator(stable, max_features=25, feature_names=study.feature_names).plot()
for label in display.ax_.get_yticklabels():
    label.set_fontweight("bold" if label.get_text() in truly_different else "normal")
plt.show()
