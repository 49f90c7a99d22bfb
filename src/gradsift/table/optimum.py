"""Rounds of racing, testing and escaping until the best optimum stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..certificate import TABLE
from ..fit import Coordinates, Parameters, Prior, Refined, from_model
from ..fit.moves import prune, random_starts, split, turned, with_units
from ..model import SigmoidCombination
from ..tuned import NATS, TRIES
from .nested_models import Better, better_unit, fit_single, has_single_optimum, split_largest
from .problem import SMALL_TABLE, TableProblem
from .race import (
    CLEARLY_WORSE,
    WORSE_RIVAL,
    PolishedStarts,
    descend,
    descend_from_random,
    descend_on_many,
    same_optimum,
)

_SAMPLE, _MOSTLY = 2000, 0.8  # rows that tell which units are mostly active, and from which share on they are (guess)
_SPIKE = 1.6  # slope of the steepest unit over that of the others: wrong optima for labels have one such unit


def escape(problem: TableProblem, optima: PolishedStarts, better: Better, rng: np.random.Generator) -> PolishedStarts:
    """Descend from the best optimum with units traded: new ones from the residuals, or a unit split in two.

    Each start adds one or two units and drops the least useful afterwards, so that the number of units stays.
    """
    theta = optima.best.theta
    k = len(theta.u)
    rows = problem.first(4000)
    starts = []
    picks = rng.permutation(len(better.units))
    for i in range(0, len(picks) - 1, 2):
        # Two new units at a time, of typical weight: the descent decides which old ones they make superfluous.
        pair = picks[i : i + 2]
        typical = np.full(len(pair), np.abs(theta.u).mean())
        starts.append(with_units(theta, better.units[pair], typical, better.offsets[pair]))
    starts += _splits(theta, better)
    return descend(problem, [prune(start, problem.family, rows, k) for start in starts], optima.found)


def _splits(theta: Parameters, better: Better) -> list[Parameters]:
    """Make each of the strongest units two, apart along the direction in which the residuals bend across it."""
    units = np.argsort(-np.abs(theta.u))[:TRIES]
    steps = 0.5 * (1 + np.linalg.norm(theta.A[units], axis=1))[:, None] * better.splits[units]  # (units, d)
    return [split(theta, int(unit), step) for unit, step in zip(units, steps)]


def one_more(theta: Parameters, better: Better) -> list[Parameters]:
    """Return starts with one unit more: a new one, of typical weight, or a unit made two."""
    typical = np.full(1, np.abs(theta.u).mean())
    new = [with_units(theta, units[None], typical, offset[None]) for units, offset in zip(better.units, better.offsets)]
    return new + _splits(theta, better)


def turn_units(problem: TableProblem, optima: PolishedStarts) -> PolishedStarts:
    """Descend from the best optimum with one unit that grows turned round, its line carried by one that few rows leave
    idle.

    Units that grow differ from their mirror images by a line, which another unit can nearly carry: every choice of
    sides has an optimum of its own.
    """
    theta = optima.best.theta
    k = len(theta.u)
    # f(z) - f(-z) = s z for units that grow: turning one round needs a line, which a unit carries where it is active.
    active = (problem.first(_SAMPLE).X @ theta.A.T + theta.b > 0).mean(axis=0)  # (k,)
    carriers = {int(np.argmax(active)), *np.flatnonzero(active > _MOSTLY).tolist()}
    pairs = [(unit, carrier) for unit in range(k) for carrier in (None, *carriers) if carrier != unit]
    starts = [turned(theta, unit, carrier) for unit, carrier in pairs]
    if not problem.family.offsets:
        starts = [start._replace(b=np.zeros(k)) for start in starts]
    return descend(
        problem, [theta, *starts], optima.found
    )  # beside the optimum itself, what ends clearly worse is not polished


def has_steep_unit(theta: Parameters) -> bool:
    """Tell whether one unit is much steeper than the others."""
    steepest, others = _steepness(theta)
    return len(theta.u) > 1 and float(np.linalg.norm(theta.A[steepest])) > _SPIKE * others


def equal_slopes(problem: TableProblem, optima: PolishedStarts) -> PolishedStarts:
    """Descend from the best optimum with its steepest unit as steep as the others, half as steep, or all alike."""
    theta = optima.best.theta
    steepest, others = _steepness(theta)
    lengths = np.linalg.norm(theta.A, axis=1, keepdims=True)
    starts = []
    for slope in (others, 0.5 * others):
        A = theta.A.copy()
        A[steepest] *= slope / lengths[steepest]
        starts.append(theta._replace(A=A))
    # Equal slopes at the geometric mean, and equal weights: the start furthest from one unit that explains few rows.
    alike = theta.A / lengths * np.exp(np.log(lengths).mean())
    starts.append(theta._replace(A=alike, u=np.full(len(theta.u), theta.u.mean())))
    return descend_on_many(problem, starts, optima.found)  # few rows cannot tell which of them is right


def _steepness(theta: Parameters) -> tuple[int, float]:
    """Return the number of the steepest unit and the mean slope of the others."""
    lengths = np.maximum(np.linalg.norm(theta.A, axis=1), 1e-300)
    steepest = int(np.argmax(lengths))
    return steepest, float(np.exp(np.log(np.delete(lengths, steepest)).mean())) if len(lengths) > 1 else np.inf


Progress = Callable[[str, float, float | None], None]  # (stage, done, total)

_LEVEL = 0.05
_UNDISPUTED = 5  # hits of the best optimum against which the test for a better unit is not believed
_NEAR = 14  # steps: a maximum that takes more is at the end of a valley (data_fit.py, seeds from 1000: at most 10)
_RUNAWAY = 3.0  # times: a unit that grows as much once the weak prior is lifted has no end (guess)
LOOSE = Prior(32.0**-2, 32.0**-2, 30.0**-2, 0.0)  # of a fit whose likelihood has no maximum (guess)
_EXTRA = 24  # random starts more for labels whose best optimum is contested; half of them for tables that cost more
_LOOKS = 2  # times that so many more are tried (24 of 28 fits to two codings of Ecdat's Train end best; with 1, 21)
_SCALES = (1.0, 0.5, 2.0, 1.0)  # of the starts, round by round


class SearchLimits(NamedTuple):
    """How hard to search: starts per race, rounds at most (one: a quick look), and starts that someone suggests."""

    n_starts: int
    max_rounds: int
    suggested: tuple[SigmoidCombination, ...] = ()


class Settled(NamedTuple):
    """The optima for one number of units, and the p-value of the test at the best.

    path : criterion by number of units, where several were compared
    over_more : by how much a mild criterion prefers this number to larger ones, where they were compared
    bounded : whether the likelihood has a maximum near here
    wider : whether a score test asked for a wider family
    capped : whether more units might have been wanted than were allowed
    one : the fit of one component to labels, where it was made on the way
    """

    optima: PolishedStarts
    p_better: float
    rounds: int
    path: tuple[tuple[int, float], ...] = ()
    over_more: float = np.inf
    bounded: bool = True
    capped: bool = False
    wider: bool = False
    one: Refined | None = None


def settle(
    problem: TableProblem,
    n_units: int,
    effort: SearchLimits,
    rng: np.random.Generator,
    progress: Progress | None = None,
    smaller: Parameters | None = None,
) -> Settled:
    """Find the best model with `n_units` units.

    After each race the residuals are tested for a better unit. Escape moves follow only when the test finds one or
    another optimum is close; a new race only when that did not help. The result is never less likely than `smaller`, a
    fit with fewer units (for labels, at least that with one).
    """
    if has_single_optimum(problem, n_units):
        optima = PolishedStarts([fit_single(problem)], TABLE.rival_hits)
        p = better_unit(problem, optima.best.theta, rng).p
        return _sharpened(problem, Settled(optima, p, 1))
    alone = smaller is None and problem.family.simplex and n_units > 1
    one = fit_single(problem, tolerance=NATS) if alone else None
    optima = _first_polished(problem, n_units, effort, rng)
    better = better_unit(problem, optima.best.theta, rng)
    rounds = 1
    # Race, test, escape: an escape costs few starts, a new race all of them, so that it comes only when escapes failed.
    max_rounds = 1 if np.isnan(better.p) else effort.max_rounds  # too few rows to test: more rounds only fit noise
    while not _is_settled(optima, better.p) and rounds < max_rounds:
        if progress is not None:
            progress(f"{n_units} units", rounds, max_rounds)
        before = optima.best
        optima = _pooled(optima, escape(problem, optima, better, rng), bonus=1)
        if same_optimum(before, optima.best) and not _is_settled(optima, better.p):
            scale = _SCALES[rounds % len(_SCALES)]
            optima = optima.merge(descend_from_random(problem, n_units, effort.n_starts, scale, rng, optima.found))
        if not same_optimum(before, optima.best):
            better = better_unit(problem, optima.best.theta, rng)
        rounds += 1
    if not problem.family.activation.saturates:
        optima = _turned(problem, optima)
    if problem.family.simplex and effort.max_rounds > 1:
        optima = _search_again(problem, optima, rng)
    if smaller is not None and len(smaller.u) < n_units:
        optima = _at_least_as_good(problem, optima, smaller, problem.objective(smaller), rng)
    elif one is not None:
        optima = _at_least_as_good(problem, optima, one.theta, one.objective, rng)
    return _sharpened(problem, Settled(optima, better.p, rounds, one=one))


def _first_polished(
    problem: TableProblem, n_units: int, effort: SearchLimits, rng: np.random.Generator
) -> PolishedStarts:
    """Descend from random and from suggested starts; where one unit is much steeper, also from equal slopes."""
    optima = descend_from_random(problem, n_units, effort.n_starts, _SCALES[0], rng)
    suggested = [problem.frame.inside(from_model(m)) for m in effort.suggested if m.n_units == n_units]
    if suggested:
        optima = optima.merge(descend(problem, [Coordinates(problem.family).nearest(theta) for theta in suggested]))
    if problem.family.simplex and problem.family.slopes == "each" and has_steep_unit(optima.best.theta):
        optima = _pooled(optima, equal_slopes(problem, optima), bonus=0)
    return optima


def _turned(problem: TableProblem, optima: PolishedStarts) -> PolishedStarts:
    """Turn units that grow round as long as that helps."""
    for _ in range(TRIES):
        before = optima.best
        optima = _pooled(optima, turn_units(problem, optima), bonus=0)
        if same_optimum(before, optima.best):
            break
    return optima


def _search_again(problem: TableProblem, optima: PolishedStarts, rng: np.random.Generator) -> PolishedStarts:
    """Look harder where rivals are close or that is cheap; once more where it paid, or both."""
    cheap = problem.rows.X.size * len(optima.best.theta.u) < SMALL_TABLE
    paid = False
    for look in range(_LOOKS):
        contested = optima.gap < WORSE_RIVAL
        if not (paid or (contested and cheap) or (look == 0 and (contested or cheap))):
            break
        before = optima.best
        optima = _pooled(optima, _from_more_starts(problem, optima, _EXTRA if cheap else _EXTRA // 2, rng), bonus=0)
        paid = not same_optimum(before, optima.best)
    return optima


def _from_more_starts(
    problem: TableProblem, optima: PolishedStarts, n_starts: int, rng: np.random.Generator
) -> PolishedStarts:
    """Descend from more starts, of all steepnesses and with weights far from equal: labels have optima without number,
    and those with a rare or a steep component are easily missed. Beside the best optimum so far, what ends clearly
    worse is not polished."""
    n_units, starts = len(optima.best.theta.u), [optima.best.theta]
    for turn in range(n_starts):
        start = random_starts(problem.family, n_units, problem.n_features, 1, 2.0 ** (turn % 4), rng)[0]
        starts.append(start._replace(u=rng.dirichlet(np.full(n_units, 2.0))))
    return descend(problem, starts, optima.found)


def _at_least_as_good(
    problem: TableProblem, optima: PolishedStarts, smaller: Parameters, objective: float, rng: np.random.Generator
) -> PolishedStarts:
    """Go on from the smaller fit where it is the likelier one: that the larger one is not is no finding."""
    if objective > optima.best.objective:
        return optima
    starts = [split_largest(smaller, len(optima.best.theta.u), rng, spread) for spread in (0.3, 0.02)]
    return optima.merge(PolishedStarts([min((problem.polish(t) for t in starts), key=_objective)], 1))


def _objective(refined: Refined) -> float:
    return refined.objective


def _sharpened(problem: TableProblem, settled: Settled) -> Settled:
    """Polish the best optimum to the end, with the prior that was asked for.

    Where that is none and the likelihood has no maximum near by, a loose one keeps the fit finite. Among labels, optima
    that the prior of the search calls close are compared once more without it; one that is no maximum must be clearly
    the likeliest, since a component that runs away with few rows often is.
    """
    optima = settled.optima
    if problem.choices.alpha != 0:
        return settled._replace(optima=optima._replace(found=[problem.polish(optima.best.theta), *optima.found[1:]]))
    chosen, end = 0, _without_prior(problem, optima.best)
    # The prior of the search may rank close optima wrongly: those are compared without it.
    close = TABLE.rival_gap if end.bounded else WORSE_RIVAL
    for i, rival in enumerate(optima.found[1 : 1 + TRIES] if problem.family.labels else (), 1):
        if rival.objective - optima.best.objective < close:
            other = _without_prior(problem, rival, end.cost)
            chosen, end = (i, other) if other.cost < end.cost else (chosen, end)
    rivals = [o for i, o in enumerate(optima.found) if i != chosen and not same_optimum(o, end.fit)]
    hits = optima.hits if chosen == 0 else 1  # of the first: what led there did not lead here
    return settled._replace(optima=PolishedStarts([end.fit, *rivals], hits), bounded=end.bounded)


class _End(NamedTuple):
    """A fit without the prior of the search, and whether it is a maximum of the likelihood."""

    fit: Refined
    bounded: bool

    @property
    def cost(self) -> float:
        """Minus the log-likelihood, and what one that is no maximum must be ahead."""
        return self.fit.loss + (0.0 if self.bounded else WORSE_RIVAL)


def _without_prior(problem: TableProblem, found: Refined, least: float = np.inf) -> _End:
    """Return the maximum of the likelihood near by; or, where there is none, what a loose prior keeps finite, if that
    can cost less than `least`."""
    if problem.family.activation.saturates:
        known = found.equations.curvature
        last = problem.polish(found.theta, prior=problem.last_prior, max_iterations=_NEAR, curvature=known)
    else:  # rows change sides of kinks on the way: many steps, and an old curvature misleads
        last = problem.polish(found.theta, prior=problem.last_prior)
    same_size = _same_size(found.theta, last.theta)
    end = _End(last, last.converged and same_size)
    if end.bounded or end.cost > least:  # a prior makes it no likelier
        return end
    if same_size:
        return _End(problem.polish(last.theta, prior=LOOSE, tolerance=NATS, max_iterations=60), False)
    return _End(problem.polish(_short(last.theta), prior=LOOSE, tolerance=0.3 * NATS, max_iterations=60), False)


def _short(theta: Parameters) -> Parameters:
    """Return the units as steep as the loose prior expects them at most."""
    scale = np.minimum(1.0, LOOSE.arguments**-0.5 / np.maximum(np.linalg.norm(theta.A, axis=1), 1e-300))
    return theta._replace(A=theta.A * scale[:, None], b=theta.b * scale)


def _same_size(first: Parameters, last: Parameters) -> bool:
    """Tell whether no unit became very much steeper, or weightier, without the prior."""
    lengths = [np.linalg.norm(theta.A, axis=1) for theta in (first, last)]
    heights = [np.abs(theta.u) for theta in (first, last)]
    return bool(
        (lengths[1] <= _RUNAWAY * lengths[0]).all() and (heights[1] <= _RUNAWAY * np.maximum(heights[0], 1)).all()
    )


def _is_settled(optima: PolishedStarts, p: float) -> bool:
    agreed = optima.hits >= 3 or (optima.hits == 2 and optima.gap > WORSE_RIVAL)
    return (not p < _LEVEL and (optima.gap > CLEARLY_WORSE or agreed)) or optima.hits >= _UNDISPUTED


def _pooled(optima: PolishedStarts, moved: PolishedStarts, bonus: int) -> PolishedStarts:
    """Pool the optima; that no move led away from the best counts as `bonus` hits, however many fell back to it."""
    pooled = optima.merge(moved)
    if same_optimum(pooled.best, optima.best):
        return PolishedStarts(pooled.found, optima.hits + bonus)
    return PolishedStarts(pooled.found, moved.hits)
