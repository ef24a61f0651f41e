"""What the options of a command amount to: settings for the modules of work, and checks before the work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer


@dataclass
class Invocation:
    """The command line as it was given, and its global options; the context of a command holds it."""

    debug: bool = False
    command: str = "minimaxrisk"


@dataclass(frozen=True)
class SampleColumns:
    """Names of the columns with the patient and the batch of each sample."""

    groups: str | None = None
    batch: str | None = None

    @property
    def names(self) -> list[str]:
        return [name for name in (self.groups, self.batch) if name is not None]


@dataclass(frozen=True)
class Effort:
    """How much a report computes, and how."""

    n_permutations: int
    n_folds: int
    n_radii: int
    n_jobs: int | None
    seed: int
    has_guarantee: bool
    compares: bool
    n_repeats: int = 1


@dataclass(frozen=True)
class GeneOptions:
    """The file of the table of genes, the file with columns about genes, and the site that names link to."""

    table: Path | None = None
    annotation: Path | None = None
    links: str | None = None


def check_comparison(*, compares: bool, n_folds: int, reports: bool) -> None:
    """Other classifiers are compared on the folds of a report."""
    if compares and not reports:
        message = "is part of a report; add --report report.html."
        raise typer.BadParameter(message, param_hint="--compare")
    if compares and n_folds == 0:
        message = "needs folds to compare on; leave out --folds 0."
        raise typer.BadParameter(message, param_hint="--compare")


def check_genes(path: Path | None) -> None:
    """Refuse endings of other formats before the work."""
    if path is not None and path.suffix.lower() not in (".csv", ".tsv", ".xlsx"):
        message = f"must end with .csv, .tsv or .xlsx, got {path}."
        raise typer.BadParameter(message, param_hint="--genes")


def check_extras(*, saves: bool, reports: bool) -> None:
    """Refuse, before the work, results whose packages are not installed."""
    from minimaxrisk._utils.environment import require  # noqa: PLC0415

    needed = [("skops", "Model files need")] * saves
    needed += [("jinja2", "The report needs"), ("vl_convert", "The report needs")] * reports
    for module, purpose in needed:
        require(module, extra="app", purpose=purpose)
