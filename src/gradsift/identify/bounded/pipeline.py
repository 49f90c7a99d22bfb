"""Inputs confined to a box: a student inside it, all replies jointly, fresh points as the judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...activations import get_activation
from ...checking import as_generator, at_least
from ...errors import BudgetSpent, NotIdentifiable
from ...oracle import Oracle
from ..imperfect.cones import cones
from ..imperfect.fit import Fitted, Noise, fit_jointly, predict
from ..imperfect.floor import Floor, choose_path
from ..imperfect.student import Lesson, study
from ..ledger import EPS, Ledger
from ..links import LINKS
from ..result import Identification, Progress
from .box import Box, box_of
from .noisy import NoisyBox
from .verdict import exact_result

__all__ = ["identify_bounded"]

_EXACT = 1e-7  # standard error given to exact answers, over their largest: what a student's fit can reach
_SPARE = 6
_GROWTH = 1.2
_CLEAR_GAP = 10.0
_LEAST_PER_UNKNOWN = 1.5
_MOST_PER_UNKNOWN = 12.0
_ARGUMENTS = 4.0


def identify_bounded(
    oracle: Oracle,
    activation: str = "tanh",
    rng: Any = None,
    *,
    accuracy: float | None = None,
    floor: Floor | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Identification:
    """Find all units of a sum of sigmoids whose inputs must stay in a box; never asks outside ``oracle.bounds``.

    Parameters
    ----------
    oracle : Oracle
        With one output and finite bounds.
    activation : {"tanh", "logistic", "erf"}
    rng : None, int or Generator
    accuracy : float, optional
        Direction error wanted where answers are noisy.
    floor : Floor, optional
        As found by :func:`choose_path`; found now if it is not given.

    Notes
    -----
    About 2.5 to 3 queries per unknown for exact answers.
    """
    if accuracy is not None:
        at_least("accuracy", accuracy, 0, strict=True)
    name = get_activation(activation).name
    if name not in LINKS:
        raise ValueError(f"activation must be one of {', '.join(LINKS)} inside a box, got {activation!r}.")
    rng = as_generator(rng)
    before = oracle.n_answered
    box = box_of(oracle, Ledger(oracle, None, progress))
    floor = choose_path(oracle, rng) if floor is None else floor
    search = _Exact(box, name, rng) if floor.kind == "exact" else NoisyBox(box, LINKS[name], floor, accuracy, rng)
    try:
        search.run()
    except BudgetSpent as spent:
        if search.fitted is None:
            raise
        search.shortage = str(spent)
    return search.result(oracle.n_answered - before)


class _Exact:
    """One identification with exact answers while it runs; all parameters are those of the box's coordinates."""

    def __init__(self, box: Box, activation: str, rng: np.random.Generator) -> None:
        self.box, self.rng, self.link = box, rng, LINKS[activation]
        self.g = self.link.odd
        self.share = 1.0  # of the box that random inputs fill
        self.n_spare = _SPARE
        self.fitted: Fitted | None = None
        self.shortage = ""
        self.fresh = np.empty(0)

    def run(self) -> None:
        d = len(self.box.half)
        wanted = 5 * (d + 2)
        most = np.inf
        while wanted < most:
            self._draw(wanted - len(self.box.answers))
            lesson = self._lesson()
            most = max(_MOST_PER_UNKNOWN * (self.n_spare + 4) * (d + 2), 2000)
            if self._accepts(lesson) and self._agrees(lesson.fitted):
                return
            self._adapt(lesson)
            wanted = int(np.ceil(_GROWTH * len(self.box.answers)))
        raise NotIdentifiable(
            f"No number of units up to {self.n_spare} explains {len(self.box.answers)} answers inside the box: the "
            "function is not a sum of such sigmoids, or the box is too small for its units to bend (or far too large)."
        )

    @property
    def noise(self) -> Noise:
        return Noise(_EXACT * max(self.box.ledger.largest, 1e-300))

    def _draw(self, n: int) -> None:
        self.box.ask(self.box.draw(n, self.share, self.rng), "student")

    def _lesson(self) -> Lesson:
        X, y = self.box.inside, self.box.answers
        while True:
            lesson = study(X, y, self.noise, self.g, self.n_spare, self.share / np.sqrt(3.0), self.rng)
            if not lesson.saturated or len(y) < 1.3 * (self.n_spare + 3) * (X.shape[1] + 2):
                return lesson
            self.n_spare += 3

    def _accepts(self, lesson: Lesson) -> bool:
        fitted = lesson.fitted
        n, n_unknowns = len(fitted.residuals), len(fitted.information)
        if lesson.gap < _CLEAR_GAP or n < max(_LEAST_PER_UNKNOWN * n_unknowns, n_unknowns + 3):
            return False
        explained = fitted.loss < n
        return explained and bool(cones(fitted).max() < 1e-2)

    def _agrees(self, fitted: Fitted) -> bool:
        """Ask at fresh points, compare, and fit them too."""
        points = self.box.draw(3 + len(fitted.theta.u), 1.0, self.rng)
        self.fresh = self.box.ask(points, "check") - predict(fitted.theta, points, self.g)
        largest = self.box.ledger.largest
        if np.abs(self.fresh).max() > 1e-5 * largest:
            return False
        X, y = self.box.inside, self.box.answers
        rounding = Noise(16 * EPS * largest)
        self.fitted = fit_jointly(fitted.theta, X, y, rounding, self.g)
        return True

    def _adapt(self, lesson: Lesson) -> None:
        """Draw from a smaller share of a box in which typical units are steps."""
        lengths = np.linalg.norm(lesson.fitted.theta.A, axis=1)
        spread = self.share * float(np.median(lengths)) / np.sqrt(3.0)
        if spread > 2.5 * _ARGUMENTS:
            self.share *= max(0.5, float(np.sqrt(_ARGUMENTS / spread)))

    def result(self, n_queries: int) -> Identification:
        """Return what was found."""
        if self.fitted is None:
            raise NotIdentifiable("No units were found.")
        return exact_result(self.fitted, self.box, self.link, self.fresh, n_queries)
