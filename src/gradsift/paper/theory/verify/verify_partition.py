"""Probabilities of slabs, distances of subspaces, mean gradients in the regions, and candidates in the clusters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy.integrate import quad
from scipy.special import erf, ndtr
from scipy.stats import binom, chi2

from ....arguments import Floats
from ..bounds import (
    bases_distance,
    chi_square_tail,
    cluster_radius,
    derivative_bounds,
    estimates_off_gaussian,
    estimates_off_oracle,
    far_field,
    good_cluster,
    inner_gap,
    mean_derivative_bounds,
    one_unit_left,
    own_part,
    parallelogram,
    principal_bases,
    projected_error,
    projected_slab_pair,
    projected_slab_pair_tight,
    slab,
    slab_pair,
    spurious,
    value_oracle_tail,
)
from ..constants import Problem, gamma_closed, log_mean_derivative, parameters
from ..gaussian_fields import coefficients, mean_gradient
from ..inequality import Bound, Comparison, at_least, at_most, equal, log_add
from ..partition import region_of, split_candidates

_BETAS, _ARGUMENTS = (0.05, 0.3, 1.0, 3.0, 30.0), np.array([0.0, 0.1, 1.0, 3.0, 10.0, 40.0])


def chance_in_box(a: float, b: float, c: float) -> float:
    """P(|Z1| < a, |Z2| < b) for standard Gaussians with correlation c, by one adaptive integral."""
    s = math.sqrt(1 - c * c)

    def inner(x: float) -> float:
        return math.exp(-x * x / 2) * float(ndtr((b - c * x) / s) - ndtr((-b - c * x) / s))

    return float(quad(inner, -min(a, 12), min(a, 12), epsabs=0, epsrel=1e-11, limit=200)[0]) / math.sqrt(2 * math.pi)


def _derivatives(side: int) -> list[tuple[float, float]]:
    pairs = []
    for beta, x in itertools.product(_BETAS, _ARGUMENTS):
        log_exact = math.log(beta) - 2 * float(np.logaddexp(beta * x, -beta * x) - math.log(2))
        pairs.append((derivative_bounds(float(x), beta)[side].log_value, log_exact))
    return pairs


def check_derivative_least(strict: bool = False) -> Comparison:
    """Lower bound on f'; the paper prints a strict one, but at zero there is equality."""
    tolerance = -1e-12 if strict else 1e-9
    return at_least("eq:BoundsFprime", "derivative of tanh, from below", _derivatives(0), "log cosh", tolerance)


def check_derivative_most() -> Comparison:
    """Upper bound on f'."""
    return at_most("eq:BoundsFprime", "derivative of tanh, from above", _derivatives(1), "log cosh")


def _mean_derivatives(side: int) -> list[tuple[float, float]]:
    return [
        (mean_derivative_bounds(float(z), beta)[side].log_value, log_mean_derivative(float(z), beta))
        for beta, z in itertools.product(_BETAS, _ARGUMENTS)
    ]


def check_mean_derivative_least() -> Comparison:
    """Lower bound on the smoothed derivative."""
    return at_least("lowerupperbound", "mean derivative, from below", _mean_derivatives(0), "quadrature in log space")


def check_mean_derivative_most() -> Comparison:
    """Upper bound on the smoothed derivative."""
    return at_most("lowerupperbound", "mean derivative, from above", _mean_derivatives(1), "quadrature in log space")


def check_mean_derivative() -> Comparison:
    """The lemma for vectors: ``E f'(<w, X>)``, X about xi in dimension 5, by a million draws, between both bounds."""
    rng, pairs = np.random.default_rng(32), []
    w = rng.standard_normal(5)
    w /= np.linalg.norm(w)
    g = rng.standard_normal((1_000_000, 5)) @ w
    for beta, scale in itertools.product((0.3, 1.0), (0.5, 3.0)):
        xi = scale * rng.standard_normal(5)
        found = math.log(float((beta / np.cosh(beta * (w @ xi + g)) ** 2).mean()))
        low, high = mean_derivative_bounds(float(w @ xi), beta)
        pairs += [(high.log_value, found), (-low.log_value, -found)]
    return at_most("lemma:coeffboundssimple", "mean derivative of a unit in dimension 5", pairs, "a million draws")


