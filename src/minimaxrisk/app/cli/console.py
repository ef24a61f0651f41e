"""Input and output of a command: notes and progress on standard error, JSON, a table from standard input.

Results go to standard output, everything else to standard error.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from minimaxrisk.exceptions import UninformativeRadiusWarning

if TYPE_CHECKING:
    from minimaxrisk.analysis.doubts import Doubt

STDIN = Path("-")
GZIP = b"\x1f\x8b"  # how its files begin
# Without a terminal, how long there is silence before a line of progress.
SECONDS_BETWEEN_LINES = 30.0


class StageOfWork:
    """The current stage of some work, with the time left where its loop reports how far it is."""

    def __init__(self, show: Callable[[str], object], name: str = "") -> None:
        self._show = show
        self.begin(name)

    def begin(self, name: str) -> None:
        """Another stage begins."""
        self._name, self._begun = name, time.monotonic()
        self._show(name)

    def advance(self, n_done: int, n_all: int) -> None:
        """Show how many pieces of the stage are done."""
        left = (time.monotonic() - self._begun) * (n_all / n_done - 1.0)
        self._show(f"{self._name}  {n_done} of {n_all}, {_duration(left)} left".lstrip())


def _duration(seconds: float) -> str:
    if seconds < 1.0:
        return "less than a second"
    if seconds < 100.0:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000.0 else f"about {seconds / 3600:.1f} hours"


class Console:
    """Notes, warnings and progress.

    A note is what was read, a warning what casts doubt on the result. Both are kept, since reports and JSON
    hold them too.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.notes: list[str] = []
        self.warnings: list[Doubt] = []
        self._told_at = time.monotonic()

    def note(self, text: str) -> None:
        """Something that the user should know; shown once."""
        text = printable(text)
        if text not in self.notes:
            self.notes.append(text)
            if not self.quiet:
                typer.echo(f"note: {text}", err=True)

    def warn(self, doubt: Doubt) -> None:
        """Something casts doubt on the result; shown with --quiet too."""
        self.warnings.append(doubt)
        mark, colour = ("WARNING", "red") if doubt.is_about_validity else ("warning", "yellow")
        typer.secho(printable(f"{mark}: {doubt}"), err=True, fg=colour, bold=doubt.is_about_validity)

    def told(self) -> dict[str, Any]:
        """Notes and warnings for JSON."""
        return {"notes": self.notes, "warnings": self.warnings}

    def say(self, text: str) -> None:
        """A line for the user that is not kept."""
        if not self.quiet:
            typer.echo(text, err=True)

    @contextmanager
    def progress(self, label: str) -> Iterator[Callable[[str], None]]:
        """A line on the terminal, or else plain lines now and then; yields the function that changes it."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda text: self._tell_now_and_then(f"{label}  {text}")
            return
        from rich.console import Console as Terminal  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        with Terminal(stderr=True).status(label, spinner="line") as status:
            # Not as markup: names of columns have brackets.
            yield lambda text: status.update(Text(f"{label}  {text}"))

    def _tell_now_and_then(self, text: str) -> None:
        now = time.monotonic()
        if now - self._told_at >= SECONDS_BETWEEN_LINES:
            self._told_at = now
            self.say(printable(text))

    @contextmanager
    def stages(self, label: str) -> Iterator[StageOfWork]:
        """The same for work in stages, whose loops report how far they are."""
        from minimaxrisk._utils.parallel import listening  # noqa: PLC0415

        with self.progress(label) as show:
            stage = StageOfWork(show)
            with listening(stage.advance):
                yield stage

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Warnings of the library are notes of the command."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            # The result itself says what a radius is worth.
            warnings.simplefilter("ignore", UninformativeRadiusWarning)
            yield
        for warning in caught:
            # Warnings of other packages are for developers.
            if issubclass(warning.category, UserWarning):
                self.note(_with_options(str(warning.message)))


# Advice to Python, and the options that do the same.
PARAMETER = re.compile(r"\b(class_weight|marginal|radius)='(\w+)'( of estimator)?")
ADVICE = {
    "MinimaxRiskKernelClassifier(": "(in Python) MinimaxRiskKernelClassifier(",
    "a number as radius": "--radius 1",
    "a smaller radius": "a smaller --radius",
    "rule='best'": "--features best",
    "minimaxrisk.permutation_test": "--permutations 199",
}


def _with_options(text: str) -> str:
    """A warning of the library with the options of the command line in place of parameters."""
    text = PARAMETER.sub(lambda found: f"--{found[1].replace('_', '-')} {found[2]}", text)
    for python, option in ADVICE.items():
        text = text.replace(f"{python} of estimator", option).replace(python, option)
    return text


def printable(text: str) -> str:
    """The text with escapes for bytes of file names that are not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def as_json(value: Mapping[str, Any]) -> str:
    """One object as JSON; numbers that are not finite become null."""
    from minimaxrisk.app.report.findings import json_ready  # noqa: PLC0415

    return json.dumps(json_ready(value), indent=2, ensure_ascii=False, allow_nan=False)


@contextmanager
def as_file(data: Path) -> Iterator[Path]:
    """The file itself, or a temporary file with the text on standard input."""
    if data != STDIN:
        yield data
        return
    if sys.stdin.isatty():
        raise typer.BadParameter("- reads standard input, and nothing is piped in.", param_hint="DATA")
    content = sys.stdin.buffer.read()
    with tempfile.TemporaryDirectory(prefix="minimaxrisk-") as folder:
        path = Path(folder, f"standard_input.csv{'.gz' * content.startswith(GZIP)}")
        path.write_bytes(content)
        yield path
