"""How far a gradient estimate can be from its mean: value oracle, Gaussian covariates, projected covariates."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...paper import implements
from .record import Bound, log_add, probability

__all__ = [
    "KernelMoments", "gaussian_tail", "gaussian_tail_explicit", "kernel_moments", "log_product_tolerance",
    "log_ratio_tolerance", "moment_tails", "product_tail", "projected_tail", "ratio_tolerance", "value_oracle_tail",
]  # fmt: skip

_BOUNDED = ("|y| <= M",)


@implements("assympboundsvoestimate", "voebound")
def value_oracle_tail(
    n0: float, delta: float, d: int, M: float, *, c1: float = 1.0, c2: float = 1.0, c3: float = 1.0, c4: float = 1.0
) -> Bound:
    """Chance that the value-oracle estimate from `n0` queries is off by `delta` or more.

    Only the positive part of the second bracket is squared: a negative one would promise more from fewer queries.
    """
    reach = math.sqrt(n0) * delta / M
    exponent = min(c2 * reach**2 / d, max(0.0, c3 * reach - c4 * math.sqrt(d)) ** 2)
    return probability(math.log(c1) - exponent, "voebound", {"c1": c1, "c2": c2, "c3": c3, "c4": c4}, _BOUNDED)


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
    common = math.log(n) + xi**2 / 2
    logs = [common + (math.log(abs(x)) if x else -math.inf) for x in (xi, mean_r, mean_xr)]
    return KernelMoments(common, *logs)


@implements("expectationsandbounds", "bounds", "zboundubound", "sboundvbound")
def moment_tails(n: float, delta: float, d: int, M: float, xi: float) -> dict[str, Bound]:
    """Chance that each kernel sum is off its mean by ``n delta`` or more, at a point of norm `xi`."""
    common = 2 * xi**2 - math.log(n) - 2 * math.log(delta)
    spread, size = math.log(d + 4 * xi**2), 2 * math.log(M)
    return {
        "z": probability(common, "zboundubound"),
        "u": probability(common + spread, "zboundubound"),
        "s": probability(common + size, "sboundvbound", assumptions=_BOUNDED),
        "v": probability(common + size + spread, "sboundvbound", assumptions=_BOUNDED),
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
    factor = 2 * M * xi + 2 + delta
    common = xi**2 - math.log(n) - math.log(delta)
    square = common - math.log(delta) + 2 * math.log(factor)
    first = math.log(9 * M**2 * xi**2) + square if xi else -math.inf  # E u (s - E s)
    second = math.log(9 * M**2 * (d + 4 * xi**2)) + square  # E s (u - E u)
    third = math.log(3 * (M**2 + d + 4 * xi**2) * factor) + common  # (s - E s)(u - E u)
    return probability(log_add(first, second, third), "splitproducts", assumptions=_BOUNDED)


@implements("final")
def gaussian_tail_explicit(n: float, delta: float, d: int, M: float, xi: float) -> Bound:
    """Chance that the kernel estimate at norm `xi` is off by `delta` or more, with every constant in place.

    The sum of the parts has 3 M^2 in its last bracket where the paper prints 2 M^2.
    """
    first = (10 * M**2 * d + 49 * M**2 * xi**2 + 17) * (2 * M * math.sqrt(d + xi**2) + 2 + delta) ** 2
    second = (3 * M**2 + 3 * d + 12 * xi**2 + 2) * (2 * M * xi + 2 + delta)
    common = xi**2 - math.log(n) - math.log(delta)
    log_value = log_add(common - math.log(delta) + math.log(first), common + math.log(second))
    return probability(log_value, "final", assumptions=_BOUNDED)


@implements("assympboundscor", "candidatebound")
def gaussian_tail(n: float, delta: float, d: int, M: float, xi: float, *, C: float = 1.0) -> Bound:
    """Chance that the kernel estimate at norm `xi` is off by `delta` or more, up to the constant C.

    For M >= 1 and delta <= 1 the explicit form gives C = 1735: the first bracket is at most 66 M^2 D, the square
    at most 25 M^2 D and the second product at most 85 M^4 D^2, with D = d + xi^2.
    """
    log_value = math.log(C) + xi**2 - math.log(n) - 2 * math.log(delta) + 4 * math.log(M) + 2 * math.log(d + xi**2)
    return probability(log_value, "candidatebound", {"C": C}, (*_BOUNDED, "M >= 1", "delta <= 1"))


@implements("subspace", "candidatebounddim")
def projected_tail(n: float, delta: float, k: int, M: float, xi: float, *, C: float = 1.0) -> Bound:
    """The same in the k-dimensional subspace; `xi` is the norm of the projected point."""
    same = gaussian_tail(n, delta, k, M, xi, C=C)
    return Bound(same.log_value, "candidatebounddim", same.constants, (*same.assumptions, "subspace from other rows"))
