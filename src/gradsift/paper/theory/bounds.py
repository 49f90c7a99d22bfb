"""Each lemma and theorem of the paper as a function that returns a `Bound`, in log space, errata applied."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...arguments import Floats
from .. import implements
from .constants import Problem, RunParameters, kappa_prime, log_c1, log_c2
from .inequality import Bound, chance_of, log_add


@implements("eq:BoundsFprime")
def derivative_bounds(x: float, beta: float) -> tuple[Bound, Bound]:
    """Lower and upper bound on the derivative of tanh(beta x)."""
    # f' = beta / cosh^2(beta x), and e^{|t|}/2 <= cosh t <= e^{|t|}: squared, the bounds are a factor of four apart.
    base = math.log(beta) - 2 * beta * abs(x)
    return Bound(base, "eq:BoundsFprime"), Bound(base + math.log(4), "eq:BoundsFprime")


@implements("lemma:coeffboundssimple", "lowerupperbound")
def mean_derivative_bounds(z: float, beta: float) -> tuple[Bound, Bound]:
    """Lower and upper bound on ``E f'(z + X)`` for standard Gaussian X."""
    # Both bounds on f' fall like e^{-2 beta |x|}, and so does its Gaussian mean, with e^{2 beta^2} in c1 and c2.
    decay = -2 * beta * abs(z)
    return Bound(log_c1(beta) + decay, "lowerupperbound"), Bound(log_c2(beta) + decay, "lowerupperbound")


@implements("anglelemma")
def slab(Delta: float, xi0: float) -> Bound:
    """Least chance that a point is within `Delta` of one unit's hyperplane."""
    if not 0 < Delta < xi0:
        raise ValueError(f"Delta must lie strictly between 0 and xi0 = {xi0:g}, got {Delta:g}.")
    # <w, xi> is N(0, xi0^2), whose density over [0, Delta] is at least e^{-1/2} of that at zero, because Delta < xi0.
    return chance_of(0.5 * math.log(2 / (math.e * math.pi)) + math.log(Delta / xi0), "anglelemma")


@implements("parallelogramlemma")
def parallelogram(eps1: float, eps2: float, sigma: float, c: float) -> Bound:
    """Most chance that both coordinates of a Gaussian pair (standard deviation sigma, correlation c) are small."""
    if not abs(c) < 1:
        raise ValueError(f"c must lie strictly between -1 and 1, got {c!r}.")
    # Density at the origin, 1/(2 pi sigma^2 sqrt(1 - c^2)), times the area 4 eps1 eps2: the density is largest there.
    log_value = math.log(2 / math.pi) + math.log(eps1 * eps2) - 2 * math.log(sigma) - 0.5 * math.log1p(-(c**2))
    return chance_of(log_value, "parallelogramlemma")


@implements("anglelemma")
def slab_pair(Delta1: float, Delta2: float, xi0: float, kappa: float) -> Bound:
    """Most chance that a point is near the hyperplanes of two units at once."""
    # parallelogramlemma with kappa for sqrt(1 - c^2): kappa^2 <= 1 - |c| <= 1 - c^2 for units with inner product c.
    log_value = math.log(2 / math.pi) + math.log(Delta1 / xi0) + math.log(Delta2 / xi0) - math.log(kappa)
    return chance_of(log_value, "anglelemma", assumptions=("kappa <= smallest singular value of the units",))


@implements("anglelemma2")
def projected_slab_pair(Delta1: float, Delta2: float, xi0: float, k: int, kappa: float, theta: float) -> Bound:
    """The same after projection on a subspace at largest principal angle `theta`; kappa becomes kappa'."""
    shrunk = kappa_prime(k, kappa, theta)
    bound = slab_pair(Delta1, Delta2, xi0, shrunk) if shrunk else chance_of(0.0, "anglelemma2")
    return Bound(bound.log_value, "anglelemma2", {}, (*bound.assumptions, "4 k sin(theta/2) < kappa"))


@dataclass(frozen=True)
class PrincipalBases:
    """Orthonormal bases of two subspaces, vector by vector as close as they can be.

    Attributes
    ----------
    first, second : (k, d) arrays
    cosines : (k,) array
        Inner products of the pairs, in decreasing order.
    """

    first: Floats
    second: Floats
    cosines: Floats


@implements("basisangles")
def principal_bases(first: Floats, second: Floats) -> PrincipalBases:
    """Return the principal vectors of two row spaces; every pair has cosine *at least* cos theta."""
    a, b = np.linalg.qr(first.T)[0], np.linalg.qr(second.T)[0]
    # Rotating both bases by the singular vectors of their inner products makes the pairs principal vectors: no other
    # choice of bases has larger inner products, pair by pair.
    left, cosines, right = np.linalg.svd(a.T @ b)
    return PrincipalBases((a @ left).T, (b @ right.T).T, np.clip(cosines, 0.0, 1.0))


