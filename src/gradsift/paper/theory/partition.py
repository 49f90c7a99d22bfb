"""The regions R and the sets C of the proof, on a real candidate run with known truth.

Plain arrays come in, so that any algorithm can be measured and none is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...geometry import normalize_rows
from .. import implements
from .constants import RunParameters
from .gaussian_fields import mean_gradient, projected_mean_gradient

SHARED = -1  # R_*: two units or more
NEVER_A_CANDIDATE = -1  # norm below w0

Memberships = NDArray[np.intp]


@implements("Rsets")
def region_of(units: Floats, points: Floats, Delta: float) -> Memberships:
    """Return the region of each point, (m,): 0 far from all units, l near unit l alone (from 1), -1 near several.

    O(m k d) flops.
    """
    near = np.abs(points @ units.T) < Delta  # (m, k)
    alone = np.where(near.any(axis=1), near.argmax(axis=1) + 1, 0)
    return np.where(near.sum(axis=1) > 1, SHARED, alone)


@dataclass(frozen=True)
class CandidateSplit:
    """Where each generated point ended up.

    Attributes
    ----------
    region : (m0,) int array
        As :func:`region_of` returns it.
    good : (m0,) bool array
        G: the estimate is within ``delta w0`` of the mean gradient.
    cluster : (m0,) int array
        -1 where the norm is below w0, 0 in C_0, l in C_l (from 1).
    far : (m0,) bool array
        B_0: good, in R_0, and yet long enough; empty for delta < 1/2.
    shared : (m0,) bool array
        B_*: good, in R_*, and long enough.
    """

    region: Memberships
    good: NDArray[np.bool_]
    cluster: Memberships
    far: NDArray[np.bool_]
    shared: NDArray[np.bool_]

    def sizes(self, k: int) -> Memberships:
        """Return |C_0|, |C_1|, ..., |C_k|."""
        return np.bincount(self.cluster[self.cluster >= 0], minlength=k + 1)


@implements("eq:CoInclusion")
def split_candidates(
    units: Floats, points: Floats, estimates: Floats, means: Floats, *, Delta: float, w0: float, delta: float
) -> CandidateSplit:
    """Split the candidates as the proof of maintheorem does; C_0 lies in the union of G's complement, B_0 and B_*.

    Parameters
    ----------
    units : (k, d) array
        Projected units after dimensionality reduction.
    points, estimates, means : (m0, d) arrays
        Where the gradient was estimated, the estimates, and their exact means.
    Delta, w0, delta : float
    """
    region = region_of(units, points, Delta)
    # A good estimate of norm w0 has a mean of norm (1 - delta) w0 at least: it is in R_l (a cluster), in R_* or, for no
    # delta below one half, in R_0.
    good = np.linalg.norm(estimates - means, axis=1) <= delta * w0
    kept = np.linalg.norm(estimates, axis=1) >= w0
    cluster = np.where(kept, np.where(good & (region > 0), region, 0), NEVER_A_CANDIDATE)
    long_mean = good & (np.linalg.norm(means, axis=1) >= (1 - delta) * w0)
    return CandidateSplit(region, good, cluster, long_mean & (region == 0), long_mean & (region == SHARED))


@dataclass(frozen=True)
class CandidateRun:
    """A run of CandidateGeneration with known truth, as plain arrays.

    Attributes
    ----------
    units : (k, d) array
    weights : (k,) array
    beta : float
    points, estimates : (m, d) arrays
        Where the gradient was estimated and what came out; candidates alone will do, since the sets C need no more.
    parameters : RunParameters
        Delta, w0, xi0 and gamma of the run.
    delta, rho : float
    m0 : int, optional
        Number of points drawn; that of `points` by default.
    basis : (k, d) array, optional
        Orthonormal rows that span the estimated subspace, for the projected estimate.
    radius : float, optional
        Promised distance; by default 6 delta, or 7 delta with a basis.
    """

    units: Floats
    weights: Floats
    beta: float
    points: Floats
    estimates: Floats
    parameters: RunParameters
    delta: float
    rho: float
    m0: int | None = None
    basis: Floats | None = None
    radius: float | None = None


class Claim(NamedTuple):
    """One line of the report: what the theorem promises and what the run shows."""

    what: str
    claimed: float
    measured: float
    holds: bool


@dataclass(frozen=True)
class TheoremReport:
    """What a theorem promises against what a run shows.

    Attributes
    ----------
    label : {"maintheorem", "dimredtheorem"}
    claims : tuple of Claim
        Cluster radii, cluster sizes, number of spurious candidates.
    partition : CandidateSplit
    """

    label: str
    claims: tuple[Claim, ...]
    partition: CandidateSplit

    @property
    def holds(self) -> bool:
        """Whether every promise was kept."""
        return all(claim.holds for claim in self.claims)

    def __str__(self) -> str:
        lines = [f"{self.label}: {'holds' if self.holds else 'FAILS'} on this run"]
        for claim in self.claims:
            mark = "ok" if claim.holds else "FAILS"
            lines.append(f"  {claim.what:<34} claimed {claim.claimed:>10.4g}  measured {claim.measured:>10.4g}  {mark}")
        return "\n".join(lines)


@implements("maintheorem", "dimredtheorem")
def check_theorem(run: CandidateRun) -> TheoremReport:
    """Hold a run against its theorem: maintheorem, or dimredtheorem where the run has a `basis`.

    Returns
    -------
    TheoremReport
        For each unit the largest distance of a candidate of C_l from sign(u_l) w_l (at most 6 delta, or 7 delta) and
        the size of C_l (at least gamma m0/2); the size of C_0 (at most 2 rho gamma m0).
    """
    m0 = len(run.points) if run.m0 is None else run.m0
    params, flat = run.parameters, run.units
    if run.basis is None:
        label, factor = "maintheorem", 6
        means = mean_gradient(run.units, run.weights, run.beta, run.points)
    else:
        label, factor = "dimredtheorem", 7
        means = projected_mean_gradient(run.units, run.weights, run.beta, run.points, run.basis)
        flat = run.units @ run.basis.T @ run.basis  # the regions see a point through its projection
    split = split_candidates(
        flat, run.points, run.estimates, means, Delta=params.Delta, w0=params.w0, delta=run.delta
    )  # fmt: skip
    sizes, least = split.sizes(len(run.units)), params.gamma * m0 / 2
    radius = factor * run.delta if run.radius is None else run.radius
    most = 2 * run.rho * params.gamma * m0
    claims = []
    for i, unit in enumerate(run.units):
        directions = normalize_rows(run.estimates[split.cluster == i + 1])
        # A unit's gradients point along sign(u_l) w_l, not along w_l.
        target = np.copysign(1.0, run.weights[i]) * unit
        farthest = float(np.linalg.norm(directions - target, axis=1).max(initial=0.0))
        claims.append(Claim(f"unit {i + 1}: distance at most", radius, farthest, farthest <= radius))
        claims.append(
            Claim(f"unit {i + 1}: candidates at least", least, float(sizes[i + 1]), bool(sizes[i + 1] >= least))
        )
    claims.append(Claim("spurious candidates at most", most, float(sizes[0]), bool(sizes[0] <= most)))
    return TheoremReport(label, tuple(claims), split)
