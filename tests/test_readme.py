"""What the README and the guide show is what happens."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.datasets import make_expression

ROOT = Path(__file__).parents[1]


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def run(code, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def test_readme_example_prints_what_it_says():
    (code,) = blocks(ROOT / "README.md", "python")
    (output,) = blocks(ROOT / "README.md", "text")
    assert run(code, {}) == output


@pytest.mark.usefixtures("pyplot")
@pytest.mark.filterwarnings("ignore:no column was selected:UserWarning")
@pytest.mark.parametrize(("n_classes", "coding"), [(2, "signed"), (2, "one-hot"), (3, "one-hot")])
def test_guide_examples_run(n_classes, coding):
    study = make_expression(60, 100, random_state=0)
    X, y = study.data[:40], np.arange(40) % n_classes
    # The first block fits; what follows must do for every coding.
    first, *others = blocks(ROOT / "docs" / "guide.md", "python")
    names = {"X": X, "y": y, "X_new": X}
    run(first, names)
    names["model"].set_params(coding=coding).fit(X, y)
    for code in others:
        run(code, names)
    assert isinstance(names["model"], MinimaxRiskClassifier)
    assert names["certificate"].valid
    # The new instances of this test are the training instances, where the bound is whole.
    assert names["bound"].value == pytest.approx(names["model"].worst_case_error_)
    assert names["test"].statistic == pytest.approx(names["model"].worst_case_error_, abs=1e-3)


def test_two_commands_are_makefile_targets():
    (commands,) = blocks(ROOT / "README.md", "console")
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for line in commands.splitlines():
        assert line.split()[1] in targets


def test_links_in_the_documents_lead_somewhere():
    """Without the site; its build looks at anchors too."""
    pages = [page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts]
    for path in [ROOT / "README.md", *pages]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            is_built = "auto_examples" in target
            assert is_built or (path.parent / target).exists(), f"{path.name} links to {target}"
