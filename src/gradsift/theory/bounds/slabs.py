"""Where a random point falls, and what a slightly wrong subspace does to it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...checking import Floats
from ...paper import implements
from ..constants import kappa_prime, log_c1, log_c2
from .record import Bound, probability

__all__ = [
    "AlignedBases", "aligned_bases", "basis_distance", "coefficient_bounds", "cosine_gap", "derivative_bounds",
    "parallelogram", "projected_two_slabs", "projection_error", "slab", "two_slabs",
]  # fmt: skip


@implements("eq:BoundsFprime")
def derivative_bounds(x: float, beta: float) -> tuple[Bound, Bound]:
    """Lower and upper bound on the derivative of tanh(beta x)."""
    base = math.log(beta) - 2 * beta * abs(x)
    return Bound(base, "eq:BoundsFprime"), Bound(base + math.log(4), "eq:BoundsFprime")


@implements("lemma:coeffboundssimple", "lowerupperbound")
def coefficient_bounds(z: float, beta: float) -> tuple[Bound, Bound]:
    """Lower and upper bound on ``E f'(z + X)`` for standard Gaussian X."""
    decay = -2 * beta * abs(z)
    return Bound(log_c1(beta) + decay, "lowerupperbound"), Bound(log_c2(beta) + decay, "lowerupperbound")


@implements("anglelemma")
def slab(Delta: float, xi0: float) -> Bound:
    """Least chance that a point is within `Delta` of one unit's hyperplane."""
    if not 0 < Delta < xi0:
        raise ValueError(f"Delta must lie strictly between 0 and xi0 = {xi0:g}, got {Delta:g}.")
    return probability(0.5 * math.log(2 / (math.e * math.pi)) + math.log(Delta / xi0), "anglelemma")


@implements("parallelogramlemma")
def parallelogram(eps1: float, eps2: float, sigma: float, c: float) -> Bound:
    """Most chance that both coordinates of a Gaussian pair (standard deviation sigma, correlation c) are small."""
    if not abs(c) < 1:
        raise ValueError(f"c must lie strictly between -1 and 1, got {c!r}.")
    log_value = math.log(2 / math.pi) + math.log(eps1 * eps2) - 2 * math.log(sigma) - 0.5 * math.log1p(-(c**2))
    return probability(log_value, "parallelogramlemma")


@implements("anglelemma")
def two_slabs(Delta1: float, Delta2: float, xi0: float, kappa: float) -> Bound:
    """Most chance that a point is near the hyperplanes of two units at once."""
    log_value = math.log(2 / math.pi) + math.log(Delta1 / xi0) + math.log(Delta2 / xi0) - math.log(kappa)
    return probability(log_value, "anglelemma", assumptions=("kappa <= smallest singular value of the units",))


@implements("anglelemma2")
def projected_two_slabs(Delta1: float, Delta2: float, xi0: float, k: int, kappa: float, theta: float) -> Bound:
    """The same after projection on a subspace at largest principal angle `theta`; kappa becomes kappa'."""
    shrunk = kappa_prime(k, kappa, theta)
    bound = two_slabs(Delta1, Delta2, xi0, shrunk) if shrunk else probability(0.0, "anglelemma2")
    return Bound(bound.log_value, "anglelemma2", {}, (*bound.assumptions, "4 k sin(theta/2) < kappa"))


@dataclass(frozen=True)
class AlignedBases:
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
def aligned_bases(first: Floats, second: Floats) -> AlignedBases:
    """Return the principal vectors of two row spaces; every pair has cosine *at least* cos theta."""
    a, b = np.linalg.qr(first.T)[0], np.linalg.qr(second.T)[0]
    left, cosines, right = np.linalg.svd(a.T @ b)
    return AlignedBases((a @ left).T, (b @ right.T).T, np.clip(cosines, 0.0, 1.0))


@implements("basisnorms")
def basis_distance(theta: float) -> float:
    """Most distance between paired basis vectors, 2 sin(theta/2)."""
    return 2 * math.sin(theta / 2)


@implements("projectionlemma", "anglecor")
def projection_error(theta: float) -> float:
    """Most distance from a unit vector of the subspace to its projection on the other one: sin theta.

    It is attained, and replaces both 4 k sin(theta/2) and 2 sqrt(k sin(theta/2)) of the paper, which are larger.
    """
    return math.sin(theta)


@implements("projectionlemma")
def cosine_gap(theta: float) -> float:
    """Most change of an inner product of two unit vectors under the projection: sin^2 theta.

    ``<w, w'> - <Pw, Pw'> = <w - Pw, w' - Pw'>``, and each factor is at most sin theta long.
    """
    return math.sin(theta) ** 2
