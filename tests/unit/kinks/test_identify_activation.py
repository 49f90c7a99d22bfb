"""Where a function is straight, one layer or several, and which activation: told from few answers, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from gradsift.reading.kinks.identify_activation import (
    LinearReach,
    find_reach,
    identify_activation,
    largest_radius,
    odd_part_is_linear,
)
from gradsift.reading.kinks.kink_network import growing_names, joined, shape_of
from gradsift.reading.precision import EXACT_ANSWERS, Precision

from .kinked_networks import ledger_of, random_net


@pytest.mark.parametrize("name", growing_names())
def test_the_activation_is_told_from_a_single_kink(name):
    for seed in (0, 1):
        net = random_net(name, d=6, k=5, seed=60 + seed)
        ledger, rng = ledger_of(net.predict, 6), np.random.default_rng(seed)
        reach = find_reach(ledger, rng, both_ways=True)
        before = ledger.n_queries
        seen = identify_activation(ledger, reach, rng)
        assert seen.name == ("relu" if net.shape.sharp else name), seen.says
        assert (seen.n_sharp > 0) == net.shape.sharp
        assert ledger.n_queries - before < 150


def test_a_network_of_two_kinds_shows_its_sharp_kinks_beside_the_smooth_ones():
    smooth, sharp = random_net("gelu", d=6, k=3, seed=62), random_net("relu", d=6, k=5, seed=63)
    ledger, rng = ledger_of(lambda X: smooth.predict(X) + sharp.predict(X), 6), np.random.default_rng(2)
    reach = find_reach(ledger, rng, both_ways=True)
    seen = [identify_activation(ledger, reach, rng, all_kinks=True) for _ in range(4)]
    assert {one.name for one in seen} == {"gelu", "relu"} or any(one.name == "gelu" and one.n_sharp for one in seen)


def test_an_unknown_shape_has_no_name_and_steps_are_told_from_kinks():
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((3, 5)), rng.standard_normal(3)
    reach = LinearReach(8.0, True, 1.0)
    steps = identify_activation(ledger_of(lambda X: np.tanh(X @ a.T + b).sum(axis=1) + X @ a[0], 5), reach, rng)
    assert steps.name is None
    assert "steps between parallel lines" in steps.says

    def root(X):  # sqrt(1 + z^2) is bent all the way out
        return np.sqrt(1 + (X @ a.T + b) ** 2).sum(axis=1)

    assert identify_activation(ledger_of(root, 5), reach, rng).name is None
    line = identify_activation(ledger_of(lambda X: X @ a[0], 5), reach, rng)
    assert (line.name, line.n_sharp) == (None, 0)


def test_the_reach_is_where_a_ray_becomes_straight():
    def f(X):  # along every ray the only kink lies at a radius of 20
        return np.maximum(np.linalg.norm(X, axis=1) - 20.0, 0.0) + X[:, 1]

    reach = find_reach(ledger_of(f, 3), np.random.default_rng(0), both_ways=False)
    assert reach.radius == 64.0
    assert reach.grows
    curved = ledger_of(lambda X: (X**2).sum(axis=1), 3)
    assert find_reach(curved, np.random.default_rng(0), both_ways=False) is None


def test_the_reach_grows_with_the_network_and_its_slope_is_that_far_out():
    net = random_net("softplus", d=4, k=3, seed=64)
    steepest = np.linalg.norm(net.g) + np.linalg.norm(net.jumps, axis=1).sum()
    for scale in (1.0, 8.0, 64.0):
        ledger = ledger_of(lambda X: net.predict(X / scale), 4)  # noqa: B023
        reach = find_reach(ledger, np.random.default_rng(5), both_ways=True)
        assert reach.grows
        if scale == 1.0:
            first = reach
        assert reach.radius == scale * first.radius
        # another ray may be asked beside one that goes suspiciously far
        assert first.slope * (1 - 1e-6) <= reach.slope * scale <= steepest


def test_sigmoids_do_not_grow_and_units_that_rest_on_one_side_do():
    w = np.array([1.0, 2.0, -1.0])
    for seed in range(6):
        rng = np.random.default_rng(seed)
        flat = find_reach(ledger_of(lambda X: np.tanh(X @ w), 3), rng, both_ways=False)
        assert not flat.grows
        one = find_reach(ledger_of(lambda X: np.maximum(X @ w - 1, 0), 3), rng, both_ways=False)
        assert one.grows


def test_coarse_answers_start_nearer_and_end_nearer():
    noisy = Precision("noisy", 0.1)
    assert largest_radius(EXACT_ANSWERS) == 8 * largest_radius(noisy)
    rng = np.random.default_rng(6)
    net = random_net("relu", d=4, k=3, seed=65)
    ledger = ledger_of(lambda X: net.predict(X) + 0.1 * rng.standard_normal(len(X)), 4)
    reach = find_reach(ledger, rng, both_ways=False, grain=noisy)
    assert reach.grows
    assert reach.radius <= largest_radius(noisy)


@pytest.mark.parametrize("name", ["relu", "gelu", "elu"])
def test_the_odd_part_of_one_layer_is_linear_far_out_and_of_two_it_is_not(name):
    one, other = random_net(name, d=5, k=6, seed=66), random_net(name, d=5, k=4, seed=67)
    f = shape_of(name).activation.value

    def deep(X):
        return f(np.stack([one.predict(X), other.predict(X), joined(one, other).predict(X) - X[:, 0]], axis=1)).sum(
            axis=1
        )

    for seed in range(5):
        reach, rng = LinearReach(64.0, True, 1.0), np.random.default_rng(seed)
        ledger = ledger_of(one.predict, 5)
        assert odd_part_is_linear(ledger, reach, rng)
        assert ledger.n_queries == 6
        assert not odd_part_is_linear(ledger_of(deep, 5), reach, rng)
