"""Cells, their journal, and the processes that run them. The processes are real; each costs a second."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from experiments.harness.cells import FAILED, OK, REFUSED, SKIPPED, TIME_LIMIT, Cell, EndedError, outcome_of
from experiments.harness.journal import Journal, JournalError, plain_rows
from experiments.harness.runner import THREAD_VARIABLES, run_cells


def work(item, settings):
    with (Path(settings["folder"]) / "executions").open("a") as file:
        file.write(f"{settings['name']} {os.getpid()}\n")
    return DEEDS[settings["do"]](settings)


def fail(settings):
    raise KeyError("first\nlast")


def wait_for_file(settings):
    """Until the test gives the word; for ever if it never does."""
    while not (Path(settings["folder"]) / "go").exists():
        time.sleep(0.01)
    return [{"waited": True}]


def end_badly(settings):
    raise EndedError(REFUSED, "not for me", [{"size": 3, "limit": settings.get("limit")}])


def count_threads(settings):
    return [{"threads": max(pool["num_threads"] for pool in threadpool_info())}]


DEEDS = {
    "return": lambda settings: [
        {"value": np.float64(1.5), "none": math.nan, "most": math.inf, "n": np.int64(2)}
    ],
    "fail": fail,
    "exit": lambda settings: sys.exit(3),
    "die": lambda settings: os.kill(os.getpid(), signal.SIGKILL),
    "wait": wait_for_file,
    "threads": count_threads,
    "refuse": end_badly,
    "not rows": lambda settings: 3,
}


def cell(folder, name, do="return", **options):
    return Cell("test", {"folder": str(folder), "name": name, "do": do}, **options)


def run(folder, cells, jobs=1, **options):
    options = {"on_outcome": lambda outcome: None, "environment": "here"} | options
    return run_cells(cells, work, Journal(folder / "journal.jsonl"), jobs=jobs, **options)


def executions(folder):
    path = folder / "executions"
    return [tuple(line.rsplit(" ", 1)) for line in path.read_text().splitlines()] if path.exists() else []


def names(folder):
    return [name for name, _ in executions(folder)]


def alive(pid):
    """Whether the process runs; one that nobody has waited for is dead all the same."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


# Cells and journal


def test_identity_of_a_cell():
    first = Cell("table", {"b": 1, "a": "x"}, limit=3)
    assert first.key == Cell("table", {"a": "x", "b": 1}, limit=9, chain="c").key
    assert json.loads(first.key) == {"item": "table", "settings": {"a": "x", "b": 1}}
    assert first.key != Cell("table", {"a": "x", "b": 2}).key
    with pytest.raises(TypeError, match="'fold' must be a str"):
        Cell("table", {"fold": [1]})
    with pytest.raises(ValueError, match="limit must be a positive"):
        Cell("table", {}, limit=0)


def test_what_counts_as_finished(tmp_path):
    journal = Journal(tmp_path / "new" / "journal.jsonl")
    one = Cell("t", {}, limit=10)
    assert not journal.finished(one)
    with journal.writing():
        for status, limit, expected in [
            (OK, None, True),
            (OK, 99, True),
            (REFUSED, 10, True),
            (FAILED, 10, False),
            (TIME_LIMIT, 10, True),
            (TIME_LIMIT, 5, True),
            (TIME_LIMIT, 11, False),
            (TIME_LIMIT, None, False),
            (SKIPPED, 10, True),
            (SKIPPED, 11, False),
        ]:
            journal.append(outcome_of(one, status))
            assert journal.finished(Cell("t", {}, limit=limit)) is expected, (status, limit)
    assert Journal(journal.path).outcomes() == [outcome_of(one, SKIPPED)]


def test_rows_come_back_as_they_went(tmp_path):
    rows = plain_rows(
        [{"nan": math.nan, "inf": -math.inf, "int": np.int64(3), "array": np.array([0.1, np.nan])}]
    )
    assert rows == [{"nan": None, "inf": -math.inf, "int": 3, "array": [0.1, None]}]
    journal = Journal(tmp_path / "journal.jsonl")
    with journal.writing():
        journal.append(outcome_of(Cell("é", {}), OK, rows=rows))
    assert Journal(journal.path).outcomes()[0].rows == rows
    with pytest.raises(TypeError, match="list of dicts"):
        plain_rows([1])
    with pytest.raises(TypeError, match="got a set"):
        plain_rows([{"a": {1}}])


def test_torn_last_line_is_cut(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    with journal.writing():
        journal.append(outcome_of(Cell("a", {}), OK))
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole + b'{"key": "half')
    again = Journal(journal.path)
    assert [outcome.item for outcome in again.outcomes()] == ["a"]
    with again.writing():
        again.append(outcome_of(Cell("b", {}), OK))
    assert [outcome.item for outcome in Journal(journal.path).outcomes()] == ["a", "b"]
    assert journal.path.read_bytes().startswith(whole)


