"""Do the sample sizes of the theorems make the lemmas' failure chances add up to less than delta?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

from ..bounds import (
    COLLAPSE_CONSTANT,
    THEOREM_CONSTANTS,
    candidate_points,
    estimates_off_gaussian,
    good_cluster,
    kernel_samples,
    log_signal,
    mirror_failure,
    mirror_samples,
    oracle_queries,
    spurious,
    theta_star,
    value_oracle_tail_explicit,
)
from ..constants import Problem, RunParameters, kappa_prime, parameters
from ..log_space import Bound, log_add, probability
from .comparison import Comparison, at_most, equal

Case = tuple[Problem, float, float]


def _cases() -> Iterator[Case]:
    shapes = itertools.product((3, 40), (1, 3), (0.3, 1.0, 2.0), (0.9, 0.2), (1.0, 4.0), (0.5, 0.05), (0.9, 0.1))
    for d, k, beta, kappa, M, delta, rho in shapes:
        yield Problem(d, k, beta, kappa, 0.3, M), delta, rho


def _union(p: Problem, delta: float, rho: float, params: RunParameters, off: Callable[[float], Bound]) -> float:
    """Log of the chance that the theorem fails: C_0 too large, or one of k clusters too small."""
    gamma = params.gamma
    m0 = candidate_points(p, delta, rho, gamma, C=THEOREM_CONSTANTS["C"]).value
    bad = spurious(off(gamma * rho / 2), m0, gamma, rho, c5=1 / 16)
    small = good_cluster(off(gamma / 4), m0, gamma, c5=1 / 32)
    return log_add(bad.log_value, math.log(p.k) + small.log_value)


def check_oracle_union() -> Comparison:
    """maintheorem under the value oracle, with proved constants throughout."""
    pairs = []
    for p, delta, rho in _cases():
        params = parameters(p, delta, rho)
        n0 = oracle_queries(p, delta, rho, params, C1=THEOREM_CONSTANTS["C'"]).value
        single = value_oracle_tail_explicit(n0, delta * params.w0, p.d, p.M)

        def off(share: float, single: Bound = single) -> Bound:
            return probability(single.log_value - math.log(share), "GCboundvo")

        pairs.append((math.log(delta), _union(p, delta, rho, params, off)))
    return at_most("maintheorem", "chance of failure, value oracle, explicit constants", pairs, "lemmas added up")


def check_gaussian_union(inside: bool = True) -> Comparison:
    """maintheorem under Gaussian covariates; `inside` puts C'' inside the power, as the derivation does."""
    pairs = []
    for p, delta, rho in _cases():
        params = parameters(p, delta, rho)
        n = kernel_samples(p, delta, rho, params, C2=THEOREM_CONSTANTS["C''"] if inside else 1.0)
        if not inside:
            n = Bound(n.log_value + math.log(THEOREM_CONSTANTS["C''"]), n.label)
        log_x = log_signal(n, delta, params.log_w0, p.d, p.M)

        def off(share: float, log_x: float = log_x, d: int = p.d, xi0: float = params.xi0) -> Bound:
            # A hair above the threshold: the theorem asks for strictly more.
            return estimates_off_gaussian(share, log_x * (1 + 1e-12), d, xi0, C=COLLAPSE_CONSTANT + 1)

        pairs.append((math.log(delta), _union(p, delta, rho, params, off)))
    return at_most("maintheorem", "chance of failure, Gaussian covariates", pairs, "lemmas added up")


def check_projected_union() -> Comparison:
    """dimredtheorem: subspace (half of delta) and clusters (the other half), with kappa' at its angle."""
    pairs = []
    for p, delta, rho in _cases():
        theta = theta_star(p, delta)
        params = parameters(p, delta, rho, kappa=kappa_prime(p.k, p.kappa, theta))
        n1 = mirror_samples(p.d, theta, delta / 4).value
        n2 = kernel_samples(p, delta, rho, params, d=p.k, C2=THEOREM_CONSTANTS["C''"])
        log_x = log_signal(n2, delta, params.log_w0, p.k, p.M)

        def off(share: float, log_x: float = log_x, k: int = p.k, xi0: float = params.xi0) -> Bound:
            return estimates_off_gaussian(share, log_x * (1 + 1e-12), k, xi0, C=COLLAPSE_CONSTANT + 1)

        clusters = _union(p, delta, rho, params, off)
        pairs.append((math.log(delta), log_add(clusters, mirror_failure(n1, p.d, theta).log_value)))
    return at_most("dimredtheorem", "chance of failure, projected covariates", pairs, "lemmas added up")


Samples = Callable[[int, float, float], Bound]


def check_mirror(samples: Samples = mirror_samples) -> Comparison:
    """n1 samples must bring sunthm's failure chance to the level asked for, at any angle."""
    pairs = []
    for d, theta, failure in itertools.product((3, 100), (0.3, 0.01, 1e-4), (0.5, 0.01)):
        chance = mirror_failure(samples(d, theta, failure).value, d, theta)
        pairs.append((math.log(failure), chance.log_value))
    return at_most("dimredtheorem", "chance of a bad subspace from n1 rows", pairs, "sunthm with C1 = C2 = 1")


def check_mirror_level() -> Comparison:
    """sunthm says nothing before n theta^2/d reaches log C1 / C2, and falls by e with every 1/C2 more."""
    pairs = []
    for d, theta, C1, C2 in itertools.product((3, 100), (0.3, 0.01), (1.0, 20.0), (1.0, 0.01)):
        n = d / (C2 * theta**2)
        start = n * math.log(C1)
        pairs += [(-e, mirror_failure(start + e * n, d, theta, C1=C1, C2=C2).log_value) for e in (0.0, 1.0, 5.0)]
    return equal("sunthm", "exponent in n theta^2/d", pairs, "algebra on a grid")
