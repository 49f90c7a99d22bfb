"""Probabilities of slabs and distances of subspaces, against exact Gaussian integrals and singular values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy.integrate import quad
from scipy.special import erf, ndtr

from ..bounds import (
    aligned_bases,
    basis_distance,
    coefficient_bounds,
    cosine_gap,
    derivative_bounds,
    parallelogram,
    projected_two_slabs,
    projected_two_slabs_tight,
    projection_error,
    slab,
    two_slabs,
)
from ..exact_parameters import exact_log_coefficient
from ..log_space import Bound
from .comparison import Comparison, at_least, at_most

_BETAS, _ARGUMENTS = (0.05, 0.3, 1.0, 3.0, 30.0), np.array([0.0, 0.1, 1.0, 3.0, 10.0, 40.0])


def exact_rectangle(a: float, b: float, c: float) -> float:
    """P(|Z1| < a, |Z2| < b) for standard Gaussians with correlation c, by one adaptive integral."""
    s = math.sqrt(1 - c * c)

    def inner(x: float) -> float:
        return math.exp(-x * x / 2) * float(ndtr((b - c * x) / s) - ndtr((-b - c * x) / s))

    return float(quad(inner, -min(a, 12), min(a, 12), epsabs=0, epsrel=1e-11, limit=200)[0]) / math.sqrt(2 * math.pi)


def _derivatives(side: int) -> list[tuple[float, float]]:
    pairs = []
    for beta, x in itertools.product(_BETAS, _ARGUMENTS):
        log_exact = math.log(beta) - 2 * float(np.logaddexp(beta * x, -beta * x) - math.log(2))
        pairs.append((derivative_bounds(float(x), beta)[side].log_value, log_exact))
    return pairs


def check_derivative_floor(strict: bool = False) -> Comparison:
    """Lower bound on f'; the paper prints a strict one, but at zero there is equality."""
    tolerance = -1e-12 if strict else 1e-9
    return at_least("eq:BoundsFprime", "derivative of tanh, from below", _derivatives(0), "log cosh", tolerance)


def check_derivative_ceiling() -> Comparison:
    """Upper bound on f'."""
    return at_most("eq:BoundsFprime", "derivative of tanh, from above", _derivatives(1), "log cosh")


def _mean_derivatives(side: int) -> list[tuple[float, float]]:
    return [
        (coefficient_bounds(float(z), beta)[side].log_value, exact_log_coefficient(float(z), beta))
        for beta, z in itertools.product(_BETAS, _ARGUMENTS)
    ]


def check_coefficient_floor() -> Comparison:
    """Lower bound on the smoothed derivative."""
    return at_least("lowerupperbound", "mean derivative, from below", _mean_derivatives(0), "quadrature in log space")


def check_coefficient_ceiling() -> Comparison:
    """Upper bound on the smoothed derivative."""
    return at_most("lowerupperbound", "mean derivative, from above", _mean_derivatives(1), "quadrature in log space")


def check_coefficient_lemma() -> Comparison:
    """The lemma for vectors: ``E f'(<w, X>)``, X about xi in dimension 5, by a million draws, between both bounds."""
    rng, pairs = np.random.default_rng(32), []
    w = rng.standard_normal(5)
    w /= np.linalg.norm(w)
    g = rng.standard_normal((1_000_000, 5)) @ w
    for beta, scale in itertools.product((0.3, 1.0), (0.5, 3.0)):
        xi = scale * rng.standard_normal(5)
        found = math.log(float((beta / np.cosh(beta * (w @ xi + g)) ** 2).mean()))
        low, high = coefficient_bounds(float(w @ xi), beta)
        pairs += [(high.log_value, found), (-low.log_value, -found)]
    return at_most("lemma:coeffboundssimple", "mean derivative of a unit in dimension 5", pairs, "a million draws")


def check_slab() -> Comparison:
    """One slab."""
    pairs = [(slab(t, 1.0).log_value, math.log(erf(t / math.sqrt(2)))) for t in (1e-6, 0.01, 0.3, 0.9, 0.999999)]
    return at_least("anglelemma", "chance of one slab", pairs, "error function")


def check_two_slabs() -> Comparison:
    """Two slabs; kappa is exactly the smallest singular value of the pair."""
    pairs = []
    for a, b, c in itertools.product((1e-3, 0.2, 2.0), (1e-3, 0.5), (0.0, 0.4, -0.9, 0.999)):
        kappa = math.sqrt(1 - abs(c))
        pairs.append((two_slabs(a, b, 1.0, kappa).log_value, math.log(exact_rectangle(a, b, c))))
    return at_most("anglelemma", "chance of two slabs", pairs, "exact bivariate normal")


def check_parallelogram() -> Comparison:
    """Two slabs, with the correlation itself."""
    pairs = []
    for a, b, c, sigma in itertools.product((1e-3, 0.2, 2.0), (1e-3, 0.5), (0.0, 0.4, -0.9, 0.999), (0.5, 40.0)):
        exact = math.log(exact_rectangle(a / sigma, b / sigma, c))
        pairs.append((parallelogram(a, b, sigma, c).log_value, exact))
    return at_most("parallelogramlemma", "chance of a parallelogram", pairs, "exact bivariate normal")


