"""Findings of data checks in the program: terminal, JSON and page show the same ones."""

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
from minimaxrisk.app.report.verdict import NO_BOUND
from minimaxrisk.checks.findings import SEVERITY_OF, VETO
from minimaxrisk.datasets import make_expression
from tests.terminal import unwrapped

N = 40
LITTLE = ("--permutations", "0", "--folds", "3", "--radii", "0", "--no-guarantee")
DOMINANT, COPIES = "dominant-feature", "duplicates"
VETO_TEXT = "Do not use this result yet: "


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


# How the table changes, options, and the code of the finding.
BAD = {
    "class raw": (lambda t: raw(t, t["class"] == "ill"), (), "scale-by-class"),
    "half raw": (lambda t: raw(t, np.arange(N) % 3 == 0), (), "scale-mismatch"),
    "all raw": (lambda t: raw(t.assign(**(2 * t.loc[:, "g0":] - 4)), t.index), (), "raw-intensities"),
    "plate as batch": (
        lambda t: named(t, plate=one_of_each(t, (1, 2))),
        ("--batch", "plate"),
        "batch-is-class",
    ),
    "code": (lambda t: named(t, q7=one_of_each(t, (1, 2))), (), "label-copy"),
    "carried": (
        lambda t: named(t, q7=one_of_each(t, (0, 10)) + drawn().normal(size=N)),
        (),
        "dominant-feature",
    ),
    "donor": (
        lambda t: named(sorted_by_class(t), donor=[f"D{i // 5}" for i in range(N)]),
        ("--ignore", "donor"),
        "repeated-sources",
    ),
    "copies": (
        lambda t: t.iloc[[*range(N), 0, 3]].set_axis([*t.index, "c1", "c2"]).rename_axis("id"),
        (),
        "duplicates",
    ),
    "codes": (lambda t: t.replace({t["g9"].iloc[0]: -999.0}), (), "missing-code"),
}


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
    box = re.search(r'<div class="warnings\b.*?</div>', first, re.DOTALL)
    items = [] if box is None else re.findall(r"<li>(.*?)</li>", box[0], re.DOTALL)
    plain = [html.unescape(re.sub(r"<[^>]+>", "", each)).replace("\u00a0", " ") for each in (first, *items)]
    return unwrapped(plain[0]), [unwrapped(each) for each in plain[1:]]


@pytest.mark.parametrize("what", [None, *BAD])
def test_terminal_json_and_page_show_the_same_findings(what, frame, tmp_path):
    change, options, code = BAD.get(what, (lambda t: t, (), None))
    table, page = tmp_path / "t.csv", tmp_path / "page.html"
    change(frame).to_csv(table)
    command = ("fit", table, "--target", "class", "--report", page, *LITTLE, *options)
    result = run(*command, "--json")
    found = json.loads(result.stdout)
    assert [each["code"] for each in found["findings"]] == ([] if code is None else [code])
    first, items = read_page(page)
    assert items == [each["message"] for each in found["findings"]]
    for each in found["findings"]:
        assert each["severity"] == SEVERITY_OF[code]
        assert f"({code}): {each['message']}" in result.stderr
    is_veto = SEVERITY_OF.get(code) == VETO
    for text in (found["verdict"], first):
        assert (VETO_TEXT in text) == is_veto
    if is_veto:
        # Without a report the verdict is shown, too, and no bound.
        short = run("fit", table, "--target", "class", *options)
        assert VETO_TEXT in unwrapped(short.stdout)
        assert NO_BOUND in unwrapped(short.stdout)


