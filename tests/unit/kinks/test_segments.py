"""All kinks along a segment, against where the network's own parameters put them."""

from __future__ import annotations

import numpy as np
import pytest

from gradsift.reading.kinks.kink_network import shape_of
from gradsift.reading.kinks.kink_test import Bend, Kink
from gradsift.reading.kinks.segments import (
    PathFailure,
    SegmentScan,
    ask_ends,
    fit_segment,
    half_square,
    scan_segment,
    segments_through,
)

from .kinked_networks import SMOOTH, fitted_path, kinks_on, ledger_of, path_for, random_net


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


def test_a_segment_measures_lengths_and_its_side_is_orthogonal():
    path = half_square(100.0, 3.0, 6, np.random.default_rng(2))
    for segment in segments_through(path.frame, np.array([[1.0, 2.0], [4.0, 6.0], [4.0, 0.0]])):
        points = segment.points(np.array([0.0, 1.5, segment.length]))
        assert np.linalg.norm(points[2] - points[0]) == pytest.approx(segment.length)
        assert np.linalg.norm(points[1] - points[0]) == pytest.approx(1.5)
        np.testing.assert_allclose(segment.points(1.5), points[1])
        assert segment.aside @ segment.way == 0.0
        assert np.linalg.norm(segment.aside @ path.frame.plane) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["relu", *SMOOTH])
def test_all_kinks_on_a_path_are_where_the_parameters_put_them(name):
    net = random_net(name, d=6, k=7, seed=3)
    ledger, fitted = fitted_path(net)
    expected = [kinks_on(net, segment) for segment in fitted.path.segments]
    n = sum(map(len, expected))
    assert n >= net.k
    for segment, kinks in zip(fitted.segments, expected):
        assert len(segment.kinks) == len(kinks)
        for found, kink in zip(segment.kinks, kinks):
            assert found.place == pytest.approx(kink.place, abs=1e-6)
            assert found.change == pytest.approx(kink.change, rel=1e-9)
            assert found.width == pytest.approx(kink.width, rel=1e-4)
            assert found.turn == kink.turn
    assert ledger.n_queries <= 9 + 10 * n


def test_fitted_slopes_are_those_of_the_network_between_its_kinks():
    net = random_net("silu", d=5, k=5, seed=4)
    _, fitted = fitted_path(net)
    for segment in fitted.segments:
        line, places = segment.scan.segment, [k.place for k in segment.kinks]
        middles = 0.5 * (np.array([0.0, *places]) + np.array([*places, line.length]))
        values = net.predict(np.concatenate([line.points(middles - 0.01), line.points(middles + 0.01)]))
        np.testing.assert_allclose(segment.slopes(), np.diff(values.reshape(2, -1), axis=0)[0] / 0.02, atol=1e-7)
        np.testing.assert_allclose(segment.at(net.shape, middles)[0], net.predict(line.points(middles)), atol=1e-7)


def heights(shape, kinks, t):
    """Return 0.3 + 0.2 t and all kinks at these times."""
    total = 0.3 + 0.2 * t
    for kink in kinks:
        away = t - kink.place
        total = total + kink.change * np.maximum(away, 0)
        if kink.width:
            total = total + kink.change / kink.width * shape.rest(kink.width * away)
    return total


def test_errors_of_slopes_and_heights_come_from_one_covariance():
    rng, segment = np.random.default_rng(5), half_square(100.0, 3.0, 4, np.random.default_rng(5)).segments[0]
    shape, kinks = shape_of("softplus"), (Kink(40.0, 1.0, 0.8, 1.0), Kink(90.0, -2.0, 1.3, 1.0))
    times = np.sort(np.concatenate([rng.uniform(0, segment.length, 20), 40 + np.arange(-4, 5), 90 + np.arange(-4, 5)]))
    fit = fit_segment(shape, SegmentScan(segment, kinks, times, heights(shape, kinks, times)), 1e-6)
    covariance = fit.root @ fit.root.T
    ways = np.zeros((3, 8))  # slopes by (level, slope, place, change, width, ...)
    ways[:, 1], ways[1:, 3], ways[2:, 6] = 1.0, 1.0, 1.0
    np.testing.assert_allclose(fit.slope_errors() ** 2, np.diag(ways @ covariance @ ways.T), rtol=1e-6)
    assert fit.at(shape, np.zeros(1))[1][0] == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-6)
    np.testing.assert_allclose(fit.width_errors() * [0.8, 1.3], np.sqrt(np.diag(covariance)[[4, 7]]))


