"""Cells of an experiment without worker processes, each of which takes seconds to import what it needs."""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from concurrent.futures import Future
from contextlib import contextmanager

import pytest
from sklearn.datasets import load_wine

from experiments.harness import runner, sources, summary, worker
from experiments.harness.child import Story
from minimaxrisk.app.cli import main


class Here:
    """A pool that does its work when it is asked to; nobody keeps a time limit, unless it is next to none."""

    def submit(self, function, limit, *arguments):
        future = Future()
        if limit is not None and limit < 0.1:
            future.set_exception(TimeoutError())
            return future
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


def few_wines():
    """Every fourth sample of scikit-learn's wine data, 44 x 13 in 3 classes: enough to learn something."""
    X, y = load_wine(return_X_y=True)
    return X[2::4], y[2::4]


@contextmanager
def wine_with_few_samples():
    """Experiments on the wine data get a quarter of them; only this process does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "load_wine", lambda return_X_y: few_wines())
        sources.load_source.cache_clear()
        yield
    sources.load_source.cache_clear()


@contextmanager
def figures_without_layout():
    """As one file each, and nothing is measured before it is drawn; the paper's items are drawn in full."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(summary.FORMATS, "png")
        patch.setattr(summary, "LAYOUT", "none")
        yield


@contextmanager
def without_figures():
    """For runs that are asked about other things; drawing takes longer than all else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summary, "write_figure", lambda folder, figure: None)
        yield


def command_in_this_process(command, stdout=None, check=False):
    """For ``subprocess.run`` of ``python -m minimaxrisk``, if that ends well."""
    *start, arguments = *command[:3], command[3:]
    assert (start, check) == ([sys.executable, "-m", "minimaxrisk"], True)
    assert main(arguments) == 0


def module_in_this_process(module, *arguments, files=(), interpreter=None, python_path=None):
    """What ``run_module`` returns of a module that measures something and ends well, without time limits."""
    events, measuring = [], importlib.import_module(module)

    @contextmanager
    def telling():
        yield lambda **news: events.append(json.loads(json.dumps(news, default=lambda value: value.tolist())))

    # It closes the files as its own.
    copies = {number: os.dup(number) for number in files}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [module, *arguments])
        # A new process would not have run the command yet, and Python warns of running it again.
        patch.delitem(sys.modules, "minimaxrisk.__main__", raising=False)
        patch.setattr(measuring, "telling", telling)
        patch.setattr(measuring, "limit_time", lambda seconds: None, raising=False)
        measuring.main()
    for number, copy in copies.items():
        os.dup2(copy, number)
        os.close(copy)
    return Story(events, exit_code=0, last_words="")


def ok(**values):
    """A row of an outcome, as an experiment keeps it."""
    return {"status": "ok", "limit": None, "detail": "", "n_passes": 3, "peak_bytes": 1e6, **values}


def verdicts(module, settings, rows, names=("A",)):
    report = module.report(settings, sources.Sources(names), rows)
    return [claim.verdict for claim in report.claims]
