"""Moves keep the function where they should, and choose what a double loop would choose."""

from __future__ import annotations

import numpy as np
import pytest

from gradsift.activations import get_activation
from gradsift.fit import Family, Parameters, predict
from gradsift.fit.moves import (
    bending_direction,
    merged,
    nearest_pair,
    price_without,
    prune,
    split,
    with_units,
    without,
)
from gradsift.sources import Rows

TANH = get_activation("tanh")


def network(k: int = 4, d: int = 3, seed: int = 0) -> Parameters:
    rng = np.random.default_rng(seed)
    return Parameters(rng.standard_normal((k, d)), rng.standard_normal(k), rng.standard_normal(k), 0.3)


def test_a_unit_added_and_dropped_again_leaves_the_network_as_it_was():
    theta = network()
    again = without(with_units(theta, np.ones(3), 0.7, 0.1), 4)
    for left, right in zip(theta[:4], again[:4]):
        np.testing.assert_array_equal(left, right)


def test_halves_of_a_unit_that_are_not_moved_apart_are_the_unit_and_merge_to_it():
    theta, X = network(), np.random.default_rng(1).standard_normal((20, 3))
    halves = split(theta, 2, np.zeros(3))
    assert len(halves.u) == 5
    np.testing.assert_allclose(predict(halves, X, TANH), predict(theta, X, TANH), atol=1e-14)
    np.testing.assert_allclose(
        predict(merged(halves, *nearest_pair(halves)), X, TANH), predict(theta, X, TANH), atol=1e-14
    )


def test_opposite_units_merge_with_their_signs_turned():
    theta = network(2)
    turned = with_units(theta, -theta.A[1], -0.5, -theta.b[1])
    X = np.random.default_rng(1).standard_normal((20, 3))
    np.testing.assert_allclose(
        predict(merged(turned, *nearest_pair(turned)), X, TANH), predict(turned, X, TANH), atol=1e-14
    )


def test_the_price_of_a_feature_is_what_leaving_it_out_costs():
    rng = np.random.default_rng(2)
    features, y = rng.standard_normal((50, 4)), rng.standard_normal(50)

    def squares(columns):
        left = y - features[:, columns] @ np.linalg.lstsq(features[:, columns], y, rcond=None)[0]
        return float(left @ left)

    prices = price_without(features.T @ features, features.T @ y)
    costs = [squares([j for j in range(4) if j != i]) - squares(list(range(4))) for i in range(4)]
    np.testing.assert_allclose(prices, costs, rtol=1e-9)


def test_pruning_drops_the_unit_that_is_not_needed():
    theta = network()
    X = np.random.default_rng(3).standard_normal((300, 3))
    spare = with_units(theta, np.array([0.2, -0.1, 3.0]), 1e-9, 0.0)
    kept = prune(spare, Family.of("tanh", offsets=True, intercept=True), Rows(X, predict(theta, X, TANH), None), 4)
    np.testing.assert_array_equal(kept.A, theta.A)
    np.testing.assert_allclose(kept.u, theta.u, atol=1e-4)


def test_residuals_of_a_pair_bend_along_the_line_between_its_units():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((4000, 3))
    a, v = np.array([1.5, 0.0, 0.0]), np.array([0.0, 0.3, 0.4])
    residual = 0.5 * np.tanh(X @ (a + v)) + 0.5 * np.tanh(X @ (a - v)) - np.tanh(X @ a)
    found = bending_direction(X, residual * TANH.second_derivative(X @ a))
    assert abs(found @ v) / np.linalg.norm(v) == pytest.approx(1.0, abs=0.02)
