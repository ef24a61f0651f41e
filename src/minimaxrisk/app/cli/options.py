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

from minimaxrisk.app.cli.console import as_file
from minimaxrisk.uncertainty import NAMED_RULES

if TYPE_CHECKING:
    from minimaxrisk.app.files import ReadOptions
    from minimaxrisk.app.report.gathering import Wanted

PERMUTATIONS, MOST_PERMUTATIONS = 199, 10_000_000  # of a report
# Options of one heading of --help.
together_option = partial(typer.Option, rich_help_panel="Samples that belong together")
reporting_option = partial(typer.Option, rich_help_panel="What a report computes")


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
class Outputs:
    """Where the results go; ``annotation`` and ``links`` are about the genes in them."""

    report: Path | None
    genes: Path | None
    annotation: Path | None
    links: str | None
    model: Path | None = None
    as_json: bool = False


def n_permutations(text: str | int) -> int:
    """A count as people write it, also 1e4; more than memory holds, or anybody waits for, is refused."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if number < 0.0 or not number.is_integer():
        raise typer.BadParameter(f"expected a whole number such as 199, or 0 for none, got {text!r}.")
    if number > MOST_PERMUTATIONS:
        most = f"at most {MOST_PERMUTATIONS:,} permutations; 999 resolve p ≥ 0.001"
        raise typer.BadParameter(f"expected {most}, got {number:.3g}.")
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


def _checked(is_right: Callable[[Any], bool], expected: str) -> Callable[[Any], Any]:
    """A callback that refuses other values."""

    def check(value: Any) -> Any:
        if not is_right(value):
            raise typer.BadParameter(f"expected {expected}, got {value:g}.")
        return value

    return check


_refuse_zero = _checked(lambda value: value != 0, "a number of processes, or -1 for one per core")
_refuse_one = _checked(lambda value: value != 1, "at least 2 folds, or 0 for none")
probability = _checked(lambda value: 0.0 < value < 1.0, "a probability such as 0.95")


Data: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Table with a line per sample: .csv .tsv .txt (also .gz), .parquet, .xlsx, .npz, .svm .svmlight "
        ".libsvm, .h5ad; .gct and GEO series matrices with genes in rows; - for standard input.",
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
OnlyUsed: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--only-used",
        help="Require only the columns that have a coefficient in the model; others may be absent.",
    ),
]
Accept: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CODE",
        help="Answer a condition of the verdict, by the code in its warning; may be repeated: "
        "--accept dominant-feature",
    ),
]
Strict: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refuse samples that are not on the scale of the training data, instead of a warning.",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")]

Groups: TypeAlias = Annotated[
    str | None,
    together_option(
        metavar="COLUMN",
        help="Samples with the same entry are of one patient: they stay together in folds, "
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
        help="Write all selected features with coefficients, means and tests: --genes genes.csv, or .tsv",
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


Value: TypeAlias = tuple[Any, Any, dict[str, Any]]  # its type, its default, and what else typer is told


def _value(kind: Any, metavar: str | None = None, default: Any = None, **more: Any) -> Value:
    return kind, default, {"metavar": metavar, **more}


def _shared(value: Value, words: str, *names: str, panel: str | None = None) -> inspect.Parameter:
    """An option of several commands, which still needs its name."""
    kind, default, more = value
    option = typer.Option(default, *names, help=words, rich_help_panel=panel, **more)
    return inspect.Parameter("option", inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind)


_reported = partial(_shared, panel="What a report computes")
_read = partial(_shared, panel="How the file is read")
_fitted = partial(_shared, panel="The classifier")
COLUMN, NAME, TEXT = (_value(str | None, metavar) for metavar in ("COLUMN", "NAME", "TEXT"))
FLAG = _value(bool | None)

REPORTING_OPTIONS = {
    "guarantee": _reported(
        _value(bool, default=True),
        "Bound the error for new samples, for which half of the samples are fitted once more: --no-guarantee",
        "--guarantee/--no-guarantee",
    ),
    "prevalence": _reported(
        _value(list[str] | None, "CLASS=SHARE"),
        "How common a class is where the classifier will be used, if not as in the data, such as cases and "
        "controls; may be repeated, one class may be missing: --prevalence ill=0.05",
    ),
    "folds": _reported(
        _value(int, "N", 10, min=0, callback=_refuse_one),
        "Folds of the cross-validation and of the guarantee's comparisons, 0 for none: --folds 5",
    ),
    "repeats": _reported(
        _value(int, "N", 1, min=1, max=100),
        "How often the folds are drawn, to see which samples are always misclassified: --repeats 5",
    ),
    "radii": _reported(
        _value(int, "N", 5, min=0, max=1000), "Number of radii at which R* is shown, 0 for none: --radii 20"
    ),
    "compare": _reported(
        _value(bool, default=False),
        "Fit other classifiers on the same folds, random forests among them, and compare the errors; takes "
        "seconds to minutes.",
        "--compare",
    ),
    "jobs": _shared(
        _value(int | None, "N", callback=_refuse_zero), "Number of processes, -1 for one per core: --jobs -1"
    ),
    "seed": _shared(
        _value(int, "N", 0, min=0, max=2**32 - 1), "Seed of permutations, folds and bootstrap: --seed 1"
    ),
}
# What ``Wanted`` calls them.
WANTED = {
    "guarantee": "guarantee",
    "prevalence": "prevalence",
    "folds": "n_folds",
    "repeats": "n_repeats",
    "radii": "n_radii",
    "compare": "has_rivals",
    "jobs": "n_jobs",
    "seed": "random_state",
}
READING_OPTIONS = {
    "samples": _read(COLUMN, "Column with the names of the samples: --samples patient"),
    "transpose": _read(
        FLAG,
        "Whether features are in rows, samples in columns; by default the table is turned where it is "
        "obvious.",
        "--transpose/--no-transpose",
    ),
    "delimiter": _read(
        TEXT, "Character between cells, detected by default: --delimiter ';' or --delimiter tab"
    ),
    "header": _read(
        FLAG,
        "Whether the first line names the columns, detected by default; without names they are column_1, ...",
        "--header/--no-header",
    ),
    "sheet": _read(NAME, "Sheet of a workbook, by default the first: --sheet Samples"),
    "labels_sheet": _read(
        NAME, "Sheet with the labels, of the workbook DATA or of --labels: --labels-sheet Patients"
    ),
    "skip_lines": _read(
        _value(int | None, "N", min=0, max=1_000_000),
        "Lines above the table to leave out, such as a title: --skip-lines 3",
    ),
    "duplicates": _read(
        _value(Literal["mean", "max", "error"] | None),
        "What features of the same name become, such as probes of one gene: their mean or their maximum; "
        "refused by default: --duplicates mean",
    ),
    "decimal": _read(
        _value(Literal[".", ","] | None),
        "Decimal sign of a text file, detected by default: --decimal ,",
    ),
    "thousands": _read(
        _value(Literal[".", ","] | None),
        "What separates thousands in a text file, detected by default: --thousands .",
    ),
    "layer": _read(NAME, "Layer of an .h5ad file, variable of an .npz file: --layer logcounts"),
}
RULES = " or ".join(NAMED_RULES)
FITTING_OPTIONS = {
    "model": _fitted(
        _value(Literal["ensemble", "single"] | None),
        "ensemble: 50 classifiers trained on subsamples, usually with the lowest error rate; the default. "
        "single: one classifier on few features, whose R* is certified; the default with --features: "
        "--model single",
    ),
    "features": _fitted(
        _value(str | None, "few|best|N", parser=features),
        "Choose the radius for the features: the fewest whose left-out error is within one standard error of "
        "the smallest, those with the smallest, or at most N: --features few",
    ),
    "radius": _fitted(
        _value(str, "S|RULE", "1"),
        f"Radius of the uncertainty set: a number of standard errors, or {RULES} for one that contains all "
        "true means with the given confidence, where members of an ensemble keep 1: --radius bootstrap",
    ),
    "confidence": _fitted(
        _value(float, "P", 0.95, callback=probability),
        "Confidence of the named radii and of the guarantee: --confidence 0.9",
    ),
    "scale": _fitted(
        _value(Literal["standard", "clip", "none"], default="standard"),
        "What is done to the columns before: centred, at unit variance; centred at the median and clipped at "
        "two robust standard deviations, which tames outliers; or nothing: --scale clip",
    ),
    "solver": _fitted(
        _value(
            Literal["auto", "interior-point", "first-order", "constraint-generation", "full-lp"],
            default="auto",
        ),
        "Algorithm; all find the same optimum: --solver full-lp",
    ),
    "coding": _fitted(
        _value(Literal["auto", "signed", "one-hot"], default="auto"),
        "How features are combined with labels: --coding one-hot",
    ),
    "marginal": _fitted(
        _value(Literal["free", "empirical"], default="free"),
        "What the worst case may change: instances and labels, or with empirical the labels alone: "
        "--marginal empirical",
    ),
    "class_weight": _fitted(
        _value(Literal["balanced"] | None), "Give all classes the same weight: --class-weight balanced"
    ),
}
GROUPS = {"fitting": FITTING_OPTIONS, "wanted": REPORTING_OPTIONS, "reading": READING_OPTIONS}


def with_shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its parameters ``fitting``, ``wanted`` and ``reading``.

    Each stands for several options, which typer sees. The command gets a dictionary, a ``Wanted`` and a
    ``ReadOptions``.
    """

    @wraps(command)
    def wrapped(**options: Any) -> None:
        for name, make in (("fitting", dict), ("wanted", _wanted), ("reading", _reading)):
            if name in own.parameters:
                shared = GROUPS[name].items()
                options[name] = make({key: options.pop(key, one.default.default) for key, one in shared})
        with as_file(options.pop("data")) as path:
            command(data=path, **options)

    for name in GROUPS:
        command.__annotations__.pop(name, None)  # only type checkers know these names
    own = inspect.signature(command, eval_str=True)
    parameters = []
    for name, parameter in own.parameters.items():
        shared = GROUPS.get(name, {name: parameter})
        parameters += [one.replace(name=key) for key, one in shared.items()]
    # What typer looks at.
    wrapped.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def shares(texts: Sequence[str]) -> dict[str, float]:
    """Names of classes and their shares, as ``ill=0.05``."""
    found = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            share = float(number)
        except ValueError:
            share = 0.0
        if not (name and 0.0 < share < 1.0):
            message = f"expected a class and its share, such as ill=0.05, got {text!r}."
            raise typer.BadParameter(message, param_hint="--prevalence")
        found[name] = share
    return found


def _reading(chosen: dict[str, Any]) -> ReadOptions:
    from minimaxrisk.app.files import ReadOptions  # noqa: PLC0415
    from minimaxrisk.app.files.messages import COMMAND_LINE  # noqa: PLC0415

    given = {name: value for name, value in chosen.items() if value is not None}
    return ReadOptions(**given, spelling=COMMAND_LINE)


def _wanted(chosen: dict[str, Any]) -> Wanted:
    from minimaxrisk.app.report.gathering import Wanted  # noqa: PLC0415

    if chosen["compare"] and chosen["folds"] == 0:
        message = "needs folds to compare on; leave out --folds 0."
        raise typer.BadParameter(message, param_hint="--compare")
    if chosen["prevalence"] and not chosen["guarantee"]:
        message = "is about the bound for new samples; leave out --no-guarantee."
        raise typer.BadParameter(message, param_hint="--prevalence")
    chosen["prevalence"] = shares(chosen["prevalence"] or ()) or None
    return Wanted(**{WANTED[name]: value for name, value in chosen.items()})
