"""On what an experiment ran: processor, versions, revision. No names of hosts, users or folders."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from minimaxrisk._utils.environment import package_versions

PACKAGES = ("minimaxrisk", "numpy", "scipy", "scikit-learn", "highspy")


@cache
def describe_environment() -> dict[str, Any]:
    """What a reader needs to judge the numbers."""
    return describe_machine() | {
        "packages": package_versions(PACKAGES),
        "revision": source_revision(Path(__file__).parents[1]),
    }


def fingerprint(description: Mapping[str, Any]) -> str:
    """A short name for an environment: the same for the same description."""
    text = json.dumps(description, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def describe_machine() -> dict[str, Any]:
    """The hardware, the system and the interpreter."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gb": memory_gb(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    # Where the system does not name it, the architecture follows further on.
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, "a processor without a name")


def memory_gb() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None


def source_revision(folder: Path) -> str | None:
    """The commit of the checkout that the folder belongs to, with a mark if files were changed since.

    None for an installed package, even if its environment lies within the checkout of another project: git
    knows none of the files there.
    """
    try:
        _git(folder, "ls-files", "--error-unmatch", ".")
        return _git(folder, "describe", "--always", "--dirty")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()
