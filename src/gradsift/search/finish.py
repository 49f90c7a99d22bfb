"""From an optimum in the frame to a fit in the user's coordinates, with standard errors and a verdict."""

from __future__ import annotations

import numpy as np

from ..checking import Floats
from ..inference import StandardErrors, sandwich
from ..model import SigmoidCombination
from ..refine import Family, NormalEquations
from ..sources import Source
from .fit import Fit
from .frame import Framed
from .problem import Problem
from .settle import Settled
from .verdict import Evidence, judge

__all__ = ["finish"]


def finish(source: Source, problem: Problem, settled: Settled) -> Fit:
    """Return the fit. One pass over all rows for the sandwich covariance."""
    family, frame, best = problem.family, problem.frame, settled.optima.best
    summary = NormalEquations(family, best.theta, curvature=False, scatter=True)
    equations = source.reduce(Framed(summary, frame))._replace(curvature=best.equations.curvature)
    covariance = sandwich(equations, family, best.theta, frame.metric)
    raw = frame.leave(best.theta).to_model(family.activation)
    move = frame.leave_matrix(family, raw.n_units)
    model = raw
    if family.intercept or family.activation.center == 0:  # otherwise turning a unit would need an intercept
        model, turn = raw.canonical(), _canonical_matrix(raw, family)
        move = turn @ move
    errors = StandardErrors(model, family, move @ covariance @ move.T)
    evidence = Evidence(
        *_gains(problem, settled),
        p_better=settled.p_better,
        hits=settled.optima.hits,
        gap=settled.optima.gap,
        converged=best.converged,
    )
    certified, verdict = judge(errors, evidence)
    return Fit(
        model=model,
        family=family,
        frame=frame,
        refined=best,
        n_rows=source.n_rows,
        hits=settled.optima.hits,
        gap=settled.optima.gap,
        p_better=settled.p_better,
        standard_errors=errors,
        certified=certified,
        verdict=verdict,
        diagnostics={**evidence._asdict(), "rounds": settled.rounds, "offsets_fitted": family.offsets},
    )


def _canonical_matrix(raw: SigmoidCombination, family: Family) -> Floats:
    """Return the (size, size) derivative of ``model.canonical()`` in the flat parameters."""
    k, d = raw.units.shape
    sign = np.where(raw.weights < 0, -1.0, 1.0)
    order = np.argsort(-np.abs(raw.weights), kind="stable")
    M = np.zeros((family.size(k, d), family.size(k, d)))
    for place, unit in enumerate(order):
        M[place * d : (place + 1) * d, unit * d : (unit + 1) * d] = sign[unit] * np.eye(d)
        M[k * d + place, k * d + unit] = sign[unit]
        if family.offsets:
            M[k * d + k + place, k * d + k + unit] = sign[unit]
        if family.intercept and sign[unit] < 0:
            M[-1, k * d + unit] = 2 * family.activation.center
    if family.intercept:
        M[-1, -1] = 1.0
    return M


def _gains(problem: Problem, settled: Settled) -> tuple[float, float]:
    """Return BIC of a constant and of a linear (or logistic) model, minus BIC of the fit."""
    family, best = problem.family, settled.optima.best
    price = float(np.log(best.mass))
    own = 2 * _minus_log_likelihood(family, best.loss, best.mass)
    own += family.n_parameters(len(best.theta.u), problem.n_features) * price
    y, weight = problem.rows.y, problem.rows.weight
    scale = best.mass / problem.mass
    spread = float(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))
    if family.labels:
        constant = -best.mass * _label_entropy(float(np.average(y, weights=weight)))
        return 2 * constant + price - own, np.inf
    constant = _minus_log_likelihood(family, 0.5 * spread * best.mass, best.mass)
    residual = settled.linear_residual * scale
    linear = _minus_log_likelihood(family, 0.5 * residual, best.mass)
    return 2 * constant + price - own, 2 * linear + (problem.n_features + 1) * price - own


def _minus_log_likelihood(family: Family, loss: float, mass: float) -> float:
    return loss if family.labels else 0.5 * mass * float(np.log(max(2 * loss / mass, 1e-300)))


def _label_entropy(mean: float) -> float:
    """Return the mean log-likelihood of labels under the constant model."""
    share = np.clip(np.array([0.5 * (1 + mean), 0.5 * (1 - mean)]), 1e-300, 1)
    return float(share @ np.log(share))
