"""From records to Markdown: ratios, growth, quality reached, where we lose; no number is typed by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from operator import gt, lt
from pathlib import Path
from typing import Any

from experiments.rivals.adapters import RIVALS
from experiments.rivals.growth import Growth, fit_growth, sweep_curve
from experiments.rivals.numbers import as_count, as_memory, as_ratio, as_share, as_time
from experiments.rivals.plots import plot_growth, plot_ratios
from experiments.rivals.records import OK, SKIPPED, TIME_LIMIT, Record, time_ratio
from experiments.rivals.workloads import OVER_FEATURES, OVER_SAMPLES

# What the others are compared with: the first of these that was measured.
BASELINES = ("interior-point", "constraint-generation", "full-lp")
NOTHING = "-"
NEGLIGIBLE_MEMORY = 10e6


def write_report(records: Sequence[Record], environment: dict[str, Any], out: Path) -> list[Path]:
    """Write the tables and, where matplotlib is there, the plots into a folder."""
    report = out / "report.md"
    losses = f"## Where we lose\n\n{render_losses(records)}"
    plots = []
    if find_spec("matplotlib") is not None:
        plots = _draw(records, out, "png")
    pictures = [f"![{path.stem}]({path.name})" for path in plots]
    report.write_text(f"{render_results(records, environment, pictures)}\n{losses}", encoding="utf-8")
    return [report, *plots]


def fill_docs(records: Sequence[Record], environment: dict[str, Any], page: Path) -> list[Path]:
    """Put results, losses and plots between the markers of a page of the documentation."""
    if find_spec("matplotlib") is None:
        raise ModuleNotFoundError("the plots of the page need matplotlib; the extra 'bench' brings it.")
    images = page.parent / "images"
    images.mkdir(exist_ok=True)
    plots = _draw(records, images, "svg")
    pictures = [f"![{path.stem}](images/{path.name})" for path in plots]
    text = page.read_text(encoding="utf-8")
    text = fill(text, "results", render_results(records, environment, pictures))
    text = fill(text, "losses", render_losses(records))
    page.write_text(text, encoding="utf-8")
    return [page, *plots]


def _draw(records: Sequence[Record], folder: Path, suffix: str) -> list[Path]:
    ratios, growth = (folder / f"benchmark-{name}.{suffix}" for name in ("ratios", "growth"))
    plot_ratios(records, baseline_of(records), ratios)
    plot_growth(records, rivals_of(records), growth)
    return [ratios, growth]


def fill(text: str, name: str, content: str) -> str:
    """Replace what stands between the markers ``<!-- name:begin -->`` and ``<!-- name:end -->``."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(end) < text.index(begin):
        raise ValueError(f"the page needs the markers {begin} and {end}, in this order and once each.")
    head, rest = text.split(begin)
    return f"{head}{begin}\n\n{content.strip()}\n\n{end}{rest.split(end)[1]}"


