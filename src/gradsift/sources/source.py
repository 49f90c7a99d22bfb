"""What a source of rows can do, whatever holds the rows; the moments of the rows, and whether targets are labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..arguments import LARGEST, SMALLEST, Floats, moderate_columns
from ..progress import report
from .summary import SMALL_PRODUCT, Rows, Summary, merge_all

_NEAR_ZERO = 3.0  # standard deviations: means this close to zero may be taken off afterwards, for one digit
_LINES = 4  # of a product, so that blocks of many rows make small ones (out_of_core: 30 ns a row instead of 55)
_MANY_VARIABLES = 150  # variables, from which on small products no longer pay


class MomentState(NamedTuple):
    n_rows: int
    mass: float
    mean: Floats  # (d + 1,): x, then y
    scatter: Floats  # (d + 1, d + 1): weighted sum of squares about the mean


@dataclass(frozen=True)
class Moments:
    """Moments of (x, y) over all rows.

    Attributes
    ----------
    n_rows : int
    mass : float
        Total weight; the number of rows when they all weigh one.
    mean : (d,) array
    covariance : (d, d) array
    cross : (d,) array
        Covariance of x with y.
    y_mean, y_variance : float
    """

    n_rows: int
    mass: float
    mean: Floats
    covariance: Floats
    cross: Floats
    y_mean: float
    y_variance: float


class MomentSummary(Summary[MomentState, Moments]):
    """First and second moments in one pass. O(n d^2) flops, O(d^2) memory beside one block."""

    any_layout = True

    def block_rows(self, n_features: int) -> int:
        return max(256, SMALL_PRODUCT // (_LINES * max(1, n_features)))

    def chunk(self, rows: Rows) -> MomentState:
        n, d = rows.X.shape
        X = np.ascontiguousarray(rows.X.T)  # a variable per line; no copy where it comes so
        if rows.weight is not None:
            return _weighted(X, rows.y, rows.weight)
        mean, y_mean = X.mean(axis=1), rows.y.mean()
        scatter = np.empty((d + 1, d + 1))
        # Sum (x - m)(x - m)' = sum x x' - n m m': one product without a centred copy, while the means are small.
        scatter[:d, :d] = _squares(X) - n * np.outer(mean, mean)
        if (n * mean**2 > _NEAR_ZERO**2 * np.diag(scatter)[:d]).any():  # this difference has lost digits
            X = X - mean[:, None]
            scatter[:d, :d] = _squares(X)
        y = rows.y - y_mean
        scatter[d, :d] = scatter[:d, d] = X @ y
        scatter[d, d] = y @ y
        return MomentState(n, float(n), np.append(mean, y_mean), scatter)

    def chunk_on_device(self, rows: Any) -> MomentState:
        x, y = rows.X.double(), rows.y.double()
        both = x.new_empty((len(y), x.shape[1] + 1))
        both[:, :-1], both[:, -1] = x, y
        weight = None if rows.weight is None else rows.weight.double()
        mass = float(len(y)) if weight is None else float(weight.sum())
        mean = both.mean(dim=0) if weight is None or mass == 0 else weight @ both / mass
        both -= mean
        weighted = both if weight is None else both * weight[:, None]
        return MomentState(len(y), mass, mean.cpu().numpy(), (weighted.T @ both).cpu().numpy())

    def merge(self, left: MomentState, right: MomentState) -> MomentState:
        mass = left.mass + right.mass
        # Chan's update: S = S_1 + S_2 + (m_1 m_2 / (m_1 + m_2)) gap gap', stable however far the means are from zero.
        gap = right.mean - left.mean
        share = right.mass / mass if mass > 0 else 0.5
        scatter = left.scatter + right.scatter + np.outer(gap, gap) * (left.mass * share)
        return MomentState(left.n_rows + right.n_rows, mass, left.mean + gap * share, scatter)

    def finalize(self, state: MomentState) -> Moments:
        if state.mass == 0:
            raise ValueError("sample_weight must not be all 0.")
        covariance = state.scatter / state.mass
        return Moments(
            n_rows=state.n_rows,
            mass=state.mass,
            mean=state.mean[:-1],
            covariance=covariance[:-1, :-1],
            cross=covariance[:-1, -1],
            y_mean=float(state.mean[-1]),
            y_variance=float(covariance[-1, -1]),
        )


def _squares(X: Floats) -> Floats:
    """Return ``X @ X.T``."""
    if len(X) > _MANY_VARIABLES:
        return np.asarray(X @ X.T)
    # Only the upper triangle, a few lines at a time: small products are not packed first.
    squares = np.empty((len(X), len(X)))
    for i in range(0, len(X), _LINES):
        squares[i : i + _LINES, i:] = X[i : i + _LINES] @ X[i:].T
    return np.triu(squares) + np.triu(squares, 1).T


def _weighted(X: Floats, y: Floats, weight: Floats) -> MomentState:
    both = np.vstack((X, y))
    mass = float(weight.sum())
    mean = both @ weight / mass if mass > 0 else both.mean(axis=1)
    both -= mean[:, None]
    return MomentState(len(y), mass, mean, (both * weight) @ both.T)


_MOST_WEIGHT = 1e15  # of a row, on average: beyond, squares and logarithms of weights leave double precision

State = TypeVar("State")
Result = TypeVar("Result")


@dataclass
class _Reading:
    """Rows read so far, of a table of `total` rows."""

    total: int
    done: int


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
        return _Reading(self.n_rows, 0)

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
        return merge_all(summary, self._chunk_blocks(summary))

    def _chunk_blocks(self, summary: Summary[Any, Any]) -> Iterator[Any]:
        def counted(block: Rows) -> tuple[Any, int]:
            if not summary.any_layout:
                block = block._replace(X=np.ascontiguousarray(block.X))
            return summary.chunk(block), len(block.y)

        done, stage = 0, self._stage
        for state, n in self._in_blocks(counted, summary.block_rows(self.n_features)):
            done += n
            report(stage, done, self.n_rows)
            yield state

    @property
    def _stage(self) -> str:
        return f"pass {int(self.n_passes) + 1}, rows"

    def _in_blocks(self, function: Callable[[Rows], Any], block_rows: int) -> Iterator[Any]:
        """Yield what a function makes of every block, in the order of the rows."""
        return map(function, self.blocks(block_rows))

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
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


class LabelState(NamedTuple):
    all_labels: bool


class LabelSummary(Summary[LabelState, bool]):
    """True where y is -1 or +1 in all rows."""

    any_layout = True

    def chunk(self, rows: Rows) -> LabelState:
        return LabelState(bool((np.abs(rows.y) == 1).all()))

    def chunk_on_device(self, rows: Any) -> LabelState:
        return LabelState(bool((rows.y.abs() == 1).all()))

    def merge(self, left: LabelState, right: LabelState) -> LabelState:
        return LabelState(left.all_labels and right.all_labels)

    def finalize(self, state: LabelState) -> bool:
        return state.all_labels
