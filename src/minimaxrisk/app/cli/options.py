"""The options of the command line, and what those of one subject amount to.

Nothing here imports numerical packages: --help need not wait for them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from minimaxrisk.app.cli.console import STDIN, as_file

if TYPE_CHECKING:
    from minimaxrisk.app.files import ReadOptions
    from minimaxrisk.app.report.gathering import Wanted

PERMUTATIONS = 199  # of a report
# Options of one heading of --help.
together_option = partial(typer.Option, rich_help_panel="Samples that belong together")
reading_option = partial(typer.Option, rich_help_panel="How the file is read")
reporting_option = partial(typer.Option, rich_help_panel="What a report computes")


TRANSPOSE = {"yes": True, "no": False}


@dataclass
class Invocation:
    """The command line as it was given, and its global options; the context of a command holds it."""

    debug: bool = False
    command: str = "minimaxrisk"


@dataclass(frozen=True)
class Source:
    """A data file, where its labels are, and how it is read."""

    data: Path
    reading: ReadOptions
    target: str | None = None
    labels: Path | None = None
    ignore: Sequence[str] = ()


@dataclass(frozen=True)
class SampleColumns:
    """Names of the columns with the patient and the batch of each sample."""

    groups: str | None = None
    batch: str | None = None

    @property
    def names(self) -> list[str]:
        return [name for name in (self.groups, self.batch) if name is not None]


@dataclass(frozen=True)
class Kind:
    """What is fitted: a classifier, an ensemble, or one whose radius is chosen for few features."""

    has_members: bool = False
    features: str | int | None = None


@dataclass(frozen=True)
class Outputs:
    """Where the results go; ``annotation`` and ``links`` are about the genes in them."""

    report: Path | None
    genes: Path | None
    annotation: Path | None
    links: str | None
    model: Path | None = None
    write_back: bool = False
    as_json: bool = False


def whole_number(text: str | int) -> int:
    """A count as people write it, also 1e4."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if number < 0.0 or not number.is_integer():
        raise typer.BadParameter(f"expected a whole number such as 199, or 0 for none, got {text!r}.")
    return int(number)


def features(text: str | int) -> str | int:
    """``few``, ``best`` or how many."""
    if text in ("few", "best"):
        return text
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise typer.BadParameter(f"expected few, best, or a number of features such as 10, got {text!r}.")
    return number


def _refuse_zero(value: int | None) -> int | None:
    if value == 0:
        raise typer.BadParameter("expected a number of processes, or -1 for one per core, got 0.")
    return value


def _refuse_one(value: int) -> int:
    if value == 1:
        raise typer.BadParameter("expected at least 2 folds, or 0 for none, got 1.")
    return value


Data: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Table with a line per sample: .csv .tsv .txt (also .gz), .parquet, .feather, .xlsx .xls .ods, "
        ".npz .npy, .mat, .svm .svmlight .libsvm, .h5ad; .gct and GEO series matrices with genes in rows; "
        "- for standard input.",
    ),
]
Model: TypeAlias = Annotated[
    Path, typer.Argument(metavar="MODEL", help="File that 'minimaxrisk fit --out' wrote.")
]
Labels: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Labels in a second file, joined by sample name: --labels patients.csv"
    ),
]
Renamed: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="COLUMN",
        help="Column with the classes, if its name is not that of the training data: --target diagnosis",
    ),
]
Ignore: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column or pattern to leave out; may be repeated: --ignore age --ignore 'meta_*'",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")]

Groups: TypeAlias = Annotated[
    str | None,
    together_option(
        metavar="COLUMN",
        help="Samples with the same entry are of one patient, with one class: they stay together in folds, "
        "hold-outs and permutations, and the radii count patients: --groups patient",
    ),
]
Batch: TypeAlias = Annotated[
    str | None,
    together_option(
        metavar="COLUMN",
        help="Batch, plate or hospital of each sample: whether the selected features tell it is tested, and "
        "labels are permuted within batches: --batch plate",
    ),
]

Genes: TypeAlias = Annotated[
    Path | None,
    reporting_option(
        metavar="FILE",
        help="Write all selected features with coefficients, means and tests: --genes genes.csv, or .tsv or "
        ".xlsx",
    ),
]
Annotation: TypeAlias = Annotated[
    Path | None,
    reporting_option(
        metavar="FILE",
        help="Columns about features, such as symbols of probes, for the table of genes; the first column "
        "has the names: --annotation probes.csv; descriptions of a .gct file need no option",
    ),
]
GeneLinks: TypeAlias = Annotated[
    Literal["ncbi", "genecards"] | None,
    reporting_option(
        "--links",
        help="Link names of genes on the page to a site, which learns a name when its link is chosen: "
        "--links genecards",
    ),
]

