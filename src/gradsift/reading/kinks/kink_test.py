"""One kink between two straight pieces: is it a single unit, and how wide is it?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...certificate import BOUND
from ...tuned import FACTOR, SHARE, TRIES
from .kink_network import Shape
from .settings import BUMP, SEGMENT


class Piece:
    """Answers on one straight stretch of the function along a line, and the line through them.

    Errors are in units of the rounding error of one answer.

    Attributes
    ----------
    times, values : lists of float
        Places along the line, and the answers there.
    fixed : bool
        A piece that stays whatever happens: that of an end, or one that ends in a kink which was tested.
    """

    def __init__(self, times: list[float], values: list[float], fixed: bool = False) -> None:
        self.times, self.values, self.fixed = list(times), list(values), fixed
        self._fit()

    def _fit(self) -> None:
        t, y = np.array(self.times), np.array(self.values)
        self._middle, self._level = float(t.mean()), float(y.mean())
        away = t - self._middle
        self._spread = float(away @ away)
        self.slope = float(away @ (y - self._level)) / self._spread

    @property
    def low(self) -> float:
        """Where it begins, as far as known."""
        return min(self.times)

    @property
    def high(self) -> float:
        """Where it ends, as far as known."""
        return max(self.times)

    @property
    def slope_error(self) -> float:
        """Error of the slope."""
        return float(1 / np.sqrt(self._spread))

    def at(self, t: float) -> float:
        """Return the height of the line at t."""
        return self._level + self.slope * (t - self._middle)

    def error(self, t: float) -> float:
        """Return the error of that height."""
        return float(np.sqrt(1 / len(self.times) + (t - self._middle) ** 2 / self._spread))

    def holds(self, t: float, y: float, sigma: float) -> bool:
        """Say whether an answer lies on the line."""
        return abs(y - self.at(t)) <= BOUND * sigma * float(np.hypot(1.0, self.error(t)))

    def add(self, t: float, y: float) -> None:
        """Take an answer that lies on the line."""
        self.times.append(t)
        self.values.append(y)
        self._fit()

    def take(self, other: Piece) -> None:
        """Take all answers of another piece of the same line."""
        self.times += other.times
        self.values += other.values
        self.fixed = self.fixed or other.fixed
        self._fit()

    def without(self, times: list[float]) -> Piece | None:
        """Return the piece without the answers at these times; None if less than two are left."""
        kept = [(t, y) for t, y in zip(self.times, self.values) if t not in times]
        if len(kept) < 2:
            return None
        return Piece([t for t, _ in kept], [y for _, y in kept], self.fixed)

    def same_line(self, other: Piece, sigma: float) -> bool:
        """Say whether two pieces lie on one line: each passes through both ends of the gap between them."""
        return all(
            abs(self.at(t) - other.at(t)) <= BOUND * sigma * np.hypot(self.error(t), other.error(t))
            for t in (self.high, other.low)
        )


def bend_between(left: Piece, right: Piece) -> tuple[float, float, float]:
    """Return where two lines meet, the change of slope there, and the error of the place (in units of rounding).

    Lines whose slopes do not differ meet nowhere: the place is NaN then.
    """
    change = right.slope - left.slope
    if change == 0:
        return np.nan, 0.0, np.inf
    # Heights are compared in the middle of the gap, not at zero, where large terms would cancel.
    near = 0.5 * (left.high + right.low)
    t = near + (left.at(near) - right.at(near)) / change
    return t, change, float(np.hypot(left.error(t), right.error(t))) / abs(change)


Ask = Callable[[float], float]


@dataclass(frozen=True)
class Kink:
    """A unit on a segment: ``change (relu(t) + rest(turn width t) / width)``, with t measured from its place.

    Attributes
    ----------
    place : float
        Along the segment.
    change : float
        Of the slope.
    width : float
        Argument per length, 0 where the kink is sharp.
    turn : float
        +1 or -1: whether the rest is seen in the unit's own direction.
    """

    place: float
    change: float
    width: float
    turn: float


@dataclass(frozen=True)
class Seen:
    """What a test returns: a kink, or answers that lie on no piece (to be split there)."""

    kink: Kink | None = None
    strays: tuple[tuple[float, float], ...] = ()
    crowded: bool = False  # a piece lies within the kink's own transition
    other_shape: bool = False  # further answers beside the kink are those of another activation


@dataclass
class Bend:
    """How kinks of one family are tested, and what was learnt about their widths so far.

    Attributes
    ----------
    width : float
        First guess of an argument per length.
    looks : int
        How often a sharp kink is asked beside, each time closer to it.
    """

    shape: Shape
    width: float
    looks: int = 1
    widths: list[float] = field(default_factory=list)

    def typical_width(self) -> float:
        """Return the median of the widths so far."""
        return float(np.median(self.widths)) if self.widths else self.width


def try_sharp(bend: Bend, left: Piece, right: Piece, ask: Ask, sigma: float) -> Seen:
    """Ask on both sides of the meeting point: with jumps of mixed sign the function may pass through it by chance.

    An answer that lies on a piece extends it; two queries if there is a single kink. Both pieces then end nearer to
    the meeting point, and tell it better: through noise it is asked once more beside it, where a second kink hid.
    """
    for number in range(bend.looks):
        place, change, error = bend_between(left, right)
        away = max(SEGMENT.apart * error * sigma, 8 * np.spacing(abs(left.low) + abs(right.high)), bend.shape.blur)
        if number and left.high < place < right.low and away > SHARE * min(place - left.high, right.low - place):
            break
        if not left.high < place - away < place + away < right.low:
            return Seen()
        for t, near, far in ((place - away, left, right), (place + away, right, left)):
            y = ask(t)
            if near.holds(t, y, sigma):
                near.add(t, y)
            elif far.holds(t, y, sigma):
                far.add(t, y)
                return Seen()
            else:
                return Seen(strays=((t, y),))
    place, change, _ = bend_between(left, right)
    return Seen(Kink(place, change, 0.0, 1.0))


def try_smooth(bend: Bend, left: Piece, right: Piece, ask: Ask, sigma: float) -> Seen:
    """Ask at equal distances from the meeting point until both answers tell the same width; two queries at best."""
    shape = bend.shape
    place, change, _ = bend_between(left, right)
    room = min(place - left.high, right.low - place)
    if not room > 0:
        return Seen()
    delta = shape.typical / bend.typical_width()
    for _ in range(TRIES):
        if delta >= room:
            return Seen()
        seen = _at_sides(shape, left, right, ask, sigma, place, change, delta)
        if isinstance(seen, float):
            delta *= seen
            continue
        if seen.kink is None:
            return seen
        flat = shape.flat(sigma * seen.kink.width / abs(change))
        if seen.kink.width * room < flat:
            return Seen(crowded=True)
        if len(bend.widths) < BUMP.kinks and not _has_shape(shape, seen.kink, left, right, ask, sigma):
            return Seen(other_shape=True)
        bend.widths.append(seen.kink.width)
        return seen
    return Seen()


def _at_sides(
    shape: Shape, left: Piece, right: Piece, ask: Ask, sigma: float, place: float, change: float, delta: float
) -> Seen | float:
    """Return a kink, strays, or by how much to change the distance."""
    ratios, noises = np.zeros(2), np.zeros(2)
    for number, (t, near, far) in enumerate(((place - delta, left, right), (place + delta, right, left))):
        y = ask(t)
        # With t = width delta the answer lies change rest(t) / width above the nearer line: |rest(t)| / t is read off,
        # which falls with t, and so gives t.
        ratios[number] = (y - near.at(t)) / (change * delta)
        noises[number] = sigma * float(np.hypot(1.0, np.hypot(near.error(t), far.error(t)))) / abs(change * delta)
        noise = BOUND * noises[number]
        if far.holds(t, y, sigma) and not near.holds(t, y, sigma):
            far.add(t, y)
            return Seen()
        least = shape.typical / FACTOR**2  # of a unit that is so much wider than the typical one
        most = float(shape.rest(np.array(least))) / least
        if abs(ratios[number]) > noise and not 0 < SHARE * ratios[number] / most < 1:
            return Seen(strays=((t, y),))
    noise = BOUND * float(noises.max())
    if np.abs(ratios).max() < 3 * noise:
        return 1 / FACTOR
    # The clearer side gives the argument, the other must agree; a rest that is not even is tried in both directions.
    for turn in (1.0,) if shape.even else (1.0, -1.0):
        sides = np.array([-turn, turn])
        chosen = int(np.argmax(np.abs(ratios)))
        argument = shape.argument(abs(ratios[chosen]), float(sides[chosen]))
        if argument == 0:
            return FACTOR
        if argument == np.inf:
            continue
        expected = shape.rest(sides * argument) / argument
        if np.abs(expected - ratios).max() <= noise * (1 + argument):
            return Seen(Kink(place, change, argument / delta, turn))
    return Seen(crowded=True)


def _has_shape(shape: Shape, kink: Kink, left: Piece, right: Piece, ask: Ask, sigma: float) -> bool:
    """Say whether a third answer fits the shape, so that another activation is noticed at the first kinks."""
    argument = -2.2 * shape.typical * kink.turn
    t = kink.place + argument / kink.width
    near = left if argument < 0 else right
    expected = near.at(t) + kink.change / kink.width * float(shape.rest(np.array(kink.turn * argument)))
    noise = sigma * float(np.hypot(1.0, np.hypot(left.error(t), right.error(t))))
    return not abs(ask(t) - expected) > 3 * BOUND * noise
