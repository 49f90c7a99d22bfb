"""Hyperplanes of the first layer, their sign patterns, and the answers that belong to these."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from gradsift.reading.layers.hyperplanes import (
    ask_again,
    ask_signs,
    known_signs,
    n_signs,
    no_planes,
    read_plane,
)
from gradsift.reading.layers.settings import COARSE_READING, EXACT_READING
from gradsift.reading.searches import search_all

from .networks import RADIUS, ledger_of, plane_at, planes_at, planes_of, random_net, rotation


def read(function, point, tangent, width, radius=1e4, how=EXACT_READING, seed=0):
    """Return the plane read at a point of a function, and the ledger."""
    ledger = ledger_of(function, len(point))
    search = read_plane(
        np.asarray(point, float), np.asarray(tangent, float), width, radius, how, np.random.default_rng(seed)
    )
    (plane,) = search_all(ledger, [search], "test")
    return plane, ledger


def unit(weights, offset=0.0):
    return lambda X: np.tanh(X @ np.asarray(weights, float) + offset)


@pytest.mark.parametrize("d", [2, 5, 12])
@pytest.mark.parametrize("how", [EXACT_READING, COARSE_READING])
def test_a_normal_is_the_direction_of_the_gradient_there(d, how):
    rng = np.random.default_rng(d)
    weights = rng.standard_normal(d)
    tangent = weights / np.linalg.norm(weights) + 0.3 * rng.standard_normal(d) / np.sqrt(d)
    tangent /= np.linalg.norm(tangent)
    f = unit(weights)
    plane, _ = read(f, np.zeros(d), tangent, 2 / abs(weights @ tangent), how=how)
    gradient = (f(1e-5 * np.eye(d)) - f(-1e-5 * np.eye(d))) / 2e-5
    np.testing.assert_allclose(abs(plane.normal @ gradient), np.linalg.norm(gradient), rtol=1e-9)
    assert np.linalg.norm(plane.normal) == pytest.approx(1.0, abs=1e-14)
    assert np.linalg.norm(plane.normal - plane.normal @ weights * weights / (weights @ weights)) < 1e-6


def test_a_plane_costs_about_thirteen_queries_and_one_for_each_further_input():
    for d in (3, 10, 30):
        weights = np.random.default_rng(d).standard_normal(d)
        tangent = weights / np.linalg.norm(weights)
        plane, ledger = read(unit(weights), np.zeros(d), tangent, 2 / np.linalg.norm(weights))
        assert plane is not None
        assert ledger.n_queries == 11 + (d - 1) + 3
        assert set(plane.rows) == set(range(ledger.n_queries))  # each lies on the slope


def test_the_width_of_a_plane_is_measured_along_its_normal_whatever_the_tangent():
    weights = np.array([2.0, 0.0, 0.0])
    straight, _ = read(unit(weights), np.zeros(3), [1, 0, 0], 1.0)
    slanted, _ = read(unit(weights), np.zeros(3), [0.6, 0.8, 0], 1.0 / 0.6)  # jump over slope along the tangent
    assert straight.width == pytest.approx(2 / 2.0)
    assert slanted.width == pytest.approx(straight.width)
    assert slanted.window == pytest.approx(straight.window)


def test_the_level_of_a_plane_is_where_its_unit_is_read():
    plane, _ = read(unit([3.0, 4.0], -10.0), [1.2, 1.6], [0.6, 0.8], 0.4)
    assert plane.level == pytest.approx(2.0)
    assert abs(plane.level) == pytest.approx(10.0 / 5.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_plane_turns_with_the_inputs(seed):
    rng, Q = np.random.default_rng(seed), rotation(4, seed + 10)
    weights = rng.standard_normal(4)
    tangent = weights / np.linalg.norm(weights)
    plane, _ = read(unit(weights), np.zeros(4), tangent, 1.0)
    turned, _ = read(lambda X: unit(weights)(X @ Q), np.zeros(4), Q @ tangent, 1.0)
    np.testing.assert_allclose(turned.normal, Q @ plane.normal, atol=1e-9)


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**30])
def test_a_plane_is_the_same_whatever_the_unit_of_the_answers(scale):
    f, slanted = unit([1.0, -2.0, 0.5], 0.1), np.array([0.5, -0.8, 0.2]) / np.sqrt(0.93)
    plane, _ = read(f, np.zeros(3), slanted, 1.0)
    scaled, _ = read(lambda X: scale * f(X), np.zeros(3), slanted, 1.0)
    np.testing.assert_allclose(scaled.normal, plane.normal, rtol=1e-12)
    falling, _ = read(lambda X: 3.0 - scale * f(X), np.zeros(3), slanted, 1.0)
    np.testing.assert_allclose(falling.normal, plane.normal, atol=1e-5)  # digits are lost to the constant


def test_a_monotone_function_above_the_unit_changes_nothing():
    f = unit([1.0, 2.0, -1.0])
    slanted = np.array([0.3, 0.9, -0.3]) / np.sqrt(0.99)
    alone, _ = read(f, np.zeros(3), slanted, 1.0)
    inside, _ = read(lambda X: np.exp(0.7 * f(X)) - 0.2 * f(X) ** 3, np.zeros(3), slanted, 1.0)
    np.testing.assert_allclose(inside.normal, alone.normal, atol=1e-7)


@pytest.mark.parametrize(
    "function",
    [
        lambda X: np.zeros(len(X)),  # no slope
        lambda X: np.sign(X[:, 0]),  # a step without width
        lambda X: X[:, 0] ** 2,  # turns back
        lambda X: np.random.default_rng(0).standard_normal(len(X)),  # noise
        lambda X: np.tanh(X[:, 0]) + 1e-3 * np.random.default_rng(1).standard_normal(len(X)),  # a little of it
        lambda X: np.tanh(np.linalg.norm(X - [50.0, 0, 0], axis=1) - 50.0),  # a sphere
        lambda X: np.tanh(X[:, 0]) + np.tanh(2 * X[:, 1] + 0.5),  # two units that move together
    ],
    ids=["constant", "step", "parabola", "noise", "noisy unit", "sphere", "two units"],
)
def test_what_is_no_hyperplane_is_not_read_as_one(function):
    plane, _ = read(function, np.zeros(3), [1.0, 0, 0], 2.0)
    assert plane is None


def test_distances_are_those_of_the_rows_from_their_feet():
    rng = np.random.default_rng(0)
    normals, levels, X = rng.standard_normal((4, 3)), rng.standard_normal(4), rng.standard_normal((10, 3))
    first = planes_at(normals, levels, 0.5)
    for x, heights in zip(X, first.distance(X)):
        for plane, height in zip(first.planes, heights):
            foot = x - height * plane.normal
            assert plane.normal @ (foot - plane.point) == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_array_equal(first.saturates(X), [(abs(h) > 0.5).all() for h in first.distance(X)])
    assert 0 < first.saturates(X).sum() < 10


def test_a_plane_seen_again_is_known_by_either_sign_and_a_parallel_one_far_away_is_not():
    first = planes_at([[1.0, 0, 0], [0, 1.0, 0]], [0.0, 5.0], margin=1.0)
    assert first.has(plane_at([-1.0, 0, 0], 0.0))
    assert first.has(plane_at([1.0, 1e-4, 0], 0.3))
    assert not first.has(plane_at([1.0, 0.1, 0], 0.0))  # six degrees away
    assert not first.has(plane_at([1.0, 0, 0], 20.0))  # another step of the same direction
    assert not first.has(plane_at([0, 0, 1.0], 0.0))
    assert not no_planes(3, 1.0).has(plane_at([1.0, 0, 0], 0.0))


def test_joining_does_not_depend_on_the_order_and_keeps_each_plane_once():
    rng = np.random.default_rng(1)
    planes = [plane_at(n, 0.0) for n in rng.standard_normal((5, 4))]
    one = no_planes(4, 1.0).joined(planes + planes[:3])
    other = no_planes(4, 1.0).joined(planes[::-1])
    assert len(one) == len(other) == 5
    np.testing.assert_array_equal(one.normals, other.normals[::-1])
    assert len(one.joined([])) == 5
    assert no_planes(4, 1.0).normals.shape == (0, 4)


def patterns_reached(normals):
    """Return for how many sign patterns some direction lies on the right side of every hyperplane."""
    k, d = normals.shape
    wanted = (np.array(signs)[:, None] * normals for signs in product([-1.0, 1.0], repeat=k))
    return sum(linprog(np.zeros(d), A_ub=-rows, b_ub=-np.ones(k), bounds=(None, None)).success for rows in wanted)


@pytest.mark.parametrize(("k", "d"), [(1, 3), (3, 3), (3, 2), (5, 2), (4, 3), (6, 3), (5, 4)])
def test_sign_patterns_far_out_are_as_many_as_some_direction_shows(k, d):
    assert n_signs(k, d) == patterns_reached(np.random.default_rng(10 * k + d).standard_normal((k, d)))


def test_hyperplanes_in_special_position_reach_fewer_patterns():
    normals = np.array([[1.0, 0, 0], [0, 1.0, 0], [1.0, 1.0, 0], [1.0, -1.0, 0]])  # all contain one line
    assert patterns_reached(normals) == n_signs(4, 2) < n_signs(4, 3)


def test_the_number_of_patterns_obeys_the_recursion_of_arrangements():
    # One hyperplane more cuts as many regions in two as the others have within it.
    for k, d in product(range(2, 9), range(2, 6)):
        assert n_signs(k, d) == n_signs(k - 1, d) + n_signs(k - 1, d - 1)
    assert n_signs(7, 1) == 2  # in one dimension far out is left or right


def far_rows(n, d, seed, radius=RADIUS):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return radius * X / np.linalg.norm(X, axis=1, keepdims=True)


def test_known_signs_are_grouped_as_one_by_one():
    normals = np.random.default_rng(3).standard_normal((3, 3))
    first = planes_at(normals, [0.0, 1.0, -2.0], margin=500.0)
    ledger = ledger_of(lambda X: np.sin(X[:, 0]), 3)
    ledger.ask(np.concatenate([far_rows(60, 3, 4), far_rows(20, 3, 5, radius=0.4 * RADIUS)]), "test")
    groups = {}
    for x, y in zip(ledger.X, ledger.y):
        if np.linalg.norm(x) >= 0.5 * RADIUS and first.saturates(x[None])[0]:
            groups.setdefault(tuple(np.sign(first.distance(x[None])[0])), []).append(y)
    seen = known_signs(ledger, first, 0.5 * RADIUS)
    assert [tuple(s) for s in seen.signs] == list(groups)
    np.testing.assert_array_equal(seen.answers, [answers[0] for answers in groups.values()])
    assert seen.apart == max(max(a) - min(a) for a in groups.values()) > 0
    ends = ledger.oracle(seen.between)
    assert abs(ends[1] - ends[0]) == seen.apart
    np.testing.assert_array_equal(*np.sign(first.distance(seen.between)))


def test_no_answers_far_out_are_no_patterns():
    first = planes_at([[1.0, 0], [0, 1.0]], [0.0, 0.0], margin=1.0)
    ledger = ledger_of(lambda X: X[:, 0], 2)
    ledger.ask(np.random.default_rng(0).standard_normal((20, 2)), "test")
    seen = known_signs(ledger, first, 100.0)
    assert len(seen) == 0
    assert seen.apart == 0
    assert seen.between.shape == (0, 2)


def test_new_patterns_are_new_and_lead_where_all_units_stand_still():
    first, ledger = planes_of(random_net(5, (6, 3)).predict, 5)
    seen = known_signs(ledger, first, 0.5 * RADIUS)
    n_before = ledger.n_stored
    more = ask_signs(ledger, first, RADIUS, 7, seen, np.random.default_rng(1))
    rows = ledger.X[n_before:]
    assert len(rows) == 7 == len(more) - len(seen)
    assert first.saturates(rows).all()
    np.testing.assert_array_equal(np.sign(first.distance(rows)), more.signs[len(seen) :])
    np.testing.assert_array_equal(ledger.y[n_before:], more.answers[len(seen) :])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), RADIUS)
    assert len({s.tobytes() for s in more.signs}) == len(more)


def test_where_all_patterns_are_known_no_more_are_asked():
    first = planes_at([[1.0, 0], [0, 1.0]], [0.0, 0.0], margin=10.0)
    ledger = ledger_of(lambda X: np.sign(X[:, 0]) + 2 * np.sign(X[:, 1]), 2)
    none = known_signs(ledger, first, 0.5 * RADIUS)
    some = ask_signs(ledger, first, RADIUS, 50, none, np.random.default_rng(0))
    assert len(some) == 4 == ledger.n_queries
    again = ask_signs(ledger, first, RADIUS, 50, some, np.random.default_rng(1))
    assert again is some
    assert ledger.n_queries == 4


@pytest.mark.parametrize("seed", range(3))
def test_known_signs_asked_again_elsewhere_are_the_known_signs(seed):
    first, ledger = planes_of(random_net(4, (5, 2), seed=seed).predict, 4, seed)
    patterns = {tuple(s) for s in known_signs(ledger, first, 0.5 * RADIUS).signs}
    n_before = ledger.n_stored
    ask_again(ledger, first, RADIUS, 20, np.random.default_rng(seed))
    rows = ledger.X[n_before:]
    assert 5 < len(rows) <= 20
    assert (np.linalg.norm(rows, axis=1) >= 0.5 * RADIUS).all()
    assert {tuple(s) for s in np.sign(first.distance(rows))} <= patterns
    assert known_signs(ledger, first, 0.5 * RADIUS).apart <= ledger.tolerance(RADIUS)


def test_a_unit_left_out_shows_when_known_signs_are_asked_again():
    net = random_net(4, (5, 2), seed=1)
    whole, _ = planes_of(net.predict, 4)
    shown = 0
    for missing in range(5):
        fewer = no_planes(4, whole.margin).joined([p for i, p in enumerate(whole.planes) if i != missing])
        ledger = ledger_of(net.predict, 4)
        seen = known_signs(ledger, fewer, 0.5 * RADIUS)
        ask_signs(ledger, fewer, RADIUS, 8, seen, np.random.default_rng(missing))
        ask_again(ledger, fewer, RADIUS, 30, np.random.default_rng(missing))
        shown += known_signs(ledger, fewer, 0.5 * RADIUS).apart > ledger.tolerance(RADIUS)
    assert shown == 5


def test_nothing_far_out_leaves_nothing_to_ask_again():
    ledger = ledger_of(lambda X: X[:, 0], 2)
    ask_again(ledger, planes_at([[1.0, 0]], [0.0], 1.0), RADIUS, 10, np.random.default_rng(0))
    assert ledger.n_queries == 0
