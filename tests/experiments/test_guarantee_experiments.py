"""The experiments on guarantees: laws, true moments, a small run of each item, and claims that can fail."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.stats import f_oneway
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import StratifiedKFold

from experiments.__main__ import app, default_folder, main
from experiments.guarantees import (
    coverage,
    noise_floor,
    permutation_clock,
    permutation_time,
    radii_and_truth,
    radius_rules,
    reliable_lists,
)
from experiments.guarantees import path_and_fits as path
from experiments.guarantees.laws import LAWS, BinaryLaw, make_law
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from experiments.harness.summary import read_csv, text_again
from experiments.items import (
    ACCURACY_ITEMS,
    GUARANTEE_ITEMS,
    PAPER_ITEMS,
    RIVAL_ITEMS,
    SCALE_ITEMS,
    SECOND_PAPER_ITEMS,
)
from experiments.suites import EVERY_ITEM, SUITES
from minimaxrisk import (
    MinimaxRiskClassifier,
    minimax_risk_path,
    permutation_test,
    worst_case,
)
from minimaxrisk.datasets import make_expression
from minimaxrisk.exceptions import CoverageWarning
from tests.in_process import (
    cells_in_this_process,
    figures_without_layout,
    module_in_this_process,
    ok,
    verdicts,
    wine_with_few_samples,
)

TABLES_ALONE = (
    "radii",
    "classes",
    "rejections",
    "headline",
    "prevalence",
    "misuse",
    "false-alarms",
    "matched-pairs",
    "reliable",
    "intervals",
    "sets",
)


# All items, as small as the command lets them be.
SMALL = (
    "--quick --set folds=2 --set datasets=wine --set coverage_repetitions=1 --set noise_tests=2 --set "
    "power_tests=2 --set data_permutations=9 --set path_radii=2 --set "
    "radius_repetitions=2 --set radius_samples=8 --set radius_columns=2 --set level_tests=1 --set "
    "test_permutations=9 --set coverage_samples=20 --set coverage_features=20 "
    "--set classes_repetitions=1 --set classes_columns=40 --jobs 1"
)


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    """Within this process, on few samples."""
    out = tmp_path_factory.mktemp("guarantees")
    with (
        cells_in_this_process(),
        wine_with_few_samples(),
        figures_without_layout(),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(permutation_time, "run_module", module_in_this_process)
        patch.setattr(permutation_clock, "N_FITS", 1)
        assert main(["guarantees", "--out", str(out), *SMALL.split()]) == 0
    return out


def test_every_item_writes_its_table_figures_and_the_summary(small_run):
    summary = (small_run / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("# What the guarantees are worth\n")
    assert "paper's experiments" not in summary
    for name, item in GUARANTEE_ITEMS.items():
        assert f"## {item.title}" in summary
        rows = read_csv(small_run / name / f"{name}.csv")
        assert {row["status"] for row in rows} == {"ok"}
        # The page says nothing that does not follow from the CSV.
        assert text_again(small_run / name, item) in summary
        # Some are tables alone.
        assert list((small_run / name).glob("*.svg")) or name in TABLES_ALONE
    assert "(paper:" not in summary


def test_the_command_knows_every_item_and_suite():
    pages = {"page", "large-data-page", "accelerators-page", "summaries"}
    assert {command.name for command in app.registered_commands} == {*EVERY_ITEM, *SUITES, *pages}
    papers = (PAPER_ITEMS, SECOND_PAPER_ITEMS)
    suites = (*papers, GUARANTEE_ITEMS, ACCURACY_ITEMS, RIVAL_ITEMS, SCALE_ITEMS)
    assert len(EVERY_ITEM) == sum(len(items) for items in suites)
    assert not set(EVERY_ITEM) & set(SUITES)


@pytest.mark.parametrize("law", radii_and_truth.CASES)
def test_radii_beside_the_truth_are_those_of_a_fit(law, monkeypatch):
    """The means of the law against lambda_ of a model, data set by data set."""
    drawn = []
    real = radii_and_truth.check_training_data
    monkeypatch.setattr(
        radii_and_truth,
        "check_training_data",
        lambda model, X, y, **options: drawn.append((X, y, options)) or real(model, X, y, **options),
    )
    settings = {"law": law, "n_samples": 20, "n_columns": 30, "count": 5, "confidence": 0.5, "seed": 1}
    (row,) = radii_and_truth.work(settings)
    positive, covered = radii_and_truth.CASES[law].weighted_positive, []
    for X, y, options in drawn:
        model = MinimaxRiskClassifier(radius="bootstrap", n_bootstrap=500, confidence=0.5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, **options)
        p = options["sample_weight"] if options["sample_weight"] is not None else np.ones(len(y))
        p = p / p.sum()
        centre = p @ X
        scale = np.sqrt(p @ (X - centre) ** 2)
        varies = scale > 0
        means = np.array([np.zeros(30), np.where(np.arange(30) < 2, 1.0, 0.0)])
        truth = (1 - positive) * (means[0] - centre) - positive * (means[1] - centre)
        held = np.abs(model.tau_[0, 1:] - truth / np.where(varies, scale, 1.0)) <= model.lambda_[0, 1:]
        frequency = abs(model.tau_[0, 0] - (1 - 2 * positive)) <= model.lambda_[0, 0]
        covered.append(held[varies].all() and frequency)
    assert row["coverage"] == pytest.approx(np.mean(covered))
    assert row["n_sets"] == len(drawn)


@pytest.mark.parametrize("name", LAWS)
def test_class_means_are_those_of_large_samples(name):
    law = make_law(name, 30, 3)
    X, y = law.sample(100_000, 5)
    assert y.mean() == pytest.approx(law.positive, abs=0.01)
    for label in (0, 1):
        own = X[y == label]
        standard_error = own.std(axis=0) / np.sqrt(len(own))
        assert (np.abs(own.mean(axis=0) - law.class_means[label]) < 5.0 * standard_error).all()
    informative = np.any(law.class_means[0] != law.class_means[1], axis=None)
    assert informative


def test_laws_are_what_their_names_say():
    X, _ = make_law("correlated", 30, 0).sample(5000, 0)
    noise = np.corrcoef(X[:, np.ptp(make_law("correlated", 30, 0).class_means, axis=0) == 0].T)
    assert np.abs(noise - 0.9)[~np.eye(len(noise), dtype=bool)].max() < 0.03
    X, _ = make_law("independent", 30, 0).sample(5000, 0)
    noise = np.corrcoef(X[:, np.ptp(make_law("independent", 30, 0).class_means, axis=0) == 0].T)
    assert np.abs(noise - np.eye(len(noise))).max() < 0.1
    X, _ = make_law("lognormal", 30, 0).sample(5000, 0)
    assert X.min() > 0.0
    X, _ = make_law("rare binary", 30, 0).sample(5000, 0)
    assert set(np.unique(X)) == {0.0, 1.0}
    rare = make_law("rare binary", 30, 0).class_means[0]
    assert 0.005 <= rare.min() <= rare.max() <= 0.05


def test_true_moments_are_those_of_an_enumerated_law():
    """Three binary features and the label: sixteen cases, whose probabilities are known."""
    law = BinaryLaw(np.array([[0.1, 0.5, 0.3], [0.4, 0.5, 0.9]]), 0.3)
    X = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    # The last column is constant in the sample.
    scale = np.array([X[:, 0].std(), X[:, 1].std(), np.inf])
    expected = np.zeros(4)
    for y, *x in product((0, 1), repeat=4):
        p = law.frequencies[y]
        probability = (0.7, 0.3)[y] * np.prod(np.where(x, p, 1.0 - p))
        seen = (np.array(x, dtype=float) - X.mean(axis=0)) / scale
        expected += probability * (1, -1)[y] * np.array([1.0, *seen])
    np.testing.assert_allclose(coverage.true_moments(law, X)[0], expected, atol=1e-14)
    assert expected[3] == 0.0


def test_true_moments_of_the_sample_itself_are_tau():
    """As the library sees the features: signs, scales and the intercept's place agree."""
    X, y = make_law("rare binary", 200, 1).sample(50, 2)
    assert (np.ptp(X, axis=0) == 0.0).any()
    sample = BinaryLaw(np.stack([X[y == k].mean(axis=0) for k in (0, 1)]), float(y.mean()))
    model = MinimaxRiskClassifier().fit(X, y)
    np.testing.assert_allclose(coverage.true_moments(sample, X), model.tau_, atol=1e-12)
    each = MinimaxRiskClassifier(coding="one-hot").fit(X, y)
    np.testing.assert_allclose(coverage.true_moments(sample, X, "one-hot"), each.tau_, atol=1e-12)


