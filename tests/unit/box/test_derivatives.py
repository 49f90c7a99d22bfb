"""Units from derivatives inside bounds: spans, second derivatives and starts, against those of the network asked."""

from __future__ import annotations

import numpy as np
import pytest

import gradsift as gs
from gradsift.errors import NotIdentifiable
from gradsift.geometry import subspace_angle
from gradsift.reading.box.derivatives import look_near
from gradsift.reading.ledger import Ledger, Place
from gradsift.reading.odd_form import identity_form, link_of
from gradsift.reading.region import Region


def place_of(function, d, half=1.0, middle=0.0):
    oracle = gs.Oracle(function, d, bounds=(np.full(d, middle - half), np.full(d, middle + half)))
    return Place(Ledger(oracle), Region.of(oracle))


def network(d=7, k=3, seed=0, activation="tanh", line=0.0):
    """Return a network with arguments of about one inside the bounds, and rows that span its units."""
    rng = np.random.default_rng([seed, d, k])
    rows = rng.standard_normal((k, d)) / np.sqrt(d) * 1.5
    weights, offsets = rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.0, k), 0.7 * rng.standard_normal(k)
    return gs.SigmoidCombination(rows, weights, 1.0, offsets, 0.3, activation, line * rng.standard_normal(d)), rows


@pytest.mark.parametrize("activation", ["tanh", "erf", "softplus", "gelu"])
def test_gradients_span_the_units_and_no_more(activation):
    for k in (1, 3, 5):
        model, rows = network(k=k, seed=1, activation=activation)
        place = place_of(model.predict, 7)
        near = look_near(place, np.random.default_rng(k))
        assert near.k == k
        assert subspace_angle(near.basis, np.linalg.qr(rows.T)[0].T) < 1e-4
        assert near.line is None
        expected = model.gradient(near.points) @ near.basis.T
        np.testing.assert_allclose(near.gradients, expected, atol=1e-5)
        assert len(near.points) >= k + 1
        assert place.ledger.n_queries < (k + 3) * (7 + 1) + 100


def test_a_linear_term_is_told_from_a_unit():
    model, rows = network(k=2, seed=2, line=0.8)
    near = look_near(place_of(model.predict, 7), np.random.default_rng(2))
    assert near.k == 2
    assert subspace_angle(near.basis, np.linalg.qr(rows.T)[0].T) < 1e-3
    across = model.linear - near.basis.T @ (near.basis @ model.linear)
    np.testing.assert_allclose(near.line, across, atol=1e-4)
    assert np.abs(near.basis @ near.line).max() < 1e-12


def test_second_derivatives_are_those_of_the_network_in_the_span():
    model, rows = network(k=3, seed=3)
    near = look_near(place_of(model.predict, 7), np.random.default_rng(3))
    before = near.box.ledger.n_queries
    near.bend_again(np.random.default_rng(4))
    assert near.box.ledger.n_queries - before == 1 + 3 * 6 // 2
    z = rows @ near.centers[0] + model.offsets
    curvature = model.weights * -2 * np.tanh(z) * (1 - np.tanh(z) ** 2)
    H = near.basis @ np.einsum("k,ki,kj->ij", curvature, rows, rows) @ near.basis.T
    np.testing.assert_allclose(near.bends[0], H, atol=1e-3)
    np.testing.assert_array_equal(near.bends[0], near.bends[0].T)


@pytest.mark.parametrize("activation", ["tanh", "logistic", "gelu"])
def test_two_matrices_of_second_derivatives_separate_the_units(activation):
    model, rows = network(k=3, seed=4, activation=activation)
    link = link_of(activation) if activation in ("tanh", "logistic") else identity_form(activation)
    near, rng = look_near(place_of(model.predict, 7), np.random.default_rng(5)), np.random.default_rng(6)
    near.bend_again(rng)
    near.bend_again(rng)
    start = near.start(link.odd, rng)
    found = start.A @ near.basis / link.stretch
    match = gs.match_units(found, rows)
    assert match.max_error < 1e-3
    lengths = np.linalg.norm(found, axis=1)[match.order]
    np.testing.assert_allclose(lengths, np.linalg.norm(rows, axis=1), rtol=1e-2)
    weights = np.abs(start.u / link.gain)[match.order]
    np.testing.assert_allclose(weights, np.abs(model.weights), rtol=2e-2)


def test_two_equal_directions_cannot_be_separated():
    model, rows = network(k=3, seed=5)
    rows[1] = rows[0]  # the span has two dimensions, and second derivatives three units in it
    same = gs.SigmoidCombination(rows, model.weights, 1.0, [0.5, -1.2, 0.1], 0.0)
    near, rng = look_near(place_of(same.predict, 7), np.random.default_rng(7)), np.random.default_rng(8)
    assert near.k == 2
    near.bend_again(rng)
    near.bend_again(rng)
    start = near.start(link_of("tanh").odd, rng)
    assert start is None or gs.match_units(start.A @ near.basis, rows[[0, 2]]).max_error < 1e-2


@pytest.mark.parametrize("steepness", [0.2, 1.0, 30.0])
def test_the_share_of_the_bounds_shrinks_with_steep_units(steepness):
    model, rows = network(k=2, seed=6)
    steep = gs.SigmoidCombination(steepness * rows, model.weights, 1.0, 0.1 * model.offsets, 0.0)
    near = look_near(place_of(steep.predict, 7), np.random.default_rng(9))
    arguments = near.share * steepness * np.linalg.norm(rows, axis=1).max()
    assert 0.05 < arguments < 4.0
    assert near.share <= 1.0


def test_a_constant_and_an_input_that_counts_in_steps_are_refused_with_the_cause():
    rng = np.random.default_rng(10)
    with pytest.raises(NotIdentifiable, match="looks constant"):
        look_near(place_of(lambda X: np.full(len(X), 2.0), 5), rng)

    def counts(X):
        return np.tanh(X[:, 0] + 0.5 * X[:, 1]) + np.round(3 * X[:, 4])

    with pytest.raises(NotIdentifiable, match="input 4 change nothing"):
        look_near(place_of(counts, 5), rng)
    near = look_near(place_of(lambda X: np.tanh(X[:, 0] + 0.5 * X[:, 1]), 5), rng)  # an input may count for nothing
    assert near.k == 1


def test_nothing_is_asked_outside_the_bounds():
    model, _ = network(k=3, seed=7)
    rows = []

    def watched(X):
        rows.append(X.copy())
        return model.predict(X / 3 - 2)

    place = place_of(watched, 7, half=3.0, middle=6.0)
    near = look_near(place, np.random.default_rng(11))
    near.bend_again(np.random.default_rng(12))
    asked = np.concatenate(rows)
    assert asked.min() >= 3.0
    assert asked.max() <= 9.0
    assert near.k == 3
