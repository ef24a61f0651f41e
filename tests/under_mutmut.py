"""For `make mutants`, a plugin of pytest: a change that is noticed is noticed early.

mutmut gives the tests that reach a change in no order, and stops at the first that fails.
"""

from __future__ import annotations

import json
import os
from itertools import accumulate
from pathlib import Path

from hypothesis import Phase, settings

# For the tests of one change. All that reach it would take minutes, where none of them notices it.
SECONDS = 4.0


def pytest_configure(config):
    """A counterexample is enough, the smallest one is not asked for."""
    settings.register_profile("mutants", settings(), phases=(Phase.explicit, Phase.generate))
    settings.load_profile("mutants")
    mutant = os.environ["MUTANT_UNDER_TEST"]
    if mutant not in ("stats", "list_all_tests"):
        seconds = json.loads(Path("mutmut-stats.json").read_text())["duration_by_test"]
        config.args[:] = early(config.args, mutant.split(".")[1:3], seconds)


def early(tests, names, seconds):
    """First those in files named after the package or the module, the fastest first, as there is time for."""

    def order(test):
        return all(name not in test.partition("::")[0] for name in names), seconds.get(test, 0.0)

    ordered = sorted(tests, key=order)
    until = accumulate(seconds.get(test, 0.0) for test in ordered)
    return [test for test, end in zip(ordered, until, strict=True) if end <= SECONDS] or ordered[:1]


def pytest_itemcollected(item):
    item._nodeid = item.nodeid  # asked for by mutmut 3.8, and gone from pytest 9.2
