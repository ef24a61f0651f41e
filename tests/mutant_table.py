"""Of the last `make mutants`: how many mutants each module has, and the names of those that are left."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from mutmut.stats import status_by_exit_code

RESULTS = Path("mutants/src/minimaxrisk")
COLUMNS = ("killed", "timeout", "survived", "no tests", "not checked")


def table():
    """Its lines, and after it a line for each mutant that is left."""
    lines = [f"| module | mutants | {' | '.join(COLUMNS)} |", "| --- |" + " ---: |" * (1 + len(COLUMNS))]
    left, total = [], Counter()
    for file in sorted(RESULTS.rglob("*.meta")):
        codes = json.loads(file.read_text())["exit_code_by_key"]
        status = {name: status_by_exit_code[code] for name, code in codes.items()}
        counts = Counter(status.values())
        total += counts
        lines += [row(f"`{file.relative_to(RESULTS).with_suffix('')}`", counts)] * bool(status)
        left += [f"{name}: {of}" for name, of in status.items() if of not in ("killed", "timeout")]
    return [*lines, row("all", total), "", *left]


def row(name, counts):
    return f"| {name} | {' | '.join(map(str, [counts.total(), *(counts[status] for status in COLUMNS)]))} |"


if __name__ == "__main__":
    sys.stdout.write("\n".join(table()) + "\n")
