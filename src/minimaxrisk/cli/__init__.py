"""The command line."""

from minimaxrisk.cli.app import main

__all__ = ["main"]
