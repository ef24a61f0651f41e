"""Time and memory of one fit, of an array in memory or of chunks with threads or worker processes.

``python -m experiments.rivals.cluster_clock WHERE N_SAMPLES N_FEATURES``
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import dask.array
import numpy as np
from distributed import Client, LocalCluster, wait

from experiments.harness.child import telling
from experiments.harness.memory import peak_memory, reset_peak, resident_memory
from experiments.rivals.cluster import PLACES
from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk._utils.notices import quiet_fits

MEMORY, THREAD, *_ = PLACES
PROCESSES = {PLACES[2]: 1, PLACES[3]: 2}
# Columns of a chunk: 40 MB of 200 rows.
WIDTH = 25_000
N_INFORMATIVE, EFFECT = 50, 0.8


def chunk_of_study(block_info: Any) -> np.ndarray:
    """Normal columns, of which the first ones tell two classes apart; made by the worker that holds them."""
    location = block_info[None]["array-location"]
    (_, n), (start, stop) = location
    values = np.random.default_rng(start).standard_normal((n, stop - start))
    if start == 0:
        values[:, :N_INFORMATIVE] += EFFECT * (np.arange(n) % 2)[:, None]
    return values


def study(n: int, d: int) -> Any:
    width = min(WIDTH, d // 4)
    return dask.array.map_blocks(chunk_of_study, chunks=((n,), (width,) * (d // width)), dtype=np.float64)


@contextmanager
def data_at(where: str, chunks: Any) -> Iterator[tuple[Any, Client | None]]:
    """The data in their place, and the client whose workers hold them."""
    if where == MEMORY:
        yield chunks.compute(), None
    elif where == THREAD:
        with dask.config.set(scheduler="threads", num_workers=1):
            yield chunks.persist(), None
    else:
        with (
            LocalCluster(
                n_workers=PROCESSES[where], threads_per_worker=1, dashboard_address=None, memory_limit=0
            ) as cluster,
            Client(cluster) as client,
        ):
            held = chunks.persist()
            wait(held)
            yield held, client


def cpu_of_workers(client: Client | None) -> dict[str, float]:
    return {} if client is None else dict(client.run(time.process_time))


def main() -> None:
    where, n, d = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    y = np.arange(n) % 2
    with telling() as tell, data_at(where, study(n, d)) as (X, client), quiet_fits():
        MinimaxRiskClassifier().fit(X[:, : d // 20], y)  # imports and the first use of LAPACK are nobody's
        reset_peak()
        before, worked = resident_memory(), cpu_of_workers(client)
        begun, own = time.perf_counter(), time.process_time()
        model = MinimaxRiskClassifier().fit(X, y)
        seconds, own = time.perf_counter() - begun, time.process_time() - own
        later = cpu_of_workers(client)
        tell(
            seconds=seconds,
            own_cpu=own,
            worker_cpu=max((later[name] - worked[name] for name in later), default=0.0),
            bytes=peak_memory() - before,
            n_iter=model.n_iter_,
            worst_case_error=model.worst_case_error_,
        )


if __name__ == "__main__":
    main()
