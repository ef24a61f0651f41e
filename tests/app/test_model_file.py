"""Model files: what comes back, what is refused, and that nothing is executed."""

import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    MinimaxRiskSelector,
    PredictionSets,
    verify,
)
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk._utils.sklearn_private import without_array_adapters
from minimaxrisk.app.atomic import checked_destination, write_whole
from minimaxrisk.app.cli import main
from minimaxrisk.app.storage import (
    MANIFEST,
    SavedModel,
    current_versions,
    fingerprint,
    load_model,
    save_model,
    trusted_types,
)
from minimaxrisk.datasets import make_expression
from minimaxrisk.guarantees.certified import columns_read_by
from minimaxrisk.solvers import ConstraintGeneration, FirstOrder, FullLP, InteriorPoint

with without_array_adapters():
    skops = pytest.importorskip("skops.io", reason="model files need skops")

NAMES = ["a, b", 'quo"te', "<script>alert(1)</script>", "🧬", "שלום", "line\nbreak", "", "null"]


@pytest.fixture(scope="module")
def study():
    data = make_expression(40, 60, n_informative=5, effect=1.5, random_state=0)
    return data.data, np.where(data.target, "ill", "well")


@pytest.fixture(scope="module")
def saved(study):
    X, y = study
    names = np.array(NAMES + [f"gene_{j}" for j in range(X.shape[1] - len(NAMES))], dtype=object)
    model = MinimaxRiskClassifier(solver="constraint-generation").fit(X, y)
    return SavedModel(
        model, names, "diagnosis", fingerprint(X, y, names), command="fit", versions=current_versions()
    )


def test_a_pipeline_is_refused_with_what_to_pass(study, saved, tmp_path):
    X, y = study
    pipeline = make_pipeline(SimpleImputer(), MinimaxRiskClassifier()).fit(X, y)
    told = r"pass SavedModel\(last_step, .* imputer= .* scaler="
    with pytest.raises(TypeError, match=rf"takes a SavedModel, got Pipeline: {told}"):
        save_model(pipeline, tmp_path / "model.skops")
    with pytest.raises(ValueError, match=rf"takes no pipeline; {told}"):
        save_model(replace(saved, classifier=pipeline), tmp_path / "model.skops")


@pytest.fixture
def path(saved, tmp_path):
    file = tmp_path / "model.skops"
    save_model(saved, file)
    return file


def test_everything_comes_back(saved, path, study):
    X, y = study
    again = load_model(path)
    np.testing.assert_array_equal(
        again.classifier.predict_proba(X), saved.classifier.predict_proba(X), strict=True
    )
    assert again.feature_names.tolist() == saved.feature_names.tolist()
    assert replace(again, classifier=None, feature_names=None) == replace(
        saved, classifier=None, feature_names=None
    )
    assert verify(again.classifier, X, y) == verify(saved.classifier, X, y)
    for stage, other in zip(again.classifier.stages_, saved.classifier.stages_, strict=True):
        np.testing.assert_array_equal(stage.coef, other.coef)


