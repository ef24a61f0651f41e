"""The commands: their options, checks before the work, and what they call.

The modules that do the work import numerical packages. They are imported inside the commands, so that --help
need not wait for them.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeGuard

import typer

from minimaxrisk.app.atomic import checked_destinations
from minimaxrisk.app.cli import options
from minimaxrisk.app.cli.console import Console
from minimaxrisk.app.cli.interruption import telling_where
from minimaxrisk.uncertainty import NAMED_RULES

if TYPE_CHECKING:
    from minimaxrisk.app.files import ReadOptions
    from minimaxrisk.app.report.gathering import Wanted

writing_option = partial(typer.Option, rich_help_panel="What is written")


@options.with_shared_options
def fit_command(
    context: typer.Context,
    data: options.Data,
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
        writing_option(metavar="FILE", help="Write a report that opens in a browser: --report report.html"),
    ] = None,
    recognise: Annotated[
        bool,
        writing_option(
            "--recognise",
            help="Store 32 bits of each sample with the model, by which predict and evaluate recognise "
            "training samples.",
        ),
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    labels: options.Labels = None,
    ignore: options.Ignore = None,
    groups: options.Groups = None,
    batch: options.Batch = None,
    accept: options.Accept = None,
    impute: Annotated[
        Literal["median"] | None,
        typer.Option(help="Fill missing values, which are refused otherwise: --impute median"),
    ] = None,
    fitting: dict[str, Any],
    permutations: Annotated[
        int | None,
        options.reporting_option(
            metavar="N",
            parser=options.n_permutations,
            help="Permutations of the labels to compare R* with; by default "
            f"{options.PERMUTATIONS} with a report, otherwise none: --permutations 999",
        ),
    ] = None,
    wanted: Wanted,
    genes: options.Genes = None,
    annotation: options.Annotation = None,
    links: options.GeneLinks = None,
    reading: ReadOptions,
) -> None:
    """Learn a classifier from a table, with estimates and bounds of its error.

    \b
    Examples:
      minimaxrisk fit genes.csv --target diagnosis --report report.html
      minimaxrisk fit genes.csv --target diagnosis --report report.html --compare
      minimaxrisk fit genes.csv --target diagnosis --features few --genes selected.csv
      minimaxrisk fit genes.csv --target diagnosis --model single --out model.skops
      minimaxrisk fit genes.csv --target diagnosis --scale clip --out model.skops
      minimaxrisk fit genes.gct --labels patients.tsv --radius bootstrap
      minimaxrisk fit genes.csv --target diagnosis --radius bootstrap --marginal empirical
      minimaxrisk fit genes.csv --target diagnosis --groups patient --batch plate --report report.html
      minimaxrisk fit cells.h5ad --target condition --groups donor --out cells.skops
      minimaxrisk fit genes.xlsx --target class --impute median --json
      minimaxrisk fit genes.csv --target class --permutations 999 --jobs -1
    """
    console = Console(quiet=quiet, accepted=_conditions(accept))
    outputs = options.Outputs(report, genes, annotation, links, model=out, as_json=json)
    if wanted.has_rivals and report is None:
        raise typer.BadParameter("is part of a report; add --report report.html.", param_hint="--compare")
    scale, model, features = (fitting.pop(name) for name in ("scale", "model", "features"))
    if features is not None:
        _refuse_with_features(context, model)
        model = "single"
    checked_destinations([out, report, genes], sources=[data, labels, annotation])
    _check_endings(outputs, "--report")
    if report is None:
        other_use = {
            "annotation": genes,
            "folds": batch or out or model != "single" or None,
            "links": None,
            "radii": None,
            "repeats": None,
        }
        _note_unused(context, [name for name, other in other_use.items() if other is None], console)
    from minimaxrisk.app.cli.fitting import fit_and_write  # noqa: PLC0415

    if permutations is None:
        permutations = options.PERMUTATIONS if report is not None else 0
    settings = fitting | {"radius": _radius(fitting["radius"]), "random_state": wanted.random_state}
    with telling_where() as kept:
        fit_and_write(
            options.Source(data, reading, target, labels, ignore or ()),
            columns=options.SampleColumns(groups, batch),
            impute=impute is not None,
            scale=scale,
            settings=settings,
            is_ensemble=model != "single",
            features=features,
            wanted=replace(wanted, n_permutations=permutations),
            outputs=outputs,
            recognise=recognise,
            command=context.ensure_object(options.Invocation).command,
            console=console,
            kept=kept,
        )


def _conditions(codes: Sequence[str] | None) -> Sequence[str]:
    """Return the codes of conditions that the user answers, or refuse other codes."""
    if not codes:
        return ()
    from minimaxrisk.checks.findings import CODES, CONDITION  # noqa: PLC0415

    if unknown := [code for code in codes if code not in CODES[CONDITION]]:
        message = f"{unknown[0]!r} is not the code of a condition. Codes: {', '.join(CODES[CONDITION])}."
        raise typer.BadParameter(message, param_hint="--accept")
    return codes


def _refuse_with_features(context: typer.Context, model: str | None) -> None:
    """Refuse what contradicts the choice of a radius."""
    source = context.get_parameter_source("radius")
    if source is not None and source.name == "COMMANDLINE":
        message = "chooses the radius; leave out --radius."
        raise typer.BadParameter(message, param_hint="--features")
    if model == "ensemble":
        message = "is about a single model, and an ensemble uses many features; leave out one of the two."
        raise typer.BadParameter(message, param_hint="--features")


def _check_endings(outputs: options.Outputs, option_of_page: str) -> None:
    """Refuse, before the work, endings of other formats, and results whose packages are not installed."""
    from minimaxrisk._utils.environment import require  # noqa: PLC0415

    page, genes, model = outputs.report, outputs.genes, outputs.model
    if _has_other_ending(page, ".html", ".htm"):
        advice = "; print it from a browser to get a PDF" if page.suffix.lower() == ".pdf" else ""
        message = f"a report is a page (.html), got {page}{advice}."
        raise typer.BadParameter(message, param_hint=option_of_page)
    if genes is not None and genes.suffix.lower() not in (".csv", ".tsv"):
        raise typer.BadParameter(f"must end with .csv or .tsv, got {genes}.", param_hint="--genes")
    if _has_other_ending(model, ".skops"):
        message = f"a model file ends in .skops and is not a pickle, got {model}."
        raise typer.BadParameter(message, param_hint="--out")
    if model is not None:
        require("skops", extra="app", purpose="Model files need")
    if page is not None:
        for module in ("jinja2", "vl_convert"):
            require(module, extra="app", purpose="The report needs")


def _has_other_ending(path: Path | None, *endings: str) -> TypeGuard[Path]:
    """Devices and files without an ending may hold anything."""
    if path is None or path.suffix.lower() in ("", *endings):
        return False
    return path.is_file() or not path.exists()


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
        message = f"expected a positive number, {options.RULES}, got {text!r}."
        raise typer.BadParameter(message, param_hint="--radius")
    return number


@options.with_shared_options
def predict_command(
    model: options.Model,
    data: options.Data,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the table to this file instead of printing it: --out new.csv"
        ),
    ] = None,
    only_used: options.OnlyUsed = False,
    confidence: Annotated[
        float,
        typer.Option(
            metavar="P",
            callback=options.probability,
            help="How often the classes that are left as possible are to hold the right one: "
            "--confidence 0.95",
        ),
    ] = 0.9,
    strict: options.Strict = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    labels: options.Labels = None,
    ignore: options.Ignore = None,
    reading: ReadOptions,
) -> None:
    """Predict the classes of new samples, as CSV.

    A line per sample: its name, the prediction; which classes are possible, as
    left-out samples tell, and so whether the prediction is sure, unsure, or the
    sample unlike all classes; how probable each class is; the scores of the
    classes, with which the randomized rule draws one; and whether its values are
    on the scale of the training data.

    Columns are matched by name, in any order.

    \b
    Examples:
      minimaxrisk predict model.skops new_patients.csv
      minimaxrisk predict model.skops new_patients.gct --out predictions.csv
      minimaxrisk predict model.skops few_genes.csv --only-used
      minimaxrisk predict model.skops new_patients.csv --confidence 0.95
      minimaxrisk predict model.skops new_patients.csv --strict
      minimaxrisk predict model.skops new.h5ad --layer logcounts --json
    """
    console = Console(quiet=quiet)
    checked_destinations([out], sources=[model, data, labels])
    from minimaxrisk.app.cli.predicting import predict_and_write  # noqa: PLC0415

    source = options.Source(data, reading, labels=labels, ignore=ignore or ())
    predict_and_write(
        model,
        source,
        only_used=only_used,
        confidence=confidence,
        strict=strict,
        out=out,
        json=json,
        console=console,
    )


@options.with_shared_options
def evaluate_command(
    context: typer.Context,
    model: options.Model,
    data: options.Data,
    *,
    target: options.Renamed = None,
    report: Annotated[
        Path | None,
        writing_option(metavar="FILE", help="Write a page that opens in a browser: --report cohort.html"),
    ] = None,
    prevalence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS=SHARE",
            help="How common a class is where the classifier will be used, if not as in DATA; may be "
            "repeated, one class may be missing: --prevalence ill=0.05",
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(
            metavar="P", callback=options.probability, help="Confidence of the intervals: --confidence 0.9"
        ),
    ] = 0.95,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Samples with the same entry are of one patient, of which one counts: --groups patient",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Compare with another prediction by McNemar's exact test: a column of labels, or of two "
            "classes numbers such as age or a marker, at the threshold that is hardest to beat: "
            "--baseline age",
        ),
    ] = None,
    only_used: options.OnlyUsed = False,
    strict: options.Strict = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    labels: options.Labels = None,
    ignore: options.Ignore = None,
    reading: ReadOptions,
) -> None:
    """Count the errors of a model on samples that it has not seen, such as a second cohort.

    The strongest statement about a model: its error with an exact interval, sensitivity,
    specificity and predictive values, balanced accuracy, area under the ROC curve,
    calibration, and every sample. The training data are refused.

    \b
    Examples:
      minimaxrisk evaluate model.skops cohort.csv --target diagnosis --report cohort.html
      minimaxrisk evaluate model.skops cohort.csv --prevalence ill=0.05
      minimaxrisk evaluate model.skops cohort.csv --baseline age
      minimaxrisk evaluate model.skops few_genes.csv --only-used --strict
      minimaxrisk evaluate model.skops cohort.gct --labels patients.tsv --json
    """
    shares = options.shares(prevalence or ()) or None
    checked_destinations([report], sources=[model, data, labels])
    _check_endings(options.Outputs(report, None, None, None), "--report")
    from minimaxrisk.app.cli.evaluating import evaluate_and_write  # noqa: PLC0415

    evaluate_and_write(
        model,
        options.Source(data, reading, target, labels, ignore or ()),
        groups=groups,
        baseline=baseline,
        prevalence=shares,
        confidence=confidence,
        only_used=only_used,
        strict=strict,
        report=report,
        json=json,
        command=context.ensure_object(options.Invocation).command,
        console=Console(quiet=quiet),
    )


@options.with_shared_options
def verify_command(
    model: options.Model,
    data: options.Data,
    *,
    json: options.Json = False,
    quiet: options.Quiet = False,
    target: options.Renamed = None,
    labels: options.Labels = None,
    ignore: options.Ignore = None,
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

    source = options.Source(data, reading, target, labels, ignore or ())
    verify_and_print(model, source, json=json, console=Console(quiet=quiet))


@options.with_shared_options
def report_command(
    context: typer.Context,
    model: options.Model,
    data: options.Data,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File to write, by default MODEL with the ending .html: --out report.html",
        ),
    ] = None,
    permutations: Annotated[
        int,
        options.reporting_option(
            metavar="N",
            parser=options.n_permutations,
            help="Permutations of the labels to compare R* with, 0 for none: --permutations 999",
        ),
    ] = options.PERMUTATIONS,
    accept: options.Accept = None,
    wanted: Wanted,
    genes: options.Genes = None,
    annotation: options.Annotation = None,
    links: options.GeneLinks = None,
    quiet: options.Quiet = False,
    target: options.Renamed = None,
    labels: options.Labels = None,
    ignore: options.Ignore = None,
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
    console = Console(quiet=quiet, accepted=_conditions(accept))
    page = model.with_suffix(".html") if out is None else out
    outputs = options.Outputs(page, genes, annotation, links)
    if out is None and page.exists():
        raise ValueError(f"{page} exists already; pass --out {page} to replace it, or another name.")
    _check_endings(outputs, "--out")
    checked_destinations([page, genes], sources=[model, data, labels, annotation])
    from minimaxrisk.app.cli.reporting import report_and_write  # noqa: PLC0415

    report_and_write(
        model,
        options.Source(data, reading, target, labels, ignore or ()),
        wanted=replace(wanted, n_permutations=permutations),
        outputs=outputs,
        command=context.ensure_object(options.Invocation).command,
        console=console,
    )


def demo_command(
    context: typer.Context,
    *,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="For table, model and report: --out tour")
    ] = Path("minimaxrisk-demo"),
) -> None:
    """Make a report from a table, then show on further studies what its numbers are worth.

    First the command fit on a file, then simulated and real data.

    \b
    Example:
      minimaxrisk demo --out tour
    """
    from minimaxrisk.app.cli import demo  # noqa: PLC0415

    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file; --out must name a folder.")
    out.mkdir(parents=True, exist_ok=True)
    table, model, report = out / "expression.csv", out / "model.skops", out / "report.html"
    demo.write_study(table)
    command = ["minimaxrisk", "fit", str(table), "--target", "diagnosis"]
    command += ["--out", str(model), "--report", str(report)]
    typer.echo(f"FROM A FILE TO A REPORT, by one command:\n\n  $ {shlex.join(command)}\n")
    context.ensure_object(options.Invocation).command = shlex.join(command)
    fit_command(context=context, data=table, target="diagnosis", out=model, report=report)
    typer.echo("")
    demo.main()
    typer.echo(f"\nOpen the report in a browser: {report.resolve()}")
