"""Cells of an experiment without worker processes, each of which takes seconds to import what it needs."""

from __future__ import annotations

import warnings
from concurrent.futures import Future
from contextlib import contextmanager

import pytest

from experiments.harness import runner, worker


class Here:
    """A pool that does its work when it is asked to; nobody keeps a time limit."""

    def submit(self, function, limit, *arguments):
        future = Future()
        with warnings.catch_warnings():
            # A worker would show them, and pytest makes errors of them.
            warnings.simplefilter("default")
            future.set_result(function(*arguments))
        return future


@contextmanager
def cells_in_this_process():
    """Plans, journals, outcomes and reports are as ever; tests of the runner are about the processes."""

    @contextmanager
    def pool(jobs, work, warm_up):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(worker, "_work", [work])
            yield Here()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "_pool", pool)
        yield
