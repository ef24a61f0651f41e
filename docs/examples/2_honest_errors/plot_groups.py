"""
Replicates: what goes wrong without groups
==========================================

Four measurements of one patient are not four patients. Whoever counts them as such gets small errors, small
p-values and small bounds out of nothing. ``groups`` says which samples belong together.
"""

# %%
# Noise, measured four times
# --------------------------
# 30 patients, four measurements of 200 genes each. Patients differ from each other, measurements of one
# patient much less. The diagnosis has nothing to do with any gene, so that every rule errs half of the time
# on new patients.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from minimaxrisk import MinimaxRiskClassifier, compare, error_bound, permutation_test
from minimaxrisk.exceptions import UnderfitWarning


def make_study(seed):
    random = np.random.default_rng(seed)
    diagnosis = random.permutation(np.arange(30) % 2)
    patients = np.repeat(np.arange(30), 4)
    X = random.normal(size=(30, 200))[patients] + 0.5 * random.normal(size=(120, 200))
    return X, diagnosis[patients], patients


# %%
# Four statements, with and without groups
# ----------------------------------------
# The same questions to six such studies: the cross-validated error, the limit of a hold-out, the bound R*
# with radii that cover, and the p-value of a permutation test, in which whole patients exchange labels
# (``groups``). Models of noise predict a single class, and say so; we know, and turn that off.


def statements(X, y, groups):
    model = MinimaxRiskClassifier(radius="bootstrap").fit(X, y, groups=groups)
    plain = MinimaxRiskClassifier()
    test = permutation_test(plain, X, y, 49, groups=groups, random_state=0)
    return (
        compare({"model": plain}, X, y, groups=groups).mean_errors[0],
        error_bound(plain, X, y, groups=groups, random_state=0).value,
        model.worst_case_error_,
        test.pvalue,
    )


warnings.simplefilter("ignore", UnderfitWarning)
studies = [make_study(seed) for seed in range(6)]
without = np.array([statements(X, y, None) for X, y, _ in studies])
with_groups = np.array([statements(X, y, patients) for X, y, patients in studies])
names = ["cross-validated error", "hold-out bound", "bound R*", "p-value"]
for name, wrong, right in zip(names, without.T, with_groups.T, strict=True):
    print(f"{name}: median {np.median(wrong):.3f} without groups, {np.median(right):.3f} with")

# %%
# Look
# ----
# Each dot is a study. Without groups (orange) noise looks like a finding. With groups (blue) the errors
# are around one half, no bound is far below it, and p-values are anywhere between 0 and 1, as they should be
# on noise.

figure, ax = plt.subplots(figsize=(8.5, 4), layout="constrained")
shift = np.linspace(-0.09, 0.09, len(studies))
for values, offset, colour, marker, label in (
    (without, -0.18, "#E69F00", "s", "without groups"),
    (with_groups, 0.18, "#0072B2", "o", "with groups"),
):
    for place in range(len(names)):
        shown = label if place == 0 else None
        ax.scatter(place + offset + shift, values[:, place], color=colour, marker=marker, label=shown)
ax.axhline(0.5, color="0.45", linestyle=":", label="true error of every rule")
ax.set_xticks(range(len(names)), labels=names)
ax.set_ylabel("error, bound or p-value")
ax.set_ylim(-0.03, 1)
ax.legend(frameon=False, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
