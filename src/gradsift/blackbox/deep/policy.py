"""The tuned numbers of the method for several layers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["POLICY", "DeepPolicy"]


@dataclass(frozen=True)
class DeepPolicy:
    """Looked at on the seeds 900 and 901 of the rows of benchmarks/black_box_deep.py that are named, or guesses."""

    # Far circles. Distances are over the radius at which a ray is flat.
    far: float = 200.0  # radius of the circles (guess)
    margin: float = 0.3  # from a hyperplane, where its unit stands still; doubled where it does not (guess)
    intervals: int = 32  # of the first half circle (guess)
    quiet_circles: int = 2  # without a new unit, before the vertices are trusted (guess)
    most_circles: int = 12  # guess
    attempts: int = 3  # guess
    asked_again: int = 3  # known signs elsewhere, per unit; CANYON-B: with 1, a unit is missed in 7 of 64
    most_missing: int = 30  # rounds of looking between equal signs with different answers (guess)
    most_margins: int = 5  # guess

    # Reading a hyperplane. Lengths are over the window.
    steep: float = 0.15  # window over jump / slope (guess)
    step: float = 0.3  # beside the tangent (guess)
    returns: float = 1e-3  # how near long tangents come back (guess)
    tangents: float = 200.0  # the circle's radius over the length of these; "20; 20,8": at 20 other units are crossed

    # Students.
    rows_per_unknown: float = 2.0  # guess
    near_rows: float = 4.0  # the same near the origin, where slopes and offsets are unknowns, too; "10; 8,6,4"
    near_floor: float = 1e-7  # of the spread: what the planes' own errors leave there; "10; 8,6,4": 4e-8
    few: float = 1.4  # sign patterns per unknown below which near points stand in for vertices (guess)
    few_deep: float = 2.0  # the same for more than one layer above the first, by the size `deepest` (guess)
    deepest: tuple[int, ...] = (12, 8)
    first_steps: int = 40  # of a student that is not fully grown (guess)
    last_steps: int = 250  # "20; 20,8": many students finish only after 100
    thin_steps: int = 60  # guess
    candidates: int = 16  # random units for each one that is added (guess)
    lengths: tuple[float, float] = (0.8, 2.0)  # of the rows of random units (guess)
    nearly: float = 3e-4  # of the spread: left by an unfinished student that thinning may finish (guess)
    runs: int = 6  # of each size; "20; 20,8": about 40% of the students of 13 units finish
    runs_small: int = 8  # of sizes below `small` in sum
    small: int = 9
    runs_unlikely: int = 2  # of several layers above the first, as long as one may do (guess)
    last_resort: int = 28  # units, from which on several layers are also tried near the origin (guess)
    hopeless: float = 0.03  # of the spread, left by the best of all students up to `large` units (guess)
    large: int = 18
    students: tuple[tuple[int, ...], ...] = (
        (3,), (4,), (6,), (6, 4), (9,), (9, 6), (13,), (18,), (12, 8), (25,), (16, 12), (34,),
    )  # fmt: skip

    # All layers at once.
    near_per_unit: float = 2.0  # near points for each unit of the first layer, in each round (guess)
    near_points: int = 16  # and beside these (guess)
    spreads: tuple[float, ...] = (1.5, 3.0, 1.0, 6.0)  # rounds, and arguments of the first layer in them (guess)
    known_well: float = 0.5  # share of the certificate's error bound that ends these rounds (guess)
    fresh: int = 6  # points of each of five kinds (guess)


POLICY = DeepPolicy()
