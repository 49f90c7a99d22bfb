"""The regions R and the sets C of the proof, on a real candidate run with known truth.

Plain arrays come in, so that any algorithm can be measured and none is imported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checking import Floats
from ..paper import implements

__all__ = ["NEVER_A_CANDIDATE", "SHARED", "CandidatePartition", "partition", "regions"]

SHARED = -1  # R_*: two units or more
NEVER_A_CANDIDATE = -1  # norm below w0

Labels = NDArray[np.intp]


@implements("Rsets")
def regions(units: Floats, points: Floats, Delta: float) -> Labels:
    """Return the region of each point, (m,): 0 far from all units, l near unit l alone (from 1), -1 near several.

    O(m k d) flops.
    """
    near = np.abs(points @ units.T) < Delta  # (m, k)
    alone = np.where(near.any(axis=1), near.argmax(axis=1) + 1, 0)
    return np.where(near.sum(axis=1) > 1, SHARED, alone)


@dataclass(frozen=True)
class CandidatePartition:
    """Where each generated point ended up.

    Attributes
    ----------
    region : (m0,) int array
        As :func:`regions` returns it.
    good : (m0,) bool array
        G: the estimate is within ``delta w0`` of the mean gradient.
    cluster : (m0,) int array
        -1 where the norm is below w0, 0 in C_0, l in C_l (from 1).
    far : (m0,) bool array
        B_0: good, in R_0, and yet long enough; empty for delta < 1/2.
    shared : (m0,) bool array
        B_*: good, in R_*, and long enough.
    """

    region: Labels
    good: NDArray[np.bool_]
    cluster: Labels
    far: NDArray[np.bool_]
    shared: NDArray[np.bool_]

    def sizes(self, k: int) -> Labels:
        """Return |C_0|, |C_1|, ..., |C_k|."""
        return np.bincount(self.cluster[self.cluster >= 0], minlength=k + 1)


@implements("eq:CoInclusion")
def partition(
    units: Floats, points: Floats, estimates: Floats, means: Floats, *, Delta: float, w0: float, delta: float
) -> CandidatePartition:
    """Split the candidates as the proof of maintheorem does; C_0 lies in the union of G's complement, B_0 and B_*.

    Parameters
    ----------
    units : (k, d) array
        Projected units after dimensionality reduction.
    points, estimates, means : (m0, d) arrays
        Where the gradient was estimated, the estimates, and their exact means.
    Delta, w0, delta : float
    """
    region = regions(units, points, Delta)
    good = np.linalg.norm(estimates - means, axis=1) <= delta * w0
    kept = np.linalg.norm(estimates, axis=1) >= w0
    cluster = np.where(kept, np.where(good & (region > 0), region, 0), NEVER_A_CANDIDATE)
    long_mean = good & (np.linalg.norm(means, axis=1) >= (1 - delta) * w0)
    return CandidatePartition(region, good, cluster, long_mean & (region == 0), long_mean & (region == SHARED))
