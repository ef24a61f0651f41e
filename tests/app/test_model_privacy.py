"""What a model file tells of named training samples to somebody who knows names and labels in their order."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

pytest.importorskip("skops", reason="comes with the extra 'app'")

from sklearn.linear_model import Ridge

from minimaxrisk import MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier, verify
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk.app.storage import SavedModel, fingerprint, load_model, sample_hashes, save_model
from minimaxrisk.estimators.prediction_sets import decision_scores
from tests.study_files import write_rows
from tests.terminal import run

N, D = 97, 200  # N is no other length in a model
KNOWN = 0.25  # standard deviations, within which a value counts as known


def written(path, X, y):
    names = [f"g{j}" for j in range(X.shape[1])]
    lines = [
        [f"S{i}", label, *map(repr, row)] for i, (label, row) in enumerate(zip(y, X.tolist(), strict=True))
    ]
    return write_rows(path, [["sample", "diagnosis", *names], *lines])


@pytest.fixture(scope="module")
def study():
    random = np.random.default_rng(0)
    y = np.where(np.arange(N) < 40, "ill", "well")
    X = np.abs(random.normal(8.0, 1.0, (N, D))).round(3)
    X[y == "ill", 7] += 1.6
    X[y == "ill", 9] += 1.6
    return X, y


@pytest.fixture
def fitted(tmp_path, capsys):
    """The model file of a table, as the command writes it."""

    def fit(X, y, *options):
        table, model = written(tmp_path / "t.csv", X, y), tmp_path / "m.skops"
        status, _, err = run(capsys, "fit", table, "--target", "diagnosis", "--out", model, "-q", *options)
        assert status == 0, err
        return load_model(model)

    return fit


def error_of_guess(guess, values):
    """How far guesses are from the values, in standard deviations; NaN is no guess."""
    is_guess = np.isfinite(guess)
    assert is_guess.any()
    return np.sqrt(np.mean((guess - values)[is_guess] ** 2)) / values.std()


def by_masses(classifier):
    """A sample with other masses on its two labels has a score at the threshold: one column follows."""
    (column,) = classifier.selected_features_
    masses = classifier.worst_case_distribution_
    score = np.where(masses[:, 1] > masses[:, 0], 1.0, -1.0) * (1.0 + classifier.threshold_)
    score[np.abs(masses[:, 1] - masses[:, 0]) < 1e-9] = np.nan
    return column, (score - classifier.intercept_[0]) / classifier.coef_[0, column]


def test_masses_do_not_tell_the_column_of_a_small_model(study):
    X, y = study
    names = np.array([f"g{j}" for j in range(D)])
    with quiet_fits():
        model = MinimaxRiskClassifier(radius=8.0).fit(X, y)
    saved = SavedModel(model, names, "class", fingerprint(X, y, names))
    column, guess = by_masses(saved.classifier)
    assert error_of_guess(guess, X[:, column]) < KNOWN  # so the attack works where samples have names
    column, guess = by_masses(saved.detached_from(X, y).classifier)
    assert error_of_guess(guess, X[:, column]) > KNOWN


def by_members(model, grid):
    """The value at which the members that have not seen a sample give its out-of-bag probability."""
    scores = np.stack([member.scores(grid[:, None]).T for member in model.members_])
    found = []
    for is_in, stated in zip(model.in_bag_.T, model.oob_proba_[:, 1], strict=True):
        probabilities = model.decision_.probabilities(scores[~is_in].mean(axis=0))[:, 1]
        found.append(grid[np.abs(probabilities - stated).argmin()])
    return np.array(found)


def test_members_of_an_ensemble_do_not_tell_the_column_of_a_narrow_table(study):
    X, y = study
    X = X[:, [7]]
    grid = np.linspace(X.min(), X.max(), 2000)
    with quiet_fits():
        model = MinimaxRiskEnsembleClassifier(n_estimators=20, ball=False, random_state=0, certify=True).fit(
            X, y
        )
    saved = SavedModel(model, np.array(["g7"]), "class", "")
    inner = np.abs(model.oob_proba_[:, 1] - 0.5) < 0.49  # others are beyond all thresholds
    values = X[inner, 0]
    assert np.median(np.abs(by_members(model, grid)[inner] - values)) < KNOWN * X.std()
    guess = by_members(saved.detached_from(X, y).classifier, grid)[inner]
    assert error_of_guess(guess, values) > KNOWN


@pytest.mark.parametrize("sizes", [(1, 20, 20), (2, 20, 20), (1, 30), (3, 20, 20)])
def test_means_of_small_classes_are_left_out(sizes, fitted):
    """The mean of a class of one sample is that sample."""
    y = np.repeat(["a", "b", "c"][: len(sizes)], sizes)
    X = np.random.default_rng(0).normal(5.0, 1.0, (len(y), 10)).round(3)
    classifier = fitted(X, y, "--no-guarantee", "--folds", "0").classifier
    for name in ("tau_", "lambda_"):
        assert np.isnan(getattr(classifier, name)).all() == (min(sizes) < 3)


@pytest.mark.parametrize(
    ("options", "per_sample"),
    [
        (["--model", "single"], {"worst_case_distribution_"}),
        (["--features", "few"], {"worst_case_distribution_"}),
        (
            ["--scale", "clip", "--impute", "median"],
            {
                *("worst_case_distribution_", "oob_proba_"),
                "in_bag_",
            },
        ),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) and value else "",
)
def test_what_has_an_entry_per_sample(options, per_sample, study, fitted):
    saved, found = fitted(*study, *options, "--folds", "0", "--no-guarantee"), set()

    def look(name, value):
        if N in np.shape(value) or (isinstance(value, list | tuple) and len(value) == N):
            found.add(name)
        parts = value if isinstance(value, dict) else vars(value) if hasattr(value, "__dict__") else {}
        for key, part in parts.items():
            look(key, part)
        for part in value if isinstance(value, list | tuple) else ():
            look(name, part)

    look("saved", saved)
    assert found == per_sample
    assert saved.is_detached
    assert saved.sample_hashes is None


@pytest.mark.parametrize("n_features", ["1", "2"])
def test_margins_do_not_tell_columns(n_features, study, fitted):
    """The margins and the rule are equations for the columns, of samples that nobody can tell apart."""
    X, y = study
    saved = fitted(X, y, "--features", n_features, "--no-guarantee")
    found = saved.calibration
    order = np.lexsort([found.own_margins, found.own])
    assert np.array_equal(order, np.arange(N))
    first, *others = saved.classifier.selected_features_
    own = np.searchsorted(saved.classifier.classes_, y)
    guess = np.full(N, np.nan)
    for k in (0, 1):
        # The best guess without an order: the margins of the class belong to its samples as they come.
        rows = np.flatnonzero(own == k)
        zero, one = np.zeros((len(rows), D)), np.zeros((len(rows), D))
        zero[:, others] = one[:, others] = X[np.ix_(rows, others)]  # had from elsewhere
        zero[:, first], one[:, first] = 8.0, 8.5
        at_zero, at_one = (found.logits(decision_scores(saved.classifier, values)) for values in (zero, one))
        low, high = at_zero[:, k] - at_zero[:, 1 - k], at_one[:, k] - at_one[:, 1 - k]
        guess[rows] = 8.0 + 0.5 * (found.own_margins[found.own == k] - low) / (high - low)
    assert error_of_guess(guess, X[:, first]) > KNOWN


def test_hashes_tell_nothing_about_values():
    """An attacker has hashes of many samples of the same distribution, and knows whose hash each is."""
    random = np.random.default_rng(0)
    loadings = random.standard_normal((4, 64))  # few factors: values follow from a few numbers
    X = 8.0 + random.standard_normal((900, 4)) @ loadings
    bits = np.unpackbits(sample_hashes(X, "salt").view(np.uint8)).reshape(len(X), 32).astype(float)
    guess = Ridge(1.0).fit(bits[:800], X[:800]).predict(bits[800:])
    assert np.mean((guess - X[800:]) ** 2) > 0.95 * X[800:].var(axis=0).mean()


class TestRecognition:
    @pytest.fixture
    def cohort(self, tmp_path):
        return tmp_path / "new.csv"

    def test_samples_that_come_again(self, study, fitted, tmp_path, cohort, capsys):
        X, y = study
        saved = fitted(X, y, "--recognise", "--no-guarantee")
        assert (np.diff(saved.sample_hashes.astype(np.int64)) > 0).all()
        others = np.random.default_rng(1).normal(8.0, 1.0, (20, D)).round(3)
        short = np.array([[float(f"{value:.12g}") for value in row] for row in X[:3] * (1 + 1e-13)])
        mixed = written(cohort, np.vstack([others, short]), ["ill", "well"] * 11 + ["ill"])
        status, _, err = run(capsys, "predict", tmp_path / "m.skops", mixed)
        assert status == 0
        assert all(name in err for name in ("'S20'", "'S21'", "'S22'"))
        assert "'S19'" not in err
        assert run(capsys, "evaluate", tmp_path / "m.skops", mixed)[0] == 2

    def test_without_it_the_table_as_a_whole(self, study, fitted, tmp_path, cohort, capsys):
        X, y = study
        fitted(X, y, "--no-guarantee")
        table = written(cohort, X[::-1], y[::-1])
        assert run(capsys, "evaluate", tmp_path / "m.skops", table)[0] == 2
        part = written(cohort, X[:60], y[:60])
        status, out, _ = run(capsys, "evaluate", tmp_path / "m.skops", part, "--json")
        assert status == 0
        assert any("--recognise" in note for note in json.loads(out)["notes"])

    def test_narrow_tables_are_refused(self, study, tmp_path, capsys):
        X, y = study
        table = written(tmp_path / "t.csv", X[:, :63], y)
        model = tmp_path / "m.skops"
        status, _, err = run(capsys, "fit", table, "--target", "diagnosis", "--recognise", "--out", model)
        assert (status, model.exists()) == (2, False)
        assert "--recognise" in err

    def test_samples_of_few_values_have_no_hash(self, study):
        X = study[0].copy()
        X[:5, 63:] = 0.0
        assert np.flatnonzero(sample_hashes(X, "") == 0).tolist() == list(range(5))

    @pytest.mark.parametrize("seed", range(3))
    def test_an_honest_cohort_with_two_decimals_is_not_refused(self, seed, fitted, tmp_path, cohort, capsys):
        tables = []
        for n, own in ((30, 1), (120, 2)):
            random = np.random.default_rng(10 * seed + own)
            y = np.resize(["ill", "well"], n)
            X = random.normal(28.0, 2.0, (n, 40))
            X[y == "ill", 3] -= 5.0
            tables.append((X.round(2), y))
        fitted(*tables[0], "--features", "1", "--no-guarantee")
        assert np.isin(tables[1][0][:, 3], tables[0][0][:, 3]).any()
        assert run(capsys, "evaluate", tmp_path / "m.skops", written(cohort, *tables[1]))[0] == 0


class TestOrder:
    @pytest.mark.parametrize(
        "options",
        [[], ["--radius", "bootstrap"], ["--model", "ensemble"], ["--scale", "clip"], ["--features", "few"]],
    )
    def test_the_certificate_holds_for_rows_in_another_order(self, options, study, fitted, tmp_path, capsys):
        X, y = study
        fitted(X, y, *options, "--folds", "0", "--no-guarantee")
        order = np.random.default_rng(0).permutation(N)
        table = written(tmp_path / "other.csv", X[order], y[order])
        assert run(capsys, "verify", tmp_path / "m.skops", table)[0] == 0

    def test_means_that_were_left_out_come_back(self, fitted, tmp_path):
        y = np.repeat(["a", "b", "c"], (2, 20, 20))
        X = np.random.default_rng(0).normal(5.0, 1.0, (len(y), 10)).round(3)
        saved = fitted(X, y, "--no-guarantee", "--folds", "0", "--scale", "clip")
        model = saved.classifier_of(X, y)
        assert verify(model, saved.prepared(X), y).valid
        save_model(saved, tmp_path / "again.skops")

    def test_other_data_leave_it_as_it_is(self, study, fitted):
        X, y = study
        saved = fitted(X, y, "--folds", "0", "--no-guarantee")
        assert saved.classifier_of(X[:-1], y[:-1]) is saved.classifier


def test_names_of_samples_are_not_in_the_file(study, fitted, tmp_path):
    fitted(*study, "--recognise", "--no-guarantee")
    import zipfile  # noqa: PLC0415

    with zipfile.ZipFile(tmp_path / "m.skops") as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    assert b"S13" not in content
    assert b"g13" in content
    with (tmp_path / "t.csv").open() as lines:
        assert next(iter(csv.DictReader(lines)))["sample"] == "S0"
