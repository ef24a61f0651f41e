"""Records of named results as JSON files, exact to the bit, and what differs between two of them.

Floats are stored with all their digits. An array is stored as a hash, with a few numbers that tell how large
a difference is. An item that raises an exception is stored as its text, and the others go on.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

Item = tuple[str, Callable[[], Any]]


def write_record(path: Path, items: Iterable[Item], only: str = "") -> None:
    """Compute the items whose names begin with ``only``; the times of the sections go to standard error."""
    entries: dict[str, Any] = {}
    seconds: dict[str, list[float]] = {}
    for name, compute in items:
        if name.startswith(only):
            begun = time.perf_counter()
            entries[name] = _outcome(compute)
            seconds.setdefault(_section(name), []).append(time.perf_counter() - begun)
    path.write_text(json.dumps({"only": only, "items": entries}, indent=1, ensure_ascii=False), "utf-8")
    failed = [name for name, entry in entries.items() if "error" in entry]
    told = [f"{section}: {len(spent)} items, {sum(spent):.1f} s" for section, spent in seconds.items()]
    told += [f"{len(entries)} items, {len(failed)} of them with an exception", *failed]
    print("\n".join(told), file=sys.stderr)  # noqa: T201


def compare_records(old: Path, new: Path) -> bool:
    """Print every difference in the items that both records were to hold; return whether there is none."""
    before, after = (json.loads(path.read_text("utf-8")) for path in (old, new))
    wanted = (before["only"], after["only"])
    names = [name for name in before["items"] | after["items"] if all(map(name.startswith, wanted))]
    n_different = 0
    for name in names:
        told = list(_differences(name, *(record["items"].get(name) for record in (before, after))))
        n_different += bool(told)
        for line in told:
            print(line)  # noqa: T201
    counts = Counter(map(_section, names))
    by_section = "" if n_different else f": {', '.join(f'{section} {n}' for section, n in counts.items())}"
    print(f"{n_different} of {len(names)} items differ{by_section}")  # noqa: T201
    return n_different == 0


def _outcome(compute: Callable[[], Any]) -> dict[str, Any]:
    """The value or the exception, and which kinds of warnings came."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            entry = {"value": _encoded(compute())}
        except Exception as error:
            entry = {"error": f"{type(error).__name__}: {error}"}
    kinds = {warning.category for warning in caught}
    own = {kind for kind in kinds if kind is ConvergenceWarning or kind.__module__.startswith("minimaxrisk")}
    return entry | {"warnings": sorted(kind.__name__ for kind in own)}


def _encoded(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return float(value) if isinstance(value, float) else value
    if isinstance(value, Mapping):
        return {str(name): _encoded(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encoded(entry) for entry in value]
    for method in ("compute", "cpu", "get", "toarray"):  # of dask, PyTorch, CuPy and SciPy
        if hasattr(value, method):
            value = getattr(value, method)()
    return _encoded_array(np.asarray(value))


def _encoded_array(array: np.ndarray) -> Any:
    kind = array.dtype.kind
    if array.ndim == 0 or kind not in "biuf" or (kind in "iu" and array.ndim == 1 and array.size <= 400):
        return _encoded(array.tolist())
    numbers = array.astype(np.float64)
    return {
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "sha256": hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest(),
        "sum": float(numbers.sum()),
        "sum of absolute values": float(np.abs(numbers).sum()),
        "first": numbers.ravel()[:4].tolist(),
    }


def _differences(where: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in old | new:
            yield from _differences(f"{where}: {name}", old.get(name), new.get(name))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from _differences(f"{where}[{i}]", left, right)
    elif isinstance(old, str) and isinstance(new, str) and "\n" in old + new:
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
        yield from (f"{where}: {line}" for line in lines if not line.startswith(("---", "+++", "@@")))
    elif repr(old) != repr(new):  # every bit of a float, and NaN equals NaN
        size = f" (by {new - old:.3g})" if _is_number(old) and _is_number(new) else ""
        yield f"{where}: {old!r} -> {new!r}{size}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _section(name: str) -> str:
    return name.split("/", maxsplit=1)[0]