@implements("basisnorms")
def bases_distance(theta: float) -> float:
    """Most distance between paired basis vectors, 2 sin(theta/2)."""
    return 2 * math.sin(theta / 2)


@implements("projectionlemma", "anglecor")
def projected_error(theta: float) -> float:
    """Most distance from a unit vector of the subspace to its projection on the other one: sin theta.

    It is attained, and replaces both 4 k sin(theta/2) and 2 sqrt(k sin(theta/2)) of the paper, which are larger.
    """
    return math.sin(theta)


@implements("projectionlemma")
def inner_gap(theta: float) -> float:
    """Most change of an inner product of two unit vectors under the projection: sin^2 theta.

    ``<w, w'> - <Pw, Pw'> = <w - Pw, w' - Pw'>``, and each factor is at most sin theta long.
    """
    return math.sin(theta) ** 2


_BOUNDED = ("|y| <= M",)


@implements("assympboundsvoestimate", "voebound")
def value_oracle_tail(
    n0: float, delta: float, d: int, M: float, *, c1: float = 1.0, c2: float = 1.0, c3: float = 1.0, c4: float = 1.0
) -> Bound:
    """Chance that the value-oracle estimate from `n0` queries is off by `delta` or more.

    Only the positive part of the second bracket is squared: a negative one would promise more from fewer queries.
    """
    reach = math.sqrt(n0) * delta / M
    # The weaker of two exponents, since the bound must hold for small and for large delta alike.
    exponent = min(c2 * reach**2 / d, max(0.0, c3 * reach - c4 * math.sqrt(d)) ** 2)
    return chance_of(math.log(c1) - exponent, "voebound", {"c1": c1, "c2": c2, "c3": c3, "c4": c4}, _BOUNDED)


@dataclass(frozen=True)
class KernelMoments:
    """Logs of the means of the kernel sums z, |u|, |s|, |v| of n samples (-inf for a zero)."""

    z: float
    u: float
    s: float
    v: float


@implements("expectationsandbounds", "expectations", "zexpuexp", "sexpvexp")
def kernel_moments(n: float, xi: float, mean_r: float, mean_xr: float) -> KernelMoments:
    """Means of the four kernel sums at a point of norm `xi`.

    Parameters
    ----------
    n : float
        Samples.
    xi : float
        Norm of the point.
    mean_r, mean_xr : float
        ``|E r(X)|`` and ``|E X r(X)|`` for X ~ N(point, I).
    """
    # Tilting a Gaussian by e^{<xi, x>} moves it to xi and costs the factor e^{|xi|^2/2}: all four means share it.
    common = math.log(n) + xi**2 / 2
    logs = [common + (math.log(abs(x)) if x else -math.inf) for x in (xi, mean_r, mean_xr)]
    return KernelMoments(common, *logs)


@implements("expectationsandbounds", "bounds", "zboundubound", "sboundvbound")
def moment_tails(n: float, delta: float, d: int, M: float, xi: float) -> dict[str, Bound]:
    """Chance that each kernel sum is off its mean by ``n delta`` or more, at a point of norm `xi`."""
    # Chebyshev's inequality: the variance of one summand is at most e^{2 xi^2} times the second moment about 2 xi.
    common = 2 * xi**2 - math.log(n) - 2 * math.log(delta)
    spread, size = math.log(d + 4 * xi**2), 2 * math.log(M)
    return {
        "z": chance_of(common, "zboundubound"),
        "u": chance_of(common + spread, "zboundubound"),
        "s": chance_of(common + size, "sboundvbound", assumptions=_BOUNDED),
        "v": chance_of(common + size + spread, "sboundvbound", assumptions=_BOUNDED),
    }


@implements("fractionlemma")
def ratio_tolerance(a: float, b: float, delta: float) -> float:
    """How close numerator (norm `a`) and denominator `b` must be for the ratio to be within `delta`."""
    return b**2 * delta / (a + b + b * delta)


@implements("deltaprime")
def log_ratio_tolerance(n: float, xi: float, mean_xr: float, delta: float) -> float:
    """Log of delta', the tolerance on v and z for v/z to be within delta/2."""
    return math.log(n) + xi**2 / 2 + math.log(delta) - math.log(2 * mean_xr + 2 + delta)


@implements("deltaprimeprime")
def log_product_tolerance(n: float, xi: float, mean_r: float, delta: float) -> float:
    """Log of delta'', the tolerance on us and z^2 for us/z^2 to be within delta/2."""
    return 2 * math.log(n) + xi**2 + math.log(delta) - math.log(2 * xi * abs(mean_r) + 2 + delta)


