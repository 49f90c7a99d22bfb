"""Do the constants satisfy the equations that they were chosen for?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

from ..bounds import far_field, own_coefficient
from ..constants import (
    Problem,
    gamma_by_definition,
    gamma_closed,
    kappa_prime,
    log_delta_argument,
    log_w0_closed,
    parameters,
    xi0_over_delta,
)
from .comparison import Comparison, at_least, equal

_SHAPES = list(itertools.product((1, 2, 5, 50), (1.0, 0.3, 1e-3), (0.01, 0.5, 0.99)))  # k, kappa, rho


def _problems() -> Iterator[tuple[Problem, float]]:
    for k, beta, u0, delta in itertools.product((1, 3, 20), (0.2, 1.0, 3.0, 30.0), (1.0, 0.1), (0.5, 0.25, 1e-3)):
        yield Problem(50, k, beta, 0.5, u0, M=k * u0), delta


def check_gamma(closed: Callable[[int, float, float], float] = gamma_closed) -> Comparison:
    """The closed form of gamma against its definition."""
    pairs = [
        (math.log(closed(k, kappa, rho)), math.log(gamma_by_definition(k, kappa, 1 / xi0_over_delta(k, kappa, rho))))
        for k, kappa, rho in _SHAPES
    ]
    return equal("gamma", "closed form = definition", pairs, "algebra on a grid")


def check_rhoeq() -> Comparison:
    """The equation that xi0 solves: 2 k^2 t^2 / (pi kappa) = rho gamma at t = Delta/xi0."""
    pairs = []
    for k, kappa, rho in _SHAPES:
        t = 1 / xi0_over_delta(k, kappa, rho)
        both = math.log(2 * k * k / (math.pi * kappa)) + 2 * math.log(t)
        pairs.append((both, math.log(rho * gamma_closed(k, kappa, rho))))
    return equal("rhoeq", "chance of two units = rho gamma", pairs, "algebra on a grid")


def check_w0() -> Comparison:
    """The two forms of w0."""
    pairs = [(log_w0_closed(p, delta), parameters(p, delta, 0.5).log_w0) for p, delta in _problems()]
    return equal("w0", "first form = second form", pairs, "algebra on a grid")


def check_xi0() -> Comparison:
    """The two forms of xi0."""
    pairs = []
    for p, delta in _problems():
        second = 2 / p.beta * math.sqrt(2 * math.e / math.pi) * p.k / p.kappa * (p.k / 0.5 + 1)
        second *= log_delta_argument(p, delta)
        pairs.append((math.log(second), math.log(parameters(p, delta, 0.5).xi0)))
    return equal("xi0", "first form = second form", pairs, "algebra on a grid")


def _repaired_delta(problem: Problem, delta: float) -> float:
    return log_delta_argument(problem, delta) / problem.beta


def check_delta(Delta: Callable[[Problem, float], float] = _repaired_delta) -> Comparison:
    """Within Delta/2 of one unit alone, even the worst good *estimate* must reach w0.

    Its own part, less the other units (delta w0), less the error of a good estimate (delta w0).
    """
    pairs = []
    for p, delta in _problems():
        far = far_field(p, Delta(p, delta)).log_value
        log_w0 = far - math.log(delta)
        own = own_coefficient(p, Delta(p, delta) / 2)[0].log_value
        left = math.exp(own - log_w0) - 2 * delta
        pairs.append((log_w0, log_w0 + (math.log(left) if left > 0 else -math.inf)))
    return at_least("Delta", "shortest good estimate in R'_l >= w0", pairs, "algebra on a grid")


def check_kappa_prime() -> Comparison:
    """At the angle of dimredtheorem kappa' is still half of kappa."""
    pairs = []
    for k, kappa, _ in _SHAPES:
        theta = 2 * math.asin(math.sqrt(3) * kappa / (8 * k))
        pairs.append((math.log(kappa / 2), math.log(kappa_prime(k, kappa, theta))))
    return at_least("kappaprime", "kappa' >= kappa/2 at theta*", pairs, "algebra on a grid")
