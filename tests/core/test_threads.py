"""BLAS uses one thread where more would only wait, and what the caller has set afterwards."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from minimaxrisk import MinimaxRiskClassifier
from minimaxrisk._utils import environment
from minimaxrisk._utils.environment import ONE_THREAD_BELOW, suitable_threads


@pytest.fixture(autouse=True)
def every_library():
    """Tests before these may have imported packages that bring a BLAS of their own."""
    environment._controller.cache_clear()


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.parametrize("chosen", [1, 2])
def test_small_problems_use_one_thread_and_leave_the_setting(chosen):
    with threadpool_limits(chosen, user_api="blas"):
        before = blas_threads()
        with suitable_threads(ONE_THREAD_BELOW - 1):
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
        with suitable_threads(ONE_THREAD_BELOW):
            assert blas_threads() == before


def test_fit_leaves_the_setting_also_when_it_fails(wide):
    X, y = wide
    seen = []

    def fail(record):
        seen.extend(blas_threads())
        raise RuntimeError("no")

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(RuntimeError):
            MinimaxRiskClassifier(callback=fail).fit(X, y)
        assert set(seen) == {1}
        assert blas_threads() == before
