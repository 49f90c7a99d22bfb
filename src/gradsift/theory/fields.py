"""Mean gradients and Gaussian identities, by quadrature and independent of the algorithms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import roots_hermitenorm

from ..activations import get_activation
from ..checking import Floats
from ..paper import implements

__all__ = [
    "centered_product_mean", "coefficients", "gaussian_mean", "mean_gradient", "projected_mean_gradient",
    "stein_covariance", "tilted_covariance", "tilted_mean",
]  # fmt: skip


def gaussian_mean(g: Callable[[Floats], Floats], mean: float) -> Floats:
    """``E g(mean + Z)`` by 128-point Gauss-Hermite; g may return several columns."""
    nodes, weights = roots_hermitenorm(128)
    return np.asarray(weights @ g(mean + nodes) / np.sqrt(2 * np.pi))


def coefficients(arguments: Floats, beta: float) -> Floats:
    """``E f'(z + X)`` for f = tanh(beta .), elementwise in the arguments z."""
    tanh = get_activation("tanh")
    return np.asarray(beta * tanh.smoothed_derivative(beta * arguments, beta))


def mean_gradient(units: Floats, weights: Floats, beta: float, points: Floats) -> Floats:
    """Mean gradient around each point, (m, d); the theory's own version of the model's `smoothed_gradient`."""
    return np.asarray((coefficients(points @ units.T, beta) * weights) @ units)


@implements("populationdim")
def projected_mean_gradient(units: Floats, weights: Floats, beta: float, points: Floats, basis: Floats) -> Floats:
    """What the projected estimate tends to: projected units, coefficients at the projected points, (m, d).

    `basis` has orthonormal rows (k, d) that span the estimated subspace.
    """
    flat = points @ basis.T @ basis  # (m, d)
    return np.asarray((coefficients(flat @ units.T, beta) * weights) @ (units @ basis.T @ basis))


@implements("stein")
def stein_covariance(cross: Floats, unit: Floats, beta: float, mean: float, std: float) -> Floats:
    """``Cov(X, X') E grad h(X')`` for h = tanh(beta <unit, .>), where <unit, X'> ~ N(mean, std^2)."""
    slope = beta * float(get_activation("tanh").smoothed_derivative(np.asarray(beta * mean), beta * std))
    return np.asarray(cross @ unit * slope)


@implements("dropmean")
def centered_product_mean(beta: float, mean: float) -> float:
    """``E (Z - mean) tanh(beta Z)`` for Z ~ N(mean, 1): the mean of the second factor drops out of a covariance."""
    return float(gaussian_mean(lambda z: (z - mean) * np.tanh(beta * z), mean))


@implements("expectation")
def tilted_mean(g: Callable[[Floats], Floats], xi: float) -> Floats:
    """``E e^{xi X} g(X)`` for standard Gaussian X, as e^{xi^2/2} times a mean about xi."""
    return np.asarray(np.exp(xi**2 / 2) * gaussian_mean(g, xi))


@implements("covariance")
def tilted_covariance(g: Callable[[Floats], Floats], xi: float) -> Floats:
    """``Var e^{xi X} g(X)`` for standard Gaussian X and scalar g, from means about 2 xi and xi."""
    second = np.exp(2 * xi**2) * gaussian_mean(lambda x: g(x) ** 2, 2 * xi)
    return np.asarray(second - np.exp(xi**2) * gaussian_mean(g, xi) ** 2)
