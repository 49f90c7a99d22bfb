"""The cells that a path passes through: where to stand in each, and how far the kinks are from there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from .kink_network import Shape
from .segments import Segment, SegmentFit


@dataclass(frozen=True)
class Cell:
    """Where the gradient of a cell is measured.

    Attributes
    ----------
    place : (2,) array
        In the plane's coordinates.
    value, value_error : float
        Of the function there; errors are in rounding errors of one answer.
    slope, slope_error : float
        Along the segment.
    aside : float or None
        Slope in the plane across the segment, where it is known: in the cell of the corner, which has two segments.
    room : float
        Distance to the nearest transition along the segment.
    """

    segment: Segment
    place: Floats
    value: float
    value_error: float
    slope: float
    slope_error: float
    aside: float | None
    room: float


@dataclass(frozen=True)
class Crossing:
    """Where a unit's hyperplane meets the path.

    Attributes
    ----------
    place : (2,) array
        In the plane's coordinates.
    change : float
        Of the slope along the segment.
    weight : float
        Of the unit; the sign of the change where it is sharp.
    weight_error : float
    """

    segment: Segment
    place: Floats
    change: float
    weight: float
    weight_error: float
    turn: float


def crossings_of(segments: tuple[SegmentFit, ...], shape: Shape, sigma: float) -> list[Crossing]:
    """Return the crossings in the order of the path."""
    return [
        Crossing(
            segment.scan.segment,
            segment.scan.segment.in_plane(kink.place),
            kink.change,
            weight := float(np.sign(kink.change)) if shape.sharp else kink.change / kink.width,
            abs(weight) * float(error),
            kink.turn,
        )
        for segment in segments
        for kink, error in zip(segment.kinks, sigma * segment.width_errors())
    ]


class StraightPart(NamedTuple):
    """A straight stretch of a segment between two transitions."""

    start: float
    end: float

    @property
    def mean(self) -> float:
        """Halfway."""
        return 0.5 * (self.start + self.end)

    @property
    def half(self) -> float:
        """Distance from the middle to an end."""
        return 0.5 * (self.end - self.start)


def straight_parts(segment: SegmentFit, shape: Shape, sigma: float) -> list[StraightPart]:
    """Return the straight stretches of a segment, one more than it has kinks."""
    # A rest is gone where it is below rounding: its height is change / width times that of the shape.
    reach = [
        shape.blur if shape.sharp else shape.flat(sigma * k.width / abs(k.change)) / k.width for k in segment.kinks
    ]
    starts = [0.0, *(k.place + r for k, r in zip(segment.kinks, reach))]
    ends = [*(k.place - r for k, r in zip(segment.kinks, reach)), segment.scan.segment.length]
    return [StraightPart(a, b) for a, b in zip(starts, ends)]


def bases_of(segments: tuple[SegmentFit, SegmentFit], shape: Shape, sigma: float) -> list[Cell]:
    """Return a base in the middle of every cell, in the order of the path; the corner's cell has both slopes."""
    found: list[list[Cell]] = []
    for segment in segments:
        line, parts = segment.scan.segment, straight_parts(segment, shape, sigma)
        values, value_errors = segment.at(shape, np.array([part.mean for part in parts]))
        numbers = zip(parts, values, value_errors, segment.slopes(), segment.slope_errors())
        found.append(
            [
                Cell(line, line.in_plane(part.mean), y, y_error, slope, slope_error, None, part.half)
                for part, y, y_error, slope, slope_error in numbers
            ]
        )
    first, second = found
    return [*first[:-1], _joined(first[-1], second[0]), *second[1:]]


def _joined(before: Cell, after: Cell) -> Cell:
    """Return the roomier of two bases in one cell, with both slopes in the plane, and the worse error of them: the
    segment with less room may end right behind a kink."""
    base, other = (before, after) if before.room >= after.room else (after, before)
    across = base.segment.aside
    # slope of the other segment = slope * <way, other way> + aside * <across, other way>
    # The corner's cell has slopes along two directions w, v of the plane: with w and across as basis,
    # slope_v = slope_w <w, v> + aside <across, v> is solved for the slope across.
    slanted = float(across @ other.segment.way)
    aside = (other.slope - base.slope * float(base.segment.way @ other.segment.way)) / slanted
    return replace(base, aside=float(aside), slope_error=max(base.slope_error, other.slope_error / abs(slanted)))


def distinct_crossings(jumps: Floats, tolerances: Floats) -> NDArray[np.bool_]:
    """Return which crossings are no second ones of a unit that leaves the path's side again, with the opposite jump."""
    keep = np.ones(len(jumps), dtype=np.bool_)
    for later in range(1, len(jumps)):
        # A unit that a path crosses twice shows opposite jumps, since it is switched on at one crossing and off at
        # the other.
        apart = np.linalg.norm(jumps[:later] + jumps[later], axis=1)
        keep[later] = not (keep[:later] & (apart < tolerances[later])).any()
    return keep


def flat_sizes(crossings: list[Crossing], shape: Shape, sigma: float) -> Floats:
    """Return the size of the arguments, times the weight, beyond which each unit is straight; shape (k,)."""
    if shape.sharp:
        return shape.blur * np.abs([crossing.change for crossing in crossings])
    sizes = np.abs([crossing.weight for crossing in crossings])
    return np.array([shape.flat(sigma / size) * size for size in sizes])


def room_to_kinks(places: Floats, normals: Floats, crossings: list[Crossing], flats: Floats) -> Floats:
    """Return by how much a unit's argument (times its weight) may change before its transition begins, (cells, k).

    Parameters
    ----------
    places : (cells, 2) array
    normals : (k, 2) array
        Jumps of the gradient within the plane.
    flats : (k,) array
        Size of the arguments, times the weight, beyond which a unit is straight.
    """
    met = np.array([crossing.place for crossing in crossings]).reshape(-1, 2)
    # The argument of unit l, times its weight, is <J_l, x - x_l> for any point x_l where its hyperplane is met.
    sizes = np.abs(places @ normals.T - (normals * met).sum(axis=1))  # (cells, k)
    return np.asarray(sizes - flats)
