"""The next layer: kinks on segments that the known layers do not foretell, and the surfaces they lie on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...fit.jacobian import Layers
from ...tuned import FACTOR
from ..ledger import EPS
from ..searches import search_all
from .box import Box, SlopeCell, gradients_within
from .feature_map import FeatureMap
from .line_scan import LineKink, StraightLine, Stretch, find_kinks
from .settings import RELU_LAYERS
from .surfaces import SCALES, Surface, are_next_layer, complete, next_layer_shares, surface_at

_DEPENDENT = FACTOR**2 * EPS**0.5  # what combinations of other rows leave of a row


class Side(NamedTuple):
    """A kink of a unit on a line: the input, the way of the line, and the gradients before and after it, (d,)."""

    unit: int
    point: Floats
    way: Floats
    before: Floats
    after: Floats


@dataclass
class NextLayer:
    """Rows of the next layer over the features of a map, each up to a factor.

    Attributes
    ----------
    rows, offsets : (k, m) and (k,) arrays
    sides : list of Side
        Kinks whose gradients were measured on both sides.
    errors : list of float
        Relative error of each row.
    n_deeper : int
        Kinks that lie on no surface of such a unit.
    n_open : int
        Kinks whose surface could not be followed.
    """

    rows: Floats
    offsets: Floats
    sides: list[Side] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    n_deeper: int = 0
    n_open: int = 0

    @classmethod
    def empty(cls, m: int) -> NextLayer:
        """Return a layer without units."""
        return cls(np.empty((0, m)), np.empty(0))

    @property
    def k(self) -> int:
        """Number of units."""
        return len(self.offsets)

    def only(self, kept: NDArray[np.bool_]) -> NextLayer:
        """Return the layer with some of its units, (k,)."""
        numbers = np.cumsum(kept) - 1
        return NextLayer(
            self.rows[kept], self.offsets[kept],
            [side._replace(unit=int(numbers[side.unit])) for side in self.sides if kept[side.unit]],
            [error for error, keep in zip(self.errors, kept) if keep], self.n_deeper, self.n_open,
        )  # fmt: skip

    @property
    def above(self) -> Layers:
        """The rows as a layer."""
        return [(self.rows, self.offsets)] if self.k else []

    def number_of(self, surface: Surface) -> int | None:
        """Return which unit has this surface already."""
        mine = np.column_stack([self.rows, self.offsets])
        other = np.append(surface.theta, surface.offset)
        cosines = np.abs(mine @ other) / (np.linalg.norm(mine, axis=1) * np.linalg.norm(other))
        same = np.flatnonzero(cosines > 1 - 1e-7)
        return int(same[0]) if len(same) else None


class _Candidate(NamedTuple):
    """A kink that is not foretold, the gradients on both sides of it, and its surface."""

    point: Floats
    way: Floats
    before: Floats
    after: Floats
    surface: Surface


def search_lines(box: Box, phi: FeatureMap, layer: NextLayer, lines: list[StraightLine], scale: float) -> int:
    """Find kinks on lines that known units do not foretell, add the units they belong to, return how many kinks."""
    kinks = _unexplained(box, phi, layer, lines)
    candidates = [c for line, found in zip(lines, kinks) for c in _candidates(box, phi, layer, line, found)]
    members = are_next_layer(phi, [c.surface for c in candidates], box, layer.above, scale * SCALES)
    kept = []
    for candidate, member in zip(candidates, members):
        known = None if candidate.surface.open.shape[1] else layer.number_of(candidate.surface)
        if member is False and known is None:
            layer.n_deeper += 1
        else:
            kept.append(candidate)
    open_ = [c for c in kept if c.surface.open.shape[1]]
    walked = search_all(box.ledger, [complete(phi, c.surface, box) for c in open_], "bends of surfaces")
    again = [s for s in walked if s is not None]
    sure = iter(are_next_layer(phi, again, box, layer.above, scale * SCALES))
    ends = dict(zip(map(id, open_), walked))
    for candidate in kept:
        followed = ends.get(id(candidate), candidate.surface)
        if followed is None or (id(candidate) in ends and next(sure) is False):
            layer.n_open += 1
        else:
            _add(layer, candidate, followed)
    return sum(map(len, kinks))


def without_combination(box: Box, phi: FeatureMap, layer: NextLayer, scale: float) -> NextLayer:
    """Return the layer without rows that are linear combinations of others, where rows should be independent.

    Where the units of this layer stay on or off, units of the next one are such combinations. Their surfaces show a
    kink at fewer places than those of this layer's own units, which are kept first.
    """
    k, m = layer.rows.shape
    if not 1 < k <= m or np.linalg.svd(layer.rows)[1][-1] > _DEPENDENT:
        return layer
    surfaces = [
        Surface(np.zeros(box.d), -offset * row / float(row @ row), row, np.empty((m, 0)), 1.0, error)
        for row, offset, error in zip(layer.rows, layer.offsets, layer.errors)
    ]
    shares = next_layer_shares(phi, surfaces, box, [], scale * SCALES, all_places=True)
    kept = np.zeros(k, dtype=bool)
    for unit in np.argsort(-np.nan_to_num(shares, nan=0.5), kind="stable"):
        basis = np.linalg.qr(layer.rows[kept].T)[0]
        left = layer.rows[unit] - basis @ (basis.T @ layer.rows[unit])
        kept[unit] = np.linalg.norm(left) > _DEPENDENT * np.linalg.norm(layer.rows[unit])
    layer.n_deeper += int((~kept).sum())
    return layer.only(kept)


def _add(layer: NextLayer, candidate: _Candidate, surface: Surface) -> None:
    unit = layer.number_of(surface)
    if unit is None:
        unit = layer.k
        layer.rows = np.vstack([layer.rows, surface.theta])
        layer.offsets = np.append(layer.offsets, surface.offset)
        layer.errors.append(surface.error)
    elif surface.error < layer.errors[unit]:
        layer.rows[unit], layer.offsets[unit], layer.errors[unit] = surface.theta, surface.offset, surface.error
    layer.sides.append(Side(unit, candidate.point, candidate.way, candidate.before, candidate.after))


class _Unexplained(NamedTuple):
    """A kink between those that known units make at the times `low` and `high`."""

    kink: LineKink
    low: float
    high: float


def _unexplained(box: Box, phi: FeatureMap, layer: NextLayer, lines: list[StraightLine]) -> list[list[_Unexplained]]:
    """Return the kinks of each line between those that known units make."""
    grids = [np.concatenate([[0.0], phi.breaks(line, layer.above).times, [1.0]]) for line in lines]
    stretches: list[Stretch] = []
    for number, (line, grid) in enumerate(zip(lines, grids)):
        inside = grid[:-1] + (0.3 + 0.4 * box.rng.random(len(grid) - 1)) * np.diff(grid)
        X = line.points(np.concatenate([grid, inside]))
        y = box.ask(X, "kinks of segments")
        rounding = box.rounding(X, y)
        ends, middle = y[: len(grid)], y[len(grid) :]
        share = (inside - grid[:-1]) / np.maximum(np.diff(grid), 1e-300)
        off = np.abs((1 - share) * ends[:-1] + share * ends[1:] - middle)
        tolerance = 20 * np.maximum(rounding[: -len(inside)][:-1], rounding[len(grid) :]) + 1e-9 * np.ptp(ends)
        wide = np.diff(grid) > 1e-9
        for i in np.flatnonzero((off > tolerance) & wide):
            inset = 1e-6 * (grid[i + 1] - grid[i])
            stretches.append((number, grid[i] + inset, grid[i + 1] - inset))
    found: list[list[_Unexplained]] = [[] for _ in lines]
    if stretches:
        scan = find_kinks(box, lines, stretches, "kinks of segments")
        for number, kinks in enumerate(scan.kinks):
            for kink in kinks:
                at = int(np.searchsorted(grids[number], kink.t))
                found[number].append(_Unexplained(kink, float(grids[number][at - 1]), float(grids[number][at])))
    return found


def _candidates(
    box: Box, phi: FeatureMap, layer: NextLayer, line: StraightLine, kinks: list[_Unexplained]
) -> list[_Candidate]:
    """Measure gradients on both sides of the kinks of a line, within the row space of the map there."""
    times = [kink.t for kink, _, _ in kinks]
    cells: dict[tuple[float, float], tuple[SlopeCell, Floats]] = {}
    pairs = []
    for i, (kink, low, high) in enumerate(kinks):
        before = (max([low, *times[max(0, i - 1) : i]]), kink.t)
        after = (kink.t, min([high, *times[i + 1 : i + 2]]))
        pairs.append((before, after))
        for (a, b), piece in ((before, kink.left), (after, kink.right)):
            if (a, b) not in cells:
                middle = 0.5 * (a + b)
                x = line.points(middle)
                here = phi.at(x)
                room = min(RELU_LAYERS.step * (b - a) * line.length, 0.2 * here.room())
                cells[a, b] = SlopeCell(x, piece.at(middle), room), _row_basis(here.jacobian)
    order = list(cells)
    slopes = gradients_within(box, [cells[c][0] for c in order], [cells[c][1] for c in order], "gradients")
    box.note_gradients(slopes.gradients[slopes.sound])
    number = {c: n for n, c in enumerate(order)}
    found = []
    for (kink, _, _), (before, after) in zip(kinks, pairs):
        i, j = number[before], number[after]
        if not (slopes.sound[i] and slopes.sound[j]):
            layer.n_open += 1
            continue
        jump = slopes.gradients[j] - slopes.gradients[i]
        surface = surface_at(phi, line.points(kink.t), jump, float(slopes.errors[i] + slopes.errors[j]))
        if surface is None:
            layer.n_open += 1
            continue
        found.append(_Candidate(surface.point, line.way, slopes.gradients[i], slopes.gradients[j], surface))
    return found


def _row_basis(J: Floats) -> Floats:
    """Return orthonormal rows that span those of a Jacobian."""
    _, sizes, rows = np.linalg.svd(J, full_matrices=False)
    return np.asarray(rows[sizes > 1e-9 * sizes.max(initial=1e-300)])
