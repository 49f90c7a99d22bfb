"""How strong a ridge, and how many units, predict left-out rows best? Five-fold cross-validation along a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..fit import Parameters
from ..sources import Rows
from .problem import TableProblem
from .settle import Effort, Progress, settle

__all__ = ["CrossValidation", "cross_validate"]

_FOLDS = 5
_PER_ROW = tuple(float(v) for v in np.geomspace(1e-5, 100.0, 15))  # precisions over the weight of all rows
_MIDDLE = 5  # place in the path at which a search is made; its neighbours begin where it ended
_STRONG = 9  # place in the path for tables too small for folds (guess)
_NUMBERS = (1, 2, 3, 5, 8, 12)  # of units to be compared


@dataclass(frozen=True)
class CrossValidation:
    """What left-out rows say.

    Attributes
    ----------
    alpha : float
        The best precision.
    n_units : int
    table : dict
        Mean loss of left-out rows by number of units, one entry per precision: squares of the target's standard
        deviation, or nats.
    """

    alpha: float
    n_units: int
    table: dict[int, list[float]] = field(default_factory=dict)


def cross_validate(
    problem: TableProblem, numbers: Sequence[int] | None, rng: np.random.Generator, progress: Progress | None = None
) -> CrossValidation:
    """Choose the ridge and, when `numbers` is None, the number of units.

    Each number of units costs one small search and fourteen polishes per fold. More units are tried while the last
    number did best. Equal rows, merged, are left out together.
    """
    n = len(problem.rows.y)
    folds = np.arange(n) % _FOLDS  # the rows are in random order
    table: dict[int, list[float]] = {}
    tried = _NUMBERS if numbers is None else numbers
    if n < 2 * _FOLDS:
        return CrossValidation(_PER_ROW[_STRONG] * problem.mass, tried[0])
    for k in tried:
        if progress is not None:
            progress("cross-validation", len(table), len(tried))
        table[k] = np.mean([_path(problem, k, folds == fold, rng) for fold in range(_FOLDS)], axis=0).tolist()
        lowest = {number: min(losses) for number, losses in table.items()}
        if numbers is None and min(lowest, key=lambda number: lowest[number]) != k:
            break
    best = min(lowest, key=lambda number: lowest[number])
    return CrossValidation(_PER_ROW[int(np.argmin(table[best]))] * problem.mass, best, table)


def _path(problem: TableProblem, n_units: int, left_out: NDArray[np.bool_], rng: np.random.Generator) -> list[float]:
    """Return the losses of left-out rows along the path of precisions."""
    train, test = _some(problem.rows, ~left_out), _some(problem.rows, left_out)
    part = problem.on(train)
    middle = part.regularised(_PER_ROW[_MIDDLE] * part.mass)
    start = settle(middle, n_units, Effort(3, 1), rng).optima.best.theta
    losses = {_MIDDLE: _loss(problem, start, test)}
    for places in (range(_MIDDLE + 1, len(_PER_ROW)), range(_MIDDLE - 1, -1, -1)):
        theta = start
        for place in places:
            ridge = part.regularised(_PER_ROW[place] * part.mass)
            theta = ridge.polish(theta, tolerance=1e-2, max_iterations=20).theta
            losses[place] = _loss(problem, theta, test)
    return [losses[place] for place in range(len(_PER_ROW))]


def _some(rows: Rows, which: NDArray[np.bool_]) -> Rows:
    return Rows(rows.X[which], rows.y[which], None if rows.weight is None else rows.weight[which])


def _loss(problem: TableProblem, theta: Parameters, rows: Rows) -> float:
    """Return the mean loss of some rows."""
    r = problem.family.activation.value(rows.X @ theta.A.T + theta.b) @ theta.u + theta.c
    weight = np.ones(len(r)) if rows.weight is None else rows.weight
    return problem.family.likelihood.loss(r, rows.y, weight) / float(weight.sum())
