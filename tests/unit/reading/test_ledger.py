"""The ledger counts, stores and keeps to the budget."""

from __future__ import annotations

import numpy as np
import pytest

from gradsift import Oracle
from gradsift.errors import BudgetSpent
from gradsift.reading.ledger import Ledger


def summed(X):
    return X.sum(axis=1)


def test_answers_and_rows_are_kept_in_order_and_counted_by_step():
    ledger = Ledger(Oracle(summed, 3))
    first, second = np.ones((2, 3)), -2 * np.ones((1, 3))
    assert ledger.ask(first, "rays").tolist() == [3.0, 3.0]
    ledger.ask(second, "scan")
    ledger.ask_blocks(4, lambda part: np.full((part.stop - part.start, 3), 5.0), "probe")
    np.testing.assert_array_equal(ledger.X, np.concatenate([first, second]))
    assert ledger.y.tolist() == [3.0, 3.0, -6.0]
    assert ledger.spent == {"rays": 2, "scan": 1, "probe": 4}
    assert ledger.n_queries == ledger.oracle.n_queries == 7
    assert ledger.largest == 15.0


def test_nothing_is_asked_beyond_the_budget():
    ledger = Ledger(Oracle(summed, 2), max_queries=3)
    ledger.ask(np.zeros((2, 2)), "rays")
    with pytest.raises(BudgetSpent, match="2 of 3 queries"):
        ledger.ask(np.zeros((2, 2)), "scan")
    assert ledger.oracle.n_queries == 2


def test_progress_hears_of_every_batch():
    heard = []
    ledger = Ledger(Oracle(summed, 2), max_queries=10, progress=heard.append)
    ledger.ask(np.zeros((2, 2)), "rays")
    ledger.n_units = 4
    ledger.ask(np.zeros((3, 2)), "scan")
    assert [tuple(h) for h in heard] == [("rays", 2, 0, 8, None), ("scan", 5, 4, 5, None)]