def check_slab() -> Comparison:
    """One slab."""
    pairs = [(slab(t, 1.0).log_value, math.log(erf(t / math.sqrt(2)))) for t in (1e-6, 0.01, 0.3, 0.9, 0.999999)]
    return at_least("anglelemma", "chance of one slab", pairs, "error function")


def check_slab_pair() -> Comparison:
    """Two slabs; kappa is exactly the smallest singular value of the pair."""
    pairs = []
    for a, b, c in itertools.product((1e-3, 0.2, 2.0), (1e-3, 0.5), (0.0, 0.4, -0.9, 0.999)):
        kappa = math.sqrt(1 - abs(c))
        pairs.append((slab_pair(a, b, 1.0, kappa).log_value, math.log(chance_in_box(a, b, c))))
    return at_most("anglelemma", "chance of two slabs", pairs, "exact bivariate normal")


def check_parallelogram() -> Comparison:
    """Two slabs, with the correlation itself."""
    pairs = []
    for a, b, c, sigma in itertools.product((1e-3, 0.2, 2.0), (1e-3, 0.5), (0.0, 0.4, -0.9, 0.999), (0.5, 40.0)):
        exact = math.log(chance_in_box(a / sigma, b / sigma, c))
        pairs.append((parallelogram(a, b, sigma, c).log_value, exact))
    return at_most("parallelogramlemma", "chance of a parallelogram", pairs, "exact bivariate normal")


Slabs = Callable[[float, float, float, float], Bound]  # Delta, correlation, kappa, theta


def _lemma(t: float, c: float, kappa: float, theta: float) -> Bound:
    return projected_slab_pair(t, t, 1.0, 2, kappa, theta)


def check_projected_slab_pair(claim: Slabs = _lemma, label: str = "anglelemma2") -> Comparison:
    """Two slabs after projection, k = 2, d = 4: both principal angles equal theta, so lengths shrink by cos theta."""
    pairs = []
    for t, c, theta in itertools.product((1e-3, 0.1), (0.0, 0.5, -0.8), (0.01, 0.04, 0.05)):
        exact = chance_in_box(t / math.cos(theta), t / math.cos(theta), c)
        pairs.append((claim(t, c, math.sqrt(1 - abs(c)), theta).log_value, math.log(exact)))
    return at_most(label, "chance of two slabs after projection", pairs, "exact bivariate normal")


def check_projected_slab_pair_tight() -> Comparison:
    """The same with kappa cos^2(theta), at angles where kappa' no longer exists."""
    pairs = []
    for t, c, theta in itertools.product((1e-3, 0.1), (0.0, 0.5, -0.8), (0.05, 0.5, 1.2)):
        exact = chance_in_box(t / math.cos(theta), t / math.cos(theta), c)
        kappa = math.sqrt(1 - abs(c))
        pairs.append((projected_slab_pair_tight(t, t, 1.0, kappa, theta).log_value, math.log(exact)))
    return at_most("anglelemma2", "the same with kappa cos^2 theta (ours)", pairs, "exact bivariate normal")


def _random_bases() -> list[tuple[np.ndarray, np.ndarray, float]]:
    rng, found = np.random.default_rng(31), []
    for d, k, noise in itertools.product((7, 20), (1, 2, 3), (0.01, 0.3, 3.0)):
        a = np.linalg.qr(rng.standard_normal((d, k)))[0].T
        b = np.linalg.qr((a + noise * rng.standard_normal((k, d))).T)[0].T
        outside = b - b @ a.T @ a
        found.append((a, b, math.asin(min(1.0, float(np.linalg.norm(outside, 2))))))
    return found


def check_bases_angles(reverse: bool = False) -> Comparison:
    """Cosines of paired basis vectors; `reverse` takes the inequality as printed."""
    pairs = []
    for a, b, theta in _random_bases():
        bases = principal_bases(a, b)
        inner = (bases.first * bases.second).sum(axis=1)
        pairs += [(math.log(math.cos(theta)), math.log(x)) for x in inner]
    check = at_most if reverse else at_least
    return check("basisangles", "cosine of paired basis vectors", pairs, "principal vectors", 1e-7)


