"""Offsets and widths of single units through noise, against the truth and their own errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradsift.reading.kinks.kink_network import KinkNet, shape_of
from gradsift.reading.kinks.near_origin import polish_near_origin, refit
from gradsift.reading.kinks.other_activations import rivals_of, split_units
from gradsift.reading.kinks.single_units import measure_widths, other_widths, place_parallel_units
from gradsift.reading.precision import Precision

from .kinked_networks import found_on_path, ledger_of, random_net


def sharp_start(net, sd):
    """Return what a path far out shows of a network through noise: sharp kinks, known exactly there."""
    sharp = replace(net, shape=shape_of("relu"), w=np.sign(net.w), turns=np.ones(net.k))
    found = found_on_path(sharp, radius=1e5)[1]
    return replace(found, net=replace(found.net, grain=Precision("noisy", sd)), sigma=sd)


def noisy(net, sd, seed):
    rng = np.random.default_rng(seed)
    return ledger_of(lambda X: net.predict(X) + sd * rng.standard_normal(len(X)), net.jumps.shape[1])


@pytest.mark.parametrize("name", ["softplus", "gelu", "silu"])
def test_widths_are_told_by_answers_across_each_hyperplane_with_errors_that_cover_their_misses(name):
    net, sd, off = random_net(name, d=5, k=3, seed=81), 1e-4, []
    start = sharp_start(net, sd)
    for seed in range(4):
        ledger, rng = noisy(net, sd, seed), np.random.default_rng(seed)
        blurred = replace(start.net.shape, blur=600.0)  # no answers where kinks may be rounded
        offsets = polish_near_origin(replace(start, net=replace(start.net, shape=blurred)), ledger, rng)
        wide = measure_widths(offsets, net.shape, 60.0, ledger, rng)
        found = wide.found.net
        lengths = np.linalg.norm(found.jumps, axis=1)
        order = np.argmin([[np.abs(np.abs(j) - np.abs(t)).max() for t in net.jumps] for j in found.jumps], axis=1)
        off.append((np.abs(found.w) - np.abs(net.w[order])) / wide.found.weight_errors)
        assert (np.sign(found.w) == np.sign(net.w[order])).all()
        assert (wide.found.weight_errors < np.abs(found.w)).all()
        assert ledger.spent["widths"] == 14 + 8 * 2
        assert wide.found.net.shape is net.shape
        assert lengths == pytest.approx(np.linalg.norm(net.jumps[order], axis=1))
    assert np.abs(off).max() < 5


def test_widths_that_are_known_are_left_and_a_wrong_one_is_tried_again():
    net, sd = random_net("softplus", d=4, k=3, seed=82), 1e-3
    start = found_on_path(net)[1]
    start = replace(start, net=replace(start.net, grain=Precision("noisy", sd)), sigma=sd)
    near = polish_near_origin(start, noisy(net, sd, 1), np.random.default_rng(1))
    assert other_widths(near) is None
    w = near.found.net.w.copy()
    w[0] *= 25.0
    lost = replace(near, found=replace(near.found, net=replace(near.found.net, w=w)))
    doubted = replace(lost, errors=np.where(np.arange(7) == 3, 100.0, lost.errors))
    again = other_widths(doubted)
    assert abs(again.found.net.w[0]) == pytest.approx(abs(near.found.net.w[0]), rel=0.5)
    assert again.half_chi(again.found.net) < 0.1 * lost.half_chi(lost.found.net)


def two_beside(degrees, apart, d=6):
    """Return two nearly parallel sharp units and one across."""
    rng, t = np.random.default_rng(83), np.radians(degrees)
    e = np.linalg.qr(rng.standard_normal((d, d)))[0].T
    jumps = np.array([2.0 * e[0], 1.5 * (np.cos(t) * e[0] + np.sin(t) * e[1]), e[2]])
    return KinkNet(shape_of("relu"), jumps, np.array([apart, -apart, 0.4]), np.ones(3), np.ones(3), e[3], 0.2)


def test_offsets_of_parallel_units_are_told_far_along_them_and_of_no_others():
    net, sd = two_beside(3.0, 0.7), 0.01
    start = sharp_start(net, sd)
    vague = replace(start, net=replace(start.net, q=start.net.q + 0.2))  # as a path far out knows them through noise
    order = np.argmin(np.linalg.norm(np.abs(start.net.jumps[:, None]) - np.abs(net.jumps), axis=2), axis=1)
    side = np.sign((start.net.jumps * net.jumps[order]).sum(axis=1))
    ledger = noisy(net, sd, 3)
    placed = place_parallel_units(vague, ledger, np.random.default_rng(3))
    beside = order < 2
    misses = np.abs(placed.net.q - side * net.q[order])
    assert (misses[beside] < 5 * placed.placed[beside]).all()
    assert (placed.placed[beside] < 10 * sd).all()
    assert placed.net.q[~beside] == vague.net.q[~beside]
    assert np.isinf(placed.placed[~beside]).all()
    assert set(ledger.spent) == {"beside"}
    apart = two_beside(60.0, 0.7)
    silent = noisy(apart, sd, 4)
    place_parallel_units(sharp_start(apart, sd), silent, np.random.default_rng(4))
    assert silent.n_queries == 0


def test_a_parallel_pair_gains_by_being_split_and_single_units_do_not():
    sd, e = 0.01, np.eye(4)
    pair = KinkNet(
        shape_of("relu"),
        np.array([1.2 * e[0], 0.8 * e[0], e[1]]),
        np.array([0.6, -0.9, 0.3]),
        np.ones(3),
        np.ones(3),
        e[2],
        0.1,
    )
    one = replace(pair, jumps=np.array([2.0 * e[0], e[1]]), q=np.array([-0.3, 0.3]), w=np.ones(2), turns=np.ones(2))
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, (300, 4))
    for true, n_split in ((pair, 1), (one, 0)):
        start = sharp_start(one, sd)
        near = polish_near_origin(start, noisy(true, sd, 6), rng)
        near = replace(near, X=X, y=true.predict(X) + sd * rng.standard_normal(300), noise=np.full(300, sd))
        near = replace(near, found=replace(near.found, net=refit(near, near.found.net)))
        split = split_units(near, near.found.net)
        assert split.n_split == n_split
        assert split.half_chi <= near.half_chi(near.found.net)
        if n_split:
            assert split.apart == pytest.approx(0.6 / 1.2 + 0.9 / 0.8, rel=0.1)
            assert split.half_chi < 0.1 * near.half_chi(near.found.net)
            np.testing.assert_allclose(split.net.jumps.sum(axis=0), near.found.net.jumps.sum(axis=0), atol=1e-9)


def test_other_activations_explain_the_answers_worse_unless_noise_hides_them():
    net = random_net("softplus", d=4, k=2, seed=84)
    start = found_on_path(net)[1]
    X, rng = np.random.default_rng(7).uniform(-3, 3, (120, 4)), np.random.default_rng(8)
    for sd, told in ((1e-3, True), (10.0, False)):
        found = replace(start, net=replace(start.net, grain=Precision("rounded", sd)), sigma=sd)
        near = polish_near_origin(start, ledger_of(net.predict, 4), rng)
        near = replace(near, found=found, X=X, y=net.predict(X) + sd * rng.standard_normal(120), noise=np.full(120, sd))
        rivals = rivals_of(near, 10.0)
        assert (rivals.gain < -50) == told
        assert ("silu" in rivals.alike) == (not told)
        assert rivals.paired is None  # no noise: answers repeat
