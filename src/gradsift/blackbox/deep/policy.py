"""The tuned numbers of the method for several layers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["POLICY", "Policy"]


@dataclass(frozen=True)
class Policy:
    """Tuned on seeds 900.. of the rows "10; 6,3" and "20; 20,8" of benchmarks/black_box_deep.py, or a guess.

    Attributes
    ----------
    far : float
        Radius of the circles over the radius at which a ray is flat.
    margin : float
        Distance from a hyperplane at which its unit stands still, over the same radius (guess).
    intervals : int
        Of the first half circle.
    steep : float
        Window along the tangent over jump / slope.
    step, returns : float
        Length of the steps beside the tangent, and how near long tangents come back, over the window (guess).
    """

    far: float = 200.0
    margin: float = 0.3
    intervals: int = 32
    steep: float = 0.15
    step: float = 0.3
    returns: float = 1e-3
    tangents: float = 200.0
    quiet_circles: int = 2
    most_circles: int = 12
    rows_per_unknown: float = 2.0
    first_steps: int = 40
    last_steps: int = 250
    thin_steps: int = 60
    candidates: int = 16
    lengths: tuple[float, float] = (0.8, 2.0)
    nearly: float = 3e-4
    attempts: int = 3
    most_margins: int = 5
    most_missing: int = 30
    asked_again: int = 3
    hopeless: float = 0.03
    large: int = 18
    near_per_unit: float = 2.0
    near_points: int = 16
    fresh: int = 6
    spreads: tuple[float, ...] = (1.5, 3.0, 1.0, 6.0)
    known_well: float = 0.5
    near_rows: float = 4.0
    runs: int = 6
    runs_small: int = 8
    runs_unlikely: int = 2
    small: int = 9
    last_resort: int = 28
    few: float = 1.4
    few_deep: float = 2.0
    deepest: tuple[int, ...] = (12, 8)
    students: tuple[tuple[int, ...], ...] = (
        (3,), (4,), (6,), (6, 4), (9,), (9, 6), (13,), (18,), (12, 8), (25,), (16, 12), (34,),
    )  # fmt: skip


POLICY = Policy()
