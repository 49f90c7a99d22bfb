"""Several hidden layers of ReLU and leaky ReLU, read from exact answers; depth and widths are not given."""

from itertools import pairwise

import numpy as np
import pytest

import gradsift as gs
from gradsift.errors import BudgetSpent, NotIdentifiable
from gradsift.network import match_networks


def he(widths, seed):
    """Return random layers with weights of variance 2 / inputs."""
    rng = np.random.default_rng([6103, *widths, seed])
    return [(rng.standard_normal((k, d)) * np.sqrt(2 / d), 0.3 * rng.standard_normal(k)) for d, k in pairwise(widths)]


def function_of(layers, slope=0.0):
    def value(X):
        h = np.atleast_2d(X)
        for W, b in layers[:-1]:
            z = h @ W.T + b
            h = np.maximum(z, slope * z)
        y = h @ layers[-1][0].T + layers[-1][1]
        return y[:, 0] if y.shape[1] == 1 else y

    return value


def row_error(found, layers):
    """Return the largest distance between matched rows of length one."""
    layers = list(layers)
    for i in range(len(layers) - 1):
        (W, b), (V, c) = layers[i], layers[i + 1]
        sizes = np.linalg.norm(W, axis=1)
        layers[i], layers[i + 1] = (W / sizes[:, None], b / sizes), (V * sizes, c)
    return match_networks(found, gs.Network(layers, found.activation)).max_error


def read(net, slope=0.0, seed=0, **how):
    return gs.recover(gs.Oracle(function_of(net, slope), net[0][0].shape[1]), random_state=seed, **how)


@pytest.mark.parametrize("widths", [(10, 5, 5, 1), (8, 8, 6, 1), (20, 10, 8, 6, 1)])
def test_all_layers_are_read(widths):
    layers = he(widths, 3 if len(widths) > 4 else 1)
    found = read(layers)
    assert found.certified, found.verdict
    assert found.network.widths == widths[1:-1]
    assert found.network.activation == "relu"
    assert row_error(found.network, layers) < 1e-9
    X = 30 * np.random.default_rng(2).standard_normal((2000, widths[0]))
    y = function_of(layers)(X)
    assert np.abs(found.network.predict(X) - y).max() < 1e-10 * y.std()
    assert "may be missing" in found.verdict
    assert found.diagnostics["unseen_share"] < 0.05


def test_more_units_than_inputs_are_read_by_the_bends_of_surfaces():
    layers = he((4, 6, 5, 1), 3)
    found = read(layers)
    assert found.certified, found.verdict
    assert row_error(found.network, layers) < 1e-9


@pytest.mark.parametrize("slope", [0.01, 0.2])
def test_leaky_units_are_read_with_their_slope(slope):
    layers = he((8, 6, 5, 1), 4)
    found = read(layers, slope)
    assert found.certified, found.verdict
    assert found.network.activation == ("leaky_relu" if slope == 0.01 else "leaky_relu(0.2)")
    assert row_error(found.network, layers) < 1e-9


def test_several_outputs_are_read_from_the_same_answers():
    layers = he((8, 6, 5, 3), 5)
    found = read(layers)
    assert found.certified, found.verdict
    assert found.network.n_outputs == 3
    assert row_error(found.network, layers) < 1e-9


def test_dead_units_are_left_out_and_units_always_active_are_named():
    layers = he((8, 5, 5, 1), 13)
    (W, b) = layers[1]
    W[0], b[0] = -np.abs(W[0]), -0.5  # dead
    W[1], b[1] = np.abs(W[1]), 0.5  # always active
    found = read(layers)
    assert found.certified, found.verdict
    assert found.diagnostics["always_active"] >= 1
    assert "always active" in found.verdict
    assert found.network.widths == (5, 3 + found.diagnostics["always_active"])
    X = 10 * np.random.default_rng(2).standard_normal((2000, 8))
    y = function_of(layers)(X)
    assert np.abs(found.network.predict(X) - y).max() < 1e-10 * y.std()


def test_one_hidden_layer_stays_with_its_own_reader():
    layers = he((8, 6, 1), 7)
    found = read(layers)
    assert found.certified
    assert found.network.widths == (6,)
    assert "kinks of a path" not in found.diagnostics["spent"]


def test_a_budget_that_ends_carries_the_layers_read_so_far():
    layers = he((10, 8, 8, 1), 8)
    with pytest.raises(BudgetSpent) as spent:
        read(layers, max_queries=1100)
    first = spent.value.partial.network
    W, _ = first.layers[0]
    assert (
        np.abs(W @ (layers[0][0] / np.linalg.norm(layers[0][0], axis=1, keepdims=True)).T).max(axis=1).min() > 1 - 1e-9
    )
    assert not spent.value.partial.certified


@pytest.mark.parametrize("kind", ["tanh below", "softplus", "max-pool", "layer norm"])
def test_other_functions_are_not_certified(kind):
    layers = he((6, 6, 5, 1), 9)
    (W, b), (V, c), (u, _) = layers

    def other(X):
        z = np.atleast_2d(X) @ W.T + b
        h = np.maximum(z, 0)
        if kind == "softplus":
            return np.logaddexp(0, np.logaddexp(0, z) @ V.T + c) @ u[0]
        if kind == "tanh below":
            return np.maximum(np.tanh(z) @ V.T + c, 0) @ u[0]
        if kind == "max-pool":
            return np.max(h @ V.T + c, axis=1) + h @ W[:, 0]
        z = (z - z.mean(axis=1, keepdims=True)) / (z.std(axis=1, keepdims=True) + 1e-5)
        return np.maximum(np.maximum(z, 0) @ V.T + c, 0) @ u[0]

    oracle = gs.Oracle(other, 6)
    try:
        found = gs.recover(oracle, random_state=0, max_queries=30_000)
    except (NotIdentifiable, BudgetSpent):
        return
    X = np.random.default_rng(5).standard_normal((2000, 6))
    off = np.abs(found.network.predict(X) - other(X)).max()
    assert not found.certified or off < 1e-8


def test_a_given_depth_is_honoured():
    layers = he((8, 6, 5, 1), 10)
    assert read(layers, layers=2).network.widths == (6, 5)
    with pytest.raises(NotIdentifiable, match="2 hidden layers"):
        read(layers, layers=3)
