"""How strong a ridge, and how many units, predict left-out rows best? Five-fold cross-validation along a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..checking import Floats
from ..fit import Parameters
from ..sources import Rows
from .one import convex
from .problem import TableProblem
from .settle import Effort, Progress, settle

__all__ = ["CrossValidation", "cross_validate"]

_FOLDS, _FINE_FOLDS = 5, 10
_FEW = 1000  # rows: below, finer folds choose the ridge (breast_cancer in real_tables.py, split 77)
_PER_ROW = tuple(float(v) for v in np.geomspace(1e-5, 100.0, 15))  # precisions over the weight of the rows of a fit
_MIDDLE = 5  # place in the path at which a search is made; its neighbours begin where it ended
_STRONG = 9  # place in the path for tables too small for folds (guess)
_NUMBERS = (1, 2, 3, 5, 8, 12)  # of units to be compared
_WORSE_NUMBERS = (
    2  # numbers of units in a row that may predict worse before no more are tried; real_tables.py, split 77
)
_ROWS_PER_PARAMETER = 2.0  # no more units are tried; the same
_WORTH = 0.5  # standard errors by which more units must predict better than fewer; the same
_WORTH_LABELS = 1.0  # the same for labels, few of which decide, and for log-odds against a mixture; the same
# One component whose ridge is weaker than this by a factor must predict better by 0.5 nats, by its square by 2: without
# the few labels that decide, folds ask for too weak a one (breast_cancer, shuffled folds of seeds 100 to 111).
_USUAL, _FACTOR = 12.0, 2.0


@dataclass(frozen=True)
class CrossValidation:
    """What left-out rows say.

    Attributes
    ----------
    alpha : float
        The best precision, between those of the path: a prior does not know how many rows there are, so that what is
        best for four fifths of them is taken for all. For one component of labels a weak one must be worth it.
    n_units : int
        The least number of units that no other one clearly beats.
    table : dict
        Mean loss of left-out rows by number of units, one entry per precision: squares of the target's standard
        deviation, or nats.
    losses, share : (n,) arrays
        The same for each row, with the chosen ridge and number of units, and its share of all weight.
    """

    alpha: float
    n_units: int
    table: dict[int, list[float]] = field(default_factory=dict)
    losses: Floats = field(default_factory=lambda: np.zeros(1))
    share: Floats = field(default_factory=lambda: np.ones(1))

    def beats(self, other: CrossValidation) -> bool:
        """Tell whether it predicts the same rows better than another family by more than their scatter explains."""
        gain = other.losses - self.losses
        return bool(_mean_over_error(gain, self.share) > _WORTH_LABELS)


def cross_validate(
    problem: TableProblem, numbers: Sequence[int] | None, rng: np.random.Generator, progress: Progress | None = None
) -> CrossValidation:
    """Choose the ridge and, when `numbers` is None, the number of units.

    Each number of units costs one small search and fourteen polishes per fold. More units are tried, as far as there
    are rows for their parameters, until the last two numbers did worse. Where rows are few, ten folds choose the ridge.
    Folds are alike in their targets; equal rows, merged, are left out together.
    """
    n = len(problem.rows.y)
    precisions = np.array(_PER_ROW) * problem.mass * (1 - 1 / _FOLDS)
    tried = _affordable(problem) if numbers is None else numbers
    if n < 2 * _FOLDS:
        return CrossValidation(float(precisions[_STRONG]), tried[0])
    weight = np.ones(n) if problem.rows.weight is None else problem.rows.weight
    share = weight / weight.sum()
    folds = _folds(problem.rows.y, _FOLDS)
    losses: dict[int, Floats] = {}  # at the best precision, row by row
    table: dict[int, list[float]] = {}
    for k in tried:
        if progress is not None:
            progress("cross-validation", len(losses), len(tried))
        each = _left_out(problem, k, folds, precisions, rng)
        table[k] = (each @ share).tolist()
        losses[k] = each[int(np.argmin(table[k]))]
        best = min(table, key=lambda number: min(table[number]))
        if list(table).index(best) < len(table) - _WORSE_NUMBERS:
            break
    chosen = _fewest(losses, share, _WORTH_LABELS if problem.family.labels else _WORTH)
    decisive = np.array(table[chosen])
    if n < _FEW:
        precisions = precisions * (1 - 1 / _FINE_FOLDS) / (1 - 1 / _FOLDS)
        decisive = _left_out(problem, chosen, _folds(problem.rows.y, _FINE_FOLDS), precisions, rng) @ share
    if convex(problem, chosen):  # of more components, or of log-odds, nothing is usual
        weaker = np.maximum(0.0, np.log(_USUAL / precisions) / np.log(_FACTOR))
        decisive = decisive + 0.5 * weaker**2 / problem.mass
    return CrossValidation(_between(precisions, decisive), chosen, table, losses[chosen], share)


def _folds(y: Floats, n_folds: int) -> NDArray[np.intp]:
    """Return the fold of each row, of rows in random order: those of like targets go to different ones."""
    folds = np.empty(len(y), dtype=np.intp)
    folds[np.argsort(y, kind="stable")] = np.arange(len(y)) % n_folds
    return folds


def _left_out(
    problem: TableProblem, n_units: int, folds: NDArray[np.intp], precisions: Floats, rng: np.random.Generator
) -> Floats:
    """Return the losses of all rows, each left out of its fit, (precisions, n)."""
    each = np.empty((len(precisions), len(folds)))
    for fold in range(int(folds.max()) + 1):
        each[:, folds == fold] = _path(problem, n_units, folds == fold, precisions, rng)
    return each


def _affordable(problem: TableProblem) -> list[int]:
    """Return the numbers of units to be compared: as many as there are rows for, at least one."""
    most = problem.mass / _ROWS_PER_PARAMETER
    return [k for k in _NUMBERS if k == 1 or problem.family.n_parameters(k, problem.n_features) <= most]


def _fewest(losses: dict[int, Floats], share: Floats, worth: float) -> int:
    """Return the least number of units that no other one beats by more standard errors than that."""
    best = min(losses, key=lambda k: float(share @ losses[k]))
    return next((k for k in sorted(losses) if _mean_over_error(losses[k] - losses[best], share) <= worth), best)


def _mean_over_error(values: Floats, share: Floats) -> float:
    """Return the mean of the rows' values over its standard error; zero where all are zero."""
    mean = float(share @ values)
    error = float(np.linalg.norm(share * (values - mean)))
    return mean / error if error > 0 else float(np.sign(mean)) * np.inf if mean else 0.0


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
