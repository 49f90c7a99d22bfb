"""Coordinates in which every fit looks alike: whitened rows, target of unit scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import Floats
from ..fit import Equations, Family, NormalEquations, Parameters
from ..sources import Moments, Rows, Summary
from ..sources.summary import SMALL_PRODUCT

_RANK_TOLERANCE = 1e-10  # of the correlation matrix: directions with less spread carry nothing
_FAR_COLUMN = 1e3  # standard deviations: arguments of columns this far from zero would lose three digits


@dataclass(frozen=True)
class Frame:
    """``z = (x - shift) @ basis`` and ``t = (y - y_shift) / y_scale``.

    Attributes
    ----------
    shift : (d,) array
    basis : (d, r) array
        Maps rows to r <= d uncorrelated coordinates of unit variance; r < d when columns are constant or collinear.
    y_shift, y_scale : float
    spread : (d,) array
        Standard deviations of the columns; one where a column has none.
    weight_scale : float
        Factor of the rows' weights.
    """

    shift: Floats
    basis: Floats
    y_shift: float
    y_scale: float
    spread: Floats
    weight_scale: float

    def rows(self, rows: Rows) -> Rows:
        """Return a block in these coordinates."""
        shifted = self.shifted(rows)
        return shifted._replace(X=shifted.X @ self.basis)

    def shifted(self, rows: Rows) -> Rows:
        """Return a block on the way to these coordinates: target and weights are there, X is shifted but not turned."""
        X = rows.X - self.shift if self.shift.any() else rows.X
        weight = rows.weight if rows.weight is None or self.weight_scale == 1 else rows.weight * self.weight_scale
        return Rows(X, (rows.y - self.y_shift) / self.y_scale, weight)

    @property
    def metric(self) -> Floats:
        """(r, r): the slope of unit a, in the user's coordinates, is sqrt(a' metric a)."""
        return np.asarray(self.basis.T @ self.basis)

    @property
    def ridge(self) -> Floats:
        """(r,): what the squares of a unit's coordinates add to its squared slopes per standard deviation of a column.

        The basis holds eigenvectors of the correlation matrix, so that no products of two coordinates occur."""
        return np.asarray(((self.spread[:, None] * self.basis) ** 2).sum(axis=0))

    def outside(self, theta: Parameters) -> Parameters:
        """Return the same function in the user's coordinates."""
        A = theta.A @ self.basis.T
        return Parameters(A, theta.u * self.y_scale, theta.b - A @ self.shift, theta.c * self.y_scale + self.y_shift)

    def inside(self, theta: Parameters) -> Parameters:
        """Invert :meth:`leave` (exactly when r = d, else on the span of the rows)."""
        A: Floats = np.linalg.pinv(self.basis) @ theta.A.T
        A = np.ascontiguousarray(A.T)
        c = (theta.c - self.y_shift) / self.y_scale
        return Parameters(A, theta.u / self.y_scale, theta.b + theta.A @ self.shift, c)

    def outside_matrix(self, family: Family, n_units: int) -> Floats:
        """Return the (size, size) derivative of :meth:`leave` in the flat parameters, for covariances."""
        outer, inner = (family.layout(n_units, n) for n in self.basis.shape)
        M = np.zeros((outer.size, inner.size))
        for unit in range(n_units):
            M[outer.a(unit), inner.a(unit)] = self.basis
            if family.offsets:
                M[outer.b, inner.a(unit)][unit] = -self.shift @ self.basis
        M[outer.weights, inner.weights] = self.y_scale * np.eye(n_units)
        M[outer.b, inner.b] = np.eye(n_units) if family.offsets else 0.0
        M[outer.c, inner.c] = self.y_scale
        return M


