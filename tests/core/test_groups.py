"""Samples that are not independent: the radii count groups, everything else samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse, stats

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskSelector,
    check_batches,
    verify,
)

pytestmark = pytest.mark.filterwarnings("ignore::minimaxrisk.exceptions.CoverageWarning")


def patients(rng, n_patients, d, n_classes=2, *, sizes=None, within=0.3):
    """Rows, labels and patients; rows of a patient are close to each other."""
    sizes = rng.integers(1, 5, n_patients) if sizes is None else np.full(n_patients, sizes)
    label = np.arange(n_patients) % n_classes
    centre = rng.standard_normal((n_patients, d)) + 1.5 * (label[:, None] == np.arange(d) % n_classes)
    group = np.repeat(np.arange(n_patients), sizes)
    X = centre[group] + within * rng.standard_normal((len(group), d))
    return X, label[group], group


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("n_classes", "coding"), [(2, "signed"), (2, "one-hot"), (3, "one-hot")])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_standard_errors_are_those_of_weighted_sums_over_groups(container, n_classes, coding, is_weighted):
    rng = np.random.default_rng(n_classes)
    X, y, group = patients(rng, 15, 4, n_classes)
    X = np.where(rng.random(X.shape) < 0.3, 0.0, X)
    weight = rng.uniform(0.2, 3.0, len(y)) if is_weighted else np.ones(len(y))
    model = MinimaxRiskClassifier(radius=0.7, moderation=0, coding=coding)
    model.fit(container(X), y, sample_weight=weight if is_weighted else None, groups=group)

    p = weight / weight.sum()
    centred = X - p @ X
    psi = np.column_stack([np.ones(len(y)), centred / np.sqrt(p @ centred**2)])
    codes = np.eye(n_classes) if coding == "one-hot" else np.array([[1.0, -1.0]])
    for code, tau, lam in zip(codes, model.tau_, model.lambda_, strict=True):
        Z = code[y][:, None] * psi
        assert np.allclose(p @ Z, tau, atol=1e-12)
        sums = np.stack([p[group == g] @ (Z - tau)[group == g] for g in range(15)])
        assert np.allclose(lam, 0.7 * np.sqrt((sums**2).sum(axis=0)), atol=1e-9)


def test_copies_of_a_sample_are_worth_one():
    rng = np.random.default_rng(0)
    X, y, group = patients(rng, 30, 5, sizes=1)
    for radius in (1.0, "bootstrap"):
        once = MinimaxRiskClassifier(radius=radius).fit(X, y)
        alone = MinimaxRiskClassifier(radius=radius).fit(X, y, groups=group)
        thrice = MinimaxRiskClassifier(radius=radius).fit(
            np.repeat(X, 3, axis=0), np.repeat(y, 3), groups=np.repeat(group, 3)
        )
        unaware = MinimaxRiskClassifier(radius=radius).fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
        assert alone.worst_case_error_ == pytest.approx(once.worst_case_error_, abs=1e-10)
        assert thrice.worst_case_error_ == pytest.approx(once.worst_case_error_, abs=1e-10)
        assert np.allclose(thrice.lambda_, once.lambda_, atol=1e-12)
        assert unaware.worst_case_error_ < once.worst_case_error_ - 0.01


def test_neither_names_nor_order_of_groups_matter():
    rng = np.random.default_rng(1)
    X, y, group = patients(rng, 20, 5)
    order = rng.permutation(len(y))
    model = MinimaxRiskClassifier(radius="bootstrap")
    first = model.fit(X, y, groups=group).lambda_
    names = np.array([f"patient {g * 7 % 20}" for g in group])
    again = model.fit(X[order], y[order], groups=names[order]).lambda_
    assert np.array_equal(first, again)


def test_radii_of_groups_hold_the_true_means():
    """95% of 200 studies of 20 patients; without groups hardly any of 30."""
    hits = {True: 0, False: 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        label = rng.permutation(np.arange(20) % 2)
        group = np.repeat(np.arange(20), 4)
        X = rng.standard_normal((20, 30))[group] + 0.2 * rng.standard_normal((80, 30))
        for known in hits if seed < 30 else [True]:
            model = MinimaxRiskClassifier(radius="bootstrap", standardize=False, gap_tol=1.0)
            model.fit(X, label[group], groups=group if known else None)
            hits[known] += bool((np.abs(model.tau_) <= model.lambda_)[0, 1:].all())
    assert stats.binomtest(hits[True], 200, 0.95, alternative="less").pvalue > 1e-3
    assert hits[False] < 15


def test_batches_are_tested_by_as_many_samples_as_the_groups_are_worth():
    """Ten copies of each patient do not make ten times the evidence."""
    rng = np.random.default_rng(2)
    y, batch = np.tile([0, 1], 8), np.repeat(["first", "second"], 8)
    X = rng.standard_normal((16, 3))
    X[:, 0] += 3.0 * y
    X[:, 1] += 1.5 * (batch == "second")
    one = np.repeat(np.arange(16), 10)
    rows = X[one] + 1e-3 * rng.standard_normal((160, 3))
    model = MinimaxRiskClassifier(radius=0.01).fit(rows, y[one])
    alone = check_batches(model, rows, y[one], batch[one])
    together = check_batches(model, rows, y[one], batch[one], groups=one)
    assert alone.n_independent is None
    assert together.n_independent == 16
    assert alone.is_predictable
    assert [finding.code for finding in alone.findings] == ["predictable-batch"]
    assert replace(alone, n_independent=160.0).is_predictable
    assert not replace(alone, n_independent=4.0).is_predictable
    assert not together.is_predictable
    assert replace(together, n_independent=None).is_predictable  # as if all samples were independent
    # A patient measured in both batches is one patient too.
    across = check_batches(model, rows, y[one], np.tile(["first", "second"], 80), groups=one)
    assert across.n_independent == 16
    uneven = check_batches(model, X, y, batch, groups=[0, 0, 0, 1, *range(2, 14)])
    assert uneven.n_independent == 256 / (9 + 13)


@pytest.mark.parametrize("is_stable", [False, True])
def test_selectors_keep_groups_together(is_stable):
    """Copies as groups select what the samples themselves do."""
    rng = np.random.default_rng(7)
    X, y, group = patients(rng, 30, 12, sizes=1)
    selector = MinimaxRiskSelector(max_features=4, stability=is_stable, n_subsamples=6, random_state=0)
    once = selector.fit(X, y).get_support()
    copies = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    thrice = selector.fit(*copies, groups=np.repeat(group, 3)).get_support()
    assert np.array_equal(once, thrice)
    assert verify(selector.estimator_, *copies, groups=np.repeat(group, 3)).valid
