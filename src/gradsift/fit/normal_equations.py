"""Normal equations of least squares and of labels, as a mergeable summary of rows in memory or on a device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arguments import Floats
from ..likelihood import CERTAINTY, LogOdds
from ..sources import Rows, Summary
from .jacobian import layer_jacobian, tensor_jacobian
from .parameters import Family, Parameters


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


_ROWS = 2**18  # per step: a Jacobian of 200 columns then takes 400 MB


def equations_on_device(summary: NormalEquations, rows: Any) -> Equations:
    """Return what ``summary.chunk`` returns for the same rows in memory; only the sums leave the device."""
    pieces = zip(*(_pieces(part, len(rows.y)) for part in rows))
    parts = [_equations(summary, *piece) for piece in pieces]
    totals: list[Any] = [None if column[0] is None else sum(column) for column in zip(*parts)]
    mass, loss, gradient, *matrices = totals
    curvature, scatter = (None if m is None else m.cpu().numpy() for m in matrices)
    return Equations(float(mass), float(loss), gradient.cpu().numpy(), curvature, scatter)


def _pieces(part: Any, n_rows: int) -> list[Any]:
    if part is None:
        return [None] * -(-n_rows // _ROWS)
    return list(part.split(_ROWS))


def _equations(summary: NormalEquations, X: Any, y: Any, weight: Any) -> tuple[Any, ...]:
    family, theta = summary.family, summary.theta
    f = family.activation.torch_twin()
    x, target = X.double(), y.double()
    u = x.new_tensor(theta.u)
    z = x @ x.new_tensor(theta.A).T
    if family.offsets:
        z = z + x.new_tensor(theta.b)
    values = f.value(z)  # (rows, k)
    active = f.derivative(z) * u
    r = values @ u + theta.c
    weight = r.new_ones(len(r)) if weight is None else weight.double()
    residual = target - r
    if family.labels and not family.simplex:
        information = weight * (r.sigmoid() * (-r).sigmoid()).clamp(min=LogOdds().least)
        score = weight * target * (-target * r).sigmoid()
        loss = weight @ r.new_zeros(len(r)).logaddexp(-target * r)
    elif family.labels:
        score = weight * target / (1 + target * r).clamp(min=0.5 * CERTAINTY.simplex)
        information = weight / (1 - r * r).clamp(min=CERTAINTY.simplex)
        loss = -(weight @ (0.5 * (1 + target * r)).clamp(min=0.25 * CERTAINTY.simplex).log())
        values = values - r[:, None]  # as in memory: no effect on the simplex, and less rounding
    else:
        information, score, loss = weight, weight * residual, 0.5 * (weight @ (residual * residual))
    J = tensor_jacobian(family.layout(*theta.A.shape), x, values, active)
    matrices = [
        (J * scale[:, None]).T @ (J * scale[:, None]) if wanted else None
        for wanted, scale in ((summary.curvature, information.sqrt()), (summary.scatter, score))
    ]
    return weight.sum(), loss, -score @ J, *matrices
