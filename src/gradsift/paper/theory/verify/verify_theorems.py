"""Constants, sample sizes and whole theorems: equations, failure chances added up, runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from scipy.stats import binom

from ....arguments import Floats
from ....geometry import normalize_rows, orthonormal_rows, subspace_angle
from ..bounds import (
    COLLAPSE_CONSTANT,
    THEOREM_CONSTANTS,
    VARIANCE_PROXY,
    candidate_points,
    estimates_off_gaussian,
    far_field,
    good_cluster,
    kernel_samples,
    log_information,
    mirror_failure,
    mirror_samples,
    needed_theta,
    oracle_queries,
    own_part,
    spurious,
    value_oracle_tail_tight,
)
from ..constants import (
    Problem,
    RunParameters,
    gamma_at,
    gamma_closed,
    kappa_prime,
    log_delta_argument,
    log_w0_closed,
    parameters,
    xi0_over_delta,
)
from ..gaussian_fields import mean_gradient, projected_mean_gradient
from ..inequality import Bound, Comparison, at_least, at_most, chance_of, equal, log_add, log_share_limit
from ..partition import CandidateRun, TheoremReport, check_theorem
from ..planning import units_at_equal_angles
from ..tight import OFF_SHARE, Split, log_failure, tight_sizes

_SHAPES = list(itertools.product((1, 2, 5, 50), (1.0, 0.3, 1e-3), (0.01, 0.5, 0.99)))  # k, kappa, rho


def _problem_grid() -> Iterator[tuple[Problem, float]]:
    for k, beta, u0, delta in itertools.product((1, 3, 20), (0.2, 1.0, 3.0, 30.0), (1.0, 0.1), (0.5, 0.25, 1e-3)):
        yield Problem(50, k, beta, 0.5, u0, M=k * u0), delta


def check_gamma(closed: Callable[[int, float, float], float] = gamma_closed) -> Comparison:
    """The closed form of gamma against its definition."""
    pairs = [
        (math.log(closed(k, kappa, rho)), math.log(gamma_at(k, kappa, 1 / xi0_over_delta(k, kappa, rho))))
        for k, kappa, rho in _SHAPES
    ]
    return equal("gamma", "closed form = definition", pairs, "algebra on a grid")


def check_xi0_equation() -> Comparison:
    """The equation that xi0 solves: 2 k^2 t^2 / (pi kappa) = rho gamma at t = Delta/xi0."""
    pairs = []
    for k, kappa, rho in _SHAPES:
        t = 1 / xi0_over_delta(k, kappa, rho)
        both = math.log(2 * k * k / (math.pi * kappa)) + 2 * math.log(t)
        pairs.append((both, math.log(rho * gamma_closed(k, kappa, rho))))
    return equal("rhoeq", "chance of two units = rho gamma", pairs, "algebra on a grid")


def check_w0() -> Comparison:
    """The two forms of w0."""
    pairs = [(log_w0_closed(p, delta), parameters(p, delta, 0.5).log_w0) for p, delta in _problem_grid()]
    return equal("w0", "first form = second form", pairs, "algebra on a grid")


def check_xi0() -> Comparison:
    """The two forms of xi0."""
    pairs = []
    for p, delta in _problem_grid():
        second = 2 / p.beta * math.sqrt(2 * math.e / math.pi) * p.k / p.kappa * (p.k / 0.5 + 1)
        second *= log_delta_argument(p, delta)
        pairs.append((math.log(second), math.log(parameters(p, delta, 0.5).xi0)))
    return equal("xi0", "first form = second form", pairs, "algebra on a grid")


def _delta_of(problem: Problem, delta: float) -> float:
    return log_delta_argument(problem, delta) / problem.beta


def check_delta(Delta: Callable[[Problem, float], float] = _delta_of) -> Comparison:
    """Within Delta/2 of one unit alone, even the worst good *estimate* must reach w0.

    Its own part, less the other units (delta w0), less the error of a good estimate (delta w0).
    """
    pairs = []
    for p, delta in _problem_grid():
        far = far_field(p, Delta(p, delta)).log_value
        log_w0 = far - math.log(delta)
        own = own_part(p, Delta(p, delta) / 2)[0].log_value
        left = math.exp(own - log_w0) - 2 * delta
        pairs.append((log_w0, log_w0 + (math.log(left) if left > 0 else -math.inf)))
    return at_least("Delta", "shortest good estimate in R'_l >= w0", pairs, "algebra on a grid")


def check_kappa_prime() -> Comparison:
    """At the angle of dimredtheorem kappa' is still half of kappa."""
    pairs = []
    for k, kappa, _ in _SHAPES:
        theta = 2 * math.asin(math.sqrt(3) * kappa / (8 * k))
        pairs.append((math.log(kappa / 2), math.log(kappa_prime(k, kappa, theta))))
    return at_least("kappaprime", "kappa' >= kappa/2 at theta*", pairs, "algebra on a grid")


