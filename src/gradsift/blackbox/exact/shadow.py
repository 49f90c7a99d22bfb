"""Known units as a plane shows them: an input there is two numbers, however many coordinates it has."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...checking import Floats
from .frames import PlaneFrame, from_polar
from .net import Net

__all__ = ["Shadow", "shadow_on"]


class Shadow(NamedTuple):
    """Known units on a plane: (k, 2) parts of the units in it, and (2,) of the linear term or None."""

    known: Net
    units: Floats
    linear: Floats | None

    def arguments(self, radius: float | Floats, angles: Floats) -> Floats:
        """Return the (n, k) arguments at polar coordinates; O(n k) instead of O(n k d)."""
        return np.asarray(from_polar(radius, angles) @ self.units.T + self.known.b)

    def predict(self, radius: float | Floats, angles: Floats, arguments: Floats | None = None) -> Floats:
        """Return the values at polar coordinates, (n,), from the arguments there if these are at hand."""
        known, z = self.known, self.arguments(radius, angles) if arguments is None else arguments
        values = known.link.odd.value(z) @ known.u + known.c
        return np.asarray(values if self.linear is None else values + from_polar(radius, angles) @ self.linear)


def shadow_on(frame: PlaneFrame, known: Net) -> Shadow:
    """Return known units on the plane of a frame; O(k d)."""
    return Shadow(known, known.a @ frame.plane.T, None if known.linear is None else frame.plane @ known.linear)
