"""Which students are tried, in which order, and on which answers: depth and widths come out of what explains them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...activations import Activation
from ...checking import Floats
from ...errors import NotIdentifiable
from ..asking import Ledger
from .agreeing import raise_student
from .crossings import reading_of
from .nearby import near_points
from .planes import FirstLayer
from .policy import POLICY
from .upper import Front, Pupil, grow_student, judged_by, n_unknowns, start_student, thin_out, train
from .vertices import ask_vertices, known_vertices, n_patterns

__all__ = ["Taught", "teach"]


@dataclass(frozen=True)
class Taught:
    """What the students made of the answers.

    Attributes
    ----------
    pupil : Pupil
        The one that explains them, or the best; over answers as they are given, not scaled.
    explained : bool
        Whether nothing but rounding is left.
    left : float
        Root mean square of what is left over the spread of the answers.
    tried : tuple of tuples
        Widths of the students that were tried, in order.
    """

    pupil: Pupil
    explained: bool
    left: float
    tried: tuple[tuple[int, ...], ...]


class _Near(NamedTuple):
    """Inputs near the origin, (n, d), and their answers."""

    X: Floats
    y: Floats


class Judges(NamedTuple):
    """Say of a student that explains its rows whether it is the one, and of one that stalled just above rounding
    whether it leads to the answers all the same."""

    passes: Callable[[Pupil], bool]
    leads_on: Callable[[Pupil], bool]


class _Class:
    """The answers at hand and the best student so far."""

    def __init__(
        self,
        ledger: Ledger,
        first: FirstLayer,
        radius: float,
        g: Activation,
        judges: Judges,
        rng: np.random.Generator,
    ) -> None:
        self.ledger, self.first, self.radius, self.g, self.judges, self.rng = ledger, first, radius, g, judges, rng
        self.vertices = known_vertices(ledger, first, 0.5 * radius)
        self.near = _Near(np.empty((0, ledger.n_features)), np.empty(0))
        self.best: Pupil | None = None
        self.tried: list[tuple[int, ...]] = []
        self.pool: list[Pupil] = []  # the best with one hidden layer, on vertices
        self.work = 0.0

    def on_vertices(self, widths: tuple[int, ...], n_runs: int) -> bool:
        """Train students of these widths on vertices, with more of these if need be; True if one explains them."""
        shares = POLICY.rows_per_unknown if sum(widths) >= POLICY.small else POLICY.rows_per_unknown[:1]
        for number, share in enumerate(shares):
            wanted = int(share * n_unknowns(len(self.first), widths) + 20)
            missing = min(wanted, self.n_patterns) - len(self.vertices)
            if number and (missing <= 0 or (self.best is not None and self.best.rms > POLICY.promising)):
                break
            if missing > 0:
                self.vertices = ask_vertices(self.ledger, self.first, self.radius, missing, self.vertices, self.rng)
            if self._runs(self.vertices.signs, self.vertices.answers, widths, n_runs, None):
                return True
            if self.tired:
                break
        return False

    @property
    def n_patterns(self) -> int:
        """Number of sign patterns that the first layer has."""
        return n_patterns(len(self.first), self.ledger.n_features)

    @property
    def tired(self) -> bool:
        """Whether all students together have worked enough."""
        near = self.best is not None and self.best.rms < POLICY.near_end
        return self.work > (POLICY.most_work_near if near else POLICY.most_work)

    def on_points(self, widths: tuple[int, ...], n_runs: int) -> bool:
        """Train students with a front on points near the origin and on vertices; True if one explains them."""
        k = len(self.first)
        slopes = 2 / np.array([plane.width for plane in self.first.planes])
        wanted = int(POLICY.near_rows * (2 * k + n_unknowns(k, widths)))
        if wanted > len(self.near.X):
            guess = [(slopes[:, None] * self.first.normals, -slopes * self.first.levels)]
            more = near_points(guess, wanted - len(self.near.X), 2.0, self.rng)
            answers = self.ledger.ask(more, "upper layers")
            self.near = _Near(np.concatenate([self.near.X, more]), np.append(self.near.y, answers))
        far = 40.0 / slopes.min()
        heights = np.concatenate([self.first.heights(self.near.X), far * self.vertices.signs])
        answers = np.append(self.near.y, self.vertices.answers)
        return self._runs(heights, answers, widths, n_runs, Front(np.log(slopes), np.zeros(k)))

    def _runs(self, X: Floats, answers: Floats, widths: tuple[int, ...], n_runs: int, front: Front | None) -> bool:
        mean, spread = float(answers.mean()), float(answers.std()) or 1.0
        y = (answers - mean) / spread
        rounding = reading_of(self.ledger).explained * self.ledger.eps * self.ledger.largest
        target = max(rounding / spread, 1e-13 if front is None else POLICY.near_floor)
        self.tried.append(widths)
        for pupil in self._students(X, y, widths, n_runs, target, front):
            if len(widths) > 1 and target < pupil.rms < POLICY.nearly:
                more = train(
                    pupil.layers, X, y, self.g, POLICY.thin_steps_deep, target, pupil.front, POLICY.patience_deep
                )
                pupil = replace(more, work=more.work + pupil.work)
            if target < pupil.rms < POLICY.nearly:
                pupil = thin_out(pupil, X, y, self.g, target, loose=3.0)
            self.work += pupil.work
            before = np.inf if self.best is None else self.best.rms
            if pupil.rms < before:
                self.best = _scaled(pupil, mean, spread)
            if pupil.rms <= 3 * target:
                thinned = _scaled(thin_out(pupil, X, y, self.g, 3 * target), mean, spread)
                self.work += thinned.work - pupil.work
                if self.judges.passes(thinned):
                    self.best = thinned
                    return True
            elif front is None and pupil.rms < min(POLICY.stalled, POLICY.surer * before):
                stalled = _scaled(pupil, mean, spread)
                if self.judges.leads_on(stalled):
                    self.best = stalled
                    return True
            if self.tired:
                break
        return False

    def _students(
        self, X: Floats, y: Floats, widths: tuple[int, ...], n_runs: int, target: float, front: Front | None
    ) -> Iterator[Pupil]:
        """Yield students of these widths; with one layer on vertices those raised on what the best agree on, too."""
        if front is not None or len(widths) > 1:
            yield from (grow_student(X, y, widths, self.g, target, self.rng, front) for _ in range(n_runs))
            return
        self.pool = sorted((judged_by(p, X, y, self.g) for p in self.pool), key=lambda p: p.rms)
        for number in range(POLICY.fresh_runs):
            start = (
                start_student if number % 2 else grow_student
            )  # nearly linear units are found by those started whole
            yield self._remembered(start(X, y, widths, self.g, target, self.rng))
        idle, best = 0, min(p.rms for p in self.pool)
        for _ in range(POLICY.most_raised):
            if idle >= POLICY.raised:
                break
            pupil = raise_student(self.pool, X, y, widths[0], self.g, target, self.rng)
            idle = 0 if pupil.rms < POLICY.gain * best else idle + 1
            best = min(best, pupil.rms)
            yield self._remembered(pupil)

    def _remembered(self, pupil: Pupil) -> Pupil:
        self.pool = sorted([*self.pool, pupil], key=lambda p: p.rms)[: POLICY.pool]
        return pupil


def _scaled(pupil: Pupil, mean: float, spread: float) -> Pupil:
    """Return the student of answers that were divided by their spread, for the answers themselves."""
    v, c = pupil.layers[-1]
    return replace(pupil, layers=[*pupil.layers[:-1], (v * spread, c * spread + mean)])


def teach(
    ledger: Ledger,
    first: FirstLayer,
    radius: float,
    g: Activation,
    n_layers: int | None,
    judges: Judges,
    rng: np.random.Generator,
) -> Taught:
    """Find the layers above the first by students of growing size.

    Parameters
    ----------
    n_layers : int or None
        Hidden layers of the whole network, if they are given.
    judges : Judges
        Others are tried where these say no.
    """
    room = _Class(ledger, first, radius, g, judges, rng)
    explained, widest = False, max(POLICY.small, POLICY.widest[0] + POLICY.widest[1] * len(first))
    hopeless = False  # of one layer above the first
    for sizes in POLICY.students:
        if (n_layers is not None and len(sizes) != n_layers - 1) or sum(sizes) > widest:
            continue
        if hopeless and len(sizes) == 1:
            continue
        n_runs = POLICY.runs_small if sum(sizes) < POLICY.small else POLICY.runs
        needed = POLICY.few * n_unknowns(len(first), sizes)
        if len(sizes) > 1:
            needed = POLICY.few_deep * n_unknowns(len(first), POLICY.deepest)
        if room.n_patterns < needed:
            explained = room.on_points(sizes, n_runs)  # near points have to stand in for vertices
        else:
            unlikely = len(sizes) > 1 and n_layers is None
            explained = room.on_vertices(sizes, POLICY.runs_unlikely if unlikely else n_runs)
            if not (explained or hopeless) and len(sizes) > 1 and sum(sizes) >= POLICY.last_resort:
                explained = room.on_points(sizes, n_runs)
        if explained or room.tired:
            break
        large = sum(sizes) >= max(POLICY.large, len(first) + POLICY.beyond)
        hopeless = large and room.best is not None and room.best.rms > POLICY.hopeless
    if room.best is not None and room.best.rms < POLICY.stalled:
        explained = True  # all layers at once will tell
    if room.best is None:
        raise NotIdentifiable(f"No student has {n_layers} hidden layers: give layers=2, 3 or 'auto'.")
    return Taught(room.best, explained, room.best.rms, tuple(room.tried))
