"""Sharper parameters, ours and not the paper's: the two-sided bound on E f' replaced by its value.

The proof needs only two things of the mean derivative h(z) = E f'(z + Z): far units add up to at most
``k h(Delta) = delta w0``, and a unit within Delta/2 has ``u0 h(Delta/2) >= (1 + 2 delta) w0``. Solving these for
Delta, instead of the same two lines with the paper's bounds c1 <= h e^{2 beta |z|} <= c2, keeps the whole proof.
Derivation: docs/derivations/explicit-constants.md.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from .constants import Problem, RunParameters, check_accuracy, gamma_closed, parameters, xi0_over_delta
from .gaussian_fields import log_coefficients


def exact_log_coefficient(z: float, beta: float) -> float:
    """Log of ``E f'(z + Z)`` for f = tanh(beta .) and standard Gaussian Z, at any distance and slope."""
    return float(log_coefficients(np.array([z], dtype=np.float64), beta)[0])


def exact_Delta(problem: Problem, delta: float, length: float = 1.0) -> float:
    """Smallest Delta with ``length u0 h(Delta/2) = (1 + 2 delta) (k/delta) h(Delta)``; never above the paper's.

    `length` is the least length of a projected unit (cos theta), one without projection.
    h is log-concave and even, so the ratio h(Delta/2)/h(Delta) grows with Delta and the root is unique.
    """

    def excess(Delta: float) -> float:
        ratio = exact_log_coefficient(Delta / 2, problem.beta) - exact_log_coefficient(Delta, problem.beta)
        return ratio + math.log(length * problem.u0 * delta / problem.k) - math.log1p(2 * delta)

    return float(brentq(excess, 0.0, parameters(problem, delta, 0.5, length=length).Delta, xtol=1e-12))


def exact_parameters(
    problem: Problem, delta: float, rho: float, *, kappa: float | None = None, length: float = 1.0
) -> RunParameters:
    """Delta, w0, xi0 and gamma with the exact mean derivative; same arguments as `constants.parameters`."""
    check_accuracy(delta, rho)
    kappa = problem.kappa if kappa is None else kappa
    Delta = exact_Delta(problem, delta, length)
    log_w0 = math.log(problem.k / delta) + exact_log_coefficient(Delta, problem.beta)
    xi0 = xi0_over_delta(problem.k, kappa, rho) * Delta
    return RunParameters(Delta, log_w0, xi0, gamma_closed(problem.k, kappa, rho), "exact")