def test_a_condition_is_named_by_the_verdict_and_answered_by_its_code(frame, tmp_path):
    table, page = tmp_path / "t.csv", tmp_path / "page.html"
    BAD["carried"][0](frame).to_csv(table)
    command = ("fit", table, "--target", "class", "--report", page, "--permutations", "19", "--folds", "3")
    command = (*command, "--radii", "0", "--json")
    asked = json.loads(run(*command).stdout)
    assert "'q7' is a measurement" in asked["verdict"]
    assert asked["guarantee"]["value"] < 1
    answered = json.loads(run(*command, "--accept", "dominant-feature").stdout)
    assert [each["accepted"] for each in answered["findings"]] == [True]
    assert "q7" not in answered["verdict"]
    unused = run(*command, "--accept", "order-drift", "--accept", "dominant-feature")
    assert "--accept order-drift" in unused.stderr
    for code in ("label-copy", "no-such-code"):
        refused = CliRunner(**APART).invoke(app, [*map(str, command), "--accept", code])
        assert refused.exit_code == 2
        assert "dominant-feature" in refused.stderr


def test_duplicates_are_one_group_wherever_they_matter(frame, tmp_path):
    table, model, page = tmp_path / "t.csv", tmp_path / "m.skops", tmp_path / "p.html"
    BAD["copies"][0](frame).to_csv(table)
    fit = ("fit", table, "--target", "class", "--out", model, "--report", page, *LITTLE, "--json")
    found = json.loads(run(*fit).stdout)
    assert found["findings"][0]["samples"] == ["S0x", "S3x", "c1", "c2"]
    # The radii count 40 independent samples, as with groups that the user names.
    groups = [*range(N), 0, 3]
    pd.read_csv(table).assign(patient=[f"p{i}" for i in groups]).to_csv(table, index=False)
    by_hand = json.loads(run(*fit[:-1], "--groups", "patient", "--json").stdout)
    assert by_hand["worst_case_error"] == pytest.approx(found["worst_case_error"], rel=1e-12)
    assert by_hand["findings"] == []


def test_a_stored_model_has_the_same_findings(frame, tmp_path):
    table, model, page = tmp_path / "t.csv", tmp_path / "m.skops", tmp_path / "p.html"
    for what in ("donor", "copies"):
        change, options, code = BAD[what]
        change(frame).to_csv(table)
        run("fit", table, "--target", "class", *options, "--out", model, "--report", page, *LITTLE)
        before = read_page(page)
        assert f"({code}): " in run("report", model, table, *options, "--out", page, *LITTLE).stderr
        assert read_page(page) == before
        checked = json.loads(run("verify", model, table, *options, "--json").stdout)
        assert checked["valid"]
        assert checked["findings"] == []


def test_a_report_in_python_has_the_findings_without_options(frame, tmp_path):
    table = BAD["carried"][0](frame)
    X, y = table.drop(columns="class"), table["class"]
    model = MinimaxRiskClassifier().fit(X, y)
    path = tmp_path / "p.html"
    page = report(model, X, y, path=path, n_permutations=0, n_folds=3, n_radii=0)
    (finding,) = page.findings.warnings
    assert finding.code == "dominant-feature"
    assert read_page(path)[1] == [str(finding)]
    assert "--" not in str(finding)
    with pytest.raises(ValueError, match=r"^y has the index of X in another order"):
        report(model, X, y.iloc[::-1])


def test_a_rare_class_is_told_without_a_report(frame, tmp_path):
    """R* of a single rule says nothing where it is not below the error of the most common class."""
    table, verdicts = tmp_path / "t.csv", []
    rare = frame.assign(**{"class": ["breast"] * 36 + ["rare"] * 4})
    for each in (rare, frame):
        each.to_csv(table)
        done = run("fit", table, "--target", "class", "--no-guarantee", "--model", "single")
        verdicts.append("not below that" in unwrapped(done.stdout))
    assert verdicts == [True, False]


def test_new_samples_on_another_scale_are_a_warning(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv")
    run("fit", tmp_path / "t.csv", "--target", "class", "--no-guarantee", "--out", tmp_path / "m.skops")
    raw(frame, frame.index).to_csv(tmp_path / "new.csv")
    result = run("predict", tmp_path / "m.skops", tmp_path / "new.csv", "--json")
    (finding,) = json.loads(result.stdout)["findings"]
    assert finding["code"] == "scale-mismatch"
    assert finding["message"] in result.stderr
