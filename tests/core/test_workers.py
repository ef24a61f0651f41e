"""Worker processes end with the process that started them, also if that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from minimaxrisk._utils.parallel import SECONDS_BETWEEN_LOOKS

PROGRAM = """
import os, time
from minimaxrisk._utils.parallel import parallel_map

def slow(i):
    with open("workers", "a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(0.5)

parallel_map(slow, range(1000), n_jobs=2)
"""


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows ends children otherwise")
def test_workers_of_a_killed_process_end(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=tmp_path, stderr=subprocess.DEVNULL)
    workers: set[int] = set()
    for _ in range(300):
        if (tmp_path / "workers").exists():
            workers = {int(line) for line in (tmp_path / "workers").read_text().split()} - {parent.pid}
        if workers:
            break
        time.sleep(0.1)
    assert workers
    parent.kill()
    parent.wait()
    for _ in range(100):
        if not any(map(is_alive, workers)):
            break
        time.sleep(SECONDS_BETWEEN_LOOKS / 10)
    assert not any(map(is_alive, workers))
