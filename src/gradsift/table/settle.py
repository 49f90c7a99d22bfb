"""Rounds of racing, testing and escaping until the best optimum stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..checks import TABLE
from ..fit import Chart, Parameters, Prior, Refined, from_model
from ..fit.moves import glorot_starts
from ..model import SigmoidCombination
from .better import better_unit
from .escape import escape, level, spiky, turn_units
from .one import convex, copies, one_component
from .problem import TableProblem
from .race import Optima, descend, race, same_optimum

__all__ = ["Effort", "Progress", "Settled", "settle"]

Progress = Callable[[str, float, float | None], None]  # (stage, done, total)

_CONTESTED = 60.0  # nats: another optimum this close might be the right one
_CLEAR = 15.0  # nats: a rival this far behind does not contest an optimum that two starts found
_LEVEL = 0.05
_UNDISPUTED = 5  # hits of the best optimum against which the test for a better unit is not believed
_RUNAWAY = 3.0  # times: a unit that grows as much once the weak prior is lifted has no end (guess)
_COMPARED = 5  # optima for labels that are compared without the prior of the search
LOOSE = Prior(32.0**-2, 32.0**-2, 30.0**-2, 0.0)  # of a fit whose likelihood has no maximum (guess)
_CHEAP = 100_000  # numbers: so small a table is looked at harder whatever was found
_EXTRA = 24  # random starts more for labels whose best optimum is contested
_TURNED = 4  # times that all units which grow are turned round (guess)
_SCALES = (1.0, 0.5, 2.0, 1.0)  # of the starts, round by round


class Effort(NamedTuple):
    """How hard to search: starts per race, rounds at most (one: a quick look), and starts that someone suggests."""

    n_starts: int
    max_rounds: int = 4
    suggested: tuple[SigmoidCombination, ...] = ()


class Settled(NamedTuple):
    """The optima for one number of units, and the p-value of the test at the best.

    path : criterion by number of units, where several were compared
    over_more : by how much a mild criterion prefers this number to larger ones, where they were compared
    bounded : whether the likelihood has a maximum near here
    capped : whether more units might have been wanted than were allowed
    """

    optima: Optima
    p_better: float
    rounds: int
    path: tuple[tuple[int, float], ...] = ()
    over_more: float = np.inf
    bounded: bool = True
    capped: bool = False


def settle(
    problem: TableProblem,
    n_units: int,
    effort: Effort,
    rng: np.random.Generator,
    progress: Progress | None = None,
    smaller: Parameters | None = None,
) -> Settled:
    """Find the best model with `n_units` units.

    After each race the residuals are tested for a better unit. Escape moves follow only when the test finds one or
    another optimum is close; a new race only when that did not help. The result is never less likely than `smaller`, a
    fit with fewer units (for labels, at least that with one).
    """
    if convex(problem, n_units):
        optima = Optima([one_component(problem)], TABLE.rival_hits)
        p = better_unit(problem, optima.best.theta, rng).p
        return _sharpened(problem, Settled(optima, p, 1))
    if smaller is None and problem.family.simplex and n_units > 1:
        smaller = one_component(problem).theta
    optima = race(problem, n_units, effort.n_starts, _SCALES[0], rng)
    suggested = [problem.frame.enter(from_model(m)) for m in effort.suggested if m.n_units == n_units]
    if suggested:
        optima = optima.merge(descend(problem, [Chart(problem.family).project(theta) for theta in suggested]))
    if problem.family.simplex and problem.family.slopes == "each" and spiky(optima.best.theta):
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
    if not problem.family.activation.saturates:
        optima = _turned(problem, optima)
    doubtful = optima.gap < _CLEAR or problem.rows.X.size * n_units < _CHEAP
    if problem.family.simplex and doubtful and effort.max_rounds > 1:
        optima = _pooled(optima, _look_harder(problem, n_units, rng), bonus=0)
    if smaller is not None:
        optima = _at_least_as_good(problem, optima, smaller, rng)
    return _sharpened(problem, Settled(optima, better.p, rounds))


def _turned(problem: TableProblem, optima: Optima) -> Optima:
    """Turn units that grow round as long as that helps."""
    for _ in range(_TURNED):
        before = optima.best
        optima = _pooled(optima, turn_units(problem, before.theta), bonus=0)
        if same_optimum(before, optima.best):
            break
    return optima


def _look_harder(problem: TableProblem, n_units: int, rng: np.random.Generator) -> Optima:
    """Descend from more starts, of all steepnesses and with weights far from equal: labels have optima without number,
    and those with a rare or a steep component are easily missed."""
    starts = []
    for turn in range(_EXTRA):
        start = glorot_starts(problem.family, n_units, problem.n_features, 1, 2.0 ** (turn % 4), rng)[0]
        starts.append(start._replace(u=rng.dirichlet(np.full(n_units, 2.0))))
    return descend(problem, starts)


def _at_least_as_good(problem: TableProblem, optima: Optima, smaller: Parameters, rng: np.random.Generator) -> Optima:
    """Go on from the smaller fit where it is the likelier one: that the larger one is not is no finding."""
    n_units = len(optima.best.theta.u)
    if len(smaller.u) >= n_units or problem.polish(smaller, max_iterations=1).objective > optima.best.objective:
        return optima
    starts = [copies(smaller, n_units, rng, spread) for spread in (0.3, 0.02)]
    return optima.merge(Optima([min((problem.polish(t) for t in starts), key=_objective)], 1))


def _objective(refined: Refined) -> float:
    return refined.objective


def _sharpened(problem: TableProblem, settled: Settled) -> Settled:
    """Polish the best optimum to the end, with the prior that was asked for.

    Where that is none and the likelihood has no maximum near by, a loose one keeps the fit finite. Among labels, optima
    that the prior of the search calls close are compared once more without it.
    """
    optima = settled.optima
    if problem.choices.alpha != 0:
        return settled._replace(optima=optima._replace(found=[problem.polish(optima.best.theta), *optima.found[1:]]))
    close = [o for o in optima.found[:_COMPARED] if o.objective - optima.best.objective < _CLEAR]
    ends = [_likeliest(problem, o.theta) for o in (close if problem.family.labels else optima.found[:1])]
    best, bounded = min(ends, key=lambda end: end[0].loss)
    rivals = [o for o in optima.found[1:] if not same_optimum(o, best)]
    return settled._replace(optima=optima._replace(found=[best, *rivals]), bounded=bounded)


def _likeliest(problem: TableProblem, theta: Parameters) -> tuple[Refined, bool]:
    """Return the maximum of the likelihood near by; or, where there is none, what a loose prior keeps finite."""
    last = problem.polish(theta, prior=problem.last_prior)
    if last.converged and _same_size(theta, last.theta):
        return last, True
    return problem.polish(theta, prior=LOOSE, max_iterations=60), False


def _same_size(first: Parameters, last: Parameters) -> bool:
    """Tell whether no unit became very much steeper, or weightier, without the prior."""
    lengths = [np.linalg.norm(theta.A, axis=1) for theta in (first, last)]
    heights = [np.abs(theta.u) for theta in (first, last)]
    return bool(
        (lengths[1] <= _RUNAWAY * lengths[0]).all() and (heights[1] <= _RUNAWAY * np.maximum(heights[0], 1)).all()
    )


def _stands(optima: Optima, p: float) -> bool:
    agreed = optima.hits >= 3 or (optima.hits == 2 and optima.gap > _CLEAR)
    return (not p < _LEVEL and (optima.gap > _CONTESTED or agreed)) or optima.hits >= _UNDISPUTED


def _pooled(optima: Optima, moved: Optima, bonus: int) -> Optima:
    """Pool the optima; that no move led away from the best counts as `bonus` hits, however many fell back to it."""
    pooled = optima.merge(moved)
    if same_optimum(pooled.best, optima.best):
        return Optima(pooled.found, optima.hits + bonus)
    return Optima(pooled.found, moved.hits)
