"""The commands: their options, checks before the work, and what they call.

The modules that do the work import numerical packages. They are imported inside the commands, so that --help
need not wait for them.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import minimaxrisk
from minimaxrisk.app.atomic import checked_destinations
from minimaxrisk.app.cli.console import Console
from minimaxrisk.app.cli.options import (
    FOLDS,
    PERMUTATIONS,
    RADII,
    Annotation,
    Batch,
    Compare,
    Data,
    Folds,
    GeneLinks,
    Genes,
    Groups,
    Guarantee,
    Ignore,
    Jobs,
    Json,
    Labels,
    Model,
    Quiet,
    Radii,
    Renamed,
    Repeats,
    Seed,
    reporting_option,
    whole_number,
    with_reading_options,
)
from minimaxrisk.app.cli.settings import (
    Effort,
    GeneOptions,
    Invocation,
    SampleColumns,
    check_comparison,
    check_extras,
    check_genes,
)
from minimaxrisk.uncertainty import NAMED_RULES

if TYPE_CHECKING:
    from minimaxrisk.app.files import ReadOptions

MODEL_ENDINGS = (".skops", "")
RULES = " or ".join(NAMED_RULES)
fitting_option = partial(typer.Option, rich_help_panel="The classifier")
writing_option = partial(typer.Option, rich_help_panel="What is written")


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
        Path | None, writing_option(metavar="FILE", help="Save the model: --out model.skops")
    ] = None,
    report: Annotated[
        Path | None,
        writing_option(
            metavar="FILE", help="Write a report that opens in a browser, or a PDF: --report report.html"
        ),
    ] = None,
    write_back: Annotated[
        bool,
        writing_option(
            "--write-back",
            help="Store coefficients, selection, predictions and the weights of the worst case in the "
            ".var and .obs of the .h5ad file itself.",
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
        fitting_option(
            metavar="S|RULE",
            help=f"Radius of the uncertainty set: a number of standard errors, or {RULES} for one that "
            "contains all true means with the given confidence: --radius bootstrap",
        ),
    ] = "1",
    confidence: Annotated[
        float,
        fitting_option(
            metavar="P",
            help="Confidence of the named radii and of the guarantee: --confidence 0.9",
            callback=_confidence,
        ),
    ] = 0.95,
    scale: Annotated[
        Scale,
        fitting_option(
            help="What is done to the columns before: centred, at unit variance; centred at the median and "
            "clipped at two robust standard deviations, which tames outliers; or nothing: --scale clip"
        ),
    ] = Scale.STANDARD,
    solver: Annotated[
        Solver, fitting_option(help="Algorithm; all find the same optimum: --solver full-lp")
    ] = Solver.AUTO,
    coding: Annotated[
        Coding, fitting_option(help="How features are combined with labels: --coding one-hot")
    ] = Coding.AUTO,
    marginal: Annotated[
        Marginal,
        fitting_option(
            help="What the worst case may change: instances and labels, or with empirical the labels alone: "
            "--marginal empirical"
        ),
    ] = Marginal.FREE,
    class_weight: Annotated[
        ClassWeight | None, fitting_option(help="Give all classes the same weight: --class-weight balanced")
    ] = None,
    permutations: Annotated[
        int | None,
        reporting_option(
            metavar="N",
            parser=whole_number,
            help=f"Permutations of the labels to compare R* with; by default {PERMUTATIONS} with a report, "
            "otherwise none: --permutations 999",
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
    from minimaxrisk.app.cli.reporting import check_page_file  # noqa: PLC0415

    check_page_file(report, option="--report")
    check_genes(genes)
    if out is not None and out.suffix.lower() not in MODEL_ENDINGS and (out.is_file() or not out.exists()):
        raise typer.BadParameter(
            f"a model file ends in {MODEL_ENDINGS[0]} and is not a pickle, got {out}.", param_hint="--out"
        )
    check_extras(saves=out is not None, reports=report is not None)
    if write_back and data.suffix.lower() != ".h5ad":
        raise typer.BadParameter(f"needs an .h5ad file, got {data}.", param_hint="--write-back")
    if report is None:
        other_use = {"annotation": genes, "folds": batch, "links": None, "radii": None, "repeats": None}
        _note_unused(context, [name for name, other in other_use.items() if other is None], console)
    from minimaxrisk.app.cli.fitting import Results, fit_and_write  # noqa: PLC0415

    if permutations is None:
        permutations = PERMUTATIONS if report is not None else 0
    fit_and_write(
        data,
        target=target,
        labels=labels,
        ignore=ignore or (),
        sample_columns=SampleColumns(groups, batch),
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
        command=context.ensure_object(Invocation).command,
        console=console,
    )


def _note_unused(context: typer.Context, names: Sequence[str], console: Console) -> None:
    """A note on options of a report that were given without one."""
    sources = {name: context.get_parameter_source(name) for name in names}
    given = [f"--{name}" for name, source in sources.items() if source and source.name == "COMMANDLINE"]
    if given:
        console.note(f"Without --report, these options have no effect: {', '.join(given)}.")


def _radius(text: str) -> float | str:
    if text in NAMED_RULES:
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 < number < math.inf:
        message = f"expected a positive number, {RULES}, got {text!r}."
        raise typer.BadParameter(message, param_hint="--radius")
    return number


@with_reading_options
def predict_command(
    model: Model,
    data: Data,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the table to this file instead of printing it: --out new.csv"
        ),
    ] = None,
    only_used: Annotated[
        bool,
        typer.Option(
            "--only-used",
            help="Require only the columns that have a coefficient in the model; others may be absent.",
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse samples that are not on the scale of the training data, instead of a warning.",
        ),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    labels: Labels = None,
    ignore: Ignore = None,
    reading: ReadOptions,
) -> None:
    """Predict the classes of new samples, as CSV.

    A line per sample: its name, the prediction, one probability per class, and
    whether its values are on the scale of the training data.

    Columns are matched by name, in any order.

    A probability is that with which the randomized rule draws the label,
    not that of the label being right.

    \b
    Examples:
      minimaxrisk predict model.skops new_patients.csv
      minimaxrisk predict model.skops new_patients.gct --out predictions.csv
      minimaxrisk predict model.skops few_genes.csv --only-used
      minimaxrisk predict model.skops new_patients.csv --strict
      minimaxrisk predict model.skops new.h5ad --layer logcounts --json
    """
    console = Console(quiet=quiet)
    checked_destinations([out], sources=[model, data, labels])
    from minimaxrisk.app.cli.predicting import predict_and_write  # noqa: PLC0415

    predict_and_write(
        model,
        data,
        labels=labels,
        ignore=ignore,
        reading=reading,
        only_used=only_used,
        strict=strict,
        out=out,
        json=json,
        console=console,
    )


@with_reading_options
def verify_command(
    model: Model,
    data: Data,
    *,
    json: Json = False,
    quiet: Quiet = False,
    target: Renamed = None,
    labels: Labels = None,
    ignore: Ignore = None,
    reading: ReadOptions,
) -> None:
    """Check the certificate of a model with its training data.

    The bounds are recomputed from the data and the coefficients; no solver is called.

    Exit status 0: the bounds hold. 1: they do not, or these are not the training data.

    \b
    Examples:
      minimaxrisk verify model.skops genes.csv
      minimaxrisk verify model.skops genes.gct --labels patients.tsv --json
    """
    from minimaxrisk.app.cli.stored import verify_and_print  # noqa: PLC0415

    verify_and_print(
        model,
        data,
        target=target,
        labels=labels,
        ignore=ignore,
        reading=reading,
        json=json,
        console=Console(quiet=quiet),
    )


@with_reading_options
def report_command(
    context: typer.Context,
    model: Model,
    data: Data,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File to write, .html or .pdf, by default MODEL with the ending .html: --out report.html",
        ),
    ] = None,
    permutations: Annotated[
        int,
        reporting_option(
            metavar="N",
            parser=whole_number,
            help="Permutations of the labels to compare R* with, 0 for none: --permutations 999",
        ),
    ] = PERMUTATIONS,
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
    quiet: Quiet = False,
    target: Renamed = None,
    labels: Labels = None,
    ignore: Ignore = None,
    reading: ReadOptions,
) -> None:
    """Write the report of a stored model and its training data.

    One page that opens in any browser, offline.

    \b
    Examples:
      minimaxrisk report model.skops genes.csv
      minimaxrisk report model.skops genes.csv --out report.html --folds 5
      minimaxrisk report model.skops genes.csv --compare
    """
    from minimaxrisk.app.cli.reporting import (  # noqa: PLC0415
        annotations_of,
        check_page_file,
        make_report,
        write_page,
    )
    from minimaxrisk.app.cli.stored import (  # noqa: PLC0415
        filled,
        is_training_data,
        load_first,
        not_training_data,
        read_for_model,
        sample_columns_of,
    )
    from minimaxrisk.app.cli.training import refuse_too_many, together_of  # noqa: PLC0415
    from minimaxrisk.app.report.tables import gene_table, write_genes  # noqa: PLC0415

    check_comparison(compares=compare, n_folds=folds, reports=True)
    console = Console(quiet=quiet)
    page = model.with_suffix(".html") if out is None else out
    if out is None and page.exists():
        raise ValueError(f"{page} exists already; pass --out {page} to replace it, or another name.")
    check_page_file(page, option="--out")
    checked_destinations([page, genes], sources=[model, data, labels, annotation])
    check_genes(genes)
    check_extras(saves=False, reports=True)
    saved = load_first(model)
    if not isinstance(saved.classifier, minimaxrisk.MinimaxRiskClassifier):
        raise ValueError(f"{model} holds an ensemble; a report is about a single MinimaxRiskClassifier.")
    study = read_for_model(saved, data, reading, target=target, labels=labels, ignore=ignore, console=console)
    refuse_too_many(permutations, len(study.sample_names))
    X = filled(saved, study, console)
    if not is_training_data(saved, study, X):
        message = f"{not_training_data(study)} A report is about a model and its training data."
        typer.echo(f"minimaxrisk: {message}", err=True)
        raise typer.Exit(1)
    effort = Effort(
        permutations, folds, radii, jobs, seed, has_guarantee=guarantee, compares=compare, n_repeats=repeats
    )
    command = context.ensure_object(Invocation).command
    together = together_of(study, sample_columns_of(saved), console)
    about_genes = GeneOptions(genes, annotation, links and links.value)
    annotations = annotations_of(about_genes, study, console)
    findings, html = make_report(
        saved,
        study,
        X,
        effort,
        together=together,
        command=command,
        console=console,
        genes=about_genes,
        annotations=annotations,
    )
    write_page(page, html)
    if genes is not None:
        write_genes(genes, gene_table(findings.features, findings.data.classes, annotations))
    typer.echo(str(page))


def demo_command(
    context: typer.Context,
    *,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="For table, model and report: --out tour")
    ] = Path("minimaxrisk-demo"),
) -> None:
    """Show the library at work; ends with a report to look at.

    A tour on simulated and on real data, then the command fit on a file.

    \b
    Example:
      minimaxrisk demo --out tour
    """
    from minimaxrisk.app.cli import tour  # noqa: PLC0415

    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file; --out must name a folder.")
    out.mkdir(parents=True, exist_ok=True)
    tour.main()
    table, model, report = out / "expression.csv", out / "model.skops", out / "report.html"
    tour.write_study(table)
    command = ["minimaxrisk", "fit", str(table), "--target", "diagnosis"]
    command += ["--out", str(model), "--report", str(report)]
    typer.echo(f"\nFROM A FILE TO A REPORT, by one command:\n\n  $ {shlex.join(command)}\n")
    context.ensure_object(Invocation).command = shlex.join(command)
    fit_command(context, table, target="diagnosis", out=model, report=report)
    typer.echo(f"\nOpen the report in a browser: {report.resolve()}")
