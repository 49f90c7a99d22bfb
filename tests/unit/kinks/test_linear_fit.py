"""All parameters at once where the network is linear in them: against differences, and against their own errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradsift.reading.kinks.kink_network import KinkNet, shape_of
from gradsift.reading.kinks.linear_fit import fit_far_out, fit_region, informative_places, linear_rows, mirrored
from gradsift.reading.kinks.path_network import only
from gradsift.reading.kinks.region_ledger import Heard
from gradsift.reading.kinks.segments import PathFailure

from .kinked_networks import found_on_path, order_of, random_net


def parameters(net):
    """Return linear term and jumps, each with its constant, (k + 1, d + 1)."""
    return np.column_stack([np.vstack([net.g, net.jumps]), np.append(net.c, net.q)])


def test_rows_given_who_is_active_are_derivatives_of_the_network():
    net = replace(random_net("relu", d=4, k=3, seed=41), w=np.ones(3))
    X = np.random.default_rng(1).standard_normal((30, 4))
    inputs, active = np.column_stack([X, np.ones(30)]), net.arguments(X) > 0
    rows = linear_rows(inputs, active)
    assert rows.shape == (30, 20)
    np.testing.assert_allclose(rows @ parameters(net).ravel(), net.predict(X), atol=1e-12)
    for i, step in enumerate(1e-7 * np.eye(20)):
        values = parameters(net) + step.reshape(4, 5)
        moved = replace(net, jumps=values[1:, :4], q=values[1:, 4], g=values[0, :4], c=float(values[0, 4]))
        clear = np.abs(net.arguments(X)).min(axis=1) > 1e-5
        np.testing.assert_allclose(((moved.predict(X) - net.predict(X)) / 1e-7)[clear], rows[clear, i], atol=1e-6)


@pytest.mark.parametrize("name", ["relu", "softplus"])
def test_a_fit_far_out_brings_all_jumps_nearer_to_the_truth(name):
    net = random_net(name, d=6, k=4, seed=42)
    ledger, found = found_on_path(net)
    rough = replace(
        found,
        net=replace(found.net, jumps=found.net.jumps * (1 + 1e-7)),
        jump_errors=found.jump_errors + 1e-7 * np.linalg.norm(found.net.jumps, axis=1)[:, None],
    )
    before = ledger.n_queries
    better = fit_far_out(rough, ledger, np.random.default_rng(2), 1e-8)
    assert 5 * 7 < ledger.n_queries - before <= 5 * 5 * 7
    order = order_of(better.net, net)

    def misses(one):
        away = [np.minimum(*(np.linalg.norm(one.net.jumps[order] - s * net.jumps, axis=1) for s in (1.0, -1.0)))]
        return away[0] / np.linalg.norm(net.jumps, axis=1)

    assert misses(better).max() < 0.01 * misses(rough).max()
    assert (misses(better) <= 5 * better.jump_sizes[order]).all()
    assert better.jump_sizes.max() < 1e-10


def test_a_unit_that_was_missed_fails_the_fit_far_out():
    ledger, found = found_on_path(random_net("relu", d=5, k=4, seed=43))
    fewer = only(found, np.arange(4) != 2)
    failure = fit_far_out(fewer, ledger, np.random.default_rng(3), 1e-8)
    assert isinstance(failure, PathFailure)
    assert "miss a linear fit" in str(failure)


def test_a_fit_within_a_region_knows_its_own_errors():
    rng = np.random.default_rng(8)
    d, k = 4, 3
    jumps, q, g = rng.standard_normal((k, d)), 0.3 * rng.standard_normal(k), rng.standard_normal(d)
    true = KinkNet(shape_of("relu"), jumps, q, np.ones(k), np.ones(k), g, 0.7)
    start = replace(true, jumps=jumps + 1e-3 * rng.standard_normal((k, d)), g=0 * g, c=0.0)
    places = informative_places(rng.uniform(-1, 1, (2000, d)), start, 60, rng)
    active = true.arguments(places) > 0
    assert (active.mean(axis=0) > 0.2).all()
    assert (active.mean(axis=0) < 0.8).all()
    sd, off = 1e-9, []
    for _ in range(20):
        noise = sd * rng.standard_normal(60)
        fit = fit_region(start, Heard(places, true.predict(places) + noise, np.full(60, sd)))
        off.append(((parameters(fit.net) - parameters(true)) / fit.errors).ravel())
    assert 0.8 < np.std(off) < 1.25
    assert 0.8 < fit.scatter < 1.25
    assert fit.missed(Heard(places, true.predict(places) + 1e-7, np.full(60, sd))).min() > 12  # another function


def test_a_region_whose_answers_leave_a_unit_open_says_so():
    rng = np.random.default_rng(9)
    net = KinkNet(shape_of("relu"), np.eye(3)[:1], np.array([5.0]), np.ones(1), np.ones(1), np.zeros(3), 0.0)
    places = rng.uniform(-1, 1, (40, 3))  # the unit is active everywhere: it looks like a line
    fit = fit_region(net, Heard(places, net.predict(places), np.full(40, 1e-12)))
    assert not fit.scatter < 1e3 or fit.errors.max() > 1.0


def test_places_moved_across_a_hyperplane_lie_on_its_other_side():
    rng = np.random.default_rng(9)
    net = KinkNet(
        shape_of("relu"), np.array([[2.0, 1.0, 0.0]]), np.array([0.5]), np.ones(1), np.ones(1), np.zeros(3), 0.0
    )
    places = rng.standard_normal((40, 3))
    moved = mirrored(places, net, rng)
    assert (net.arguments(places) * net.arguments(moved) < 0).all()
    np.testing.assert_allclose(np.cross(moved - places, net.jumps[0]), 0, atol=1e-12)
    nobody = net.only(np.zeros(1, dtype=bool))
    assert mirrored(places, nobody, rng) is places


def test_rare_sides_are_drawn_as_often_as_common_ones():
    rng = np.random.default_rng(10)
    net = KinkNet(shape_of("relu"), np.eye(3)[:1], np.array([-2.0]), np.ones(1), np.ones(1), np.zeros(3), 0.0)
    candidates = rng.standard_normal((20000, 3))
    assert (net.arguments(candidates) > 0).mean() < 0.03
    drawn = informative_places(candidates, net, 300, rng)
    assert 0.4 < (net.arguments(drawn) > 0).mean() < 0.6
    assert len(np.unique(drawn, axis=0)) == 300
