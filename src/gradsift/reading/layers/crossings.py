"""Far circles: where answers change between plateaus there is a hyperplane of the first layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...arguments import Floats
from ...geometry import orthonormal_rows
from ...tuned import TRIES
from ..ledger import EPS, Ledger
from ..searches import Search, search_all
from .hyperplanes import FirstLayer, Plane, read_plane
from .settings import COARSE_READING, EXACT_READING, POLICY, ReadingPolicy

# Of the angle between circle and hyperplane, below which a crossing is not kept clear of; 30 known crossings leave no
# room to a unit between them otherwise.
_LEAST_SINE = 0.05


@dataclass
class _Circle:
    """A half circle far out: its plane (2, d), radius, and the answers so far, by angle."""

    frame: Floats
    radius: float
    angles: Floats
    values: Floats

    def at(self, angles: Floats) -> Floats:
        return np.asarray(
            self.radius * (np.cos(angles)[:, None] * self.frame[0] + np.sin(angles)[:, None] * self.frame[1])
        )

    def take(self, angles: Floats, values: Floats) -> None:
        order = np.argsort(np.append(self.angles, angles), kind="stable")
        self.angles = np.append(self.angles, angles)[order]
        self.values = np.append(self.values, values)[order]

    def crossings(self, known: FirstLayer) -> Floats:
        """Return where known hyperplanes meet the half circle, (n, 2): sorted angles, and the turns to either side
        within which the unit moves."""
        found = []
        for normal, level in zip(known.normals, known.offsets):
            # On the circle <normal, x> is a cosine of the angle: it equals the level at two angles, or nowhere.
            flat = self.frame @ normal
            size = float(np.hypot(*flat)) * self.radius
            if abs(level) < size:
                both = np.arctan2(flat[1], flat[0]) + np.array([-1, 1]) * np.arccos(level / size)
                turn = 2 * known.margin / max(size, _LEAST_SINE * self.radius)
                found += [(a % (2 * np.pi), turn) for a in both if a % (2 * np.pi) < np.pi]
        return np.array(sorted(found)).reshape(-1, 2)


class _Gap(NamedTuple):
    """An interval of angles, and the answers at its ends."""

    low: float
    high: float
    at_low: float
    at_high: float

    @property
    def jump(self) -> float:
        return abs(self.at_high - self.at_low)


def reading_of(ledger: Ledger) -> ReadingPolicy:
    """Return how to read hyperplanes through the answers of this ledger."""
    return EXACT_READING if ledger.eps == EPS else COARSE_READING


def find_planes(ledger: Ledger, known: FirstLayer, radius: float, rng: np.random.Generator) -> FirstLayer:
    """Find the hyperplanes of the first layer on half circles of this radius, until three in a row show nothing new.

    Notes
    -----
    About 45 + d queries per unit: 15 to find it, d + 13 to read it, the rest to see that there are no more.
    """
    quiet = 0
    for _ in range(POLICY.most_rounds):
        circle = _Circle(orthonormal_rows(2, ledger.n_features, rng), radius, np.empty(0), np.empty(0))
        looked = _look(ledger, circle, known, rng)
        quiet = quiet + 1 if looked.complete and len(looked.known) == len(known) and len(known) else 0
        known = looked.known
        if quiet >= POLICY.tries or _spent(ledger, known):
            break
    return known


def _spent(ledger: Ledger, known: FirstLayer) -> bool:
    """Say whether more was asked for the first layer than its units can explain: it is something else."""
    fixed, each = POLICY.first_layer_queries
    return ledger.spent.get("first layer", 0) > fixed + (each + 2 * ledger.n_features) * len(known)


def find_between(
    ledger: Ledger, known: FirstLayer, ends: Floats, radius: float, rng: np.random.Generator
) -> FirstLayer:
    """Find a hyperplane that passes between two places (2, d) far out, whose answers differ although no known one does.

    About 25 + d queries; the same planes if nothing was found.
    """
    first = ends[0] / np.linalg.norm(ends[0])
    second = ends[1] - (ends[1] @ first) * first
    if np.linalg.norm(second) < 1e-9 * np.linalg.norm(ends[1]):
        return known
    frame = np.stack([first, second / np.linalg.norm(second)])
    angles = np.array([0.0, np.arctan2(ends[1] @ frame[1], ends[1] @ frame[0])])
    circle = _Circle(frame, radius, np.empty(0), np.empty(0))
    _ask(ledger, circle, angles)
    gap = _Gap(*circle.angles, *circle.values)
    if gap.jump <= ledger.tolerance(radius):
        return known
    (plane,) = search_all(ledger, [_search(circle, gap, reading_of(ledger), rng)], "first layer")
    return known if plane is None else known.joined([plane])


class _AfterCircle(NamedTuple):
    """All planes known after a circle, and whether they explain it."""

    known: FirstLayer
    complete: bool


def _look(ledger: Ledger, circle: _Circle, known: FirstLayer, rng: np.random.Generator) -> _AfterCircle:
    """Find all hyperplanes that a circle crosses and that are not known yet."""
    failed: dict[float, int] = {}
    n_wider = 0
    if not len(known):
        _ask(ledger, circle, np.linspace(0, np.pi, POLICY.intervals + 1))
    for _ in range(POLICY.most_rounds):
        _ask(ledger, circle, _missing_ends(circle, known))
        unexplained = _unexplained(ledger, circle, known)
        gaps = _apart([g for g in unexplained if failed.get(g.low, 0) < POLICY.tries])
        if not gaps or _spent(ledger, known):
            return _AfterCircle(known, not unexplained)
        planes = search_all(ledger, [_search(circle, gap, reading_of(ledger), rng) for gap in gaps], "first layer")
        for gap, plane in zip(gaps, planes):
            if plane is None or known.has(plane):
                failed[gap.low] = failed.get(gap.low, 0) + 1
        known = known.joined([p for p in planes if p is not None])
        tails = [p is None and g.jump < POLICY.faint_left * ledger.largest for g, p in zip(gaps, planes)]
        if any(tails) and n_wider < TRIES:  # a slow unit still moves where it was to stand still
            known, n_wider = known.wider(), n_wider + 1
        ledger.n_units = len(known)
    return _AfterCircle(known, False)


def _ask(ledger: Ledger, circle: _Circle, angles: Floats) -> None:
    if len(angles):
        circle.take(angles, ledger.ask(circle.at(angles), "first layer"))


def _arcs(circle: _Circle, known: FirstLayer) -> list[tuple[float, float]]:
    """Return the arcs between known crossings, shortened so that all known units stand still on them."""
    bounds = np.concatenate([[[0.0, 0.0]], circle.crossings(known), [[np.pi, 0.0]]])
    lows, highs = bounds[:, 0] + bounds[:, 1], bounds[:, 0] - bounds[:, 1]
    # An arc starts where every unit crossed before stands still again, and ends before the next one moves.
    lows = np.maximum.accumulate(lows)  # a unit that moves slowly may do so beyond the next crossing
    highs = np.minimum.accumulate(highs[::-1])[::-1]
    arcs = [(float(low), float(high)) for low, high in zip(lows[:-1], highs[1:]) if low < high]
    return arcs


def _missing_ends(circle: _Circle, known: FirstLayer) -> Floats:
    """Return the ends of arcs near which nothing was asked."""
    wanted = []
    for low, high in _arcs(circle, known):
        inside = circle.angles[(circle.angles >= low) & (circle.angles <= high)]
        near = 0.1 * (high - low)
        if not (inside <= low + near).any():
            wanted.append(low)
        if not (inside >= high - near).any():
            wanted.append(high)
    return np.array(wanted)


def _unexplained(ledger: Ledger, circle: _Circle, known: FirstLayer) -> list[_Gap]:
    """Return intervals whose answers differ although no known unit is between."""
    tolerance = float(ledger.tolerance(circle.radius))
    still = known.saturates(circle.at(circle.angles)) if len(known) else np.ones(len(circle.angles), dtype=bool)
    found = []
    for low, high in _arcs(circle, known):
        inside = still & (circle.angles >= low) & (circle.angles <= high)
        angles, values = circle.angles[inside], circle.values[inside]
        for i in np.flatnonzero(np.abs(np.diff(values)) > tolerance):
            found.append(_Gap(float(angles[i]), float(angles[i + 1]), float(values[i]), float(values[i + 1])))
    return found


def _apart(gaps: list[_Gap]) -> list[_Gap]:
    """Return the largest of each run of adjoining intervals: they may belong to one unit."""
    kept: list[_Gap] = []
    for i, gap in enumerate(gaps):
        if i and gaps[i - 1].high == gap.low:
            if gap.jump > kept[-1].jump:
                kept[-1] = gap
        else:
            kept.append(gap)
    return kept


def _search(circle: _Circle, gap: _Gap, how: ReadingPolicy, rng: np.random.Generator) -> Search[Plane | None]:
    """Halve the larger jump until its slope is seen, then read the hyperplane there."""
    angles, values = np.array([gap.low, gap.high]), np.array([gap.at_low, gap.at_high])
    jump = gap.jump
    for _ in range(2 * np.finfo(np.float64).nmant):  # an interval of angles cannot be halved more often
        largest = int(np.argmax(np.abs(np.diff(values))))
        middle = 0.5 * (angles[largest] + angles[largest + 1])
        if not angles[largest] < middle < angles[largest + 1]:
            return None
        reply = yield circle.at(np.array([middle]))
        circle.take(np.array([middle]), reply.answers)
        angles, values = np.insert(angles, largest + 1, middle), np.insert(values, largest + 1, reply.answers)
        jump = max(jump, float(np.ptp(values)))
        node = _point_on_slope(angles, values, jump)
        if node is not None:
            slope = np.abs(np.diff(values) / np.diff(angles))[node - 1 : node + 1].max() / circle.radius
            point = circle.at(angles[node : node + 1])[0]
            tangent = -np.sin(angles[node]) * circle.frame[0] + np.cos(angles[node]) * circle.frame[1]
            return (yield from read_plane(point, tangent, jump / slope, circle.radius, how, rng))
    return None


def _point_on_slope(angles: Floats, values: Floats, jump: float) -> int | None:
    """Return a sample between two intervals of like slope that together are only a part of the jump."""
    steps = np.diff(values)
    slopes = np.abs(steps) / np.diff(angles)
    steepest = int(np.argmax(slopes))
    for left in (steepest - 1, steepest):
        if 0 <= left < len(slopes) - 1:
            both = slopes[left : left + 2]
            if both.min() > 0.5 * both.max() and abs(steps[left] + steps[left + 1]) < 0.8 * jump:
                return left + 1
    return None
