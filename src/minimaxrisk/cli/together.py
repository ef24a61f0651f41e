"""Samples that belong together, as ``--groups`` and ``--batch`` name them."""

from __future__ import annotations

import numpy as np

from minimaxrisk.analysis.batches import check_batches
from minimaxrisk.cli.console import Console
from minimaxrisk.cli.options import Beside, Effort
from minimaxrisk.cli.training import Together, Trained
from minimaxrisk.files import Study
from minimaxrisk.files.problems import listed


def together_of(study: Study, beside: Beside, console: Console) -> Together:
    """The patients and batches of a study, with notes on what cannot be kept together."""
    groups = None if beside.groups is None else study.beside[beside.groups]
    batch = None if beside.batch is None else study.beside[beside.batch]
    y = np.asarray(study.y)
    if groups is not None:
        _refuse_mixed_groups(groups, y, beside, study)
        console.note(
            f"{len(set(groups))} groups of {len(groups)} samples by {beside.groups!r} stay together in "
            "folds, hold-outs and permutations, and the radii count groups."
        )
    within = None
    if batch is not None:
        why = _why_not_within(batch, groups, y)
        within = batch if why is None else None
        said = "within batches" if why is None else f"over all samples: {why}"
        console.note(f"Batches by {beside.batch!r}. A permutation test permutes labels {said}.")
    return Together(groups, batch, within)


def _refuse_mixed_groups(groups: np.ndarray, y: np.ndarray, beside: Beside, study: Study) -> None:
    classes = {name: sorted({str(label) for label in y[groups == name]}) for name in dict.fromkeys(groups)}
    mixed = [name for name, labels in classes.items() if len(labels) > 1]
    if len(classes) < 2:
        raise ValueError(f"{study.source}: --groups must tell groups apart, but {beside.groups!r} has one.")
    if mixed:
        raise ValueError(
            f"{study.source}: the samples of a group must have one class, but {listed(mixed, 3)} of "
            f"{beside.groups!r} have several, such as {' and '.join(classes[mixed[0]])}. Correct the "
            f"classes; if patients were measured in both, pass --batch {beside.groups}, which permutes "
            "labels within patients."
        )


def _why_not_within(batch: np.ndarray, groups: np.ndarray | None, y: np.ndarray) -> str | None:
    """Why labels cannot be permuted within batches, if they cannot."""
    if all(len(set(y[batch == name])) == 1 for name in set(batch)):
        return "every batch holds one class only, so that nothing would change within"
    if groups is not None and any(len(set(batch[groups == name])) > 1 for name in set(groups)):
        return "some groups have samples in several batches"
    return None


def describe_batches(trained: Trained, effort: Effort, console: Console) -> None:
    """Say how the classes are spread over the batches, and whether the selected features tell the batch."""
    together = trained.together
    if together.batch is None:
        return
    with console.parts("batches"):
        found = check_batches(
            trained.classifier,
            trained.features,
            trained.y,
            together.batch,
            groups=together.groups,
            n_folds=effort.n_folds or 5,
            random_state=effort.seed,
            n_jobs=effort.n_jobs,
        )
    tell = console.warn if found.is_confounded or found.is_predictable else console.note
    tell(found.statement)
