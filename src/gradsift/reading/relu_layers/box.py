"""A box of piecewise linear answers: asked, and how its answers are rounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...errors import NotIdentifiable
from ...geometry import normalize_rows
from ...tuned import FACTOR, TRIES
from ..ledger import EPS, Ledger

_RAY_RADII = 4.0 ** np.arange(-2, 16)


@dataclass
class Box:
    """Asks a ledger, and foretells by how much each answer is rounded.

    Attributes
    ----------
    ledger : Ledger
    rng : Generator
    reach : float
        Radius from which on a ray is straight.
    slope : float
        Typical length of a gradient.
    """

    ledger: Ledger
    rng: np.random.Generator
    reach: float = 1.0
    slope: float = 0.0
    slopes: list[float] = field(default_factory=list)
    n_raised: int = 0
    _scanned: list[tuple[int, int]] = field(default_factory=list)

    eps = EPS

    @property
    def d(self) -> int:
        """Number of inputs."""
        return self.ledger.n_features

    def ask(self, rows: Floats, step: str) -> Floats:
        """Ask at rows (n, d), and keep them; places that follow from layers which do not hold together have none."""
        if not np.isfinite(rows).all():
            raise NotIdentifiable("The layers read so far do not hold together: they lead to no place to ask next.")
        asked = self.ledger.ask_rows(rows, step)
        if step.startswith("kinks") and len(asked.rows):
            self._scanned.append((int(asked.rows[0]), int(asked.rows[-1]) + 1))
        return asked.answers

    def anchors(self, most: int) -> NDArray[np.intp]:
        """Return the numbers of rows on lines, at most this many: those of steps beside them tell next to nothing."""
        rows = np.concatenate([np.arange(a, b) for a, b in self._scanned] or [np.empty(0, np.intp)])
        return rows if len(rows) <= most else np.sort(self.rng.choice(rows, most, replace=False))

    def rounding(self, rows: Floats, answers: Floats) -> Floats:
        """Return the size of the rounding of each answer: of its own digits, and of the products inside, which are as
        large as the input is far out, (n,)."""
        inside = EPS * self.slope * np.sqrt(np.einsum("ij,ij->i", rows, rows))
        return np.asarray(np.maximum(4 * EPS * np.abs(answers), inside))

    def raise_rounding(self) -> None:
        """Take answers to be rounded more than they were thought to be; refuse where that does not help.

        Raises
        ------
        NotIdentifiable
        """
        self.n_raised += 1
        if self.n_raised > 2:
            raise NotIdentifiable(
                f"Answers on lines do not join to straight pieces ({self.ledger.n_queries} queries): the function is "
                "curved, or its answers are rounded or noisy."
            )
        self.slope *= FACTOR
        self.slopes = [FACTOR * slope for slope in self.slopes]

    def note_gradients(self, gradients: Floats) -> None:
        """Measure roundings by the median length of all gradients seen, rows of `gradients`."""
        self.slopes += np.linalg.norm(gradients, axis=1).tolist()
        self.slope = float(np.median(self.slopes))

    def find_reach(self) -> None:
        """Ask along 3 to 16 rays, more while they are flat, at radii growing by 4, until two slopes agree.

        12 to 54 queries.

        Raises
        ------
        NotIdentifiable
            They never do, or the function does not grow.
        """
        radii, slopes = [], [0.0]
        for i, way in enumerate(normalize_rows(self.rng.standard_normal((16, self.d)))):
            if i >= 3 and max(slopes) > 0:  # all units of a layer may be off on some rays
                break
            y = self.ask(_RAY_RADII[:2, None] * way, "reach").tolist()
            for number in range(2, len(_RAY_RADII)):
                y.append(float(self.ask(_RAY_RADII[number, None] * way[None], "reach")[0]))
                changes = np.diff(y) / np.diff(_RAY_RADII[: number + 1])
                if abs(changes[-1] - changes[-2]) <= FACTOR * np.sqrt(EPS) * np.abs(changes).max():
                    radii.append(float(_RAY_RADII[number - 2]))
                    break
            slopes.append(float(np.abs(changes).max()))
        if not radii:
            raise NotIdentifiable(
                f"Along rays the function is not straight even at radius {_RAY_RADII[-1]:.2g} "
                f"({self.ledger.n_queries} queries): it has no units with kinks between straight lines, or its answers "
                "are rounded or noisy."
            )
        self.reach, self.slope = float(np.median(radii)), max(slopes)
        if not self.slope:
            raise NotIdentifiable("Along 16 rays the function is constant: no units that grow are seen.")


class SlopeCell(NamedTuple):
    """A place inside a linear piece of the function, the answer there, and how far one may step."""

    point: Floats
    value: float
    room: float


class Slopes(NamedTuple):
    """Gradients (c, d), their errors (c,), and whether a further answer agrees with each, (c,)."""

    gradients: Floats
    errors: Floats
    sound: NDArray[np.bool_]


def gradients_within(box: Box, cells: list[SlopeCell], spans: list[Floats], step: str) -> Slopes:
    """Measure the gradient of each cell within the span of orthonormal rows, (r, d): r + 1 answers each.

    The further answer is asked in a random direction of all inputs: it shows a step that crossed a kink, and a gradient
    that leaves the span. Shorter steps come next, and then none.
    """
    d = box.d
    found, errors = np.zeros((len(cells), d)), np.full(len(cells), np.inf)
    sound = np.zeros(len(cells), dtype=bool)
    shrink = 1.0
    for _ in range(TRIES - 1):
        todo = np.flatnonzero(~sound)
        if not len(todo):
            break
        steps = {i: shrink * cells[i].room for i in todo}
        mixed = {i: _unit(box.rng.standard_normal(d)) for i in todo}
        rows = [cells[i].point + steps[i] * np.concatenate([spans[i], -mixed[i][None]]) for i in todo]
        asked = np.concatenate(rows)
        answers = box.ask(asked, step)
        ends = np.cumsum([len(r) for r in rows])[:-1]
        parts = zip(todo, np.split(answers, ends), np.split(box.rounding(asked, answers), ends))
        for i, y, rounding in parts:
            slopes = (y[:-1] - cells[i].value) / steps[i]
            found[i] = slopes @ spans[i]
            errors[i] = 2 * float(rounding.max()) / steps[i]
            foretold = cells[i].value - steps[i] * float(found[i] @ mixed[i])
            tolerance = FACTOR * (np.sqrt(len(slopes)) + 2) * float(rounding.max())
            sound[i] = abs(y[-1] - foretold) <= tolerance
        shrink /= FACTOR
    return Slopes(found, errors, sound)


def _unit(v: Floats) -> Floats:
    return np.asarray(v / np.linalg.norm(v))
