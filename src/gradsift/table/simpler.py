"""Would something simpler do? BIC of a constant, a linear function, a single unit, one unit fewer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..fit import Family, NormalEquations, Parameters, Refined
from ..fit.moves import prune
from ..sources import ArraySource
from .lbfgs import minimize_batch, start_batch
from .one import logistic_regression, one_component
from .problem import TableProblem

__all__ = ["Gains", "gains", "schwarz"]


class Gains(NamedTuple):
    """BIC of a simpler model minus BIC of the fit: positive where the fit is worth its parameters.

    Infinite where the question does not arise: `over_linear` for a mixture (a linear mean may leave [-1, 1]),
    `over_one` for anything else (the linear function stands in), and `over_one`, `over_fewer` for a single unit. For
    log-odds the linear function is logistic regression.
    """

    over_constant: float
    over_linear: float
    over_one: float
    over_fewer: float


def schwarz(family: Family, loss: float, mass: float, n_parameters: float, *, aic: bool = False) -> float:
    """Return Schwarz's criterion (or Akaike's), up to a constant; smaller is better."""
    deviance = 2 * loss if family.labels else mass * float(np.log(max(2 * loss / mass, 1e-300)))
    return deviance + n_parameters * (2.0 if aic else float(np.log(mass)))


def gains(problem: TableProblem, best: Refined, price: float = 1.0, one: Refined | None = None) -> Gains:
    """Compare on the rows of the search. The smaller sums of sigmoids get one descent each, not a search.

    Parameters
    ----------
    price : float
        Of a parameter, over that of BIC.
    one : Refined, optional
        The fit of one component, where it is known.
    """
    family, mass, d = problem.family, problem.mass, problem.n_features

    def bic(loss: float, n_parameters: int) -> float:
        return schwarz(family, loss, mass, price * n_parameters)

    k = len(best.theta.u)
    loss = best.loss * mass / best.mass
    own = bic(loss, family.n_parameters(k, d))
    over_one = over_fewer = np.inf
    if k > 1:
        fewer = _descended_loss(problem, prune(best.theta, family, problem.first(4000), k - 1))
        over_fewer = bic(fewer, family.n_parameters(k - 1, d)) - own
        if family.simplex:
            one = one or one_component(problem)
            over_one = bic(one.loss, family.n_parameters(1, d)) - own
    constant = bic(_constant_loss(problem), 1) - own
    linear = np.inf if family.simplex else bic(_linear_loss(problem), d + 1) - own
    return Gains(constant, linear, over_one, over_fewer)


def _descended_loss(problem: TableProblem, theta: Parameters) -> float:
    """Return the loss on all rows of the search after one short descent on some of them, to about a nat."""
    loss = problem.batch(len(theta.u), min(len(problem.rows.y), 5000))
    point = loss.unpack(minimize_batch(loss, start_batch(loss, loss.pack([theta])), 30, tolerance=1e-4).points[0])
    return ArraySource(*problem.rows).reduce(NormalEquations(problem.family, point, curvature=False)).loss


def _constant_loss(problem: TableProblem) -> float:
    y, weight = problem.rows.y, problem.rows.weight
    mean = float(np.average(y, weights=weight))
    if problem.family.labels:
        share = np.clip(np.array([0.5 * (1 + mean), 0.5 * (1 - mean)]), 1e-300, 1)
        return -problem.mass * float(share @ np.log(share))
    return 0.5 * problem.mass * float(np.average((y - mean) ** 2, weights=weight))


def _linear_loss(problem: TableProblem) -> float:
    if problem.family.labels:
        return logistic_regression(problem).loss
    X, y, weight = problem.rows
    root = np.ones(len(y)) if weight is None else np.sqrt(weight)
    design = np.column_stack((X, np.ones(len(y)))) * root[:, None]
    gram = design.T @ design
    coefficients = np.linalg.lstsq(gram, design.T @ (root * y), rcond=1e-12)[0]
    residual = root * y - design @ coefficients
    return 0.5 * float(residual @ residual)
