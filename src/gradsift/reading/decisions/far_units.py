"""Hyperplanes of sigmoid units from decisions far out, where all units but one stand still.

A far boundary is a piece of one unit's hyperplane, at a height that the signs of all others decide. Circles meet the
units that decide somewhere; tracks along a boundary meet those that only move its height.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...arguments import Floats
from ...certificate import BOUND
from ...tuned import FACTOR, TRIES
from .boundary import (
    Classes,
    Crossings,
    Decider,
    FlatFace,
    joined,
    lines_beside,
    orthogonal_basis,
    orthogonal_direction,
    plane_at,
)
from .settings import DecisionPolicy


class Direction(NamedTuple):
    """What far decisions tell of a unit's direction.

    Attributes
    ----------
    normal : (d,) array
    free : (d,) array
        A direction along which its component is not known; zero where all are.
    """

    normal: Floats
    free: Floats


class FarPlace(NamedTuple):
    """A boundary point of one unit, (d,), not far enough out for its direction's error to count."""

    unit: int
    at: Crossings


@dataclass
class FarUnits:
    """What is known so far of the hyperplanes.

    Attributes
    ----------
    decider : Decider
    policy : DecisionPolicy
    directions : list of Direction
    anchors : list of FarPlace
        Of the units that decide somewhere.
    crossings : list of Crossings
        All equations.
    rows, classes : lists of arrays
        Far inputs and their classes.
    """

    decider: Decider
    policy: DecisionPolicy
    rng: np.random.Generator
    directions: list[Direction] = field(default_factory=list)
    anchors: list[FarPlace] = field(default_factory=list)
    crossings: list[Crossings] = field(default_factory=list)
    rows: list[Floats] = field(default_factory=list)
    classes: list[Classes] = field(default_factory=list)

    @property
    def normals(self) -> Floats:
        """Directions of the units found so far, (k, d)."""
        return np.array([w.normal for w in self.directions]).reshape(-1, self.decider.n_features)

    @property
    def reach(self) -> float:
        """Length of tracks: at three times the radius a fifth of the hyperplanes is not met."""
        return FACTOR * self.policy.inner

    @property
    def beside(self) -> float:
        """Distance of tracks from the boundary, beyond the error of its direction at their ends."""
        return self.reach * self.error

    @property
    def error(self) -> float:
        """Error bound of a direction that was found by bisection, an angle."""
        return BOUND * self.policy.digits * float(np.sqrt(self.decider.n_features / 3.0))

    def add(self, plane: FlatFace) -> int | None:
        """Take up a unit that decides, and a place on its boundary nearer to the origin; None where it is known."""
        policy, cosines = self.policy, np.abs(self.normals @ plane.normal)
        self.crossings.append(plane.at)
        if (cosines > 1 - policy.passes**2).any():
            return None
        self.directions.append(Direction(plane.normal, np.zeros_like(plane.normal)))
        unit = len(self.directions) - 1
        self.decider.ledger.n_units = unit + 1
        anchor = self.place(plane)
        if anchor is not None:
            self.anchors.append(FarPlace(unit, anchor))
            self.crossings.append(anchor)
        return unit

    def place(self, plane: FlatFace) -> Crossings | None:
        """Cross the boundary of a plane again where its direction's error is a thousandth of the distance there."""
        policy, w = self.policy, plane.normal
        height = float(w @ plane.point)
        foot = (plane.point - height * w) * (policy.inner / policy.far) + height * w
        found, met = self.decider.cross(
            foot[None], w[None], plane.below, plane.above, self.error * policy.far, policy.clear * self.beside
        )
        return found if met.all() else None


def far_circle(far: FarUnits) -> list[FlatFace]:
    """Return new units from the changes of the decision on one far circle."""
    decider, policy, d = far.decider, far.policy, far.decider.n_features
    decider.step = "far circles"
    plane = np.linalg.qr(far.rng.standard_normal((d, 2)))[0].T  # (2, d)
    angles = np.sort(2 * np.pi * (np.arange(policy.samples) + far.rng.random()) / policy.samples)
    # A known unit is crossed at two angles: a sample on either side of each explains the change there.
    crossed = (
        np.array([np.arctan2(-w @ plane[0], w @ plane[1]) for w in far.normals]) if far.directions else np.empty(0)
    )
    known = np.concatenate([crossed, crossed + np.pi]) % (2 * np.pi)
    passes = policy.passes
    angles = np.sort(np.concatenate([angles, known - passes, known + passes]) % (2 * np.pi))
    X = policy.far * (np.cos(angles)[:, None] * plane[0] + np.sin(angles)[:, None] * plane[1])
    classes = decider.ask(X)
    far.rows.append(X)
    far.classes.append(classes)
    found: list[FlatFace] = []
    follow, after, ends = np.roll(X, -1, axis=0), np.roll(classes, -1), np.roll(angles, -1)
    middle = (angles + 0.5 * ((ends - angles) % (2 * np.pi))) % (2 * np.pi)
    for i in np.flatnonzero(classes != after):
        gap = np.abs((middle[i] - known + np.pi) % (2 * np.pi) - np.pi)
        if (gap < 1.01 * passes).any():
            continue
        if any(_explained(p, X[i], follow[i]) for p in found):
            continue  # the other side of the circle met a unit of this circle already
        way = follow[i] - X[i]
        length = float(np.linalg.norm(way))
        at = decider.halve(
            X[i : i + 1], way[None] / length, np.zeros(1), np.array([length]), classes[i : i + 1], after[i : i + 1],
            policy.digits * policy.step * policy.far,
        )  # fmt: skip
        if any(abs(p.normal @ at.points[0]) < passes * policy.far for p in found):
            continue
        new = plane_at(decider, at, policy.step * policy.far, policy.digits)
        # A unit's hyperplane passes the origin at a distance of a few inputs: whatever else jumps there is none.
        if new is not None and abs(new.normal @ new.point) < passes * policy.far:
            found.append(new)
    return found


