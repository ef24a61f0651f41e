"""``minimaxrisk fit``: from a table to a classifier, its bound, a model file and a report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minimaxrisk._utils.atomic import checked_destinations
from minimaxrisk.cli.console import Console
from minimaxrisk.cli.options import (
    FOLDS,
    PERMUTATIONS,
    RADII,
    REPORTING,
    Annotation,
    Batch,
    Beside,
    Compare,
    Data,
    Effort,
    Folds,
    GeneLinks,
    GeneOptions,
    Genes,
    Groups,
    Guarantee,
    Ignore,
    Jobs,
    Json,
    Labels,
    Options,
    Quiet,
    Radii,
    Repeats,
    Seed,
    check_comparison,
    check_extras,
    check_genes,
    whole_number,
    with_reading_options,
)
from minimaxrisk.cli.page_file import check_page_file
from minimaxrisk.uncertainty.rule_names import NAMED_RULES

if TYPE_CHECKING:
    from minimaxrisk.files import ReadOptions

FITTING, WRITING = "The classifier", "What is written"
MODEL_ENDINGS = (".skops", "")


class Solver(StrEnum):
    AUTO = "auto"
    INTERIOR_POINT = "interior-point"
    FIRST_ORDER = "first-order"
    CONSTRAINT_GENERATION = "constraint-generation"
    FULL_LP = "full-lp"


class Coding(StrEnum):
    AUTO = "auto"
    SIGNED = "signed"
    ONE_HOT = "one-hot"


class Marginal(StrEnum):
    FREE = "free"
    EMPIRICAL = "empirical"


class Impute(StrEnum):
    MEDIAN = "median"


class Scale(StrEnum):
    STANDARD = "standard"
    CLIP = "clip"
    NONE = "none"


class ClassWeight(StrEnum):
    BALANCED = "balanced"


def _confidence(value: float) -> float:
    if not 0.0 < value < 1.0:
        raise typer.BadParameter(f"expected a probability such as 0.95, got {value:g}.")
    return value


@with_reading_options
def fit_command(
    context: typer.Context,
    data: Data,
    *,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the classes: --target diagnosis. Not needed for files that mark their labels.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save the model: --out model.skops", rich_help_panel=WRITING),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a report that opens in a browser, or a PDF: --report report.html",
            rich_help_panel=WRITING,
        ),
    ] = None,
    write_back: Annotated[
        bool,
        typer.Option(
            "--write-back",
            help="Store coefficients, selection, predictions and the weights of the worst case in the "
            ".var and .obs of the .h5ad file itself.",
            rich_help_panel=WRITING,
        ),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    labels: Labels = None,
    ignore: Ignore = None,
    groups: Groups = None,
    batch: Batch = None,
    impute: Annotated[
        Impute | None, typer.Option(help="Fill missing values, which are refused otherwise: --impute median")
    ] = None,
    radius: Annotated[
        str,
        typer.Option(
            metavar="S|RULE",
            help=f"Radius of the uncertainty set: a number of standard errors, or {' or '.join(NAMED_RULES)} "
            "for one that contains all true means with the given confidence: --radius bootstrap",
            rich_help_panel=FITTING,
        ),
    ] = "1",
    confidence: Annotated[
        float,
        typer.Option(
            metavar="P",
            help="Confidence of the named radii and of the guarantee: --confidence 0.9",
            callback=_confidence,
            rich_help_panel=FITTING,
        ),
    ] = 0.95,
    scale: Annotated[
        Scale,
        typer.Option(
            help="What is done to the columns before: centred, at unit variance; centred at the median and "
            "clipped at two robust standard deviations, which tames outliers; or nothing: --scale clip",
            rich_help_panel=FITTING,
        ),
    ] = Scale.STANDARD,
    solver: Annotated[
        Solver,
        typer.Option(help="Algorithm; all find the same optimum: --solver full-lp", rich_help_panel=FITTING),
    ] = Solver.AUTO,
    coding: Annotated[
        Coding,
        typer.Option(help="How features are combined with labels: --coding one-hot", rich_help_panel=FITTING),
    ] = Coding.AUTO,
    marginal: Annotated[
        Marginal,
        typer.Option(
            help="What the worst case may change: instances and labels, or with empirical the labels alone: "
            "--marginal empirical",
            rich_help_panel=FITTING,
        ),
    ] = Marginal.FREE,
    class_weight: Annotated[
        ClassWeight | None,
        typer.Option(
            help="Give all classes the same weight: --class-weight balanced", rich_help_panel=FITTING
        ),
    ] = None,
    permutations: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number,
            help=f"Permutations of the labels to compare R* with; by default {PERMUTATIONS} with a report, "
            "otherwise none: --permutations 999",
            rich_help_panel=REPORTING,
        ),
    ] = None,
    guarantee: Guarantee = True,
    folds: Folds = FOLDS,
    repeats: Repeats = 1,
    radii: Radii = RADII,
    compare: Compare = False,
    genes: Genes = None,
    annotation: Annotation = None,
    links: GeneLinks = None,
    jobs: Jobs = None,
    seed: Seed = 0,
    reading: ReadOptions,
) -> None:
    """Learn a classifier from a table, with a certified error.

    \b
    Examples:
      minimaxrisk fit genes.csv --target diagnosis --report report.html
      minimaxrisk fit genes.csv --target diagnosis --report report.html --compare
      minimaxrisk fit genes.csv --target diagnosis --genes selected.xlsx
      minimaxrisk fit genes.csv --target diagnosis --scale clip --out model.skops
      minimaxrisk fit genes.gct --labels patients.tsv --radius bootstrap
      minimaxrisk fit genes.csv --target diagnosis --radius bootstrap --marginal empirical
      minimaxrisk fit genes.csv --target diagnosis --groups patient --batch plate --report report.html
      minimaxrisk fit cells.h5ad --target cell_type --write-back
      minimaxrisk fit genes.xlsx --target class --impute median --json
      minimaxrisk fit genes.csv --target class --permutations 999 --jobs -1
    """
    check_comparison(compares=compare, n_folds=folds, reports=report is not None)
    console = Console(quiet=quiet)
    checked_destinations([out, report, genes], sources=[data, labels, annotation])
    check_page_file(report, option="--report")
    check_genes(genes)
    if out is not None and out.suffix.lower() not in MODEL_ENDINGS and (out.is_file() or not out.exists()):
        raise typer.BadParameter(
            f"a model file ends in {MODEL_ENDINGS[0]} and is no pickle, got {out}.", param_hint="--out"
        )
    check_extras(saves=out is not None, reports=report is not None)
    if write_back and data.suffix.lower() != ".h5ad":
        raise typer.BadParameter(f"needs an .h5ad file, got {data}.", param_hint="--write-back")
    if report is None:
        otherwise_for = {"annotation": genes, "folds": batch, "links": None, "radii": None, "repeats": None}
        _tell_unused(context, [name for name, other in otherwise_for.items() if other is None], console)
    # Here, so that --help need not wait for the numerical packages.
    from minimaxrisk.cli.fitting import Results, fit_and_write  # noqa: PLC0415

    if permutations is None:
        permutations = PERMUTATIONS if report is not None else 0
    fit_and_write(
        data,
        target=target,
        labels=labels,
        ignore=ignore or (),
        beside=Beside(groups, batch),
        reading=reading,
        impute=impute is not None,
        scale=scale.value,
        settings={
            "radius": _radius(radius),
            "confidence": confidence,
            "solver": solver.value,
            "coding": coding.value,
            "marginal": marginal.value,
            "class_weight": class_weight and class_weight.value,
            "random_state": seed,
        },
        effort=Effort(
            permutations,
            folds,
            radii,
            jobs,
            seed,
            has_guarantee=guarantee,
            compares=compare,
            n_repeats=repeats,
        ),
        results=Results(model=out, report=report, write_back=write_back, as_json=json),
        genes=GeneOptions(genes, annotation, links and links.value),
        command=context.ensure_object(Options).command,
        console=console,
    )


def _tell_unused(context: typer.Context, names: Sequence[str], console: Console) -> None:
    """Of options that belong to a report, those that were given without one."""
    sources = {name: context.get_parameter_source(name) for name in names}
    given = [f"--{name}" for name, source in sources.items() if source and source.name == "COMMANDLINE"]
    if given:
        console.note(f"Without --report nothing is done with {', '.join(given)}.")


def _radius(text: str) -> float | str:
    if text in NAMED_RULES:
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 < number < math.inf:
        message = f"expected a positive number, {' or '.join(NAMED_RULES)}, got {text!r}."
        raise typer.BadParameter(message, param_hint="--radius")
    return number
