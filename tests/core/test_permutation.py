"""The permutation test: against refits from the definition, its error rates, groups, weights, processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse, stats
from sklearn import config_context
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from minimaxrisk import MinimaxRiskClassifier, permutation_test
from minimaxrisk._utils import parallel
from minimaxrisk._utils.parallel import parallel_map, progress_bar
from minimaxrisk.analysis import permutation_test as permutation_module
from minimaxrisk.datasets import make_expression
from minimaxrisk.engines.solution import StoppingRule
from minimaxrisk.solvers import InteriorPoint


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
        {"class_weight": {0: 1.0, 1: 2.0}},
    ],
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_null_values_are_those_of_fits_on_permuted_labels(noise, options, container):
    X, y = noise
    X = container(np.where(np.abs(X) < 0.5, 0.0, X))
    weights = 1.0 + np.arange(30) % 3
    estimator = MinimaxRiskClassifier(**options)
    result = permutation_test(estimator, X, y, 3, sample_weight=weights, random_state=3)
    for value, labels in zip(result.null_distribution, labellings(y, 3, 3), strict=True):
        exact = MinimaxRiskClassifier(**options).fit(X, labels, sample_weight=weights)
        assert exact.worst_case_error_lower_ - 1e-9 <= value <= exact.worst_case_error_ + 1e-3
    observed = MinimaxRiskClassifier(**options).fit(X, y, sample_weight=weights)
    assert observed.worst_case_error_ - 1e-9 <= result.statistic <= observed.worst_case_error_ + 1e-3


def test_several_classes(wide):
    X, y = wide
    result = permutation_test(MinimaxRiskClassifier(), X, y, 19, random_state=0)
    assert result.pvalue == 0.05
    assert result.statistic < result.noise_floor[0.01]
    for value, labels in zip(result.null_distribution[:3], labellings(y, 3, 0), strict=True):
        assert MinimaxRiskClassifier().fit(X, labels).worst_case_error_ == pytest.approx(value, abs=1.1e-3)


def test_pvalue_and_quantiles_follow_from_the_null_distribution(noise):
    X, y = noise
    result = permutation_test(MinimaxRiskClassifier(), X, y, 40, n_null=None, random_state=1)
    assert result.n_no_larger == np.sum(result.null_distribution <= result.statistic)
    assert result.pvalue == (1 + result.n_no_larger) / 41
    for probability, value in result.noise_floor.items():
        assert value == np.quantile(result.null_distribution, probability)
    assert str(result).endswith(f"p = {result.pvalue:.3g} with 40 permutations")
    first = replace(result, pvalue=1 / 41, n_no_larger=0)
    assert str(first).endswith("p = 0.0244 with 40 permutations, the smallest possible")


@pytest.mark.parametrize("seed", range(4))
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


def test_a_radius_at_which_nothing_is_selected_shows_nothing(noise):
    X, y = noise
    result = permutation_test(MinimaxRiskClassifier(radius=10.0), X, y, 9, random_state=0)
    assert result.pvalue == 1.0
    assert result.statistic == 0.5


@pytest.mark.parametrize("h", [None, 3])
def test_pvalues_of_early_decisions_are_uniform_without_signal(h):
    check_uniform(60, n_permutations=19, stop_after=h)


@pytest.mark.slow
@pytest.mark.parametrize("h", [None, 4])
def test_pvalues_of_a_thousand_tests_are_uniform(h):
    check_uniform(1000, n_permutations=39, stop_after=h)


def check_uniform(n_tests, *, n_permutations, stop_after):
    """P-values that both rules can give are reached as often as they say, within noise.

    The radius is so small that R* is hardly ever that of naming one class, which would make ties.
    """
    pvalues = []
    for seed in range(n_tests):
        study = make_expression(20, 15, n_informative=0, random_state=seed)
        test = permutation_test(
            *(MinimaxRiskClassifier(radius=0.3), study.data, study.target, n_permutations),
            n_null=1,
            stop_after=stop_after,
            random_state=seed,
        )
        pvalues.append(test.pvalue)
    for level in (0.05, 0.1, 0.25, 0.5):
        n_below = int(np.sum(np.array(pvalues) <= level + 1e-12))
        assert stats.binomtest(n_below, n_tests, level).pvalue > 1e-3


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("effect", [0.0, 1.0])
@pytest.mark.parametrize(
    "options",
    [{}, {"solver": "constraint-generation"}, {"class_weight": "balanced"}, {"marginal": "empirical"}],
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fit_that_is_decided_stops_and_proves_its_decision(wide, n_classes, dtype):
    """Lower bounds of rough passes, as those of float32, decide nothing."""
    X, y = wide
    y = y if n_classes == 3 else np.arange(len(y)) % 2
    sample = permutation_module._Sample.check(X.astype(dtype), y, None, None, None)
    bounds_of = permutation_module._bounds_of(MinimaxRiskClassifier(), sample)
    orders = sample.labels.orders_of_rows(3, 0)
    exact = bounds_of([(order, StoppingRule(1e-7)) for order in orders])
    threshold = min(bounds.lower for bounds in exact) - 0.02
    for early, value in zip(
        bounds_of([(order, StoppingRule(np.inf, threshold)) for order in orders]), exact, strict=True
    ):
        assert threshold < early.lower <= value.upper
        assert early.upper - early.lower > 1e-3
    for early in bounds_of([(order, StoppingRule(np.inf, threshold + 0.5)) for order in orders]):
        assert early.upper <= threshold + 0.5
        assert early.upper - early.lower > 1e-3


@pytest.mark.filterwarnings("ignore:the estimator's solver stopped where")
def test_fits_that_end_undecided_count_against_the_result(wide):
    X, y = wide
    test = permutation_test(MinimaxRiskClassifier(), X, y, 19, random_state=0)
    assert test.n_no_larger == 0
    few = MinimaxRiskClassifier(solver=InteriorPoint(max_iter=3))
    sample = permutation_module._Sample.check(X, y, None, None, None)
    labellings = [
        (order, StoppingRule(1e-6)) for order in (np.arange(len(y)), *sample.labels.orders_of_rows(19, 0))
    ]
    observed, *others = permutation_module._bounds_of(few, sample)(labellings)
    is_open = [bounds.lower <= observed.upper < bounds.upper for bounds in others]
    assert sum(is_open) > 0
    undecided = permutation_test(few, X, y, 19, random_state=0)
    assert undecided.n_no_larger >= sum(is_open)


@pytest.mark.usefixtures("eager_processes")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_sequential_rule_stops_at_its_count(noise, n_jobs):
    X, y = noise
    estimator = MinimaxRiskClassifier()
    whole = permutation_test(estimator, X, y, 40, n_null=None, random_state=1)
    no_larger = np.flatnonzero(whole.null_distribution <= whole.statistic + 1e-12)
    for h in (1, 5):
        stopped = permutation_test(estimator, X, y, 40, n_null=3, stop_after=h, n_jobs=n_jobs, random_state=1)
        n_used = no_larger[h - 1] + 1
        assert (stopped.n_permutations, stopped.n_no_larger) == (n_used, h)
        assert stopped.pvalue == h / n_used
        assert np.array_equal(stopped.null_distribution, whole.null_distribution[: min(3, n_used)])
    never = permutation_test(estimator, X, y, 40, stop_after=40, n_jobs=n_jobs, random_state=1)
    assert (never.pvalue, never.n_permutations) == (whole.pvalue, 40)


def test_strata_keep_differences_between_batches_out():
    """Batches differ in their features and in their share of cases; within them labels are noise."""
    rng = np.random.default_rng(5)
    batch = np.repeat([0, 1], 20)
    y = (rng.random(40) < np.where(batch == 0, 0.2, 0.8)).astype(int)
    X = rng.standard_normal((40, 100)) + 3.0 * batch[:, None] * (np.arange(100) < 50)
    estimator = MinimaxRiskClassifier()
    assert permutation_test(estimator, X, y, 49, random_state=0).pvalue <= 0.04
    assert permutation_test(estimator, X, y, 49, strata=batch, random_state=0).pvalue > 0.1


def test_labels_stay_within_their_stratum(noise):
    X, _ = noise
    strata = np.repeat(["a", "b", "c"], 10)
    y = np.array([0] * 10 + [1] * 10 + [0, 1] * 5)
    seen = []

    class Spy(MinimaxRiskClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(y)
            return super().fit(X, y, sample_weight)

    permutation_test(Spy(), X, y, 6, strata=strata, random_state=0)
    for labels in seen:
        assert np.array_equal(labels[:20], y[:20])
        assert labels[20:].sum() == 5
    assert len({tuple(labels) for labels in seen}) > 3


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


def test_strata_may_have_names_of_any_kind(noise):
    X, y = noise
    mixed = [("a", 1, None.__class__, 2.5, "b")[i % 5] for i in range(30)]
    plain = permutation_test(MinimaxRiskClassifier(), X, y, 4, strata=np.arange(30) % 5, random_state=0)
    named = permutation_test(MinimaxRiskClassifier(), X, y, 4, strata=mixed, random_state=0)
    assert np.array_equal(plain.null_distribution, named.null_distribution)


def test_weights_of_a_pipeline_under_metadata_routing(noise):
    X, y = noise
    weights = 1.0 + np.arange(30) % 3
    pipeline = make_pipeline(SelectKBest(k=10), MinimaxRiskClassifier())
    plain = permutation_test(pipeline, X, y, 3, sample_weight=weights, random_state=0)
    with config_context(enable_metadata_routing=True):
        routed = permutation_test(pipeline, X, y, 3, sample_weight=weights, random_state=0)
    assert np.array_equal(plain.null_distribution, routed.null_distribution)


def test_threads_leave_the_filters_of_warnings_alone(noise, monkeypatch):
    """Filters belong to the whole process. Threads that change them for a while can leave them changed.

    scikit-learn does so when it checks X and y: the filters may differ afterwards, but not because of us.
    """
    X, y = noise
    pipeline = make_pipeline(MinimaxRiskClassifier())
    changed_by = set()

    def told(change):
        def changing(*args, **kwargs):
            changed_by.add(sys._getframe(1).f_globals["__name__"])
            return change(*args, **kwargs)

        return changing

    monkeypatch.setattr(warnings.catch_warnings, "__enter__", told(warnings.catch_warnings.__enter__))
    for name in ("simplefilter", "filterwarnings", "resetwarnings"):
        monkeypatch.setattr(warnings, name, told(getattr(warnings, name)))
    with ThreadPoolExecutor(4) as threads:
        jobs = [threads.submit(permutation_test, pipeline, X, y, 4) for _ in range(4)]
        assert all(0.0 < job.result().pvalue <= 1.0 for job in jobs)
    assert not [module for module in changed_by if module.startswith("minimaxrisk")]


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


def test_no_warning_about_the_radius_and_a_bar_if_asked_for(noise, capsys):
    X, y = noise
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        permutation_test(MinimaxRiskClassifier(), X, y, 3)
        permutation_test(make_pipeline(MinimaxRiskClassifier()), X, y, 3, verbose=1)
    assert "permutations: 100%" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_permutations": 0}, "n_permutations must be a positive integer, got 0"),
        ({"n_permutations": 2.5}, "n_permutations must be a positive integer, got 2.5"),
        ({"n_null": 0}, "n_null must be a positive integer, got 0"),
        ({"stop_after": -1}, "stop_after must be a positive integer, got -1"),
        ({"gap_tol": 0.0}, "gap_tol must be positive, got 0.0"),
        ({"groups": np.zeros(7)}, r"one entry for each of the 30 samples, got shape \(7,\)"),
        ({"groups": [None] + ["a"] * 29}, "groups has no entry at position 0"),
        ({"groups": ["a", np.nan] * 15}, "groups has no entry at position 1"),
        ({"groups": "a"}, r"groups must be 1-D .* got shape \(\)"),
        ({"n_jobs": "2"}, "n_jobs must be an integer or None, got '2'"),
        ({"gap_tol": "small"}, "gap_tol must be positive, got 'small'"),
        ({"strata": np.arange(30)}, "each of the 30 strata holds one class only"),
        ({"y": np.arange(29) % 2}, "one label for each of the 30 samples, got shape"),
        ({"y": np.zeros(30)}, "at least 2 classes"),
        (
            {"estimator": LogisticRegression()},
            "permutation_test is not supported for LogisticRegression; pass a MinimaxRiskClassifier",
        ),
        ({"estimator": MinimaxRiskClassifier(radius=-1)}, "radius"),
        ({"sample_weight": -np.ones(30)}, "Negative values"),
    ],
)
def test_bad_input(noise, changes, message):
    X, y = noise
    arguments = {"estimator": MinimaxRiskClassifier(), "X": X, "y": y, "n_permutations": 3} | changes
    with pytest.raises(ValueError, match=message):
        permutation_test(**arguments)


def test_labels_are_matched_by_position(noise):
    pd = pytest.importorskip("pandas")
    X, y = (pd.DataFrame(each, index=[f"s{i}" for i in range(30)]) for each in noise)
    arguments = {"n_permutations": 9, "random_state": 0}
    found = permutation_test(MinimaxRiskClassifier(), X, y, **arguments)
    assert found.pvalue == permutation_test(MinimaxRiskClassifier(), *noise, **arguments).pvalue
    with pytest.raises(ValueError, match="y has the index of X in another order"):
        permutation_test(MinimaxRiskClassifier(), X, y[0].iloc[::-1], **arguments)


# By value, so that processes need not import this module.
square, process = (lambda x: x * x), (lambda _: os.getpid())


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("eager_processes")
def test_work_of_several_processes_keeps_its_order(n_jobs):
    done = []
    assert parallel_map(square, range(50), n_jobs=n_jobs, progress=done.append) == [x * x for x in range(50)]
    assert sum(done) == 50
    assert parallel_map(square, [], n_jobs=n_jobs) == []


def test_processes_are_started_only_for_work_that_is_worth_it(monkeypatch):
    monkeypatch.setattr(parallel, "START_UP", 60.0)
    assert set(parallel_map(process, range(20), n_jobs=2)) == {os.getpid()}
    # The first item tells how long the rest will take.
    monkeypatch.setattr(parallel, "START_UP", 0.0)
    first, *others = parallel_map(process, range(20), n_jobs=2)
    assert first == os.getpid()
    assert os.getpid() not in others


@pytest.mark.usefixtures("eager_processes")
def test_the_callers_choice_of_a_joblib_backend_is_honoured():
    with parallel_config(backend="threading", n_jobs=2):
        assert set(parallel_map(process, range(20))) == {os.getpid()}


def test_progress_is_shown_if_asked_for(capsys):
    for verbose in (0, 1):
        with progress_bar(2, "things", verbose=verbose) as advance:
            advance(1)
            advance(1)
    shown = capsys.readouterr().err
    assert re.sub(r"\d+ s", "_ s", shown) == "\rthings: 50% (1 of 2, _ s)\rthings: 100% (2 of 2, _ s)\n"


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


def test_labels_move_from_patient_to_patient():
    X, y, patients = replicated(0)
    sample = permutation_module._Sample.check(X, y, patients, None, None)
    for order in sample.labels.orders_of_rows(20, 0):
        labels = y[order]
        assert all(len(set(labels[patients == one])) == 1 for one in range(20))
        assert np.bincount(labels[::3]).tolist() == [10, 10]
    batch = np.arange(60) // 30
    within = permutation_module._Sample.check(X, y, patients, batch, None)
    for order in within.labels.orders_of_rows(5, 0):
        assert (batch[order] == batch).all()


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"strata": np.arange(60)}, "strata must be the same for all samples of a group"),
        ({"strata": np.zeros(5)}, "strata must be 1-D with one entry for each of the 60 samples"),
    ],
)
def test_groups_that_make_no_sense(arguments, message):
    X, y, patients = replicated(0)
    with pytest.raises(ValueError, match=message):
        permutation_test(MinimaxRiskClassifier(), X, y, 3, **({"groups": patients} | arguments))
