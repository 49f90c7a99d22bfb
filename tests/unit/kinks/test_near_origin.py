"""Offsets and widths from answers near the origin: closed forms of their sizes, and errors that cover the misses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradsift.reading.kinks.near_origin import (
    NearFit,
    near_noise,
    parameter_sizes,
    polish_near_origin,
    prior_of_offsets,
    refit,
)

from .kinked_networks import found_on_path, order_of, random_net


def polished(name="relu", d=5, k=4, seed=51):
    net = random_net(name, d, k, seed)
    ledger, found = found_on_path(net)
    return net, ledger, found, polish_near_origin(found, ledger, np.random.default_rng(seed))


@pytest.mark.parametrize("name", ["relu", "softplus", "elu"])
def test_a_polish_finds_offsets_and_widths_to_the_last_digits_and_tells_how_well(name):
    net, ledger, found, near = polished(name)
    order, after = order_of(near.found.net, net), near.found.net
    side = np.sign((after.jumps[order] * net.jumps).sum(axis=1))
    misses = np.abs(after.q[order] - side * net.q)
    assert misses.max() < 1e-11
    assert misses.max() < 1e-2 * np.abs(found.net.q[order] - side * net.q).max()
    assert (misses <= 6 * near.errors[: net.k][order]).all()
    if not net.shape.sharp:
        np.testing.assert_allclose(np.abs(after.w[order]), np.abs(net.w), atol=1e-10)
        assert (np.abs(np.abs(after.w[order]) - np.abs(net.w)) <= 6 * near.errors[net.k : -1][order]).all()
    X = np.random.default_rng(1).standard_normal((50, 5))
    np.testing.assert_allclose(after.predict(X), net.predict(X), atol=1e-10)
    assert near.scatter < 2
    assert ledger.spent["polish"] <= (1 if net.shape.sharp else 6) * (net.k + 12)


def test_another_network_is_judged_by_its_misses():
    near = polished("gelu")[3]
    other = replace(near.found.net, c=near.found.net.c + 1e-6)
    misses = (near.y - other.predict(near.X)) / near.noise
    assert near.half_chi(other) == pytest.approx(0.5 * np.sum(misses**2))
    assert near.half_chi(other) > 1e3 + near.half_chi(near.found.net)
    back = refit(near, other)
    assert near.half_chi(back) < near.half_chi(near.found.net) + 1
    assert abs(back.c - near.found.net.c) < 1e-3 * 1e-6
    np.testing.assert_array_equal(back.jumps, other.jumps)


def test_a_polish_with_earlier_answers_keeps_them_and_is_no_worse():
    _, ledger, _, near = polished("softplus")
    again = polish_near_origin(near.found, ledger, np.random.default_rng(9), near)
    np.testing.assert_array_equal(again.X[: len(near.X)], near.X)
    assert isinstance(again, NearFit)
    assert (again.errors <= near.errors * (1 + 1e-6)).all()


def test_noise_near_the_origin_is_rounding_and_what_errors_of_jumps_become():
    net = random_net("softplus", d=4, k=3, seed=53)
    found = found_on_path(net)[1]
    wide = replace(found, jump_errors=np.full((3, 4), 1e-3), linear_errors=np.full(4, 1e-4))
    rng = np.random.default_rng(3)
    X = rng.standard_normal((5, 4))
    draws = np.array(
        [
            replace(
                found.net,
                jumps=found.net.jumps + 1e-3 * rng.standard_normal((3, 4)),
                g=found.net.g + 1e-4 * rng.standard_normal(4),
            ).predict(X)
            for _ in range(3000)
        ]
    )
    np.testing.assert_allclose(near_noise(wide, X), draws.std(axis=0), rtol=0.06)
    assert (near_noise(found, X) < 1e-6).all()


def test_sizes_of_parameters_scale_with_the_network():
    net = random_net("gelu", d=4, k=3, seed=54)
    sizes = parameter_sizes(net)
    distances = np.abs(net.q) / np.linalg.norm(net.jumps, axis=1)
    assert sizes.shape == (7,)
    np.testing.assert_allclose(
        sizes[:3], np.linalg.norm(net.jumps, axis=1) * np.maximum(distances, np.median(distances))
    )
    np.testing.assert_allclose(sizes[3:6], np.abs(net.w))
    five = replace(net, jumps=5 * net.jumps, q=5 * net.q, w=5 * net.w, c=5 * net.c)
    np.testing.assert_allclose(parameter_sizes(five), 5 * sizes)
    assert parameter_sizes(random_net("relu", d=4, k=3, seed=54)).shape == (4,)


def test_what_is_known_of_offsets_beforehand_covers_their_misses_and_a_placed_one_is_known_better():
    net = random_net("relu", d=5, k=4, seed=55)
    found = found_on_path(net)[1]
    q, c = prior_of_offsets(found)
    order = order_of(found.net, net)
    side = np.sign((found.net.jumps[order] * net.jumps).sum(axis=1))
    assert (np.abs(found.net.q[order] - side * net.q) < q[order]).all()
    placed = replace(found, placed=np.array([1e-12, np.inf, np.inf, np.inf]))
    better, same = prior_of_offsets(placed)
    assert better[0] < q[0]
    np.testing.assert_array_equal(better[1:], q[1:])
    assert same == c
