"""Checks of arguments that several functions share, and lists and counts in messages."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeVar


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_missing(value: Any) -> bool:
    """None, NaN, or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124  NaN alone differs from itself
    except (TypeError, ValueError):
        return True  # pandas' NA refuses to be a truth value


def check_confidence(confidence: Any) -> None:
    if not (is_number(confidence) and 0.0 < confidence < 1.0):
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}.")


def check_n_folds(n_folds: Any) -> None:
    if not (is_integer(n_folds) and n_folds >= 2):
        raise ValueError(f"n_folds must be an integer of at least 2, got {n_folds!r}.")


def check_positive_integer(argument: str, value: Any) -> None:
    if not (is_integer(value) and value >= 1):
        raise ValueError(f"{argument} must be a positive integer, got {value!r}.")


Class = TypeVar("Class", bound=type)


def parameters_by_keyword(cls: Class) -> Class:
    """Show the right call in the error if too many positional arguments are passed to a class."""
    given: Any = cls.__init__  # type: ignore[misc]
    parameters = list(inspect.signature(given).parameters.values())[1:]
    names = [parameter.name for parameter in parameters]
    n_positional = sum(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)

    @wraps(given)
    def checked(self: Any, *arguments: Any, **more: Any) -> None:
        if len(arguments) > n_positional:
            shown = [repr(value) for value in arguments[:n_positional]]
            shown += [f"{name}={value!r}" for name, value in zip(names, arguments, strict=False)][
                n_positional:
            ]
            shown += [f"{name}={value!r}" for name, value in more.items()]
            raise TypeError(
                f"parameters of {cls.__name__} after {names[n_positional - 1]!r} are passed by keyword; in "
                f"the order given that would be {cls.__name__}({', '.join(shown)})."
            )
        given(self, *arguments, **more)

    checked.__signature__ = inspect.signature(given)  # type: ignore[attr-defined]  # asked for in every fit
    cls.__init__ = checked  # type: ignore[misc]
    return cls


def listed(names: Iterable[str], most: int = 5) -> str:
    """The first few names for a message, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(str(name)) for name in names[:most]) + more


def counted(n: int, thing: str) -> str:
    return f"{n} {thing}{'s' * (n != 1)}"
