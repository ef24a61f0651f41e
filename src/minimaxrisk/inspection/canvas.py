"""What the displays share: their base class, drawing by matplotlib, and names of columns.

No other module imports matplotlib, and this one imports it when it draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, IntArray
from minimaxrisk._utils.stored_tables import in_memory
from minimaxrisk.guarantees.certified import MEMBERS, can, unwrapped
from minimaxrisk.inspection.chart import ALARM, INK, MAIN, NOISE, PALE, SECOND, SOFT, Axis, Chart, Mark
from minimaxrisk.samples.columns import canonical, check_new_data

# Okabe and Ito's colours, which most colour-blind people tell apart.
BLUE, ORANGE, SKY, VERMILION = "#0072B2", "#E69F00", "#56B4E9", "#D55E00"
COLOURS = {MAIN: BLUE, SECOND: ORANGE, NOISE: SKY, ALARM: VERMILION, PALE: "0.8", SOFT: "0.45", INK: "0.1"}
CLASS_COLOURS = (ORANGE, BLUE, "#009E73", "#CC79A7", SKY, VERMILION, "#F0E442")
# With more classes than colours, the colours are repeated with the next hatch.
HATCHES = ("", "////", "....", "xxxx")
SHAPES = {"circle": "o", "diamond": "D", "square": "s"}

# Inches: a row of a bar chart with its label, and the title, axis and margins around the rows.
ROW, AROUND_ROWS = 0.23, 1.3
# Entries of a legend up to this length stand in four columns, longer ones in two.
SHORT = 14
# Members of an ensemble that select a column, as a share, from which on it is listed.
SHARE_OF_MEMBERS = 0.5


@dataclass(eq=False, kw_only=True)
class Display:
    """Numbers that can be drawn; ``chart`` of a subclass says how."""

    _size: ClassVar[tuple[float, float]] = (6.4, 4.4)  # width and height in inches

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
        chart = self.chart()
        if ax is None:
            width, height = self._size
            if chart.y.rows is not None:
                height = AROUND_ROWS + ROW * max(len(chart.y.rows), 6)
            # Constrained, so that long names of features are not cut off.
            self.figure_, self.ax_ = _pyplot().subplots(figsize=(width, height), layout="constrained")
        else:
            self.figure_, self.ax_ = ax.figure, ax
        self.artists_ = self._draw(chart)
        self.ax_.set_title(chart.title, loc="left", fontsize="medium")  # fits over narrow axes
        self.ax_.spines[["top", "right"]].set_visible(False)
        return self

    def chart(self) -> Chart:
        """What is drawn, as plain data.

        Returns
        -------
        Chart
            Axes and marks, which the report draws in its own way.
        """
        return self._chart()

    def _chart(self) -> Chart:
        raise NotImplementedError

    def _draw(self, chart: Chart) -> dict[str, Any]:
        """Draw on ``ax_``; returns the artists by the names of their marks."""
        places = [(self.ax_, mark) for mark in chart.marks]
        if chart.beside is not None:
            axis, mark = chart.beside
            beside = self.ax_.twinx()
            places.append((beside, mark))
            self.ax_.set_zorder(beside.get_zorder() + 1)
            self.ax_.patch.set_visible(False)
        artists = {mark.name: _drawn(ax, mark) for ax, mark in places}
        _set_axis(self.ax_, "x", chart.x)
        _set_axis(self.ax_, "y", chart.y)
        self.ax_.grid(axis="y" if chart.y.rows is None else "x", color="0.92")
        self.ax_.set_axisbelow(True)
        if chart.beside is not None:
            _set_axis(beside, "y", axis)
            beside.spines[["top", "left"]].set_visible(False)
            beside.tick_params(axis="y", colors=COLOURS[mark.colour])
            beside.yaxis.label.set_color(COLOURS[mark.colour])
        entries = {mark.label: artists[mark.name] for _, mark in places if mark.label}
        if entries and chart.y.rows != []:
            # Below the label of the x-axis, where no data are hidden; the distance is in sizes of the font.
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": 4.5}
            n_columns = 2 if max(map(len, entries)) > SHORT else 4
            self.ax_.legend(
                entries.values(), entries, ncols=n_columns, fontsize="small", frameon=False, **place
            )
        return artists


def _drawn(ax: Any, mark: Mark) -> Any:
    repeats, place = (0, 0) if mark.colour in COLOURS else divmod(int(mark.colour[1:]), len(CLASS_COLOURS))
    colour, dashes = COLOURS.get(mark.colour, CLASS_COLOURS[place]), "--" if mark.is_dashed else "-"
    if mark.kind == "line":
        marker = "o" if mark.has_points and not mark.is_dashed else ""
        return ax.plot(mark.x, mark.y, color=colour, linestyle=dashes, marker=marker, markersize=4)[0]
    if mark.kind == "points":
        style = {"s": mark.size, "marker": SHAPES[mark.shape], "color": colour, "linewidths": 0, "zorder": 3}
        return ax.scatter(mark.x, mark.y, clip_on=False, **style)
    if mark.kind == "bars":
        width, height = np.subtract(mark.x2, mark.x), np.subtract(mark.y2, mark.y)
        # White is the hatch, too; a broad border would hide short bars.
        style = {"color": colour, "hatch": HATCHES[repeats % len(HATCHES)], "edgecolor": "white"}
        return ax.bar(mark.x, height, width, bottom=mark.y, align="edge", linewidth=0.3, **style)
    if mark.kind == "intervals" and mark.y2 is None:
        return ax.hlines(mark.y, mark.x, mark.x2, color=colour)
    if mark.kind == "intervals":
        return ax.vlines(mark.x, mark.y, mark.y2, color=colour)
    style = {"color": colour, "linestyle": dashes, "linewidth": 1.2 if mark.is_dashed else 2.0}
    return ax.axhline(mark.y, **style) if mark.x is None else ax.axvline(mark.x, **style)


def _set_axis(ax: Any, which: str, axis: Axis) -> None:
    ticks = getattr(ax, f"{which}axis")
    if axis.rows is not None:
        ticks.set_ticks(range(len(axis.rows)), labels=list(axis.rows))
        ax.set_ylim(max(len(axis.rows), 1) - 0.4, -0.6)
        ax.tick_params(axis=which, length=0)
        return
    ticks.set_label_text(axis.title)
    if axis.scale == "symlog":
        # Zero and one have their places, and large numbers do not push small ones together.
        getattr(ax, f"set_{which}scale")("symlog", linthresh=1.0)
        ticks.set_major_formatter("{x:g}")
    elif axis.is_count:
        ticks.get_major_locator().set_params(integer=True)
    if axis.limits or axis.starts_at_zero:
        # Limits of other axes stay free: they follow the data when the scale is changed to a logarithmic one.
        ax.set(**{f"{which}lim": axis.limits or (0.0, None)})


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ImportError as error:
        raise ImportError(
            f"The displays need the package 'matplotlib', which could not be imported ({error}); "
            'install it with: pip install "minimaxrisk[plot]"'
        ) from error
    return plt


def by_importance(estimator: Any) -> IntArray:
    """Return the selected columns, the most important first.

    Of an ensemble these are the columns that at least half of its members select, ordered by their share.
    """
    selected = np.asarray(estimator.selected_features_)
    keys = [-np.asarray(estimator.feature_importances_)[selected]]
    if can(estimator, MEMBERS):
        share = np.asarray(estimator.selection_frequencies_)
        selected = selected[share[selected] >= SHARE_OF_MEMBERS]
        keys = [-np.asarray(estimator.feature_importances_)[selected], -share[selected]]
    return selected[np.lexsort(keys)]


def seen_by(model: Any, X: Any) -> DataMatrix:
    """Return the values that the classifier saw, as an array or a CSR matrix.

    X is a table with the columns of the training data. The steps of a pipeline before the classifier are
    applied.
    """
    inner, before = unwrapped(model)
    seen = in_memory(check_new_data(inner, X if before is None else before.transform(X)))
    return canonical(seen) if sparse.issparse(seen) else seen


def names_of_columns(model: Any, given: Any = None) -> list[str] | None:
    """Return names of the columns that the classifier saw: those given, else those known, else None.

    For a pipeline ``given`` may name the columns of the pipeline, from which its steps make the names, or
    those of the classifier.
    """
    last, before = unwrapped(model)
    names = getattr(model, "feature_names_in_", None) if given is None else given
    if before is not None and names is not None and len(names) == model.n_features_in_:
        try:
            return [str(name) for name in before.get_feature_names_out(np.asarray(names, dtype=object))]
        except (AttributeError, ValueError):
            names = given  # a step makes no names
    if given is not None:
        check_number_of_names("feature_names", given, int(last.n_features_in_))
    known = getattr(last, "feature_names_in_", None) if names is None else names
    return None if known is None else [str(name) for name in known]


def feature_names_of(model: Any, columns: IntArray, given: Any = None) -> list[str]:
    """Return names of the columns: those given, else those that the model knows, else their numbers."""
    known = names_of_columns(model, given)
    return [f"column {j}" if known is None else known[j] for j in columns]


def check_number_of_names(argument: str, names: Any, expected: int) -> None:
    """Refuse too few or too many names."""
    if len(names) != expected:
        raise ValueError(f"{argument} must hold {expected} names, got {len(names)}.")
