"""Training samples that come back among new ones, with rounded values or measured again.

A file that is passed on must not hold the samples. It holds a sketch of each: 32 sums of its standardised
values with random signs, over up to a thousand columns, from which no value follows. Sketches are as far
apart as the samples are. A new sample whose sketch is far closer to that of a training sample than training
samples are to each other is that sample, or a repeat of it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray, IntArray, dense_columns

N_SUMS = 32
FEWEST_COLUMNS, MOST_COLUMNS = 2 * N_SUMS, 1000  # of fewer, the sums would tell the values
FEWEST_SAMPLES, MOST_SAMPLES = 10, 5000
# Half of the distance within which a tenth of the training samples has a neighbour. On random halves of ten
# data sets no sample of the other half is as close, and nearly all training samples rounded to a tenth of a
# standard deviation are (tests/core/test_recognition.py).
SHARE, QUANTILE = 0.5, 0.1


@dataclass(frozen=True)
class TrainingSketches:
    """Sketches of the training samples.

    Attributes
    ----------
    columns : ndarray of int of shape (n_columns,)
        The columns that they are of.
    means, spread : ndarray of shape (n_columns,)
        Their means and standard deviations.
    sketches : ndarray of shape (n_samples, 32)
        The sums of each sample.
    nearest : float
        A sample within this distance of a training sample is recognized.
    """

    columns: IntArray
    means: FloatArray = field(repr=False)
    spread: FloatArray = field(repr=False)
    sketches: FloatArray = field(repr=False)
    nearest: float

    def recognize(self, X: DataMatrix) -> BoolArray:
        """Which samples are training samples, or repeats of them."""
        found = _sums(dense_columns(X, self.columns), self.means, self.spread)
        distances, _ = NearestNeighbors(n_neighbors=1).fit(self.sketches).kneighbors(found)
        return np.asarray(distances[:, 0] < self.nearest)


def sketched(X: DataMatrix) -> TrainingSketches | None:
    """Sketches of training samples; None for few columns or samples, and for mostly zeros or copies."""
    n, n_features = X.shape
    if n_features < FEWEST_COLUMNS or not FEWEST_SAMPLES <= n <= MOST_SAMPLES:
        return None
    columns = np.unique(np.linspace(0, n_features - 1, min(MOST_COLUMNS, n_features)).astype(np.intp))
    values = dense_columns(X, columns)
    if 2 * np.count_nonzero(values) < values.size:
        return None  # samples with few entries are close by chance
    means, spread = values.mean(axis=0), values.std(axis=0)
    spread[spread == 0.0] = 1.0
    sketches = _sums(values, means, spread)
    distances = NearestNeighbors(n_neighbors=1).fit(sketches).kneighbors()[0][:, 0]
    nearest = SHARE * float(np.quantile(distances, QUANTILE))
    return TrainingSketches(columns, means, spread, sketches, nearest) if nearest > 0.0 else None


def _sums(values: FloatArray, means: FloatArray, spread: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):
        sums = (values - means) / spread @ _signs(len(means)) / np.sqrt(len(means))
    return np.asarray(np.nan_to_num(sums))


def _signs(n_columns: int) -> Any:
    """The same ones everywhere and ever."""
    drawn = hashlib.shake_256(b"sketches").digest(4 * n_columns)
    bits = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8)).reshape(n_columns, N_SUMS)
    return 2.0 * bits - 1.0
