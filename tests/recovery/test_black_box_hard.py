"""Networks that are hard to take apart, and functions that are no such network."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erf, expit

import gradsift as gs
from gradsift.errors import NotIdentifiable
from gradsift.geometry import orthonormal_rows
from gradsift.reading import identify

from .test_black_box_exact import worst_error


def parts(d, k, seed=0):
    rng = np.random.default_rng([12, d, k, seed])
    a = rng.standard_normal((k, d))
    a *= rng.uniform(1, 3, (k, 1)) / np.linalg.norm(a, axis=1, keepdims=True)
    return a, rng.standard_normal(k), rng.choice([-1.0, 1.0], k) * rng.uniform(0.2, 1, k)


def check(a, b, u, c=0.3, seed=0, tolerance=1e-8):
    truth = gs.SigmoidCombination(a, u, 1.0, b, c)
    found = identify(gs.Oracle(truth.predict, a.shape[1]), rng=seed)
    assert found.certified, found.verdict
    assert worst_error(found.model, truth) < tolerance
    return found


@pytest.mark.parametrize("k", [4, 10])
@pytest.mark.parametrize("signed", [True, False])
def test_equal_weights_whose_steps_cancel(k, signed):
    a, b, u = parts(10, k)
    check(a, b, 0.5 * np.sign(u) if signed else np.full(k, 1 / k))


@pytest.mark.parametrize("angle", [1e-2, 1e-4])
def test_nearly_parallel_units(angle):
    a, b, u = parts(10, 4)
    across = np.linalg.qr(np.stack([a[0], a[1]]).T)[0][:, 1]
    first = a[0] / np.linalg.norm(a[0])
    a[1] = np.linalg.norm(a[1]) * (np.cos(angle) * first + np.sin(angle) * across)
    found = check(a, b, u)
    assert found.diagnostics["smallest_angle"] == pytest.approx(angle, rel=1e-3)


def test_units_that_overlap_on_the_first_circle_by_chance_cost_one_more_circle():
    a, b, u = parts(10, 3)
    plane = orthonormal_rows(2, 10, np.random.default_rng(0))  # which the search draws first
    steepness = np.linalg.norm(a @ plane.T, axis=1, keepdims=True)
    together = np.array([[-0.6, 0.8], [-0.599, 0.8], [-0.601, 0.8]])
    found = check(a + (steepness * together - a @ plane.T) @ plane, b, u)
    assert found.diagnostics["attempts"] == 2
    assert found.n_queries < 130


def test_weights_over_four_decades():
    a, b, u = parts(8, 5)
    check(a, b, np.sign(u) * np.geomspace(1e-4, 1, 5))


def test_slopes_over_four_decades():
    a, b, u = parts(8, 5)
    check(a / np.linalg.norm(a, axis=1, keepdims=True) * np.geomspace(1e-2, 1e2, 5)[:, None], b, u)


@pytest.mark.parametrize("size", [30.0, 1e4])
def test_large_offsets(size):
    a, b, u = parts(8, 4)
    check(a, size * b, u)
    one = b.copy()
    one[0] = size
    check(a, one, u)


@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_any_units_of_measurement(scale):
    a, b, u = parts(6, 3)
    check(a * scale, b, u)
    check(a, b, u * scale, c=0.3 * scale)


def test_inputs_that_no_unit_uses():
    a, b, u = parts(9, 4)
    a[:, 4:] = 0
    check(a, b, u)


def test_more_units_than_inputs():
    a, b, u = parts(5, 40)
    check(a, b, u)


def test_a_dead_unit_leaves_the_others_and_the_same_function():
    a, b, u = parts(6, 4)
    a[2] = 0  # a constant
    u[3] = 0

    def f(X):
        return np.tanh(X @ a.T + b) @ u

    found = identify(gs.Oracle(f, 6), rng=0)
    assert found.certified
    assert found.model.n_units == 2
    X = np.random.default_rng(0).standard_normal((40, 6))
    np.testing.assert_allclose(found.model.predict(X), f(X), atol=1e-12)


def test_two_copies_of_a_unit_are_one_unit():
    a, b, u = parts(6, 4)
    a[1], b[1] = a[0], b[0]

    def f(X):
        return np.tanh(X @ a.T + b) @ u

    found = identify(gs.Oracle(f, 6), rng=0)
    assert found.certified
    assert found.model.n_units == 3


@pytest.mark.parametrize(("ratio", "gap"), [(1.5, 0.0), (1.5, 10.0), (1.0, 2.0)])
def test_parallel_units_are_read_as_a_pair(ratio, gap):
    a, b, u = parts(6, 4)
    a[1], b[1] = ratio * a[0], ratio * b[0] + gap
    found = check(a, b, u)
    assert found.diagnostics["smallest_angle"] < 1e-9
    assert found.diagnostics["spent"]["pairs"] >= 2 * 4


def test_exactly_parallel_units_of_fresh_networks_are_found_and_none_is_certified_wrong():
    certified = 0
    for seed in range(4):
        a, b, u = parts(6, 4, seed + 100)
        a[1] = np.linalg.norm(a[1]) / np.linalg.norm(a[0]) * a[0] * (-1) ** seed
        truth = gs.SigmoidCombination(a, u, 1.0, b, 0.3)
        try:
            found = identify(gs.Oracle(truth.predict, 6), rng=seed)
        except NotIdentifiable:
            continue
        certified += found.certified
        assert not found.certified or worst_error(found.model, truth) < 1e-8
    assert certified >= 3


def test_units_that_no_radius_separates_are_read_as_a_pair():
    a, b, u = parts(10, 4)
    across = np.linalg.qr(np.stack([a[0], a[1]]).T)[0][:, 1]
    a[1] = 2.0 * (a[0] / np.linalg.norm(a[0]) + 1e-7 * across)
    check(a, b, u)


def test_three_parallel_units_are_refused_and_the_others_handed_over():
    a, b, u = parts(6, 5)
    a[1], a[2] = 1.5 * a[0], 0.8 * a[0]
    truth = gs.SigmoidCombination(a, u, 1.0, b, 0.0)
    with pytest.raises(NotIdentifiable, match="parallel") as refusal:
        identify(gs.Oracle(truth.predict, 6), rng=0)
    assert not refusal.value.partial.certified
    assert refusal.value.partial.model.n_units == 2


def sum_of(g, d=5, k=8):
    a, b, u = parts(d, k)
    return lambda X: g(X @ a.T + b) @ u


def forest():
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    return RandomForestRegressor(10, random_state=0).fit(X, np.tanh(X[:, 0]) + X[:, 1] ** 2).predict


TANH = sum_of(np.tanh)
REFUSED = {
    "relu": (sum_of(lambda z: np.maximum(z, 0)), "grows linearly"),
    "linear": (lambda X: X @ np.arange(5.0) + 0.2, "constant but for a linear term"),
    "relu and linear": (lambda X: sum_of(lambda z: np.maximum(z, 0))(X) + X[:, 0], "ReLU"),
    "softplus": (sum_of(lambda z: np.logaddexp(0, z)), "ReLU"),
    "linear and signs": (lambda X: sum_of(np.sign)(X) + X[:, 0], "discontinuous"),
    "linear and periodic": (lambda X: sum_of(np.sin)(X) + X[:, 0], "neither"),
    "linear and arctan": (lambda X: sum_of(np.arctan)(X) + X[:, 0], r"None of \d steps|algebraic tails"),
    "mostly linear": (lambda X: TANH(X) + 1e8 * X[:, 0], "linear term is"),
    "forest": (forest(), "discontinuous"),
    "signs": (sum_of(np.sign), "discontinuous"),
    "constant": (lambda X: np.full(len(X), 0.1), "constant"),
    "periodic": (sum_of(np.sin), "neither"),
    "output link": (lambda X: expit(TANH(X)), "output link"),
    "deeper": (lambda X: np.tanh(2 * TANH(X)), "deeper"),
    "erf": (sum_of(erf), "use activation='erf'"),
    "arctan": (sum_of(np.arctan), "activation='arctan'"),
    "single precision": (lambda X: TANH(X).astype(np.float32), "rounded"),
    "six decimals": (lambda X: np.round(TANH(X), 6), "rounded"),
    "bump": (lambda X: np.exp(-(X**2).sum(axis=1)), "not a sum of sigmoids"),
    "product": (lambda X: np.tanh(X[:, 0]) * np.tanh(X[:, 1]), "not a sum of sigmoids"),
    "radial": (lambda X: np.tanh(np.linalg.norm(X, axis=1)), "not a sum of sigmoids"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_is_no_sum_of_tanh_units_is_refused_early_and_with_the_reason(name):
    function, reason = REFUSED[name]
    oracle = gs.Oracle(function, 5)
    with pytest.raises(NotIdentifiable, match=reason):
        identify(oracle, rng=0)
    assert oracle.n_queries < 700


def test_one_dimension_is_refused():
    with pytest.raises(NotIdentifiable, match="one dimension"):
        identify(gs.Oracle(lambda X: np.tanh(X[:, 0]), 1))
