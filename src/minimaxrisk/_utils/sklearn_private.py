"""All that is used of scikit-learn without being part of its public interface, in one place to look after."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as num_samples

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    # From inside fit past scikit-learn's two decorators to the line that called it.
    CALLER_OF_FIT = 4
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for the mixin that older releases of scikit-learn do not have."""

    def with_callbacks(method: Any) -> Any:
        return method

    CALLER_OF_FIT = 3


@contextmanager
def array_libraries_not_imported() -> Iterator[None]:
    """For what asks scikit-learn for all of its estimators, as skops does once.

    On the way it imports its adapters too, and they PyTorch, dask and CuPy where those are installed: three
    seconds for what is used nowhere. With None in its place Python takes a module for not installed.
    """
    adapters = [f"sklearn.externals.array_api_compat.{name}" for name in ("cupy", "dask", "torch")]
    hidden = [name for name in adapters if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


__all__ = [
    "CALLER_OF_FIT",
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "LinearClassifierMixin",
    "StrOptions",
    "array_libraries_not_imported",
    "check_sample_weight",
    "fit_context",
    "num_samples",
    "safe_indexing",
    "with_callbacks",
]
