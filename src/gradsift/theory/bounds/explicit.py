"""Our own versions of the paper's bounds, with every constant proved: labelled "ours", never the paper's.

Derivations: docs/derivations/explicit-constants.md.
"""

from __future__ import annotations

import math

from .concentration import gaussian_tail
from .record import Bound, probability
from .slabs import two_slabs

__all__ = [
    "COLLAPSE_CONSTANT", "ORACLE_CONSTANTS", "THEOREM_CONSTANTS", "VARIANCE_PROXY", "gaussian_tail_homogeneous",
    "projected_two_slabs_tight", "theta_star_tight", "value_oracle_tail_explicit",
]  # fmt: skip

# y <v, g> with |y| <= 1 and g standard Gaussian, less its mean, is sub-Gaussian with this variance proxy. It is the
# maximum of an explicit function of two variables, 1.60872..., rounded up; some y attains it.
VARIANCE_PROXY = 1.609

# voebound holds with these: c3 and c4 from the chi-square tail, c1 and c2 so that the minimum says nothing below it.
ORACLE_CONSTANTS = {
    "c1": math.e,
    "c2": 1 / VARIANCE_PROXY,
    "c3": math.sqrt(0.5 / VARIANCE_PROXY),
    "c4": math.sqrt(0.5),
}

# candidatebound holds with this C for M >= 1 and delta <= 1.
COLLAPSE_CONSTANT = 1735.0

# With these the union bound of maintheorem closes: Chernoff gives 1/16 and 1/32 in the exponents, Markov the shares
# gamma rho/2 and gamma/4, and 2/(gamma rho) + 4 k/gamma is at most 6 k/(gamma rho). C'' stands inside the power.
THEOREM_CONSTANTS = {"C": 96.0, "C'": 8.0, "C''": 12 * (COLLAPSE_CONSTANT + 1)}


def value_oracle_tail_explicit(n0: float, delta: float, d: int, M: float) -> Bound:
    """Chance that the value-oracle estimate is off by `delta` or more, with no unknown constant.

    exp(-(d/2) (q - 1 - log q)) with q = n0 delta^2 / (1.609 M^2 d), once q > 1.
    """
    log_q = math.log(n0) + 2 * math.log(delta) - 2 * math.log(M) - math.log(VARIANCE_PROXY * d)
    if log_q <= 0:
        return probability(0.0, "ours", assumptions=("|y| <= M",))
    q = math.exp(min(log_q, 700.0))
    return probability(-0.5 * d * (q - 1 - log_q), "ours", assumptions=("|y| <= M",))


def gaussian_tail_homogeneous(n: float, delta: float, d: int, M: float, xi: float) -> Bound:
    """candidatebound with M^2 in place of M^4, for every M and delta <= M.

    eq:Slope is linear in the responses: dividing them by M divides estimate and mean by M, so the case M = 1 at
    accuracy delta/M is the general one.
    """
    if delta > M:
        return probability(0.0, "ours", assumptions=("delta <= M",))
    same = gaussian_tail(n, delta / M, d, 1.0, xi, C=COLLAPSE_CONSTANT)
    return Bound(same.log_value, "ours", same.constants, ("|y| <= M", "delta <= M"))


def projected_two_slabs_tight(Delta1: float, Delta2: float, xi0: float, kappa: float, theta: float) -> Bound:
    """anglelemma2 with kappa cos^2(theta) for kappa', which holds for every angle and is sharp.

    The Gram determinant of two projected units is at least cos^4(theta) times that of the units.
    """
    bound = two_slabs(Delta1, Delta2, xi0, kappa * math.cos(theta) ** 2)
    return Bound(bound.log_value, "ours", {}, bound.assumptions)


def theta_star_tight(kappa: float, u0: float, delta: float) -> float:
    """The angle that dimredtheorem needs, by the sharp lemmas: kappa cos^2 >= kappa/2, sin <= delta, sunthm's range."""
    return min(math.pi / 4, math.asin(delta), u0 * kappa)
