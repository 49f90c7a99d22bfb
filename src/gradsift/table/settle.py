"""Rounds of racing, testing and escaping until the best optimum stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..fit import Chart, from_model
from ..model import SigmoidCombination
from .better import better_unit
from .escape import escape, level, spiky
from .problem import TableProblem
from .race import Optima, descend, race, same_optimum

__all__ = ["Effort", "Progress", "Settled", "settle"]

Progress = Callable[[str, float, float | None], None]  # (stage, done, total)

_CONTESTED = 60.0  # nats: another optimum this close might be the right one
_CLEAR = 15.0  # nats: a rival this far behind does not contest an optimum that two starts found
_LEVEL = 0.05
_UNDISPUTED = 5  # hits of the best optimum against which the test for a better unit is not believed
_SCALES = (1.0, 0.5, 2.0, 1.0)  # of the starts, round by round


class Effort(NamedTuple):
    """How hard to search: starts per race, rounds at most, and starts that someone else suggests."""

    n_starts: int
    max_rounds: int = 4
    suggested: tuple[SigmoidCombination, ...] = ()


class Settled(NamedTuple):
    """The optima for one number of units, and the p-value of the test at the best.

    bic_path : BIC by number of units, where several were compared
    """

    optima: Optima
    p_better: float
    rounds: int
    bic_path: tuple[tuple[int, float], ...] = ()


def settle(
    problem: TableProblem, n_units: int, effort: Effort, rng: np.random.Generator, progress: Progress | None = None
) -> Settled:
    """Find the best model with `n_units` units.

    After each race the residuals are tested for a better unit. Escape moves follow only when the test finds one or
    another optimum is close; a new race only when that did not help.
    """
    optima = race(problem, n_units, effort.n_starts, _SCALES[0], rng)
    suggested = [problem.frame.enter(from_model(m)) for m in effort.suggested if m.n_units == n_units]
    if suggested:
        optima = optima.merge(descend(problem, [Chart(problem.family).project(theta) for theta in suggested]))
    if problem.family.labels and problem.family.slopes == "each" and spiky(optima.best.theta):
        optima = _pooled(optima, level(problem, optima.best.theta), bonus=0)
    better = better_unit(problem, optima.best.theta, rng)
    rounds = 1
    max_rounds = 1 if np.isnan(better.p) else effort.max_rounds  # too few rows to test: more rounds only fit noise
    while not _stands(optima, better.p) and rounds < max_rounds:
        if progress is not None:
            progress(f"{n_units} units", rounds, max_rounds)
        before = optima.best
        optima = _pooled(optima, escape(problem, before.theta, better, rng), bonus=1)
        if same_optimum(before, optima.best) and not _stands(optima, better.p):
            scale = _SCALES[rounds % len(_SCALES)]
            optima = optima.merge(race(problem, n_units, effort.n_starts, scale, rng))
        if not same_optimum(before, optima.best):
            better = better_unit(problem, optima.best.theta, rng)
        rounds += 1
    sharp = problem.polish(optima.best.theta)
    return Settled(optima._replace(found=[sharp, *optima.found[1:]]), better.p, rounds)


def _stands(optima: Optima, p: float) -> bool:
    agreed = optima.hits >= 3 or (optima.hits == 2 and optima.gap > _CLEAR)
    return (not p < _LEVEL and (optima.gap > _CONTESTED or agreed)) or optima.hits >= _UNDISPUTED


def _pooled(optima: Optima, moved: Optima, bonus: int) -> Optima:
    """Pool the optima; that no move led away from the best counts as `bonus` hits, however many fell back to it."""
    pooled = optima.merge(moved)
    if same_optimum(pooled.best, optima.best):
        return Optima(pooled.found, optima.hits + bonus)
    return Optima(pooled.found, moved.hits)
