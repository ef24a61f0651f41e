"""How much memory this process could still have."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def free_memory() -> int | None:
    """Bytes that can be had without swapping; None where the system does not say (elsewhere than on Linux).

    What the whole machine has left, or less where the process is in a group of its own with a limit.
    """
    known = [amount for amount in (_of_machine(), _of_group()) if amount is not None]
    return min(known) if known else None


def _of_machine() -> int | None:
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    return None


def _of_group() -> int | None:
    """What is left to a container; files of others that are cached count as free."""
    with suppress(OSError, ValueError):
        folder = Path("/sys/fs/cgroup")
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
        cached = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return limit - used + int(cached.get("inactive_file", 0))
    return None
