"""``minimaxrisk reproduce``: the paper's tables and figures, or what guarantees are worth, by one command."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from minimaxrisk.cli.options import Folder

ALL = "all"


class Choice(StrEnum):
    """What can be reproduced."""

    EPSILON = "epsilon"
    N_MAX = "n-max"
    SCALABILITY = "scalability"
    BOUNDS_AND_TIMES = "bounds-and-times"
    FEATURE_SELECTION = "feature-selection"
    ALL = ALL
    COVERAGE = "coverage"
    NOISE_FLOOR = "noise-floor"
    PERMUTATION_TIME = "permutation-time"
    RADIUS_RULES = "radius-rules"
    PATH = "path"
    STABILITY = "stability"
    GUARANTEES = "guarantees"


def _option(help_text: str, metavar: str = "N") -> typer.models.OptionInfo:
    return typer.Option(help=help_text, metavar=metavar)


def reproduce_command(
    item: Annotated[Choice, typer.Argument(metavar="ITEM", help="One of: " + ", ".join(Choice) + ".")],
    *,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("reproduction"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version of everything, in minutes.")
    ] = False,
    datasets: Annotated[
        list[str] | None, _option("Data sets to use, separated by commas or one option each.", "NAMES")
    ] = None,
    folder: Folder = None,
    jobs: Annotated[
        int | None, _option("Processes; else one for items that measure times, and all cores.")
    ] = None,
    n_max: Annotated[int | None, _option("Features that may enter per iteration.")] = None,
    epsilon: Annotated[float | None, _option("Tolerance of MRC-CG.", "X")] = None,
    k_max: Annotated[int | None, _option("Iterations of MRC-CG in Figure 3 and both tables.")] = None,
    folds: Annotated[int | None, _option("Folds of the cross-validations.")] = None,
    seed: Annotated[int | None, _option("Seed of folds, parts and random features.")] = None,
    epsilons: Annotated[str, _option("Figure 1: tolerances, separated by commas.", "LIST")] = "",
    n_max_values: Annotated[str, _option("Figure 2: values of n_max.", "LIST")] = "",
    n_max_k_max: Annotated[int | None, _option("Figure 2: iterations of MRC-CG.")] = None,
    n_max_repetitions: Annotated[
        int | None, _option("Figure 2: random parts of the data (paper: 50).")
    ] = None,
    subsample: Annotated[float | None, _option("Figure 2: size of the parts.", "X")] = None,
    sizes: Annotated[str, _option("Figure 3: numbers of random Fourier features.", "LIST")] = "",
    scalability_repetitions: Annotated[int | None, _option("Figure 3: draws (paper: 20).")] = None,
    lp_repetitions: Annotated[int | None, _option("Repetitions for MRC-LP, which is slow.")] = None,
    lp_features: Annotated[int | None, _option("Figure 3: largest number of features for MRC-LP.")] = None,
    lp_limit: Annotated[float | None, _option("Seconds for one fit of MRC-LP.", "X")] = None,
    limit: Annotated[float | None, _option("Seconds for any other cell.", "X")] = None,
    confidence: Annotated[
        float | None, _option("Guarantees: confidence of radius rules and limits.", "X")
    ] = None,
    coverage_repetitions: Annotated[int | None, _option("Guarantees: data sets per simulated law.")] = None,
    noise_tests: Annotated[int | None, _option("Guarantees: permutation tests on noise.")] = None,
    power_tests: Annotated[int | None, _option("Guarantees: permutation tests on a signal.")] = None,
    data_permutations: Annotated[int | None, _option("Guarantees: permutations on real data.")] = None,
    path_radii: Annotated[int | None, _option("Guarantees: radii of the path.")] = None,
    stability_repetitions: Annotated[
        int | None, _option("Guarantees: simulated studies for the stability selection.")
    ] = None,
) -> None:
    """Measure a table or figure of the paper again.

    The result stands beside the printed numbers.

    "all" is all of these; "guarantees" measures coverage, noise floor, radius rules, the path over the
    radius and stability selection, beyond the paper.

    Started again with the same folder, it goes on where it stopped. Needs the extra "reproduce".
    """
    # Only now: the experiments import much that other commands do not need.
    from experiments.harness.reproduce import reproduce  # noqa: PLC0415
    from experiments.harness.settings import QUICK, Settings, overridden  # noqa: PLC0415
    from experiments.suites import SUITES  # noqa: PLC0415

    settings = overridden(
        QUICK if quick else Settings(),
        n_max=n_max,
        epsilon=epsilon,
        k_max=k_max,
        folds=folds,
        seed=seed,
        epsilons=_numbers("epsilons", epsilons, float),
        n_max_values=_numbers("n-max-values", n_max_values, int),
        n_max_k_max=n_max_k_max,
        n_max_repetitions=n_max_repetitions,
        subsample=subsample,
        sizes=_numbers("sizes", sizes, int),
        scalability_repetitions=scalability_repetitions,
        lp_repetitions=lp_repetitions,
        lp_features=lp_features,
        lp_limit=lp_limit,
        limit=limit,
        confidence=confidence,
        coverage_repetitions=coverage_repetitions,
        noise_tests=noise_tests,
        power_tests=power_tests,
        data_permutations=data_permutations,
        path_radii=path_radii,
        stability_repetitions=stability_repetitions,
        datasets=tuple(name.strip() for name in ",".join(datasets or []).split(",") if name.strip()),
    )
    names = list(SUITES[item].items) if item in SUITES else [item.value]
    try:
        done = reproduce(
            names, out, settings, folder=folder, jobs=jobs, say=lambda text: typer.echo(text, err=True)
        )
    except KeyboardInterrupt:
        typer.echo("interrupted; the same command goes on where it stopped.", err=True)
        raise
    typer.echo(str(done.summary))
    if done.failed:
        typer.echo(f"{len(done.failed)} cells failed; the same command tries them again:", err=True)
        for reason in done.reasons():
            typer.echo(f"  {reason}", err=True)
        raise typer.Exit(1)


def _numbers(option: str, text: str, kind: Callable[[str], float]) -> tuple[float, ...]:
    try:
        return tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        message = f"expected numbers separated by commas, got {text!r}."
        raise typer.BadParameter(message, param_hint=f"--{option}") from error