Case = tuple[Problem, float, float]


def _cases() -> Iterator[Case]:
    shapes = itertools.product((3, 40), (1, 3), (0.3, 1.0, 2.0), (0.9, 0.2), (1.0, 4.0), (0.5, 0.05), (0.9, 0.1))
    for d, k, beta, kappa, M, delta, rho in shapes:
        yield Problem(d, k, beta, kappa, 0.3, M), delta, rho


def _failure(p: Problem, delta: float, rho: float, params: RunParameters, off: Callable[[float], Bound]) -> float:
    """Log of the chance that the theorem fails: C_0 too large, or one of k clusters too small."""
    gamma = params.gamma
    m0 = candidate_points(p, delta, rho, gamma, C=THEOREM_CONSTANTS["C"]).value
    bad = spurious(off(gamma * rho / 2), m0, gamma, rho, c5=1 / 16)
    small = good_cluster(off(gamma / 4), m0, gamma, c5=1 / 32)
    return log_add(bad.log_value, math.log(p.k) + small.log_value)


def check_oracle_failure() -> Comparison:
    """maintheorem under the value oracle, with proved constants throughout."""
    pairs = []
    for p, delta, rho in _cases():
        params = parameters(p, delta, rho)
        n0 = oracle_queries(p, delta, rho, params, C1=THEOREM_CONSTANTS["C'"]).value
        single = value_oracle_tail_tight(n0, delta * params.w0, p.d, p.M)

        def off(share: float, single: Bound = single) -> Bound:
            return chance_of(single.log_value - math.log(share), "GCboundvo")

        pairs.append((math.log(delta), _failure(p, delta, rho, params, off)))
    return at_most("maintheorem", "chance of failure, value oracle, explicit constants", pairs, "lemmas added up")


def check_gaussian_failure(inside: bool = True) -> Comparison:
    """maintheorem under Gaussian covariates; `inside` puts C'' inside the power, as the derivation does."""
    pairs = []
    for p, delta, rho in _cases():
        params = parameters(p, delta, rho)
        n = kernel_samples(p, delta, rho, params, C2=THEOREM_CONSTANTS["C''"] if inside else 1.0)
        if not inside:
            n = Bound(n.log_value + math.log(THEOREM_CONSTANTS["C''"]), n.label)
        log_x = log_information(n, delta, params.log_w0, p.d, p.M)

        def off(share: float, log_x: float = log_x, d: int = p.d, xi0: float = params.xi0) -> Bound:
            # A hair above the threshold: the theorem asks for strictly more.
            return estimates_off_gaussian(share, log_x * (1 + 1e-12), d, xi0, C=COLLAPSE_CONSTANT + 1)

        pairs.append((math.log(delta), _failure(p, delta, rho, params, off)))
    return at_most("maintheorem", "chance of failure, Gaussian covariates", pairs, "lemmas added up")