CELL = {"first": 3, "count": 1, "n_samples": 50, "n_columns": 60, "confidence": 0.9}
CELL |= {"seed": 1}


@pytest.fixture(scope="module")
def coverage_rows():
    """One data set of the independent law, with all digits."""
    cell = CELL | {"law": "independent"}
    rows = {rule: coverage._one_data_set(cell, 3, rule) for rule in coverage.RULES}
    return [{"rule": rule, **row} for rule, row in rows.items()]


def the_data_set(law="independent"):
    return make_law(law, 60, 1).sample(50, coverage._seed(CELL | {"law": law}, coverage.SAMPLE, 3))


def test_a_row_of_coverage_is_what_one_computes_by_hand(coverage_rows):
    X, y = the_data_set()
    written = coverage.work(CELL | {"law": "independent"})
    for total, row in zip(written, coverage_rows, strict=True):
        assert (total["rule"], total["n"]) == (row["rule"], 1)
        summed = {name: total[name] for name in coverage.MEASURED}
        assert summed == pytest.approx({name: float(row[name]) for name in summed}, abs=1e-4)
        assert float(total["needed_factors"]) == pytest.approx(row["needed_factor"], abs=0.005)
    for row in coverage_rows:
        model = MinimaxRiskClassifier(radius=row["rule"], confidence=0.9).fit(X, y)
        assert row["factor"] == model.radius_
        assert row["worst_case_error"] == model.worst_case_error_
        assert row["argmax_worst_case_error"] == worst_case(model, X, y, rule="predict").upper
        assert row["warned"] is False


