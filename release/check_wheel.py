"""Install the wheel alone in empty environments and use it there, as somebody does who has no source tree.

    python release/check_wheel.py dist --python python3.11 --python python3.13

For each interpreter an environment with the newest dependencies, and one with the oldest of tests/oldest.txt
where these have wheels for it. First without extras: the README example, and the
line by which the command says what to install. Then with the extra ``app``: the demo, and a table of our own.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST = ROOT / "tests" / "oldest.txt"
WITH_OLDEST = (3, 12)  # the last Python for which NumPy 1.26 has wheels
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
TABLE = "sample;diagnosis;TP53;BRCA1;MYC\n" + "".join(
    f"s{i};{'ill' if i % 2 else 'well'};{5 + 3 * (i % 2) + i % 5 / 10:.1f};{i * 7 % 11};{i * 5 % 13}\n"
    for i in range(40)
)


class Environment:
    """A virtual environment in a folder, from which nothing of the source tree can be seen."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        self.work = folder / "work"
        subprocess.run([python, "-m", "venv", folder / "env"], check=True)
        self.work.mkdir()
        self.programs = folder / "env" / SCRIPTS
        # Caches of a user's home would hide what a first run must do itself.
        home = {"HOME": str(folder), "USERPROFILE": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
        hidden = {"PYTHONPATH", "PYTHONHOME", "MINIMAXRISK_DATA", "VIRTUAL_ENV"}
        self.environ = {key: value for key, value in os.environ.items() if key not in hidden}
        self.environ["PATH"] = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        self.outside = self.environ | home

    def install(self, *arguments: object) -> None:
        line = [self.programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*line, *map(str, arguments)], check=True, cwd=self.work, env=self.environ)

    def run(self, *line: str, status: int = 0) -> str:
        """What a command prints, which must end with the given status."""
        program = self.programs / (line[0] + (".exe" if os.name == "nt" else ""))
        done = subprocess.run(
            [program, *line[1:]],
            cwd=self.work,
            env=self.outside,
            text=True,
            encoding="utf-8",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode != status:
            raise SystemExit(
                f"{' '.join(line)} ended with {done.returncode}, expected {status}:\n{done.stdout}"
            )
        return done.stdout


def readme_example() -> tuple[str, str]:
    """The ten lines of the README, and what they print."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, output = (
        re.findall(rf"```{kind}\n(.*?)```", text, flags=re.DOTALL)[0] for kind in ("python", "text")
    )
    return code, output


def check(wheel: Path, python: str, constraint: Path | None, folder: Path) -> str:
    """Raise SystemExit where something is wrong; return the versions it was right with."""
    environment = Environment(folder, python)
    limits = [] if constraint is None else ["--constraint", constraint]
    environment.install(*limits, wheel)
    version = wheel.name.split("-")[1]
    expect(environment.run("minimaxrisk", "--version", status=1), 'pip install "minimaxrisk[app]"')
    code, output = readme_example()
    (environment.work / "example.py").write_text(code, encoding="utf-8")
    expect(environment.run("python", "example.py"), output.splitlines()[1])
    (environment.work / "own.csv").write_text(TABLE, encoding="utf-8")
    fit = ("minimaxrisk", "fit", "own.csv", "--target", "diagnosis", "--out", "model.skops")
    environment.install(*limits, f"{wheel}[app]")
    expect(environment.run("python", "-m", "minimaxrisk", "--version"), f"minimaxrisk {version}")
    expect(environment.run("minimaxrisk", "demo"), "Open the report in a browser")
    environment.run(*fit, "--report", "report.html")
    environment.run("minimaxrisk", "verify", "model.skops", "own.csv")
    for page in ("report.html", "minimaxrisk-demo/report.html"):
        expect((environment.work / page).read_text(encoding="utf-8"), "</html>")
    names = ("numpy", "scipy", "scikit-learn", "highspy")
    script = f"from importlib.metadata import version; print(*map(version, {names}))"
    found = environment.run("python", "-c", script).split()
    return ", ".join(f"{name} {number}" for name, number in zip(names, found, strict=True))


def expect(text: str, part: str) -> None:
    if part not in text:
        raise SystemExit(f"expected {part!r} in:\n{text}")


def version_of(python: str) -> tuple[int, ...]:
    line = [python, "-c", "import sys; print(*sys.version_info[:3])"]
    return tuple(map(int, subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dist", type=Path, help="the folder with the wheel")
    parser.add_argument("--python", action="append", help="an interpreter; this one unless told")
    arguments = parser.parse_args()
    (wheel,) = arguments.dist.resolve().glob("*.whl")
    for python in arguments.python or [sys.executable]:
        found = version_of(python)
        for name, constraint in (("oldest", OLDEST), ("newest", None)):
            shown = f"Python {'.'.join(map(str, found))}, {name} dependencies"
            if constraint is not None and found[:2] > WITH_OLDEST:
                sys.stdout.write(f"{shown}: left out, NumPy's oldest supported release has no wheel for it\n")
                continue
            began = time.monotonic()
            folder = Path(tempfile.mkdtemp(prefix="minimaxrisk-wheel-"))
            versions = check(wheel, python, constraint, folder)
            sys.stdout.write(f"{shown}: works with {versions} ({time.monotonic() - began:.0f} s)\n")
            sys.stdout.flush()
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
