"""All that is used of scikit-learn without being part of its public interface, in one place to look after."""

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
        """Stands in for the mixin that older releases of scikit-learn do not have."""

    def with_callbacks(method: Any) -> Any:
        return method


# Packages of scikit-learn that adapt it to other array libraries, which they import.
ARRAY_ADAPTERS = [f"sklearn.externals.array_api_compat.{name}" for name in ("cupy", "dask", "torch")]


@contextmanager
def without_array_adapters() -> Iterator[None]:
    """Within it listing scikit-learn's estimators loads no other array library.

    ``all_estimators`` walks through every package below sklearn, which imports it, and passes over those that
    it cannot import. No estimator is in these; PyTorch and dask, where installed, take 2.4 s to load.
    """
    kept_away = [name for name in ARRAY_ADAPTERS if name not in sys.modules]
    # None is Python's mark of what cannot be imported.
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
