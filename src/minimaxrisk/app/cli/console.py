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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from minimaxrisk.checks.findings import Finding

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
    """Notes, findings of data checks, and progress.

    A note is about what was read. Notes and findings are kept, since reports and JSON hold them too. The
    conditions with ``accepted`` codes have been answered by the user.
    """

    def __init__(self, *, quiet: bool = False, accepted: Collection[str] = ()) -> None:
        self.quiet = quiet
        self.accepted = frozenset(accepted)
        self.notes: list[str] = []
        self.findings: list[Finding] = []
        self._told_at = time.monotonic()

    def note(self, text: str) -> None:
        """Something that the user should know; shown once."""
        text = printable(text)
        if text not in self.notes:
            self.notes.append(text)
            if not self.quiet:
                typer.echo(f"note: {text}", err=True)

    def report(self, findings: Iterable[Finding]) -> None:
        """Show findings, with --quiet too: a veto or condition as a warning, and a note as a note."""
        from minimaxrisk.checks.findings import NOTE, VETO, with_answers  # noqa: PLC0415

        for finding in with_answers(findings, self.accepted):
            self.findings.append(finding)
            is_note = finding.is_accepted or finding.severity == NOTE
            mark, colour = ("note", None) if is_note else ("WARNING", "yellow")
            colour = "red" if finding.severity == VETO else colour
            text = printable(f"{mark} ({finding.code}): {finding}")
            typer.secho(text, err=True, fg=colour, bold=finding.severity == VETO)

    def note_unused_answers(self) -> None:
        """Say which answers belong to no finding."""
        for code in sorted(self.accepted.difference(finding.code for finding in self.findings)):
            self.note(f"--accept {code} has no effect: there is no such finding.")

    def told(self) -> dict[str, Any]:
        """Return notes and findings for JSON."""
        return {"notes": self.notes, "findings": [finding.as_dict() for finding in self.findings]}

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
    "leave the class out": "leave the class out (of the table, or of the file of --labels)",
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
