"""The path on which kinks are looked for: two legs around half of a square, far out in a random plane."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...checking import Floats
from ...geometry import orthonormal_rows
from ..exact.frames import PlaneFrame, frame_through

__all__ = ["Leg", "Path", "half_square", "joined_legs"]


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
