"""Warnings and errors of this library. Warnings are kinds of ``UserWarning``."""

__all__ = [
    "CoverageWarning",
    "FarFromZeroWarning",
    "FewSamplesWarning",
    "LargeFitWarning",
    "OutOfBagWarning",
    "TooFewSamplesError",
    "UnderfitWarning",
]


class CoverageWarning(UserWarning):
    """The sample visibly breaks an assumption under which a radius rule has its coverage.

    The message says which one and what would help; ``coverage_remarks_`` of the fitted classifier keeps it.

    See Also
    --------
    ClippedScaler : Limits outliers, which are the usual reason.
    """


class FarFromZeroWarning(UserWarning):
    """A column that the model uses is so far from zero that predictions lose digits.

    ``coef_`` and ``intercept_`` are in the units of the column. If its mean is more than a million times its
    standard deviation, as of dates in nanoseconds, ``coef_ @ x`` and ``intercept_`` cancel, and ``verify``
    cannot confirm the rounded rule. The message names the column: subtract a constant, put ``StandardScaler``
    before, or leave the column out, because dates and identifiers are not measurements.

    Attributes
    ----------
    code : str
        ``"far-from-zero"``, for programs.

    See Also
    --------
    MinimaxRiskClassifier : Its attributes ``coef_`` and ``intercept_``.
    """

    code = "far-from-zero"


class FewSamplesWarning(UserWarning):
    """A class has a single sample or group, so that predictions of this class are unreliable.

    The message names the class. Nothing shows how far the features of other samples of this class may differ,
    and cross-validation cannot estimate its error rate.

    Attributes
    ----------
    code : str
        ``"few-samples"``, for programs.

    See Also
    --------
    MinimaxRiskClassifier : Its parameter ``moderation`` is about such classes.
    """

    code = "few-samples"


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


class TooFewSamplesError(ValueError):
    """Samples or groups are too few to leave some of them out, or to fit a model on those that remain.

    The message says what would help. All other errors of arguments are plain ``ValueError``.

    See Also
    --------
    error_bound : Holds out half of the samples.
    PredictionSets : Leaves out one fold after the other.
    """
