"""Private names of scikit-learn that this library uses, copies, and fits that pass on weights and groups."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sklearn import get_config
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import _check_n_features as check_n_features
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as num_samples
from sklearn.utils.validation import has_fit_parameter

Method = TypeVar("Method", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]:
    """scikit-learn's decorator of ``fit``, which hides from checkers of types what it decorates."""
    decorate: Callable[[Method], Method] = _fit_context(
        prefer_skip_nested_validation=prefer_skip_nested_validation
    )
    return decorate


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


def own_parts(estimator: Any) -> list[Any]:
    """The estimator and those within it, as far as they are of this library: they declare capabilities."""
    parts = [estimator, *estimator.get_params().values()]
    return [part for part in parts if hasattr(type(part), "_capabilities")]


def fresh_copy(estimator: Any, **settings: Any) -> Any:
    """Return an unfitted copy, in which estimators of this library have these settings, if they know them."""
    fresh = clone(estimator)
    for part in own_parts(fresh):
        known = part.get_params(deep=False)
        part.set_params(**{name: value for name, value in settings.items() if name in known})
    return fresh


def steps_of(estimator: Any) -> list[Any]:
    """The steps of a pipeline, the last of which predicts; any other estimator is its own only step."""
    return [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]


def fit_with(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, groups: Any = None) -> Any:
    """Fit an estimator, or a pipeline whose last step gets the weights and the groups.

    Weights are always passed on. Groups go to estimators that take them; others have no use for them. With
    metadata routing, searches and other estimators that route groups get them too.
    """
    last = steps_of(estimator)[-1]
    more = {} if sample_weight is None else {"sample_weight": sample_weight}
    takes_groups = has_fit_parameter(last, "groups")
    if groups is not None and (takes_groups or _routes_groups(estimator)):
        more["groups"] = groups
    if isinstance(estimator, Pipeline) and not get_config()["enable_metadata_routing"]:
        return estimator.fit(
            X, y, **{f"{estimator.steps[-1][0]}__{name}": value for name, value in more.items()}
        )
    if isinstance(estimator, Pipeline) and more and hasattr(last, "set_fit_request"):
        last.set_fit_request(**{name: True for name in more if has_fit_parameter(last, name)})
    return estimator.fit(X, y, **more)


def check_classifier(argument: str, value: Any) -> None:
    try:
        is_one = not isinstance(value, type) and hasattr(value, "fit") and is_classifier(value)
    except AttributeError:  # no estimator of scikit-learn, and without its tags
        is_one = False
    if not is_one:
        raise ValueError(
            f"{argument} must be a classifier (an instance, and not a regressor), got {value!r}."
        )


def _routes_groups(estimator: Any) -> bool:
    is_routing = get_config()["enable_metadata_routing"] and hasattr(estimator, "get_metadata_routing")
    return is_routing and "groups" in get_routing_for_object(estimator).consumes("fit", ["groups"])


__all__ = [
    "ARRAY_ADAPTERS",
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_classifier",
    "check_n_features",
    "check_sample_weight",
    "fit_context",
    "fit_with",
    "fresh_copy",
    "num_samples",
    "own_parts",
    "safe_indexing",
    "steps_of",
    "without_array_adapters",
]
