"""How strong a ridge, and how many units, predict left-out rows best? Five-fold cross-validation along a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..checking import Floats
from ..fit import Parameters
from ..sources import Rows
from .problem import TableProblem
from .settle import Effort, Progress, settle

__all__ = ["CrossValidation", "cross_validate"]

_FOLDS = 5
_PER_ROW = tuple(float(v) for v in np.geomspace(1e-5, 100.0, 15))  # precisions over the weight of the rows of a fit
_MIDDLE = 5  # place in the path at which a search is made; its neighbours begin where it ended
_STRONG = 9  # place in the path for tables too small for folds (guess)
_NUMBERS = (1, 2, 3, 5, 8, 12)  # of units to be compared
_PATIENCE = 2  # numbers of units in a row that may predict worse before no more are tried; the same
_WORTH = 0.5  # standard errors by which more units must predict better than fewer; real_tables.py, split 77


@dataclass(frozen=True)
class CrossValidation:
    """What left-out rows say.

    Attributes
    ----------
    alpha : float
        The best precision, between those of the path: a prior does not know how many rows there are, so that what is
        best for four fifths of them is taken for all.
    n_units : int
        The least number of units that no other one clearly beats.
    table : dict
        Mean loss of left-out rows by number of units, one entry per precision: squares of the target's standard
        deviation, or nats.
    """

    alpha: float
    n_units: int
    table: dict[int, list[float]] = field(default_factory=dict)

    @property
    def loss(self) -> float:
        """Mean loss of left-out rows with that ridge and number of units; 0 where there were too few to leave out."""
        return min(self.table.get(self.n_units, [0.0]))


def cross_validate(
    problem: TableProblem, numbers: Sequence[int] | None, rng: np.random.Generator, progress: Progress | None = None
) -> CrossValidation:
    """Choose the ridge and, when `numbers` is None, the number of units.

    Each number of units costs one small search and fourteen polishes per fold. More units are tried until
    the last two numbers did worse. Equal rows, merged, are left out together.
    """
    n = len(problem.rows.y)
    folds = np.arange(n) % _FOLDS  # the rows are in random order
    precisions = np.array(_PER_ROW) * problem.mass * (1 - 1 / _FOLDS)
    tried = _NUMBERS if numbers is None else numbers
    if n < 2 * _FOLDS:
        return CrossValidation(float(precisions[_STRONG]), tried[0])
    weight = np.ones(n) if problem.rows.weight is None else problem.rows.weight
    losses: dict[int, Floats] = {}  # at the best precision, row by row
    table: dict[int, list[float]] = {}
    for k in tried:
        if progress is not None:
            progress("cross-validation", len(losses), len(tried))
        each = np.empty((len(precisions), n))
        for fold in range(_FOLDS):
            each[:, folds == fold] = _path(problem, k, folds == fold, precisions, rng)
        table[k] = (each @ weight / weight.sum()).tolist()
        losses[k] = each[int(np.argmin(table[k]))]
        best = min(table, key=lambda number: min(table[number]))
        if list(table).index(best) < len(table) - _PATIENCE:
            break
    chosen = _fewest(losses, weight / weight.sum())
    return CrossValidation(_between(precisions, np.array(table[chosen])), chosen, table)


def _fewest(losses: dict[int, Floats], weight: Floats) -> int:
    """Return the least number of units that no other one beats by more than the rows' scatter explains."""
    best = min(losses, key=lambda k: float(weight @ losses[k]))
    for k in sorted(losses):
        behind = losses[k] - losses[best]
        mean = float(weight @ behind)
        if mean <= _WORTH * float(np.linalg.norm(weight * (behind - mean))):
            return k
    return best


def _between(precisions: Floats, losses: Floats) -> float:
    """Return where the parabola through the lowest loss and its neighbours is lowest; an end of the path stays one."""
    place = int(losses.argmin())
    if not 0 < place < len(losses) - 1:
        return float(precisions[place])
    before, here, after = losses[place - 1 : place + 2]
    bend = before - 2 * here + after
    step = 0.5 * (before - after) / bend if bend > 0 else 0.0
    return float(precisions[place] * (precisions[1] / precisions[0]) ** step)


def _path(
    problem: TableProblem, n_units: int, left_out: NDArray[np.bool_], precisions: Floats, rng: np.random.Generator
) -> Floats:
    """Return the losses of left-out rows along the path of precisions, (precisions, rows)."""
    train, test = _some(problem.rows, ~left_out), _some(problem.rows, left_out)
    part = problem.on(train)
    start = settle(part.regularised(float(precisions[_MIDDLE])), n_units, Effort(3, 1), rng).optima.best.theta
    losses = {_MIDDLE: _losses(problem, start, test)}
    for places in (range(_MIDDLE + 1, len(precisions)), range(_MIDDLE - 1, -1, -1)):
        theta = start
        for place in places:
            theta = part.regularised(float(precisions[place])).polish(theta, tolerance=1e-2, max_iterations=20).theta
            losses[place] = _losses(problem, theta, test)
    return np.array([losses[place] for place in range(len(precisions))])


def _some(rows: Rows, which: NDArray[np.bool_]) -> Rows:
    return Rows(rows.X[which], rows.y[which], None if rows.weight is None else rows.weight[which])


def _losses(problem: TableProblem, theta: Parameters, rows: Rows) -> Floats:
    r = problem.family.activation.value(rows.X @ theta.A.T + theta.b) @ theta.u + theta.c
    return problem.family.likelihood.losses(r, rows.y)
