"""Slopes and offsets of the first layer, read on edges of the cube of signs."""

import numpy as np
import pytest

from gradsift.reading.layers.crossings import read_slopes
from gradsift.reading.layers.hyperplanes import no_planes
from gradsift.reading.odd_form import link_of

from .networks import RADIUS, TANH, aligned, ledger_of, plane_at, planes_of, random_net


def arguments(scale, first, X):
    """Return the arguments of the first layer that slopes and offsets stand for."""
    return np.exp(scale.log_slopes) * first.distance(X) + scale.offsets


def near_planes(first, n, seed):
    """Return places beside the points at which the planes were read."""
    rng = np.random.default_rng(seed)
    return np.concatenate([p.point + rng.uniform(-1, 1, (n, 1)) * p.normal for p in first.planes])


@pytest.mark.parametrize(("widths", "seed"), [((5, 2), 1), ((4, 3), 5), ((4, 3, 2), 6)])
def test_arguments_on_the_slopes_are_those_of_the_network(widths, seed):
    net = random_net(4, widths, seed=seed)
    first, ledger = planes_of(net.predict, 4)
    truth = aligned(net, first)
    scale = read_slopes(ledger, first, [*truth.layers[1:]], TANH, 0.3 * RADIUS, np.random.default_rng(0))
    for number, plane in enumerate(first.planes):
        X = plane.point + np.linspace(-1, 1, 9)[:, None] * plane.normal
        right = truth.arguments(X)[0][:, number]
        np.testing.assert_allclose(arguments(scale, first, X)[:, number], right, atol=1e-3)


def test_slopes_over_an_odd_sigmoid_are_those_of_its_own_arguments():
    net = random_net(4, (4, 2), seed=2, activation="erf")
    first, ledger = planes_of(net.predict, 4)
    truth = aligned(net, first)
    scale = read_slopes(ledger, first, [*truth.layers[1:]], link_of("erf").odd, 0.3 * RADIUS, np.random.default_rng(0))
    np.testing.assert_allclose(np.exp(scale.log_slopes), np.linalg.norm(truth.layers[0].weights, axis=1), rtol=1e-4)


def test_answers_asked_so_far_suffice_where_planes_were_read_and_no_more_are_asked():
    net = random_net(4, (4, 2), seed=1)
    first, ledger = planes_of(net.predict, 4)
    upper = [*aligned(net, first).layers[1:]]
    n_before = ledger.n_queries
    first_time = read_slopes(ledger, first, upper, TANH, 0.3 * RADIUS, np.random.default_rng(0))
    n_after = ledger.n_queries
    assert n_after - n_before <= 4 * 4 * 13  # at most four edges for each unit
    bare = ledger_of(net.predict, 4)
    again = read_slopes(bare, first, upper, TANH, 0.3 * RADIUS, np.random.default_rng(1))
    assert 0 < bare.n_queries <= 4 * 4 * 13
    np.testing.assert_allclose(again.log_slopes, first_time.log_slopes, atol=1e-4)


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**20])
def test_slopes_do_not_depend_on_the_unit_of_the_answers(scale):
    net = random_net(4, (4, 2), seed=1)
    first, _ = planes_of(net.predict, 4)
    hidden, (v, c) = aligned(net, first).layers[1:]
    one = read_slopes(ledger_of(net.predict, 4), first, [hidden, (v, c)], TANH, 0.3 * RADIUS, np.random.default_rng(0))
    two = read_slopes(
        ledger_of(lambda X: scale * net.predict(X), 4), first, [hidden, (scale * v, scale * c)], TANH, 0.3 * RADIUS,
        np.random.default_rng(0),
    )  # fmt: skip
    np.testing.assert_allclose(one.log_slopes, two.log_slopes, atol=1e-9)
    np.testing.assert_allclose(one.offsets, two.offsets, atol=1e-9)


def test_the_other_sign_of_a_normal_turns_the_offset_and_not_the_slope():
    net = random_net(4, (4, 2), seed=1)
    first, _ = planes_of(net.predict, 4)
    (W, b), (v, c) = aligned(net, first).layers[1:]
    turned = no_planes(4, first.margin).joined([plane_at(-p.normal, -p.level, p.width) for p in first.planes])
    scales = [
        read_slopes(ledger_of(net.predict, 4), planes, upper, TANH, 0.3 * RADIUS, np.random.default_rng(0))
        for planes, upper in ((first, [(W, b), (v, c)]), (turned, [(-W, b), (v, c)]))
    ]
    X = near_planes(first, 1, 0)
    one, two = arguments(scales[0], first, X), arguments(scales[1], turned, X)
    near = np.abs(first.distance(X)) < 1.5
    np.testing.assert_allclose(one[near], -two[near], atol=1e-2)
    assert near.sum() >= 4


def test_slopes_under_wrong_upper_layers_are_finite_and_wrong():
    net = random_net(4, (4, 2), seed=1)
    first, ledger = planes_of(net.predict, 4)
    upper, lengths = [*aligned(net, first).layers[1:]], np.linalg.norm(aligned(net, first).layers[0].weights, axis=1)
    rng = np.random.default_rng(3)
    wrong = [(rng.standard_normal(W.shape), rng.standard_normal(b.shape)) for W, b in upper]
    scale = read_slopes(ledger, first, wrong, TANH, 0.3 * RADIUS, rng)
    assert np.isfinite(scale.log_slopes).all()
    assert np.isfinite(scale.offsets).all()
    assert np.abs(scale.log_slopes - np.log(lengths)).max() > 0.01


def test_a_unit_that_no_answer_shows_keeps_what_the_width_of_its_step_suggests():
    first = no_planes(3, 60.0).joined([plane_at([1.0, 0, 0], 0.0, 4.0)])
    ledger = ledger_of(lambda X: np.full(len(X), 0.2), 3)
    upper = [(np.array([[1.0]]), np.zeros(1)), (np.zeros((1, 1)), np.array([0.2]))]
    scale = read_slopes(ledger, first, upper, TANH, 0.3 * RADIUS, np.random.default_rng(0))
    assert abs(scale.log_slopes[0] - np.log(2 / 4.0)) < 5.0
    assert np.isfinite(scale.offsets).all()


def test_units_that_never_move_alone_are_read_no_further_than_their_width():
    # Two hyperplanes in one place: nowhere does one of the units move while the other stands still.
    first = no_planes(2, 60.0).joined([plane_at([1.0, 0.0], 0.0), plane_at([1.0, 0.01], 0.0)])
    ledger = ledger_of(lambda X: np.tanh(X[:, 0]), 2)
    upper = [(np.eye(2), np.zeros(2)), (np.ones((1, 2)), np.zeros(1))]
    scale = read_slopes(ledger, first, upper, TANH, 100.0, np.random.default_rng(0))
    np.testing.assert_array_equal(np.exp(scale.log_slopes), [1.0, 1.0])  # two over the width
    np.testing.assert_array_equal(scale.offsets, [0.0, 0.0])
