"""Random Fourier features (eq. 2 of the paper)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from minimaxrisk._utils.arguments import parameters_by_keyword
from minimaxrisk._utils.arrays import refuse_elsewhere
from minimaxrisk._utils.sklearn_private import Interval, StrOptions, fit_context


@parameters_by_keyword
class RandomFourierFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Map inputs to random cosines and sines.

    .. math:: \Psi(x) = [\cos(u_1^T x), \ldots, \cos(u_D^T x), \sin(u_1^T x), \ldots, \sin(u_D^T x)]

    with :math:`u_i \sim N(0, \gamma I)` drawn once in ``fit``. The inner product of two such vectors,
    divided by D, approximates the Gaussian kernel :math:`\exp(-\gamma \|x - x'\|^2 / 2)`.

    Parameters
    ----------
    n_components : int, default=100
        Number of output columns: as many cosines as sines, and one cosine more if it is odd.
    gamma : {"scale"} or float, default="scale"
        Variance of the entries of the u's. ``"scale"`` is 2/d, meant for standardised inputs.
        scikit-learn's ``RBFSampler`` calls half of this number gamma.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw; an integer makes ``fit`` repeatable.

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, ceil(n_components / 2))
        The vectors u as columns.
    gamma_ : float
        The variance used.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had some.

    Examples
    --------
    >>> import numpy as np
    >>> from minimaxrisk import RandomFourierFeatures
    >>> Z = RandomFourierFeatures(n_components=6, random_state=0).fit_transform(np.eye(3))
    >>> Z.shape
    (3, 6)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 100,
        *,
        gamma: str | float = "scale",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> RandomFourierFeatures:
        """Draw the random directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Instances, of which only the number of columns is used.
        y : None, default=None
            Not used; there for pipelines.

        Returns
        -------
        self
            The fitted transformer.
        """
        refuse_elsewhere(X, "RandomFourierFeatures")
        X = validate_data(self, X, accept_sparse=["csr", "csc"])
        n_features = X.shape[1]
        self.gamma_ = 2.0 / n_features if self.gamma == "scale" else float(self.gamma)
        normal = check_random_state(self.random_state).standard_normal
        self.directions_ = np.sqrt(self.gamma_) * normal((n_features, (self.n_components + 1) // 2))
        self._n_features_out = self.n_components
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Map instances to cosines and sines of their projections.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Instances.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The cosines, then the sines.
        """
        check_is_fitted(self)
        refuse_elsewhere(X, "RandomFourierFeatures")
        X = validate_data(self, X, accept_sparse=["csr", "csc"], reset=False)
        projection = safe_sparse_dot(X, self.directions_, dense_output=True)
        n_sines = self._n_features_out // 2
        return np.hstack([np.cos(projection), np.sin(projection[:, :n_sines])])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
