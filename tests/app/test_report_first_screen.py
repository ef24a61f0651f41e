"""What stands on the first screen: the sentence, four numbers, the picture, features and samples."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, recall_score

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk._utils.rounding import at_most
from minimaxrisk.analysis.intervals import ClassRates, class_rates, share
from minimaxrisk.app.cli.results import COMMAND_LINE
from minimaxrisk.app.report import verdict
from minimaxrisk.app.report.clinical import looked_for
from minimaxrisk.app.report.explanations import about_features
from minimaxrisk.app.report.first_screen import (
    LONE,
    N_FEATURES,
    N_SAMPLES,
    about_samples,
    about_top_features,
    key_numbers,
    samples_to_look_at,
    scores_figure,
    top_features,
)
from minimaxrisk.app.report.methods import methods
from minimaxrisk.app.report.page import Provenance, render_report
from minimaxrisk.app.report.tables import feature_rows, rate_table
from minimaxrisk.checks.findings import Finding
from minimaxrisk.datasets import make_expression
from minimaxrisk.guarantees.left_out import LeftOutScores
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
    rates = [ClassRates(share(right, 10, 0.95), None, None) for right in recalls]
    classes = [replace(one, rates=each) for one, each in zip(found.classes, rates, strict=True)]
    return replace(with_hold_out(found, 0, 40, 40), cross_validation=fine, classes=tuple(classes))


def with_hold_out(found, n_errors, n_test, n_train):
    counts = {"n_errors": n_errors, "n_test": n_test, "n_train": n_train}
    return replace(found, guarantee=replace(found.guarantee, **counts))


def test_every_verdict_is_one_sentence_of_few_words_without_a_number(two, four, noise):
    sentences = [*verdict.ANSWERS.values()]
    bad = replace(two, fit=replace(two.fit, certificate_valid=False))
    empty = replace(two, fit=replace(two.fit, n_selected=0))
    weak, weaker = with_recall(two, 10, 3), with_recall(four, 10, 3, 10, 10)
    weakest = with_recall(four, 4, 3, 2, 1)
    fine = with_recall(two, 10, 10)
    fine = replace(fine, guarantee=replace(fine.guarantee, value=0.1))
    unproven = replace(fine, guarantee=replace(fine.guarantee, value=0.45))
    untested = replace(two, cross_validation=None, left_out=None)
    sentences += [verdict.headline(one) for one in (two, noise, bad, empty, weak, weaker, weakest, untested)]
    sentences += [verdict.headline(one) for one in (fine, unproven)]
    assert len(set(sentences)) > 8
    for sentence in sentences:
        assert len(sentence.split()) <= MOST_WORDS, sentence
        assert sentence.endswith(".")
        assert ". " not in sentence
        assert not any(letter.isdigit() for letter in sentence)
        assert not {"R*", "p-value", "cross-validation", "radius"} & set(sentence.split())
    # Of two classes one that is missed is no classifier; of more the others may be of use.
    assert verdict.headline(weak).startswith("As a lead, not as a test")
    assert "most samples of “ill” were misclassified" in verdict.headline(weak)
    assert "but not for “b”: most were misclassified" in verdict.headline(weaker)
    assert "but not for “a”, “b” and others" in verdict.headline(weakest)
    # What left-out samples show and what can be guaranteed do not contradict each other.
    assert "clearly better than chance on left-out ones" in verdict.headline(fine)
    assert "for a guarantee of its error there are too few samples" in verdict.headline(unproven)


def test_the_numbers_come_in_the_order_of_what_people_ask(two):
    signal, error, by_class, bound = key_numbers(two)
    folds = two.cross_validation
    interval = folds.error().interval
    assert (signal.name, signal.value) == ("Is there signal?", f"p = {two.permutation.pvalue:.2g}")
    assert error.value == f"{folds.n_wrong / 80:.1%}"
    assert f"{folds.n_wrong} of 80 wrong, roughly {interval}" in error.text
    assert f"{folds.majority_error:.1%}" in error.text
    assert bound.value == at_most(two.guarantee.value, ".1%")
    counts = folds.confusion(2)
    sensitivity, specificity = recall_score(folds.own, folds.predicted, average=None)[::-1]
    balanced = balanced_accuracy_score(folds.own, folds.predicted)
    interval = share(counts[1, 1], counts[1].sum(), 0.95, precision=0.7).interval
    assert by_class.value == f"{sensitivity:.1%} / {specificity:.1%}"
    assert f"{counts[1, 0]} of {counts[1].sum()} “ill” missed (roughly {interval} found)" in (by_class.text)
    assert f"{counts[0, 1]} of {counts[0].sum()} “healthy” called “ill”" in by_class.text
    assert by_class.text.endswith(f"balanced accuracy {balanced:.1%}")
    row = rate_table(two).rows[1]
    assert row[:4] == ["ill", "34", str(counts[1, 0]), f"{sensitivity:.1%} ({interval})"]


def test_of_more_classes_the_one_that_fares_worst_is_named(four):
    folds, entry = four.cross_validation, key_numbers(four)[2]
    recalls = recall_score(folds.own, folds.predicted, average=None)
    assert (entry.name, entry.value) == ("Balanced accuracy", f"{recalls.mean():.1%}")
    worst = int(np.argmin(recalls))
    assert f"the least: {round(15 * recalls[worst])} of 15 “{'abcd'[worst]}”" in entry.text
    unknown = replace(four, cross_validation=None, left_out=None)
    assert key_numbers(unknown)[2].text == "not computed"
    assert rate_table(unknown) is None


@pytest.mark.parametrize(
    ("classes", "place"),
    [
        (("Normal", "Tumor"), 1),
        (("cancer", "healthy_control"), 0),
        (("ALL", "AML"), 1),
        (("non-tumour", "no idea"), 1),
        (("relapse", "without relapse"), 0),
    ],
)
def test_the_class_that_a_test_looks_for(classes, place):
    assert looked_for(classes) == place


def test_a_class_that_is_never_predicted_has_no_predictive_value():
    first, second = class_rates(np.array([[5, 0], [3, 0]]), 0.95)
    assert (first.predictive_value.n_counted, first.predictive_value.n) == (5, 8)
    assert second.predictive_value is None
    assert (second.sensitivity.value, second.specificity.value) == (0.0, 1.0)


def test_a_single_feature_of_very_many_is_asked_about(two):
    unknown = replace(two, related=None)
    assert LONE not in about_top_features(unknown)
    lone = replace(unknown, fit=replace(two.fit, n_selected=1))
    assert LONE in about_top_features(lone)
    page = render_report(lone, Provenance("fit", "x.csv", "class", "1", {}))
    assert '<p class="alarm">' in page
    assert '<p class="alarm">' not in render_report(two, Provenance("fit", "x.csv", "class", "1", {}))
    # A warning about this feature says it, so the list does not say it again.
    leak = Finding("dominant-feature", "Found.", "Leave it out.", columns=lone.features.names[:1])
    without = about_top_features(replace(lone, warnings=(replace(leak, columns=()),)))
    assert about_top_features(replace(lone, warnings=(leak,))) != without == about_top_features(lone)


def test_related_features_are_counted(two):
    found = two.related
    n = two.features.n_selected
    assert (found.confidence, found.n_permutations, len(found.of_first)) == (0.95, 499, min(n, 30) + 1)
    assert 0 == found.of_first[0] < found.of_first[-1] <= found.of_selected <= n
    which = "the first 8" if n > 8 else "them"
    assert f"{found.of_first[min(n, 8)]} of {which}" in about_top_features(two)
    assert f"{found.of_selected} of the {n} selected" in about_features(two)


def test_the_methods_have_what_a_paper_needs(two):
    text = methods(two, {"minimaxrisk": "0.1.0", "numpy": "2.4"}, "filled by medians.")
    for part in (
        *("minimaxrisk 0.1.0, numpy 2.4", "80 samples (46 healthy and 34 ill) with 120 features", "radius=1"),
        *(
            "Missing values: filled by medians. ",
            f"approximate 95% interval {two.cross_validation.error().interval}",
        ),
        *(key_numbers(two)[2].value.split(" / ")[0], "19 permutations of the labels (p = 0.05)"),
        *("With 95% confidence, the error", "3-fold cross-validation"),
    ):
        assert part in text
    bare = replace(two, cross_validation=None, left_out=None, permutation=None, guarantee=None)
    assert f"{two.fit.n_selected} of 120 features" in methods(bare, {}, None)


def test_words_of_the_solver_stand_in_the_last_section_alone(two, four):
    for found in (two, four):
        page = render_report(found, Provenance("fit", "x.csv", "class", "1", {}))
        before = re.sub(r"<[^>]*>", " ", page[page.index("<main") : page.index('<section id="computed">')])
        assert not re.search(r"R\*|\bradi(us|i)\b|worst.case|certifi|solver", before)


def test_without_features_the_error_is_that_of_the_most_common_class():
    data = make_expression(60, 40, n_informative=4, effect=1.2, random_state=0)
    keep = np.concatenate([np.flatnonzero(data.target == 1), np.flatnonzero(data.target == 0)[:12]])
    X, y = data.data[keep], data.target[keep]
    found = gather_findings(MinimaxRiskClassifier().fit(X, y), X, y, **(FEW | {"n_radii": 3}))
    assert found.short_list.n_features[0] == 0
    assert found.short_list.mean_loss[0] == found.data.majority_error
    assert found.short_list.mean_loss[found.short_list.best] <= found.data.majority_error


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
    # Nobody is accused who was predicted rightly.
    fine = replace(two, left_out=replace(two.left_out, errors=()))
    assert samples_to_look_at(fine) == []
    assert about_samples(fine, COMMAND_LINE) == "None was misclassified when it was left out."


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
    scores = 2.0 * own - 1.0
    of_folds = LeftOutScores(np.column_stack([-scores, scores]), own, np.ones(n), np.arange(n) % 10)
    folds = replace(two.cross_validation, predicted=predicted, scores=scores, left_out=of_folds)
    margins = np.where(predicted == own, 1.0, -1.0)
    left_out = replace(two.left_out, names=tuple(f"s{i}" for i in range(n)), margins=margins)
    figure = scores_figure(replace(two, cross_validation=folds, left_out=left_out))
    dots = [one for layer in figure.specs[0]["layer"] for one in layer["data"]["values"] if "p" in one]
    assert sum(one["w"] for one in dots) == 10
    assert len(dots) == 10 + 2 * 300
    assert "some samples are drawn" in figure.caption
