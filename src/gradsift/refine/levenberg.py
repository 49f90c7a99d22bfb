"""Levenberg-Marquardt on summed normal equations: the one polish that black box and data share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..checking import Floats
from .chart import Chart
from .normal import Equations
from .parameters import Family, Parameters
from .prior import Prior

__all__ = ["Refined", "refine"]

Evaluate = Callable[[Parameters, bool], Equations]  # (point, with curvature?) -> equations

_NEAR = 0.3  # nats: from here on the curvature hardly changes, and the gradient alone is worth a pass
_NOISE_FLOOR = 1e-28  # of a target of unit scale: below it a fit is exact and there is nothing left to gain


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


def refine(
    evaluate: Evaluate,
    family: Family,
    start: Parameters,
    *,
    prior: Prior,
    metric: Floats | None = None,
    tolerance: float = 1e-4,
    max_iterations: int = 30,
) -> Refined:
    """Minimise minus the log-posterior from `start`.

    Parameters
    ----------
    evaluate : callable
        Sums the normal equations over the rows, e.g. ``lambda t, c: source.reduce(NormalEquations(family, t,
        curvature=c))``. Called once per iteration, with curvature only when the last step was not as predicted.
    tolerance : float
        Nats: stop when the predicted decrease is below it.
    """
    chart = Chart(family, metric)
    here = _look(evaluate, family, prior, chart.project(start), curvature=True)
    curvature, damping, stale = here.equations.curvature, 1e-3, False
    for iteration in range(1, max_iterations + 1):
        assert curvature is not None  # for the type checker: asked for whenever it is missing
        G = chart.tangent(here.theta)
        local = _local_equations(here, curvature, G, prior, family)
        step, predicted = _damped_step(*local, damping)
        if predicted < tolerance:
            return _result(here, curvature, iteration, True)
        there = _look(evaluate, family, prior, chart.retract(here.theta, G @ step), curvature=False)
        gain = (here.objective - there.objective) / max(predicted, 1e-300)
        if not gain > 1e-3:
            if stale:  # blame the old curvature before the step length
                fresh = evaluate(here.theta, True)
                curvature, stale = fresh.curvature, False
            else:
                damping *= 8.0
                if damping > 1e8:
                    return _result(here, curvature, iteration, False)
            continue
        here = there
        damping = damping / 10 if gain > 0.75 else damping * (1.0 if gain > 0.25 else 4.0)
        if 0.8 < gain < 1.2 or predicted < _NEAR:
            stale = True
        else:
            curvature, stale = evaluate(here.theta, True).curvature, False
    return _result(here, curvature, max_iterations, False)


def _look(evaluate: Evaluate, family: Family, prior: Prior, theta: Parameters, *, curvature: bool) -> _Point:
    equations = evaluate(theta, curvature)
    mass = equations.mass
    if family.labels:
        return _Point(theta, equations, equations.loss + prior.value(theta, family), 1.0)
    variance = 2 * equations.loss / mass + _NOISE_FLOOR
    return _Point(theta, equations, 0.5 * mass * float(np.log(variance)) + prior.value(theta, family), variance)


def _local_equations(here: _Point, curvature: Floats, G: Floats, prior: Prior, family: Family) -> tuple[Floats, Floats]:
    H = curvature / here.variance + prior.curvature(here.theta, family)
    g = here.equations.gradient / here.variance + prior.gradient(here.theta, family)
    if G.shape[0] == G.shape[1]:  # unconstrained: G is the identity
        return H, g
    return G.T @ H @ G, G.T @ g


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
