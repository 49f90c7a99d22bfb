"""Boxes of one and two inputs, where a path through the inputs has no room to go around."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.errors import NotIdentifiable


def relu_sum(seed, d, k=3):
    rng = np.random.default_rng([909, d, seed])
    A, b = rng.standard_normal((k, d)), rng.standard_normal(k)
    u = rng.uniform(0.5, 1.0, k) * rng.choice([-1.0, 1.0], k)
    return lambda X: np.maximum(X @ A.T + b, 0.0) @ u


@pytest.mark.parametrize("seed", range(3))
def test_relu_units_of_two_inputs_are_found(seed):
    box, X = relu_sum(seed, 2), np.random.default_rng([910, seed]).uniform(-4.0, 4.0, (500, 2))
    found = gs.recover(gs.Oracle(box, 2), random_state=seed)
    assert found.certified
    assert found.n_queries < 160
    assert found.network.n_features == 2
    np.testing.assert_allclose(found.network.predict(X), box(X), atol=1e-11)


def test_relu_units_of_two_inputs_behind_noise_state_errors_of_two_inputs():
    box, noise = relu_sum(4, 2, k=2), np.random.default_rng(911)
    oracle = gs.Oracle(lambda X: box(X) + 0.01 * noise.standard_normal(len(X)), 2)
    found = gs.recover(oracle, activation="relu", random_state=0)
    assert found.n_units == 2
    assert found.standard_errors["linear"].shape == (2,)


@pytest.mark.parametrize("d", [1, 2])
def test_relu_units_of_few_inputs_inside_bounds_are_found(d):
    box, X = relu_sum(5, d, k=2), np.random.default_rng(912).uniform(-3.0, 3.0, (500, d))
    found = gs.recover(gs.Oracle(box, d, bounds=(-3.0, 3.0)), random_state=1)
    assert found.certified
    np.testing.assert_allclose(found.network.predict(X), box(X), atol=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_relu_units_of_one_input_are_found(seed):
    box, X = relu_sum(seed, 1), np.random.default_rng([913, seed]).uniform(-4.0, 4.0, (500, 1))
    found = gs.recover(gs.Oracle(box, 1), activation="relu", random_state=seed)
    assert found.certified
    assert found.n_queries < 140
    np.testing.assert_allclose(found.network.predict(X), box(X), atol=found.verification.known)


def test_sigmoids_of_one_input_are_refused_by_that_name():
    with pytest.raises(NotIdentifiable, match="In one dimension all sigmoids are parallel"):
        gs.recover(gs.Oracle(lambda X: np.tanh(2 * X[:, 0] + 1), 1), random_state=0)


def test_idle_inputs_of_a_view_count_for_nothing():
    oracle = gs.Oracle(lambda X: X @ [1.0, 10.0], 2, bounds=(-2.0, 2.0))
    wide = oracle.with_idle_inputs(1)
    np.testing.assert_array_equal(wide([[1.0, 2.0, -1.0], [1.0, 2.0, 1.0]]), [21.0, 21.0])
    assert (oracle.n_queries, oracle.n_features, wide.n_features) == (2, 2, 3)
    with pytest.raises(ValueError, match="column 2"):
        wide([[0.0, 0.0, 1.5]])
