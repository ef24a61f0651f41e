"""Terminal, JSON and page say the same, whatever the data came in, and no page contradicts itself."""

from __future__ import annotations

import io
import json
import re
import warnings
from contextlib import redirect_stdout
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minimaxrisk import ClippedScaler, MinimaxRiskClassifier, PredictionSets, error_bound
from minimaxrisk._utils.rounding import at_most
from minimaxrisk.app.cli import main
from minimaxrisk.app.cli.results import COMMAND_LINE
from minimaxrisk.app.report import report, verdict
from minimaxrisk.app.report.explanations import meaning
from minimaxrisk.app.report.findings import direction
from minimaxrisk.app.report.tables import feature_rows
from minimaxrisk.datasets import make_expression
from minimaxrisk.guarantees import verification
from minimaxrisk.inspection import (
    BoundPathDisplay,
    ErrorComparisonDisplay,
    SelectedFeaturesDisplay,
    SelectedValuesDisplay,
    WorstCaseDistributionDisplay,
)
from minimaxrisk.problem import pose
from tests.report_findings import gather_findings

NOTHING = {"n_permutations": 0, "n_folds": 0, "n_radii": 0, "guarantee": False}


@pytest.fixture(scope="module")
def four_classes():
    """Class d is told by genes that are low in it: they speak against it, and for no class."""
    random = np.random.default_rng(0)
    X, y = random.standard_normal((60, 40)), np.repeat(list("abcd"), 15)
    for k, label in enumerate("abc"):
        X[y == label, 3 * k : 3 * k + 3] += 2.0
    X[y == "d", 9:15] -= 2.0
    return X, y


@pytest.fixture(scope="module")
def study():
    data = make_expression(60, 60, n_informative=10, effect=1.5, random_state=0)
    return data.data, np.array(["healthy", "ill"])[data.target]


@pytest.fixture(scope="module")
def findings(study):
    X, y = study
    return gather_findings(MinimaxRiskClassifier().fit(X, y), X, y, n_permutations=19, n_folds=3, n_radii=0)


def as_csv(path, X, y):
    frame = pd.DataFrame(X, columns=[f"gene_{j}" for j in range(X.shape[1])])
    frame.insert(0, "diagnosis", y)
    frame.to_csv(path, index=False)
    return path


def run(*arguments):
    """What goes to standard output; notes do not."""
    out = io.StringIO()
    with redirect_stdout(out):
        assert main([str(each) for each in arguments]) == 0
    return out.getvalue()


# ---- whose error is believed


# ---- for which class a feature speaks


def test_a_feature_without_positive_coefficient_speaks_for_no_class():
    found = direction(np.array([-0.1, 0.0, -0.5]), ["a", "b", "c"])
    assert found.speaks_for == ()
    assert found.speaks_against == ("c", "a")
    assert found.in_words == "not c and a"
    assert direction(np.array([0.1, 0.3, -0.5]), ["a", "b", "c"]).in_words == "b and a, not c"
    assert direction(np.array([-2.0]), ["a", "b"]).in_words == "a"
    assert direction(np.arange(1.0, 5.0), list("abcd")).in_words == "d, c and 2 more"


def test_terminal_json_and_page_agree_on_classes_and_means(four_classes, tmp_path):
    X, y = four_classes
    path = as_csv(tmp_path / "genes.csv", X, y)
    model = MinimaxRiskClassifier(random_state=0).fit(X, y)
    assert ((model.coef_ < 0).any(axis=0) & (model.coef_ <= 0).all(axis=0)).any()
    options = ("fit", path, "--target", "diagnosis", "--no-guarantee", "-q", "--model", "single")
    said = json.loads(run(*options, "--json"))["selected_features"]
    names = [f"gene_{j}" for j in range(40)]
    rows = feature_rows(gather_findings(model, X, y, feature_names=names, **NOTHING))
    text = run(*options)
    for one, row in zip(said, rows, strict=True):
        j = names.index(one["name"])
        assert row.name == one["name"]
        assert set(one["speaks_for"]) == set(model.classes_[model.coef_[:, j] > 0])
        assert set(one["speaks_against"]) == set(model.classes_[model.coef_[:, j] < 0])
        assert one["class_means"] == pytest.approx({c: X[y == c, j].mean() for c in "abcd"})
    for row in rows[:10]:
        assert re.search(rf"{row.name} +[\d.]+ +{row.supports}  ", text)
    first = pd.Series(said[0]["class_means"])
    assert f"from {first.idxmin()} {first.min():.4g} to {first.idxmax()} {first.max():.4g}" in text


