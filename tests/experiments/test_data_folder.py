"""The data folder and the simulation."""

from __future__ import annotations

import csv
import hashlib
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from experiments.datasets import (
    data_home,
    dataset_info,
    dataset_status,
    list_datasets,
    load_dataset,
)
from experiments.datasets.registry import REGISTRY
from experiments.datasets.tables import content_sha256
from experiments.paper.printed import TABLE_1, DataSet
from minimaxrisk.datasets import make_expression

COLUMNS = ["name", "file", "n_samples", "n_features", "n_classes", "sha256", "notes"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with a dense and a sparse set, and one whose file is missing."""
    X = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "small.npz", X=X, y=np.array([0, 1, 0]), classes=np.array(["no", "yes"]))
    S = sparse.csr_array(np.eye(4))
    np.savez(
        tmp_path / "thin.npz",
        data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, y=np.array([-1, 1, 1, -1]),
    )  # fmt: skip
    with (tmp_path / "MANIFEST.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        for name in ("small", "thin", "gone"):
            path = tmp_path / f"{name}.npz"
            digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "0"
            table.writerow(dict.fromkeys(COLUMNS, "") | {"name": name, "file": path.name, "sha256": digest})
    monkeypatch.setenv("MINIMAXRISK_DATA", str(tmp_path))
    return tmp_path


def rewrite_checksum(folder, name):
    digest = hashlib.sha256((folder / f"{name}.npz").read_bytes()).hexdigest()
    lines = (folder / "MANIFEST.csv").read_text().splitlines()
    changed = [f"{name},{name}.npz,,,,{digest}," if line.startswith(name) else line for line in lines]
    (folder / "MANIFEST.csv").write_text("\n".join(changed) + "\n")


def test_load_by_name(folder):
    assert data_home() == folder
    assert list_datasets() == ["small", "thin"]
    small = load_dataset("small")
    np.testing.assert_array_equal(small.data, np.arange(6.0).reshape(3, 2))
    assert small.target.tolist() == ["no", "yes", "no"]
    assert small.target_names.tolist() == ["no", "yes"]
    X, y = load_dataset("thin", return_X_y=True)
    assert sparse.issparse(X)
    assert X.shape == (4, 4)
    assert y.tolist() == [-1, 1, 1, -1]


def test_what_can_go_wrong(folder, tmp_path_factory):
    with pytest.raises(ValueError, match=r"unknown data set 'tiny'; .* has gone, small, thin"):
        load_dataset("tiny")
    with pytest.raises(FileNotFoundError, match=r"its file gone\.npz is not there"):
        load_dataset("gone")
    content = (folder / "small.npz").read_bytes()
    (folder / "small.npz").write_bytes(content[:-10])
    with pytest.raises(ValueError, match="does not match its checksum"):
        load_dataset("small")
    np.savez(folder / "thin.npz", X=np.eye(3), y=np.arange(2))
    rewrite_checksum(folder, "thin")
    with pytest.raises(ValueError, match="a label for each of 3 rows, got 2"):
        load_dataset("thin")
    np.savez(folder / "thin.npz", X=np.eye(3), y=np.arange(3), classes=np.array(["a", "b"]))
    rewrite_checksum(folder, "thin")
    with pytest.raises(ValueError, match="names 2 classes, so y must hold numbers from 0 to 1"):
        load_dataset("thin")
    np.savez(folder / "thin.npz", X=np.eye(3))
    rewrite_checksum(folder, "thin")
    with pytest.raises(ValueError, match="lacks an array"):
        load_dataset("thin")
    (folder / "MANIFEST.csv").write_text("name,file\n")
    with pytest.raises(ValueError, match="lacks the columns n_samples, "):
        load_dataset("thin")
    empty = tmp_path_factory.mktemp("empty")
    assert list_datasets(empty) == []
    with pytest.raises(FileNotFoundError, match="set the environment variable MINIMAXRISK_DATA"):
        load_dataset("small", empty)


def test_without_a_variable_the_cache_folder_is_used(monkeypatch):
    monkeypatch.delenv("MINIMAXRISK_DATA", raising=False)
    assert data_home().parts[-2:] == (".cache", "minimaxrisk")


@pytest.fixture
def small_leukemia(monkeypatch):
    """The registry's Leukemia made small, and a table of that shape."""
    monkeypatch.setitem(REGISTRY, "Leukemia", replace(REGISTRY["Leukemia"], n_samples=4, n_features=8))
    return np.random.default_rng(0).standard_normal((4, 8)), np.array(["ALL", "AML", "AML", "ALL"])


def test_the_paper_has_thirteen_data_sets():
    assert {
        info.number: DataSet(name, info.n_features, info.n_samples, info.n_classes)
        for name, info in REGISTRY.items()
    } == TABLE_1
    for name, info in REGISTRY.items():
        assert info == dataset_info(name)
        assert info.homepage.startswith("https://")
        assert info.reference
        assert info.licence
        assert info.url is None or info.url.endswith(info.file)
        assert info.checked.startswith("November 2026: ")
    assert [name for name, info in REGISTRY.items() if info.url is None] == ["Lung", "Ovarian"]
    with pytest.raises(ValueError, match=r"unknown data set 'prostate'; .* Did you mean 'Prostate_GE'"):
        dataset_info("prostate")


@pytest.mark.parametrize("name", ["Colon", "GLIOMA", "Leukemia", "MLL", "Prostate_GE"])
def test_the_tables_at_hand_are_those_of_the_registry(real_data, name):
    assert content_sha256(*real_data(name)) == REGISTRY[name].content_sha256


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Arcene", "Dorothea", "TOX_171"])
def test_the_larger_tables_at_hand_are_those_of_the_registry(real_data, name):
    assert content_sha256(*real_data(name)) == REGISTRY[name].content_sha256


@pytest.mark.parametrize("file", ["Leukemia.mat", "allaml.MAT", "leukemia.csv", "Leukemia.npz"])
def test_a_file_of_the_folder_is_found_by_the_name_of_the_data_set(small_leukemia, tmp_path, file):
    X, labels = small_leukemia
    path = tmp_path / file
    if file.lower().endswith(".mat"):
        savemat(path, {"X": X, "Y": labels.astype(object)}, appendmat=False)
    elif file.endswith(".csv"):
        path.write_text(
            "\n".join(
                ",".join([*map(repr, row.tolist()), label]) for row, label in zip(X, labels, strict=True)
            )
        )
    else:
        np.savez(path, X=X, y=(labels == "AML").astype(int), classes=np.array(["ALL", "AML"]))
    assert list_datasets(tmp_path) == ["Leukemia"]
    found = load_dataset("Leukemia", tmp_path)
    np.testing.assert_array_equal(found.data, X)
    assert found.target.tolist() == labels.tolist()
    assert "Golub" in found.DESCR
    status = {entry.name: entry for entry in dataset_status(tmp_path)}
    assert status["Leukemia"].path == path
    assert status["Lung"].path is None


def test_a_file_that_only_bears_the_name_is_refused(small_leukemia, tmp_path):
    X, labels = small_leukemia
    path = tmp_path / "leukemia.mat"
    savemat(path, {"X": X[:, :7], "Y": labels.astype(object)})
    with pytest.raises(
        ValueError, match=r"expected 4 samples, 8 features .* got 4 samples, 7 .*7070 columns"
    ):
        load_dataset("Leukemia", tmp_path)
    savemat(path, {"X": np.sign(X), "Y": labels.astype(object)})
    with pytest.raises(ValueError, match="shape is right, but its first sample has only 2 distinct values"):
        load_dataset("Leukemia", tmp_path)
    path.rename(tmp_path / "Leukemia.npz")
    with pytest.raises(ValueError, match=r"Leukemia\.npz is not an \.npz file of arrays"):
        load_dataset("Leukemia", tmp_path)


def test_a_stand_in_never_answers_for_the_real_one(small_leukemia, tmp_path):
    X, labels = small_leukemia
    path = tmp_path / "Leukemia.npz"
    np.savez(path, X=X, y=(labels == "AML").astype(int))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    row = f"Leukemia_like,Leukemia.npz,4,8,2,{digest},a note"
    (tmp_path / "MANIFEST.csv").write_text(",".join(COLUMNS) + f"\n{row}\n")
    assert list_datasets(tmp_path) == ["Leukemia_like"]
    assert load_dataset("Leukemia_like", tmp_path).data.shape == (4, 8)
    with pytest.raises(FileNotFoundError, match="python -m experiments datasets fetch Leukemia"):
        load_dataset("Leukemia", tmp_path)
    *paper, other = dataset_status(tmp_path)
    assert [entry.name for entry in paper] == list(REGISTRY)
    assert not any(entry.stand_in or entry.path for entry in paper)
    assert other.stand_in
    assert (other.name, other.n_features, other.path, other.note) == ("Leukemia_like", 8, path, "a note")
    # Nor does a line of the manifest that gives the name to another table.
    (tmp_path / "MANIFEST.csv").write_text(",".join(COLUMNS) + f"\n{row.replace('Leukemia_like', 'Lung')}\n")
    with pytest.raises(ValueError, match="is not Lung: expected 203 samples, 12600 features"):
        load_dataset("Lung", tmp_path)


def test_names_that_are_missing_or_misspelt(folder, tmp_path_factory):
    with pytest.raises(ValueError, match=r"has gone, small, thin, .* the paper has .* Did you mean 'small'"):
        load_dataset("smal")
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(FileNotFoundError, match=r"data set 'Lung' is not in .*fetch Lung.*MINIMAXRISK_DATA"):
        load_dataset("Lung", empty)
    with pytest.raises(FileNotFoundError, match=r"unknown data set 'lung'.*Did you mean 'Lung'"):
        load_dataset("lung", empty / "none")


@pytest.mark.parametrize("positive", [0.5, 0.3])
def test_bayes_error_and_error_of_a_rule_agree_with_the_covariance_and_a_sample(positive):
    study = make_expression(
        10,
        45,
        n_informative=6,
        effect=0.8,
        module_size=10,
        correlation=0.4,
        positive=positive,
        random_state=0,
    )
    law = study.law
    # The covariance written out.
    same = law.module[:, None] == law.module[None]
    R = np.where(same, 0.4, 0.0) + 0.6 * np.eye(45)
    direction = np.linalg.solve(R, law.shift)
    coef = direction / law.scale
    middle = law.class_means.mean(axis=0)
    intercept = -coef @ middle + np.log(positive / (1 - positive))
    # The best rule has the Bayes error, and a large sample confirms it.
    assert law.error(coef, intercept) == pytest.approx(study.bayes_error, abs=1e-12)
    X, y = law.sample(60_000, random_state=1)
    assert ((X @ coef + intercept > 0) != y).mean() == pytest.approx(study.bayes_error, abs=0.004)
    np.testing.assert_allclose(X[y == 1].mean(axis=0), law.class_means[1], atol=0.03)
    correlation = np.corrcoef(X[y == 0][:, :20].T)
    np.testing.assert_allclose(correlation[:10, :10][~np.eye(10, dtype=bool)], 0.4, atol=0.02)
    np.testing.assert_allclose(correlation[:10, 10:], 0.0, atol=0.02)
    # No rule is better, and a rule that always says 1 misses class 0.
    assert law.error(coef + 0.1, intercept) > study.bayes_error
    assert law.error(np.zeros(45), 1.0) == pytest.approx(1 - positive)
    two_rows = law.error(np.stack([-coef, 2 * coef]), np.array([0.0, 3 * intercept]))
    assert two_rows == pytest.approx(study.bayes_error, abs=1e-12)


def test_study_is_what_was_asked_for():
    study = make_expression(30, 100, n_informative=7, effect=1.5, random_state=3)
    assert study.data.shape == (30, 100)
    assert set(study.target) == {0, 1}
    assert len(study.feature_names) == 100
    assert study.feature_names[7] == "gene_07"
    np.testing.assert_array_equal(np.flatnonzero(study.law.shift), study.informative)
    np.testing.assert_allclose(np.abs(study.law.shift[study.informative]), 1.5)
    again = make_expression(30, 100, n_informative=7, effect=1.5, random_state=3)
    np.testing.assert_array_equal(study.data, again.data)
    assert make_expression(5, 4, n_informative=0, positive=0.3).bayes_error == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_informative": 11, "n_features": 10}, "n_informative must lie between 0 and n_features=10"),
        ({"effect": np.nan}, "effect must be a finite number"),
        ({"correlation": 1.0}, "correlation must lie in"),
        ({"positive": 0.0}, "positive must lie strictly between"),
        ({"n_samples": 1}, "n_samples must be at least 2"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_expression(**arguments)
