"""Warnings of this library. All are kinds of ``UserWarning``."""

__all__ = ["CoverageWarning", "LargeFitWarning", "UninformativeRadiusWarning"]


class UninformativeRadiusWarning(UserWarning):
    """A plain number as radius that is too small for all true means at once: R* is a score, not a bound.

    ``radius="bootstrap"`` or ``"bonferroni"`` choose one with which R* is a bound; ``permutation_test`` tells
    what the score would be on noise. Whoever wants the score silences the warning with
    ``warnings.simplefilter("ignore", UninformativeRadiusWarning)``.

    See Also
    --------
    MinimaxRiskClassifier : Its parameter ``radius`` tells what each kind of radius means.
    """


class CoverageWarning(UserWarning):
    """The sample visibly breaks an assumption under which a radius rule has its coverage.

    The message says what breaks it and what would help; ``coverage_remarks_`` of the fitted classifier keeps
    that.

    See Also
    --------
    ClippedScaler : Takes the weight from outliers, which are the usual reason.
    """


class LargeFitWarning(UserWarning):
    """A fit that is about to begin takes an hour or more, or more memory than is free.

    It comes before the work, so that there is time to stop it; the message says what would help.

    See Also
    --------
    MinimaxRiskClassifier : Its parameters ``solver`` and ``copy`` are what to change.
    """
