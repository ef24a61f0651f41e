"""Bounds for any classifier, for the very model, and what they say where the data are not as they assume."""

from __future__ import annotations

import warnings

import dask.array
import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier, error_bound
from minimaxrisk._utils.row_digests import TO_HALF, row_digests
from minimaxrisk._utils.stored_tables import StoredArray, Table
from minimaxrisk.datasets import make_expression
from minimaxrisk.guarantees import PosedFit
from minimaxrisk.guarantees.counting import clopper_pearson_limit
from minimaxrisk.guarantees.error_bound import SHARES
from minimaxrisk.guarantees.statement import AGREEMENT, HOLDOUT, MAJORITY, NONE, RADII
from minimaxrisk.samples import equal_rows
from minimaxrisk.samples.equal_rows import duplicate_rows
from minimaxrisk.samples.exchangeability import (
    reason_against_independence,
    reason_against_one_law,
    same_law_pvalue,
)
from minimaxrisk.samples.validation import canonical


@pytest.fixture(scope="module")
def study():
    return make_expression(80, 100, n_informative=10, effect=1.2, random_state=0)


@pytest.fixture(scope="module")
def X_new(study):
    return study.law.sample(300, random_state=1)[0]


def by_method(found):
    return {one.method: one for one in found.side_by_side}


LEARNERS = [
    RandomForestClassifier(20, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)),
    GridSearchCV(LogisticRegression(max_iter=5000), {"C": [0.01, 1.0]}, cv=3),
    MinimaxRiskEnsembleClassifier(n_estimators=8, certify=False, subsample=0.4, random_state=0),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_any_classifier_has_a_best_bound(learner, study, X_new):
    X, y = study.data, study.target
    found = error_bound(learner.fit(X, y), X, y, X_new=X_new, random_state=0)
    bounds = by_method(found)
    assert set(bounds) == {HOLDOUT, AGREEMENT, MAJORITY}
    assert "for a fitted MinimaxRiskClassifier alone" in found.left_out[RADII]
    assert all(one.confidence == 0.95 for one in bounds.values())
    half = bounds[HOLDOUT]
    level = 1.0 - 0.05 * SHARES[HOLDOUT] / (SHARES[HOLDOUT] + SHARES[MAJORITY])
    assert half.value == pytest.approx(clopper_pearson_limit(half.n_errors, 40, level), abs=1e-14)
    differ = int(np.sum(half.model.predict(X_new) != learner.predict(X_new)))
    # 40 samples tell less than 300, and may go wrong more often.
    of_half = clopper_pearson_limit(half.n_errors, 40, 1.0 - 0.05 * 300 / 340)
    limit = clopper_pearson_limit(differ, 300, 1.0 - 0.05 * 40 / 340)
    assert bounds[AGREEMENT].value == pytest.approx(of_half + limit, abs=1e-14)
    assert f"on {differ} of 300 new instances the two differ" in bounds[AGREEMENT].statement
    assert "not for another cohort" in found.statement
    assert "pass a whole search" in found.statement
    without = error_bound(learner, X, y, random_state=0)
    assert set(by_method(without)) == {HOLDOUT, MAJORITY}
    alone = error_bound(learner, X, y, X_new=X_new, method="agreement", random_state=0)
    assert (alone.confidence, alone.model) == (0.95, learner)
    assert alone.value == bounds[AGREEMENT].value  # no part of what the smallest is chosen from
    assert [one.method for one in found.alternatives if one.stands_alone]


def test_agreement_holds_as_often_as_it_says():
    """The model of all samples, with labels that are partly noise."""
    missed, n = 0, 25
    for seed in range(n):
        data = make_expression(40, 30, n_informative=6, effect=0.5, random_state=seed)
        new, _ = data.law.sample(200, random_state=seed + 1000)
        model = LogisticRegression(max_iter=5000).fit(data.data, data.target)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # in one of a hundred the new ones look odd
            bound = error_bound(
                model,
                data.data,
                data.target,
                X_new=new,
                method="agreement",
                confidence=0.8,
                random_state=seed,
            )
        X_test, y_test = data.law.sample(4000, random_state=seed + 2000)
        missed += np.mean(model.predict(X_test) != y_test) > bound.value
    assert missed <= 0.3 * n


