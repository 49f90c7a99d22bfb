"""What a source of rows can do, whatever holds the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ..checking import Floats
from ..progress import report
from .moments import Moments, MomentSummary
from .summary import Rows, Summary

__all__ = ["Source"]

Result = TypeVar("Result")


class Source(ABC):
    """Rows (x, y), reached only by reducing summaries over them.

    Attributes
    ----------
    n_rows, n_features : int
    n_passes : int
        How often all rows have been read so far.
    """

    n_rows: int
    n_features: int
    n_passes: int = 0

    @abstractmethod
    def blocks(self, block_rows: int) -> Iterator[Rows]:
        """Yield all rows in float64 blocks of at most `block_rows`."""

    @abstractmethod
    def rows(self, start: int, stop: int) -> Source:
        """Return the source of rows start..stop, without copying them."""

    @abstractmethod
    def take(self, indices: np.ndarray[Any, np.dtype[np.intp]]) -> Rows:
        """Return some rows (sorted indices) in memory."""

    def reduce(self, summary: Summary[Any, Result]) -> Result:
        """Read all rows once and return the finalized summary."""
        state = tree_merge(summary, self._chunks(summary))
        self.n_passes += 1
        return summary.finalize(state)

    def _chunks(self, summary: Summary[Any, Any]) -> Iterator[Any]:
        done = 0
        for block in self.blocks(summary.block_rows(self.n_features)):
            yield summary.chunk(block)
            done += len(block.y)
            report("rows", done, self.n_rows)

    def subsample(self, n: int, rng: np.random.Generator) -> Rows:
        """Return `n` rows drawn without replacement (all of them when there are no more)."""
        if n >= self.n_rows:
            return self.take(np.arange(self.n_rows))
        return self.take(np.sort(rng.choice(self.n_rows, n, replace=False)))

    @cached_property
    def moments(self) -> Moments:
        """First and second moments, read once."""
        return self.reduce(MomentSummary())

    def require_spread(self) -> Moments:
        """Return the moments, or say in one sentence why these rows cannot carry a fit."""
        if self.n_rows <= self.n_features:
            raise ValueError(
                f"X must have more rows than columns, got {self.n_rows} rows and {self.n_features} columns."
            )
        moments = self.moments
        spread = np.sqrt(np.diag(moments.covariance))
        flat = spread <= 1e-12 * np.maximum(np.abs(moments.mean), np.finfo(np.float64).tiny)
        if flat.any():
            j = int(np.argmax(flat))
            raise ValueError(f"X must vary in every column, but column {j} is constant ({moments.mean[j]:g}).")
        return moments


def tree_merge(summary: Summary[Any, Any], parts: Iterator[Any]) -> Any:
    """Merge pairwise in a binary tree, so that rounding grows with the logarithm of the number of blocks."""
    levels: list[Any] = []
    for part in parts:
        level = 0
        while level < len(levels) and levels[level] is not None:
            part = summary.merge(levels[level], part)
            levels[level] = None
            level += 1
        if level == len(levels):
            levels.append(None)
        levels[level] = part
    left_over = [part for part in levels if part is not None]
    if not left_over:
        raise ValueError("There are no rows to summarise.")
    state = left_over[0]
    for part in left_over[1:]:
        state = summary.merge(part, state)  # higher levels hold earlier rows
    return state


def check_block(X: Floats, y: Floats, first_row: int) -> None:
    """Refuse NaN and infinity, naming the row in the whole table."""
    for name, array in (("X", X), ("y", y)):
        # A sum is finite unless an entry is not (or overflows): one cheap look before the careful one.
        if not np.isfinite(array.sum()) and not np.isfinite(array).all():
            row = first_row + int(np.argwhere(~np.isfinite(array))[0][0])
            raise ValueError(f"{name} must be finite, but row {row} holds NaN or inf.")
