"""How many units? Full fits at k = 1, 2, ... compared by a criterion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..checks import TABLE
from ..fit import Family
from .offsets import offsets_needed
from .problem import TableProblem
from .settle import Effort, Progress, Settled, settle
from .simpler import schwarz
from .spread import inflation_of

__all__ = ["Chosen", "choose_units", "score_of"]

_PATIENCE = 4  # numbers of units in a row that the criterion may dislike before the search ends
_BEYOND_BEST = 3  # times max_units: where the search ends though the criterion still falls


class Chosen(NamedTuple):
    """The fit whose number of units the criterion prefers, and whether a score test asked for a wider family."""

    settled: Settled
    score: float
    wider: bool


def score_of(problem: TableProblem, settled: Settled) -> float:
    """Return the criterion of a fit, comparable between families; smaller is better.

    A parameter costs more where rows scatter more than their noise model says.
    """
    best = settled.optima.best
    n_parameters = problem.family.n_parameters(len(best.theta.u), problem.n_features) * inflation_of(problem, best)
    score = schwarz(problem.family, best.loss, best.mass, n_parameters, aic=problem.choices.criterion == "aic")
    return score if problem.family.labels else score + best.mass * 2 * float(np.log(problem.frame.y_scale))


def choose_units(
    problem: TableProblem,
    max_units: int,
    effort: Effort,
    rng: np.random.Generator,
    wider: Family | None = None,
    progress: Progress | None = None,
) -> Chosen:
    """Return the fit whose number of units the criterion prefers, as far as it got when a `wider` family is wanted.

    Forward from one unit. Ends at the first number that the criterion dislikes and at which the test finds nothing
    missing: BIC alone may rise before it falls (two wrong units can be worth less than one). Goes beyond `max_units`,
    up to three times as far, while the criterion still falls there; but not where rows are too few for the parameters.
    """
    room = max(1, problem.room())
    best: Settled | None = None
    lowest, waited = np.inf, 0
    path: list[tuple[int, float]] = []
    k, smaller, settled = 0, None, None
    while k < min(room, max_units) or (k < min(room, _BEYOND_BEST * max_units) and waited == 0):
        k += 1
        if progress is not None:
            progress("number of units", k - 1, max(k, max_units))
        settled = settle(problem, k, effort._replace(max_rounds=min(2, effort.max_rounds)), rng, smaller=smaller)
        smaller = settled.optima.best.theta
        score = score_of(problem, settled)
        path.append((k, score))
        if best is None or score < lowest:
            best, lowest, waited = settled, score, 0
        else:
            waited += 1
        if wider is not None and offsets_needed(problem, wider, settled.optima.best):
            return Chosen(best, lowest, True)
        if waited and (waited >= _PATIENCE or not settled.p_better < TABLE.further_unit):
            break
    assert best is not None  # one unit is always tried
    capped = waited == 0 and k >= min(room, _BEYOND_BEST * max_units)
    return Chosen(best._replace(path=tuple(path), capped=capped), lowest, False)
