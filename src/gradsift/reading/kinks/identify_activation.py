"""What rays and kinks far out tell: where the function is linear, one layer or several, and which activation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from ...arguments import Floats
from ...certificate import COARSE_KINKS
from ...geometry import orthonormal_rows
from ...tuned import FACTOR, ROUNDINGS, TRIES
from ..ledger import EPS, Ledger
from ..precision import EXACT_ANSWERS, Precision
from .kink_network import Shape, growing_names, shape_of
from .kink_test import Bend, Piece, bend_between, try_sharp
from .segments import PathFailure, Segment, ask_ends, half_square
from .settings import BEYOND, BUMP, PATH


@dataclass(frozen=True)
class KinkShape:
    """What one kink tells.

    Attributes
    ----------
    name : str or None
        The activation; None if no isolated kink has the shape of any.
    says : str
        What was seen, as part of a sentence.
    n_sharp : int
        Sharp kinks on the same segment.
    """

    name: str | None
    says: str
    n_sharp: int = 0


def identify_activation(
    ledger: Ledger, reach: LinearReach, rng: np.random.Generator, *, all_kinks: bool = False
) -> KinkShape:
    """Look for an isolated kink far out and compare it with every kinked activation; 20 to 50 queries as a rule.

    ReLU and leaky ReLU have the same kink, and are called relu. With `all_kinks` a segment is followed beyond the first
    smooth kink, so that sharp ones beside it are counted.
    """
    says = "no isolated kink was found"
    for number in range(TRIES):
        path = half_square(PATH.smooth * FACTOR**number * reach.radius, 0.0, ledger.n_features, rng)
        ends = ask_ends(ledger, path)
        if isinstance(ends, PathFailure):
            continue
        for segment, pieces in zip(path.segments, ends.pieces):
            if _has_steps(*pieces, ends.sigma):
                return KinkShape(None, "it has steps between parallel lines, as sigmoids with a linear term have")
            sighting = _Look(ledger, segment, ends.sigma).between(*pieces, all_kinks)
            if sighting.name is not None:
                return sighting
            says = sighting.says
    return KinkShape(None, says)


def _has_steps(left: Piece, right: Piece, sigma: float) -> bool:
    """Say whether both ends of a segment have the same slope, but not the same level."""
    error = float(np.hypot(left.slope_error, right.slope_error))
    return not left.same_line(right, sigma) and abs(right.slope - left.slope) <= 8 * sigma * error


class _Look:
    """One segment while it is searched for an isolated bend."""

    def __init__(self, ledger: Ledger, segment: Segment, sigma: float) -> None:
        self.ledger, self.segment, self.sigma = ledger, segment, sigma
        self.n_asked = 0

    def ask(self, t: float) -> float:
        self.n_asked += 1
        return float(self.ledger.ask(self.segment.points(t)[None], "which activation")[0])

    def between(self, left: Piece, right: Piece, all_kinks: bool) -> KinkShape:
        gaps, says, n_sharp = [(left, right)], "there is no kink on the path", 0
        smooth: KinkShape | None = None
        while gaps and self.n_asked < BUMP.most_asked:
            left, right = gaps.pop(0)
            if left.same_line(right, self.sigma):
                continue
            place = bend_between(left, right)[0]
            if not left.high < place < right.low:
                gaps = self._halves(left, right) + gaps
                continue
            seen = try_sharp(Bend(shape_of("relu"), 1.0), left, right, self.ask, self.sigma)
            if seen.kink is not None:  # one alone may be a smooth unit that is too steep or too faint to show its shape
                n_sharp += 1
                if n_sharp >= BUMP.kinks and (smooth is not None or not all_kinks):
                    break
                continue
            bend = self._isolated(left, right)
            if bend is None:
                gaps = self._halves(left, right) + gaps
                continue
            sighting = self._compare(left, right, bend)
            if sighting.name is not None:
                smooth = sighting
                if not all_kinks or n_sharp >= BUMP.kinks:
                    break
            says = sighting.says
        if smooth is not None:
            return replace(smooth, n_sharp=n_sharp)
        return KinkShape("relu", "kinks look sharp", n_sharp) if n_sharp else KinkShape(None, says)

    def _halves(self, left: Piece, right: Piece) -> list[tuple[Piece, Piece]]:
        gap = right.low - left.high
        t = left.high + 0.5 * gap
        piece = Piece([t, t + 1e-3 * gap], [self.ask(t), self.ask(t + 1e-3 * gap)])
        return [(left, piece), (piece, right)]

    def _isolated(self, left: Piece, right: Piece) -> float | None:
        """Return the distance from the meeting point within which all of the bend lies; None if it is not isolated."""
        place = bend_between(left, right)[0]
        far = BUMP.wide * min(place - left.high, right.low - place)
        for t, piece in ((place - far, left), (place + far, right)):
            if not piece.holds(t, self.ask(t), self.sigma):
                return None
        near = 1e-9 * far
        while far > FACTOR * near and self.n_asked < BUMP.most_asked:
            # Bisection of the logarithm of the distance: a bend may be narrower than the gap by many orders of
            # magnitude.
            between = float(np.sqrt(far * near))
            on_lines = left.holds(place - between, self.ask(place - between), self.sigma)
            on_lines = on_lines and right.holds(place + between, self.ask(place + between), self.sigma)
            far, near = (between, near) if on_lines else (far, between)
        return far

    def _compare(self, left: Piece, right: Piece, bend: float) -> KinkShape:
        """Compare a profile of the bend with all smooth shapes."""
        place, change, _ = bend_between(left, right)
        away = bend * np.concatenate([-np.array(BUMP.profile), BUMP.profile])
        heights = np.array([self.ask(place + a) - (left if a < 0 else right).at(place + a) for a in away])
        size = float(np.abs(heights).max())
        misfits = {}
        for name in growing_names():
            shape = shape_of(name)
            if not shape.sharp:
                misfits[name] = min(
                    _misfit(shape, away, heights / change, turn) for turn in ((1.0,) if shape.even else (1.0, -1.0))
                ) * abs(change) / size  # fmt: skip
        best, second = sorted(misfits, key=misfits.__getitem__)[:2]
        if misfits[best] < min(BUMP.fits, misfits[second] / FACTOR):
            return KinkShape(best, f"a kink has the shape of {best} within {misfits[best]:.1g} of its height")
        return KinkShape(None, f"the kinks have no known shape ({best} misses by {misfits[best]:.2g} of the height)")


def _misfit(shape: Shape, away: Floats, heights: Floats, turn: float) -> float:
    """Return by how much the rest of one unit misses the heights, over the best width."""

    def worst(log_width: float) -> float:
        width = float(np.exp(log_width))
        return float(np.abs(shape.rest(turn * width * away) / width - heights).max())

    reach = float(np.abs(away).max())
    # The misfit has several minima in the width: a grid finds the valley, bounded search its bottom.
    grid = np.log(np.geomspace(0.3, 60.0, 40) / reach)
    start = int(np.argmin([worst(g) for g in grid]))
    low, high = grid[max(start - 1, 0)], grid[min(start + 1, len(grid) - 1)]
    return float(minimize_scalar(worst, bounds=(low, high), method="bounded", options={"xatol": 1e-10}).fun)


@dataclass(frozen=True)
class LinearReach:
    """Attributes
    ----------
    radius : float
        From here on a ray was straight.
    grows : bool
        Whether the function grows far out on it; sigmoids do not.
    slope : float
        By how much, per length.
    """

    radius: float
    grows: bool
    slope: float


def find_reach(
    ledger: Ledger, rng: np.random.Generator, *, both_ways: bool, grain: Precision = EXACT_ANSWERS
) -> LinearReach | None:
    """Ask along a ray at radii growing by 8 until three answers lie on a line; 3 to 32 queries.

    None if the function is straight on neither of two rays.

    Parameters
    ----------
    both_ways : bool
        Ask along the opposite ray, too, and take the larger radius: units that are not even differ at their ends.
    """
    ways = orthonormal_rows(2, ledger.n_features, rng) if ledger.ways is None else ledger.ways
    reaches = _least(ledger, ways, grain)
    if not reaches:
        return None
    radius = min(reach.radius for reach in reaches)
    if both_ways or not any(reach.grows for reach in reaches):  # all units may be idle on one side, but not on both
        opposite = _least(ledger, -ways, grain)
        if not opposite:
            return None
        reaches += opposite
        radius = max(radius, min(reach.radius for reach in opposite)) if both_ways else radius
    if grain.sd:  # in noise a flat ray has no reach of its own
        radius = min((reach.radius for reach in reaches if reach.grows), default=radius)
    return LinearReach(radius, any(reach.grows for reach in reaches), max(reach.slope for reach in reaches))


def _least(ledger: Ledger, ways: Floats, grain: Precision) -> list[LinearReach]:
    """Return the reach of a ray, and of another one if that is suspiciously large or has none.

    A ray almost within a kink goes far; one on which units cancel drowns in their rounding.
    """
    reaches = []
    for way in ways:
        reach = _along(ledger, way, grain)
        if reach is not None:
            reaches.append(reach)
            if reach.radius <= FACTOR**TRIES:
                break
    return reaches


def largest_radius(grain: Precision) -> float:
    """Return the radius at which the search for a straight ray ends."""
    return float(_ray_sizes(grain)[-1])


def _ray_sizes(grain: Precision) -> Floats:
    # Up to where a coordinate has a digit left. A larger nearest reach would leave less of what noise lets show.
    most = int(np.log(1 / EPS) / np.log(FACTOR)) - 1
    return np.asarray(FACTOR ** (np.arange(most) + grain.is_exact))


def _along(ledger: Ledger, way: Floats, grain: Precision) -> LinearReach | None:
    """Return the reach of one ray, or None where it never gets straight."""
    radii, outmost = _ray_sizes(grain), None
    values = np.empty(len(radii))
    for number, radius in enumerate(radii):
        values[number] = ledger.ask(radius * way[None], "reach")[0]
        if number < 2:
            continue
        first, second = np.diff(values[number - 2 : number + 1])
        largest = float(np.abs(values[number - 2 : number + 1]).max())
        # On a line radii r, 8 r, 64 r give differences of ratio 8; both are known to the rounding of the largest
        # answer.
        error = FACTOR * (ROUNDINGS * grain.eps * largest + COARSE_KINKS.residuals * grain.sd)
        grows = bool(abs(second) > max(np.sqrt(EPS) * largest, FACTOR * error))
        straight = abs(second - FACTOR * first) <= error
        if straight and not grows and grain.is_exact:  # all kinks may lie further out
            outmost = ledger.ask(radii[-1] * way[None], "reach")[0] if outmost is None else outmost
            straight = abs(outmost - values[number]) <= error
        if straight and (grows or grain.sd == 0 or number == len(radii) - 1):
            slope = abs(float(second)) / float(radius - radii[number - 1])
            return LinearReach(float(radii[number - 2]), grows, slope)
    return None


def odd_part_is_linear(ledger: Ledger, reach: LinearReach, rng: np.random.Generator) -> bool:
    """Say whether ``f(x) - f(-x)`` adds up far out; 6 queries.

    Every unit with straight ends has ``f(z) - f(-z) = z`` up to its offset, and all of them together leave a linear
    function. A second layer takes the kinks of the first into its own units, and does not.
    """
    radius = BEYOND * PATH.sharp * reach.radius  # where offsets are next to nothing, however large
    x, y = radius * orthonormal_rows(2, ledger.n_features, rng)
    ways = np.array([x, y, x + y])
    answers = ledger.ask(np.concatenate([ways, -ways]), "depth")
    # phi(z) - phi(-z) = z up to a constant: the odd part of one hidden layer is linear, so that x + y adds up.
    odd = answers[:3] - answers[3:]
    return bool(abs(odd[0] + odd[1] - odd[2]) <= ledger.precision.few_digits * np.abs(answers).max())
