"""The command line, which needs the extra ``app``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

FAILED, INTERRUPTED = 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status. Imports are part of it: an interrupt is quiet there too."""
    try:
        import rich  # noqa: F401, PLC0415

        from minimaxrisk.app.cli.app import run_command  # noqa: PLC0415
    except KeyboardInterrupt:
        return INTERRUPTED
    except ModuleNotFoundError as error:
        sys.stderr.write(
            f"minimaxrisk: The command needs the package {error.name!r}, which is not installed; "
            'install it with: pip install "minimaxrisk[app]"\n'
        )
        return FAILED
    return run_command(arguments)
