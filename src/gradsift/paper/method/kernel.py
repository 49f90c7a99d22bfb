"""The record that every gradient estimator returns, and the sums of eq:Slope as a mergeable summary in log space.

With weights ``w_i = exp<xi, x_i>`` the estimate is the weighted covariance of x and y. That is attention with the
points as queries and the rows as keys, so it is computed like attention: blocks of rows against tiles of points, two
matrix products and one exponential per block. Kept per point are a logarithmic shift, the mass beyond it, means and
the co-moment; raw exponentials never leave a tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import Floats
from ...geometry import row_lengths
from ...sources import Rows, Summary


@dataclass(frozen=True)
class GradientEstimates:
    """Gradients of the regression function, estimated at m points.

    Attributes
    ----------
    values : (m, d) array
    support : (m,) array
        Effective number of samples behind each estimate.
    standard_errors : (m, d) array
        Of each coordinate.
    """

    values: Floats
    support: Floats
    standard_errors: Floats

    @cached_property
    def norms(self) -> Floats:
        """Euclidean lengths, shape (m,)."""
        return row_lengths(self.values)


def joined(parts: Sequence[GradientEstimates]) -> GradientEstimates:
    """Join the estimates at several groups of points."""
    if len(parts) == 1:
        return parts[0]
    return GradientEstimates(
        values=np.concatenate([p.values for p in parts]),
        support=np.concatenate([p.support for p in parts]),
        standard_errors=np.concatenate([p.standard_errors for p in parts]),
    )


@runtime_checkable
class GradientEstimator(Protocol):
    """Anything with this method can stand behind :func:`gradsift.generate_candidates`."""

    def estimate(self, source: Any, points: ArrayLike, rng: Any = None) -> GradientEstimates:
        """Estimate the gradient at each row of `points`."""
        ...


WORKING_MEMORY = 64.0  # MiB that temporaries may take unless somebody says otherwise
_TILE_ROWS = 256  # a tile of 256 rows x 512 points is 1 MB: it stays in a core's L2 between product and exponential
_TILE_POINTS = 512
_TREE_DEPTH = 16  # states alive at once while the blocks of a very long table are merged
# Below it squared weights lose digits to underflow: the shift was too cautious.
_MIN_MASS = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)


def points_at_once(n_features: int, working_memory: float) -> int:
    """Return how many points a summary may have so that the states of its merge tree take half of `working_memory`."""
    state = 8 * (2 * n_features + 6)  # bytes per point
    return max(1, int(working_memory * 2**20 / 2 / (state * _TREE_DEPTH)))


class KernelState(NamedTuple):
    """What is known about the rows seen so far, for each of m points."""

    column_mass: float  # rows, or their total weight
    column_mean: Floats  # (d,) of x
    column_scatter: Floats  # (d,) squares about it
    shift: Floats  # (m,) logarithm that the masses are relative to
    mass: Floats  # (m,) sum of weights
    mass2: Floats  # (m,) sum of squared weights
    x_mean: Floats  # (m, d)
    y_mean: Floats  # (m,)
    y_scatter: Floats  # (m,) weighted variance of y
    comoment: Floats  # (m, d) weighted covariance of x and y


class KernelSummary(Summary[KernelState, GradientEstimates]):
    """Kernel-weighted moments of the rows at given points.

    Parameters
    ----------
    points : (m, d) array
    working_memory : float
        Most MiB that temporaries may take.
    precision : {"full", "tf32"}
        "tf32" multiplies faster and coarser where the rows are float32 tensors on a CUDA device.

    Notes
    -----
    About 6 d + 10 flops and one exponential per point and row.
    """

    def __init__(self, points: Floats, working_memory: float = WORKING_MEMORY, precision: str = "full") -> None:
        if precision not in ("full", "tf32"):
            raise ValueError(f"precision must be 'full' or 'tf32', got {precision!r}.")
        self.points, self.precision = points, precision
        d = points.shape[1]
        entries = working_memory * 2**20 / 8
        # A quarter for the block of rows (x, y x and a few columns), a quarter for a tile of weights; see
        # points_at_once for the other half.
        self._rows_per_block = int(np.clip(entries / 4 / (3 * d + 8), _TILE_ROWS, 16_384))
        self._tile_points = int(np.clip(entries / 4 / _TILE_ROWS, 1, _TILE_POINTS))

    def block_rows(self, n_features: int) -> int:
        return self._rows_per_block

    def chunk(self, rows: Rows) -> KernelState:
        if rows.weight is not None:
            rows = _with_weight(rows)
            if not len(rows.y):
                return self._nothing()
        table = _RowTable(rows)
        tiles = [
            _point_sums(self.points[i : i + self._tile_points], table)
            for i in range(0, len(self.points), self._tile_points)
        ]
        shift, sums, mass2 = (np.concatenate([tile[part] for tile in tiles]) for part in range(3))
        d = rows.X.shape[1]
        mass = sums[:, d]
        x_mean, xy_mean = sums[:, :d] / mass[:, None], sums[:, d + 1 : 2 * d + 1] / mass[:, None]
        y_mean, yy_mean = sums[:, 2 * d + 1] / mass, sums[:, 2 * d + 2] / mass
        return KernelState(
            column_mass=table.mass,
            column_mean=table.center,
            column_scatter=table.scatter,
            shift=shift + self.points @ table.center + np.log(table.heaviest),
            mass=mass,
            mass2=mass2,
            x_mean=x_mean + table.center,
            y_mean=y_mean + table.y_center,
            y_scatter=np.maximum(yy_mean - y_mean**2, 0.0),
            comoment=xy_mean - x_mean * y_mean[:, None],
        )

    def _nothing(self) -> KernelState:
        m, d = self.points.shape
        flat, wide = np.zeros(m), np.zeros((m, d))
        return KernelState(0.0, np.zeros(d), np.zeros(d), np.full(m, -np.inf), flat, flat, wide, flat, flat, wide)

    def chunk_on_device(self, rows: Any) -> KernelState:
        from .kernel_on_device import kernel_state

        if rows.weight is not None and not (rows.weight > 0).any():
            return self._nothing()
        return kernel_state(self.points, *rows, precision=self.precision)

    def merge(self, left: KernelState, right: KernelState) -> KernelState:
        if not left.column_mass or not right.column_mass:  # rows that all weigh nothing
            return right if not left.column_mass else left
        # Two weighted samples become one (Chan, Golub and LeVeque), their masses first brought to the larger shift: the
        # factors are at most one, so that nothing overflows.
        shift = np.maximum(left.shift, right.shift)
        scale_left, scale_right = np.exp(left.shift - shift), np.exp(right.shift - shift)
        mass_left, mass_right = left.mass * scale_left, right.mass * scale_right
        mass = mass_left + mass_right
        a, b = mass_left / mass, mass_right / mass  # shares
        x_gap, y_gap = right.x_mean - left.x_mean, right.y_mean - left.y_mean
        total, column_gap = left.column_mass + right.column_mass, right.column_mean - left.column_mean
        share = right.column_mass / total
        return KernelState(
            column_mass=total,
            column_mean=left.column_mean + share * column_gap,
            column_scatter=left.column_scatter + right.column_scatter + left.column_mass * share * column_gap**2,
            shift=shift,
            mass=mass,
            mass2=left.mass2 * scale_left**2 + right.mass2 * scale_right**2,
            x_mean=left.x_mean + b[:, None] * x_gap,
            y_mean=left.y_mean + b * y_gap,
            y_scatter=a * left.y_scatter + b * right.y_scatter + a * b * y_gap**2,
            comoment=a[:, None] * left.comoment + b[:, None] * right.comoment + (a * b * y_gap)[:, None] * x_gap,
        )

    def finalize(self, state: KernelState) -> GradientEstimates:
        # Kish's effective sample size, (sum w)^2 / sum w^2.
        support = state.mass**2 / state.mass2
        # Tilting a Gaussian by exp<xi, x> moves its mean and keeps its covariance, so the spread of x around the
        # point is that of the whole table; the variance of a product of Gaussians does the rest.
        x_variance = state.column_scatter / state.column_mass
        variance = (np.outer(state.y_scatter, x_variance) + state.comoment**2) / support[:, None]
        return GradientEstimates(state.comoment, support, np.sqrt(variance))


def _with_weight(rows: Rows) -> Rows:
    """Leave out rows that weigh nothing: they must not set the shift either."""
    assert rows.weight is not None
    keep = rows.weight > 0
    return rows if keep.all() else Rows(rows.X[keep], rows.y[keep], rows.weight[keep])


class _RowTable:
    """A centred block of rows with the columns [x, 1, y x, y, y^2] that one product averages."""

    def __init__(self, rows: Rows) -> None:
        self.heaviest = 1.0 if rows.weight is None else float(rows.weight.max())
        self.weight = None if rows.weight is None else rows.weight / self.heaviest  # squares stay in range
        self.mass = float(len(rows.y)) if rows.weight is None else float(rows.weight.sum())
        self.center = np.average(rows.X, axis=0, weights=self.weight)
        self.y_center = float(np.average(rows.y, weights=self.weight))
        d, y = rows.X.shape[1], rows.y - self.y_center
        self.columns = np.empty((len(y), 2 * d + 3))
        self.x = np.subtract(rows.X, self.center, out=self.columns[:, :d])
        self.columns[:, d] = 1.0
        np.multiply(self.x, y[:, None], out=self.columns[:, d + 1 : 2 * d + 1])
        self.columns[:, 2 * d + 1] = y
        self.columns[:, 2 * d + 2] = y * y
        self.keys = self.columns[:, : d + 1]  # (rows, d + 1): the 1 carries the shift through the product
        self.values = self.columns if self.weight is None else self.columns * self.weight[:, None]
        self.scatter = self.heaviest * np.einsum("ij,ij->j", self.x, self.values[:, :d])
        self.radius = float(np.sqrt(np.einsum("ij,ij->i", self.x, self.x).max()))


class _PointSums(NamedTuple):
    shift: Floats  # (p,)
    sums: Floats  # (p, 2d + 3)
    mass2: Floats  # (p,)


def _point_sums(points: Floats, table: _RowTable) -> _PointSums:
    # Cauchy-Schwarz bounds the exponent without a pass over the scores. The bound may be hundreds too high, which
    # float64's exponent absorbs; the few points for which it does not get the true maximum.
    shift = np.linalg.norm(points, axis=1) * table.radius
    sums, mass2 = _sums_at(points, shift, table)
    faint = ~(mass2 > _MIN_MASS)
    if faint.any():
        shift[faint] = _largest_score(points[faint], table)
        sums[faint], mass2[faint] = _sums_at(points[faint], shift[faint], table)
    return _PointSums(shift, sums, mass2)


def _sums_at(points: Floats, shift: Floats, table: _RowTable) -> tuple[Floats, Floats]:
    # The shift goes through the matrix product as one more coordinate: no pass of its own over points times rows.
    queries = np.column_stack((points, -shift))  # (p, d + 1)
    sums, mass2 = np.zeros((len(points), table.columns.shape[1])), np.zeros(len(points))
    buffer = np.empty((len(points), _TILE_ROWS))
    for start in range(0, len(table.keys), _TILE_ROWS):
        here = slice(start, start + _TILE_ROWS)
        keys = table.keys[here]
        weights = np.matmul(queries, keys.T, out=buffer[:, : len(keys)])  # (p, rows)
        np.exp(weights, out=weights)
        sums += weights @ table.values[here]
        if table.weight is not None:
            weights *= table.weight[here]
        mass2 += np.einsum("ij,ij->i", weights, weights)
    return sums, mass2


def _largest_score(points: Floats, table: _RowTable) -> Floats:
    tops = [
        (points @ table.x[start : start + _TILE_ROWS].T).max(axis=1) for start in range(0, len(table.x), _TILE_ROWS)
    ]
    return np.asarray(np.max(tops, axis=0))
