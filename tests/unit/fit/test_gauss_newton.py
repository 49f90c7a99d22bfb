"""The loop on small landscapes of its own: it knows neither rows nor units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import least_squares

import gradsift as gs
from gradsift.activations import get_activation
from gradsift.fit import Parameters, fit_jointly, predict
from gradsift.fit.gauss_newton import Limits, LocalModel, curvature_along, minimise, solve_step
from gradsift.likelihood import Noise


class Spot(NamedTuple):
    theta: np.ndarray
    objective: float


class Valley:
    """Rosenbrock's function as a sum of two squares; `reuses` carries the curvature along."""

    def __init__(self, reuses: bool = False) -> None:
        self.reuses, self.n_looks, self.n_models = reuses, 0, 0

    def residuals(self, x):
        return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])

    def gradient(self, x):
        return self.jacobian(x).T @ self.residuals(x)

    def jacobian(self, x):
        return np.array([[-20 * x[0], 10.0], [-1.0, 0.0]])

    def look(self, x):
        self.n_looks += 1
        return Spot(x, 0.5 * float(self.residuals(x) @ self.residuals(x)))

    def model(self, here):
        self.n_models += 1
        J = self.jacobian(here.theta)
        return LocalModel(J.T @ J, self.gradient(here.theta), False, None)

    def model_at(self, model, here, there):
        if not self.reuses:
            return None
        change = self.gradient(there.theta) - self.gradient(here.theta)
        return LocalModel(
            curvature_along(model.matrix, there.theta - here.theta, change), self.gradient(there.theta), True, None
        )

    def moved(self, here, model, step):
        return here.theta + step


def run(valley, limits, start=(-1.2, 1.0)):
    first = valley.look(np.array(start))
    return minimise(valley, first, valley.model(first), limits)


@pytest.mark.parametrize("reuses", [False, True])
def test_the_bottom_of_a_curved_valley_is_found(reuses):
    valley = Valley(reuses)
    end = run(valley, Limits(1e-12, 200))
    assert end.converged
    np.testing.assert_allclose(end.here.theta, [1.0, 1.0], atol=1e-5)
    peer = least_squares(valley.residuals, [-1.2, 1.0], valley.jacobian, method="lm")
    assert valley.n_looks < 3 * peer.nfev


def test_a_carried_curvature_saves_models_and_none_is_trusted_that_fails():
    fresh, carried = Valley(), Valley(reuses=True)
    run(fresh, Limits(1e-12, 200))
    run(carried, Limits(1e-12, 200))
    assert carried.n_models < fresh.n_models


def test_limits_end_the_descent_and_no_step_goes_uphill():
    assert run(Valley(), Limits(1e-4, 0)).here.theta.tolist() == [-1.2, 1.0]
    few = [run(Valley(), Limits(1e-12, most)).here.objective for most in range(12)]
    assert (np.diff(few) <= 0).all()
    assert not run(Valley(), Limits(1e-12, 3)).converged
    floor = run(Valley(), Limits(1e-12, 200, floor=1.0))
    assert 0.01 < floor.here.objective < 1.0


def test_a_step_promises_what_its_quadratic_model_says():
    rng = np.random.default_rng(0)
    J, g = rng.standard_normal((6, 4)), rng.standard_normal(4)
    H = J.T @ J
    step, promised = solve_step(H, g, 0.0)
    np.testing.assert_allclose(step, -np.linalg.solve(H, g))
    assert promised == pytest.approx(0.5 * g @ np.linalg.solve(H, g))
    shorter, less = solve_step(H, g, 10.0)
    assert np.linalg.norm(shorter) < np.linalg.norm(step)
    assert 0 < less < promised
    step, promised = solve_step(np.zeros((4, 4)), g, 0.0)  # nothing known: some step downhill
    assert step @ g < 0


def test_an_updated_matrix_explains_the_change_of_the_gradient():
    rng = np.random.default_rng(1)
    H, step = np.eye(3), rng.standard_normal(3)
    change = np.diag([1.0, 2.0, 3.0]) @ step
    np.testing.assert_allclose(curvature_along(H, step, change) @ step, change)
    np.testing.assert_array_equal(curvature_along(H, step, -change), H)  # no bowl: left alone


@pytest.mark.parametrize("linear", [False, True])
def test_the_joint_fit_ends_where_a_peer_does_with_and_without_a_linear_term(linear):
    g = get_activation("tanh")
    truth = gs.simulate.random_combination(4, 2, slope=2.0, offsets=True, rng=3)
    rng = np.random.default_rng(4)
    X = 2 * rng.standard_normal((200, 4))
    slope = np.array([0.3, -0.2, 0.0, 0.1]) if linear else None
    theta = Parameters(truth.units * truth.slopes[:, None], truth.weights, truth.offsets, 0.2, slope)
    y = predict(theta, X, g) + 0.05 * rng.standard_normal(200)
    fitted = fit_jointly(theta, X, y, Noise(0.05), g, enough=1e-9)
    layout = theta.layout
    assert fitted.information.shape == (layout.size, layout.size)
    peer = least_squares(lambda p: predict(layout.unpack(p), X, g) - y, layout.pack(theta))
    # The weak prior on log-slopes moves the optimum by a small part of a standard error.
    moved = (layout.pack(fitted.theta) - peer.x) / np.sqrt(np.diag(np.linalg.inv(peer.jac.T @ peer.jac))) / 0.05
    assert np.abs(moved).max() < 0.05
    if linear:
        np.testing.assert_allclose(fitted.theta.linear, slope, atol=0.02)


def test_a_step_that_leaves_double_precision_is_damped():
    step, promised = solve_step(np.array([[1e-320]]), np.array([1.0]), 1e-3)
    assert np.isfinite(step).all()
    assert promised >= 0