def test_replicates_without_groups_leave_no_probability():
    random = np.random.default_rng(0)
    X = np.repeat(random.standard_normal((15, 200)), 4, axis=0) + 0.1 * random.standard_normal((60, 200))
    y, patient = np.repeat(np.arange(15) % 2, 4), np.repeat(np.arange(15), 4)
    forest = RandomForestClassifier(20, random_state=0)
    alone = error_bound(forest, X, y, method="holdout", random_state=0)
    assert alone.value < 0.3  # the labels are noise
    assert alone.confidence is None
    assert "look like one sample measured twice" in alone.reason
    assert "pass groups" in alone.statement
    found = error_bound(forest, pd.DataFrame(X), y, random_state=0)
    assert (found.method, found.value) == (NONE, 1.0)
    assert all(not one.has_probability for one in found.alternatives)
    with_groups = error_bound(forest, X, y, groups=patient, random_state=0)
    assert with_groups.has_probability
    assert with_groups.value > 0.5
    one_pair = X[::4].repeat(2, axis=0)[:16]
    assert "rows 0 and 1 " in error_bound(forest, one_pair, np.arange(16) // 8, method="holdout").reason
    assert not error_bound(forest, X[::4], y[::4], method="holdout", random_state=0).reason


def test_instances_of_another_law_are_told(study, X_new):
    X, y = study.data, study.target
    model = LogisticRegression(max_iter=5000).fit(X, y)
    random = np.random.default_rng(0)
    moved = X_new * np.exp(0.3 * random.standard_normal(100)) + 0.5 * random.standard_normal(100)
    with pytest.warns(UserWarning, match="does not look like instances of the same law as X"):
        found = error_bound(model, X, y, X_new=moved, random_state=0)
    bounds = by_method(found)
    assert bounds[HOLDOUT].has_probability
    assert not bounds[AGREEMENT].has_probability
    with pytest.warns(UserWarning, match="same law"):
        assert not error_bound(model, X, y, X_new=moved, method="agreement", random_state=0).has_probability


def test_new_instances_that_were_measured_again_are_no_other_law():
    random = np.random.default_rng(1)
    X, y = random.standard_normal((60, 200)), np.arange(60) % 2
    patient = np.repeat(np.arange(30), 3)
    X_new = random.standard_normal((30, 200))[patient] + 0.4 * random.standard_normal((90, 200))
    X_new /= np.sqrt(1.16)
    model = LogisticRegression(max_iter=5000).fit(X, y)
    with pytest.warns(UserWarning, match="several rows of one patient, which groups_new tells"):
        error_bound(model, X, y, X_new=X_new, method="agreement", random_state=0)
    found = error_bound(model, X, y, X_new=X_new, groups_new=patient, method="agreement", random_state=0)
    assert found.has_probability
    assert found.n_test == 30


def test_the_test_of_one_law_is_exact_and_sees_locations_and_scales():
    random, n = np.random.default_rng(0), 60
    found, moved, stretched, shrunk = [], [], [], []
    for _ in range(n):
        X, other = random.standard_t(3, (30, 40)), random.standard_t(3, (12, 40))
        found.append(same_law_pvalue(X, other))
        moved.append(same_law_pvalue(X, other + 1.2 * random.standard_normal(40)))
        stretched.append(same_law_pvalue(X, other * 3.0))
        shrunk.append(same_law_pvalue(X, other * 0.2))
    assert abs(np.mean(np.array(found) < 0.5) - 0.5) < 3.5 * 0.5 / np.sqrt(n)
    assert np.mean(np.array(found) < 0.01) < 0.07
    assert np.median(moved) < 0.01
    assert np.median(stretched) < 0.01
    assert np.median(shrunk) < 0.01
    # Copies of a patient are one; and where nothing can be compared, nothing is said.
    rows = np.repeat(X, 5, axis=0)
    alone = pytest.approx(same_law_pvalue(X, other), abs=0.1)
    assert same_law_pvalue(rows, other, np.repeat(np.arange(30), 5)) == alone
    assert same_law_pvalue(sparse.csr_array(X), other) == same_law_pvalue(X, other)
    assert same_law_pvalue(pd.DataFrame({"a": ["x", "y"]}), other) is None
    assert same_law_pvalue(X, other[:, :3]) is None


def test_parts_that_are_not_fitted_again_are_refused():
    """A forest on noise that has seen the samples held out would seem to be without error."""
    random = np.random.default_rng(0)
    X, y = random.standard_normal((80, 6)), random.integers(0, 2, 80)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    for frozen in (
        FrozenEstimator(forest),
        make_pipeline(FrozenEstimator(forest)),
        CalibratedClassifierCV(FrozenEstimator(forest)),
    ):
        with pytest.raises(ValueError, match="part of this one is frozen"):
            error_bound(frozen, X, y, method="holdout", random_state=0)
        found = error_bound(frozen, X, y, random_state=0)
        assert found.method == MAJORITY
        assert "frozen" in found.left_out[HOLDOUT]
    with pytest.raises(ValueError, match="a hold-out needs X, not a precomputed kernel"):
        error_bound(SVC(kernel="precomputed"), X @ X.T, y, method="holdout")


def test_equal_rows_of_few_values_are_no_copies():
    random = np.random.default_rng(0)
    answers = (random.random((200, 25)) < 0.08).astype(float)
    y = random.integers(0, 2, 200)
    for X in (answers, StandardScaler().fit_transform(answers), answers + 0.5):
        assert not reason_against_independence(X, y, None)
    gaps = np.where(random.random((200, 25)) < 0.9, np.nan, answers)
    assert not reason_against_independence(gaps, y, None)
    measured = random.standard_normal((60, 25))
    assert "and so do 119 other pairs" in reason_against_independence(
        measured.repeat(3, axis=0), y[:180], None
    )


def test_radii_know_of_copies_too(study, X_new):
    X, y = (values.repeat(2, axis=0) for values in (study.data, study.target))
    model = MinimaxRiskClassifier(radius="bootstrap", random_state=0).fit(X, y)
    found = error_bound(model, X, y, method="radii", X_new=X_new)
    assert not found.has_probability
    assert "measured twice" in found.reason


def test_new_instances_that_are_old_ones_leave_no_probability(study):
    X, y = study.data, study.target
    model = LogisticRegression(max_iter=5000).fit(X, y)
    found = error_bound(model, X, y, X_new=X, method="agreement", random_state=0)
    assert not found.has_probability
    assert "80 of the new instances are rows of X" in found.statement


def as_memory_map(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def as_frame(library):
    return lambda X, folder: library({f"c{j}": X[:, j] for j in range(X.shape[1])})


CONTAINERS = {
    "array": lambda X, folder: X,
    "single": lambda X, folder: X.astype(np.float32),
    "list": lambda X, folder: X.tolist(),
    "csr": lambda X, folder: sparse.csr_array(X),
    "coo": lambda X, folder: sparse.coo_matrix(X),
    "memory map": as_memory_map,
    "pandas": as_frame(pd.DataFrame),
    "nullable": lambda X, folder: as_frame(pd.DataFrame)(X, folder).astype("Float64"),
    "polars": as_frame(polars.DataFrame),
    "pyarrow": as_frame(pyarrow.table),
}
PLAIN = {"array", "single", "list", "csr", "coo", "memory map"}


@pytest.fixture(scope="module")
def few():
    y = np.arange(60) % 2
    return np.random.default_rng(0).normal(size=(60, 20)) + y[:, None], y


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("large", [None, 0], ids=["in memory", "by blocks"])
def test_copies_and_training_rows_are_found_in_every_container(kind, large, few, tmp_path, monkeypatch):
    X, y = few
    if large is not None:
        monkeypatch.setattr(equal_rows, "LARGE", large)
    make = CONTAINERS[kind]
    twice = make(np.vstack([X, X]), tmp_path)
    found = error_bound(MinimaxRiskClassifier(), twice, np.r_[y, y], method="holdout")
    assert not found.has_probability
    assert "and so do 59 other pairs" in found.reason
    assert not reason_against_independence(make(X, tmp_path), y, None)
    seen = make(X, tmp_path)
    model = MinimaxRiskClassifier(radius=0.5).fit(seen, y)
    for other in PLAIN if kind in PLAIN else CONTAINERS.keys() - PLAIN:
        X_new = CONTAINERS[other](X, tmp_path)
        found = error_bound(model, seen, y, method="agreement", X_new=X_new)
        assert "60 of the new instances are rows of X" in found.reason, other


def test_new_rows_in_a_table_of_pyarrow_may_have_their_columns_in_another_order(study, X_new):
    old, new = (as_frame(pyarrow.table)(values, None) for values in (study.data, X_new))
    assert not reason_against_one_law(old, new.select(new.column_names[::-1]), None)
    again = old.select(old.column_names[::-1])
    assert "80 of the new instances" in reason_against_one_law(old, again, None)


def test_copies_in_columns_of_numbers_beside_texts(few):
    X, _ = few
    frame = pd.DataFrame(X).assign(sex=["f", "m"] * 30)
    twice = pd.concat([frame, frame], ignore_index=True)
    assert "rows 0 and 60 look" in reason_against_independence(twice, np.arange(120) % 2, None)
    assert "60 of the new" in reason_against_one_law(frame, frame[frame.columns[::-1]], None)


def test_where_rows_cannot_be_looked_at_that_is_said(few):
    texts = np.array(["a b", "c d"] * 30, dtype=object)[:, None]
    with pytest.warns(
        UserWarning, match="X holds no table of numbers, so it was not checked whether samples"
    ):
        assert not reason_against_independence(texts, few[1], None)
    with pytest.warns(
        UserWarning, match="X_new holds no table of numbers, so it was not checked whether new"
    ):
        assert not reason_against_one_law(few[0], texts, None)


def test_sparse_texts_are_no_copies_unless_they_are(few):
    """Counts of words: empty texts, short ones, and some with the same words."""
    random, y = np.random.default_rng(0), np.arange(400) % 2
    shares = random.zipf(1.5, 3000).astype(float)
    lengths = random.poisson(random.choice([1, 8, 80], 400))
    counts = np.array([random.multinomial(length, shares / shares.sum()) for length in lengths])
    assert (counts.sum(axis=1) == 0).any()
    assert len(np.unique(counts, axis=0)) < 400
    weighted = TfidfTransformer().fit_transform(sparse.csr_array(counts))
    for old, new in ((counts[:200], counts[200:]), (weighted[:200], weighted[200:])):
        rows = sparse.csr_array(old)
        assert not reason_against_independence(rows, y[:200], None)
        assert not reason_against_one_law(rows, sparse.csr_array(new), None)
    # A dense table says the same: no column has many values, but rows of so many decimals are no chance.
    long = TfidfTransformer().fit_transform(sparse.csr_array(random.poisson(0.02, (100, 3000))))
    twice = sparse.vstack([long, long]).tocsr()
    for rows in (long, long.toarray()):
        assert "100 of the new" in reason_against_one_law(rows, long, None)
    for rows in (twice, twice.toarray()):
        assert not duplicate_rows(rows)


def test_digests_depend_on_rows_alone(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 40)) * (random.random((50, 40)) < 0.3)
    X[3], X[4], X[5, 0], X[6, :3] = 0.0, X[7], -0.0, [np.nan, np.inf, -np.inf]
    of_rows, n_decimals = row_digests(X)
    assert len(np.unique(of_rows)) == 49
    assert n_decimals.tolist() == [sum(x != np.trunc(x) for x in row if np.isfinite(x)) for row in X]
    stored = sparse.csr_array(X)
    stored.data[:2], X[np.nonzero(X[:1])[0][:2], np.nonzero(X[:1])[1][:2]] = 0.0, 0.0
    order = random.permutation(50)
    for each in (canonical(stored), Table(StoredArray(as_memory_map(np.asfortranarray(X), tmp_path)))):
        np.testing.assert_array_equal(row_digests(each), row_digests(X))
        np.testing.assert_array_equal(row_digests(each[order])[0], row_digests(X)[0][order])
    in_chunks = dask.array.from_array(X, chunks=(17, 11))
    np.testing.assert_array_equal(row_digests(in_chunks), row_digests(X))
    np.testing.assert_array_equal(row_digests(X.astype(np.float32)), row_digests(X))
    half = random.normal(size=(50, 40)) + 1.0
    assert (row_digests(half.astype(np.float16), TO_HALF)[0] == row_digests(half, TO_HALF)[0]).all()
    assert len(np.unique(row_digests(np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 4.0], [0.0, 3.0]]))[0])) == 4


