"""The permutation test: against refits from the definition, its error rates, groups, weights, processes."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from scipy import stats
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from minimaxrisk import MinimaxRiskClassifier, permutation_test
from minimaxrisk._utils.parallel import parallel_map
from minimaxrisk.datasets import make_expression


@pytest.fixture
def noise():
    rng = np.random.default_rng(0)
    return rng.standard_normal((30, 80)), np.arange(30) % 2


def labellings(y, n, seed):
    """The permuted labels, drawn as the test draws them."""
    random = np.random.RandomState(seed)
    return [y[random.permutation(len(y))] for _ in range(n)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"coding": "one-hot"},
        {"radius": "bootstrap", "n_bootstrap": 1, "standardize": False, "weight_kind": "counts"},
        {"radius": "bootstrap", "n_bootstrap": 1, "weight_kind": "importance"},
        {"solver": "constraint-generation", "fit_intercept": False},
        {"class_weight": "balanced"},
    ],
)
def test_null_values_are_those_of_fits_on_permuted_labels(noise, options):
    X, y = noise
    weights = 1.0 + np.arange(30) % 3
    estimator = MinimaxRiskClassifier(**options)
    result = permutation_test(estimator, X, y, 3, sample_weight=weights, random_state=3)
    for value, labels in zip(result.null_distribution, labellings(y, 3, 3), strict=True):
        exact = MinimaxRiskClassifier(**options).fit(X, labels, sample_weight=weights)
        assert exact.worst_case_error_lower_ - 1e-9 <= value <= exact.worst_case_error_ + 1e-3
    observed = MinimaxRiskClassifier(**options).fit(X, y, sample_weight=weights)
    assert observed.worst_case_error_ - 1e-9 <= result.statistic <= observed.worst_case_error_ + 1e-3
    assert result.noise_floor[0.05] == np.quantile(result.null_distribution, 0.05)


@pytest.mark.parametrize("seed", range(2))
def test_labellings_that_are_alike_by_symmetry_are_ties(seed):
    """Each sample is the last one with its values moved on by a column, and one sample is of another class.

    Which one makes no difference to R* but for the order in which numbers are added up, and rounding must
    not tell the observed labelling from the others.
    """
    row = np.random.default_rng(seed).standard_normal(9)
    X = np.array([np.roll(row, i) for i in range(9)])
    y = (np.arange(9) == 0).astype(int)
    result = permutation_test(MinimaxRiskClassifier(radius=0.3), X, y, 30, n_null=None, random_state=0)
    assert result.null_distribution == pytest.approx(np.full(30, result.statistic), abs=1e-12)
    assert result.pvalue == 1.0


@pytest.mark.parametrize("n_tests", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_pvalues_of_early_decisions_are_uniform_without_signal(n_tests):
    """P-values are reached as often as they say, within noise.

    The radius is so small that R* is hardly ever that of naming one class, which would make ties.
    """
    pvalues = []
    for seed in range(n_tests):
        study = make_expression(20, 15, n_informative=0, random_state=seed)
        test = permutation_test(
            *(MinimaxRiskClassifier(radius=0.3), study.data, study.target, 19), n_null=1, random_state=seed
        )
        pvalues.append(test.pvalue)
    for level in (0.05, 0.1, 0.25, 0.5):
        n_below = int(np.sum(np.array(pvalues) <= level + 1e-12))
        assert stats.binomtest(n_below, n_tests, level).pvalue > 1e-3


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("effect", [0.0, 1.0])
@pytest.mark.parametrize(
    "options",
    [{}, {"class_weight": "balanced"}, {"marginal": "empirical"}],
)
def test_early_decisions_are_those_of_exact_values(n_classes, effect, options):
    rng = np.random.default_rng(n_classes)
    y = np.arange(30) % n_classes
    X = rng.standard_normal((30, 40))
    X[:, 0] += effect * y
    estimator = MinimaxRiskClassifier(**options)
    early = permutation_test(estimator, X, y, 12, n_null=1, random_state=0)
    assert early.null_distribution.shape == (1,)
    exact = [
        MinimaxRiskClassifier(**options).fit(X, labels).worst_case_error_ for labels in labellings(y, 12, 0)
    ]
    observed = MinimaxRiskClassifier(**options).fit(X, y).worst_case_error_
    assert early.n_no_larger == np.sum(np.array(exact) <= observed + 1e-6)
    assert early.pvalue == (1 + early.n_no_larger) / 13
    whole = permutation_test(estimator, X, y, 12, n_null=None, random_state=0)
    assert (whole.pvalue, whole.n_no_larger) == (early.pvalue, early.n_no_larger)
    assert whole.null_distribution.shape == (12,)
    assert whole.null_distribution[0] == early.null_distribution[0]


def test_strata_keep_differences_between_batches_out():
    """Batches differ in their features and in their share of cases; within them labels are noise."""
    rng = np.random.default_rng(5)
    batch = np.repeat([0, 1], 20)
    y = (rng.random(40) < np.where(batch == 0, 0.2, 0.8)).astype(int)
    X = rng.standard_normal((40, 100)) + 3.0 * batch[:, None] * (np.arange(100) < 50)
    estimator = MinimaxRiskClassifier()
    assert permutation_test(estimator, X, y, 49, random_state=0).pvalue <= 0.04
    assert permutation_test(estimator, X, y, 49, strata=batch, random_state=0).pvalue > 0.1


def test_samples_of_weight_zero_take_no_part(noise):
    X, y = noise
    weights = np.ones(30)
    weights[25:] = 0.0
    X_more = X.copy()
    X_more[25:] = 100.0
    estimator = MinimaxRiskClassifier()
    with_them = permutation_test(estimator, X_more, y, 5, sample_weight=weights, random_state=0)
    without = permutation_test(estimator, X[:25], y[:25], 5, random_state=0)
    assert np.array_equal(with_them.null_distribution, without.null_distribution)


def test_selection_inside_a_pipeline_is_part_of_what_is_tested(noise):
    """Columns chosen by their labels before the test would make noise look like signal."""
    X, y = noise
    pipeline = make_pipeline(SelectKBest(k=10), MinimaxRiskClassifier())
    result = permutation_test(pipeline, X, y, 5, random_state=2, sample_weight=np.ones(30))
    for value, labels in zip(result.null_distribution, labellings(y, 5, 2), strict=True):
        chosen = SelectKBest(k=10).fit_transform(X, labels)
        exact = MinimaxRiskClassifier().fit(chosen, labels).worst_case_error_
        assert exact - 1e-9 <= value <= exact + 1e-3


@pytest.mark.usefixtures("eager_processes")
def test_the_number_of_processes_does_not_matter(noise):
    X, y = noise
    fitted = MinimaxRiskClassifier().fit(X, y)
    coef = fitted.coef_.copy()
    one = permutation_test(fitted, X, y, 30, random_state=0, n_jobs=1)
    two = permutation_test(fitted, X, y, 30, random_state=0, n_jobs=2)
    assert np.array_equal(one.null_distribution, two.null_distribution)
    assert np.array_equal(fitted.coef_, coef)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_permutations": 0}, "n_permutations"),
        ({"n_null": 0}, "n_null"),
        ({"gap_tol": "small"}, "gap_tol"),
        ({"groups": np.zeros(7)}, "groups"),
        ({"groups": np.arange(30) // 2, "strata": np.arange(30)}, "strata"),
        ({"strata": np.arange(30)}, "strata"),
        ({"y": np.zeros(30)}, "classes"),
        ({"estimator": LogisticRegression()}, "LogisticRegression"),
        ({"estimator": MinimaxRiskClassifier(radius=-1)}, "radius"),
    ],
)
def test_bad_input(noise, changes, message):
    X, y = noise
    arguments = {"estimator": MinimaxRiskClassifier(), "X": X, "y": y, "n_permutations": 3} | changes
    with pytest.raises(ValueError, match=message):
        permutation_test(**arguments)


# By value, so that processes need not import this module.
square, process = (lambda x: x * x), (lambda _: os.getpid())


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("eager_processes")
def test_work_of_several_processes_keeps_its_order(n_jobs):
    done = []
    assert parallel_map(square, range(50), n_jobs=n_jobs, progress=done.append) == [x * x for x in range(50)]
    assert sum(done) == 50
    assert parallel_map(square, [], n_jobs=n_jobs) == []


@pytest.mark.usefixtures("eager_processes")
def test_the_callers_choice_of_a_joblib_backend_is_honoured():
    with parallel_config(backend="threading", n_jobs=2):
        assert set(parallel_map(process, range(20))) == {os.getpid()}


def test_processes_need_no_main_guard_and_pass_on_errors(tmp_path):
    """A plain script without ``if __name__ == "__main__"`` runs its processes once, not in a circle.

    An error ends the processes, which other tests would have to start again: so it is raised here.
    """
    script = tmp_path / "study.py"
    script.write_text(
        "from minimaxrisk._utils import parallel\n"
        "parallel.START_UP = -1.0\n"
        "squares = parallel.parallel_map(lambda x: x * x, range(40), n_jobs=2)\n"
        "print('sum', sum(squares))\n"
        "for n_jobs in (1, 2):\n"
        "    try:\n"
        "        parallel.parallel_map(lambda x: 1 // (x - 7), range(10), n_jobs=n_jobs)\n"
        "    except ZeroDivisionError as error:\n"
        "        print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, env=os.environ, timeout=120
    )
    assert ran.stdout.splitlines() == ["sum 20540", *["integer division or modulo by zero"] * 2]


def replicated(seed, n_patients=20, n_each=3, d=30):
    """Measurements of patients: noise that all measurements of a patient share, and a little of their own."""
    rng = np.random.default_rng(seed)
    patients = np.repeat(np.arange(n_patients), n_each)
    X = rng.standard_normal((n_patients, d))[patients] + 0.3 * rng.standard_normal((len(patients), d))
    return X, (np.arange(n_patients) % 2)[patients], patients


def test_groups_of_noise_are_not_taken_for_a_signal():
    """Permuted one by one they are: the labels of a patient's copies then contradict each other."""
    small = {"one by one": 0, "by patient": 0}
    for seed in range(20):
        X, y, patients = replicated(seed)
        for name, groups in (("one by one", None), ("by patient", patients)):
            test = permutation_test(
                MinimaxRiskClassifier(), X, y, 19, groups=groups, random_state=seed, gap_tol=1e-2
            )
            small[name] += test.pvalue <= 0.05
    assert small["by patient"] <= 4
    assert small["one by one"] >= 15


def test_weights_that_depend_on_the_label_are_told_of():
    X, y, _ = replicated(0)
    lopsided = np.where(y == y[0], 2.0, 1.0)
    with pytest.warns(UserWarning, match="sample_weight depends on the label"):
        permutation_test(MinimaxRiskClassifier(), X, y, 3, sample_weight=lopsided, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mixed = lopsided.copy()
        mixed[0] += 1.0
        for weights in (np.full(len(y), 2.0), mixed):
            permutation_test(MinimaxRiskClassifier(), X, y, 3, sample_weight=weights, random_state=0)
