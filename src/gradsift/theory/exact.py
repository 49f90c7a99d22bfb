"""Sharper parameters, ours and not the paper's: the two-sided bound on E f' replaced by its value.

The proof needs only two things of the mean derivative h(z) = E f'(z + Z): far units add up to at most
``k h(Delta) = delta w0``, and a unit within Delta/2 has ``u0 h(Delta/2) >= (1 + 2 delta) w0``. Solving these for
Delta, instead of the same two lines with the paper's bounds c1 <= h e^{2 beta |z|} <= c2, keeps the whole proof.
Derivation: docs/derivations/explicit-constants.md.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from .constants import Parameters, Problem, check_accuracy, gamma_closed, parameters, xi0_over_delta

__all__ = ["exact_Delta", "exact_log_coefficient", "exact_parameters"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_REACH = 12.0  # the integrand falls faster than a Gaussian from its peak: e^{-72} is left out


def exact_log_coefficient(z: float, beta: float) -> float:
    """Log of ``E f'(z + Z)`` for f = tanh(beta .) and standard Gaussian Z, at any distance and slope.

    The integrand beta sech^2(beta s) phi(s - z) is log-concave: Gauss-Legendre in log space between its peak, the
    edges of the steep part of sech^2 about the origin, and twelve standard deviations beyond; at most 480 nodes.
    """
    z = abs(float(z))

    def slope(s: float) -> float:
        return z - s - 2 * beta * math.tanh(beta * s)

    peak = float(brentq(slope, 0.0, z, xtol=1e-12 * max(1.0, z))) if z > 0 else 0.0
    steep = 20 / beta
    ends = np.clip([-steep, 0.0, steep, peak], peak - _REACH, peak + _REACH)
    terms = []
    for low, high in itertools.pairwise(np.unique([peak - _REACH, *ends, peak + _REACH])):
        s = 0.5 * (high - low) * _NODES + 0.5 * (high + low)
        log_sech = math.log(2) - np.logaddexp(beta * s, -beta * s)
        terms.append(np.log(0.5 * (high - low) * _WEIGHTS) + 2 * log_sech - 0.5 * (s - z) ** 2)
    return math.log(beta) - 0.5 * math.log(2 * math.pi) + float(logsumexp(np.concatenate(terms)))


def exact_Delta(problem: Problem, delta: float) -> float:
    """Smallest Delta with ``u0 h(Delta/2) = (1 + 2 delta) (k/delta) h(Delta)``; never above the paper's.

    h is log-concave and even, so the ratio h(Delta/2)/h(Delta) grows with Delta and the root is unique.
    """

    def excess(Delta: float) -> float:
        ratio = exact_log_coefficient(Delta / 2, problem.beta) - exact_log_coefficient(Delta, problem.beta)
        return ratio + math.log(problem.u0 * delta / problem.k) - math.log1p(2 * delta)

    return float(brentq(excess, 0.0, parameters(problem, delta, 0.5).Delta, xtol=1e-12))


def exact_parameters(problem: Problem, delta: float, rho: float, *, kappa: float | None = None) -> Parameters:
    """Delta, w0, xi0 and gamma with the exact mean derivative; same arguments as `constants.parameters`."""
    check_accuracy(delta, rho)
    kappa = problem.kappa if kappa is None else kappa
    Delta = exact_Delta(problem, delta)
    log_w0 = math.log(problem.k / delta) + exact_log_coefficient(Delta, problem.beta)
    xi0 = xi0_over_delta(problem.k, kappa, rho) * Delta
    return Parameters(Delta, log_w0, xi0, gamma_closed(problem.k, kappa, rho), "exact")
