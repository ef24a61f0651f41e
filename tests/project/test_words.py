"""Sentences that had to be read twice do not come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STYLE = ROOT / "docs" / "develop" / "style.md"
# Parts of what `docs/develop/style.md` shows in its left column, and others like them.
RIDDLES = (
    "price are",
    "its price is",
    "so that it cannot choose one",
    "of a search pass",
    "are spoken of",
    "is spoken of",
    "is told after",
    "cannot be had",
    "nothing is said about",
    "silence is no proof",
    "what is not shown counts",
    "not below both",
)
FILES = [
    *ROOT.glob("*.md"),
    *(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts and page != STYLE),
    *(ROOT / "src").rglob("*.py"),
]


def words_of(path):
    """The text with its lines joined, as a reader takes it in; strings of Python lose their quotes."""
    text = path.read_text(encoding="utf-8").lower()
    return re.sub(r"[\s\"'#|>]+", " ", text)


@pytest.mark.parametrize("phrase", RIDDLES)
def test_no_riddle_comes_back(phrase):
    found = [path.relative_to(ROOT).as_posix() for path in FILES if phrase in words_of(path)]
    assert not found


def test_the_riddles_are_looked_for_in_all_texts():
    assert len(FILES) > 150
    assert sum(phrase in words_of(STYLE) for phrase in RIDDLES) >= 8


def test_the_readme_fits_a_screen_and_pages_a_sitting():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 700
    free = {"reference", "results", "auto_examples"}
    for page in FILES:
        if page.is_relative_to(ROOT / "docs") and not free & set(page.parts):
            assert len(page.read_text(encoding="utf-8").split()) <= 1500, page


def test_all_prose_is_read_in_an_afternoon():
    docs = ROOT / "docs"
    pages = [
        *docs.glob("*.md"),
        *(page for name in ("learn", "how_to", "develop") for page in (docs / name).glob("*.md")),
    ]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= 30_000