def test_the_needed_factor_is_where_the_set_begins_to_cover(coverage_rows):
    law, (X, y) = make_law("independent", 60, 1), the_data_set()
    (needed,) = {round(row["needed_factor"], 9) for row in coverage_rows}
    for factor, covered in ((needed * (1 + 1e-6), True), (needed * (1 - 1e-6), False)):
        model = MinimaxRiskClassifier(radius=factor).fit(X, y)
        off = np.abs(coverage.true_moments(law, X) - model.tau_)
        assert (off <= model.lambda_).all() == covered
    # With hardly any confidence the radii are too small.
    totals = coverage.work(CELL | {"law": "independent", "confidence": 0.01})
    assert [row["covered"] for row in [*coverage_rows, *totals]] == [True, False]
    assert all(row["needed_factor"] <= row["factor"] for row in coverage_rows)
    assert all(float(row["needed_factors"]) > row["factor"] for row in totals)


def test_data_sets_are_summed_up(coverage_rows):
    first, second = coverage_rows[0], dict(coverage_rows[0], factor=4.5, covered=False, true_error=0.9)
    total = coverage.summed_up([first, second])
    assert (total["n"], total["covered"]) == (2, 1)
    assert total["factor"] == pytest.approx(first["factor"] + second["factor"], abs=1e-4)
    assert len(total["needed_factors"].split()) == 2
    rows = [{"status": "ok", "law": "independent", "rule": "bootstrap", **total}] * 2
    assert coverage._share(rows, "covered") == "50.0 ± 25.0%"


def test_true_errors_are_exact_up_to_chance(coverage_rows):
    law, (X, y) = make_law("independent", 60, 1), the_data_set()
    model = MinimaxRiskClassifier(radius="bootstrap", confidence=0.9).fit(X, y)
    row = coverage_rows[0]
    exact = law.error(model.coef_, model.intercept_)
    chance = np.sqrt(exact * (1.0 - exact) / coverage.N_TRUTH)
    assert row["argmax_true_error"] == pytest.approx(exact, abs=4.0 * chance)
    others, labels = law.sample(50_000, 77)
    right = model.predict_proba(others)[np.arange(len(labels)), labels]
    assert row["true_error"] == pytest.approx(1.0 - right.mean(), abs=0.01)
    assert abs(row["true_error"] - row["argmax_true_error"]) > 0.02


def test_warnings_are_recorded():
    rows = coverage.work(CELL | {"law": "lognormal"})
    assert [row["warned"] for row in rows] == [1]
    X, y = the_data_set("lognormal")
    with pytest.warns(CoverageWarning):
        MinimaxRiskClassifier(radius="bootstrap", confidence=0.9).fit(X, y)