def check_projected_failure() -> Comparison:
    """dimredtheorem: subspace (half of delta) and clusters (the other half), with kappa' at its angle."""
    pairs = []
    for p, delta, rho in _cases():
        theta = needed_theta(p, delta)
        params = parameters(p, delta, rho, kappa=kappa_prime(p.k, p.kappa, theta))
        n1 = mirror_samples(p.d, theta, delta / 4).value
        n2 = kernel_samples(p, delta, rho, params, d=p.k, C2=THEOREM_CONSTANTS["C''"])
        log_x = log_information(n2, delta, params.log_w0, p.k, p.M)

        def off(share: float, log_x: float = log_x, k: int = p.k, xi0: float = params.xi0) -> Bound:
            return estimates_off_gaussian(share, log_x * (1 + 1e-12), k, xi0, C=COLLAPSE_CONSTANT + 1)

        clusters = _failure(p, delta, rho, params, off)
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


_DELTA, _RHO, _N_RUNS = 0.25, 0.5, 100


def _random_problem(
    problem: Problem, projected: bool, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats | None, float]:
    """Units with exactly the problem's kappa, weights of either sign (positive, adding up to one, when projected)."""
    k, d = problem.k, problem.d
    frame = orthonormal_rows(d, d, rng)
    units = units_at_equal_angles(k, problem.kappa) @ frame[:k]
    if not projected:
        return units, rng.uniform(problem.u0, 1, k) * rng.choice([-1.0, 1.0], k), None, problem.kappa
    theta = needed_theta(problem, _DELTA)
    basis = math.cos(theta) * frame[:k] + math.sin(theta) * frame[k : 2 * k]  # every principal angle is theta
    return units, np.full(k, 1 / k), basis, kappa_prime(k, problem.kappa, theta)


@cache
def runs(k: int, projected: bool = False) -> tuple[TheoremReport, ...]:
    """A hundred runs at the theorem's parameters.

    In every other run the estimates are the exact mean gradients; in the rest each is off by ``delta w0``, the most
    that G allows.
    """
    problem = Problem(d=2 * k, k=k, beta=1.0, kappa=0.9, u0=1 / k if projected else 0.3)
    rng, reports = np.random.default_rng(50 + k), []
    for i in range(_N_RUNS):
        units, weights, basis, kappa = _random_problem(problem, projected, rng)
        params: RunParameters = parameters(problem, _DELTA, _RHO, kappa=kappa)
        m0 = math.ceil(candidate_points(problem, _DELTA, _RHO, params.gamma).value)
        points = params.xi0 * rng.standard_normal((m0, problem.d))
        errors = _DELTA * params.w0 * (1 - 1e-9) * normalize_rows(rng.standard_normal((m0, problem.d)))
        errors *= i % 2
        if basis is None:
            means = mean_gradient(units, weights, 1.0, points)
        else:
            means = projected_mean_gradient(units, weights, 1.0, points, basis)
            errors = normalize_rows(errors @ basis.T @ basis) * np.linalg.norm(errors, axis=1, keepdims=True)
        run = CandidateRun(units, weights, 1.0, points, means + errors, params, _DELTA, _RHO, basis=basis)
        reports.append(check_theorem(run))
    return tuple(reports)


def check_theorem_runs(k: int, projected: bool = False) -> Comparison:
    """Share of runs in which a cluster is too small or C_0 too large; the theorem allows delta."""
    reports = runs(k, projected)
    failures = sum(not report.holds for report in reports)
    pairs = [(math.log(_DELTA), log_share_limit(failures, len(reports)))]
    how = f"{failures} of {len(reports)} runs at its parameters, +4 s.e."
    return at_most(reports[0].label, f"runs that break a promise, k = {k}", pairs, how)


def _radius_pairs(k: int, projected: bool) -> list[tuple[float, float]]:
    pairs = []
    for report in runs(k, projected):
        pairs += [(math.log(c.claimed), math.log(c.measured)) for c in report.claims if "distance" in c.what]
    return pairs


def check_theorem_radius(k: int) -> Comparison:
    """Farthest candidate of any C_l over all runs, against 6 delta."""
    return at_most("maintheorem", f"distance from the unit, k = {k}", _radius_pairs(k, False), f"{_N_RUNS} runs")


