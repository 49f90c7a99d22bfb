"""From the pieces of a walk to units: how long their gradients are, and the one unit that no walk can show."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...arguments import Floats
from .boundary import Crossings, Decider
from .decision_fit import DecisionLayer
from .settings import DECISIONS, DecisionPolicy
from .straight_walk import FlatPiece, crossing_again


class Walk(NamedTuple):
    """Pieces of a walk, the lengths of their gradients (n,), the first one's being one, and crossings beside them."""

    pieces: list[FlatPiece]
    lengths: Floats
    at: list[Crossings]

    def values(self, X: Floats) -> Floats:
        """Return ``length_i (<n_i, x> - offset_i)`` of all pieces at the rows of X, (n, pieces)."""
        normals = np.array([piece.normal for piece in self.pieces])
        return np.asarray(self.lengths * (X @ normals.T - np.array([piece.value for piece in self.pieces])))


class UnitCrossing(NamedTuple):
    """Where one unit is crossed back, alone.

    Attributes
    ----------
    ratio : float
        Length of the gradient behind the unit's bend over that before it.
    place : int
        Number of the piece that it was seen from.
    at : Crossings
        Two, behind the unit's hyperplane.
    """

    ratio: float
    place: int
    at: Crossings


def gradient_lengths(decider: Decider, pieces: list[FlatPiece], policy: DecisionPolicy) -> Walk | None:
    """Return the lengths of all gradients from where each unit of a walk is crossed back; None where one is not."""
    n = len(pieces)
    lengths, seen = np.ones(n), []
    for i in range(1, n - 1):
        # From the last piece first; where another unit comes between, from an earlier one.
        for place in (n - 1, *range(i + 1, n - 1)):
            found = _unit_crossing(decider, pieces, lengths, i, place, policy)
            if found is not None:
                break
        else:
            return None
        lengths[i] = lengths[i - 1] * found.ratio
        seen.append(found)
    normals = np.array([piece.normal for piece in pieces])
    offsets = np.array([piece.value for piece in pieces])
    told = []  # numbers of pieces, and the lengths that they should have
    for i, found in enumerate(seen, 1):
        # Behind the bend L_j (<n_j, x> - o_j) = D_i, which gives the gradient's length on the piece it was seen from.
        values = found.at.points[1] @ normals.T - offsets
        told.append((found.place, (lengths[i] * values[i] - lengths[i - 1] * values[i - 1]) / values[found.place]))
    lengths[-1] = np.median([length for place, length in told if place == n - 1])
    agree = all(abs(length / lengths[place] - 1) < policy.agrees for place, length in told)
    return Walk(pieces, lengths, [found.at for found in seen]) if agree and (lengths > 0).all() else None


def _unit_crossing(
    decider: Decider, pieces: list[FlatPiece], lengths: Floats, i: int, place: int, policy: DecisionPolicy
) -> UnitCrossing | None:
    """Return where unit i is crossed back from one of the pieces behind it; None where another unit is met.

    Unit i adds ``D_i(x) = L_i (<n_i, x> - o_i) - L_{i-1} (<n_{i-1}, x> - o_{i-1})`` behind its hyperplane, where D_i
    is zero. A way w with equal L_m <n_m, w> for all m < i, and zero for the others, moves it and no other one.
    """
    base = pieces[place]
    normals = np.array([piece.normal for piece in pieces])
    offsets = np.array([piece.value for piece in pieces])
    wanted = np.zeros(len(pieces))
    wanted[:i] = 1 / lengths[:i]
    way = np.linalg.lstsq(normals, wanted, rcond=None)[0]
    # The unit's argument at the base has the sign that it got behind its bend: the way back is known.
    way *= -np.sign(normals[i - 1] @ pieces[i].place - offsets[i - 1]) / np.linalg.norm(way)
    found = crossing_again(decider, base, way, policy)
    if found is None:
        return None
    # Behind unit i the gradient lies in the span of three normals: the boundary is flat along all other ways.
    own = np.stack([base.normal, normals[i], normals[i - 1]])
    others = normals.T @ np.cos(np.arange(len(pieces)) + 1.0)
    others = others - own.T @ np.linalg.lstsq(own.T, others, rcond=None)[0]
    step = 0.5 * float(np.linalg.norm(found.points[1] - found.points[0]))
    if np.linalg.norm(others) > policy.passes:
        test = found.points[1] + step * others / np.linalg.norm(others)
        if not decider.foretold(test[None], found.ways[1:], base.plane.below, base.plane.above, policy.passes * step):
            return None
    here = normals @ _edge(found, base) - offsets
    ratio = float(here[i - 1] / here[i])
    return UnitCrossing(ratio, place, found) if ratio > 0 else None