def frame_of(moments: Moments, family: Family, weight_scale: float = 1.0) -> Frame:
    """Return whitening coordinates: shifted only where offsets (for x) and an intercept (for y) can undo it."""
    d = len(moments.mean)
    spread = np.sqrt(np.diag(moments.covariance))
    flat = spread <= 1e-12 * np.maximum(np.abs(moments.mean), np.finfo(np.float64).tiny)
    spread = np.where(flat, 1.0, spread)
    correlation = moments.covariance / spread[:, None] / spread
    correlation[flat], correlation[:, flat] = 0.0, 0.0
    if not family.offsets:  # a constant column is then the only offset there is: keep it, at unit size
        spread = np.where(flat & (moments.mean != 0), np.abs(moments.mean), spread)
        correlation[flat, flat] = (moments.mean[flat] != 0).astype(float)
    # Whiten by eigenvectors of the correlation matrix, C = V L V': z = L^-1/2 V' (x - mean) / sd has unit covariance.
    values, vectors = np.linalg.eigh(correlation)
    kept = values > _RANK_TOLERANCE * max(1.0, values[-1])
    basis = (vectors[:, kept] / np.sqrt(values[kept])) / spread[:, None]
    shift = moments.mean if family.offsets else np.zeros(d)
    if family.labels:
        return Frame(shift, basis, 0.0, 1.0, spread, weight_scale)
    y_shift = moments.y_mean if family.intercept else 0.0
    # Root mean square of y about what the frame takes off: the mean if there is an intercept, else zero.
    scale = float(np.hypot(np.sqrt(moments.y_variance), moments.y_mean - y_shift))
    return Frame(shift, basis, y_shift, scale if scale > 0 else 1.0, spread, weight_scale)


class FrameGradient(Summary[Equations, Equations]):
    """Loss and gradient at a point of a frame, summed over rows outside of it, wherever they live.

    Turning every row into the frame would cost more than all the rest, so that the units are turned out of it and in
    the end the sum is turned back. O(n k d) flops, no copy of a block that comes column by column.
    """

    any_layout = True

    def __init__(self, family: Family, theta: Parameters, frame: Frame) -> None:
        # a z + b = (a B') (x - shift) + b: turning k units out of the frame spares turning n rows into it.
        A = theta.A @ frame.basis.T
        far = (np.abs(frame.shift) > _FAR_COLUMN * frame.spread).any()
        self.moved: Floats = np.zeros_like(frame.shift) if far else frame.shift  # by the offsets, not row by row
        self.basis, self.frame = frame.basis, replace(frame, shift=frame.shift - self.moved)
        self.inner = NormalEquations(family, theta._replace(A=A, b=theta.b - A @ self.moved), curvature=False)

    def block_rows(self, n_features: int) -> int:
        # Where blocks go to threads, large ones cost less, as long as their products are small and their columns do not
        # begin a power of two apart, in the same lines of the cache (out_of_core: 25 ns a row instead of 30).
        small = max(1000, SMALL_PRODUCT // (len(self.inner.theta.A) * n_features))
        return min(2 * self.inner.block_rows(n_features), small, 16_000)

    def chunk(self, rows: Rows) -> Equations:
        by_column = rows._replace(X=np.asfortranarray(rows.X))  # whatever the layout was: the same products, equal bits
        return self.inner.chunk(self.frame.shifted(by_column))

    def chunk_on_device(self, rows: Any) -> Equations:
        return self.inner.chunk_on_device(_shifted_on_device(self.frame, rows))

    def merge(self, left: Equations, right: Equations) -> Equations:
        return self.inner.merge(left, right)

    def finalize(self, state: Equations) -> Equations:
        layout = self.inner.family.layout(*self.inner.theta.A.shape)
        units = layout.rows(state.gradient)
        if self.moved.any():
            # b moved by -a shift, so that the chain rule takes shift times the gradient of b off that of a.
            units = units - np.outer(state.gradient[layout.b], self.moved)
        others = state.gradient[layout.units.stop :]
        return state._replace(gradient=np.concatenate(((units @ self.basis).ravel(), others)))


def _shifted_on_device(frame: Frame, rows: Any) -> Any:
    """The twin of :meth:`Frame.shifted` for tensors."""
    x = rows.X.double()
    weight = None if rows.weight is None else rows.weight * frame.weight_scale
    y = (rows.y.double() - frame.y_shift) / frame.y_scale
    return rows._replace(X=x - x.new_tensor(frame.shift), y=y, weight=weight)