@pytest.mark.parametrize("damage", [b"{half\n", b'{"key": "other"}\n', b"[]\n", b"\xff\n", b"\n"])
def test_damaged_line_is_named(tmp_path, damage):
    journal = Journal(tmp_path / "journal.jsonl")
    with journal.writing():
        journal.append(outcome_of(Cell("a", {}), OK))
    line = journal.path.read_bytes()
    journal.path.write_bytes(line + damage + line)
    with pytest.raises(JournalError, match=r"journal\.jsonl: expected line 2"):
        Journal(journal.path)


def test_one_writer_at_a_time(tmp_path):
    first, second = (Journal(tmp_path / "journal.jsonl") for _ in range(2))
    with first.writing():
        with pytest.raises(JournalError, match="Another run is using the folder"), second.writing():
            pass
        first.append(outcome_of(Cell("a", {}), OK))
    with pytest.raises(RuntimeError, match="only be appended within"):
        first.append(outcome_of(Cell("a", {}), OK))
    with second.writing():
        assert second.finished(Cell("a", {}))


# Runs


def test_outcomes_are_journalled_and_not_repeated(tmp_path):
    seen = []
    variables = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    cells = [cell(tmp_path, "value"), cell(tmp_path, "threads", "threads"), cell(tmp_path, "again")]

    def check_journal(outcome):
        assert Journal(tmp_path / "journal.jsonl").outcomes()[-1] == outcome
        seen.append(outcome)

    outcomes = run(tmp_path, cells, on_outcome=check_journal)
    assert [outcome.status for outcome in outcomes] == [OK] * 3
    assert outcomes[0].rows == [{"value": 1.5, "none": None, "most": math.inf, "n": 2}]
    assert outcomes[1].rows == [{"threads": 1}]
    assert outcomes[0].environment == "here"
    assert outcomes == seen
    assert len({pid for _, pid in executions(tmp_path)}) == 1, "one worker runs all"
    assert {name: os.environ.get(name) for name in THREAD_VARIABLES} == variables

    assert run(tmp_path, cells[::-1], on_outcome=check_journal) == outcomes[::-1]
    assert len(seen) == len(executions(tmp_path)) == 3


def test_failures_do_not_end_a_run_and_are_tried_again(tmp_path):
    deeds = ["fail", "die", "exit", "not rows", "return"]
    cells = [cell(tmp_path, do, do, limit=30) for do in deeds]
    outcomes = run(tmp_path, cells)
    assert [outcome.status for outcome in outcomes] == [FAILED] * 4 + [OK]
    assert outcomes[0].detail == r"KeyError: 'first\nlast'"
    assert (
        outcomes[1].detail == "the worker process ended with exit code -9 (killed, as when memory runs out)"
    )
    assert outcomes[2].detail == "SystemExit: 3"
    assert "list of dicts" in outcomes[3].detail
    run(tmp_path, cells[:1] + cells[-1:])
    assert sorted(names(tmp_path)) == sorted([*deeds, "fail"])


def test_work_may_say_how_its_cell_ended(tmp_path):
    refused = cell(tmp_path, "refused", "refuse", limit=30)
    (outcome,) = run(tmp_path, [refused])
    assert (outcome.status, outcome.detail) == (REFUSED, "not for me")
    assert outcome.rows == [{"size": 3, "limit": None}]
    assert run(tmp_path, [refused]) == [outcome]
    assert names(tmp_path) == ["refused"]


def test_time_limit_cuts_the_chain(tmp_path):
    # The steps that return have time enough on a busy machine too.
    deeds = [("return", 60), ("wait", 1), ("return", 60)]
    chain = [cell(tmp_path, f"step {k}", do, limit=limit, chain="c") for k, (do, limit) in enumerate(deeds)]
    cells = [*chain, cell(tmp_path, "free")]
    outcomes = run(tmp_path, cells)
    assert [outcome.status for outcome in outcomes] == [OK, TIME_LIMIT, SKIPPED, OK]
    assert outcomes[1].detail == "stopped after 1 s"
    assert (outcomes[1].seconds, outcomes[1].limit) == (1, 1)
    assert not alive(dict(executions(tmp_path))["step 1"])

    before = executions(tmp_path)
    assert run(tmp_path, cells) == outcomes
    assert executions(tmp_path) == before

    # With more time the slow cell gets through, and the one after it is no longer skipped, although its own
    # limit is what it was.
    (tmp_path / "go").touch()
    longer = [chain[0], cell(tmp_path, "step 1", "wait", limit=30, chain="c"), chain[2]]
    assert [outcome.status for outcome in run(tmp_path, longer)] == [OK] * 3
    assert names(tmp_path)[len(before) :] == ["step 1", "step 2"]


def test_requests_that_make_no_sense(tmp_path):
    with pytest.raises(ValueError, match="jobs must be at least 1"):
        run(tmp_path, [], jobs=0)
    with pytest.raises(ValueError, match="Expected distinct cells"):
        run(tmp_path, [cell(tmp_path, "a"), cell(tmp_path, "a", limit=3)])
    assert run(tmp_path, []) == []
