"""Where slopes, weights and offsets show best: all units at informative arguments in the same query."""

from __future__ import annotations

import numpy as np

from ...activations import Activation
from ...checking import Floats
from ...fit import Parameters
from .tuning import INFORMATIVE

__all__ = ["informative_points"]


def informative_points(theta: Parameters, radius: float, n: int, g: Activation, rng: np.random.Generator) -> Floats:
    """Return n points, shape (n, d), at which each unit's argument is one of a few informative ones.

    For k <= d every combination of arguments has such a point, ``x = A^+ (z - b)`` and anything orthogonal to all
    units; for more units the point is the best compromise.
    """
    k, d = theta.A.shape
    steep = float(g.invert(np.array([INFORMATIVE.steep]))[0])
    inner = rng.random((n, k)) < INFORMATIVE.inner
    z = rng.choice([-1.0, 1.0], (n, k)) * np.where(inner, steep, INFORMATIVE.saturated)
    inverse = np.linalg.pinv(theta.A, rcond=0.05)
    free = np.eye(d) - np.linalg.pinv(theta.A) @ theta.A
    return np.asarray((z - theta.b) @ inverse.T + radius * rng.standard_normal((n, d)) @ free)
