"""Measurements on an accelerator: ``python -m experiments.accelerators``, or ``make bench-gpu``."""
