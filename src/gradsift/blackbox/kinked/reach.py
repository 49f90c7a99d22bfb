"""How far out the network is linear: the radius beyond which a ray crosses no further kink."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...checking import Floats
from ...errors import NotIdentifiable
from ...geometry import orthonormal_rows
from ..asking import EPS, Ledger

__all__ = ["LinearReach", "find_reach"]

_FACTOR = 8.0
_MOST = 16  # radii per ray
_COLLINEAR = 64 * EPS
_SUSPICIOUS = 8.0**4.5  # a reach beyond this may be the luck of one ray


@dataclass(frozen=True)
class LinearReach:
    """Attributes
    ----------
    radius : float
        From here on a ray was straight.
    grows : bool
        Whether the function grows far out on it; sigmoids do not.
    """

    radius: float
    grows: bool


def find_reach(ledger: Ledger, rng: np.random.Generator, *, both_ways: bool) -> LinearReach:
    """Ask along a ray at radii growing by 8 until three answers lie on a line; 3 to 9 queries.

    Parameters
    ----------
    both_ways : bool
        Ask along the opposite ray, too, and take the larger radius: units that are not even differ at their ends.
    """
    ways = orthonormal_rows(2, ledger.n_features, rng)
    reach = _along(ledger, ways[0])
    both_ways = both_ways or not reach.grows  # all units may be idle on one side, but not on both
    if reach.radius > _SUSPICIOUS:
        reach = min(reach, _along(ledger, ways[1]), key=lambda r: r.radius)
    if both_ways:
        back = _along(ledger, -ways[0])
        reach = LinearReach(max(reach.radius, back.radius), reach.grows or back.grows)
    return reach


def _along(ledger: Ledger, way: Floats) -> LinearReach:
    radii: list[float] = []
    values: list[float] = []
    for number in range(_MOST):
        radii.append(_FACTOR**number)
        values.append(float(ledger.ask(radii[-1] * way[None], "reach")[0]))
        if number < 2:
            continue
        first, second = np.diff(values[-3:])
        if abs(second - _FACTOR * first) <= _COLLINEAR * _FACTOR * np.abs(values[-3:]).max():
            return LinearReach(radii[-3], bool(abs(second) > 1e-6 * np.abs(values[-3:]).max()))
    raise NotIdentifiable(
        f"Along a ray the function is not straight even at radius {radii[-1]:.2g} ({ledger.n_queries} queries): it is "
        "no sum of units that end in straight lines, or its answers are rounded or noisy."
    )
