"""``minimaxrisk bench``: the benchmark against other solvers and learners."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import typer

CHECKOUT = Path(__file__).parents[3]


def bench_command(context: typer.Context) -> None:
    """Measure times against other solvers and learners.

    Writes a report; a small version with --quick. All further options go to the benchmark, and
    'python -m benchmarks run --help' lists them. It is part of the source tree and needs the extra "bench".

    \b
    Examples:
      minimaxrisk bench --quick --out results
      minimaxrisk bench --workloads 'expression-d*' --resume
    """
    if not (CHECKOUT / "benchmarks" / "__main__.py").is_file():
        raise ValueError(
            "the benchmark is part of the source tree and not of the installed package: get the sources, and "
            "run 'make bench' there."
        )
    sys.path.insert(0, str(CHECKOUT))
    status: int = importlib.import_module("benchmarks.__main__").main(["run", *context.args])
    raise typer.Exit(status)
