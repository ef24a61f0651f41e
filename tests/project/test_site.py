"""Links of the documents, and what the site draws itself: the layers, and formulas that need no script."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = {"_build", "auto_examples", "generated"}  # folders that a build of the site makes
DOCUMENTS = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "changelog.d").glob("*.md"), *DOCS.rglob("*.md")]
    if not MADE & set(path.parts)
)
FENCED = re.compile(r"^( *)(```+).*?^\1\2$", flags=re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(<?([^)\s>]+)>?\)")
LISTED = re.compile(r"^```\{toctree\}\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


def anchors(path):
    """Of the headings of a page, as GitHub and the site write them."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ +(.+)$", text, flags=re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere_in_a_clone(page):
    """To a file of the repository and, where an anchor is named, to a heading of it."""
    for target in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), f"links to {target}"
        if anchor:
            assert anchor in anchors(path), f"links to {target}; the headings are {anchors(path)}"


def test_every_page_is_listed_once_and_exists():
    """But for the gallery, which a build makes."""
    listed = []
    for page in DOCUMENTS:
        for entries in LISTED.findall(page.read_text(encoding="utf-8")):
            names = [line for line in entries.splitlines() if line and not line.startswith(":")]
            listed += [(page.parent / f"{name}.md").resolve() for name in names]
    listed.remove(DOCS / "auto_examples" / "index.md")
    pages = [page for page in DOCUMENTS if page.is_relative_to(DOCS) and page != DOCS / "index.md"]
    assert sorted(listed) == pages


@pytest.fixture
def extension(monkeypatch):
    """A module of docs/_ext by its name; they come with the group 'docs'."""
    monkeypatch.syspath_prepend(DOCS / "_ext")
    for package in ("sphinx", "latex2mathml"):
        pytest.importorskip(package, reason="comes with the group 'docs'")
    names = []

    def load(name):
        names.append(name)
        return pytest.importorskip(name)

    yield load
    for name in names:
        sys.modules.pop(name, None)


def test_the_picture_of_the_layers_has_every_folder_from_the_top_down(extension):
    module = extension("layers")
    drawn = module.picture(module.layers_of("Data flows one way"), "layers")
    tops = {name: float(y) for y, name in re.findall(r'<text x="[\d.]+" y="([\d.]+)">(\w+)</text>', drawn)}
    folders = {path.parent.name for path in (ROOT / "src" / "minimaxrisk").glob("*/__init__.py")}
    assert set(tops) == folders | {"__main__", "datasets", "exceptions", "solvers"}
    assert tops["app"] < tops["estimators"] < tops["problem"] < tops["_utils"]
    assert tops["samples"] == tops["datasets"]


def test_limits_stand_below_in_a_formula_of_its_own_and_beside_in_a_line(extension):
    mathml = extension("mathml").mathml
    assert "<munder><mo>max</mo>" in mathml(r"\max_{w \in \mathcal U} w", "block")
    assert "<msub><mo>max</mo>" in mathml(r"\max_{w \in \mathcal U} w", "inline")
    assert "𝒰" in mathml(r"\mathcal U", "inline")
