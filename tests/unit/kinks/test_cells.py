"""The cells along a path: straight parts, crossings, bases and rooms, against the network's own parameters."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from gradsift.reading.kinks.cells import (
    bases_of,
    crossings_of,
    distinct_crossings,
    flat_sizes,
    room_to_kinks,
    straight_parts,
)
from gradsift.reading.kinks.kink_network import shape_of
from gradsift.reading.kinks.kink_test import Kink
from gradsift.reading.kinks.segments import SegmentScan, fit_segment, half_square

from .kinked_networks import fitted_path, gradient_at, random_net


@pytest.mark.parametrize("name", ["relu", "gelu", "elu"])
def test_the_function_is_straight_in_every_straight_part_and_not_between(name):
    net = random_net(name, d=5, k=4, seed=11)
    fitted = fitted_path(net)[1]
    for segment in fitted.segments:
        parts = straight_parts(segment, net.shape, fitted.sigma)
        assert len(parts) == len(segment.kinks) + 1
        line = segment.scan.segment
        for part in parts:
            ends = net.predict(line.points(np.array([part.start, part.mean, part.end])))
            assert abs(ends[0] - 2 * ends[1] + ends[2]) < 100 * fitted.sigma
            assert part.mean - part.half == pytest.approx(part.start)
        for before, after in pairwise(parts):
            step = 0.5 * (after.start - before.end) + 1.0
            middle = 0.5 * (before.end + after.start)
            ends = net.predict(line.points(middle + step * np.array([-1.0, 0.0, 1.0])))
            assert abs(ends[0] - 2 * ends[1] + ends[2]) > 1e4 * fitted.sigma


def test_crossings_lie_on_hyperplanes_of_the_network_with_its_weights():
    net = random_net("silu", d=5, k=4, seed=12)
    fitted = fitted_path(net)[1]
    crossings = crossings_of(fitted.segments, net.shape, fitted.sigma)
    for crossing in crossings:
        arguments = net.arguments((crossing.place @ fitted.path.frame.plane)[None])[0]
        unit = int(np.argmin(np.abs(arguments)))
        assert abs(arguments[unit]) < 1e-6
        assert crossing.weight == pytest.approx(net.w[unit], rel=1e-5)
        assert 0 < crossing.weight_error < 1e-3
        way = crossing.segment.way @ fitted.path.frame.plane
        assert abs(crossing.change) == pytest.approx(abs(net.jumps[unit] @ way), rel=1e-7)
    assert len(crossings) >= net.k


def test_a_base_knows_the_value_and_the_slope_and_the_corner_both_slopes():
    net = random_net("softplus", d=6, k=5, seed=13)
    fitted = fitted_path(net)[1]
    bases = bases_of(fitted.segments, net.shape, fitted.sigma)
    assert len(bases) == sum(len(segment.kinks) for segment in fitted.segments) + 1
    plane = fitted.path.frame.plane
    for base in bases:
        gradient = gradient_at(net, base.place @ plane)
        assert base.value == pytest.approx(net.predict((base.place @ plane)[None])[0], abs=1e-6)
        assert base.slope == pytest.approx(gradient @ (base.segment.way @ plane), abs=1e-4)
        if base.aside is not None:
            assert base.aside == pytest.approx(gradient @ (base.segment.aside @ plane), abs=1e-4)
    assert sum(base.aside is not None for base in bases) == 1


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


def test_a_second_crossing_with_the_opposite_jump_is_the_same_unit_and_the_same_jump_is_another():
    jumps = np.array([[1.0, 2.0], [3.0, 0.0], [-1.0, -2.0], [3.0, 0.0], [-3.0, 1e-3]])
    keep = distinct_crossings(jumps, np.full(5, 1e-6))
    np.testing.assert_array_equal(keep, [True, True, False, True, True])
    np.testing.assert_array_equal(distinct_crossings(jumps, np.full(5, 1e-2)), [True, True, False, True, False])


@pytest.mark.parametrize("name", ["relu", "mish"])
def test_room_is_what_an_argument_may_change_before_the_unit_bends(name):
    net = random_net(name, d=5, k=4, seed=14)
    fitted = fitted_path(net)[1]
    crossings, plane = crossings_of(fitted.segments, net.shape, fitted.sigma), fitted.path.frame.plane
    bases = bases_of(fitted.segments, net.shape, fitted.sigma)
    places = np.array([base.place for base in bases])
    units = [int(np.argmin(np.abs(net.arguments((c.place @ plane)[None])[0]))) for c in crossings]
    flats = flat_sizes(crossings, net.shape, fitted.sigma)
    room = room_to_kinks(places, net.jumps[units] @ plane.T, crossings, flats)
    sizes = np.abs(net.arguments(places @ plane) * net.w)[:, units]  # |<J, x> + q|
    np.testing.assert_allclose(room, sizes - flats, atol=1e-6)
    assert (room > 0).all()
    if not net.shape.sharp:  # beyond the flat size nothing is left of a rest but rounding
        for flat, unit in zip(flats, units):
            t = flat / abs(net.w[unit])
            assert np.abs(net.w[unit] * net.shape.rest(np.array([-t, t]))).max() <= fitted.sigma * (1 + 1e-9)
