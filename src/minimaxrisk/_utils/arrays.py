"""Names for the array types that the numerical core passes around."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
Float32Array: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]

# A validated training matrix: a 2-D ndarray, a SciPy CSR matrix or array, or a ``Table`` (``table.py``).
DataMatrix: TypeAlias = Any
