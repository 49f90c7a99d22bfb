"""What a subspace at an angle does to regions, clusters and counts: the statements of the last section of the proof."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import erf
from scipy.stats import binom

from ....arguments import Floats
from ....geometry import normalize_rows, orthonormal_rows
from ..bounds import (
    far_field,
    good_cluster_projected,
    inner_gap,
    needed_theta,
    projected_cluster_radius,
    spurious_projected,
)
from ..constants import Problem, RunParameters, kappa_prime, parameters
from ..gaussian_fields import projected_mean_gradient
from ..inequality import Bound, Comparison, at_least, at_most, log_add
from ..partition import region_of, split_candidates
from ..planning import units_at_equal_angles
from .verify_partition import Off, chance_in_box, off_by_parts, off_by_power

_PROJECTED_RHO = 0.5


class ProjectedProblem(NamedTuple):
    """A model, and a subspace all of whose principal angles to the span of the units are `theta`."""

    problem: Problem
    theta: float
    units: Floats  # (k, d)
    weights: Floats  # (k,)
    basis: Floats  # (k, d)

    @property
    def projected(self) -> Floats:
        """Units in the subspace, (k, d)."""
        return np.asarray(self.units @ self.basis.T @ self.basis)

    def parameters(self, delta: float, length: float | None = None) -> RunParameters:
        """The run's parameters with kappa' and the projected length (cos theta unless given)."""
        kappa = kappa_prime(self.problem.k, self.problem.kappa, self.theta)
        length = math.cos(self.theta) if length is None else length
        return parameters(self.problem, delta, _PROJECTED_RHO, kappa=kappa, length=length)


def projected_problem(theta: float, k: int = 2, kappa: float = 0.9, seed: int = 70) -> ProjectedProblem:
    """Mixture of k units in dimension 2 k whose span is tilted by `theta` in every direction."""
    problem = Problem(2 * k, k, 1.0, kappa, 1 / k)
    frame = orthonormal_rows(2 * k, 2 * k, np.random.default_rng(seed))
    units = units_at_equal_angles(k, kappa) @ frame[:k]
    # Turning each axis of the span by theta towards an axis of its own makes every principal angle theta.
    basis = math.cos(theta) * frame[:k] + math.sin(theta) * frame[k:]
    return ProjectedProblem(problem, theta, units, np.full(k, 1 / k), basis)


def _projected_units(units: Floats, basis: Floats) -> Floats:
    return np.asarray(units @ basis.T @ basis)


def check_projected_region_of(cut: Callable[[Floats, Floats], Floats] = _projected_units) -> Comparison:
    """Longest projected mean gradient over R_0, 200,000 points; `cut` says by which vectors the regions are cut.

    At the angle of the theorem the two ways differ by less than Delta for nearly every point, so the angle is 0.05,
    at which kappa' still exists.
    """
    tilted, delta = projected_problem(0.05), 0.25
    params = tilted.parameters(delta)
    points = params.xi0 * np.random.default_rng(71).standard_normal((200_000, tilted.problem.d))
    far = points[region_of(cut(tilted.units, tilted.basis), points, params.Delta) == 0]
    means = projected_mean_gradient(tilted.units, tilted.weights, 1.0, far, tilted.basis)
    longest = float(np.linalg.norm(means, axis=1).max())
    pairs = [(far_field(tilted.problem, params.Delta).log_value, math.log(longest))]
    return at_most("Rsets", "projected gradient far from all units", pairs, "200,000 points, quadrature")


def check_projected_length(length: Callable[[float], float] = math.cos) -> Comparison:
    """Within Delta/2 of one unit alone the worst good projected estimate must reach w0; `length` enters Delta."""
    pairs = []
    for theta, delta in itertools.product((0.02, 0.05, 0.1), (0.05, 0.25, 0.5)):
        tilted = projected_problem(theta)
        params = tilted.parameters(delta, length(theta))
        shortest = float(np.linalg.norm(tilted.projected, axis=1).min())
        # lowerupperbound at Delta/2 for the own part; delta w0 for the other units; delta w0 for the estimate's error.
        own = shortest * tilted.problem.u0 * math.exp(_log_floor(params.Delta / 2) - params.log_w0)
        pairs.append((0.0, math.log(max(own - 2 * delta, 1e-300))))
    return at_least("goodclusterlemma2", "shortest good projected estimate over w0", pairs, "algebra on a grid")


def _log_floor(z: float) -> float:
    from ..bounds import mean_derivative_bounds

    return mean_derivative_bounds(z, 1.0)[0].log_value


def check_projected_cluster(angle: Callable[[Problem, float], float] = needed_theta) -> Comparison:
    """Farthest candidate of C_l from the projected unit, each estimate off by as much as G allows.

    Points where one unit alone is near, two accuracies; `angle` says how far off the subspace is.
    """
    pairs = []
    for delta in (0.02, 0.1):
        tilted = projected_problem(angle(projected_problem(0.0).problem, delta))
        params = parameters(tilted.problem, delta, _PROJECTED_RHO, kappa=tilted.problem.kappa / 2)
        rng = np.random.default_rng(72)
        near = np.array([[0.3, 30.0], [-30.0, 0.5], [0.9, -40.0], [50.0, 0.0]]) * params.Delta  # (4, k): arguments
        spots = near @ np.linalg.pinv(tilted.projected).T
        points = np.repeat(spots, 500, axis=0)
        means = projected_mean_gradient(tilted.units, tilted.weights, 1.0, points, tilted.basis)
        errors = normalize_rows(rng.standard_normal(points.shape) @ tilted.basis.T @ tilted.basis)
        estimates = means + delta * params.w0 * (1 - 1e-9) * errors
        split = split_candidates(
            tilted.projected, points, estimates, means, Delta=params.Delta, w0=params.w0, delta=delta
        )  # fmt: skip
        mine = split.cluster > 0
        target = tilted.projected[split.cluster[mine] - 1]
        farthest = float(np.linalg.norm(normalize_rows(estimates[mine]) - target, axis=1).max())
        pairs.append((projected_cluster_radius(delta).log_value, math.log(farthest)))
    return at_most("clusterlemma2", "distance of a candidate from its projected unit", pairs, "2,000 points each")


def check_cross_term(gap: Callable[[int, float], float] | None = None) -> Comparison:
    """1 - (a + e)^2 >= 1 - a^2 - (4 k sin(theta/2))^2 for inner products a that move by at most e = gap(k, theta)."""
    pairs = []
    for k, theta, a in itertools.product((2, 5), (0.01, 0.05, 0.1), (0.0, 0.5, 0.9)):
        e = inner_gap(theta) if gap is None else gap(k, theta)
        claimed = (4 * k * math.sin(theta / 2)) ** 2
        pairs.append((math.log(claimed), math.log(2 * a * e + e * e)))
    return at_most("anglelemma2", "loss of the Gram determinant, cross term included", pairs, "algebra on a grid")


def _counts(tilted: ProjectedProblem, delta: float) -> tuple[RunParameters, float, float]:
    """Parameters, and the exact chances of R_* and of R'_l after projection (k = 2)."""
    params = tilted.parameters(delta)
    flat = tilted.projected
    length = float(np.linalg.norm(flat[0]))
    t = params.Delta / params.xi0 / length
    c = float(flat[0] @ flat[1]) / length**2
    # Projected units are shorter, so a slab of half-width Delta is Delta / (xi0 length) standard deviations wide.
    return params, chance_in_box(t, t, c), float(erf(t / 2 / math.sqrt(2))) - chance_in_box(t / 2, t, c)


