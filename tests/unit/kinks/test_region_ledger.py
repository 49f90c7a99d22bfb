"""Answers less a known network, within bounds or behind a link: nothing is asked outside, nothing without digits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import gradsift as gs
from gradsift.errors import BudgetSpent
from gradsift.reading.kinks.region_ledger import RegionLedger
from gradsift.reading.precision import Precision
from gradsift.reading.region import Region

from .kinked_networks import random_net


def behind(oracle, **options):
    return RegionLedger(oracle, Region.of(oracle), (Precision(),), **options)


def test_after_a_row_that_must_not_be_asked_nothing_is_asked_until_the_next_start():
    oracle = gs.Oracle(lambda X: X.sum(axis=1), 3, bounds=(np.zeros(3), np.ones(3)))
    ledger = RegionLedger(oracle, Region.of(oracle), ())
    rows = np.array([[0.5, 0.0, 0.0], [2.0, 0.0, 0.0]])
    np.testing.assert_allclose(ledger.ask(rows[:1], "check"), 1.75)
    for part in (rows, rows[:1]):
        assert np.isnan(ledger.ask(part, "check")).all()
    assert "leaves the bounds" in ledger.failure.because
    assert oracle.n_queries == ledger.n_queries == 1
    ledger.start(np.zeros(3), None)
    np.testing.assert_allclose(ledger.ask(rows[:1], "check"), 1.75)


def test_what_is_known_is_taken_off_from_wherever_rows_are_measured():
    net, more = random_net(seed=91, d=3), random_net(seed=92, d=3)
    oracle = gs.Oracle(lambda X: net.predict(X) + more.predict(X), 3, bounds=(-np.ones(3), np.ones(3)))
    ledger, stand = behind(oracle), np.array([0.1, -0.2, 0.3])
    ledger.start(stand, net)
    rows = np.random.default_rng(1).uniform(-0.5, 0.5, (20, 3))
    np.testing.assert_allclose(ledger.ask(rows, "path"), more.predict(stand + rows), atol=1e-12)
    assert ledger.range[1] == pytest.approx((net.predict(stand + rows) + more.predict(stand + rows)).max())
    heard = ledger.ask_all(rows, "inside")  # whatever is known
    np.testing.assert_allclose(heard.answers, net.predict(rows) + more.predict(rows), atol=1e-12)
    assert ledger.spent == {"path": 20, "inside": 20}


def test_a_link_leaves_far_answers_no_digits_and_its_errors_are_those_of_rounding():
    w = np.array([1.0, 2.0, 0.0])
    ledger = behind(gs.Oracle(lambda X: expit(X @ w), 3, link="logistic"))
    rows = np.array([[0.5, 0.0, 0.0], [3.0, 0.0, 0.0], [60.0, 0.0, 0.0], [0.0, -2.0, 0.0]])
    heard = ledger.ask_all(rows, "inside")
    assert len(heard.answers) == 3
    np.testing.assert_allclose(heard.answers, heard.rows @ w, atol=1e-12)
    p = expit(heard.rows @ w)
    assert (np.abs(heard.answers - heard.rows @ w) <= 4 * heard.errors).all()
    np.testing.assert_array_less(heard.errors, 1e3 * 2.0**-53 / (p * (1 - p)))
    assert np.isnan(ledger.ask(rows, "path")).all()
    assert "leaves an answer no digits" in ledger.failure.because
    ledger.start(np.zeros(3), None)
    assert ledger.failure is None
    assert np.isfinite(ledger.ask(rows[:2], "path")).all()


def test_the_budget_holds_before_anything_is_asked():
    oracle = gs.Oracle(lambda X: X.sum(axis=1), 3, bounds=(-np.ones(3), np.ones(3)))
    ledger = behind(oracle, max_queries=10)
    ledger.ask(np.zeros((6, 3)), "path")
    for ask in (ledger.ask, ledger.ask_all):
        with pytest.raises(BudgetSpent, match="6 of 10 queries are spent"):
            ask(np.zeros((5, 3)), "path")
    assert oracle.n_queries == 6
