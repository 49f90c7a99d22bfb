"""Mean gradients in the regions, candidates in the clusters, and the counts of each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy.stats import binom, chi2

from ....arguments import Floats
from ..bounds import (
    chi_square_tail,
    cluster_radius,
    estimates_off_gaussian,
    estimates_off_oracle,
    far_field,
    good_cluster,
    one_unit_left,
    own_coefficient,
    spurious,
    value_oracle_tail,
)
from ..constants import Problem, gamma_closed, parameters
from ..gaussian_fields import coefficients, mean_gradient
from ..log_space import Bound, log_add
from ..partition import partition, regions
from .comparison import Comparison, at_least, at_most, equal

_THREE_UNITS = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, -0.6, 0.8]])
_THREE_WEIGHTS = np.array([1.0, -1.0, 0.5])  # a negative one is the test of signs
_PROBLEMS = [Problem(3, 3, beta, float(np.linalg.svd(_THREE_UNITS)[1][-1]), 0.5, M=2.5) for beta in (0.3, 1.0, 2.0)]
_DELTAS = (0.1, 0.3, 0.45)


def _points_with_arguments(arguments: Floats) -> Floats:
    """Points at which the units have exactly these arguments."""
    return np.asarray(np.linalg.solve(_THREE_UNITS, arguments.T).T)


def check_regions() -> Comparison:
    """The regions of points whose arguments were chosen: none, one, several below Delta."""
    arguments = np.array([[2, 3, -2], [0.5, 3, -2], [2, -0.5, 9], [2, 3, 0.99], [0.5, 0, 9], [0, 0, 0], [1, -1, 1]])
    expected = np.array([0, 1, 2, 3, -1, -1, 0])  # Delta itself counts as far
    found = regions(_THREE_UNITS[[0, 1, 2]], _points_with_arguments(arguments.astype(float)), 1.0 - 1e-12)
    right = float((found == expected).sum())
    return equal("Rsets", "points in the region they were put in", [(math.log(7.0), math.log(right))], "by hand")


def check_far_field() -> Comparison:
    """Longest mean gradient over R_0; the worst points have every argument at +-Delta."""
    pairs = []
    for p, delta in itertools.product(_PROBLEMS, _DELTAS):
        Delta = parameters(p, delta, 0.5).Delta
        corners = _points_with_arguments(Delta * np.array(list(itertools.product((-1.0, 1.0), repeat=3))))
        longest = float(np.linalg.norm(mean_gradient(_THREE_UNITS, _THREE_WEIGHTS, p.beta, corners), axis=1).max())
        pairs.append((far_field(p, Delta).log_value, math.log(longest)))
    return at_most("eq:InR0", "mean gradient far from all units", pairs, "quadrature at the corners")


def check_all_but_one(sign: Callable[[float], float] = lambda u: math.copysign(1.0, u)) -> Comparison:
    """Mean gradient less its own unit's part over R_l; `sign` says which way the own part points."""
    pairs = []
    for p, delta, unit in itertools.product(_PROBLEMS, _DELTAS, range(3)):
        Delta = parameters(p, delta, 0.5).Delta
        arguments = Delta * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
        arguments[:, unit] *= 0.3
        points = _points_with_arguments(arguments)
        own = abs(_THREE_WEIGHTS[unit]) * coefficients(arguments[:, unit], p.beta) * sign(float(_THREE_WEIGHTS[unit]))
        rest = mean_gradient(_THREE_UNITS, _THREE_WEIGHTS, p.beta, points) - own[:, None] * _THREE_UNITS[unit]
        pairs.append((one_unit_left(p, Delta).log_value, math.log(float(np.linalg.norm(rest, axis=1).max()))))
    return at_most("allbutone", "mean gradient less its own unit", pairs, "quadrature at the corners")


def check_own_floor() -> Comparison:
    """Smallest own part within Delta."""
    pairs = []
    for p, delta in itertools.product(_PROBLEMS, _DELTAS):
        Delta = parameters(p, delta, 0.5).Delta
        smallest = p.u0 * float(coefficients(np.array([Delta]), p.beta)[0])
        pairs.append((own_coefficient(p, Delta)[0].log_value, math.log(smallest)))
    return at_least("albounds", "own part, from below", pairs, "quadrature at the edge")


def check_own_ceiling() -> Comparison:
    """Largest own part, at argument zero with weight one."""
    pairs = [
        (own_coefficient(p, 1.0)[1].log_value, math.log(float(coefficients(np.zeros(1), p.beta)[0]))) for p in _PROBLEMS
    ]
    return at_most("albounds", "own part, from above", pairs, "quadrature at zero")


