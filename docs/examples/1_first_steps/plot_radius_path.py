"""
All radii at once
=================

The radius says how far the true means may be from those of the sample, in standard errors. It is the one
choice that matters: a larger radius gives a larger worst-case error and fewer features. ``minimax_risk_path``
shows what each would give, for the price of a few fits.
"""

# %%
# The path
# --------
# Measurements of cell nuclei from 569 tumours, 30 columns. Without ``radii`` the path has 20 of them, up to
# the one at which nothing is learned: there the worst-case error is that of tossing a coin.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from minimaxrisk import minimax_risk_path
from minimaxrisk.inspection import BoundPathDisplay

cancer = load_breast_cancer()
X, y, names = cancer.data, cancer.target, cancer.feature_names
path = minimax_risk_path(X, y)
print(path)

# %%
# Between two of these radii the worst-case error is known too, without another fit: it is concave in the
# radius.

lower, upper = path.bounds(1.234)
print(f"at s = 1.234: {lower:.5f} <= R* <= {upper:.5f}")

# %%
# Which columns matter where
# --------------------------
# On the left are the worst-case error and the number of columns. On the right each line is the coefficient of
# a column, at unit variance; negative ones speak for class 0, malignant. The four columns with the largest
# coefficients over all radii have names. Columns that measure nearly the same take each other's place: one
# may leave as the radius grows, and come back.

coefficients = path.coefs[:, 0, :] * X.std(axis=0)
named = np.argsort(-np.abs(coefficients).sum(axis=0))[:4]
print("columns with the largest coefficients:", ", ".join(names[named]))
print("selected at the largest radius that selects anything:", *names[path.selected_features[-2]])

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
BoundPathDisplay.from_result(path).plot(left)
left.set_xscale("log")
left.xaxis.set_major_formatter("{x:g}")
right.plot(path.radii, coefficients, color="0.8", linewidth=1)
styles = zip(named, ["#0072B2", "#E69F00", "#009E73", "#CC79A7"], ["-", "--", "-.", ":"], strict=True)
for column, colour, line in styles:
    right.plot(path.radii, coefficients[:, column], line, color=colour, linewidth=2.5, label=names[column])
right.axhline(0, color="black", linewidth=0.8)
right.set_xscale("log")
right.xaxis.set_major_formatter("{x:g}")
right.set_xlabel("radius s, in standard errors")
right.set_ylabel("coefficient, at unit variance")
right.set_title("Coefficients by radius", loc="left", fontsize="medium")
right.legend(frameon=False, loc="lower right", fontsize="small")
right.spines[["top", "right"]].set_visible(False)
plt.show()
