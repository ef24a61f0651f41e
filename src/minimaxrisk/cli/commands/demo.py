"""``minimaxrisk demo``: a tour at the terminal, and the report of a simulated study."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path
from typing import Annotated

import typer

import minimaxrisk
from minimaxrisk._utils.atomic import whole_file
from minimaxrisk.cli.commands.fit import fit_command
from minimaxrisk.cli.options import Options

DECIMALS = 5


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
    from minimaxrisk.cli import tour as demo  # noqa: PLC0415

    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file; --out must name a folder.")
    out.mkdir(parents=True, exist_ok=True)
    demo.main()
    table, model, report = out / "expression.csv", out / "model.skops", out / "report.html"
    _write_study(table)
    command = ["minimaxrisk", "fit", str(table), "--target", "diagnosis"]
    command += ["--out", str(model), "--report", str(report)]
    typer.echo(f"\nFROM A FILE TO A REPORT, by one command:\n\n  $ {shlex.join(command)}\n")
    context.ensure_object(Options).command = shlex.join(command)
    fit_command(context, table, target="diagnosis", out=model, report=report)
    typer.echo(f"\nOpen the report in a browser: {report.resolve()}")


def _write_study(path: Path) -> None:
    """A simulated expression study as people have it: a line per patient, a column per gene."""
    study = minimaxrisk.datasets.make_expression(100, 2000, n_informative=20, effect=1.0, random_state=0)
    diagnoses = ["ill" if label == study.target.max() else "healthy" for label in study.target]
    with whole_file(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", "diagnosis", *study.feature_names])
        for i, row in enumerate(study.data):
            values = (f"{value:.{DECIMALS}f}" for value in row)
            writer.writerow([f"patient_{i + 1:03d}", diagnoses[i], *values])
