"""What the benchmark shows: ratios, growth, quality reached, where we lose; no number is typed by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from experiments.harness.cells import OK, REFUSED, SKIPPED, TIME_LIMIT
from experiments.harness.reporting import Figure, Report, Row, TextTable, pick
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from experiments.rivals.adapters import RIVALS
from experiments.rivals.growth import fit_growth, sweep_curve
from experiments.rivals.numbers import as_count, as_ratio, as_time, time_ratio
from experiments.rivals.pictures import draw_growth, draw_ratios
from experiments.rivals.problems import OVER_FEATURES, SWEEPS

# What the others are compared with: the first of these that was measured.
BASELINES = ("auto", "constraint-generation", "full-lp")
NOTHING = "-"
NEGLIGIBLE_MEMORY = 10e6
# Who solves the minimax problem, and the largest difference in R* that is none.
SAME_PROBLEM = ("auto", "constraint-generation", "full-lp", "first-order", "highs-full-lp", "mrcpy-gurobi")
SAME_RISK = 1e-6
# A larger gap was left on purpose.
EXACT_GAP = 1e-5
LOOSE, TIGHT = ("liblinear-svm", "liblinear-svm-converged"), "liblinear-svm-tight"


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    baseline, rivals = baseline_of(rows), rivals_of(rows)
    n_problems = len(_by_problem(rows))
    sweeps = [sweep for sweep in SWEEPS.values() if pick(rows, sweep=sweep.name)] or [OVER_FEATURES]
    return Report(
        claims=(),
        tables=[
            _ratio_table(rows),
            _same_problem_table(rows),
            _growth_table(rows),
            _tolerance_table(rows),
            losses(rows),
        ],
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
            f"{settings.fit_seconds:g} s; a fit of more than {_limits(settings, rows)} s is killed",
            *_lacking(rows),
            *_agreement(rows),
            *_stopped_early(rows),
        ],
    )


def losses(rows: Sequence[Row]) -> TextTable:
    """Of each rival the problems on which it is faster, more accurate or leaner than the baseline."""
    baseline, groups = baseline_of(rows), _by_problem(rows)
    lines = []
    for name in rivals_of(rows):
        pairs = [(_row_of(group, name), _row_of(group, baseline)) for group in groups]
        won = {
            title: [str(row["problem"]) for row, ours in pairs if row and ours and wins(row, ours)]
            for title, wins in COMPARED.items()
        }
        if name != baseline and any(won.values()):
            lines.append([f"`{name}`", *(_listed(problems) for problems in won.values())])
    return TextTable(
        f"**Better than `{baseline}`**, problem by problem of {len(groups)}",
        ["rival", *COMPARED],
        lines or [["none", *[NOTHING] * len(COMPARED)]],
    )


def _listed(problems: Sequence[str]) -> str:
    return f"{len(problems)}: {', '.join(problems)}" if problems else NOTHING


def _faster(theirs: Row, ours: Row) -> bool:
    """Whoever has a time is faster than a fit of ours that was stopped."""
    if theirs.get("median_seconds") is None:
        return False
    if ours.get("median_seconds") is None:
        return ours.get("status") in (TIME_LIMIT, SKIPPED)
    return bool(theirs["median_seconds"] < ours["median_seconds"])


def _more_accurate(theirs: Row, ours: Row) -> bool:
    return _both(theirs, ours, "accuracy") and bool(theirs["accuracy"] > ours["accuracy"])


def _leaner(theirs: Row, ours: Row) -> bool:
    return _both(theirs, ours, "peak_bytes") and ours["peak_bytes"] - theirs["peak_bytes"] > NEGLIGIBLE_MEMORY


def _both(theirs: Row, ours: Row, column: str) -> bool:
    return theirs.get(column) is not None and ours.get(column) is not None


COMPARED = {"faster": _faster, "more accurate": _more_accurate, "less memory beyond X": _leaner}


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


def _limits(settings: Settings, rows: Iterable[Row]) -> str:
    """In seconds: some fits may have been given more time than others."""
    limits = {row["limit"] for row in rows if row.get("limit")} or {settings.fit_limit}
    return " or ".join(f"{limit:g}" for limit in sorted(limits))


def _lacking(rows: Sequence[Row]) -> list[str]:
    """Which rivals have no row, on any problem or on some."""
    nowhere = [name for name in RIVALS if not pick(rows, rival=name)]
    groups = _by_problem(rows)
    partly = {
        name: [str(group[0]["problem"]) for group in groups if _row_of(group, name) is None]
        for name in RIVALS
        if name not in nowhere
    }
    notes = [f"Not measured in this run: {', '.join(nowhere)}"] if nowhere else []
    return notes + [
        f"{name} was not measured on {', '.join(problems)}" for name, problems in partly.items() if problems
    ]


def _same_problem_table(rows: Sequence[Row]) -> TextTable:
    """R* of the solvers of one problem beside each other: the difference, or why there is none."""
    others = [name for name in SAME_PROBLEM[1:] if pick(rows, rival=name)]
    lines = []
    for group in _by_problem(rows):
        ours = _row_of(group, SAME_PROBLEM[0])
        if ours and ours.get("worst_case_error") is not None:
            cells = [_difference_cell(_row_of(group, name), ours) for name in others]
            lines.append([_problem(group), f"{ours['worst_case_error']:.6f}", *cells])
    return TextTable(
        "### The same problem\n\n"
        f"R* of `{SAME_PROBLEM[0]}`, how far that of the others is from it (0: less than {SAME_RISK:g}), and "
        "their time over ours; or why there is no R*. `first-order` stops at a certified gap of 0.001, or "
        "after 5000 steps.",
        ["problem", "R*", *(f"`{name}`" for name in others)],
        lines or [[NOTHING] * (len(others) + 2)],
    )


def _difference_cell(row: Row | None, ours: Row) -> str:
    if row is None:
        return "not measured"
    if row["status"] == TIME_LIMIT:
        return f"> {row['limit']:g} s"
    if row.get("worst_case_error") is None:
        return row["status"] if row["status"] == SKIPPED else f"{row['status']}: {row['detail']}"
    difference = row["worst_case_error"] - ours["worst_case_error"]
    words = "0" if abs(difference) < SAME_RISK else f"{difference:+.1e}"
    ratio = time_ratio(row, ours)
    return words if ratio is None else f"{words}, {as_ratio(ratio)} times"


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


def _stopped_early(rows: Sequence[Row]) -> list[str]:
    """The problems on which the default, free to choose its gap, stopped before the optimum."""
    gaps = {
        str(row["problem"]): row["gap"]
        for row in rows
        if row["rival"] == "auto" and (row.get("gap") or 0.0) > EXACT_GAP
    }
    if not gaps:
        return []
    listed = ", ".join(f"{problem} ({gap:.1e})" for problem, gap in gaps.items())
    return [
        f"`auto` stopped at a certified gap, in brackets, because the optimum takes much longer: {listed}"
    ]


def _tolerance_table(rows: Sequence[Row]) -> TextTable:
    """What liblinear's tolerance leaves undone: how far it ends above the value of the tight one."""
    lines = []
    for group in _by_problem(rows):
        tight, ours = _row_of(group, TIGHT), _row_of(group, baseline_of(rows))
        best = None if tight is None else tight.get("objective")
        others = [_row_of(group, name) for name in LOOSE]
        if best and any(row and row.get("objective") for row in others):
            above = [
                f"{max(row['objective'] / best - 1.0, 0.0):.1e}" if row and row.get("objective") else NOTHING
                for row in others
            ]
            lines.append([_problem(group), *above, _ratio_cell(tight, ours)])
    return TextTable(
        "### liblinear's tolerance\n\nHow far the objective of liblinear's support vector machine ends above "
        f"the value that `{TIGHT}` (`tol=1e-6`) reaches, as a fraction of it, and that one's time over ours.",
        ["problem", *(f"`{name}`" for name in LOOSE), f"time of `{TIGHT}`"],
        lines or [[NOTHING] * (len(LOOSE) + 2)],
    )


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
        if row["status"] == REFUSED:
            return f"refused: {row['detail']}"
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
