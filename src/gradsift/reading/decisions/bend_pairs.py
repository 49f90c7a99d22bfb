"""Units with kinks from bends of the boundary, each met at two places, between any classes.

At a bend the gradient of a difference of outputs jumps by a multiple of the unit's row, which therefore lies in the
span of the normals on both sides. Two such spans, of different pieces, have nothing else in common.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...certificate import DECIDED
from ...errors import NotIdentifiable
from ...tuned import TRIES
from .boundary import Crossings, Decider, joined, orthogonal_direction
from .decision_fit import FittedLayer, joint_fit, linear_layer, sharpened
from .kink_boundary import of_length_one, plain_form, without_kinks
from .settings import DecisionPolicy
from .sigmoid_boundary import usual_crossings
from .straight_walk import FlatPiece, Tracks, first_piece, next_piece


class BendPlace(NamedTuple):
    """Two pieces, and a place (d,) where they meet."""

    before: FlatPiece
    after: FlatPiece
    corner: Floats

    @property
    def sharpness(self) -> float:
        """Sine of the angle between both pieces: over it counts the error of a normal."""
        cosine = float(self.before.normal @ self.after.normal)
        return float(np.linalg.norm(self.after.normal - cosine * self.before.normal))

    def holds(self, point: Floats, near: float) -> bool:
        """Say whether both planes pass a point (d,)."""
        return all(abs(float(piece.normal @ point) - piece.value) < near for piece in (self.before, self.after))

    def is_of(self, A: Floats, b: Floats, near: float) -> bool:
        """Say whether the hyperplane of one of the units A (k, d), b (k,) passes the corner, in the span of normals."""
        here = np.abs(A @ self.corner + b) < near * (1 + np.linalg.norm(self.corner))
        return any(_outside(self, a) < near for a in A[here])


class HiddenRows(NamedTuple):
    """Rows A (k, d) of length one, and offsets b (k,), of the units found so far."""

    A: Floats
    b: Floats

    def passes(self, point: Floats, near: float) -> bool:
        """Say whether the hyperplane of one of them passes a point (d,)."""
        return bool((np.abs(self.A @ point + self.b) < near).any())


def read_bends(
    decider: Decider, relu: Activation, policy: DecisionPolicy, accuracy: float, scale: float, rng: np.random.Generator
) -> tuple[FittedLayer, Crossings]:
    """Return the layer with a linear term, or without where one is enough, and all crossings."""
    d, m = decider.n_features, 1 if len(decider.values) == 2 else len(decider.values)
    bends: list[BendPlace] = []
    units = HiddenRows(np.empty((0, d)), np.empty(0))
    waiting: list[FlatPiece] = []
    points: list[Crossings] = []
    off: Crossings | None = None  # what the last fit does not explain
    idle = 0  # pieces in a row without a new bend
    while idle < policy.rounds and len(bends) < TRIES * (TRIES + len(units.b)):
        waiting = waiting or _new_piece(decider, off, policy, scale, rng)
        found = _bends_about(decider, waiting.pop(0), bends, units, policy, rng) if waiting else []
        idle = 0 if found else idle + 1
        bends += found
        units = _resolved(bends, d, policy)
        decider.ledger.n_units = len(units.b)
        waiting += [bend.after for bend in found if not bend.is_of(*units, policy.passes)]
        if waiting or not len(units.b):
            continue
        # Twice as many crossings as unknowns, if need be: every class must be seen on both sides of every unit.
        n = max(m - 1, 1) * (1 + d + len(units.b)) + TRIES
        if sum(map(len, points)) < 2 * n:
            more = usual_crossings(decider, n, policy.first_width, rng, scale)
            points += [] if more is None else [more]
        fit, at = _fitted(points, bends, units, m, relu, policy)
        off = at.take(np.abs(fit.residuals) > DECIDED.residuals)
        off = off if 2 * len(off) < len(at) else None  # a fit to most of them is that of all units but one
        if not _is_explained(fit):
            continue
        fit, at = sharpened(fit, at, relu, decider, policy, accuracy, rng, unit_rows=True, scale=scale)
        if _is_explained(fit):
            return fit, at
    raise NotIdentifiable(
        f"The boundary is flat in parts, {len(bends)} bends of it are met, and {len(units.b)} units that two of these "
        "have in common do not explain it: units of a further layer, or no network; or a unit that was met once only, "
        "which another random_state may find."
    )


def _fitted(
    points: list[Crossings], bends: list[BendPlace], units: HiddenRows, m: int, relu: Activation, policy: DecisionPolicy
) -> tuple[FittedLayer, Crossings]:
    """Return the fit of these units to all crossings, without a linear term where it can be, and the crossings."""
    at = joined([*points, *(piece.plane.at for bend in bends for piece in (bend.before, bend.after))])
    layer = of_length_one(linear_layer(at, *units, m))
    at = without_kinks(layer, at, policy.passes)  # as well as hyperplanes are known
    # Where a class lies on one side of a unit, the crossings determine a layer without a linear term only.
    plain = plain_form(layer, fits=policy.agrees)
    fit = None if plain is None else joint_fit(plain, at, relu, unit_rows=True)
    return fit if fit is not None and _is_explained(fit) else joint_fit(layer, at, relu, unit_rows=True), at


def _is_explained(fit: FittedLayer) -> bool:
    """Say whether a fit explains all its crossings, which determine it."""
    return fit.worst < DECIDED.residuals and bool(np.isfinite(fit.root).all())


def _new_piece(
    decider: Decider, off: Crossings | None, policy: DecisionPolicy, scale: float, rng: np.random.Generator
) -> list[FlatPiece]:
    """Return a piece at a crossing that no fit explains, or at a usual one; [] where the boundary is not flat."""
    start = None if off is None or not len(off) else off.take([int(rng.integers(len(off)))])
    start = start or usual_crossings(decider, 1, policy.kink * scale, rng, scale)
    return [] if start is None else first_piece(decider, start, policy)


def _bends_about(
    decider: Decider, piece: FlatPiece, known: list[BendPlace], units: HiddenRows, policy: DecisionPolicy,
    rng: np.random.Generator,
) -> list[BendPlace]:  # fmt: skip
    """Return the bends that random ways along a piece meet first, without those of known units and known bends."""
    decider.step = "walk"
    tracks = Tracks(decider, piece, policy)
    found: list[BendPlace] = []
    for number in range(2 * policy.quiet):
        # Ways along known hyperplanes meet others; but the last unit's may be met by none that is along all others.
        along = units.A[rng.permutation(len(units.b))[: (number % 2 + 1) * len(units.b) // 2]]
        along = np.concatenate([piece.normal[None], along[: decider.n_features - 2]])
        way = orthogonal_direction(along, decider.n_features, rng)
        distance = tracks.first_departure(way)
        if distance is None:
            continue
        corner = piece.place + distance * way
        near = policy.passes * (1 + float(np.linalg.norm(corner)))  # tracks leave a faint bend late
        if units.passes(corner, near) or any(bend.holds(corner, near) for bend in (*known, *found)):
            continue
        after = next_piece(decider, piece, way, distance, policy)
        decider.step = "walk"
        if after is not None and abs(float(after.normal @ way)) > policy.digits:
            exact = (after.value - after.normal @ piece.place) / (after.normal @ way)
            found.append(BendPlace(piece, after, piece.place + exact * way))
    return found


def _resolved(bends: list[BendPlace], d: int, policy: DecisionPolicy) -> HiddenRows:
    """Return the units that two bends have in common, from all bends of each."""
    A, b = np.empty((0, d)), np.empty(0)
    sharpest = sorted(bends, key=lambda bend: -bend.sharpness)
    for place, first in enumerate(sharpest):
        for second in sharpest[:place]:
            a = _common(first, second, policy.passes)
            if a is None or any(bend.is_of(A, b, policy.passes) for bend in (first, second)):
                continue
            offset = -0.5 * np.array([a @ (first.corner + second.corner)])
            others = [bend for bend in bends if bend.is_of(a[None], offset, policy.passes)]
            own = [first, second, *(bend for bend in others if bend is not first and bend is not second)]
            # The row least outside all spans; a span is known the better, the sharper its bend.
            spans = [np.linalg.qr(np.array([bend.before.normal, bend.after.normal]).T) for bend in own]
            apart = sum(R[1, 1] ** 2 * (np.eye(d) - Q @ Q.T) for Q, R in spans)
            a = np.linalg.eigh(apart)[1][:, 0]
            A, b = np.concatenate([A, a[None]]), np.append(b, -np.mean([a @ bend.corner for bend in own]))
    return HiddenRows(A, b)


def _common(first: BendPlace, second: BendPlace, near: float) -> Floats | None:
    """Return the row (d,) that the spans of two bends have in common, if they are of one hyperplane; else None."""
    normals = [[piece.normal for piece in (bend.before, bend.after)] for bend in (first, second)]
    if any(abs(float(n @ o)) > 1 - near**2 for n in normals[0] for o in normals[1]):
        return None  # a piece that both share is what they have in common
    bases = [np.linalg.qr(np.array(pair).T)[0] for pair in normals]  # (d, 2) each
    left, cosines, _ = np.linalg.svd(bases[0].T @ bases[1])
    a = np.asarray(bases[0] @ left[:, 0])
    apart = abs(float(a @ (first.corner - second.corner)))
    size = 1 + float(np.linalg.norm(first.corner - second.corner))
    one = _outside(second, a) < near and cosines[1] < 1 - near**2
    return a if one and apart < near * size else None


def _outside(bend: BendPlace, a: Floats) -> float:
    """Return how far a row (d,) of length one is from the span of a bend's normals."""
    basis = np.linalg.qr(np.array([bend.before.normal, bend.after.normal]).T)[0]
    return float(np.linalg.norm(a - basis @ (basis.T @ a)))
