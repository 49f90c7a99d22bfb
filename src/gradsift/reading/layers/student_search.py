"""Which students are tried, in which order, and on which answers: depth and widths come out of what explains them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...errors import NotIdentifiable
from ..ledger import Ledger
from ..searches import END, Stage, walk
from .crossings import reading_of
from .hyperplanes import FirstLayer, SignAnswers, ask_signs, known_signs, n_signs
from .layer_certificate import near_points
from .settings import POLICY
from .upper_layers import (
    FirstLayerScale,
    StudentNet,
    judged_by,
    n_unknowns,
    raise_student,
    start_from_half,
    start_student,
    thin_out,
    train,
)


@dataclass(frozen=True)
class StudentFit:
    """What the students made of the answers.

    Attributes
    ----------
    student : StudentNet
        The one that explains them, or the best; over answers as they are given, not scaled.
    explained : bool
        Whether nothing but rounding is left.
    left : float
        Root mean square of what is left over the spread of the answers.
    tried : tuple of tuples
        Widths of the students that were tried, in order.
    """

    student: StudentNet
    explained: bool
    left: float
    tried: tuple[tuple[int, ...], ...]


class _Near(NamedTuple):
    """Inputs near the origin, (n, d), and their answers."""

    X: Floats
    y: Floats


class StudentTests(NamedTuple):
    """Say of a student that explains its rows whether it is the one, and of one that stalled just above rounding
    whether it leads to the answers all the same."""

    passes: Callable[[StudentNet], bool]
    fits_answers: Callable[[StudentNet], bool]


class StudentOutcome(Enum):
    """How a stage ended."""

    VERTICES = "vertices"
    NEAR_POINTS = "near points"
    EXPLAINED = "explained"
    UNEXPLAINED = "unexplained"
    NONE_LEFT = "none left"


_Widths = tuple[int, ...]
_VERTICES, _NEAR_POINTS, _EXPLAINED, _UNEXPLAINED, _NONE_LEFT = StudentOutcome


class StudentContext(NamedTuple):
    """What does not change while students are trained: who asks, the first layer, the activation, the number of hidden
    layers of the whole network if it is given, and who judges."""

    ledger: Ledger
    first: FirstLayer
    radius: float
    g: Activation
    n_layers: int | None
    judges: StudentTests
    rng: np.random.Generator

    @property
    def n_signs(self) -> int:
        """Number of sign patterns that the first layer has."""
        return n_signs(len(self.first), self.ledger.n_features)

    def accepts(self, widths: _Widths) -> bool:
        """Say whether students of these widths have the right number of layers and not too many units."""
        widest = max(POLICY.small, POLICY.widest[0] + POLICY.widest[1] * len(self.first))
        return (self.n_layers is None or len(widths) == self.n_layers - 1) and sum(widths) <= widest

    def has_signs_for(self, widths: _Widths) -> bool:
        """Say whether there are so many sign patterns that no near points have to stand in for them."""
        k = len(self.first)
        if len(widths) > 1:
            return self.n_signs >= POLICY.few * n_unknowns(k, POLICY.deepest)
        return self.n_signs >= POLICY.few * n_unknowns(k, widths)

    def keep(self, state: StudentState) -> None:
        """Keep nothing: a student that was not judged yet is no result."""


@dataclass(frozen=True)
class StudentState:
    """The answers at hand and the students so far.

    Attributes
    ----------
    vertices : SignAnswers
    near : _Near
    left : tuple of tuples
        Widths that were not tried yet, in order.
    widths : tuple of int
        Those whose turn it is.
    n_shares : int
        How often these were trained on vertices, each time with more of them.
    best : StudentNet or None
    explained : bool
        Whether the best one explains its rows.
    tried : tuple of tuples
    pool : tuple of StudentNet
        The best with one hidden layer, on vertices.
    work : float
        Multiplications of all students together.
    hopeless : bool
        Of one layer above the first.
    """

    vertices: SignAnswers
    near: _Near
    left: tuple[_Widths, ...]
    widths: _Widths = ()
    n_shares: int = 0
    best: StudentNet | None = None
    explained: bool = False
    tried: tuple[_Widths, ...] = ()
    pool: tuple[StudentNet, ...] = ()
    work: float = 0.0
    hopeless: bool = False

    @property
    def n_units(self) -> int:
        """Units of the students whose turn it is."""
        return sum(self.widths)

    @property
    def rms(self) -> float:
        """What the best student leaves, of the spread of the answers."""
        return np.inf if self.best is None else self.best.rms

    @property
    def is_spent(self) -> bool:
        """Whether all students together have worked enough."""
        return self.work > POLICY.most_work * (1 + (self.rms < POLICY.promising))


_Stepped = tuple[StudentState, StudentOutcome]


def choose_widths(state: StudentState, training: StudentContext) -> _Stepped:
    """Choose the next widths, and the rows for them."""
    for number, widths in enumerate(state.left):
        if training.accepts(widths) and not (state.hopeless and len(widths) == 1):
            state = replace(state, widths=widths, left=state.left[number + 1 :], n_shares=0)
            return state, _VERTICES if training.has_signs_for(widths) else _NEAR_POINTS
    return state, _NONE_LEFT


def train_on_signs(state: StudentState, training: StudentContext) -> _Stepped:
    """Train on vertices, with more of these each time if need be."""
    shares = POLICY.rows_per_unknown if state.n_units >= POLICY.small else POLICY.rows_per_unknown[:1]
    first, several = training.first, len(state.widths) > 1
    wanted = int(shares[state.n_shares] * n_unknowns(len(first), state.widths) + 20)
    missing = min(wanted, training.n_signs) - len(state.vertices)
    promising = missing > 0 and (state.best is None or state.rms <= POLICY.hopeless)
    if promising or not state.n_shares:
        vertices = state.vertices
        if missing > 0:
            vertices = ask_signs(training.ledger, first, training.radius, missing, vertices, training.rng)
        state = replace(state, vertices=vertices, n_shares=state.n_shares + 1)
        n_runs = POLICY.tries if several and training.n_layers is None else POLICY.runs
        state = _fit_each(state, training, _rows(vertices.signs, vertices.answers, training.ledger), n_runs)
        if state.explained:
            return state, _EXPLAINED
        if state.n_shares < len(shares) and not state.is_spent:
            return state, _VERTICES
    last_resort = several and state.n_units >= sum(POLICY.students[-1]) and not state.hopeless
    return state, _NEAR_POINTS if last_resort else _UNEXPLAINED


def train_near_origin(state: StudentState, training: StudentContext) -> _Stepped:
    """Train students with a scale on points near the origin and on vertices."""
    first, near, k = training.first, state.near, len(training.first)
    slopes = 2 / np.array([plane.width for plane in first.planes])
    wanted = int(POLICY.near_rows * (2 * k + n_unknowns(k, state.widths)))
    if wanted > len(near.X):
        guess = [(slopes[:, None] * first.normals, -slopes * first.offsets)]
        more = near_points(guess, wanted - len(near.X), 2.0, training.rng)
        answers = training.ledger.ask(more, "upper layers")
        near = _Near(np.concatenate([near.X, more]), np.append(near.y, answers))
    # Vertices enter as heights so far out that every unit of the first layer is saturated.
    far = 40.0 / slopes.min()
    heights = np.concatenate([first.distance(near.X), far * state.vertices.signs])
    answers = np.append(near.y, state.vertices.answers)
    rows = _rows(heights, answers, training.ledger, FirstLayerScale(np.log(slopes), np.zeros(k)))
    state = _fit_each(replace(state, near=near), training, rows, POLICY.runs)
    return state, _EXPLAINED if state.explained else _UNEXPLAINED


def weigh_progress(state: StudentState, training: StudentContext) -> _Stepped:
    """Go on with other widths unless the work is done; with several layers where large students leave much."""
    if state.is_spent:
        return state, _NONE_LEFT
    large = state.n_units >= POLICY.small + max(POLICY.small, len(training.first))
    return replace(state, hopeless=large and state.best is not None and state.rms > POLICY.hopeless), _UNEXPLAINED


STUDENT_STAGES: Mapping[str, Stage[StudentState, StudentContext]] = {
    "widths": Stage(choose_widths, {_VERTICES: "vertices", _NEAR_POINTS: "near points", _NONE_LEFT: END}),
    "vertices": Stage(
        train_on_signs,
        {_EXPLAINED: END, _VERTICES: "vertices", _NEAR_POINTS: "near points", _UNEXPLAINED: "progress"},
    ),
    "near points": Stage(train_near_origin, {_EXPLAINED: END, _UNEXPLAINED: "progress"}),
    "progress": Stage(weigh_progress, {_UNEXPLAINED: "widths", _NONE_LEFT: END}),
}


class _StudentRows(NamedTuple):
    """What students are trained on: inputs (n, k), answers (n,) less their mean and over their spread, the root mean
    square at which these are explained, and the scale to begin with, if it is trained, too."""

    X: Floats
    y: Floats
    mean: float
    spread: float
    target: float
    scale: FirstLayerScale | None

    def to_answers(self, student: StudentNet) -> StudentNet:
        """Return the student for the answers themselves."""
        v, c = student.layers[-1]
        return replace(student, layers=[*student.layers[:-1], (v * self.spread, c * self.spread + self.mean)])


def _rows(X: Floats, answers: Floats, ledger: Ledger, scale: FirstLayerScale | None = None) -> _StudentRows:
    mean, spread = float(answers.mean()), float(answers.std()) or 1.0
    rounding = reading_of(ledger).explained * ledger.eps * ledger.largest
    target = max(rounding / spread, 1e-13 if scale is None else POLICY.near_floor)
    return _StudentRows(X, (answers - mean) / spread, mean, spread, target, scale)


def _fit_each(state: StudentState, training: StudentContext, rows: _StudentRows, n_runs: int) -> StudentState:
    """Train students one after the other, until one explains the rows or the work is done."""
    state = replace(state, tried=(*state.tried, state.widths))
    for student, pool in _each_student(state, training, rows, n_runs):
        student = _finished(student, training.g, rows)
        best, before = rows.to_answers(student) if student.rms < state.rms else state.best, state.rms
        state = replace(state, best=best, pool=pool, work=state.work + student.work)
        if student.rms <= 3 * rows.target:
            thinned = rows.to_answers(thin_out(student, rows.X, rows.y, training.g, 3 * rows.target))
            state = replace(state, work=state.work + (thinned.work - student.work))
            if training.judges.passes(thinned):
                return replace(state, best=thinned, explained=True)
        elif rows.scale is None and student.rms < min(POLICY.stalled, before):
            stalled = rows.to_answers(student)
            if training.judges.fits_answers(stalled):
                return replace(state, best=stalled, explained=True)
        if state.is_spent:
            break
    return state


def _finished(student: StudentNet, g: Activation, rows: _StudentRows) -> StudentNet:
    """Go on with a student that leaves little, by more steps if it has several layers, then with fewer units."""
    X, y, target = rows.X, rows.y, rows.target
    if len(student.widths) > 1 and target < student.rms < POLICY.faint:
        more = train(student.layers, X, y, g, POLICY.last_steps, target, student.scale, POLICY.patience_deep)
        student = replace(more, work=more.work + student.work)
    return thin_out(student, X, y, g, target, loose=3.0) if target < student.rms < POLICY.faint else student


_Pool = tuple[StudentNet, ...]


def _each_student(
    state: StudentState, training: StudentContext, rows: _StudentRows, n_runs: int
) -> Iterator[tuple[StudentNet, _Pool]]:
    """Yield students, each with the pool of the best then; with one layer on vertices those raised on what the best
    agree on, too."""
    X, y, g, target, rng, widths = rows.X, rows.y, training.g, rows.target, training.rng, state.widths
    if rows.scale is not None or len(widths) > 1:
        yield from ((start_from_half(X, y, widths, g, target, rng, rows.scale), state.pool) for _ in range(n_runs))
        return
    pool = tuple(sorted((judged_by(p, X, y, g) for p in state.pool), key=_rms))
    for number in range(POLICY.tries):
        start = start_student if number % 2 else start_from_half  # nearly linear units are found by those started whole
        student = start(X, y, widths, g, target, rng)
        pool = _with(pool, student)
        yield student, pool
    idle, best = 0, min(p.rms for p in pool)
    while idle < POLICY.runs:
        student = raise_student(pool, X, y, widths[0], g, target, rng)
        idle = 0 if student.rms < best else idle + 1
        best = min(best, student.rms)
        pool = _with(pool, student)
        yield student, pool


def _with(pool: _Pool, student: StudentNet) -> _Pool:
    return tuple(sorted([*pool, student], key=_rms)[: POLICY.choices])


def _rms(student: StudentNet) -> float:
    return student.rms


def search_student(
    ledger: Ledger,
    first: FirstLayer,
    radius: float,
    g: Activation,
    n_layers: int | None,
    judges: StudentTests,
    rng: np.random.Generator,
) -> StudentFit:
    """Find the layers above the first by students of growing size.

    Parameters
    ----------
    n_layers : int or None
        Hidden layers of the whole network, if they are given.
    judges : StudentTests
        Others are tried where these say no.
    """
    vertices = known_signs(ledger, first, 0.5 * radius)
    nothing = _Near(np.empty((0, ledger.n_features)), np.empty(0))
    training = StudentContext(ledger, first, radius, g, n_layers, judges, rng)
    ended = walk(STUDENT_STAGES, StudentState(vertices, nothing, POLICY.students), training)
    if ended.best is None:
        raise NotIdentifiable(f"No student has {n_layers} hidden layers: give layers=2, 3 or 'auto'.")
    # One that stalled just above rounding counts, too: all layers at once will tell.
    return StudentFit(ended.best, ended.explained or ended.rms < POLICY.stalled, ended.rms, ended.tried)
