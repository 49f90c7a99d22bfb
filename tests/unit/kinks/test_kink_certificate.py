"""What a certificate of kinks is made of, against closed forms, random directions and networks that lack a unit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradsift.certificate import BOUND, KINKED_UNITS
from gradsift.reading.kinks.kink_certificate import (
    blind_on_path,
    bounds_of,
    certify_kinks,
    far_pair,
    look_for_far_pairs,
    near_points,
    worst_residual,
)
from gradsift.reading.kinks.near_origin import near_noise, polish_near_origin
from gradsift.reading.kinks.path_network import only
from gradsift.reading.precision import Precision

from .kinked_networks import found_on_path, ledger_of, random_net


def polished(name="relu", d=5, k=4, seed=71):
    net = random_net(name, d, k, seed)
    ledger, found = found_on_path(net)
    return net, ledger, polish_near_origin(found, ledger, np.random.default_rng(seed))


@pytest.mark.parametrize("name", ["relu", "mish"])
def test_bounds_are_a_fixed_number_of_standard_errors(name):
    _, _, near = polished(name)
    found, net = near.found, near.found.net
    bounds = bounds_of(near)
    wide = bounds_of(
        replace(
            near,
            errors=10 * near.errors,
            found=replace(found, jump_errors=10 * found.jump_errors, linear_errors=10 * found.linear_errors),
        )
    )
    for field in ("jumps", "offsets", "weights", "linear", "units", "worst"):
        np.testing.assert_allclose(getattr(wide, field), 10 * getattr(bounds, field))
    lengths = np.linalg.norm(net.jumps, axis=1)
    assert (bounds.jumps >= BOUND * found.jump_sizes).all()
    assert bounds.linear == pytest.approx(BOUND * np.linalg.norm(found.linear_errors) / lengths.max())
    assert (bounds.weights == 0).all() == net.shape.sharp
    assert bounds.worst == max(bounds.units.max(), bounds.linear)


def test_a_certificate_is_given_to_the_network_asked_and_to_no_other():
    _, ledger, near = polished(seed=73)
    rng = np.random.default_rng(1)
    X = np.concatenate([near_points(near.found, rng), far_pair(near.found, rng)])

    def verdict(one):
        miss = worst_residual(one, X, ledger.ask(X, "fresh"))
        chi = worst_residual(one, one.X, one.y)
        return certify_kinks(one, bounds_of(one), chi, miss, len(X), ledger)

    assert verdict(near).certified
    lacking = replace(near, found=only(near.found, np.arange(4) != 1), errors=np.delete(near.errors, 1))
    assert not verdict(lacking).certified
    moved = replace(near, found=replace(near.found, net=replace(near.found.net, c=near.found.net.c + 1e-6)))
    assert not verdict(moved).certified
    vague = replace(near, errors=near.errors * 1e6)
    assert not verdict(vague).certified


def test_misses_are_told_in_all_errors_that_explain_them():
    _, _, near = polished("softplus", seed=74)
    net, X = near.found.net, np.random.default_rng(2).standard_normal((6, 5))
    assert worst_residual(near, X[:0], np.empty(0)) == 0.0
    y = net.predict(X)
    y[3] += 1e-6
    lost = [np.sqrt(sum((d * e) ** 2 for d, e in zip(row, near.errors))) for row in net.near_derivatives(X)]
    expected = 1e-6 / np.hypot(near_noise(near.found, X)[3], lost[3])
    assert worst_residual(near, X, y) == pytest.approx(expected, rel=1e-6)


def test_points_that_are_held_against_a_network_come_in_opposite_pairs():
    near = polished(seed=75)[2]
    rng = np.random.default_rng(3)
    for X in (near_points(near.found, rng), far_pair(near.found, rng)):
        half = len(X) // 2
        np.testing.assert_allclose(X[:half], -X[half:])
    far = far_pair(near.found, rng)
    np.testing.assert_allclose(np.linalg.norm(far, axis=1), np.linalg.norm(far[0]))
    assert np.linalg.norm(far[0]) > near.found.path.radius
    noisy = replace(near.found, net=replace(near.found.net, grain=Precision("noisy", 0.1)))
    assert len(near_points(noisy, rng)) > len(near_points(near.found, rng)) == 2


def test_every_unit_is_active_at_one_of_two_points_far_out():
    net, _, near = polished(k=6, seed=76)
    for seed in range(30):
        pair = far_pair(near.found, np.random.default_rng(seed))
        assert ((net.arguments(pair) > 0).sum(axis=0) == 1).all()


def coarse(near, sd):
    """Return what was found as if it had been read through noise, with a noisy box that is the same network."""
    net = replace(near.found.net, grain=Precision("noisy", sd))
    return replace(near, found=replace(near.found, net=net, sigma=sd))


def test_a_second_unit_at_a_small_angle_shows_far_out_and_one_alone_does_not():
    sd, noise = 0.01, np.random.default_rng(4)
    net, _, near = polished(d=6, k=3, seed=77)
    near = coarse(near, sd)
    t = np.radians(2.0)
    aside = np.linalg.svd(net.jumps)[2][-1] * np.linalg.norm(net.jumps[0])  # across all units

    def honest(X):
        return net.predict(X) + sd * noise.standard_normal(len(X))

    def paired(X):  # unit 0 is two halves, each turned by the angle to one side
        halves = [np.cos(t) * net.jumps[0] + s * np.sin(t) * aside for s in (1.0, -1.0)]
        rest = net.only(np.arange(3) > 0).predict(X)
        bumps = sum(np.maximum((X @ half + net.q[0]) / net.w[0], 0.0) for half in halves)
        return rest + 0.5 * net.w[0] * bumps + sd * noise.standard_normal(len(X))

    alone = [look_for_far_pairs(near, ledger_of(honest, 6), np.random.default_rng(s)) for s in range(5)]
    two = [look_for_far_pairs(near, ledger_of(paired, 6), np.random.default_rng(s)) for s in range(5)]
    assert max(one.worst for one in alone) < KINKED_UNITS.residuals
    assert min(one.worst for one in two) > KINKED_UNITS.residuals
    assert all(one.n == 6 * 3 and 0 < one.blind < 2.0 for one in alone)


def test_a_longer_path_is_blind_only_at_smaller_angles():
    net = random_net("relu", d=6, k=3, seed=78)
    blind = []
    for radius in (1e4, 1e5):
        found = found_on_path(net, radius=radius)[1]
        blind.append(blind_on_path(replace(found, net=replace(found.net, grain=Precision("noisy", 1e-6)))))
    assert blind[1] == pytest.approx(blind[0] / 10, rel=0.1)