def test_a_permutation_test_does_not_depend_on_its_block():
    cell = {"seed": 2, "part": "signal", "n_permutations": 9}
    both = noise_floor.work(cell | {"first": 4, "count": 2})
    (second,) = noise_floor.work(cell | {"first": 5, "count": 1})
    assert both[1] == second
    assert both[0]["statistic"] != second["statistic"]
    (noise,) = noise_floor.work(cell | {"part": "noise", "first": 5, "count": 1})
    assert noise["statistic"] > second["statistic"]


def test_the_noise_floor_of_data_is_that_of_the_permutation_test():
    X, y = load_wine(return_X_y=True)
    (row,) = noise_floor.work({"part": "data", "dataset": "wine", "n_permutations": 19, "seed": 4})
    test = permutation_test(MinimaxRiskClassifier(), X, y, 19, random_state=4)
    assert (row["statistic"], row["pvalue"]) == (test.statistic, test.pvalue)
    assert (row["null_05"], row["null_50"]) == (test.noise_floor[0.05], test.noise_floor[0.5])


def test_a_row_of_radius_rules_is_what_one_computes_by_hand(monkeypatch):
    study = make_expression(60, 80, n_informative=5, effect=1.5, random_state=3)
    X, y = study.data, study.target
    monkeypatch.setattr(radius_rules, "load_source", lambda name: (X, y))
    cell = {"dataset": "hard", "radius": "bootstrap", "confidence": 0.9}
    (whole,) = radius_rules.work(cell | {"fold": None})
    model = MinimaxRiskClassifier(radius="bootstrap", confidence=0.9).fit(X, y)
    assert (whole["factor"], whole["worst_case_error"]) == (model.radius_, model.worst_case_error_)
    (fold,) = radius_rules.work(cell | {"fold": 1, "folds": 3, "seed": 5})
    train, test = list(StratifiedKFold(3, shuffle=True, random_state=5).split(X, y))[1]
    model.fit(X[train], y[train])
    assert fold["error"] == np.mean(model.predict(X[test]) != y[test])
    right = model.predict_proba(X[test])[np.arange(len(test)), y[test]]
    assert fold["randomized_error"] == pytest.approx(1.0 - right.mean())
    with warnings.catch_warnings():
        # That of a plain number with more features than samples is another one.
        warnings.simplefilter("always")
        (plain,) = radius_rules.work(cell | {"radius": 2.0, "fold": None})
    assert (plain["factor"], plain["warned"]) == (2.0, False)


@pytest.mark.filterwarnings("ignore::minimaxrisk.exceptions.CoverageWarning")  # it would cover
def test_rows_of_the_path_are_what_one_computes_by_hand():
    X, y = load_breast_cancer(return_X_y=True)
    cost, *rows = path.work({"dataset": "breast_cancer", "part": "grid", "n_radii": 3, "n_times": 2})
    radii = [0.5, np.sqrt(2.5), 5.0]
    by_hand = minimax_risk_path(X, y, radii)
    fits = [MinimaxRiskClassifier(radius=s).fit(X, y) for s in radii]
    assert [row["radius"] for row in rows] == pytest.approx(radii)
    for name, expected in (
        ("worst_case_error", by_hand.worst_case_error),
        ("lower", by_hand.lower),
        ("n_features", by_hand.n_features),
        ("fitted_worst_case_error", [model.worst_case_error_ for model in fits]),
    ):
        np.testing.assert_allclose([row[name] for row in rows], expected, rtol=1e-9)
    assert (cost["n_samples"], cost["n_columns"], cost["n_classes"]) == (569, 30, 2)
    assert cost["path_passes"] == by_hand.n_passes
    assert cost["fits_passes"] == sum(model.n_passes_ for model in fits)


def test_breakpoints_are_counted_with_two_classes_only():
    X, y = load_breast_cancer(return_X_y=True)
    (two,) = path.work({"dataset": "breast_cancer", "part": "breakpoints", "n_times": 1})
    assert two["n_breakpoints"] == len(minimax_risk_path(X, y, [0.5, 5.0], breakpoints=True).breakpoints) > 9
    (three,) = path.work({"dataset": "wine", "part": "breakpoints", "n_times": 1})
    assert three["n_breakpoints"] is None


