"""The report in a browser: it draws, reacts, prints, and asks for nothing from outside."""

from __future__ import annotations

import csv
import io
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.analysis.evaluation import Predictions, evaluation_of
from minimaxrisk.app.report.cohort import LONGEST, Cohort, render_cohort
from minimaxrisk.app.report.page import MOST_CELLS, Provenance, render_report
from minimaxrisk.app.report.phrases import shortened
from minimaxrisk.app.report.tables import feature_headers, feature_rows
from minimaxrisk.datasets import make_expression
from tests.report_findings import gather_findings
from tests.study_files import HOSTILE_NAMES

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
pytest.importorskip("jinja2", reason="comes with the extra 'app'")
pytest.importorskip("vl_convert", reason="comes with the extra 'app'")

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Milliseconds after which something is not slow but absent, also on a machine with much else to do.
PATIENCE = 240_000
PLOTS = {
    "plot-scores-0",
    "plot-permutations-0",
    "plot-roc-0",
    "plot-reliability-0",
    "plot-volcano-0",
    "plot-heatmap-0",
    "plot-comparison-0",
    "plot-suspects-0",
    "plot-radius-0",
    "plot-radius-1",
    "plot-short_list-0",
    "plot-history-0",
}
ELEVEN = [
    *("ovary", "bladder", "breast", "colorectal", "gastroesophageal adenocarcinoma", "kidney", "liver"),
    *("prostate", "pancreas", "lung adenocarcinoma", "lung squamous cell carcinoma"),
]
HOSTILE = [
    *HOSTILE_NAMES,
    "a_very_long_name_without_any_place_to_break_it_" * 3,
]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE)
        playwright.expect.set_options(timeout=PATIENCE)
        yield browser
        browser.close()


def new_page(browser, address, troubles, *, is_folded=False, **options):
    """Patient: where many processes share a core, pages take long to load; unfolded, without animations."""
    page = browser.new_page(reduced_motion="reduce", **options)
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda message: troubles.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: _note_request(request.url, address, troubles))
    page.goto(address)
    if options.get("java_script_enabled", True):
        page.wait_for_selector("html[data-ready]", state="attached")
        if not is_folded:
            page.evaluate("document.querySelectorAll('details.fold').forEach(fold => { fold.open = true; })")
    return page


def _note_request(url, address, troubles):
    if url.split("#")[0] != address and not url.startswith(("data:", "blob:")):
        troubles.append(f"request: {url}")


@pytest.fixture(scope="module")
def study():
    """A fitted model with names that try to break the page."""
    data = make_expression(60, 300, n_informative=10, effect=0.9, random_state=0)
    X, y = data.data, np.array(["healthy", "<b>ill</b>"])[data.target]
    model = MinimaxRiskClassifier().fit(X, y)
    names = [f"gene {j}" for j in range(300)]
    important = np.argsort(-model.feature_importances_)
    for j, name in zip(important[2:], HOSTILE, strict=False):
        names[j] = name
    samples = [f"patient {i} <i>" for i in range(60)]
    return gather_findings(
        model, X, y, feature_names=names, sample_names=samples, n_permutations=19, n_folds=3, n_radii=5
    )


@pytest.fixture(scope="module")
def address(study, tmp_path_factory):
    provenance = Provenance(
        command="minimaxrisk fit x.csv --target '<img src=x onerror=alert(3)>' " + "very-long-option" * 20,
        source="a_very_long_file_name_without_any_place_to_break_it_" * 2 + ".csv",
        target="<img src=x onerror=alert(3)>",
        fingerprint="sha256:" + "0123456789abcdef" * 4,
        versions={"minimaxrisk": "0.1.0"},
        remarks=["<script>alert(4)</script>"],
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_report(study, provenance), encoding="utf-8")
    return path.as_uri()


DESKTOP = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"}
TABLET = {"viewport": {"width": 820, "height": 844}, "color_scheme": "dark"}
PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"}
WITHOUT_SCRIPTS = DESKTOP | {"java_script_enabled": False}


@pytest.fixture(scope="module")
def windows():
    """Pages by the options of their windows, and what went wrong on any of them."""
    pages, troubles = {}, []
    yield pages, troubles
    for page in pages.values():
        page.close()


