"""The first layer: kinks of paths far out whose hyperplanes are straight.

A deeper kink lies on a bent surface, and shows nothing at another place of the hyperplane that it seems to lie on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...errors import NotIdentifiable
from ...geometry import normalize_rows
from ...tuned import FACTOR, TRIES
from ..ledger import EPS
from .box import Box, SlopeCell, gradients_within
from .line_scan import LineKink, StraightLine, find_kinks
from .settings import RELU_LAYERS

_OF_FIRST = "first layer"


class PlaneKink(NamedTuple):
    """A kink on a path: an input on it, the way of the path, the gradients on both sides (d,), and their errors."""

    point: Floats
    way: Floats
    before: Floats
    after: Floats
    error: float

    @property
    def jump(self) -> Floats:
        """Change of the gradient, (d,)."""
        return self.after - self.before


@dataclass
class FirstPlanes:
    """Hyperplanes ``A x + b = 0`` with rows of length one.

    Attributes
    ----------
    A, b : (k, d) and (k,) arrays
    crossings : list of PlaneKink
        One of each unit.
    gradients : list of (d,) arrays
        Of all cells.
    n_deeper : int
        Kinks whose hyperplanes are bent.
    n_lost : int
        Kinks whose normals could not be measured.
    complete : bool
        Whether nothing speaks for a further unit.
    """

    A: Floats
    b: Floats
    crossings: list[PlaneKink] = field(default_factory=list)
    gradients: list[Floats] = field(default_factory=list)
    n_deeper: int = 0
    n_lost: int = 0
    complete: bool = False

    @property
    def k(self) -> int:
        """Number of units."""
        return len(self.b)

    @property
    def radius(self) -> float:
        """Typical distance of a hyperplane from the origin."""
        return float(np.median(np.abs(self.b))) if self.k else 1.0

    def in_basis(self) -> bool:
        """Say whether the gradients of all cells lie in the span of fewer rows than inputs, or of as many."""
        if self.k > self.A.shape[1]:
            return False
        G = np.array(self.gradients)
        left = G - (G @ np.linalg.pinv(self.A)) @ self.A
        return bool((np.linalg.norm(left, axis=1) <= np.sqrt(_TINY_SHARE) * np.median(np.linalg.norm(G, axis=1))).all())

    def holds_gradients(self) -> bool:
        """Say whether nothing in the gradients speaks for a further unit.

        As many rows as inputs span everything; but each unit must then have no share, or the same one in all cases, of
        the gradient on one side of its kink.
        """
        if not self.k or not self.in_basis():
            return False
        if self.k < self.A.shape[1]:
            return True
        sides = np.array([[c.before, c.after] for c in self.crossings])  # (k, 2, d)
        shares = np.abs(np.einsum("usd,du->us", sides, np.linalg.pinv(self.A)))
        ratios = shares.min(axis=1) / (shares.max(axis=1) + 1e-300)
        return bool(np.ptp(ratios) < 1e-3)


_TINY_SHARE = EPS**0.75


def read_first_layer(box: Box, radius: float) -> FirstPlanes:
    """Find all units of the first layer on paths far out; about d queries per kink of the first path."""
    first = FirstPlanes(np.empty((0, box.d)), np.empty(0))
    n_idle = 0
    for number in range(2 * RELU_LAYERS.attempts + TRIES):
        n_before = first.k
        _along_a_path(box, first, radius)
        n_idle = n_idle + 1 if first.k == n_before else 0
        if first.holds_gradients() or (first.k and n_idle == 2):
            first.complete = True
            break
        if not first.k and number + 1 == TRIES:
            break
    _offsets_near_origin(box, first, radius)
    return first


def _offsets_near_origin(box: Box, first: FirstPlanes, radius: float) -> None:
    """Measure the offsets again near the origin, about six queries each: far out they are as uncertain as directions
    times the radius. Only tiny corrections are believed: anything larger is another kink."""
    if not first.k:
        return
    scale = max(first.radius, 1e-6 * radius)
    feet = -first.b[:, None] * first.A
    aside = scale * normalize_rows(box.rng.standard_normal(first.A.shape))
    feet = feet + aside - (aside * first.A).sum(axis=1)[:, None] * first.A
    half = 0.02 * scale * first.A
    lines = [StraightLine.between(foot - h, foot + h) for foot, h in zip(feet, half)]
    scan = find_kinks(box, lines, [(i, 0.0, 1.0) for i in range(first.k)], _OF_FIRST)
    for i, (line, kinks) in enumerate(zip(lines, scan.kinks)):
        moves = [float(first.A[i] @ line.points(kink.t) + first.b[i]) for kink in kinks]
        if moves and abs(min(moves, key=abs)) < 1e-7 * radius:
            first.b[i] -= min(moves, key=abs)


def _half_square(box: Box, radius: float) -> list[StraightLine]:
    P, Q = radius * normalize_rows(box.rng.standard_normal((2, box.d)))
    return [StraightLine.between(P, Q), StraightLine.between(Q, -P)]


def _along_a_path(box: Box, first: FirstPlanes, radius: float) -> None:
    """Find the kinks of a path that are not on known hyperplanes, and add those whose hyperplanes are straight."""
    lines = _half_square(box, radius)
    scan = find_kinks(box, lines, [(0, 0.0, 1.0), (1, 0.0, 1.0)], "kinks of a path")
    first.n_lost += scan.n_open
    if scan.n_open > max(TRIES, sum(map(len, scan.kinks))):
        raise NotIdentifiable(
            f"{scan.n_open} bends on a path far out are no sharp kinks ({box.ledger.n_queries} queries): units of "
            "another activation."
        )
    crossings = [c for line, kinks in zip(lines, scan.kinks) for c in _crossings(box, first, line, kinks)]
    # A normal is known to the error of both gradients over the jump.
    n_kinks = len(crossings)
    crossings = [c for c in crossings if c.error < np.sqrt(_TINY_SHARE) * np.linalg.norm(c.jump)]
    first.n_lost += n_kinks - len(crossings)
    straight = _are_straight(box, crossings, radius)
    for crossing, is_straight in zip(crossings, straight):
        normal = crossing.jump / np.linalg.norm(crossing.jump)
        offset = -float(normal @ crossing.point)
        if not is_straight:
            first.n_deeper += 1
        elif not _is_known(first, normal, offset, radius):
            first.A, first.b = np.vstack([first.A, normal]), np.append(first.b, offset)
            first.crossings.append(crossing)


def _is_known(first: FirstPlanes, normal: Floats, offset: float, radius: float) -> bool:
    cosines = first.A @ normal
    apart = np.abs(first.b - np.sign(cosines) * offset)
    return bool(((np.abs(cosines) > 1 - 1e-9) & (apart < 1e-6 * radius)).any())


def _crossings(box: Box, first: FirstPlanes, line: StraightLine, kinks: list[LineKink]) -> list[PlaneKink]:
    """Measure the gradients beside those kinks of a line that are not on known hyperplanes."""
    known = _on_known(first, line, kinks)
    wanted = sorted({i + side for i in np.flatnonzero(~known).tolist() for side in (0, 1)})
    ends = [0.0, *(k.t for k in kinks), 1.0]
    gradients: dict[int, Floats] = {}
    errors: dict[int, float] = {}
    for i in wanted:
        piece = kinks[i].left if i < len(kinks) else kinks[-1].right
        low, high = max(ends[i], piece.low), min(ends[i + 1], piece.high)
        middle = 0.5 * (low + high)
        cell = SlopeCell(
            line.points(middle), piece.at(middle), RELU_LAYERS.step * (ends[i + 1] - ends[i]) * line.length
        )
        found = _gradient(box, first, cell)
        if found is not None:
            gradients[i], errors[i] = found
    new = [i for i in np.flatnonzero(~known).tolist() if i in gradients and i + 1 in gradients]
    return [
        PlaneKink(line.points(kinks[i].t), line.way, gradients[i], gradients[i + 1], errors[i] + errors[i + 1])
        for i in new
    ]


def _gradient(box: Box, first: FirstPlanes, cell: SlopeCell) -> tuple[Floats, float] | None:
    """Measure a gradient: within the span of all others first, then in all directions; keep it."""
    spans = [_basis_of(first, box.d)] if first.gradients else []
    for span in [*spans, np.eye(box.d)]:
        if len(span) == box.d:
            span = np.eye(box.d)
        found = gradients_within(box, [cell], [span], _OF_FIRST)
        if found.sound[0]:
            gradient = found.gradients[0]
            first.gradients.append(gradient)
            box.note_gradients(gradient[None])
            return gradient, float(found.errors[0])
        if len(span) == box.d:
            break
    return None


def _basis_of(first: FirstPlanes, d: int) -> Floats:
    """Return orthonormal rows that span all gradients so far."""
    G = normalize_rows(np.array([g for g in first.gradients if g.any()] or np.eye(d)))
    _, sizes, rows = np.linalg.svd(G, full_matrices=False)
    return np.asarray(rows[sizes > 100 * np.sqrt(_TINY_SHARE) * sizes[0]])


def _on_known(first: FirstPlanes, line: StraightLine, kinks: list[LineKink]) -> NDArray[np.bool_]:
    """Say which kinks of a line lie on known hyperplanes."""
    if not first.k or not kinks:
        return np.zeros(len(kinks), dtype=bool)
    Z = line.points(np.array([k.t for k in kinks])) @ first.A.T + first.b  # (kinks, k)
    return np.asarray((np.abs(Z) <= 1e-7 * line.length).any(axis=1))


def _are_straight(box: Box, crossings: list[PlaneKink], radius: float) -> NDArray[np.bool_]:
    """Ask second differences at other places of the hyperplanes, until most or few of them show the kink."""
    n, hits = np.zeros(len(crossings)), np.zeros(len(crossings))
    for number in range(RELU_LAYERS.members):
        open_ = np.flatnonzero((n < 3) | (np.abs(hits - 0.5 * n) < 1.5))
        if not len(open_):
            break
        rows, jumps = [], []
        for i in open_:
            jump = crossings[i].jump
            size = float(np.linalg.norm(jump))
            normal, step = jump / size, 1e-5 * radius
            place = (1.0 if number % 2 == 0 else 0.3) * radius * _unit(box.rng.standard_normal(box.d))
            place = place - (normal @ (place - crossings[i].point)) * normal
            rows.append(place + step * np.array([[-1.0], [0.0], [1.0]]) * normal)
            jumps.append(step * size)
        X = np.concatenate(rows)
        y = box.ask(X, "straight or bent")
        bends = np.abs(y.reshape(-1, 3) @ [1.0, -2.0, 1.0])
        rounding = box.rounding(X, y).reshape(-1, 3).max(axis=1)
        n[open_] += 1
        hits[open_] += bends > FACTOR**2 * rounding
    return np.asarray(hits > 0.5 * n)


def _unit(v: Floats) -> Floats:
    return np.asarray(v / np.linalg.norm(v))
