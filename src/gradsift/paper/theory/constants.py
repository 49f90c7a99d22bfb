"""The constants of the paper, in its own letters (Delta, w0, xi0, gamma, kappa'), and sharper ones of our own.

A `Problem` is what is given, a `RunParameters` record is what the algorithm is then run with. Everything that can
leave the range of floating point is carried as a logarithm. The sharper parameters ("exact", ours) take E f' itself
for its two bounds; derivation: docs/derivations/explicit-constants.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from ...arguments import at_least
from .. import implements
from .gaussian_fields import log_coefficients

# Slack * delta stands in the logarithm of Delta. The paper prints 1. Two is what the proof of goodclusterlemma needs.
REPAIRED_SLACK, PRINTED_SLACK = 2.0, 1.0

# Within these, and for shares of at least LEAST_SHARE, every number of a plan fits double precision or its logarithm.
_MOST, _MOST_INPUTS = 1e9, 10**15
LEAST_SHARE = 1e-9


@dataclass(frozen=True)
class Problem:
    """What the theorems assume about the model.

    Parameters
    ----------
    d, k : int
        Inputs and hidden units, k <= d.
    beta : float
        Slope of the sigmoid.
    kappa : float in (0, 1]
        Lower bound on the smallest singular value of the matrix of units.
    u0 : float in (0, 1]
        Lower bound on the absolute weights, which are themselves at most one.
    M : float
        Bound on the responses; at least k u0, which the regression function approaches.
    """

    d: int
    k: int
    beta: float
    kappa: float
    u0: float
    M: float = 1.0

    def __post_init__(self) -> None:
        for name in ("d", "k"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
        for name in ("beta", "kappa", "u0", "M"):
            value = getattr(self, name)
            at_least(name, value, 0, strict=True)
            if not 1 / _MOST <= value <= _MOST:
                raise ValueError(f"{name} must lie between {1 / _MOST:g} and {_MOST:g}, got {value!r}.")
        if self.d > _MOST_INPUTS:
            raise ValueError(f"d must be at most {_MOST_INPUTS:g}, got {self.d}.")
        if self.k > self.d:
            raise ValueError(f"k must be at most d for independent units, got k = {self.k} and d = {self.d}.")
        for name in ("kappa", "u0"):
            if getattr(self, name) > 1:
                raise ValueError(f"{name} must be at most 1, got {getattr(self, name)!r}.")
        if self.k * self.u0 > self.M * (1 + 1e-9):
            # Independent units can all saturate with the sign of their weight, so r comes arbitrarily near k u0.
            raise ValueError(f"M must be at least k u0 = {self.k * self.u0:g}, which r approaches, got {self.M!r}.")


def check_accuracy(delta: float, rho: float) -> None:
    """Refuse an accuracy or a spurious share outside the theorems."""
    at_least("delta", delta, 0, strict=True)
    if delta > 0.5:
        raise ValueError(f"delta must lie in (0, 0.5], got {delta!r}.")
    at_least("rho", rho, 0, strict=True)
    if rho >= 1:
        raise ValueError(f"rho must lie in (0, 1), got {rho!r}.")
    for name, value in (("delta", delta), ("rho", rho), ("1 - rho", 1 - rho)):
        if value < LEAST_SHARE * (1 - 1e-6):
            raise ValueError(f"{name} must be at least {LEAST_SHARE:g} for double precision, got {value!r}.")


def log_c1(beta: float) -> float:
    """Log of the lower constant of the mean derivative: beta Phi(-2 beta) exp(2 beta^2)."""
    # Phi(-2 beta) and exp(2 beta^2) leave double precision from beta = 19 on, their product does not: add logarithms.
    return math.log(beta) + float(log_ndtr(-2 * beta)) + 2 * beta**2


def log_c2(beta: float) -> float:
    """Log of the upper constant of the mean derivative: 8 beta exp(2 beta^2)."""
    return math.log(8 * beta) + 2 * beta**2


def log_delta_argument(problem: Problem, delta: float, slack: float = REPAIRED_SLACK) -> float:
    """Log of (1 + slack delta) c2 k / (c1 u0 delta); beta Delta equals it."""
    ratio = math.log(8) - float(log_ndtr(-2 * problem.beta))  # c2/c1, where exp(2 beta^2) has cancelled
    return ratio + math.log1p(slack * delta) + math.log(problem.k / problem.u0) - math.log(delta)


@implements("w0")
def log_w0_closed(problem: Problem, delta: float, slack: float = REPAIRED_SLACK) -> float:
    """Log of w0 in its second form, c1^2 u0^2 delta / ((1 + slack delta)^2 c2 k)."""
    return (
        2 * log_c1(problem.beta) + 2 * math.log(problem.u0) + math.log(delta)
        - 2 * math.log1p(slack * delta) - log_c2(problem.beta) - math.log(problem.k)
    )  # fmt: skip


@implements("xi0")
def xi0_over_delta(k: int, kappa: float, rho: float) -> float:
    """xi0 / Delta = 2 sqrt(2e/pi) (k/kappa) (k/rho + 1)."""
    return 2 * math.sqrt(2 * math.e / math.pi) * k / kappa * (k / rho + 1)


@implements("gamma", "rhoeq")
def gamma_at(k: int, kappa: float, t: float) -> float:
    """t / sqrt(2 e pi) - 2 k t^2 / (kappa pi) at t = Delta / xi0; at the paper's t it is 2 k^2 t^2 / (pi kappa rho)."""
    return math.sqrt(1 / (2 * math.e * math.pi)) * t - 2 * k / (kappa * math.pi) * t * t