def check_projected_radius(k: int) -> Comparison:
    """Farthest candidate after projection: 7 delta about the unit."""
    return at_most(
        "dimredtheorem", f"distance after projection, k = {k}", _radius_pairs(k, True), f"{_N_RUNS} runs"
    )  # fmt: skip


def mirror_subspace(X: Floats, y: Floats, k: int) -> Floats:
    """SpectralMirror, written again from its description: independent of the library's own."""
    half = len(y) // 2
    mean, S = X[:half].mean(axis=0), np.cov(X[:half].T, bias=True)
    values, vectors = np.linalg.eigh(S)
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    # First half: the mean direction r. Second half: the second moment of rows mirrored at its hyperplane.
    r = np.linalg.solve(S, (y[:half, None] * (X[:half] - mean)).mean(axis=0))
    Z = (X[half:] - mean) @ root
    Q = (Z * (y[half:] * np.sign(X[half:] @ r))[:, None]).T @ Z / (len(y) - half)
    values, vectors = np.linalg.eigh(Q)
    far = np.argsort(-np.abs(values - np.median(values)))[:k]
    return np.asarray((root @ vectors[:, far]).T)


def check_mirror_scale() -> Comparison:
    """The angle falls like sqrt(d/n): n theta^2/d must not grow (by more than half) from n to 8 n."""
    d, k, n = 8, 2, 20_000
    units, weights = np.eye(d)[:k], np.full(k, 1 / k)
    rng, scaled = np.random.default_rng(60), []
    for size in (n, 8 * n):
        values = []
        for _ in range(15):
            X = rng.standard_normal((size, d))
            r = np.tanh(2 * X @ units.T) @ weights
            y = np.where(rng.random(size) < 0.5 * (1 + r), 1.0, -1.0)
            values.append(size * subspace_angle(mirror_subspace(X, y, k), units) ** 2 / d)
        scaled.append(float(np.median(values)))
    pair = (math.log(1.5 * scaled[0]), math.log(scaled[1]))
    return at_most("sunthm", "n theta^2/d at 8 n against 1.5 times that at n", [pair], "15 runs each, medians")


