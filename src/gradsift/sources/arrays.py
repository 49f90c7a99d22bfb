"""Rows in memory: arrays, memory maps, data frames, sparse matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..arguments import Floats, at_least
from .source import Source, check_block
from .summary import Rows


def module_of(value: Any) -> str:
    """Return the top-level package that a value's type comes from, without importing anything."""
    return type(value).__module__.partition(".")[0]


def from_frame(name: str, frame: Any) -> Any:
    """Return a frame as a matrix or a series as a vector; anything else passes through.

    Columns keep their type where all share one, and otherwise take the smallest that holds them all.
    """
    if module_of(frame) not in ("pandas", "polars") or not hasattr(frame, "to_numpy"):
        return frame
    if not hasattr(frame, "columns"):
        return _numbers(f"{name} ({frame.name})" if frame.name else name, frame)
    return np.column_stack([_numbers(f"{name} column {label!r}", frame[label]) for label in frame.columns])


def _numbers(what: str, column: Any) -> Any:
    values = column.to_numpy()
    if values.dtype == object:  # nullable numbers come as objects, and so does text
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{what} must hold real numbers and no nulls, got {column.dtype}.") from None
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{what} must hold real numbers, got {column.dtype}.")
    return values


class ArraySource(Source):
    """Rows of two arrays; float32 and memory maps stay as they are and are converted block by block."""

    def __init__(self, X: Any, y: Any, weight: Any = None) -> None:
        self.X, self.y = _table("X", X, 2), _table("y", y, 1)
        if self.X.shape[0] != self.y.shape[0]:
            raise ValueError(f"X and y must have the same number of rows, got {self.X.shape[0]} and {self.y.shape[0]}.")
        self.weight: Any = None
        if weight is not None:
            self.weight = _table("sample_weight", weight, 1)
            if self.weight.shape != self.y.shape:
                raise ValueError(f"sample_weight must have length {self.y.size}, got {self.weight.size}.")
            if not (np.isfinite(self.weight).all() and (self.weight >= 0).all() and self.weight.any()):
                raise ValueError("sample_weight must be finite, at least 0, and not all zero.")
        self.n_rows, self.n_features = (int(s) for s in self.X.shape)
        self._checked = False

    def blocks(self, block_rows: int) -> Iterator[Rows]:
        at_least("block_rows", block_rows, 1)
        for start in range(0, self.n_rows, block_rows):
            rows = self._rows_at(slice(start, start + block_rows))
            if not self._checked:
                check_block(rows.X, rows.y, start)
            yield rows
        self._checked = True

    def part(self, start: int, stop: int) -> ArraySource:
        weight = None if self.weight is None else self.weight[start:stop]
        return ArraySource(self.X[start:stop], self.y[start:stop], weight)

    def take(self, indices: np.ndarray[Any, np.dtype[np.intp]]) -> Rows:
        rows = self._rows_at(indices)
        check_block(rows.X, rows.y, 0)
        return rows

    def _rows_at(self, which: Any) -> Rows:
        weight = None if self.weight is None else _float(self.weight[which])
        return Rows(_float(self.X[which]), _float(self.y[which]), weight)


def _float(array: Any) -> Floats:
    return np.ascontiguousarray(array, dtype=np.float64)


def _table(name: str, values: Any, ndim: int) -> Any:
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        raise ValueError(
            f"{name} must not have masked entries, but {int(values.mask.sum())} are masked: fill or drop them."
        )
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.dtype == object:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must hold real numbers, but it holds text or other objects.") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}.")
    if ndim == 1 and array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != ndim or 0 in array.shape:
        raise ValueError(f"{name} must be a non-empty {'matrix' if ndim == 2 else 'vector'}, got shape {array.shape}.")
    return array


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
            yield self._rows_at(slice(start, start + block_rows), start)

    def part(self, start: int, stop: int) -> SparseSource:
        weight = None if self.weight is None else self.weight[start:stop]
        return SparseSource(self.X[start:stop], self.y[start:stop], weight)

    def take(self, indices: np.ndarray[Any, np.dtype[np.intp]]) -> Rows:
        if len(indices) * self.n_features > MOST_DENSE:
            raise ValueError(
                f"{len(indices)} rows of {self.n_features} columns would be {len(indices) * self.n_features:,} dense "
                f"numbers, and {MOST_DENSE:,} is the most: choose fewer columns."
            )
        return self._rows_at(indices, 0)

    def _rows_at(self, which: Any, first: int) -> Rows:
        X = np.ascontiguousarray(self.X[which].toarray(), dtype=np.float64)
        y = np.ascontiguousarray(self.y[which], dtype=np.float64)
        check_block(X, y, first)
        return Rows(X, y, None if self.weight is None else np.ascontiguousarray(self.weight[which], dtype=np.float64))


def in_dense_blocks(function: Any, X: Any) -> Any:
    """Apply a function of dense rows (n, d) to the rows of a sparse matrix, block by block, and join the results."""
    rows = max(1, 4_000_000 // max(X.shape[1], 1))
    held = X.tocsr()
    return np.concatenate([function(held[start : start + rows].toarray()) for start in range(0, X.shape[0], rows)])
