"""Gaussian identities, each side computed on its own, and tail bounds against what a simulation shows.

Monte Carlo adds its own error to the measured side."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.integrate import quad
from scipy.special import roots_hermitenorm

from ....arguments import Floats
from ..bounds import (
    COLLAPSE_CONSTANT,
    ORACLE_CONSTANTS,
    gaussian_tail,
    gaussian_tail_final,
    gaussian_tail_homogeneous,
    kernel_moments,
    log_product_tolerance,
    log_ratio_tolerance,
    moment_tails,
    product_tail,
    projected_tail,
    ratio_tolerance,
    value_oracle_tail,
    value_oracle_tail_tight,
)
from ..gaussian_fields import (
    centered_mean,
    coefficients,
    gaussian_mean,
    kernel_covariance,
    kernel_mean,
    mean_gradient,
    projected_mean_gradient,
    stein_covariance,
)
from ..inequality import Bound, Comparison, at_most, equal, log_add, log_share_limit


def _log(x: float) -> float:
    return math.log(abs(x)) if x else -math.inf


def _mean(g: Callable[[float], float], center: float = 0.0) -> float:
    """Adaptive quadrature of g against the standard Gaussian density, split at `center`."""

    def weighted(x: float) -> float:
        return g(x) * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    ends = (center - 14, center, center + 14)
    return sum(quad(weighted, a, b, epsabs=0, epsrel=1e-12, limit=200)[0] for a, b in itertools.pairwise(ends))


def check_stein() -> Comparison:
    """Cov(X, h(X')) = Cov(X, X') E grad h(X') for jointly Gaussian X, X' of dimensions 3 and 2."""
    rng = np.random.default_rng(11)
    pairs = []
    for beta in (0.3, 1.0, 2.5):
        root = rng.standard_normal((5, 5))
        S = root @ root.T
        mean, unit = rng.standard_normal(2), rng.standard_normal(2)
        m, std = float(unit @ mean), float(np.sqrt(unit @ S[3:, 3:] @ unit))
        # X - E X given <unit, X'> is linear in it: one integral is left.
        one = _mean(lambda z, b=beta, m=m, s=std: z * math.tanh(b * (m + s * z)), -m / std)  # type: ignore[misc]
        left = S[:3, 3:] @ unit / std * one
        right = stein_covariance(S[:3, 3:], unit, beta, m, std)
        pairs += [(_log(a), _log(b)) for a, b in zip(right, left)]
    return equal("stein", "Cov(X, h) = Cov(X, X') E grad h", pairs, "adaptive quadrature")


def check_centered_mean() -> Comparison:
    """Centring one factor of a covariance is enough, and Stein turns it into the mean derivative."""
    pairs = [
        (_log(centered_mean(beta, m)), _log(float(coefficients(np.array([m]), beta)[0])))
        for beta in (0.3, 1.0)
        for m in (0.0, 0.7, -2.0)
    ]
    return equal("dropmean", "E (X - xi) r = E grad r", pairs, "two quadrature rules")


def check_kernel_mean() -> Comparison:
    """E e^{xi X} g(X) = e^{xi^2/2} E g(xi + X)."""
    pairs = [
        (_log(float(kernel_mean(lambda x: x * np.tanh(x), xi))),
         _log(_mean(lambda x, t=xi: math.exp(t * x) * x * math.tanh(x), xi)))  # type: ignore[misc]
        for xi in (0.0, 0.5, 2.0, -4.0)
    ]  # fmt: skip
    return equal("expectation", "mean under the exponential kernel", pairs, "adaptive quadrature")


def check_kernel_covariance() -> Comparison:
    """Var e^{xi X} g(X) from means about 2 xi and xi."""
    pairs = []
    for xi in (0.0, 0.5, 1.5):
        second = _mean(lambda x, t=xi: (math.exp(t * x) * math.tanh(x)) ** 2, 2 * xi)  # type: ignore[misc]
        first = _mean(lambda x, t=xi: math.exp(t * x) * math.tanh(x), xi)  # type: ignore[misc]
        pairs.append((_log(float(kernel_covariance(np.tanh, xi))), _log(second - first**2)))
    return equal("covariance", "variance under the exponential kernel", pairs, "adaptive quadrature")


def _plane_means(xi: Floats, r: Callable[[Floats], Floats]) -> tuple[float, Floats, float, Floats]:
    """Means of e^{<xi,X>} times 1, X, r(X), X r(X), for standard X in the plane, straight from the definition."""
    nodes, weights = roots_hermitenorm(100)
    X = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    w = np.outer(weights, weights).ravel() / (2 * np.pi) * np.exp(X @ xi)
    y = r(X)
    return float(w.sum()), w @ X, float(w @ y), (w * y) @ X


def check_kernel_moments(label: str = "expectations") -> Comparison:
    """Means of the four kernel sums (z and u under zexpuexp, s and v under sexpvexp)."""
    units, weights = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([0.5, -0.9])

    def r(X: Floats) -> Floats:
        return np.asarray(np.tanh(X @ units.T) @ weights)

    pairs, n = [], 7.0
    for xi in (np.array([0.5, 0.2]), np.array([-1.0, 1.5])):
        z, u, s, v = _plane_means(xi, r)
        about = np.exp(-float(xi @ xi) / 2)  # E_xi is the tilted mean over e^{|xi|^2/2}; checked by `expectation`
        claimed = kernel_moments(n, float(np.linalg.norm(xi)), s * about, float(np.linalg.norm(v)) * about)
        first = [(claimed.z, math.log(n * z)), (claimed.u, math.log(n * float(np.linalg.norm(u))))]
        second = [(claimed.s, math.log(n * abs(s))), (claimed.v, math.log(n * float(np.linalg.norm(v))))]
        pairs += {"zexpuexp": first, "sexpvexp": second}.get(label, first + second)
    return equal(label, "means of the kernel sums", pairs, "tensor Gauss-Hermite in the plane")


def check_projected_mean_gradient() -> Comparison:
    """The projected mean gradient is the projection of the mean gradient at the projected point."""
    rng = np.random.default_rng(12)
    units = np.linalg.qr(rng.standard_normal((5, 2)))[0].T
    basis = np.linalg.qr((units + 0.1 * rng.standard_normal((2, 5))).T)[0].T
    weights, points = np.array([0.6, 0.4]), rng.standard_normal((4, 5))
    direct = projected_mean_gradient(units, weights, 1.0, points, basis)
    other = mean_gradient(units, weights, 1.0, points @ basis.T @ basis) @ basis.T @ basis
    pairs = [(_log(a), _log(b)) for a, b in zip(direct.ravel(), other.ravel())]
    return equal("populationdim", "two forms of the projected mean gradient", pairs, "projection after the mean")


def check_model() -> Comparison:
    """The regression function of equal labels: share of +1 among a million labels at one input, within 4 s.e."""
    x, units, weights = np.array([0.7, -0.2]), np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([0.5, 0.5])
    r = float(np.tanh(2.0 * units @ x) @ weights)
    classifier = np.random.default_rng(13).random(1_000_000) < weights[0]  # a mixture: one unit answers at a time
    chance = 0.5 * (1 + np.tanh(2.0 * units @ x))
    labels = np.random.default_rng(14).random(1_000_000) < np.where(classifier, chance[0], chance[1])
    return equal("eq:Model", "mean label of a mixture of classifiers", [(_log(r), _log(2 * labels.mean() - 1))],
                 "a million labels", 4 * math.sqrt(1 - r * r) / 1000 / abs(r))  # fmt: skip


def check_gradient() -> Comparison:
    """The gradient as a combination of units, against central differences."""
    units, weights, beta = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([0.5, -0.9]), 1.7
    pairs, step = [], 1e-5
    for x in np.random.default_rng(15).standard_normal((5, 2)):
        slopes = weights * beta / np.cosh(beta * units @ x) ** 2
        for axis in np.eye(2):
            ends = (np.tanh(beta * units @ (x + sign * step * axis)) @ weights for sign in (1, -1))
            pairs.append((_log(float(slopes @ units @ axis)), _log((next(ends) - next(ends)) / (2 * step))))
    return equal("gradient", "combination of the units", pairs, "central differences", 1e-6)


def check_oracle_mean() -> Comparison:
    """``E (x - xi) y`` under voestimate, by a tensor rule, against the mean gradient: no bias at any n0."""
    units, weights = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([0.5, -0.9])
    nodes, rule = roots_hermitenorm(100)
    steps = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    w, pairs = np.outer(rule, rule).ravel() / (2 * np.pi), []
    for xi in (np.array([0.4, 0.1]), np.array([-1.0, 1.5])):
        direct = (w * (np.tanh((xi + steps) @ units.T) @ weights)) @ steps
        pairs += list(zip(map(_log, mean_gradient(units, weights, 1.0, xi[None])[0]), map(_log, direct)))
    return equal("voestimate", "mean of the value-oracle estimate", pairs, "tensor Gauss-Hermite in the plane", 1e-8)


def check_mean_gradient(shrinkage: Callable[[int], float] = lambda n: 1 - 1 / n) -> Comparison:
    """Mean of eq:Slope at the origin from n rows: it is a covariance divided by n, so (1 - 1/n) of population.

    400,000 data sets of labels for n = 2, 3 and 10; elsewhere 1/n becomes about one over the support.
    """
    units, weights, rng, pairs = np.eye(1), np.ones(1), np.random.default_rng(16), []
    mean = float(mean_gradient(units, weights, 1.0, np.zeros((1, 1)))[0, 0])
    for n in (2, 3, 10):
        X = rng.standard_normal((400_000, n))
        y = np.where(rng.random(X.shape) < 0.5 * (1 + np.tanh(X)), 1.0, -1.0)
        found = float(((X - X.mean(axis=1, keepdims=True)) * y).mean())
        pairs.append((_log(shrinkage(n) * mean), _log(found)))
    return equal("population", "mean of eq:Slope from n rows", pairs, "400,000 data sets", 0.01)


_TWO_UNITS, _TWO_WEIGHTS = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([0.5, -0.5])  # |y| <= M = 1
_XI = np.array([0.5, 0.3])


def _labels(X: Floats, rng: np.random.Generator) -> Floats:
    r = np.tanh(X @ _TWO_UNITS.T) @ _TWO_WEIGHTS
    return np.where(rng.random(r.shape) < 0.5 * (1 + r), 1.0, -1.0)


@dataclass(frozen=True)
class _KernelSums:
    n: int
    z: Floats  # (runs,)
    u: Floats  # (runs, 2)
    s: Floats
    v: Floats

    @property
    def n_runs(self) -> int:
        return len(self.z)


@cache
def _kernel_runs(n: int, n_runs: int, seed: int) -> _KernelSums:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_runs, n, 2))
    y = _labels(X, rng)
    K = np.exp(X @ _XI)
    return _KernelSums(
        n, K.sum(1), np.einsum("rn,rnd->rd", K, X), (K * y).sum(1), np.einsum("rn,rnd->rd", K * y, X)
    )  # fmt: skip


def _means(n: int) -> tuple[float, Floats, float, Floats]:
    """Exact means of z, u, s, v: one-dimensional integrals along each unit."""
    # Each unit depends on one direction of the tilted Gaussian only, which has mean <w, xi> and variance one.
    scale = n * math.exp(float(_XI @ _XI) / 2)
    mean_r = sum(w * float(gaussian_mean(np.tanh, float(a @ _XI))) for a, w in zip(_TWO_UNITS, _TWO_WEIGHTS))
    gradient = mean_gradient(_TWO_UNITS, _TWO_WEIGHTS, 1.0, _XI[None])[0]
    return scale, scale * _XI, scale * mean_r, scale * (gradient + _XI * mean_r)  # E X r = grad + xi E r


def check_moment_tails(label: str = "bounds") -> Comparison:
    """Deviations of z, u (zboundubound) and of s, v (sboundvbound) over 20,000 simulated data sets."""
    runs, xi = _kernel_runs(40, 20_000, 21), float(np.linalg.norm(_XI))
    kinds = {"zboundubound": "zu", "sboundvbound": "sv"}.get(label, "zusv")
    means = dict(zip("zusv", _means(runs.n)))
    pairs = []
    for kind, delta in itertools.product(kinds, (0.45, 0.7, 1.2)):
        off = getattr(runs, kind) - means[kind]
        off = np.abs(off) if off.ndim == 1 else np.linalg.norm(off, axis=1)
        hits = int((off >= runs.n * delta).sum())
        pairs.append((moment_tails(runs.n, delta, 2, 1.0, xi)[kind].log_value, log_share_limit(hits, runs.n_runs)))
    return at_most(label, "chance of a large deviation of a kernel sum", pairs, "Monte Carlo, 20,000 runs, +4 s.e.")


def check_ratio_tolerance() -> Comparison:
    """Numerator and denominator at the edge of the tolerance, in every direction."""
    pairs = []
    angles = np.linspace(0, 2 * np.pi, 73)
    for a, b, delta in itertools.product((0.0, 0.5, 30.0), (0.1, 1.0, 8.0), (0.01, 1.0, 50.0)):
        edge = ratio_tolerance(a, b, delta)
        shifts = edge * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        numerators = np.array([a, 0.0]) + shifts
        worst = max(
            float(np.linalg.norm(numerators / (b + s * edge) - np.array([a / b, 0.0]), axis=1).max()) for s in (-1, 1)
        )
        pairs.append((math.log(delta), math.log(worst)))
    return at_most("fractionlemma", "error of a ratio", pairs, "search over the edge")


def check_tolerances(label: str) -> Comparison:
    """The two forms of delta' and of delta''."""
    pairs = []
    for n, xi, mean, delta in itertools.product((10.0, 1e4), (0.3, 2.0), (0.1, 3.0), (0.01, 1.0)):
        z = n * math.exp(xi**2 / 2)
        if label == "deltaprime":
            pairs.append((log_ratio_tolerance(n, xi, mean, delta), math.log(ratio_tolerance(z * mean, z, delta / 2))))
        else:
            general = ratio_tolerance(z * xi * z * mean, z * z, delta / 2)
            pairs.append((log_product_tolerance(n, xi, mean, delta), math.log(general)))
    return equal(label, "tolerance = that of the ratio lemma", pairs, "algebra on a grid")


def check_split() -> Comparison:
    """Deviations of the product us over 4,000 simulated data sets; smaller ones leave the bound above 1."""
    runs, xi = _kernel_runs(400, 4_000, 24), float(np.linalg.norm(_XI))
    z, u, s, _ = _means(runs.n)
    off = np.linalg.norm(runs.u * runs.s[:, None] - u * s, axis=1)
    pairs = []
    for delta in (2.0, 4.0, 20.0):
        edge = math.exp(log_product_tolerance(runs.n, xi, s / z, delta))
        hits = int((off > edge).sum())
        pairs.append((product_tail(runs.n, delta, 2, 1.0, xi).log_value, log_share_limit(hits, runs.n_runs)))
    return at_most("splitproducts", "chance that u s is off", pairs, "Monte Carlo, 4,000 runs, +4 s.e.")


def _log_parts(n: float, delta: float, d: int, M: float, xi: float) -> float:
    """Add up the parts of the Gaussian bound from the moment tails; n is large enough that none is cut at 1."""
    # The worst means that |y| <= M allows: |E r| = M and |E X r| = M sqrt(d + xi^2).
    e_r, e_xr = M, M * math.sqrt(d + xi**2)
    ratio = math.exp(log_ratio_tolerance(n, xi, e_xr, delta) - math.log(n))
    tails = moment_tails(n, ratio, d, M, xi)
    tolerance = log_product_tolerance(n, xi, e_r, delta)
    root = moment_tails(n, math.exp(0.5 * (tolerance - math.log(2)) - math.log(n)), d, M, xi)["z"]
    linear = moment_tails(n, math.exp(tolerance - math.log(4) - 2 * math.log(n) - xi**2 / 2), d, M, xi)["z"]
    product = product_tail(n, delta, d, M, xi)
    return log_add(*(b.log_value for b in (tails["v"], tails["z"], product, root, linear)))


Tail = Callable[[float, float, int, float, float], Bound]


def _tail_grid(M: tuple[float, ...], delta: tuple[float, ...]) -> Iterator[tuple[float, float, int, float, float]]:
    for m, t, d, xi in itertools.product(M, delta, (1, 3, 40), (0.0, 0.5, 3.0)):
        yield 1e60, t, d, m, xi


def check_final(tail: Tail = gaussian_tail_final) -> Comparison:
    """The explicit Gaussian bound against the sum of its parts."""
    cases = _tail_grid((0.1, 1.0, 30.0), (0.01, 0.5, 30.0, 1e4))
    pairs = [(tail(*case).log_value, _log_parts(*case)) for case in cases]
    return at_most("final", "sum of the parts of the proof", pairs, "parts added up on a grid")


def check_gaussian_tail(
    tail: Tail | None = None, M: tuple[float, ...] = (1.0, 3.0, 100.0), delta: tuple[float, ...] = (1e-4, 0.1, 1.0)
) -> Comparison:
    """The collapsed Gaussian bound with C = 1735 against the explicit one."""

    def collapsed(n: float, t: float, d: int, m: float, xi: float) -> Bound:
        return gaussian_tail(n, t, d, m, xi, C=COLLAPSE_CONSTANT)

    tail = tail or collapsed
    pairs = [(tail(*case).log_value, gaussian_tail_final(*case).log_value) for case in _tail_grid(M, delta)]
    return at_most("candidatebound", "explicit bound, up to C = 1735", pairs, "grid with M >= 1, delta <= 1")


@cache
def _oracle_errors(n0: int, n_runs: int, seed: int) -> Floats:
    """Errors of the value-oracle estimate at _XI, labels +-1."""
    rng = np.random.default_rng(seed)
    mean = mean_gradient(_TWO_UNITS, _TWO_WEIGHTS, 1.0, _XI[None])[0]
    g = rng.standard_normal((n_runs, n0, 2))
    y = _labels(_XI + g, rng)
    return np.asarray(np.linalg.norm(np.einsum("rn,rnd->rd", y, g) / n0 - mean, axis=1))


def _oracle_pairs(bound: Callable[[float], Bound], sizes: tuple[float, ...]) -> list[tuple[float, float]]:
    errors = _oracle_errors(100, 20_000, 22)
    return [(bound(t).log_value, log_share_limit(int((errors >= t).sum()), len(errors))) for t in sizes]


def check_oracle_tail() -> Comparison:
    """The paper's form with the constants that we can prove."""
    pairs = _oracle_pairs(lambda t: value_oracle_tail(100, t, 2, 1.0, **ORACLE_CONSTANTS), (0.4, 0.5, 0.6))
    return at_most("voebound", "chance that an oracle estimate is off", pairs, "Monte Carlo, 20,000 runs, +4 s.e.")


def check_oracle_tail_tight() -> Comparison:
    """Our explicit form, against the same simulation."""
    pairs = _oracle_pairs(lambda t: value_oracle_tail_tight(100, t, 2, 1.0), (0.25, 0.35, 0.5))
    return at_most("voebound", "the same with explicit constants (ours)", pairs, "Monte Carlo, 20,000 runs, +4 s.e.")


def check_oracle_tail_far() -> Comparison:
    """The value-oracle lemma away from the plane: d = 6, n0 = 150, labels, far from one unit and near another."""
    rng, xi = np.random.default_rng(25), np.array([2.0, 0.1, -0.5, 0.0, 0.3, 0.0])
    units, weights = np.eye(6)[:2], np.array([0.5, -0.5])
    g = rng.standard_normal((4_000, 150, 6))
    r = np.tanh((xi + g) @ units.T) @ weights
    y = np.where(rng.random(r.shape) < 0.5 * (1 + r), 1.0, -1.0)
    mean = mean_gradient(units, weights, 1.0, xi[None])[0]
    errors = np.linalg.norm(np.einsum("rn,rnd->rd", y, g) / 150 - mean, axis=1)
    pairs = [
        (value_oracle_tail(150, t, 6, 1.0, **ORACLE_CONSTANTS).log_value,
         log_share_limit(int((errors >= t).sum()), len(errors)))
        for t in (0.4, 0.5, 0.6, 0.7)
    ]  # fmt: skip
    return at_most("assympboundsvoestimate", "chance that an estimate is off, d = 6", pairs, "Monte Carlo, 4,000 runs")


@cache
def _kernel_errors(n: int, n_runs: int) -> Floats:
    """Errors of eq:Slope at xi = 0.3 in one dimension, labels +-1."""
    rng = np.random.default_rng(26)
    X = rng.standard_normal((n_runs, n))
    y = np.where(rng.random(X.shape) < 0.5 * (1 + np.tanh(X)), 1.0, -1.0)
    K = np.exp(0.3 * X)
    K /= K.sum(axis=1, keepdims=True)
    mean = float(mean_gradient(np.eye(1), np.ones(1), 1.0, np.array([[0.3]]))[0, 0])
    estimates = ((X - (K * X).sum(axis=1, keepdims=True)) * y * K).sum(axis=1)
    return np.asarray(np.abs(estimates - mean))


def check_kernel_tail() -> Comparison:
    """The Gaussian-covariates lemma on simulated rows: 500 data sets of 5,000, one dimension."""
    errors = _kernel_errors(5_000, 500)
    pairs = [
        (gaussian_tail(5_000, t, 1, 1.0, 0.3, C=COLLAPSE_CONSTANT).log_value,
         log_share_limit(int((errors >= t).sum()), len(errors)))
        for t in (0.8, 1.0)
    ]  # fmt: skip
    return at_most("assympboundscor", "chance that a kernel estimate is off", pairs, "Monte Carlo, 500 runs, +4 s.e.")


def check_homogeneous_tail(tail: Tail = gaussian_tail_homogeneous) -> Comparison:
    """candidatebound for labels +-M: the same data sets in another unit of measurement, delta = 0.05 M to M.

    30 rows only, so that a bound that falls with M is soon below the frequency.
    """
    errors, pairs = _kernel_errors(30, 20_000), []
    for M, t in itertools.product((1e-3, 1.0, 1e3), (0.05, 0.3, 1.0)):
        hits = int((errors >= t).sum())  # M y in place of y: errors and delta = M t grow together
        pairs.append((tail(30, M * t, 1, M, 0.3).log_value, math.log(max(hits, 1) / len(errors))))
    return at_most("candidatebound", "chance that an estimate is off, labels -M and M", pairs, "20,000 data sets")


def check_moment_means() -> Comparison:
    """Simulated means of z, u, s and v against their formulas, in standard errors (at most 4.5)."""
    runs, pairs = _kernel_runs(40, 20_000, 21), []
    for found, mean in zip((runs.z, runs.u, runs.s, runs.v), _means(runs.n)):
        columns, means = found.reshape(len(found), -1), np.asarray(mean, dtype=np.float64).ravel()
        errors = np.abs(columns.mean(axis=0) - means) / (columns.std(axis=0) / math.sqrt(len(found)))
        pairs += [(math.log(4.5), math.log(float(e))) for e in errors]
    return at_most("expectationsandbounds", "means of the kernel sums, in s.e.", pairs, "Monte Carlo, 20,000 runs")


@cache
def _projected_errors() -> tuple[Floats, float]:
    """Errors (runs, 4) of 400 projected estimates from 20,000 rows, d = 4, k = 2, angle 0.2; norm of the point."""
    n, n_runs, xi = 20_000, 400, np.array([0.5, 0.3, 0.0, 0.0])
    units = np.hstack([_TWO_UNITS, np.zeros((2, 2))])
    c, s = math.cos(0.2), math.sin(0.2)
    basis = np.array([[c, 0, s, 0], [0, c, 0, s]])
    mean = projected_mean_gradient(units, _TWO_WEIGHTS, 1.0, xi[None], basis)[0]
    rng, errors = np.random.default_rng(23), np.empty((n_runs, 4))
    for i in range(n_runs):
        X = rng.standard_normal((n, 4))
        y = _labels(X[:, :2], rng)
        flat = X @ basis.T
        K = np.exp(flat @ (basis @ xi))
        K /= K.sum()
        errors[i] = ((K * y) @ (flat - K @ flat)) @ basis - mean
    return errors, float(np.linalg.norm(basis @ xi))


def check_projected_tail() -> Comparison:
    """The projected estimate in d = 4, k = 2, at an angle of 0.2, over 400 data sets of 20,000 rows."""
    errors, norm = _projected_errors()
    lengths = np.linalg.norm(errors, axis=1)
    pairs = [
        (projected_tail(20_000, t, 2, 1.0, norm, C=COLLAPSE_CONSTANT).log_value,
         log_share_limit(int((lengths >= t).sum()), len(lengths)))
        for t in (0.6, 1.0)
    ]  # fmt: skip
    return at_most("candidatebounddim", "chance that a projected estimate is off", pairs, "Monte Carlo, 400 runs")


def check_projected_mean() -> Comparison:
    """The projected estimate is centred at populationdim: mean error over the same data sets, in standard errors."""
    errors, _ = _projected_errors()
    scores = np.abs(errors.mean(axis=0)) / (errors.std(axis=0) / math.sqrt(len(errors)))
    pairs = [(math.log(4.5), math.log(float(score))) for score in scores]
    return at_most("subspace", "mean of projected estimates less populationdim, in s.e.", pairs, "400 data sets")
