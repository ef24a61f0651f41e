"""The page that the commands ``fit`` and ``report`` write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.analysis.cross_validation import sizes_of_classes
from minimaxrisk.analysis.permutation_test import PermutationTestResult
from minimaxrisk.cli.annotation import own_descriptions, read_annotation
from minimaxrisk.cli.console import Console, printable
from minimaxrisk.cli.options import Effort, GeneOptions
from minimaxrisk.cli.stored import filled_gaps
from minimaxrisk.cli.training import Together
from minimaxrisk.files import Study
from minimaxrisk.guarantees.error_statement import BestGuarantee
from minimaxrisk.report import Findings, Provenance, gather_findings, render_report
from minimaxrisk.report.bundle import is_bundle_kept
from minimaxrisk.storage.model_file import SavedModel

NO_SECONDS: Mapping[str, float] = {}


def annotations_of(genes: GeneOptions, study: Study, console: Console) -> dict[str, list[str]]:
    """What the file of --annotation tells about the features of the study, else the data file itself."""
    names = [str(name) for name in study.feature_names]
    if genes.annotation is None:
        return own_descriptions(study.source, names)
    return read_annotation(genes.annotation, names, console)


def make_report(
    saved: SavedModel,
    study: Study,
    X: DataMatrix,
    effort: Effort,
    *,
    together: Together,
    command: str,
    console: Console,
    genes: GeneOptions,
    annotations: Mapping[str, Sequence[str]],
    permutation_result: PermutationTestResult | None = None,
    guarantee: BestGuarantee | None = None,
    seconds: Mapping[str, float] = NO_SECONDS,
) -> tuple[Findings, str]:
    """The numbers and the page as HTML; ``X`` is that of the study without gaps.

    ``seconds`` tells what the parts took that were done before.
    """
    with console.parts("report") as part, console.warnings_as_notes():
        findings = gather_findings(
            saved.classifier,
            X,
            study.y,
            feature_names=study.feature_names,
            sample_names=study.sample_names,
            scaler=saved.scaler,
            groups=together.groups,
            batch=together.within,
            n_permutations=effort.n_permutations,
            n_folds=effort.n_folds,
            n_repeats=effort.n_repeats,
            n_radii=effort.n_radii,
            n_jobs=effort.n_jobs,
            random_state=effort.seed,
            progress=part.begin,
            permutation_result=permutation_result,
            guarantee=guarantee or effort.has_guarantee,
            has_rivals=effort.compares,
        )
    if findings.cross_validation is not None and findings.cross_validation.n_folds < effort.n_folds:
        sizes = sizes_of_classes(saved.classifier, study.y, together.groups)
        rarest = str(saved.classifier.classes_[int(np.argmin(sizes))])
        console.note(
            f"The cross-validation has {min(sizes)} folds and not {effort.n_folds}, since class {rarest!r} "
            f"has only {min(sizes)} {'samples' if together.groups is None else 'groups of samples'}."
        )
    provenance = Provenance(
        command=command,
        source=printable(study.source.name),
        target=saved.target,
        fingerprint=saved.fingerprint,
        versions=saved.versions,
        remarks=console.notes,
        imputed=filled_gaps(study),
        annotations=annotations,
        links=genes.links,
        seconds=seconds,
    )
    with console.progress("report") as show:
        show(
            "the page"
            if is_bundle_kept()
            else "the page, with its scripts: some seconds more, once per version"
        )
        return findings, render_report(findings, provenance)