@pytest.fixture
def visit(browser, address, windows):
    """Opens the report; at the end nothing may have gone wrong on any page.

    Loading it takes seconds, so that tests share a page per window, and leave it as it was.
    """
    pages, troubles = windows

    def open_page(window=DESKTOP):
        key = repr(window)
        if key not in pages:
            pages[key] = new_page(browser, address, troubles, **window)
        pages[key].evaluate("scrollTo(0, 0)")
        return pages[key]

    yield open_page
    found = troubles.copy()
    troubles.clear()
    assert found == []


def colour(page, selector, what):
    return page.locator(selector).first.evaluate(f"element => getComputedStyle(element).{what}")


def names_in_table(page):
    return page.locator("#feature-table tbody tr:not([hidden]) th").all_inner_texts()


def as_number(text):
    return float(text.replace("\u2212", "-").replace(",", "").rstrip("%") or "nan")


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def cell(page, row, column):
    """The middle of a cell of the heat map, in the window."""
    cells = page.locator("#plot-heatmap-0 svg g.mark-rect.role-mark.layer_0_marks path")
    n_samples = 60
    place = cells.nth(row * n_samples + column)
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_every_figure_is_drawn(visit):
    page = visit()
    drawn = page.evaluate("[...document.querySelectorAll('.plot')].map(plot => plot.id)")
    assert set(drawn) == PLOTS
    for key in PLOTS:
        marks = page.locator(f"#{key} svg .role-mark path, #{key} svg .role-mark line").count()
        assert marks > 0, key
        axis_titles = page.locator(f"#{key} svg .role-axis-title text").all_text_contents()
        assert axis_titles or key == "plot-heatmap-0", key
    assert page.locator("figure").count() == page.locator("figure figcaption").count() == 11
    # Colours that the style sheet does not know would be drawn black, or not at all.
    unknown = page.evaluate(
        """(() => {
            const known = getComputedStyle(document.documentElement);
            const used = [...document.querySelectorAll('.plot svg *')]
                .flatMap(mark => [mark.getAttribute('fill'), mark.getAttribute('stroke')])
                .filter(colour => colour && colour.startsWith('var('));
            return [...new Set(used)].filter(colour => !known.getPropertyValue(colour.slice(4, -1)));
        })()"""
    )
    assert unknown == []


@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_first_screen_answers(visit, study, window):
    """Is there signal, how often will it err, which features, which samples."""
    page = visit(window)
    parts = [
        ".headline",
        "#figure-scores svg",
        "#top-features tbody tr:nth-child(3)",
        "#look-at p, #look-at tr",
    ]
    parts += [f".tiles div:nth-child({k}) .value" for k in range(1, 5)]
    for part in parts:
        box = page.locator(part).first.bounding_box()
        assert box["y"] >= 0, part
        assert box["y"] + box["height"] <= window["viewport"]["height"], part
    assert study.features.names[0] in page.locator("#top-features").inner_text()
    dots = page.locator("#plot-scores-0 svg .mark-symbol path").count()
    assert dots == study.data.n_samples


@pytest.mark.parametrize("which", ["address", "many_address"])
def test_the_page_is_folded_and_opens_where_asked(browser, request, which):
    """Folded it is short; what was folded is drawn as wide as the rest, also after the window has changed."""
    troubles = []
    page = new_page(browser, request.getfixturevalue(which), troubles, is_folded=True, **DESKTOP)
    assert page.evaluate("document.documentElement.scrollHeight") <= 5000
    assert page.locator("details.fold[open]").count() == 0
    page.set_viewport_size({"width": 900, "height": 800})
    page.set_viewport_size(DESKTOP["viewport"])
    page.evaluate("location.hash = '#figure-comparison'")
    page.locator("#meaning[open]").wait_for()
    page.wait_for_function(
        "() => document.querySelector('#plot-comparison-0 svg').getBoundingClientRect().width > 900"
    )
    page.emulate_media(media="print")
    page.locator("#bounds[open]").wait_for()
    page.emulate_media(media="screen")
    page.locator("#bounds:not([open])").wait_for()
    assert page.locator("#meaning[open]").count() == 1
    page.close()
    assert troubles == []


def test_the_methods_can_be_copied(visit):
    page = visit()
    page.locator("#copy-methods").click()
    playwright.expect(page.locator("#copied")).not_to_be_empty()
    if page.locator("#copied").inner_text().startswith("Selected"):
        assert page.evaluate("getSelection().toString()").startswith("Samples were classified by")


