"""The paper's formulas as printed, where they are wrong or loose: kept so that a check can be seen to fail on them.

Nothing but `paper.py` and the checks uses this file.
"""

from __future__ import annotations

import math

import numpy as np

from ...arguments import Floats
from .constants import PRINTED_SLACK, Problem, log_delta_argument
from .inequality import Bound, chance_of


def gamma(k: int, kappa: float, rho: float) -> float:
    """Print kappa where k belongs."""
    return kappa * rho / (4 * math.e * (rho + kappa) ** 2)


def Delta(problem: Problem, delta: float) -> float:
    """Ask the mean gradient, not the estimate, to clear the threshold: (1 + delta)."""
    return log_delta_argument(problem, delta, PRINTED_SLACK) / problem.beta


def chi_square_tail(alpha: float, d: int) -> Bound:
    """Lose the minus sign of the exponent."""
    return Bound(alpha / 7, "GCbound")


def spurious_off(share: float, log_x: float, d: int, xi0: float) -> Bound:
    """Put 4 where the proof has 7."""
    return chance_of(-math.log(share) - log_x / (1 + 4 * (1 + 2 / d) * xi0**2), "spuriouslemma")


def mirror_samples(d: int, theta: float, failure: float) -> Bound:
    """Take the power -1 of the angle, and leave the confidence out."""
    return Bound(math.log(d) - math.log(theta), "dimredtheorem")


def gaussian_tail_final(n: float, delta: float, d: int, M: float, xi: float) -> Bound:
    """Add up to 2 M^2 in the last bracket."""
    first = (10 * M**2 * d + 49 * M**2 * xi**2 + 17) * (2 * M * math.sqrt(d + xi**2) + 2 + delta) ** 2
    second = (2 * M**2 + 3 * d + 12 * xi**2 + 2) * (2 * M * xi + 2 + delta)
    return Bound(xi**2 - math.log(n * delta) + math.log(first / delta + second), "final")


def gaussian_tail(n: float, delta: float, d: int, M: float, xi: float, *, C: float = 1735.0) -> Bound:
    """Collapse to M^4 (d + xi^2)^2 for every M and delta."""
    return Bound(math.log(C) + xi**2 - math.log(n) - 2 * math.log(delta) + 4 * math.log(M) + 2 * math.log(d + xi**2),
                 "candidatebound")  # fmt: skip


def projected_slab_pair_unit_length(Delta1: float, Delta2: float, xi0: float, cosine: float) -> Bound:
    """Treat projected units as if they still had length one; `cosine` is the inner product of the projections."""
    log_value = math.log(2 / math.pi) + math.log(Delta1 / xi0) + math.log(Delta2 / xi0) - 0.5 * math.log1p(-(cosine**2))
    return chance_of(log_value, "anglelemma2")


def projected_error(k: int, theta: float) -> float:
    """Bound the operator norm by the Frobenius norm: 4 k sin(theta/2)."""
    return 4 * k * math.sin(theta / 2)


def projected_error_by_angle(k: int, theta: float) -> float:
    """Take the root of it: 2 sqrt(k sin(theta/2))."""
    return 2 * math.sqrt(k * math.sin(theta / 2))


def unit_sign(weight: float) -> float:
    """Measure the distance to w_l whatever the sign of its weight."""
    return 1.0


def far_is_empty(delta: float) -> bool:
    """Say that (1 - delta) w0 exceeds delta w0 up to delta = 0.5 included."""
    return delta <= 0.5


def kernel_samples_power(log_confidence: float, power: float, C2: float) -> float:
    """Leave the constant outside the power: log of C'' (k/(gamma rho delta))^power."""
    return math.log(C2) + power * log_confidence


def kernel_mean_shrinkage(n: int) -> float:
    """Take population for the mean of eq:Slope at every n."""
    return 1.0


def mirror_slope_factor(beta: float) -> float:
    """Let one constant in the exponent of sunthm serve every slope."""
    return 1.0


def projected_angle(problem: Problem, delta: float) -> float:
    """State clusterlemma2 at any angle; here one radian."""
    return 1.0


def projected_length(theta: float) -> float:
    """Give a projected unit the length it had before."""
    return 1.0


def projected_region_units(units: Floats, basis: Floats) -> Floats:
    """Cut the regions by the units themselves, as if a point were seen outside of the subspace too."""
    return np.asarray(units)


def inner_gap(k: int, theta: float) -> float:
    """Let inner products move by as much as projectionlemma allows: then the cross term cannot be dropped."""
    return projected_error(k, theta)
