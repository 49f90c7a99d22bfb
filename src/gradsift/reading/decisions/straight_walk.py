"""A walk along the boundary of a network with kinks: straight until a unit's hyperplane bends it, piece after piece.

Every way is orthogonal to all normals met so far, so that no unit met so far moves: the next bend is a new unit's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arguments import Floats
from ...tuned import FACTOR, TRIES
from .boundary import Crossings, Decider, FlatFace, joined, orthogonal_direction, plane_at
from .settings import DecisionPolicy

_LENGTHS = (4.0, 40.0, 1e4)  # of tracks, in usual inputs


class FlatPiece(NamedTuple):
    """A flat piece of the boundary: its plane, and the place (d,) on it from which the walk goes on."""

    plane: FlatFace
    place: Floats

    @property
    def normal(self) -> Floats:
        return self.plane.normal

    @property
    def value(self) -> float:
        """The piece is where ``<normal, x> = value``."""
        return float(self.plane.normal @ self.plane.point)


class Tracks(NamedTuple):
    """Two tracks beside a piece that open with the error of its normal."""

    decider: Decider
    piece: FlatPiece
    policy: DecisionPolicy

    def width(self, distances: Floats) -> Floats:
        """Return how far from the piece the tracks are at these distances, (n,)."""
        tilt = 4 * self.policy.digits * np.sqrt(len(self.piece.normal))
        return np.asarray(self.policy.kink + tilt * distances)

    def holds(self, way: Floats, distances: Floats) -> list[bool]:
        """Say at which distances along a way both tracks have their own class."""
        plane = self.piece.plane
        beside = self.width(distances)[:, None] * plane.normal
        X = self.piece.place + distances[:, None] * way
        seen = self.decider.ask(np.concatenate([X - beside, X + beside])).reshape(2, -1)
        return [bool(a == plane.below and b == plane.above) for a, b in seen.T]

    def first_departure(self, way: Floats) -> float | None:
        """Return where the tracks leave the piece along a way; None where they stay."""
        low, high = 0.0, TRIES * self.policy.clear
        while self.holds(way, np.array([high]))[0]:
            low, high = high, TRIES * high
            if high > _LENGTHS[-1]:
                return None
        return self.departure(way, low, high)

    def departure(self, way: Floats, low: float, high: float) -> float:
        """Return where the tracks leave the piece, between a distance in order and one that is not."""
        for _ in range(3):
            bottom = low
            while high - low > self.policy.first_width * max(1.0, self.policy.clear * high):
                middle = 0.5 * (low + high)
                if self.holds(way, np.array([middle]))[0]:
                    low = middle
                else:
                    high = middle
            # It is the first bend only if all is in order before it.
            tests = bottom + (high - bottom) * np.array([0.98, 0.8, 0.55, 0.3])
            early = [t for t, ok in zip(tests, self.holds(way, tests)) if not ok and t < low]
            if not early:
                break
            low, high = bottom, float(min(early))
        return high


def bend_at(decider: Decider, piece: FlatPiece, corner: Floats, way: Floats, radius: float) -> Crossings | None:
    """Return the crossing of the next piece on a circle about a corner (d,), however sharp the fold is.

    The circle lies in the plane of the way and the old normal; another class beyond the fold is no bend.
    """
    plane = piece.plane

    def on_circle(angle: float) -> Floats:
        return np.asarray(corner + radius * (np.cos(angle) * way + np.sin(angle) * plane.normal))

    ahead = int(decider.ask(on_circle(0.0)[None])[0])
    if ahead not in (plane.below, plane.above):
        return None
    # Straight ahead is the class of one side: the new piece is met on the way round to the old piece's other side.
    side, other = (-1.0, plane.below) if ahead == plane.above else (1.0, plane.above)
    low, high = 0.0, np.pi - 0.02
    if int(decider.ask(on_circle(side * high)[None])[0]) != other:
        return None
    while high - low > 0.05:
        middle = 0.5 * (low + high)
        if int(decider.ask(on_circle(side * middle)[None])[0]) == ahead:
            low = middle
        else:
            high = middle
    ends = np.array([on_circle(side * low), on_circle(side * high)])
    if ahead == plane.above:
        ends = ends[::-1]  # lines run from the class below to the one above
    chord = ends[1] - ends[0]
    length = float(np.linalg.norm(chord))
    at = decider.halve(
        ends[:1], chord[None] / length, np.zeros(1), np.array([length]), np.array([plane.below]),
        np.array([plane.above]), 1e-7 * radius,
    )  # fmt: skip
    return at if int(at.above[0]) == plane.above else None


def next_piece(
    decider: Decider, piece: FlatPiece, way: Floats, distance: float, policy: DecisionPolicy
) -> FlatPiece | None:
    """Return the piece behind a bend, with a place well away from it; None where it cannot be told."""
    corner = piece.place + distance * way
    at = bend_at(decider, piece, corner, way, policy.clear)
    if at is None:
        return None
    decider.step = "normals"
    for step in (policy.step, policy.step / FACTOR):
        fine, met = decider.cross(at.points, at.ways, piece.plane.below, piece.plane.above, 1e-4 * policy.clear,
                                  policy.digits * step)  # fmt: skip
        plane = plane_at(decider, fine, step, policy.digits) if met.all() else None
        if plane is not None:
            break
    else:
        return None
    decider.step = "walk"
    # Both pieces meet in the corner: the new one must pass it.
    apart = abs(float(plane.normal @ (corner - plane.point)))
    if apart > 0.1 * policy.clear or abs(float(plane.normal @ piece.normal)) > 1 - 1e-9:
        return None
    out = at.points[0] - corner
    out = out - (out @ plane.normal) * plane.normal
    out /= np.linalg.norm(out)
    new = FlatPiece(plane, plane.point)
    for length in policy.clear * FACTOR ** np.array([2.0, 1.0]):
        if Tracks(decider, new, policy).holds(out, np.array([length, 0.5 * length])) == [True, True]:
            return FlatPiece(plane, plane.point + length * out)
    return new


def walk(
    decider: Decider, start: Crossings, policy: DecisionPolicy, rng: np.random.Generator, pieces: list[FlatPiece]
) -> list[FlatPiece]:
    """Return the pieces of a walk from one crossing, or on from these, until no way that is orthogonal to all of them
    bends; [] where the boundary is not flat at its start."""
    pieces = pieces or [*first_piece(decider, start, policy)]
    while pieces and len(pieces) < decider.n_features:
        decider.step = "walk"
        decider.ledger.n_units = len(pieces) - 1
        found = _one_bend(decider, pieces, policy, rng)
        if found is None:
            break
        pieces = [*pieces, found]
    return pieces


def first_piece(decider: Decider, start: Crossings, policy: DecisionPolicy) -> list[FlatPiece]:
    """Return the piece about a crossing, alone in a list; [] where the boundary is not flat there."""
    decider.step = "normals"
    for step in (policy.step, policy.step / FACTOR):
        fine, met = decider.cross(start.points, start.ways, start.below, start.above, 1e-6, policy.digits * step)
        plane = plane_at(decider, fine, step, policy.digits) if met.all() else None
        if plane is not None:
            return [FlatPiece(plane, plane.point)]
    return []


def _one_bend(
    decider: Decider, pieces: list[FlatPiece], policy: DecisionPolicy, rng: np.random.Generator
) -> FlatPiece | None:
    """Return the next piece of a walk; None where tracks of all lengths stay on the last one."""
    normals = np.array([piece.normal for piece in pieces])
    tracks = Tracks(decider, pieces[-1], policy)
    failed = 0
    for length in _LENGTHS:
        for _ in range(policy.quiet):
            way = orthogonal_direction(normals, decider.n_features, rng)
            for side in (1.0, -1.0):
                if tracks.holds(side * way, np.array([length]))[0]:
                    continue
                found = next_piece(decider, pieces[-1], side * way, tracks.departure(side * way, 0.0, length), policy)
                if found is not None:
                    return found
                failed += 1
                if failed > 2 * policy.quiet:
                    return None
    return None


def crossing_again(decider: Decider, piece: FlatPiece, way: Floats, policy: DecisionPolicy) -> Crossings | None:
    """Return two crossings behind the first bend along a way, in the plane of the way and the piece's normal."""
    decider.step = "angles"
    distance = Tracks(decider, piece, policy).first_departure(way)
    if distance is None:
        return None
    corner = piece.place + distance * way
    radius = min(policy.clear, 0.2 * distance)
    first = bend_at(decider, piece, corner, way, radius)
    if first is None:
        return None
    # Twice as far out on the same line: both together tell where exactly the bend is.
    out = first.points[0] - corner
    second, met = decider.cross(
        (corner + 3 * out)[None], first.ways, piece.plane.below, piece.plane.above, 0.05 * radius, 1e-7 * radius
    )
    return joined([first, second]) if met.all() else None
