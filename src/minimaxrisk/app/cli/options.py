"""Options that several commands share. Nothing here imports numerical packages: --help need not wait."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from minimaxrisk._utils.environment import require
from minimaxrisk.app.cli.console import STDIN, as_file


@dataclass
class Options:
    """Global options, as the context of a command holds them, and the command line as it was given."""

    debug: bool = False
    command: str = "minimaxrisk"


def _refuse_zero(value: int | None) -> int | None:
    if value == 0:
        raise typer.BadParameter("expected a number of processes, or -1 for one per core, got 0.")
    return value


Folder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="PATH",
        help="Data folder; by default that of the variable MINIMAXRISK_DATA, or ~/.cache/minimaxrisk.",
    ),
]

READING = "How the file is read"

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
        help="Column with the classes, where it is called otherwise than in training: --target diagnosis",
    ),
]
Ignore: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column or pattern to leave out; may be repeated: --ignore age --ignore 'meta_*'",
    ),
]
TOGETHER = "Samples that belong together"
Groups: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Samples with the same entry are of one patient, with one class: they stay together in folds, "
        "hold-outs and permutations, and the radii count patients: --groups patient",
        rich_help_panel=TOGETHER,
    ),
]
Batch: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Batch, plate or hospital of each sample: whether the selected features tell it is tested, and "
        "labels are permuted within batches: --batch plate",
        rich_help_panel=TOGETHER,
    ),
]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Number of processes, -1 for one per core: --jobs -1", callback=_refuse_zero
    ),
]
Seed: TypeAlias = Annotated[
    int,
    typer.Option(
        metavar="N", min=0, max=2**32 - 1, help="Seed of permutations, folds and bootstrap: --seed 1"
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")]


class Transpose(StrEnum):
    YES = "yes"
    NO = "no"
    AUTO = "auto"

    @property
    def setting(self) -> bool | str:
        return self.value if self is Transpose.AUTO else self is Transpose.YES


class Duplicates(StrEnum):
    MEAN = "mean"
    MAX = "max"
    SUFFIX = "suffix"
    ERROR = "error"


READING_OPTIONS: dict[str, Any] = {
    "samples": Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the names of the samples: --samples patient",
            rich_help_panel=READING,
        ),
    ],
    "transpose": Annotated[
        Transpose | None,
        typer.Option(
            help="Whether features are in rows, samples in columns; auto, the default, turns the table where "
            "it is obvious: --transpose, --transpose no, or --transpose auto to be told in any case",
            rich_help_panel=READING,
        ),
    ],
    "delimiter": Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Character between cells, detected by default: --delimiter ';' or --delimiter tab",
            rich_help_panel=READING,
        ),
    ],
    "header": Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line names the columns, detected by default; without names they are "
            "column_1, ...",
            rich_help_panel=READING,
        ),
    ],
    "sheet": Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Sheet of a workbook, by default the first: --sheet Samples",
            rich_help_panel=READING,
        ),
    ],
    "labels_sheet": Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Sheet with the labels, of the workbook DATA or of --labels: --labels-sheet Patients",
            rich_help_panel=READING,
        ),
    ],
    "skip_lines": Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=1_000_000,
            help="Lines above the table to leave out, such as a title: --skip-lines 3",
            rich_help_panel=READING,
        ),
    ],
    "duplicates": Annotated[
        Duplicates | None,
        typer.Option(
            help="What features of the same name become, such as probes of one gene: their mean, their "
            "maximum, or told apart by a number; refused by default: --duplicates mean",
            rich_help_panel=READING,
        ),
    ],
    "layer": Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Layer of an .h5ad file, variable of an .npz or .mat file: --layer logcounts",
            rich_help_panel=READING,
        ),
    ],
}


REPORTING = "What a report computes"
PERMUTATIONS, FOLDS, RADII = 199, 10, 12


def whole_number(text: str | int) -> int:
    """A count as people write it, also 1e4; what is too large is told of where it is known what it takes."""
    try:
        number = int(text)
    except ValueError:
        try:
            number = int(as_float) if (as_float := float(text)).is_integer() else -1
        except (ValueError, OverflowError):
            number = -1
    if number < 0:
        raise typer.BadParameter(f"expected a whole number such as 199, or 0 for none, got {text!r}.")
    return number


def _refuse_one(value: int) -> int:
    if value == 1:
        raise typer.BadParameter("expected at least 2 folds, or 0 for none, got 1.")
    return value


Folds: TypeAlias = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Folds of the cross-validation and of the guarantee's comparisons, 0 for none: --folds 5",
        callback=_refuse_one,
        rich_help_panel=REPORTING,
    ),
]
Radii: TypeAlias = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        max=1000,
        help="Number of radii at which R* is shown, 0 for none: --radii 20",
        rich_help_panel=REPORTING,
    ),
]


Repeats: TypeAlias = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        max=100,
        help="How often the folds are drawn, to see which samples are named wrongly every time: --repeats 5",
        rich_help_panel=REPORTING,
    ),
]


class Links(StrEnum):
    NCBI = "ncbi"
    GENECARDS = "genecards"


GeneLinks: TypeAlias = Annotated[
    Links | None,
    typer.Option(
        "--links",
        help="Link names of genes on the page to a site, which learns a name when its link is chosen: "
        "--links genecards",
        rich_help_panel=REPORTING,
    ),
]
Annotation: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Columns about features, such as symbols of probes, for the table of genes; the first column "
        "has the names: --annotation probes.csv; descriptions of a .gct file need no option",
        rich_help_panel=REPORTING,
    ),
]
Genes: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write all selected features with coefficients, means and tests: --genes genes.csv, or .tsv or "
        ".xlsx",
        rich_help_panel=REPORTING,
    ),
]


Guarantee: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--guarantee/--no-guarantee",
        help="Bound the error for new samples, for which half of the samples are fitted once more: "
        "--no-guarantee",
        rich_help_panel=REPORTING,
    ),
]


Compare: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--compare",
        help="Fit other classifiers on the same folds, random forests among them, and set the errors beside "
        "each other; takes seconds to minutes.",
        rich_help_panel=REPORTING,
    ),
]


def check_comparison(*, compares: bool, n_folds: int, reports: bool) -> None:
    """Other classifiers are compared on the folds of a report."""
    if compares and not reports:
        message = "is part of a report; add --report report.html."
        raise typer.BadParameter(message, param_hint="--compare")
    if compares and n_folds == 0:
        message = "needs folds to compare on; leave out --folds 0."
        raise typer.BadParameter(message, param_hint="--compare")


@dataclass(frozen=True)
class Beside:
    """Names of the columns that say which samples belong together."""

    groups: str | None = None
    batch: str | None = None

    @property
    def columns(self) -> list[str]:
        return [name for name in (self.groups, self.batch) if name is not None]


@dataclass(frozen=True)
class Effort:
    """How much a report computes, and how."""

    n_permutations: int
    n_folds: int
    n_radii: int
    n_jobs: int | None
    seed: int
    has_guarantee: bool
    compares: bool
    n_repeats: int = 1


@dataclass(frozen=True)
class GeneOptions:
    """Where the table of genes goes, what it has besides, and whether names link to a site."""

    table: Path | None = None
    annotation: Path | None = None
    links: str | None = None


def check_genes(path: Path | None) -> None:
    """Refuse endings of other formats before the work."""
    if path is not None and path.suffix.lower() not in (".csv", ".tsv", ".xlsx"):
        message = f"must end with .csv, .tsv or .xlsx, got {path}."
        raise typer.BadParameter(message, param_hint="--genes")


def check_extras(*, saves: bool, reports: bool) -> None:
    """Ask for the packages of what will be written before the work that makes it."""
    wanted = [("skops", "Model files need")] * saves
    wanted += [("jinja2", "The report needs"), ("vl_convert", "The report needs")] * reports
    for module, purpose in wanted:
        require(module, extra="app", purpose=purpose)


def with_reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how its file is read; it gets them together, as ``reading``."""

    @wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> None:
        from minimaxrisk.app.files import ReadOptions  # noqa: PLC0415
        from minimaxrisk.app.files.messages import COMMAND_LINE  # noqa: PLC0415

        chosen = {name: options.pop(name, None) for name in READING_OPTIONS}
        if chosen["transpose"] is not None:
            chosen["transpose"] = Transpose(chosen["transpose"]).setting
        given = {name: value for name, value in chosen.items() if value is not None}
        reading = ReadOptions(**given, spelling=COMMAND_LINE)
        if "data" not in options:  # called from Python
            command(*arguments, **options, reading=reading)
            return
        data = options.pop("data")
        if data == STDIN and options.get("write_back"):
            raise typer.BadParameter(
                "needs a file to write to, got standard input.", param_hint="--write-back"
            )
        with as_file(data) as path:
            command(*arguments, data=path, **options, reading=reading)

    del command.__annotations__["reading"]  # only type checkers know its name
    own = inspect.signature(command, eval_str=True)
    parameters = [parameter for name, parameter in own.parameters.items() if name != "reading"]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in READING_OPTIONS.items()
    ]
    # What typer looks at.
    wrapped.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped
