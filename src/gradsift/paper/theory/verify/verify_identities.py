"""Gaussian identities of the appendix, each side computed on its own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy.integrate import quad
from scipy.special import roots_hermitenorm

from ....arguments import Floats
from ..bounds import kernel_moments
from ..gaussian_fields import (
    centered_product_mean,
    coefficients,
    mean_gradient,
    projected_mean_gradient,
    stein_covariance,
    tilted_covariance,
    tilted_mean,
)
from .comparison import Comparison, equal


def _log(x: float) -> float:
    return math.log(abs(x)) if x else -math.inf


def _integral(g: Callable[[float], float], center: float = 0.0) -> float:
    """Adaptive quadrature of g against the standard Gaussian density, split at `center`."""

    def weighted(x: float) -> float:
        return g(x) * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    ends = (center - 14, center, center + 14)
    return sum(quad(weighted, a, b, epsabs=0, epsrel=1e-12, limit=200)[0] for a, b in itertools.pairwise(ends))


def check_stein() -> Comparison:
    """Cov(X, h(X')) = Cov(X, X') E grad h(X') for jointly Gaussian X, X' of dimensions 3 and 2."""
    rng = np.random.default_rng(11)
    pairs = []
    for beta in (0.3, 1.0, 2.5):
        root = rng.standard_normal((5, 5))
        S = root @ root.T
        mean, unit = rng.standard_normal(2), rng.standard_normal(2)
        m, std = float(unit @ mean), float(np.sqrt(unit @ S[3:, 3:] @ unit))
        # X - E X given <unit, X'> is linear in it: one integral is left.
        one = _integral(lambda z, b=beta, m=m, s=std: z * math.tanh(b * (m + s * z)), -m / std)  # type: ignore[misc]
        left = S[:3, 3:] @ unit / std * one
        right = stein_covariance(S[:3, 3:], unit, beta, m, std)
        pairs += [(_log(a), _log(b)) for a, b in zip(right, left)]
    return equal("stein", "Cov(X, h) = Cov(X, X') E grad h", pairs, "adaptive quadrature")


def check_dropmean() -> Comparison:
    """Centring one factor of a covariance is enough, and Stein turns it into the mean derivative."""
    pairs = [
        (_log(centered_product_mean(beta, m)), _log(float(coefficients(np.array([m]), beta)[0])))
        for beta in (0.3, 1.0)
        for m in (0.0, 0.7, -2.0)
    ]
    return equal("dropmean", "E (X - xi) r = E grad r", pairs, "two quadrature rules")


def check_expectation() -> Comparison:
    """E e^{xi X} g(X) = e^{xi^2/2} E g(xi + X)."""
    pairs = [
        (_log(float(tilted_mean(lambda x: x * np.tanh(x), xi))),
         _log(_integral(lambda x, t=xi: math.exp(t * x) * x * math.tanh(x), xi)))  # type: ignore[misc]
        for xi in (0.0, 0.5, 2.0, -4.0)
    ]  # fmt: skip
    return equal("expectation", "mean under the exponential kernel", pairs, "adaptive quadrature")


def check_covariance() -> Comparison:
    """Var e^{xi X} g(X) from means about 2 xi and xi."""
    pairs = []
    for xi in (0.0, 0.5, 1.5):
        second = _integral(lambda x, t=xi: (math.exp(t * x) * math.tanh(x)) ** 2, 2 * xi)  # type: ignore[misc]
        first = _integral(lambda x, t=xi: math.exp(t * x) * math.tanh(x), xi)  # type: ignore[misc]
        pairs.append((_log(float(tilted_covariance(np.tanh, xi))), _log(second - first**2)))
    return equal("covariance", "variance under the exponential kernel", pairs, "adaptive quadrature")


def _plane_means(xi: Floats, r: Callable[[Floats], Floats]) -> tuple[float, Floats, float, Floats]:
    """Means of e^{<xi,X>} times 1, X, r(X), X r(X), for standard X in the plane, straight from the definition."""
    nodes, weights = roots_hermitenorm(100)
    X = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    w = np.outer(weights, weights).ravel() / (2 * np.pi) * np.exp(X @ xi)
    y = r(X)
    return float(w.sum()), w @ X, float(w @ y), (w * y) @ X


def check_expectations(label: str = "expectations") -> Comparison:
    """Means of the four kernel sums (z and u under zexpuexp, s and v under sexpvexp)."""
    units, weights = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([0.5, -0.9])

    def r(X: Floats) -> Floats:
        return np.asarray(np.tanh(X @ units.T) @ weights)

    pairs, n = [], 7.0
    for xi in (np.array([0.5, 0.2]), np.array([-1.0, 1.5])):
        z, u, s, v = _plane_means(xi, r)
        about = np.exp(-float(xi @ xi) / 2)  # E_xi is the tilted mean over e^{|xi|^2/2}; checked by `expectation`
        claimed = kernel_moments(n, float(np.linalg.norm(xi)), s * about, float(np.linalg.norm(v)) * about)
        first = [(claimed.z, math.log(n * z)), (claimed.u, math.log(n * float(np.linalg.norm(u))))]
        second = [(claimed.s, math.log(n * abs(s))), (claimed.v, math.log(n * float(np.linalg.norm(v))))]
        pairs += {"zexpuexp": first, "sexpvexp": second}.get(label, first + second)
    return equal(label, "means of the kernel sums", pairs, "tensor Gauss-Hermite in the plane")


def check_population_projected() -> Comparison:
    """The projected mean gradient is the projection of the mean gradient at the projected point."""
    rng = np.random.default_rng(12)
    units = np.linalg.qr(rng.standard_normal((5, 2)))[0].T
    basis = np.linalg.qr((units + 0.1 * rng.standard_normal((2, 5))).T)[0].T
    weights, points = np.array([0.6, 0.4]), rng.standard_normal((4, 5))
    direct = projected_mean_gradient(units, weights, 1.0, points, basis)
    other = mean_gradient(units, weights, 1.0, points @ basis.T @ basis) @ basis.T @ basis
    pairs = [(_log(a), _log(b)) for a, b in zip(direct.ravel(), other.ravel())]
    return equal("populationdim", "two forms of the projected mean gradient", pairs, "projection after the mean")


def check_model() -> Comparison:
    """The regression function of equal labels: share of +1 among a million labels at one input, within 4 s.e."""
    x, units, weights = np.array([0.7, -0.2]), np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([0.5, 0.5])
    r = float(np.tanh(2.0 * units @ x) @ weights)
    classifier = np.random.default_rng(13).random(1_000_000) < weights[0]  # a mixture: one unit answers at a time
    chance = 0.5 * (1 + np.tanh(2.0 * units @ x))
    labels = np.random.default_rng(14).random(1_000_000) < np.where(classifier, chance[0], chance[1])
    return equal("eq:Model", "mean label of a mixture of classifiers", [(_log(r), _log(2 * labels.mean() - 1))],
                 "a million labels", 4 * math.sqrt(1 - r * r) / 1000 / abs(r))  # fmt: skip


def check_gradient() -> Comparison:
    """The gradient as a combination of units, against central differences."""
    units, weights, beta = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([0.5, -0.9]), 1.7
    pairs, step = [], 1e-5
    for x in np.random.default_rng(15).standard_normal((5, 2)):
        slopes = weights * beta / np.cosh(beta * units @ x) ** 2
        for axis in np.eye(2):
            ends = (np.tanh(beta * units @ (x + sign * step * axis)) @ weights for sign in (1, -1))
            pairs.append((_log(float(slopes @ units @ axis)), _log((next(ends) - next(ends)) / (2 * step))))
    return equal("gradient", "combination of the units", pairs, "central differences", 1e-6)


def check_oracle_mean() -> Comparison:
    """``E (x - xi) y`` under voestimate, by a tensor rule, against the mean gradient: no bias at any n0."""
    units, weights = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([0.5, -0.9])
    nodes, rule = roots_hermitenorm(100)
    steps = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    w, pairs = np.outer(rule, rule).ravel() / (2 * np.pi), []
    for xi in (np.array([0.4, 0.1]), np.array([-1.0, 1.5])):
        direct = (w * (np.tanh((xi + steps) @ units.T) @ weights)) @ steps
        pairs += list(zip(map(_log, mean_gradient(units, weights, 1.0, xi[None])[0]), map(_log, direct)))
    return equal("voestimate", "mean of the value-oracle estimate", pairs, "tensor Gauss-Hermite in the plane", 1e-8)


def check_population(shrinkage: Callable[[int], float] = lambda n: 1 - 1 / n) -> Comparison:
    """Mean of eq:Slope at the origin from n rows: it is a covariance divided by n, so (1 - 1/n) of population.

    400,000 data sets of labels for n = 2, 3 and 10; elsewhere 1/n becomes about one over the support.
    """
    units, weights, rng, pairs = np.eye(1), np.ones(1), np.random.default_rng(16), []
    mean = float(mean_gradient(units, weights, 1.0, np.zeros((1, 1)))[0, 0])
    for n in (2, 3, 10):
        X = rng.standard_normal((400_000, n))
        y = np.where(rng.random(X.shape) < 0.5 * (1 + np.tanh(X)), 1.0, -1.0)
        found = float(((X - X.mean(axis=1, keepdims=True)) * y).mean())
        pairs.append((_log(shrinkage(n) * mean), _log(found)))
    return equal("population", "mean of eq:Slope from n rows", pairs, "400,000 data sets", 0.01)
