"""Many starts in one batch, in float32; the best go on, the rest stop early."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import Floats
from ..fit import Coordinates, Parameters, Refined
from ..fit.moves import MOVES, prune, random_starts
from ..geometry import match_units
from ..tuned import NATS, SHARE
from .lbfgs import BatchLoss, BatchState, descend_batch, start_batch
from .problem import TableProblem

SPARE_UNITS = 5
_TURNS = (1.0, 3.0)  # scales of the starts in turn: for labels one scale alone often leads to one optimum alone
ROWS_PER = 30
_TWINS = 0.1  # distance of two optima, or of starts on their way, below which they are one
_MANY = 10_000  # rows of their last descent: forty float32 evaluations cost less than two Gauss-Newton matrices
_HOPELESS = 150.0  # nats behind the leader on few rows
CLEARLY_WORSE = 30.0  # nats behind the leader on many: not worth a polish, nor likely to be the right one
# the same where an optimum is known, to which others are rivals; data_fit, labels
_HOPELESS_RIVAL, WORSE_RIVAL = 30.0, 15.0
_STILL, _STILL_RIVAL = 0.05, 0.5  # nats on many rows: what gains less stops; the same row, seeds from 20,000
_SOON = 5.0  # nats: what is this far behind may have other slopes or offsets, whatever its directions (guess)


class PolishedStarts(NamedTuple):
    """Distinct polished optima, best first, and how many survivors of the race ended in the best."""

    found: list[Refined]
    hits: int

    @property
    def best(self) -> Refined:
        """The optimum of highest posterior."""
        return self.found[0]

    @property
    def gap(self) -> float:
        """Nats from the best to the next optimum; inf when only one was seen."""
        return self.found[1].objective - self.found[0].objective if len(self.found) > 1 else np.inf

    def merge(self, other: PolishedStarts) -> PolishedStarts:
        """Pool two sets, counting hits of the better best."""
        found = list(self.found)
        for refined in other.found:
            same = next((i for i, known in enumerate(found) if same_optimum(refined, known)), None)
            if same is None:
                found.append(refined)
            elif refined.objective < found[same].objective:
                found[same] = refined
        found.sort(key=lambda refined: refined.objective)
        hits = sum(o.hits for o in (self, other) if same_optimum(o.best, found[0]))
        return PolishedStarts(found, hits)


class Candidate(NamedTuple):
    """A start after its descent, how many nats it is behind the leader, and how many starts it stands for."""

    theta: Parameters
    behind: float
    hits: int


class Known(NamedTuple):
    """An optimum that was found before, and how many nats it is behind the leader."""

    optimum: Refined
    behind: float


def descend_from_random(
    problem: TableProblem,
    n_units: int,
    n_starts: int,
    scale: float,
    rng: np.random.Generator,
    known: Sequence[Refined] = (),
) -> PolishedStarts:
    """Descend from random starts with units to spare, drop the least useful, and polish what differs.

    Spare units make the landscape kinder: with correlated units, a race of exact size ends in a wrong optimum more
    often, and takes longer. Crowded problems (more units than dimensions) get as many spare units as units, and more
    time; starts by matching pursuit did not help there once spare units did.
    At most 200 batched evaluations (600 if crowded), and one Levenberg-Marquardt run per basin that is worth it.
    """
    few = _few(problem, n_units)
    crowded = n_units > problem.n_features
    # Spare units make the landscape kinder; the least useful are dropped once the descent has flattened.
    n_wide = n_units + max(SPARE_UNITS, n_units if crowded else n_units // 2)
    wide = problem.batch(n_wide, few)
    starts = [
        start
        for turn in range(n_starts)
        for start in random_starts(problem.family, n_wide, problem.n_features, 1, scale * _TURNS[turn % 2], rng)
    ]
    state = start_batch(wide, wide.pack(starts))
    state = descend_batch(wide, state, 300 if crowded else 60, tolerance=0.5 * _loss_unit(problem, state.values))
    # Each start keeps the units whose removal, the other weights refitted, costs most.
    rows = problem.first(min(few, 4000))
    pruned = [prune(wide.unpack(student), problem.family, rows, n_units) for student in state.points]
    nats = 0.1 * len(problem.rows.y) / few  # so many rows say no more about the others
    return descend(problem, pruned, known, 200 if crowded else 40, nats)


def descend(
    problem: TableProblem,
    starts: list[Parameters],
    known: Sequence[Refined] = (),
    max_evaluations: int = 120,
    nats: float = 0.1,
) -> PolishedStarts:
    """Descend from starts that already have the right number of units: on few rows, the best on many, then polished.

    What arrives at one of the `known` optima (best first) is not polished again, nor what ends clearly worse than the
    best of them; they are part of the result. A start stops on few rows once its steps gain less than `nats` on all.
    """
    n_units, n = len(starts[0].u), len(problem.rows.y)
    sample = _few(problem, n_units)
    loss = problem.batch(n_units, sample)
    state = start_batch(loss, loss.pack(starts))
    nat = _loss_unit(problem, state.values)
    state = descend_batch(loss, state, max_evaluations, tolerance=nats * nat)
    state = state.keep(np.argsort(state.values)[: max(1, round(SHARE * len(starts)))])
    if sample >= min(n, _MANY):
        return _polish_ends(problem, loss, state, np.ones(len(state.values), dtype=np.intp), known)
    # Few rows rank starts only roughly: what is far behind the leader stops, the rest go on with many rows.
    near = (state.values - state.values[0]) / nat < (_HOPELESS_RIVAL if known else _HOPELESS)
    return descend_on_many(problem, [loss.unpack(point) for point in state.points[near]], known)


def best_end(problem: TableProblem, starts: list[Parameters]) -> Refined:
    """Return the optimum that the best of some starts leads to: all of them on few rows, the better half on many, and
    one to its end."""
    k = len(starts[0].u)
    for sample in (_few(problem, k), min(len(problem.rows.y), _MANY)):
        loss = problem.batch(k, sample)
        state = start_batch(loss, loss.pack(starts))
        state = descend_batch(loss, state, 100, tolerance=_STILL * _loss_unit(problem, state.values))
        order = np.argsort(state.values)[: (len(starts) + 1) // 2]
        starts = [loss.unpack(state.points[i]) for i in order]
    return problem.polish(Coordinates(problem.family, problem.frame.metric).nearest(starts[0]), tolerance=NATS)


def descend_on_many(problem: TableProblem, starts: list[Parameters], known: Sequence[Refined] = ()) -> PolishedStarts:
    """Descend on many rows from starts for which few rows say nothing more, from twins once; then polish."""
    chosen, hits = _distinct(starts)
    loss = problem.batch(len(starts[0].u), min(len(problem.rows.y), _MANY))
    state = start_batch(loss, loss.pack([starts[i] for i in chosen]))
    still = _STILL_RIVAL if known and problem.family.labels else _STILL
    state = descend_batch(loss, state, 100, tolerance=still * _loss_unit(problem, state.values))
    return _polish_ends(problem, loss, state, hits, known)


def _polish_ends(
    problem: TableProblem, loss: BatchLoss, state: BatchState, hits: NDArray[np.intp], known: Sequence[Refined]
) -> PolishedStarts:
    order = np.argsort(state.values)
    values = loss(loss.pack([one.theta for one in known]))[0] if known else np.empty(0)
    leader, nat = min(state.values[order[0]], values.min(initial=np.inf)), _loss_unit(problem, state.values)
    chart = Coordinates(problem.family, problem.frame.metric)
    ends = [chart.nearest(loss.unpack(state.points[i])) for i in order]
    contenders = [Candidate(*end) for end in zip(ends, (state.values[order] - leader) / nat, hits[order])]
    return polish_distinct(problem, contenders, [Known(*one) for one in zip(known, (values - leader) / nat)])


def _distinct(students: list[Parameters]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the numbers of students that differ from all before them, and how many each stands for."""
    chosen: list[int] = []
    hits: list[int] = []
    for number, student in enumerate(students):
        twin = next((i for i, other in enumerate(chosen) if _distance(student, students[other]) < _TWINS), None)
        if twin is None:
            chosen.append(number)
            hits.append(1)
        else:
            hits[twin] += 1
    return np.array(chosen, dtype=np.intp), np.array(hits, dtype=np.intp)