@implements("splitproducts")
def product_tail(n: float, delta: float, d: int, M: float, xi: float) -> Bound:
    """Chance that the product us is off by delta'' or more: a third of it in one of three terms."""
    # |E r| <= M bounds delta'' from below by n^2 e^{xi^2} delta / factor; each term then gets a third of it.
    factor = 2 * M * xi + 2 + delta
    common = xi**2 - math.log(n) - math.log(delta)
    square = common - math.log(delta) + 2 * math.log(factor)
    first = math.log(9 * M**2 * xi**2) + square if xi else -math.inf  # E u (s - E s)
    second = math.log(9 * M**2 * (d + 4 * xi**2)) + square  # E s (u - E u)
    third = math.log(3 * (M**2 + d + 4 * xi**2) * factor) + common  # (s - E s)(u - E u)
    return chance_of(log_add(first, second, third), "splitproducts", assumptions=_BOUNDED)


@implements("final")
def gaussian_tail_final(n: float, delta: float, d: int, M: float, xi: float) -> Bound:
    """Chance that the kernel estimate at norm `xi` is off by `delta` or more, with every constant in place.

    The sum of the parts has 3 M^2 in its last bracket where the paper prints 2 M^2.
    """
    first = (10 * M**2 * d + 49 * M**2 * xi**2 + 17) * (2 * M * math.sqrt(d + xi**2) + 2 + delta) ** 2
    second = (3 * M**2 + 3 * d + 12 * xi**2 + 2) * (2 * M * xi + 2 + delta)
    common = xi**2 - math.log(n) - math.log(delta)
    log_value = log_add(common - math.log(delta) + math.log(first), common + math.log(second))
    return chance_of(log_value, "final", assumptions=_BOUNDED)


@implements("assympboundscor", "candidatebound")
def gaussian_tail(n: float, delta: float, d: int, M: float, xi: float, *, C: float = 1.0) -> Bound:
    """Chance that the kernel estimate at norm `xi` is off by `delta` or more, up to the constant C.

    For M >= 1 and delta <= 1 the explicit form gives C = 1735: the first bracket is at most 66 M^2 D, the square
    at most 25 M^2 D and the second product at most 85 M^4 D^2, with D = d + xi^2.
    """
    # e^{xi^2} is what the kernel costs: at a point of this norm about n e^{-xi^2} of the n rows count.
    log_value = math.log(C) + xi**2 - math.log(n) - 2 * math.log(delta) + 4 * math.log(M) + 2 * math.log(d + xi**2)
    return chance_of(log_value, "candidatebound", {"C": C}, (*_BOUNDED, "M >= 1", "delta <= 1"))


@implements("subspace", "candidatebounddim")
def projected_tail(n: float, delta: float, k: int, M: float, xi: float, *, C: float = 1.0) -> Bound:
    """The same in the k-dimensional subspace; `xi` is the norm of the projected point."""
    same = gaussian_tail(n, delta, k, M, xi, C=C)
    return Bound(same.log_value, "candidatebounddim", same.constants, (*same.assumptions, "subspace from other rows"))


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
def own_part(problem: Problem, Delta: float) -> tuple[Bound, Bound]:
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
    # Below 4 d the Chernoff exponent (alpha - d - d log(alpha/d))/2 may be smaller than alpha/7: say nothing there.
    if alpha < 4 * d:
        return chance_of(0.0, "GCbound", assumptions=("alpha >= 4 d",))
    return chance_of(-alpha / 7, "GCbound", assumptions=("alpha >= 4 d",))


@implements("GCboundvo")
def estimates_off_oracle(
    share: float, n0: float, delta: float, log_w0: float, d: int, M: float, **constants: float
) -> Bound:
    """Chance that more than `share` of the estimates are off by ``delta w0``, by Markov's inequality."""
    # E |G^c| is m0 times the chance for one estimate; Markov divides by m0 times the share. Points may be dependent.
    single = value_oracle_tail(n0, delta * math.exp(log_w0), d, M, **constants)
    return chance_of(single.log_value - math.log(share), "GCboundvo", single.constants, single.assumptions)


