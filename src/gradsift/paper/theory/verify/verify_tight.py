"""The tight plan: does its union bound close, and do its rates match simulations?"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.stats import binom

from ....geometry import largest_principal_angle, normalize_rows
from ..bounds import VARIANCE_PROXY, value_oracle_tail_explicit
from ..constants import Problem
from ..log_space import log_add
from ..tight import OFF_SHARE, Split, log_failure, tight_sizes
from .comparison import Comparison, at_most
from .verify_runs import mirror_subspace


def _plans() -> list[tuple[Problem, float, float]]:
    shapes = itertools.product((3, 40), (1, 3), (0.5, 2.0), ((0.3, 0.9), (0.05, 0.1)))
    return [(Problem(d, k, beta, 0.5, 0.3), delta, rho) for d, k, beta, (delta, rho) in shapes]


def check_tight_union() -> Comparison:
    """Chance of failure of the tight oracle plan: its own counts and a single estimate's explicit tail."""
    pairs = []
    for p, delta, rho in _plans():
        sizes = tight_sizes(p, "oracle", delta, rho)
        assert sizes.n0 is not None
        params, edge = sizes.parameters, sizes.split.error * sizes.parameters.w0
        single = value_oracle_tail_explicit(sizes.n0.value, edge, p.d, p.M).log_value
        pairs.append((math.log(params.gamma * rho * OFF_SHARE), single))
        pairs.append((math.log(delta), log_failure(p.k, params.gamma, rho, sizes.m0.value)))
    return at_most("maintheorem", "tight plan (ours): a single estimate off, and failure", pairs, "explicit tails")


def check_tight_counts() -> Comparison:
    """The four Chernoff bounds against exact binomials."""
    pairs = []
    for k, gamma, rho, m0 in itertools.product((1, 3), (0.002, 0.02), (0.2, 0.9), (1e4, 1e5, 1e6)):
        m, off = int(m0), gamma * rho * OFF_SHARE
        exact = [
            float(binom.logsf(math.ceil(1.8 * m * gamma * rho) - 1, m, gamma * rho)),
            float(binom.logsf(math.ceil(0.2 * m * gamma * rho) - 1, m, off)),
            math.log(k) + float(binom.logcdf(math.floor(0.6 * m * gamma), m, gamma)),
            math.log(k) + float(binom.logsf(math.ceil(0.1 * m * gamma) - 1, m, off)),
        ]
        pairs.append((log_failure(k, gamma, rho, m0), log_add(*exact)))
    return at_most("maintheorem", "tight plan (ours): chance of bad counts", pairs, "exact binomials")


def check_query_rate() -> Comparison:
    """Errors of voestimate: n0 |error|^2 at chance p lies below 1.609 (sqrt(d) + sqrt(2 log 1/p))^2, within a factor 7.

    The worst responses are +-1 whatever the input; 4,000 estimates of 200 queries, d from 1 to 32. The factor
    falls with d and with log 1/p: the rate is d + log.
    """
    pairs, rng, n0, runs = [], np.random.default_rng(80), 200, 4_000
    for d in (1, 4, 32):
        errors = np.empty(runs)
        for i in range(0, runs, 500):
            y = rng.choice([-1.0, 1.0], (500, n0))
            errors[i : i + 500] = np.linalg.norm(np.einsum("rn,rnd->rd", y, rng.standard_normal((500, n0, d))), axis=1)
        for p in (0.1, 0.01):
            measured = 2 * math.log(float(np.quantile(errors, 1 - p))) - math.log(n0)
            claimed = math.log(VARIANCE_PROXY) + 2 * math.log(math.sqrt(d) + math.sqrt(-2 * math.log(p)))
            pairs += [(claimed, measured), (math.log(7) + measured, claimed)]
    return at_most("voebound", "squared error at chance p: d + log 1/p (ours)", pairs, "4,000 estimates, both sides")


def check_split_radius() -> Comparison:
    """Farthest direction of an estimate that is far + error off its own part and at least w0 long: asin, attained."""
    pairs = []
    for far, error in ((0.01, 0.02), (0.1, 0.2), (0.3, 0.6)):
        split = Split(far, error)
        angles = np.linspace(0, np.pi, 20_001)
        around = np.stack([np.cos(angles), np.sin(angles)], axis=1) * (far + error)
        for own in np.linspace(0.05, 3, 60):
            estimates = np.array([own, 0.0]) + around
            kept = estimates[np.linalg.norm(estimates, axis=1) >= 1]
            if len(kept):
                farthest = float(np.linalg.norm(normalize_rows(kept) - np.array([1.0, 0.0]), axis=1).max())
                pairs.append((math.log(split.radius), math.log(max(farthest, 1e-12))))
    return at_most("clusterlemma", "radius as an angle (ours)", pairs, "search over the edge", 1e-6)


def check_signed_subspace() -> Comparison:
    """Signed weights: SpectralMirror's angle falls like sqrt(d/n) as it does for mixtures; medians of 9 runs."""
    d, n, rng, scaled = 6, 20_000, np.random.default_rng(81), []
    units, weights = np.eye(d)[:2], np.array([0.5, -0.5])
    for size in (n, 8 * n):
        values = []
        for _ in range(9):
            X = rng.standard_normal((size, d))
            r = np.tanh(2 * X @ units.T) @ weights
            y = np.where(rng.random(size) < 0.5 * (1 + r), 1.0, -1.0)
            values.append(size * largest_principal_angle(mirror_subspace(X, y, 2), units) ** 2 / d)
        scaled.append(float(np.median(values)))
    pairs = [(math.log(1.5 * scaled[0]), math.log(scaled[1]))]
    return at_most("dimredtheorem", "signed weights (ours): n theta^2/d at 8 n over 1.5 n", pairs, "9 runs each")
