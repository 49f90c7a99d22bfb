"""A new student from what others agree on: units that several of them found on their own are likely to be right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...activations import Activation
from ...checking import Floats
from .policy import POLICY
from .upper import Pupil, train, widened, with_output

__all__ = ["agreed_units", "raise_student"]

_SAME_UNIT = 0.97  # correlation of two units that are one


def agreed_units(pupils: Sequence[Pupil], X: Floats, g: Activation, most: int) -> tuple[Floats, Floats]:
    """Return weights (m, k) and offsets (m,) of units that occur in several students, the surest first, m <= most.

    A unit counts by how closely the best unit of every other student follows it over the rows of X; with nothing in
    common, one unit is returned.
    """
    weights = np.concatenate([p.layers[0][0] for p in pupils])
    offsets = np.concatenate([p.layers[0][1] for p in pupils])
    owner = np.repeat(np.arange(len(pupils)), [len(p.layers[0][1]) for p in pupils])
    active = g.value(X @ weights.T + offsets)
    active = active - active.mean(axis=0)
    active = active / (np.linalg.norm(active, axis=0) + 1e-12)
    alike = np.abs(active.T @ active)
    votes = np.zeros(len(owner))
    for number in range(len(pupils)):
        closest = alike[:, owner == number].max(axis=1)
        votes += np.where(owner == number, 0.0, np.maximum(0.0, closest - POLICY.alike) / (1 - POLICY.alike))
    chosen: list[int] = []
    for unit in np.argsort(-votes, kind="stable"):
        if len(chosen) >= most or (chosen and votes[unit] <= 0):
            break
        if (alike[unit, chosen] < _SAME_UNIT).all():
            chosen.append(int(unit))
    return weights[chosen], offsets[chosen]


def raise_student(
    pupils: Sequence[Pupil], X: Floats, y: Floats, width: int, g: Activation, target: float, rng: np.random.Generator
) -> Pupil:
    """Train a student with one hidden layer from what some of the others agree on, and new units beside it.

    Every other one is smaller than `width`: where all but one unit are agreed on, a few more are enough, and a crowd of
    new ones would share the last one between them.
    """
    n_asked = max(min(3, len(pupils)), 2 * len(pupils) // 3)
    asked = [pupils[i] for i in rng.permutation(len(pupils))[:n_asked]]
    share = rng.uniform(*POLICY.kept)
    layer = agreed_units(asked, X, g, max(1, int(share * width)))
    size = width if rng.random() < 0.5 else int(rng.integers(min(len(layer[1]) + 1, width), width + 1))
    longest = POLICY.lengths[1] if size == width else POLICY.longest_raised
    layers, work = with_output([layer], X, y, g), 0.0
    for part, steps in ((0.5, POLICY.first_steps), (1.0, POLICY.last_steps)):
        n_more = int(np.ceil(part * (size - len(layers[0][1]))))
        wider = widened(layers, 0, n_more, X, y, g, rng, POLICY.candidates_raised, longest)
        pupil = train(wider, X, y, g, steps, target)
        layers, work = pupil.layers, work + pupil.work
        if pupil.rms <= target:
            break
    return Pupil(pupil.layers, pupil.rms, None, work)
