"""Parameters by keyword, with an error that shows the right call."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)


def parameters_by_keyword(cls: Class) -> Class:
    """Let a class tell how to call it where too many positional arguments are passed."""
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

    cls.__init__ = checked  # type: ignore[misc]
    return cls
