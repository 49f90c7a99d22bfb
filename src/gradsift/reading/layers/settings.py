"""The tuned numbers of the method for several layers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadingPolicy:
    """How hyperplanes are read, by the digits of the answers. Lengths are over the window."""

    far: float  # radius of the circles over that at which a ray is flat
    steep: float  # window over jump / slope
    step: float  # beside the tangent
    levers: tuple[float, ...]  # longer steps inside the hyperplane as it is known by then
    smooth: float  # last coefficients over the range of a line that a polynomial describes
    returns: float  # how near long tangents come back
    tangents: float  # the circle's radius over the length of these
    explained: float  # roundings of the largest answer that a student may leave in the root mean square


# Doubles leave so many digits that short steps suffice; all are guesses but the tangents, from the row "20; 20,8": at
# 20 other units are crossed.
EXACT_READING = ReadingPolicy(200.0, 0.15, 0.3, (), 1e-7, 1e-3, 200.0, 300.0)
# Arguments far out are known to four digits, so circles are smaller, windows wider, and levers follow. Looked at on the
# seeds 900 to 905 of the row "float32".
COARSE_READING = ReadingPolicy(40.0, 0.3, 1.0, (30.0,), 1e-3, 0.05, 40.0, 3.0)


@dataclass(frozen=True)
class DeepPolicy:
    """Looked at on the seeds 900 and 901 of the rows of boxes/black_box_deep.py that are named, or guesses."""

    # Far circles. Distances are over the radius at which a ray is flat.
    tries: int = 3  # of one thing in vain, before something else is tried (guess)
    margin: float = 0.3  # from a hyperplane, where its unit stands still; doubled where it does not (guess)
    intervals: int = 32  # of the first half circle (guess)
    most_rounds: int = 12  # of circles, of a circle, of places with equal signs: more is another function (guess)
    asked_again: int = 3  # known signs elsewhere, per unit; CANYON-B: with 1, a unit is missed in 7 of 64
    first_layer_queries: tuple[int, int] = (6000, 150)  # at most, and for each unit beside two per input (guess)

    # Students.
    # Signs, then more where that does not suffice; "20; 20,8": a student of 10 units finishes in 0 of 65 runs at
    # 1.5, in 17 of 47 at 2.5; CANYON-B "CT8" with 12 units: in 2 of 28 at 4, in 4 of 20 at 7.
    rows_per_unknown: tuple[float, ...] = (2.0, 5.0)
    patience: float = 3e-2  # least gain of 15 steps together; "20; 20,8": at 1e-3 none more finishes, in twice the time
    patience_deep: float = 1e-4  # the same from a good start; "trained logistic" 8,6,4 on wine: 3e-3 stops on the way
    promising: float = 0.01  # of the spread: left by one that goes on in double precision, and may work on (guess)
    near_rows: float = 4.0  # the same near the origin, where slopes and offsets are unknowns, too; "10; 8,6,4"
    near_floor: float = 1e-7  # of the spread: what the planes' own errors leave there; "10; 8,6,4": 4e-8
    few: float = 1.4  # sign patterns per unknown below which near points stand in for vertices (guess)
    deepest: tuple[int, ...] = (12, 8)  # by which that is judged for more than one layer above the first
    first_steps: int = 60  # of a student that is not fully grown, or that has just lost a unit (guess)
    last_steps: int = 400  # "20; 20,8": many students finish only after 100, those of several layers still later
    candidates: int = 48  # random units for each one that is added, and places for each edge; CANYON-B "AT18"
    lengths: tuple[float, float] = (0.8, 2.0)  # of the rows of random units (guess)
    stalled: float = 1e-9  # of the spread: the same, left where steps are too ill conditioned to go on (guess)
    faint_left: float = 1e-6  # of the spread, or of the largest answer: what only faint units or tails explain (guess)
    runs: int = 7  # of each size without a gain, before the next one; "20; 20,20": at 4 some stop too soon
    alike: float = 0.9  # correlation of two units from which they agree (guess)
    kept: tuple[float, float] = (0.35, 0.85)  # of the units, drawn anew each time; "20; 20,20": 1 breeds copies
    longest_raised: float = 6.0  # of their rows in small students; CANYON-B "AT18"; "20; 20,20": too long in large ones
    step_work: float = 5e7  # multiplications in the time that a step costs anyway (guess)
    # Multiplications of all students together, in single precision half: a minute; twice that where the best is
    # promising. CANYON-B "NO325".
    most_work: float = 1.2e12
    small: int = 9  # units of a small student; a large one has twice as many, and so many more than the first layer
    hopeless: float = 0.12  # of the spread: left by the best of all up to a large one; CANYON-B "NO313"
    widest: tuple[float, float] = (4.0, 2.5)  # units above: so many, and so many for each of the first layer (guess)
    students: tuple[tuple[int, ...], ...] = (
        (3,), (4,), (6,), (6, 4), (9,), (9, 6), (13,), (18,), (12, 8), (25,), (34,), (16, 12),
    )  # fmt: skip

    # All layers at once.
    # Of the spread: what a unit adds that may be at rest with a larger weight, and what an unfinished student leaves
    # that thinning may finish (guess).
    faint: float = 1e-3
    raised_weights: tuple[float, ...] = (10.0, 1000.0)  # factors of that weight; CANYON-B "AT12"
    near_per_unknown: float = 0.06  # near points at least in each round; "100; 20,10": at 0.03, three of ten are left
    # to doubt
    spreads: tuple[float, ...] = (
        1.5,
        3.0,
        1.0,
        6.0,
        1.5,
        3.0,
        1.0,
        6.0,
    )  # arguments of the first layer, in the rounds (guess)
    choices: int = 6  # places for each point of a later round, best students asked, units that may be one (guess)
    undetermined: float = 1e-2  # relative error from which a unit may be one too many (guess)
    as_well: float = 2.0  # misfit without a unit over that with it, up to which it is one too many (guess)
    fresh: int = 6  # points of each of five kinds (guess)


POLICY = DeepPolicy()