def check_bases_distance() -> Comparison:
    """Distances of paired basis vectors."""
    pairs = []
    for a, b, theta in _random_bases():
        bases = principal_bases(a, b)
        pairs += [
            (math.log(bases_distance(theta)), math.log(x)) for x in np.linalg.norm(bases.first - bases.second, axis=1)
        ]
    return at_most("basisnorms", "distance of paired basis vectors", pairs, "principal vectors", 1e-6)


def check_projected_error() -> Comparison:
    """Largest |<w, x> - <Pw, Px>| over unit x for random unit w of the first subspace: <w - Pw, x> at its best."""
    rng, pairs = np.random.default_rng(33), []
    for a, b, theta in _random_bases():
        w = rng.standard_normal(len(a)) @ a
        w /= np.linalg.norm(w)
        rest = w - w @ b.T @ b  # <Pw, Px> = <Pw, x>, so the difference is <rest, x>
        x = np.vstack((rest, rng.standard_normal((200, len(w)))))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        change = np.abs(x @ w - (x @ b.T) @ (b @ w)).max()
        pairs.append((math.log(projected_error(theta)), math.log(float(change))))
    return at_most("projectionlemma", "change of an inner product", pairs, "200 directions and the worst one", 1e-6)


def check_projected_distance() -> Comparison:
    """Distance of a unit vector to its projection; the worst one is a singular vector."""
    pairs = []
    for a, b, theta in _random_bases():
        worst = float(np.linalg.norm(a - a @ b.T @ b, 2))
        pairs.append((math.log(projected_error(theta)), math.log(worst)))
    return at_most("anglecor", "distance to the projection", pairs, "largest singular value", 1e-6)


def check_inner_gap() -> Comparison:
    """Change of inner products under the projection."""
    pairs = []
    for a, b, theta in _random_bases():
        # Inner products before less after the projection, for all pairs of vectors of the first subspace at once.
        change = np.eye(len(a)) - a @ b.T @ b @ a.T
        pairs.append((math.log(inner_gap(theta)), math.log(float(np.linalg.norm(change, 2)))))
    return at_most("projectionlemma", "change of inner products (ours)", pairs, "largest singular value", 1e-6)


_THREE_UNITS = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, -0.6, 0.8]])
_THREE_WEIGHTS = np.array([1.0, -1.0, 0.5])  # a negative one is the test of signs
_PROBLEMS = [Problem(3, 3, beta, float(np.linalg.svd(_THREE_UNITS)[1][-1]), 0.5, M=2.5) for beta in (0.3, 1.0, 2.0)]
_DELTAS = (0.1, 0.3, 0.45)


def _points_with_arguments(arguments: Floats) -> Floats:
    """Points at which the units have exactly these arguments."""
    return np.asarray(np.linalg.solve(_THREE_UNITS, arguments.T).T)


def check_region_of() -> Comparison:
    """The regions of points whose arguments were chosen: none, one, several below Delta."""
    arguments = np.array([[2, 3, -2], [0.5, 3, -2], [2, -0.5, 9], [2, 3, 0.99], [0.5, 0, 9], [0, 0, 0], [1, -1, 1]])
    expected = np.array([0, 1, 2, 3, -1, -1, 0])  # Delta itself counts as far
    found = region_of(_THREE_UNITS[[0, 1, 2]], _points_with_arguments(arguments.astype(float)), 1.0 - 1e-12)
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


def check_own_part_least() -> Comparison:
    """Smallest own part within Delta."""
    pairs = []
    for p, delta in itertools.product(_PROBLEMS, _DELTAS):
        Delta = parameters(p, delta, 0.5).Delta
        smallest = p.u0 * float(coefficients(np.array([Delta]), p.beta)[0])
        pairs.append((own_part(p, Delta)[0].log_value, math.log(smallest)))
    return at_least("albounds", "own part, from below", pairs, "quadrature at the edge")


def check_own_part_most() -> Comparison:
    """Largest own part, at argument zero with weight one."""
    pairs = [(own_part(p, 1.0)[1].log_value, math.log(float(coefficients(np.zeros(1), p.beta)[0]))) for p in _PROBLEMS]
    return at_most("albounds", "own part, from above", pairs, "quadrature at zero")


def _worst_candidate(delta: float, own: float) -> tuple[Floats, Floats]:
    """Estimates and means at the edges of what C_l allows, in units of w0, own unit along the first axis."""
    angles = np.linspace(0, 2 * np.pi, 181)
    # The mean may be delta off its own part and the estimate delta off its mean; only one plane matters, by symmetry.
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


