"""The sample sizes that the theorems ask for."""

from __future__ import annotations

import math

from ...paper import implements
from ..constants import Problem, RunParameters
from .record import Bound

__all__ = [
    "candidate_points", "kernel_samples", "mirror_failure", "mirror_samples", "oracle_queries", "theta_star",
]  # fmt: skip


def _log_confidence(problem: Problem, delta: float, rho: float, gamma: float) -> float:
    return math.log(problem.k) - math.log(gamma * rho * delta)


@implements("maintheorem", "dimredtheorem")
def candidate_points(problem: Problem, delta: float, rho: float, gamma: float, *, C: float = 1.0) -> Bound:
    """m0: the number of points at which the gradient is estimated, (C / (gamma rho)) log(k / delta)."""
    log_value = math.log(C / (gamma * rho)) + math.log(math.log(problem.k / delta))
    return Bound(log_value, "maintheorem", {"C": C})


@implements("maintheorem")
def oracle_queries(problem: Problem, delta: float, rho: float, params: RunParameters, *, C1: float = 1.0) -> Bound:
    """n0: queries per point of the value oracle."""
    log_value = (
        math.log(C1 * problem.d) + 2 * math.log(problem.M) - 2 * (math.log(delta) + params.log_w0)
        + math.log(_log_confidence(problem, delta, rho, params.gamma))
    )  # fmt: skip
    return Bound(log_value, "maintheorem", {"C'": C1}, ("|y| <= M",))


@implements("maintheorem", "dimredtheorem")
def kernel_samples(
    problem: Problem, delta: float, rho: float, params: RunParameters, *, d: int | None = None, C2: float = 1.0
) -> Bound:
    """n (or n2, with `d` = k): samples of Gaussian covariates.

    The constant stands inside the power: the failure bound C X^(-1/p) is below a level only for X >= (C/level)^p,
    so the paper's C'' in front of the power is not absolute.
    """
    d = problem.d if d is None else d
    reach = (1 + 2 / d) * params.xi0**2
    front = 4 * math.log(problem.M) + 2 * math.log(d) - 2 * (math.log(delta) + params.log_w0)
    power = (1 + 7 * reach) * (math.log(C2) + _log_confidence(problem, delta, rho, params.gamma))
    return Bound(front + max(power, 4 * d * (1 / 7 + reach)), "maintheorem", {"C''": C2}, ("M >= 1",))


@implements("sunthm")
def mirror_failure(n: float, d: int, theta: float, *, C1: float = 1.0, C2: float = 1.0) -> Bound:
    """Chance that the estimated subspace is further than `theta` from the true one."""
    log_value = math.log(C1) - C2 * n * theta**2 / d
    return Bound(min(0.0, log_value), "sunthm", {"C1": C1, "C2": C2}, ("theta <= u0 kappa", "mixture weights"))


@implements("dimredtheorem")
def theta_star(problem: Problem, delta: float) -> float:
    """The angle the subspace must reach, as the proof of dimredtheorem chooses it."""
    return min(
        2 * math.asin(math.sqrt(3) * problem.kappa / (8 * problem.k)),
        2 * math.asin(delta**2 / (4 * problem.k)),
        problem.u0 * problem.kappa,
    )


@implements("dimredtheorem", "sunthm")
def mirror_samples(d: int, theta: float, failure: float, *, C1: float = 1.0, C2: float = 1.0) -> Bound:
    """n1: samples for a subspace within `theta` but for a chance `failure`: d log(C1/failure) / (C2 theta^2).

    The theorem prints the power -1 of the angle and no logarithm; its proof and sunthm need these.
    """
    log_value = math.log(d / C2) - 2 * math.log(theta) + math.log(max(math.log(C1 / failure), 1e-300))
    return Bound(log_value, "dimredtheorem", {"C1": C1, "C2": C2}, ("mixture weights",))
