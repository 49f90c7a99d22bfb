"""Units of another shape than the one assumed, seen through noise."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.activations import get_activation
from gradsift.certificate import NOISY
from gradsift.certificate import noise_rules as imperfect
from gradsift.fit import fit_jointly, from_model
from gradsift.likelihood import Noise
from gradsift.reading.noise.other_shapes import odd_bend

TANH = get_activation("tanh")


def hard_tanh(z):
    return np.clip(z, -1, 1)


def softsign(z):
    return z / (1 + np.abs(z))


def lopsided(z):
    return 2 * np.exp(-np.exp(-2 * z)) - 1  # Gompertz's curve


def inner(d, k, rng):
    units = rng.standard_normal((k, d))
    weights, slopes = rng.choice([-1.0, 1.0], k) * rng.uniform(0.3, 1, k), np.exp(rng.uniform(0, np.log(3), k))
    return gs.SigmoidCombination(units / np.linalg.norm(units, axis=1, keepdims=True), weights, slopes,
                                 0.5 * rng.standard_normal(k), rng.standard_normal())  # fmt: skip


def read(shape, activation, seed, d=4, k=2):
    """Recover a network of some shape behind noise of size .05."""
    rng = np.random.default_rng([77, seed, d, k, 50])
    truth = inner(d, k, rng)

    def function(X):
        return shape(truth.arguments(X)) @ truth.weights + truth.intercept + 0.05 * rng.standard_normal(len(X))

    oracle = gs.Oracle(function, d, max_queries=40000)
    with pytest.warns(gs.errors.UncertifiedWarning):
        return gs.recover(oracle, activation=activation, random_state=seed)


@pytest.mark.parametrize(("activation", "seed"), [("tanh", 2), ("tanh", 4), ("tanh", 5), ("tanh", 7), ("erf", 5)])
def test_units_of_straight_pieces_are_certified_neither_as_tanh_nor_as_erf(activation, seed):
    found = read(hard_tanh, activation, seed)
    assert "activation" in [check.name for check in found.judgement.failed]
    assert "hard tanh" in found.verdict
    assert "activation='" not in found.verdict  # no advice that ends in another wrong certificate


@pytest.mark.parametrize(("shape", "name", "seed"), [(np.arctan, "arctan", 2), (softsign, "softsign", 0)])
def test_slow_tails_are_not_certified_as_more_units_with_plateaus(shape, name, seed):
    found = read(shape, "tanh", seed)
    assert f"Try activation='{name}'" in found.verdict


def fitted_rows(shape, seed, sd=0.05, n=300):
    rng = np.random.default_rng(seed)
    truth = inner(4, 2, rng)
    X = 1.5 * rng.standard_normal((n, 4))
    y = shape(truth.arguments(X)) @ truth.weights + truth.intercept + sd * rng.standard_normal(n)
    return fit_jointly(from_model(truth), X, y, Noise(sd), TANH), X, Noise(sd)


def test_a_shape_that_nobody_has_named_shows_in_the_residuals_and_tanh_does_not():
    bends = {
        shape: np.array([odd_bend(*fitted_rows(shape, seed), TANH).p_value for seed in range(30)])
        for shape in (np.tanh, lopsided)
    }
    assert (bends[np.tanh] > NOISY.shape).all()
    assert (bends[lopsided] < NOISY.shape).mean() > 0.8


def test_the_unit_that_bends_otherwise_is_named():
    rng = np.random.default_rng(3)
    truth = gs.SigmoidCombination(np.eye(4)[:2], [1.0, 0.6], 2.0, [0.3, -0.2])
    X = 1.5 * rng.standard_normal((400, 4))
    z = truth.arguments(X)
    y = np.column_stack([np.tanh(z[:, 0]), lopsided(z[:, 1])]) @ truth.weights + 0.05 * rng.standard_normal(400)
    fitted = fit_jointly(from_model(truth), X, y, Noise(0.05), TANH)
    check = imperfect.shape(odd_bend(fitted, X, Noise(0.05), TANH), "tanh", NOISY)
    assert not check.holds
    assert "across unit 2 otherwise than tanh units do" in check.says


def test_a_check_calls_another_activation_worse_only_where_a_claim_would_not_call_it_as_good():
    assert "as well" in imperfect.activation("erf", -1.0, NOISY).says
    assert "worse, by 5.0 nats" in imperfect.activation("erf", -5.0, NOISY).says
    both = imperfect.activation("erf", 6.0, NOISY, ("hard tanh",), offered=False)
    assert "erf or hard tanh" in both.says
    assert "activation=" not in both.advice


def test_a_claim_names_every_shape_that_the_answers_do_not_tell_from_the_one_assumed():
    rng = np.random.default_rng([1077, 16, 4, 2, 50])
    truth = inner(4, 2, rng)

    def function(X):
        z = truth.arguments(X)
        return hard_tanh(z) @ truth.weights + truth.intercept + 0.05 * rng.standard_normal(len(X))

    found = gs.recover(gs.Oracle(function, 4, max_queries=40000), activation="tanh", random_state=16)
    assert "hard tanh or erf units with other slopes would explain the answers as well" in found.verdict
