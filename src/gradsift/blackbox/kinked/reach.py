"""How far out the network is linear: the radius beyond which a ray crosses no further kink."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...checking import Floats
from ...errors import NotIdentifiable
from ...geometry import orthonormal_rows
from ..asking import EPS, Ledger
from .grain import EXACT_ANSWERS, Grain
from .kinked_policy import GRAIN, REACH

__all__ = ["LinearReach", "find_reach"]


@dataclass(frozen=True)
class LinearReach:
    """Attributes
    ----------
    radius : float
        From here on a ray was straight.
    grows : bool
        Whether the function grows far out on it; sigmoids do not.
    slope : float
        By how much, per length.
    """

    radius: float
    grows: bool
    slope: float


def find_reach(
    ledger: Ledger, rng: np.random.Generator, *, both_ways: bool, grain: Grain = EXACT_ANSWERS
) -> LinearReach:
    """Ask along a ray at radii growing by 8 until three answers lie on a line; 3 to 32 queries.

    Parameters
    ----------
    both_ways : bool
        Ask along the opposite ray, too, and take the larger radius: units that are not even differ at their ends.
    """
    ways = orthonormal_rows(2, ledger.n_features, rng) if ledger.ways is None else ledger.ways
    reaches, radius = _least(ledger, ways, grain)
    if both_ways or not any(reach.grows for reach in reaches):  # all units may be idle on one side, but not on both
        opposite, other_radius = _least(ledger, -ways, grain)
        reaches += opposite
        radius = max(radius, other_radius) if both_ways else radius
    if grain.sd:  # in noise a flat ray has no reach of its own
        radius = min((reach.radius for reach in reaches if reach.grows), default=radius)
    return LinearReach(radius, any(reach.grows for reach in reaches), max(reach.slope for reach in reaches))


def _least(ledger: Ledger, ways: Floats, grain: Grain) -> tuple[list[LinearReach], float]:
    """Return the reach of a ray, and of another one if that is suspiciously large or has none; and the smaller radius.

    A ray almost within a kink goes far; one on which units cancel drowns in their rounding.
    """
    reaches = []
    for way in ways:
        reach = _along(ledger, way, grain)
        if reach is not None:
            reaches.append(reach)
            if reach.radius <= REACH.suspicious:
                break
    if not reaches:
        farthest = _radii(grain)[-1]
        raise NotIdentifiable(
            f"Along two rays the function is not straight even at radius {farthest:.2g} ({ledger.n_queries} queries): "
            "it is no sum of units that end in straight lines, or its answers are rounded or noisy."
        )
    return reaches, min(reach.radius for reach in reaches)


def _radii(grain: Grain) -> Floats:
    nearest = REACH.first if grain == EXACT_ANSWERS else 1.0  # a larger reach would leave less of what noise lets show
    return np.asarray(nearest * REACH.factor ** np.arange(REACH.most))


def _along(ledger: Ledger, way: Floats, grain: Grain) -> LinearReach | None:
    """Return the reach of one ray, or None where it never gets straight."""
    radii, values = _radii(grain), np.empty(REACH.most)
    for number, radius in enumerate(radii):
        values[number] = ledger.ask(radius * way[None], "reach")[0]
        if number < 2:
            continue
        first, second = np.diff(values[number - 2 : number + 1])
        largest = float(np.abs(values[number - 2 : number + 1]).max())
        error = REACH.factor * (REACH.collinear / EPS * grain.relative * largest + REACH.noise * grain.sd)
        grows = bool(abs(second) > max(REACH.grows * largest, GRAIN.grows * grain.sd))
        if abs(second - REACH.factor * first) <= error and (grows or grain.sd == 0 or number == REACH.most - 1):
            slope = abs(float(second)) / float(radius - radii[number - 1])
            return LinearReach(float(radii[number - 2]), grows, slope)
    return None
