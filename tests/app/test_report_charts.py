"""Charts of the displays, as Vega draws them on the page."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.app.report import figures
from minimaxrisk.app.report.page import json_island
from minimaxrisk.app.report.vega import legend_of, specs_of
from minimaxrisk.datasets import make_expression
from minimaxrisk.inspection import FeatureCountDisplay
from minimaxrisk.inspection.chart import INK, MAIN, PALE, SECOND, SOFT, Axis, Chart, Mark, bars_of_rows
from tests.report_findings import gather_findings

vl_convert = pytest.importorskip("vl_convert", reason="comes with the extra 'app'")

FIGURES = [make for name, make in vars(figures).items() if name.endswith("_figure")]


@pytest.fixture(scope="module")
def findings():
    study = make_expression(60, 100, n_informative=10, effect=1.2, random_state=0)
    model = MinimaxRiskClassifier().fit(study.data, study.target)
    return gather_findings(model, study.data, study.target, n_permutations=19, n_folds=3, n_radii=3)


def drawn(spec):
    """The SVG of a specification, in black, since colours are variables of the page."""
    text = re.sub(r"var\(--[\w-]+\)", "black", json_island({**spec, "width": 500, "autosize": "pad"}))
    return vl_convert.vegalite_to_svg(json.loads(text))


def numbers(layer, name):
    return [value[name] for value in layer["data"]["values"]]


@pytest.mark.parametrize("make", FIGURES)
def test_every_chart_of_the_page_is_drawn(findings, make):
    figure = make(findings)
    for spec in figure.specs:
        picture = drawn(spec)
        assert picture.count('class="mark-') > len(spec["layer"])
        assert "axis-title" in picture
        assert all(layer["encoding"]["tooltip"] for layer in spec["layer"])
    assert all(entry.text and entry.shape for entry in figure.legend)


def test_marks_of_all_kinds():
    places = np.arange(2)
    marks = [
        bars_of_rows("bars", PALE, places, 0.0, np.array([0.2, 0.4]), label="bars"),
        Mark("intervals", "intervals", INK, [0.1, 0.2], places, [0.3, 0.4]),
        Mark("points", "points", MAIN, [0.1, 0.2], places, shape="diamond", size=[10, 20], label="points"),
        Mark(
            "line", "line", SECOND, [0.2, 0.1, 0.3], [0, 1, 1], label="line", tips={"what": ["a", "b", "c"]}
        ),
        Mark("rule", "rule", SOFT, 0.25, is_dashed=True, label="rule"),
    ]
    chart = Chart(Axis("error", starts_at_zero=True), Axis("rule", rows=["first", "second"]), marks)
    (spec,) = specs_of(chart, 100)
    bars, intervals, points, line, rule = spec["layer"]
    assert numbers(bars, "x2") == [0.2, 0.4]
    assert numbers(bars, "y") == [-0.37, 0.63]
    assert numbers(intervals, "x2") == [0.3, 0.4]
    assert numbers(points, "s") == [10, 20]
    assert numbers(line, "x") == [0.2, 0.1, 0.3]  # in their order
    assert line["encoding"]["x"]["sort"] is None
    assert [each["title"] for each in line["encoding"]["tooltip"]] == ["what"]
    assert [each["title"] for each in rule["encoding"]["tooltip"]] == ["error"]
    assert [entry.shape for entry in legend_of(chart)] == ["box", "diamond", "line", "dash"]
    picture = drawn(spec)
    assert all(name in picture for name in ("first", "second", "error"))


def test_another_quantity_stands_below_with_the_same_rules():
    over = np.array([0.5, 1.0])
    beside = Axis("features", is_count=True), Mark("line", "features", SOFT, over, [20, 10], label="right")
    marks = [
        Mark("rule", "used", INK, 1.0),
        Mark("rule", "limit", INK, y=0.1),
        Mark("line", "R*", MAIN, over, over),
    ]
    above, below = specs_of(Chart(Axis("radius"), Axis("R*"), marks, beside), 100)
    assert len(above["layer"]) == 3
    assert [layer["encoding"].keys() & {"x", "y"} for layer in below["layer"]] == [{"x"}, {"x", "y"}]
    assert numbers(below["layer"][1], "y") == [20, 10]


def test_numbers_are_those_of_the_displays(findings):
    path, test, errors = findings.path, findings.permutation, findings.comparison
    (used, upper, lower), below = (spec["layer"] for spec in figures.radius_figure(findings).specs)
    assert numbers(used, "x") == [findings.radius.factor]
    assert (numbers(upper, "y"), numbers(lower, "y")) == (path.upper.tolist(), path.lower.tolist())
    assert numbers(below[-1], "y") == path.n_features.tolist()
    histogram, (counts, *_) = figures.permutation_figure(findings), test.histogram()
    assert numbers(histogram.specs[0]["layer"][0], "y2") == counts.tolist()
    assert [row[1] for row in histogram.rows] == [str(n) for n in counts]
    *_, means, worst = figures.comparison_figure(findings).specs[0]["layer"]
    assert numbers(means, "x") == errors.errors.tolist()
    assert numbers(worst, "x") == [errors.worst_case_error]
    weights = figures.suspects_figure(findings).specs[0]["layer"][0]
    assert numbers(weights, "x2") == [one.other_mass for one in findings.suspects]
    assert figures.roc_figure(replace(findings, left_out=None)) is None


def test_radii_with_the_same_number_of_features_are_told_apart(findings):
    shown = FeatureCountDisplay(
        radii=np.array([2.0, 1.0, 0.5]),
        n_features=np.array([3, 59, 59]),
        mean_loss=np.array([0.4, 0.167, 0.15]),
        standard_error=np.full(3, 0.05),
        best=2,
        few=1,
        loss_label="error on left-out samples",
    )
    figure = figures.short_list_figure(replace(findings, short_list=shown))
    assert "smallest left-out error, 0.150, is that of radius 0.5, with 59 features." in figure.caption
    assert "within one standard error of it, 1, has 59 features and the error 0.167." in figure.caption
    assert figure.rows[1] == ["1", "59", "0.167", "0.050"]
    alone = figures.short_list_figure(replace(findings, short_list=replace(shown, few=2)))
    assert alone.caption.endswith("No larger radius has an error within one standard error of it.")
