"""Which of two classes a test looks for."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Words in the names of classes that are not what a test looks for.
NOT_LOOKED_FOR = {
    *(
        "normal",
        "normals",
        "healthy",
        "control",
        "controls",
        "ctrl",
        "negative",
        "neg",
        "benign",
        "unaffected",
    ),
    *("well", "alive", "remission", "wildtype", "wt", "no", "non", "not", "none", "without", "free", "0"),
}


def looked_for(classes: Sequence[str]) -> int:
    """Of two classes the one that a test would look for: the second, unless its name says that it is well."""
    is_well = [not NOT_LOOKED_FOR.isdisjoint(re.findall(r"[a-z0-9]+", name.lower())) for name in classes]
    return 0 if is_well[1] and not is_well[0] else 1
