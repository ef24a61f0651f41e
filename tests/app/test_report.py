"""The report says what was computed, in words that fit the case, and nothing in the data can break it."""

from __future__ import annotations

import html
import json
import re
import sys
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    PredictionSets,
    compare,
    error_bound,
    minimax_risk_path,
    permutation_test,
    verify,
    worst_case,
)
from minimaxrisk._utils.rounding import at_least, at_most
from minimaxrisk.analysis.comparison import Comparison, usual_rivals
from minimaxrisk.app.cli import demo
from minimaxrisk.app.cli.results import COMMAND_LINE
from minimaxrisk.app.report import explanations, phrases, report, verdict
from minimaxrisk.app.report import gathering as rivals_of_report
from minimaxrisk.app.report.explanations import about_features, meaning
from minimaxrisk.app.report.figures import comparison_figure, permutation_figure
from minimaxrisk.app.report.findings import ComparedClassifier, Rivals
from minimaxrisk.app.report.first_screen import key_numbers
from minimaxrisk.app.report.gathering import Wanted
from minimaxrisk.app.report.gene_figures import volcano_figure
from minimaxrisk.app.report.page import Provenance, json_island, render_report, vega_bundle
from minimaxrisk.app.report.tables import (
    feature_headers,
    feature_rows,
    gene_table,
    number,
    probability_table,
    q_value,
    set_table,
    suspect_table,
)
from minimaxrisk.datasets import make_expression
from minimaxrisk.guarantees.bound import ErrorBound
from minimaxrisk.guarantees.left_out import LeftOutScores
from tests.folds import decided, folds_of
from tests.report_findings import gather_findings
from tests.study_files import HOSTILE_NAMES

pytest.importorskip("jinja2", reason="comes with the extra 'app'")
pytest.importorskip("vl_convert", reason="comes with the extra 'app'")

PROVENANCE = Provenance(
    command="minimaxrisk fit study.csv --target diagnosis",
    source="study.csv",
    target="diagnosis",
    fingerprint="sha256:1234",
    versions={"minimaxrisk": "0.1.0"},
    advice=COMMAND_LINE,
)
HOSTILE = [
    *HOSTILE_NAMES,
    "{{ 7 * 7 }}",
    "line\u2028break",
]
SMALL = {"n_permutations": 19, "n_folds": 3, "n_radii": 5}
NOTHING = {"n_permutations": 0, "n_folds": 0, "n_radii": 0}


@pytest.fixture(scope="module")
def study():
    data = make_expression(60, 300, n_informative=10, effect=1.5, random_state=0)
    return data.data, np.array(["healthy", "ill"])[data.target]


@pytest.fixture(scope="module")
def noise_data():
    random = np.random.default_rng(3)
    return random.standard_normal((50, 400)), np.array(["a", "b"])[np.arange(50) % 2]


@pytest.fixture(scope="module")
def findings(study):
    X, y = study
    return gather_findings(MinimaxRiskClassifier().fit(X, y), X, y, **SMALL)


def gather(model, X, y, **more):
    return gather_findings(model.fit(X, y), X, y, **{**SMALL, **more})


@pytest.fixture(scope="module")
def noise_findings(noise_data):
    return gather(MinimaxRiskClassifier(), *noise_data)


@pytest.fixture(scope="module")
def one_hot_findings(study):
    return gather(MinimaxRiskClassifier(coding="one-hot"), *study)


