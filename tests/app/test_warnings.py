"""Warnings stand apart from notes and veto the verdict: terminal, JSON and page say the same."""

from __future__ import annotations

import html
import json
import re
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.app.cli.app import app
from minimaxrisk.app.report import report
from minimaxrisk.datasets import make_expression
from tests.terminal import unwrapped

N = 40
LITTLE = ("--permutations", "0", "--folds", "3", "--radii", "0", "--no-guarantee")
VETO = "Not before this is settled: "


@pytest.fixture(scope="module")
def frame():
    """An honest study in base-2 logarithms, the classes in turn."""
    made = make_expression(N, 60, n_informative=5, effect=1.5, random_state=0)
    order = np.argsort(np.arange(N) // 1 + np.where(made.target == 0, 0.0, 0.5), kind="stable")
    table = pd.DataFrame(8.0 + made.data[order], columns=[f"g{j}" for j in range(60)])
    table.insert(0, "class", np.array(["ill", "well"])[made.target[order]])
    table.index = pd.Index([f"S{i}x" for i in range(N)], name="id")
    return table


def sorted_by_class(table):
    return table.sort_values("class", kind="stable").set_axis(table.index)


def raw(table, rows):
    changed = table.copy()
    changed.loc[rows, "g0":] = 2.0 ** changed.loc[rows, "g0":]
    return changed


def one_of_each(table, values):
    return np.where(table["class"] == "ill", *values)


def named(table, **columns):
    return table.assign(**columns)


def drawn():
    """The same numbers whichever tests ran before."""
    return np.random.default_rng(0)


# How the table changes, options, the kind of doubt, whether it vetoes, and the option that it names.
BAD = {
    "class raw": (lambda t: raw(t, t["class"] == "ill"), (), "scale", True, None),
    "half raw": (lambda t: raw(t, np.arange(N) % 3 == 0), (), "scale", True, None),
    "all raw": (lambda t: raw(t.assign(**(2 * t.loc[:, "g0":] - 4)), t.index), (), "scale", False, None),
    "plate": (
        lambda t: named(t, plate=one_of_each(t, (1, 2)) + 2 * (np.arange(N) == 7)),
        (),
        "batch",
        True,
        "--batch plate",
    ),
    "plate as batch": (
        lambda t: named(t, plate=one_of_each(t, (1, 2))),
        ("--batch", "plate"),
        "batch",
        True,
        None,
    ),
    "months": (
        lambda t: named(t, months=one_of_each(t, (drawn().integers(1, 20, N), drawn().integers(30, 60, N)))),
        (),
        "leak",
        True,
        "--ignore months",
    ),
    "carried": (
        lambda t: named(t, q7=one_of_each(t, (0, 10)) + drawn().normal(size=N)),
        (),
        "leak",
        True,
        "--ignore q7",
    ),
    "code": (lambda t: named(t, q7=one_of_each(t, (1, 2))), (), "leak", True, "--ignore q7"),
    "counter": (lambda t: named(sorted_by_class(t), q7=range(N)), (), "leak", True, "--ignore q7"),
    "donor": (
        lambda t: named(sorted_by_class(t), donor=[f"D{i // 5}" for i in range(N)]),
        ("--ignore", "donor"),
        "groups",
        True,
        "--groups donor",
    ),
    "pairs": (
        lambda t: t.set_axis([f"P{i // 2}_{'ab'[i % 2]}" for i in range(N)]).rename_axis("id"),
        (),
        "groups",
        False,
        "--groups COLUMN",
    ),
    "copies": (lambda t: t.iloc[[*range(N), 0, 3]].set_axis([*t.index, "c1", "c2"]).rename_axis("id"), (),
               "copies", True, "--groups COLUMN"),
    "QC": (lambda t: t.assign(**{"class": [*t["class"][:34], *["QC"] * 6]}), (), "labels", True, None),
    "ages": (lambda t: t.assign(**{"class": 40 + np.arange(N) % 12}), (), "labels", False, None),
    "dates": (lambda t: t.rename(columns={"g8": "2-Sep"}), (), "names", False, None),
    "codes": (lambda t: t.replace({t["g9"].iloc[0]: -999.0}), (), "missing", False, "--impute median"),
}  # fmt: skip


# Click 8.1 mixes the two streams unless told otherwise; later releases have no such argument.
APART = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}


def run(*arguments):
    result = CliRunner(**APART).invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    return result


def read_page(path):
    """The text of the first section, and the items of the box with warnings."""
    text = path.read_text(encoding="utf-8")
    first = text[text.index('class="short"') : text.index("</section>")]
    box = re.search(r'<div class="doubts\b.*?</div>', first, re.DOTALL)
    items = [] if box is None else re.findall(r"<li>(.*?)</li>", box[0], re.DOTALL)
    plain = [html.unescape(re.sub(r"<[^>]+>", "", each)).replace("\u00a0", " ") for each in (first, *items)]
    return unwrapped(plain[0]), [unwrapped(each) for each in plain[1:]]


