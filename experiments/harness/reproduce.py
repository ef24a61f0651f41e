"""Run items: plan the cells, run those that are missing, report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy import sparse

from experiments.datasets import list_datasets
from experiments.harness.cells import FAILED, Cell, Outcome
from experiments.harness.code import measured_by
from experiments.harness.environment import fingerprint
from experiments.harness.extras import require
from experiments.harness.journal import Journal, exclusive
from experiments.harness.progress_bar import show_progress
from experiments.harness.reporting import Item, tidy
from experiments.harness.runner import run_cells
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources, choose_sources, data_folder, load_source
from experiments.harness.summary import (
    code_of,
    keep_environments,
    remember_environment,
    write_item,
    write_summary,
)
from experiments.paper.fitting import warm_up
from experiments.suites import EVERY_ITEM, SUITES

JOURNAL = "cells.jsonl"
# What a run imports somewhere on its way; better asked for before hours of work than after.
NEEDED = ("pebble", "matplotlib", "markdown_it", "tqdm")


@dataclass(frozen=True)
class Reproduction:
    """Where the summary is, and which cells failed; the next run tries those again."""

    summary: Path
    failed: tuple[Outcome, ...]

    def reasons(self) -> list[str]:
        """In words why cells failed, each reason once."""
        details = Counter((outcome.item, outcome.detail) for outcome in self.failed)
        return [f"{item}, {count} cells: {detail}" for (item, detail), count in details.items()]


@dataclass(frozen=True)
class Plan:
    """An item, the data that it uses, and its cells."""

    item: Item
    sources: Sources
    cells: Sequence[Cell]


def reproduce(
    names: Sequence[str],
    out: Path,
    settings: Settings,
    *,
    folder: Path | None = None,
    jobs: int | None = None,
    say: Callable[[str], None] = print,
) -> Reproduction:
    """Run the items, or what an earlier run into the same folder left of them.

    ``jobs`` processes share the cells. Where None, items that measure times use one, so that cells do not
    slow each other down, and the others one per core.
    """
    for module in NEEDED:
        require(module)
    if folder is not None and not folder.is_dir():
        raise ValueError(f"the data folder {folder} does not exist; leave it out to use none.")
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file; the results need a folder.")
    with data_folder(folder):
        # All of them first: a name that is not at hand is an error now, not in an hour.
        chosen = {name: _sources(EVERY_ITEM[name], settings) for name in names}
        for name, sources in chosen.items():
            for note in sources.notes:
                say(f"{name}: {note}")
        plans = [
            Plan(EVERY_ITEM[name], sources, EVERY_ITEM[name].plan(settings, sources))
            for name, sources in chosen.items()
        ]
        out.mkdir(parents=True, exist_ok=True)
        with exclusive(out / "run"):
            return Reproduction(out / "summary.md", tuple(_run_items(plans, out, settings, jobs, say)))


def work_on(item: str, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """One cell, in a worker process."""
    return EVERY_ITEM[item].work(settings)


def _run_items(
    plans: Sequence[Plan],
    out: Path,
    settings: Settings,
    jobs: int | None,
    say: Callable[[str], None],
) -> list[Outcome]:
    """Run and report one item after the other; returns the outcomes of cells that failed."""
    failed: list[Outcome] = []
    for plan in plans:
        item = plan.item
        # Before each item: the one before may have needed no new cell, and the description gone with it.
        description = item.environment() | {"code": measured_by(item)}
        environment = fingerprint(description)
        remember_environment(out, environment, description)
        outcomes = _outcomes(plan, out / item.name / JOURNAL, jobs, environment)
        code = code_of(out, {outcome.environment for outcome in outcomes})
        write_item(out / item.name, item, tidy(outcomes), settings, plan.sources, code=code)
        if _are_all_at_hand(out):
            keep_environments(out, _environments_in_use(out))
        write_summary(out, SUITES.values())
        failed += [outcome for outcome in outcomes if outcome.status == FAILED]
        say(f"{item.name}: done, {out / item.name / 'report.md'}")
    return failed


def _outcomes(plan: Plan, path: Path, jobs: int | None, environment: str) -> list[Outcome]:
    journal = Journal(path)
    done = sum(journal.finished(cell) for cell in plan.cells)
    with show_progress(len(plan.cells), done, plan.item.name) as tell:
        return run_cells(
            plan.cells,
            work_on,
            journal,
            jobs=_jobs(plan.item, jobs),
            on_outcome=tell,
            environment=environment,
            warm_up=warm_up,
            limit_within=plan.item.limit_within,
            one_thread=plan.item.one_thread,
        )


def _sources(item: Item, settings: Settings) -> Sources:
    remarks = tuple(item.remarks(settings))
    if not item.wanted:
        return Sources((), remarks)
    if item.needs_dense:
        for name in settings.datasets:
            if name in list_datasets() and sparse.issparse(load_source(name)[0]):
                raise ValueError(
                    f"{name} is sparse, and {item.name} needs dense data; choose others with "
                    "--set datasets=NAMES, or another item."
                )
    wanted = (settings.is_quick and item.wanted_quickly) or item.wanted
    sources = choose_sources(
        wanted, settings.datasets, replacements=item.replacements, fallback=item.fallback
    )
    return Sources(sources.names, sources.notes + remarks)


def _jobs(item: Item, jobs: int | None) -> int:
    if jobs is not None:
        return jobs
    return 1 if item.is_timed else os.cpu_count() or 1


def _are_all_at_hand(out: Path) -> bool:
    """Whether every item of the folder has its journal; a clone has the measurements alone."""
    return all(
        (out / name / JOURNAL).exists() for name in EVERY_ITEM if (out / name / f"{name}.csv").exists()
    )


def _environments_in_use(out: Path) -> set[str]:
    """Those in which some cell of the folder was measured."""
    return {
        outcome.environment
        for name in EVERY_ITEM
        if (out / name / JOURNAL).exists()
        for outcome in Journal(out / name / JOURNAL).outcomes()
    }
