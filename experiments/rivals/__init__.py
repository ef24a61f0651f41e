"""The benchmark: every rival on the same data in one run, from raw data to CSV, tables and plots.

``python -m benchmarks run`` measures, ``python -m benchmarks report`` renders what was measured;
``docs/benchmarks.md`` says what is measured and why so.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
