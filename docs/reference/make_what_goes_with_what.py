"""Writes the page "What goes with what" from what estimators and functions declare."""

from __future__ import annotations

from pathlib import Path

import minimaxrisk
from minimaxrisk.guarantees.certified import DASK, ELSEWHERE, NEEDS, can

PAGE = Path(__file__).with_name("what_goes_with_what.md")
CLASSIFIERS = (
    "MinimaxRiskClassifier",
    "MinimaxRiskClassifierCV",
    "MinimaxRiskEnsembleClassifier",
    "MinimaxRiskKernelClassifier",
)
TEXT = """# What goes with what

Functions need something of a model, and say what to use where it is missing. A pipeline or a search will do
where a model will, but for `check_data` and `save_model`, which take the model itself; `permutation_test`
takes no search, whose radius labels have chosen. `error_bound` judges any classifier by left-out samples.

"""


def rows() -> list[list[str]]:
    """A line for each function, and for the forms of data that not all estimators take."""
    estimators = [getattr(minimaxrisk, name) for name in CLASSIFIERS]
    asked = {**{f"`{name}`": needs for name, needs in NEEDS.items()}, "dask arrays": (DASK,)}
    asked["arrays on a device"] = (ELSEWHERE,)
    return [
        [name, *("yes" if all(can(each, one) for one in needs) else "" for each in estimators)]
        for name, needs in asked.items()
    ]


def page() -> str:
    """The text of the page."""
    header = ["", *(f"`{name}`" for name in CLASSIFIERS)]
    lines = [header, ["---"] * len(header), *rows()]
    return TEXT + "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
