"""Of inherited members the reference shows those that this library defines."""

from __future__ import annotations

import inspect
from typing import Any

from sphinx.application import Sphinx


def skip(app: Sphinx, what: str, name: str, obj: Any, *others: Any) -> bool | None:
    """Whether autodoc leaves a member out; None where it decides itself.

    Fitted attributes stand in the docstring of their class, some of which are properties.
    """
    if what != "class":
        return None
    if name.endswith("_"):
        return True
    defined = inspect.unwrap(getattr(obj, "fget", None) or obj)
    owner = getattr(defined, "__func__", defined)
    return None if str(getattr(owner, "__module__", "")).startswith("minimaxrisk") else True


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
