"""Where kinks are looked for: how far out the network is linear, and a path of two segments there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...arguments import Floats
from ...geometry import orthonormal_rows
from ..ledger import EPS, Ledger
from ..plane_frame import PlaneFrame, frame_through
from .answer_precision import EXACT_ANSWERS, Grain
from .settings import GRAIN, ODD_PART, REACH


@dataclass(frozen=True)
class Leg:
    """A straight line from `start` (in the plane's coordinates, as is `way`, of length one) over a length.

    Attributes
    ----------
    start, way : (2,) arrays
    """

    frame: PlaneFrame
    start: Floats
    way: Floats
    length: float

    @property
    def aside(self) -> Floats:
        """The direction in the plane across the leg; (2,)."""
        return np.array([-self.way[1], self.way[0]])

    def in_plane(self, t: float | Floats) -> Floats:
        """Return the places at t in the plane's coordinates, (2,) or (n, 2)."""
        return np.asarray(self.start + np.multiply.outer(t, self.way))

    def points(self, t: float | Floats) -> Floats:
        """Return the places at t, (d,) or (n, d)."""
        return np.asarray(self.in_plane(t) @ self.frame.plane)


@dataclass(frozen=True)
class Path:
    """Two legs that meet in a corner."""

    frame: PlaneFrame
    legs: tuple[Leg, Leg]
    radius: float


def half_square(radius: float, near: float, n_features: int, rng: np.random.Generator) -> Path:
    """Return a path from one point of the plane around a corner to the point opposite, and a little beyond.

    Every hyperplane that meets the plane within about half of `near` from the origin crosses the path, since the
    path's ends lie on opposite sides of the origin and its last end is moved by `near`. Few cross it twice.
    """
    frame = frame_through(*orthonormal_rows(2, n_features, rng))
    corners = np.array([[radius, 0.0], [0.0, radius], [-radius, -near]])
    return Path(frame, joined_legs(frame, corners), radius)


def joined_legs(frame: PlaneFrame, corners: Floats) -> tuple[Leg, Leg]:
    """Return the legs between three places (3, 2) of a plane."""
    legs = []
    for start, end in pairwise(corners):
        length = float(np.linalg.norm(end - start))
        legs.append(Leg(frame, start, (end - start) / length, length))
    return legs[0], legs[1]


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
) -> LinearReach | None:
    """Ask along a ray at radii growing by 8 until three answers lie on a line; 3 to 32 queries.

    None if the function is straight on neither of two rays.

    Parameters
    ----------
    both_ways : bool
        Ask along the opposite ray, too, and take the larger radius: units that are not even differ at their ends.
    """
    ways = orthonormal_rows(2, ledger.n_features, rng) if ledger.ways is None else ledger.ways
    reaches = _least(ledger, ways, grain)
    if not reaches:
        return None
    radius = min(reach.radius for reach in reaches)
    if both_ways or not any(reach.grows for reach in reaches):  # all units may be idle on one side, but not on both
        opposite = _least(ledger, -ways, grain)
        if not opposite:
            return None
        reaches += opposite
        radius = max(radius, min(reach.radius for reach in opposite)) if both_ways else radius
    if grain.sd:  # in noise a flat ray has no reach of its own
        radius = min((reach.radius for reach in reaches if reach.grows), default=radius)
    return LinearReach(radius, any(reach.grows for reach in reaches), max(reach.slope for reach in reaches))


def _least(ledger: Ledger, ways: Floats, grain: Grain) -> list[LinearReach]:
    """Return the reach of a ray, and of another one if that is suspiciously large or has none.

    A ray almost within a kink goes far; one on which units cancel drowns in their rounding.
    """
    reaches = []
    for way in ways:
        reach = _along(ledger, way, grain)
        if reach is not None:
            reaches.append(reach)
            if reach.radius <= REACH.suspicious:
                break
    return reaches


def farthest_radius(grain: Grain) -> float:
    """Return the radius at which the search for a straight ray ends."""
    return float(_radii(grain)[-1])


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


def odd_part_is_linear(ledger: Ledger, reach: LinearReach, rng: np.random.Generator) -> bool:
    """Say whether ``f(x) - f(-x)`` adds up far out; 6 queries.

    Every unit with straight ends has ``f(z) - f(-z) = z`` up to its offset, and all of them together leave a linear
    function. A second layer takes the kinks of the first into its own units, and does not.
    """
    x, y = ODD_PART.radius * reach.radius * orthonormal_rows(2, ledger.n_features, rng)
    ways = np.array([x, y, x + y])
    answers = ledger.ask(np.concatenate([ways, -ways]), "depth")
    odd = answers[:3] - answers[3:]
    return bool(abs(odd[0] + odd[1] - odd[2]) <= ODD_PART.adds_up * np.abs(answers).max())
