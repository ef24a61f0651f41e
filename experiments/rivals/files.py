"""From a file to an answer: reading a wide table, and the whole command beside its parts.

Every measurement has a process of its own. Readers are timed without their imports, whole commands with
them, since that is what somebody at a terminal waits for.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from experiments.rivals import ROOT
from experiments.rivals.environment import describe_environment
from experiments.rivals.numbers import as_memory, as_ratio, as_time
from experiments.rivals.report import fill, markdown_table, render_environment

OURS = "minimaxrisk.files"
PREPARE = "import sys, time, json; sys.path.insert(0, {root!r}); from experiments.rivals.memory import *"
TIMED = """
reset_peak(); before = resident_memory(); begun = time.perf_counter()
{work}
print(json.dumps([time.perf_counter() - begun, peak_memory() - before]))
"""
# Imports, and what is timed.
READERS = {
    OURS: (
        "from minimaxrisk.files import read_training_study",
        "X = read_training_study({path!r}, target='diagnosis').X",
    ),
    "pandas.read_csv": ("import pandas", "X = pandas.read_csv({path!r}).iloc[:, 2:].to_numpy()"),
    "pyarrow, types given, one block": (
        "import os, numpy, pyarrow, pyarrow.csv as arrow",
        "names = open({path!r}).readline().strip().split(',')\n"
        "table = arrow.read_csv({path!r}, arrow.ReadOptions(block_size=os.path.getsize({path!r}) + 1), "
        "convert_options=arrow.ConvertOptions(column_types=dict.fromkeys(names[2:], pyarrow.float64())))\n"
        "X = numpy.column_stack([column.to_numpy() for column in table.columns[2:]])",
    ),
}
FIT = (
    "from minimaxrisk import MinimaxRiskClassifier\nfrom minimaxrisk.files import read_training_study\n"
    "import warnings; warnings.simplefilter('ignore')\n"
    "study = read_training_study({path!r}, target='diagnosis')",
    "MinimaxRiskClassifier().fit(study.X, study.y)",
)


def measure_files(*, n_samples: int, n_features: int, repeats: int) -> dict[str, Any]:
    """Medians of seconds, and of bytes where a process was asked for them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "expression.csv"
        write_study(path, n_samples, n_features)
        readers = {name: _median_of(parts, path, repeats) for name, parts in READERS.items()}
        fit = _median_of(FIT, path, repeats)
        model = Path(folder) / "model.skops"
        command = [sys.executable, "-m", "minimaxrisk", "fit", str(path), "--target", "diagnosis"]
        whole = median(_seconds([*command, "--out", str(model), "--quiet"]) for _ in range(repeats))
        return {
            "shape": [n_samples, n_features],
            "file_bytes": path.stat().st_size,
            "model_bytes": model.stat().st_size,
            "readers": readers,
            "fit": fit,
            "command": whole,
            "repeats": repeats,
            "environment": describe_environment(),
        }


def write_study(path: Path, n_samples: int, n_features: int) -> None:
    """Names, labels, and normal numbers with five decimals."""
    import numpy as np  # noqa: PLC0415

    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        file.write(f"sample,diagnosis,{','.join(f'gene_{j}' for j in range(n_features))}\n")
        for i in range(n_samples):
            values = ",".join(f"{value:.5f}" for value in rng.normal(8.0, 2.0, n_features))
            file.write(f"patient_{i},{'ill' if i % 2 else 'well'},{values}\n")


def render_files(measured: dict[str, Any]) -> str:
    """A table of the readers, and a sentence on the command."""
    n_samples, n_features = measured["shape"]
    ours = measured["readers"][OURS]["seconds"]
    lines = [
        [
            f"`{name}`" if name == OURS else name,
            as_time(found["seconds"]),
            as_ratio(found["seconds"] / ours),
            as_memory(found["bytes"]),
        ]
        for name, found in measured["readers"].items()
    ]
    parts = ours + measured["fit"]["seconds"]
    return "\n\n".join(
        [
            render_environment(measured["environment"]),
            f"Reading {n_samples} × {n_features:,} numbers with five decimals from a CSV file of "
            f"{as_memory(measured['file_bytes'])}, into one array; medians of {measured['repeats']}.",
            markdown_table(["reader", "time", "ratio", "memory"], lines),
            f"`minimaxrisk fit` on that file with `--out` (a model file of "
            f"{as_memory(measured['model_bytes'])}) takes {as_time(measured['command'])} from start to end. "
            f"Reading and fitting are {as_time(parts)} of it (fit {as_time(measured['fit']['seconds'])}); "
            "the rest is imports, the check of the certificate and the model file.",
        ]
    )


def fill_page(measured: dict[str, Any], page: Path) -> None:
    """Put the result between the markers of a page of the documentation."""
    page.write_text(fill(page.read_text(encoding="utf-8"), "files", render_files(measured)), encoding="utf-8")


def _median_of(parts: tuple[str, str], path: Path, repeats: int) -> dict[str, float]:
    found = list(_measurements(*parts, path, repeats))
    return {"seconds": median(entry[0] for entry in found), "bytes": median(entry[1] for entry in found)}


def _measurements(imports: str, work: str, path: Path, repeats: int) -> Iterator[list[float]]:
    texts = [PREPARE.format(root=str(ROOT)), imports, TIMED.replace("{work}", work)]
    code = "\n".join(text.replace("{path!r}", repr(str(path))) for text in texts)
    for _ in range(repeats):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        yield json.loads(done.stdout)


def _seconds(command: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun
