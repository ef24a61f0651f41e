"""One decision in the program: label, probabilities, prediction set and certainty agree in every row."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from minimaxrisk.app.cli import main
from minimaxrisk.app.storage import load_model
from minimaxrisk.datasets import make_expression
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from tests.terminal import run

pd = pytest.importorskip("pandas")
pytest.importorskip("skops", reason="comes with the extra 'app'")


def of_scikit_learn(load, classes=None):
    X, y = load(return_X_y=True)
    keep = np.isin(y, np.unique(y) if classes is None else classes)
    return X[keep], y[keep]


def simulated(*sizes, effect=0.7, d=40, seed=0, heavy=False):
    """Every class has informative features of its own."""
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    noise = random.standard_t(3, (len(y), d)) if heavy else random.standard_normal((len(y), d))
    return noise + effect * (np.arange(d) // 5 == y[:, None]), y


def expression():
    study = make_expression(90, 200, n_informative=10, effect=0.6, random_state=3)
    return study.data, study.target


SETS = {
    "breast cancer": lambda: of_scikit_learn(load_breast_cancer),
    "iris": lambda: of_scikit_learn(load_iris),
    "wine": lambda: of_scikit_learn(load_wine),
    "digits, 3 against 8": lambda: of_scikit_learn(load_digits, [3, 8]),
    "expression": expression,
    "one feature": lambda: simulated(40, 60, d=1, effect=1.5),
    "classes of 100 and 20": lambda: simulated(100, 20, effect=0.9),
    "four classes": lambda: simulated(40, 30, 30, 20, effect=1.0),
    "heavy tails": lambda: simulated(60, 60, effect=1.0, heavy=True),
    "noise": lambda: simulated(50, 50, effect=0.0),
}


def contradictions(row):
    """What in a row of ``predict`` contradicts its label."""
    start = "probability_"
    probabilities = {name[len(start) :]: float(row[name]) for name in row if name.startswith(start)}
    label, possible = row["prediction"], row["possible"].split(" or ")
    found = ["probability"] * (probabilities[label] < max(probabilities.values()))
    found += ["certainty"] * ((row["certainty"] == "sure") != (possible == [label]))
    return found + ["set"] * (possible != ["none"] and label not in possible)


def written(X, y, path):
    table = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    table.insert(0, "sample", [f"S{i}" for i in range(len(X))])
    (table if y is None else table.assign(kind=[f"class {label}" for label in y])).to_csv(path, index=False)
    return str(path)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("model", ["single", "ensemble"])
def test_no_row_contradicts_itself(name, model, tmp_path, capsys):
    X, y = SETS[name]()
    train = np.random.default_rng(0).random(len(y)) < 0.6
    data = written(X[train], y[train], tmp_path / "train.csv")
    new, path = written(X[~train], None, tmp_path / "new.csv"), str(tmp_path / "m.skops")
    effort = ["--no-guarantee", "--model", model, "--folds", "5", "--quiet"]
    assert main(["fit", data, "--target", "kind", "--out", path, *effort]) == 0
    for confidence in ("0.9", "0.6"):
        capsys.readouterr()
        assert main(["predict", path, new, "--confidence", confidence, "--quiet"]) == 0
        rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
        assert len(rows) == (~train).sum()
        assert [row for row in rows if contradictions(row)] == []
    truth = np.array([f"class {label}" for label in y[~train]])
    sure = np.array([row["certainty"] == "sure" for row in rows])
    if name in ("breast cancer", "iris", "wine", "digits, 3 against 8"):
        assert sure.mean() > 0.4  # it would be easy to be sure of nothing
        assert np.mean(truth[sure] == np.array([row["prediction"] for row in rows])[sure]) > 0.9


def test_a_fit_with_a_report_fits_its_folds_once(tmp_path, capsys, monkeypatch):
    """Of all samples, without each of ten folds; and the hold-out with folds of its own."""
    fits, fit = [], MinimaxRiskClassifier.fit

    def counted(self, X, y, *args, **more):
        fits.append(len(y))
        return fit(self, X, y, *args, **more)

    monkeypatch.setattr(MinimaxRiskClassifier, "fit", counted)
    X, y = simulated(30, 30)
    data = written(X, y, tmp_path / "t.csv")
    effort = ["--permutations", "0", "--radii", "0", "--report", tmp_path / "r.html", "--json"]
    status, out, err = run(capsys, "fit", data, "--target", "kind", "--out", tmp_path / "m.skops", *effort)
    assert status == 0, err
    assert sorted(fits, reverse=True) == [60] + [54] * 10 + [30] + [27] * 10
    # The model file and the page are made from the same cross-validation.
    calibration = load_model(tmp_path / "m.skops").calibration
    assert calibration.sizes.tolist() == [30, 30]
    counts = json.loads(out)["cross_validation"]["by_class"]
    assert sum(one["sensitivity"]["n"] for one in counts.values()) == 60
