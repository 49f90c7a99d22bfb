"""Circles far out: where answers change between plateaus, and what must not be taken for a unit."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.reading.layers.crossings import find_between, find_planes, reading_of
from gradsift.reading.layers.hyperplanes import known_signs, no_planes
from gradsift.reading.layers.settings import COARSE_READING, EXACT_READING
from gradsift.reading.ledger import Ledger
from gradsift.reading.precision import rounding_of

from .networks import RADIUS, ledger_of, planes_at, planes_of, random_net, rotation


def worst_angle(first, net):
    return gs.match_units(first.normals, net.layers[0].weights).max_error


def test_answers_in_single_precision_are_read_with_longer_steps():
    oracle = gs.Oracle(lambda X: X[:, 0], 2)
    single = rounding_of(np.random.default_rng(0).standard_normal(50).astype(np.float32).astype(float))
    assert reading_of(Ledger(oracle)) is EXACT_READING
    assert reading_of(Ledger(oracle, precision=single)) is COARSE_READING


@pytest.mark.parametrize("activation", ["tanh", "logistic", "erf"])
@pytest.mark.parametrize("widths", [(3, 2), (5, 3), (4, 3, 2)])
def test_hyperplanes_are_those_of_the_weights_whatever_the_sigmoid(widths, activation):
    net = random_net(4, widths, seed=3, activation=activation)
    first, _ = planes_of(net.predict, 4)
    assert len(first) == widths[0]
    assert worst_angle(first, net) < 1e-6
    match = gs.match_units(net.layers[0].weights, first.normals)
    weights, offsets = net.layers[0]
    lengths = np.linalg.norm(weights, axis=1)
    levels = -offsets / lengths * np.array(match.signs)  # <w, x> + b = 0
    # A step is read somewhere on its slope, and far out a level has lost the digits of the radius.
    assert np.abs(first.offsets[match.order] - levels).max() < 10 / lengths.min()


def test_units_are_found_whatever_their_order():
    net = random_net(4, (5, 3), seed=2)
    other = net.reordered(0, [3, 1, 4, 0, 2], [1, -1, -1, 1, -1])
    one, two = planes_of(net.predict, 4).first, planes_of(other.predict, 4).first
    assert gs.match_units(one.normals, two.normals).max_error < 1e-7


@pytest.mark.parametrize("scale", [2.0**-30, 2.0**12])
def test_the_unit_of_the_answers_changes_no_query_and_no_plane(scale):
    net = random_net(4, (5, 3), seed=2)
    one, asked = planes_of(net.predict, 4)
    two, again = planes_of(lambda X: scale * net.predict(X), 4)
    np.testing.assert_array_equal(asked.X, again.X)
    np.testing.assert_array_equal(scale * asked.y, again.y)
    np.testing.assert_array_equal(one.normals, two.normals)


@pytest.mark.parametrize("batch_size", [1, 7])
def test_answers_in_small_batches_lead_to_the_same_queries(batch_size):
    W = np.array([[1.0, 0.5, -0.2], [0.3, -1.5, 1.0], [-0.4, 0.2, 2.0]])

    def f(X):  # row by row: the same digits whatever the batch
        inside = [np.tanh(sum(w[i] * X[:, i] for i in range(3)) + 0.1) for w in W]
        return np.tanh(inside[0] - 0.7 * inside[1] + 0.4 * inside[2]) + 0.3 * inside[1]

    one, asked = planes_of(f, 3)
    two, again = planes_of(f, 3, batch_size=batch_size)
    np.testing.assert_array_equal(asked.X, again.X)
    np.testing.assert_array_equal(one.normals, two.normals)
    assert len(one) == 3


@pytest.mark.parametrize("seed", range(3))
def test_planes_turn_with_the_inputs(seed):
    net, Q = random_net(4, (5, 3), seed=seed), rotation(4, seed + 20)
    one, two = planes_of(net.predict, 4).first, planes_of(lambda X: net.predict(X @ Q), 4).first
    assert len(one) == len(two) == 5
    assert gs.match_units(one.normals @ Q.T, two.normals).max_error < 1e-6


def test_a_constant_beside_the_network_and_shifted_inputs_move_no_normal():
    net = random_net(4, (5, 3), seed=2)
    one = planes_of(net.predict, 4).first
    two = planes_of(lambda X: net.predict(X - np.arange(4.0)) + 0.75, 4).first
    assert gs.match_units(one.normals, two.normals).max_error < 1e-6
    match = gs.match_units(one.normals, two.normals)
    moved = one.offsets + one.normals @ np.arange(4.0)
    np.testing.assert_allclose(two.offsets[match.order] * match.signs, moved, atol=10.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda X: np.full(len(X), 0.3),
        lambda X: np.sign(X[:, 0] + 2 * X[:, 1]),  # decisions
        lambda X: np.sqrt(1 + (X**2).sum(axis=1)),
    ],
    ids=["constant", "decisions", "hyperboloid"],
)
def test_functions_without_steps_of_sigmoids_have_no_planes(function):
    assert len(planes_of(function, 3).first) == 0


def test_a_function_with_a_step_everywhere_ends_the_search_and_not_the_other_way_round():
    waves, ledger = planes_of(lambda X: np.sin(X[:, 0]), 3)  # a step of one direction every three units
    assert ledger.n_queries < 20_000
    assert not waves.saturates(ledger.X).all()
    np.testing.assert_allclose(np.abs(waves.normals), np.tile([1.0, 0, 0], (len(waves), 1)), atol=1e-6)


def test_planes_that_are_known_are_not_asked_for_again():
    net = random_net(5, (6, 3), seed=4)
    first, ledger = planes_of(net.predict, 5)
    n_before = ledger.n_queries
    again = find_planes(ledger, first, RADIUS, np.random.default_rng(9))
    assert [p.normal.tobytes() for p in again.planes] == [p.normal.tobytes() for p in first.planes]
    # Three circles, at most two ends of each arc between crossings.
    assert ledger.n_queries - n_before <= 3 * 2 * (6 + 1)


def test_places_with_equal_signs_and_different_answers_have_a_plane_between():
    net = random_net(4, (5, 2), seed=1)
    whole, ledger = planes_of(net.predict, 4)
    for missing in range(5):
        fewer = no_planes(4, whole.margin).joined([p for i, p in enumerate(whole.planes) if i != missing])
        ends = known_signs(ledger, fewer, 0.5 * RADIUS).between
        found = find_between(ledger, fewer, ends, RADIUS, np.random.default_rng(missing))
        assert len(found) == 5
        assert abs(found.normals[-1] @ whole.normals[missing]) > 1 - 1e-10


def test_places_with_equal_answers_or_on_one_ray_have_no_plane_between():
    f = lambda X: np.tanh(X[:, 0])
    first = no_planes(3, 60.0)
    same = RADIUS * np.array([[0.6, 0.8, 0.0], [0.8, 0.6, 0.0]])
    ledger = ledger_of(f, 3)
    assert find_between(ledger, first, same, RADIUS, np.random.default_rng(0)) is first
    assert ledger.n_queries == 2
    one_ray = np.array([[RADIUS, 0, 0], [0.5 * RADIUS, 0, 0]])
    assert find_between(ledger, first, one_ray, RADIUS, np.random.default_rng(0)) is first
    assert ledger.n_queries == 2
    apart = RADIUS * np.array([[0.6, 0.8, 0.0], [-0.6, 0.8, 0.0]])
    found = find_between(ledger, first, apart, RADIUS, np.random.default_rng(0))
    np.testing.assert_allclose(np.abs(found.normals), [[1.0, 0.0, 0.0]], atol=1e-7)


def test_a_jump_between_two_places_is_no_plane():
    jump = lambda X: np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1.0, -1.0)
    ends = RADIUS * np.array([[0.6, 0.8, 0.0], [-0.9, 0.1, 0.0]])
    first = planes_at([[0.0, 0.0, 1.0]], [0.0], 60.0)
    ledger = ledger_of(jump, 3)
    assert find_between(ledger, first, ends, RADIUS, np.random.default_rng(0)) is first
    assert ledger.n_queries < 150  # halvings of an interval of doubles


def test_nearly_parallel_units_far_apart_are_two():
    f = lambda X: np.tanh(X[:, 0] - 300.0) + 0.7 * np.tanh(X[:, 0] + 0.01 * X[:, 1] + 300.0)
    first, _ = planes_of(f, 3)
    assert len(first) == 2
    angle = np.arccos(min(1.0, abs(first.normals[0] @ first.normals[1])))
    assert angle == pytest.approx(np.arctan(0.01), rel=1e-4)


def test_a_unit_whose_effect_drowns_in_rounding_is_not_made_up():
    f = lambda X: np.tanh(X[:, 0]) + 1e-17 * np.tanh(X[:, 1])
    first, _ = planes_of(f, 3)
    assert len(first) == 1
    shown, _ = planes_of(lambda X: np.tanh(X[:, 0]) + 1e-3 * np.tanh(X[:, 1]), 3)
    assert len(shown) == 2
