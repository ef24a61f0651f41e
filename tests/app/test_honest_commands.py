"""Honest tables through the whole command: no veto, and the findings that were written down."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from corpora.honest import HONEST
from minimaxrisk.checks.findings import VETO
from tests.terminal import run

TABLES = (
    "breast-cancer",
    "wine",
    "iris",
    "digits-3-8",
    "spectra-offset",
    "laboratory-panel",
    "bag-of-words",
    "classes-signs",
    "classes-none",
    "classes-receptors",
    "names-cell-lines",
    "qpcr",
    "votes",
    "sorted-by-measurement",
)


@pytest.mark.parametrize("name", TABLES)
def test_no_honest_table_is_vetoed(name, tmp_path, capsys):
    table = HONEST[name]()
    frame = pd.DataFrame(table.X, columns=table.feature_names)
    frame.insert(0, "class of the sample", table.y)
    frame.insert(0, "name of the sample", [f"{each}" for each in table.sample_names])
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    more = ("--impute", "median") if np.isnan(table.X).any() else ()
    little = ("--permutations", "0", "--folds", "3", "--radii", "0", "--no-guarantee", "--json")
    status, out, err = run(
        capsys,
        *("fit", path, "--target", "class of the sample", "--samples", "name of the sample"),
        *("--report", tmp_path / "p.html", *little, *more),
    )
    assert status == 0, err
    found = {finding["code"]: finding["severity"] for finding in json.loads(out)["findings"]}
    assert found == {code: table.severity(code) for code in table.expected}
    assert VETO not in found.values()
