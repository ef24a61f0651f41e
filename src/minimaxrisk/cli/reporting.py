"""The page that the commands ``fit`` and ``report`` write."""

from __future__ import annotations

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk.analysis.permutation_test import PermutationTestResult
from minimaxrisk.cli.console import Console, printable
from minimaxrisk.cli.options import Effort
from minimaxrisk.cli.stored import filled_gaps
from minimaxrisk.cli.training import Together
from minimaxrisk.files import Study
from minimaxrisk.guarantees.error_statement import BestGuarantee
from minimaxrisk.report import Findings, Provenance, gather_findings, render_report
from minimaxrisk.storage.model_file import SavedModel


def make_report(
    saved: SavedModel,
    study: Study,
    X: DataMatrix,
    effort: Effort,
    *,
    together: Together,
    command: str,
    console: Console,
    permutation_result: PermutationTestResult | None = None,
    guarantee: BestGuarantee | None = None,
) -> tuple[Findings, str]:
    """The numbers and the page as HTML; ``X`` is that of the study without gaps."""
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
            n_radii=effort.n_radii,
            n_jobs=effort.n_jobs,
            random_state=effort.seed,
            progress=part.begin,
            permutation_result=permutation_result,
            guarantee=guarantee or effort.has_guarantee,
            has_rivals=effort.compares,
        )
    provenance = Provenance(
        command=command,
        source=printable(study.source.name),
        target=saved.target,
        fingerprint=saved.fingerprint,
        versions=saved.versions,
        remarks=console.notes,
        imputed=filled_gaps(study),
    )
    return findings, render_report(findings, provenance)
