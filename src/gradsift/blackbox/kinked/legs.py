"""All kinks along one leg: straight pieces, gaps between them, and a test in each gap until none is open."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...checking import Floats
from ..asking import EPS, Ledger
from .grain import EXACT_ANSWERS, Grain
from .kinked_policy import GRAIN, LEG
from .kinks import Bend, Kink, try_sharp, try_smooth
from .path import Leg, Path
from .pieces import Piece, meeting

__all__ = ["Ends", "LegScan", "PathFailed", "ask_ends", "scan_leg"]


class PathFailed(Exception):
    """A path on which some gap between straight pieces is no single kink; another one may do."""


@dataclass(frozen=True)
class Ends:
    """Straight pieces at the ends of both legs, and the rounding error of one answer.

    Attributes
    ----------
    pieces : pairs of Piece
        For each leg.
    pair : float
        Spacing of two answers that make a piece, over the gap in which they lie.
    """

    pieces: tuple[tuple[Piece, Piece], tuple[Piece, Piece]]
    sigma: float
    pair: float


@dataclass(frozen=True)
class LegScan:
    """Kinks in order, and every answer on the leg.

    Attributes
    ----------
    times, values : (n,) arrays
    """

    leg: Leg
    kinks: tuple[Kink, ...]
    times: Floats
    values: Floats

    def outside(self, distance: float) -> LegScan:
        """Return the scan without the answers that are nearer to a kink than this."""
        if not distance or not self.kinks:
            return self
        places = np.array([kink.place for kink in self.kinks])
        far = np.abs(self.times[:, None] - places).min(axis=1) >= distance
        return replace(self, times=self.times[far], values=self.values[far])


def ask_ends(ledger: Ledger, path: Path, grain: Grain = EXACT_ANSWERS) -> Ends:
    """Ask for two or three answers near each end of both legs, the corner in common; 9 queries."""
    pieces: list[tuple[Piece, Piece]] = []
    corner: list[float] = []
    misses, largest = [], 0.0
    for leg in path.legs:
        step = (GRAIN.end if grain.single else LEG.end) * leg.length
        times = np.array([0.0, step, leg.length - step, leg.length - 0.4 * step, leg.length])
        asked = ledger.ask(leg.points(times[len(corner) :]), "path")
        values = np.concatenate([corner, asked])
        corner = [float(values[-1])]
        largest = max(largest, float(np.abs(values).max()))
        first, last = (Piece(times[part].tolist(), values[part].tolist(), True) for part in (slice(2), slice(2, 5)))
        misses.append(float(np.linalg.norm([last.at(t) - y for t, y in zip(last.times, last.values)])))
        pieces.append((first, last))
    sigma = max(LEG.rounding / EPS * grain.of(largest), 1.5 * min(misses))
    if max(misses) > LEG.kink_within * sigma:
        raise PathFailed("a kink lies right at an end of the path")
    return Ends((pieces[0], pieces[1]), sigma, GRAIN.pair if grain.single else LEG.pair)


def scan_leg(
    ledger: Ledger, leg: Leg, ends: tuple[Piece, Piece], bend: Bend, sigma: float, pair: float = LEG.pair,
    patience: tuple[int, int] = LEG.patience,
) -> LegScan:  # fmt: skip
    """Find the kinks on a leg; 4 to 5 queries for each.

    Raises
    ------
    PathFailed
    """
    return _Scan(ledger, leg, ends, bend, sigma, pair, patience).run()


class _Limits(NamedTuple):
    """Length of a pair of answers over the gap it stands in; queries on a leg, at least and per kink found."""

    pair: float
    patience: tuple[int, int]


class _Scan:
    """Pieces in order along the leg; gap number i lies between pieces i and i + 1 and holds a kink, or is open."""

    def __init__(
        self, ledger: Ledger, leg: Leg, ends: tuple[Piece, Piece], bend: Bend, sigma: float, pair: float,
        patience: tuple[int, int],
    ) -> None:  # fmt: skip
        self.ledger, self.leg, self.bend, self.sigma = ledger, leg, bend, sigma
        self.limits = _Limits(pair, patience)
        self.pieces = list(ends)
        self.gaps: list[Kink | None] = [None]
        self.times = [t for piece in ends for t in piece.times]
        self.values = [y for piece in ends for y in piece.values]
        self.tries = self.drops = 0
        self.blind = False  # after a drop, the meeting point was asked already

    def ask(self, t: float) -> float:
        y = float(self.ledger.ask(self.leg.points(t)[None], "path")[0])
        self.times.append(t)
        self.values.append(y)
        return y

    def run(self) -> LegScan:
        attempt = try_sharp if self.bend.shape.sharp else try_smooth
        while None in self.gaps:
            number = self.gaps.index(None)
            left, right = self.pieces[number], self.pieces[number + 1]
            if self._merge(number, left, right) or self._drop_straddling(number, left, right):
                continue
            self._check_patience(left, right)
            if self.blind:
                self.blind = False
                self._halve(number, left, right)
                continue
            seen = attempt(self.bend, left, right, self.ask, self.sigma)
            if seen.kink is not None:
                left.fixed = right.fixed = True
                self.gaps[number] = seen.kink
            elif seen.strays:
                self._split(number, *seen.strays[0])
            elif seen.crowded:
                self._drop_crowded(number, left, right)
            else:
                self._halve(number, left, right)
        kinks = tuple(kink for kink in self.gaps if kink is not None)
        return LegScan(self.leg, kinks, np.array(self.times), np.array(self.values))

    def _check_patience(self, left: Piece, right: Piece) -> None:
        self.tries += 1
        allowed = self.limits.patience[0] + self.limits.patience[1] * sum(kink is not None for kink in self.gaps)
        if len(self.times) > allowed or self.tries > 2 * allowed:
            n_kinks = sum(kink is not None for kink in self.gaps)
            raise PathFailed(f"{len(self.times)} answers on a leg separate only {n_kinks} kinks")
        if right.low - left.high < LEG.least_gap * self.leg.length:
            raise PathFailed("a bend within the least distance is not a single kink")

    def _merge(self, number: int, left: Piece, right: Piece) -> bool:
        if not left.same_line(right, self.sigma):
            return False
        left.take(right)
        del self.pieces[number + 1], self.gaps[number]
        return True

    def _drop_straddling(self, number: int, left: Piece, right: Piece) -> bool:
        """Drop a pair of answers between which there is a kink: the lines meet within it."""
        place = meeting(left, right)[0]
        for which, piece in ((number, left), (number + 1, right)):
            slack = 0.02 * (piece.high - piece.low)  # a pair whose first answer lies on the left piece still straddles
            if len(piece.times) == 2 and not piece.fixed and piece.low - slack <= place <= piece.high + slack:
                self._drop(which)
                return True
        return False

    def _drop(self, which: int) -> None:
        del self.pieces[which]
        self.drops += 1
        self.blind = True
        self.gaps[which - 1 : which + 1] = [None]

    def _drop_crowded(self, number: int, left: Piece, right: Piece) -> None:
        """Drop the nearer of two pieces, one of which lies within the transition that they enclose."""
        place = meeting(left, right)[0]
        near = sorted(((place - left.high, number, left), (right.low - place, number + 1, right)), key=lambda n: n[0])
        for distance, which, piece in near:
            if not piece.fixed and 20 * distance < self.leg.length and distance < 0.3 * (right.low - left.high):
                self._drop(which)
                return
        self._halve(number, left, right)

    def _halve(self, number: int, left: Piece, right: Piece) -> None:
        share = 0.3 + 0.4 * ((0.5 + 0.618 * self.drops) % 1.0)  # another place after a pair was dropped
        t = left.high + share * (right.low - left.high)
        y = self.ask(t)
        for piece in (left, right):
            if piece.holds(t, y, self.sigma):
                piece.add(t, y)
                return
        self._split(number, t, y)

    def _split(self, number: int, t: float, y: float) -> None:
        """Make a new piece of an answer that lies on neither side, and one beside it."""
        left, right = self.pieces[number], self.pieces[number + 1]
        room = max(right.low - t, t - left.high)
        step = min(self.limits.pair * (right.low - left.high), 0.3 * room)
        beside = t + step if right.low - t >= t - left.high else t - step
        self.pieces.insert(number + 1, Piece([t, beside], [y, self.ask(beside)]))
        self.gaps[number : number + 1] = [None, None]
