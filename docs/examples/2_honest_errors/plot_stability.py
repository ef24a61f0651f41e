"""
Genes that are selected again and again
=======================================

Genes selected from one sample may be others in the next one. Stability selection fits the classifier on many
random halves of the patients and keeps the genes that most halves select. How many of the kept genes are
related to the class? ``reliable_features`` bounds their number from below.
"""

# %%
# One fit
# -------
# 100 patients, 1,000 genes, of which 15 differ by one standard deviation. One fit that selects its 15 most
# important genes finds some of them, and some that do not differ. The bound of ``reliable_features`` is valid
# although the genes were selected with the same patients.

import matplotlib.pyplot as plt
import numpy as np

from minimaxrisk import MinimaxRiskSelector, reliable_features
from minimaxrisk.datasets import make_expression
from minimaxrisk.inspection import StabilityDisplay

study = make_expression(100, 1000, n_informative=15, effect=1.0, random_state=1)
X, y = study.data, study.target
reliable = reliable_features(X, y, random_state=0)
single = MinimaxRiskSelector(max_features=15).fit(X, y)


def report(name, selector):
    kept = selector.get_support(indices=True)
    n_differ = len(np.intersect1d(kept, study.informative))
    print(f"{name}: {len(kept)} genes, at least {reliable.at_least(kept)} related; in truth {n_differ}")


report("one fit", single)

# %%
# Many halves
# -----------
# From each of 60 random halves at most 15 genes are selected. Genes that at least 60% of the halves select
# are kept.

stable = MinimaxRiskSelector(max_features=15, stability=True, n_subsamples=60, random_state=0).fit(X, y)
report("stability selection", stable)

# %%
# Look
# ----
# The genes that truly differ have names in bold. They lead the list. Genes that differ, but not clearly
# enough in half of the patients, are not kept.

truly_different = set(study.feature_names[study.informative])
display = StabilityDisplay.from_estimator(stable, max_features=25, feature_names=study.feature_names).plot()
for label in display.ax_.get_yticklabels():
    label.set_fontweight("bold" if label.get_text() in truly_different else "normal")
plt.show()
