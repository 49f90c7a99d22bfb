"""Exact black boxes: every parameter to 1e-8 with few queries, number of units unknown."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import gradsift as gs
from gradsift.errors import BudgetSpent
from gradsift.reading import identify

# d, k, activation, bound on queries over unknowns (medians measured are some 20% lower)
CELLS = [
    (10, 3, "tanh", 3.0),
    (10, 32, "tanh", 2.0),
    (3, 20, "tanh", 3.1),
    (2, 5, "tanh", 4.5),
    (50, 10, "tanh", 1.3),
    (50, 10, "logistic", 1.4),
    (50, 10, "erf", 1.3),
    (784, 4, "tanh", 1.05),
]


def teacher(d, k, activation="tanh", seed=0):
    rng = np.random.default_rng([11, d, k, seed])
    slopes = np.exp(rng.uniform(0, np.log(3), k))
    weights = rng.choice([-1.0, 1.0], k) * rng.uniform(0.2, 1, k)
    return gs.SigmoidCombination(
        rng.standard_normal((k, d)),
        weights,
        slopes / np.sqrt(d),
        rng.standard_normal(k),
        rng.standard_normal(),
        activation,
    )


def worst_error(found, truth):
    """Largest relative error of (a, b, u) over matched units; inf if their numbers differ."""
    if found.n_units != truth.n_units:
        return np.inf
    found, truth = found.canonical(), truth.canonical()
    mine, theirs = found.units * found.slopes[:, None], truth.units * truth.slopes[:, None]
    mine_all = np.concatenate([mine, found.offsets[:, None], found.weights[:, None]], axis=1)
    theirs_all = np.concatenate([theirs, truth.offsets[:, None], truth.weights[:, None]], axis=1)
    rows, columns = linear_sum_assignment(np.linalg.norm(theirs_all[:, None] - mine_all[None], axis=2))
    a = np.linalg.norm(theirs[rows] - mine[columns], axis=1) / truth.slopes[rows]
    b = np.abs(truth.offsets[rows] - found.offsets[columns]) / (1 + np.abs(truth.offsets[rows]))
    u = np.abs(truth.weights[rows] - found.weights[columns]) / truth.weights[rows]
    c = abs(truth.intercept - found.intercept) / (1 + abs(truth.intercept))
    return max(a.max(), b.max(), u.max(), c)


@pytest.mark.parametrize(("d", "k", "activation", "limit"), CELLS)
def test_all_parameters_are_found_to_the_last_digits_with_few_queries(d, k, activation, limit):
    for seed in range(2):
        truth = teacher(d, k, activation, seed)
        oracle = gs.Oracle(truth.predict, d)
        found = identify(oracle, activation, rng=seed)
        assert found.certified, found.verdict
        assert worst_error(found.model, truth) < 1e-8
        assert found.n_queries == oracle.n_queries == sum(found.diagnostics["spent"].values())
        assert found.n_queries < limit * truth.n_parameters


def test_the_error_bounds_cover_the_true_errors():
    covered = []
    for seed in range(10):
        truth = teacher(8, 4, seed=seed).canonical()
        found = identify(gs.Oracle(truth.predict, 8), rng=seed)
        errors = np.linalg.norm(found.model.units - truth.units, axis=1)
        covered.append(errors <= found.error_bounds + 1e-15)
        assert found.standard_errors["units"].shape == (4,)
    # 40 bounds of six standard errors: all of them should hold.
    assert np.mean(covered) == 1.0


def test_the_same_seed_asks_the_same_questions_and_another_one_does_not():
    truth = teacher(6, 3)

    def asked(seed):
        rows = []

        def f(X):
            rows.append(X.copy())
            return truth.predict(X)

        identify(gs.Oracle(f, 6), rng=seed)
        return np.concatenate(rows)

    first, again, other = asked(5), asked(5), asked(6)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[:10], other[:10])


def test_questions_are_asked_in_few_large_batches():
    truth, sizes = teacher(60, 12), []

    def f(X):
        sizes.append(len(X))
        return truth.predict(X)

    identify(gs.Oracle(f, 60), rng=0)
    assert len(sizes) < 60
    assert sum(sizes) > 12 * 60


def test_every_prefix_of_the_budget_is_respected_and_says_what_was_found():
    truth = teacher(10, 3)
    needed = identify(gs.Oracle(truth.predict, 10), rng=0).n_queries
    for budget in (1, 5, 20, needed // 2, needed - 1):
        oracle = gs.Oracle(truth.predict, 10)
        with pytest.raises(BudgetSpent) as spent:
            identify(oracle, rng=0, max_queries=budget)
        assert oracle.n_queries <= budget
        limited = gs.Oracle(truth.predict, 10, max_queries=budget)
        with pytest.raises(BudgetSpent):
            identify(limited, rng=0)
        assert limited.n_queries <= budget
    assert spent.value.partial.model.n_units == 3
    assert not spent.value.partial.certified
    assert identify(gs.Oracle(truth.predict, 10), rng=0, max_queries=needed).certified


def test_progress_counts_up_to_the_final_number():
    truth, heard = teacher(5, 2), []
    found = identify(gs.Oracle(truth.predict, 5), rng=0, max_queries=500, progress=heard.append)
    assert [h.n_queries for h in heard] == sorted(h.n_queries for h in heard)
    assert heard[-1].n_queries == found.n_queries
    assert heard[-1].n_units == 2
    assert heard[-1].budget_left == 500 - found.n_queries


def test_progress_foretells_the_end_once_units_are_seen():
    truth, heard = teacher(40, 10), []
    found = identify(gs.Oracle(truth.predict, 40), rng=0, progress=heard.append)
    assert heard[0].expected is None
    probing = [h.expected for h in heard if h.step == "probe" and h.expected is not None]
    assert probing
    assert max(abs(expected - found.n_queries) for expected in probing) < 0.2 * found.n_queries


def test_diagnostics_hold_the_scan_for_a_figure():
    truth = teacher(5, 3)
    found = identify(gs.Oracle(truth.predict, 5), rng=0)
    angles, values = found.diagnostics["angles"], found.diagnostics["values"]
    assert len(angles) == len(values) > 10
    assert 0 <= angles.min() <= angles.max() <= np.pi + 1e-12
    assert np.abs(values).max() <= abs(truth.intercept) + np.abs(truth.weights).sum() + 1e-9
    assert found.diagnostics["smallest_weight"] == pytest.approx(np.abs(truth.weights).min(), rel=1e-12)


@pytest.mark.parametrize("activation", ["tanh", "logistic", "erf", "arctan", "softsign"])
def test_the_family_is_told_from_the_answers(activation):
    truth = teacher(5, 2, activation)
    found = gs.recover(gs.Oracle(truth.predict, 5), random_state=0)
    assert found.certified
    assert found.model.activation == ("tanh" if activation == "logistic" else activation)
    X = np.random.default_rng(0).standard_normal((50, 5))
    np.testing.assert_allclose(found.model.predict(X), truth.predict(X), atol=1e-10)


def test_several_outputs_follow_from_one_projection():
    rng = np.random.default_rng(4)
    hidden = teacher(7, 4)
    weights, intercepts = rng.standard_normal((4, 3)), rng.standard_normal(3)
    direction = rng.standard_normal(3)
    asked, replies = [], []

    def f(X):
        Y = np.tanh(hidden.arguments(X)) @ weights + intercepts
        asked.append(X)
        replies.append(Y)
        return Y @ direction

    found = identify(gs.Oracle(f, 7), rng=0)
    assert found.certified
    from gradsift.reading import solve_outputs

    X, Y = np.concatenate(asked), np.concatenate(replies)
    layer = solve_outputs(found.model, X, Y)
    fresh = rng.standard_normal((30, 7))
    expected = np.tanh(hidden.arguments(fresh)) @ weights + intercepts
    mine = np.tanh(found.model.arguments(fresh)) @ layer.weights + layer.intercepts
    np.testing.assert_allclose(mine, expected, atol=1e-10)
    assert layer.misfits.max() < 1e-7


@pytest.mark.parametrize(("argument", "value"), [("activation", "sine"), ("max_queries", 0)])
def test_bad_arguments_are_named(argument, value):
    with pytest.raises(ValueError, match=argument):
        identify(gs.Oracle(lambda X: X[:, 0], 3), **{argument: value})
