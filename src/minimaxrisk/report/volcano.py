"""Differences between classes beside their p-values, feature by feature: the numbers of a volcano plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk.analysis.contrasts import Contrasts
from minimaxrisk.inspection.sources import by_importance

# Cells across and up in which features that were not selected share a dot, which is as large as a cell.
GRID = (110, 60)
# No p-value of doubles is smaller.
SMALLEST_P = 1e-300
# Values without negative ones, of which the largest is above this, are no logarithms.
LARGEST_LOGARITHM = 100.0


@dataclass(frozen=True)
class VolcanoPanel:
    """A class against the rest: places of selected features, and one place for each cell of the others."""

    name: str
    columns: IntArray
    x: FloatArray
    y: FloatArray
    other_x: FloatArray
    other_y: FloatArray
    n_without_place: int  # nothing varies, or a mean is not positive where ratios are shown


@dataclass(frozen=True)
class Volcano:
    """``is_ratio`` says whether x is the log2 of a ratio of means, or a difference of means."""

    is_ratio: bool
    panels: tuple[VolcanoPanel, ...]
    names: dict[int, str]  # of the selected columns


def volcano_of(model: Any, X: DataMatrix, contrasts: Contrasts, names: list[str]) -> Volcano:
    """x is the fold change, y is -log10 p of Welch's test."""
    is_ratio = _are_no_logarithms(X)
    x_of_all = contrasts.log2_ratio if is_ratio else contrasts.difference
    selected = by_importance(model)
    is_selected = np.zeros(x_of_all.shape[1], dtype=np.bool_)
    is_selected[selected] = True
    panels = []
    for label, x, p in zip(contrasts.labels, x_of_all, contrasts.p, strict=True):
        y = -np.log10(np.maximum(p, SMALLEST_P))
        has_place = np.isfinite(x) & np.isfinite(y)
        drawn = selected[has_place[selected]]
        others = np.flatnonzero(has_place & ~is_selected)
        others = others[_one_per_cell(x[others], y[others])]
        panels.append(
            VolcanoPanel(
                name=str(model.classes_[label]),
                columns=drawn,
                x=x[drawn],
                y=y[drawn],
                other_x=x[others],
                other_y=y[others],
                n_without_place=int((~has_place).sum()),
            )
        )
    return Volcano(is_ratio, tuple(panels), {int(j): names[j] for j in selected})


def _are_no_logarithms(X: DataMatrix) -> bool:
    values = X.data if sparse.issparse(X) else X
    return bool(values.size) and float(values.min()) >= 0.0 and float(values.max()) > LARGEST_LOGARITHM


def _one_per_cell(x: FloatArray, y: FloatArray) -> IntArray:
    """The first of those that share a cell."""
    if not len(x):
        return np.empty(0, dtype=np.intp)
    cells = []
    for values, n in zip((x, y), GRID, strict=True):
        low, high = values.min(), values.max()
        cells.append(np.minimum(((values - low) / (high - low or 1.0) * n).astype(np.intp), n - 1))
    _, first = np.unique(cells[0] * GRID[1] + cells[1], return_index=True)
    return np.sort(first)
