"""Normal equations as a mergeable summary of rows, in memory or on a device, and the polish of a table on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arguments import Floats
from ..likelihood import CERTAINTY, LogOdds
from ..sources import Rows, Summary
from ..sources.torch_tensors import DEVICE_ENTRIES
from .constraints import Coordinates, Prior
from .family import Family
from .gauss_newton import Limits, LocalModel, curvature_along, minimise
from .jacobian import jacobian_on_device, layer_jacobian
from .parameters import Parameters


class Equations(NamedTuple):
    """What one pass over the rows tells about a point.

    For least squares `loss` is half the weighted residual sum of squares, for labels minus the log-likelihood.
    `gradient` points uphill. `curvature` is the Gauss-Newton (Fisher) matrix, None unless asked for.
    """

    mass: float
    loss: float
    gradient: Floats  # (size,)
    curvature: Floats | None  # (size, size)


class NormalEquations(Summary[Equations, Equations]):
    """Loss, gradient and, on request, curvature at one point.

    O(n k d) flops for the gradient, O(n (k d)^2) for a matrix; one block of the Jacobian in memory, never all of it.

    Parameters
    ----------
    family : Family
    theta : Parameters
    curvature : bool
    single : bool
        Sum the matrix from float32 Jacobian blocks (into float64); loss and gradient are always float64.
    """

    def __init__(self, family: Family, theta: Parameters, *, curvature: bool = True, single: bool = True) -> None:
        self.family, self.theta = family, theta
        self.curvature = curvature
        self.matrix_type = np.float32 if single else np.float64

    def block_rows(self, n_features: int) -> int:
        size = self.family.size(len(self.theta.A), n_features)
        # About a megabyte: a Jacobian block (or, without one, the arguments of the units) that stays in cache.
        width = size if self.curvature else 2 * len(self.theta.A) + n_features
        return int(np.clip(262_144 // width, 256, 8192))

    def chunk(self, rows: Rows) -> Equations:
        values, active = self._units(rows.X)
        # r = u' f(A x + b) + c, with rows of X along the last axis: few units make long contiguous lines.
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
        # The loss falls along the score: gradient = -J' score, summed without forming J.
        gradient = self._gradient(rows.X, values, active, -score)
        curvature = None
        if self.curvature:
            curvature = self._matrix(rows.X, values, active, np.sqrt(weight * likelihood.precision(r)))
        return Equations(float(weight.sum()), loss, gradient, curvature)

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
        return self.with_jacobian(X)[1]

    def with_jacobian(self, X: Floats) -> tuple[Floats, Floats]:
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
        curvature = None if left.curvature is None or right.curvature is None else left.curvature + right.curvature
        return Equations(
            left.mass + right.mass, left.loss + right.loss, left.gradient + right.gradient, curvature
        )  # fmt: skip

    def finalize(self, state: Equations) -> Equations:
        return state


def equations_on_device(summary: NormalEquations, rows: Any) -> Equations:
    """Return what ``summary.chunk`` returns for the same rows in memory; only the sums leave the device."""
    # As many rows at a time as make a Jacobian of the size of the blocks that sources keep on a device.
    step = max(1, DEVICE_ENTRIES // summary.family.size(*summary.theta.A.shape))
    pieces = zip(*(_pieces(part, len(rows.y), step) for part in rows))
    parts = [_equations(summary, *piece) for piece in pieces]
    totals: list[Any] = [None if column[0] is None else sum(column) for column in zip(*parts)]
    mass, loss, gradient, curvature = totals
    matrix = None if curvature is None else curvature.cpu().numpy()
    return Equations(float(mass), float(loss), gradient.cpu().numpy(), matrix)


def _pieces(part: Any, n_rows: int, step: int) -> list[Any]:
    if part is None:
        return [None] * -(-n_rows // step)
    return list(part.split(step))


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
    J = jacobian_on_device(family.layout(*theta.A.shape), x, values, active)
    scaled = J * information.sqrt()[:, None]
    return weight.sum(), loss, -score @ J, scaled.T @ scaled if summary.curvature else None


Evaluate = Callable[[Parameters, bool], Equations]  # (point, with curvature?) -> equations
Renew = Callable[[Parameters], Floats]  # point -> curvature


@dataclass(frozen=True)
class Refined:
    """Where the iteration ended.

    Attributes
    ----------
    theta : Parameters
    objective : float
        Nats: minus the (concentrated) log-likelihood of all rows, plus the prior.
    loss : float
        Half the residual sum of squares, or minus the log-likelihood of labels; without the prior.
    mass : float
        Total weight of the rows.
    equations : Equations
        At `theta`; its curvature may stem from the previous point.
    n_iterations : int
    converged : bool
        The predicted decrease fell below the tolerance.
    """

    theta: Parameters
    objective: float
    loss: float
    mass: float
    equations: Equations
    n_iterations: int
    converged: bool

    @property
    def noise_variance(self) -> float:
        """Mean square of the residuals (meaningful for least squares only)."""
        return 2 * self.loss / self.mass


class _Point(NamedTuple):
    theta: Parameters
    objective: float
    equations: Equations
    variance: float
    gradient: Floats  # of the objective, in the flat parameters


class _Curvature(NamedTuple):
    """The curvature as it was summed, the Gauss-Newton matrix of the objective, both in the flat parameters, and the
    tangent matrix of the chart."""

    curvature: Floats
    matrix: Floats
    tangent: Floats


class _Sums:
    """The objective as a sum over rows, with one pass for loss and gradient and another for the curvature."""

    def __init__(
        self, evaluate: Evaluate, family: Family, prior: Prior, metric: Floats | None, renew: Renew | None
    ) -> None:
        self.evaluate, self.family, self.prior, self.renew = evaluate, family, prior.within(family), renew
        self.chart = Coordinates(family, metric)

    def look(self, theta: Parameters, *, curvature: bool = False) -> _Point:
        equations = self.evaluate(theta, curvature)
        mass = equations.mass
        if self.family.labels:
            variance, loss = 1.0, equations.loss
        else:
            # The noise variance is maximised out: n/2 log(mean square), whose gradient is that of the squares over it.
            variance = 2 * equations.loss / mass + self.prior.least_variance
            loss = 0.5 * mass * float(np.log(variance))
        gradient = equations.gradient / variance + self.family.pack(self.prior.gradient(theta))
        return _Point(theta, loss + self.prior.loss(theta), equations, variance, gradient)

    def model(self, here: _Point, curvature: Floats | None = None) -> LocalModel:
        stale = curvature is not None
        if curvature is None:
            curvature = here.equations.curvature
        if curvature is None:
            curvature = self.evaluate(here.theta, True).curvature if self.renew is None else self.renew(here.theta)
        assert curvature is not None  # for the type checker: it was asked for
        matrix = curvature / here.variance + self.prior.curvature(here.theta, self.family.layout(*here.theta.A.shape))
        return self._at(here, curvature, matrix, stale)

    def model_at(self, model: LocalModel, here: _Point, there: _Point) -> LocalModel:
        memory: _Curvature = model.memory
        # The old curvature, corrected by how the gradient changed on the way.
        step = self.family.pack(there.theta) - self.family.pack(here.theta)
        matrix = curvature_along(memory.matrix, step, there.gradient - here.gradient)
        return self._at(there, memory.curvature, matrix, True)

    def moved(self, here: _Point, model: LocalModel, step: Floats) -> Parameters:
        return self.chart.moved(here.theta, model.memory.tangent @ step)

    def _at(self, here: _Point, curvature: Floats, matrix: Floats, stale: bool) -> LocalModel:
        G = self.chart.tangent(here.theta)
        memory = _Curvature(curvature, matrix, G)
        # On a constraint surface the quadratic model is restricted to the tangent: G' H G and G' g.
        if G.shape[0] == G.shape[1]:  # unconstrained: G is the identity
            return LocalModel(matrix, here.gradient, stale, memory)
        return LocalModel(G.T @ matrix @ G, G.T @ here.gradient, stale, memory)


def polish(
    evaluate: Evaluate,
    family: Family,
    start: Parameters,
    *,
    prior: Prior,
    metric: Floats | None = None,
    curvature: Floats | None = None,
    renew: Renew | None = None,
    tolerance: float = 1e-4,
    max_iterations: int = 30,
) -> Refined:
    """Minimise minus the log-posterior from `start`.

    Parameters
    ----------
    evaluate : callable
        Sums the normal equations over the rows, e.g. ``lambda t, c: source.reduce(NormalEquations(family, t,
        curvature=c))``. Called once per iteration, with curvature only when the last step was not as predicted.
    curvature : (size, size) array, optional
        A stand-in for the Gauss-Newton matrix at `start` (say, that of a sample of the rows, scaled up): with it most
        iterations cost a gradient only.
    renew : callable, optional
        Returns such a stand-in at a point, where steps are not as predicted; instead of a pass with curvature.
    tolerance : float
        Nats: stop when the predicted decrease is below it.
    """
    problem = _Sums(evaluate, family, prior, metric, renew)
    first = problem.look(problem.chart.nearest(start), curvature=curvature is None)
    end = minimise(problem, first, problem.model(first, curvature), Limits(tolerance, max_iterations))
    here: _Point = end.here
    equations = here.equations._replace(curvature=end.model.memory.curvature)
    return Refined(here.theta, here.objective, equations.loss, equations.mass, equations, end.n_steps, end.converged)
