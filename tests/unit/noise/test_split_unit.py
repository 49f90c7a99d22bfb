"""Two nearly parallel units that cancel far out: a ridge is certified, a spike that fits stray answers is not."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.activations import get_activation
from gradsift.certificate import NOISY
from gradsift.certificate import noise_rules as imperfect
from gradsift.fit import Parameters, fit_jointly, predict
from gradsift.likelihood import Noise
from gradsift.reading.noise.bias import Replies
from gradsift.reading.noise.split_unit import cancelling_pairs, worst_ridge
from gradsift.reading.noise.state import JointFit

TANH = get_activation("tanh")
PAIR = Parameters(np.array([[2.0, 0.0, 0.0], [2.0, 0.2, 0.0]]), np.array([0.6, -0.5]), np.array([0.8, -0.8]), 0.0)


def fitted_to(y, X, start, sd=0.1):
    fitted = fit_jointly(start, X, y, Noise(sd), TANH)
    return JointFit(fitted, Replies(X, y, np.zeros(len(X), dtype=bool)), Noise(sd), TANH, biased=False)


def test_only_parallel_units_of_opposite_weights_cancel():
    assert cancelling_pairs(PAIR, NOISY) == [(0, 1)]
    assert cancelling_pairs(PAIR._replace(u=np.array([0.6, 0.5])), NOISY) == []  # they add up
    assert cancelling_pairs(PAIR._replace(A=np.eye(3)[:2]), NOISY) == []


def test_many_answers_carry_a_ridge_and_few_a_spike():
    rng = np.random.default_rng(4)
    X = 1.5 * rng.standard_normal((300, 3))
    ridge = fitted_to(predict(PAIR, X, TANH) + 0.1 * rng.standard_normal(300), X, PAIR)
    assert worst_ridge(ridge, TANH, NOISY).n_carrying > 3 * NOISY.carried
    assert imperfect.cancelling_pair(worst_ridge(ridge, TANH, NOISY), NOISY).holds
    stray = np.argsort(np.abs(X[:, 0]))[:3]  # next to each other along the first input
    y = 0.1 * rng.standard_normal(300)
    y[stray] += 1.2
    edge = np.sort(np.abs(X[:, 0]))[3]
    steep = 3.0 / edge
    start = Parameters(
        np.array([[steep, 0.0, 0.0], [steep, 0.0, 0.0]]), np.array([0.6, -0.6]), np.array([2.0, -2.0]), 0.0
    )
    spike = fitted_to(y, X, start)
    found = worst_ridge(spike, TANH, NOISY)
    assert found.n_carrying <= 3
    assert not imperfect.cancelling_pair(found, NOISY).holds
    assert "hang on 3 answers" in imperfect.cancelling_pair(found._replace(n_carrying=3, error=0.0), NOISY).says


def test_a_pair_of_which_only_the_sum_is_known_is_not_certified():
    rng = np.random.default_rng(6)
    X = 1.5 * rng.standard_normal((300, 3))
    bump = 1 - np.tanh(2 * X[:, 0]) ** 2  # the derivative of a unit: the limit of ever larger weights
    start = PAIR._replace(
        A=np.array([[2.0, 0.0, 0.0], [2.0, 0.0, 0.0]]), u=np.array([9.0, -9.0]), b=np.array([0.05, -0.05])
    )
    pair = fitted_to(bump + 0.1 * rng.standard_normal(300), X, start)
    check = imperfect.cancelling_pair(worst_ridge(pair, TANH, NOISY), NOISY)
    assert not check.holds
    assert "only their sum is known" in check.says


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_ridge_is_certified_through_noise(seed):
    rng = np.random.default_rng([55, seed])
    first, other = np.linalg.qr(rng.standard_normal((4, 2)))[0].T
    second = np.cos(np.radians(15)) * first + np.sin(np.radians(15)) * other
    third = rng.standard_normal(4)
    units = np.stack([first, second, third / np.linalg.norm(third)])
    truth = gs.SigmoidCombination(units, [0.85, -0.8, 0.5], 2.0, [0.8, -0.8, 0.1])
    oracle = gs.Oracle(lambda X: truth.predict(X) + 0.1 * rng.standard_normal(len(X)), 4, max_queries=4000)
    found = gs.recover(oracle, activation="tanh", random_state=seed)
    assert found.certified, found.verdict
    assert gs.match_units(found.model.units, truth.units).max_error < found.diagnostics["directions_within"]
    assert "outliers" not in found.verdict
