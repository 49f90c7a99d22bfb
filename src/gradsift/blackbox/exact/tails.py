"""Activations with algebraic tails, as arctan and softsign: they have no plateaus, so a student is trained instead.

Small networks only; what cannot be fitted to rounding is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import NotIdentifiable
from ...fit import Layout
from ..asking import Ledger
from ..links import Link
from .exact_policy import TAILS
from .net import Net
from .tail_student import train_student

__all__ = ["find_by_student"]


def find_by_student(ledger: Ledger, links: Sequence[Link], rng: np.random.Generator) -> Net:
    """Train students with 1, 2, ... units on growing sets of queried points until one fits to rounding.

    Parameters
    ----------
    links : sequence of Link
        Families to try.

    Notes
    -----
    About four queries per unknown. Fewer units than there are cannot fit four times as many answers as they have
    unknowns.
    """
    d, names = ledger.n_features, " or ".join(link.activation.name for link in links)
    scale = _input_scale(ledger, rng)
    X, y = np.empty((0, d)), np.empty(0)
    best = np.inf
    for k in range(1, TAILS.most_units + 1):
        wanted = 4 * Layout(k, d).size
        points = scale * rng.standard_normal((wanted - len(X), d))
        X, y = np.concatenate([X, points]), np.concatenate([y, ledger.ask(points, "student")])
        for link in links:
            student = train_student(X, y, k, link.odd, rng, n_starts=4 + 4 * k)
            best = min(best, student.misfit)
            if student.misfit < 1e-9 * max(ledger.largest, 1e-300):
                m = student.model
                return Net(link, m.units * m.slopes[:, None], m.offsets, m.weights, m.intercept, (None,) * k)
    raise NotIdentifiable(
        f"No sum of up to {TAILS.most_units} {names} units fits {len(y)} answers (best misfit {best:.2g}): algebraic "
        "tails have no plateaus to scan for, so only small networks of this kind can be found; fit samples instead."
    )


def _input_scale(ledger: Ledger, rng: np.random.Generator) -> float:
    """Return the standard deviation of inputs at which the function does most of its changing."""
    direction = rng.standard_normal(ledger.n_features)
    direction /= np.linalg.norm(direction)
    radii = 4.0 ** np.arange(-3, 8)
    values = ledger.ask(np.concatenate([radii, -radii])[:, None] * direction, "scale")
    forth, back = np.split(values, 2)
    change = np.abs(np.diff(forth - back))
    return float(radii[int(np.argmax(change)) + 1] / np.sqrt(ledger.n_features))
