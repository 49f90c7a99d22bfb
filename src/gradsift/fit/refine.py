"""The polish of a table: the shared loop on normal equations, summed over any source of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arguments import Floats
from .constraints import Chart, Prior
from .gauss_newton import Limits, Quadratic, bfgs_update, minimise
from .normal_equations import Equations
from .parameters import Family, Parameters

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


class _SummedPoint(NamedTuple):
    theta: Parameters
    objective: float
    equations: Equations
    variance: float
    gradient: Floats  # of the objective, in the flat parameters


class _Curved(NamedTuple):
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
        self.chart = Chart(family, metric)

    def look(self, theta: Parameters, *, curvature: bool = False) -> _SummedPoint:
        equations = self.evaluate(theta, curvature)
        mass = equations.mass
        if self.family.labels:
            variance, loss = 1.0, equations.loss
        else:
            variance = 2 * equations.loss / mass + self.prior.least_variance
            loss = 0.5 * mass * float(np.log(variance))
        gradient = equations.gradient / variance + self.family.pack(self.prior.gradient(theta))
        return _SummedPoint(theta, loss + self.prior.loss(theta), equations, variance, gradient)

    def model(self, here: _SummedPoint, curvature: Floats | None = None) -> Quadratic:
        stale = curvature is not None
        if curvature is None:
            curvature = here.equations.curvature
        if curvature is None:
            curvature = self.evaluate(here.theta, True).curvature if self.renew is None else self.renew(here.theta)
        assert curvature is not None  # for the type checker: it was asked for
        matrix = curvature / here.variance + self.prior.curvature(here.theta, self.family.layout(*here.theta.A.shape))
        return self._at(here, curvature, matrix, stale)

    def carried(self, model: Quadratic, here: _SummedPoint, there: _SummedPoint) -> Quadratic:
        memory: _Curved = model.memory
        step = self.family.pack(there.theta) - self.family.pack(here.theta)
        matrix = bfgs_update(memory.matrix, step, there.gradient - here.gradient)
        return self._at(there, memory.curvature, matrix, True)

    def move(self, here: _SummedPoint, model: Quadratic, step: Floats) -> Parameters:
        return self.chart.retract(here.theta, model.memory.tangent @ step)

    def _at(self, here: _SummedPoint, curvature: Floats, matrix: Floats, stale: bool) -> Quadratic:
        G = self.chart.tangent(here.theta)
        memory = _Curved(curvature, matrix, G)
        if G.shape[0] == G.shape[1]:  # unconstrained: G is the identity
            return Quadratic(matrix, here.gradient, stale, memory)
        return Quadratic(G.T @ matrix @ G, G.T @ here.gradient, stale, memory)


def refine(
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
    first = problem.look(problem.chart.project(start), curvature=curvature is None)
    end = minimise(problem, first, problem.model(first, curvature), Limits(tolerance, max_iterations))
    here: _SummedPoint = end.here
    equations = here.equations._replace(curvature=end.model.memory.curvature)
    return Refined(here.theta, here.objective, equations.loss, equations.mass, equations, end.n_steps, end.converged)
