"""A table to make a report of."""

from __future__ import annotations

import csv
from pathlib import Path

from minimaxrisk.app.atomic import whole_file
from minimaxrisk.datasets import make_expression


def write_study(path: Path) -> None:
    """A simulated expression study as people have it: a line per patient, a column per gene."""
    study = make_expression(100, 2000, n_informative=20, effect=1.0, random_state=0)
    diagnoses = ["ill" if label == study.target.max() else "healthy" for label in study.target]
    with whole_file(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", "diagnosis", *study.feature_names])
        for i, row in enumerate(study.data):
            writer.writerow([f"patient_{i + 1:03d}", diagnoses[i], *(f"{value:.5f}" for value in row)])