def _worst_candidate(delta: float, own: float) -> tuple[Floats, Floats]:
    """Estimates and means at the edges of what C_l allows, in units of w0, own unit along the first axis."""
    angles = np.linspace(0, 2 * np.pi, 181)
    circle = delta * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    sizes = np.linspace(max(1e-3, 1 - 2 * delta), 1 + 2 * delta, 9)
    means = (own * sizes[:, None, None] * np.array([1.0, 0.0]) + circle).reshape(-1, 1, 2)
    estimates = means + circle
    kept = np.linalg.norm(estimates, axis=2) >= 1
    return estimates[kept], np.broadcast_to(means, estimates.shape)[kept]


def check_cluster_radius(sign: Callable[[float], float] = lambda u: math.copysign(1.0, u)) -> Comparison:
    """Farthest candidate of C_l from its unit, for either sign of the weight, over the edges of what is allowed."""
    pairs = []
    for delta, weight in itertools.product((0.01, 0.1, 0.3), (1.0, -1.0)):
        estimates, _ = _worst_candidate(delta, weight)
        directions = estimates / np.linalg.norm(estimates, axis=1, keepdims=True)
        target = np.array([sign(weight), 0.0])
        farthest = float(np.linalg.norm(directions - target, axis=1).max())
        pairs.append((cluster_radius(delta).log_value, math.log(farthest)))
    return at_most("clusterlemma", "distance of a candidate from its unit", pairs, "search over the edge")


def check_triangle_step(plus: float = 1.0) -> Comparison:
    """First step of the proof: two terms that add (`plus` = 1); printed with a minus sign."""
    pairs = []
    for delta in (0.1, 0.3):
        w, mean = _worst_candidate(delta, 1.0)
        a, b = np.linalg.norm(w, axis=1), np.linalg.norm(mean, axis=1)
        left = np.linalg.norm(w / a[:, None] - mean / b[:, None], axis=1)
        right = (np.linalg.norm(w - mean, axis=1) + plus * np.abs(a - b)) / a
        some = left > 1e-9
        with np.errstate(divide="ignore"):
            pairs += list(zip(np.log(np.maximum(right[some], 0.0)).tolist(), np.log(left[some]).tolist()))
    return at_most("clusterlemma", "first step of its proof", pairs, "search over the edge")


def check_far_excluded(excluded: Callable[[float], bool] = lambda delta: delta < 0.5) -> Comparison:
    """B_0 is empty where delta w0 is strictly below (1 - delta) w0."""
    pairs = [(math.log1p(-t), math.log(t)) for t in (0.01, 0.25, 0.49, 0.5) if excluded(t)]
    return at_most("eq:CoInclusion", "B_0 is excluded", pairs, "algebra", tolerance=-1e-12)


def check_far_at_one_half() -> Comparison:
    """At delta = 1/2 B_0 is empty all the same: k c2 exp(-2 beta Delta) is at least twice any gradient of R_0."""
    pairs = []
    for p in _PROBLEMS:
        params = parameters(p, 0.5, 0.5)
        corners = _points_with_arguments(params.Delta * np.array(list(itertools.product((-1.0, 1.0), repeat=3))))
        longest = float(np.linalg.norm(mean_gradient(_THREE_UNITS, _THREE_WEIGHTS, p.beta, corners), axis=1).max())
        pairs.append((math.log(0.5) + params.log_w0, math.log(2 * longest)))
    return at_most("eq:CoInclusion", "twice a far gradient at delta = 1/2 (ours)", pairs, "quadrature at the corners")


def check_co_inclusion() -> Comparison:
    """On a simulated run with errors of every size, spurious candidates are off, far or shared."""
    p, delta = _PROBLEMS[1], 0.3
    params = parameters(p, delta, 0.5)
    rng = np.random.default_rng(41)
    points = params.Delta * 1.5 * rng.standard_normal((20_000, 3))
    means = mean_gradient(_THREE_UNITS, _THREE_WEIGHTS, p.beta, points)
    errors = rng.standard_normal((20_000, 3)) * params.w0 * rng.choice([0.05, 1.0], (20_000, 1))
    split = partition(_THREE_UNITS, points, means + errors, means, Delta=params.Delta, w0=params.w0, delta=delta)
    spurious_ones = split.cluster == 0
    covered = spurious_ones & (~split.good | split.far | split.shared)
    pairs = [(math.log(covered.sum()), math.log(spurious_ones.sum()))]
    return at_most("eq:CoInclusion", "spurious candidates that are explained", pairs, "simulated run, 20,000 points")


