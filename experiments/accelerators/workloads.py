"""What is measured: each workload gives rows of the table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.svm import LinearSVC

from experiments.accelerators.clock import median_seconds, reading_bandwidth, seconds_of
from experiments.datasets import list_datasets, load_dataset
from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier, permutation_test
from minimaxrisk.engines.solution import IterationRecord

Row = dict[str, Any]
# The gap that the table is about, and columns that differ between the classes.
GAP, N_INFORMATIVE, EFFECT = 1e-6, 20, 0.8
# Columns up to which a CPU is asked too.
MOST_ON_CPU = 1_000_000


def study(n: int, d: int) -> tuple[torch.Tensor, np.ndarray]:
    """Standard normal columns in float32, made on the card; some differ between two classes."""
    random = torch.Generator(device="cuda").manual_seed(0)
    X = torch.empty((n, d), dtype=torch.float32, device="cuda")
    width = 1 << 20
    for start in range(0, d, width):
        part = X[:, start : start + width]
        part.copy_(torch.randn(part.shape, generator=random, device="cuda"))
    y = np.arange(n) % 2
    X[torch.asarray(y == 1, device="cuda"), :N_INFORMATIVE] += EFFECT
    return X, y


@dataclass
class UntilCertified:
    """A callback that ends a fit at a certified gap, and knows when that was."""

    gap: float = GAP
    ended: float = 0.0

    def __call__(self, record: IterationRecord) -> bool:
        if record["upper"] - record["lower"] > self.gap:
            return False
        self.ended = time.perf_counter()
        return True


def certified(X: Any, y: np.ndarray, repeats: int = 5) -> tuple[float, float, MinimaxRiskClassifier]:
    """Seconds until the bounds are within the gap, those of the whole fit which then ends, and the model."""
    until, times = [], []
    for _ in range(1 + repeats):
        callback = UntilCertified()
        model = MinimaxRiskClassifier(callback=callback)
        torch.cuda.synchronize()
        started = time.perf_counter()
        model.fit(X, y)
        times.append(time.perf_counter() - started)
        until.append(callback.ended - started)
    # The first one warms up, unless it is the only one.
    return float(np.median(until[1:] or until)), float(np.median(times[1:] or times)), model


def wide(sizes: list[tuple[int, int]]) -> Iterator[Row]:
    """Very many features: time to the gap, and the share of it that reading the data takes."""
    bandwidth = reading_bandwidth()
    for n, d in sizes:
        X, y = study(n, d)
        until, whole, model = certified(X, y)
        floor = 4.0 * n * d * model.n_passes_ / bandwidth
        yield {
            "what": "fit to a gap of 1e-6",
            "n": n,
            "d": d,
            "seconds": until,
            "passes": model.n_passes_,
            "iterations": model.n_iter_,
            "share_of_floor": floor / until,
            "seconds_with_results_in_numpy": whole,
            "R": model.worst_case_error_,
            "gap": model.optimality_gap_,
        }
        exact = MinimaxRiskClassifier()
        seconds = _alone(exact, X, y)
        yield {
            "what": "fit to the vertex",
            "n": n,
            "d": d,
            "seconds": seconds,
            "passes": exact.n_passes_,
            "iterations": exact.n_iter_,
            "R": exact.worst_case_error_,
            "gap": exact.optimality_gap_,
            "note": exact.history_[-1]["vertex"],
        }
        del X
        torch.cuda.empty_cache()


def growth(n: int, widths: list[int]) -> Iterator[Row]:
    """Time against the number of features, on the device and on the CPU beside it."""
    for d in widths:
        X, y = study(n, d)
        until, whole, model = certified(X, y)
        common = {"n": n, "d": d}
        yield {
            "what": "growth: device",
            **common,
            "seconds": until,
            "seconds_with_results_in_numpy": whole,
            "R": model.worst_case_error_,
        }
        if d == MOST_ON_CPU:
            yield from _cupy(X, y, common)
        if d > MOST_ON_CPU:
            continue
        here = X.cpu().numpy()
        del X
        until, whole, model = certified(here, y, repeats=1 if d < MOST_ON_CPU // 10 else 0)
        yield {
            "what": "growth: CPU",
            **common,
            "seconds": until,
            "seconds_with_results_in_numpy": whole,
            "R": model.worst_case_error_,
        }
        rival = LinearSVC(penalty="l1", dual=False, C=0.1, max_iter=1000)
        yield {"what": "growth: liblinear, L1 SVM, CPU", **common, "seconds": _alone(rival, here, y)}
        yield from _skglm(here, y, common)


def _cupy(X: torch.Tensor, y: np.ndarray, common: Row) -> Iterator[Row]:
    """The same memory as an array of CuPy, without the kernel."""
    try:
        import cupy  # noqa: PLC0415
    except ImportError:
        return
    until, whole, model = certified(cupy.from_dlpack(X), y)
    yield {
        "what": "growth: device, CuPy",
        **common,
        "seconds": until,
        "seconds_with_results_in_numpy": whole,
        "R": model.worst_case_error_,
    }


def _skglm(here: np.ndarray, y: np.ndarray, common: Row) -> Iterator[Row]:
    try:
        from skglm import SparseLogisticRegression  # noqa: PLC0415
    except ImportError:
        return
    rival = SparseLogisticRegression(alpha=0.05)
    rival.fit(here[:, :100], y)  # compiles
    yield {"what": "growth: skglm, CPU", **common, "seconds": _alone(rival, here, y)}


def _alone(rival: Any, here: Any, y: np.ndarray) -> float:
    return seconds_of(lambda: rival.fit(here, y))


def same_results(n: int, d: int) -> Iterator[Row]:
    """R* on the device beside that of the CPU, simulated and on the data sets that are at hand."""
    X, y = study(n, d)
    yield _difference(f"simulated {n} x {d}", X.cpu().numpy(), y)
    for name in list_datasets():
        try:
            bunch = load_dataset(name)
        except Exception as error:  # whatever keeps a data set from being read is told
            yield {"what": f"R*: {name}", "note": f"not read: {type(error).__name__}"}
            continue
        yield _difference(name, bunch.data, bunch.target)


def _difference(name: str, X: Any, y: np.ndarray) -> Row:
    here = MinimaxRiskClassifier().fit(X, y)
    dense = X.toarray() if hasattr(X, "toarray") else X
    there = MinimaxRiskClassifier().fit(torch.asarray(np.ascontiguousarray(dense), device="cuda"), y)
    return {
        "what": f"R*: {name}",
        "n": X.shape[0],
        "d": X.shape[1],
        "R": there.worst_case_error_,
        "difference_to_cpu": there.worst_case_error_ - here.worst_case_error_,
        "gap": there.optimality_gap_,
    }


def permutations(n_permutations: int, *, n: int, d: int, on_cpu: int) -> Iterator[Row]:
    """Many labellings at once: time of all, and of each beside one fit."""
    X, y = study(n, d)
    common = {"n": n, "d": d}

    def test(values: Any, number: int) -> Any:
        return permutation_test(MinimaxRiskClassifier(), values, y, number, random_state=0)

    seconds = median_seconds(lambda: test(X, n_permutations), 3)
    one = certified(X, y)[0]
    yield {
        "what": f"{n_permutations} permutations: device",
        **common,
        "seconds": seconds,
        "milliseconds_each": 1e3 * seconds / n_permutations,
        "milliseconds_of_one_fit": 1e3 * one,
    }
    if on_cpu:
        seconds = seconds_of(lambda: test(X.cpu().numpy(), on_cpu))
        yield {
            "what": f"{on_cpu} permutations: CPU",
            **common,
            "seconds": seconds,
            "milliseconds_each": 1e3 * seconds / on_cpu,
        }


def ensemble(n_members: int, *, n: int, d: int) -> Iterator[Row]:
    """Members of an ensemble at once, without the certificate of their average, here and there."""
    X, y = study(n, d)
    model = MinimaxRiskEnsembleClassifier(n_estimators=n_members, certify=False, random_state=0)
    for where, values in (("device", X), ("CPU", X.cpu().numpy())):
        yield {
            "what": f"{n_members} members: {where}",
            "n": n,
            "d": d,
            "seconds": median_seconds(lambda values=values: model.fit(values, y), 3),  # type: ignore[misc]
        }


def quiet() -> None:
    """Radii of 1 are no bounds here and not meant as such; liblinear need not converge."""
    warnings.simplefilter("ignore")
