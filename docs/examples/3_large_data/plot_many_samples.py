"""
What more samples buy
=====================

How many patients does a small bound take? We let a study grow from 100 to 20,000 patients and watch two
bounds, each beside the true error that it is about.
"""

# %%
# A growing study
# ---------------
# 50 genes, 10 of which differ a little. For each size there are two statements. The limit of a hold-out is
# about ``predict`` of a model that learned from half of the patients. The worst-case error R*, with radii
# that cover, is about the randomized rule (``predict_proba``) of the model of all patients.

import matplotlib.pyplot as plt
import numpy as np

from minimaxrisk import MinimaxRiskClassifier, error_bound
from minimaxrisk.datasets import make_expression

sizes = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000]
law = make_expression(2, 50, n_informative=10, effect=0.6, random_state=0).law
X_new, y_new = law.sample(20_000, random_state=2)
model = MinimaxRiskClassifier(radius="bootstrap")
held_out, of_predict, worst_case, of_randomized = [], [], [], []
for n in sizes:
    X, y = law.sample(n, random_state=1)
    bound = error_bound(model, X, y, random_state=0)
    held_out.append(bound.value)
    of_predict.append(law.error(bound.model.coef_, bound.model.intercept_))
    model.fit(X, y)
    worst_case.append(model.worst_case_error_)
    of_randomized.append(1 - model.predict_proba(X_new)[np.arange(len(y_new)), y_new].mean())
    print(
        f"{n:6,} patients: predict errs {of_predict[-1]:.3f} of the time, hold-out limit {held_out[-1]:.3f};",
        end=" ",
    )
    print(f"the randomized rule {of_randomized[-1]:.3f}, R* {worst_case[-1]:.3f}")
print(f"the best rule there is: {law.bayes_error:.3f}")
too_small = [n for n, limit, error in zip(sizes, held_out, of_predict, strict=True) if limit < error]
print(f"sizes at which the limit of the hold-out is too small: {too_small}")

# %%
# Look
# ----
# The limit of the hold-out comes down to the true error, which comes down to that of the best rule. It holds
# with a probability of 95%: of eight limits one may well be too small, and the line printed above says which.
# R* falls too, and then levels off: it is the worst case over all distributions with these means, and more
# samples tell the means better but nothing else. So take the hold-out for the
# error on new samples; where the worst case is the question, take R*.

figure, axes = plt.subplots(1, 2, figsize=(8.8, 4.2), layout="constrained", sharey=True)
panels = (
    ("predict, learned from half of the samples", held_out, of_predict, "limit of the hold-out"),
    ("randomized rule, learned from all samples", worst_case, of_randomized, "worst-case error R*"),
)
for ax, (title, bounds, truths, label) in zip(axes, panels, strict=True):
    ax.plot(sizes, bounds, color="#0072B2", marker="o", label=label)
    ax.plot(sizes, truths, color="#E69F00", marker="s", linestyle="--", label="true error")
    ax.axhline(law.bayes_error, color="0.45", linestyle=":", label="best rule there is")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel("number of patients")
    ax.set_title(title, loc="left", fontsize="medium")
    ax.set_ylim(0, 0.8)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("error")
plt.show()