@implements("gamma")
def gamma_closed(k: int, kappa: float, rho: float) -> float:
    """kappa rho / (4 e (rho + k)^2); the paper prints kappa in place of this k."""
    return kappa * rho / (4 * math.e * (rho + k) ** 2)


@implements("kappaprime")
def kappa_prime(k: int, kappa: float, theta: float) -> float:
    """sqrt(kappa^2 - (4 k sin(theta/2))^2), zero where the root is not real."""
    return math.sqrt(max(0.0, kappa**2 - (4 * k * math.sin(theta / 2)) ** 2))


@dataclass(frozen=True)
class RunParameters:
    """What CandidateGeneration is run with.

    Attributes
    ----------
    Delta, xi0, gamma : float
    log_w0 : float
        Natural logarithm of the threshold.
    form : {"repaired", "printed", "exact"}
        Which Delta was used.
    """

    Delta: float
    log_w0: float
    xi0: float
    gamma: float
    form: str

    @property
    def w0(self) -> float:
        """The threshold on the norm of a gradient estimate (0 where it underflows)."""
        return math.exp(self.log_w0)


@implements("Delta", "w0", "xi0", "gamma")
def parameters(
    problem: Problem,
    delta: float,
    rho: float,
    *,
    slack: float = REPAIRED_SLACK,
    kappa: float | None = None,
    length: float = 1.0,
) -> RunParameters:
    """Return Delta, w0, xi0 and gamma for accuracy `delta` and spurious share `rho`.

    Parameters
    ----------
    problem : Problem
    delta : float in (0, 0.5]
    rho : float in (0, 1)
    slack : float
        2 is what the proof needs, 1 is what is printed.
    kappa : float, optional
        Replaces the problem's own, as dimredtheorem does with kappa'.
    length : float in (0, 1]
        Least length of a unit after projection, cos theta: the own part of a gradient shrinks by it.
    """
    check_accuracy(delta, rho)
    k, beta = problem.k, problem.beta
    kappa = problem.kappa if kappa is None else kappa
    # Two conditions: k units at Delta add up to delta w0, k c2 e^{-2 beta Delta} = delta w0, and one unit at Delta/2 is
    # still length c1 u0 e^{-beta Delta} = (1 + slack delta) w0 long. Their logarithms are linear in Delta and log w0.
    Delta = (log_delta_argument(problem, delta, slack) - math.log(length)) / beta  # Delta
    log_w0 = math.log(k / delta) + log_c2(beta) - 2 * beta * Delta  # w0
    xi0 = xi0_over_delta(k, kappa, rho) * Delta  # xi0
    form = {REPAIRED_SLACK: "repaired", PRINTED_SLACK: "printed"}.get(slack, f"slack {slack:g}")
    return RunParameters(Delta, log_w0, xi0, gamma_closed(k, kappa, rho), form)


def log_mean_derivative(z: float, beta: float) -> float:
    """Log of ``E f'(z + Z)`` for f = tanh(beta .) and standard Gaussian Z, at any distance and slope."""
    return float(log_coefficients(np.array([z], dtype=np.float64), beta)[0])


def exact_Delta(problem: Problem, delta: float, length: float = 1.0) -> float:
    """Smallest Delta with ``length u0 h(Delta/2) = (1 + 2 delta) (k/delta) h(Delta)``; never above the paper's.

    `length` is the least length of a projected unit (cos theta), one without projection.
    h is log-concave and even, so the ratio h(Delta/2)/h(Delta) grows with Delta and the root is unique.
    """

    def excess(Delta: float) -> float:
        # The same two conditions with E f' itself: the difference of their logarithms must vanish.
        ratio = log_mean_derivative(Delta / 2, problem.beta) - log_mean_derivative(Delta, problem.beta)
        return ratio + math.log(length * problem.u0 * delta / problem.k) - math.log1p(2 * delta)

    return float(brentq(excess, 0.0, parameters(problem, delta, 0.5, length=length).Delta, xtol=1e-12))


def exact_parameters(
    problem: Problem, delta: float, rho: float, *, kappa: float | None = None, length: float = 1.0
) -> RunParameters:
    """Delta, w0, xi0 and gamma with the exact mean derivative; same arguments as `constants.parameters`."""
    check_accuracy(delta, rho)
    kappa = problem.kappa if kappa is None else kappa
    Delta = exact_Delta(problem, delta, length)
    log_w0 = math.log(problem.k / delta) + log_mean_derivative(Delta, problem.beta)
    xi0 = xi0_over_delta(problem.k, kappa, rho) * Delta
    return RunParameters(Delta, log_w0, xi0, gamma_closed(problem.k, kappa, rho), "exact")