Slabs = Callable[[float, float, float, float], Bound]  # Delta, correlation, kappa, theta


def _lemma(t: float, c: float, kappa: float, theta: float) -> Bound:
    return projected_two_slabs(t, t, 1.0, 2, kappa, theta)


def check_projected_slabs(claim: Slabs = _lemma, label: str = "anglelemma2") -> Comparison:
    """Two slabs after projection, k = 2, d = 4: both principal angles equal theta, so lengths shrink by cos theta."""
    pairs = []
    for t, c, theta in itertools.product((1e-3, 0.1), (0.0, 0.5, -0.8), (0.01, 0.04, 0.05)):
        exact = exact_rectangle(t / math.cos(theta), t / math.cos(theta), c)
        pairs.append((claim(t, c, math.sqrt(1 - abs(c)), theta).log_value, math.log(exact)))
    return at_most(label, "chance of two slabs after projection", pairs, "exact bivariate normal")


def check_projected_slabs_tight() -> Comparison:
    """The same with kappa cos^2(theta), at angles where kappa' no longer exists."""
    pairs = []
    for t, c, theta in itertools.product((1e-3, 0.1), (0.0, 0.5, -0.8), (0.05, 0.5, 1.2)):
        exact = exact_rectangle(t / math.cos(theta), t / math.cos(theta), c)
        kappa = math.sqrt(1 - abs(c))
        pairs.append((projected_two_slabs_tight(t, t, 1.0, kappa, theta).log_value, math.log(exact)))
    return at_most("anglelemma2", "the same with kappa cos^2 theta (ours)", pairs, "exact bivariate normal")


def _random_subspaces() -> list[tuple[np.ndarray, np.ndarray, float]]:
    rng, found = np.random.default_rng(31), []
    for d, k, noise in itertools.product((7, 20), (1, 2, 3), (0.01, 0.3, 3.0)):
        a = np.linalg.qr(rng.standard_normal((d, k)))[0].T
        b = np.linalg.qr((a + noise * rng.standard_normal((k, d))).T)[0].T
        outside = b - b @ a.T @ a
        found.append((a, b, math.asin(min(1.0, float(np.linalg.norm(outside, 2))))))
    return found


def check_basis_angles(reverse: bool = False) -> Comparison:
    """Cosines of paired basis vectors; `reverse` takes the inequality as printed."""
    pairs = []
    for a, b, theta in _random_subspaces():
        bases = aligned_bases(a, b)
        inner = (bases.first * bases.second).sum(axis=1)
        pairs += [(math.log(math.cos(theta)), math.log(x)) for x in inner]
    check = at_most if reverse else at_least
    return check("basisangles", "cosine of paired basis vectors", pairs, "principal vectors", 1e-7)


def check_basis_norms() -> Comparison:
    """Distances of paired basis vectors."""
    pairs = []
    for a, b, theta in _random_subspaces():
        bases = aligned_bases(a, b)
        pairs += [
            (math.log(basis_distance(theta)), math.log(x)) for x in np.linalg.norm(bases.first - bases.second, axis=1)
        ]
    return at_most("basisnorms", "distance of paired basis vectors", pairs, "principal vectors", 1e-6)


def check_projection() -> Comparison:
    """Largest |<w, x> - <Pw, Px>| over unit x for random unit w of the first subspace: <w - Pw, x> at its best."""
    rng, pairs = np.random.default_rng(33), []
    for a, b, theta in _random_subspaces():
        w = rng.standard_normal(len(a)) @ a
        w /= np.linalg.norm(w)
        rest = w - w @ b.T @ b  # <Pw, Px> = <Pw, x>, so the difference is <rest, x>
        x = np.vstack((rest, rng.standard_normal((200, len(w)))))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        change = np.abs(x @ w - (x @ b.T) @ (b @ w)).max()
        pairs.append((math.log(projection_error(theta)), math.log(float(change))))
    return at_most("projectionlemma", "change of an inner product", pairs, "200 directions and the worst one", 1e-6)


def check_projection_distance() -> Comparison:
    """Distance of a unit vector to its projection; the worst one is a singular vector."""
    pairs = []
    for a, b, theta in _random_subspaces():
        worst = float(np.linalg.norm(a - a @ b.T @ b, 2))
        pairs.append((math.log(projection_error(theta)), math.log(worst)))
    return at_most("anglecor", "distance to the projection", pairs, "largest singular value", 1e-6)


def check_cosine_gap() -> Comparison:
    """Change of inner products under the projection."""
    pairs = []
    for a, b, theta in _random_subspaces():
        change = np.eye(len(a)) - a @ b.T @ b @ a.T
        pairs.append((math.log(cosine_gap(theta)), math.log(float(np.linalg.norm(change, 2)))))
    return at_most("projectionlemma", "change of inner products (ours)", pairs, "largest singular value", 1e-6)
