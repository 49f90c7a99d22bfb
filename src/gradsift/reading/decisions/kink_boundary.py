"""One layer of units with kinks behind decisions: a walk, the angles of its bends, and the unit that it cannot meet."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...certificate import BOUND, DECIDED
from ...errors import NotIdentifiable
from ...geometry import choose_terms
from .boundary import Crossings, Decider, joined
from .decision_fit import DecisionLayer, FittedLayer, differences, foretold_crossings, joint_fit, sharpened
from .settings import DECISIONS, DecisionPolicy
from .sigmoid_boundary import usual_crossings
from .small_fit import pair_rows
from .straight_walk import FlatPiece, crossing_again, walk

_LINE_SCALES = (1.0, 8.0, 64.0, 1e3)  # of boundary points that a unit not met should show at; guess


def read_kinks(
    decider: Decider, relu: Activation, policy: DecisionPolicy, accuracy: float, scale: float, rng: np.random.Generator
) -> tuple[FittedLayer, Crossings]:
    """Return the layer with a linear term, and all crossings; raises NotIdentifiable with the step that failed."""
    start = usual_crossings(decider, 1, 1e-7 * scale, rng, scale)
    if start is None:
        raise NotIdentifiable("All usual inputs are of one class.")
    pieces: list[FlatPiece] = []
    why = ""
    for number in range(policy.rounds):
        pieces = walk(decider, start, policy, rng, pieces)
        if not pieces:
            why = "it is not flat at a usual point"
            start = usual_crossings(decider, 1, 1e-7 * scale, rng, scale) or start
            if number < 2:
                continue
            break
        if len(pieces) < 3:
            why = "it bends along no way" if len(pieces) == 1 else (
                "it bends once, where the angle of the unit's hyperplane between the two pieces is free"
            )  # fmt: skip
            break
        chain = gradient_lengths(decider, pieces, policy)
        if chain is None:
            why = f"{len(pieces) - 1} bends are met, but not where each unit is crossed alone"
        else:
            found = _read_walk(chain, decider, relu, policy, scale, rng)
            if not isinstance(found, str):
                fit, at = sharpened(*found, relu, decider, policy, accuracy, rng, unit_rows=True, scale=scale)
                if fit.worst < DECIDED.residuals and np.isfinite(fit.root).all():
                    return fit, at
                found = f"{len(fit.layer.b)} units are found, but they do not foretell the boundary"
            why = found
        # The walk goes on from the piece before, another way; from elsewhere where that did not help.
        pieces = pieces[:-1] if number % 2 == 0 else []
        if not pieces:
            start = usual_crossings(decider, 1, 1e-7 * scale, rng, scale) or start
    raise NotIdentifiable(f"The boundary is walked along as that of units with kinks, and {why}.")


def _read_walk(
    chain: Walk, decider: Decider, relu: Activation, policy: DecisionPolicy, scale: float, rng: np.random.Generator
) -> tuple[FittedLayer, Crossings] | str:
    """Return the fit to a walk, completed by points near the origin; or why there is none."""
    layer, pieces = walk_layer(chain), chain.pieces
    if pieces[0].plane.above == 0:  # outputs are positive for the second class
        layer = DecisionLayer(layer.A, layer.b, -layer.U, -layer.c, -layer.linear)  # type: ignore[operator]
    at = without_kinks(layer, joined([*(piece.plane.at for piece in pieces), *chain.at]), policy.kink)
    fit = joint_fit(layer, at, relu, unit_rows=True)
    if fit.worst > DECIDED.residuals:
        return f"{len(pieces) - 1} bends are met, but no units explain the pieces between them"
    found = _with_missing_unit(fit, at, decider, relu, policy, scale, rng)
    return found or f"{len(pieces) - 1} units are found, but one more does not explain the boundary elsewhere"


def _with_missing_unit(
    fit: FittedLayer, at: Crossings, decider: Decider, relu: Activation, policy: DecisionPolicy, scale: float,
    rng: np.random.Generator,
) -> tuple[FittedLayer, Crossings] | None:  # fmt: skip
    """Return the fit with the unit that the walk could not meet, if fresh lines near and far out show one.

    A line that crosses where it was foretold costs two queries; only the others are bisected.
    """
    decider.step, n_lines = "last unit", 2 * len(fit.layer.b) + 12
    span = np.linalg.svd(np.concatenate([fit.layer.A, fit.layer.linear]), full_matrices=False)
    basis = span[2][span[1] > policy.kink * span[1][0]]
    missed: list[Crossings] = []
    plain = plain_form(fit.layer)
    for number in range(policy.rounds):
        pool = foretold_crossings(fit, relu, 2 * n_lines, rng, scale, _LINE_SCALES).take(slice(n_lines))
        within = BOUND * pool.errors + policy.first_width
        beside = within[:, None] * pool.ways
        seen = decider.ask(np.concatenate([pool.points - beside, pool.points + beside])).reshape(2, -1)
        off = (seen[0] != pool.below) | (seen[1] != pool.above)
        if off.any():
            lines = pool.take(off)
            near = policy.clear * np.maximum(1.0, np.linalg.norm(lines.points, axis=1))
            found, _ = decider.cross(lines.points, lines.ways, lines.below, lines.above, near, policy.first_width)
            missed.append(found)
        elif not missed and (plain is not None or number == 2):
            return (fit if plain is None else joint_fit(plain, at, relu, unit_rows=True)), at
        near = joined([at.take(slice(0)), *missed])
        if len(near) < len(basis) + 3:
            continue
        Q = pair_rows(near.below, near.above, 1)
        values = differences(fit.layer, relu, near.points, near.ways, Q).values * Q[:, 0]
        layer = missing_unit(fit.layer, near, values, basis)
        if layer is None:
            continue
        # Without a linear term the other units leave less of the last one open.
        layer = plain_form(layer) or layer
        if layer.linear is not None and len(near) < decider.n_features + 3:
            continue
        everything = without_kinks(layer, joined([at, near]), 10 * policy.first_width)
        whole = joint_fit(of_length_one(layer), everything, relu, unit_rows=True)
        if whole.worst < DECIDED.residuals:
            return whole, everything
    return None


def plain_form(layer: DecisionLayer, share: float = 0.0, fits: float = 1e-4) -> DecisionLayer | None:
    """Return the layer without a linear term, by turning some of its units round; None where none are to be turned.

    Parameters
    ----------
    share : float
        Slope of the activation left of its kink over that on its right: 0 for relu.
    fits : float
        What may be left of the linear term, as a share of a typical unit's.
    """
    # relu(z) = z + relu(-z): turning the units F adds their J = u a to the linear term g. A leaky unit of weight
    # u = U / (1 - share) leaves share u a in it, too. With q = share / (1 - share), the sum over F of J is
    # -(g - q sum J) / (1 + 2 q).
    if layer.linear is None:
        return layer
    q = share / (1 - share)
    J = (layer.U.T[:, :, None] * layer.A[:, None]).reshape(len(layer.A), -1)  # (k, m d)
    turned = choose_terms(J, -(layer.linear.ravel() - q * J.sum(axis=0)) / (1 + 2 * q), fits)
    if turned is None:
        return None
    signs = np.where(turned, -1.0, 1.0)
    constant = layer.c + (layer.U * layer.b)[:, turned].sum(axis=1)
    weights = layer.U / (1 - share)
    A, b = layer.A * signs[:, None], layer.b * signs
    return of_length_one(DecisionLayer(A, b, weights, constant - share * (weights * b).sum(axis=1)))


def with_slope(layer: DecisionLayer, share: float) -> DecisionLayer:
    """Return a layer of relu units with a linear term as one of units with this slope on their left."""
    weights = layer.U / (1 - share)
    linear: Floats = layer.linear - share * weights @ layer.A  # type: ignore[operator]
    return of_length_one(
        DecisionLayer(layer.A, layer.b, weights, layer.c - share * (weights * layer.b).sum(axis=1), linear)
    )


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
