"""What was chosen, not derived, on the way to networks of kinked units: how far, how often, how close.

Behind a number stands the kind of row of ``boxes/black_box_kinked.py`` that it was tuned on (with other seeds), or
the word guess. Limits of certificates are not here but in :mod:`gradsift.certificate`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GrainPolicy:
    """Coarse answers."""

    far: float = 1e10  # size of answers on the path over their noise; noise rows
    grows: float = 1e3  # growth along a ray over its noise, from which it is a line; guess
    more_paths: int = 2  # how often PATH.factors are gone through in single precision; trained_kinked
    end: float = 2e-3  # of a segment, instead of SEGMENT.end, in single precision; guess
    pair: float = 2e-2  # of a gap, instead of SEGMENT.pair, in single precision; guess
    behind: float = 0.02  # instead of CELL.other and CELL.crossed_twice, in single precision; guess
    precise: float = 1e-6  # instead of CELL.precise, for coarse answers; guess
    asked_again: int = 20  # answers to one question that measure the noise; noise rows
    first_look: int = 9  # answers that told of noise in the first place, fewer if it was given
    looks: int = 3  # how often a sharp kink is asked beside, each time closer to it; pairs
    across: float = 8.0  # noise over the jump: typical distance from a sharp kink at which its shape is asked; pairs
    offsets: float = 0.07  # standard error of an offset over the noise; noise rows
    enough: tuple[float, float] = (1.0, 4e-5)  # the same where noise is faint: over noise, over the size; decimals rows
    most: tuple[int, int] = (10, 6)  # points near the origin through noise in one round: at least, and per unknown
    most_smooth: tuple[int, int] = (10, 4)  # the same where units have widths; noise rows
    rounds: int = 4  # of such points, each from what is known by then; noise rows
    digits: float = 4.0  # relative errors of answers in the standard error of an offset; float32 rows
    further: float = 16.0  # reach of smooth units over what noise lets a ray show of it; noise rows
    blur: float = 100.0  # length of the path beside a kink, over the reach, in which smooth units may be rounded; guess
    behind_in_noise: float = 2e-4  # instead of CELL.other, through noise; noise rows
    trust: float = 2.0  # how much worse than thought offsets and widths may be between rounds; noise rows
    repeats: int = 2  # most answers at one point in a round; guess
    outside: float = 0.8  # of that length, within which answers are left out of a segment's fit; guess
    rounded: float = 0.1  # of that distance: height of a unit's rest; guess
    placed: tuple[float, float] = (0.5, 3e-4)  # error of an offset before widths: over noise, over jump by blur; guess
    smooth: float = 1e6  # radius of the path over the reach, instead of PATH.smooth; guess
    wider: float = 2.0  # most change of a width in one step; guess
    cancel: float = 1e-3  # instead of 1e-6, what a linear term may leave in single precision; guess


@dataclass(frozen=True)
class ReachPolicy:
    """Rays outwards until the answers lie on a line."""

    factor: float = 8.0  # of the radius, and first radius behind exact answers; leaky ReLU (10, 3), tuning networks
    most: int = 16  # radii per ray; guess
    collinear: float = 64 * 2.0**-52  # guess
    grows: float = 1e-6  # growth over the largest answer, below which a ray is flat; guess
    suspicious: float = 8.0**4.5  # a reach beyond this may be the luck of one ray; guess
    beyond: float = 1e5  # over a radius: offsets, and units that a path missed, then show in opposite answers; guess
    adds_up: float = 1e-3  # of the largest answer: what one hidden layer leaves of odd parts; rows "deep"


@dataclass(frozen=True)
class SegmentPolicy:
    """Pieces and gaps along a segment."""

    on: float = 8.0  # standard deviations within which an answer lies on a piece; guess
    end: float = (
        2e-5  # length of a piece at an end, over that of the segment: short, so that no kink lies within; 50,64 rows
    )
    pair: float = 1e-3  # spacing of two answers that make a piece, over the gap in which they lie; guess
    least_gap: float = 1e-11  # over the segment's length: nothing is told apart below; guess
    rounding: float = 3.0 * 2.0**-52  # of one answer, over the largest; guess
    patience: tuple[int, int] = (32, 14)  # queries on a segment: at least, and per kink found; wrong rows
    guess: tuple[int, int] = (22, 8)  # the same while kinks are only guessed to be sharp; guess


@dataclass(frozen=True)
class BendPolicy:
    """Tests of a single kink."""

    apart: float = 40.0  # errors of the meeting point between it and the answers that test it; guess
    closer: float = 0.3  # of the distance asked before, below which it is worth asking again; guess
    tells: float = 0.2  # least argument that tells a width; guess
    widest: float = 1 / 40  # least width of a unit over the typical one; guess
    step: float = 6.0  # factor of a distance that tells nothing, and of a step that leaves its cell; guess
    tries: int = 5  # such distances or steps; guess
    look_twice: int = 2  # kinks at which the shape is compared with a further answer; guess


@dataclass(frozen=True)
class CellPolicy:
    """Steps across the path."""

    first_step: tuple[float, float] = (0.02, 0.05)  # of the room: at most, and over the number of kinks; guess
    safe: float = 0.75  # share of a margin that a step may use; guess
    first_batch: int = 3  # guess
    behind: tuple[float, float] = (0.3, 0.9)  # of the radius, behind the path; guess
    crossed_twice: float = 1e-4  # of a jump in the plane, up to which it may be the opposite of another one; guess
    other: float = 1e-6  # of the largest answer, by which one beside the path may miss what the kinks predict; guess
    same: float = 1e-5  # of a jump: opposite jumps that agree so well are one unit, crossed twice; guess
    first_precise: float = 1e-11  # error of the first cell's slope aside, over a typical jump in the plane; guess
    shares: tuple[float, float] = (
        10.0,
        7.0,
    )  # margin over the step's typical change of an argument: first batch, and all others; 10,32 and 50,64 rows
    precise: float = 3e-10  # error of a gradient over the shortest jump beside its cell; 10,32 and 50,64 rows
    inner: float = 0.6  # share of a margin that a step from the inner point of a narrow cell may use; guess
    better: float = 0.7  # error from there over that from the path, above which it is not asked; float32 rows
    most: float = 0.5  # share of the cells: where more are narrow, another path is better; guess


@dataclass(frozen=True)
class FarFitPolicy:
    """The linear fit of all jumps."""

    most: int = 1500  # unknowns: the fit is dense; guess
    misfit: float = 0.6  # misses over rounding, beyond which another path is better; trained_kinked, "torch float32"
    least: float = 0.03  # the least of these misses that is believed; the same rows
    rows: float = 1.4  # answers per unknown; float32 rows
    most_rows: float = 10.0  # the same where more answers make a bound small enough; guess
    spare: int = 20  # answers beyond one per unknown, at least: they tell the scatter; guess
    below: float = 0.7  # of a certificate's limit, for the bounds that more answers are to bring; guess
    candidates: int = 4  # points over those that are asked; guess
    sure: float = 20.0  # errors of an argument, beyond which it is known on which side a point lies; guess
    prior: float = 3.0  # how much worse than thought the start may be; guess


@dataclass(frozen=True)
class NearOriginPolicy:
    """The polish near the origin."""

    rounds: int = 3  # guess
    prior: float = 10.0  # how much worse than thought the start may be; guess
    loose: float = 100.0  # prior of a fit that is hardly tied, over the size of a parameter; guess
    pool: tuple[int, int] = (40, 8)  # candidates: at least, and per unit; guess
    least_gain: float = 1e-3  # of the worst variance, by one more answer; guess
    inside: float = 0.02  # radius over that of the path, within which answers that are there are used; guess
    along: tuple[float, float] = (
        -1.0,
        1.7,
    )  # decimal logarithms of distances along a hyperplane: units separate further out; 10,32 rows
    not_sure: float = 4.0  # standard errors of an offset within which a sharp unit may be active or not; guess
    most: tuple[int, int] = (12, 4)  # points: at least, and per unknown; guess


@dataclass(frozen=True)
class BesidePolicy:
    """Offsets of nearly parallel units through noise."""

    degrees: float = 20.0  # between two units, below which their offsets are told one by one; pairs
    first: float = 50.0  # noise over the jump: half the distance of the first two answers; guess
    further: float = 4.0  # factor of a distance that tells nothing; room over the first one; guess
    rounds: int = 3  # guess
    enough: float = 5.0  # noise: error of an offset that needs no further round; guess
    within: float = 0.1  # of that distance: how far from both answers the kink must lie; guess
    error: float = 2.0  # noise: error of an offset from two answers; guess
    nearest: float = 2.0  # distance along the hyperplane over the error of an offset; guess
    farthest: float = 0.1  # the same, over the radius of the path; guess
    candidates: int = 200  # directions along a hyperplane, for the one with most room to the others; guess


@dataclass(frozen=True)
class WidthPolicy:
    """Profiles of smooth units through coarse answers."""

    along: float = 10.0  # their distance from its foot over the reach; guess
    places: tuple[float, float, float, float] = (0.4, 1.0, 2.0, 4.0)  # over the width; guess
    first: tuple[float, ...] = (0.25, 0.1, 0.04, 0.015, 0.006, 0.0025, 0.001)  # over the reach; guess
    range: tuple[float, float] = (2e-4, 0.3)  # of widths, over the reach; guess
    grid: int = 120  # guess
    doubted: float = 0.3  # relative error of a width beyond which others are tried, and which guides none; noise rows
    others: tuple[float, ...] = (0.2, 0.5, 1.0, 2.0, 5.0)  # over the typical one; guess


@dataclass(frozen=True)
class RivalPolicy:
    """Other activations for the same answers."""

    widths: tuple[float, ...] = (0.4, 0.6, 1.0, 1.6, 2.5)  # first guesses over those of the units found; guess
    apart: float = 6.0  # nats by which a rival must be worse to be told apart; guess


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
    most_steps: int = 80  # guess


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
class FreshPolicy:
    """Fresh points and bounds."""

    around: tuple[float, float] = (1.0, 3.0)  # radii of fresh points over the median distance times sqrt(d); guess
    pairs_in_noise: int = 12  # guess
    scatter: float = 6.0  # limit of single misses over that of their root mean square; guess
    faint: float = 0.5  # of the largest weight, below which a unit is called faint; guess


@dataclass(frozen=True)
class KinkBumpPolicy:
    """Which activation a kink has."""

    sharp: int = 2  # sharp kinks that make a ReLU network; guess
    most_paths: int = 3  # and looks at further kinks where paths fail; guess
    most_asked: int = 70  # on one segment; guess
    wide: float = 0.05  # of a gap: within this distance of the meeting point lies an isolated bend; guess
    narrow: float = 4.0  # ratio of two distances between which a bend ends; guess
    profile: tuple[float, float, float, float, float] = (
        0.02,
        0.05,
        0.1,
        0.2,
        0.35,
    )  # of the bend's reach, to both sides; guess
    fits: float = 1.2e-3  # of the largest rest: both forms of GELU differ by three times as much; auto rows
    clear: float = 3.0  # misfit of the second best over that of the best; guess


@dataclass(frozen=True)
class PathPolicy:
    """Paths, one after the other, and the network they give."""

    sharp: float = 1e3  # radius of the path over the reach; all rows
    smooth: float = 3e3  # radius of the path over the reach; all rows
    width: float = 40.0  # first guess of a width times the reach; guess
    near: float = 3.0  # how far beyond the opposite point the path ends, over the reach; guess
    factors: tuple[float, float, float, float, float] = (
        1.0,
        5.0,
        0.5,
        20.0,
        2.0,
    )  # of the radius, one path after the other until one succeeds; guess
    look_again: int = 2  # paths that fail before the reach is measured again; guess
    loose: float = 2.5  # error of a base, in rounding errors, above which it is asked for; 10,3 rows
    scatter: float = 1.3  # rounding error of one answer over the scatter of a segment's answers; guess
    nothing: float = 1e-7  # of the longest jump: a linear term below is rounding; guess


@dataclass(frozen=True)
class WithinPolicy:
    """Sharp units inside bounds, or inside the range of a link."""

    digits: float = 1e-10  # error that undoing a link may leave of an answer; trained_kinked, rows "probabilities"
    inside: float = 0.85  # share of the bounds that rays end in; guess
    start: float = 0.2  # distance of the rays' common start from the middle, over the bounds or one; guess
    step: float = 1e-3  # longest step across a ray over the ray; guess
    parallel: float = 1e-2  # sine of the angle between two rays below which they span no plane; guess
    beyond: float = 1e3  # the same where a network that is nearly known is taken off, over that; guess
    looked_at: int = 16  # answers that show whether all units are known; guess
    most_paths: int = 40  # pairs of rays; guess
    most_failed: int = 6  # pairs of rays; guess
    tries: int = 4  # fits; guess
    stuck: int = 2  # times that rays fail again and again; guess
    lengths: tuple[int, int] = (-4, 20)  # of rays that no bounds end, as powers of two; guess
    spare: float = 0.6  # answers of the fit beyond one per unknown, over their number; guess
    candidates: int = 20  # places over those that are asked; guess
    mirrored: tuple[float, float] = (0.2, 1.5)  # distance beyond a hyperplane over that on this side; guess
    fresh: int = 24  # guess


GRAIN = GrainPolicy()
REACH = ReachPolicy()
SEGMENT = SegmentPolicy()
BEND = BendPolicy()
CELL = CellPolicy()
FAR_FIT = FarFitPolicy()
NEAR_ORIGIN = NearOriginPolicy()
NEIGHBOURS = BesidePolicy()
WIDTHS = WidthPolicy()
RIVALS = RivalPolicy()
PARALLEL_PAIRS = ParallelPairPolicy()
FAR_PAIRS = FarPairPolicy()
FRESH = FreshPolicy()
BUMP = KinkBumpPolicy()
PATH = PathPolicy()
WITHIN = WithinPolicy()
