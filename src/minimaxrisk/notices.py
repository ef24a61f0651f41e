"""Warnings about what a bound is worth, and a way to keep them out of the library's own loops."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning


class UninformativeRadiusWarning(UserWarning):
    """More features than samples and a plain number as radius: R* is a score, not a bound on the error."""


class CoverageWarning(UserWarning):
    """The sample visibly breaks an assumption under which a radius rule has its coverage."""


@contextmanager
def quiet_fits() -> Iterator[None]:
    """For null fits, whose convergence is their caller's business too."""
    with without_radius_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@contextmanager
def without_radius_warnings() -> Iterator[None]:
    """For loops of fits whose caller has been told already, or knows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeRadiusWarning)
        warnings.simplefilter("ignore", CoverageWarning)
        yield
