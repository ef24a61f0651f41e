"""Values as JSON has them: dictionaries, lists, numbers and strings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def json_ready(value: Any) -> Any:
    """Without arrays and data classes, which JSON does not have; what is not finite becomes None."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    # First what nearly all values are: a page has ten thousands of them.
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: json_ready(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    return value
