"""Levenberg-Marquardt on summed normal equations: the one polish that black box and data share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..checking import Floats
from .chart import Chart
from .layout import Family, Parameters
from .normal import Equations
from .prior import Prior

__all__ = ["Refined", "refine"]

Evaluate = Callable[[Parameters, bool], Equations]  # (point, with curvature?) -> equations

_NEAR = 0.3  # nats: from here on the curvature hardly changes, and the gradient alone is worth a pass


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
    equations: Equations
    objective: float
    variance: float
    gradient: Floats  # of the objective


def refine(
    evaluate: Evaluate,
    family: Family,
    start: Parameters,
    *,
    prior: Prior,
    metric: Floats | None = None,
    curvature: Floats | None = None,
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
    tolerance : float
        Nats: stop when the predicted decrease is below it.
    """
    chart = Chart(family, metric)
    stale, damping = curvature is not None, 1e-3
    here = _look(evaluate, family, prior, chart.project(start), curvature=not stale)
    if curvature is None:
        curvature = here.equations.curvature
    H = _hessian(here, curvature, prior, family)
    for iteration in range(1, max_iterations + 1):
        G = chart.tangent(here.theta)
        free = G.shape[0] == G.shape[1]  # unconstrained: G is the identity
        local = (H, here.gradient) if free else (G.T @ H @ G, G.T @ here.gradient)
        step, predicted = _damped_step(*local, damping)
        if predicted < tolerance:
            return _result(here, curvature, iteration, True)
        there = _look(evaluate, family, prior, chart.retract(here.theta, G @ step), curvature=False)
        gain = (here.objective - there.objective) / predicted
        if gain > 1e-3:
            damping = damping / 10 if gain > 0.75 else damping * (1.0 if gain > 0.25 else 4.0)
            stale = 0.6 < gain < 1.4 or predicted < _NEAR
            if stale:
                H = _updated(H, family.pack(there.theta) - family.pack(here.theta), there.gradient - here.gradient)
            here = there
        elif not stale:
            damping *= 8.0
            if damping > 1e8:
                return _result(here, curvature, iteration, False)
            continue
        else:  # blame the old curvature before the step length
            stale = False
        if not stale:
            curvature = evaluate(here.theta, True).curvature
            H = _hessian(here, curvature, prior, family)
    return _result(here, curvature, max_iterations, False)


def _look(evaluate: Evaluate, family: Family, prior: Prior, theta: Parameters, *, curvature: bool) -> _Point:
    equations = evaluate(theta, curvature)
    mass = equations.mass
    if family.labels:
        variance, loss = 1.0, equations.loss
    else:
        variance = 2 * equations.loss / mass + prior.least_variance
        loss = 0.5 * mass * float(np.log(variance))
    gradient = equations.gradient / variance + prior.gradient(theta, family)
    return _Point(theta, equations, loss + prior.value(theta, family), variance, gradient)


def _hessian(here: _Point, curvature: Floats | None, prior: Prior, family: Family) -> Floats:
    """Return the Gauss-Newton matrix of the objective in the flat parameters."""
    assert curvature is not None  # for the type checker: it was asked for
    return curvature / here.variance + prior.curvature(here.theta, family)


def _updated(H: Floats, step: Floats, change: Floats) -> Floats:
    """Return the BFGS update: the last digits need the curvature that Gauss-Newton leaves out, and this is free."""
    Hs = H @ step
    bend, model_bend = float(step @ change), float(step @ Hs)
    if bend <= 1e-3 * model_bend or model_bend <= 0:
        return H
    return np.asarray(H + np.outer(change, change) / bend - np.outer(Hs, Hs) / model_bend)


def _damped_step(H: Floats, g: Floats, damping: float) -> tuple[Floats, float]:
    """Return the step and the decrease of the quadratic model that it promises."""
    scale = np.diag(H).copy()
    scale[scale <= 0] = 1.0
    for _ in range(30):
        try:
            factor = cho_factor(H + np.diag(damping * scale), lower=True, check_finite=False)
            break
        except LinAlgError:
            damping = max(10 * damping, 1e-10)
    else:
        return np.zeros_like(g), 0.0
    step = -cho_solve(factor, g, check_finite=False)
    return step, float(-(g @ step) - 0.5 * step @ H @ step)


def _result(here: _Point, curvature: Floats | None, iterations: int, converged: bool) -> Refined:
    equations = here.equations._replace(curvature=curvature)
    return Refined(here.theta, here.objective, equations.loss, equations.mass, equations, iterations, converged)