def log_information(n: Bound | float, delta: float, log_w0: float, d: int, M: float) -> float:
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
        Log of n (delta w0)^2 / (M^4 d^2), see :func:`log_information`.
    d : int
        k after projection.
    xi0 : float
    C : float
        Absolute constant of the statement.
    """
    # Points beyond |xi|^2 = alpha xi0^2 are given up (chi-square tail), those within cost e^{alpha xi0^2}. The alpha at
    # which both are equal leaves log_x / (1 + 7 reach) of the signal.
    reach = (1 + 2 / d) * xi0**2
    if log_x <= 4 * d * (1 / 7 + reach):
        return chance_of(0.0, "GCbound", {"C": C}, (_LARGE_SAMPLE,))
    return chance_of(math.log(C / share) - log_x / (1 + 7 * reach), "GCbound", {"C": C}, (_LARGE_SAMPLE,))


@implements("spuriouslemma")
def spurious(off: Bound, m0: float, gamma: float, rho: float, *, c5: float = 1.0) -> Bound:
    """Chance that more than ``2 gamma rho m0`` candidates are spurious.

    `off` bounds the chance that too many estimates are off (share of order gamma rho). The exponent in the
    Gaussian case carries 7, as in :func:`estimates_off_gaussian`; the paper prints 4 here.
    """
    # Union bound: too many estimates off, or (Chernoff) too many points near two units, whose mean is m0 gamma rho.
    value = log_add(off.log_value, -c5 * m0 * gamma * rho)
    return chance_of(value, "spuriouslemma", {**off.constants, "c5": c5}, off.assumptions)


@implements("goodclusterlemma")
def good_cluster(off: Bound, m0: float, gamma: float, *, c5: float = 1.0) -> Bound:
    """Chance that one cluster has fewer than ``gamma m0 / 2`` candidates; needs (1 + 2 delta) in Delta."""
    # Union bound: too many estimates off, or (Chernoff) too few points near this unit alone, whose mean is m0 gamma.
    value = log_add(off.log_value, -c5 * m0 * gamma)
    return chance_of(value, "goodclusterlemma", {**off.constants, "c5": c5}, (*off.assumptions, "slack 2 in Delta"))


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
    # estimates_off_gaussian <= level, solved for log n: the power 1 + 7 reach goes to the other side. The larger of the
    # two, because the bound holds only from its threshold on.
    front = 4 * math.log(problem.M) + 2 * math.log(d) - 2 * (math.log(delta) + params.log_w0)
    power = (1 + 7 * reach) * (math.log(C2) + _log_confidence(problem, delta, rho, params.gamma))
    return Bound(front + max(power, 4 * d * (1 / 7 + reach)), "maintheorem", {"C''": C2}, ("M >= 1",))


@implements("sunthm")
def mirror_failure(n: float, d: int, theta: float, *, C1: float = 1.0, C2: float = 1.0) -> Bound:
    """Chance that the estimated subspace is further than `theta` from the true one."""
    log_value = math.log(C1) - C2 * n * theta**2 / d
    return Bound(min(0.0, log_value), "sunthm", {"C1": C1, "C2": C2}, ("theta <= u0 kappa", "mixture weights"))


@implements("dimredtheorem")
def needed_theta(problem: Problem, delta: float) -> float:
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


def value_oracle_tail_tight(n0: float, delta: float, d: int, M: float) -> Bound:
    """Chance that the value-oracle estimate is off by `delta` or more, with no unknown constant.

    exp(-(d/2) (q - 1 - log q)) with q = n0 delta^2 / (1.609 M^2 d), once q > 1.
    """
    log_q = math.log(n0) + 2 * math.log(delta) - 2 * math.log(M) - math.log(VARIANCE_PROXY * d)
    if log_q <= 0:
        return chance_of(0.0, "ours", assumptions=("|y| <= M",))
    # Chernoff for |g|^2 of a Gaussian with variance proxy 1.609 M^2/n0 in each of d directions, at its best exponent.
    q = math.exp(min(log_q, 700.0))
    return chance_of(-0.5 * d * (q - 1 - log_q), "ours", assumptions=("|y| <= M",))


def gaussian_tail_homogeneous(n: float, delta: float, d: int, M: float, xi: float) -> Bound:
    """candidatebound with M^2 in place of M^4, for every M and delta <= M.

    eq:Slope is linear in the responses: dividing them by M divides estimate and mean by M, so the case M = 1 at
    accuracy delta/M is the general one.
    """
    if delta > M:
        return chance_of(0.0, "ours", assumptions=("delta <= M",))
    same = gaussian_tail(n, delta / M, d, 1.0, xi, C=COLLAPSE_CONSTANT)
    return Bound(same.log_value, "ours", same.constants, ("|y| <= M", "delta <= M"))


def projected_slab_pair_tight(Delta1: float, Delta2: float, xi0: float, kappa: float, theta: float) -> Bound:
    """anglelemma2 with kappa cos^2(theta) for kappa', which holds for every angle and is sharp.

    The Gram determinant of two projected units is at least cos^4(theta) times that of the units.
    """
    bound = slab_pair(Delta1, Delta2, xi0, kappa * math.cos(theta) ** 2)
    return Bound(bound.log_value, "ours", {}, bound.assumptions)


def needed_theta_tight(kappa: float, u0: float, delta: float) -> float:
    """The angle that dimredtheorem needs, by the sharp lemmas: kappa cos^2 >= kappa/2, sin <= delta, sunthm's range."""
    return min(math.pi / 4, math.asin(delta), u0 * kappa)
