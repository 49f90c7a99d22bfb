"""Weights and slope for given units."""

import numpy as np
import pytest
from scipy.optimize import minimize

import gradsift as gs
from gradsift.paper.method.weights import _on_simplex, fit_weights
from gradsift.sources import ArraySource


def test_least_squares_is_numpy_s():
    m = gs.simulate.random_combination(4, 3, slope=1.5, rng=0)
    X, y = m.sample(500, 0.2, rng=1)
    A = np.tanh(1.5 * X @ m.units.T)
    expected, residual, *_ = np.linalg.lstsq(A, y, rcond=None)
    fit = fit_weights(m.units, ArraySource(X, y), slope=1.5)
    np.testing.assert_allclose(fit.weights, expected, atol=1e-10)
    s2 = residual[0] / (500 - 3)
    np.testing.assert_allclose(fit.standard_errors, np.sqrt(s2 * np.diag(np.linalg.inv(A.T @ A))), rtol=1e-8)


def test_the_slope_is_found():
    m = gs.simulate.random_combination(4, 3, slope=2.7, rng=2)
    X, y = m.sample(20_000, 0.05, rng=3)
    fit = fit_weights(m.units, ArraySource(X, y))
    assert fit.slope == pytest.approx(2.7, rel=0.02)
    np.testing.assert_allclose(fit.weights, m.weights, atol=0.02)


def test_noise_free_rows_give_the_slope_to_many_digits_and_a_slope_out_of_range_is_flagged():
    m = gs.simulate.random_combination(4, 3, slope=2.7, rng=2)
    X, y = m.sample(5000, None, rng=3)
    fit = fit_weights(m.units, ArraySource(X, y))
    assert fit.slope == pytest.approx(2.7, rel=1e-4)
    assert not fit.at_edge
    steep = gs.SigmoidCombination(m.units, m.weights, 500.0)
    assert fit_weights(m.units, ArraySource(X, steep.predict(X))).at_edge


def test_answers_whose_squares_overflow_are_refused():
    X = np.random.default_rng(0).standard_normal((50, 2))
    with pytest.raises(ValueError, match=r"y must stay below 1e\+151 in size"):
        fit_weights(np.eye(2), ArraySource(X, 1e160 * X[:, 0]))


@pytest.mark.parametrize("seed", range(6))
def test_simplex_weights_are_the_constrained_minimum(seed):
    rng = np.random.default_rng(seed)
    A, y = rng.standard_normal((40, 4)), rng.standard_normal(40)
    u = _on_simplex(A.T @ A, A.T @ y, float(y @ y))
    assert u.sum() == pytest.approx(1.0)
    assert (u >= 0).all()
    second_way = minimize(
        lambda v: np.sum((A @ v - y) ** 2),
        np.full(4, 0.25),
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
        bounds=[(0, 1)] * 4,
        tol=1e-14,
    )
    assert np.sum((A @ u - y) ** 2) <= second_way.fun * (1 + 1e-9)
    np.testing.assert_allclose(u, second_way.x, atol=1e-5)


def test_a_mixture_keeps_its_weights_on_the_simplex():
    m = gs.simulate.random_combination(4, 3, mixture=True, slope=3, rng=4)
    X, y = m.sample(50_000, "labels", rng=5)
    fit = fit_weights(m.units, ArraySource(X, y), slope=3, mixture=True)
    assert fit.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(fit.weights, m.weights, atol=0.03)


def test_a_bad_slope_is_refused():
    with pytest.raises(ValueError, match="slope must be above 0"):
        fit_weights(np.eye(2), ArraySource(np.eye(2), [1.0, 2.0]), slope=-1.0)
