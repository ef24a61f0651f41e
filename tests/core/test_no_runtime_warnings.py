"""Odd but legal tables give results, findings or errors with a reason, and no warning from arithmetic."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk import MinimaxRiskClassifier, check_data, training_scale

N, D = 40, 60
Y = np.arange(N) % 2


def plain(seed=0):
    return np.random.default_rng(seed).normal(size=(N, D)) + 5.0 + 0.5 * Y[:, None] * (np.arange(D) < 5)


def with_rows(value, n_rows):
    """Some samples with one value in all columns."""
    X = plain()
    X[:n_rows] = value
    return X


def scaled(by):
    return plain() * by


def with_columns(value, n_columns):
    X = plain()
    X[:, :n_columns] = value
    return X


def with_cells(*values):
    X = plain()
    X[np.arange(len(values)), np.arange(len(values))] = values
    return X


def mostly_zero(share):
    return np.where(np.random.default_rng(1).random((N, D)) < share, 0.0, plain())


WHOLE = {
    "one constant sample": with_rows(5.0, 1),
    "most samples are constant": with_rows(5.0, 30),
    "most samples are zero": with_rows(0.0, 30),
    "all samples are constant": np.repeat(plain()[:, :1], D, axis=1),
    "most columns are constant": with_columns(3.0, D - 5),
    "all columns but one are zero": with_columns(0.0, D - 1),
    "all values are equal": np.full((N, D), 7.0),
    "all values are zero": np.zeros((N, D)),
    "whole numbers": np.rint(plain() * 10.0),
    "two values": (plain() > 5.0).astype(float),
    "counts with many zeros": np.rint(mostly_zero(0.9) * 10.0),
    "nearly all zero": mostly_zero(0.99),
    "tiny values": scaled(1e-300),
    "subnormal values": scaled(1e-320),
    "large values": scaled(1e100),
    "huge values": scaled(1e300),
    "one huge value": with_cells(1e300),
    "the largest numbers": with_cells(1e308, -1e308),
    "an offset": scaled(1e-9) + 1e6,
    "negative values": -plain(),
    "raw intensities": 10.0 ** plain(),
    "few samples": plain()[:5],
    "few columns": plain()[:, :2],
    "one column": plain()[:, :1],
}
GAPS = {
    "one gap": with_cells(np.nan),
    "a sample of gaps": with_rows(np.nan, 1),
    "most samples are gaps": with_rows(np.nan, 30),
    "a column of gaps": with_columns(np.nan, 1),
    "most columns are gaps": with_columns(np.nan, D - 5),
    "gaps and zeros": np.where(mostly_zero(0.9) == 0.0, np.nan, 0.0),
    "gaps in constant samples": np.where(mostly_zero(0.5) == 0.0, np.nan, 5.0),
}


def quietly(compute, *args):
    """What it returns, or None where it refuses; warnings of this library are its own, and no accident."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return compute(*args)
        except ValueError:
            return None


@pytest.mark.parametrize("table", WHOLE | GAPS)
def test_checks_of_the_data(table):
    X = (WHOLE | GAPS)[table]
    assert quietly(check_data, X, Y[: len(X)]) is not None


@pytest.mark.parametrize("table", WHOLE)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_fits_and_the_scale_of_their_data(table, form):
    X, y = form(WHOLE[table]), Y[: WHOLE[table].shape[0]]
    quietly(check_data, X, y)
    model = quietly(MinimaxRiskClassifier().fit, X, y)
    if model is None:
        return
    quietly(lambda: check_data(X, y, model=model))
    scale = quietly(training_scale, model, X, y)
    if scale is not None:
        quietly(scale.compare, X[:3])


@pytest.mark.parametrize("table", GAPS)
def test_a_fit_refuses_gaps(table):
    with pytest.raises(ValueError, match="NaN"):
        MinimaxRiskClassifier().fit(GAPS[table], Y)
