"""Fresh inputs: what they catch, what they cost, and what a certificate says about them."""

import contextlib
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import beta

import gradsift as gs
from gradsift.errors import UncertifiedWarning
from gradsift.reading.check_inputs import fresh_inputs
from gradsift.reading.scouts import _n_equal


def network(d, k, seed, activation="tanh"):
    rng = np.random.default_rng([61, d, k, seed])
    units = rng.standard_normal((k, d))
    return gs.SigmoidCombination(
        units / np.linalg.norm(units, axis=1, keepdims=True), rng.choice([-1.0, 1.0], k) * rng.uniform(0.4, 1.0, k),
        rng.uniform(1.0, 3.0, k), rng.standard_normal(k), 0.3, activation,
    )  # fmt: skip


def steps_that_cancel(slope):
    def box(X):
        others = 0.8 * np.tanh(2 * X[:, 0] + 1) - 0.5 * np.tanh(X[:, 1] - X[:, 2])
        return others + np.tanh(slope * (X[:, 1] - 0.9)) - np.tanh(slope * (X[:, 1] - 1.1))

    return box


# ---------------------------------------------------------------------------------------------------------------------
# Certificates that were wrong


def test_an_asked_projection_is_the_one_that_is_found():
    W = np.random.default_rng(0).standard_normal((2, 3))
    both = gs.Oracle(lambda X: np.tanh(X @ W.T), 3)
    found = gs.recover(both.projected([1.0, 0.0]), random_state=0)
    assert found.certified
    assert found.n_units == 1
    assert gs.match_units(found.model.units, W[:1] / np.linalg.norm(W[0])).max_error < 1e-10
    assert found.outputs == ()


@pytest.mark.parametrize("slope", [20.0, 50.0])
@pytest.mark.parametrize("seed", [0, 3, 4, 8, 9])
def test_parallel_units_that_cancel_far_out_are_found(slope, seed):
    box = steps_that_cancel(slope)
    found = gs.recover(gs.Oracle(box, 3), random_state=seed)
    X = np.random.default_rng(1).standard_normal((2000, 3))
    assert found.certified
    assert found.n_units == 4
    assert np.abs(found.model.predict(X) - box(X)).max() < 1e-11
    assert 0 < found.diagnostics["spent"]["bumps"] < 150


def test_three_parallel_units_that_cancel_are_found():
    inner, v = network(4, 2, 5), np.array([0.5, -0.5, 0.5, 0.5])

    def box(X):
        z = 10 * X @ v
        return inner.predict(X) + np.tanh(z + 5) - 0.4 * np.tanh(z - 1) - 0.6 * np.tanh(z - 6)

    found = gs.recover(gs.Oracle(box, 4), random_state=2)
    X = np.random.default_rng(1).standard_normal((2000, 4))
    assert found.certified
    assert found.n_units == 5
    assert np.abs(found.model.predict(X) - box(X)).max() < 1e-11


BUMPS = {
    "ball": lambda X, w: np.linalg.norm(X - 2 * w, axis=1) < 2,
    "slab": lambda X, w: np.abs(X @ w - 1.5) < 0.5,
}


@pytest.mark.parametrize("bump", list(BUMPS))
@pytest.mark.parametrize("seed", range(4))
def test_a_back_door_is_never_certified_and_the_rest_of_the_network_is_returned(bump, seed):
    inner = network(5, 4, seed)
    w = np.random.default_rng([62, seed]).standard_normal(5)
    w /= np.linalg.norm(w)

    def box(X):
        return inner.predict(X) + BUMPS[bump](X, w)

    with pytest.warns(UncertifiedWarning, match="fresh inputs are answered otherwise"):
        found = gs.recover(gs.Oracle(box, 5), random_state=seed)
    assert not found.certified
    assert found.verification.n_different > 0
    assert_allclose(found.verification.worst, 1.0, rtol=1e-6)
    assert BUMPS[bump](found.verification.where[None], w)[0]
    assert found.n_units == 4
    assert gs.match_units(found.model.units, inner.units).max_error < 1e-8


