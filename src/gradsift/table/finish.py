"""From an optimum in the frame to a fit in the user's coordinates, with standard errors and a verdict."""

from __future__ import annotations

import numpy as np

from ..checking import Floats
from ..fit import Family, NormalEquations, Parameters, Refined, refine
from ..inference import StandardErrors, sandwich
from ..model import SigmoidCombination
from ..sources import ArraySource, Source
from .fit import Fit
from .frame import Framed
from .problem import TableProblem
from .settle import Settled
from .simpler import gains
from .verdict import FitEvidence, judge_fit

__all__ = ["finish"]


def finish(source: Source, problem: TableProblem, settled: Settled) -> Fit:
    """Return the fit: polished on all rows, with the sandwich covariance of the rows of the search, scaled to all."""
    family, frame = problem.family, problem.frame
    found = settled.optima.best
    best = _on_all_rows(source, problem, found)
    equations = ArraySource(*problem.rows).reduce(NormalEquations(family, best.theta, scatter=True))
    covariance = sandwich(equations, family, best.theta, frame.metric) * (problem.mass / best.mass)
    move = frame.leave_matrix(family, len(best.theta.u))
    errors = _canonical_errors(frame.leave(best.theta), family, move @ covariance @ move.T)
    evidence = FitEvidence(
        **gains(problem, best)._asdict(),
        p_better=settled.p_better,
        hits=settled.optima.hits,
        gap=settled.optima.gap,
        converged=best.converged,
        n_flat=frame.basis.shape[0] - frame.basis.shape[1],
    )
    # Angles mean the same in every choice of units of measurement only where the rows are white.
    judgement = judge_fit(_canonical_errors(best.theta, family, covariance), evidence)
    return Fit(
        model=errors.model,
        family=family,
        frame=frame,
        refined=best,
        n_rows=source.n_rows,
        hits=settled.optima.hits,
        gap=settled.optima.gap,
        p_better=settled.p_better,
        standard_errors=errors,
        judgement=judgement,
        diagnostics={
            **evidence._asdict(),
            "rounds": settled.rounds,
            "offsets_fitted": family.offsets,
            "bic_path": dict(settled.bic_path),
        },
    )


def _on_all_rows(source: Source, problem: TableProblem, found: Refined) -> Refined:
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


def _canonical_errors(theta: Parameters, family: Family, covariance: Floats) -> StandardErrors:
    """Return the standard errors of the canonical form (of the model as it is, where turning needs an intercept)."""
    model = theta.to_model(family.activation)
    if not family.intercept and family.activation.center != 0:
        return StandardErrors(model, family, covariance)
    turn = _canonical_matrix(model, family)
    return StandardErrors(model.canonical(), family, turn @ covariance @ turn.T)


def _canonical_matrix(raw: SigmoidCombination, family: Family) -> Floats:
    """Return the (size, size) derivative of ``model.canonical()`` in the flat parameters."""
    layout = family.layout(*raw.units.shape)
    turns = family.activation.odd_form is not None
    sign = np.where((raw.weights < 0) & turns, -1.0, 1.0)
    order = np.argsort(-np.abs(raw.weights), kind="stable")
    M = np.zeros((layout.size, layout.size))
    for place, unit in enumerate(order):
        M[layout.a(place), layout.a(int(unit))] = sign[unit] * np.eye(layout.n_features)
    turned = np.diag(sign)[order]
    M[layout.weights, layout.weights] = turned
    if family.offsets:
        M[layout.b, layout.b] = turned
    M[layout.c, layout.weights] = 2 * family.activation.center * (sign < 0)
    M[layout.c, layout.c] = 1.0
    return M