Tail = Callable[[float, int], Bound]


def check_chi_square(tail: Tail = chi_square_tail) -> Comparison:
    """Chance of a point too far out."""
    cases = [(d, c) for d in (1, 2, 10, 300) for c in (4.0, 6.0, 20.0)]
    pairs = [(tail(c * d, d).log_value, float(chi2.logsf(c * d, d))) for d, c in cases]
    return at_most("GCbound", "chi-square tail", pairs, "scipy's chi-square")


def off_from_proof(share: float, log_x: float, d: int, xi0: float, tail: Tail = chi_square_tail) -> float:
    """What the proof adds up to, before it is written as one power: C = 1 in candidatebound."""
    reach = (1 + 2 / d) * xi0**2
    alpha = log_x / (1 / 7 + reach)
    return log_add(reach * alpha - log_x, tail(alpha, d).log_value) - math.log(share)


def _off_cases() -> list[tuple[float, float, int, float]]:
    cases = []
    for share, d, xi0, far in itertools.product((1e-3, 0.1), (1, 5, 50), (1.0, 20.0, 300.0), (1.5, 10.0)):
        cases.append((share, far * 4 * d * (1 / 7 + (1 + 2 / d) * xi0**2), d, xi0))
    return cases


Off = Callable[[float, float, int, float], Bound]


def repaired_off(share: float, log_x: float, d: int, xi0: float) -> Bound:
    """GCbound with 7 in the exponent, and the constant that its two terms add up to."""
    return estimates_off_gaussian(share, log_x, d, xi0, C=2.0)


def check_off_gaussian(tail: Tail = chi_square_tail) -> Comparison:
    """The power of GCbound against the two terms of its proof."""
    pairs = [
        (math.log(2 / share) - log_x / (1 + 7 * (1 + 2 / d) * xi0**2), off_from_proof(share, log_x, d, xi0, tail))
        for share, log_x, d, xi0 in _off_cases()
    ]
    return at_most("GCbound", "share of estimates that are off", pairs, "terms of the proof added up", 1e-6)


def check_off_oracle() -> Comparison:
    """Markov's inequality for the number of estimates that are off, against the exact binomial."""
    pairs = []
    for n0, share in itertools.product((200.0, 2000.0), (0.05, 0.2)):
        chance = value_oracle_tail(n0, 0.3, 2, 1.0).value
        exact = float(binom.sf(math.ceil(share * 100) - 1, 100, chance))
        bound = estimates_off_oracle(share, n0, 0.3, 0.0, 2, 1.0)
        pairs.append((bound.log_value, math.log(max(exact, 1e-300))))
    return at_most("GCboundvo", "share of oracle estimates that are off", pairs, "exact binomial")


def check_spurious(off: Off = repaired_off) -> Comparison:
    """Chance of too many spurious candidates: estimates off (terms of the proof) plus the exact binomial of R_*."""
    pairs = []
    k, rho = 3, 0.5
    gamma = gamma_closed(k, 0.5, rho)
    for _, log_x, d, xi0 in _off_cases():
        share = gamma * rho / 2
        for m0 in (1e4, 1e6):
            exact = float(binom.logsf(math.floor(1.5 * m0 * gamma * rho), int(m0), gamma * rho))
            derived = log_add(off_from_proof(share, log_x, d, xi0, chi_square_tail), exact)
            if derived < -1e-6:  # elsewhere both sides say nothing
                claimed = spurious(off(share, log_x, d, xi0), m0, gamma, rho, c5=1 / 16)
                pairs.append((claimed.log_value, derived))
    return at_most("spuriouslemma", "chance of too many spurious ones", pairs, "terms of the proof, exact binomial")


def check_good_cluster() -> Comparison:
    """Chance of a cluster that is too small: estimates off plus the exact binomial of R'_l."""
    pairs = []
    gamma = gamma_closed(3, 0.5, 0.5)
    for _, log_x, d, xi0 in _off_cases():
        for m0 in (1e4, 1e6):
            off = off_from_proof(gamma / 4, log_x, d, xi0, chi_square_tail)
            derived = log_add(off, float(binom.logcdf(math.floor(0.75 * m0 * gamma), int(m0), gamma)))
            if derived < -1e-6:
                claimed = good_cluster(repaired_off(gamma / 4, log_x, d, xi0), m0, gamma, c5=1 / 32)
                pairs.append((claimed.log_value, derived))
    return at_most("goodclusterlemma", "chance of a small cluster", pairs, "terms of the proof, exact binomial")