def test_columns_of_very_different_size_are_not_certified_without_typical_rows_and_exact_with_them():
    inner, scales = network(5, 3, 1), np.array([1e4, 1.0, 1e-3, 1.0, 1e2])
    truth = gs.SigmoidCombination(
        inner.units * inner.slopes[:, None] / scales, inner.weights, 1.0, inner.offsets, inner.intercept
    )
    data = scales * np.random.default_rng(4).standard_normal((300, 5))
    with warnings.catch_warnings(), contextlib.suppress(gs.errors.NotIdentifiable):  # a refusal is an answer, too
        warnings.simplefilter("ignore", UncertifiedWarning)
        assert not gs.recover(gs.Oracle(truth.predict, 5), random_state=0).certified
    found = gs.recover(gs.Oracle(truth.predict, 5, inputs=data), random_state=0)
    assert found.certified
    assert np.abs(found.model.predict(data) - truth.predict(data)).max() < 1e-12
    assert found.verification.known < 1e-8
    wanted = truth.canonical()
    off = found.model.units * found.model.slopes[:, None] - wanted.units * wanted.slopes[:, None]
    assert np.abs(off * scales).max() < 1e-10  # column by column
    bounds = np.array(found.diagnostics["error_bounds"])
    assert (np.linalg.norm(off, axis=1) / wanted.slopes <= bounds).all()


# ---------------------------------------------------------------------------------------------------------------------
# The step itself


def test_verification_is_counted_apart_and_the_certificate_says_it():
    truth = network(8, 3, 2)
    oracle = gs.Oracle(truth.predict, 8)
    found = gs.recover(oracle, random_state=0)
    spent = found.diagnostics["spent"]
    assert spent["verify"] == 30
    assert sum(spent.values()) == found.n_queries == oracle.n_queries
    assert found.verification.n == 30
    assert found.verification.n_different == 0
    assert "verified on 30 fresh inputs: differs on less than 9.5% of such inputs (95%)" in found.verdict
    assert f"known to {found.verification.known:.1g} there" in found.verdict
    assert "verified on fresh inputs" in [check.name for check in found.checks]


def test_without_verification_the_same_is_asked_and_found_and_the_certificate_says_so():
    truth = network(8, 3, 2)
    with_it, without = (gs.recover(gs.Oracle(truth.predict, 8), random_state=0, n_verify=n) for n in (30, 0))
    assert with_it.model == without.model
    assert with_it.n_queries == without.n_queries + 30
    assert without.certified
    assert without.verification is None
    assert "nothing was verified on fresh inputs" in without.verdict
    with pytest.raises(ValueError, match="n_verify must be at least 0"):
        gs.recover(gs.Oracle(truth.predict, 8), n_verify=-1)


def test_a_budget_that_ends_before_verification_leaves_it_shorter():
    truth = network(8, 3, 2)
    needed = gs.recover(gs.Oracle(truth.predict, 8), random_state=0, n_verify=0).n_queries
    found = gs.recover(gs.Oracle(truth.predict, 8), random_state=0, max_queries=needed + 7)
    assert found.certified
    assert found.verification.n == 7
    assert_allclose(found.verification.share, 1 - 0.05 ** (1 / 7))