REPORTING_OPTIONS: dict[str, Any] = {
    "guarantee": Annotated[
        bool,
        reporting_option(
            "--guarantee/--no-guarantee",
            help="Bound the error for new samples, for which half of the samples are fitted once more: "
            "--no-guarantee",
        ),
    ],
    "folds": Annotated[
        int,
        reporting_option(
            metavar="N",
            min=0,
            help="Folds of the cross-validation and of the guarantee's comparisons, 0 for none: --folds 5",
            callback=_refuse_one,
        ),
    ],
    "repeats": Annotated[
        int,
        reporting_option(
            metavar="N",
            min=1,
            max=100,
            help="How often the folds are drawn, to see which samples are always misclassified: --repeats 5",
        ),
    ],
    "radii": Annotated[
        int,
        reporting_option(
            metavar="N", min=0, max=1000, help="Number of radii at which R* is shown, 0 for none: --radii 20"
        ),
    ],
    "compare": Annotated[
        bool,
        reporting_option(
            "--compare",
            help="Fit other classifiers on the same folds, random forests among them, and compare the "
            "errors; takes seconds to minutes.",
        ),
    ],
    "jobs": Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Number of processes, -1 for one per core: --jobs -1", callback=_refuse_zero
        ),
    ],
    "seed": Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=2**32 - 1, help="Seed of permutations, folds and bootstrap: --seed 1"
        ),
    ],
}
# What the reporting options are called in ``Wanted``, and their defaults.
WANTED = {
    "guarantee": ("guarantee", True),
    "folds": ("n_folds", 10),
    "repeats": ("n_repeats", 1),
    "radii": ("n_radii", 5),
    "compare": ("has_rivals", False),
    "jobs": ("n_jobs", None),
    "seed": ("random_state", 0),
}
READING_OPTIONS: dict[str, Any] = {
    "samples": Annotated[
        str | None,
        reading_option(metavar="COLUMN", help="Column with the names of the samples: --samples patient"),
    ],
    "transpose": Annotated[
        Literal["yes", "no"] | None,
        reading_option(
            help="Whether features are in rows, samples in columns; by default the table is turned where it "
            "is obvious: --transpose, or --transpose no"
        ),
    ],
    "delimiter": Annotated[
        str | None,
        reading_option(
            metavar="TEXT",
            help="Character between cells, detected by default: --delimiter ';' or --delimiter tab",
        ),
    ],
    "header": Annotated[
        bool | None,
        reading_option(
            "--header/--no-header",
            help="Whether the first line names the columns, detected by default; without names they are "
            "column_1, ...",
        ),
    ],
    "sheet": Annotated[
        str | None,
        reading_option(metavar="NAME", help="Sheet of a workbook, by default the first: --sheet Samples"),
    ],
    "labels_sheet": Annotated[
        str | None,
        reading_option(
            metavar="NAME",
            help="Sheet with the labels, of the workbook DATA or of --labels: --labels-sheet Patients",
        ),
    ],
    "skip_lines": Annotated[
        int | None,
        reading_option(
            metavar="N",
            min=0,
            max=1_000_000,
            help="Lines above the table to leave out, such as a title: --skip-lines 3",
        ),
    ],
    "duplicates": Annotated[
        Literal["mean", "max", "suffix", "error"] | None,
        reading_option(
            help="What features of the same name become, such as probes of one gene: their mean, their "
            "maximum, or numbered; refused by default: --duplicates mean"
        ),
    ],
    "match_names": Annotated[
        Literal["exact", "loose"] | None,
        reading_option(
            help="Whether names must be equal; loose lets columns differ in case and version from those of "
            "a model, and samples of --labels in punctuation, leading zeros and suffixes: --match-names loose"
        ),
    ],
    "layer": Annotated[
        str | None,
        reading_option(
            metavar="NAME", help="Layer of an .h5ad file, variable of an .npz or .mat file: --layer logcounts"
        ),
    ],
}


def with_shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its parameters ``reading`` and ``wanted``, which stand for several.

    The command gets a ``ReadOptions``, and a ``Wanted`` if it has that parameter; typer sees the options.
    """

    @wraps(command)
    def wrapped(**options: Any) -> None:
        options["reading"] = _reading({name: options.pop(name, None) for name in READING_OPTIONS})
        if "wanted" in own.parameters:
            options["wanted"] = _wanted({name: options.pop(name, WANTED[name][1]) for name in WANTED})
        data = options.pop("data")
        if data == STDIN and options.get("write_back"):
            message = "needs a file to write to, got standard input."
            raise typer.BadParameter(message, param_hint="--write-back")
        with as_file(data) as path:
            command(data=path, **options)

    for name in ("reading", "wanted"):
        command.__annotations__.pop(name, None)  # only type checkers know these names
    own = inspect.signature(command, eval_str=True)
    parameters = []
    for name, parameter in own.parameters.items():
        if name == "reading":
            parameters += [_parameter(option, None, kind) for option, kind in READING_OPTIONS.items()]
        elif name == "wanted":
            parameters += [_parameter(key, WANTED[key][1], kind) for key, kind in REPORTING_OPTIONS.items()]
        else:
            parameters.append(parameter)
    # What typer looks at.
    wrapped.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def _parameter(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _reading(chosen: dict[str, Any]) -> ReadOptions:
    from minimaxrisk.app.files import ReadOptions  # noqa: PLC0415
    from minimaxrisk.app.files.messages import COMMAND_LINE  # noqa: PLC0415

    chosen["transpose"] = TRANSPOSE.get(chosen["transpose"])
    given = {name: value for name, value in chosen.items() if value is not None}
    return ReadOptions(**given, spelling=COMMAND_LINE)


def _wanted(chosen: dict[str, Any]) -> Wanted:
    from minimaxrisk.app.report.gathering import Wanted  # noqa: PLC0415

    if chosen["compare"] and chosen["folds"] == 0:
        message = "needs folds to compare on; leave out --folds 0."
        raise typer.BadParameter(message, param_hint="--compare")
    return Wanted(**{WANTED[name][0]: value for name, value in chosen.items()})
