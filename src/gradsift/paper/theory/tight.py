"""The tight plan, ours and not the paper's: the same proof with nothing given away where it need not be.

Four changes beside the exact mean derivative (`exact`), each proved on docs/derivations/tight-plan.md:

1. Points are independent, so the number of bad estimates is binomial and Chernoff replaces Markov: n0 grows like
   d + log(1/(gamma rho)), not d log(k/(gamma rho delta)), and no constant is left open.
2. Estimates are linear in the responses, so Gaussian rows cost M^2, not M^4.
3. A subspace at angle theta turns a unit by at most theta: sharp theta*, and projected units only shrink by cos theta.
4. delta is split: a chance of failure for each event; and the promised radius is an angle, asin(far + error) (+ theta),
   whose parts are chosen so that the plan is smallest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from scipy.optimize import brentq, minimize_scalar

from .bounds import COLLAPSE_CONSTANT, VARIANCE_PROXY, mirror_samples
from .constants import (
    Problem,
    RunParameters,
    check_accuracy,
    gamma_closed,
    log_mean_derivative,
    parameters,
    xi0_over_delta,
)
from .inequality import Bound, log_add

# Where the counts are cut. 2 gamma rho m0 spurious ones: 1.8 by B_*, 0.2 by estimates that are off. gamma m0/2 left in
# a cluster: its region holds 0.6, and 0.1 are lost to estimates that are off. A single one is off with gamma rho/100.
_SHARED, _SPURIOUS_OFF, _REGION, _LOST, OFF_SHARE = 1.8, 0.2, 0.6, 0.1, 0.01


@dataclass(frozen=True)
class Split:
    """How the promised radius is spent.

    Attributes
    ----------
    far : float
        Most length of all far units together, over w0.
    error : float
        Most error of a good estimate, over w0.
    theta : float
        Angle of the subspace; 0 without projection.
    """

    far: float
    error: float
    theta: float

    @property
    def angle(self) -> float:
        """Most angle of a candidate of C_l to its unit: asin(far + error) + theta."""
        return math.asin(min(1.0, self.far + self.error)) + self.theta

    @property
    def radius(self) -> float:
        """The same as a distance of unit vectors."""
        return 2 * math.sin(min(self.angle, math.pi) / 2)


def _angle_of(radius: float) -> float:
    """Angle of unit vectors at this distance; a right angle where the radius does not restrict to less."""
    return 2 * math.asin(radius / 2) if radius < math.sqrt(2) else math.pi / 2


def split_of(radius: float, share: float, theta: float = 0.0) -> Split:
    """Spend `radius` on far units (`share` of what theta leaves) and on the error of the estimate (the rest)."""
    # A vector at least w0 long that is off its unit by `total` w0 is at most asin(total) away from it; a hair less, so
    # that rounding cannot bring the angle beyond what was promised.
    total = math.sin(_angle_of(radius) - theta) * (1 - 1e-12)
    return Split(share * total, (1 - share) * total, theta)


def tight_parameters(
    problem: Problem, rho: float, split: Split, *, kappa: float | None = None
) -> RunParameters:  # fmt: skip
    """Delta, w0, xi0 and gamma: k h(Delta) = far w0 and cos(theta) u0 h(Delta/2) = (1 + far + error) w0."""
    check_accuracy(0.5, rho)
    kappa = problem.kappa if kappa is None else kappa
    least = math.log(problem.u0 * math.cos(split.theta) * split.far / problem.k) - math.log1p(split.far + split.error)

    def excess(Delta: float) -> float:
        near, far = (log_mean_derivative(z, problem.beta) for z in (Delta / 2, Delta))
        return near - far + least

    # (1 + 2 delta) and delta in the paper's own Delta are no better than these parts when delta = far / 2.
    most = parameters(problem, min(0.5, split.far / 2), rho, length=math.cos(split.theta)).Delta
    Delta = float(brentq(excess, 0.0, most, xtol=1e-12))
    log_w0 = math.log(problem.k / split.far) + log_mean_derivative(Delta, problem.beta)
    xi0 = xi0_over_delta(problem.k, kappa, rho) * Delta
    return RunParameters(Delta, log_w0, xi0, gamma_closed(problem.k, kappa, rho), "tight")


def log_failure(k: int, gamma: float, rho: float, m0: float) -> float:
    """Log of the chance of bad counts when a single estimate is off with chance gamma rho/100.

    Chernoff, P(Bin(m, p) beyond m a) <= exp(-m (a log(a/p) - a + p)), for four events: B_* above 1.8 times its mean
    gamma rho m0; more than 0.2 gamma rho m0 estimates off; a region R'_l below 0.6 of its mean gamma m0; more than
    0.1 gamma m0 estimates off.
    """
    mean, off = gamma * m0, gamma * rho * OFF_SHARE * m0
    return log_add(
        _log_tail(_SHARED * rho * mean, rho * mean), _log_tail(_SPURIOUS_OFF * rho * mean, off),
        math.log(k) + _log_tail(_REGION * mean, mean), math.log(k) + _log_tail(_LOST * mean, off),
    )  # fmt: skip


def _log_tail(count: float, mean: float) -> float:
    """Log of the chance that a binomial of this mean is as far from it as `count`, on that side."""
    return -(count * math.log(count / mean) - count + mean)


def tight_points(k: int, gamma: float, rho: float, failure: float) -> Bound:
    """m0: points for which the four events together have chance `failure` at most."""
    log_m0 = brentq(
        lambda t: log_failure(k, gamma, rho, math.exp(t)) - math.log(failure),
        -math.log(gamma) - 5, -math.log(gamma * rho) + 15 + math.log(1 - math.log(failure)) + math.log(k),
    )  # fmt: skip
    return Bound(float(log_m0), "ours")


def tight_oracle_queries(problem: Problem, rho: float, params: RunParameters, split: Split) -> Bound:
    """n0: queries that leave a single estimate off with chance gamma rho/100.

    1.609 M^2 (sqrt(d) + sqrt(2 log(100/(gamma rho))))^2 / (error w0)^2, from q - 1 - log q >= (sqrt(q) - 1)^2.
    """
    # Solve exp(-(d/2) (q - 1 - log q)) = gamma rho/100 for q, by the lower bound (sqrt(q) - 1)^2 of the bracket.
    log_chance = -math.log(params.gamma * rho * OFF_SHARE)
    reach = math.sqrt(problem.d) + math.sqrt(2 * log_chance)
    log_value = (
        math.log(VARIANCE_PROXY) + 2 * math.log(problem.M) + 2 * math.log(reach)
        - 2 * (math.log(split.error) + params.log_w0)
    )  # fmt: skip
    return Bound(log_value, "ours", {}, ("|y| <= M",))


def tight_kernel_samples(
    problem: Problem, rho: float, params: RunParameters, split: Split, d: int, failure: float
) -> Bound:
    """n (or n2, with `d` = k): rows. The points share them, so Markov's inequality stays; M^2 by homogeneity."""
    reach = (1 + 2 / d) * params.xi0**2
    front = 2 * (math.log(problem.M) + math.log(d) - math.log(split.error) - params.log_w0)
    level = math.log(2 * (COLLAPSE_CONSTANT + 1) * 6 * problem.k) - math.log(params.gamma * rho * failure)
    return Bound(front + max((1 + 7 * reach) * level, 4 * d * (1 / 7 + reach)), "ours", {}, ("|y| <= M",))