@pytest.mark.parametrize("name", ["relu", "softplus", "mish"])
def test_a_leg_is_settled_to_rounding_and_its_errors_are_of_the_right_size(name):
    shape, rng = shape_of(name), np.random.default_rng(2)
    segment = half_square(100.0, 3.0, 4, rng).segments[0]
    true = [Kink(30.0, 1.5, 0.0 if shape.sharp else 2.0, 1.0), Kink(80.0, -0.7, 0.0 if shape.sharp else 3.0, 1.0)]
    t = np.sort(np.concatenate([rng.uniform(0, segment.length, 30), [29.6, 30.4, 79.7, 80.3, 29.2, 30.8]]))

    sigma, misses = 1e-6, []
    for _ in range(40):
        start = tuple(Kink(k.place + 1e-3, k.change * 1.001, k.width * 1.01, 1.0) for k in true)
        answers = heights(shape, true, t) + sigma * rng.standard_normal(len(t))
        settled = fit_segment(shape, SegmentScan(segment, start, t, answers), sigma)
        misses.append((settled.slopes() - [0.2, 1.7, 1.0]) / (sigma * settled.slope_errors()))
        assert settled.chi < 5
    assert 0.8 < np.sqrt(np.mean(np.square(misses))) < 1.25  # 120 numbers: 0.065 is one standard error


def test_answers_near_a_kink_can_be_left_out_and_all_others_stay():
    segment = half_square(10.0, 0.0, 3, np.random.default_rng(6)).segments[0]
    times = np.linspace(0.0, 10.0, 21)
    scan = SegmentScan(segment, (Kink(3.0, 1.0, 0.0, 1.0), Kink(7.2, 1.0, 0.0, 1.0)), times, 2 * times)
    kept = scan.outside(0.6)
    expected = [t for t in times if abs(t - 3.0) >= 0.6 and abs(t - 7.2) >= 0.6]
    np.testing.assert_array_equal(kept.times, expected)
    np.testing.assert_array_equal(kept.values, 2 * kept.times)
    assert scan.outside(0.0) is scan


def test_a_kink_at_the_end_of_a_path_is_a_failure_and_one_inside_is_not():
    path = path_for(random_net(d=4), radius=100.0)
    segment = path.segments[1]
    normal = segment.way @ path.frame.plane

    def asked(place):
        level = segment.points(place * segment.length) @ normal
        return ask_ends(ledger_of(lambda X: np.maximum(X @ normal - level, 0.0), 4), path)

    assert isinstance(asked(1 - 1e-5), PathFailure)
    assert "right at an end" in str(asked(1 - 1e-5))
    assert not isinstance(asked(0.5), PathFailure)


def test_a_curve_without_straight_pieces_is_a_failure_in_bounded_patience():
    path = path_for(random_net(d=4), radius=10.0)
    for shape in (shape_of("relu"), shape_of("gelu")):
        ledger = ledger_of(lambda X: (X**2).sum(axis=1), 4)
        ends = ask_ends(ledger, path)
        if isinstance(ends, PathFailure):
            continue
        scan = scan_segment(ledger, path.segments[0], ends.pieces[0], Bend(shape, 1.0), ends.sigma, ends.pair, (40, 8))
        assert isinstance(scan, PathFailure)
        assert ledger.n_queries < 9 + 40 + 8 * 20


def test_units_of_another_activation_are_noticed_on_the_way():
    net = random_net("gelu", d=5, k=3, seed=8)
    ledger, fitted = fitted_path(net)
    assert not isinstance(fitted, PathFailure)
    ends = ask_ends(ledger, fitted.path)
    scans = [
        scan_segment(ledger, segment, pieces, Bend(shape_of("silu"), 1.0), ends.sigma, ends.pair)
        for segment, pieces in zip(fitted.path.segments, ends.pieces)
    ]
    assert any(isinstance(scan, PathFailure) and "another shape" in scan.because for scan in scans)