def test_terminal_json_and_page_begin_with_the_same_sentence(study, tmp_path):
    path, page = as_csv(tmp_path / "genes.csv", *study), tmp_path / "page.html"
    options = ("fit", path, "--target", "diagnosis", "--report", page, "-q", *FEW, "--permutations", 19)
    verdict = json.loads(run(*options, "--json"))["verdict"]
    assert f'<p class="headline">{verdict}</p>' in page.read_text(encoding="utf-8")
    assert f"\n\n{verdict}\n" in run(*options)


# ---- one bound for predict


def test_terminal_and_page_give_the_same_bound_for_predict(study, tmp_path):
    X, y = study
    path = as_csv(tmp_path / "genes.csv", X, y)
    radius = ("--model", "single", "--radius", "bootstrap")
    options = ("fit", path, "--target", "diagnosis", *radius, "--no-guarantee", "-q")
    found = json.loads(run(*options, "--json"))
    model = MinimaxRiskClassifier(radius="bootstrap", random_state=0).fit(X, y)
    page = gather_findings(model, X, y, **NOTHING)
    assert page.fit.predict_bound < 2.0 * model.worst_case_error_ - 1e-3
    assert found["predict_error_bound"] == pytest.approx(page.fit.predict_bound, abs=1e-6)
    assert at_most(page.fit.predict_bound) in run(*options)


# ---- what nothing learned means


def test_the_reference_is_the_error_of_naming_the_most_common_class(study):
    X, y = study
    uneven = np.r_[np.flatnonzero(y == "healthy"), np.flatnonzero(y == "ill")[:6]]
    X, y = X[uneven], y[uneven]
    model = MinimaxRiskClassifier().fit(X, y)
    found = gather_findings(model, X, y, **NOTHING | {"n_folds": 3})
    assert found.comparison.majority_error == pytest.approx(6 / len(y))
    entry = next(one for one in meaning(found, COMMAND_LINE) if one.name == "To compare with")
    assert entry.value == f"{6 / len(y):.3f}"
    assert "has learned nothing" in entry.text


def test_a_page_without_selected_features_does_not_speak_of_noise_or_signal():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((60, 50)), np.array(["rare"] * 6 + ["common"] * 54)
    model = MinimaxRiskClassifier(radius=4.0).fit(X, y)
    found = gather_findings(model, X, y, **NOTHING | {"n_permutations": 19, "guarantee": True})
    noise = next(one for one in meaning(found, COMMAND_LINE) if one.name == "Noise floor")
    assert "the test says nothing" in noise.text
    assert "noise gives" not in noise.text
    assert "says nothing" in " ".join(verdict.says_little(found))


# ---- the headline weighs everything


def with_errors(findings, n_wrong):
    folds = findings.cross_validation
    predicted = np.where(np.arange(60) < n_wrong, 1 - folds.own, folds.own)
    return replace(findings, cross_validation=replace(folds, predicted=predicted))


def test_a_small_p_value_beside_many_left_out_errors_is_no_finding(findings):
    assert verdict.noise_verdict(findings) == "signal"
    assert verdict.evidence(findings) == "signal"
    lucky = with_errors(findings, 28)
    assert verdict.evidence(lucky) == "doubtful"
    assert verdict.headline(lucky).startswith("Not yet: ")
    noise = next(one for one in meaning(lucky, COMMAND_LINE) if one.name == "Noise floor")
    assert "take it as no finding" in noise.text


def test_few_left_out_errors_beside_a_large_p_value_are_told(findings):
    test = replace(findings.permutation, pvalue=0.4, statistic=findings.permutation.noise_floor + 0.1)
    hidden = replace(with_errors(findings, 2), permutation=test)
    assert verdict.evidence(hidden) == "hidden"
    assert verdict.headline(hidden).startswith("Perhaps: left-out samples were predicted well")
    assert verdict.headline(replace(with_errors(findings, 28), permutation=test)).startswith("No: shuffled")


