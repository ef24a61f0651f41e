"""
Several classes: what speaks for which
======================================

With three and more classes each class has its own coefficients. So a feature can speak for one class and
against another. Handwritten digits make that visible: each feature is a pixel.
"""

# %%
# Fit
# ---
# 360 images of the digits 0 to 5, with 8 x 8 pixels each. The radius is a plain number, because we look for
# pixels and not for a bound; the warning that says so is turned off.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from minimaxrisk import MinimaxRiskClassifier

X, y = load_digits(n_class=6, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=360, stratify=y, random_state=0)
model = MinimaxRiskClassifier(radius=0.5).fit(X_train, y_train)
print(f"{model.n_features_selected_} of {X.shape[1]} pixels used, classes {model.classes_}")
print(f"error on {len(y_test)} other images: {np.mean(model.predict(X_test) != y_test):.3f}")

# %%
# Read the coefficients
# ---------------------
# ``coef_`` has a row per class. Multiplied by the standard deviation of its pixel, a coefficient says how
# much the pixel counts. Adding the same number to a pixel's coefficients of all classes would change no
# decision, so we look at them less their mean over the classes.

weight = model.coef_ * X_train.std(axis=0)
weight -= weight.mean(axis=0)
for digit in model.classes_:
    row, column = divmod(int(np.argmax(weight[digit])), 8)
    print(f"ink in row {row}, column {column} speaks most for {digit}")

# %%
# Look
# ----
# Above: the mean image of each class. Below: red pixels speak for the class where there is ink, blue ones
# against it. For a 0, ink in the middle speaks against it.

middle = weight[0].reshape(8, 8)[3:5, 3:5]
print(f"sum of the coefficients of the four pixels in the middle, for 0: {middle.sum():.2f}")
end = np.abs(weight).max()
figure, axes = plt.subplots(2, len(model.classes_), figsize=(8.8, 3.6), layout="constrained")
for digit, (above, below) in zip(model.classes_, axes.T, strict=True):
    above.imshow(X_train[y_train == digit].mean(axis=0).reshape(8, 8), cmap="Greys")
    image = below.imshow(weight[digit].reshape(8, 8), cmap="RdBu_r", vmin=-end, vmax=end)
    above.set_title(f"digit {digit}", fontsize="medium")
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("mean image")
axes[1, 0].set_ylabel("coefficients")
figure.colorbar(image, ax=axes, label="coefficient: against – for", shrink=0.9)
plt.show()
