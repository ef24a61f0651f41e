"""The page that ``fit`` and ``report`` write: columns about features, numbers, HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import typer

from minimaxrisk._utils.arguments import listed
from minimaxrisk.app.atomic import write_whole
from minimaxrisk.app.cli.console import Console, printable
from minimaxrisk.app.cli.options import Outputs, SampleColumns, Source
from minimaxrisk.app.cli.results import COMMAND_LINE
from minimaxrisk.app.cli.stored import (
    as_trained,
    difference_from_training,
    filled,
    filled_gaps,
    load_first,
    read_for_model,
)
from minimaxrisk.app.cli.training import (
    Together,
    report_on_data,
    report_on_model,
    together_of,
    with_prevalence,
)
from minimaxrisk.app.files import ReadOptions, Study
from minimaxrisk.app.files.features import by_feature
from minimaxrisk.app.files.read import read
from minimaxrisk.app.files.study import EVERY
from minimaxrisk.app.report.findings import Findings
from minimaxrisk.app.report.gathering import Subject, Wanted, findings_of
from minimaxrisk.app.report.page import Provenance, is_bundle_kept, render_report
from minimaxrisk.app.report.tables import gene_table, write_genes
from minimaxrisk.app.storage import SavedModel
from minimaxrisk.guarantees.certified import PROOF, SELECTION, check_supported
from minimaxrisk.guarantees.fitted_problem import FittedProblem


def read_annotation(path: Path, feature_names: Sequence[str], console: Console) -> dict[str, list[str]]:
    """A column for each one of the file but the first, with an entry for every feature, empty without any.

    The first column has the names of the features as they are in the data.
    """
    raw = read(path, ReadOptions(header=True, as_text=frozenset({EVERY}), spelling="command line"))
    if raw.first is None or len(raw.texts) < 2:
        raise ValueError(
            f"{path} must have the names of features in its first column and columns about them after it, "
            f"separated by commas, semicolons or tabs; got the columns {listed(raw.columns())}."
        )
    title, names = raw.first
    known = set(names)
    found = [name for name in feature_names if str(name) in known]
    if not found:
        raise ValueError(
            f"{path}: no name in its column {title!r}, such as {names[0]!r}, is a feature of the data, "
            f"such as {feature_names[0]!r}."
        )
    if len(found) < len(feature_names):
        console.note(f"{path} describes {len(found):,} of {len(feature_names):,} features.")
    about = {other: column for other, column in raw.texts.items() if other != title}
    return by_feature(feature_names, list(names), about)


def annotations_of(outputs: Outputs, study: Study, console: Console) -> dict[str, list[str]]:
    """What the file of --annotation tells about the features of the study, else the data file itself."""
    if outputs.annotation is None:
        return dict(study.descriptions)
    return read_annotation(outputs.annotation, [str(name) for name in study.feature_names], console)


def report_and_write(
    model: Path,
    source: Source,
    *,
    wanted: Wanted,
    outputs: Outputs,
    command: str,
    console: Console,
) -> None:
    """Write the page of a stored model; exit status 1 if these are not its training data."""
    saved = load_first(model)
    check_supported(saved.classifier, "report", PROOF, SELECTION)
    study = read_for_model(saved, source, console)
    X = filled(saved.imputer, study, console)
    difference = difference_from_training(saved, study, X)
    if difference is not None:
        message = f"{difference} A report is about a model and its training data."
        typer.echo(f"minimaxrisk: {message}", err=True)
        raise typer.Exit(1)
    wanted = with_prevalence(wanted, study)
    together = together_of(study, SampleColumns(saved.groups, saved.batch), console)
    annotations = annotations_of(outputs, study, console)
    fit = as_trained(saved, study, X)
    report_on_data(study, together, console)
    report_on_model(fit, study, together, wanted, console)
    findings = gather(fit, study, wanted, together, console)
    saved = replace(saved, command=command)  # the page names the command that made it
    write_findings(findings, saved, study, outputs, annotations=annotations, console=console)
    typer.echo(str(outputs.report))


def gather(
    fit: FittedProblem, study: Study, wanted: Wanted, together: Together, console: Console
) -> Findings:
    """The numbers, with progress."""
    with console.stages("report") as part, console.warnings_as_notes():
        names = {"feature_names": study.feature_names, "sample_names": study.sample_names}
        subject = Subject.of(fit, strata=together.strata, as_read=study.X, **names)
        wanted = replace(wanted, progress=part.begin, warnings=tuple(console.findings))
        findings = findings_of(subject, wanted)
    console.report(findings.warnings[len(console.findings) :])
    return replace(findings, warnings=tuple(console.findings))


def write_findings(
    findings: Findings,
    saved: SavedModel,
    study: Study,
    outputs: Outputs,
    *,
    annotations: Mapping[str, Sequence[str]],
    console: Console,
    seconds: Mapping[str, float] | None = None,
) -> None:
    """The page and the table of genes, where asked for; ``seconds`` are those of parts done before."""
    if outputs.report is not None:
        provenance = Provenance(
            command=saved.command,
            source=printable(study.source.name),
            target=saved.target,
            fingerprint=saved.fingerprint,
            versions=saved.versions,
            remarks=console.notes,
            imputed=filled_gaps(study),
            annotations=annotations,
            links=outputs.links,
            seconds=seconds or {},
            advice=COMMAND_LINE,
        )
        with console.progress("report") as show:
            once = "" if is_bundle_kept() else ", with its scripts: some seconds more, once per version"
            show(f"the page{once}")
            page = render_report(findings, provenance)
        write_whole(outputs.report, page)
    if outputs.genes is not None:
        write_genes(outputs.genes, *gene_table(findings.features, findings.data.classes, annotations))
