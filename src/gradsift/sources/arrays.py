"""Rows in memory or in a memory map: NumPy arrays and anything that turns into one (pandas, polars, lists)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..checking import Floats, at_least
from .base import Source, check_block
from .summary import Rows

__all__ = ["ArraySource"]


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
            rows = self._slice(slice(start, start + block_rows))
            if not self._checked:
                check_block(rows.X, rows.y, start)
            yield rows
        self._checked = True

    def part(self, start: int, stop: int) -> ArraySource:
        weight = None if self.weight is None else self.weight[start:stop]
        return ArraySource(self.X[start:stop], self.y[start:stop], weight)

    def take(self, indices: np.ndarray[Any, np.dtype[np.intp]]) -> Rows:
        rows = self._slice(indices)
        check_block(rows.X, rows.y, 0)
        return rows

    def _slice(self, which: Any) -> Rows:
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