def test_a_study_of_reliable_features_does_not_depend_on_its_block():
    cell = {"law": "normal", "n": 30, "seed": 2}
    (both,) = reliable_lists.work(cell | {"first": 4, "count": 2})
    parts = [reliable_lists.work(cell | {"first": k, "count": 1})[0] for k in (4, 5)]
    assert both == {name: pytest.approx((parts[0][name] + parts[1][name]) / 2) for name in both}
    assert 0 < both["at_least_10"] <= both["true_10"] <= 10.0
    (noise,) = reliable_lists.work(cell | {"law": "noise", "first": 4, "count": 2})
    assert noise["of_related"] == noise["true_30"] == 0.0


@pytest.mark.parametrize("law", reliable_lists.LAWS)
def test_related_features_are_those_that_differ(law):
    draw, parts = reliable_lists.LAWS[law]
    y = np.arange(4000) % len(parts)
    X = np.minimum(draw(np.random.default_rng(0), y), 20.0)
    differ = np.flatnonzero(f_oneway(*[X[y == k] for k in range(len(parts))]).pvalue < 1e-9)
    np.testing.assert_array_equal(differ, reliable_lists.related_features(law))


def coverage_row(law, rule, **values):
    usual = {
        "covered": True,
        "factor": 3.0,
        "needed_factor": 2.5,
        "warned": False,
        "worst_case_error": 0.3,
        "n_features": 4,
        "true_error": 0.2,
        "argmax_worst_case_error": 0.5,
        "argmax_true_error": 0.1,
    }
    return ok(law=law, rule=rule, **usual | values)


def many_coverage_rows(n=100):
    return [coverage_row(law, "bootstrap", repetition=r) for law in LAWS for r in range(n)]


def change(rows, first, values, **where):
    """The first few of some rows with other values."""
    chosen = [row for row in rows if all(row[name] == value for name, value in where.items())]
    for row in chosen[:first]:
        row.update(values)
    return rows


def summed_up(rows):
    """Rows of data sets as the item writes them, here all of a law and a rule in one."""
    pairs = dict.fromkeys((row["law"], row["rule"]) for row in rows)
    chosen = {pair: [row for row in rows if (row["law"], row["rule"]) == pair] for pair in pairs}
    return [ok(law=law, rule=rule, **coverage.summed_up(own)) for (law, rule), own in chosen.items()]


def verdicts_on_coverage(rows):
    return verdicts(coverage, Settings(), summed_up(rows))


def test_claims_about_coverage_can_fail():
    assert verdicts_on_coverage(many_coverage_rows()) == ["holds", "reported"]
    uncovered = {"covered": False}
    seven = change(many_coverage_rows(), 7, uncovered, law="correlated", rule="bootstrap")
    assert verdicts_on_coverage(seven)[0] == "holds"
    eight = change(seven, 8, uncovered, law="correlated", rule="bootstrap")
    assert verdicts_on_coverage(eight)[0] == "holds in part (1 of 2)"
    # Other laws are not what the claim is about.
    others = change(many_coverage_rows(), 50, uncovered, law="lognormal")
    assert verdicts_on_coverage(others)[0] == "holds"


def noise_rows(noise, signal, data=0.01):
    quantiles = {"null_01": 0.2, "null_05": 0.25, "null_50": 0.3, "null_95": 0.4, "n_permutations": 99}
    rows = [ok(part="noise", pvalue=p) for p in noise] + [ok(part="signal", pvalue=p) for p in signal]
    return [*rows, ok(part="data", dataset="A", pvalue=data, statistic=0.1, **quantiles)]


def test_claims_about_the_noise_floor_can_fail():
    settings, uniform = Settings(), np.arange(1, 101) / 100
    assert verdicts(noise_floor, settings, noise_rows(uniform, [0.05] * 100)) == ["holds"] * 3
    for wrong in (uniform**2, uniform**0.5):
        assert verdicts(noise_floor, settings, noise_rows(wrong, [0.05]))[0] == "does not hold"
    for count, expected in ((91, "holds"), (90, "does not hold")):
        signal = [0.01] * count + [0.06] * (100 - count)
        assert verdicts(noise_floor, settings, noise_rows(uniform, signal))[1] == expected
    assert verdicts(noise_floor, settings, noise_rows(uniform, [0.01], 0.06))[2] == "does not hold"


