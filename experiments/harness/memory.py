"""Resident memory of this process, now and at its peak."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress
from pathlib import Path


def reset_peak() -> None:
    """Give free memory back and forget the peak so far.

    Without it (elsewhere than on Linux) what compiling once needed hides what the fit needs.
    """
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def resident_memory() -> int:
    """Bytes resident now; where that cannot be read, the peak so far."""
    return _from_status("VmRSS") or _ru_maxrss()


def peak_memory() -> int:
    """Largest number of resident bytes since ``reset_peak``."""
    return _from_status("VmHWM") or _ru_maxrss()


def anonymous_memory() -> int:
    """Bytes resident now that no file stands for; where that cannot be read, all of them."""
    return _from_status("RssAnon") or resident_memory()


def _from_status(field: str) -> int:
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return 1024 * int(line.split()[1])
    return 0


def _ru_maxrss() -> int:
    import resource  # noqa: PLC0415  (there is none on Windows)

    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage if sys.platform == "darwin" else 1024 * usage
