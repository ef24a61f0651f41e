"""The experiment on large data, at small sizes, and the page that shows what it found."""

from __future__ import annotations

import signal

import pytest

from experiments.accelerators.page import PAGE as ACCELERATORS_PAGE
from experiments.accelerators.page import fill_accelerators
from experiments.harness.cells import FAILED, REFUSED, TIME_LIMIT, EndedError
from experiments.harness.child import Story
from experiments.harness.settings import QUICK, Settings
from experiments.harness.sources import Sources
from experiments.rivals import scale
from experiments.rivals.scale_clock import LEARNERS, OURS

NO_SOURCES = Sources(names=(), notes=())


def test_every_learner_meets_every_problem():
    cells = scale.plan(Settings(), NO_SOURCES)
    assert len(cells) == len(LEARNERS) * len(scale.PROBLEMS)
    first = cells[0].settings
    assert (first["problem"], first["n_samples"], first["n_features"]) == ("wide", 200, 2_000_000)


@pytest.mark.parametrize(
    ("events", "exit_code", "last_words", "status", "says"),
    [
        ([{"ready": True}, {"refused": "no sparse input"}], 0, "", REFUSED, "no sparse input"),
        ([{"ready": True}], -signal.SIGPROF, "", TIME_LIMIT, "stopped after 60 s of"),
        ([{"ready": True}], -signal.SIGSEGV, "", REFUSED, "needs more than 8.00 GB of memory"),
        (
            [{"ready": True}],
            1,
            "numpy._core._exceptions._ArrayMemoryError",
            REFUSED,
            "needs more than 8.00 GB",
        ),
        ([], 1, "ValueError: something else", FAILED, "something else"),
    ],
)
def test_what_does_not_end_well_is_named(events, exit_code, last_words, status, says):
    settings = {"limit": 60.0, "most_memory": 8e9}
    with pytest.raises(EndedError, match=says) as ended:
        scale._reached(Story(events, exit_code, last_words), settings)
    assert ended.value.status == status


@pytest.mark.slow
@pytest.mark.parametrize("problem", list(scale.PROBLEMS))
def test_small_problems_are_measured(problem):
    cells = [cell for cell in scale.plan(QUICK, NO_SOURCES) if cell.settings["problem"] == problem]
    rows = []
    for cell in cells[:2]:
        (row,) = scale.work({**cell.settings, "limit": 60.0})
        rows.append({**cell.settings, "status": "ok", "limit": 60.0, "detail": "", **row})
        assert row["seconds"] > 0.0
        assert row["x_bytes"] > 0
    (table,) = scale.report(QUICK, NO_SOURCES, rows).tables
    assert [line[0] for line in table.lines] == [f"`{OURS}`", "liblinear-svm"]


def test_the_page_on_accelerators_follows_from_the_measurements(tmp_path):
    page = ACCELERATORS_PAGE.read_text(encoding="utf-8")
    copy = tmp_path / "page.md"
    copy.write_text(page, encoding="utf-8")
    fill_accelerators(page=copy)
    assert copy.read_text(encoding="utf-8") == page
    for figure in ("10,000,000", "passes", "plain copies", "difference"):
        assert figure in page
