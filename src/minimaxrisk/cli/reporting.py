"""The page that the commands ``fit`` and ``report`` write, and the options that both have for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

import typer

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk._utils.extras import require
from minimaxrisk.analysis.permutation_test import PermutationTestResult
from minimaxrisk.cli.console import Console
from minimaxrisk.cli.stored import filled_gaps
from minimaxrisk.files import Study
from minimaxrisk.report import Findings, Provenance, gather_findings, render_report
from minimaxrisk.storage.model_file import SavedModel

PANEL = "What a report computes"
PERMUTATIONS, FOLDS, RADII = 199, 10, 12


def _refuse_one(value: int) -> int:
    if value == 1:
        raise typer.BadParameter("expected at least 2 folds, or 0 for none, got 1.")
    return value


Folds: TypeAlias = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Folds of the cross-validation, 0 for none: --folds 5",
        callback=_refuse_one,
        rich_help_panel=PANEL,
    ),
]
Radii: TypeAlias = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        max=1000,
        help="Radii at which R* is shown, 0 for none: --radii 20",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True)
class Effort:
    """How much a report computes, and how."""

    n_permutations: int
    n_folds: int
    n_radii: int
    n_jobs: int | None
    seed: int


def check_extras(*, saves: bool, reports: bool) -> None:
    """Ask for the packages of what will be written before the work that makes it."""
    wanted = [("skops", "Model files need")] * saves
    wanted += [("jinja2", "The report needs"), ("vl_convert", "The report needs")] * reports
    for module, purpose in wanted:
        require(module, extra="app", purpose=purpose)


def make_report(
    saved: SavedModel,
    study: Study,
    X: DataMatrix,
    effort: Effort,
    *,
    command: str,
    console: Console,
    permutation_result: PermutationTestResult | None = None,
) -> tuple[Findings, str]:
    """The numbers and the page as HTML; ``X`` is that of the study without gaps."""
    with console.progress("report") as show, console.warnings_as_notes():
        findings = gather_findings(
            saved.classifier,
            X,
            study.y,
            feature_names=study.feature_names,
            sample_names=study.sample_names,
            n_permutations=effort.n_permutations,
            n_folds=effort.n_folds,
            n_radii=effort.n_radii,
            n_jobs=effort.n_jobs,
            random_state=effort.seed,
            progress=show,
            permutation_result=permutation_result,
        )
    provenance = Provenance(
        command=command,
        source=study.source.name,
        target=saved.target,
        fingerprint=saved.fingerprint,
        versions=saved.versions,
        remarks=console.notes,
        imputed=filled_gaps(study),
    )
    return findings, render_report(findings, provenance)