def test_sorted_tables_and_columns_in_another_order_are_of_the_same_law():
    random = np.random.default_rng(0)
    y = np.sort(random.integers(0, 2, 3000))
    X = random.standard_normal((3000, 5)) + y[:, None]
    new = random.standard_normal((400, 5)) + random.integers(0, 2, 400)[:, None]
    assert same_law_pvalue(X, new) > 0.01
    assert same_law_pvalue(sparse.coo_array(X), sparse.coo_array(new)) > 0.01
    few, labels = X[::30] + np.arange(5), y[::30]
    frame = pd.DataFrame(few, columns=list("abcde"))
    named = pd.DataFrame(new + np.arange(5), columns=list("abcde"))[list("edcba")]
    chosen = ColumnTransformer([("all", StandardScaler(), list("abcde"))])
    model = make_pipeline(chosen, LogisticRegression()).fit(frame, labels)
    assert error_bound(model, frame, labels, X_new=named, method="agreement", random_state=0).has_probability


def test_rows_of_weight_zero_are_no_samples_of_the_law(study, X_new):
    X, y, weights = study.data.copy(), study.target, np.ones(80)
    X[:10] += 50.0
    weights[:10] = 0.0
    model = MinimaxRiskClassifier().fit(X, y, sample_weight=weights)
    found = error_bound(model, X, y, sample_weight=weights, X_new=X_new, random_state=0)
    assert by_method(found)[AGREEMENT].has_probability
    assert by_method(found)[AGREEMENT].n_train == 70


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X_new": np.zeros((5, 3))}, "features"),
        ({"X_new": np.zeros((1, 100))}, "at least 2 instances"),
        ({"groups_new": np.zeros(5)}, "groups_new says which rows of X_new belong together: pass X_new, too"),
        ({"X_new": np.zeros((5, 100)), "groups_new": [0, 1]}, "groups_new must be 1-D with one entry for"),
        ({"model": LogisticRegression(), "X_new": np.zeros((5, 100))}, "not fitted"),
        ({"X_unlabeled": np.zeros((5, 100))}, "X_unlabeled is for a fitted MinimaxRiskClassifier"),
        ({"model": object()}, "model must be a classifier"),
        ({"model": LogisticRegression}, "model must be a classifier"),
    ],
)
def test_arguments_that_make_no_sense(change, message, study):
    model = change.pop("model", None) or LogisticRegression(max_iter=5000).fit(study.data, study.target)
    with pytest.raises(ValueError, match=message):
        error_bound(model, study.data, study.target, random_state=0, **change)


