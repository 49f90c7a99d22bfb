"""All kinks along one segment: straight pieces, a test in each gap until none is open, then all at once to rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...arguments import Floats
from ...certificate import BOUND
from ...fit.last_digits import fit_to_rounding
from ...geometry import orthonormal_rows
from ..ledger import EPS, Ledger
from ..plane_frame import PlaneFrame, frame_through
from ..precision import EXACT_ANSWERS, Precision
from .kink_network import Shape
from .kink_test import Bend, Kink, Piece, bend_between, try_sharp, try_smooth
from .settings import SEGMENT


@dataclass(frozen=True)
class Segment:
    """A straight line from `start` (in the plane's coordinates, as is `way`, of length one) over a length.

    Attributes
    ----------
    start, way : (2,) arrays
    """

    frame: PlaneFrame
    start: Floats
    way: Floats
    length: float

    @property
    def aside(self) -> Floats:
        """The direction in the plane across the segment; (2,)."""
        return np.array([-self.way[1], self.way[0]])

    def in_plane(self, t: float | Floats) -> Floats:
        """Return the places at t in the plane's coordinates, (2,) or (n, 2)."""
        return np.asarray(self.start + np.multiply.outer(t, self.way))

    def points(self, t: float | Floats) -> Floats:
        """Return the places at t, (d,) or (n, d)."""
        return np.asarray(self.in_plane(t) @ self.frame.plane)


@dataclass(frozen=True)
class Path:
    """Two segments that meet in a corner."""

    frame: PlaneFrame
    segments: tuple[Segment, Segment]
    radius: float


def half_square(radius: float, near: float, n_features: int, rng: np.random.Generator) -> Path:
    """Return a path from one point of the plane around a corner to the point opposite, and a little beyond.

    Every hyperplane that meets the plane within about half of `near` from the origin crosses the path, since the
    path's ends lie on opposite sides of the origin and its last end is moved by `near`. Few cross it twice.
    """
    frame = frame_through(*orthonormal_rows(2, n_features, rng))
    # P, Q, -P: a line that separates P from -P crosses the path, and all lines near the origin do.
    corners = np.array([[radius, 0.0], [0.0, radius], [-radius, -near]])
    return Path(frame, segments_through(frame, corners), radius)


def segments_through(frame: PlaneFrame, corners: Floats) -> tuple[Segment, Segment]:
    """Return the segments between three places (3, 2) of a plane."""
    segments = []
    for start, end in pairwise(corners):
        length = float(np.linalg.norm(end - start))
        segments.append(Segment(frame, start, (end - start) / length, length))
    return segments[0], segments[1]


@dataclass(frozen=True)
class PathFailure:
    """Why the answers on a path give no network; another path may.

    Attributes
    ----------
    because : str
        Part of a sentence.
    behind : bool
        The kinks on the path do not explain the function behind it: a unit was missed, or there are more layers.
    """

    because: str
    behind: bool = False

    def __str__(self) -> str:
        return self.because


@dataclass(frozen=True)
class Ends:
    """Straight pieces at the ends of both segments, and the rounding error of one answer.

    Attributes
    ----------
    pieces : pairs of Piece
        For each segment.
    pair : float
        Spacing of two answers that make a piece, over the gap in which they lie.
    """

    pieces: tuple[tuple[Piece, Piece], tuple[Piece, Piece]]
    sigma: float
    pair: float


@dataclass(frozen=True)
class SegmentScan:
    """Kinks in order, and every answer on the segment.

    Attributes
    ----------
    times, values : (n,) arrays
    """

    segment: Segment
    kinks: tuple[Kink, ...]
    times: Floats
    values: Floats

    def outside(self, distance: float) -> SegmentScan:
        """Return the scan without the answers that are nearer to a kink than this."""
        if not distance or not self.kinks:
            return self
        places = np.array([kink.place for kink in self.kinks])
        far = np.abs(self.times[:, None] - places).min(axis=1) >= distance
        return replace(self, times=self.times[far], values=self.values[far])


def ask_ends(ledger: Ledger, path: Path, grain: Precision = EXACT_ANSWERS) -> Ends | PathFailure:
    """Ask for two or three answers near each end of both segments, the corner in common; 9 queries."""
    pieces: list[tuple[Piece, Piece]] = []
    corner: list[float] = []
    misses, largest = [], 0.0
    for segment in path.segments:
        # A short piece hides no kink, a long one tells its slope: the digits left to its slope are twice those of its
        # length.
        step = float(grain.eps ** (1 / 3)) * segment.length
        times = np.array([0.0, step, segment.length - step, segment.length - 0.4 * step, segment.length])
        asked = ledger.ask(segment.points(times[len(corner) :]), "path")
        values = np.concatenate([corner, asked])
        corner = [float(values[-1])]
        largest = max(largest, float(np.abs(values).max()))
        first, last = (Piece(times[part].tolist(), values[part].tolist(), True) for part in (slice(2), slice(2, 5)))
        misses.append(float(np.linalg.norm([last.at(t) - y for t, y in zip(last.times, last.values)])))
        pieces.append((first, last))
    sigma = max(SEGMENT.rounding * grain.error_of(largest), 1.5 * min(misses)) or 1.0  # all answers may be zero
    if max(misses) > BOUND * sigma:
        return PathFailure("a kink lies right at an end of the path")
    return Ends((pieces[0], pieces[1]), sigma, grain.few_digits)


def scan_segment(
    ledger: Ledger, segment: Segment, ends: tuple[Piece, Piece], bend: Bend, sigma: float, pair: float,
    patience: tuple[int, int] = SEGMENT.patience,
) -> SegmentScan | PathFailure:  # fmt: skip
    """Find the kinks on a segment; 4 to 5 queries for each."""
    return _Scan(ledger, segment, ends, bend, sigma, pair, patience).run()


class _Limits(NamedTuple):
    """Length of a pair of answers over the gap it stands in; queries on a segment, at least and per kink found."""

    pair: float
    patience: tuple[int, int]


class _Scan:
    """Pieces in order along the segment; gap number i lies between pieces i and i + 1 and holds a kink, or is open."""

    def __init__(
        self, ledger: Ledger, segment: Segment, ends: tuple[Piece, Piece], bend: Bend, sigma: float, pair: float,
        patience: tuple[int, int],
    ) -> None:  # fmt: skip
        self.ledger, self.segment, self.bend, self.sigma = ledger, segment, bend, sigma
        self.limits = _Limits(pair, patience)
        self.pieces = list(ends)
        self.gaps: list[Kink | None] = [None]
        self.times = [t for piece in ends for t in piece.times]
        self.values = [y for piece in ends for y in piece.values]
        self.tries = self.drops = 0
        self.blind = False  # after a drop, the meeting point was asked already

    def ask(self, t: float) -> float:
        y = float(self.ledger.ask(self.segment.points(t)[None], "path")[0])
        self.times.append(t)
        self.values.append(y)
        return y

    def run(self) -> SegmentScan | PathFailure:
        attempt = try_sharp if self.bend.shape.sharp else try_smooth
        while None in self.gaps:
            number = self.gaps.index(None)
            left, right = self.pieces[number], self.pieces[number + 1]
            if self._merge(number, left, right) or self._drop_across(number, left, right):
                continue
            failure = self._out_of_patience(left, right)
            if failure is not None:
                return failure
            if self.blind:
                self.blind = False
                self._split_gap(number, left, right)
                continue
            seen = attempt(self.bend, left, right, self.ask, self.sigma)
            if np.isnan(self.values[-1]):
                return PathFailure("a place on the path must not be asked, or its answer has no digits")
            if seen.other_shape:
                return PathFailure("the first kinks have another shape")
            if seen.kink is not None:
                left.fixed = right.fixed = True
                self.gaps[number] = seen.kink
            elif seen.strays:
                self._split(number, *seen.strays[0])
            elif seen.crowded:
                self._drop_close(number, left, right)
            else:
                self._split_gap(number, left, right)
        kinks = tuple(kink for kink in self.gaps if kink is not None)
        return SegmentScan(self.segment, kinks, np.array(self.times), np.array(self.values))

    def _out_of_patience(self, left: Piece, right: Piece) -> PathFailure | None:
        self.tries += 1
        allowed = self.limits.patience[0] + self.limits.patience[1] * sum(kink is not None for kink in self.gaps)
        if len(self.times) > allowed or self.tries > 2 * allowed:
            n_kinks = sum(kink is not None for kink in self.gaps)
            return PathFailure(f"{len(self.times)} answers on a segment separate only {n_kinks} kinks")
        if right.low - left.high < EPS ** (2 / 3) * self.segment.length:
            return PathFailure("a bend within the least distance is not a single kink")
        return None

    def _merge(self, number: int, left: Piece, right: Piece) -> bool:
        if not left.same_line(right, self.sigma):
            return False
        left.take(right)
        del self.pieces[number + 1], self.gaps[number]
        return True

    def _drop_across(self, number: int, left: Piece, right: Piece) -> bool:
        """Drop a pair of answers between which there is a kink: the lines meet within it."""
        place = bend_between(left, right)[0]
        for which, piece in ((number, left), (number + 1, right)):
            # Two lines can meet within a pair of answers only if these lie on different lines themselves.
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

    def _drop_close(self, number: int, left: Piece, right: Piece) -> None:
        """Drop the nearer of two pieces, one of which lies within the transition that they enclose."""
        place = bend_between(left, right)[0]
        near = sorted(((place - left.high, number, left), (right.low - place, number + 1, right)), key=lambda n: n[0])
        for distance, which, piece in near:
            if not piece.fixed and 20 * distance < self.segment.length and distance < 0.3 * (right.low - left.high):
                self._drop(which)
                return
        self._split_gap(number, left, right)

    def _split_gap(self, number: int, left: Piece, right: Piece) -> None:
        # Shares by the golden ratio never repeat, and fill the middle of the gap evenly.
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


@dataclass(frozen=True)
class SegmentFit:
    """The function along a segment: a line from its start, and kinks.

    Attributes
    ----------
    level, slope : float
        At the start.
    kinks : tuple of Kink
        In order.
    root : (p, p) array
        ``root @ root.T`` is the covariance of level, slope and every kink's (place, change, width), in units of the
        rounding error of one answer, squared.
    chi : float
        Largest miss of an answer, in rounding errors.
    scatter : float
        Root mean square of the misses.
    """

    scan: SegmentScan
    level: float
    slope: float
    kinks: tuple[Kink, ...]
    root: Floats
    chi: float
    scatter: float

    def slopes(self) -> Floats:
        """Return the slopes of the straight pieces, shape (number of kinks + 1,)."""
        return self.slope + np.concatenate([[0.0], np.cumsum([kink.change for kink in self.kinks])])

    def slope_errors(self) -> Floats:
        """Return the errors of these slopes, in rounding errors of one answer."""
        # A slope is that of the start and all changes before it: rows of the root add up as these do.
        changes = self.root[3 :: self._per_kink]
        return np.asarray(np.linalg.norm(np.cumsum(np.concatenate([self.root[1:2], changes]), axis=0), axis=1))

    def width_errors(self) -> Floats:
        """Return the relative errors of the widths, in rounding errors of one answer; 0 where kinks are sharp."""
        if self._per_kink == 2:
            return np.zeros(len(self.kinks))
        return np.asarray(np.linalg.norm(self.root[4::3], axis=1) / [kink.width for kink in self.kinks])

    @property
    def _per_kink(self) -> int:
        return 3 if self.kinks and self.kinks[0].width else 2

    def at(self, shape: Shape, t: Floats) -> tuple[Floats, Floats]:
        """Return the function at t, and its errors in rounding errors of one answer."""
        values, rows = _model(shape, np.array([self.level, self.slope]), self.kinks, np.asarray(t, dtype=np.float64))
        return values, np.asarray(np.linalg.norm(rows @ self.root, axis=1))


def fit_segment(shape: Shape, scan: SegmentScan, sigma: float) -> SegmentFit | PathFailure:
    """Fit line and kinks jointly to all answers on a segment; O(n k^2) for n answers."""

    def problem(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        values, derivatives = _model(shape, theta[:2], _with_values(scan.kinks, theta[2:]), scan.times)
        return (values - scan.values) / sigma, lambda: derivatives / sigma

    # A straight line through what the kinks leave; times over the segment's length, so that both columns are alike.
    values, _ = _model(shape, np.zeros(2), scan.kinks, scan.times)
    slope, level = np.polyfit(scan.times / scan.segment.length, scan.values - values, 1)
    smooth = bool(scan.kinks and scan.kinks[0].width)
    each = [part for k in scan.kinks for part in ((k.place, k.change, k.width) if smooth else (k.place, k.change))]
    fit = fit_to_rounding(problem, np.array([level, slope / scan.segment.length, *each]))
    if not np.isfinite(fit.root).all():
        return PathFailure("a kink leaves the segment when all answers on it are fitted")
    free = max(1, len(fit.residuals) - len(fit.theta))
    return SegmentFit(
        scan, float(fit.theta[0]), float(fit.theta[1]), _with_values(scan.kinks, fit.theta[2:]), fit.root / sigma,
        float(np.abs(fit.residuals).max()), sigma * float(np.linalg.norm(fit.residuals)) / np.sqrt(free),
    )  # fmt: skip


def _model(shape: Shape, line: Floats, kinks: tuple[Kink, ...], t: Floats) -> tuple[Floats, Floats]:
    """Return values and derivatives in level, slope, and (place, change, width) of every kink."""
    values = line[0] + line[1] * t
    columns = [np.ones(len(t)), t]
    for kink in kinks:
        away = t - kink.place
        ramp, active = np.maximum(away, 0.0), (away > 0).astype(np.float64)
        if not kink.width:
            values = values + kink.change * ramp
            columns += [-kink.change * active, ramp]
            continue
        argument = kink.width * away
        rest, slope = shape.rest(kink.turn * argument), kink.turn * shape.rest_slope(kink.turn * argument)
        bump = ramp + rest / kink.width
        values = values + kink.change * bump
        columns += [
            -kink.change * (active + slope),
            bump,
            kink.change * (argument * slope - rest) / kink.width**2,
        ]
    return values, np.stack(columns, axis=1)


def _with_values(kinks: tuple[Kink, ...], values: Floats) -> tuple[Kink, ...]:
    """Return kinks with other places, changes and, unless they are sharp, widths."""
    return tuple(
        Kink(row[0], row[1], row[2] if kink.width else 0.0, kink.turn)
        for kink, row in zip(kinks, np.split(values, len(kinks)) if kinks else ())
    )