def test_verify_returns_the_share_that_may_differ():
    truth = network(6, 3, 3)
    oracle = gs.Oracle(truth.predict, 6)
    found = gs.recover(oracle, random_state=0)
    checked = found.verify(oracle, n=100, random_state=1)
    assert (checked.n, checked.n_different) == (100, 0)
    assert abs(checked.share - 0.03) < 0.001

    spoiled = gs.Oracle(lambda X: truth.predict(X) + 1e-6 * (X[:, 0] > 0.3), 6)
    X = np.random.default_rng(0).standard_normal((200, 6))
    checked = found.verify(spoiled, X)
    different = int((X[:, 0] > 0.3).sum())
    assert (checked.n, checked.n_different) == (200, different)
    assert_allclose(checked.worst, 1e-6, rtol=1e-6)
    assert checked.where[0] > 0.3
    # Clopper and Pearson, by the binomial distribution itself
    assert_allclose(checked.share, beta.ppf(0.95, different + 1, 200 - different))
    table = replace(found, precision=None)  # as for rows
    with pytest.raises(ValueError, match="recovered from an oracle"):
        table.verify(oracle)


def test_verify_compares_every_output():
    inner = network(5, 3, 7)
    V = np.array([[1.0, -0.5, 0.3], [0.2, 0.9, -0.7]])

    def both(X):
        return np.tanh(inner.arguments(X)) @ V.T

    oracle = gs.Oracle(both, 5)
    found = gs.recover(oracle, random_state=0)
    assert found.verify(oracle, n=50).n_different == 0
    other = gs.Oracle(lambda X: both(X) + np.array([0.0, 1e-5]), 5)
    assert found.verify(other, n=50).n_different == 50


@pytest.mark.parametrize(("sd", "jump"), [(0.05, 0.5), (0.05, 0.0)])
def test_noise_is_told_from_a_difference(sd, jump):
    truth, stream = network(4, 2, 0), np.random.default_rng(5)
    clean = gs.Oracle(lambda X: truth.predict(X) + sd * stream.standard_normal(len(X)), 4)
    found = gs.recover(clean, random_state=0)
    assert found.certified
    assert found.verification.n_different == 0
    spoiled = gs.Oracle(lambda X: truth.predict(X) + sd * stream.standard_normal(len(X)) + jump * (X[:, 0] > 1), 4)
    checked = found.verify(spoiled, n=200, random_state=2)
    assert (checked.n_different > 10) == (jump > 0)


def test_answers_of_the_verification_are_journaled(tmp_path):
    truth = network(4, 2, 1)
    first = gs.recover(gs.Oracle(truth.predict, 4, journal=tmp_path / "kept.db"), random_state=0)
    again = gs.Oracle(truth.predict, 4, journal=tmp_path / "kept.db", recheck=0)
    second = gs.recover(again, random_state=0)
    assert again.n_queries == 0
    assert second.verification.worst == first.verification.worst


# ---------------------------------------------------------------------------------------------------------------------
# Where it asks


def test_fresh_inputs_reach_every_unit_and_the_usual_inputs():
    model = network(6, 4, 9)
    X = fresh_inputs(model, gs.Oracle(model.predict, 6), 400, np.random.default_rng(0))
    z = model.arguments(X)
    assert (np.mean(np.abs(z) < 2, axis=0) > 0.3).all()
    norms = np.linalg.norm(X, axis=1)
    assert np.quantile(norms, 0.25) < np.sqrt(6) < np.quantile(norms, 0.9)
    inside = fresh_inputs(model, gs.Oracle(model.predict, 6, bounds=(-2, 1)), 400, np.random.default_rng(0))
    assert inside.min() >= -2
    assert inside.max() <= 1


def test_fresh_inputs_are_typical_rows_or_lie_between_two():
    model, rows = network(3, 2, 9), 5 + np.random.default_rng(1).standard_normal((50, 3))
    X = fresh_inputs(model, gs.Oracle(model.predict, 3, inputs=rows), 40, np.random.default_rng(0))
    itself = (np.abs(X[:, None] - rows).max(axis=2) < 1e-12).any(axis=1)
    assert itself.sum() == 20
    assert (X.min(axis=0) >= rows.min(axis=0)).all()
    assert (X.max(axis=0) <= rows.max(axis=0)).all()


