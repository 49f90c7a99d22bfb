"""What is particular to labels: slopes that noise would make too steep, and points where a label says most."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.activations import get_activation
from gradsift.fit import Parameters, Prior, fit_jointly, predict, slope_prior
from gradsift.likelihood import Noise
from gradsift.reading.ledger import Ledger
from gradsift.reading.noise.leverage import (
    argument_errors,
    information_of_labels,
    leverage_points,
    leverage_points_for_labels,
)
from gradsift.reading.noise.missing_unit import look_for_another_by_labels
from gradsift.reading.noise.settings import SCALE

TANH = get_activation("tanh")


def mixture(weights, d=10, slope=1.5, seed=0):
    rng = np.random.default_rng(seed)
    A = np.linalg.qr(rng.standard_normal((d, len(weights))))[0].T * slope
    return Parameters(A, np.array(weights), 0.2 * rng.standard_normal(len(weights)), 0.0)


def labels_of(theta, X, rng):
    return np.where(rng.random(len(X)) < 0.5 * (1 + predict(theta, X, TANH)), 1.0, -1.0)


def fitted_to(theta, n, seed, start=None):
    rng = np.random.default_rng(seed)
    X = 2 * rng.standard_normal((n, theta.A.shape[1]))
    y = labels_of(theta, X, rng)
    return fit_jointly(theta if start is None else start, X, y, Noise(1.0, labels=True, typical_slope=1.5), TANH)


def test_the_drag_keeps_noise_from_making_slopes_steeper():
    """40 fits of 13 unknowns to 300 labels each: mean log-slopes within 0.25, against 0.8 and more without it.

    The drag is an expansion in one over the number of labels, so that it may overdo its work a little.
    """
    theta = mixture([0.9], d=10, slope=2.0)
    noise, logs = Noise(1.0, labels=True, typical_slope=2.0), []
    for seed in range(40):
        rng = np.random.default_rng([1, seed])
        X = 2 * rng.standard_normal((300, 10))
        y = labels_of(theta, X, rng)
        fits = [
            fit_jointly(theta, X, y, noise, TANH, prior=Prior(0.0, 0.0, 0.0, 0.1, typical=2.0, drag=drag))
            for drag in (0.6, 0.0)
        ]
        logs.append([np.log(np.linalg.norm(one.theta.A[0]) / 2.0) for one in fits])
    with_drag, without = np.mean(logs, axis=0)
    assert abs(with_drag) < 0.25
    assert without > 0.8


def test_a_fit_with_drag_ends_where_its_loss_is_level():
    theta = mixture([0.6, -0.35], d=4)
    rng = np.random.default_rng(2)
    X = 2 * rng.standard_normal((400, 4))
    y = labels_of(theta, X, rng)
    noise = Noise(1.0, labels=True, typical_slope=1.5)
    fitted = fit_jointly(theta, X, y, noise, TANH, enough=1e-9)

    def loss(stretch):
        there = fitted.theta._replace(A=fitted.theta.A * np.array([[stretch], [1.0]]))
        return noise.loss(predict(there, X, TANH), y) + slope_prior(noise).loss(there)

    assert loss(1.0) == pytest.approx(fitted.loss)
    assert loss(0.99) > loss(1.0) < loss(1.01)


def test_label_levers_lie_next_to_the_units_plane_where_the_others_agree():
    theta = mixture([0.5, -0.3, 0.2])
    fitted = fitted_to(theta, 4000, 3)
    points = leverage_points_for_labels(fitted, 2, SCALE.steep, 0.1, TANH, np.random.default_rng(4))
    own = points @ fitted.theta.A[2] + fitted.theta.b[2]
    np.testing.assert_allclose(np.abs(own), SCALE.steep, atol=1e-8)
    assert 0.2 < np.mean(own > 0) < 0.8
    np.testing.assert_allclose(argument_errors(fitted, 2, points), SCALE.steep, rtol=0.3)  # offsets are uncertain, too
    others = TANH.value(points @ fitted.theta.A[:2].T + fitted.theta.b[:2]) * np.sign(fitted.theta.u[:2])
    assert np.mean(others[:, 0] * others[:, 1] > 0.8) > 0.9
    assert 0.2 < np.mean(others[:, 0] > 0) < 0.8  # on both sides


def test_a_label_says_more_where_the_others_agree():
    theta = mixture([0.5, -0.35, 0.15])
    fitted = fitted_to(theta, 6000, 5)
    rng = np.random.default_rng(6)
    plain = np.concatenate([leverage_points(fitted, 2, SCALE.steep, rng) for _ in range(5)])
    chosen = leverage_points_for_labels(fitted, 2, SCALE.steep, 0.1, TANH, rng)
    assert (
        information_of_labels(fitted, 2, chosen, TANH).mean()
        > 1.2 * information_of_labels(fitted, 2, plain, TANH).mean()
    )


def test_the_news_of_a_label_is_the_mean_over_likely_arguments():
    """Against 200,000 draws of the arguments at one point; 4%, for seven nodes and a variance bounded below."""
    theta = mixture([0.5, -0.3], d=5)
    fitted = fitted_to(theta, 1500, 7)
    point = leverage_points_for_labels(fitted, 1, SCALE.steep, 0.01, TANH, np.random.default_rng(8))[:1]
    rng = np.random.default_rng(9)
    z = fitted.theta.A @ point[0] + fitted.theta.b
    doubts = [argument_errors(fitted, unit, point)[0] for unit in range(2)]
    likely = z[:, None] + np.array(doubts)[:, None] * rng.standard_normal((2, 200_000))
    u = fitted.theta.u
    r = fitted.theta.c + u[0] * np.tanh(likely[0]).mean() + u[1] * np.tanh(likely[1])
    information = np.mean((u[1] / np.cosh(likely[1]) ** 2) ** 2 / (1 - r**2))
    assert information_of_labels(fitted, 1, point, TANH)[0] == pytest.approx(information * doubts[1] ** 2, rel=0.04)


def asked(truth, fitted, seed, level=0.13):
    rng = np.random.default_rng([10, seed])
    oracle = gs.Oracle(lambda X: labels_of(truth, X, rng), truth.A.shape[1])
    test = look_for_another_by_labels(fitted, Ledger(oracle), 2.0, level, 4000, TANH, np.random.default_rng(seed))
    return test, oracle.n_queries


@pytest.mark.parametrize(("weights", "most"), [([0.5, 0.3, 0.2], 0), ([0.4, -0.3, 0.2], 2)])
def test_a_complete_network_seldom_causes_an_alarm(weights, most):
    """Never in 12 fits if the weights add up to one; else their sum was itself estimated, from 5000 labels, and looks
    surer than it is where it comes out near one. A false alarm costs labels, a missed unit would be a wrong answer."""
    theta = mixture(weights)
    assert sum(asked(theta, fitted_to(theta, 5000, seed), seed)[0].alarm for seed in range(12)) <= most


def test_weights_that_add_up_to_one_leave_little_to_ask():
    theta = mixture([0.5, 0.3, 0.2])
    test, n_queries = asked(theta, fitted_to(theta, 3000, 0), 0)
    assert n_queries < 1200
    assert test.level < 0.2


@pytest.mark.parametrize("missing", [1, 2])
def test_a_missing_unit_shows(missing):
    """In at least 5 of 6 fits, of two units to the labels of three: what is left may have hidden in the weights."""
    truth = mixture([0.5, 0.3, 0.2])
    keep = np.arange(3) != missing
    start = Parameters(truth.A[keep], truth.u[keep], truth.b[keep], 0.0)
    alarms = [asked(truth, fitted_to(truth, 10_000, seed, start), seed)[0].alarm for seed in range(6)]
    assert sum(alarms) >= 5


def test_a_unit_that_stands_for_two_shows():
    truth = mixture([0.4, 0.35, 0.25])
    start = Parameters(np.stack([truth.A[0], 0.5 * (truth.A[1] + truth.A[2])]), np.array([0.4, 0.6]), truth.b[:2], 0.0)
    alarms = [asked(truth, fitted_to(truth, 10_000, seed, start), seed)[0].alarm for seed in range(6)]
    assert all(alarms)
