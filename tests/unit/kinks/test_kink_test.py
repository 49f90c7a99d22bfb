"""Pieces of lines, and one kink between two of them, against least squares and the function that was asked."""

from __future__ import annotations

import numpy as np
import pytest

from gradsift.reading.kinks.kink_network import growing_names, shape_of
from gradsift.reading.kinks.kink_test import Bend, Piece, bend_between, try_sharp, try_smooth

from .kinked_networks import SMOOTH

SIGMA = 1e-13


def pieces_of(f, ends=((-10.0, -9.5), (9.5, 10.0))):
    return [Piece(list(end), [float(f(t)) for t in end]) for end in ends]


def test_two_lines_meet_where_they_should_and_short_ones_say_how_badly():
    left, right = Piece([0.0, 1.0], [1.0, 2.0]), Piece([5.0, 6.0], [0.0, -1.0])
    place, change, error = bend_between(left, right)
    assert place == pytest.approx(2.0)
    assert change == pytest.approx(-2.0)
    assert error == pytest.approx(np.hypot(left.error(2.0), right.error(2.0)) / 2)
    assert left.error(2.0) > left.error(0.5)
    assert left.holds(3.0, 4.0, 1e-9)
    assert not left.holds(3.0, 4.1, 1e-9)


def test_parallel_lines_meet_nowhere():
    place, change, error = bend_between(Piece([0.0, 1.0], [0.0, 1.0]), Piece([3.0, 4.0], [5.0, 6.0]))
    assert np.isnan(place)
    assert (change, error) == (0.0, np.inf)


def test_a_piece_is_the_line_of_least_squares_with_its_errors():
    rng = np.random.default_rng(0)
    t, y = rng.uniform(5, 9, 7), rng.standard_normal(7)
    piece = Piece(t[:3].tolist(), y[:3].tolist())
    piece.add(t[3], y[3])
    piece.take(Piece(t[4:].tolist(), y[4:].tolist(), fixed=True))
    assert piece.fixed
    assert (piece.low, piece.high) == (t.min(), t.max())
    (slope, level), covariance = np.polyfit(t, y, 1, cov="unscaled")
    assert piece.slope == pytest.approx(slope)
    assert piece.slope_error == pytest.approx(np.sqrt(covariance[0, 0]))
    for at in (-3.0, 7.0, 20.0):
        row = np.array([at, 1.0])
        assert piece.at(at) == pytest.approx(slope * at + level)
        assert piece.error(at) == pytest.approx(np.sqrt(row @ covariance @ row))


def test_a_piece_of_fewer_than_two_answers_is_none():
    piece = Piece([0.0, 1.0, 2.0], [0.0, 1.0, 5.0], fixed=True)
    assert piece.without([2.0]).slope == pytest.approx(1.0)
    assert piece.without([2.0]).fixed
    assert piece.without([1.0, 2.0]) is None


def test_pieces_of_one_line_are_told_from_lines_that_only_meet():
    line = Piece([0.0, 1.0], [0.0, 1.0])
    assert line.same_line(Piece([8.0, 9.0], [8.0, 9.0]), 1e-9)
    assert not line.same_line(Piece([8.0, 9.0], [8.0, 9.001]), 1e-9)  # they meet at 8
    assert not line.same_line(Piece([8.0, 9.0], [8.01, 9.01]), 1e-9)  # they are parallel
    assert line.same_line(Piece([8.0, 9.0], [8.01, 9.01]), 1e-2)


def test_one_sharp_kink_is_seen_in_two_answers():
    asked = []

    def f(t):
        asked.append(t)
        return 0.5 * t + 2.0 * np.maximum(t - 1.25, 0.0)

    left, right = pieces_of(f)
    asked.clear()
    seen = try_sharp(Bend(shape_of("relu"), 1.0), left, right, f, SIGMA)
    assert seen.kink.place == pytest.approx(1.25, abs=1e-11)
    assert seen.kink.change == pytest.approx(2.0)
    assert len(asked) == 2
    assert left.high < 1.25 < right.low


@pytest.mark.parametrize("changes", [(1.0, 1.0), (3.0, -1.0)])
def test_two_sharp_kinks_are_never_one(changes):
    def f(t):
        return changes[0] * np.maximum(t + 2.0, 0.0) + changes[1] * np.maximum(t - 2.0, 0.0)

    seen = try_sharp(Bend(shape_of("relu"), 1.0), *pieces_of(f), f, SIGMA)
    assert seen.kink is None


def test_a_curve_that_passes_through_the_meeting_point_of_its_ends_is_no_sharp_kink():
    def f(t):  # the lines at both ends, 0 and -6 t, meet at zero, where the function is zero, too
        return sum(a * np.maximum(t - p, 0.0) for a, p in ((1, -3), (-3, -1), (-6, 1), (2, 3)))

    left, right = pieces_of(f)
    place = bend_between(left, right)[0]
    assert place == pytest.approx(0.0, abs=1e-9)
    assert f(place) == pytest.approx(left.at(place), abs=1e-8)
    seen = try_sharp(Bend(shape_of("relu"), 1.0), left, right, f, SIGMA)
    assert seen.kink is None
    assert seen.strays


@pytest.mark.parametrize("width", [8.0, 25.0])
@pytest.mark.parametrize("name", [name for name in growing_names() if not shape_of(name).sharp])
def test_place_change_and_width_of_one_smooth_kink_are_read(name, width):
    shape = shape_of(name)
    for turn in (1.0, -1.0):

        def f(t):
            z = width * (t - 0.75)
            return 0.3 * t - 1.6 * (np.maximum(z, 0.0) + shape.rest(turn * z)) / width  # noqa: B023

        bend = Bend(shape, 14.0)
        ends = ((-1e3, -9e2), (9e2, 1e3))
        seen = try_smooth(bend, *pieces_of(f, ends), lambda t: float(f(t)), SIGMA * 1e3)
        assert seen.kink.place == pytest.approx(0.75, abs=1e-9)
        assert seen.kink.change == pytest.approx(-1.6)
        assert seen.kink.width == pytest.approx(width, rel=1e-5)
        assert shape.even or seen.kink.turn == turn
        assert bend.typical_width() == seen.kink.width


@pytest.mark.parametrize(("true", "declared"), [("gelu", "silu"), ("softplus", "gelu"), ("silu", "softplus")])
def test_a_third_answer_tells_another_activation(true, declared):
    shape = shape_of(true)

    def f(t):
        return float((np.maximum(9 * t, 0.0) + shape.rest(np.array(9 * t))) / 9)

    seen = try_smooth(Bend(shape_of(declared), 9.0), *pieces_of(f, ((-1e3, -9e2), (9e2, 1e3))), f, 1e-10)
    assert seen.kink is None
    assert seen.other_shape or seen.strays


def test_the_typical_width_is_the_median_of_those_seen_and_at_first_the_guess():
    bend = Bend(shape_of("gelu"), 3.0)
    assert bend.typical_width() == 3.0
    bend.widths += [1.0, 100.0, 2.0]
    assert bend.typical_width() == 2.0


@pytest.mark.parametrize("name", SMOOTH)
def test_a_kink_whose_transition_fills_the_gap_is_not_claimed(name):
    shape = shape_of(name)

    def f(t):
        return float(np.maximum(t, 0.0) + shape.rest(np.array(t)))

    seen = try_smooth(Bend(shape, 1.0), *pieces_of(f, ((-5.0, -4.9), (4.9, 5.0))), f, SIGMA)
    assert seen.kink is None
