"""The command line."""

from __future__ import annotations

from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status. An interrupt is quiet during the imports too."""
    try:
        from minimaxrisk.app.cli.app import run_command  # noqa: PLC0415
    except KeyboardInterrupt:
        return INTERRUPTED
    return run_command(arguments)
