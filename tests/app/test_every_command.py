"""Model files of every kind with every command: it works, or one sentence says what to use."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
)
from minimaxrisk.app.cli import main
from minimaxrisk.app.storage import SavedModel, fingerprint, save_model
from minimaxrisk.datasets import make_expression
from minimaxrisk.guarantees.certified import SELECTION, can, has_proof

pd = pytest.importorskip("pandas")
pytest.importorskip("skops")
pytest.importorskip("jinja2")
pytest.importorskip("vl_convert")

SMALL = {"n_estimators": 8, "subsample": 0.5, "random_state": 0}
MODELS = {
    "classifier": MinimaxRiskClassifier(callback=lambda record: None),
    "bound": MinimaxRiskClassifier(radius="bootstrap"),
    "cv": MinimaxRiskClassifierCV(
        MinimaxRiskClassifier(callback=lambda record: None), radii=[1.0, 2.0], cv=2
    ),
    "ensemble": MinimaxRiskEnsembleClassifier(
        MinimaxRiskClassifier(callback=lambda record: None), radius="bootstrap", **SMALL, certify=True
    ),
    "uncertified": MinimaxRiskEnsembleClassifier(**SMALL, certify=False),
    "kernel": MinimaxRiskKernelClassifier(callback=lambda record: None),
    "rbf": MinimaxRiskKernelClassifier("rbf", radius="bootstrap"),
}
BRIEF = ["--folds", "2", "--permutations", "3", "--radii", "0", "--no-guarantee", "-q"]


def labels_of(study):
    return np.where(study.target, "ill", "well")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    study = make_expression(30, 12, n_informative=4, effect=1.5, random_state=0)
    path = tmp_path_factory.mktemp("commands") / "genes.csv"
    pd.DataFrame(study.data, columns=study.feature_names).assign(kind=labels_of(study)).to_csv(
        path, index=False
    )
    return path, study


@pytest.mark.parametrize("name", MODELS)
def test_commands_on_a_model_file(name, table, capsys):
    path, study = table
    X, names = study.data, study.feature_names
    y = labels_of(study)
    model, file = MODELS[name].fit(X, y), path.with_name(f"{name}.skops")
    save_model(SavedModel(model, names, target="kind", fingerprint=fingerprint(X, y, names)), file)

    def run(*arguments):
        status, streams = main([str(each) for each in arguments]), capsys.readouterr()
        assert "Error" not in streams.err
        return status, streams

    status, streams = run("predict", file, path, "--ignore", "kind")
    assert status == 0
    named = [line.split(",")[1] for line in streams.out.splitlines()[1:]]
    np.testing.assert_array_equal(named, model.predict(X))
    status, streams = run("verify", file, path)
    assert (status == 0) == has_proof(model)
    if not has_proof(model):
        assert "certify=True" in streams.err
    cohort = path.with_name("cohort.csv")
    pd.DataFrame(X[::-1] + 0.01, columns=names).assign(kind=y[::-1]).to_csv(cohort, index=False)
    status, streams = run("evaluate", file, cohort)
    assert status == 0
    wrong = int((model.predict(X + 0.01) != y).sum())
    assert f"({wrong} of {len(y)} samples" in streams.out
    page = path.with_suffix(".html")
    status, streams = run("report", file, path, "--out", page, *BRIEF)
    is_possible = has_proof(model) and can(model, SELECTION)
    assert (status == 0) == is_possible
    if not is_possible:
        (line,) = streams.err.strip().splitlines()
        assert "report is not supported for" in line or "certify=True" in line


def test_a_file_that_could_not_be_read_is_not_written(table, tmp_path):
    _, study = table
    X, y, names = study.data, labels_of(study), study.feature_names
    described = {"target": "kind", "fingerprint": "-"}
    own = MinimaxRiskKernelClassifier(rbf_kernel).fit(X, y)
    with pytest.raises(ValueError, match="rbf_kernel"):
        save_model(SavedModel(own, names, **described), tmp_path / "own.skops")
    with pytest.raises(ValueError, match="feature_names must hold 12 names"):
        save_model(
            SavedModel(MinimaxRiskClassifier().fit(X, y), names[:3], **described), tmp_path / "m.skops"
        )
    with pytest.raises(NotFittedError):
        save_model(SavedModel(MinimaxRiskClassifier(), names, **described), tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())