@pytest.mark.parametrize(("warm", "expected"), [(0.79, "holds"), (0.81, "does not hold")])
def test_claim_about_the_time_can_fail(warm, expected):
    """A median of three; the cold and the single one are shown and not judged."""
    seconds = {"fit_seconds": 0.01, "cold_seconds": 5.0, "alone_seconds": 1.5, "n_cores": 2}
    rows = [ok(dataset="A", warm_seconds=value, **seconds) for value in (warm, 0.1, 9.0)]
    report = permutation_time.report(Settings(), Sources(("A",)), rows)
    assert [claim.verdict for claim in report.claims] == [expected]
    assert "500 (2 processes, cold), 150 (one process)" in report.claims[0].evidence


def radius_rows(r_star, error, n_classes=2):
    rows = []
    for radius, factor in zip(radius_rules.RADII, (1.0, 2.0, 3.0, 4.0), strict=True):
        common = {"dataset": "A", "radius": radius}
        rows.append(
            ok(
                **common,
                fold=None,
                n_classes=n_classes,
                factor=factor,
                worst_case_error=r_star,
                n_features=5,
                warned=False,
                seconds=0.1,
            )
        )
        rows += [ok(**common, fold=fold, error=0.1, randomized_error=error) for fold in range(2)]
    return rows


@pytest.mark.parametrize(
    ("r_star", "n_classes", "error", "expected"),
    [
        (0.4, 2, 0.3, ["holds", "holds"]),
        (0.5, 2, 0.3, ["does not hold", "holds"]),
        (0.5, 3, 0.6, ["holds", "does not hold"]),
    ],
)
def test_claims_about_radius_rules_can_fail(r_star, n_classes, error, expected):
    rows = radius_rows(r_star, error, n_classes)
    assert verdicts(radius_rules, Settings(), rows) == expected


def path_rows(name, path_seconds, fitted, n_breakpoints=7):
    passes = {"path_passes": 9, "fits_passes": 30}
    cost = {"n_samples": 10, "n_columns": 20, "n_classes": 2, "fits_seconds": 2.0, **passes}
    radius = {"worst_case_error": 0.25, "lower": 0.25 - 1e-9, "n_features": 3}
    common = {"dataset": name, "part": "grid"}
    return [
        ok(**common, **cost, path_seconds=path_seconds),
        ok(**common, **radius, radius=0.5, fitted_worst_case_error=0.25),
        ok(**common, **radius, radius=5.0, fitted_worst_case_error=fitted),
        ok(dataset=name, part="breakpoints", n_breakpoints=n_breakpoints, path_seconds=3.0, path_passes=4),
    ]


@pytest.mark.parametrize(
    ("path_seconds", "fitted", "expected"),
    [
        (1.9, 0.25 + 0.9e-7, ["holds", "holds"]),
        (2.0, 0.25 - 0.9e-7, ["holds in part (1 of 2)", "holds"]),
        (0.1, 0.25 + 1.1e-7, ["holds", "holds in part (1 of 2)"]),
        (0.1, 0.25 - 1.1e-7, ["holds", "holds in part (1 of 2)"]),
    ],
)
def test_claims_about_the_path_can_fail(path_seconds, fitted, expected):
    rows = path_rows("A", path_seconds, fitted) + path_rows("B", 0.5, 0.25)
    assert verdicts(path, Settings(), rows, ("A", "B")) == expected


@pytest.mark.parametrize(("wrong", "expected"), [(0.07, "holds"), (0.2, "does not hold")])
def test_the_claim_about_reliable_features_can_fail(wrong, expected):
    values = dict.fromkeys(("of_related", "at_least_10", "true_10", "at_least_30", "true_30"), 1.0)
    rows = [ok(law="normal", n=30, count=100, wrong=share, **values) for share in (wrong, wrong + 0.01)]
    assert verdicts(reliable_lists, Settings(), rows) == [expected]


def test_the_committed_summary_follows_from_the_committed_measurements():
    results = default_folder("guarantees", quick=False)
    summary = (results / "summary.md").read_text(encoding="utf-8")
    for name, item in GUARANTEE_ITEMS.items():
        assert text_again(results / name, item) in summary
    # What the documentation says on the strength of them.
    for claim in (
        "at least 93% of the data sets",
        "p-values are uniform",
    ):
        (line,) = [line for line in summary.splitlines() if claim in line and line.startswith("|")]
        assert "| **holds** |" in line
