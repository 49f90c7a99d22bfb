"""Would something simpler do? BIC of a constant, a linear function, a single unit, one unit fewer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..fit import Family, NormalEquations, Parameters, Refined
from ..fit.moves import prune
from ..sources import ArraySource
from .lbfgs import minimize_batch, start_batch
from .problem import TableProblem

__all__ = ["Gains", "bic", "gains"]


class Gains(NamedTuple):
    """BIC of a simpler model minus BIC of the fit: positive where the fit is worth its parameters.

    Infinite where the question does not arise: `over_linear` for labels (a linear mean may leave [-1, 1]), `over_one`
    for anything else (the linear function stands in), and `over_one`, `over_fewer` for a single unit.
    """

    over_constant: float
    over_linear: float
    over_one: float
    over_fewer: float


def bic(family: Family, loss: float, mass: float, n_parameters: int) -> float:
    """Return Schwarz's criterion, up to a constant; smaller is better."""
    deviance = 2 * loss if family.labels else mass * float(np.log(max(2 * loss / mass, 1e-300)))
    return deviance + n_parameters * float(np.log(mass))


def gains(problem: TableProblem, best: Refined) -> Gains:
    """Compare on the rows of the search. The smaller sums of sigmoids get one descent each, not a search."""
    family, mass, d = problem.family, problem.mass, problem.n_features
    k = len(best.theta.u)
    loss = best.loss * mass / best.mass
    own = bic(family, loss, mass, family.n_parameters(k, d))
    over_one = over_fewer = np.inf
    if k > 1:
        fewer = _descended_loss(problem, prune(best.theta, family, problem.first(4000), k - 1))
        over_fewer = bic(family, fewer, mass, family.n_parameters(k - 1, d)) - own
        if family.labels:
            one = _descended_loss(problem, _one_unit(problem))
            over_one = bic(family, one, mass, family.n_parameters(1, d)) - own
    constant = bic(family, _constant_loss(problem), mass, 1) - own
    linear = np.inf if family.labels else bic(family, _linear_loss(problem), mass, d + 1) - own
    return Gains(constant, linear, over_one, over_fewer)


def _descended_loss(problem: TableProblem, theta: Parameters) -> float:
    """Return the loss on all rows of the search after one short descent on some of them, to about a nat."""
    loss = problem.batch(len(theta.u), min(len(problem.rows.y), 5000))
    point = loss.unpack(minimize_batch(loss, start_batch(loss, loss.pack([theta])), 30, tolerance=1e-4).points[0])
    return ArraySource(*problem.rows).reduce(NormalEquations(problem.family, point, curvature=False)).loss


def _one_unit(problem: TableProblem) -> Parameters:
    """Return a single unit of weight one along the linear fit."""
    X, y, weight = problem.rows
    direction = X.T @ (y if weight is None else weight * y)
    direction = direction / max(float(np.linalg.norm(direction)), 1e-300)
    return Parameters(direction[None], np.ones(1), np.zeros(1), 0.0)


def _constant_loss(problem: TableProblem) -> float:
    y, weight = problem.rows.y, problem.rows.weight
    mean = float(np.average(y, weights=weight))
    if problem.family.labels:
        share = np.clip(np.array([0.5 * (1 + mean), 0.5 * (1 - mean)]), 1e-300, 1)
        return -problem.mass * float(share @ np.log(share))
    return 0.5 * problem.mass * float(np.average((y - mean) ** 2, weights=weight))


def _linear_loss(problem: TableProblem) -> float:
    X, y, weight = problem.rows
    root = np.ones(len(y)) if weight is None else np.sqrt(weight)
    design = np.column_stack((X, np.ones(len(y)))) * root[:, None]
    gram = design.T @ design
    coefficients = np.linalg.lstsq(gram, design.T @ (root * y), rcond=1e-12)[0]
    residual = root * y - design @ coefficients
    return 0.5 * float(residual @ residual)
