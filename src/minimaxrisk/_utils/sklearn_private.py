"""Private names of scikit-learn that this package uses, in one place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as num_samples

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replaces the mixin, which older releases of scikit-learn do not have."""

    def with_callbacks(method: Any) -> Any:
        return method


# Packages of scikit-learn that adapt it to other array libraries, which they import.
ARRAY_ADAPTERS = [f"sklearn.externals.array_api_compat.{name}" for name in ("cupy", "dask", "torch")]


@contextmanager
def without_array_adapters() -> Iterator[None]:
    """Within it listing scikit-learn's estimators loads no other array library.

    ``all_estimators`` imports every package below sklearn and skips those that it cannot import. The adapters
    hold no estimators, and they import PyTorch and dask, which takes 2.4 s.
    """
    kept_away = [name for name in ARRAY_ADAPTERS if name not in sys.modules]
    # A module that is None in sys.modules cannot be imported.
    sys.modules.update(dict.fromkeys(kept_away))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in kept_away:
            del sys.modules[name]


__all__ = [
    "ARRAY_ADAPTERS",
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_sample_weight",
    "fit_context",
    "num_samples",
    "safe_indexing",
    "with_callbacks",
    "without_array_adapters",
]
