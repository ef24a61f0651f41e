"""On what the benchmark ran: beside the machine and the packages, MRCpy's environment and the threads."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from experiments.harness.child import ROOT
from experiments.harness.environment import describe_machine, source_revision
from experiments.rivals.adapters import mrcpy_interpreter
from minimaxrisk._utils.environment import package_versions

PACKAGES = ("minimaxrisk", "numpy", "scipy", "scikit-learn", "highspy", "skglm", "numba", "pandas", "pyarrow")
MRCPY_PACKAGES = ("MRCpy", "gurobipy")


@cache
def describe_environment() -> dict[str, Any]:
    """What a reader needs to judge the numbers."""
    return describe_machine() | {
        "packages": package_versions(PACKAGES) | _mrcpy_versions(),
        "threads": _threads(),
        "revision": source_revision(ROOT / "experiments"),
    }


def _mrcpy_versions() -> dict[str, str]:
    if not Path(mrcpy_interpreter()).exists():
        return {}
    script = (
        "import json, importlib.metadata as m; "
        f"print(json.dumps({{name: m.version(name) for name in {MRCPY_PACKAGES!r}}}))"
    )
    done = subprocess.run([mrcpy_interpreter(), "-c", script], capture_output=True, text=True, check=False)
    return dict(json.loads(done.stdout)) if done.returncode == 0 else {}


def _threads() -> list[str]:
    """How many threads the linear algebra of this environment uses."""
    import scipy.linalg  # noqa: F401, PLC0415  (loads the library that is asked about)
    from threadpoolctl import threadpool_info  # noqa: PLC0415

    # The order in which libraries were found says nothing, and it changes from run to run.
    return sorted(
        {
            " ".join(filter(None, (pool["internal_api"], pool["version"])))
            + f" with {pool['num_threads']} threads"
            for pool in threadpool_info()
        }
    )
