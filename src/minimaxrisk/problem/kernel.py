"""Features known by their scalar products: a kernel, centred at the mean of the sample, and a constant.

With k the kernel and p the masses of the instances, the products of centred features are

    k(x, x') - sum_j p_j k(x, x_j) - sum_j p_j k(x_j, x') + sum_jl p_j p_l k(x_j, x_l),

which does not change when all instances are moved. In numbers it does: products of columns far from zero lose
the digits that tell instances apart. So kernels whose centred products do not depend on the origin get the
distances from the mean of the sample. The constant stands for the intercept. It is as large as the other
features together, in the root mean square.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from minimaxrisk._utils.arrays import DataMatrix, FloatArray

KERNELS = ("linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "chi2")
# Those whose centred products stay the same when all instances are moved.
WITHOUT_ORIGIN = ("linear", "rbf", "laplacian")
# Squares of smaller numbers lose digits, and squares of much smaller ones vanish.
SMALLEST_SPREAD = 1e-150
Kernel = str | Callable[[Any, Any], Any]


@dataclass(frozen=True)
class KernelFunction:
    """The function k: products of any instances with those of the sample, as the parameters say."""

    kernel: Kernel
    gamma: float | None = None
    degree: float = 3
    coef0: float = 0.0
    origin: FloatArray | None = field(default=None, compare=False)  # subtracted from all instances

    @classmethod
    def of(cls, parameters: Any, X: DataMatrix, masses: FloatArray) -> KernelFunction:
        """For a sample of instances with these masses.

        ``gamma="scale"`` is 1 / (n_features v) with v the mean variance of the columns.
        """
        origin, gamma = None, parameters.gamma
        if parameters.kernel in KERNELS and not sparse.issparse(X):
            mean = masses @ X
            _refuse_vanishing(X, mean)
            origin = mean if parameters.kernel in WITHOUT_ORIGIN else None
        if gamma == "scale":
            if sparse.issparse(X):
                variance = float(np.mean(X.multiply(X).mean(axis=0) - np.square(X.mean(axis=0))))
            else:
                variance = float(np.mean(X.var(axis=0)))
            gamma = 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
        elif gamma == "auto":
            gamma = 1.0 / X.shape[1]
        return cls(parameters.kernel, float(gamma), parameters.degree, parameters.coef0, origin)

    def moved(self, X: DataMatrix) -> DataMatrix:
        """Instances as the kernel takes them."""
        if self.origin is None:
            return X
        return (X.toarray() if sparse.issparse(X) else X) - self.origin

    def __call__(self, X: DataMatrix, fitted: Any) -> FloatArray:
        """Products of the rows of X with those of ``fitted``; X as it is for a kernel computed beforehand."""
        if self.kernel == "precomputed":
            found = X
        elif callable(self.kernel):
            found = self.kernel(X, fitted)
            if np.shape(found) != (X.shape[0], fitted.shape[0]):
                raise ValueError(
                    f"kernel must return a matrix of shape {(X.shape[0], fitted.shape[0])}, a row for each "
                    f"row of its first argument, got shape {np.shape(found)}."
                )
        else:
            options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
            found = pairwise_kernels(
                self.moved(X), self.moved(fitted), metric=self.kernel, filter_params=True, **options
            )
        if sparse.issparse(found):
            found = found.toarray()
        products: FloatArray = np.asarray(found, dtype=np.float64)
        if not np.isfinite(products).all():
            raise ValueError(
                "the kernel must give finite numbers, got NaN or infinity; scale the columns of X, or choose "
                "another kernel."
            )
        return products


def _refuse_vanishing(X: FloatArray, mean: FloatArray) -> None:
    spread = float(np.abs(X - mean).max(initial=0.0))
    if 0.0 < spread < SMALLEST_SPREAD:
        raise ValueError(
            f"the columns of X differ from their means by {spread:.2g} at most, and the products of such "
            "numbers vanish; multiply X by a constant."
        )


@dataclass(frozen=True)
class KernelSpace:
    """How products are centred, and the product that the constant adds."""

    masses: FloatArray  # of the instances of the sample
    means: FloatArray  # of the products of each of them with the sample
    mean: float
    constant: float

    @classmethod
    def of(cls, products: FloatArray, masses: FloatArray, *, fit_intercept: bool) -> KernelSpace:
        means = products @ masses
        mean = float(masses @ means)
        size = float(masses @ (np.diag(products) - 2.0 * means + mean))
        return cls(masses, means, mean, max(size, 0.0) if fit_intercept else 0.0)

    def centred(self, products: FloatArray) -> FloatArray:
        """The products of the features, from those of the kernel with the instances of the sample."""
        own = products @ self.masses
        return products - own[:, None] + (self.constant + self.mean - self.means)
