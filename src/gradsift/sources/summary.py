"""A statistic of the rows as a value: chunk, merge, finalize.

Everything an algorithm wants to know about the rows is one of these, so that where the rows live (memory, files,
a cluster, a GPU) is nobody's business but the source's.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..arguments import Floats

# Multiplications: larger products are packed first by linear algebra, which takes longer than the product where one
# side is a few variables or units.
SMALL_PRODUCT = 1_000_000

State = TypeVar("State")
Result = TypeVar("Result")


class Rows(NamedTuple):
    """A block of rows: X (b, d), y (b,), weight (b,) or None where all weigh one."""

    X: Floats
    y: Floats
    weight: Floats | None = None


class Summary(ABC, Generic[State, Result]):
    """A mergeable statistic; merging in any order gives the same result up to rounding.

    Attributes
    ----------
    any_layout : bool
        False: ``chunk`` gets X row by row in memory. True: it may come column by column, as files hold it, and the
        result must not depend on that in any bit.
    """

    any_layout: bool = False

    @abstractmethod
    def chunk(self, rows: Rows) -> State:
        """Summarise one block of rows."""

    @abstractmethod
    def merge(self, left: State, right: State) -> State:
        """Combine the summaries of two disjoint sets of rows."""

    @abstractmethod
    def finalize(self, state: State) -> Result:
        """Turn the merged state into the answer."""

    def block_rows(self, n_features: int) -> int:
        """Return the number of rows a block should have; small enough that its temporaries stay in cache."""
        return max(256, 262_144 // max(1, n_features))

    def chunk_on_device(self, rows: Any) -> State:
        """Summarise a block whose arrays are torch tensors, where they are; by default they come to memory first."""
        step = self.block_rows(rows.X.shape[1])
        parts = (_to_memory(rows, slice(start, start + step)) for start in range(0, len(rows.y), step))
        state: State = tree_merge(self, (self.chunk(part) for part in parts))
        return state

    def save(self, state: State, path: str | os.PathLike[str]) -> None:
        """Write a state as one ``.npz`` file without pickle, for a site that may share summaries but not rows."""
        from .states import save_state

        save_state(self, state, path)

    def load(self, path: str | os.PathLike[str]) -> State:
        """Read a state of this very statistic (same kind, same points or parameters); others are refused."""
        from .states import load_state

        state: State = load_state(self, path)
        return state


def tree_merge(summary: Summary[Any, Any], parts: Iterable[Any]) -> Any:
    """Merge pairwise in a binary tree, so that rounding grows with the logarithm of the number of blocks.

    Replacing an aligned run of 2^j parts by their own merge changes no bit of the result: that is how sources with
    large pieces (Dask) agree exactly with those with small ones.
    """
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


def _to_memory(rows: Any, some: slice) -> Rows:
    parts: list[Any] = [None if a is None else np.ascontiguousarray(a[some].double().cpu().numpy()) for a in rows]
    return Rows(*parts)
