"""The forecast against the committed tables, and the end of a run without a budget."""

from __future__ import annotations

import numpy as np
import pytest

import gradsift as gs
from benchmarks.boxes import forecast_error
from benchmarks.record import RESULTS, load
from gradsift.forecasting import QueryLimit
from gradsift.reading.ledger import Ledger


@pytest.fixture
def rows():
    return forecast_error.exact_rows() + forecast_error.noisy_rows() + forecast_error.growing_rows()


def test_every_row_of_the_tables_is_forecast_within_a_factor_of_one_and_a_half(rows):
    assert len(rows) > 40
    assert max(row.factor for row in rows) < 1.5


def test_what_was_asked_lies_in_the_forecast_range():
    net = gs.simulate.random_combination(10, 5, slope=2.0, rng=3)
    found = gs.recover(gs.Oracle(net.predict, 10), random_state=0)
    told = gs.forecast(10, 5)
    assert told.low <= found.n_queries <= told.high
    assert not told.low <= gs.forecast(10, 50).queries <= told.high  # the range says something


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"answers": "guess"}, "answers must be one of exact, float32"),
        ({"layers": 2}, "layers must be 1"),
        ({"layers": [5, 5]}, "either n_units"),
        ({"n_units": None}, "n_units is missing"),
        ({"n_units": None, "layers": [5, 5]}, "are not measured"),
        ({"n_units": None, "layers": [5, 5], "activation": "softplus"}, "are not measured"),
        ({"activation": "relu", "answers": "float32"}, "are not measured"),
        ({"noise": -1.0}, "noise must be"),
        ({"n_outputs": 0}, "n_outputs must be"),
    ],
)
def test_a_forecast_of_what_was_never_measured_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        gs.forecast(**({"n_features": 10, "n_units": 5} | given))


def test_noise_and_accuracy_and_deeper_questions_cost_more():
    exact, single, noisy = gs.forecast(20, 5), gs.forecast(20, 5, "float32"), gs.forecast(20, 5, noise=0.1)
    assert exact.queries < single.queries < noisy.queries < gs.forecast(20, 5, "labels").queries
    assert noisy.queries < gs.forecast(20, 5, noise=0.1, accuracy=1e-3).queries
    assert gs.forecast(20, 5, n_outputs=7) == exact


def test_a_run_without_a_budget_stops_far_beyond_its_forecast():
    rng = np.random.default_rng(5)
    oracle = gs.Oracle(lambda X: rng.standard_normal(len(X)), 3)
    ledger = Ledger(oracle, allotment=QueryLimit("exact"))
    for _ in range(50):
        ledger.ask(np.zeros((100, 3)), "scan")
    with pytest.raises(gs.errors.BudgetSpent, match="give max_queries to allow more"):
        ledger.ask(np.zeros((100, 3)), "scan")
    assert oracle.n_queries == 5000
    ledger.n_units = 40
    ledger.ask(np.zeros((100, 3)), "scan")  # more units, more patience


def test_a_budget_of_ones_own_is_the_only_one():
    oracle = gs.Oracle(lambda X: X[:, 0], 3, max_queries=20000)
    ledger = Ledger(oracle, allotment=QueryLimit("exact"))
    ledger.ask(np.zeros((9000, 3)), "scan")
    assert oracle.n_queries == 9000


def test_decisions_are_forecast_from_their_own_table():
    rows = load(RESULTS / "black_box_decisions.json")["rows"]
    sizes = {row["cell"]: row["per_unknown"][1] for row in rows if row["cell"].startswith("tanh") and row["runs"] >= 10}
    told = []
    for cell, per_unknown in sizes.items():
        if "classes" in cell:
            continue
        d, k = map(int, cell.removeprefix("tanh ").split(","))
        told.append(gs.forecast(d, k, answers="decisions").queries / (per_unknown * k * (d + 2)))
    assert len(told) >= 4
    assert 0.8 < min(told) <= max(told) < 1.25
    assert gs.forecast(10, 3, answers="decisions", accuracy=1e-9).queries > gs.forecast(10, 3, "decisions").queries


def test_layers_of_relu_cost_more_than_one_and_wider_ones_more_still():
    one, two = gs.forecast(20, 10, activation="relu"), gs.forecast(20, layers=[10, 10], activation="relu")
    assert gs.forecast(20, layers=[10], activation="relu") == one
    assert one.queries < two.queries < gs.forecast(20, layers=[20, 20], activation="leaky_relu").queries
    assert two.queries < gs.forecast(20, layers=[10, 10, 10], activation="relu").queries
