"""What stands on the first screen: the sentence, four numbers, the picture, features and samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk.app.cli.results import COMMAND_LINE
from minimaxrisk.app.report import verdict
from minimaxrisk.app.report.first_screen import (
    N_FEATURES,
    N_SAMPLES,
    about_samples,
    about_top_features,
    key_numbers,
    samples_to_look_at,
    scores_figure,
    top_features,
)
from minimaxrisk.app.report.tables import feature_rows
from minimaxrisk.datasets import make_expression
from tests.report_findings import gather_findings

FEW = {"n_permutations": 19, "n_folds": 3, "n_radii": 0}
MOST_WORDS = 25


@pytest.fixture(scope="module")
def two():
    data = make_expression(80, 120, n_informative=10, effect=0.7, random_state=1)
    y = np.array(["healthy", "ill"])[data.target]
    return gather_findings(MinimaxRiskClassifier().fit(data.data, y), data.data, y, **FEW)


@pytest.fixture(scope="module")
def four():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((60, 40)), np.repeat(list("abcd"), 15)
    for k, label in enumerate("abcd"):
        X[y == label, 3 * k : 3 * k + 3] += 0.9
    return gather_findings(MinimaxRiskClassifier().fit(X, y), X, y, **FEW)


@pytest.fixture(scope="module")
def noise():
    random = np.random.default_rng(3)
    X, y = random.standard_normal((50, 100)), np.array(["a", "b"])[np.arange(50) % 2]
    return gather_findings(MinimaxRiskClassifier().fit(X, y), X, y, **FEW)


def with_recall(found, *recalls):
    folds = found.cross_validation
    fine = replace(folds, predicted=folds.own)
    classes = [replace(one, recall=r) for one, r in zip(found.classes, recalls, strict=True)]
    return replace(found, cross_validation=fine, classes=tuple(classes))


def test_every_verdict_is_one_sentence_of_few_words_without_a_number(two, noise):
    sentences = [*verdict.ANSWERS.values()]
    bad = replace(two, fit=replace(two.fit, certificate_valid=False))
    empty = replace(two, fit=replace(two.fit, n_selected=0))
    weak, weaker = with_recall(two, 1.0, 0.3), with_recall(two, 0.3, 0.3)
    untested = replace(two, cross_validation=None, left_out=None)
    sentences += [verdict.headline(one) for one in (two, noise, bad, empty, weak, weaker, untested)]
    assert len(set(sentences)) > 8
    for sentence in sentences:
        assert len(sentence.split()) <= MOST_WORDS, sentence
        assert sentence.endswith(".")
        assert ". " not in sentence
        assert not any(letter.isdigit() for letter in sentence)
        assert not {"R*", "p-value", "cross-validation", "radius"} & set(sentence.split())
    assert "but not for “ill”" in verdict.headline(weak)
    assert "but not for every class" in verdict.headline(weaker)


def test_the_numbers_come_in_the_order_of_what_people_ask(two):
    signal, error, bound, features = key_numbers(two)
    folds = two.cross_validation
    low, high = folds.approximate_interval()
    assert (signal.name, signal.value) == ("Is there signal?", f"p = {two.permutation.pvalue:.2g}")
    assert error.value == f"{folds.n_wrong / 80:.1%}"
    assert f"{folds.n_wrong} of 80 wrong, roughly {low:.1%} to {high:.1%}" in error.text
    assert f"{folds.majority_error:.1%}" in error.text
    assert bound.value == f"{two.guarantee.value:.1%}"
    assert (features.value, features.text) == (f"{two.fit.n_selected}", "of 120")


def test_features_are_those_of_the_table_and_rare_ones_are_marked(two, four):
    for found in (two, four):
        rows = top_features(found)
        assert [row.name for row in rows] == list(found.features.names[:N_FEATURES])
        for j, row in enumerate(rows):
            coefficients = found.features.coefficients[:, j]
            assert row.frequency == f"{found.features.frequency[j]:.0%}"
            if len(coefficients) == 1:
                assert row.points == found.data.classes[int(coefficients[0] > 0)]
            elif coefficients.max() > 0:
                assert row.points == found.data.classes[int(np.argmax(coefficients))]
                assert row.colour == f"c{np.argmax(coefficients)}"
            else:
                assert row.points == f"not {found.data.classes[int(np.argmin(coefficients))]}"
                assert row.colour is None
    rare = replace(two.features, frequency=np.where(np.arange(two.features.n_selected) == 1, 0.3, 0.6))
    changed = replace(two, features=rare)
    assert [row.is_rare for row in top_features(changed)][:3] == [False, True, False]
    assert [row.is_rare for row in feature_rows(changed)][:3] == [False, True, False]


def test_noise_names_no_feature_and_no_sample(noise):
    assert verdict.evidence(noise) == "noise"
    assert top_features(noise) == samples_to_look_at(noise) == []
    assert about_top_features(noise).startswith("None to rely on")
    assert about_samples(noise, COMMAND_LINE).startswith("None stands out")


def test_misclassified_samples_come_first_the_least_probable_ones_before_others(two):
    folds, rows = two.cross_validation, samples_to_look_at(two)
    wrong = np.flatnonzero(folds.predicted != folds.own)
    assert len(wrong) > N_SAMPLES
    order = wrong[np.argsort(folds.calibrated_of_own[wrong], kind="stable")]
    assert [row.name for row in rows] == [f"sample {i + 1}" for i in order[:N_SAMPLES]]
    assert all(row.is_wrong for row in rows)
    # Where none was misclassified, those with a doubtful label are left.
    few = replace(two.worst_case, n_ambiguous=2)
    fine = replace(two, left_out=replace(two.left_out, errors=()), worst_case=few)
    assert [row.name for row in samples_to_look_at(fine)] == [one.name for one in two.suspects[:2]]
    assert not any(row.is_wrong for row in samples_to_look_at(fine))
    none = replace(fine, worst_case=replace(few, n_ambiguous=0))
    assert samples_to_look_at(none) == []
    assert about_samples(none, COMMAND_LINE) == "None was misclassified when it was left out."


def test_samples_with_the_same_weights_are_in_the_order_of_their_left_out_probability(two):
    keys = [
        (round(one.other_mass, 7), -round(one.own_mass, 7), -one.probability_when_left_out)
        for one in two.suspects
        if one.other_mass >= one.own_mass - 1e-9
    ]
    assert keys == sorted(keys, reverse=True)


@pytest.mark.parametrize("which", ["two", "four"])
def test_the_picture_has_every_sample_on_its_side(which, request):
    found = request.getfixturevalue(which)
    folds, classes = found.cross_validation, found.data.classes
    values = [layer["data"]["values"] for layer in scores_figure(found).specs[0]["layer"]]
    dots = {one["s"]: one for layer in values for one in layer if "p" in one}
    assert len(dots) == found.data.n_samples
    for i, name in enumerate(found.left_out.names):
        one = dots[name]
        assert one["w"] == (folds.predicted[i] != folds.own[i])
        assert round(one["y"]) == folds.own[i]
        assert (one["c"], one["o"]) == (classes[folds.own[i]], classes[folds.predicted[i]])
        on_the_right = one["x"] > 0
        assert on_the_right == (folds.predicted[i] == 1 if len(classes) == 2 else not one["w"])
    shades = values[0]
    assert [one["e"] > 0 for one in shades] == ([True, False] if which == "two" else [False] * 4)
    named = {one["n"] for layer in values for one in layer if "n" in one}
    assert named
    assert named <= {error.name for error in found.left_out.errors}


def test_large_classes_are_thinned_and_the_misclassified_kept(two):
    n = 2000
    own = np.arange(n) % 2
    predicted = np.where(np.arange(n) < 10, 1 - own, own)
    folds = replace(two.cross_validation, own=own, predicted=predicted, scores=2.0 * own - 1.0)
    margins = np.where(predicted == own, 1.0, -1.0)
    left_out = replace(two.left_out, names=tuple(f"s{i}" for i in range(n)), margins=margins)
    figure = scores_figure(replace(two, cross_validation=folds, left_out=left_out))
    dots = [one for layer in figure.specs[0]["layer"] for one in layer["data"]["values"] if "p" in one]
    assert sum(one["w"] for one in dots) == 10
    assert len(dots) == 10 + 2 * 300
    assert "some samples are drawn" in figure.caption
