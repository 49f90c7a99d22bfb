"""What must not change what is read from a black box: scale, shift, rotation, order of units and rows, batches.

Every box is a known network behind a change of its inputs or its output. What is read must be the network that was
changed in the same way, up to rounding, and certified as it is without the change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import gradsift as gs
from gradsift.geometry import orthonormal_rows

SEED = 7


class Case(NamedTuple):
    """A network, and the bounds inside which it may be asked."""

    network: gs.Network
    bounds: tuple[float, float] | None = None
    accuracy: float = 1e-8

    @property
    def d(self) -> int:
        return self.network.n_features

    @property
    def options(self) -> dict[str, Any]:
        return {} if self.bounds is None else {"bounds": self.bounds}


def one_layer(activation, d=6, k=4):
    rng = np.random.default_rng([31, d, k])
    rows, offsets, weights = rng.standard_normal((k, d)), rng.standard_normal(k), rng.choice([-1.0, 1.0], k)
    return gs.Network.of(gs.SigmoidCombination(rows, weights * rng.uniform(0.5, 1, k), 1.0, offsets, 0.4, activation))


def two_layers():
    return gs.simulate.random_network(4, (4, 2), row_norms=[(1.0, 3.0), 1.5], activation="tanh", rng=33)


EVERYWHERE = {name: Case(one_layer(name)) for name in ("relu", "softplus", "gelu", "elu")}
INSIDE = {f"{name} in bounds": Case(one_layer(name, 6, 3), (-1.5, 1.5)) for name in ("tanh", "gelu", "relu")}
LAYERS = {"two layers": Case(two_layers(), None, 1e-6)}


def of_cases(*tables):
    table = {name: case for part in tables for name, case in part.items()}
    return pytest.mark.parametrize("case", table.values(), ids=table.keys())


def read(function, case, **options):
    oracle = gs.Oracle(function, case.d, **{**case.options, **options})
    found = gs.recover(oracle, activation=case.network.activation, random_state=SEED)
    assert found.certified, found.verdict
    assert found.network.widths == case.network.widths
    return found


def in_one_form(network):
    """Return the form that a network shares with all its equals: units that may be turned point one way."""
    return network.canonical() if len(network.widths) > 1 else gs.Network.of(network.models()[0].canonical())


def assert_same(found, expected, case, bounds=None):
    match = gs.match_networks(in_one_form(found.network), in_one_form(expected))
    assert match.max_error < case.accuracy
    low, high = (-2.0, 2.0) if bounds is None else bounds
    X = np.random.default_rng(5).uniform(low, high, (200, case.d))
    wanted = expected.predict(X)
    np.testing.assert_allclose(found.network.predict(X), wanted, atol=case.accuracy * np.ptp(wanted))


@of_cases(EVERYWHERE, INSIDE, LAYERS)
def test_the_network_itself_is_read_and_another_one_is_not_the_same(case):
    found = read(case.network.predict, case)
    assert_same(found, case.network, case)
    (W, b), *above = case.network.layers
    moved = gs.Network([(W, b + 1e-3 * np.eye(len(b))[0]), *above], case.network.activation)
    with pytest.raises(AssertionError):
        assert_same(found, moved, case)


@of_cases(EVERYWHERE, INSIDE, LAYERS)
@pytest.mark.parametrize(("gain", "level"), [(1e-4, 0.0), (-300.0, 50.0)])
def test_a_scaled_and_shifted_output_is_the_network_with_its_last_layer_scaled_and_shifted(case, gain, level):
    f, (*below, (V, c)) = case.network.predict, case.network.layers
    found = read(lambda X: gain * f(X) + level, case)
    assert_same(found, gs.Network([*below, (gain * V, gain * c + level)], case.network.activation), case)


@of_cases(EVERYWHERE, INSIDE, LAYERS)
@pytest.mark.parametrize("scale", [1e-3, 20.0])
def test_scaled_and_shifted_inputs_are_the_network_with_its_first_layer_changed(case, scale):
    f, shift = case.network.predict, scale * np.linspace(-0.5, 1.0, case.d)
    bounds = None if case.bounds is None else tuple(shift + scale * bound for bound in case.bounds)
    options = {} if bounds is None else {"bounds": bounds}
    found = read(lambda X: f((X - shift) / scale), case, **options)
    expected = case.network.from_frame(shift, np.full(case.d, scale))
    typical = bounds or (shift - 2 * scale, shift + 2 * scale)
    assert_same(found, expected, case._replace(accuracy=10 * case.accuracy * max(1.0, 1 / scale)), typical)


@of_cases(INSIDE)
def test_bounds_of_unequal_lengths_change_no_network(case):
    f, size = case.network.predict, np.geomspace(0.01, 100.0, case.d)
    bounds = tuple(size * bound for bound in case.bounds)
    found = read(lambda X: f(X / size), case, bounds=bounds)
    inside = gs.Network(
        [(W * size, b) if i == 0 else (W, b) for i, (W, b) in enumerate(found.network.layers)],
        case.network.activation,
        found.network.linear * size,
    )
    match = gs.match_networks(in_one_form(inside), in_one_form(case.network))
    assert match.max_error < case.accuracy


@of_cases(EVERYWHERE, LAYERS)
def test_rotated_inputs_are_the_network_with_rotated_rows(case):
    f, turn = case.network.predict, orthonormal_rows(case.d, case.d, np.random.default_rng(2))
    found = read(lambda X: f(X @ turn), case)
    (W, b), *above = case.network.layers
    assert_same(found, gs.Network([(W @ turn.T, b), *above], case.network.activation), case)


@of_cases(INSIDE)
def test_inputs_in_another_order_are_the_network_with_its_columns_in_that_order(case):
    f, order = case.network.predict, np.random.default_rng(3).permutation(case.d)
    found = read(lambda X: f(X[:, order]), case)
    (W, b), *above = case.network.layers
    assert_same(found, gs.Network([(W[:, np.argsort(order)], b), *above], case.network.activation), case)


@of_cases(EVERYWHERE, INSIDE, LAYERS)
def test_units_in_another_order_are_the_same_network(case):
    other = case.network
    for layer, width in enumerate(other.widths):
        other = other.reordered(layer, np.roll(np.arange(width), 1))
    assert not np.array_equal(other.layers[0].weights, case.network.layers[0].weights)
    found = read(other.predict, case)
    assert_same(found, case.network, case)


@of_cases(EVERYWHERE, INSIDE, LAYERS)
def test_batches_and_the_order_of_rows_in_them_change_no_digit(case):
    f = case.network.predict

    def row_by_row(X):  # matrix products of more rows round otherwise
        return np.array([f(x[None])[0] for x in X])

    whole, batches, backwards = (
        read(row_by_row, case), read(row_by_row, case, batch_size=3), read(lambda X: row_by_row(X[::-1])[::-1], case),
    )  # fmt: skip
    for other in (batches, backwards):
        assert other.network == whole.network
        assert other.n_queries == whole.n_queries
        assert other.verdict == whole.verdict
