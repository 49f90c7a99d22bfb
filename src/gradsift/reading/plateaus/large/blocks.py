"""The linearised equations of all replies, solved unit by unit: an arrowhead matrix and its blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....arguments import Floats
from ....runtime import all_threads
from ...device_arrays import Array, Arrays
from ...probe import ProbeRows
from .equations import AllReplies, Changes, Errors, NetSeen, errors_of, noise_level

# Rows that are a million times more precise than the cores foretell would drown the unit matrix in rounding.
_RAISED = 1 + 1e-12


class UnitRows(NamedTuple):
    """The rows on which one unit moves: (n,) numbers and (n, p) couplings, the first `n_own` of them its own alone."""

    rows: Array
    coupling: Array
    n_own: int


class _OwnRows(NamedTuple):
    """The own rows of one unit: (c,) numbers, (c, c) products with each other, and (c, t) with those of the tip."""

    rows: Array
    square: Array
    edge: Array


class _Blocks(NamedTuple):
    """The own rows of n units that have c of them each: (n, c) numbers, (n, c, c) lower factors, and (n c, t) products
    with the rows of the tip, divided by these."""

    rows: Array
    factors: Array
    edges: Array


class BlockFactor:
    """A factor L of the matrix, L L^T = I + C C^T, with its rows in any order.

    Parameters
    ----------
    n_rows : int
    tip : (t,) int array of numpy
        The rows on which several units move.
    units : iterable of UnitRows
    """

    def __init__(self, xp: Arrays, n_rows: int, tip: Array, units: Iterable[UnitRows]) -> None:
        self.xp, self.tip = xp, xp.put(tip)
        places = np.zeros(n_rows, dtype=np.intp)
        places[tip] = np.arange(len(tip))
        here, square = xp.put(places), xp.zeros(len(tip), len(tip))
        by_count: dict[int, list[_OwnRows]] = {}
        # Rows on which one unit alone moves couple only to each other and, through that unit, to the tip: the matrix
        # I + C C' is an arrowhead of small blocks with a dense tip.
        for unit in units:
            own, at = unit.coupling[: unit.n_own], here[unit.rows[unit.n_own :]]
            at_tip = unit.coupling[unit.n_own :]
            if len(at_tip):
                square[at[:, None], at] += at_tip @ at_tip.T
            if unit.n_own:
                edge = xp.zeros(unit.n_own, len(tip))
                edge[:, at] = own @ at_tip.T
                by_count.setdefault(unit.n_own, []).append(_OwnRows(unit.rows[: unit.n_own], own @ own.T, edge))
        self.blocks = [self._factored(alike) for alike in by_count.values()]
        square = self._raised(square)
        with all_threads(float(n_rows + len(tip)) * len(tip) ** 2):
            for block in self.blocks:
                # The Schur complement of the blocks: what is left of the tip once the own rows are eliminated.
                square -= block.edges.T @ block.edges
            self.factor = xp.cholesky(square)

    def _factored(self, alike: list[_OwnRows]) -> _Blocks:
        rows, squares, edges = map(self.xp.stack, zip(*alike))
        factors = self.xp.cholesky(self._raised(squares))
        n_rows = rows.shape[0] * rows.shape[1]
        return _Blocks(rows, factors, self.xp.divide_lower(factors, edges).reshape(n_rows, edges.shape[2]))

    def _raised(self, squares: Array) -> Array:
        """Add the unit matrix to one square or a stack of them, in place."""
        diagonal = self.xp.numbers(squares.shape[-1])
        squares[..., diagonal, diagonal] = (squares[..., diagonal, diagonal] + 1) * _RAISED
        return squares

    def divide(self, right: Array) -> Array:
        """Return L^-1 times an array (n_rows, q)."""
        divided, tip = right + 0.0, right[self.tip]
        for block in self.blocks:
            own = self.xp.divide_lower(block.factors, right[block.rows])
            divided[block.rows] = own
            tip = tip - block.edges.T @ own.reshape(len(block.edges), right.shape[1])
        divided[self.tip] = self.xp.divide_lower(self.factor, tip)
        return divided

    def divide_upper(self, right: Array) -> Array:
        """Return L^-T times an array (n_rows, q)."""
        divided, tip = right + 0.0, self.xp.divide_lower(self.factor, right[self.tip], transposed=True)
        divided[self.tip] = tip
        for block in self.blocks:
            own = right[block.rows] - (block.edges @ tip).reshape(*block.rows.shape, right.shape[1])
            divided[block.rows] = self.xp.divide_lower(block.factors, own, transposed=True)
        return divided


Ints = NDArray[np.intp]

_TRACE = 1e-5  # of its weight: what is left in a core of a row on which other units move, so that it can be inverted
_OPEN = 100.0  # times its own error: what that trace may be off, so that it settles nothing that no other row does


class _PlaneBlocks:
    """The core rows of n units from one plane, how to divide by them, and the extra rows on which these units move.

    Around a probe's base the unknowns are the unit's frame coordinates and its argument at the base. Rows of the plane
    on which other units move are taken for want of better ones, and are not heard in the core: they count among the
    extra rows, and a faint trace of them lets the core be inverted.
    """

    def __init__(self, across: ProbeRows, seen: NetSeen, replies: AllReplies, crowded: NDArray[np.bool_]) -> None:
        self.xp, self.across, self.stack = replies.arrays, across, across.stack
        self.weights = across.slopes * across.weights  # (n, d - 2)
        plane = self.stack.frame.plane
        flat, bases = (self.xp.get(rows @ plane.T) for rows in (replies.X, self.stack.bases))
        counts = np.array([len(probe.rows) for probe in self.stack.probes])
        noise = self.xp.get(seen.noise)
        self.chosen = np.empty((len(bases), 3), dtype=np.intp)
        in_plane = np.empty((len(bases), 3, 3))
        for count in np.unique(counts):
            which = np.flatnonzero(counts == count)
            rows = np.array([self.stack.probes[i].rows for i in which])  # (n, count)
            ones = np.ones((*rows.shape, 1))
            full = np.concatenate([flat[rows] - bases[which, None], ones], axis=2)
            units = np.repeat(self.stack.units[which, None], count, axis=1)
            slopes = self.xp.get(seen.slopes(self.xp.put(rows), self.xp.put(units), self.xp))
            full *= (slopes / noise[rows] * np.where(crowded[rows], _TRACE, 1.0))[:, :, None]
            best = _most_informative(full)
            self.chosen[which] = np.take_along_axis(rows, best, axis=1)
            in_plane[which] = np.take_along_axis(full, best[:, :, None], axis=1)
        self.in_plane = self.xp.put(in_plane)  # (n, 3, 3), weighted
        self.alone = ~crowded[self.chosen]  # (n, 3)
        self.in_rows, self.heard = self.xp.put(self.chosen), self.xp.put(self.alone)[:, :, None]

    def divide_rows(self, extra: Ints, seen: NetSeen, replies: AllReplies, crowded: NDArray[np.bool_]) -> None:
        """Divide the extra rows on which these units move by their cores: P such pairs of unit and row, those of each
        unit in turn, the crowded rows among them, on which others move too, last.

        Far out few rows move a unit, so that they take about as much memory as a few networks.
        """
        xp, n, turning = self.xp, len(self.stack.units), seen.turning
        place_of_unit, place_of_row = np.full(seen.at.net.k, -1), np.full(len(crowded), -1)
        place_of_unit[self.stack.units], place_of_row[extra] = np.arange(n), np.arange(len(extra))
        owners, rows = place_of_unit[turning.units], place_of_row[turning.rows]
        mine = np.flatnonzero((owners >= 0) & (rows >= 0))
        mine = mine[np.lexsort((crowded[turning.rows[mine]], owners[mine]))]
        self.ends = np.searchsorted(owners[mine], np.arange(n + 1))
        self.n_own = np.bincount(owners[mine], ~crowded[turning.rows[mine]], n).astype(int)
        self.owners, self.rows = xp.put(owners[mine]), xp.put(rows[mine])
        stored, units = xp.put(turning.rows[mine]), xp.put(turning.units[mine])
        slopes, scale = seen.slopes(stored, units, xp) / seen.noise[stored], self.weights * self.stack.lengths
        self.coupling = xp.empty(len(mine), replies.X.shape[1] + 1)  # (P, d + 1)
        for part in xp.parts(*self.coupling.shape):
            here, slope = self.owners[part], slopes[part][:, None]
            local = self.stack.frame.to_frame(replies.X[stored[part]] - self.stack.bases[here]) * slope
            across = local[:, 2:] / scale[here]
            plane = xp.join([local[:, :2], slope - (across * self.weights[here]).sum(1)[:, None]], axis=1)
            plane = xp.solve(self.in_plane.swapaxes(1, 2)[here], plane[:, :, None])[:, :, 0]
            self.coupling[part, :3], self.coupling[part, 3:] = plane, across

    def of_unit(self, place: int) -> slice:
        """Return where the pairs of one unit are."""
        return slice(int(self.ends[place]), int(self.ends[place + 1]))

    def unit_rows(self) -> Iterator[UnitRows]:
        """Yield the extra rows on which each unit moves."""
        for place, n_own in enumerate(self.n_own):
            mine = self.of_unit(place)
            yield UnitRows(self.rows[mine], self.coupling[mine], int(n_own))

    def times_shared(self, shared: Array) -> Array:
        """Return the couplings times the core rows' derivatives in weights, intercept and linear term, (P, k + 1)."""
        product = self.across.times_shared(self.coupling[:, 3:], self.owners, shared.shape[1], self.xp)
        for place in range(3):
            rows = shared[self.in_rows[:, place]] * self.heard[:, place]
            product += self.coupling[:, place, None] * rows[self.owners]
        return product

    def take_from(self, left: Array, core: Array) -> None:
        """Subtract from the extra rows (m, q) what core rows (n, d + 1, q) say about them."""
        parts = [self.coupling[self.of_unit(i)] @ core[i] for i in range(len(core))]
        self.xp.add_rows(left, self.rows, -self.xp.join(parts))

    def changes(self, core: Array, shared: Array, shared_rows: Array, dual: Array) -> Array:
        """Return the changes of (a, b), (n, d + 1, q), given those of all that units share and of the extra rows."""
        right = core - self.xp.join(
            [shared_rows[self.in_rows] @ shared * self.heard, self.across.shared_times(shared, self.xp)], axis=1
        )  # fmt: skip
        for place in range(len(right)):
            mine = self.of_unit(place)
            right[place] += self.coupling[mine].T @ dual[self.rows[mine]]
        plane = self.xp.solve(self.in_plane, right[:, :3])
        across = (right[:, 3:] / self.weights[:, :, None] - plane[:, 2:]) / self.stack.lengths[:, :, None]
        n, _, q = across.shape
        local = self.xp.join([plane[:, :2], across], axis=1).swapaxes(1, 2).reshape(n * q, -1)
        a = self.stack.frame.from_frame(local).reshape(n, q, -1)
        offsets = plane[:, 2] - (a @ self.stack.bases[:, :, None])[:, :, 0]
        return self.xp.join([a, offsets[:, :, None]], axis=2).swapaxes(1, 2)