def _explained(plane: FlatFace, first: Floats, second: Floats) -> bool:
    return bool((plane.normal @ first) * (plane.normal @ second) < 0)


class Departure(NamedTuple):
    """Where the tracks beside a boundary leave it: the unit whose boundary it is, the way, and how far along."""

    unit: int
    way: Floats
    start: Floats
    distance: float
    below: int
    above: int


def departure(far: FarUnits, anchor: FarPlace, way: Floats) -> Departure | None:
    """Follow two tracks beside a boundary along a way that no known unit sees; None where both stay to their ends."""
    decider, policy, w = far.decider, far.policy, far.directions[anchor.unit].normal
    decider.step = "tracks"
    x, beside = anchor.at.points[0], far.beside * w
    below, above = int(anchor.at.below[0]), int(anchor.at.above[0])

    def in_order(distances: Floats) -> list[bool]:
        X = x + distances[:, None] * way
        seen = decider.ask(np.concatenate([X - beside, X + beside])).reshape(2, -1)
        return [bool(a == below and b == above) for a, b in seen.T]

    ends = far.reach * np.array([1.0, -1.0])
    stays = in_order(ends)
    if all(stays):
        return None
    sign = float(np.sign(ends[stays.index(False)]))
    # Halve the way in its logarithm: the unit may be met at any scale.
    low, high = np.log(policy.passes * policy.inner), np.log(far.reach)
    while high - low > policy.passes:
        middle = 0.5 * (low + high)
        if in_order(np.array([sign * np.exp(middle)]))[0]:
            low = middle
        else:
            high = middle
    return Departure(anchor.unit, sign * way, x, float(np.exp(high)), below, above)


class HiddenCrossing(NamedTuple):
    """A line that crosses a hidden unit's hyperplane, and the unit whose height it holds; None: the new one decides."""

    at: Crossings
    held: int | None


def hidden_crossing(far: FarUnits, left: Departure) -> HiddenCrossing | None:
    """Go out along a departure to where the hidden unit is met alone, and return a crossing of its hyperplane."""
    decider, policy = far.decider, far.policy
    w = far.directions[left.unit].normal
    scale = policy.far / policy.inner
    height = float(w @ left.start)
    place = (left.start + left.distance * left.way - height * w) * scale + height * w
    margin = max(0.1 * left.distance * scale, 0.03 * policy.far)
    off = policy.clear * policy.far
    # Just behind the crossing, well off the known hyperplane: does the new unit decide on either side of it?
    behind = place + margin * left.way
    seen = decider.ask(np.array([behind - off * w, behind + off * w]))
    width = np.array([policy.digits * policy.step * policy.far])
    for side, before, after in ((-1.0, left.below, seen[0]), (1.0, left.above, seen[1])):
        if before != after:
            start = place + side * off * w
            ends = decider.ask((start - margin * left.way)[None])
            if ends[0] != before:
                return None
            at = decider.halve(
                start[None], left.way[None], np.array([-margin]), np.array([margin]), np.array([before]),
                np.array([after]), width,
            )  # fmt: skip
            return HiddenCrossing(at, None)
    # Else the boundary goes on at another height: at one between both the class changes where the new unit does.
    X = np.array([place - margin * left.way, behind])
    heights, met = decider.cross(X, np.stack([w, w]), left.below, left.above, 0.1, policy.clear * far.beside, TRIES)
    if not met.all():
        return None
    first, second = ((heights.points - X) @ w).tolist()
    if abs(first - second) < 0.5 * far.beside:
        return None
    start = place + 0.5 * (first + second) * w
    before, after = (left.above, left.below) if second > first else (left.below, left.above)
    at = decider.halve(
        start[None], left.way[None], np.array([-margin]), np.array([margin]), np.array([before]), np.array([after]),
        width,
    )  # fmt: skip
    return HiddenCrossing(at, left.unit)