def test_labels_are_inside_their_figures(visit):
    for window in (DESKTOP, PHONE):
        page = visit(window)
        outside = page.evaluate(
            """[...document.querySelectorAll('.plot svg')].flatMap(svg => {
                const frame = svg.getBoundingClientRect();
                return [...svg.querySelectorAll('text')].filter(text => {
                    const box = text.getBoundingClientRect();
                    return box.width && (box.left < frame.left - 2 || box.right > frame.right + 2
                        || box.top < frame.top - 2 || box.bottom > frame.bottom + 2);
                }).map(text => text.textContent);
            })"""
        )
        assert outside == []


def test_all_genes_are_saved_to_a_file(visit, study):
    page = visit()
    with page.expect_download() as started:
        page.locator("#save-genes").click()
    assert started.value.suggested_filename == "genes.csv"
    text = started.value.path().read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["feature"] for row in rows] == list(study.features.names)
    np.testing.assert_allclose(
        [float(row["coefficient"]) for row in rows], study.features.coefficients[0], rtol=1e-5
    )


@pytest.fixture(scope="module")
def many():
    """Findings of eleven classes, as if all of 120 features were selected."""
    random = np.random.default_rng(0)
    X, y = random.standard_normal((44, 120)), np.array(ELEVEN)[np.arange(44) % 11]
    model = MinimaxRiskClassifier(solver="first-order", gap_tol=0.5).fit(X, y)
    model.selected_features_ = np.arange(120)
    return gather_findings(model, X, y, n_permutations=0, n_folds=2, n_radii=0, guarantee=False)


