"""Arcs of a circle on which two units cannot be told apart by plateaus, and all samples of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...checking import Floats
from ..asking import Ledger
from .circle import CircleScan
from .families import Slope
from .frames import PlaneFrame
from .net import Net
from .scan import Step

__all__ = ["Arc", "ArcSamples", "suspected_arcs"]


@dataclass(frozen=True)
class ArcSamples:
    """ArcSamples of an arc at several radii, without the other units.

    Attributes
    ----------
    along : (n,) array
        Distance from the arc's centre along the circle's tangent.
    grown : (n,) array
        Distance outwards over the circle's radius, less one.
    values : (n,) array
        Less the mean of the two plateaus.
    """

    along: Floats
    grown: Floats
    values: Floats


@dataclass(frozen=True)
class Arc:
    """A part of a circle between two plateaus.

    Attributes
    ----------
    frame : PlaneFrame
    radius : float
    low, high, center : float
        Angles of the plateaus, and one in between.
    level, half : float
        Mean and half the difference of the plateaus, without the known units.
    first_row : int
        Stored rows from this one on may lie on it.
    """

    frame: PlaneFrame
    radius: float
    low: float
    high: float
    center: float
    level: float
    half: float
    first_row: int

    def samples(self, ledger: Ledger, known: Net) -> ArcSamples:
        """Collect what was asked on the arc and beyond it; no queries."""
        rows, answers = ledger.X[self.first_row :], ledger.y[self.first_row :]
        flat = rows @ self.frame.plane.T
        radius, angle = np.hypot(*flat.T), np.arctan2(flat[:, 1], flat[:, 0])
        inside = np.abs(radius - np.linalg.norm(rows, axis=1)) < 1e-9 * radius
        inside &= (angle >= self.low) & (angle <= self.high) & (radius > 0.9 * self.radius)
        values = answers[inside] - known.predict(rows[inside]) - self.level
        turn = angle[inside] - self.center
        return ArcSamples(radius[inside] * np.sin(turn), radius[inside] * np.cos(turn) / self.radius - 1, values)

    def moved(self, along: float) -> Arc:
        """Return the same arc, measured from a centre that is `along` away from the present one."""
        return replace(self, center=self.center + float(np.arctan2(along, self.radius)))

    def ask(self, ledger: Ledger, along: Floats, grown: float) -> None:
        """Ask at places given as in :class:`ArcSamples`, as far as they lie on the arc."""
        outward = self.radius * (1 + grown)
        angles = self.center + np.arctan2(along, outward)
        on_arc = (angles > self.low) & (angles < self.high)
        ledger.ask(self.frame.on_circle(np.hypot(along, outward)[on_arc], angles[on_arc]), "pairs")


def suspected_arcs(scan: CircleScan, impure: list[Step], known: Net, before: Net, first_row: int) -> list[Arc]:
    """Return the arcs of a scan that were not understood and, beside them, steps that turned out not to be one unit.

    Parameters
    ----------
    known, before : Net
        All other units, and those that were known when the scan began.
    first_row : int
        Number of rows stored then.
    """
    found = []
    for slope in scan.slopes:
        inside = (scan.unresolved[:, 0] <= slope.angles[-1]) & (scan.unresolved[:, 1] >= slope.angles[0])
        if inside.any():
            center = float(scan.unresolved[inside].mean())
            found.append(_between(scan.frame, scan.radius, slope, center, known, before, first_row))
    for step in impure:
        reach = 2 * known.link.flat / step.rate
        ends = np.array([step.center - reach, step.center + reach])
        slope = Slope(ends, step.level + step.weight * np.array([-1.0, 1.0]))
        found.append(_between(scan.frame, step.radius, slope, step.center, known, before, first_row))
    return found


def _between(
    frame: PlaneFrame, radius: float, slope: Slope, center: float, known: Net, before: Net, first_row: int
) -> Arc:
    """Return the arc between a slope's ends, whose values are without the units known before."""
    ends = frame.on_circle(radius, slope.angles[[0, -1]])
    bottom, top = slope.values[[0, -1]] + before.predict(ends) - known.predict(ends)
    low, high = slope.angles[[0, -1]]
    return Arc(
        frame, radius, float(low), float(high), center, 0.5 * float(bottom + top), 0.5 * float(top - bottom), first_row
    )