# ---- frames and pipelines


def polars_frame(X):
    return polars.DataFrame(X, schema=[f"g{j}" for j in range(X.shape[1])])


def pandas_frame(X):
    names = [f"g{j}" for j in range(X.shape[1])]
    return pd.DataFrame(X, columns=names, index=[f"P{i}" for i in range(len(X))])


@pytest.mark.parametrize("framed", [pandas_frame, polars_frame])
def test_frames_give_the_same_findings_with_names(study, framed):
    X, y = study
    frame = framed(X)
    model = MinimaxRiskClassifier().fit(frame, y)
    few = NOTHING | {"n_folds": 3, "n_permutations": 5}
    found = gather_findings(model, frame, y, **few)
    plain = gather_findings(MinimaxRiskClassifier().fit(X, y), X, y, **few)
    assert found.features.names == tuple(f"g{j}" for j in plain.features.columns)
    np.testing.assert_array_equal(found.cross_validation.predicted, plain.cross_validation.predicted)
    np.testing.assert_array_equal(found.permutation.null_distribution, plain.permutation.null_distribution)
    drawn = SelectedValuesDisplay.from_estimator(model, frame, y)
    np.testing.assert_array_equal(drawn.values, plain.values.values)
    assert drawn.names[0] == found.features.names[0]
    assert found.suspects[0].name.startswith("P" if framed is pandas_frame else "sample ")


def test_the_names_of_a_frame_are_not_missed_on_the_way(study):
    X, y = study
    frame = pandas_frame(X)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="X does not have valid feature names")
        for model in (MinimaxRiskClassifier(), make_pipeline(ClippedScaler(), MinimaxRiskClassifier())):
            fitted = model.fit(frame, y)
            gather_findings(fitted, frame, y, n_permutations=2, n_folds=2, n_radii=2)
            assert list(fitted.feature_names_in_) == list(frame.columns)


def test_a_frame_with_other_columns_is_refused(study):
    X, y = study
    model = MinimaxRiskClassifier().fit(pandas_frame(X), y)
    with pytest.raises(ValueError, match="feature names"):
        gather_findings(model, pandas_frame(X).iloc[:, ::-1], y, **NOTHING)


def test_a_pipeline_is_a_scaler_and_a_model(study):
    X, y = study
    scaler = ClippedScaler().fit(X)
    model = MinimaxRiskClassifier().fit(scaler.transform(X), y)
    pipeline = make_pipeline(ClippedScaler(), MinimaxRiskClassifier()).fit(pandas_frame(X), y)
    few = {"n_permutations": 5, "n_folds": 3, "n_radii": 3}
    one = gather_findings(pipeline, pandas_frame(X), y, **few)
    two = gather_findings(model, X, y, scaler=scaler, **few)
    assert one.features.names == tuple(f"g{j}" for j in two.features.columns)
    np.testing.assert_array_equal(one.permutation.null_distribution, two.permutation.null_distribution)
    np.testing.assert_array_equal(one.path.upper, two.path.upper)
    np.testing.assert_array_equal(one.features.frequency, two.features.frequency)
    assert one.guarantee == two.guarantee
    assert one.fit.preparation == two.fit.preparation
    for display in (SelectedValuesDisplay, ErrorComparisonDisplay):
        display.from_estimator(pipeline, pandas_frame(X), y)
    assert SelectedFeaturesDisplay.from_estimator(pipeline).names[0] == one.features.names[0]
    assert BoundPathDisplay.from_estimator(pipeline).upper[-1] == one.fit.upper
    assert WorstCaseDistributionDisplay.from_estimator(pipeline, y).n_samples == 60


def test_steps_that_look_at_labels_are_fitted_anew_for_permuted_ones(study):
    X, y = study
    pipeline = make_pipeline(SelectKBest(k=10), MinimaxRiskClassifier()).fit(X, y)
    found = gather_findings(pipeline, X, y, n_permutations=5, n_folds=3, n_radii=0)
    alone = gather_findings(pipeline[-1], pipeline[0].transform(X), y, n_permutations=5, n_folds=3, n_radii=0)
    assert (found.permutation.null_distribution != alone.permutation.null_distribution).any()
    own = error_bound(PredictionSets(pipeline, cv=3, random_state=0), X, y, random_state=0)
    assert found.guarantee.value == own.value
    assert found.features.frequency is None
    assert "as SelectKBest made them" in found.fit.preparation