# What the checks say is tested in tests/core/test_doubts.py; here that all surfaces say it.
SLOW = {"months", "code", "counter", "QC", "ages", "dates"}


@pytest.mark.parametrize(
    "what", [None, *(pytest.param(each, marks=[pytest.mark.slow] * (each in SLOW)) for each in BAD)]
)
def test_terminal_json_and_page_tell_the_same_doubts(what, frame, tmp_path):
    change, options, kind, is_veto, option = BAD.get(what, (lambda t: t, (), None, False, None))
    table, page = tmp_path / "t.csv", tmp_path / "page.html"
    change(frame).to_csv(table)
    command = ("fit", table, "--target", "class", "--report", page, *LITTLE, *options)
    found = json.loads(run(*command, "--json").stdout)
    warnings = found["warnings"]
    assert [each["kind"] for each in warnings] == ([] if kind is None else [kind])
    told = [f"{each['text']} {each['remedy']}" for each in warnings]
    assert not set(told).intersection(found["notes"])
    assert all(each["is_about_validity"] is is_veto for each in warnings)
    assert option is None or f"({option})." in told[0]

    first, items = read_page(page)
    assert items == told
    terminal = run(*command)
    mark = "WARNING: " if is_veto else "warning: "
    assert [line for line in terminal.stderr.splitlines() if line.lower().startswith("warning")] == [
        f"{mark}{each}" for each in told
    ]
    said = unwrapped(terminal.stdout)
    verdict = f"{VETO}{warnings[0]['brief']}." if is_veto else ""
    for text in (said, found["verdict"], first):
        assert (VETO in text) == is_veto
        assert verdict in text
    if is_veto:
        assert "Yes, as a classifier" not in first
        assert "There is signal" not in first
        # Without a report the verdict is told, too.
        short = run("fit", table, "--target", "class", "--no-guarantee", *options)
        assert verdict in unwrapped(short.stdout)


def test_a_stored_model_is_doubted_as_it_was(frame, tmp_path):
    table, model, page = tmp_path / "t.csv", tmp_path / "m.skops", tmp_path / "p.html"
    donor = ("--ignore", "donor")
    BAD["donor"][0](frame).to_csv(table)
    run("fit", table, "--target", "class", *donor, "--out", model, "--report", page, *LITTLE)
    before = read_page(page)
    again = ("report", model, table, *donor, "--out", page, *LITTLE)
    assert "WARNING: By the column 'donor'" in run(*again).stderr
    assert read_page(page) == before
    checked = json.loads(run("verify", model, table, *donor, "--json").stdout)
    assert checked["warnings"] == []


def test_a_report_in_python_has_the_doubts_without_options(frame, tmp_path):
    table = BAD["carried"][0](frame)
    X, y = table.drop(columns="class"), table["class"]
    model = MinimaxRiskClassifier().fit(X, y)
    path = tmp_path / "p.html"
    page = report(model, X, y, path=path, n_permutations=0, n_folds=3, n_radii=0)
    (doubt,) = page.findings.doubts
    first, items = read_page(path)
    assert items == [str(doubt)]
    assert "--" not in str(doubt)
    assert "For new samples" not in first
    assert f"{VETO}{doubt.brief}." in first
    with pytest.raises(ValueError, match=r"^y has the index of X in another order"):
        report(model, X, y.iloc[::-1])


def test_a_rare_class_is_told_without_a_report(frame, tmp_path):
    noise = frame.assign(**{"class": ["breast"] * 36 + ["rare"] * 4})
    noise.to_csv(tmp_path / "t.csv")
    said = unwrapped(run("fit", tmp_path / "t.csv", "--target", "class", "--no-guarantee").stdout)
    assert (
        "always predicting “breast”, the most common class, is wrong for 10.0% of these samples, and R* ="
        in said
    )
    assert "is not below that: R* alone does not show that the classifier does any better." in said
    frame.to_csv(tmp_path / "t.csv")
    assert (
        "not below that" not in run("fit", tmp_path / "t.csv", "--target", "class", "--no-guarantee").stdout
    )


def test_new_samples_on_another_scale_are_a_warning(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv")
    run("fit", tmp_path / "t.csv", "--target", "class", "--no-guarantee", "--out", tmp_path / "m.skops")
    raw(frame, frame.index).to_csv(tmp_path / "new.csv")
    result = run("predict", tmp_path / "m.skops", tmp_path / "new.csv", "--json")
    (warning,) = json.loads(result.stdout)["warnings"]
    assert warning["kind"] == "scale"
    assert f"WARNING: {warning['text']} {warning['remedy']}" in result.stderr
