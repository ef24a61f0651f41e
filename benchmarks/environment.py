"""On what the benchmark ran: processor, threads, versions. No names of hosts, users or folders."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.adapters import mrcpy_interpreter

PACKAGES = ("minimaxrisk", "numpy", "scipy", "scikit-learn", "highspy", "skglm", "numba")
MRCPY_PACKAGES = ("MRCpy", "gurobipy", "numpy", "scikit-learn")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def describe_environment() -> dict[str, Any]:
    """What a reader needs to judge the numbers, and what must not change in the middle of a run."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": _versions(PACKAGES),
        "mrcpy_environment": _mrcpy_versions(),
        "thread_settings": {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ},
        "thread_pools": _thread_pools(),
        "revision": _revision(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _memory_gb() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (ValueError, OSError):
        return None


def _versions(names: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _mrcpy_versions() -> dict[str, str]:
    if not Path(mrcpy_interpreter()).exists():
        return {}
    script = (
        "import json, importlib.metadata as m; "
        f"print(json.dumps({{name: m.version(name) for name in {MRCPY_PACKAGES!r}}}))"
    )
    done = subprocess.run([mrcpy_interpreter(), "-c", script], capture_output=True, text=True, check=False)
    return dict(json.loads(done.stdout)) if done.returncode == 0 else {}


def _thread_pools() -> list[dict[str, Any]]:
    """How many threads the linear algebra of this environment uses."""
    import scipy.linalg  # noqa: F401, PLC0415  (loads the library that is asked about)
    from threadpoolctl import threadpool_info  # noqa: PLC0415

    kept = ("user_api", "internal_api", "version", "num_threads")
    pools = [{name: pool.get(name) for name in kept} for pool in threadpool_info()]
    # The order in which libraries were found says nothing, and it changes from run to run.
    distinct = [pool for k, pool in enumerate(pools) if pool not in pools[:k]]
    return sorted(distinct, key=lambda pool: str(list(pool.values())))


def _revision() -> str | None:
    """The commit that was measured, with a mark if files had been changed since."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
