"""How strong a ridge, and how many units, predict left-out rows best? Five-fold cross-validation along a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import Floats
from ..fit import Parameters, Refined
from .optimum import Progress, SearchLimits, settle
from .problem import TableProblem

_FOLDS, _FINE_FOLDS = 5, 10
_FEW = 1000  # rows: below, finer folds help to choose the ridge (breast_cancer in real_tables.py, split 77)
_PER_ROW = tuple(float(v) for v in np.geomspace(1e-5, 100.0, 15))  # precisions over the weight of the rows of a fit
_MIDDLE = 5  # place in the path at which a search is made; its neighbours begin where it ended
_NUMBERS = (1, 2, 3, 5, 8, 12)  # of units to be compared
_WORSE_NUMBERS = (
    2  # numbers of units in a row that may predict worse before no more are tried; real_tables.py, split 77
)
_STRONG = 9  # place in the path for tables too small for folds (guess)
_ROWS_PER_PARAMETER = 2.0  # (of a mixture, rows of the rarer class): no more units are tried; the same
_WORTH = 0.5  # standard errors by which more units must predict better than fewer; the same
_WORTH_LABELS = 1.0  # the same for labels, few of which decide; the same
_PATH_LOST = 2.0  # standard errors: where a path of ridges is left (guess)
# Labels whose ridge is weaker than this by a factor of two must be predicted better by 0.5 nats, by four by 2, and by 2
# more for each further one: without the few labels that decide, folds ask for too weak a ridge (breast_cancer, shuffled
# folds of seeds 100 to 111, and as below). The units of log-odds share the slopes of one: it counts once for each.
# Several components of a mixture are steeper.
_USUAL, _USUAL_SEVERAL, _TAIL = 12.0, 1.0, 2.0


class _Usual(NamedTuple):
    """How many units a fit with a ridge gets unless another number predicts better by so many standard errors.

    A ridge makes spare units cheap; the best number is left to chance where few rows decide.
    """

    n_units: int
    worth: float


# Tuned on Default, HMDA, HealthInsurance, Pima, birthwt, breast_cancer and the mixture, and for values on Auto, Boston,
# CPS1985, Prestige and airquality, in real_tables.py, splits 11 to 13. A mixture must beat log-odds by as much, too.
_USUAL_OF_LABELS, _USUAL_OF_VALUES = _Usual(5, 2.0), _Usual(8, 1.0)


@dataclass(frozen=True)
class CrossValidation:
    """What left-out rows say.

    Attributes
    ----------
    alpha : float
        The best precision, between those of the path: a prior does not know how many rows there are, so that what is
        best for four fifths of them is taken for all. For labels a weak one must be worth it.
    n_units : int
        The least number of units that no other one clearly beats; with a ridge, unless it is a mixture, the usual one
        where no other one does.
    table : dict
        Mean loss of left-out rows by number of units, one entry per precision: squares of the target's standard
        deviation, or nats; infinite beyond precisions that clearly predict worse.
    losses, share : (n,) arrays
        The same for each row, with the chosen ridge and number of units, and its share of all weight.
    """

    alpha: float
    n_units: int
    table: dict[int, list[float]] = field(default_factory=dict)
    losses: Floats = field(default_factory=lambda: np.zeros(1))
    share: Floats = field(default_factory=lambda: np.ones(1))

    def better(self, other: CrossValidation) -> bool:
        """Tell whether it predicts the same rows better than another family by more than their scatter explains."""
        gain = other.losses - self.losses
        return bool(_mean_over_error(gain, self.share) > _USUAL_OF_LABELS.worth)


def cross_validation(
    problem: TableProblem,
    numbers: Sequence[int] | None,
    rng: np.random.Generator,
    progress: Progress | None = None,
    *,
    for_ridge: bool,
) -> CrossValidation:
    """Choose the ridge and, when `numbers` is None, the number of units; `for_ridge` tells whether the ridge is used.

    Each number of units costs one small search and at most fourteen polishes per fold. More units are tried, as far as
    there are rows for their parameters, until the last two numbers did worse (more than a usual number, only while
    each clearly does better). Where rows are few, ten folds help to choose the ridge. Folds are alike in
    their targets; equal rows, merged, are left out together.
    """
    n = len(problem.rows.y)
    precisions = np.array(_PER_ROW) * problem.mass * (1 - 1 / _FOLDS)
    tried = _affordable(problem) if numbers is None else numbers
    if n < 2 * _FOLDS:
        return CrossValidation(float(precisions[_STRONG]), tried[0])
    share = _shares(problem)
    folds = _split_rows(problem.rows.y, _FOLDS)
    usual = _usual(problem, tried) if for_ridge else None
    worth = _WORTH_LABELS if problem.family.labels else _WORTH
    losses: dict[int, Floats] = {}  # at the best precision, row by row
    table: dict[int, list[float]] = {}
    for k in tried:
        if progress is not None:
            progress("cross-validation", len(losses), len(tried))
        each, means = _left_out(problem, k, folds, precisions, rng)
        table[k] = means.tolist()
        losses[k] = each[int(np.argmin(means + _ridge_price(problem, k, precisions)))]
        if usual is None:
            best = min(table, key=lambda number: min(table[number]))
            enough = list(table).index(best) < len(table) - _WORSE_NUMBERS
        else:
            enough = k >= usual.n_units and k != _least_number(losses, share, usual.worth)
        if enough:
            break
    chosen = _least_number(losses, share, worth) if usual is None else _usual_or_best(usual, losses, share)
    decisive = np.array(table[chosen])
    if n < _FEW:
        fine = _left_out(problem, chosen, _split_rows(problem.rows.y, _FINE_FOLDS), precisions, rng).means
        decisive = 0.5 * (decisive + fine)
    # Few rows decide for labels, and folds ask for too weak a ridge: weakness must pay for itself.
    decisive = decisive + _ridge_price(problem, chosen, precisions)
    return CrossValidation(_between(precisions, decisive), chosen, table, losses[chosen], share)


def _ridge_price(problem: TableProblem, n_units: int, precisions: Floats) -> Floats:
    """Return what each ridge must predict better by than the usual one; nothing for values, whose rows all decide."""
    if not problem.family.labels:
        return np.zeros(len(precisions))
    usual = _USUAL * n_units if _of_log_odds(problem) or n_units == 1 else _USUAL_SEVERAL
    halvings = np.maximum(0.0, np.log2(usual / precisions))
    return np.asarray(np.where(halvings < _TAIL, 0.5 * halvings**2, _TAIL * (halvings - 0.5 * _TAIL)) / problem.mass)


def _of_log_odds(problem: TableProblem) -> bool:
    return problem.family.labels and not problem.family.simplex


def _split_rows(y: Floats, n_folds: int) -> NDArray[np.intp]:
    """Return the fold of each row, of rows in random order: those of like targets go to different ones."""
    folds = np.empty(len(y), dtype=np.intp)
    folds[np.argsort(y, kind="stable")] = np.arange(len(y)) % n_folds
    return folds


class _LeftOut(NamedTuple):
    """Losses of rows, each left out of its fit, (precisions, n), and their means, (precisions,)."""

    each: Floats
    means: Floats


def _left_out(
    problem: TableProblem, n_units: int, folds: NDArray[np.intp], precisions: Floats, rng: np.random.Generator
) -> _LeftOut:
    """Return the losses of all rows along the path of precisions; infinite where that was left.

    All folds begin with a search in the middle of the path and go on from there together, first to stronger ridges,
    then to weaker ones, until those clearly predict worse.
    """
    parts = [_SplitPart(problem, folds == fold) for fold in range(int(folds.max()) + 1)]
    share = _shares(problem)
    each, means = np.full((len(precisions), len(folds)), np.inf), np.full(len(precisions), np.inf)

    def note(place: int, ends: list[Refined]) -> bool:
        """Write down the losses at a place; tell whether they clearly exceed the least so far."""
        for part, end in zip(parts, ends):
            each[place, part.left_out] = part.losses(end.theta)
        means[place] = float(share @ each[place])
        return _mean_over_error(each[place] - each[int(np.argmin(means))], share) > _PATH_LOST

    starts = [part.search(n_units, precisions[_MIDDLE], rng) for part in parts]
    note(_MIDDLE, starts)
    for places in (range(_MIDDLE + 1, len(precisions)), range(_MIDDLE - 1, -1, -1)):
        ends = starts
        for place in places:
            ends = [part.polish(end, precisions[place]) for part, end in zip(parts, ends)]
            if note(place, ends):
                break
    return _LeftOut(each, means)


class _SplitPart:
    """Rows to fit, and those left out of them."""

    def __init__(self, problem: TableProblem, left_out: NDArray[np.bool_]) -> None:
        self.left_out = left_out
        self.training, self.test = problem.on(problem.rows.take(~left_out)), problem.rows.take(left_out)

    def search(self, n_units: int, precision: float, rng: np.random.Generator) -> Refined:
        """Return the best optimum of a quick look."""
        return settle(self.training.with_ridge(float(precision)), n_units, SearchLimits(3, 1), rng).optima.best

    def polish(self, start: Refined, precision: float) -> Refined:
        """Return the optimum that a fit becomes under another ridge."""
        problem = self.training.with_ridge(float(precision))
        return problem.polish(start.theta, tolerance=1e-2, max_iterations=20, curvature=start.equations.curvature)

    def losses(self, theta: Parameters) -> Floats:
        """Return those of the rows that were left out."""
        family = self.training.family
        r = family.activation.value(self.test.X @ theta.A.T + theta.b) @ theta.u + theta.c
        return family.likelihood.losses(r, self.test.y)


def _affordable(problem: TableProblem) -> list[int]:
    """Return the numbers of units to be compared: as many as there are rows for, at least one."""
    most = problem.mass / _ROWS_PER_PARAMETER
    if problem.family.simplex:
        share = _shares(problem)
        rarer = min(float(share[problem.rows.y > 0].sum()), float(share[problem.rows.y < 0].sum()))
        most = rarer * problem.mass / _ROWS_PER_PARAMETER
    return [k for k in _NUMBERS if k == 1 or problem.family.n_parameters(k, problem.n_features) <= most]


def _least_number(losses: dict[int, Floats], share: Floats, worth: float) -> int:
    """Return the least number of units that no other one beats by more standard errors than that."""
    best = min(losses, key=lambda k: float(share @ losses[k]))
    return next((k for k in sorted(losses) if _mean_over_error(losses[k] - losses[best], share) <= worth), best)


def _usual(problem: TableProblem, tried: Sequence[int]) -> _Usual | None:
    """Return how many units a fit usually gets, as far as there are rows for them; None for mixtures."""
    if problem.family.simplex:
        return None
    usual = _USUAL_OF_LABELS if problem.family.labels else _USUAL_OF_VALUES
    return usual._replace(n_units=max((k for k in tried if k <= usual.n_units), default=tried[0]))


def _usual_or_best(usual: _Usual, losses: dict[int, Floats], share: Floats) -> int:
    """Return the usual number of units, or the best one where that clearly beats it."""
    best = min(losses, key=lambda k: float(share @ losses[k]))
    beaten = _mean_over_error(losses[usual.n_units] - losses[best], share) > usual.worth
    return best if beaten else usual.n_units


def _mean_over_error(values: Floats, share: Floats) -> float:
    """Return the mean of the rows' values over its standard error; zero where all are zero."""
    # Paired differences row by row: their mean over its standard error, whatever the single losses scatter.
    mean = float(share @ values)
    error = float(np.linalg.norm(share * (values - mean)))
    return mean / error if error > 0 else float(np.sign(mean)) * np.inf if mean else 0.0


def _between(precisions: Floats, losses: Floats) -> float:
    """Return where the parabola through the lowest loss and its neighbours is lowest; an end of the path stays one."""
    place = int(losses.argmin())
    before, here, after = (losses[place + i] if 0 <= place + i < len(losses) else np.inf for i in (-1, 0, 1))
    if not np.isfinite(before + after):
        return float(precisions[place])
    # Vertex of the parabola through three neighbours of a geometric path: a step in the logarithm of the precision.
    bend = before - 2 * here + after
    step = 0.5 * (before - after) / bend if bend > 0 else 0.0
    return float(precisions[place] * (precisions[1] / precisions[0]) ** step)


def _shares(problem: TableProblem) -> Floats:
    """Return the share of each row in all weight, (n,)."""
    n, weight = len(problem.rows.y), problem.rows.weight
    return np.full(n, 1 / n) if weight is None else weight / weight.sum()