def check_cluster_step(plus: float = 1.0) -> Comparison:
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


def check_far_is_empty(excluded: Callable[[float], bool] = lambda delta: delta < 0.5) -> Comparison:
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


def check_spurious_parts() -> Comparison:
    """On a simulated run with errors of every size, spurious candidates are off, far or shared."""
    p, delta = _PROBLEMS[1], 0.3
    params = parameters(p, delta, 0.5)
    rng = np.random.default_rng(41)
    points = params.Delta * 1.5 * rng.standard_normal((20_000, 3))
    means = mean_gradient(_THREE_UNITS, _THREE_WEIGHTS, p.beta, points)
    errors = rng.standard_normal((20_000, 3)) * params.w0 * rng.choice([0.05, 1.0], (20_000, 1))
    split = split_candidates(_THREE_UNITS, points, means + errors, means, Delta=params.Delta, w0=params.w0, delta=delta)
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


def off_by_parts(share: float, log_x: float, d: int, xi0: float, tail: Tail = chi_square_tail) -> float:
    """What the proof adds up to, before it is written as one power: C = 1 in candidatebound."""
    reach = (1 + 2 / d) * xi0**2
    # The cut at which both terms of the proof fall alike.
    alpha = log_x / (1 / 7 + reach)
    return log_add(reach * alpha - log_x, tail(alpha, d).log_value) - math.log(share)


def _off_grid() -> list[tuple[float, float, int, float]]:
    cases = []
    for share, d, xi0, far in itertools.product((1e-3, 0.1), (1, 5, 50), (1.0, 20.0, 300.0), (1.5, 10.0)):
        cases.append((share, far * 4 * d * (1 / 7 + (1 + 2 / d) * xi0**2), d, xi0))
    return cases


Off = Callable[[float, float, int, float], Bound]


def off_by_power(share: float, log_x: float, d: int, xi0: float) -> Bound:
    """GCbound with 7 in the exponent, and the constant that its two terms add up to."""
    return estimates_off_gaussian(share, log_x, d, xi0, C=2.0)


def check_off_gaussian(tail: Tail = chi_square_tail) -> Comparison:
    """The power of GCbound against the two terms of its proof."""
    pairs = [
        (math.log(2 / share) - log_x / (1 + 7 * (1 + 2 / d) * xi0**2), off_by_parts(share, log_x, d, xi0, tail))
        for share, log_x, d, xi0 in _off_grid()
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


def check_spurious(off: Off = off_by_power) -> Comparison:
    """Chance of too many spurious candidates: estimates off (terms of the proof) plus the exact binomial of R_*."""
    pairs = []
    k, rho = 3, 0.5
    gamma = gamma_closed(k, 0.5, rho)
    for _, log_x, d, xi0 in _off_grid():
        share = gamma * rho / 2
        for m0 in (1e4, 1e6):
            exact = float(binom.logsf(math.floor(1.5 * m0 * gamma * rho), int(m0), gamma * rho))
            derived = log_add(off_by_parts(share, log_x, d, xi0, chi_square_tail), exact)
            if derived < -1e-6:  # elsewhere both sides say nothing
                claimed = spurious(off(share, log_x, d, xi0), m0, gamma, rho, c5=1 / 16)
                pairs.append((claimed.log_value, derived))
    return at_most("spuriouslemma", "chance of too many spurious ones", pairs, "terms of the proof, exact binomial")


def check_good_cluster() -> Comparison:
    """Chance of a cluster that is too small: estimates off plus the exact binomial of R'_l."""
    pairs = []
    gamma = gamma_closed(3, 0.5, 0.5)
    for _, log_x, d, xi0 in _off_grid():
        for m0 in (1e4, 1e6):
            off = off_by_parts(gamma / 4, log_x, d, xi0, chi_square_tail)
            derived = log_add(off, float(binom.logcdf(math.floor(0.75 * m0 * gamma), int(m0), gamma)))
            if derived < -1e-6:
                claimed = good_cluster(off_by_power(gamma / 4, log_x, d, xi0), m0, gamma, c5=1 / 32)
                pairs.append((claimed.log_value, derived))
    return at_most("goodclusterlemma", "chance of a small cluster", pairs, "terms of the proof, exact binomial")
