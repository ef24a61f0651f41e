"""Measure, print a table, write it as CSV."""

from __future__ import annotations

import argparse
import csv
import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# scikit-learn's switch asks for SciPy's, which is read when SciPy is imported.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import sklearn

from experiments.accelerators import RESULTS
from experiments.harness.code import engine_fingerprint
from experiments.harness.environment import describe_environment

COLUMNS = (
    *("what", "n", "d", "seconds", "passes", "iterations", "share_of_floor", "seconds_with_results_in_numpy"),
    *("milliseconds_each", "milliseconds_of_one_fit", "gigabytes_per_second", "R", "gap"),
    *("difference_to_cpu", "note"),
)
WIDTHS = [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.accelerators", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument(
        "--only", nargs="*", help="parts: bandwidth wide same permutations ensemble growth streamed"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the CSV file")
    options = parser.parse_args()
    try:
        import torch  # noqa: PLC0415
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("make bench-gpu needs PyTorch and a CUDA device.", file=sys.stderr)  # noqa: T201
        return 1
    sklearn.set_config(array_api_dispatch=True)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "accelerators.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in _rows(options.only, quick=options.quick):
            writer.writerow({name: _text(value) for name, value in row.items()})
            file.flush()
            print("  ".join(f"{name}={_text(value)}" for name, value in row.items()), flush=True)  # noqa: T201
    print(f"written to {path}")  # noqa: T201
    return 0


def _rows(only: list[str] | None, *, quick: bool) -> Iterator[dict[str, object]]:
    import torch  # noqa: PLC0415

    from experiments.accelerators import clock, streaming, workloads  # noqa: PLC0415

    workloads.quiet()
    parts: dict[str, Callable[[], Iterator[dict[str, object]]]] = {
        "bandwidth": lambda: iter(
            [
                {"what": "reading", "gigabytes_per_second": clock.reading_bandwidth() / 1e9},
                {"what": "upload from pinned memory", "gigabytes_per_second": clock.upload_bandwidth() / 1e9},
            ]
        ),
        "wide": lambda: workloads.wide([(200, 100_000)] if quick else [(200, 10_000_000), (1000, 2_000_000)]),
        "same": lambda: workloads.same_results(200, 10_000 if quick else 100_000),
        "permutations": lambda: (
            row
            for n, d, on_cpu in ([(72, 7129, 20)] if quick else [(72, 7129, 200), (200, 1_000_000, 0)])
            for row in workloads.permutations(100 if quick else 1000, n=n, d=d, on_cpu=on_cpu)
        ),
        "ensemble": lambda: (
            row
            for n, d in ([(72, 7129)] if quick else [(72, 7129), (200, 100_000)])
            for row in workloads.ensemble(50, n=n, d=d)
        ),
        "growth": lambda: workloads.growth(200, WIDTHS[:2] if quick else WIDTHS),
        "streamed": lambda: streaming.streamed(200, 500_000 if quick else 50_000_000),
    }
    properties, here = torch.cuda.get_device_properties(0), describe_environment()
    yield {
        "what": "environment",
        "note": f"{properties.name}, PyTorch {torch.__version__}, NumPy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}, Python {platform.python_version()}; host {here['processor']}, "
        f"{here['cores']} cores; revision {here['revision']}, engine {engine_fingerprint()}",
    }
    for name in only or parts:
        yield from parts[name]()


def _text(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


if __name__ == "__main__":
    sys.exit(main())
