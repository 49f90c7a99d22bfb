"""How tight, how large and how clean the clusters are."""

from __future__ import annotations

import math

from ...paper import implements
from ..constants import Problem, RunParameters, log_c1, log_c2
from .concentration import value_oracle_tail
from .record import Bound, log_add, probability

__all__ = [
    "chi_square_tail", "cluster_radius", "estimates_off_gaussian", "estimates_off_oracle", "far_field", "good_cluster",
    "good_cluster_projected", "log_signal", "one_unit_left", "own_coefficient", "projected_cluster_radius", "spurious",
    "spurious_projected",
]  # fmt: skip

_LARGE_SAMPLE = "n > (M^4 d^2 / (delta w0)^2) exp(4 d (1/7 + (1 + 2/d) xi0^2))"


def _log_far(problem: Problem, Delta: float) -> float:
    return math.log(problem.k) + log_c2(problem.beta) - 2 * problem.beta * Delta


@implements("eq:InR0")
def far_field(problem: Problem, Delta: float) -> Bound:
    """Most length of the mean gradient where every unit is at least `Delta` away: k c2 exp(-2 beta Delta)."""
    return Bound(_log_far(problem, Delta), "eq:InR0")


@implements("allbutone")
def one_unit_left(problem: Problem, Delta: float) -> Bound:
    """Most distance of the mean gradient from its own unit's part, where all others are at least `Delta` away.

    The own part is ``u_l E f' w_l`` with the sign of u_l; the paper writes |u_l|.
    """
    return Bound(_log_far(problem, Delta), "allbutone")


@implements("albounds")
def own_coefficient(problem: Problem, Delta: float) -> tuple[Bound, Bound]:
    """Lower and upper bound on the size of that own part where the unit is within `Delta`."""
    low = log_c1(problem.beta) + math.log(problem.u0) - 2 * problem.beta * Delta
    return Bound(low, "albounds"), Bound(log_c2(problem.beta), "albounds", {}, ("|u_l| <= 1",))


@implements("clusterlemma")
def cluster_radius(delta: float) -> Bound:
    """Most distance of a candidate of C_l from sign(u_l) w_l: 2 delta + 2 delta/(1 - delta), at most 6 delta."""
    return Bound(math.log(6 * delta), "clusterlemma", {}, ("distance to sign(u_l) w_l", "below 2 only for delta < 1/3"))


@implements("clusterlemma2")
def projected_cluster_radius(delta: float) -> Bound:
    """The same about the projected unit; about the unit itself a further delta is needed.

    It needs the angle: a projected unit may be only cos theta long, and no unit vector is nearer to it than that.
    """
    return Bound(math.log(6 * delta), "clusterlemma2", {}, ("distance to the projected unit", "theta <= theta*"))


def chi_square_tail(alpha: float, d: int) -> Bound:
    """Most chance that a chi-square of d degrees exceeds alpha >= 4 d: exp(-alpha/7), with the minus sign."""
    if alpha < 4 * d:
        return probability(0.0, "GCbound", assumptions=("alpha >= 4 d",))
    return probability(-alpha / 7, "GCbound", assumptions=("alpha >= 4 d",))


@implements("GCboundvo")
def estimates_off_oracle(
    share: float, n0: float, delta: float, log_w0: float, d: int, M: float, **constants: float
) -> Bound:
    """Chance that more than `share` of the estimates are off by ``delta w0``, by Markov's inequality."""
    single = value_oracle_tail(n0, delta * math.exp(log_w0), d, M, **constants)
    return probability(single.log_value - math.log(share), "GCboundvo", single.constants, single.assumptions)


def log_signal(n: Bound | float, delta: float, log_w0: float, d: int, M: float) -> float:
    """Log of n (delta w0)^2 / (M^4 d^2); `n` may be a bound, for numbers beyond floating point."""
    log_n = n.log_value if isinstance(n, Bound) else math.log(n)
    return log_n + 2 * (math.log(delta) + log_w0) - 4 * math.log(M) - 2 * math.log(d)


@implements("GCbound")
def estimates_off_gaussian(share: float, log_x: float, d: int, xi0: float, *, C: float = 1.0) -> Bound:
    """Chance that more than `share` of the estimates are off, from Gaussian covariates.

    Parameters
    ----------
    share : float
    log_x : float
        Log of n (delta w0)^2 / (M^4 d^2), see :func:`log_signal`.
    d : int
        k after projection.
    xi0 : float
    C : float
        Absolute constant of the statement.
    """
    reach = (1 + 2 / d) * xi0**2
    if log_x <= 4 * d * (1 / 7 + reach):
        return probability(0.0, "GCbound", {"C": C}, (_LARGE_SAMPLE,))
    return probability(math.log(C / share) - log_x / (1 + 7 * reach), "GCbound", {"C": C}, (_LARGE_SAMPLE,))


@implements("spuriouslemma")
def spurious(off: Bound, m0: float, gamma: float, rho: float, *, c5: float = 1.0) -> Bound:
    """Chance that more than ``2 gamma rho m0`` candidates are spurious.

    `off` bounds the chance that too many estimates are off (share of order gamma rho). The exponent in the
    Gaussian case carries 7, as in :func:`estimates_off_gaussian`; the paper prints 4 here.
    """
    value = log_add(off.log_value, -c5 * m0 * gamma * rho)
    return probability(value, "spuriouslemma", {**off.constants, "c5": c5}, off.assumptions)


@implements("goodclusterlemma")
def good_cluster(off: Bound, m0: float, gamma: float, *, c5: float = 1.0) -> Bound:
    """Chance that one cluster has fewer than ``gamma m0 / 2`` candidates; needs (1 + 2 delta) in Delta."""
    value = log_add(off.log_value, -c5 * m0 * gamma)
    return probability(value, "goodclusterlemma", {**off.constants, "c5": c5}, (*off.assumptions, "slack 2 in Delta"))


@implements("spuriouslemma2")
def spurious_projected(off: Bound, m0: float, params: RunParameters, rho: float, *, c2: float = 1.0) -> Bound:
    """`spuriouslemma` after projection: d becomes k and kappa becomes kappa' in `params` and `off`."""
    same = spurious(off, m0, params.gamma, rho, c5=c2)
    return Bound(same.log_value, "spuriouslemma2", {**off.constants, "c2": c2}, same.assumptions)


@implements("goodclusterlemma2")
def good_cluster_projected(off: Bound, m0: float, params: RunParameters, *, c3: float = 1.0) -> Bound:
    """`goodclusterlemma` after projection."""
    same = good_cluster(off, m0, params.gamma, c5=c3)
    return Bound(same.log_value, "goodclusterlemma2", {**off.constants, "c3": c3}, same.assumptions)
