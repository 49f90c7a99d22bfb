"""Rows of a sparse matrix: made dense block by block, never all at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..checking import at_least
from .arrays import ArraySource
from .base import Source, check_block
from .summary import Rows

__all__ = ["MOST_DENSE", "SparseSource", "in_dense_blocks", "is_sparse"]

MOST_DENSE = 50_000_000  # numbers: rows of a sparse table that a fit holds as a dense matrix (400 MB)


def is_sparse(X: Any) -> bool:
    """Tell whether X is a sparse matrix of SciPy."""
    return bool(issparse(X))


class SparseSource(Source):
    """Rows of a SciPy sparse matrix (any format, kept as CSR) with targets and weights.

    A search holds at most 20,000 rows, and never more than :data:`MOST_DENSE` numbers, as a dense matrix; everything
    else reads blocks.
    """

    def __init__(self, X: Any, y: Any, weight: Any = None) -> None:
        if not is_sparse(X):
            raise TypeError(f"X must be a sparse matrix, got {type(X).__name__}.")
        self.X: Any = X.tocsr()
        rest = ArraySource(np.zeros((X.shape[0], 1)), y, weight)  # checks both
        self.y, self.weight = rest.y, rest.weight
        self.n_rows, self.n_features = (int(s) for s in X.shape)
        if self.n_features**2 > MOST_DENSE:
            raise ValueError(
                f"X must have at most {int(MOST_DENSE**0.5):,} columns, got {self.n_features:,}: a fit keeps a dense "
                "matrix of their products."
            )

    def blocks(self, block_rows: int) -> Iterator[Rows]:
        at_least("block_rows", block_rows, 1)
        for start in range(0, self.n_rows, block_rows):
            yield self._slice(slice(start, start + block_rows), start)

    def part(self, start: int, stop: int) -> SparseSource:
        weight = None if self.weight is None else self.weight[start:stop]
        return SparseSource(self.X[start:stop], self.y[start:stop], weight)

    def take(self, indices: np.ndarray[Any, np.dtype[np.intp]]) -> Rows:
        if len(indices) * self.n_features > MOST_DENSE:
            raise ValueError(
                f"{len(indices)} rows of {self.n_features} columns would be {len(indices) * self.n_features:,} dense "
                f"numbers, and {MOST_DENSE:,} is the most: choose fewer columns."
            )
        return self._slice(indices, 0)

    def _slice(self, which: Any, first: int) -> Rows:
        X = np.ascontiguousarray(self.X[which].toarray(), dtype=np.float64)
        y = np.ascontiguousarray(self.y[which], dtype=np.float64)
        check_block(X, y, first)
        return Rows(X, y, None if self.weight is None else np.ascontiguousarray(self.weight[which], dtype=np.float64))


def in_dense_blocks(function: Any, X: Any) -> Any:
    """Apply a function of dense rows (n, d) to the rows of a sparse matrix, block by block, and join the results."""
    rows = max(1, 4_000_000 // max(X.shape[1], 1))
    held = X.tocsr()
    return np.concatenate([function(held[start : start + rows].toarray()) for start in range(0, X.shape[0], rows)])