def test_columns_that_steps_made_have_names_of_their_own(study):
    X, y = study
    pipeline = make_pipeline(StandardScaler(), PCA(8, random_state=0), MinimaxRiskClassifier(radius=0.1))
    found = gather_findings(pipeline.fit(pandas_frame(X), y), pandas_frame(X), y, **NOTHING)
    assert set(found.features.names) <= {f"pca{j}" for j in range(8)}
    assert found.data.n_features == 8
    with pytest.raises(ValueError, match="feature_names must hold"):
        gather_findings(pipeline, pandas_frame(X), y, feature_names=["a", "b"], **NOTHING)


# ---- posed and verified once


@pytest.fixture
def counted(monkeypatch):
    """The numbers of samples whose features were made, and what was verified."""
    posed, verified = [], []
    build, recompute = pose.features_of, verification._recompute

    def counting_build(X, rows, p_hat, **options):
        posed.append(X.shape[0])
        return build(X, rows, p_hat, **options)

    def counting_recompute(fit):
        verified.append(fit)
        return recompute(fit)

    monkeypatch.setattr(pose, "features_of", counting_build)
    monkeypatch.setattr(verification, "_recompute", counting_recompute)
    return posed, verified


FEW = ("--permutations", 5, "--folds", 2, "--radii", 3)


def check_posed_once(counted, n_samples, *, by_fit=1):
    """All that is said of a model stands on features made once; those of folds have fewer samples."""
    posed, verified = counted
    assert len(verified) == 1
    assert posed.count(n_samples) == by_fit + 1


@pytest.mark.parametrize(("radius", "scale"), [("1", "standard"), ("bootstrap", "clip")])
def test_fit_with_a_report_poses_and_verifies_once(study, tmp_path, counted, radius, scale):
    path, page = as_csv(tmp_path / "genes.csv", *study), tmp_path / "page.html"
    options = ("--radius", radius, "--scale", scale, *FEW)
    run("fit", path, "--target", "diagnosis", "--report", page, "-q", *options)
    check_posed_once(counted, 60)
    assert page.exists()


def test_fit_with_a_report_poses_and_verifies_leukemia_once(real_data, tmp_path, counted):
    X, y = real_data("Leukemia")
    path = tmp_path / "genes.npz"
    np.savez(path, X=X, y=y)
    run("fit", path, "--report", tmp_path / "page.html", "-q", *FEW)
    check_posed_once(counted, len(y))


def test_fit_without_a_report_poses_and_verifies_once(study, tmp_path, counted):
    path = as_csv(tmp_path / "genes.csv", *study)
    run("fit", path, "--target", "diagnosis", "--radius", "bootstrap", "-q")
    check_posed_once(counted, 60)


def test_a_report_of_a_stored_model_poses_and_verifies_once(study, tmp_path, counted):
    path, model = as_csv(tmp_path / "genes.csv", *study), tmp_path / "m.skops"
    run("fit", path, "--target", "diagnosis", "--no-guarantee", "-q", "--out", model)
    for each in counted:
        each.clear()
    run("report", model, path, "-q", *FEW)
    check_posed_once(counted, 60, by_fit=0)


class Counting(StandardScaler):
    """Writes down how many samples each instance transformed."""

    transformed: ClassVar[list] = []

    def transform(self, X, copy=None):
        self.transformed.append((id(self), len(X)))
        return super().transform(X, copy)


def test_a_report_transforms_once(study):
    """Folds, hold-out and permutations fit copies of their own."""
    X, y = study
    pipeline = make_pipeline(Counting(), MinimaxRiskClassifier()).fit(X, y)
    Counting.transformed.clear()
    report(pipeline, X, y, n_permutations=5, n_folds=2, n_radii=3)
    assert Counting.transformed.count((id(pipeline[0]), 60)) == 1
