"""How much work a fit is, said before it begins."""

import numpy as np
import pytest

import gradsift as gs
from gradsift import progress
from gradsift import runtime as workload


def test_work_grows_with_the_square_of_the_unknowns_and_with_rows_up_to_those_searched():
    small, large = workload.estimate(5000, 10, 20), workload.estimate(5000, 10, 40)
    assert small.n_unknowns == 20 * 12 + 1
    assert 3.5 < large.seconds / small.seconds < 4.5
    assert workload.estimate(10**9, 10, 20) == workload.estimate(20_000, 10, 20)


def test_a_short_fit_is_not_announced_and_a_long_one_is():
    heard = []
    with progress.reporting(lambda *report: heard.append(report)):
        workload.warn_of_size(1000, 5, 3)
        assert heard == []
        workload.warn_of_size(5000, 10, 200)
    assert heard == [("2,401 unknowns, about 2 min of work", 0, None)]


def test_a_very_long_fit_is_a_warning_that_says_what_would_do():
    with pytest.warns(
        gs.errors.SlowFitWarning, match=r"10,005 unknowns, about 38 min of work: fewer units or fewer columns"
    ):
        workload.warn_of_size(6000, 5000, None)


def test_a_fit_that_memory_cannot_hold_is_refused_before_it_begins(monkeypatch):
    monkeypatch.setattr(workload, "_memory", lambda: 1e6)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20))
    for fit in (
        lambda: gs.recover((X, np.tanh(X[:, 0])), 10, random_state=0),
        lambda: gs.SigmoidCombinationRegressor(10).fit(X, np.tanh(X[:, 0])),
    ):
        with pytest.raises(ValueError, match="10 units in 20 columns has 221 unknowns and needs about"):
            fit()
