"""The network that one path shows, against the one that was asked, and its jumps through far points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradsift.reading.kinks.kink_network import shape_of
from gradsift.reading.kinks.kink_test import Bend
from gradsift.reading.kinks.path_network import fit_path, only, through_far_points
from gradsift.reading.kinks.segments import PathFailure
from gradsift.reading.precision import EXACT_ANSWERS

from .kinked_networks import fitted_path, found_on_path, ledger_of, order_of, path_for, random_net


@pytest.mark.parametrize("name", ["relu", "gelu", "elu"])
@pytest.mark.parametrize(("d", "k"), [(3, 2), (7, 9)])
def test_one_path_shows_every_unit_with_errors_that_cover_its_misses(name, d, k):
    net = random_net(name, d=d, k=k, seed=31)
    found = found_on_path(net)[1]
    assert found.net.k == k
    order, frame = order_of(found.net, net), found.path.frame
    assert sorted(order) == list(range(k))
    for unit, at in enumerate(order):
        away = frame.to_frame(np.stack([found.net.jumps[at] - s * net.jumps[unit] for s in (1.0, -1.0)]))
        miss = away[np.argmin(np.linalg.norm(away, axis=1))]
        assert (np.abs(miss[2:]) <= 5 * found.jump_errors[at, 2:]).all()
        assert np.linalg.norm(miss[:2]) <= 5 * np.hypot(found.jump_errors[at, 0], found.aside_errors[1 + at])
        assert found.jump_sizes[at] < 1e-7
        assert abs(found.net.w[at]) == pytest.approx(1.0 if net.shape.sharp else abs(net.w[unit]), rel=1e-3)
    X = 1e4 * np.random.default_rng(1).standard_normal((50, d))
    np.testing.assert_allclose(found.net.predict(X), net.predict(X), atol=1e-7 * np.abs(net.predict(X)).max())


def test_errors_of_arguments_are_those_of_random_jumps():
    net = random_net("relu", d=4, k=2, seed=32)
    found, rng = found_on_path(net)[1], np.random.default_rng(2)
    X = rng.standard_normal((3, 4))
    draws = rng.standard_normal((4000, 2, 4)) * found.jump_errors
    spread = (X @ found.path.frame.from_frame(draws.reshape(-1, 4)).T).reshape(3, 4000, 2).std(axis=1)
    np.testing.assert_allclose(found.argument_errors(X)[:, 1:], spread, rtol=0.06)


def test_jumps_are_turned_in_one_direction_until_they_vanish_at_the_crossing():
    net = random_net("relu", d=5, k=3, seed=33)
    found = found_on_path(net)[1]
    moved = replace(found.net, q=found.net.q + 0.1)
    through = through_far_points(found, moved)
    heights = (through.jumps * found.far_points).sum(axis=1) + moved.q
    np.testing.assert_allclose(heights, 0.0, atol=1e-9)
    change = through.jumps - found.net.jumps
    np.testing.assert_allclose(change, (change * found.asides).sum(axis=1)[:, None] * found.asides, atol=1e-14)
    assert np.abs(change).max() < 0.1 / 1e3  # a lever as long as the path


def test_what_is_known_about_some_units_is_told_of_them_alone():
    found = found_on_path(random_net("relu", d=5, k=4, seed=34))[1]
    keep = np.array([True, False, False, True])
    part = only(found, keep)
    assert part.net.k == 2
    for name in ("jump_errors", "weight_errors", "far_points", "asides", "placed"):
        np.testing.assert_array_equal(getattr(part, name), getattr(found, name)[keep])
    np.testing.assert_array_equal(part.aside_errors, found.aside_errors[[0, 1, 4]])


def test_a_path_over_another_activation_is_a_failure():
    net = random_net("softplus", d=5, k=3, seed=37)
    ledger, fitted = fitted_path(net)
    assert fitted.chi < 30
    assert fitted.scatter < 10 * fitted.sigma
    for other in ("relu", "gelu", "mish"):
        failure = fit_path(ledger, fitted.path, Bend(shape_of(other), 1.0), EXACT_ANSWERS, 30.0)
        assert isinstance(failure, PathFailure)


def test_a_function_without_kinks_has_none_on_the_path():
    net = random_net("relu", d=4, k=1, seed=36)
    ledger = ledger_of(lambda X: X @ net.g + 1.0, 4)
    fitted = fit_path(ledger, path_for(net), Bend(net.shape, 1.0), EXACT_ANSWERS, 30.0)
    assert not any(segment.kinks for segment in fitted.segments)
    assert ledger.n_queries == 9
