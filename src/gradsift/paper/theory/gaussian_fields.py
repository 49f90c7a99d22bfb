"""Mean gradients and Gaussian identities, by quadrature and independent of the algorithms."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import roots_hermitenorm

from ...activations import get_activation
from ...arguments import Floats
from .. import implements


def gaussian_mean(g: Callable[[Floats], Floats], mean: float) -> Floats:
    """``E g(mean + Z)`` by 128-point Gauss-Hermite; g may return several columns."""
    nodes, weights = roots_hermitenorm(128)
    return np.asarray(weights @ g(mean + nodes) / np.sqrt(2 * np.pi))


def log_coefficients(arguments: Floats, beta: float) -> Floats:
    """Log of ``E f'(z + Z)`` for f = tanh(beta .) and standard Gaussian Z, elementwise in the arguments z.

    In the far field it is log(4 beta) - 2 beta |z| + 2 beta^2 to rounding; nearer, the integrand
    beta sech^2(beta s) phi(s - z) is log-concave, and Gauss-Legendre runs between its peak, the edges of the steep part
    of sech^2 and twelve standard deviations beyond, 480 nodes for each element.
    """
    z = np.abs(arguments)
    # Far out sech^2 is 4 e^{-2 beta |s|} to rounding, whose Gaussian mean has this closed form.
    logs = math.log(4 * beta) - 2 * beta * z + 2 * beta**2
    near = z < 3 * beta + 20 / beta  # beyond, the next term is e^{-40} of the first
    if near.any():
        inside = z[near]
        blocks = [_near_log_coefficients(inside[i : i + 2048], beta) for i in range(0, inside.size, 2048)]
        logs[near] = np.concatenate(blocks)
    return logs


_LEGENDRE_NODES, _LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(96)
_PEAK_REACH = 12.0  # the integrand falls faster than a Gaussian from its peak: e^{-72} is left out


def _near_log_coefficients(z: Floats, beta: float) -> Floats:
    low, high = np.zeros_like(z), z.copy()
    for _ in range(50):  # the peak solves z - s = 2 beta tanh(beta s) between 0 and z
        middle = 0.5 * (low + high)
        rising = z - middle - 2 * beta * np.tanh(beta * middle) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    peak = 0.5 * (low + high)
    # Between these edges the integrand is smooth on the scale of a piece, so that 96 nodes a piece reach rounding.
    first, last = peak - _PEAK_REACH, peak + _PEAK_REACH
    inner = [np.clip(edge, first, last) for edge in (-20 / beta, 0.0, 20 / beta, peak)]
    edges = np.sort(np.stack([first, *inner, last], axis=1), axis=1)  # (n, 6)
    half = 0.5 * np.diff(edges, axis=1)[..., None]  # (n, 5, 1)
    s = edges[:, :-1, None] + half * (1 + _LEGENDRE_NODES)  # (n, 5, 96)

    def log_value(s: Floats, z: Floats) -> Floats:
        return np.asarray(2 * math.log(2) - 2 * np.logaddexp(beta * s, -beta * s) - 0.5 * (s - z) ** 2)

    # Divide by the value at the peak before exponentiating: the integral itself may underflow, its logarithm does not.
    top = log_value(peak, z)
    total = (half * _LEGENDRE_WEIGHTS * np.exp(log_value(s, z[:, None, None]) - top[:, None, None])).sum(axis=(1, 2))
    return np.asarray(math.log(beta) - 0.5 * math.log(2 * math.pi) + top + np.log(total))


def coefficients(arguments: Floats, beta: float) -> Floats:
    """``E f'(z + Z)``, elementwise; 0 where it underflows."""
    return np.exp(log_coefficients(arguments, beta))


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
def centered_mean(beta: float, mean: float) -> float:
    """``E (Z - mean) tanh(beta Z)`` for Z ~ N(mean, 1): the mean of the second factor drops out of a covariance."""
    return float(gaussian_mean(lambda z: (z - mean) * np.tanh(beta * z), mean))


@implements("expectation")
def kernel_mean(g: Callable[[Floats], Floats], xi: float) -> Floats:
    """``E e^{xi X} g(X)`` for standard Gaussian X, as e^{xi^2/2} times a mean about xi."""
    return np.asarray(np.exp(xi**2 / 2) * gaussian_mean(g, xi))


@implements("covariance")
def kernel_covariance(g: Callable[[Floats], Floats], xi: float) -> Floats:
    """``Var e^{xi X} g(X)`` for standard Gaussian X and scalar g, from means about 2 xi and xi."""
    # E e^{2 xi X} g^2 = e^{2 xi^2} E g(2 xi + X)^2, less the square of the mean.
    second = np.exp(2 * xi**2) * gaussian_mean(lambda x: g(x) ** 2, 2 * xi)
    return np.asarray(second - np.exp(xi**2) * gaussian_mean(g, xi) ** 2)
