"""Both theorems watched on runs at their own parameters (C = 1 in m0), with exact mean gradients or nearly so."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from ....arguments import Floats
from ....geometry import largest_principal_angle, normalize_rows, orthonormal_rows
from ..bounds import candidate_points, mirror_failure, theta_star
from ..constants import Problem, RunParameters, kappa_prime, parameters
from ..gaussian_fields import mean_gradient, projected_mean_gradient
from ..information import reference_units
from ..partition import CandidateRun, TheoremReport, check_theorem
from .comparison import Comparison, at_most, log_frequency_ceiling

_DELTA, _RHO, _N_RUNS = 0.25, 0.5, 100


def _truth(problem: Problem, projected: bool, rng: np.random.Generator) -> tuple[Floats, Floats, Floats | None, float]:
    """Units with exactly the problem's kappa, weights of either sign (positive, adding up to one, when projected)."""
    k, d = problem.k, problem.d
    frame = orthonormal_rows(d, d, rng)
    units = reference_units(k, problem.kappa) @ frame[:k]
    if not projected:
        return units, rng.uniform(problem.u0, 1, k) * rng.choice([-1.0, 1.0], k), None, problem.kappa
    theta = theta_star(problem, _DELTA)
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
        units, weights, basis, kappa = _truth(problem, projected, rng)
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


def check_theorem_failures(k: int, projected: bool = False) -> Comparison:
    """Share of runs in which a cluster is too small or C_0 too large; the theorem allows delta."""
    reports = runs(k, projected)
    failures = sum(not report.holds for report in reports)
    pairs = [(math.log(_DELTA), log_frequency_ceiling(failures, len(reports)))]
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
    r = np.linalg.solve(S, (y[:half, None] * (X[:half] - mean)).mean(axis=0))
    Z = (X[half:] - mean) @ root
    Q = (Z * (y[half:] * np.sign(X[half:] @ r))[:, None]).T @ Z / (len(y) - half)
    values, vectors = np.linalg.eigh(Q)
    far = np.argsort(-np.abs(values - np.median(values)))[:k]
    return np.asarray((root @ vectors[:, far]).T)


def check_mirror_rate() -> Comparison:
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
            values.append(size * largest_principal_angle(mirror_subspace(X, y, k), units) ** 2 / d)
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
        angles = [
            largest_principal_angle(mirror_subspace(*_mixture_rows(n, units, beta, rng), 2), units) for _ in range(40)
        ]
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
    theta = theta_star(problem, delta)
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
        near = largest_principal_angle(basis, units) <= theta
        broken = sum(not c.holds for c in report.claims) + (not near)
        pairs.append((math.log(0.5), math.log(max(broken, 1e-3))))
    return at_most("dimredtheorem", "promises broken, subspace from rows", pairs, "5 runs of 300,000 labels")
