"""Measurements on an accelerator: ``python -m experiments.accelerators``, or ``make bench-gpu``."""

from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results" / "accelerators"
