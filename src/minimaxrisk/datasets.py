"""Simulated data: expression studies whose best possible error is known, and texts as sparse tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import norm
from sklearn.utils import Bunch, check_random_state

from minimaxrisk._utils.arrays import FloatArray, IntArray

__all__ = ["ExpressionLaw", "make_expression", "make_text"]

# Zipf's law in Mandelbrot's form, 1 / (rank + shift): without the shift a few words would fill every text.
RANK_SHIFT = 20.0


@dataclass(frozen=True)
class ExpressionLaw:
    """Two Gaussian classes with a common covariance of equicorrelated modules.

    Gene j of module g is ``level_j + scale_j (y shift_j + sqrt(rho) f_g + sqrt(1 - rho) e_j)`` with
    independent standard normal module factors f and noise e; the label y is 1 with probability
    ``positive``. The last module may hold fewer genes than the others.

    Parameters
    ----------
    level, scale, shift : ndarray of shape (n_features,)
        Means of the genes in class 0, standard deviations within the classes, and differences of the means of
        the classes in these.
    module_size : int
        Genes per module.
    correlation, positive : float
        The correlation rho between genes of one module, in [0, 1), and the probability of class 1.

    See Also
    --------
    make_expression : Draws a law and a sample from it.
    """

    level: FloatArray
    scale: FloatArray
    shift: FloatArray
    module_size: int
    correlation: float
    positive: float

    @property
    def n_features(self) -> int:
        """Number of genes."""
        return len(self.level)

    @property
    def module(self) -> IntArray:
        """Which module each gene belongs to."""
        return np.arange(self.n_features) // self.module_size

    @property
    def class_means(self) -> FloatArray:
        """Means of the genes in class 0 and class 1 (2 x d)."""
        return np.stack([self.level, self.level + self.scale * self.shift])

    @property
    def bayes_error(self) -> float:
        """Error of the best rule: linear, with Mahalanobis distance ``sqrt(shift' R^-1 shift)``.

        A module of g genes has the correlation matrix (1 - rho) I + rho 11', whose inverse is
        (I - rho 11' / (1 - rho + rho g)) / (1 - rho).
        """
        rho, sizes = self.correlation, np.bincount(self.module)
        total = np.bincount(self.module, self.shift)
        square = np.bincount(self.module, self.shift**2)
        distance = float(np.sqrt(np.sum(square - rho * total**2 / (1.0 - rho + rho * sizes)) / (1.0 - rho)))
        if distance == 0.0:
            return min(self.positive, 1.0 - self.positive)
        lean = np.log(self.positive / (1.0 - self.positive)) / distance
        miss_0 = norm.cdf(-distance / 2 + lean)
        miss_1 = norm.cdf(-distance / 2 - lean)
        return float((1.0 - self.positive) * miss_0 + self.positive * miss_1)

    def error(self, coef: FloatArray, intercept: FloatArray | float) -> float:
        """Exact error of the rule that says class 1 where ``coef'x + intercept > 0``.

        Parameters
        ----------
        coef : array-like of shape (n_features,), (1, n_features) or (2, n_features)
            Coefficients. Two rows are scores of the classes, and the larger score decides.
        intercept : float or array-like of shape (1,) or (2,)
            Constants, one for each row.

        Returns
        -------
        float
            The probability that the rule errs.
        """
        coef, intercept = np.atleast_2d(coef), np.atleast_1d(intercept)
        if len(coef) == 2:
            coef, intercept = coef[1] - coef[0], intercept[1] - intercept[0]
        scaled = np.ravel(coef) * self.scale
        variance = (1.0 - self.correlation) * scaled @ scaled
        variance += self.correlation * np.sum(np.bincount(self.module, scaled) ** 2)
        centres = self.class_means @ np.ravel(coef) + float(np.ravel(intercept)[0])
        if variance == 0.0:
            wrong = np.array([centres[0] > 0, centres[1] <= 0], dtype=float)
        else:
            wrong = norm.cdf(np.array([1.0, -1.0]) * centres / np.sqrt(variance))
        return float((1.0 - self.positive) * wrong[0] + self.positive * wrong[1])

    def sample(self, n_samples: int, random_state: Any = None) -> tuple[FloatArray, IntArray]:
        """Draw instances and labels; every class occurs as soon as there are two samples.

        Parameters
        ----------
        n_samples : int
            How many.
        random_state : int, RandomState instance or None, default=None
            Seed; an int gives the same sample every time.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Instances.
        y : ndarray of int of shape (n_samples,)
            Labels, 0 or 1.
        """
        random = check_random_state(random_state)
        y = (random.random_sample(n_samples) < self.positive).astype(np.intp)
        if n_samples > 1 and y.min() == y.max():
            y[0] = 1 - y[0]
        X = np.asarray(random.standard_normal((n_samples, self.n_features)))
        X *= np.sqrt(1.0 - self.correlation)
        factors = random.standard_normal((n_samples, int(self.module[-1]) + 1))
        # One module at a time: a table of factors per gene would be as large as X.
        for g in range(factors.shape[1]):
            genes = slice(g * self.module_size, (g + 1) * self.module_size)
            X[:, genes] += np.sqrt(self.correlation) * factors[:, g, None]
        X += y[:, None] * self.shift
        X *= self.scale
        X += self.level
        return X, y


def make_expression(
    n_samples: int = 100,
    n_features: int = 2000,
    *,
    n_informative: int = 20,
    effect: float = 1.0,
    module_size: int = 20,
    correlation: float = 0.5,
    positive: float = 0.5,
    random_state: Any = None,
) -> Bunch:
    """Simulate an expression study: correlated gene modules, a few informative genes, known Bayes error.

    Parameters
    ----------
    n_samples : int, default=100
        Number of patients.
    n_features : int, default=2000
        Number of genes.
    n_informative : int, default=20
        Genes whose mean differs between the classes, at random places.
    effect : float, default=1.0
        The difference of the means in standard deviations; its sign is random per gene.
    module_size : int, default=20
        Genes per module.
    correlation, positive : float, default=0.5
        The correlation between genes of one module, in [0, 1), and the probability of class 1.
    random_state : int, RandomState instance or None, default=None
        Seed; an int gives the same study every time.

    Returns
    -------
    Bunch
        With ``data``, ``target`` (0 or 1), ``feature_names``, ``informative`` (sorted column indices),
        ``bayes_error`` and ``law``, an ``ExpressionLaw`` that can draw more samples and knows the error of
        linear rules.

    Examples
    --------
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(50, 200, n_informative=10, random_state=0)
    >>> study.data.shape, len(study.informative)
    ((50, 200), 10)
    >>> X_new, y_new = study.law.sample(1000, random_state=1)
    >>> X_new.shape
    (1000, 200)
    """
    if not 0 <= n_informative <= n_features:
        raise ValueError(f"n_informative must lie between 0 and {n_features=}, got {n_informative}.")
    if not 0.0 <= correlation < 1.0:
        raise ValueError(f"correlation must lie in [0, 1), got {correlation}.")
    if n_samples < 2 or n_features < 1 or module_size < 1:
        raise ValueError(
            "n_samples must be at least 2, n_features and module_size at least 1, got "
            f"{n_samples}, {n_features} and {module_size}."
        )
    _check_effect_and_positive(effect, positive)
    random = check_random_state(random_state)
    informative = np.sort(random.choice(n_features, n_informative, replace=False))
    shift = np.zeros(n_features)
    shift[informative] = effect * random.choice([-1.0, 1.0], n_informative)
    law = ExpressionLaw(
        # Log intensities: genes differ in level and in how much they vary.
        level=random.uniform(4.0, 12.0, n_features),
        scale=random.uniform(0.3, 1.5, n_features),
        shift=shift,
        module_size=module_size,
        correlation=correlation,
        positive=positive,
    )
    X, y = law.sample(n_samples, random)
    return Bunch(
        data=X,
        target=y,
        feature_names=_numbered("gene", n_features),
        informative=informative,
        bayes_error=law.bayes_error,
        law=law,
    )


def make_text(
    n_samples: int = 2000,
    n_features: int = 20_000,
    *,
    mean_length: float = 80.0,
    informative_share: float = 0.1,
    effect: float = 1.0,
    positive: float = 0.5,
    random_state: Any = None,
) -> Bunch:
    """Simulate texts of two topics as a sparse table of words.

    Words have Zipf-like probabilities, ``1 / (rank + 20)`` up to a constant. Each topic has its own share of
    informative words, whose probabilities it multiplies by ``exp(effect * z)`` with standard normal z. A text
    is a Poisson number of independent draws from the words of its topic, and at least one.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of texts.
    n_features : int, default=20_000
        Number of words.
    mean_length : float, default=80.0
        Mean of the Poisson number of draws per text.
    informative_share : float, default=0.1
        Probability that a topic makes a word more or less frequent.
    effect : float, default=1.0
        How much: the standard deviation of the logarithm of the factor.
    positive : float, default=0.5
        Probability of topic 1.
    random_state : int, RandomState instance or None, default=None
        Seed; an int gives the same texts every time.

    Returns
    -------
    Bunch
        With ``data`` (CSR array of ``1 + log(count)`` where a word occurs), ``target`` (0 or 1),
        ``feature_names``, ``informative`` (sorted column indices) and ``topics``, the word probabilities of
        the two topics (2 x n_features).

    Examples
    --------
    >>> from minimaxrisk.datasets import make_text
    >>> texts = make_text(100, 1000, random_state=0)
    >>> texts.data.shape
    (100, 1000)
    """
    if n_samples < 2 or n_features < 1:
        raise ValueError(
            f"n_samples must be at least 2 and n_features at least 1, got {n_samples} and {n_features}."
        )
    if not (np.isfinite(mean_length) and mean_length > 0.0):
        raise ValueError(f"mean_length must be a positive number, got {mean_length}.")
    if not 0.0 <= informative_share <= 1.0:
        raise ValueError(f"informative_share must lie in [0, 1], got {informative_share}.")
    _check_effect_and_positive(effect, positive)
    random = check_random_state(random_state)
    is_informative = random.random_sample((2, n_features)) < informative_share
    topics = _topics(effect * random.standard_normal((2, n_features)) * is_informative)
    y = (random.random_sample(n_samples) < positive).astype(np.intp)
    if y.min() == y.max():
        y[0] = 1 - y[0]
    length = np.maximum(random.poisson(mean_length, n_samples), 1)
    X = sparse.vstack([_counts(length[y == k], topics[k], random) for k in (0, 1)], format="csr")
    X.data = 1.0 + np.log(X.data)
    # Back to the order of the labels: texts of topic 0 came first.
    X = X[np.argsort(np.argsort(y, kind="stable"))]
    return Bunch(
        data=X,
        target=y,
        feature_names=_numbered("word", n_features),
        informative=np.flatnonzero(is_informative.any(axis=0)),
        topics=topics,
    )


def _check_effect_and_positive(effect: float, positive: float) -> None:
    if not np.isfinite(effect):
        raise ValueError(f"effect must be a finite number, got {effect}.")
    if not 0.0 < positive < 1.0:
        raise ValueError(f"positive must lie strictly between 0 and 1, got {positive}.")


def _numbered(what: str, n: int) -> np.ndarray:
    """Names of columns that sort by number."""
    width = len(str(n - 1))
    return np.array([f"{what}_{j:0{width}d}" for j in range(n)], dtype=object)


def _topics(log_factors: FloatArray) -> FloatArray:
    """Word probabilities, one row per topic."""
    log_p = log_factors - np.log(np.arange(log_factors.shape[1]) + RANK_SHIFT)
    p: FloatArray = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def _counts(length: Any, topic: FloatArray, random: Any) -> sparse.csr_array:
    """How often each word occurs in texts of the given lengths.

    Indices of 32 bits: some learners of scikit-learn refuse larger ones.
    """
    words = random.choice(len(topic), int(length.sum()), p=topic).astype(np.int32)
    text = np.repeat(np.arange(len(length), dtype=np.int32), length)
    return sparse.csr_array((np.ones(len(words)), (text, words)), shape=(len(length), len(topic)))
