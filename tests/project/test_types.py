"""mypy --strict and pyright know models, attributes and results, and find what a user spells wrong."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest

import minimaxrisk
from minimaxrisk._utils import choices
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk.problem.kernel import KERNELS
from minimaxrisk.solvers import BY_NAME
from minimaxrisk.uncertainty import NAMED_RULES

SCRIPT = Path(__file__).with_name("user_script.py")
# Each line has a mistake, which is the only one in it.
MISTAKES = """\
MinimaxRiskClassifier(solver="sagaa")
MinimaxRiskClassifier(radius="bootstrapp")
MinimaxRiskClassifier(class_weight="balance")
MinimaxRiskClassifierCV(rule="cv")
MinimaxRiskEnsembleClassifier(estimator="ridge")
MinimaxRiskKernelClassifier("rbff")
error_bound(model, X, y, confidence="high")
worst_case(model, X, y, rule="predicted")
verify("model.skops", X, y)
evaluate(model, X_new, y_new).errors
model.worst_case_error_.value
sets.predict_sets(X_new)
""".splitlines()
# scikit-learn has no types: to mypy its subclasses have any attribute, to pyright those in its code.
UNSEEN_BY_MYPY = {"sets.predict_sets(X_new)"}
CHECKERS = {
    "mypy": ["--strict", "--follow-imports=silent", "--no-error-summary"],
    "pyright": ["--pythonpath", sys.executable],
}


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_type_checker_knows_the_library_and_finds_mistakes(checker, tmp_path):
    if find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    text = SCRIPT.read_text(encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(text + "\n".join(MISTAKES) + "\n", encoding="utf-8")
    source = str(Path(minimaxrisk.__file__).parents[1])
    found = subprocess.run(
        [sys.executable, "-m", checker, *CHECKERS[checker], script.name],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]),
            "MYPYPATH": source,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    errors = re.findall(r"script\.py:(\d+).*error: ", found.stdout)
    wrong = {script.read_text(encoding="utf-8").splitlines()[int(number) - 1] for number in errors}
    unseen = UNSEEN_BY_MYPY if checker == "mypy" else set()
    assert wrong == set(MISTAKES) - unseen, found.stdout + found.stderr


def test_the_script_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with quiet_fits():
        runpy.run_path(str(SCRIPT))


def test_names_are_those_that_there_are():
    assert set(get_args(choices.SolverName)) == {"auto", *BY_NAME}
    assert set(get_args(choices.RadiusOfBox)) == set(NAMED_RULES)
    assert set(get_args(choices.KernelName)) == {*KERNELS, "precomputed"}