def render_results(records: Sequence[Record], environment: dict[str, Any], pictures: Sequence[str]) -> str:
    """Everything but the losses."""
    parts = [
        render_environment(environment),
        "### Ratios",
        _explain_ratios(records),
        _ratio_table(records),
        *pictures[:1],
        "### Growth",
        "Exponents of the time against the number of columns d and of samples n, by least squares on the "
        "logarithms of the medians; in brackets the sizes that were finished within the time limit.",
        _growth_table(records),
        *pictures[1:],
        "### Everything that was measured",
        _agreement(records),
        _full_table(records),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_losses(records: Sequence[Record]) -> str:
    """Workloads on which a rival is faster, more accurate or leaner than the baseline."""
    baseline = baseline_of(records)
    kinds: list[tuple[str, Callable[[Record], float | None], Callable[[float], str], Callable[..., bool]]] = [
        (f"Faster than `{baseline}`", lambda row: row.median_seconds, as_time, lt),
        (f"More accurate than `{baseline}` in cross-validation", lambda row: row.accuracy, as_share, gt),
        (f"Less memory than `{baseline}` beyond X itself", lambda row: row.peak_bytes, as_memory, _leaner),
    ]
    parts = []
    for title, value, words, better in kinds:
        lines = []
        for rows in _by_workload(records):
            ours = _row_of(rows, baseline)
            own = None if ours is None else value(ours)
            known = [(row, found) for row in rows if (found := value(row)) is not None and own is not None]
            beaten = [f"{_name(row)} {words(found)}" for row, found in known if better(found, own)]
            if beaten and own is not None:
                lines.append(f"- {_workload(rows[0])}, ours {words(own)}: {', '.join(beaten)}")
        parts.append(f"**{title}**\n\n" + ("\n".join(lines) or "Nobody, on no workload."))
    return "\n\n".join(parts) + "\n"


def _leaner(theirs: float, ours: float) -> bool:
    return ours - theirs > NEGLIGIBLE_MEMORY


def baseline_of(records: Iterable[Record]) -> str:
    """Our fastest solver by design, or what stands in for it where it was not measured."""
    measured = {record.rival for record in records if record.status == OK}
    return next((name for name in BASELINES if name in measured), BASELINES[0])


def rivals_of(records: Iterable[Record]) -> list[str]:
    """Names of the rivals in the records, in the order of the adapters."""
    found = {record.rival for record in records}
    return [name for name in RIVALS if name in found] + sorted(found - set(RIVALS))


def render_environment(environment: dict[str, Any]) -> str:
    packages = environment["packages"] | {
        name: version
        for name, version in environment["mrcpy_environment"].items()
        if name in {"MRCpy", "gurobipy"}
    }
    pools = ", ".join(
        f"{pool['internal_api']} {pool['version'] or ''}".strip() + f" with {pool['num_threads']} threads"
        for pool in environment["thread_pools"]
    )
    return (
        f"Measured on {environment['processor']}, {environment['cores']} cores, "
        f"{environment['memory_gb']} GB, {environment['system']}, Python {environment['python']}, "
        + ", ".join(f"{name} {version}" for name, version in packages.items())
        + f"; {pools}; revision {environment['revision']}."
    )


def _explain_ratios(records: Sequence[Record]) -> str:
    baseline = baseline_of(records)
    return (
        f"Time of each rival divided by that of `{baseline}` (medians): above 1 `{baseline}` is faster. "
        "≥: killed at the time limit. †: stopped before it converged. *skipped*: killed at a smaller size of "
        "the same sweep."
    )


def _ratio_table(records: Sequence[Record]) -> str:
    baseline = baseline_of(records)
    others = [name for name in rivals_of(records) if name != baseline]
    lines = []
    for rows in _by_workload(records):
        ours = _row_of(rows, baseline)
        cells = [_ratio_cell(_row_of(rows, name), ours) for name in others]
        lines.append([_workload(rows[0]), _time_cell(ours), *cells])
    return markdown_table(["workload", f"`{baseline}`", *(f"`{name}`" for name in others)], lines)


def _growth_table(records: Sequence[Record]) -> str:
    lines = []
    for name in rivals_of(records):
        found = [fit_growth(*sweep_curve(records, sweep, name)) for sweep in (OVER_FEATURES, OVER_SAMPLES)]
        lines.append([f"`{name}`", *(_growth_cell(growth) for growth in found)])
    return markdown_table(["rival", "exponent of d", "exponent of n"], lines)


def _growth_cell(growth: Growth | None) -> str:
    if growth is None:
        return NOTHING
    return f"{growth.exponent:.2f} ({as_count(growth.smallest)} to {as_count(growth.largest)})"


def _agreement(records: Sequence[Record]) -> str:
    """How far apart the values of R* are that different solvers of the same problem found."""
    spreads = []
    for rows in _by_workload(records):
        values = [row.worst_case_error for row in rows if row.worst_case_error is not None]
        if len(values) > 1:
            spreads.append((max(values) - min(values), rows[0].workload))
    if not spreads:
        return ""
    spread, workload = max(spreads)
    return f"The solvers of the minimax problem agree on R* within {spread:.1g} (largest on {workload})."


def _full_table(records: Sequence[Record]) -> str:
    baseline = baseline_of(records)
    lines = []
    for rows in _by_workload(records):
        ours = _row_of(rows, baseline)
        lines += [[_workload(row), f"`{row.rival}`", *_quality(row, ours)] for row in rows]
    head = [
        "workload",
        "rival",
        "time",
        "ratio",
        "R*",
        "gap",
        "columns",
        "accuracy",
        "memory",
        "passes",
        "converged",
    ]
    return markdown_table(head, lines)


def _quality(row: Record, ours: Record | None) -> list[str]:
    return [
        _time_cell(row),
        _ratio_cell(row, ours),
        NOTHING if row.worst_case_error is None else f"{row.worst_case_error:.7f}",
        NOTHING if row.gap is None else f"{row.gap:.1e}",
        NOTHING if row.n_selected is None else str(row.n_selected),
        NOTHING if row.accuracy is None else as_share(row.accuracy),
        NOTHING if row.peak_bytes is None else as_memory(row.peak_bytes),
        NOTHING if row.n_passes is None else str(row.n_passes),
        NOTHING if row.converged is None else "yes" if row.converged else "no",
    ]


def _time_cell(row: Record | None) -> str:
    if row is None:
        return NOTHING
    if row.status == TIME_LIMIT and row.limit_seconds is not None:
        return f"> {as_time(row.limit_seconds)}"
    if row.median_seconds is None:
        return row.status if row.status == SKIPPED or not row.detail else f"{row.status}: {row.detail}"
    return as_time(row.median_seconds)


def _ratio_cell(row: Record | None, ours: Record | None) -> str:
    if row is None:
        return NOTHING
    ratio = None if ours is None else time_ratio(row, ours.median_seconds)
    if ratio is None:
        return row.status if row.status != OK else NOTHING
    mark = "†" if row.converged is False else ""
    return f"{'≥ ' if row.status == TIME_LIMIT else ''}{as_ratio(ratio)}{mark}"


def _by_workload(records: Sequence[Record]) -> list[list[Record]]:
    """The records of each workload together, rivals in the order of the adapters."""
    order = rivals_of(records)
    names = dict.fromkeys(record.workload for record in records)
    groups = [[record for record in records if record.workload == name] for name in names]
    return [sorted(group, key=lambda record: order.index(record.rival)) for group in groups]


def _row_of(rows: Sequence[Record], rival: str) -> Record | None:
    return next((row for row in rows if row.rival == rival), None)


def _workload(row: Record) -> str:
    classes = "" if row.n_classes == 2 else f", {row.n_classes} classes"
    return f"{row.workload} ({as_count(row.n_samples)} x {as_count(row.n_features)}{classes})"


def _name(row: Record) -> str:
    return f"`{row.rival}`" + ("†" if row.converged is False else "")


def markdown_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows)