def _projected_grid() -> list[tuple[ProjectedProblem, float, float, float]]:
    found = []
    for delta, kappa, far, m0 in itertools.product((0.1, 0.4), (0.9, 0.4), (20.0, 100.0), (1e5, 1e7)):
        tilted = projected_problem(needed_theta(projected_problem(0.0, kappa=kappa).problem, delta), kappa=kappa)
        k = tilted.problem.k
        log_x = far * 4 * k * (1 / 7 + (1 + 2 / k) * tilted.parameters(delta).xi0 ** 2)
        found.append((tilted, delta, log_x, m0))
    return found


def check_spurious_projected(off: Off = off_by_power) -> Comparison:
    """Too many spurious candidates after projection: k for d, kappa' for kappa, the exact chance of R_*."""
    pairs = []
    for tilted, delta, log_x, m0 in _projected_grid():
        params, shared, _ = _counts(tilted, delta)
        k, share = tilted.problem.k, params.gamma * _PROJECTED_RHO / 2
        exact = float(binom.logsf(math.floor(1.5 * m0 * params.gamma * _PROJECTED_RHO), int(m0), shared))
        derived = log_add(off_by_parts(share, log_x, k, params.xi0), exact)
        claimed: Bound = spurious_projected(off(share, log_x, k, params.xi0), m0, params, _PROJECTED_RHO, c2=1 / 16)
        pairs.append((claimed.log_value, derived))
    return at_most(
        "spuriouslemma2", "chance of too many spurious ones", pairs, "terms of the proof, exact binomial", 1e-6
    )


def check_good_cluster_projected() -> Comparison:
    """A cluster too small after projection: the exact chance of R'_l, projected units and points."""
    pairs = []
    for tilted, delta, log_x, m0 in _projected_grid():
        params, _, alone = _counts(tilted, delta)
        k, share = tilted.problem.k, params.gamma / 4
        exact = float(binom.logcdf(math.floor(0.75 * m0 * params.gamma), int(m0), alone))
        derived = log_add(off_by_parts(share, log_x, k, params.xi0), exact)
        claimed = good_cluster_projected(off_by_power(share, log_x, k, params.xi0), m0, params, c3=1 / 32)
        pairs.append((claimed.log_value, derived))
    return at_most("goodclusterlemma2", "chance of a small cluster", pairs, "terms of the proof, exact binomial", 1e-6)