@pytest.fixture(scope="module")
def many_address(many, tmp_path_factory):
    """A page whose table begins with some of the features."""
    path = tmp_path_factory.mktemp("many") / "many.html"
    path.write_text(render_report(many, Provenance("fit", "x.csv", "class", "1", {})), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def cohort():
    """Eleven classes with long names, one of them named wrongly at times, a strange label, hostile names."""
    random = np.random.default_rng(0)
    own = np.arange(66) % 11
    scores = 2.0 * (own[:, None] == np.arange(11)) + random.standard_normal((66, 11))
    y = np.array([*ELEVEN], dtype=object)[own]
    y[0] = "<b>not known</b>"
    named = np.array(ELEVEN, dtype=object)[scores.argmax(axis=1)]
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    found = evaluation_of(Predictions(ELEVEN, named, scores, shares), y)
    assert 5 < found.error.n_counted < 40
    return Cohort(
        evaluation=found,
        source="a_very_long_file_name_without_any_place_to_break_it_" * 2 + ".csv",
        model="<i>model</i>.skops",
        target="tissue",
        sample_names=[*HOSTILE, *(f"patient {i}" for i in range(66))][:66],
        is_on_scale=np.arange(66) > 0,
        features=[*HOSTILE, "IL6"],
        n_features=2000,
        n_used=len(HOSTILE) + 1,
        drift="",
        remarks=["<script>alert(4)</script>"],
        command="minimaxrisk evaluate " + "very-long-option" * 20,
        versions={"minimaxrisk": "0.1.0"},
    )


@pytest.fixture(scope="module")
def cohort_address(cohort, tmp_path_factory):
    path = tmp_path_factory.mktemp("cohort") / "cohort.html"
    path.write_text(render_cohort(cohort), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("window", [DESKTOP, PHONE | {"color_scheme": "dark"}], ids=["desktop", "phone"])
def test_a_cohort_in_a_browser(browser, cohort, cohort_address, window):
    """The first screen answers, names stay text, nothing is too wide, the button changes the colours."""
    troubles, found = [], cohort.evaluation
    page = new_page(browser, cohort_address, troubles, **window)
    parts = [
        ".headline",
        "#by-class tbody tr:nth-child(3)",
        *(f".tiles div:nth-child({k})" for k in range(1, 5)),
    ]
    if window is DESKTOP:
        parts += ["#look-at tbody tr:nth-child(5)", "#look-at p"]
        assert page.evaluate("document.documentElement.scrollHeight") <= 5000
    for part in parts:
        box = page.locator(part).first.bounding_box()
        assert box["y"] >= 0, part
        assert box["y"] + box["height"] <= window["viewport"]["height"], part
    assert f"{found.error.n_counted} of 66" in page.locator(".headline").inner_text()
    tiles = page.locator(".tiles").inner_text()
    assert f"{found.area.value:.1%}" in tiles
    assert f"{found.balanced_accuracy.value:.1%}" in tiles
    wrong = {cohort.sample_names[i] for i in np.flatnonzero(found.own != found.predicted)}
    looked_at = page.locator("#look-at tbody th").all_inner_texts()
    assert len(looked_at) == 5
    assert set(looked_at) <= {shortened(name, LONGEST) for name in wrong}
    assert page.locator("svg.roc polyline").count() == 11
    assert page.locator("main img, main script, main b, main i:not(.legend i)").count() == 0
    assert "<script>alert(4)</script>" in page.locator("#provenance").inner_text()
    assert overflow(page) <= 0
    before = colour(page, "body", "backgroundColor")
    page.get_by_role("button", name="Light / dark").click()
    assert colour(page, "body", "backgroundColor") != before
    for landmark in ("banner", "main", "contentinfo"):
        assert page.get_by_role(landmark).count() == 1
    page.close()
    assert troubles == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["address", "many_address", "cohort_address"])
def test_axe_finds_no_fault(browser, request, which, scheme):
    """``AXE_CORE`` names axe.min.js of the package axe-core of npm, which is no dependency of the project."""
    axe = os.environ.get("AXE_CORE")
    if axe is None:
        pytest.skip("needs AXE_CORE, the path of axe.min.js")
    page = new_page(browser, request.getfixturevalue(which), [], color_scheme=scheme, bypass_csp=True)
    # All rows are alike, and axe takes minutes for a thousand.
    page.evaluate("document.querySelectorAll('tbody tr:nth-child(n + 15)').forEach(row => row.remove())")
    page.evaluate(Path(axe).read_text(encoding="utf-8"))
    found = page.evaluate(
        "axe.run().then(found => found.violations.map(one => [one.impact, one.id, one.help]))"
    )
    page.close()
    assert found == []


@pytest.fixture(scope="module")
def many_page(browser, many_address):
    """It on a telephone, and what went wrong there."""
    troubles = []
    page = new_page(browser, many_address, troubles, **PHONE)
    yield page, troubles
    page.close()


def test_tables_of_many_classes_on_the_screen_and_on_paper(many_page):
    """Names of ten letters stay whole in the table of classes; a sheet cuts off no column."""
    page, _ = many_page

    def lines_of_short_names():
        lines = page.locator("table.confusion thead th bdi").evaluate_all(
            "names => Object.fromEntries(names.map(name => [name.textContent, name.getClientRects().length]))"
        )
        return {name: lines[name] for name in ELEVEN if " " not in name and len(name) <= 10}

    page.set_viewport_size(DESKTOP["viewport"])
    on_screen = lines_of_short_names()
    page.set_viewport_size({"width": 690, "height": 900})
    page.emulate_media(media="print")
    on_paper = lines_of_short_names()
    headers = page.locator("#feature-table thead th:visible").all_inner_texts()
    inside = page.locator("#feature-table").bounding_box()["width"] <= 691
    told = page.get_by_text("paper has no room for them").is_visible()
    page.emulate_media(media="screen")
    page.set_viewport_size(PHONE["viewport"])
    names = ["ovary", "bladder", "breast", "colorectal", "kidney", "liver", "prostate", "pancreas"]
    assert on_screen == on_paper == dict.fromkeys(names, 1)
    assert headers == ["feature", "higher values favour", "importance"]
    assert inside
    assert told


def test_many_features_of_many_classes(many, many_page):
    """Rows beyond the first come when asked for, a class can be chosen, and eleven classes have colours."""
    page, troubles = many_page
    assert page.locator("#feature-table tbody tr").count() == MOST_CELLS // len(feature_headers(many)) < 120
    last = many.features.names[-1]
    page.locator("#feature-search").fill(last)
    assert last in names_in_table(page)
    assert page.locator("#feature-table tbody tr").count() == 120
    # The script words numbers as the page does from the start; the last digit may be rounded twice.
    for row in feature_rows(many)[-30:]:
        shown = page.locator("#feature-table tbody tr").filter(has=page.get_by_text(row.name, exact=True))
        supports, *cells = shown.first.locator("td").all_text_contents()
        assert supports == row.supports
        for cell, expected in zip(cells, row.cells, strict=True):
            assert len(cell) == len(expected)
            assert as_number(cell) == pytest.approx(as_number(expected), rel=2e-3)
    assert page.locator("#all-genes").count() == 0
    title = "#plot-volcano-0 svg .mark-symbol path"
    before = page.locator(title).first.get_attribute("transform")
    page.locator("#volcano-class").select_option("7")
    page.wait_for_function(
        "before => document.querySelector('#plot-volcano-0 svg .mark-symbol path').getAttribute('transform')"
        " !== before",
        arg=before,
    )
    colours = page.evaluate(
        "[...Array(11).keys()].map(k => "
        "getComputedStyle(document.documentElement).getPropertyValue(`--c${k}`))"
    )
    assert all(colours)
    assert len(set(colours)) == 11
    assert overflow(page) == 0
    assert troubles == []


def test_table_sorts_by_click_and_by_key(visit):
    page = visit()
    names = names_in_table(page)
    header = page.locator("#feature-table th", has_text="importance")
    assert header.get_attribute("aria-sort") == "descending"
    header.get_by_role("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    assert names_in_table(page) == names[::-1]
    coefficient = page.locator("#feature-table thead th", has_text="coefficient")
    coefficient.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert coefficient.get_attribute("aria-sort") == "descending"
    assert header.get_attribute("aria-sort") == "none"
    texts = page.locator("#feature-table tbody td:nth-child(4)").all_inner_texts()
    values = [float(text.replace("\u2212", "-")) for text in texts]
    assert values == sorted(values, reverse=True)
    assert min(values) < 0 < max(values)
    header.get_by_role("button").click()
    assert names_in_table(page) == names


def test_table_filters(visit):
    page = visit()
    everything = len(names_in_table(page))
    page.get_by_label("Find a feature").fill("ALERT(1)")
    assert names_in_table(page) == ["<script>alert(1)</script>"]
    assert page.locator("#feature-count").inner_text() == f"1 of {everything} rows"
    page.get_by_label("Find a feature").fill("")
    assert len(names_in_table(page)) == everything


def test_hover_tells_the_sample(visit, study):
    page = visit()
    page.mouse.move(*cell(page, 2, 5))
    tooltip = page.locator("#tooltip")
    tooltip.wait_for(state="visible")
    text = tooltip.inner_text()
    assert study.values.sample_names[5] in text
    assert study.values.classes[study.values.labels[5]] in text
    assert "<script>alert(1)</script>" in text
    assert f"{study.values.values[2, 5]:+.2f}".replace("-", "\u2212") in text
    page.mouse.move(2, 2)
    tooltip.wait_for(state="hidden")


def button_of(page, feature):
    """What a reader presses to choose a feature; looked for in the table, since a role is slow to find."""
    return page.locator("#feature-table tbody").get_by_role("button", name=feature, exact=True)


def frames(page):
    """Opacity of the frames around the rows of the heat map."""
    shapes = page.locator("#plot-heatmap-0 svg g.mark-rect.role-mark.layer_2_marks path")
    return shapes.evaluate_all("shapes => shapes.map(shape => shape.getAttribute('stroke-opacity'))")


def test_choosing_a_row_shows_it_in_the_heat_map(visit, study):
    page = visit()
    assert set(frames(page)) == {"0"}
    button = button_of(page, study.values.names[3])
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('#plot-heatmap-0 [stroke-opacity=\"1\"]')")
    assert [k for k, opacity in enumerate(frames(page)) if opacity == "1"] == [3]
    assert button.get_attribute("aria-pressed") == "true"
    button.press("Enter")
    page.wait_for_function("!document.querySelector('#plot-heatmap-0 [stroke-opacity=\"1\"]')")
    assert button.get_attribute("aria-pressed") == "false"


def test_choosing_a_cell_finds_its_row(visit, study):
    page = visit()
    page.mouse.click(*cell(page, 4, 10))
    chosen = page.locator("#feature-table tr[data-chosen]")
    chosen.wait_for()
    assert chosen.count() == 1
    assert chosen.locator("th").inner_text() == study.values.names[4]
    playwright.expect(chosen).to_be_in_viewport()
    button_of(page, study.values.names[4]).press("Enter")
    playwright.expect(chosen).to_have_count(0)


def test_print_has_all_figures_in_light_colours(visit):
    page = visit(TABLET)
    assert colour(page, "body", "backgroundColor") == "rgb(22, 24, 27)"
    page.emulate_media(media="print")
    # A printer tells nobody how wide its paper is.
    paper = page.add_style_tag(content="body { width: 690px }")
    assert colour(page, "body", "backgroundColor") == "rgb(253, 253, 251)"
    for key in PLOTS:
        box = page.locator(f"#{key} svg").bounding_box()
        assert box["width"] > 200
        assert box["x"] + box["width"] <= 691
    assert not page.locator("details:not(.fold)").first.is_visible()
    assert not page.locator("#feature-search").is_visible()
    # Headers are repeated on every page, but buttons within them are not.
    assert colour(page, "#feature-table thead th button", "display") == "contents"
    name = page.locator("#feature-table tbody th button", has_text="gene ").first
    assert name.evaluate("button => button.getClientRects().length") == 1
    # Rows of long tables are not hidden in a box that scrolls.
    assert page.locator(".scroll.tall").evaluate("box => box.scrollHeight - box.clientHeight") <= 1
    document = page.pdf(format="A4")
    assert document.startswith(b"%PDF")
    paper.evaluate("style => style.remove()")
    page.emulate_media(media="screen")
    assert colour(page, "body", "backgroundColor") == "rgb(22, 24, 27)"


def test_dark_follows_the_system_and_the_button(visit):
    light, dark = visit(DESKTOP), visit(TABLET)
    for selector, what in [("body", "backgroundColor"), ("body", "color"), (".plot svg text", "fill")]:
        assert colour(light, selector, what) != colour(dark, selector, what)
    before = colour(light, ".plot svg text", "fill")
    button = light.get_by_role("button", name="Light / dark")
    button.click()
    assert colour(light, "body", "backgroundColor") == colour(dark, "body", "backgroundColor")
    assert colour(light, ".plot svg text", "fill") == colour(dark, ".plot svg text", "fill") != before
    button.click()
    assert colour(light, ".plot svg text", "fill") == before


@pytest.mark.parametrize("window", [DESKTOP, TABLET], ids=["light", "dark"])
def test_text_has_contrast(visit, window):
    page = visit(window)
    for selector in (
        ".headline",
        "td.wrong",
        "figcaption",
        ".tiles dt",
        "nav a",
        "summary",
        ".legend",
        "button.name",
    ):
        back = page.locator(selector).first.evaluate(
            """element => {
                const back = () => getComputedStyle(element).backgroundColor;
                while (back() === 'rgba(0, 0, 0, 0)') element = element.parentElement;
                return back();
            }"""
        )
        assert contrast(colour(page, selector, "color"), back) >= 4.5, selector


def contrast(first, second):
    """Ratio of luminances as in WCAG 2."""

    def luminance(text):
        channels = np.array([float(part) for part in text[text.index("(") + 1 : -1].split(",")[:3]]) / 255
        linear = np.where(channels <= 0.03928, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("window", [PHONE, TABLET, DESKTOP], ids=["phone", "tablet", "desktop"])
def test_nothing_is_wider_than_the_page(visit, window):
    assert overflow(visit(window)) <= 0


def test_hostile_names_are_text(visit):
    page = visit()
    shown = names_in_table(page)
    for name in HOSTILE:
        assert name in shown
    assert page.locator("main img, main script, main b:not(dt b), main i:not(.legend i)").count() == 0
    assert page.locator("h1").inner_text().startswith("<img src=x onerror=alert(3)>")
    assert "<script>alert(4)</script>" in page.locator("#notes").inner_text()
    labels = page.locator("#plot-heatmap-0 svg .role-axis-label text").all_text_contents()
    assert any(label.startswith("<script>ale") for label in labels)  # long ones are cut
    assert "IL6[1].beta" in labels


def test_skip_link_and_landmarks(visit):
    page = visit()
    page.mouse.click(2, 2)  # the margin, from where the first Tab leads to the first link
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        assert page.get_by_role(landmark).count() == 1


def test_without_scripts_the_text_and_tables_are_there(visit):
    page = visit(WITHOUT_SCRIPTS)
    assert "The figures need JavaScript" in page.locator("noscript").inner_text()
    assert len(names_in_table(page)) > 10
    assert page.get_by_role("heading", name="The worst-case error R*").is_visible()
    assert not page.locator("#feature-search").is_visible()
