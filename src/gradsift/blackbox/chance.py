"""Are labels drawn by chance, as a sum of sigmoids says? One question, asked twice, where the sum says even odds.

The labels of a classifier that decides are a step: a steep sum fits them, and fresh labels never contradict it, though
its slopes and weights are nothing but the spacing of what was asked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..checking import Floats
from ..model import SigmoidCombination
from ..oracle import Oracle
from .fresh_inputs import fresh_inputs

__all__ = ["NOT_ASKED", "Repeats", "asked_twice"]

_HALVINGS = 40  # of the way between two inputs whose means have different signs


class Repeats(NamedTuple):
    """Inputs that were asked twice."""

    n: int
    n_different: int  # inputs with two labels
    chance: float  # that a sum as found would change so few labels


NOT_ASKED = Repeats(0, 0, 0.0)  # no evidence that there is any chance


def asked_twice(model: SigmoidCombination, oracle: Oracle, n: int, rng: np.random.Generator) -> Repeats:
    """Ask n inputs twice each, those where the model's mean is closest to zero."""
    points = _undecided(model, oracle, n, rng)
    first, second = oracle(np.vstack([points, points])).reshape(2, n)
    n_different = int(np.sum(first != second))
    p = (1 - np.clip(model.predict(points), -1.0, 1.0) ** 2) / 2  # that two labels of one input differ
    counts = np.ones(1)  # probability of each number of inputs with two labels
    for one in p:
        counts = np.convolve(counts, (1 - one, one))
    return Repeats(n, n_different, float(counts[: n_different + 1].sum()))


def _undecided(model: SigmoidCombination, oracle: Oracle, n: int, rng: np.random.Generator) -> Floats:
    """Return n inputs, (n, d), on the way from positive means to negative ones; without both, the least certain."""
    points = fresh_inputs(model, oracle, 20 * n, rng)
    means = model.predict(points)
    positive, negative = points[means > 0], points[means <= 0]
    if not (len(positive) and len(negative)):
        return np.asarray(points[np.argsort(np.abs(means))[:n]])
    a, b = positive[rng.integers(len(positive), size=n)], negative[rng.integers(len(negative), size=n)]
    for _ in range(_HALVINGS):
        middle = (a + b) / 2
        up = (model.predict(middle) > 0)[:, None]
        a, b = np.where(up, middle, a), np.where(up, b, middle)
    return np.asarray((a + b) / 2)
