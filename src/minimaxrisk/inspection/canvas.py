"""What the displays share: their base class, colours and axes, and checks of what they are made from.

No other module imports matplotlib, and this one imports it when it draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arrays import DataMatrix, IntArray
from minimaxrisk.samples.validation import check_new_data

# Okabe and Ito's colours, which most colour-blind people tell apart.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, VERMILION, YELLOW = "#56B4E9", "#D55E00", "#F0E442"
PALE, GREY, BLACK = "0.8", "0.45", "0.1"
CLASS_COLOURS = (ORANGE, BLUE, GREEN, PURPLE, SKY, VERMILION, YELLOW)
# With more classes than colours, the colours are repeated with the next hatch.
HATCHES = ("", "////", "....", "xxxx")

# Inches: a row of a bar chart with its label, and the title, axis and margins around the rows.
ROW, AROUND_ROWS = 0.23, 1.3
# Height of axes with room for a legend above the data, over that of the data.
LEGEND_ROOM = 1.3


@dataclass(eq=False, kw_only=True)
class Display:
    """Numbers that can be drawn; a subclass has a title and draws its artists."""

    _size: ClassVar[tuple[float, float]] = (6.4, 4.4)  # width and height in inches
    _grid: ClassVar[str] = "y"  # the axis with grid lines

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a figure of its own; needs the extra ``plot``.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        self
            The display, with the axes and the artists as attributes.
        """
        if ax is None:
            # Constrained, so that long names of features are not cut off.
            self.figure_, self.ax_ = _pyplot().subplots(figsize=self._figure_size(), layout="constrained")
        else:
            self.figure_, self.ax_ = ax.figure, ax
        self._draw(self.ax_)
        self.ax_.set_title(self._title(), loc="left", fontsize="medium")  # fits over narrow axes
        self.ax_.spines[["top", "right"]].set_visible(False)
        if self._grid:
            self.ax_.grid(axis=self._grid, color="0.92")
            self.ax_.set_axisbelow(True)
        return self

    def _figure_size(self) -> tuple[float, float]:
        return self._size

    def _title(self) -> str:
        raise NotImplementedError

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError


@dataclass(eq=False, kw_only=True)
class RowsDisplay(Display):
    """A display with a row per feature, the first one on top; its figure grows with the rows."""

    _grid: ClassVar[str] = "x"

    names: list[str]

    def _figure_size(self) -> tuple[float, float]:
        return self._size[0], AROUND_ROWS + ROW * max(len(self.names), 6)

    def _label_rows(self, ax: Any) -> None:
        ax.set_yticks(range(len(self.names)), labels=self.names)
        ax.set_ylim(max(len(self.names), 1) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)


def class_style(position: int) -> dict[str, Any]:
    """Colour and hatch of the class at this position."""
    repeats, colour = divmod(position, len(CLASS_COLOURS))
    return {
        "color": CLASS_COLOURS[colour],
        "hatch": HATCHES[repeats % len(HATCHES)],
        "edgecolor": "white",  # of the hatch; a border would hide short bars
        "linewidth": 0.0,
    }


def add_legend(ax: Any, **options: Any) -> None:
    """A legend that stays readable over lines that run behind it."""
    style = {"fontsize": "small", "title_fontsize": "small", "alignment": "left", "edgecolor": "none"}
    ax.legend(framealpha=0.9, **style, **options)


def leave_room_for_legend(ax: Any) -> None:
    """Start at zero, and end well above what has been drawn."""
    ax.set_ylim(0.0, LEGEND_ROOM * ax.get_ylim()[1])


def leave_room_above(ax: Any, losses: Any) -> None:
    """Room for a legend; an error begins at zero, minus a score need not."""
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom if np.min(losses) < 0.0 else 0.0, top + 0.3 * (top - bottom))


def loss_label_of(model: Any) -> str:
    """What the losses of a cross-validation are."""
    is_error = getattr(model, "scoring", None) is None
    return "error on left-out samples" if is_error else "minus the score on left-out samples"


