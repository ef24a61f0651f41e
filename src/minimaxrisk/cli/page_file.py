"""The file that a report goes to: a page for browsers, or a PDF that a browser prints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import typer

from minimaxrisk._utils.atomic import whole_file, write_whole

PDF = ".pdf"
PAGES = (".html", ".htm", "")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
BROWSER_FILES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
QUIETLY = (
    *("--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-pdf-header-footer"),
)
FIGURES_MS = 10_000  # of the page's own clock, which runs as fast as it can, for scripts to draw
LONGEST = 180  # seconds: a page is printed in a few


def check_page_file(path: Path | None, *, option: str) -> None:
    """Refuse, before the work, endings of other formats, and a PDF where nothing can print one."""
    if path is None:
        return
    ending = path.suffix.lower()
    if ending == PDF and _browser() is None:
        raise typer.BadParameter(
            f"{path} needs Chromium, Chrome or Edge to print it, and none was found; write report.html and "
            "print it from any browser, or install Chromium.",
            param_hint=option,
        )
    if ending not in (*PAGES, PDF) and (path.is_file() or not path.exists()):
        raise typer.BadParameter(
            f"a report is a page (.html) or a PDF (.pdf), got {path}.", param_hint=option
        )


def write_page(path: Path, html: str) -> None:
    """Whole or not at all."""
    if path.suffix.lower() == PDF:
        _print(path, html)
    else:
        write_whole(path, html)


def _browser() -> str | None:
    found = (shutil.which(name) for name in BROWSERS)
    files = (name for name in BROWSER_FILES if os.access(name, os.X_OK))
    return next((name for name in (*found, *files) if name), None)


def _print(path: Path, html: str) -> None:
    browser = _browser()
    assert browser is not None  # checked before the work
    with whole_file(path) as partial, tempfile.TemporaryDirectory(prefix="minimaxrisk-") as folder:
        page, printed = Path(folder, "report.html"), Path(folder, "report.pdf")
        page.write_text(html, encoding="utf-8")
        command = [
            browser,
            *QUIETLY,
            f"--user-data-dir={folder}/browser",
            f"--virtual-time-budget={FIGURES_MS}",
        ]
        if sys.platform == "linux" and os.geteuid() == 0:
            command.append("--no-sandbox")  # which Chromium has for other users only
        command += [f"--print-to-pdf={printed}", page.as_uri()]
        try:
            subprocess.run(command, check=False, capture_output=True, timeout=LONGEST)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RuntimeError(_failed(path, browser, type(error).__name__)) from error
        if not printed.exists() or not printed.read_bytes().startswith(b"%PDF"):
            raise RuntimeError(_failed(path, browser, "it printed nothing"))
        shutil.copyfile(printed, partial)


def _failed(path: Path, browser: str, reason: str) -> str:
    return f"{path} could not be written: {browser} did not print the page ({reason}); write an .html file."
