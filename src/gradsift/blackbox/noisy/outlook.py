"""How many more queries an accuracy would take, told where a budget ends a campaign."""

from __future__ import annotations

import numpy as np

from ...checking import Floats
from ...fit import Fitted
from .levers import lever_sets

__all__ = ["by_averaging", "by_levers", "outlook"]

_MANY_QUERIES = 10**6  # from here on only the size is told


def by_levers(fitted: Fitted, cones: Floats, accuracy: float, sd: float) -> int:
    """Return the queries after which levers, each round of which about halves a cone, reach the accuracy."""
    d = fitted.theta.A.shape[1]
    rounds = np.maximum(np.ceil(np.log2(np.maximum(cones / accuracy, 1e-300))), 0)
    return int(sum(n * lever_sets(fitted, unit, sd) * (d - 1) for unit, n in enumerate(rounds)))


def by_averaging(n_answers: int, cones: Floats, accuracy: float) -> int:
    """Return the queries after which more of the same, whose errors fall like one over the root, reach it."""
    return int(np.ceil(n_answers * max((float(cones.max()) / accuracy) ** 2 - 1, 0)))


def outlook(reason: str, n_more: int, accuracy: float) -> str:
    """Return why a campaign ended, and what it would have taken."""
    if not n_more:
        return reason
    number = f"{n_more}" if n_more < _MANY_QUERIES else f"{n_more:.1e}"
    return f"{reason.rstrip('.')}; about {number} more queries would reach an accuracy of {accuracy:.2g}"