@pytest.mark.parametrize(
    "solver",
    [
        InteriorPoint(max_seconds=60.0),
        FirstOrder(max_iter=4000),
        ConstraintGeneration(initial_features=np.array([1, 2]), n_max=20, k_max=50, select="as-printed"),
        FullLP(),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_a_solver_comes_back_with_its_parameters(study, solver, tmp_path):
    X, y = study
    names = np.array([f"gene_{j}" for j in range(X.shape[1])], dtype=object)
    model = MinimaxRiskClassifier(solver=solver, gap_tol=0.02).fit(X, y)
    save_model(SavedModel(model, names, "diagnosis", fingerprint(X, y, names)), tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops").classifier
    assert repr(again.solver) == repr(solver)
    np.testing.assert_array_equal(again.worst_case_errors_, model.worst_case_errors_)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_what_is_written_beside_the_model(saved, path):
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read(MANIFEST))
    assert manifest["certificate"] == {
        "lower": saved.classifier.worst_case_error_lower_,
        "upper": saved.classifier.worst_case_error_,
    }
    assert manifest["classes"] == ["ill", "well"]
    assert {"python", "minimaxrisk", "numpy", "scikit-learn", "skops"} <= set(manifest["versions"])


def test_a_callback_stays_behind(saved, study, tmp_path):
    model = MinimaxRiskClassifier(callback=lambda record: None).fit(*study)
    save_model(replace(saved, classifier=model), tmp_path / "m")
    assert load_model(tmp_path / "m").classifier.callback is None
    assert model.callback is not None


def test_columns_are_clipped_as_in_training(saved, study, tmp_path):
    X, y = study
    gaps = X.copy()
    gaps[0, 0] = np.nan
    imputer = SimpleImputer(strategy="median").fit(gaps)
    scaler = ClippedScaler(limit=1.5).fit(imputer.transform(gaps))
    classifier = MinimaxRiskClassifier().fit(scaler.transform(imputer.transform(gaps)), y)
    save_model(replace(saved, classifier=classifier, imputer=imputer, scaler=scaler), tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.scaler.limit == 1.5
    assert np.array_equal(again.prepared(gaps), scaler.transform(imputer.transform(gaps)))
    assert verify(again.classifier, again.prepared(gaps), y).valid


class TestRefused:
    def test_no_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="there is no model file"):
            load_model(tmp_path / "none.skops")
        with pytest.raises(ValueError, match="is a folder"):
            load_model(tmp_path)

    def test_any_changed_byte_is_found_or_harmless(self, path, saved, study):
        content = path.read_bytes()
        rng = np.random.default_rng(0)
        X, _ = study
        expected = saved.classifier.predict_proba(X)
        refused = 0
        for place in rng.integers(0, len(content), 60):
            path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
            try:
                again = load_model(path)
            except ValueError:
                refused += 1
            else:  # a byte of the zip that nobody reads, such as a date
                np.testing.assert_array_equal(again.classifier.predict_proba(X), expected)
        assert refused > 40


class TestFingerprint:
    def test_sees_every_change(self, study):
        X, y = study
        names = np.array([f"g{j}" for j in range(X.shape[1])])
        other = X.copy()
        other[3, 4] *= 1.0 + 1e-5
        prints = {
            fingerprint(X, y, names),
            fingerprint(other, y, names),
            fingerprint(X, y[::-1], names),
            fingerprint(X, y, names[::-1]),
            fingerprint(X, None, names),
        }
        assert len(prints) == 5

    def test_does_not_see_the_order_of_rows_and_last_digits(self, study):
        X, y = study
        names = np.array([f"g{j}" for j in range(X.shape[1])])
        short = np.array([[float(f"{value:.15g}") for value in row] for row in X])
        assert (short != X).any()
        assert fingerprint(short[::-1], y[::-1], names) == fingerprint(X, y, names)

    def test_sees_where_rows_end(self):
        """Places and values one after the other, as 8 bytes each, are the same for both tables."""
        tiny = np.int64(1).view(np.float64)  # its bytes are those of the place 1
        one_each = np.array([[tiny, 0.0], [0.0, 1.0]])
        both_in_the_first = np.array([[tiny, 1.0], [0.0, 0.0]])
        names = np.array(["a", "b"])
        assert fingerprint(one_each, None, names) != fingerprint(both_in_the_first, None, names)

    def test_does_not_see_how_numbers_are_stored(self, study):
        X, y = study
        X = X.copy()
        X[2, 3] = 0.0
        signed = X.copy()
        signed[2, 3] = -0.0
        kept = sparse.csr_matrix(np.where(X == 0.0, 1.0, X))
        kept.data[np.flatnonzero(kept.toarray().ravel() == 1.0)] = 0.0
        names = np.array([f"g{j}" for j in range(X.shape[1])])
        assert fingerprint(np.asfortranarray(X), y, names) == fingerprint(X, y, names.astype(object))
        frame = pd.DataFrame(X, columns=names)
        assert fingerprint(frame, pd.Series(y), frame.columns) == fingerprint(X, y, names)
        assert fingerprint(X.tolist(), y.tolist(), names.tolist()) == fingerprint(X, y, names)
        for other in (signed, sparse.csr_matrix(X), sparse.csc_matrix(X), kept):
            assert fingerprint(other, y, names) == fingerprint(X, y, names)


class TestWholeFiles:
    def test_the_old_file_is_never_written_to(self, tmp_path):
        """Whoever has it open goes on reading the old one."""
        path = tmp_path / "file"
        path.write_text("old")
        with path.open() as reader:
            write_whole(path, "new")
            assert reader.read() == "old"
        assert path.read_text() == "new"

    def test_rights_and_links_stay(self, tmp_path):
        path, link = tmp_path / "file", tmp_path / "link"
        write_whole(path, "old")
        plain = tmp_path / "plain"
        plain.write_text("")
        assert path.stat().st_mode == plain.stat().st_mode
        path.chmod(0o600)
        link.symlink_to(path)
        write_whole(link, b"new")
        assert link.is_symlink()
        assert path.read_bytes() == b"new"
        assert path.stat().st_mode & 0o777 == 0o600

    def test_no_folder(self, tmp_path):
        with pytest.raises(ValueError, match=r"there is no folder .*; make it first"):
            checked_destination(tmp_path / "none" / "file")

    def test_a_folder(self, tmp_path):
        with pytest.raises(ValueError, match="is a folder; name a file in it"):
            write_whole(tmp_path, "text")

    def test_device(self):
        write_whole(Path(os.devnull), "text")
        assert not Path(os.devnull).is_file()


@pytest.mark.parametrize(
    "estimator",
    [
        MinimaxRiskClassifier(solver=InteriorPoint()),
        MinimaxRiskClassifierCV(radii=[1.0, 2.0]),
        MinimaxRiskEnsembleClassifier(n_estimators=8, subsample=0.4, random_state=0, certify=True),
        MinimaxRiskKernelClassifier("rbf"),
        MinimaxRiskSelector(stability=True, n_subsamples=4, threshold=0.51, random_state=0),
        PredictionSets(MinimaxRiskClassifier(), cv=3, random_state=0),
        ClippedScaler(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_skops_needs_to_trust_public_types_alone(estimator, study):
    X, y = study
    with quiet_fits():
        content = skops.dumps(clone(estimator).fit(X, y))
    assert set(skops.get_untrusted_types(data=content)) <= set(trusted_types())
    again = skops.loads(content, trusted=trusted_types())
    assert not [name for name in trusted_types() if name.startswith("minimaxrisk") and "._" in name]
    (again.predict if hasattr(again, "predict") else again.transform)(X)


def test_a_file_says_which_versions_wrote_it(saved, tmp_path):
    save_model(replace(saved, versions={}), tmp_path / "model.skops")
    assert load_model(tmp_path / "model.skops").versions == current_versions()


def test_samples_that_lack_most_values_are_told(saved, study):
    X, _ = study
    read = columns_read_by(saved.classifier)
    gaps = X.copy()
    gaps[1, np.setdiff1d(np.arange(X.shape[1]), read)] = np.nan
    gaps[2, read[: len(read) // 2]] = np.nan
    gaps[4, read[: len(read) // 2 + 1]] = np.nan
    for table in (gaps, gaps.tolist(), sparse.csr_matrix(gaps), sparse.csc_array(gaps)):
        assert np.flatnonzero(saved.mostly_missing(table)).tolist() == [4]


@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_a_model_of_a_frame_takes_arrays_in_silence(study, tmp_path):
    X, y = study
    names = np.array([f"g{j}" for j in range(X.shape[1])])
    frame = pd.DataFrame(X, columns=names)
    imputer, scaler = SimpleImputer().fit(frame), ClippedScaler().fit(frame)
    own = MinimaxRiskClassifier().fit(frame, y)
    for model in (
        SavedModel(own, names, "class", ""),
        SavedModel(own, names, "class", "", imputer=imputer, scaler=scaler),
        SavedModel(MinimaxRiskClassifier().fit(X, y), names, "class", "", imputer=imputer),
    ):
        save_model(model, tmp_path / "m.skops")
        again = load_model(tmp_path / "m.skops")
        for table in (X, frame):
            assert len(again.classifier.predict(again.prepared(table))) == len(y)
        with pytest.raises(ValueError, match="feature names"):
            again.classifier.predict(again.prepared(frame[names[::-1]]))
    save_model(replace(model, classifier=own), tmp_path / "m.skops")
    frame.to_csv(tmp_path / "new.csv")
    assert main(["predict", str(tmp_path / "m.skops"), str(tmp_path / "new.csv")]) == 0