def _few(problem: TableProblem, n_units: int) -> int:
    """Return the number of rows on which basins can be told apart: more when the signal is weak."""
    # Basins differ by nats per parameter: rows in proportion to the parameters, more where noise hides the signal.
    p = problem.family.n_parameters(n_units, problem.n_features)
    return int(min(len(problem.rows.y), _MANY, max(1000, ROWS_PER * p * max(1.0, 0.5 / problem.linear_share))))


def _loss_unit(problem: TableProblem, losses: Floats) -> float:
    """Return the change of the mean loss that is one nat on all rows of the search."""
    n = len(problem.rows.y)
    # n/2 log(mean square) changes by one when the mean square does by 2 / n of itself; a mean log-loss by 1 / n.
    return 1.0 / n if problem.family.labels else float(2 * losses.min()) / n


def polish_distinct(problem: TableProblem, contenders: list[Candidate], known: Sequence[Known] = ()) -> PolishedStarts:
    """Polish the contenders, except those that sit, or soon arrive, where another polish began or ended."""
    optima = _Basins(problem, known)
    for one in contenders:
        optima.add(one)
    order = np.argsort([refined.objective for refined in optima.found])
    return PolishedStarts([optima.found[i] for i in order], optima.hits[order[0]])


class _Basins:
    """PolishedStarts, the starts from which polishes ended in each of them, and how many contenders these stand for."""

    def __init__(self, problem: TableProblem, known: Sequence[Known]) -> None:
        self.problem, self.known = problem, known
        self.found = [one.optimum for one in known]
        self.starts: list[list[Parameters]] = [[] for _ in known]
        self.hits = [0 for _ in known]

    def add(self, one: Candidate) -> None:
        """Count a contender where it belongs; polish it first where that is not known and may be worth it."""
        number = self._beside_known(one)
        if number is None:
            number = self._around(one.theta)
        if number is None and one.behind < (WORSE_RIVAL if self.known else CLEARLY_WORSE):
            number = self._polished(one.theta)
        if number is not None:
            self.starts[number].append(one.theta)
            self.hits[number] += one.hits

    def _beside_known(self, one: Candidate) -> int | None:
        """Return the known optimum that is about as likely and as good as the same."""
        alike = (i for i, known in enumerate(self.known) if -NATS < one.behind - known.behind < _SOON)
        return next((i for i in alike if _distance(one.theta, self.found[i].theta) < _TWINS), None)

    def _around(self, theta: Parameters) -> int | None:
        """Return the optimum near which, or near whose starts, a point lies."""
        for i, (optimum, starts) in enumerate(zip(self.found, self.starts)):
            # An optimum that was known before has rivals close by, which differ in slopes.
            places = starts if i < len(self.known) else [optimum.theta, *starts]
            if any(_distance(theta, place) < 2 * _TWINS for place in places):
                return i
        return None

    def _polished(self, theta: Parameters) -> int:
        """Return the optimum in which a polish ends, a new one if need be."""
        # A few steps tell whether it is on its way to a known optimum; the rest of the polish is then spared.
        refined = self.problem.polish(theta, tolerance=NATS, max_iterations=MOVES.heat)
        if not refined.converged:
            number = self._around(refined.theta)
            if number is not None:
                return number
            refined = self.problem.polish(refined.theta, tolerance=NATS, curvature=refined.equations.curvature)
        for i, optimum in enumerate(self.found):
            if same_optimum(refined, optimum):
                self.found[i] = min(optimum, refined, key=lambda each: each.objective)
                return i
        self.found.append(refined)
        self.starts.append([])
        self.hits.append(0)
        return len(self.found) - 1


def same_optimum(left: Refined, right: Refined) -> bool:
    """Tell whether two polished fits are one optimum, up to the order and sign of the units."""
    return abs(left.objective - right.objective) < 0.5 and _distance(left.theta, right.theta) < _TWINS


def _distance(left: Parameters, right: Parameters) -> float:
    """Return the largest distance between matched units; of directions if steep, where slopes are ill determined."""
    first, second = _turned_rows(left), _turned_rows(right)
    match = match_units(first, second)
    return float(np.linalg.norm(first[match.order] * match.signs[:, None] - second, axis=1).max())


def _turned_rows(theta: Parameters) -> Floats:
    rows = theta.A * np.where(theta.u < 0, -1.0, 1.0)[:, None]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > 0, rows / np.maximum(1.0, lengths), 1e-300)
