"""What every fit promises: warnings, history, callbacks, interrupts, and an old model kept."""

from __future__ import annotations

import logging
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minimaxrisk import (
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    verify,
)
from minimaxrisk.exceptions import CoverageWarning, FarFromZeroWarning, FewSamplesWarning
from problems import without_forecast

CERTIFIED = [
    MinimaxRiskClassifier(),
    MinimaxRiskClassifier(marginal="empirical"),
    MinimaxRiskClassifierCV(radii=[1.0, 2.0], cv=2),
    MinimaxRiskEnsembleClassifier(n_estimators=16, subsample=0.5, random_state=0, certify=True),
    MinimaxRiskKernelClassifier(),
    MinimaxRiskKernelClassifier("rbf"),
]
WITH_ITERATIONS = [MinimaxRiskClassifier(), MinimaxRiskKernelClassifier()]
# Models whose radii a rule with a probability can set.
WITH_RULES = [
    MinimaxRiskClassifier(),
    MinimaxRiskEnsembleClassifier(n_estimators=16, subsample=0.5, random_state=0, certify=True),
    MinimaxRiskKernelClassifier(),
]


def named(model):
    return str(model).partition("(")[0]


@pytest.fixture(scope="module")
def noise():
    random = np.random.default_rng(0)
    return random.normal(size=(40, 60)), np.arange(40) % 2


def told_by(fit, *categories):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fit()
    return [str(each.message) for each in told if issubclass(each.category, categories)]


@pytest.mark.parametrize("model", CERTIFIED, ids=named)
def test_a_default_fit_does_not_warn(model, wide):
    """Whether R* is a bound is said where R* is shown."""
    X, y = wide
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = clone(model).fit(X, y)
    assert fitted.coverage_ is None
    certificate = verify(fitted, X, y)
    assert certificate.coverage is None
    assert str(certificate) != str(replace(certificate, coverage=0.95))


@pytest.mark.parametrize("model", WITH_RULES, ids=named)
def test_a_radius_that_covers_has_a_coverage(model, noise):
    covering = clone(model).set_params(radius="bootstrap")
    assert not told_by(lambda: covering.fit(*noise), CoverageWarning)
    certificate = verify(covering, *noise)
    assert (certificate.coverage, covering.coverage_) == (0.95, 0.95)
    assert str(certificate) != str(replace(certificate, coverage=None))


@pytest.mark.parametrize("model", CERTIFIED, ids=named)
def test_classes_with_one_sample_are_named(model, noise):
    def told(y, **more):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            clone(model).fit(X[: len(y)], y, **more)
        found = [each for each in found if issubclass(each.category, FewSamplesWarning)]
        assert all(each.category.code == "few-samples" for each in found)
        return [
            re.findall(r"'(\w)'", re.search("class(es)? [^;]* ha(s|ve) a single", str(each.message))[0])
            for each in found
        ]

    X, y = noise[0], np.array(list("abc" * 13 + "d"))
    assert told(y) == [["d"]]
    if "cv" not in model.get_params():  # two samples cannot be cross-validated
        assert told(np.array(["a", "b"])) == [["a", "b"]]
    assert told(y[:39]) == []
    # A row of weight 2 is two samples, and two rows of a group are no more than one.
    assert told(y, sample_weight=np.where(y == "d", 2.0, 1.0)) == []
    assert told(y[:39], groups=np.where(y[:39] == "c", 99, np.arange(39))) == [["c"]]


@pytest.mark.parametrize("model", CERTIFIED, ids=named)
@pytest.mark.parametrize("deviations", [0.0, 1e5, 1e8, 1e9, 1e13])
def test_a_fit_that_verify_rejects_has_warned_of_columns_far_from_zero(model, noise, deviations):
    """As dates in nanoseconds, and identifiers; beyond 1e15 deviations a column counts as constant."""
    (X, y), used = noise, np.arange(3)
    X = X + 3.0 * y[:, None] * np.isin(np.arange(60), used)
    X[:, used] += deviations * X[:, used].std(axis=0)
    fitted = clone(model)
    told = told_by(lambda: fitted.fit(pd.DataFrame(X).add_prefix("date"), y), FarFromZeroWarning)
    if deviations == 0.0:
        assert not told
    assert verify(fitted, pd.DataFrame(X).add_prefix("date"), y).valid or "'date0'" in told[0]
    scaled = make_pipeline(StandardScaler(), clone(model))
    assert not told_by(lambda: scaled.fit(X, y), FarFromZeroWarning)
    assert verify(scaled, X, y).valid


@pytest.mark.parametrize("model", WITH_RULES, ids=named)
def test_a_sample_that_cannot_keep_the_promise_is_remarked_on(model, noise):
    """One sample far from all others decides the moments of most columns."""
    X, y = noise
    outlying = X.copy()
    outlying[3] *= 300.0
    covering = clone(model).set_params(radius="bootstrap")
    (message,) = told_by(lambda: covering.fit(outlying, y), CoverageWarning)
    assert re.search("cannot promise|coverage .* is less exact", message)
    (remark,) = covering.coverage_remarks_
    assert remark in message
    assert verify(covering, outlying, y).valid
    covering.coverage_remarks_ = ()
    assert not verify(covering, outlying, y).valid


@pytest.mark.parametrize("model", WITH_ITERATIONS, ids=named)
class TestIterations:
    def test_the_history_is_that_of_the_bounds(self, model, noise):
        fitted = clone(model).fit(*noise)
        assert fitted.converged_
        assert fitted.n_iter_ == fitted.history_[-1]["iteration"] >= 2
        gaps = [record["upper"] - record["lower"] for record in fitted.history_]
        assert np.all(np.diff(gaps) <= 1e-12)

    def test_a_callback_hears_of_every_iteration_and_may_stop(self, model, noise):
        heard = []
        fitted = clone(model).set_params(callback=heard.append).fit(*noise)
        assert [without_forecast(record) for record in heard] == fitted.history_
        stopped = clone(model).set_params(callback=lambda record: record["iteration"] >= 2)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)  # it was asked for
            stopped.fit(*noise)
        assert stopped.n_iter_ <= 2
        assert not stopped.converged_
        assert stopped.optimality_gap_ > fitted.optimality_gap_
        assert verify(stopped, *noise).valid

    def test_an_interrupt_keeps_what_was_found(self, model, noise):
        def interrupt(record):
            if record["iteration"] == 2:
                raise KeyboardInterrupt

        interrupted = clone(model).set_params(callback=interrupt)
        with pytest.raises(KeyboardInterrupt):
            interrupted.fit(*noise)
        assert not interrupted.converged_
        assert len(interrupted.history_) == 2
        assert interrupted.predict(noise[0]).shape == (40,)
        assert verify(interrupted, *noise).valid

    def test_verbose_logs_a_line_for_every_iteration(self, model, noise, caplog):
        with caplog.at_level(logging.INFO, logger="minimaxrisk"):
            fitted = clone(model).set_params(verbose=1).fit(*noise)
        lines = [each.message for each in caplog.records if each.message.startswith("iteration")]
        assert len(lines) == len(fitted.history_)
        assert all("<= R* <=" in line for line in lines)


@pytest.mark.parametrize("model", CERTIFIED, ids=named)
def test_a_failed_fit_leaves_the_old_model_whole(model, noise):
    X, y = noise
    fitted = clone(model).fit(X, y)
    before = fitted.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit(np.full((40, 7), np.nan), y)
    assert fitted.n_features_in_ == 60
    np.testing.assert_array_equal(fitted.predict(X), before)
