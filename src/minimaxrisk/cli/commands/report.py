"""``minimaxrisk report``: the report of a stored model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import minimaxrisk
from minimaxrisk._utils.atomic import checked_destinations
from minimaxrisk.cli.console import Console
from minimaxrisk.cli.options import (
    FOLDS,
    PERMUTATIONS,
    RADII,
    REPORTING,
    Annotation,
    Compare,
    Data,
    Effort,
    Folds,
    GeneLinks,
    GeneOptions,
    Genes,
    Guarantee,
    Ignore,
    Jobs,
    Labels,
    Model,
    Options,
    Quiet,
    Radii,
    Renamed,
    Repeats,
    Seed,
    check_comparison,
    check_extras,
    check_genes,
    whole_number,
    with_reading_options,
)
from minimaxrisk.cli.page_file import check_page_file, write_page

if TYPE_CHECKING:
    from minimaxrisk.files import ReadOptions


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
        typer.Option(
            metavar="N",
            parser=whole_number,
            help="Permutations of the labels to compare R* with, 0 for none: --permutations 999",
            rich_help_panel=REPORTING,
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
    # Here, so that --help need not wait for the numerical packages.
    from minimaxrisk.cli.reporting import annotations_of, make_report  # noqa: PLC0415
    from minimaxrisk.cli.stored import (  # noqa: PLC0415
        beside_of,
        filled,
        is_training_data,
        load_first,
        not_training_data,
        read_for_model,
    )
    from minimaxrisk.cli.together import together_of  # noqa: PLC0415
    from minimaxrisk.cli.training import refuse_too_many  # noqa: PLC0415
    from minimaxrisk.report.genes import gene_table, write_genes  # noqa: PLC0415

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
    command = context.ensure_object(Options).command
    together = together_of(study, beside_of(saved), console)
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