def _most_informative(rows: Floats) -> Ints:
    """Return, for n sets of at least three rows, the numbers of those three whose determinant is largest, (n, 3)."""
    if rows.shape[1] == 3:
        return np.tile(np.arange(3), (len(rows), 1))
    triples = np.array(list(combinations(range(rows.shape[1]), 3)))
    scaled = rows / np.abs(rows).max(axis=1, keepdims=True)
    return np.asarray(triples[np.argmax(np.abs(np.linalg.det(scaled[:, triples])), axis=1)])


class BlockEquations:
    """The weighted, linearised equations of all replies around a network.

    Stored rows split into core rows and `extra` ones; the unknowns of unit l are eliminated by its core, so that every
    unit must have a probe.
    """

    def __init__(self, seen: NetSeen, replies: AllReplies) -> None:
        self.xp, self.ledger, self.noise = replies.arrays, replies.ledger, seen.noise
        self.linearised_at = seen
        parts = [seen.values, self.xp.zeros(len(replies.X), 1) + 1]
        design = self.xp.join(parts if seen.at.linear is None else [*parts, replies.X], axis=1)
        self.shared_rows = design / self.noise[:, None]  # (m, k + 1), or d more
        crowded = np.bincount(seen.turning.rows, minlength=len(replies.X)) > 1  # several units move there
        self.cores = [_PlaneBlocks(part, seen, replies, crowded) for part in seen.probes if part.stack.latest]
        taken = np.zeros(len(replies.X), dtype=bool)
        for cores in self.cores:
            taken[cores.chosen[cores.alone]] = True
        self.extra = np.flatnonzero(~taken)
        for cores in self.cores:
            cores.divide_rows(self.extra, seen, replies, crowded)
        self._factor(np.flatnonzero(crowded[self.extra]))

    def _factor(self, tip: Ints) -> None:
        xp, m = self.xp, len(self.extra)
        self.design = self.shared_rows[xp.put(self.extra)]
        for cores in self.cores:
            xp.add_rows(self.design, cores.rows, -cores.times_shared(self.shared_rows))
        self.arrow = BlockFactor(xp, m, tip, (unit for cores in self.cores for unit in cores.unit_rows()))
        white = self.arrow.divide(self.design)
        self.scale = xp.columns_lengths(white)
        with all_threads(m * float(self.design.shape[1]) ** 2):
            self.q, self.r = xp.qr(white / self.scale)
        pivots = abs(self.r.diagonal())
        if not float(pivots.min()) > 1e-14 * float(pivots.max()):
            raise np.linalg.LinAlgError("The replies leave a direction of the parameters open.")

    def holds_at(self, seen: NetSeen, most: float) -> bool:
        """Say whether a network is so close to the one linearised at that no argument that counts changed by `most`.

        Slopes are then as good as the same, and so are these equations.
        """
        old = self.linearised_at
        pairs = tuple(map(self.xp.put, old.turning))
        changes = [seen.arguments[pairs] - old.arguments[pairs]]
        changes += [new.slopes / was.slopes - 1 for new, was in zip(seen.probes, old.probes)]
        return all(bool((abs(change) < most).all()) for change in changes)

    def solve(self, extra: Array, cores: list[Array]) -> Changes:
        """Least squares for several right-hand sides.

        Parameters
        ----------
        extra : (m, q) array
            Weighted residuals of the extra rows.
        cores : list of (n, d + 1, q) arrays
            Weighted residuals of the core rows, for all units from one plane after the other.
        """
        xp, net = self.xp, self.linearised_at.at.net
        left = extra + 0.0
        for block, core in zip(self.cores, cores):
            block.take_from(left, core)
        # Minimise |L^-1 (left - D s)| by QR for all that units share; the dual L^-T of what is left then gives each
        # unit.
        shared = xp.solve(self.r, self.q.T @ self.arrow.divide(left)) / self.scale[:, None]
        dual = self.arrow.divide_upper(self.arrow.divide(left - self.design @ shared))
        own = np.empty((net.k, net.a.shape[1] + 1, extra.shape[1]))
        for block, core in zip(self.cores, cores):
            own[block.stack.units] = xp.get(block.changes(core, shared, self.shared_rows, dual))
        return Changes(own, xp.get(shared))

    def step(self, seen: NetSeen) -> Changes:
        """Return the Gauss-Newton change of the parameters of a network close to the one linearised at."""
        rows = (seen.rows / self.noise)[:, None]
        cores = []
        for block, part in zip(self.cores, (part for part in seen.probes if part.stack.latest)):
            across = (part.residuals * block.across.weights)[:, :, None]
            cores.append(self.xp.join([rows[block.in_rows] * block.heard, across], axis=1))
        return self.solve(rows[self.xp.put(self.extra)], cores)

    def draw(self, seen: NetSeen, rng: np.random.Generator, n_draws: int) -> Changes:
        """Push draws of noise of its standard size through the equations."""
        put, d = self.xp.put, seen.at.net.a.shape[1]
        cores = [rng.standard_normal((len(block.stack.units), d + 1, n_draws)) for block in self.cores]
        for block, core in zip(self.cores, cores):
            core[:, :3] *= np.where(block.alone, 1.0, _OPEN)[:, :, None]
        return self.solve(put(rng.standard_normal((len(self.extra), n_draws))), [put(core) for core in cores])

    def errors(self, seen: NetSeen, rng: np.random.Generator, n_draws: int = 6) -> Errors:
        """Return what draws of noise do, of the size that the residuals of a network close by show."""
        changes = self.draw(seen, rng, n_draws)
        residuals, noise = self.xp.get(seen.rows / seen.noise), self.xp.get(seen.noise)
        return errors_of(seen.at.net, changes, noise_level(residuals, noise, self.ledger, seen.at.net.k))
