"""Mistakes that users make, and the sentence that each of them gets."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy import sparse

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskSelector,
    check_batches,
    check_data,
    training_scale,
    verify,
)


def data():
    rng = np.random.default_rng(0)
    return rng.standard_normal((10, 3)), np.arange(10) % 2


def with_value(value):
    X, y = data()
    X[4, 1] = value
    return X, y


@pytest.mark.parametrize(
    ("X", "y"),
    [
        with_value(np.inf),
        (sparse.csr_array(with_value(np.nan)[0]), data()[1]),
        (np.empty((0, 3)), np.empty(0)),
        (np.empty((10, 0)), data()[1]),
        (data()[0], np.zeros(10)),
        (data()[0][0], data()[1]),
        (data()[0], data()[1][:9]),
        (data()[0], np.column_stack([data()[1]] * 2)),
        (data()[0], None),
        (data()[0], np.where(np.arange(10) == 3, np.nan, data()[1])),
        (data()[0], ["a", None, "b", "a", "b"] * 2),
        (data()[0], ["a", np.nan, "b", "a", "b"] * 2),
        (data()[0], np.array([["a"], [None]] * 5, dtype=object)),
        (data()[0], pd.Series(["a", pd.NA, "b", "a", "b"] * 2, dtype="string")),
        (data()[0], np.array(["a", 1, "b", 2, "a"] * 2, dtype=object)),
        (data()[0], data()[1] + 0.5),
        (data()[0] + 1j, data()[1]),
        (np.array([["x", "y"], ["z", "w"]] * 5), data()[1]),
    ],
)
def test_data(X, y):
    with pytest.raises(ValueError):  # noqa: PT011
        MinimaxRiskClassifier().fit(X, y)


def test_a_decimal_comma_is_told():
    X, y = data()
    texts = pd.DataFrame(X).map(lambda value: f"{value:.3f}".replace(".", ","))
    with pytest.raises(ValueError, match="decimal=','"):
        MinimaxRiskClassifier().fit(texts, y)


def rows_with_none():
    """As ``with_value(np.nan)``, whose NaN is at row 4 and column 1, with None in its place."""
    X = with_value(np.nan)[0]
    return np.where(np.isnan(X), None, X)


FRAMES = {
    "pandas": lambda rows: pd.DataFrame(rows.astype(float), columns=list("abc")),
    "pandas, objects": lambda rows: pd.DataFrame(rows, columns=list("abc")),
    "pandas, nullable": lambda rows: pd.DataFrame(rows.astype(float), columns=list("abc")).astype("Float64"),
    "pandas, integers": lambda rows: (
        pd.DataFrame(rows.astype(float), columns=list("abc")).round().astype("Int64")
    ),
    "pandas, arrow": lambda rows: pd.DataFrame(rows.astype(float), columns=list("abc")).astype(
        "double[pyarrow]"
    ),
    "polars": lambda rows: polars.DataFrame(rows.tolist(), schema=list("abc"), orient="row"),
    "pyarrow": lambda rows: pyarrow.table(dict(zip("abc", rows.T.tolist(), strict=True))),
    "masked": lambda rows: np.ma.masked_invalid(rows.astype(float)),
    "list": lambda rows: rows.tolist(),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_are_read_and_a_missing_value_is_told_with_its_place(kind):
    X, y = data()
    make = FRAMES[kind]
    expected = MinimaxRiskClassifier().fit(np.round(X) if kind == "pandas, integers" else X, y)
    found = MinimaxRiskClassifier().fit(make(X), y)
    assert np.array_equal(found.coef_, expected.coef_)
    has_names = kind not in ("masked", "list")
    assert hasattr(found, "feature_names_in_") == has_names
    column = "'b'" if has_names else "1"
    place = f"(?s)Input X contains NaN.*The first one is at row 4, column {column}"
    for act in (lambda bad: MinimaxRiskClassifier().fit(bad, y), found.predict):
        with pytest.raises(ValueError, match=place) as refused:
            act(make(rows_with_none()))
        assert "(NaN, null, NA) must be filled before" in str(refused.value)
        assert "HistGradientBoosting" not in str(refused.value)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        ClippedScaler().fit(make(rows_with_none()))


@pytest.mark.parametrize("library", [pd.DataFrame, polars.DataFrame, pyarrow.table])
@pytest.mark.parametrize("values", ["texts", "days"])
def test_columns_that_are_no_numbers_are_named(library, values):
    X, y = data()
    others = {"texts": list("xyzxyzxyzx"), "days": [date(2020, 1, i + 1) for i in range(10)]}[values]
    numbers = dict(zip("abc", X.T.tolist(), strict=True))
    model = MinimaxRiskClassifier().fit(library(numbers), y)
    words = r"its column 'b' has type .* \(first value ('x'|datetime.date\(2020, 1, 1\))\); drop the column"
    for act in (lambda frame: MinimaxRiskClassifier().fit(frame, y), model.predict):
        with pytest.raises(ValueError, match=words):
            act(library({**numbers, "b": others}))


DAYS = (100 * data()[0]).astype("i8").astype("M8[D]")


@pytest.mark.parametrize(
    "X",
    [
        DAYS,
        DAYS.astype("M8[ns]"),
        np.where(data()[0] > 0, np.datetime64("NaT"), DAYS),
        (100 * data()[0]).astype("i8").astype("m8[s]"),
        [list(row) for row in DAYS],
        list(DAYS),
        np.array([*DAYS.ravel(), None])[:-1].reshape(10, 3),
        np.array([[0.5, 1.5, cell] for cell in [*DAYS[:, 0]]], dtype=object),
        np.ma.masked_array(DAYS),
        pd.DataFrame(DAYS),
        pd.DataFrame(DAYS - DAYS[0]),
        DAYS[:0],
    ],
    ids=lambda X: type(X).__name__,
)
def test_dates_do_not_become_numbers(X):
    y = data()[1][: len(X)]
    model = MinimaxRiskClassifier().fit(*data())
    for act in (
        lambda: MinimaxRiskClassifier().fit(X, y),
        lambda: ClippedScaler().fit(X),
        lambda: model.predict(X),
        lambda: check_data(X, y),
        lambda: training_scale(model, *data()).compare(X),
    ):
        with pytest.raises(
            ValueError, match=r"X must be numeric, but its column [02] has type .*; drop the column"
        ):
            act()


def test_a_lazy_frame():
    X, y = data()
    lazy = polars.DataFrame(X, schema=list("abc")).lazy()
    for act in (MinimaxRiskClassifier().fit, ClippedScaler().fit, check_data):
        with pytest.raises(TypeError, match=r"X\.collect\(\)"):
            act(lazy, y)


def test_what_is_masked_is_not_read():
    """It is missing: a gap where gaps may be, and a sample that no number describes."""
    X, y = data()
    hidden = np.ma.masked_array(np.where(np.arange(10)[:, None] == 3, 1e9, X), np.zeros((10, 3), bool))
    hidden[3] = np.ma.masked
    model = MinimaxRiskClassifier().fit(X, y)
    comparison = training_scale(model, X, y).compare(hidden)
    assert np.isnan(comparison.distances[3])
    wide = np.ma.masked_array(np.random.default_rng(0).normal(size=(20, 60)), np.zeros((20, 60), bool))
    assert not check_data(wide, np.arange(20) % 2)
    wide.data[:, 7], wide.mask[::3, 7] = 8.0, True
    wide.data[::3, 7] = 999.0
    assert not check_data(wide, np.arange(20) % 2)
    assert check_data(wide.data, np.arange(20) % 2)


@pytest.mark.parametrize("name", ["y", "sample_weight", "groups"])
def test_all_that_has_an_entry_for_each_row_is_in_the_order_of_the_rows(name):
    X, y = data()
    index = [f"s{i}" for i in range(10)]
    rows = {
        "X": pd.DataFrame(X, index=index),
        "y": pd.Series(y, index),
        "sample_weight": pd.Series(np.ones(10), index),
        "groups": pd.Series(np.arange(10) // 2 * 2 + y, index),
    }
    turned = {**rows, name: rows[name][::-1]}
    MinimaxRiskClassifier().fit(**rows)
    words = (
        f"^{name} has the index of X in another order, such as 's9' at row 0 where X has 's0'. Rows are "
        rf"matched by position: pass {name}.loc\[X.index\], or {name}.to_numpy\(\) if the order is right"
    )
    for act in (
        MinimaxRiskClassifier().fit,
        MinimaxRiskClassifierCV(radii=[0.5, 1.0]).fit,
        MinimaxRiskSelector().fit,
        lambda **rows: verify(MinimaxRiskClassifier().fit(X, y), **rows),
    ):
        with pytest.raises(ValueError, match=words):
            act(**turned)
    if name != "y":
        with pytest.raises(ValueError, match=f"^{name} has the index of y in another order"):
            MinimaxRiskClassifier().fit(**{**turned, "X": X})
    MinimaxRiskClassifier().fit(**{**turned, name: turned[name].to_numpy()})
    model, batch = MinimaxRiskClassifier().fit(rows["X"], y), pd.Series(np.arange(10) // 2 % 2, index)
    for argument, others in (("batch", {}), ("groups", {"batch": batch})):
        for act in (check_data, check_batches):
            called = {"model": model, "X": rows["X"], "y": y, **others, argument: batch[::-1]}
            with pytest.raises(ValueError, match=f"^{argument} has the index of X in another order"):
                act(**called)


def test_masked_labels_weights_and_groups_are_missing():
    X, y = data()
    is_third = np.arange(10) == 3
    masked = {name: np.ma.masked_array(values, is_third) for name, values in
              {"y": y, "sample_weight": np.ones(10), "groups": np.arange(10)}.items()}  # fmt: skip
    with pytest.raises(ValueError, match=r"y has 1 missing label \(first at position 3\)"):
        MinimaxRiskClassifier().fit(X, masked["y"])
    with pytest.raises(ValueError, match="Input sample_weight contains NaN"):
        MinimaxRiskClassifier().fit(X, y, sample_weight=masked["sample_weight"])
    with pytest.raises(ValueError, match="groups has no entry at position 3"):
        MinimaxRiskClassifier().fit(X, y, groups=masked["groups"])


@pytest.mark.parametrize("weights", [-np.ones(10), np.ones(9), np.full(10, np.nan), np.arange(10) % 2])
def test_weights(weights):
    with pytest.raises(ValueError):  # noqa: PT011
        MinimaxRiskClassifier().fit(*data(), sample_weight=weights)


@pytest.mark.parametrize("factors", [{0: 0.0, 1: 1.0}, {0: 1.0, 7: 1.0}])
def test_class_weights(factors):
    with pytest.raises(ValueError, match="class_weight"):
        MinimaxRiskClassifier(class_weight=factors).fit(*data())
