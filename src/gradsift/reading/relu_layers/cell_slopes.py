"""Gradients of cells, by steps within the span where they must lie, each tested by one answer more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...tuned import FACTOR, TRIES
from .box import Box


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