def _mixture_rows(n: int, units: Floats, beta: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Gaussian rows and labels of a mixture with equal weights."""
    X = rng.standard_normal((n, units.shape[1]))
    r = np.tanh(beta * X @ units.T).mean(axis=1)
    return X, np.where(rng.random(n) < 0.5 * (1 + r), 1.0, -1.0)


def slope_factor(beta: float) -> float:
    """How the constant in the exponent of sunthm depends on the slope: beta^6 as it falls, for two units or more.

    To first order in beta the labels know the mean unit only; the others enter with beta^3, and accuracy is squared.
    """
    return min(1.0, (beta / 2) ** 6)


def check_mirror_slope(factor: Callable[[float], float] = slope_factor) -> Comparison:
    """Share of subspaces further than theta = u0 kappa, n theta^2/d = 250, for a steep and for a flat sigmoid.

    C1 = 1 and C2 = 0.01 are small enough for beta = 2.
    """
    d, n, theta, pairs = 4, 4_000, 0.5, []
    units, rng = np.eye(d)[:2], np.random.default_rng(61)
    for beta in (2.0, 0.05):
        angles = [subspace_angle(mirror_subspace(*_mixture_rows(n, units, beta, rng), 2), units) for _ in range(40)]
        share = max(sum(a > theta for a in angles), 0.5) / len(angles)
        bound = mirror_failure(n, d, theta, C1=1.0, C2=0.01 * factor(beta))
        pairs.append((bound.log_value, math.log(share)))
    return at_most("sunthm", "share of bad subspaces, steep and flat", pairs, "40 runs each")


def check_projected_rows() -> Comparison:
    """dimredtheorem with the subspace that SpectralMirror finds from rows: promises broken, five runs.

    n1 rows bring the subspace within theta* (else the run counts as broken). No n2 rows that can be stored bring the
    gradients within delta w0, so population gradients, off by as much as the proof allows, stand in for those.
    """
    problem, delta, pairs = Problem(d=4, k=2, beta=3.0, kappa=1.0, u0=0.5), 0.5, []
    rng, units = np.random.default_rng(62), np.eye(4)[:2]
    theta = needed_theta(problem, delta)
    params = parameters(problem, delta, _RHO, kappa=problem.kappa / 2, length=math.cos(theta))
    m0 = math.ceil(candidate_points(problem, delta, _RHO, params.gamma).value)
    for _ in range(5):
        found = mirror_subspace(*_mixture_rows(300_000, units, problem.beta, rng), 2)
        basis = np.linalg.qr(found.T)[0].T
        points = params.xi0 * rng.standard_normal((m0, problem.d))
        means = projected_mean_gradient(units, np.full(2, 0.5), problem.beta, points, basis)
        errors = normalize_rows(rng.standard_normal(points.shape) @ basis.T @ basis)
        estimates = means + 0.99 * delta * params.w0 * errors  # w0 is 1e-13 here: leave room for rounding
        run = CandidateRun(
            units, np.full(2, 0.5), problem.beta, points, estimates, params, delta, _RHO, basis=basis
        )  # fmt: skip
        report = check_theorem(run)
        near = subspace_angle(basis, units) <= theta
        broken = sum(not c.holds for c in report.claims) + (not near)
        pairs.append((math.log(0.5), math.log(max(broken, 1e-3))))
    return at_most("dimredtheorem", "promises broken, subspace from rows", pairs, "5 runs of 300,000 labels")


def _tight_grid() -> list[tuple[Problem, float, float]]:
    shapes = itertools.product((3, 40), (1, 3), (0.5, 2.0), ((0.3, 0.9), (0.05, 0.1)))
    return [(Problem(d, k, beta, 0.5, 0.3), delta, rho) for d, k, beta, (delta, rho) in shapes]


def check_tight_failure() -> Comparison:
    """Chance of failure of the tight oracle plan: its own counts and a single estimate's explicit tail."""
    pairs = []
    for p, delta, rho in _tight_grid():
        sizes = tight_sizes(p, "oracle", delta, rho)
        assert sizes.n0 is not None
        params, edge = sizes.parameters, sizes.split.error * sizes.parameters.w0
        single = value_oracle_tail_tight(sizes.n0.value, edge, p.d, p.M).log_value
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


def check_oracle_queries() -> Comparison:
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
        split = Split(far, error, 0.0)
        angles = np.linspace(0, np.pi, 20_001)
        around = np.stack([np.cos(angles), np.sin(angles)], axis=1) * (far + error)
        for own in np.linspace(0.05, 3, 60):
            estimates = np.array([own, 0.0]) + around
            kept = estimates[np.linalg.norm(estimates, axis=1) >= 1]
            if len(kept):
                farthest = float(np.linalg.norm(normalize_rows(kept) - np.array([1.0, 0.0]), axis=1).max())
                pairs.append((math.log(split.radius), math.log(max(farthest, 1e-12))))
    return at_most("clusterlemma", "radius as an angle (ours)", pairs, "search over the edge", 1e-6)


def check_subspace_of_signs() -> Comparison:
    """Signed weights: SpectralMirror's angle falls like sqrt(d/n) as it does for mixtures; medians of 9 runs."""
    d, n, rng, scaled = 6, 20_000, np.random.default_rng(81), []
    units, weights = np.eye(d)[:2], np.array([0.5, -0.5])
    for size in (n, 8 * n):
        values = []
        for _ in range(9):
            X = rng.standard_normal((size, d))
            r = np.tanh(2 * X @ units.T) @ weights
            y = np.where(rng.random(size) < 0.5 * (1 + r), 1.0, -1.0)
            values.append(size * subspace_angle(mirror_subspace(X, y, 2), units) ** 2 / d)
        scaled.append(float(np.median(values)))
    pairs = [(math.log(1.5 * scaled[0]), math.log(scaled[1]))]
    return at_most("dimredtheorem", "signed weights (ours): n theta^2/d at 8 n over 1.5 n", pairs, "9 runs each")
