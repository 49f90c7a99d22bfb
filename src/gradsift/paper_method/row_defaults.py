"""Where points lie and how many gradients are kept when only a table is given: the theorem's advice, in n, d and k.

The theorem asks for points far out (one unit active at a time), a small threshold (a unit at the edge of its slab
counts) and many points. From n rows in D dimensions (D = d, or k after projection) a point reaches no further than the
rows themselves, R = sqrt(2 log n). So the defaults are

    point_scale = 2 R / sqrt(D)                                  twice as far as the rows, in every direction
    share kept  = 1 - (1 - P(|Z| < 1.5 sqrt(D)/R))^k             the points with an active unit: <w, xi> is N(0, R^2/D)
    n_points    = 500 k

A far point rests on two or three rows, so that its own gradient is noise; hundreds of them average out. Near the origin
single gradients are precise and wrong: two units are active, and the longest gradients are those.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from scipy.special import erf

__all__ = ["ROW_POLICY", "RowDefaults", "RowPolicy", "row_defaults"]


@dataclass(frozen=True)
class RowPolicy:
    """What was tuned; benchmarks/paper_defaults.py prints the figures on other seeds."""

    reach: float  # distance of a typical point over that of the furthest row
    active: float  # a unit counts as active within this distance of its hyperplane
    points_per_unit: int


ROW_POLICY = RowPolicy(
    reach=2.0,  # benchmarks/paper_defaults.py --tune: best of 0.75, 1, 1.5, 2
    active=1.5,  # the same: best of 1, 1.5, 2 and keeping all
    points_per_unit=500,  # benchmarks/paper_defaults.py --tune: 1000 points gain 1 to 5 degrees on 400 for two units
)


class RowDefaults(NamedTuple):
    """Parameters of CandidateGeneration for rows."""

    n_points: int
    point_scale: float
    share: float  # of the points, those with the longest gradients


def row_defaults(n_rows: int, dimension: int, n_units: int, policy: RowPolicy = ROW_POLICY) -> RowDefaults:
    """Return the defaults for `n_rows` rows, `dimension` d (or k after projection) and k = `n_units`."""
    rows_reach = math.sqrt(2 * math.log(max(n_rows, 2)))
    spread = rows_reach / math.sqrt(dimension)  # standard deviation of <w, xi> for a unit w, as far as rows reach
    idle = 1 - float(erf(policy.active / spread / math.sqrt(2)))
    return RowDefaults(policy.points_per_unit * n_units, policy.reach * spread, 1 - idle**n_units)
