"""What the benchmark shows: ratios, growth, quality reached, where we lose; no number is typed by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import gt, lt
from typing import Any

from experiments.harness.cells import OK, SKIPPED, TIME_LIMIT
from experiments.harness.reporting import Figure, Report, Row, TextTable, pick
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from experiments.rivals.adapters import RIVALS
from experiments.rivals.growth import fit_growth, sweep_curve
from experiments.rivals.numbers import as_count, as_memory, as_ratio, as_share, as_time, time_ratio
from experiments.rivals.pictures import draw_growth, draw_ratios
from experiments.rivals.problems import OVER_FEATURES, SWEEPS

# What the others are compared with: the first of these that was measured.
BASELINES = ("auto", "constraint-generation", "full-lp")
NOTHING = "-"
NEGLIGIBLE_MEMORY = 10e6


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    baseline, rivals = baseline_of(rows), rivals_of(rows)
    n_problems = len(_by_problem(rows))
    sweeps = [sweep for sweep in SWEEPS.values() if pick(rows, sweep=sweep.name)] or [OVER_FEATURES]
    return Report(
        claims=(),
        tables=[_ratio_table(rows), _growth_table(rows), _full_table(rows), *losses(rows)],
        figures=[
            Figure(
                "benchmark-ratios",
                f"Time of each rival over that of {baseline}.",
                (11.0, 1.8 + 0.34 * n_problems),
                lambda figure: draw_ratios(figure, rows, baseline),
            ),
            Figure(
                "benchmark-growth",
                "Time against the number of columns, samples, classes and documents.",
                (13.0, 5.6 * ((len(sweeps) + 1) // 2)),
                lambda figure: draw_growth(figure, rows, rivals, sweeps),
            ),
        ],
        notes=[
            f"Medians of {settings.fit_repetitions} fits, or of as many as fit into "
            f"{settings.fit_seconds:g} s; a fit of more than {settings.fit_limit:g} s is killed",
            *_agreement(rows),
        ],
    )


def losses(rows: Sequence[Row]) -> list[TextTable]:
    """Problems on which a rival is faster, more accurate or leaner than the baseline."""
    baseline = baseline_of(rows)
    return [
        _loss_table(f"**Faster than `{baseline}`**", rows, "median_seconds", as_time, lt, ends=_time_cell),
        _loss_table(
            f"**More accurate than `{baseline}` in cross-validation**", rows, "accuracy", as_share, gt
        ),
        _loss_table(
            f"**Less memory than `{baseline}` beyond X itself**", rows, "peak_bytes", as_memory, _leaner
        ),
    ]


def _loss_table(
    title: str,
    rows: Sequence[Row],
    column: str,
    words: Callable[[float], str],
    better: Callable[..., bool],
    *,
    ends: Callable[[Row], str] | None = None,
) -> TextTable:
    """``ends`` says how our fit ended where it was stopped: whoever has a number is better then."""
    lines = []
    for group in _by_problem(rows):
        ours = _row_of(group, baseline_of(rows)) or {}
        known = [row for row in group if row.get(column) is not None]
        if ours.get(column) is not None:
            known, own = [row for row in known if better(row[column], ours[column])], words(ours[column])
        elif ends is not None and ours.get("status") in (TIME_LIMIT, SKIPPED):
            own = ends(ours)
        else:
            continue
        if known:
            beaten = [f"{_name(row)} {words(row[column])}" for row in known]
            lines.append([_problem(group), own, ", ".join(beaten)])
    return TextTable(title, ["problem", "ours", "theirs"], lines or [["none", NOTHING, NOTHING]])


def _leaner(theirs: float, ours: float) -> bool:
    return ours - theirs > NEGLIGIBLE_MEMORY


def baseline_of(rows: Iterable[Row]) -> str:
    """Our fastest solver by design, or what stands in for it where it was not measured."""
    measured = {row["rival"] for row in rows if row["status"] == OK}
    return next((name for name in BASELINES if name in measured), BASELINES[0])


def rivals_of(rows: Iterable[Row]) -> list[str]:
    """Names of the rivals in the rows, in the order of the adapters."""
    found = {row["rival"] for row in rows}
    return [name for name in RIVALS if name in found]


def _ratio_table(rows: Sequence[Row]) -> TextTable:
    baseline = baseline_of(rows)
    others = [name for name in rivals_of(rows) if name != baseline]
    lines = []
    for group in _by_problem(rows):
        ours = _row_of(group, baseline)
        cells = [_ratio_cell(_row_of(group, name), ours) for name in others]
        lines.append([_problem(group), _time_cell(ours), *cells])
    return TextTable(
        "### Ratios\n\n"
        f"Time of each rival divided by that of `{baseline}` (medians): above 1 `{baseline}` is faster. "
        "≥: killed at the time limit. †: stopped before it converged. *skipped*: killed at a smaller size of "
        "the same sweep.",
        ["problem", f"`{baseline}`", *(f"`{name}`" for name in others)],
        lines,
    )


def _growth_table(rows: Sequence[Row]) -> TextTable:
    lines = []
    for name in rivals_of(rows):
        cells = []
        for sweep in SWEEPS.values():
            growth = fit_growth(*sweep_curve(rows, sweep, name))
            sizes = "" if growth is None else f"({as_count(growth.smallest)} to {as_count(growth.largest)})"
            cells.append(NOTHING if growth is None else f"{growth.exponent:.2f} {sizes}")
        lines.append([f"`{name}`", *cells])
    return TextTable(
        "### Growth\n\n"
        "Exponents of the time against what grows in each sweep (columns d, samples n, classes K), by least "
        "squares on the logarithms of the medians; in brackets the sizes that were finished within the time "
        "limit.",
        ["rival", *(f"{sweep.name}: exponent of {sweep.symbol}" for sweep in SWEEPS.values())],
        lines,
    )


def _agreement(rows: Sequence[Row]) -> list[str]:
    """How far apart the values of R* are that different solvers of the same problem found.

    Without ``first-order``, which stops at a certified gap that the tables show.
    """
    ranges = []
    for group in _by_problem(rows):
        exact = [row for row in group if row["rival"] != "first-order"]
        values = [row["worst_case_error"] for row in exact if row.get("worst_case_error") is not None]
        if len(values) > 1:
            ranges.append((max(values) - min(values), group[0]["problem"]))
    if not ranges:
        return []
    widest, problem = max(ranges)
    return [
        "The solvers of the minimax problem that go to its optimum agree on R* within "
        f"{widest:.1g} (largest on {problem})"
    ]


def _full_table(rows: Sequence[Row]) -> TextTable:
    baseline = baseline_of(rows)
    lines = []
    for group in _by_problem(rows):
        ours = _row_of(group, baseline)
        lines += [[_problem(group), f"`{row['rival']}`", *_quality(row, ours)] for row in group]
    header = ["problem", "rival", "time", "ratio", "R*", "gap", "columns", "accuracy", "memory"]
    return TextTable("### Everything that was measured", [*header, "passes", "converged"], lines)


def _quality(row: Row, ours: Row | None) -> list[str]:
    words: dict[str, Callable[[Any], str]] = {
        "worst_case_error": "{:.7f}".format,
        "gap": "{:.1e}".format,
        "n_selected": str,
        "accuracy": as_share,
        "peak_bytes": as_memory,
        "n_passes": str,
        "converged": lambda value: "yes" if value else "no",
    }
    reached = [NOTHING if row.get(name) is None else text(row[name]) for name, text in words.items()]
    return [_time_cell(row), _ratio_cell(row, ours), *reached]


def _time_cell(row: Row | None) -> str:
    if row is None:
        return NOTHING
    if row["status"] == TIME_LIMIT:
        return f"> {as_time(row['limit'])}"
    if row["status"] != OK:
        return row["status"] if row["status"] == SKIPPED else f"{row['status']}: {row['detail']}"
    return as_time(row["median_seconds"])


def _ratio_cell(row: Row | None, ours: Row | None) -> str:
    if row is None:
        return NOTHING
    ratio = time_ratio(row, ours)
    if ratio is None:
        return str(row["status"]) if row["status"] != OK else NOTHING
    mark = "†" if row.get("converged") is False else ""
    return f"{'≥ ' if row['status'] == TIME_LIMIT else ''}{as_ratio(ratio)}{mark}"


def _by_problem(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each problem together, rivals in the order of the adapters."""
    names = dict.fromkeys(row["problem"] for row in rows)
    order = list(RIVALS)
    return [sorted(pick(rows, problem=name), key=lambda row: order.index(row["rival"])) for name in names]


def _row_of(rows: Sequence[Row], rival: str) -> Row | None:
    return next(iter(pick(rows, rival=rival)), None)


def _problem(group: Sequence[Row]) -> str:
    """The problem's name, and its size where a process got as far as to see it."""
    name = str(group[0]["problem"])
    known = next((row for row in group if row.get("n_features") is not None), None)
    if known is None:
        return name
    classes = "" if known["n_classes"] == 2 else f", {known['n_classes']} classes"
    return f"{name} ({as_count(known['n_samples'])} x {as_count(known['n_features'])}{classes})"


def _name(row: Row) -> str:
    return f"`{row['rival']}`" + ("†" if row.get("converged") is False else "")
