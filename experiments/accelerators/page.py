"""Puts what `make bench-gpu` measured into the page of the documentation."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from experiments.accelerators import RESULTS
from experiments.harness.code import engine_fingerprint
from experiments.rivals.page import RESULTS_PAGES, fill
from minimaxrisk.app.atomic import write_whole

PAGE = RESULTS_PAGES / "accelerators.md"
Row = Mapping[str, str]
ENGINE = "engine "


def fill_accelerators(results: Path = RESULTS, page: Path = PAGE) -> None:
    """Fill the page from the CSV file of a run."""
    with (results / "accelerators.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    text = fill(page.read_text(encoding="utf-8"), "measured", measured_on(rows))
    text = fill(text, "results", table(("what", "time", ""), work(rows)))
    columns = ("features", "device", "CPU", "skglm's L1 logistic regression", "liblinear's L1 SVM")
    text = fill(text, "growth", table(columns, growth(rows)))
    write_whole(page, fill(text, "same", same_values(rows)))


def measured_on(rows: Sequence[Row]) -> list[str]:
    """The machine, the bandwidths that bound the times, and whether the engine is still the one measured."""
    notes = [row["note"] for row in rows if row["what"] == "environment"]
    reading, upload = (
        _number(row, "gigabytes_per_second") for row in rows if row["what"].startswith(("reading", "upload"))
    )
    lines = [f"{notes[0]}; the card reads {reading / 1e3:.1f} TB/s, pinned memory {upload:.0f} GB/s."]
    if f"{ENGINE}{engine_fingerprint()}" not in notes[0]:
        lines.append("The engine has changed since; `make bench-gpu` measures anew.")
    return lines


def work(rows: Sequence[Row]) -> Iterator[tuple[str, str, str]]:
    """What is fitted, its time, and what the time is made of."""
    named = {(row["what"], row["n"], row["d"]): row for row in rows if row["seconds"]}
    for (what, n, d), row in named.items():
        size, seconds = f"{n} × {int(d):,}", _seconds(row)
        if what == "fit to a gap of 1e-6":
            vertex = named["fit to the vertex", n, d]
            yield (
                f"{size} to a gap of 1e-6",
                seconds,
                f"{row['passes']} passes, {_percent(row)} of the time is what reading X so often takes; "
                f"{_seconds(row, 'seconds_with_results_in_numpy')} with all results in NumPy; "
                f"{_seconds(vertex)} to the vertex",
            )
        elif "permutations: device" in what:
            here = [each for each in rows if "permutations: CPU" in each["what"] and each["d"] == d]
            on_cpu = "".join(
                f"; on the CPU {_number(each, 'milliseconds_each'):.2g} ms each" for each in here
            )
            yield (
                f"{what.split(':')[0]}, {size}",
                seconds,
                f"{_milliseconds(row, 'milliseconds_each')} each, one fit takes "
                f"{_milliseconds(row, 'milliseconds_of_one_fit')}{on_cpu}",
            )
        elif "members: device" in what:
            on_cpu = _seconds(named[what.replace("device", "CPU"), n, d])
            yield f"{what.split(':')[0]} of an ensemble, {size}", seconds, f"on the CPU {on_cpu}"
        elif "streamed" in what:
            passes = f"{row['passes']} passes, " if row["passes"] else ""
            rate = _number(row, "gigabytes_per_second")
            share = f"{passes}{rate:.0f} GB/s, {_percent(row)} of what plain copies from pinned memory reach"
            yield what, seconds, share


def growth(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """Seconds against the number of features."""
    kinds = ("device", "CPU", "skglm, CPU", "liblinear, L1 SVM, CPU")
    seconds = {
        (int(row["d"]), row["what"].removeprefix("growth: ")): f"{_number(row, 'seconds'):.2g}"
        for row in rows
        if row["what"].startswith("growth: ")
    }
    for d in sorted({d for d, _ in seconds}):
        first, *others = (seconds.get((d, kind), "") for kind in kinds)
        cupy = seconds.get((d, "device, CuPy"))
        yield f"{d:,}", f"{first} (CuPy {cupy})" if cupy else first, *others


def same_values(rows: Sequence[Row]) -> list[str]:
    """By how much R* differs from the CPU's at most."""
    compared = [row for row in rows if row["what"].startswith("R*: ") and row["difference_to_cpu"]]
    worst = max(compared, key=lambda row: abs(_number(row, "difference_to_cpu")))
    name, difference = worst["what"].removeprefix("R*: "), abs(_number(worst, "difference_to_cpu"))
    return [
        f"R* is that of the CPU: of {len(compared)} tables the largest difference is {difference:.0e}, on "
        f"{name}, where the certified gap is {_number(worst, 'gap'):.0e}."
    ]


def table(header: tuple[str, ...], lines: Iterator[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (header, ("---",) * len(header), *lines)]


def _number(row: Row, name: str) -> float:
    return float(row[name])


def _seconds(row: Row, name: str = "seconds") -> str:
    return f"{_number(row, name):.2g} s"


def _milliseconds(row: Row, name: str) -> str:
    return f"{_number(row, name):.2g} ms"


def _percent(row: Row) -> str:
    return f"{_number(row, 'share_of_floor'):.0%}"
