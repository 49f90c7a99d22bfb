"""Far circles: where answers change between plateaus there is a hyperplane of the first layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...fit.gauss_newton import descend
from ...fit.jacobian import Layers, layer_values
from ...geometry import normalize_rows, orthonormal_rows
from ...tuned import TRIES
from ..ledger import EPS, Ledger
from ..searches import Search, search_all
from .hyperplanes import FirstLayer, Plane, read_plane
from .settings import COARSE_READING, EXACT_READING, POLICY, ReadingPolicy
from .upper_layers import FirstLayerScale

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


_SLOPE_STARTS = np.array([0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0])  # starts, over what the width of the step suggests
_OFFSET_STARTS = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])
_PLACES = np.array([-15.0, -6.0, -3.0, -1.8, -1.0, -0.5, 0.0, 0.5, 1.0, 1.8, 3.0, 6.0, 15.0])  # over half its width
_REACHES = (1.0, 1.0, 4.0, 10.0)  # radii at which edges of a unit are asked for, over that given; guess
_SLOPES_ALLOWED = (0.02, 50.0)  # over what the width of the step suggests
_FITS = 1e-4  # of the spread of the answers


@dataclass(frozen=True)
class _Edge:
    """Rows on the slope of one unit: signs of all units (n, k), heights over its hyperplane (n,), answers (n,)."""

    unit: int
    signs: Floats
    heights: Floats
    answers: Floats


class _EdgeFit(NamedTuple):
    """Logarithm of the slope and offset, (2,), what they leave over the spread of the answers, and whether the rows
    determine both: on plateaus and in the middle of the slope any slope will do."""

    parameters: Floats
    rms: float
    determined: bool

    @property
    def good(self) -> bool:
        return self.determined and self.rms <= _FITS


def read_slopes(
    ledger: Ledger, first: FirstLayer, upper: Layers, g: Activation, radius: float, rng: np.random.Generator
) -> FirstLayerScale:
    """Fit slope and offset of every unit to rows on its slope; new ones only where those asked so far do not suffice.

    Parameters
    ----------
    upper : Layers
        All layers above the first.
    """
    log_slopes, offsets = np.zeros(len(first)), np.zeros(len(first))
    for unit in range(len(first)):
        edge = _known_edge(ledger, first, unit)
        # Fewer rows than were asked across one hyperplane may lie on plateaus alone.
        found = _fit(edge, upper, g, first.planes[unit].width) if len(edge.heights) >= len(_PLACES) else None
        for reach in _REACHES:
            if found is not None and found.good:
                break
            asked = _asked_edge(ledger, first, unit, upper, g, reach * radius, rng)
            again = None if asked is None else _fit(asked, upper, g, first.planes[unit].width)
            found = _better(found, again)
        log_slopes[unit] = np.log(2 / first.planes[unit].width)
        if found is not None and np.isfinite(found.parameters).all():
            low, high = log_slopes[unit] + np.log(_SLOPES_ALLOWED)
            log_slopes[unit], offsets[unit] = np.clip(found.parameters[0], low, high), found.parameters[1]
    return FirstLayerScale(log_slopes, offsets)


def _better(one: _EdgeFit | None, other: _EdgeFit | None) -> _EdgeFit | None:
    """Return the fit that determines slope and offset, or else leaves less."""
    fits = [fit for fit in (one, other) if fit is not None]
    return min(fits, key=lambda fit: (not fit.determined, fit.rms), default=None)


def _known_edge(ledger: Ledger, first: FirstLayer, unit: int) -> _Edge:
    """Collect rows asked so far near the point at which the hyperplane was read."""
    X, y = ledger.X, ledger.y
    near = np.flatnonzero(np.linalg.norm(X - first.planes[unit].point, axis=1) < 4 * first.margin)
    heights = first.distance(X[near])
    alone = (np.abs(np.delete(heights, unit, axis=1)) > first.margin).all(axis=1)
    return _Edge(unit, np.sign(heights[alone]), heights[alone, unit], y[near[alone]])


def _asked_edge(
    ledger: Ledger, first: FirstLayer, unit: int, upper: Layers, g: Activation, radius: float, rng: np.random.Generator
) -> _Edge | None:
    """Ask across the hyperplane where all other units stand still and the layers above let this one show most; None if
    there is no such place nearby."""
    plane = first.planes[unit]
    ways = rng.standard_normal((POLICY.candidates, ledger.n_features))
    ways -= np.outer(ways @ plane.normal, plane.normal)
    bases = plane.level * plane.normal + radius * normalize_rows(ways)
    heights = first.distance(bases)
    alone = (np.abs(np.delete(heights, unit, axis=1)) > 2 * first.margin).all(axis=1)
    if not alone.any():
        return None
    ends = []
    for sign in (-1.0, 1.0):
        signs = np.sign(heights[alone])
        signs[:, unit] = sign
        ends.append(layer_values(upper, signs, g).values)
    base = bases[alone][int(np.argmax(np.abs(ends[1] - ends[0])))]
    rows = base + (_PLACES * 0.5 * plane.width)[:, None] * plane.normal
    answers = ledger.ask(rows, "first layer")
    heights = first.distance(rows)
    return _Edge(unit, np.sign(heights), heights[:, unit], answers)


def _fit(edge: _Edge, upper: Layers, g: Activation, width: float) -> _EdgeFit:
    spread = float(edge.answers.std()) or 1.0
    inputs = edge.signs.copy()

    def problem(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        slope = float(np.exp(np.clip(theta[0], -40, 40)))
        arguments = slope * edge.heights + theta[1]
        inputs[:, edge.unit] = g.value(arguments)
        passed = layer_values(upper, inputs, g)
        by_z = (passed.slopes[0] @ upper[0][0][:, edge.unit]) * g.derivative(arguments) / spread
        return (passed.values - edge.answers) / spread, lambda: np.stack([by_z * edge.heights * slope, by_z], axis=1)

    # The problem has two unknowns and many local minima: the best of a grid are descended from.
    starts = []
    for slope in _SLOPE_STARTS / width:
        for offset in _OFFSET_STARTS:
            start = np.array([np.log(slope), offset])
            left = problem(start)[0]
            starts.append((float(left @ left), start))
    starts.sort(key=lambda pair: pair[0])
    best = descend(problem, starts[0][1], 60, 1e-12, POLICY.patience)
    for _, start in starts[1:4]:
        if best.rms < 1e-6:
            break
        best = min(best, descend(problem, start, 60, 1e-12, POLICY.patience), key=lambda d: d.rms)
    # Smallest singular value of the Jacobian: what the least determined combination of slope and offset changes.
    J = problem(best.parameters)[1]()
    least = float(np.linalg.norm(J, ord=-2)) / np.sqrt(len(J)) if np.isfinite(J).all() else 0.0
    return _EdgeFit(best.parameters, best.rms, least > POLICY.faint)
