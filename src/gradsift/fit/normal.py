"""Normal equations of least squares and of the likelihood of labels, as a mergeable summary of the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..checking import Floats
from ..sources import Rows, Summary
from .jacobian import layer_jacobian
from .layout import Family, Parameters

__all__ = ["Equations", "NormalEquations"]


class Equations(NamedTuple):
    """What one pass over the rows tells about a point.

    For least squares `loss` is half the weighted residual sum of squares, for labels minus the log-likelihood.
    `gradient` points uphill. `curvature` is the Gauss-Newton (Fisher) matrix and `scatter` the sum of squared scores;
    each is None unless asked for.
    """

    mass: float
    loss: float
    gradient: Floats  # (size,)
    curvature: Floats | None  # (size, size)
    scatter: Floats | None  # (size, size)


class NormalEquations(Summary[Equations, Equations]):
    """Loss, gradient and, on request, curvature at one point.

    O(n k d) flops for the gradient, O(n (k d)^2) for a matrix; one block of the Jacobian in memory, never all of it.

    Parameters
    ----------
    family : Family
    theta : Parameters
    curvature, scatter : bool
    single : bool
        Sum the matrices from float32 Jacobian blocks (into float64); loss and gradient are always float64.
    """

    def __init__(
        self, family: Family, theta: Parameters, *, curvature: bool = True, scatter: bool = False, single: bool = True
    ) -> None:
        self.family, self.theta = family, theta
        self.curvature, self.scatter = curvature, scatter
        self.matrix_type = np.float32 if single else np.float64

    def block_rows(self, n_features: int) -> int:
        size = self.family.size(len(self.theta.A), n_features)
        # About a megabyte: a Jacobian block (or, without one, the arguments of the units) that stays in cache.
        width = size if self.curvature or self.scatter else 2 * len(self.theta.A) + n_features
        return int(np.clip(262_144 // width, 256, 8192))

    def chunk(self, rows: Rows) -> Equations:
        values, active = self._units(rows.X)
        r = self.theta.u @ values + self.theta.c
        weight = np.ones(len(r)) if rows.weight is None else rows.weight
        likelihood = self.family.likelihood
        loss, score = likelihood.loss(r, rows.y, weight), likelihood.score(r, rows.y)
        if rows.weight is not None:
            score = weight * score
        if self.family.simplex:
            # Weights move on the simplex, where a shift common to a row's values has no effect; this one keeps rows
            # that all units call certain (information 1e9) from drowning the rest in rounding.
            values -= r
        gradient = self._gradient(rows.X, values, active, -score)
        curvature = scatter = None
        if self.curvature:
            curvature = self._matrix(rows.X, values, active, np.sqrt(weight * likelihood.precision(r)))
        if self.scatter:
            scatter = self._matrix(rows.X, values, active, score)
        return Equations(float(weight.sum()), loss, gradient, curvature, scatter)

    def _units(self, X: Floats) -> tuple[Floats, Floats]:
        """Return the values of the units at the rows of X and u times their slopes, (k, rows) each: rows run fastest
        where there are few units."""
        theta = self.theta
        z = theta.A @ X.T
        if self.family.offsets:
            z += theta.b[:, None]
        activation = self.family.activation
        values = activation.value(z)
        shortcut = activation.derivative_of_value
        slopes = activation.derivative(z) if shortcut is None else shortcut(values)
        slopes *= theta.u[:, None]
        return values, slopes

    def chunk_on_device(self, rows: Any) -> Equations:
        from .on_device import equations_on_device

        return equations_on_device(self, rows)

    def _gradient(self, X: Floats, values: Floats, active: Floats, slope: Floats) -> Floats:
        parts = [((active * slope) @ X).ravel(), values @ slope]
        if self.family.offsets:
            parts.append(active @ slope)
        if self.family.intercept:
            parts.append(np.array([slope.sum()]))
        return np.concatenate(parts)

    def jacobian(self, X: Floats) -> Floats:
        """Return the derivatives of r at the rows of X in the flat parameters, (rows, size): for blocks, not tables."""
        return self.linearised(X)[1]

    def linearised(self, X: Floats) -> tuple[Floats, Floats]:
        """Return r at the rows of X, (rows,), and its derivatives as :meth:`jacobian` does."""
        values, active = self._units(X)
        r = self.theta.u @ values + self.theta.c
        if self.family.simplex:
            values -= r
        return r, np.asarray(self._jacobian(X, values, active, None).T)

    def _matrix(self, X: Floats, values: Floats, active: Floats, scale: Floats) -> Floats:
        """Return J' diag(scale^2) J."""
        J = self._jacobian(X, values, active, scale)
        return np.asarray(J @ J.T, dtype=np.float64)

    def _jacobian(self, X: Floats, values: Floats, active: Floats, scale: Floats | None) -> Any:
        """Return the derivatives times `scale`, (size, rows)."""
        layout = self.family.layout(len(values), X.shape[1])
        inputs = np.ascontiguousarray(X.T, dtype=self.matrix_type)
        active = active if scale is not None else active.astype(self.matrix_type)
        return layer_jacobian(layout, inputs, values, active, scale=scale, dtype=self.matrix_type)

    def merge(self, left: Equations, right: Equations) -> Equations:
        def both(a: Floats | None, b: Floats | None) -> Floats | None:
            return None if a is None or b is None else a + b

        return Equations(
            left.mass + right.mass,
            left.loss + right.loss,
            left.gradient + right.gradient,
            both(left.curvature, right.curvature),
            both(left.scatter, right.scatter),
        )

    def finalize(self, state: Equations) -> Equations:
        return state