def hidden_unit(far: FarUnits, left: Departure) -> bool:
    """Find the direction of the unit behind a departure; False where two units meet there."""
    decider, policy = far.decider, far.policy
    seen = hidden_crossing(far, left)
    if seen is None:
        return False
    decider.step = "hidden units"
    step = policy.step * policy.far
    if seen.held is None:
        plane = plane_at(decider, seen.at, step, policy.digits)
        passes = plane is not None and abs(float(plane.normal @ plane.point)) < policy.passes * policy.far
        return passes and plane is not None and far.add(plane) is not None
    # At that height only displacements within the known hyperplane count: one component stays open.
    w, D = far.directions[seen.held].normal, seen.at.ways[0]
    basis = orthogonal_basis(np.stack([w, D]))
    found = lines_beside(decider, seen.at, basis, step, policy.digits)
    if found is None:
        return False
    normal = D - ((found.points - seen.at.points[0]) @ D / step) @ basis
    normal = normal / np.linalg.norm(normal)
    far.crossings.append(joined([seen.at, found]))
    direction = _closed(far, Direction(normal, w))
    if (np.abs(far.normals @ direction.normal) > 1 - policy.passes**2).any():
        return False
    far.directions.append(direction)
    decider.ledger.n_units = len(far.directions)
    return True


def _closed(far: FarUnits, open_one: Direction) -> Direction:
    """Find the open component from the boundary of another known unit, if one is moved by this one, too."""
    policy, normals = far.policy, far.normals
    for anchor in far.anchors:
        w = normals[anchor.unit]
        if abs(w @ open_one.free) > 1 - policy.passes**2:
            continue
        # The way crosses the new hyperplane and no known one.
        way = open_one.normal - normals.T @ np.linalg.lstsq(normals.T, open_one.normal, rcond=None)[0]
        left = departure(far, anchor, way / np.linalg.norm(way))
        seen = None if left is None else hidden_crossing(far, left)
        if seen is None:
            continue
        x = seen.at.points[0]
        along = float(open_one.free @ x)
        if abs(along) < policy.clear * policy.far:
            continue
        amount = -float(open_one.normal @ x) / along
        across = open_one.free - (open_one.free @ w) * w
        across /= np.linalg.norm(across)
        found = lines_beside(far.decider, seen.at, across[None], policy.step * policy.far, policy.digits)
        if found is None:
            continue
        # n + g f is orthogonal to the displacement between both crossings.
        moved = found.points[0] - x
        exact = -float(open_one.normal @ moved) / float(open_one.free @ moved)
        if abs(exact - amount) > policy.agrees * (1 + abs(amount)):
            continue
        far.crossings.append(joined([seen.at, found]))
        normal = open_one.normal + exact * open_one.free
        return Direction(normal / np.linalg.norm(normal), np.zeros_like(normal))
    return open_one


def more_places(far: FarUnits) -> None:
    """Find further far places at which known units decide, where others have other signs; and close open directions.

    Two queries tell whether a unit decides at a place of its hyperplane; only there it is crossed.
    """
    decider, policy, d = far.decider, far.policy, far.decider.n_features
    decider.step = "anchors"
    known = [unit for unit, w in enumerate(far.directions) if not w.free.any()]
    units = np.repeat(known, TRIES)
    w = far.normals[units]
    X = far.rng.standard_normal((len(units), d))
    X -= np.sum(X * w, axis=1, keepdims=True) * w
    X *= policy.inner / np.linalg.norm(X, axis=1, keepdims=True)
    aside = 0.1 * policy.clear * policy.far * w
    below, above = decider.ask(np.concatenate([X - aside, X + aside])).reshape(2, -1)
    decides = np.flatnonzero(below != above)
    # A bracket is widened once only: further off another unit is met.
    found, met = decider.cross(
        X[decides], w[decides], below[decides], above[decides], 2.0, policy.clear * far.beside, expansions=1
    )
    # Where it is the unit's own boundary it goes on at this height; close by another unit may be met.
    for place, unit in enumerate(units[decides[met]].tolist()):
        at = found.take(slice(place, place + 1))
        way = orthogonal_direction(at.ways, d, far.rng)
        ends = at.points + policy.clear * policy.inner * np.stack([way, -way])
        if decider.foretold(ends, at.ways, int(at.below[0]), int(at.above[0]), far.beside):
            far.anchors.append(FarPlace(unit, at))
    far.crossings.append(found)
    far.directions = [_closed(far, w) if w.free.any() else w for w in far.directions]


def find_units(far: FarUnits) -> str:
    """Find all units whose hyperplanes the far boundary shows; return why that ended, "" where all is complete."""
    policy, d = far.policy, far.decider.n_features
    for _ in range(policy.rounds):
        for plane in far_circle(far):
            far.add(plane)
        if far.anchors:
            break
    if not far.anchors:
        return "no unit decides far out"
    quiet = failed = 0
    while quiet < policy.quiet:
        if len(far.directions) >= d:
            return "as many units as inputs"
        anchor = far.anchors[int(far.rng.integers(len(far.anchors)))]
        left = departure(far, anchor, orthogonal_direction(far.normals, d, far.rng))
        quiet = quiet + 1 if left is None else 0
        if left is not None and not hidden_unit(far, left):
            failed += 1
            if failed > TRIES * (1 + len(far.directions)):
                return "places where two units meet"
    return ""
