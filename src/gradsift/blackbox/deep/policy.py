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
    rows_per_unknown: float = 2.5


POLICY = Policy()