@dataclass(frozen=True)
class TightSizes:
    """The split that makes a plan smallest, its parameters and its sizes (None where a scheme has no such number)."""

    split: Split
    parameters: RunParameters
    m0: Bound
    n0: Bound | None = None
    n1: Bound | None = None
    n2: Bound | None = None

    @property
    def log_n(self) -> float:
        """Log of everything asked for."""
        if self.n0 is not None:
            return self.m0.log_value + self.n0.log_value
        return log_add(*(b.log_value for b in (self.n1, self.n2) if b is not None))


@cache
def tight_sizes(
    problem: Problem, scheme: str, delta: float, rho: float, C1: float = 1.0, C2: float = 1.0
) -> TightSizes:
    """Return the smallest plan whose candidates keep the theorem's radius (6 delta, or 7 delta after projection)."""
    projected = scheme == "projected"
    radius = (7 if projected else 6) * delta
    # The paper spends delta of 7 on the subspace; sunthm's range and kappa cos^2 >= kappa/2 cap the angle.
    theta = min(math.asin(delta), math.pi / 4, problem.u0 * problem.kappa) if projected else 0.0
    theta = min(theta, _angle_of(radius) / 2)

    def sizes(share: float) -> TightSizes:
        split = split_of(radius, share, theta)
        kappa = problem.kappa * math.cos(theta) ** 2
        params = tight_parameters(problem, rho, split, kappa=kappa)
        if scheme == "oracle":
            m0 = tight_points(problem.k, params.gamma, rho, delta)
            return TightSizes(split, params, m0, n0=tight_oracle_queries(problem, rho, params, split))
        chances = 3 if projected else 2  # counts, estimates, subspace
        m0 = tight_points(problem.k, params.gamma, rho, delta / chances)
        d = problem.k if projected else problem.d
        n2 = tight_kernel_samples(problem, rho, params, split, d, delta / chances)
        n1 = mirror_samples(problem.d, theta, delta / chances, C1=C1, C2=C2) if projected else None
        return TightSizes(split, params, m0, n1=n1, n2=n2)

    # More for far units widens the slabs less, more for the error costs fewer queries: one number decides between them.
    best = minimize_scalar(
        lambda t: sizes(float(t)).log_n, bounds=(0.02, 0.9), method="bounded", options={"xatol": 1e-4}
    )
    return sizes(float(best.x))
