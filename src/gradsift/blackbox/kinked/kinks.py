"""One kink between two straight pieces: is it a single unit, and how wide is it?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .kinked_policy import BEND
from .pieces import Piece, meeting
from .shape import Shape

__all__ = ["Bend", "Kink", "NotThatShape", "Seen", "try_sharp", "try_smooth"]


Ask = Callable[[float], float]


class NotThatShape(Exception):
    """A kink has one width on one side and another on the other, as units of another activation have."""


@dataclass(frozen=True)
class Kink:
    """A unit on a leg: ``change (relu(t) + rest(turn width t) / width)`` from its place on, t measured along the leg.

    Attributes
    ----------
    place : float
        Along the leg.
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
        place, change, error = meeting(left, right)
        away = max(BEND.apart * error * sigma, 8 * np.spacing(abs(left.low) + abs(right.high)), bend.shape.blur)
        if number and left.high < place < right.low and away > BEND.closer * min(place - left.high, right.low - place):
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
    place, change, _ = meeting(left, right)
    return Seen(Kink(place, change, 0.0, 1.0))


def try_smooth(bend: Bend, left: Piece, right: Piece, ask: Ask, sigma: float) -> Seen:
    """Ask at equal distances from the meeting point until both answers tell the same width; two queries at best."""
    shape = bend.shape
    place, change, _ = meeting(left, right)
    room = min(place - left.high, right.low - place)
    if not room > 0:
        return Seen()
    delta = shape.typical / bend.typical_width()
    for _ in range(BEND.most_widths):
        if delta >= room:
            return Seen()
        seen = _both_sides(shape, left, right, ask, sigma, place, change, delta)
        if isinstance(seen, float):
            delta *= seen
            continue
        if seen.kink is None:
            return seen
        flat = shape.flat(sigma * seen.kink.width / abs(change))
        if seen.kink.width * room < flat:
            return Seen(crowded=True)
        if len(bend.widths) < BEND.look_twice:
            _look_twice(shape, seen.kink, left, right, ask, sigma)
        bend.widths.append(seen.kink.width)
        return seen
    return Seen()


def _both_sides(
    shape: Shape, left: Piece, right: Piece, ask: Ask, sigma: float, place: float, change: float, delta: float
) -> Seen | float:
    """Return a kink, strays, or by how much to change the distance."""
    ratios, noises = np.zeros(2), np.zeros(2)
    for number, (t, near, far) in enumerate(((place - delta, left, right), (place + delta, right, left))):
        y = ask(t)
        ratios[number] = (y - near.at(t)) / (change * delta)
        noises[number] = sigma * float(np.hypot(1.0, np.hypot(near.error(t), far.error(t)))) / abs(change * delta)
        noise = BEND.agree * noises[number]
        if far.holds(t, y, sigma) and not near.holds(t, y, sigma):
            far.add(t, y)
            return Seen()
        least = BEND.widest * shape.typical
        most = float(shape.rest(np.array(least))) / least
        if abs(ratios[number]) > noise and not 0 < ratios[number] / most < 1.5:
            return Seen(strays=((t, y),))
    noise = BEND.agree * float(noises.max())
    if np.abs(ratios).max() < 3 * noise:
        return 1 / BEND.step
    for turn in (1.0,) if shape.even else (1.0, -1.0):
        sides = np.array([-turn, turn])
        chosen = int(np.argmax(np.abs(ratios)))
        argument = shape.argument(abs(ratios[chosen]), float(sides[chosen]))
        if argument == 0:
            return BEND.step
        if argument == np.inf:
            continue
        expected = shape.rest(sides * argument) / argument
        if np.abs(expected - ratios).max() <= noise * (1 + argument):
            return (
                Seen(Kink(place, change, argument / delta, turn)) if argument > BEND.tells else shape.typical / argument
            )
    return Seen(crowded=True)


def _look_twice(shape: Shape, kink: Kink, left: Piece, right: Piece, ask: Ask, sigma: float) -> None:
    """Compare a third answer with the shape, so that another activation is noticed at the first kinks."""
    argument = -2.2 * shape.typical * kink.turn
    t = kink.place + argument / kink.width
    near = left if argument < 0 else right
    expected = near.at(t) + kink.change / kink.width * float(shape.rest(np.array(kink.turn * argument)))
    noise = sigma * float(np.hypot(1.0, np.hypot(left.error(t), right.error(t))))
    if abs(ask(t) - expected) > 3 * BEND.agree * noise:
        raise NotThatShape
