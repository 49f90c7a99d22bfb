"""From an optimum in the frame to a fit in the user's coordinates, with standard errors and a verdict."""

from __future__ import annotations

import numpy as np

from ..checking import Floats
from ..inference import StandardErrors, sandwich
from ..model import SigmoidCombination
from ..refine import Family, NormalEquations, Refined, refine
from ..sources import ArraySource, Source
from .fit import Fit
from .frame import Framed
from .problem import Problem
from .settle import Settled
from .verdict import Evidence, judge

__all__ = ["finish"]


def finish(source: Source, problem: Problem, settled: Settled) -> Fit:
    """Return the fit: polished on all rows, with the sandwich covariance of the rows of the search, scaled to all."""
    family, frame = problem.family, problem.frame
    found = settled.optima.best
    best = _on_all_rows(source, problem, found)
    summary = NormalEquations(family, best.theta, curvature=False, scatter=True)
    equations = ArraySource(*problem.rows).reduce(summary)._replace(curvature=found.equations.curvature)
    covariance = sandwich(equations, family, best.theta, frame.metric) * (problem.mass / best.mass)
    raw = frame.leave(best.theta).to_model(family.activation)
    move = frame.leave_matrix(family, raw.n_units)
    model = raw
    if family.intercept or family.activation.center == 0:  # otherwise turning a unit would need an intercept
        model, turn = raw.canonical(), _canonical_matrix(raw, family)
        move = turn @ move
    errors = StandardErrors(model, family, move @ covariance @ move.T)
    evidence = Evidence(
        *_gains(problem, best, settled.linear_residual),
        p_better=settled.p_better,
        hits=settled.optima.hits,
        gap=settled.optima.gap,
        converged=best.converged,
        n_flat=frame.basis.shape[0] - frame.basis.shape[1],
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
        diagnostics={
            **evidence._asdict(),
            "rounds": settled.rounds,
            "offsets_fitted": family.offsets,
            "bic_path": dict(settled.bic_path),
        },
    )


def _on_all_rows(source: Source, problem: Problem, found: Refined) -> Refined:
    """Polish on the rows that the search did not see: the sample's curvature, scaled, leaves a few gradient passes."""
    if source.n_rows <= len(problem.rows.y) or problem.mass >= source.moments.mass:
        return found
    family = problem.family
    assert found.equations.curvature is not None  # a polished optimum carries one
    return refine(
        lambda theta, curvature: source.reduce(
            Framed(NormalEquations(family, theta, curvature=curvature), problem.frame)
        ),
        family,
        found.theta,
        prior=problem.prior,
        metric=problem.frame.metric,
        curvature=found.equations.curvature * (source.moments.mass / problem.mass),
        tolerance=1e-3,
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


def _gains(problem: Problem, best: Refined, linear_residual: float) -> tuple[float, float]:
    """Return BIC of a constant and of a linear (or logistic) model, minus BIC of the fit."""
    family = problem.family
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
    residual = linear_residual * scale
    linear = _minus_log_likelihood(family, 0.5 * residual, best.mass)
    return 2 * constant + price - own, 2 * linear + (problem.n_features + 1) * price - own


def _minus_log_likelihood(family: Family, loss: float, mass: float) -> float:
    return loss if family.labels else 0.5 * mass * float(np.log(max(2 * loss / mass, 1e-300)))


def _label_entropy(mean: float) -> float:
    """Return the mean log-likelihood of labels under the constant model."""
    share = np.clip(np.array([0.5 * (1 + mean), 0.5 * (1 - mean)]), 1e-300, 1)
    return float(share @ np.log(share))
