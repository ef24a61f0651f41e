"""Warnings of this library. All are kinds of ``UserWarning``."""

__all__ = [
    "CoverageWarning",
    "LargeFitWarning",
    "OutOfBagWarning",
    "UnderfitWarning",
]


class CoverageWarning(UserWarning):
    """The sample visibly breaks an assumption under which a radius rule has its coverage.

    The message says which one and what would help; ``coverage_remarks_`` of the fitted classifier keeps it.

    See Also
    --------
    ClippedScaler : Limits outliers, which are the usual reason.
    """


class LargeFitWarning(UserWarning):
    """A fit will take an hour or more, or more memory than is free.

    It is issued before the work, so that you can stop it; the message says what would help.

    See Also
    --------
    MinimaxRiskClassifier : Change its parameters ``solver`` and ``copy``.
    """


class OutOfBagWarning(UserWarning):
    """Some samples were seen by all members of an ensemble, and no member can judge them.

    ``oob_error_`` is about the other samples alone; the message says how many are missing, and what helps.

    See Also
    --------
    MinimaxRiskEnsembleClassifier : Change its parameters ``n_estimators`` and ``subsample``.
    """


class UnderfitWarning(UserWarning):
    """A class is never predicted on the training data, or the model is no better than the most common class.

    The message says which class and what to try.

    See Also
    --------
    MinimaxRiskKernelClassifier : With ``kernel="rbf"`` it finds a class that lies between two others.
    """
