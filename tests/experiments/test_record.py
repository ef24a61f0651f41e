"""The record of what the library computes: the same twice, and a difference is told."""

import json

import pytest

from experiments import record


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Two records of the same items, without the large data sets."""
    monkeypatch.setattr(record, "files", dict)
    paths = [tmp_path / name for name in ("old.json", "new.json")]
    for path in paths:
        assert record.main(["write", str(path), "--only", "svm/two-wide"]) == 0
    return paths


def compared(paths, capsys):
    capsys.readouterr()
    status = record.main(["compare", *map(str, paths)])
    return status, capsys.readouterr().out


def test_a_record_repeats_itself(written, capsys):
    assert compared(written, capsys) == (0, "0 of 2 items differ: svm 2\n")
    items = json.loads(written[0].read_text("utf-8"))["items"]
    assert all("value" in entry for entry in items.values())


def test_a_changed_number_is_told_with_its_size(written, capsys):
    changed = json.loads(written[1].read_text("utf-8"))
    value = changed["items"]["svm/two-wide/full-lp"]["value"]
    old, value["objective_"] = value["objective_"], value["objective_"] + 0.25
    written[1].write_text(json.dumps(changed), "utf-8")
    status, told = compared(written, capsys)
    line = f"svm/two-wide/full-lp: value: objective_: {old!r} -> {value['objective_']!r} (by 0.25)"
    assert (status, told.splitlines()) == (1, [line, "1 of 2 items differ"])


def test_an_item_that_only_one_record_holds_is_told(written, capsys):
    changed = json.loads(written[1].read_text("utf-8"))
    del changed["items"]["svm/two-wide/full-lp"]
    written[1].write_text(json.dumps(changed), "utf-8")
    status, told = compared(written, capsys)
    assert status == 1
    assert told.startswith("svm/two-wide/full-lp: {")


def test_an_exception_is_recorded_and_the_others_go_on(tmp_path):
    path = tmp_path / "record.json"
    record.write_record(path, [("a", lambda: 1 / 0), ("b", lambda: 2.0)])
    assert json.loads(path.read_text("utf-8"))["items"] == {
        "a": {"error": "ZeroDivisionError: division by zero", "warnings": []},
        "b": {"value": 2.0, "warnings": []},
    }
