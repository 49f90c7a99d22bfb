"""What was chosen, not derived, on the way to networks of kinked units: how far, how often, how close.

Behind a number stands the kind of row of ``boxes/black_box_kinked.py`` that it was tuned on (with other seeds), or
the word guess. What is shared with other methods is in :mod:`gradsift.tuned`, limits of certificates in
:mod:`gradsift.certificate`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger import EPS


@dataclass(frozen=True)
class PrecisionPolicy:
    """Coarse answers."""

    far: float = EPS ** (-2 / 3)  # size of answers on the path over their noise, which then is more than all rounding
    more_paths: int = 2  # how often PATH.factors are gone through in single precision; trained_kinked
    offsets: float = 0.07  # standard error of an offset over the noise; noise rows
    enough: tuple[float, float] = (1.0, 4e-5)  # the same where noise is faint: over noise, over the size; decimals rows
    most: tuple[int, int] = (10, 6)  # points near the origin through noise in one round: at least, and per unknown
    most_smooth: tuple[int, int] = (10, 4)  # the same where units have widths; noise rows
    further: float = 16.0  # reach of smooth units over what noise lets a ray show of it; noise rows
    blur: float = 100.0  # length of the path beside a kink, over the reach, in which smooth units may be rounded; guess
    placed: tuple[float, float] = (0.5, 3e-4)  # error of an offset before widths: over noise, over jump by blur; guess
    smooth: float = 1e6  # radius of the path over the reach, instead of PATH.smooth; guess
    wider: float = 2.0  # most change of a width in one step; guess


@dataclass(frozen=True)
class SegmentPolicy:
    """Pieces and gaps along a segment."""

    apart: float = 40.0  # errors of a meeting point between it and the answers that test its kink; "kinks, ill scales"
    rounding: float = 3.0  # spacings of numbers: the rounding of one answer, over the largest; "kinks, rounded"
    patience: tuple[int, int] = (32, 14)  # queries on a segment: at least, and per kink found; wrong rows
    guess: tuple[int, int] = (22, 8)  # the same while kinks are only guessed to be sharp; guess


@dataclass(frozen=True)
class CellPolicy:
    """Steps across the path."""

    first_step: tuple[float, float] = (0.02, 0.05)  # of the room: at most, and over the number of kinks; guess
    first_batch: int = 3  # guess
    behind: tuple[float, float] = (0.3, 0.9)  # of the radius, behind the path; guess
    shares: tuple[float, float] = (10.0, 7.0)  # margin over a step's typical change of an argument, first and later


@dataclass(frozen=True)
class FarFitPolicy:
    """The linear fit of all jumps."""

    most: int = 1500  # unknowns: the fit is dense; guess
    least: float = 0.03  # misses over rounding: the least that is believed; trained_kinked, "torch float32"
    rows: float = 1.4  # answers per unknown; float32 rows
    most_rows: float = 10.0  # the same where more answers make a bound small enough; guess
    candidates: int = 4  # points over those that are asked; at 20 trained float32 networks cost a quarter more


@dataclass(frozen=True)
class NearOriginPolicy:
    """The polish near the origin."""

    pool: tuple[int, int] = (40, 8)  # candidates: at least, and per unit; guess
    along: tuple[float, float] = (-1.0, 1.7)  # decimal logarithms of distances along a hyperplane; 10,32 rows
    most: tuple[int, int] = (12, 4)  # points: at least, and per unknown; guess
    fresh: int = 24  # fresh points through noise, and inside bounds, where one may lie in a corner of its own; guess
    around: tuple[float, float] = (1.0, 3.0)  # radii of fresh points over the median distance times sqrt(d); guess


@dataclass(frozen=True)
class BesidePolicy:
    """Offsets of nearly parallel units through noise."""

    degrees: float = 20.0  # between two units, below which their offsets are told one by one; pairs
    candidates: int = 200  # directions along a hyperplane, for the one with most room to the others; guess


@dataclass(frozen=True)
class WidthPolicy:
    """Profiles of smooth units through coarse answers."""

    places: tuple[float, float, float, float] = (0.4, 1.0, 2.0, 4.0)  # over the width; guess
    first: tuple[float, ...] = (0.25, 0.1, 0.04, 0.015, 0.006, 0.0025, 0.001)  # over the reach; guess
    range: tuple[float, float] = (2e-4, 0.3)  # of widths, over the reach; guess
    grid: int = 120  # guess
    doubted: float = 0.3  # relative error of a width beyond which others are tried, and which guides none; noise rows
    others: tuple[float, ...] = (0.2, 0.5, 1.0, 2.0, 5.0)  # over the typical one; guess


@dataclass(frozen=True)
class ParallelPairPolicy:
    """Parallel pairs of units instead of one."""

    shares: tuple[float, ...] = (0.2, 0.5, 0.8)  # of the jump, for the first of two; guess
    opposite: tuple[float, ...] = (1.3, 2.0, 4.0)  # the same where the second has the other sign; guess
    range: tuple[float, float] = (0.1, 0.9)  # of shares between those of the grid; guess
    opposite_range: tuple[float, float] = (1.1, 6.0)  # the same where the second has the other sign; guess
    least: float = 2.0  # noise: the least distance of two kinks, times the jump; guess
    most: float = 4.0  # median argument: the largest; guess
    distances: int = 12  # guess
    narrower: tuple[float, ...] = (1.0, 0.5, 0.2)  # widths of both over that of the one; guess
    simplex: tuple[float, float, float] = (0.1, 0.2, 0.3)  # first steps of share and logarithms of the others; guess


@dataclass(frozen=True)
class FarPairPolicy:
    """Nearly parallel units through noise."""

    noise: float = 180.0  # over the jump: least distance of answers from a hyperplane; guess
    widths: float = 4.0  # of a rounded kink: the same; guess
    directions: int = 2  # along each hyperplane; pairs
    moved: float = 0.01  # of that distance: how far the error of a direction may move a kink; guess
    on_path: float = 2e4  # noise over the jump: distance on a path at which two kinks are told apart, and known; pairs
    missed: float = 2e-3  # of the pairs at the blind angle; what the pairs are held against


@dataclass(frozen=True)
class KinkBumpPolicy:
    """Which activation a kink has."""

    kinks: int = 2  # that are looked at before all are taken to have one shape: sharp ones, or a given one; guess
    most_asked: int = 70  # on one segment; guess
    wide: float = 0.05  # of a gap: within this distance of the meeting point lies an isolated bend; guess
    profile: tuple[float, float, float, float, float] = (0.02, 0.05, 0.1, 0.2, 0.35)  # of its reach, to both sides
    fits: float = 1.2e-3  # of the largest rest: both forms of GELU differ by three times as much; auto rows


@dataclass(frozen=True)
class PathPolicy:
    """Paths, one after the other, and the network they give."""

    sharp: float = 1e3  # radius of the path over the reach; all rows
    smooth: float = 3e3  # radius of the path over the reach; all rows
    near: float = 3.0  # how far beyond the opposite point the path ends, over the reach; guess
    factors: tuple[float, float, float, float, float] = (1.0, 5.0, 0.5, 20.0, 2.0)  # of the radius, until one succeeds
    loose: float = 2.5  # error of a base, in rounding errors, above which it is asked for; 10,3 rows


@dataclass(frozen=True)
class WithinPolicy:
    """Sharp units inside bounds, or inside the range of a link."""

    digits: float = 1e-10  # error that undoing a link may leave of an answer; trained_kinked, rows "probabilities"
    inside: float = 0.85  # share of the bounds that rays end in; guess
    start: float = 0.2  # distance of the rays' common start from the middle, over the bounds or one; guess
    step: float = 1e-3  # longest step across a ray over the ray; guess
    parallel: float = 1e-2  # sine of the angle between two rays below which they span no plane; guess
    beyond: float = 1e3  # the same where a network that is nearly known is taken off, over that; guess
    most_paths: int = 40  # pairs of rays; guess
    lengths: tuple[int, int] = (-4, 20)  # of rays that no bounds end, as powers of two; guess
    spare: float = 0.6  # answers of the fit beyond one per unknown, over their number; at 0.4 more boxes begin anew
    candidates: int = 20  # places over those that are asked; at 4 one network of ten is missed
    mirrored: tuple[float, float] = (0.2, 1.5)  # distance beyond a hyperplane over that on this side; guess


GRAIN = PrecisionPolicy()
# A radius over another: offsets, and units that a path missed, then show in opposite answers.
BEYOND = EPS ** (-1 / 3)
SEGMENT = SegmentPolicy()
CELL = CellPolicy()
FAR_FIT = FarFitPolicy()
NEAR_ORIGIN = NearOriginPolicy()
NEIGHBOURS = BesidePolicy()
WIDTHS = WidthPolicy()
PARALLEL_PAIRS = ParallelPairPolicy()
FAR_PAIRS = FarPairPolicy()
BUMP = KinkBumpPolicy()
PATH = PathPolicy()
WITHIN = WithinPolicy()
