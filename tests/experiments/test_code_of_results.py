"""Kept results and the code that measured them: what is older is said, by fingerprints and not by dates."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.__main__ import RESULTS
from experiments.harness import code
from experiments.harness.code import LIBRARY, engine_fingerprint, essence, experiment_fingerprint
from experiments.harness.summary import SETTINGS, text_again
from experiments.paper import epsilon, n_max
from experiments.rivals.page import LARGE_DATA_BLOCKS, LARGE_DATA_PAGE, PAGE, fill_large_data, fill_page
from experiments.suites import SUITES


@pytest.mark.parametrize("suite", SUITES)
def test_summaries_tell_which_results_are_older_than_the_code(suite):
    """Fails after a change of the engine: measure again, or `python -m experiments summaries`."""
    summary = RESULTS / suite / "summary.md"
    if not summary.exists():
        pytest.skip(f"there are no results of {suite}")
    text = summary.read_text(encoding="utf-8")
    for name, item in SUITES[suite].items.items():
        if (RESULTS / suite / name / SETTINGS).exists():
            assert text_again(RESULTS / suite / name, item) in text, name


@pytest.mark.parametrize(
    ("suite", "page", "fill"),
    [("rivals", PAGE, fill_page), ("scale", LARGE_DATA_PAGE, fill_large_data)],
)
def test_pages_follow_from_the_measurements_and_tell_which_are_older(tmp_path, suite, page, fill):
    """Fails after a change of the engine: `python -m experiments page` and `large-data-page`."""
    folder = tmp_path / "docs" / "results"
    folder.mkdir(parents=True)
    shutil.copytree(RESULTS / suite, tmp_path / "experiments" / "results" / suite)
    copy = shutil.copy(page, folder)
    fill(tmp_path / "experiments" / "results" / suite, Path(copy))
    assert Path(copy).read_text(encoding="utf-8") == page.read_text(encoding="utf-8")


def test_every_block_of_a_page_tells_that_it_is_older(tmp_path, monkeypatch):
    monkeypatch.setattr(code, "engine_fingerprint", lambda: "another")
    out = RESULTS / "scale"
    copy = Path(shutil.copy(LARGE_DATA_PAGE, tmp_path))
    fill_large_data(out, copy)
    assert copy.read_text(encoding="utf-8").count("lder than the code**: ") == len(LARGE_DATA_BLOCKS)


def test_a_constant_of_the_engine_makes_results_older(tmp_path, monkeypatch):
    shutil.copytree(LIBRARY, tmp_path / "minimaxrisk")
    library = tmp_path / "minimaxrisk"
    before = engine_fingerprint(library)
    assert before == engine_fingerprint()
    file = library / "engines" / "paper.py"
    text = file.read_text(encoding="utf-8")
    recorded = [code.measured_by(epsilon.ITEM) | {"settings": code.settings_fingerprint(epsilon.ITEM, {})}]
    assert code.reasons_why_older(epsilon.ITEM, recorded, {}) == []

    def now(changed):
        assert changed != text
        file.write_text(changed, encoding="utf-8")
        engine_fingerprint.cache_clear()
        code._essence_of.cache_clear()
        found = engine_fingerprint(library)
        monkeypatch.setattr(code, "engine_fingerprint", lambda: found)
        return code.reasons_why_older(epsilon.ITEM, recorded, {})

    assert now(text.replace("# Where constraint generation", "# How constraint generation")) == []
    assert now(text.replace("FIRST_STEPS = 40", "FIRST_STEPS = 41")) == ["the engine changed since"]


def test_the_experiment_and_its_settings_count_and_its_report_does_not():
    item = epsilon.ITEM
    assert experiment_fingerprint(replace(item, report=n_max.report)) == experiment_fingerprint(item)
    assert experiment_fingerprint(replace(item, work=n_max.work)) != experiment_fingerprint(item)
    assert experiment_fingerprint(replace(item, measured_with=())) != experiment_fingerprint(item)
    recorded = [code.measured_by(item) | {"settings": code.settings_fingerprint(item, {"n_max": 100})}]
    assert code.reasons_why_older(item, recorded, {"n_max": 100}) == []
    assert code.reasons_why_older(item, recorded, {"n_max": 50}) == ["the settings changed since"]
    assert code.reasons_why_older(item, [], {}) == ["what measured it was not recorded"]
    assert code.reasons_why_older(item, [{}], {})[0] == "the engine changed since"


def test_words_are_no_essence():
    text = 'def f(x):\n    """Twice."""\n\n    # why\n    return "#" + x  # so\n'
    assert essence(text) == 'def f(x):\nreturn "#" + x'


def test_settings_of_kept_results_are_those_that_were_measured():
    """A settings.json that was changed by hand, or a CSV of another run, is noticed."""
    for suite in SUITES:
        for name, item in SUITES[suite].items.items():
            path = RESULTS / suite / name / SETTINGS
            if path.exists():
                chosen = json.loads(path.read_text(encoding="utf-8"))
                kept = {one["settings"] for one in chosen.get("code", [])}
                assert kept <= {code.settings_fingerprint(item, chosen["settings"])}, name
