"""A second look at narrow cells: their gradients are measured again where the same cell is widest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from ...checking import Floats
from ..asking import Ledger
from .cell_gradients import CellGradients
from .cells import Crossing, flats_of
from .grain import EXACT_ANSWERS, Grain
from .kinked_policy import FAR_FIT, GRAIN, ROOMIER
from .path import Path
from .shape import Shape

__all__ = ["measure_again"]


@dataclass(frozen=True)
class _Sides:
    """Every hyperplane as a constraint on a cell: ``signs * (<jumps, x> + q) >= flats`` where it is straight."""

    jumps: Floats
    q: Floats
    flats: Floats
    along: Floats  # +1 or -1: sign of the argument's growth along the path


def measure_again(
    ledger: Ledger,
    path: Path,
    gradients: CellGradients,
    crossings: list[Crossing],
    shape: Shape,
    sigma: float,
    grain: Grain = EXACT_ANSWERS,
) -> CellGradients:
    """Return the gradients, those of narrow cells from the roomiest point of the cell; d + 1 queries for each.

    The point comes from a linear programme in d + 1 variables: the largest distance to all hyperplanes, in units of
    the step that crosses them. It must lie no further out than the path.
    """
    jumps = np.diff(gradients.values, axis=0)
    lengths = np.linalg.norm(jumps, axis=1)
    beside = np.minimum(np.append(lengths, np.inf), np.insert(lengths, 0, np.inf))
    errors = gradients.sizes
    precise, most = (ROOMIER.precise, ROOMIER.most) if grain is EXACT_ANSWERS else (GRAIN.precise, 1.0)
    if grain.single and gradients.values.size + len(errors) <= FAR_FIT.most:
        precise = GRAIN.precise_enough
    narrow = np.flatnonzero(errors > precise * beside)
    if not len(narrow) or len(narrow) > max(2, most * len(errors)):
        return gradients
    places = np.array([crossing.place for crossing in crossings])
    weights = np.array([crossing.weight for crossing in crossings])
    q = -(jumps[:, :2] * places).sum(axis=1)
    sides = _Sides(jumps, q, flats_of(crossings, shape, sigma), np.sign(weights))
    for cell in narrow[np.argsort(-errors[narrow])]:
        gradients = _look_again(ledger, path, gradients, sides, int(cell), sigma)
    return gradients


def _look_again(
    ledger: Ledger, path: Path, gradients: CellGradients, sides: _Sides, cell: int, sigma: float
) -> CellGradients:
    d = ledger.n_features
    signs = np.where(np.arange(len(sides.q)) < cell, sides.along, -sides.along)
    stand = _roomiest(sides, signs, path.radius, d)
    if stand is None:
        return gradients
    margins = signs * (sides.jumps @ stand + sides.q) - sides.flats
    if (margins <= 0).any():
        return gradients
    with np.errstate(divide="ignore"):
        steps = np.minimum((ROOMIER.safe * margins[:, None] / np.abs(sides.jumps)).min(axis=0), path.radius)  # (d,)
    errors = 1.5 * sigma / steps
    if np.linalg.norm(errors) > ROOMIER.hardly_better * gradients.sizes[cell]:
        return gradients
    rows = np.concatenate([stand[None], stand + np.diag(steps)])
    answers = ledger.ask_blocks(d + 1, lambda part: path.frame.from_coordinates(rows[part]), "roomier")
    return gradients.replaced(cell, (answers[1:] - answers[0]) / steps, errors)


def _roomiest(sides: _Sides, signs: Floats, radius: float, d: int) -> Floats | None:
    """Return the point of a cell, in the frame's coordinates, that is furthest from all hyperplanes; (d,)."""
    typical = np.linalg.norm(sides.jumps, axis=1) / np.sqrt(d)
    # Unknowns: the point over the radius, and the distance.
    matrix = np.concatenate([-signs[:, None] * sides.jumps * radius, typical[:, None] * radius], axis=1)
    limits = signs * sides.q - sides.flats
    box = [(-1 / np.sqrt(d), 1 / np.sqrt(d))] * d
    scale = np.abs(matrix).max(axis=1)
    goal = np.append(np.zeros(d), -1.0)
    best = linprog(goal, matrix / scale[:, None], limits / scale, bounds=[*box, (0.0, None)], method="highs")
    return None if best.x is None else np.asarray(best.x[:d] * radius)
