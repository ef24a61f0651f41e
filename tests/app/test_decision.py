"""One decision in the program: label, probabilities, prediction set and certainty agree in every row."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from corpora.honest import HONEST
from minimaxrisk.app.cli import main
from minimaxrisk.app.storage import load_model
from minimaxrisk.datasets import make_expression
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from tests.terminal import run

pd = pytest.importorskip("pandas")
pytest.importorskip("skops", reason="comes with the extra 'app'")


TABLES = ("wine", "iris", "digits-3-8", "unequal-classes", "noise-alone", "nine-small-classes")
MORE = tuple(name for name in HONEST if name not in TABLES)


def contradictions(row):
    """What in a row of ``predict`` contradicts its label."""
    start = "probability_"
    probabilities = {name[len(start) :]: float(row[name]) for name in row if name.startswith(start)}
    label, possible = row["prediction"], row["possible"].split(" or ")
    found = ["probability"] * (probabilities[label] < max(probabilities.values()))
    is_sure = row["certainty"] == "sure"
    is_on_scale = row.get("on_training_scale") != "no"
    found += ["certainty"] * (is_sure != (is_on_scale and possible == [label]))
    return found + ["set"] * (possible != ["none"] and label not in possible)


def written(X, y, path):
    """Write a table for ``fit``, or without labels for ``predict``."""
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    frame.insert(0, "sample", [f"S{i}" for i in range(len(X))])
    (frame if y is None else frame.assign(kind=[f"class {label}" for label in y])).to_csv(path, index=False)
    return str(path)


def predicted(capsys, model, new, *options):
    """Return the rows that ``predict`` writes."""
    capsys.readouterr()
    assert main(["predict", model, new, "--quiet", *options]) == 0
    return list(csv.DictReader(capsys.readouterr().out.splitlines()))


@pytest.mark.parametrize("name", [*TABLES, *(pytest.param(n, marks=pytest.mark.slow) for n in MORE)])
@pytest.mark.parametrize("model", ["single", "ensemble"])
def test_no_row_contradicts_itself(name, model, tmp_path, capsys):
    table = HONEST[name]()
    X, y = table.X, np.asarray(table.y)
    train = np.random.default_rng(0).random(len(y)) < 0.6
    data = written(X[train], y[train], tmp_path / "train.csv")
    new, path = written(X[~train], None, tmp_path / "new.csv"), str(tmp_path / "m.skops")
    effort = ["--no-guarantee", "--model", model, "--folds", "5", "--quiet", "--impute", "median"]
    assert main(["fit", data, "--target", "kind", "--out", path, *effort]) == 0
    for confidence in ("0.9", "0.6"):
        rows = predicted(capsys, path, new, "--confidence", confidence)
        assert len(rows) == (~train).sum()
        assert [row for row in rows if contradictions(row)] == []
    truth = np.array([f"class {label}" for label in y[~train]])
    sure = np.array([row["certainty"] == "sure" for row in rows])
    if name in ("breast-cancer", "iris", "wine", "digits-3-8"):
        assert sure.mean() > 0.4  # it would be easy to be sure of nothing
        assert np.mean(truth[sure] == np.array([row["prediction"] for row in rows])[sure]) > 0.9


def test_an_ensemble_has_probabilities_without_folds(tmp_path, capsys):
    table = HONEST["wine"]()
    data = written(table.X, np.asarray(table.y), tmp_path / "train.csv")
    path, effort = str(tmp_path / "m.skops"), ["--no-guarantee", "--folds", "0", "--quiet"]
    assert main(["fit", data, "--target", "kind", "--out", path, *effort]) == 0
    rows = predicted(capsys, path, written(table.X[::3], None, tmp_path / "new.csv"))
    model = load_model(path).classifier
    probabilities = model.predict_proba(table.X[::3])
    for label, stated in zip(model.classes_, probabilities.T, strict=True):
        found = [float(row[f"probability_{label}"]) for row in rows]
        np.testing.assert_allclose(found, stated, atol=1e-4)
    assert [row["prediction"] for row in rows] == model.classes_[probabilities.argmax(axis=1)].tolist()
    assert "certainty" not in rows[0]


def test_a_fit_with_a_report_fits_its_folds_once(tmp_path, capsys, monkeypatch):
    """Of all samples, without each of ten folds; and the hold-out with folds of its own."""
    fits, fit = [], MinimaxRiskClassifier.fit

    def counted(self, X, y, *args, **more):
        fits.append(len(y))
        return fit(self, X, y, *args, **more)

    monkeypatch.setattr(MinimaxRiskClassifier, "fit", counted)
    study = make_expression(60, 40, effect=0.7, random_state=0)
    data = written(study.data, np.arange(60) % 2, tmp_path / "t.csv")
    effort = ["--permutations", "0", "--radii", "0", "--report", tmp_path / "r.html", "--json"]
    options = ["--model", "single", "--target", "kind", "--out", tmp_path / "m.skops"]
    status, out, err = run(capsys, "fit", data, *options, *effort)
    assert status == 0, err
    assert sorted(fits, reverse=True) == [60] + [54] * 10 + [30] + [27] * 10
    # The model file and the page are made from the same cross-validation.
    calibration = load_model(tmp_path / "m.skops").calibration
    assert calibration.sizes.tolist() == [30, 30]
    counts = json.loads(out)["cross_validation"]["by_class"]
    assert sum(one["sensitivity"]["n"] for one in counts.values()) == 60
