"""A short list and an ensemble by command: what is fitted, what is told of it, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    error_bound,
    permutation_test,
)
from minimaxrisk.app.cli import main
from minimaxrisk.app.report import report
from minimaxrisk.app.storage import load_model
from minimaxrisk.datasets import make_expression
from minimaxrisk.estimators.prediction_sets import left_out_scores
from minimaxrisk.inspection import FeatureCountDisplay
from tests.folds import decided

pd = pytest.importorskip("pandas")
pytest.importorskip("skops")
pytest.importorskip("jinja2")
pytest.importorskip("vl_convert")

BRIEF = ["--folds", "3", "--permutations", "19", "--radii", "3"]


@pytest.fixture(scope="module")
def study():
    made = make_expression(40, 30, n_informative=5, effect=1.2, random_state=6)
    return made.data, np.where(made.target, "ill", "well")


@pytest.fixture(scope="module")
def table(study, tmp_path_factory):
    X, y = study
    path = tmp_path_factory.mktemp("study") / "genes.csv"
    names = [f"gene_{j}" for j in range(X.shape[1])]
    pd.DataFrame(X, columns=names).assign(kind=y).to_csv(path, index=False)
    return path


def fitted(table, capsys, *options):
    """What a program reads, of a fit with a report and a model file."""
    files = ["--out", str(table.with_suffix(".skops")), "--report", str(table.with_suffix(".html"))]
    assert main(["fit", str(table), "--target", "kind", "--json", "--quiet", *BRIEF, *files, *options]) == 0
    return json.loads(capsys.readouterr().out)


def n_wrong_when_left_out(model, X, y):
    """Each of the three folds judged by a fit, choice and all, without it."""
    return int((decided(model, X, y, 3)[0] != y).sum())


@pytest.mark.parametrize("choice", ["few", pytest.param("best", marks=pytest.mark.slow), "3"])
def test_features_chosen_and_judged_without_the_samples_that_chose(study, table, capsys, choice):
    X, y = study
    found = fitted(table, capsys, "--features", choice)
    rule = {"few": "one-se", "3": 3}.get(choice, choice)
    model = MinimaxRiskClassifierCV(rule=rule, cv=5).fit(X, y)
    assert found["features"] == choice
    assert found["radius"] == pytest.approx(model.radius_)
    assert len(found["selected_features"]) == model.n_features_selected_
    assert found["cross_validation"]["n_wrong"] == n_wrong_when_left_out(model, X, y)
    # The test is that of a radius that no label chose.
    alone = permutation_test(MinimaxRiskClassifier(), X, y, 19, random_state=0)
    assert found["permutation_test"]["pvalue"] == alone.pvalue
    assert found["permutation_test"]["statistic"] == pytest.approx(alone.statistic, abs=1e-3)
    # The errors of all radii are there whatever was chosen, and say where the two choices are.
    shown, losses = found["short_list"], MinimaxRiskClassifierCV().fit(X, y)
    # Where no fold chose the radius, small radii are left out.
    n = 20 if choice in ("few", "best") else 13
    assert len(shown["left_out_error"]) == n
    np.testing.assert_allclose(shown["left_out_error"][:0:-1], losses.cv_results_["mean_loss"][-n:-1])
    # A model without a feature names the most common class.
    assert shown["left_out_error"][0] == pytest.approx(
        1.0 - np.bincount(np.unique(y, return_inverse=True)[1]).max() / len(y)
    )
    counted = FeatureCountDisplay.from_estimator(losses, X, y)
    assert shown["n_features"] == counted.n_features[:n].tolist()
    assert shown["n_features"][shown["few"]] == losses.n_features_selected_


def test_a_model_file_remembers_the_choice(table, capsys):
    found = fitted(table, capsys, "--features", "few")
    model, data = str(table.with_suffix(".skops")), str(table)
    page = table.parent / "again.html"
    assert main(["report", model, data, "--out", str(page), *BRIEF]) == 0
    assert load_model(model).classifier.rule == "one-se"
    n_wrong = found["cross_validation"]["n_wrong"]
    assert f"{n_wrong or 'none'} of 40 wrong" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_report_in_python_repeats_the_choice(study):
    X, y = study
    model = MinimaxRiskClassifierCV().fit(X, y)
    found = report(model, X, y, n_permutations=5, n_folds=3, n_radii=0).findings
    assert found.cross_validation.n_wrong == n_wrong_when_left_out(model, X, y)
    assert found.fit.choice == "few"
    counted = FeatureCountDisplay.from_estimator(model, X, y)
    assert found.short_list.n_features.tolist() == counted.n_features.tolist()


def test_the_default_is_an_ensemble(study, table, capsys):
    X, y = study
    found = fitted(table, capsys)
    model = MinimaxRiskEnsembleClassifier(random_state=0, certify=True).fit(X, y)
    assert found["model"] == "ensemble"
    assert found["worst_case_error"] == pytest.approx(model.worst_case_error_)
    assert found["certificate"]["valid"]
    # A short list: what half of the members select, ordered by their share.
    share = model.selection_frequencies_
    listed = {one["name"]: one["share_of_members"] for one in found["selected_features"]}
    assert listed == {f"gene_{j}": share[j] for j in np.flatnonzero(share >= 0.5)}
    assert [*listed.values()] == sorted(listed.values(), reverse=True)
    assert 0 < len(listed) < model.n_features_selected_
    left_out = left_out_scores(model, X, y, n_folds=3, random_state=0)
    wrong = model.classes_[left_out.predicted] != y
    assert found["cross_validation"]["n_wrong"] == wrong.sum()  # out of bag
    assert found["cross_validation"]["randomized_error"] is None
    bound = error_bound(model, X, y, random_state=0)  # that of the estimator, not calibrated twice
    assert found["guarantee"]["value"] == bound.value
    alone = permutation_test(MinimaxRiskClassifier(), X, y, 19, random_state=0)
    assert found["permutation_test"]["pvalue"] == alone.pvalue
    assert main(["verify", str(table.with_suffix(".skops")), str(table)]) == 0


def test_the_error_of_an_ensemble_takes_no_report(study, table, capsys):
    """Members have left samples out already."""
    assert main(["fit", str(table), "--target", "kind", "--json", "--quiet", "--no-guarantee"]) == 0
    found = json.loads(capsys.readouterr().out)
    model = MinimaxRiskEnsembleClassifier(random_state=0).fit(*study)
    assert found["cross_validation"]["n_wrong"] == round(40 * model.oob_error_)


def test_a_named_radius_is_that_of_the_certificate(study, table, capsys):
    """Members that cover all means would select hardly any feature."""
    X, y = study
    options = ["--radius", "bootstrap", "--no-guarantee", "--json", "--quiet"]
    assert main(["fit", str(table), "--target", "kind", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    options = {"radius": "bootstrap", "certify": True, "random_state": 0}
    model = MinimaxRiskEnsembleClassifier(MinimaxRiskClassifier(random_state=0), **options).fit(X, y)
    assert found["radius"] == pytest.approx(model.radius_)
    assert found["radius"] > 1.0
    assert found["is_bound"]
    assert found["worst_case_error"] == pytest.approx(model.worst_case_error_)
    assert len(found["selected_features"]) == np.sum(model.selection_frequencies_ >= 0.5) > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--features", "few", "--radius", "2"], "chooses the radius; leave out --radius"),
        (["--features", "few", "--model", "ensemble"], "an ensemble uses many features"),
        (["--features", "0"], "expected few, best, or a number of features such as 10, got '0'"),
        (["--features", "some"], "expected few, best, or a number of features such as 10, got 'some'"),
    ],
)
def test_what_does_not_go_together(table, capsys, options, message):
    assert main(["fit", str(table), "--target", "kind", *options]) == 2
    assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_a_choice_needs_samples_to_leave_out(study, tmp_path, capsys):
    X, y = study
    path = tmp_path / "genes.csv"
    rare = np.where(np.arange(40) < 2, "rare", "common")
    pd.DataFrame(X).assign(kind=rare).to_csv(path, index=False)
    assert main(["fit", str(path), "--target", "kind", "--features", "few"]) == 2
    assert "--features few" in capsys.readouterr().err
    rare = np.where(np.arange(40) < 2, "rare", y)
    pd.DataFrame(X).assign(kind=rare).to_csv(path, index=False)
    assert main(["fit", str(path), "--target", "kind", "--features", "few"]) == 0
