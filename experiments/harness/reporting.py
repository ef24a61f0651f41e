"""What an item says about its outcomes: tables, figures, and whether claims hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from experiments.harness.cells import OK, SKIPPED, TIME_LIMIT, Cell, Outcome
from experiments.harness.environment import describe_environment
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources

Row: TypeAlias = Mapping[str, Any]
# Draws into a matplotlib figure.
Draw: TypeAlias = Callable[[Any], None]


@dataclass(frozen=True)
class TextTable:
    """Text in columns under a caption."""

    caption: str
    header: Sequence[str]
    lines: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Figure:
    """A picture: the name of its files, a caption, its size in inches and who draws it."""

    name: str
    caption: str
    size: tuple[float, float]
    draw: Draw


@dataclass(frozen=True)
class Claim:
    """A sentence, of the paper in our words or our own, a verdict, and the figures behind it."""

    claim: str
    verdict: str
    evidence: str
    printed: str = ""  # what the paper prints about it, in a few words


@dataclass(frozen=True)
class Report:
    """All that the summary shows of an item."""

    claims: Sequence[Claim]
    tables: Sequence[TextTable] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Item:
    """One table, figure or question: which cells it needs, how one is worked on, and what they show."""

    name: str
    title: str
    what: str  # the experiment in a sentence or two
    is_timed: bool  # then its cells run one at a time, unless the caller wants otherwise
    plan: Callable[[Settings, Sources], list[Cell]]
    work: Callable[[Mapping[str, Any]], list[dict[str, Any]]]
    report: Callable[[Settings, Sources, Sequence[Row]], Report]
    wanted: Sequence[str] = ()  # the paper's data sets; none where the data are simulated
    replacements: Mapping[str, str] = field(default_factory=dict)
    fallback: Sequence[str] = ()
    relevant: tuple[str, ...] = ()  # names of the settings that matter to it
    needs_dense: bool = False  # sparse data would have to be made dense
    wanted_quickly: Sequence[str] = ()  # the data sets of a quick run, if not all of them
    remarks: Callable[[Settings], Sequence[str]] = lambda settings: ()  # what a run cannot do here
    environment: Callable[[], dict[str, Any]] = describe_environment
    limit_within: bool = False  # the limit is on a part of the work, which keeps it
    one_thread: bool = True  # for linear algebra, per process
    measured_with: tuple[str, ...] = ()  # modules, besides its plan and work, that make its numbers


def tidy(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """One flat row per row of an outcome, or a row without results where there is none."""
    return [
        {
            **outcome.settings,
            "status": outcome.status,
            "limit": outcome.limit,
            "detail": outcome.detail,
            **row,
        }
        for outcome in outcomes
        for row in (outcome.rows or [{}])
    ]


def pick(rows: Sequence[Row], **values: Any) -> list[Row]:
    """Rows with these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in values.items())]


def values_of(rows: Sequence[Row], name: str) -> list[float]:
    """A column of the rows that got through, without holes."""
    return [float(row[name]) for row in rows if row["status"] == OK and row.get(name) is not None]


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def mean_seconds(rows: Sequence[Row]) -> float:
    """Mean time, in which a run that was stopped counts with its limit: the truth may be larger."""
    return mean(values_of(rows, "seconds") + [float(row["limit"]) for row in stopped_of(rows)])


def stopped_of(rows: Sequence[Row]) -> list[Row]:
    """Rows of runs that hit their limit, or were skipped because an easier one did."""
    return [row for row in rows if row["status"] in (TIME_LIMIT, SKIPPED)]


def verdict(truths: Sequence[bool]) -> str:
    """In words, how often something held."""
    held = sum(truths)
    if not truths:
        return "could not be tested"
    if held == len(truths):
        return "holds"
    return "does not hold" if held == 0 else f"holds in part ({held} of {len(truths)})"


# So many differences make a standard error that is worth comparing with.
ENOUGH = 5


def standard_error(values: Sequence[float]) -> float:
    """Of the mean; not a number for a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def is_above_zero(differences: Sequence[float]) -> bool | None:
    """Whether their mean exceeds two of its standard errors; None where there are too few to know."""
    if len(differences) < ENOUGH:
        return None
    return bool(np.mean(differences) > 2.0 * standard_error(differences))


def ratio_range(ratios: Iterable[float]) -> str:
    """The smallest and the largest ratio, as a verdict on what is called competitive."""
    known = [ratio for ratio in ratios if np.isfinite(ratio)]
    if not known:
        return verdict([])
    return f"{three_digits(min(known))} to {three_digits(max(known))} times"


def mean_and_deviation(values: Sequence[float], digits: int = 2) -> str:
    """Mean and standard deviation as text."""
    if not values:
        return "–"
    if len(values) == 1:
        return f"{values[0]:.{digits}f} (once)"
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"


def seconds_text(rows: Sequence[Row]) -> str:
    """Mean time and its standard deviation; how many runs hit the limit, if any."""
    values = values_of(rows, "seconds")
    stopped = stopped_of(rows)
    failed = len(rows) - len(values) - len(stopped)
    parts = []
    if len(values) == 1:
        parts.append(f"{three_digits(values[0])} (once)")
    elif values:
        parts.append(f"{three_digits(mean(values))} ± {three_digits(float(np.std(values)))}")
    if stopped:
        parts.append(f"> {stopped[0]['limit']:g} ({len(stopped)} of {len(rows)})")
    if failed:
        parts.append(f"{failed} failed")
    return ", ".join(parts) or "–"


def finish_axes(axes: Any) -> None:
    """A light grid, and a legend where there is something to explain."""
    axes.grid(color="0.9")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False)


def tiny(value: float) -> str:
    """A difference, in powers of ten."""
    return f"{value:.1e}" if np.isfinite(value) else "–"


def three_digits(value: float) -> str:
    """A number with three significant digits, without exponents for usual sizes."""
    if not np.isfinite(value):
        return "–"
    if value == 0.0 or not 1e-3 <= abs(value) < 1e4:
        return f"{value:.2g}"
    return f"{value:.{max(0, 2 - int(np.floor(np.log10(abs(value)))))}f}"
