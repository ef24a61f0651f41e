"""False alarms and power of every data check on both corpora.

``python tests/check_table.py`` writes the table of docs/how_to/data_checks.md.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from corpora.checked import findings_of  # noqa: E402
from corpora.honest import HONEST  # noqa: E402
from corpora.mistakes import MISTAKES  # noqa: E402
from minimaxrisk.checks.findings import CODES, SEVERITY_OF  # noqa: E402

PAGE = ROOT / "docs" / "how_to" / "data_checks.md"
BEGIN, END = "<!-- table of findings -->\n", "<!-- end of the table -->\n"
OTHERS = {"training-samples"}  # about a second file


def counts():
    """Return for each code the honest tables with a false and a due finding, and mistakes that are found."""
    false, due, found, made = Counter(), Counter(), Counter(), Counter()
    for build in HONEST.values():
        table = build()
        codes = {finding.code for finding in findings_of(table)}
        false.update(codes - table.expected.keys())
        due.update(codes & table.expected.keys())
    for build in MISTAKES.values():
        table = build()
        codes = {finding.code for finding in findings_of(table)}
        made.update(table.expected.keys())
        found.update(codes & table.expected.keys())
    return false, due, found, made


def table():
    """Return the lines of the table."""
    false, due, found, made = counts()
    lines = [
        f"| code | severity | false alarms of {len(HONEST)} tables | due there | mistakes found |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for codes in CODES.values():
        for code in codes:
            power = f"{found[code]} of {made[code]}"
            if code not in OTHERS:
                lines.append(f"| `{code}` | {SEVERITY_OF[code]} | {false[code]} | {due[code]} | {power} |")
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}{table()}{END}{after}", encoding="utf-8")
