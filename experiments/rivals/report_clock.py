"""CPU time and memory of the command ``minimaxrisk``, as it is in the tree that ``PYTHONPATH`` names.

``python -m experiments.rivals.report_clock ARGUMENTS``

Nothing of the library is imported here before the command does it: that is part of what is measured.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from experiments.harness.child import telling
from experiments.harness.memory import peak_memory


def main() -> None:
    with telling() as tell:
        status = _run_command()
        spent = os.times()
        cpu = spent.user + spent.system + spent.children_user + spent.children_system
        if status:
            sys.exit(f"minimaxrisk ended with {status}")
        package = sys.modules["minimaxrisk"].__file__
        tell(cpu=cpu, bytes=peak_memory(), tree=str(Path(str(package)).resolve().parents[1]))


def _run_command() -> object:
    try:
        runpy.run_module("minimaxrisk", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code
    return 0


if __name__ == "__main__":
    main()