def text_of(page):
    """What a reader sees, scripts and styles left out."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body)))


def entry(findings, name):
    return next(one for one in meaning(findings, COMMAND_LINE) if one.name == name)


# ---- numbers


def test_numbers_are_those_of_the_library(study, findings):
    X, y = study
    model = MinimaxRiskClassifier().fit(X, y)
    assert findings.fit.certificate_valid == verify(model, X, y).valid
    assert findings.fit.upper == model.worst_case_error_
    assert findings.fit.lower == model.worst_case_error_lower_
    assert findings.fit.predict_bound == pytest.approx(worst_case(model, X, y, rule="predict").upper)
    test = permutation_test(model, X, y, 19, random_state=0)
    np.testing.assert_array_equal(findings.permutation.null_distribution, test.null_distribution)
    assert findings.permutation.pvalue == test.pvalue
    path = minimax_risk_path(X, y, findings.path.x)
    np.testing.assert_allclose(findings.path.upper, path.worst_case_error, atol=1e-9)
    assert len(findings.path.x) == 5
    assert findings.path.x.min() == pytest.approx(0.5)
    assert findings.path.x.max() == pytest.approx(2.0)
    assert 1.0 in findings.path.x
    predicted, _ = decided(model, X, y, 3)
    np.testing.assert_array_equal(model.classes_[findings.cross_validation.predicted], predicted)


def test_features_and_classes_are_averages_of_the_data(study, findings):
    X, y = study
    model = MinimaxRiskClassifier().fit(X, y)
    table = findings.features
    assert set(table.columns) == set(model.selected_features_)
    assert (np.diff(table.importance) <= 0).all()
    np.testing.assert_array_equal(table.coefficients, model.coef_[:, table.columns])
    for k, label in enumerate(model.classes_):
        rows = y == label
        np.testing.assert_allclose(table.class_means[k], X[rows][:, table.columns].mean(axis=0))
        one = findings.classes[k]
        assert one.n_samples == rows.sum()
        assert one.training_error == pytest.approx((model.predict(X[rows]) != label).mean())
        assert one.own_probability == pytest.approx(model.predict_proba(X[rows])[:, k].mean())
        named = findings.cross_validation.predicted == k
        rates = one.rates
        assert rates.sensitivity.value == pytest.approx(named[rows].mean())
        assert rates.specificity.value == pytest.approx(1.0 - named[~rows].mean())
        assert rates.predictive_value.value == pytest.approx(rows[named].mean())
        assert one.mass == pytest.approx(model.worst_case_distribution_[rows].sum())
        others = np.delete(model.worst_case_distribution_[rows], k, axis=1)
        assert one.mass_on_others == pytest.approx(others.sum())


def test_suspects_name_the_heaviest_other_label(wide):
    X, y = wide
    model = MinimaxRiskClassifier().fit(X, y)
    found = gather_findings(model, X, y, sample_names=[f"p{i}" for i in range(40)], **NOTHING)
    mass = model.worst_case_distribution_
    assert len(found.suspects) > 3
    for one in found.suspects:
        i = int(one.name[1:])
        assert one.own == y[i]
        best = max(
            (label for label in model.classes_ if label != y[i]), key=lambda c: mass[i][model.classes_ == c]
        )
        assert one.other == best
        assert one.own_mass == pytest.approx(mass[i, list(model.classes_).index(y[i])])


def test_data_are_counted_sparse_or_dense(study):
    X, y = study
    X = np.where(X > 1.0, X, 0.0)
    X[:, 7] = 2.5
    X[:, 8] = 0.0
    dense, thin = (gather(MinimaxRiskClassifier(), each, y, **NOTHING) for each in (X, sparse.csr_matrix(X)))
    C = sparse.csr_array(X)  # with every entry stored as a sum of two
    halves = (np.repeat(C.data / 2, 2), np.repeat(C.indices, 2), 2 * C.indptr)
    twice = gather(MinimaxRiskClassifier(), sparse.csr_array(halves, shape=X.shape), y, **NOTHING)
    assert twice.data == thin.data
    np.testing.assert_array_equal(twice.volcano.panels[0].y, thin.volcano.panels[0].y)
    constant = (X[0] == X).all(axis=0).sum()
    assert dense.data.n_constant == thin.data.n_constant == constant >= 2
    assert dense.data.share_of_zeros == thin.data.share_of_zeros == pytest.approx((X == 0).mean())
    assert not dense.data.is_sparse
    assert thin.data.is_sparse
    np.testing.assert_allclose(thin.values.values, dense.values.values, atol=1e-9)
    np.testing.assert_allclose(thin.features.class_means, dense.features.class_means, atol=1e-9)
    assert "sparse matrix" in render_report(thin, PROVENANCE)


def test_a_permutation_test_that_was_done_before_is_taken(study):
    X, y = study
    model = MinimaxRiskClassifier().fit(X, y)
    test = permutation_test(model, X, y, 5, random_state=7)
    found = gather_findings(model, X, y, permutation_result=test, n_folds=0, n_radii=0)
    np.testing.assert_array_equal(found.permutation.null_distribution, test.null_distribution)


def test_clipped_columns(study):
    """What the classifier saw is shown, and said; folds clip by what they know themselves."""
    X, y = study
    X = X * np.random.default_rng(0).chisquare(1, X.shape)
    scaler = ClippedScaler().fit(X)
    clipped = scaler.transform(X)
    model = MinimaxRiskClassifier().fit(clipped, y)
    found = gather_findings(model, X, y, scaler=scaler, **SMALL)
    beside = gather_findings(model, clipped, y, **SMALL)
    assert found.fit.certificate_valid
    assert np.array_equal(found.features.class_means, beside.features.class_means)
    assert np.array_equal(found.path.upper, beside.path.upper)
    assert np.array_equal(found.permutation.null_distribution, beside.permutation.null_distribution)
    splitter = folds_of(y, 3)
    whole = make_pipeline(ClippedScaler(), MinimaxRiskClassifier())
    own = cross_val_predict(whole, X, y, cv=splitter, method="predict_proba")
    expected = own[np.arange(len(y)), (y == "ill").astype(int)]
    assert np.array_equal(found.cross_validation.own_probability, expected)
    assert not np.array_equal(beside.cross_validation.own_probability, expected)
    page = text_of(render_report(found, PROVENANCE))
    words = "the values in robust standard deviations from the median of the column, clipped at ±2"
    assert f"Coefficients refer to {words}, and so do the means" in page
    assert f"They are about {words}." in page
    assert "values as they are in the data" not in page
    assert "robust" not in text_of(render_report(beside, PROVENANCE))


@pytest.mark.usefixtures("eager_processes")
def test_result_does_not_depend_on_the_number_of_processes(study, findings):
    X, y = study
    two = gather(MinimaxRiskClassifier(), X, y, n_jobs=2)
    assert replace(two, seconds={}).to_dict() == replace(findings, seconds={}).to_dict()


@pytest.mark.parametrize(("argument", "expected"), [("feature_names", 300), ("sample_names", 60)])
def test_names_must_be_as_many_as_what_they_name(study, argument, expected):
    X, y = study
    model = MinimaxRiskClassifier().fit(X, y)
    with pytest.raises(ValueError, match=f"{argument} must hold {expected} names, got 2"):
        gather_findings(model, X, y, **{argument: ["a", "b"]})


# ---- words


def test_signal_and_score(findings):
    assert verdict.noise_verdict(findings) == "signal"
    assert verdict.standing(findings) == "score"
    assert verdict.headline(findings).startswith("Yes, as a classifier to try on new samples")
    assert "a score, not a bound on the error" in entry(findings, "Worst-case error R*").text
    outside = findings.radius.expected_outside
    assert 0.25 * 300 < outside < 0.4 * 300  # a third of the means lie beyond one standard error
    means = f"about {outside:.0f} of the 300 true means (one per feature) are expected to lie outside"
    assert means in entry(findings, "Worst-case error R*").text
    noise = entry(findings, "Noise floor")
    assert "shows a relation and nothing more" in noise.text
    assert "smallest p-value that 19 permutations can give" in noise.text
    assert "--radius bootstrap" in entry(findings, "Radius").text


def test_noise(noise_findings):
    found = noise_findings
    assert verdict.noise_verdict(found) == "noise"
    assert verdict.headline(found) == "No: shuffled labels give much the same result."
    warning = "shuffled labels would give much the same picture"
    assert text_of(render_report(found, PROVENANCE)).count(warning) == 2
    assert "Do not rely on" in entry(found, "Noise floor").text
    assert "does not prove that there is no relation" in entry(found, "Noise floor").text


def test_bound(study):
    found = gather(MinimaxRiskClassifier(radius="bootstrap", confidence=0.9), *study)
    assert verdict.standing(found) == "bound"
    assert "Here it is a bound: with 90% confidence" in entry(found, "Worst-case error R*").text
    assert "--guarantee bounds the error for new samples" in entry(found, "Worst-case error R*").text
    assert "with 90% confidence" in entry(found, "Radius").text
    assert "score" not in entry(found, "Worst-case error R*").text


def test_a_bound_in_doubt_says_so(study):
    found = gather(MinimaxRiskClassifier(radius="bootstrap"), *study, n_radii=0)
    doubted = replace(found, radius=replace(found.radius, remarks=("the tails are heavy",)))
    assert "cast doubt" in verdict.r_star_claim(doubted)
    assert "in doubt" in entry(doubted, "Radius").text
    assert "The tails are heavy." in entry(doubted, "Radius").text
    assert "doubt" not in verdict.r_star_claim(found) + entry(found, "Radius").text


@pytest.mark.parametrize(
    ("weights", "name"), [("balanced", "class-balanced error"), ({0: 1.0, 1: 3.0}, "class-weighted error")]
)
def test_weights_of_classes_make_r_star_another_error(study, weights, name):
    """Compared with errors that count every sample alike it would mislead."""
    X, y = study
    uneven = np.r_[np.flatnonzero(y == "healthy"), np.flatnonzero(y == "ill")[:12]]
    X, y = X[uneven][:, :40], (y[uneven] == "ill").astype(int)
    found = gather(MinimaxRiskClassifier(radius="bootstrap", class_weight=weights), X, y)
    page = text_of(render_report(found, PROVENANCE))
    assert "count every sample alike" in page
    assert "not comparable with R*" in page
    assert "R* is not below that" not in page
    assert f"The largest {name} of the randomized rule" in page


def test_known_instances_are_told_of_wherever_the_set_is(study):
    X, y = study
    model = MinimaxRiskClassifier(marginal="empirical", radius="bootstrap")
    found = gather(model, X, y)
    page = text_of(render_report(found, PROVENANCE))
    assert page.count("(only labels may change)") == 1
    assert page.count("for instances distributed as in the training data, where only labels may change") == 1
    assert "samples like the training data" not in page
    assert "difference between a sample’s two weights" not in page
    assert "Every sample keeps its share of the whole here" in page
    path = minimax_risk_path(X, y, found.path.x, marginal="empirical")
    np.testing.assert_allclose(found.path.upper, path.worst_case_error, atol=1e-6)
    at = int(np.argmin(np.abs(found.path.x - found.radius.factor)))
    assert found.path.upper[at] == pytest.approx(found.fit.upper, abs=1e-6)


def test_the_error_bound_is_a_card(study, findings):
    X, y = study
    model = MinimaxRiskClassifier().fit(X, y)
    own = error_bound(PredictionSets(model, cv=3, random_state=0), X, y, random_state=0)
    page = text_of(render_report(findings, PROVENANCE))
    card = key_numbers(findings)[3]
    assert card.value == at_most(own.value, ".1%")
    assert str(own.n_train) in card.text
    assert own.assumption in page
    assert "where classes are as common as in these data (" in page
    assert f"at least {at_least(1.0 - own.per_class[0].value, '.1%')} are recognised" in page
    assert page.index("of “ill” at least") < page.index("of “healthy” at least")  # it is looked for
    given = gather_findings(MinimaxRiskClassifier().fit(X, y), X, y, **NOTHING, guarantee=own)
    assert given.guarantee == own
    assert given.to_dict()["guarantee"]["value"] == own.value


def test_a_guarantee_for_another_prevalence(study, findings):
    X, y = study
    names = np.unique(y)
    shares = dict(zip(names.tolist(), (0.2, 0.8), strict=True))
    own = error_bound(MinimaxRiskClassifier().fit(X, y), X, y, prevalence=shares, random_state=0)
    other = replace(findings, guarantee=own)
    page = text_of(render_report(other, PROVENANCE))
    assert verdict.mixture(own) == f"where 20% are “{names[0]}” and 80% are “{names[1]}”"
    assert verdict.mixture(own) in page
    assert (
        f"of those called “{names[0]}” at least {at_least(own.predictive_values[names[0]], '.1%')} are"
        in page
    )
    assert "drawn like these class by class" in page
    assert f"always predicting “{names[1]}”" in page
    useless = replace(other, guarantee=replace(own, value=0.25))
    assert verdict.says_little(useless) == [
        f"Always predicting “{names[1]}” errs no more than that: for 20.0%."
    ]
    # Compared with the class that is most common there, at errors that are those there.
    claim = (
        f"always predicting “{names[1]}”, the most common class at the given prevalence, is wrong for 20.0%"
    )
    assert verdict.majority_claim(other).startswith(claim)
    assert entry(other, "To compare with").value == "0.200"
    assert "learned nothing" not in entry(other, "To compare with").text
    rates = [one.rates.sensitivity.value for one in other.classes]
    there = 0.2 * (1.0 - rates[0]) + 0.8 * (1.0 - rates[1])
    assert f"at the given prevalence {there:.1%}, and always predicting “{names[1]}” there: 20.0%" in page
    assert verdict.beats_majority(replace(other, fit=replace(other.fit, upper=0.49)))


def test_a_guarantee_that_says_nothing_says_so(noise_findings):
    found = noise_findings
    assert found.guarantee.says_nothing
    assert verdict.is_guarantee_empty(found)
    (why,) = verdict.says_little(found)
    assert why in text_of(render_report(found, PROVENANCE))


def test_without_a_guarantee(study):
    X, y = study
    found = gather_findings(MinimaxRiskClassifier().fit(X, y), X, y, **NOTHING, guarantee=False)
    assert found.guarantee is None
    assert key_numbers(found)[2].text == "not computed"
    page = text_of(render_report(found, PROVENANCE))
    assert "Not computed: leave out --no-guarantee to add it." in page
    no_bound = ErrorBound(
        value=1.0,
        confidence=None,
        n_errors=1,
        n_test=20,
        n_train=20,
        class_sizes={"ill": 20.0, "well": 20.0},
        reason="copies of samples",
    )
    none = replace(found, guarantee=no_bound)
    assert verdict.bound_with_confidence(none) is None
    assert key_numbers(none)[2].value == "–"
    assert no_bound.reason in text_of(render_report(none, PROVENANCE))


def test_given_radii(study):
    X, y = study
    radii = 2.0 * MinimaxRiskClassifier().fit(X, y).lambda_
    found = gather(MinimaxRiskClassifier(radius=radii), X, y)
    assert verdict.standing(found) == "given"
    assert "The data cannot tell" in entry(found, "Worst-case error R*").text
    assert found.path is None
    page = text_of(render_report(found, PROVENANCE))
    assert "Not computed: the radii were given one by one" in page
    assert "array of shape (1, 301)" in page


def test_nothing_learned(noise_data):
    found = gather(MinimaxRiskClassifier(radius="bootstrap"), *noise_data)
    assert found.fit.n_selected == 0
    assert verdict.headline(found).startswith("No: with these settings no feature can be told from chance")
    assert "guarantees nothing" in entry(found, "Worst-case error R*").text
    page = render_report(found, PROVENANCE)
    assert "What to try" in page
    assert "--radius 1" in text_of(page)
    assert "plot-suspects" not in page


def test_an_r_star_above_the_share_of_the_small_classes_is_told(findings):
    assert "R* is not below" not in entry(findings, "To compare with").text
    lopsided = replace(findings, data=replace(findings.data, class_sizes=(4, 56)))
    assert findings.fit.upper > 4 / 60
    said = entry(lopsided, "To compare with").text
    assert "“ill”, the most common class, is wrong for 6.7% of these samples" in said
    assert "R* is not below that" in said


def test_three_classes(wide):
    found = gather(MinimaxRiskClassifier(radius=2.0), *wide)
    assert found.features.coefficients.shape[0] == 3
    assert "guessing one of 3 classes" in entry(found, "To compare with").text
    assert entry(found, "To compare with").value == f"{found.data.majority_error:.3f}"
    page = render_report(found, PROVENANCE)
    assert "coefficient, gamma" in page
    assert "points to the class" in text_of(page)
    assert "two classes the worst case" not in text_of(page)
    assert suspect_table(found).headers[2:4] == ["heaviest other label", "weight on all others"]
    assert found.radius.n_means == 900
    about = entry(found, "Worst-case error R*").text
    assert (
        f"about {found.radius.expected_outside:.0f} of the 900 true means (one per feature and class)"
        in about
    )


def test_larger_values_may_speak_against_a_class(wide):
    found = gather(MinimaxRiskClassifier(), *wide, n_permutations=0, n_folds=0, n_radii=0)
    supports = [row.supports for row in feature_rows(found)]
    assert {words.startswith("not ") for words in supports} == {True, False}
    for words, coefficients in zip(supports, found.features.coefficients.T, strict=True):
        parts = []
        if coefficients.max() > 0:
            parts.append(str(found.data.classes[np.argmax(coefficients)]))
        if coefficients.min() < 0:
            parts.append(f"not {found.data.classes[np.argmin(coefficients)]}")
        assert words.startswith(parts[0])
        assert parts[-1] in words


def test_t_and_q_are_those_of_the_class_that_the_row_names_first(wide):
    X, y = wide
    found = gather(MinimaxRiskClassifier(), X, y, n_permutations=0, n_folds=0, n_radii=0)
    *_, header_t, header_q = feature_headers(found)
    assert (header_t, header_q) == (
        "Welch t, class named first against the others",
        "q, class named first against the others",
    )
    assert "here the class that the row names first against all others" in about_features(found)
    headers, genes = gene_table(found.features, found.data.classes)
    is_other = []  # than the class with the largest coefficient
    for row, saved, coefficients in zip(
        feature_rows(found), genes, found.features.coefficients.T, strict=True
    ):
        k = np.argmax(coefficients) if coefficients.max() > 0 else np.argmin(coefficients)
        is_other.append(k != np.argmax(np.abs(coefficients)))
        name = found.data.classes[k]
        t = saved[headers.index(f"Welch t (descriptive), {name} less others")]
        q = saved[headers.index(f"q (descriptive), {name} less others")]
        assert row.cells[-2:] == (number(t), q_value(q))
    assert any(is_other)


def test_one_hot_coding_of_two_classes(one_hot_findings):
    found = one_hot_findings
    page = text_of(render_report(found, PROVENANCE))
    assert "coefficient, ill" in page
    assert "the same weight on the other" not in page
    assert suspect_table(found).headers[2] == "other label"


def with_weights(findings, others, own, *, n_samples, n_in_doubt):
    """The findings with other weights on the samples that are listed; the rest has what the last one has."""
    others, own = np.array(others), np.array(own)
    rest = (n_samples - len(others)) * others[-1]
    shown = replace(
        findings.worst_case,
        samples=np.arange(len(others)),
        other_mass=others,
        own_mass=own,
        n_samples=n_samples,
        n_ambiguous=n_in_doubt,
        total_other_mass=others.sum() + rest,
        names=None,
    )
    suspects = [
        replace(findings.suspects[0], other_mass=a, own_mass=b) for a, b in zip(others, own, strict=True)
    ]
    return replace(findings, worst_case=shown, suspects=tuple(suspects))


def worst_samples(findings):
    return render_report(findings, PROVENANCE).split('id="worst-samples"')[1].split('id="classes"')[0]


def test_ties_are_no_ranking(findings):
    tied = with_weights(findings, [0.0014] * 25, np.linspace(0.002, 0.02, 25), n_samples=80, n_in_doubt=0)
    texts = explanations.about_suspects(tied)
    assert texts[0] == "No sample has more weight on another label than on its own: none stands out."
    assert any("says nothing against a sample that was predicted rightly" in text for text in texts)
    assert "So all samples have the same weight on the other label" in texts[-1]
    caption = explanations.suspects_caption(tied)
    assert caption.startswith("The 25 samples with the least weight on their own label. All 80 have the same")
    assert "0.14%" in caption
    assert "<details>" in worst_samples(tied)
    assert "most weight" not in text_of(worst_samples(tied))


def test_few_samples_in_doubt_are_to_be_looked_at(findings):
    weights = [0.02] * 3 + [0.001] * 22
    few = with_weights(findings, weights, [0.01] * 25, n_samples=80, n_in_doubt=3)
    said = "For 3 of 80 samples the other label weighs at least as much as their own."
    assert explanations.about_suspects(few)[0] == said
    first = (
        "First the 3 samples for which the other label weighs at least as much as their own; then those with"
    )
    assert explanations.suspects_caption(few).startswith(first)
    assert "all samples whose own label weighs more have" in explanations.about_suspects(few)[-1]
    one = with_weights(findings, [0.02] + [0.001] * 24, [0.01] * 25, n_samples=80, n_in_doubt=1)
    assert explanations.about_suspects(one)[0].endswith("at least as much as its own.")
    several = replace(few, data=replace(few.data, classes=("a", "b", "c"), class_sizes=(20, 20, 20)))
    said = "For 3 of 80 samples the other labels together weigh at least as much as their own"
    assert explanations.about_suspects(several)[0].startswith(said)


def test_where_most_samples_are_in_doubt_none_stands_out(findings):
    many = with_weights(findings, [0.005] * 25, [0.005] * 25, n_samples=72, n_in_doubt=61)
    assert "too many for any of them to stand out" in explanations.about_suspects(many)[0]
    caption = explanations.suspects_caption(many)
    assert caption.startswith("25 of the 61 samples that share the least weight on their own label. All 72")
    assert "<details>" in worst_samples(many)


OPTIONS = re.compile(r"--[a-z]|minimaxrisk (?:fit|predict|report)")


@pytest.mark.parametrize("radius", [1.0, "bootstrap"])
def test_a_page_advises_in_the_words_of_the_place_it_was_made(study, radius):
    """Where parts were left out, nothing was learned or R* is a bound, readers are told what to pass."""
    X, y = study
    model = MinimaxRiskClassifier(radius=radius).fit(X, y)
    page = text_of(report(model, X, y, **NOTHING, guarantee=False).html)
    assert not OPTIONS.search(page)
    for argument in ("n_permutations=199", "n_folds=10", "n_radii=5", "has_rivals=True", "guarantee=True"):
        assert argument in page
    assert ("error_bound(model, X, y) bounds" in page) == (radius == "bootstrap")
    assert ('radius="bootstrap" finds' in page) == (radius == 1.0)
    found = gather_findings(model, X, y, **NOTHING, guarantee=False)
    page = text_of(render_report(found, PROVENANCE))
    for option in ("--permutations 199", "--folds 10", "--radii 5", "--compare", "leave out --no-guarantee"):
        assert option in page
    assert not re.search(r"n_permutations=|n_folds=|has_rivals=|error_bound", page)


def test_the_advice_of_python_names_what_is_there():
    advice = explanations.PYTHON
    options = [advice.permutations, advice.folds, advice.repeats, advice.radii, advice.rivals]
    options.append(advice.guarantee.removeprefix("pass "))
    known = {field.name for field in fields(Wanted)}
    assert {option.split("=")[0] for option in options} <= known
    for choice in (advice.covering_radius, advice.small_radius):
        MinimaxRiskClassifier().set_params(**eval(f"dict({choice})"))
    assert advice.new_samples == f"{error_bound.__name__}(model, X, y)"


def test_one_r_star_everywhere(findings):
    """The permutation test computes R* roughly; what is shown is that of the model."""
    rough = replace(findings, permutation=replace(findings.permutation, statistic=findings.fit.upper + 1e-3))
    r, other = (at_most(each, ".3f") for each in (findings.fit.upper, findings.fit.upper + 1e-3))
    drawn = permutation_figure(rough)
    assert drawn.legend[-1].text == f"observed labels, {r}"
    assert drawn.specs[0]["layer"][-1]["data"]["values"][0]["x"] == findings.fit.upper
    assert other not in entry(rough, "Noise floor").text + drawn.caption
    assert comparison_figure(rough).legend[-1].text == "R*, worst case over the set"


def test_p_value_is_that_of_the_test(findings):
    """Counted as the test counts, and not from the R* that were computed."""
    test = replace(findings.permutation, n_permutations=199, n_no_larger=2, pvalue=0.015)
    text = explanations.of_permutations(replace(findings, permutation=test))
    assert "2 of 199 permutations gave one no larger than the observed labels do" in text


def test_few_permutations_cannot_tell(study):
    found = gather(MinimaxRiskClassifier(), *study, n_permutations=5, n_folds=0, n_radii=0)
    assert "too few permutations" in verdict.headline(found)


def test_lists_and_data_that_are_not_those_of_the_fit(study):
    X, y = study[0][:, :20], study[1]
    lists = X.tolist(), y.tolist()
    assert report(MinimaxRiskClassifier().fit(*lists), *lists, **{**NOTHING, "n_folds": 2}).html
    weighted = MinimaxRiskClassifier().fit(X, y, sample_weight=np.arange(1, 61))
    more = MinimaxRiskClassifier().fit(X, y, X_unlabeled=X[:5] + 0.1)
    for model, n in ((weighted, 60), (more, 60), (MinimaxRiskClassifier().fit(X, y), 50)):
        with pytest.raises(ValueError, match=r"the data that the model was fitted on.*fit the model without"):
            report(model, X[:n], y[:n], **NOTHING)


def test_a_certificate_that_fails_is_said_loudly(study):
    X, y = study
    model = MinimaxRiskClassifier().fit(X, y)
    model.worst_case_error_ -= 0.01
    found = gather_findings(model, X, y, **NOTHING)
    assert not found.fit.certificate_valid
    page = text_of(render_report(found, PROVENANCE))
    assert "No: the check of the model against these data failed" in page
    assert "did NOT confirm the model: worst_case_error_ is" in page


def test_parts_left_out_say_so(study):
    found = gather(MinimaxRiskClassifier(), *study, n_permutations=0, n_folds=0, n_radii=0)
    assert found.permutation is found.cross_validation is found.path is None
    tested = gather(MinimaxRiskClassifier(), *study, n_folds=0, n_radii=0)
    assert verdict.headline(tested).endswith("how often the classifier errs was not tested.")
    assert verdict.headline(found).startswith("Not known yet")
    page = text_of(render_report(found, PROVENANCE))
    for option in ("--permutations 199", "--folds 10", "--radii 5"):
        assert f"Not computed: {option}" in page


def test_cross_validation_is_called_rough(findings):
    wrong = findings.cross_validation.n_wrong
    assert findings.cross_validation.errors[1] == wrong / 60
    high = findings.cross_validation.error().high
    assert f"{wrong or 'none'} of 60 wrong, roughly " in key_numbers(findings)[1].text
    assert f"{at_most(high, '.1%')};" in key_numbers(findings)[1].text


@pytest.mark.parametrize(("n_samples", "n_wrong", "rough"), [(72, 3, True), (72, 0, False), (600, 30, False)])
def test_a_wide_interval_makes_a_rough_guide(findings, n_samples, n_wrong, rough):
    own = np.zeros(n_samples, dtype=int)
    folds = replace(
        findings.cross_validation,
        predicted=(np.arange(n_samples) < n_wrong).astype(int),
        own_probability=np.ones(n_samples),
        left_out=LeftOutScores(np.zeros((n_samples, 2)), own, np.ones(n_samples), np.arange(n_samples) % 3),
    )
    text = explanations.about_cross_validation(replace(findings, cross_validation=folds), COMMAND_LINE)
    assert ("rough guide" in text) == rough


def test_probabilities_beside_what_became_of_them(findings):
    """Of 30 samples with a low score 20 are of class 0, of 30 with a high one 25 of class 1."""
    own = (np.arange(60) >= 20).astype(int)
    own[55:] = 0
    scores = np.where(np.arange(60) < 30, -1.0, 1.0)
    left_out = LeftOutScores(np.column_stack([-scores, scores]), own, np.ones(60), np.arange(60) % 10)
    folds = replace(
        findings.cross_validation,
        predicted=(scores > 0).astype(int),
        scores=scores,
        left_out=left_out,
    )
    found = replace(findings, cross_validation=folds)
    page = text_of(render_report(found, PROVENANCE))
    mean = folds.calibrated_of_predicted.mean()
    assert f"a probability of {mean:.3f} on average, and 45 of them, 75.0%, were right" in page
    low, high = folds.calibrated_of_predicted[[0, 59]]
    assert low == pytest.approx(20 / 30, abs=0.03)
    assert high == pytest.approx(25 / 30, abs=0.03)
    assert [row[2:] for row in probability_table(found).rows] == [
        ["30", "25", f"{25 / 30:.3f}"],
        ["30", "20", f"{20 / 30:.3f}"],
    ]


def test_sure_and_unsure_samples(findings):
    """Class 1 has 8 samples, too few to be excluded."""
    own = np.repeat([0, 1], [52, 8])
    scores = np.where(own == 1, 1.0, -1.0) * np.arange(1.0, 61.0)
    left_out = LeftOutScores(np.column_stack([-scores, scores]), own, np.ones(60), np.arange(60) % 10)
    folds = replace(findings.cross_validation, predicted=left_out.predicted, scores=scores, left_out=left_out)
    rows = left_out.counts(0.9)
    right, wrong, unsure, unlike = rows.sum(axis=0)
    assert rows[0, :2].sum() == unlike == 0  # class 1 is in every set
    found = replace(findings, cross_validation=folds)
    page = text_of(render_report(found, PROVENANCE))
    words = f"{right} sure and right, {wrong or 'none'} sure and wrong, {unsure} unsure"
    assert f"Sure and unsure Of 60 left-out samples {words}" in page
    name = findings.data.classes[1]
    assert f"“{name}” has fewer than 9 samples, too few to be excluded." in page
    assert [row[1:] for row in set_table(found).rows] == [[str(n) for n in row] for row in rows]


# ---- beside other classifiers


def few_trees(*arguments, **options):
    """The usual rivals with a forest that does not take seconds."""
    rivals = usual_rivals(*arguments, **options)
    rivals["random forest"].set_params(n_estimators=5)
    return rivals


@pytest.fixture
def quick_forest(monkeypatch):
    monkeypatch.setattr(rivals_of_report, "usual_rivals", few_trees)


@pytest.mark.usefixtures("quick_forest")
@pytest.mark.parametrize("clips", [pytest.param(False, marks=pytest.mark.slow), True])
def test_rivals_are_compared_on_the_folds_of_the_cross_validation(study, clips):
    X, y = study
    X, y = X[:47] * np.random.default_rng(0).chisquare(1, X[:47].shape), y[:47]
    scaler = ClippedScaler().fit(X) if clips else None
    settings = {"radius": 1.5, "coding": "one-hot", "random_state": 0}
    model = MinimaxRiskClassifier(**settings, deterministic=False).fit(scaler.transform(X) if clips else X, y)
    told = []
    found = gather_findings(
        model,
        X,
        y,
        scaler=scaler,
        has_rivals=True,
        random_state=4,
        progress=told.append,
        **(NOTHING | {"n_folds": 3}),
    )
    assert "other classifiers" in told
    ours = MinimaxRiskClassifier(**settings)
    learner = make_pipeline(ClippedScaler(), ours) if clips else ours
    folds = folds_of(y, 3, 4)
    by_hand = compare({"this model": learner, **few_trees(2)}, X, y, cv=folds)
    compared = found.rivals.compared
    assert tuple(one.name for one in compared) == by_hand.names
    errors = by_hand.errors.copy()
    wrong = decided(learner, X, y, 3, 4)[0] != y
    errors[0] = [wrong[test].mean() for _, test in folds.split()]
    by_hand = replace(by_hand, errors=errors)
    np.testing.assert_allclose([one.error for one in compared], by_hand.mean_errors)
    np.testing.assert_allclose([one.difference for one in compared[1:]], by_hand.differences[1:])
    np.testing.assert_allclose([one.difference_error for one in compared[1:]], by_hand.difference_errors[1:])
    assert compared[0].n_features == np.median(by_hand.n_features[0])
    assert compared[0].difference is compared[0].outcome is compared[-1].n_features is None
    assert found.rivals.n_folds == 3
    json.dumps(found.to_dict(), allow_nan=False)
    page = render_report(found, PROVENANCE)
    assert f"{compared[1].difference:+.3f} ± {compared[1].difference_error:.3f}".replace("-", "−") in page
    assert "All were cross-validated on the same 3 folds" in page
    assert "Missing values were filled before" not in page
    assert "Missing values were filled before" in render_report(
        found, replace(PROVENANCE, imputed="2 values")
    )


@pytest.mark.parametrize(
    ("difference", "its_error", "outcome"),
    [
        (0.0, 0.0, "none"),
        (0.07, 0.0056, "none"),
        (-0.07, 0.0056, "none"),
        (0.07, 0.0054, "more"),
        (-0.07, 0.0054, "fewer"),
    ],
)
def test_a_difference_can_be_told_from_students_quantile_on(difference, its_error, outcome):
    """Two folds whose differences have that mean and that standard error: one degree of freedom, 12.7."""
    spread = its_error / np.sqrt(0.5 + 1.0) / np.sqrt(2.0)
    errors = np.array([[0.3, 0.3], [0.3 + difference - spread, 0.3 + difference + spread]])
    unknown = np.full((2, 2), np.nan)
    found = Comparison(("this model", "other"), errors, unknown, np.ones((2, 2)), 1.0, ((), ()))
    assert found.difference_errors[1] == pytest.approx(its_error)
    ours, other = (rivals_of_report._summarise(found, i) for i in range(2))
    assert ours.outcome is None
    assert other.outcome == outcome


def with_outcomes(*outcomes, left_out=None):
    others = (
        ComparedClassifier(f"{letter} forest", 0.2, None, 1.0, 0.1, 0.01, outcome)
        for letter, outcome in zip("abc", outcomes, strict=False)
    )
    ours = ComparedClassifier("this model", 0.1, 12.0, 0.1, None, None, None)
    return Rivals(3, (ours, *others), left_out or {})


@pytest.mark.parametrize(
    ("rivals", "words"),
    [
        (
            with_outcomes("none", "none"),
            "No detectable difference between this model and the others (p ≥ 0.05).",
        ),
        (
            with_outcomes("more", "fewer", "none"),
            "B forest made fewer errors than this model (p < 0.05). "
            "A forest made more errors than this model (p < 0.05). "
            "No detectable difference from c forest (p ≥ 0.05).",
        ),
        (
            with_outcomes("more", "more", left_out={"tree": "No leaves."}),
            "A forest and b forest made more errors than this model (p < 0.05). "
            "Tree could not be fitted to these data; scikit-learn says: No leaves.",
        ),
    ],
)
def test_words_say_which_differences_can_be_told(findings, rivals, words):
    assert explanations.compared(rivals) == words
    page = text_of(render_report(replace(findings, rivals=rivals), PROVENANCE))
    assert f"Other classifiers {words} All were cross-validated" in page
    assert "this model 0.100 12 0.100" in page
    assert "a forest 0.200 +0.100 ± 0.010 not known 1.000" in page


def test_weights_of_classes_are_not_those_of_the_rivals(findings):
    found = replace(findings, rivals=with_outcomes("none"))
    weights = "This model weights the classes and the others do not"
    assert weights not in text_of(render_report(found, PROVENANCE))
    weighted = replace(found, fit=replace(found.fit, class_weight="balanced"))
    assert weights in text_of(render_report(weighted, PROVENANCE))


@pytest.mark.usefixtures("quick_forest")
def test_a_rival_that_cannot_be_fitted_is_left_out():
    """Where most columns are constant within classes, shrunken centroids divide by zero, and warn."""
    random = np.random.default_rng(0)
    X, y = np.zeros((20, 9)), np.arange(20) % 2
    X[:, :2] = random.standard_normal((20, 2)) + y[:, None]
    found = gather(MinimaxRiskClassifier(), X, y, **NOTHING | {"n_folds": 2}, has_rivals=True)
    assert list(found.rivals.left_out) == ["nearest shrunken centroids"]
    names = [one.name for one in found.rivals.compared]
    assert names == ["this model", "L1 logistic regression", "linear SVM", "random forest"]
    assert "Nearest shrunken centroids could not be fitted" in render_report(found, PROVENANCE)


def test_sparse_data_have_the_rivals_that_take_them(study, quick_forest):
    X, y = study
    thin = sparse.csr_matrix(np.where(X > 1.0, X, 0.0))
    found = gather(MinimaxRiskClassifier(), thin, y, **NOTHING | {"n_folds": 2}, has_rivals=True)
    assert [one.name for one in found.rivals.compared[1:]] == list(few_trees(2, is_sparse=True))
    assert not found.rivals.left_out


def test_rivals_that_were_not_compared(study, findings):
    assert findings.rivals is findings.rivals_skipped is None
    assert "Not computed: --compare adds it." in text_of(render_report(findings, PROVENANCE))
    X, y = study
    lonely = np.where(np.arange(60) == np.flatnonzero(y == "ill")[0], "ill", "healthy")
    found = gather(MinimaxRiskClassifier(), X, lonely, n_permutations=0, n_radii=0, has_rivals=True)
    assert found.rivals is None
    reason = "Not computed: class ill has a single sample"
    assert f"Other classifiers {reason}" in text_of(render_report(found, PROVENANCE))
    with pytest.raises(ValueError, match="has_rivals=True needs folds to compare on"):
        gather(MinimaxRiskClassifier(), X, y, n_folds=0, has_rivals=True)


@pytest.mark.usefixtures("quick_forest")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_class_with_a_single_sample_does_not_stop_the_others(study):
    X, y = study
    labels = np.where(np.arange(60) == np.flatnonzero(y == "ill")[0], "odd", y)
    found = gather(MinimaxRiskClassifier(), X, labels, **NOTHING | {"n_folds": 3}, has_rivals=True)
    assert found.never_left_out == ["odd"]
    assert found.left_out.confusion.sum(axis=1).tolist() == [29, 30, 0]
    assert found.cross_validation.n_judged == 59
    assert found.rivals.n_folds == 3
    of_odd = [one for one in found.suspects if one.own == "odd"]
    assert all(one.predicted_when_left_out is one.probability_when_left_out is None for one in of_odd)
    json.dumps(found.to_dict(), allow_nan=False)
    render_report(found, PROVENANCE)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0388, "\u22120.03880"),
        (14158.7, "14,159"),
        (443.0, "443.0"),
        (1.5e-7, "1.500e\u221207"),
    ],
)
def test_numbers_in_tables(value, text):
    assert number(value) == text


# ---- the page


def test_hostile_names_stay_text(study):
    X, y = study
    names = [f"gene {j}" for j in range(300)]
    model = MinimaxRiskClassifier().fit(X, y)
    for j, name in zip(model.selected_features_, HOSTILE, strict=False):
        names[j] = name
    labels = np.where(y == "ill", "</script><b>ill</b>", "<!-- healthy")
    found = gather_findings(
        clone(model).fit(X, labels), X, labels, feature_names=names, sample_names=(HOSTILE * 8)[:60], **SMALL
    )
    hostile = replace(
        PROVENANCE, source="<b>x</b>.csv", target="{{ target }}", command="<i>", remarks=["<u>no</u>"]
    )
    page = render_report(found, hostile)
    # Only the library's own elements: four scripts, one of them data.
    assert page.count("<script") == page.count("</script>") == 4
    for forbidden in ("<img", "<b>x", "<i>", "<u>", "<b>ill", "<!--"):
        assert forbidden not in page.replace(vega_bundle(), "")
    for name in HOSTILE:
        assert html.escape(name, quote=False) in page.replace("&#34;", '"').replace("&#39;", "'")
    assert "&lt;u&gt;no&lt;/u&gt;" in page
    island = re.search(r'<script type="application/json" id="drawings">(.*?)</script>', page, re.DOTALL)
    drawn = json.loads(island.group(1))
    assert set(drawn["cells"]["features"]) <= set(names)
    assert "\u2028" not in island.group(1)


def test_right_to_left_names_are_isolated_in_sentences():
    assert phrases.isolate("גן") == "\u2068גן\u2069"
    assert phrases.isolate("gene") == "gene"


def test_long_names_are_cut_in_the_middle():
    assert phrases.shortened("a long name of probe number 178") == "a long name…number 178"
    assert len(phrases.shortened("x" * 100)) == 22
    assert phrases.shortened("x" * 22) == "x" * 22


def test_the_axis_of_the_volcano_is_as_narrow_as_a_phone(findings):
    named = replace(findings.data, classes=("adenocarcinoma of the lung", "normal tissue of the lung"))
    figure = volcano_figure(replace(findings, data=named, volcano=replace(findings.volcano, kind="ratio")))
    assert '"log2 fold change, normal\\u2026 lung less adenoc\\u2026 lung"' in json.dumps(figure.specs)


def test_data_for_scripts_cannot_end_them():
    text = json_island({"a": ["</script>", "\u2028", float("nan"), np.float64(0.5)], "b": np.arange(2)})
    assert "<" not in text
    assert json.loads(text) == {"a": ["</script>", "\u2028", None, 0.5], "b": [0, 1]}


def test_policy_allows_nothing_but_the_scripts_of_the_page(findings):
    page = render_report(findings, PROVENANCE)
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert policy.count("'sha256-") == 3
    assert not re.search(r'(?:src|href)="(?!#|data:)', page.replace(vega_bundle(), ""))


def test_provenance_is_shown(findings):
    told = replace(PROVENANCE, imputed="12 values, by medians", remarks=["two samples were dropped"])
    page = text_of(render_report(findings, told))
    for words in ("sha256:1234", "12 values, by medians", "two samples were dropped", told.command):
        assert words in page
    for name, value in findings.settings.items():
        assert f"{name} {value}" in page


@pytest.mark.parametrize(
    ("n", "link"), [(0, None), (1, "1 note about the data"), (3, "3 notes about the data")]
)
def test_notes_are_linked_at_the_top_and_read_at_the_end(findings, n, link):
    page = render_report(findings, replace(PROVENANCE, remarks=[f"remark {k}" for k in range(n)]))
    top, end = page.split('<section id="validation">')
    assert "remark 0" not in top
    if link is None:
        assert "#notes" not in top
        assert "Notes from reading" not in end
    else:
        assert f'<a href="#notes">{link}</a>' in top
        assert (
            end.index("Data and settings") < end.index("Notes from reading the data") < end.index("remark 0")
        )
        assert 'id="notes"' in end


def test_long_lists_are_cut_and_said_so():
    random = np.random.default_rng(0)
    y = np.arange(230) % 2
    X = random.standard_normal((230, 400))
    X[:, :100] += 0.4 * y[:, None]
    found = gather(MinimaxRiskClassifier(radius=0.3), X, y, n_permutations=0, n_folds=0, n_radii=0)
    assert found.fit.n_selected > 60
    page = text_of(render_report(found, PROVENANCE))
    assert f"The 60 most important of {found.fit.n_selected} selected features" in page
    assert "200 of 230 samples" in page


@pytest.mark.slow
def test_size_of_a_large_study():
    study = make_expression(100, 20_000, n_informative=30, effect=1.5, random_state=0)
    names = study.feature_names
    few = {"n_permutations": 2, "n_folds": 2, "n_radii": 2}
    found = gather(MinimaxRiskClassifier(), study.data, study.target, **few, feature_names=names)
    assert len(render_report(found, PROVENANCE).encode()) < 2_000_000


def test_missing_packages_are_named(findings, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ImportError, match=r'vl_convert.*pip install "minimaxrisk\[app\]"'):
        render_report(findings, PROVENANCE)


# ---- the demo


@pytest.mark.parametrize(
    ("radius", "labels"), [(1.0, ["R*, score", "worst case"]), ("bootstrap", ["R*, bound", "bound"])]
)
def test_demo_calls_a_bound_only_what_is_one(study, capsys, radius, labels):
    X, y = study
    model = MinimaxRiskClassifier(radius=radius).fit(X, y)
    demo._print_errors(model, X, y, drawn=0.25, predict=0.125)
    said = capsys.readouterr().out
    for label in labels:
        assert label in said
    assert ("bound" in said) == (model.coverage_ is not None)
    assert "0.2500" in said
    assert "0.1250" in said
