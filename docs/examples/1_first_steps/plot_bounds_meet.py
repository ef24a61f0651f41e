"""
Watching the bounds meet
========================

While a fit runs, it always knows two numbers: an upper bound on the worst-case error, proven by the
coefficients at hand, and a lower bound, proven by a distribution. The fit is done when they meet. If you stop
it before, both are still true.
"""

# %%
# Three solvers, one optimum
# --------------------------
# *Constraint generation* is the algorithm of the paper: it starts with a few genes and lets more in, round by
# round. Its upper bound never rises. The *interior point*, the default, goes through the inside of the
# uncertainty set. *First-order* takes many cheap steps and is meant for very large sparse data. The radius is
# a plain number here: we look at solvers, and take the worst-case error as a score. A warning would remind us
# of that.

import matplotlib.pyplot as plt

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.datasets import make_expression
from minimaxrisk.solvers import ConstraintGeneration

study = make_expression(n_samples=120, n_features=3000, effect=1.2, random_state=0)
X, y = study.data, study.target
solvers = {
    "constraint-generation": MinimaxRiskClassifier(solver=ConstraintGeneration(n_max=20)),
    "interior-point": MinimaxRiskClassifier(solver="interior-point"),
    "first-order": MinimaxRiskClassifier(solver="first-order"),
}
for name, model in solvers.items():
    model.fit(X, y)
    seconds = model.history_[-1]["seconds"]
    print(
        f"{name:22} {model.n_iter_:4} iterations, {seconds:5.2f} s: "
        f"{model.worst_case_error_lower_:.5f} <= R* <= {model.worst_case_error_:.5f}"
    )

# %%
# Stop when it is good enough
# ---------------------------
# A callback sees each record of the history, and ends the fit by returning ``True``. Here a gap of 0.01 is
# enough.


def close_enough(record):
    return record["upper"] - record["lower"] < 0.01


stopped = MinimaxRiskClassifier(solver=ConstraintGeneration(n_max=20), callback=close_enough)
stopped.fit(X, y)
print(f"stopped after {stopped.n_iter_} of {solvers['constraint-generation'].n_iter_} rounds,", end=" ")
print(f"{stopped.worst_case_error_lower_:.4f} <= R* <= {stopped.worst_case_error_:.4f}")

# %%
# The picture
# -----------
# The band between the two bounds closes from both sides, for each solver in its own way, and ends at the same
# number, up to the gap with which each is content.

figure, axes = plt.subplots(1, 3, figsize=(8.8, 3.8), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, solvers.items(), strict=True):
    iterations = [record["iteration"] for record in model.history_]
    upper = [record["upper"] for record in model.history_]
    lower = [record["lower"] for record in model.history_]
    ax.fill_between(iterations, lower, upper, color="#56B4E9", alpha=0.3, linewidth=0)
    ax.plot(iterations, upper, color="#0072B2", marker=".", label="upper bound")
    ax.plot(iterations, lower, color="#E69F00", marker=".", label="lower bound")
    ax.set_title(f"{name}\n{model.history_[-1]['seconds']:.2f} seconds", loc="left", fontsize="medium")
    ax.set_xlabel("iteration")
    ax.set_ylim(0, 0.52)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("bounds on the worst-case error R*")
axes[0].legend(frameon=False)
plt.show()
