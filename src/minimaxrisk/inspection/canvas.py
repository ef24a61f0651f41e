"""Axes to draw on and what all displays look like; the only module that imports matplotlib, when drawing.

What the displays are made from, checked.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

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
# Where there are more classes than colours, those come again with the next hatch.
HATCHES = ("", "////", "....", "xxxx")

# Inches: a row of a bar chart with its label, and the title, axis and margins around the rows.
ROW, AROUND_ROWS = 0.23, 1.3
# Height of axes with room for a legend above the data, over that of the data.
LEGEND_ROOM = 1.3


def figure_and_axes(ax: Any, *, width: float = 6.4, height: float = 4.4) -> tuple[Any, Any]:
    """The given axes and their figure, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax.figure, ax
    # Constrained, so that long names of features are not cut off.
    return _pyplot().subplots(figsize=(width, height), layout="constrained")


def height_of_rows(n_rows: int) -> float:
    """Of a figure in which so many bars lie one above the other."""
    return AROUND_ROWS + ROW * max(n_rows, 6)


def class_style(position: int) -> dict[str, Any]:
    """Colour and hatch of the class at this position."""
    repeats, colour = divmod(position, len(CLASS_COLOURS))
    return {
        "color": CLASS_COLOURS[colour],
        "hatch": HATCHES[repeats % len(HATCHES)],
        "edgecolor": "white",  # of the hatch; a border would hide short bars
        "linewidth": 0.0,
    }


def label_rows(ax: Any, names: list[str]) -> None:
    """Name the rows of horizontal bars, the first one on top."""
    ax.set_yticks(range(len(names)), labels=names)
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def finish(ax: Any, *, title: str, grid: str) -> None:
    """A title that fits over narrow axes, a light grid behind everything, no frame on top and right."""
    ax.set_title(title, loc="left", fontsize="medium")
    ax.grid(axis=grid, color="0.92")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def add_legend(ax: Any, **what: Any) -> None:
    """A legend that stays readable over lines that run behind it."""
    ax.legend(
        fontsize="small", title_fontsize="small", alignment="left", edgecolor="none", framealpha=0.9, **what
    )


def leave_room_for_legend(ax: Any) -> None:
    """Start at zero, and end well above what has been drawn."""
    ax.set_ylim(0.0, LEGEND_ROOM * ax.get_ylim()[1])


def plot_n_features(ax: Any, x: Any, n_features: Any, *, label: str) -> tuple[Any, Any]:
    """Numbers of features behind the rest, with a scale on the right; returns its axes and the line."""
    axes = ax.twinx()
    (line,) = axes.plot(
        x, n_features, color=GREY, linestyle=":", marker="s", markersize=3, label="features (right)"
    )
    axes.set_ylabel(label, color=GREY)
    axes.tick_params(axis="y", colors=GREY)
    integer_ticks(axes.yaxis)
    leave_room_for_legend(axes)
    axes.spines[["top", "left"]].set_visible(False)
    ax.set_zorder(axes.get_zorder() + 1)
    ax.patch.set_visible(False)
    return axes, line


def logarithmic(ax: Any) -> None:
    """A logarithmic axis of radii with plain numbers at 1, 2 and 5 of each decade.

    matplotlib names all ticks of an axis that spans about a decade, in powers of ten, which then touch.
    """
    ax.set_xscale("log")
    ax.xaxis.get_major_locator().set_params(subs=(1.0, 2.0, 5.0))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter("")


def integer_ticks(axis: Any) -> None:
    """Ticks at whole numbers, for counts."""
    axis.get_major_locator().set_params(integer=True)


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ImportError as error:
        raise ImportError(
            f"The displays need the package 'matplotlib', which could not be imported ({error}); "
            'install it with: pip install "minimaxrisk[plot]"'
        ) from error
    return plt


def check_fitted(argument: str, estimator: Any, expected: str, attributes: tuple[str, ...]) -> None:
    """Refuse what is not fitted, and what lacks an attribute after fit."""
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    check_attributes(argument, estimator, expected, attributes)


def check_attributes(argument: str, value: Any, expected: str, attributes: tuple[str, ...]) -> None:
    """Refuse what lacks an attribute."""
    missing = [name for name in attributes if not hasattr(value, name)]
    if missing:
        raise TypeError(
            f"{argument} must be {expected}, which has the attributes {', '.join(attributes)}; got "
            f"{type(value).__name__} without {', '.join(missing)}."
        )


def check_limit(argument: str, value: Any) -> int:
    """How many bars at most."""
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(
            f"{argument} must be an integer of at least 1, how many bars to draw; got {value!r}."
        )
    return int(value)


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

    From an array, a sparse matrix or a data frame, whose columns must be those of the training data; the
    steps of a pipeline before the classifier are applied.
    """
    if isinstance(model, Pipeline) and len(model) > 1:
        X = model[:-1].transform(X)
    last = last_step(model)
    # Models from elsewhere need no more than attributes.
    return check_new_data(last, X) if hasattr(last, "fit") else check_array(X, accept_sparse="csr")


def names_of_columns(model: Any, given: Any = None) -> list[str] | None:
    """Names of the columns that the classifier saw: from those given, else those known; None without any.

    For a pipeline ``given`` may name its own columns, from which the steps make the names, or those of the
    classifier.
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


def feature_names(model: Any, columns: IntArray, given: Any = None) -> list[str]:
    """Names of the columns: those given, else those that the model knows, else their numbers."""
    known = names_of_columns(model, given)
    return [f"column {j}" if known is None else known[j] for j in columns]


def check_number_of_names(argument: str, names: Any, expected: int) -> None:
    """Refuse names that are too few or too many for what they are to name."""
    if len(names) != expected:
        raise ValueError(f"{argument} must hold {expected} names, got {len(names)}.")
