"""All kinks of a function on lines, where straight pieces meet: about six queries each, nothing bisected."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arguments import Floats
from ...tuned import FACTOR, ROUNDINGS, TRIES
from .box import Box
from .settings import RELU_LAYERS


class StraightLine(NamedTuple):
    """Points ``start + t way``, both (d,), for t from 0 to 1."""

    start: Floats
    way: Floats

    @classmethod
    def between(cls, start: Floats, end: Floats) -> StraightLine:
        """Return the segment from one input to another."""
        return cls(start, end - start)

    def points(self, t: Floats | float) -> Floats:
        """Return the inputs at times t, (n, d)."""
        return np.asarray(self.start + np.multiply.outer(t, self.way))

    @property
    def length(self) -> float:
        """Distance of its ends."""
        return float(np.linalg.norm(self.way))


class StraightPiece(NamedTuple):
    """A straight stretch of the function on a line: two places, the answers there, and the rounding of one answer."""

    low: float
    high: float
    at_low: float
    at_high: float
    rounding: float
    raw: bool = True  # no third answer was found on it

    @property
    def slope(self) -> float:
        """Change of the answers per time."""
        return (self.at_high - self.at_low) / (self.high - self.low)

    def at(self, t: float) -> float:
        """Return the height of the line at t."""
        return self.at_low + self.slope * (t - self.low)

    def error(self, t: float) -> float:
        """Return the error of that height: both answers are off by a rounding."""
        return self.rounding * (abs(t - self.low) + abs(t - self.high)) / (self.high - self.low)

    def holds(self, t: float, y: float) -> bool:
        """Say whether an answer at t lies on the line."""
        return abs(y - self.at(t)) <= FACTOR * (self.rounding + self.error(t))

    def with_point(self, t: float, y: float) -> StraightPiece:
        """Return the piece with one more answer at its end, where that makes it longer."""
        if t < self.low:
            return self._replace(low=t, at_low=y, raw=False)
        return self._replace(high=t, at_high=y, raw=False) if t > self.high else self


class LineKink(NamedTuple):
    """A kink at time `t` between two pieces; `line` is the number of its line."""

    line: int
    t: float
    left: StraightPiece
    right: StraightPiece


class _PieceGap(NamedTuple):
    """Two pieces of one line, and what is known of the gap between them.

    `failed`: where pieces would meet and were tested in vain; `bent`: an answer is off the one line through both.
    """

    line: int
    left: StraightPiece
    right: StraightPiece
    failed: tuple[float, ...] = ()
    bent: bool = False

    @property
    def width(self) -> float:
        return self.right.low - self.left.high

    @property
    def crossing(self) -> float:
        """Time at which both lines meet; NaN for parallel ones."""
        change = self.right.slope - self.left.slope
        # Heights are compared in the middle of the gap, not at zero, where large terms would cancel.
        near = 0.5 * (self.left.high + self.right.low)
        return near + (self.left.at(near) - self.right.at(near)) / change if change else np.nan


class _Plan(NamedTuple):
    """Times to ask in a gap, and what they are for: a "kink", the "middle", a "straight" line; none: it is "open"."""

    kind: str
    times: tuple[float, ...] = ()


class LineScan(NamedTuple):
    """Kinks by line, in order, and the number of gaps that were given up."""

    kinks: list[list[LineKink]]
    n_open: int


Stretch = tuple[int, float, float]  # number of a line, first time, last time


def find_kinks(box: Box, lines: list[StraightLine], stretches: list[Stretch], step: str) -> LineScan:
    """Find all kinks within stretches of lines.

    Pieces at both ends of a gap either lie on one line, or meet in a kink, or more kinks lie between them.
    """
    kinks: list[list[LineKink]] = [[] for _ in lines]
    for _ in range(TRIES):
        given_up = _search(box, lines, stretches, kinks, step)
        for found in kinks:
            found.sort(key=lambda kink: kink.t)
        if not given_up:
            break
        # A pair that straddles a kink makes no piece: what lies between the tested pieces beside it is searched anew.
        stretches = sorted({_around(stretches, kinks[gap.line], gap) for gap in given_up})
    return LineScan(kinks, len(given_up))


def _around(stretches: list[Stretch], kinks: list[LineKink], gap: _PieceGap) -> Stretch:
    """Return the stretch between the tested pieces on both sides of a gap."""
    middle = 0.5 * (gap.left.high + gap.right.low)
    first, last = next((a, b) for i, a, b in stretches if i == gap.line and a <= middle <= b)
    first = max([first, *(kink.right.high for kink in kinks if kink.t < middle and kink.right.high <= gap.left.high)])
    last = min([last, *(kink.left.low for kink in kinks if kink.t > middle and kink.left.low >= gap.right.low)])
    return gap.line, first, last


def _search(
    box: Box, lines: list[StraightLine], stretches: list[Stretch], kinks: list[list[LineKink]], step: str
) -> list[_PieceGap]:
    """Search all stretches at once; kinks are added by line, gaps that are given up are returned."""
    wanted: list[tuple[int, tuple[float, ...]]] = [(i, (a, a + RELU_LAYERS.pair * (b - a))) for i, a, b in stretches]
    wanted += [(i, (b - RELU_LAYERS.pair * (b - a), b)) for i, a, b in stretches]
    asked = _ask(box, lines, wanted, step)
    pieces = [StraightPiece(t[0], t[1], float(y[0]), float(y[1]), e) for (_, t), (y, e) in zip(wanted, asked)]
    gaps = [_PieceGap(i, *ends) for (i, _, _), ends in zip(stretches, zip(pieces, pieces[len(stretches) :]))]
    given_up: list[_PieceGap] = []
    for _ in range(RELU_LAYERS.rounds):
        plans = [_plan(gap, box) for gap in gaps]
        given_up += [gap for gap, plan in zip(gaps, plans) if not plan.times]
        todo = [(gap, plan) for gap, plan in zip(gaps, plans) if plan.times]
        if not todo:
            return given_up
        if len(todo) > len(stretches) * (ROUNDINGS + 2 * box.d):
            # Pieces that never join: answers are rounded more than was thought.
            box.raise_rounding()
            return given_up + gaps
        asked = _ask(box, lines, [(gap.line, plan.times) for gap, plan in todo], step)
        gaps = []
        for (gap, plan), (y, error) in zip(todo, asked):
            left = _settled(gap, plan, y.tolist(), error)
            if isinstance(left, LineKink):
                kinks[gap.line].append(left)
            else:
                gaps += left
    return given_up + gaps


def _ask(
    box: Box, lines: list[StraightLine], wanted: list[tuple[int, tuple[float, ...]]], step: str
) -> list[tuple[Floats, float]]:
    """Return the answers at times of lines and the largest of their roundings, for each entry."""
    if not wanted:
        return []
    rows = np.concatenate([lines[i].points(np.array(t)) for i, t in wanted])
    answers = box.ask(rows, step)
    ends = np.cumsum([len(t) for _, t in wanted])[:-1]
    errors = np.split(box.rounding(rows, answers), ends)
    return [(y, float(e.max())) for y, e in zip(np.split(answers, ends), errors)]


def _plan(gap: _PieceGap, box: Box) -> _Plan:
    """Return what to ask in a gap."""
    left, right, width = gap.left, gap.right, gap.width
    if width <= 1e4 * box.eps:
        return _Plan("open")
    near_left = abs(left.at(right.low) - right.at_low) <= FACTOR * (left.error(right.low) + right.rounding)
    near_right = abs(right.at(left.high) - left.at_high) <= FACTOR * (right.error(left.high) + left.rounding)
    inside = left.high + (0.4 + 0.2 * float(box.rng.random())) * width
    if near_left and near_right and not gap.bent:
        return _Plan("straight", (inside,))
    if (near_left and right.raw) or ((near_right and left.raw) and not (near_left and near_right)):
        return _Plan("open")  # the raw one straddles a kink
    place = gap.crossing
    room = min(place - left.high, right.low - place)
    vain = any(abs(place - t) <= RELU_LAYERS.pair * width for t in gap.failed)
    if room > RELU_LAYERS.pair * width and not vain:
        return _Plan("kink", (place - RELU_LAYERS.beside * room, place + RELU_LAYERS.beside * room))
    return _Plan("middle", (inside, inside + RELU_LAYERS.pair * width))


def _settled(gap: _PieceGap, plan: _Plan, answers: list[float], rounding: float) -> list[_PieceGap] | LineKink:
    """Return the gaps that are left after what was asked in one, or its only kink."""
    left, right = gap.left, gap.right
    if plan.kind == "straight":
        (t,), (y,) = plan.times, answers
        return [] if left.holds(t, y) and right.holds(t, y) else [gap._replace(bent=True)]
    (a, b), (at_a, at_b) = plan.times, answers
    if plan.kind == "kink":
        on_left, on_right = left.holds(a, at_a), right.holds(b, at_b)
        tested = gap._replace(
            left=left.with_point(a, at_a) if on_left else left,
            right=right.with_point(b, at_b) if on_right else right,
            failed=(*gap.failed, gap.crossing),
        )
        if not (on_left and on_right):
            return [tested]
        return LineKink(gap.line, float(np.clip(tested.crossing, a, b)), tested.left, tested.right)
    if left.holds(a, at_a) and left.holds(b, at_b):
        return [gap._replace(left=left.with_point(b, at_b))]
    if right.holds(a, at_a) and right.holds(b, at_b):
        return [gap._replace(right=right.with_point(a, at_a))]
    middle = StraightPiece(a, b, at_a, at_b, rounding)
    return [_PieceGap(gap.line, left, middle), _PieceGap(gap.line, middle, right)]