def test_inputs_far_from_zero_cost_no_digits():
    inner, center, scales = network(4, 3, 4), np.array([100.0, -50.0, 0.0, 1e3]), np.array([10.0, 5.0, 1.0, 100.0])
    a = inner.units * inner.slopes[:, None] / scales
    truth = gs.SigmoidCombination(a, inner.weights, 1.0, inner.offsets - a @ center, inner.intercept)
    rows = center + scales * np.random.default_rng(1).standard_normal((100, 4))
    found = gs.recover(gs.Oracle(truth.predict, 4, inputs=rows), random_state=0)
    assert found.certified
    assert np.abs(found.model.predict(rows) - truth.predict(rows)).max() < 1e-11
    with pytest.raises(ValueError, match="at least 2 typical rows"):
        gs.Oracle(truth.predict, 4, inputs=rows[:1])


def test_a_box_that_answers_nan_far_out_is_told_about_bounds():
    truth = network(3, 2, 2)

    def box(X):
        return np.where(np.abs(X).max(axis=1) > 20, np.nan, truth.predict(X))

    with pytest.raises(gs.errors.OracleFailure, match="bounds="):
        gs.recover(gs.Oracle(box, 3, retry=gs.oracle.Retry(attempts=1)), random_state=0)
    found = gs.recover(gs.Oracle(box, 3, bounds=(-5, 5)), random_state=0)
    assert found.certified


@pytest.mark.parametrize("seed", [1, 2])
def test_decisions_without_chance_are_not_certified_as_labels_of_a_sum(seed):
    inner = gs.simulate.random_combination(3, 2, slope=2.0, rng=[seed, 1])
    oracle = gs.Oracle(lambda X: np.where(inner.predict(X) > 0, 1.0, -1.0), 3, noise="labels")
    with pytest.warns(gs.errors.UncertifiedWarning, match="decisions without chance: of 12 inputs"):
        found = gs.recover(oracle, random_state=3, max_queries=20_000)
    assert not found.certified
    assert oracle.n_queries == found.n_queries


def test_dropout_is_named_by_answers_that_repeat_to_the_last_digit():
    truth = gs.simulate.random_combination(4, 3, slope=2.0, rng=[21, 1])
    coins = np.random.default_rng(22)

    def box(X):
        kept = (coins.random((len(X), 3)) > 0.1) / 0.9
        return (np.tanh(truth.arguments(X)) * kept) @ truth.weights + truth.intercept

    with pytest.warns(gs.errors.UncertifiedWarning, match="switched at random"):
        found = gs.recover(gs.Oracle(box, 4), random_state=3, max_queries=3000)
    assert not found.certified
    noisy = gs.Oracle(lambda X: (truth.predict(X) + 0.05 * coins.standard_normal(len(X))).astype(np.float32), 4)
    assert gs.recover(noisy, random_state=3).certified


@pytest.mark.parametrize(
    ("options", "says"), [({"n_verify": 0}, "decisions without chance"), ({"max_queries": 400}, "too few")]
)
def test_decisions_are_not_certified_without_fresh_inputs_or_queries_either(options, says):
    w = np.array([1.0, 0.5, -0.3])
    oracle = gs.Oracle(lambda X: np.where(X @ w + 0.2 > 0, 1.0, -1.0), 3, noise="labels")
    with pytest.warns(gs.errors.UncertifiedWarning, match=says):
        assert not gs.recover(oracle, random_state=0, **options).certified


def test_answers_on_a_grid_of_their_own_are_no_dropout():
    coins = np.random.default_rng(5)
    for m in (7, 30, 300):
        means = np.array([(2 * coins.binomial(m, 0.6, 9) - m) / m for _ in range(40)])
        assert np.mean([_n_equal(row) > 0 for row in means]) < 0.05
    switched = [np.where(coins.random(9) < 0.7, 0.4, coins.choice([0.13, -0.6, 0.9], 9)) for _ in range(40)]
    assert np.mean([_n_equal(row) > 0 for row in switched]) > 0.7
