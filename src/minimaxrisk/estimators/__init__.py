"""The scikit-learn estimators: shells that check, pose, solve and store."""

from typing import NoReturn


def __getattr__(name: str) -> NoReturn:
    if name == "MinimaxRiskClassifier":
        # Only pickles of early versions look for it here. Pickle would hide the words of an AttributeError.
        raise ImportError(
            "models pickled by minimaxrisk 0.1 cannot be loaded by this version: fit the model again, and "
            "keep it with minimaxrisk.app.storage.save_model."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
