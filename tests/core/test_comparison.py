"""Several classifiers on the same folds."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.datasets import load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, LeaveOneOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from minimaxrisk import MinimaxRiskClassifier, compare
from minimaxrisk.analysis.comparison import Comparison, usual_rivals
from minimaxrisk.datasets import make_expression


@pytest.fixture(scope="module")
def study():
    found = make_expression(40, 60, n_informative=5, effect=1.5, random_state=0)
    return found.data, found.target


def with_few_trees(rivals):
    """What is asked of them does not depend on the other 480."""
    rivals["random forest"].set_params(n_estimators=20)
    return rivals


def test_errors_are_those_of_scikit_learns_folds(study):
    X, y = study
    estimators = {"ours": MinimaxRiskClassifier(), "bayes": GaussianNB()}
    found = compare(estimators, X, y, cv=4, n_repeats=2, random_state=3)
    folds = [
        fold for seed in (3, 4) for fold in StratifiedKFold(4, shuffle=True, random_state=seed).split(X, y)
    ]
    for row, estimator in zip(found.errors, (MinimaxRiskClassifier(), GaussianNB()), strict=True):
        by_hand = [1 - estimator.fit(X[train], y[train]).score(X[test], y[test]) for train, test in folds]
        assert np.allclose(row, by_hand)
    difference = found.errors[1] - found.errors[0]
    assert found.differences[1] == pytest.approx(difference.mean())
    expected = np.sqrt(difference.var(ddof=1) * (1 / 8 + 10 / 30))
    assert found.difference_errors.tolist() == pytest.approx([0.0, expected])
    # Student's distribution with one degree of freedom less than folds, however often these are drawn.
    student = stats.t(3, difference.mean(), expected)
    assert found.p_values == pytest.approx([1.0, 2 * min(student.cdf(0), student.sf(0))])
    assert found.intervals[1] == pytest.approx(student.interval(0.95))
    assert found.intervals[0].tolist() == [0.0, 0.0]
    assert found.names == ("ours", "bayes")
    assert (found.seconds > 0).all()
    again = compare(estimators, X, y, cv=4, n_repeats=2, random_state=3, n_jobs=2)
    assert np.array_equal(again.errors, found.errors)


def test_columns_are_counted_where_a_model_tells(study):
    X, y = study
    labels = np.where(X[:, 0] > np.quantile(X[:, 0], 0.7), "third", np.asarray(y, dtype=str))
    searched = GridSearchCV(MinimaxRiskClassifier(), {"radius": [1.5]}, cv=2)
    estimators = {
        "ours": MinimaxRiskClassifier(),
        "tree": DecisionTreeClassifier(),
        "inner": make_pipeline(StandardScaler(), searched),
    }
    found = compare(estimators | with_few_trees(usual_rivals(3)), X, labels, cv=StratifiedKFold(2))
    train = next(StratifiedKFold(2).split(X, labels))[0]
    assert found.n_features[0, 0] == MinimaxRiskClassifier().fit(X[train], labels[train]).n_features_selected_
    used = dict(zip(found.names, found.n_features[:, 0], strict=True))
    assert np.isnan(used["tree"])
    assert np.isnan(used["random forest"])
    assert used["linear SVM"] == 60
    for name in ("inner", "L1 logistic regression", "nearest shrunken centroids"):
        assert 0 < used[name] < 60


def test_classes_that_are_never_predicted_are_told():
    found = compare(
        {"linear": MinimaxRiskClassifier(), "bayes": GaussianNB(), "one": DummyClassifier()},
        *load_iris(return_X_y=True),
    )
    assert found.never_predicted == ((1,), (), (1, 2))


def test_usual_rivals_take_sparse_columns():
    X, y = load_wine(return_X_y=True)
    found = compare(with_few_trees(usual_rivals(3, is_sparse=True)), sparse.csr_array(X), y, cv=2)
    assert (found.mean_errors < 0.2).all()


def test_equal_errors_on_every_fold_and_differences_that_do_not_vary():
    """Without a difference p is 1; one that every fold shares has p = 0, and no interval around it."""
    errors = np.array([[0.2, 0.2, 0.2], [0.2, 0.2, 0.2], [0.4, 0.4, 0.4]])
    found = Comparison(("a", "b", "c"), errors, errors, errors, 0.5, ((), (), ()))
    assert found.p_values == pytest.approx([1.0, 1.0, 0.0])
    assert found.intervals == pytest.approx(np.array([[0.0, 0.0], [0.0, 0.0], [0.2, 0.2]]))


def test_a_classifier_that_cannot_be_fitted_is_named():
    X, y = np.ones((20, 3)), np.arange(20) % 2
    estimators = {"dummy": DummyClassifier(), "centroids": NearestCentroid(shrink_threshold=0.5)}
    message = r"estimators\['centroids'\] failed on a fold.*zero variance"
    with (
        pytest.warns(UserWarning, match="zero standard deviation"),
        pytest.raises(ValueError, match=message) as raised,
    ):
        compare(estimators, X, y, cv=2)
    # As it comes back from another process.
    again = pickle.loads(pickle.dumps(raised.value))
    assert (again.name, str(again)) == ("centroids", str(raised.value))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimators": {}}, "estimators"),
        ({"estimators": {"a": GaussianNB}}, r"estimators\['a'\]"),
        ({"estimators": {"a": LinearRegression()}}, r"estimators\['a'\]"),
        ({"n_repeats": 0}, "n_repeats"),
        ({"n_repeats": 2, "cv": LeaveOneOut()}, "n_repeats"),
        ({"cv": [(np.arange(20), np.arange(20, 40))]}, "cv"),
        ({"groups": np.arange(39)}, "groups"),
    ],
)
def test_bad_input(study, change, message):
    given = {"estimators": {"dummy": DummyClassifier()}, "X": study[0], "y": study[1]} | change
    with pytest.raises(ValueError, match=message):
        compare(given.pop("estimators"), given.pop("X"), given.pop("y"), **given)
