"""A statistic of the rows as a value: chunk, merge, finalize.

Everything an algorithm wants to know about the rows is one of these, so that where the rows live (memory, files,
a cluster, a GPU) is nobody's business but the source's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, NamedTuple, TypeVar

from ..checking import Floats

__all__ = ["Rows", "Summary"]

State = TypeVar("State")
Result = TypeVar("Result")


class Rows(NamedTuple):
    """A block of rows: X (b, d), y (b,), weight (b,) or None where all weigh one."""

    X: Floats
    y: Floats
    weight: Floats | None = None


class Summary(ABC, Generic[State, Result]):
    """A mergeable statistic; merging in any order gives the same result up to rounding."""

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


AnySummary = Summary[Any, Result]
