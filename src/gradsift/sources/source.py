"""What a source of rows can do, whatever holds the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ..arguments import LARGEST, SMALLEST, Floats, moderate_columns
from ..progress import report
from .moments import Moments, MomentSummary
from .summary import Rows, Summary, tree_merge

_MOST_WEIGHT = 1e15  # of a row, on average: beyond, squares and logarithms of weights leave double precision

State = TypeVar("State")
Result = TypeVar("Result")


@dataclass
class _Reading:
    """Rows read so far, of a table of `total` rows."""

    total: int
    done: int = 0


class Source(ABC):
    """Rows (x, y), reached only by reducing summaries over them.

    Attributes
    ----------
    n_rows, n_features : int
    n_passes : float
        How often all rows have been read so far, by this source and the parts taken from it; half of the rows
        count half.
    """

    n_rows: int
    n_features: int

    @abstractmethod
    def blocks(self, block_rows: int) -> Iterator[Rows]:
        """Yield all rows in float64 blocks of at most `block_rows`."""

    @abstractmethod
    def part(self, start: int, stop: int) -> Source:
        """Return the source of rows start..stop, without copying them; callers use :meth:`rows`."""

    @abstractmethod
    def take(self, indices: np.ndarray[Any, np.dtype[np.intp]]) -> Rows:
        """Return some rows (sorted indices) in memory."""

    def rows(self, start: int, stop: int) -> Source:
        """Return the source of rows start..stop, without copying them; its passes count here as well."""
        if not 0 <= start < stop <= self.n_rows:
            raise ValueError(f"rows must be a non-empty range within 0..{self.n_rows}, got {start}..{stop}.")
        some = self.part(int(start), int(stop))
        some._reading = self._reading
        return some

    @cached_property
    def _reading(self) -> _Reading:
        return _Reading(self.n_rows)

    @property
    def n_passes(self) -> float:
        return self._reading.done / self._reading.total

    def reduce(self, summary: Summary[Any, Result]) -> Result:
        """Read all rows once and return the finalized summary."""
        return summary.finalize(self.collect(summary))

    def collect(self, summary: Summary[State, Any]) -> State:
        """Read all rows once and return the state, to be saved or merged with that of other rows."""
        state: State = self._collect(summary)
        self._reading.done += self.n_rows
        return state

    def _collect(self, summary: Summary[Any, Any]) -> Any:
        return tree_merge(summary, self._chunks(summary))

    def _chunks(self, summary: Summary[Any, Any]) -> Iterator[Any]:
        def counted(block: Rows) -> tuple[Any, int]:
            if not summary.any_layout:
                block = block._replace(X=np.ascontiguousarray(block.X))
            return summary.chunk(block), len(block.y)

        done, stage = 0, self._stage
        for state, n in self._each(counted, summary.block_rows(self.n_features)):
            done += n
            report(stage, done, self.n_rows)
            yield state

    @property
    def _stage(self) -> str:
        return f"pass {int(self.n_passes) + 1}, rows"

    def _each(self, function: Callable[[Rows], Any], block_rows: int) -> Iterator[Any]:
        """Yield what a function makes of every block, in the order of the rows."""
        return map(function, self.blocks(block_rows))

    def subsample(self, n: int, rng: np.random.Generator) -> Rows:
        """Return `n` rows drawn without replacement (all of them when there are no more)."""
        if n >= self.n_rows:
            return self.take(np.arange(self.n_rows))
        return self.take(np.sort(rng.choice(self.n_rows, n, replace=False)))

    @cached_property
    def moments(self) -> Moments:
        """First and second moments, read once."""
        moments = self.reduce(MomentSummary())
        variances = np.append(np.diag(moments.covariance), moments.y_variance)
        means = np.abs(np.append(moments.mean, moments.y_mean))
        tiny = (variances < SMALLEST**2) & (means < SMALLEST) & ((variances > 0) | (means > 0))
        if tiny.any():
            j = int(np.argmax(tiny))
            size = max(float(np.sqrt(variances[j])), float(means[j]))
            name = "y" if j == self.n_features else f"column {j} of X"
            raise ValueError(f"{name} holds numbers of about {size:.1g}, whose squares vanish: rescale it.")
        return moments

    def require_moderate_weights(self) -> None:
        """Refuse weights so large or small that a fit would leave double precision."""
        mean = self.moments.mass / self.n_rows
        if not SMALLEST < mean < _MOST_WEIGHT:
            raise ValueError(
                f"sample_weight must have a mean between {SMALLEST:g} and {_MOST_WEIGHT:g}, got {mean:g}: rescale it."
            )

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


def check_block(X: Floats, y: Floats, first_row: int) -> None:
    """Refuse NaN and infinity, naming the row in the whole table."""
    for name, array in (("X", X), ("y", y)):
        if not array.size:
            continue
        with np.errstate(invalid="ignore"):
            low, high = float(array.min()), float(array.max())
        if low >= -LARGEST and high <= LARGEST:  # one cheap look before the careful ones, which NaN fails
            continue
        if not np.isfinite(array).all():
            row = first_row + int(np.argwhere(~np.isfinite(array))[0][0])
            raise ValueError(f"{name} must be finite, but row {row} holds NaN or inf.")
        moderate_columns(name, "column", array)


def check_weight(weight: Floats | None) -> None:
    """Refuse weights that are no weights; a block may weigh nothing, a table may not (the moments say so)."""
    if weight is not None and not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError("sample_weight must be finite and at least 0.")
