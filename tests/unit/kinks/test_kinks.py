"""The parts of the method for kinked units, each against a second way of getting its numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gradsift as gs
from gradsift.reading.kinks.cells import bases_of
from gradsift.reading.kinks.identify_activation import find_reach
from gradsift.reading.kinks.kink_network import KinkNet, growing_names, shape_of
from gradsift.reading.kinks.kink_test import Kink, Piece, bend_between
from gradsift.reading.kinks.linear_fit import fit_region, mirrored, telling_places
from gradsift.reading.kinks.region_ledger import Heard, RegionLedger
from gradsift.reading.kinks.segments import SegmentScan, fit_segment, half_square
from gradsift.reading.ledger import Ledger
from gradsift.reading.region import Region


@pytest.mark.parametrize("name", growing_names())
def test_a_shape_is_the_activation_written_as_a_kink_and_a_rest(name):
    shape = shape_of(name)
    t = np.linspace(-9, 9, 181)
    z = t + shape.corner
    rebuilt = shape.slope * z + shape.level + shape.gain * (np.maximum(t, 0) + shape.rest(t))
    np.testing.assert_allclose(rebuilt, shape.activation.value(z), atol=1e-13)
    assert np.abs(shape.rest(np.array([-59.0, 59.0]))).max() < 1e-13
    assert shape.even == np.allclose(shape.rest(t), shape.rest(-t), atol=1e-13)
    smooth = t[np.abs(t) > 0.05]
    slopes = (shape.rest(smooth + 1e-6) - shape.rest(smooth - 1e-6)) / 2e-6
    np.testing.assert_allclose(shape.rest_slope(smooth), slopes, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in growing_names() if not shape_of(name).sharp])
def test_a_width_is_read_back_from_the_height_of_the_rest(name):
    shape = shape_of(name)
    for t in (0.3, 0.8, 2.0):
        ratio = abs(float(shape.rest(np.array(-t)))) / t
        assert shape.argument(ratio, -1.0) == pytest.approx(t, rel=1e-9)
    far = shape.flat(1e-12)
    assert np.abs(shape.rest(np.array([-far - 1, far + 1]))).max() < 1e-12


def test_two_lines_meet_where_they_should_and_short_ones_say_how_badly():
    left, right = Piece([0.0, 1.0], [1.0, 2.0]), Piece([5.0, 6.0], [0.0, -1.0])
    place, change, error = bend_between(left, right)
    assert place == pytest.approx(2.0)
    assert change == pytest.approx(-2.0)
    assert error == pytest.approx(np.hypot(left.error(2.0), right.error(2.0)) / 2)
    assert left.error(2.0) > left.error(0.5)
    assert left.holds(3.0, 4.0, 1e-9)
    assert not left.holds(3.0, 4.1, 1e-9)


def test_the_reach_is_where_a_ray_becomes_straight():
    def f(X):  # along every ray the only kink lies at a radius of 20
        return np.maximum(np.linalg.norm(X, axis=1) - 20.0, 0.0) + X[:, 1]

    ledger = Ledger(gs.Oracle(f, 3))
    reach = find_reach(ledger, np.random.default_rng(0), both_ways=False)
    assert reach.radius == 64.0
    assert reach.grows
    curved = Ledger(gs.Oracle(lambda X: (X**2).sum(axis=1), 3))
    assert find_reach(curved, np.random.default_rng(0), both_ways=False) is None


def test_a_hyperplane_near_the_origin_crosses_the_path():
    rng = np.random.default_rng(1)
    path = half_square(100.0, 3.0, 5, rng)
    corners = np.array([segment.points(t) for segment in path.segments for t in (0.0, segment.length)])
    np.testing.assert_allclose(corners[1], corners[2], atol=1e-12)
    for _ in range(200):
        normal = path.frame.plane.T @ rng.standard_normal(2)
        offset = rng.uniform(-1.4, 1.4) * np.linalg.norm(normal)
        signs = np.sign(corners @ normal + offset)
        assert len(set(signs)) == 2


@pytest.mark.parametrize("name", ["relu", "softplus", "mish"])
def test_a_leg_is_settled_to_rounding_and_its_errors_are_of_the_right_size(name):
    shape, rng = shape_of(name), np.random.default_rng(2)
    segment = half_square(100.0, 3.0, 4, rng).segments[0]
    true = [Kink(30.0, 1.5, 0.0 if shape.sharp else 2.0, 1.0), Kink(80.0, -0.7, 0.0 if shape.sharp else 3.0, 1.0)]
    t = np.sort(np.concatenate([rng.uniform(0, segment.length, 30), [29.6, 30.4, 79.7, 80.3, 29.2, 30.8]]))

    def height(at):
        total = 0.3 + 0.2 * at
        for kink in true:
            away = at - kink.place
            total = total + kink.change * np.maximum(away, 0)
            if kink.width:
                total = total + kink.change / kink.width * shape.rest(kink.width * away)
        return total

    sigma, misses = 1e-6, []
    for _ in range(40):
        start = tuple(Kink(k.place + 1e-3, k.change * 1.001, k.width * 1.01, 1.0) for k in true)
        settled = fit_segment(
            shape, SegmentScan(segment, start, t, height(t) + sigma * rng.standard_normal(len(t))), sigma
        )
        misses.append((settled.slopes() - [0.2, 1.7, 1.0]) / (sigma * settled.slope_errors()))
        assert settled.chi < 5
    assert 0.8 < np.sqrt(np.mean(np.square(misses))) < 1.25  # 120 numbers: 0.065 is one standard error


def test_a_fit_within_a_region_knows_its_own_errors():
    rng = np.random.default_rng(8)
    d, k = 4, 3
    jumps, q, g = rng.standard_normal((k, d)), 0.3 * rng.standard_normal(k), rng.standard_normal(d)
    true = KinkNet(shape_of("relu"), jumps, q, np.ones(k), np.ones(k), g, 0.7)
    start = replace(true, jumps=jumps + 1e-3 * rng.standard_normal((k, d)), g=0 * g, c=0.0)
    places = telling_places(rng.uniform(-1, 1, (2000, d)), start, 60, rng)
    active = true.arguments(places) > 0
    assert (active.mean(axis=0) > 0.2).all()
    assert (active.mean(axis=0) < 0.8).all()
    sd, off = 1e-9, []
    for _ in range(20):
        noise = sd * rng.standard_normal(60)
        fit = fit_region(start, Heard(places, true.predict(places) + noise, np.full(60, sd)))
        found = np.column_stack([np.vstack([fit.net.g, fit.net.jumps]), np.append(fit.net.c, fit.net.q)])
        wanted = np.column_stack([np.vstack([g, jumps]), np.append(0.7, q)])
        off.append(((found - wanted) / fit.errors).ravel())
    assert 0.8 < np.std(off) < 1.25
    assert 0.8 < fit.scatter < 1.25
    assert fit.missed(Heard(places, true.predict(places) + 1e-7, np.full(60, sd))).min() > 12  # another function


def test_places_moved_across_a_hyperplane_lie_on_its_other_side():
    rng = np.random.default_rng(9)
    net = KinkNet(
        shape_of("relu"), np.array([[2.0, 1.0, 0.0]]), np.array([0.5]), np.ones(1), np.ones(1), np.zeros(3), 0.0
    )
    places = rng.standard_normal((40, 3))
    moved = mirrored(places, net, rng)
    assert (net.arguments(places) * net.arguments(moved) < 0).all()
    np.testing.assert_allclose(np.cross(moved - places, net.jumps[0]), 0, atol=1e-12)


def test_the_corner_is_known_no_better_than_the_leg_that_ends_right_behind_a_kink():
    path = half_square(10.0, 0.0, 5, np.random.default_rng(3))
    first, second = path.segments
    end = first.length
    segments = []
    for segment, places in ((first, (end - 1e-3,)), (second, ())):
        times = np.array([0.0, 2.0, end / 2, end - 2e-3, end - 5e-4, end])
        kinks = tuple(Kink(place, 1.0, 0.0, 1.0) for place in places)
        values = sum((np.maximum(times - place, 0.0) for place in places), np.zeros(6))
        segments.append(fit_segment(shape_of("relu"), SegmentScan(segment, kinks, times, values), 1e-9))
    corner = bases_of((segments[0], segments[1]), shape_of("relu"), 1e-9)[1]
    assert corner.segment is second  # the roomier one
    assert corner.slope_error >= segments[0].slope_errors()[-1] > 100 * segments[1].slope_errors()[0]


def test_after_a_row_that_must_not_be_asked_nothing_is_asked_until_the_next_start():
    oracle = gs.Oracle(lambda X: X.sum(axis=1), 3, bounds=(np.zeros(3), np.ones(3)))
    ledger = RegionLedger(oracle, Region.of(oracle), ())
    rows = np.array([[0.5, 0.0, 0.0], [2.0, 0.0, 0.0]])
    np.testing.assert_allclose(ledger.ask(rows[:1], "check"), 1.75)
    for part in (rows, rows[:1]):
        assert np.isnan(ledger.ask(part, "check")).all()
    assert "leaves the bounds" in ledger.failure.because
    assert oracle.n_queries == ledger.n_queries == 1
    ledger.start(np.zeros(3), None)
    np.testing.assert_allclose(ledger.ask(rows[:1], "check"), 1.75)