def _edge(found: Crossings, base: FlatPiece) -> Floats:
    """Return where the line through two crossings meets a piece, (d,)."""
    first, second = found.points
    height = base.normal @ first - base.value
    rise = base.normal @ (second - first)
    return np.asarray(first - (height / rise) * (second - first))


def walk_layer(chain: Walk) -> DecisionLayer:
    """Return the layer of a walk: the first piece's gradient as linear term, and one unit for each bend."""
    pieces, lengths = chain.pieces, chain.lengths
    normals = np.array([piece.normal for piece in pieces])
    gradients = lengths[:, None] * normals
    constants = -lengths * np.array([piece.value for piece in pieces])
    J, beta = np.diff(gradients, axis=0), np.diff(constants)
    # Behind bend i the boundary has <n_i, x> = o_i, so that the sign of D_i there is that of -(<n_{i-1}, x> - o_{i-1}).
    signs = np.array([
        -np.sign(before.normal @ after.plane.point - before.value) for before, after in pairwise(pieces)
    ])  # fmt: skip
    sizes = np.linalg.norm(J, axis=1)
    A, b = signs[:, None] * J / sizes[:, None], signs * beta / sizes
    return of_length_one(DecisionLayer(A, b, (signs * sizes)[None], constants[:1], gradients[:1]))


def of_length_one(layer: DecisionLayer) -> DecisionLayer:
    """Return the layer with output weights and constants of length one together."""
    size = float(np.sqrt((layer.U**2).sum() + (layer.c**2).sum()))
    linear = None if layer.linear is None else layer.linear / size
    return DecisionLayer(layer.A, layer.b, layer.U / size, layer.c / size, linear)


def missing_unit(layer: DecisionLayer, at: Crossings, values: Floats, span: Floats) -> DecisionLayer | None:
    """Return the layer with one unit more, from boundary points that it does not explain; None where there is none.

    Behind the missing unit's hyperplane it adds an affine function, which at a boundary point is the model's value with
    the opposite sign; its slope lies in the span of all gradients.

    Parameters
    ----------
    at : Crossings
        Those that it does not explain.
    values : (n,) array
        Its values there.
    span : (q, d) array
        Orthonormal.
    """
    design = np.concatenate([at.points @ span.T, np.ones((len(at), 1))], axis=1)
    if len(at) < design.shape[1] + 2:
        return None
    # Points far out count by their direction: their values are as large as they are.
    weights = 1 / (1 + np.linalg.norm(at.points, axis=1))
    found, _, rank, _ = np.linalg.lstsq(design * weights[:, None], -values * weights, rcond=None)
    left = (design @ found + values) * weights
    if rank < design.shape[1] or np.abs(left).max() > DECISIONS.agrees * np.abs(values * weights).max():
        return None
    J, beta = found[:-1] @ span, float(found[-1])
    sign, size = float(np.sign(np.median(-values))), float(np.linalg.norm(J))
    return DecisionLayer(
        np.concatenate([layer.A, sign * J[None] / size]), np.append(layer.b, sign * beta / size),
        np.concatenate([layer.U, [[sign * size]]], axis=1), layer.c, layer.linear,
    )  # fmt: skip


def without_kinks(layer: DecisionLayer, at: Crossings, near: float) -> Crossings:
    """Return the crossings that lie at no unit's kink, (n,): on its wrong side an equation would have no slope."""
    distances = np.abs(at.points @ layer.A.T + layer.b) / np.linalg.norm(layer.A, axis=1)
    return at.take(distances.min(axis=1, initial=np.inf) > near)