def plot_n_features(ax: Any, x: Any, n_features: Any, *, label: str) -> tuple[Any, Any]:
    """Numbers of features behind the rest, with a scale on the right; returns its axes and the line."""
    axes = ax.twinx()
    (line,) = axes.plot(
        x, n_features, color=GREY, linestyle=":", marker="s", markersize=3, label="features (right)"
    )
    axes.set_ylabel(label, color=GREY)
    axes.tick_params(axis="y", colors=GREY)
    axes.yaxis.get_major_locator().set_params(integer=True)
    leave_room_for_legend(axes)
    axes.spines[["top", "left"]].set_visible(False)
    ax.set_zorder(axes.get_zorder() + 1)
    ax.patch.set_visible(False)
    return axes, line


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ImportError as error:
        raise ImportError(
            f"The displays need the package 'matplotlib', which could not be imported ({error}); "
            'install it with: pip install "minimaxrisk[plot]"'
        ) from error
    return plt


def fitted_classifier(
    model: Any, attributes: tuple[str, ...], expected: str = "a fitted MinimaxRiskClassifier"
) -> Any:
    """The classifier, or the last step of a pipeline, if it is fitted and has the attributes."""
    classifier = last_step(model)
    check_fitted("model", classifier, expected, attributes)
    return classifier


def check_fitted(argument: str, estimator: Any, expected: str, attributes: tuple[str, ...]) -> None:
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    check_attributes(argument, estimator, expected, attributes)


def check_attributes(argument: str, value: Any, expected: str, attributes: tuple[str, ...]) -> None:
    """Refuse an object that lacks an attribute."""
    missing = [name for name in attributes if not hasattr(value, name)]
    if missing:
        raise TypeError(
            f"{argument} must be {expected}, which has the attributes {', '.join(attributes)}; got "
            f"{type(value).__name__} without {', '.join(missing)}."
        )


def by_importance(estimator: Any) -> IntArray:
    """Selected columns, the most important first."""
    selected = np.asarray(estimator.selected_features_)
    importance = np.asarray(estimator.feature_importances_)[selected]
    return selected[np.argsort(-importance, kind="stable")]


def last_step(model: Any) -> Any:
    """A classifier, or the one at the end of a pipeline."""
    return model[-1] if isinstance(model, Pipeline) else model


def seen_by(model: Any, X: Any) -> DataMatrix:
    """The values that the classifier saw, as an array or a CSR matrix.

    X is an array, a sparse matrix or a data frame with the columns of the training data. The steps of a
    pipeline before the classifier are applied.
    """
    if isinstance(model, Pipeline) and len(model) > 1:
        X = model[:-1].transform(X)
    last = last_step(model)
    # An object with the right attributes will do, and it need not be an estimator.
    return check_new_data(last, X) if hasattr(last, "fit") else check_array(X, accept_sparse="csr")


def names_of_columns(model: Any, given: Any = None) -> list[str] | None:
    """Names of the columns that the classifier saw: those given, else those known, else None.

    For a pipeline ``given`` may name the columns of the pipeline, from which its steps make the names, or
    those of the classifier.
    """
    last = last_step(model)
    n_features = int(last.n_features_in_)
    if isinstance(model, Pipeline) and len(model) > 1:
        n_before = int(model.n_features_in_)
        is_of_pipeline = given is None or len(given) == n_before
        try:
            before = None if given is None else np.asarray(given, dtype=object)
            made = model[:-1].get_feature_names_out(before)
        except (AttributeError, ValueError):
            made = None  # a step that names nothing
        if is_of_pipeline and made is not None and (given is not None or hasattr(model, "feature_names_in_")):
            return [str(name) for name in made]
        if given is not None and len(given) != n_features:
            raise ValueError(
                f"feature_names must hold {n_before} names, of the columns of the pipeline, or {n_features}, "
                f"of those that its classifier saw, got {len(given)}."
            )
    if given is not None:
        check_number_of_names("feature_names", given, n_features)
    known = getattr(last, "feature_names_in_", None) if given is None else given
    return None if known is None else [str(name) for name in known]


def feature_names_of(model: Any, columns: IntArray, given: Any = None) -> list[str]:
    """Names of the columns: those given, else those that the model knows, else their numbers."""
    known = names_of_columns(model, given)
    return [f"column {j}" if known is None else known[j] for j in columns]


def check_number_of_names(argument: str, names: Any, expected: int) -> None:
    """Refuse too few or too many names."""
    if len(names) != expected:
        raise ValueError(f"{argument} must hold {expected} names, got {len(names)}.")
