"""The rows beside the cores as one matrix, I + C C^T, factored as what it is: an arrow.

Far out most rows move no unit, and nearly all others one: rows of different units have nothing in common. What is left
is a small block for every unit, and the few rows on which several units move, the tip, which are eliminated last. The
work grows with the number of units, and no matrix of all rows is ever formed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ...threads import all_threads
from ..arrays import Array, Arrays

__all__ = ["Arrow", "UnitRows"]

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


class Arrow:
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

    def divide_back(self, right: Array) -> Array:
        """Return L^-T times an array (n_rows, q)."""
        divided, tip = right + 0.0, self.xp.divide_lower(self.factor, right[self.tip], transposed=True)
        divided[self.tip] = tip
        for block in self.blocks:
            own = right[block.rows] - (block.edges @ tip).reshape(*block.rows.shape, right.shape[1])
            divided[block.rows] = self.xp.divide_lower(block.factors, own, transposed=True)
        return divided
