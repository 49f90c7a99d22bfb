"""Inputs that must stay inside bounds: what is asked, what is refused, and what a short budget leaves."""

from __future__ import annotations

import numpy as np
import pytest

import gradsift as gs
from gradsift.reading.box import identify_bounded


def network(d=6, k=2, seed=0, activation="tanh"):
    rng = np.random.default_rng([seed, d, k])
    rows = rng.standard_normal((k, d)) / np.sqrt(d) * 1.5
    return gs.SigmoidCombination(rows, rng.uniform(0.5, 1.0, k), 1.0, rng.standard_normal(k), 0.3, activation)


@pytest.mark.parametrize(("k", "most"), [(2, 120), (6, 400)])
def test_few_and_many_units_are_found_and_no_row_leaves_the_bounds(k, most):
    model, asked = network(k=k, seed=1), []

    def watched(X):
        asked.append(X.copy())
        return model.predict(X)

    oracle = gs.Oracle(watched, 6, bounds=(-np.ones(6), 1.5 * np.ones(6)))
    found = identify_bounded(oracle, "tanh", 1)
    assert found.certified, found.verdict
    assert gs.match_units(found.model.units, model.units).max_error < 1e-9
    rows = np.concatenate(asked)
    assert rows.min() >= -1.0
    assert rows.max() <= 1.5
    assert oracle.n_queries < most


def test_no_bounds_and_answers_of_few_digits_are_refused_before_units_are_looked_for():
    with pytest.raises(ValueError, match="must have bounds"):
        identify_bounded(gs.Oracle(network().predict, 6), "tanh", 0)
    single = gs.Oracle(lambda X: network().predict(X).astype(np.float32), 6, bounds=(-1, 1))
    with pytest.raises(gs.errors.NotIdentifiable, match="answers of double precision"):
        identify_bounded(single, "tanh", 0)
    with pytest.raises(ValueError, match="must all be finite"):
        identify_bounded(gs.Oracle(network().predict, 6, bounds=(-np.inf, 1)), "tanh", 0)


def test_a_function_that_is_straight_in_parts_is_refused_before_a_student_is_trained():
    def kinks(X):
        return np.maximum(X @ np.arange(1.0, 7.0) - 1.0, 0.0) + np.abs(X[:, 0])

    oracle = gs.Oracle(kinks, 6, bounds=(-1, 1))
    with pytest.raises(gs.errors.NotIdentifiable):
        identify_bounded(oracle, "tanh", 0, straight=lambda: True)
    assert oracle.n_queries < 200


def test_a_short_budget_says_what_it_takes():
    for budget in (120, 160):
        oracle = gs.Oracle(network(d=10, k=5, seed=2).predict, 10, bounds=(-1, 1), max_queries=budget)
        with pytest.raises(gs.errors.BudgetSpent) as spent:
            identify_bounded(oracle, "tanh", 0)
        assert oracle.n_queries <= budget
    needed = int(str(spent.value).split("about ")[1].split(" queries")[0])
    enough = gs.Oracle(network(d=10, k=5, seed=2).predict, 10, bounds=(-1, 1), max_queries=needed)
    assert identify_bounded(enough, "tanh", 0).certified