def test_a_posed_fit_has_its_data(study, X_new):
    posed = PosedFit(MinimaxRiskClassifier().fit(study.data, study.target), study.data, study.target)
    for method in ("holdout", "agreement"):
        with pytest.raises(ValueError, match="holds its data already"):
            error_bound(posed, study.data, study.target, method=method, X_new=X_new)
    assert error_bound(posed, method="agreement", X_new=X_new, random_state=0).n_train == 80


def test_agreement_is_about_the_model_and_not_about_what_is_fitted_anew():
    found = make_expression(80, 40, effect=1.0, random_state=0)
    X, y, X_new = found.data, found.target, found.law.sample(60, random_state=1)[0]
    model = MinimaxRiskClassifier().fit(X, y)
    alone = error_bound(model, X, y, X_new=X_new, method="agreement", random_state=0)
    learner = MinimaxRiskClassifier(radius=3.0)
    for other in (learner, clone(learner).fit(X, y)):
        posed = PosedFit(model, X, y, learner=other)
        found = error_bound(posed, X_new=X_new, method="agreement", random_state=0)
        assert found.model is model
        half = error_bound(posed, method="holdout", random_state=0).model
        assert half.get_params()["radius"] == 3.0
        differ = int(np.sum(half.predict(X_new) != model.predict(X_new)))
        assert f"on {differ} of 60 new instances the two differ" in found.statement
        best = error_bound(posed, X_new=X_new, random_state=0)
        assert {one.model for one in (best, *best.alternatives) if one.method == "agreement"} == {model}
    assert alone.model is model
