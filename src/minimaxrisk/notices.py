"""Warnings about what a bound is worth, and a way to keep them out of the library's own loops."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class UninformativeRadiusWarning(UserWarning):
    """More features than samples and a plain number as radius: R* is a score, not a bound on the error."""


class CoverageWarning(UserWarning):
    """The sample visibly breaks an assumption under which a radius rule has its coverage."""


@contextmanager
def without_radius_warnings() -> Iterator[None]:
    """For loops of fits whose caller has been told already, or knows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeRadiusWarning)
        warnings.simplefilter("ignore", CoverageWarning)
        yield
